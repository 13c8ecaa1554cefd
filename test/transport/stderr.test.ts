// Guards how the agent's stderr is passed on: line by line, no character torn apart, bounded memory.
import fc from "fast-check";
import { expect, test } from "vitest";
import { createStderrReader } from "../../src/transport/stderr.ts";

function read(chunks: Buffer[], tailBytes = 64 * 1024) {
  const lines: string[] = [];
  const reader = createStderrReader(tailBytes, (line) => lines.push(line));
  for (const chunk of chunks) reader.push(chunk);
  reader.end();
  return { lines, tail: reader.tail() };
}

const bytewise = (text: string) => [...Buffer.from(text)].map((byte) => Buffer.from([byte]));

test("lines are whole, whatever the chunks", () => {
  const text = "é漢😀\r\n\n  indented\nlast";
  const lines = ["é漢😀", "", "  indented", "last"];
  expect(read([Buffer.from(text)])).toEqual({ lines, tail: text });
  expect(read(bytewise(text))).toEqual({ lines, tail: text });
});

test("an over-long line comes in pieces of at most 64 KiB, no character torn apart", () => {
  for (const line of ["x".repeat(40_000), `x${"😀".repeat(20_000)}`, "漢".repeat(40_000)]) {
    for (const chunks of [[Buffer.from(line)], bytewise(line)]) {
      const { lines } = read(chunks);
      expect(lines.join("") === line).toBe(true);
      expect(Math.max(...lines.map((piece) => Buffer.byteLength(piece)))).toBeLessThanOrEqual(64 * 1024);
      expect(lines.every((piece) => Buffer.from(piece).toString() === piece)).toBe(true);
    }
  }
});

test("the tail is the last bytes of the text, from a whole character on", () => {
  expect(read([Buffer.from("abc"), Buffer.from("defgh")], 4).tail).toBe("efgh");
  expect(read([Buffer.from("漢漢")], 4).tail).toBe("漢");
  expect(read([Buffer.from("abc")], 0).tail).toBe("");
  fc.assert(
    fc.property(fc.array(fc.string()), fc.integer({ min: 1, max: 20 }), (texts, tailBytes) => {
      const { tail } = read(
        texts.map((text) => Buffer.from(text)),
        tailBytes,
      );
      expect(tail).toBe(texts.join("").slice(-tailBytes));
    }),
  );
});
