// Guards that a stream is cut only between characters, and that no byte is lost or held longer than it has to be.
import fc from "fast-check";
import { expect, test } from "vitest";
import { createCharacterKeeper } from "../../src/services/characters.ts";

/** What comes out for each chunk, and at the end. */
function pass(chunks: Uint8Array[]): Buffer[] {
  const characters = createCharacterKeeper();
  return [...chunks.map((chunk) => Buffer.from(characters.push(Buffer.from(chunk)))), characters.end()];
}

test("text comes in whole characters, each as soon as it is complete", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const bytes = Buffer.from(text);
      const out = pass([...bytes].map((byte) => Buffer.from([byte])));
      expect(out.map(String).filter((piece) => piece !== "")).toEqual([...bytes.toString()]);
    }),
  );
});

test("any bytes come through as they are, at most three of them late", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 6 })), (chunks) => {
      const out = pass(chunks);
      expect(Buffer.concat(out)).toEqual(Buffer.concat(chunks));
      expect(out.at(-1)?.length).toBeLessThanOrEqual(3);
    }),
  );
});

test("a chunk that was passed on is not changed by what follows", () => {
  const characters = createCharacterKeeper();
  const chunk = Buffer.from([0x61, 0xc3]);
  const first = characters.push(chunk);
  chunk.fill(0);
  expect([characters.push(Buffer.from([0xa9])), first.length]).toEqual([Buffer.from("é"), 1]);
});
