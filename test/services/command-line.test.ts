// Guards docs/mapping.md §10: which shell a whole command line goes to, and how. (What counts as one is tested with the
// terminals, by running it.)
import { expect, test } from "vitest";
import { shellFor } from "../../src/services/command-line.ts";

test("a line is one argument of the POSIX shell", () => {
  expect(shellFor(`a "b c" | d`, "linux", {})).toEqual({
    command: "/bin/sh",
    args: ["-c", `a "b c" | d`],
    verbatim: false,
  });
});

test("on Windows a line goes to cmd.exe in one pair of quotes, which is all it takes off", () => {
  const args = ["/d", "/s", "/c", `"a "b c" | d"`];
  expect(shellFor(`a "b c" | d`, "win32", {})).toEqual({ command: "cmd.exe", args, verbatim: true });
  expect(shellFor("a", "win32", { ComSpec: "C:\\cmd.exe" })).toMatchObject({ command: "C:\\cmd.exe" });
});
