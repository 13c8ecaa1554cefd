// Guards docs/mapping.md §12: frames are found in whatever an agent writes, in order and byte for
// byte, and everything else is noise.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseExact } from "../../src/protocol/exact.ts";
import { decodeAgentLine, decodeClientLine } from "../../src/transport/decode.ts";
import { createLineSplitter } from "../../src/transport/lines.ts";

const A = '{"jsonrpc":"2.0","method":"a","params":{"text":"é \\"{[\\\\ 😀"}}';
const B = '{"jsonrpc":"2.0","id":1,"result":{}}';
const C = '{"error":{"code":-32601,"message":"no"},"jsonrpc":"2.0"}';

/** What a line comes to: the text of its frames (which must be those that were parsed) and its noise. */
function decode(line: string) {
  const { frames, noise, recovered } = decodeAgentLine(Buffer.from(line));
  const texts = frames.map((frame) => Buffer.from(frame.line).toString());
  expect(texts.map(parseExact)).toEqual(frames.map((frame) => frame.value));
  return { frames: texts, noise, recovered };
}

describe("a client's line", () => {
  test.each(["{}", "[1]", "null", '"text"', " 1 "])("that is JSON has a value: %s", (line) => {
    expect(decodeClientLine(Buffer.from(line))).toEqual({ value: JSON.parse(line) });
  });

  test.each(["", "{", "hello", A + B, "\x1b[0m{}", "{'a':1}"])("that is no JSON is a fault: %j", (line) => {
    expect(decodeClientLine(Buffer.from(line))).toEqual({ fault: "not-json" });
  });
});

describe("an agent's line", () => {
  test.each([A, B, C, ` ${B}\t`])("that is one frame keeps its bytes: %s", (line) => {
    const bytes = Buffer.from(line);
    const decoded = decodeAgentLine(bytes);
    expect(decoded).toEqual({ frames: [{ value: JSON.parse(line), line: bytes }], noise: [] });
    expect(decoded.frames[0]?.line).toBe(bytes);
  });

  const noise = [
    "Starting up…",
    '"ready"',
    "42",
    "null",
    "true",
    "[20:18:05] hi",
    '{"level":"info","id":1}',
    '{"jsonrpc":"2.0"}',
    '{"jsonrpc":"1.0","method":"a"}',
    `{"log":${A}}`,
    `{"text":"${B.replaceAll('"', '\\"')}"}`,
    "{not json}",
    "{{{{",
    '{"a',
    '{"a":"\\',
    "}",
    "}{",
    '"',
  ];
  test.each(noise)("that holds no frame is noise as it stands: %s", (line) => {
    expect(decode(line)).toEqual({ frames: [], noise: [line], recovered: undefined });
  });

  const escapes = {
    CSI: "\x1b[?2004h\x1b[1;31m\x1b[0m",
    "OSC ended by BEL": "\x1b]0;a {title\x07",
    "OSC ended by ST": "\x1b]8;;http://a/{\x1b\\",
    DCS: "\x1bP+q{\x1b\\",
    "character set and mode": "\x1b(B\x1b=\x1b7\x1bc",
    "byte order mark": "\ufeff",
    "cut short": "\x1b",
    "CSI cut short": "\x1b[",
    "CSI with parameters cut short": "\x1b[1;3",
  };
  describe.each(Object.entries(escapes))("with terminal escapes (%s)", (_name, sequence) => {
    test("before a frame holds the frame", () => {
      const { frames, noise } = decode(sequence + A);
      expect(frames).toEqual([A]);
      expect(noise.join("")).not.toContain("\x1b");
    });

    test("between and after frames holds the frames", () => {
      expect(decode(A + sequence + B + sequence).frames).toEqual([A, B]);
    });
  });

  test.each(["\x1b[2J\x1b[H", "\x1b]0;title\x07", "\ufeff", "\x1b"])("of nothing but escapes is empty: %j", (line) => {
    expect(decode(line)).toEqual({ frames: [], noise: [], recovered: undefined });
  });

  test("keeps a frame from a title that never ends", () => {
    expect(decode(`\x1b]0;title${A}`).frames).toEqual([A]);
  });

  test("has its noise cleaned of escapes", () => {
    expect(decode("\x1b[32mWelcome\x1b[0m\r").noise).toEqual(["Welcome"]);
  });

  const mixed: [string, string[], string[]][] = [
    [A + B, [A, B], []],
    [`${A} ${B}\t${C}`, [A, B, C], []],
    [`[info] ready ${A}`, [A], ["[info] ready"]],
    [`one ${A} two ${B} three`, [A, B], ["one", "two", "three"]],
    [`it's "quoted${A}`, [A], [`it's "quoted`]],
    [`{ starting ${A}`, [A], ["{ starting"]],
    [`${"{".repeat(5)}${A}`, [A], ["{".repeat(5)]],
    [`}]"${A}}]"`, [A], ['}]"', '}]"']],
    [`{"level":"info"}${A}`, [A], ['{"level":"info"}']],
    [`{"level":"info" ${A}`, [A], ['{"level":"info"']],
    [`{"log":${A}}${B}`, [B], [`{"log":${A}}`]],
    [`{"a":01}${A}`, [A], ['{"a":01}']],
  ];
  test.each(mixed)("with frames among other text holds the frames in order: %s", (line, frames, noise) => {
    expect(decode(line)).toEqual({ frames, noise, recovered: "fragments" });
  });

  // Behind a `:` the next frame is indistinguishable from the value that belongs there, and values are never frames.
  const cuts = [...A].flatMap((_char, i) => (A[i - 1] === ":" ? [] : [A.slice(0, i)]));
  test.each(cuts)("finds the frames behind one that was cut off: %s", (cut) => {
    expect(decode(cut + B).frames).toEqual([B]);
    expect(decode(cut + C + B).frames).toEqual([C, B]);
  });

  const arrays: [string, string[], string[]][] = [
    [`[${A},${B}]`, [A, B], []],
    [`[ ${A} , ${B} ] `, [A, B], []],
    [`[1,"]{,",${A},[${B}],{"a":[1,{}]},null]`, [A], ["1", '"]{,"', `[${B}]`, '{"a":[1,{}]}', "null"]],
    [`\x1b[0m[${A}]`, [A], []],
    ["[]", [], []],
  ];
  test.each(arrays)("that is an array is unpacked in order: %s", (line, frames, noise) => {
    expect(decode(line)).toEqual({ frames, noise, recovered: "array" });
  });

  test("in an array keeps numbers as they were written", () => {
    const big = '{"jsonrpc":"2.0","method":"a","params":[12345678901234567890,1.0]}';
    expect(decode(`[${big}]`).frames).toEqual([big]);
  });

  test("with invalid UTF-8 is still a frame", () => {
    const bytes = Buffer.from('{"jsonrpc":"2.0","method":"a?"}');
    bytes[bytes.indexOf("?")] = 0xff;
    expect(decodeAgentLine(bytes).frames).toEqual([{ value: { jsonrpc: "2.0", method: "a\ufffd" }, line: bytes }]);
  });

  // A search that is not linear does not come to an end on these.
  const hostile = [
    "{",
    '{"',
    '{"a":',
    '{"{"',
    "[{",
    '{"a":[',
    '\\"',
    "\x1b[",
    "\x1b]",
    "\x1bP{",
    '{"\\',
    '{}"',
    "{ ",
    '{":",',
  ];
  test.each(hostile)(
    "of 1 MB of %j comes to an end, and the frame behind it is found or drowned",
    (unit) => {
      const { frames } = decode(unit.repeat(1e6 / unit.length) + A);
      expect([[], [A]]).toContainEqual(frames);
    },
    60_000,
  );
});

