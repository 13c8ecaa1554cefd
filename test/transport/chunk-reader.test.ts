// Guards protocol/chunk-pattern.ts and transport/chunk-reader.ts: a line known by its pattern says exactly what JSON.parse
// says of it, and a line that JSON.parse does not take is never known.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { frameOf, lineOf, textOf } from "../../src/protocol/chunk-pattern.ts";
import { asObject } from "../../src/protocol/json.ts";
import { createChunkReader } from "../../src/transport/chunk-reader.ts";

const shown = { session: "s1", kind: "agent_message_chunk" };

const line = (text: string, { session, kind } = shown) =>
  `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"${session}","update":{"sessionUpdate":"${kind}","content":{"type":"text","text":"${text}"}}}}`;

/** A reader that has parsed these lines, and one more, so that it has learned from all of them. */
function readerOf(...lines: string[]) {
  const reader = createChunkReader();
  for (const text of [...lines, "{}"]) reader.parsed(Buffer.from(text), JSON.parse(text));
  return reader;
}

/** What a reader makes of a line, somewhere in the middle of other bytes. */
function read(reader: ReturnType<typeof readerOf>, text: string | Buffer) {
  const source = Buffer.concat([Buffer.from("before\n"), Buffer.from(text), Buffer.from("\nafter")]);
  return reader.read(source, 7, source.length - 6);
}

describe("a line like one before it", () => {
  test.each([
    ["plain", "and more", true],
    ["empty", "", true],
    ["escapes", '\\"a\\" \\\\ \\/ \\b\\f\\n\\r\\t', true],
    ["a character by its number", "\\u00e9\\uD83D\\ude00", false],
    ["a lone surrogate", "\\ud800", false],
    ["other letters", "é漢😀 \u2028 \ufeff", false],
  ])("%s", (_, text, simple) => {
    const chunk = read(readerOf(line("first")), line(text));
    expect(chunk && frameOf(chunk)).toEqual(JSON.parse(line(text)));
    expect(chunk?.simple).toBe(simple);
    expect(chunk && Buffer.from(lineOf(chunk)).toString()).toBe(line(text));
  });

  test("ends with a \\r too", () => {
    const chunk = read(readerOf(line("first")), `${line("more")}\r`);
    expect(chunk && textOf(chunk)).toBe("more");
  });

  test.each([
    ["a control character", line("a\u0001")],
    ["an escape there is none of", line("\\x")],
    ["a number cut short", line("\\u00g0")],
    ["a quote", line('a"b')],
    ["a backslash before the end", line("a\\")],
    ["a character after it", `${line("a")}x`],
    [
      "bytes that are no UTF-8",
      Buffer.concat([Buffer.from(line("a").slice(0, -6)), Buffer.of(0xc3), Buffer.from('"}}}}')]),
    ],
    ["another session", line("a", { ...shown, session: "s2" })],
    ["another kind", line("a", { ...shown, kind: "agent_thought_chunk" })],
  ])("no line with %s", (_, text) => {
    expect(read(readerOf(line("first")), text)).toBeUndefined();
  });
});

test.each([
  ["a chunk of the user's", line("a", { ...shown, kind: "user_message_chunk" })],
  ["an image", line("a").replace('"type":"text"', '"type":"image"')],
  ["annotations", line("a").replace('"type":"text"', '"type":"text","annotations":{}')],
  ["a text that is said again", line("a").replace('"type":"text"', '"type":"text","text":"b"')],
  ["a request", line("a").replace('"jsonrpc"', '"id":1,"jsonrpc"')],
])("nothing is learned from %s", (_, text) => {
  expect(read(readerOf(text), text)).toBeUndefined();
});

test("patterns of many sessions are known side by side", () => {
  const sessions = Array.from({ length: 100 }, (_, index) => `session-${String(index).padStart(4, "0")}`);
  const reader = readerOf(...sessions.map((session) => line("first", { ...shown, session })));
  for (const session of sessions) {
    const chunk = read(reader, line("second", { ...shown, session }));
    expect(chunk?.pattern.sessionId).toBe(session);
  }
});

/** A frame with a chunk, its members in any order, with others between them, written with white space or without. */
const frame = fc
  .record({
    others: fc.dictionary(fc.constantFrom("_meta", "text", "é", "a\nb", "__proto__"), fc.jsonValue(), { maxKeys: 3 }),
    spaces: fc.constantFrom(undefined, 1),
    order: fc.boolean(),
    kind: fc.constantFrom("agent_message_chunk", "agent_thought_chunk", "user_message_chunk"),
    messageId: fc.option(fc.string(), { nil: undefined }),
    session: fc.string(),
  })
  .map(({ others, spaces, order, kind, messageId, session }) => (text: string) => {
    const content = order ? { text, type: "text" } : { type: "text", text };
    const update = order
      ? { ...others, content, sessionUpdate: kind, messageId }
      : { sessionUpdate: kind, messageId, content, ...others };
    const params = order ? { update, sessionId: session, ...others } : { sessionId: session, update };
    const whole = order
      ? { params, method: "session/update", jsonrpc: "2.0" }
      : { jsonrpc: "2.0", method: "session/update", params };
    return JSON.stringify(whole, null, spaces).replaceAll("\n", " ");
  });

const words = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string(),
  fc.constantFrom("", '"text":"', "</script>", "\ud800"),
);

test("what is read of any lines is what JSON.parse reads", () => {
  fc.assert(
    fc.property(
      fc.array(frame, { minLength: 1, maxLength: 3 }),
      fc.array(words, { minLength: 2, maxLength: 6 }),
      (frames, texts) => {
        const reader = createChunkReader();
        for (const text of texts)
          for (const write of frames) {
            const bytes = Buffer.from(write(text));
            const value = JSON.parse(bytes.toString());
            const chunk = reader.read(bytes, 0, bytes.length);
            if (chunk === undefined) reader.parsed(bytes, value);
            else expect(JSON.stringify(frameOf(chunk))).toBe(JSON.stringify(value));
          }
      },
    ),
    { numRuns: 500 },
  );
});

test("a line spoiled anywhere is read as JSON.parse reads it, or not at all", () => {
  const whole = Buffer.from(line('a \\"quote\\", \\u00e9 and é'));
  fc.assert(
    fc.property(fc.nat(whole.length - 1), fc.nat(255), fc.nat(2), (at, byte, cut) => {
      const spoiled = Buffer.concat([whole.subarray(0, at), Buffer.of(byte), whole.subarray(at + cut)]);
      const chunk = readerOf(line("first")).read(spoiled, 0, spoiled.length);
      if (chunk === undefined) return;
      const value = asObject(JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(spoiled)));
      expect(frameOf(chunk)).toEqual(value);
    }),
    { numRuns: 3000 },
  );
});
