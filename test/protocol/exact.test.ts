// Guards I2 and I5 of docs/mapping.md §0 for integers no JavaScript number holds: ids, and what nobody here reads, arrive as
// they were sent.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseExact, printExact } from "../../src/protocol/exact.ts";
import { anyJson } from "../support/arbitrary.ts";

describe("is written as it was read", () => {
  test.each([
    ["9007199254740993"],
    ["-9007199254740993"],
    ["18446744073709551615"],
    ["1000000000000000000000000"],
    ['{"id":9223372036854775807,"a":[9007199254740993,1,"x"]}'],
    ['{"a\\"\\\\":9007199254740993}'],
    ['"9007199254740993"'],
    ['{"text":"\\"id\\":9007199254740993,"}'],
    ['["\\\\",9007199254740993,"\\\\\\"9007199254740993"]'],
    ['"\\u0000integer 1 and more"'],
    ['"{\\"a\\":\\"\\\\u0000integer 1\\"}"'],
  ])("%s", (text) => {
    expect(printExact(parseExact(text))).toBe(text);
  });

  test("also with white space round it", () => {
    expect(printExact(parseExact(' { "id" :\t9007199254740993\n} '))).toBe('{"id":9007199254740993}');
  });

  test("wherever it stands", () => {
    for (let spaces = 0; spaces < 40; spaces++)
      for (const integer of ["9007199254740993", "-9007199254740993", "123456789012345678901"])
        expect(printExact(parseExact(`${" ".repeat(spaces)}[${integer}]`))).toBe(`[${integer}]`);
  });

  test("any integer in any JSON", () => {
    fc.assert(
      fc.property(anyJson, fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (value, integer) => {
        const text = `[${JSON.stringify(value)},${integer},{"id":${integer}}]`;
        expect(printExact(parseExact(text))).toBe(text);
      }),
    );
  });
});

test("numbers that are held stay numbers", () => {
  expect(parseExact('[9007199254740992,10000000000000000,1.0000000000000000001,1e300,"0000000000000000"]')).toEqual([
    9007199254740992,
    10000000000000000,
    1,
    1e300,
    "0000000000000000",
  ]);
});

test("what is no JSON is a fault all the same", () => {
  for (const text of ["0000000000000000", "9007199254740993x", '{"a:9007199254740993', "-", ""])
    expect(() => parseExact(text)).toThrow(SyntaxError);
});
