// Guards transport/abridge.ts: a frame whose long strings stood aside is written as if it had been read whole.
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../../src/protocol/json.ts";
import { abridge } from "../../src/transport/abridge.ts";

const LONG = "x".repeat(64 * 1024);

const words = fc.oneof(fc.string({ unit: "binary", maxLength: 5 }), fc.constantFrom("", "\ud800"));
const strings = fc.tuple(words, fc.constantFrom("", LONG), words).map((parts) => parts.join(""));
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, strings, fc.integer(), fc.array(tie("value"), { maxLength: 2 }), tie("object")),
  object: fc.dictionary(strings, tie("value"), { maxKeys: 2 }),
}));

test("any frame", () => {
  let abridged = 0;
  fc.assert(
    fc.property(value, fc.constantFrom(undefined, 2), (params, spaces) => {
      const frame = { jsonrpc: "2.0", method: "x", params };
      const short = abridge(Buffer.from(JSON.stringify(frame, null, spaces).replaceAll("\n", " ")));
      if (short === undefined) return;
      abridged++;
      expect(JSON.stringify(short.value).length).toBeLessThan(LONG.length);
      const restored: JsonObject = JSON.parse(Buffer.concat(short.restore(JSON.stringify(short.value))).toString());
      expect(JSON.stringify(restored)).toBe(JSON.stringify(frame));
    }),
    { numRuns: 200 },
  );
  expect(abridged).toBeGreaterThan(20);
});

test.each([
  ["nothing long", '{"jsonrpc":"2.0","method":"x","params":"short"}'],
  ["a string that does not end", `{"jsonrpc":"2.0","method":"x","params":"${LONG}`],
  ["an escape there is none of", `{"jsonrpc":"2.0","method":"x","params":"${LONG}\\x"}`],
  ["a control character", `{"jsonrpc":"2.0","method":"x","params":"${LONG}\u0001"}`],
  ["more after it", `{"jsonrpc":"2.0","method":"x","params":"${LONG}"} {}`],
  ["no frame", `{"method":"x","params":"${LONG}"}`],
])("not a line with %s", (_, line) => {
  expect(abridge(Buffer.from(line))).toBeUndefined();
});

test("not bytes that are no UTF-8", () => {
  const [before, after] = ['{"jsonrpc":"2.0","method":"x","params":"', '"}'].map((text) => Buffer.from(text));
  expect(
    abridge(Buffer.concat([before ?? "", Buffer.from(LONG), Buffer.of(0xff), after ?? ""].map(Buffer.from))),
  ).toBeUndefined();
});
