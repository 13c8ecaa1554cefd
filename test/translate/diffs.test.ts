// Guards docs/mapping.md §6, diffs: exact patches, patches that the real git applies, and none made twice.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { devNull, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import { type DiffMemo, diffToV2 } from "../../src/translate/diffs.ts";
import type { Notes } from "../../src/translate/notes.ts";
import { validateV2 } from "../support/schema.ts";
import { testCases } from "../support/table.ts";
import { diffs } from "./cases/diffs.ts";

describe("exact", () => {
  testCases(
    diffs,
    (input, notes) => diffToV2(asObject(input.diff), { cwd: "/w", locations: input.locations }, new Map(), notes),
    (result) => validateV2("ToolCallContent", result),
  );
});

function patchOf(diff: JsonObject, locations: unknown = []): string {
  const made = diffToV2({ type: "diff", ...diff }, { cwd: "/", locations }, new Map(), []);
  expect(validateV2("ToolCallContent", made)).toBeUndefined();
  return String(asObject(made.patch).text);
}

/** A patch with git's own prefixes in its headers, which v2 leaves out and git cannot do without. */
function prefixed(patch: string): string {
  const end = patch.indexOf("\n@@");
  const [headers, hunks] = end < 0 ? [patch, ""] : [patch.slice(0, end), patch.slice(end)];
  return headers
    .replace(/^diff --git ("?)\/(.*) "?\/\2$/m, "diff --git $1a/$2 $1b/$2")
    .replace(/^--- ("?)\/(?!dev\/null$)/m, "--- $1a/")
    .replace(/^\+\+\+ ("?)\/(?!dev\/null$)/m, "+++ $1b/")
    .concat(hunks);
}

describe("git apply", () => {
  let root = "";
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "acp-shift-diff-"));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function git(...args: string[]): string {
    // Without the settings of whoever runs the tests, and outside any repository above the folder.
    const env = {
      ...process.env,
      GIT_CONFIG_GLOBAL: devNull,
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CEILING_DIRECTORIES: dirname(root),
    };
    return execFileSync("git", args, { cwd: root, encoding: "utf8", env, stdio: ["ignore", "pipe", "pipe"] });
  }
  function write(path: string, text: string): void {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  function read(path: string): string | undefined {
    return existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : undefined;
  }
  function apply(patch: string): void {
    const file = join(root, "the.patch");
    writeFileSync(file, prefixed(patch));
    git("apply", "--unidiff-zero", "--whitespace=nowarn", file);
  }

  const long = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`);
  const text = (lines: string[]) => `${lines.join("\n")}\n`;

  test.each<[string, { path?: string; before?: string; after?: string }]>([
    ["add", { after: "a\nb\n" }],
    ["add without final newline", { after: "a\nb" }],
    ["add an empty file", { after: "" }],
    ["add CRLF", { after: "a\r\nb\r\n" }],
    ["add a file of one newline", { after: "\n" }],
    ["delete", { before: "a\nb\n" }],
    ["delete without final newline", { before: "a\nb" }],
    ["delete an empty file", { before: "" }],
    ["modify", { before: text(long), after: text([...long.slice(0, 9), "ten", ...long.slice(11), "more"]) }],
    ["modify without final newline", { before: "a\nb", after: "a\nc" }],
    ["gain a final newline", { before: "a\nb", after: "a\nb\n" }],
    ["lose a final newline", { before: "a\nb\n", after: "a\nb" }],
    ["modify CRLF", { before: "a\r\nb\r\nc\r\n", after: "a\r\nB\r\nc\r\n" }],
    ["CRLF to LF", { before: "a\r\nb\r\n", after: "a\nb\n" }],
    ["a lone CR inside a line", { before: "a\rb\nc\n", after: "a\rb\nd\n" }],
    ["empty a file", { before: "a\nb\n", after: "" }],
    ["lines that look like a patch", { before: "--- a/x\n+++ b/x\n", after: "@@ -1 +1 @@\n\\ No newline\n" }],
    ["path with a space", { path: "my dir/a file.txt", before: "a\n", after: "b\n" }],
    ["new path with a space", { path: "my dir/a file.txt", after: "b\n" }],
    ["path with a quote, a backslash and a tab", { path: 'q"uo\\te\t.txt', before: "a\n", after: "b\n" }],
    ["path outside ASCII", { path: "ünï/漢字 😀.txt", before: "a\n", after: "b\n" }],
    ["new path outside ASCII", { path: "ünï/漢字.txt", after: "b\n" }],
  ])("%s", (_title, { path = "dir/file.txt", before, after }) => {
    if (before !== undefined) write(path, before);
    const diff: JsonObject = { path: `/${path}`, oldText: before ?? null };
    if (after !== undefined) diff.newText = after;
    // An empty oldText is taken for a new file unless the agent says otherwise.
    if (before === "") diff._meta = { kind: "delete" };
    apply(patchOf(diff));
    expect(read(path)).toBe(after);
  });

  test("an edited fragment lands on its line", () => {
    // The same three lines twice: only the position tells them apart.
    const block = ["start", "middle", "end"];
    write("f.txt", text([...block, ...long, ...block]));
    const patch = patchOf({ path: "/f.txt", oldText: "start\nmiddle\nend", newText: "start\nMIDDLE\nend" }, [
      { path: "/f.txt", line: 44 },
    ]);
    apply(patch);
    expect(read("f.txt")).toBe(text([...block, ...long, "start", "MIDDLE", "end"]));
  });

  test("an inserted fragment lands before its line", () => {
    write("f.txt", text(long));
    apply(patchOf({ path: "/f.txt", oldText: "", newText: "new" }, [{ path: "/f.txt", line: 5 }]));
    expect(read("f.txt")).toBe(text([...long.slice(0, 4), "new", ...long.slice(4)]));
  });

  test.each(["plain.txt", "my file.txt", 'q"uo\\te\t.txt', "ünï.txt", "ünï code.txt", "bell\u0007del\u007f.txt"])(
    "the headers of %j are git's own",
    (path) => {
      git("init", "--quiet");
      write(path, "a\nb\nc\n");
      git("add", "--all");
      write(path, "a\nB\nc\n");
      const own = git("-c", "core.quotePath=true", "diff").replace(/^index .*\n/m, "");
      expect(prefixed(patchOf({ path: `/${path}`, oldText: "a\nb\nc\n", newText: "a\nB\nc\n" }))).toBe(own);
    },
  );
});

describe("memo", () => {
  const diff = { type: "diff", path: "a", oldText: "x\n", newText: "y\n" };

  test("the same diff is made once, whatever else comes with it", () => {
    const memo: DiffMemo = new Map();
    const first = diffToV2(diff, { cwd: "/w", locations: [] }, memo, []);
    const second = diffToV2({ ...diff, path: "/w/a", _meta: { m: 1 } }, { cwd: "/w", locations: null }, memo, []);
    expect(memo.size).toBe(1);
    expect(second.patch).toBe(first.patch);
    expect(second._meta).toStrictEqual({ m: 1 });
  });

  test.each([
    ["path", { ...diff, path: "b" }, []],
    ["old text", { ...diff, oldText: "z\n" }, []],
    ["new text", { ...diff, newText: "z\n" }, []],
    ["operation", { ...diff, oldText: null }, []],
    ["line", diff, [{ path: "a", line: 9 }]],
  ])("another %s is another diff", (_what, other, locations) => {
    const memo: DiffMemo = new Map();
    diffToV2(diff, { cwd: "/w", locations: [] }, memo, []);
    diffToV2(other, { cwd: "/w", locations }, memo, []);
    expect(memo.size).toBe(2);
  });

  test("it is emptied when it is full, and not for what it has", () => {
    const memo: DiffMemo = new Map();
    const sizes = [...Array.from({ length: 32 }, (_, index) => index), 31, 32].map((index) => {
      diffToV2({ ...diff, path: `${index}` }, { cwd: "/w", locations: [] }, memo, []);
      return memo.size;
    });
    expect(sizes.slice(-3)).toEqual([32, 32, 1]);
  });

  test("a loss is reported once", () => {
    const memo: DiffMemo = new Map();
    const notes: Notes = [];
    const binary = { ...diff, newText: "\0" };
    diffToV2(binary, { cwd: "/w", locations: [] }, memo, notes);
    diffToV2(binary, { cwd: "/w", locations: [] }, memo, notes);
    expect(notes).toStrictEqual([{ rule: "diff-without-patch", detail: "/w/a: binary content" }]);
  });
});