const json = fc.jsonValue({ stringUnit: "grapheme" });
const frame = fc
  .oneof(
    fc.record({ method: fc.string(), params: json }),
    fc.record({ id: fc.integer(), method: fc.string(), params: json }),
    fc.record({ id: fc.oneof(fc.integer(), fc.string()), result: json }),
    fc.record({ error: json }),
  )
  .map((fields) => JSON.stringify({ ...fields, jsonrpc: "2.0" }));
// No brackets: what opens like an object may take a frame with it.
const junk = fc.string({ unit: "grapheme" }).filter((text) => !/[{[\n\r]/.test(text));
const junkLine = fc.oneof(
  junk,
  fc.constantFrom("{", '{"a', "[1", "{}", "\x1b[2J", '"ready"', "12", '{"level":"info"}', '{"jsonrpc":"2.0","id":1}'),
  json.map((value) => JSON.stringify(value)),
);

describe("any frames", () => {
  test("come out exactly and in order from among any lines of junk, cut anywhere", () => {
    const line = fc.oneof(
      frame.map((text) => ({ text, isFrame: true })),
      junkLine.map((text) => ({ text, isFrame: false })),
    );
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.integer({ min: 1, max: 200 })), (lines, sizes) => {
        const splitter = createLineSplitter(1 << 20);
        let rest = Buffer.from(lines.map(({ text }) => `${text}\n`).join(""));
        const decoded = [...sizes, rest.length].flatMap((size) => {
          const chunk = rest.subarray(0, size);
          rest = rest.subarray(size);
          return splitter.push(chunk);
        });
        const found = decoded.flatMap((item) => ("bytes" in item ? decodeAgentLine(item.bytes).frames : []));
        const sent = lines.filter(({ isFrame }) => isFrame).map(({ text }) => text);
        expect(found.map(({ line }) => Buffer.from(line).toString())).toEqual(sent);
        expect(found.map(({ value }) => value)).toEqual(sent.map((text) => JSON.parse(text)));
      }),
    );
  });

  test("come out exactly and in order when glued together and mixed with junk", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(junk, frame)), junk, (parts, last) => {
        const line = parts.flat().join("") + last;
        const { frames, noise } = decode(line);
        expect(frames).toEqual(parts.map(([, text]) => text));
        const around = [...parts.map(([text]) => text), last].map((text) => text.trim()).filter((text) => text !== "");
        if (frames.length > 0) expect(noise).toEqual(around);
      }),
    );
  });

  test("never make the decoder throw, whatever the bytes", () => {
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void decodeAgentLine(Buffer.from(bytes))));
    const piece = fc.constantFrom("{", "}", "[", "]", '"', ":", ",", "\\", "a", "1", " ", "\x1b", A, B);
    fc.assert(fc.property(fc.array(piece), (pieces) => void decode(pieces.join(""))));
  });
});
