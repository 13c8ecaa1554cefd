// Guards the written form of durations and sizes: whole numbers with a unit, or plain milliseconds and bytes; everything
// else is refused with a message that says what is accepted.
import { expect, test } from "vitest";
import { parseDuration, parseSize } from "../../src/config/units.ts";
import { UsageError } from "../../src/config/usage-error.ts";

test.each([
  ["250ms", 250],
  ["30s", 30_000],
  ["5m", 300_000],
  ["1h", 3_600_000],
  ["1500", 1500],
  ["0", 0],
  ["0ms", 0],
  ["2 s", 2000],
  ["2S", 2000],
  [1500, 1500],
  [0, 0],
  [2 ** 31 - 1, 2 ** 31 - 1],
])("duration %j is %d ms", (written, milliseconds) => {
  expect(parseDuration(written)).toBe(milliseconds);
});

test("a plain number counts seconds where that is what is counted", () => {
  expect(parseDuration("90", "seconds")).toBe(90_000);
  expect(parseDuration("90ms", "seconds")).toBe(90);
  expect(() => parseDuration("soon", "seconds")).toThrow("plain seconds");
});

test.each([
  ["64MiB", 64 * 1024 ** 2],
  ["1GiB", 1024 ** 3],
  ["10KiB", 10_240],
  ["10kib", 10_240],
  ["10MB", 10_000_000],
  ["2GB", 2_000_000_000],
  ["3KB", 3000],
  ["7B", 7],
  ["4096", 4096],
  [4096, 4096],
])("size %j is %d bytes", (written, bytes) => {
  expect(parseSize(written)).toBe(bytes);
});

const neither = [
  "",
  " ",
  "s",
  "-5",
  "5 5",
  "1.5s",
  "1e3",
  "5x",
  "0x10",
  "١s",
  -1,
  1.5,
  Number.NaN,
  true,
  null,
  undefined,
  [5],
  {},
];

test.each([...neither, "5MiB", "s5", "constructor", "1toString"])("%j is no duration", (written) => {
  expect(() => parseDuration(written)).toThrow(UsageError);
  expect(() => parseDuration(written)).toThrow("expected a duration (250ms, 30s, 5m, 1h or plain milliseconds), found");
});

test.each([...neither, "5s", "5M", "1toString", "99999999999GiB"])("%j is no size", (written) => {
  expect(() => parseSize(written)).toThrow(UsageError);
  expect(() => parseSize(written)).toThrow("expected a size (10KiB, 64MiB, 1GiB, 10MB or plain bytes), found");
});

test("a duration no timer can run is refused", () => {
  expect(() => parseDuration("25h")).not.toThrow();
  expect(() => parseDuration("600h")).toThrow("at most 24 days");
  expect(() => parseDuration(2 ** 31)).toThrow("at most 24 days");
});

test("a long value is cut short in the message", () => {
  expect(() => parseDuration("x".repeat(10_000))).toThrow(/found "x{59}…$/);
});
