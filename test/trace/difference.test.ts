// Guards the JSON pointers by which trace verify tells where a frame differs, and what a replaced secret may stand for.
import { expect, test } from "vitest";
import { differencesOf } from "../../src/trace/difference.ts";

const MASK = "[redacted]";

test.each([
  { name: "the same", expected: { a: [1, { b: null }] }, actual: { a: [1, { b: null }] }, found: [] },
  { name: "members in another order", expected: { a: 1, b: 2 }, actual: { b: 2, a: 1 }, found: [] },
  {
    name: "a value",
    expected: { a: { b: 1 } },
    actual: { a: { b: 2 } },
    found: [{ pointer: "/a/b", expected: 1, actual: 2 }],
  },
  { name: "a type", expected: { a: [] }, actual: { a: {} }, found: [{ pointer: "/a", expected: [], actual: {} }] },
  { name: "a member missing", expected: { a: 1 }, actual: {}, found: [{ pointer: "/a", expected: 1 }] },
  { name: "a member more", expected: {}, actual: { a: null }, found: [{ pointer: "/a", actual: null }] },
  { name: "an item more", expected: [1], actual: [1, 2], found: [{ pointer: "/1", actual: 2 }] },
  {
    name: "names that need escapes",
    expected: { "a/b~c": 1 },
    actual: { "a/b~c": 2 },
    found: [{ pointer: "/a~1b~0c", expected: 1, actual: 2 }],
  },
  { name: "the whole", expected: 1, actual: "1", found: [{ pointer: "", expected: 1, actual: "1" }] },
])("$name", ({ expected, actual, found }) => {
  expect(differencesOf(expected, actual)).toEqual(found);
});

test.each([
  { expected: MASK, actual: "secret", same: true },
  { expected: MASK, actual: 5, same: true },
  { expected: `token=${MASK}; more`, actual: "token=abc; more", same: true },
  { expected: `token=${MASK}; more`, actual: "token=abc; less", same: false },
  { expected: `${MASK} and ${MASK}!`, actual: "a and b!", same: true },
  { expected: `${MASK} and ${MASK}!`, actual: "a or b!", same: false },
  { expected: `aa${MASK}aa`, actual: "aaa", same: false },
  { expected: "token=abc", actual: `token=${MASK}`, same: true },
  { expected: "[redacted", actual: "secret", same: false },
])("under a mask: $expected and $actual", ({ expected, actual, same }) => {
  expect(differencesOf({ value: expected }, { value: actual }, MASK)).toHaveLength(same ? 0 : 1);
  // Without redaction the mark is text like any other.
  expect(differencesOf({ value: expected }, { value: actual })).toHaveLength(1);
});
