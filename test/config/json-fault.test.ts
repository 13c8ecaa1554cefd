// Guards where a configuration file that is no JSON is said to be wrong.
import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonFault } from "../../src/config/json-fault.ts";

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test.each([
  ["", 0],
  ["  \n ", 4],
  ["{", 1],
  ['{"a" 1}', 5],
  ['{"a":}', 5],
  ['{"a":1,}', 7],
  ['{"a":1 "b":2}', 7],
  ["{a:1}", 1],
  ["[1,2,]", 5],
  ["[1 2]", 3],
  ['{"a": tru}', 6],
  ['{"a":"x\ny"}', 5],
  ['{"a":"\\q"}', 5],
  ['{"a":01}', 6],
  ["{} x", 3],
  ["// no\n{}", 0],
  ["'a'", 0],
])("%j is wrong at %d", (text, offset) => {
  expect(jsonFault(text)).toBe(offset);
});

test("agrees with JSON.parse on JSON, and on JSON with something cut out of it or put into it", () => {
  const broken = fc
    .tuple(
      fc.json(),
      fc.nat(),
      fc.nat({ max: 3 }),
      fc.constantFrom("", "{", "}", '"', ",", ":", "0", ".", "e", "\\", "\u0000", "é"),
    )
    .map(([text, at, cut, put]) => {
      const start = at % (text.length + 1);
      return text.slice(0, start) + put + text.slice(start + cut);
    });
  fc.assert(
    fc.property(fc.oneof(fc.json(), broken), (text) => {
      expect(jsonFault(text) === undefined).toBe(isJson(text));
    }),
    { numRuns: 2000 },
  );
});
