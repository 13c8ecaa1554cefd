// Guards what is kept of a stream: its last bytes from a whole character on, however it was cut into pieces.
import fc from "fast-check";
import { expect, test } from "vitest";
import { createTail } from "../../src/transport/tail.ts";

test("the tail is the longest end of the text that fits, of whole characters", () => {
  const pieces = fc.array(fc.string({ unit: "binary" }));
  fc.assert(
    fc.property(pieces, fc.integer({ min: 0, max: 40 }), (texts, limit) => {
      const tail = createTail(limit);
      for (const text of texts) tail.push(Buffer.from(text));
      const characters = [...texts.join("")];
      const all = characters.join("");
      while (Buffer.byteLength(characters.join("")) > limit) characters.shift();
      expect(tail.text()).toBe(characters.join(""));
      expect(tail.truncated).toBe(Buffer.byteLength(all) > limit);
    }),
  );
});

test("bytes that only look like the rest of a character stay when nothing was cut off", () => {
  const tail = createTail(4);
  tail.push(Buffer.from([0x80, 0x80]));
  expect(tail.text()).toBe("\ufffd\ufffd");
});

test("a piece that was taken may be changed afterwards", () => {
  const tail = createTail(4);
  const piece = Buffer.from("ab");
  tail.push(piece);
  piece.fill("x");
  expect(tail.text()).toBe("ab");
});
