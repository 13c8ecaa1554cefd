// Guards docs/mapping.md §12, framing: one value per line of bytes, whatever the chunks; an over-long line is drained.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLineSplitter, type Line, type LineReader } from "../../src/transport/lines.ts";

const KIB = 1024;

function split(chunks: Buffer[], maxBytes = 1024 * KIB): Line[] {
  const splitter = createLineSplitter(maxBytes);
  return [...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.end()];
}

function text(lines: Line[]): unknown[] {
  return lines.map((line) => ("bytes" in line ? line.bytes.toString() : line));
}

function cutAt(bytes: Buffer, ...positions: number[]): Buffer[] {
  const borders = [0, ...positions.toSorted((a, b) => a - b), bytes.length];
  return borders.slice(1).map((border, index) => bytes.subarray(borders[index], border));
}

const TRICKY = Buffer.from('\ufeff{"a":"é漢😀"}\r\n\n\r\n \t\n{"b":"\\n"}\n\ufeff\n\ufeff\r\nlast\r');
const TRICKY_LINES = ['{"a":"é漢😀"}', '{"b":"\\n"}', "last"];

describe("cutting", () => {
  test("takes off \\r and byte order marks and leaves out blank lines", () => {
    expect(text(split([TRICKY]))).toEqual(TRICKY_LINES);
  });

  test("is the same for a cut at every byte, also inside a character, a \\r\\n and a byte order mark", () => {
    for (let i = 0; i <= TRICKY.length; i++) expect(text(split(cutAt(TRICKY, i)))).toEqual(TRICKY_LINES);
  });

  test("is the same one byte at a time", () => {
    expect(text(split([...TRICKY].map((byte) => Buffer.from([byte]))))).toEqual(TRICKY_LINES);
  });

  test("takes only one \\r, and none in the middle", () => {
    expect(text(split([Buffer.from("a\rb\r\r\nc\n")]))).toEqual(["a\rb\r", "c"]);
  });

  test("keeps a byte order mark that is not at the start", () => {
    expect(text(split([Buffer.from("a\ufeff\n")]))).toEqual(["a\ufeff"]);
  });

  test("returns a line as soon as it has ended, and the unterminated one at the end", () => {
    const splitter = createLineSplitter(100);
    expect(text(splitter.push(Buffer.from("a\nb")))).toEqual(["a"]);
    expect(text(splitter.push(Buffer.from("c")))).toEqual([]);
    expect(text(splitter.end())).toEqual(["bc"]);
    expect(text(splitter.end())).toEqual([]);
  });

  test("shares the chunk's memory for a line that lies within it", () => {
    const chunk = Buffer.from("abc\ndef\n");
    for (const line of split([chunk])) expect("bytes" in line && line.bytes.buffer).toBe(chunk.buffer);
  });

  test("offers each line where it lies, also one that was joined from several chunks", () => {
    const splitter = createLineSplitter(100);
    const within: string[] = [];
    const refused: string[] = [];
    const reader: LineReader = {
      within(bytes, start, end) {
        const line = bytes.toString("utf8", start, end);
        if (line.startsWith("x")) return false;
        within.push(line);
        return true;
      },
      line: (line) => refused.push(...(text([line]) as string[])),
    };
    for (const chunk of ["a\nb", "c", "d\ne\nx", "y\nx", "\n"]) splitter.read(Buffer.from(chunk), reader);
    expect(within).toEqual(["a", "bcd", "e"]);
    expect(refused).toEqual(["xy", "x"]);
  });

  test("joins a line in memory of its own, which it alone keeps", () => {
    for (const line of split([Buffer.from("ab"), Buffer.from("cd\n")]))
      expect("bytes" in line && line.bytes.buffer.byteLength).toBe(4);
  });

  test("gives back any lines, cut anywhere", () => {
    const line = fc.string({ unit: "grapheme", minLength: 1 }).filter((s) => /^[^\s\ufeff](.*\S)?$/u.test(s));
    const lineBreak = fc.constantFrom("\n", "\r\n", "\n\n", "\n\r\n", "\n\ufeff");
    fc.assert(
      fc.property(fc.array(fc.tuple(line, lineBreak)), fc.array(fc.nat(500)), (lines, positions) => {
        const bytes = Buffer.from(lines.flat().join(""));
        const cuts = positions.filter((position) => position <= bytes.length);
        expect(text(split(cutAt(bytes, ...cuts)))).toEqual(lines.map(([content]) => content));
      }),
    );
  });
});

describe("over-long lines", () => {
  test("are reported with their whole length, and the next line is intact", () => {
    const bytes = Buffer.from(`short\n${"x".repeat(100)}\nnext\n`);
    const expected = ["short", { oversized: 100, head: "x".repeat(100), tail: "x".repeat(100) }, "next"];
    for (let i = 0; i <= bytes.length; i++) expect(text(split(cutAt(bytes, i), 99))).toEqual(expected);
    expect(
      text(
        split(
          [...bytes].map((byte) => Buffer.from([byte])),
          99,
        ),
      ),
    ).toEqual(expected);
  });

  test("begin one byte above the limit", () => {
    expect(text(split([Buffer.from("12345\n123456\n")], 5))).toEqual([
      "12345",
      { oversized: 6, head: "123456", tail: "123456" },
    ]);
  });

  test("have a head and a tail of 4 KiB that tear no character apart", () => {
    const line = Buffer.from(`{"id":1}${"漢".repeat(3000)}{"id":2}`);
    const head = `{"id":1}${"漢".repeat(1362)}`;
    const tail = `${"漢".repeat(1362)}{"id":2}`;
    for (const chunks of [[line], cutAt(line, 10, 4095, 4097, 9005), [...line].map((byte) => Buffer.from([byte]))]) {
      for (const limit of [10, 5000, 9000]) {
        expect(text(split(chunks, limit))).toEqual([{ oversized: line.length, head, tail }]);
      }
    }
  });

  test("are not held: 256 MiB in chunks of 64 KiB pass through a limit of 1 MiB", () => {
    const splitter = createLineSplitter(1024 * KIB);
    const before = process.memoryUsage().arrayBuffers;
    let lines = 0;
    for (let i = 0; i < 4 * KIB; i++) lines += splitter.push(Buffer.alloc(64 * KIB, "x")).length;
    expect(lines).toBe(0);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(128 * KIB * KIB);
    const ends = { head: "x".repeat(4 * KIB), tail: "x".repeat(4 * KIB) };
    expect(text(splitter.push(Buffer.from("\nnext\n")))).toEqual([{ oversized: 256 * KIB * KIB, ...ends }, "next"]);
  });

  test("within the limit come whole, however many chunks they span", () => {
    const piece = Buffer.alloc(64 * KIB, "x");
    const [line] = split(Array<Buffer>(1024).fill(piece), 64 * KIB * KIB);
    expect(line && "bytes" in line && line.bytes.equals(Buffer.alloc(64 * KIB * KIB, "x"))).toBe(true);
  });
});
