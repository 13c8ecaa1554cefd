// Guards docs/mapping.md §6, paths: absolute in the syntax of the agent's machine, without a path library.
import { describe, expect, test } from "vitest";
import { isAbsolutePath, normalisePath, resolvePath } from "../../src/translate/paths.ts";

test.each([
  ["/", true],
  ["/a/b", true],
  ["C:\\a", true],
  ["c:/a", true],
  ["\\\\server\\share", true],
  ["", false],
  ["a/b", false],
  ["./a", false],
  ["C:a", false],
  ["\\a", false],
  ["file:///a", false],
])("absolute: %j is %j", (path, expected) => {
  expect(isAbsolutePath(path)).toBe(expected);
});

describe("resolve", () => {
  test.each([
    ["/w", "a", "/w/a"],
    ["/w/", "./a/../b", "/w/b"],
    ["/w", "../../../x", "/x"],
    ["/w", "", "/w"],
    ["/", "a", "/a"],
    ["/w", "/abs/../kept", "/abs/../kept"],
    ["/w", "C:\\kept", "C:\\kept"],
    ["/w", "file:///kept", "file:///kept"],
    ["/w", "back\\slash", "/w/back\\slash"],
    ["C:\\w", "a/b", "C:\\w\\a\\b"],
    ["C:\\w\\x", "..\\b", "C:\\w\\b"],
    ["c:/w", "a", "c:\\w\\a"],
    ["\\\\server\\share", "a", "\\\\server\\share\\a"],
  ])("%j + %j = %j", (cwd, path, expected) => {
    expect(resolvePath(cwd, path)).toBe(expected);
  });
});

test.each([
  ["/w/", "/w"],
  ["//w//x/.", "/w/x"],
  ["/", "/"],
  ["C:\\w\\", "C:\\w"],
  ["C:/w", "C:\\w"],
  ["C:\\", "C:\\"],
])("normalise: %j is %j", (path, expected) => {
  expect(normalisePath(path)).toBe(expected);
});
