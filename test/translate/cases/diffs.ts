import type { Case } from "./case.ts";

const lines = (...text: string[]): string => `${text.join("\n")}\n`;
const numbered = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `line ${from + index}`);
const change = (operation: string, path: string, fileType = "text") => [{ operation, path, fileType }];
const patch = (...text: string[]) => ({ format: "git_patch", text: lines(...text) });

/** `diffToV2` in a session whose cwd is `/w`, result: v2 `ToolCallContent`. */
export const diffs: Case[] = [
  {
    rule: "6.5",
    title: "oldText null adds the file",
    in: { diff: { type: "diff", path: "/w/a", oldText: null, newText: "x\ny\n" } },
    out: {
      type: "diff",
      changes: change("add", "/w/a"),
      patch: patch(
        "diff --git /w/a /w/a",
        "new file mode 100644",
        "--- /dev/null",
        "+++ /w/a",
        "@@ -0,0 +1,2 @@",
        "+x",
        "+y",
      ),
    },
  },
  {
    rule: "6.5",
    title: "oldText absent adds the file; one line without its newline; _meta stays",
    in: { diff: { type: "diff", path: "/w/a", newText: "x", _meta: { kind: "add" }, later: 1 } },
    out: {
      type: "diff",
      _meta: { kind: "add" },
      later: 1,
      changes: change("add", "/w/a"),
      patch: patch(
        "diff --git /w/a /w/a",
        "new file mode 100644",
        "--- /dev/null",
        "+++ /w/a",
        "@@ -0,0 +1 @@",
        "+x",
        "\\ No newline at end of file",
      ),
    },
  },
  {
    rule: "6.5",
    title: "oldText empty adds the file",
    in: { diff: { type: "diff", path: "/w/a", oldText: "", newText: "x\n" } },
    out: {
      type: "diff",
      changes: change("add", "/w/a"),
      patch: patch("diff --git /w/a /w/a", "new file mode 100644", "--- /dev/null", "+++ /w/a", "@@ -0,0 +1 @@", "+x"),
    },
  },
  {
    rule: "6.5",
    title: "oldText empty, but the agent says the file was there",
    in: { diff: { type: "diff", path: "/w/a", oldText: "", newText: "x\n", _meta: { kind: "modify" } } },
    out: {
      type: "diff",
      _meta: { kind: "modify" },
      changes: change("modify", "/w/a"),
      patch: patch("diff --git /w/a /w/a", "--- /w/a", "+++ /w/a", "@@ -0,0 +1 @@", "+x"),
    },
  },
  {
    rule: "6.5",
    title: "oldText empty at a line: an insertion",
    in: {
      diff: { type: "diff", path: "/w/a", oldText: "", newText: "x" },
      locations: [{ path: "/w/a", line: 7 }],
    },
    out: {
      type: "diff",
      changes: change("modify", "/w/a"),
      patch: patch("diff --git /w/a /w/a", "--- /w/a", "+++ /w/a", "@@ -6,0 +7 @@", "+x"),
    },
  },
  {
    rule: "6.5",
    title: "an empty new file",
    in: { diff: { type: "diff", path: "/w/a", newText: "" } },
    out: {
      type: "diff",
      changes: change("add", "/w/a"),
      patch: patch("diff --git /w/a /w/a", "new file mode 100644"),
    },
  },
  {
    rule: "6.5",
    title: "a new file is a file, whatever line a location names",
    in: { diff: { type: "diff", path: "/w/a", newText: "x\n" }, locations: [{ path: "/w/a", line: 9 }] },
    out: {
      type: "diff",
      changes: change("add", "/w/a"),
      patch: patch("diff --git /w/a /w/a", "new file mode 100644", "--- /dev/null", "+++ /w/a", "@@ -0,0 +1 @@", "+x"),
    },
  },
  {
    rule: "6.5",
    title: "newText absent deletes the file",
    in: { diff: { type: "diff", path: "/w/a", oldText: "x\ny\n" } },
    out: {
      type: "diff",
      changes: change("delete", "/w/a"),
      patch: patch(
        "diff --git /w/a /w/a",
        "deleted file mode 100644",
        "--- /w/a",
        "+++ /dev/null",
        "@@ -1,2 +0,0 @@",
        "-x",
        "-y",
      ),
    },
  },
  {
    rule: "6.5",
    title: "_meta.kind delete deletes the file",
    in: { diff: { type: "diff", path: "/w/a", oldText: "x", newText: "", _meta: { kind: "delete" } } },
    out: {
      type: "diff",
      _meta: { kind: "delete" },
      changes: change("delete", "/w/a"),
      patch: patch(
        "diff --git /w/a /w/a",
        "deleted file mode 100644",
        "--- /w/a",
        "+++ /dev/null",
        "@@ -1 +0,0 @@",
        "-x",
        "\\ No newline at end of file",
      ),
    },
  },
  {
    rule: "6.5",
    title: "a deletion of unknown content",
    in: { diff: { type: "diff", path: "/w/a", newText: null, _meta: { kind: "delete" } } },
    out: { type: "diff", _meta: { kind: "delete" }, changes: change("delete", "/w/a") },
    notes: ["diff-without-patch"],
  },
  {
    rule: "6.5",
    title: "no text at all",
    in: { diff: { type: "diff", path: "/w/a" } },
    out: { type: "diff", changes: change("modify", "/w/a") },
    notes: ["diff-without-patch"],
  },
  {
    rule: "6.5",
    title: "a modification with context on both sides, two hunks",
    in: {
      diff: {
        type: "diff",
        path: "/w/a",
        oldText: lines(...numbered(1, 20)),
        newText: lines("line 1", "changed", ...numbered(3, 17), "line 18a", ...numbered(18, 20)),
      },
    },
    out: {
      type: "diff",
      changes: change("modify", "/w/a"),
      patch: patch(
        "diff --git /w/a /w/a",
        "--- /w/a",
        "+++ /w/a",
        "@@ -1,5 +1,5 @@",
        " line 1",
        "-line 2",
        "+changed",
        " line 3",
        " line 4",
        " line 5",
        "@@ -15,6 +15,7 @@",
        " line 15",
        " line 16",
        " line 17",
        "+line 18a",
        " line 18",
        " line 19",
        " line 20",
      ),
    },
  },
  {
    rule: "6.5",
    title: "CRLF is kept",
    in: { diff: { type: "diff", path: "/w/a", oldText: "a\r\nb\r\n", newText: "a\r\nc\r\n" } },
    out: {
      type: "diff",
      changes: change("modify", "/w/a"),
      patch: patch("diff --git /w/a /w/a", "--- /w/a", "+++ /w/a", "@@ -1,2 +1,2 @@", " a\r", "-b\r", "+c\r"),
    },
  },
  {
    rule: "6.5",
    title: "only the final newline differs",
    in: { diff: { type: "diff", path: "/w/a", oldText: "a", newText: "a\n" } },
    out: {
      type: "diff",
      changes: change("modify", "/w/a"),
      patch: patch(
        "diff --git /w/a /w/a",
        "--- /w/a",
        "+++ /w/a",
        "@@ -1 +1 @@",
        "-a",
        "\\ No newline at end of file",
        "+a",
      ),
    },
  },
  {
    rule: "6.5",
    title: "nothing changed",
    in: { diff: { type: "diff", path: "/w/a", oldText: "a\n", newText: "a\n" } },
    out: { type: "diff", changes: change("modify", "/w/a") },
  },
  {
    rule: "6.5",
    title: "a relative path is resolved; a space, a quote and letters outside ASCII are quoted as git does",
    in: { diff: { type: "diff", path: 'my dir/"ü".txt', oldText: "a\n", newText: "b\n" } },
    out: {
      type: "diff",
      changes: change("modify", '/w/my dir/"ü".txt'),
      patch: patch(
        'diff --git "/w/my dir/\\"\\303\\274\\".txt" "/w/my dir/\\"\\303\\274\\".txt"',
        '--- "/w/my dir/\\"\\303\\274\\".txt"\t',
        '+++ "/w/my dir/\\"\\303\\274\\".txt"\t',
        "@@ -1 +1 @@",
        "-a",
        "+b",
      ),
    },
  },
  {
    rule: "6.5",
    title: "a Windows path",
    in: { diff: { type: "diff", path: "C:\\src\\a.txt", oldText: "a\n", newText: "b\n" } },
    out: {
      type: "diff",
      changes: change("modify", "C:\\src\\a.txt"),
      patch: patch(
        'diff --git "C:\\\\src\\\\a.txt" "C:\\\\src\\\\a.txt"',
        '--- "C:\\\\src\\\\a.txt"',
        '+++ "C:\\\\src\\\\a.txt"',
        "@@ -1 +1 @@",
        "-a",
        "+b",
      ),
    },
  },
  {
    rule: "6.5",
    title: "binary content",
    in: { diff: { type: "diff", path: "/w/a", oldText: "a\0b", newText: "a\0c" } },
    out: { type: "diff", changes: change("modify", "/w/a", "binary") },
    notes: ["diff-without-patch"],
  },
  {
    rule: "6.5",
    title: "too many characters",
    in: { diff: { type: "diff", path: "/w/a", oldText: "a\n", newText: "b".repeat(1024 * 1024) } },
    out: { type: "diff", changes: change("modify", "/w/a") },
    notes: ["diff-without-patch"],
  },
  {
    rule: "6.5",
    title: "too many lines",
    in: { diff: { type: "diff", path: "/w/a", newText: "\n".repeat(50_001) } },
    out: { type: "diff", changes: change("add", "/w/a") },
    notes: ["diff-without-patch"],
  },
  {
    rule: "6.5",
    title: "too many changed lines",
    in: {
      diff: {
        type: "diff",
        path: "/w/a",
        oldText: lines(...numbered(1, 501)),
        newText: lines(...numbered(1001, 1501)),
      },
    },
    out: { type: "diff", changes: change("modify", "/w/a") },
    notes: ["diff-without-patch"],
  },
  {
    rule: "6.5",
    title: "a fragment far behind its own length: moved to the location's line",
    in: {
      diff: { type: "diff", path: "a", oldText: "hello\nworld", newText: "hello\nthere" },
      locations: [
        { path: "/other", line: 3 },
        { path: "/w/a", line: 40 },
      ],
    },
    out: {
      type: "diff",
      changes: change("modify", "/w/a"),
      patch: patch("diff --git /w/a /w/a", "--- /w/a", "+++ /w/a", "@@ -40,2 +40,2 @@", " hello", "-world", "+there"),
    },
  },
  {
    rule: "6.5",
    title: "a fragment that grows past the line is still one: its old text ends before it",
    in: {
      diff: { type: "diff", path: "/w/a", oldText: "x\n", newText: lines("a", "b", "c", "d") },
      locations: [{ path: "/w/a", line: 3 }],
    },
    out: {
      type: "diff",
      changes: change("modify", "/w/a"),
      patch: patch("diff --git /w/a /w/a", "--- /w/a", "+++ /w/a", "@@ -3 +3,4 @@", "-x", "+a", "+b", "+c", "+d"),
    },
  },
  {
    rule: "6.5",
    title: "a fragment whose hunks do not cover the line",
    in: {
      diff: {
        type: "diff",
        path: "/w/a",
        oldText: lines("x", ...numbered(2, 12)),
        newText: lines("y", ...numbered(2, 12)),
      },
      locations: [{ path: "a", line: 9 }],
    },
    out: {
      type: "diff",
      changes: change("modify", "/w/a"),
      patch: patch(
        "diff --git /w/a /w/a",
        "--- /w/a",
        "+++ /w/a",
        "@@ -9,4 +9,4 @@",
        "-x",
        "+y",
        " line 2",
        " line 3",
        " line 4",
      ),
    },
  },
  {
    rule: "6.5",
    title: "a whole file whose hunk covers the line stays where it is",
    in: {
      diff: {
        type: "diff",
        path: "/w/a",
        oldText: lines(...numbered(1, 9), "x"),
        newText: lines(...numbered(1, 9), "y"),
      },
      locations: [{ path: "/w/a", line: 10 }],
    },
    out: {
      type: "diff",
      changes: change("modify", "/w/a"),
      patch: patch(
        "diff --git /w/a /w/a",
        "--- /w/a",
        "+++ /w/a",
        "@@ -7,4 +7,4 @@",
        " line 7",
        " line 8",
        " line 9",
        "-x",
        "+y",
      ),
    },
  },
  {
    rule: "6.5",
    title: "a CRLF fragment ends as its lines do",
    in: {
      diff: { type: "diff", path: "/w/a", oldText: "a\r\nb", newText: "a\r\nc" },
      locations: [{ path: "/w/a", line: 5 }],
    },
    out: {
      type: "diff",
      changes: change("modify", "/w/a"),
      patch: patch("diff --git /w/a /w/a", "--- /w/a", "+++ /w/a", "@@ -5,2 +5,2 @@", " a\r", "-b\r", "+c\r"),
    },
  },
  {
    rule: "6.5",
    title: "texts that are no texts are left for the schema to refuse",
    in: { diff: { type: "diff", path: "/w/a", oldText: 1, newText: "x" } },
    out: { type: "diff", path: "/w/a", oldText: 1, newText: "x" },
    invalid: true,
  },
  {
    rule: "6.5",
    title: "no path: left for the schema to refuse",
    in: { diff: { type: "diff", newText: "x" } },
    out: { type: "diff", newText: "x" },
    invalid: true,
  },
];
