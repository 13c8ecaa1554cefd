import type { Case } from "./case.ts";

/** `toolCallToV2` in a session whose cwd is `/w`, result: v2 `SessionUpdate`, or `ToolCallUpdate` without its kind. */
export const toolCalls: Case[] = [
  {
    rule: "6.1",
    title: "tool_call with every field",
    in: {
      update: {
        sessionUpdate: "tool_call",
        toolCallId: "t1",
        title: "Read a file",
        name: "read_file",
        kind: "read",
        status: "pending",
        content: [],
        locations: [],
        rawInput: { path: "/w/a" },
        rawOutput: "text",
        _meta: { m: 1 },
        later: true,
      },
    },
    out: {
      sessionUpdate: "tool_call_update",
      toolCallId: "t1",
      title: "Read a file",
      name: "read_file",
      kind: "read",
      status: "pending",
      content: [],
      locations: [],
      rawInput: { path: "/w/a" },
      rawOutput: "text",
      _meta: { m: 1 },
      later: true,
    },
  },
  {
    rule: "6.1",
    title: "tool_call_update keeps absent fields absent",
    in: { update: { sessionUpdate: "tool_call_update", toolCallId: "t1", status: "completed" } },
    out: { sessionUpdate: "tool_call_update", toolCallId: "t1", status: "completed" },
  },
  {
    rule: "6.1",
    title: "the tool call of a permission request has no kind of update",
    in: { update: { toolCallId: "t1", title: "Run" } },
    out: { toolCallId: "t1", title: "Run" },
  },
  {
    rule: "6.2",
    title: "null fields are dropped, empty ones are not",
    in: {
      update: {
        sessionUpdate: "tool_call_update",
        toolCallId: "t1",
        title: null,
        name: null,
        kind: null,
        status: null,
        content: null,
        locations: null,
        rawInput: null,
        rawOutput: null,
        _meta: null,
        later: null,
        other: "",
      },
    },
    out: { sessionUpdate: "tool_call_update", toolCallId: "t1", other: "" },
  },
  {
    rule: "6.1",
    title: "v2's tool-call capabilities are not promised for v1 work",
    in: { update: { sessionUpdate: "tool_call_update", toolCallId: "t1", capabilities: { cancel: {} } } },
    out: { sessionUpdate: "tool_call_update", toolCallId: "t1" },
  },
  {
    rule: "6.4",
    title: "content blocks",
    in: {
      update: {
        sessionUpdate: "tool_call_update",
        toolCallId: "t1",
        content: [
          { type: "content", content: { type: "text", text: "hi" }, _meta: { m: 1 } },
          { type: "content", content: { type: "image", data: "AA==", mimeType: "image/png" } },
          { type: "content", content: { type: "chart", points: [1] } },
        ],
      },
    },
    out: {
      sessionUpdate: "tool_call_update",
      toolCallId: "t1",
      content: [
        { type: "content", content: { type: "text", text: "hi" }, _meta: { m: 1 } },
        { type: "content", content: { type: "image", data: "AA==", mimeType: "image/png" } },
        { type: "content", content: { type: "_chart", points: [1] } },
      ],
    },
  },
  {
    rule: "6.4",
    title: "a bare block is wrapped, an unknown item gets a _ type",
    in: {
      update: {
        sessionUpdate: "tool_call",
        toolCallId: "t1",
        title: "T",
        content: [
          { type: "text", text: "bare" },
          { type: "table", rows: [] },
          { type: "_vendor", x: 1 },
        ],
      },
    },
    out: {
      sessionUpdate: "tool_call_update",
      toolCallId: "t1",
      title: "T",
      content: [
        { type: "content", content: { type: "text", text: "bare" } },
        { type: "_table", rows: [] },
        { type: "_vendor", x: 1 },
      ],
    },
  },
  {
    rule: "6.4",
    title: "what cannot be an item is left for the schema to refuse",
    in: {
      update: {
        toolCallId: "t1",
        content: [null, 1, {}, { type: "content" }, { type: "diff" }],
        locations: [null, { line: 3 }, { path: "/w/a" }],
      },
    },
    out: {
      toolCallId: "t1",
      content: [null, 1, {}, { type: "content" }, { type: "diff" }],
      locations: [null, { line: 3 }, { path: "/w/a" }],
    },
    invalid: true,
  },
  {
    rule: "6.4",
    title: "fields of another type are left for the schema to refuse",
    in: { update: { toolCallId: "t1", content: "text", locations: {}, kind: 1, status: [] } },
    out: { toolCallId: "t1", content: "text", locations: {}, kind: 1, status: [] },
    invalid: true,
  },
  {
    rule: "6.5",
    title: "a diff among other content",
    in: {
      update: {
        sessionUpdate: "tool_call",
        toolCallId: "t1",
        title: "Edit",
        kind: "edit",
        content: [
          { type: "diff", path: "a.txt", oldText: "hello", newText: "goodbye" },
          { type: "content", content: { type: "text", text: "done" } },
        ],
      },
    },
    out: {
      sessionUpdate: "tool_call_update",
      toolCallId: "t1",
      title: "Edit",
      kind: "edit",
      content: [
        {
          type: "diff",
          changes: [{ operation: "modify", path: "/w/a.txt", fileType: "text" }],
          patch: {
            format: "git_patch",
            text: [
              "diff --git /w/a.txt /w/a.txt",
              "--- /w/a.txt",
              "+++ /w/a.txt",
              "@@ -1 +1 @@",
              "-hello",
              "\\ No newline at end of file",
              "+goodbye",
              "\\ No newline at end of file",
              "",
            ].join("\n"),
          },
        },
        { type: "content", content: { type: "text", text: "done" } },
      ],
    },
  },
  {
    rule: "6.5",
    title: "one diff and one location per hunk: each hunk at its own line",
    in: {
      update: {
        sessionUpdate: "tool_call_update",
        toolCallId: "t1",
        content: [
          { type: "diff", path: "/w/a.txt", oldText: "one", newText: "1" },
          { type: "_link", path: "/w/a.txt" },
          { type: "diff", path: "/w/b.txt", newText: "" },
          { type: "diff", path: "a.txt", oldText: "two", newText: "2" },
        ],
        locations: [
          null,
          { path: 1, line: 5 },
          { path: "/w/b.txt", line: 3 },
          { path: "/w/a.txt", line: 10 },
          { path: "/w/a.txt", line: 50 },
        ],
      },
    },
    out: {
      sessionUpdate: "tool_call_update",
      toolCallId: "t1",
      content: [
        {
          type: "diff",
          changes: [{ operation: "modify", path: "/w/a.txt", fileType: "text" }],
          patch: {
            format: "git_patch",
            text: "diff --git /w/a.txt /w/a.txt\n--- /w/a.txt\n+++ /w/a.txt\n@@ -10 +10 @@\n-one\n+1\n",
          },
        },
        { type: "_link", path: "/w/a.txt" },
        {
          type: "diff",
          changes: [{ operation: "add", path: "/w/b.txt", fileType: "text" }],
          patch: { format: "git_patch", text: "diff --git /w/b.txt /w/b.txt\nnew file mode 100644\n" },
        },
        {
          type: "diff",
          changes: [{ operation: "modify", path: "/w/a.txt", fileType: "text" }],
          patch: {
            format: "git_patch",
            text: "diff --git /w/a.txt /w/a.txt\n--- /w/a.txt\n+++ /w/a.txt\n@@ -50 +50 @@\n-two\n+2\n",
          },
        },
      ],
      locations: [
        null,
        { path: 1, line: 5 },
        { path: "/w/b.txt", line: 3 },
        { path: "/w/a.txt", line: 10 },
        { path: "/w/a.txt", line: 50 },
      ],
    },
    invalid: true,
  },
  {
    rule: "6.5",
    title: "more locations than diffs: the first of them",
    in: {
      update: {
        toolCallId: "t1",
        content: ["one", "two"].map((oldText) => ({ type: "diff", path: "/w/a", oldText, newText: "x" })),
        locations: [10, 50, 90].map((line) => ({ path: "/w/a", line })),
      },
    },
    out: {
      toolCallId: "t1",
      content: ["one", "two"].map((oldText) => ({
        type: "diff",
        changes: [{ operation: "modify", path: "/w/a", fileType: "text" }],
        patch: {
          format: "git_patch",
          text: `diff --git /w/a /w/a\n--- /w/a\n+++ /w/a\n@@ -10 +10 @@\n-${oldText}\n+x\n`,
        },
      })),
      locations: [10, 50, 90].map((line) => ({ path: "/w/a", line })),
    },
  },
  {
    rule: "6.6",
    title: "a terminal reference",
    in: {
      update: {
        sessionUpdate: "tool_call",
        toolCallId: "t1",
        title: "Run",
        content: [{ type: "terminal", terminalId: "term1", _meta: { m: 1 } }],
      },
    },
    out: {
      sessionUpdate: "tool_call_update",
      toolCallId: "t1",
      title: "Run",
      content: [{ type: "terminal", terminalId: "term1", _meta: { m: 1 } }],
    },
  },
  {
    rule: "6.7",
    title: "relative, absolute, Windows and URI locations; lines v2 does not have",
    in: {
      update: {
        sessionUpdate: "tool_call_update",
        toolCallId: "t1",
        locations: [
          { path: "src/../a.ts", line: 3 },
          { path: "/etc/hosts", line: null, _meta: { m: 1 } },
          { path: "./b.ts", line: 0 },
          { path: "D:\\c.ts", line: 1.5 },
          { path: "/w/e.ts", line: 1 },
          { path: "file:///w/d.ts" },
        ],
      },
    },
    out: {
      sessionUpdate: "tool_call_update",
      toolCallId: "t1",
      locations: [
        { path: "/w/a.ts", line: 3 },
        { path: "/etc/hosts", _meta: { m: 1 } },
        { path: "/w/b.ts" },
        { path: "D:\\c.ts" },
        { path: "/w/e.ts", line: 1 },
        { path: "file:///w/d.ts" },
      ],
    },
  },
  {
    rule: "6.8",
    title: "unknown kind and status",
    in: { update: { sessionUpdate: "tool_call", toolCallId: "t1", title: "T", kind: "shell", status: "queued" } },
    out: { sessionUpdate: "tool_call_update", toolCallId: "t1", title: "T", kind: "_shell", status: "_queued" },
  },
  {
    rule: "6.8",
    title: "v2's own statuses and an agent's own prefix stay",
    in: { update: { sessionUpdate: "tool_call_update", toolCallId: "t1", kind: "_shell", status: "cancelled" } },
    out: { sessionUpdate: "tool_call_update", toolCallId: "t1", kind: "_shell", status: "cancelled" },
  },
  {
    rule: "6.5",
    title: "old text that is the tool's own argument is a fragment: no word about the end of the file",
    in: {
      update: {
        toolCallId: "t1",
        rawInput: { file_path: "/w/a", old_string: "hello", new_string: "bye" },
        content: [{ type: "diff", path: "/w/a", oldText: "hello", newText: "bye" }],
      },
    },
    out: {
      toolCallId: "t1",
      rawInput: { file_path: "/w/a", old_string: "hello", new_string: "bye" },
      content: [
        {
          type: "diff",
          changes: [{ operation: "modify", path: "/w/a", fileType: "text" }],
          patch: {
            format: "git_patch",
            text: "diff --git /w/a /w/a\n--- /w/a\n+++ /w/a\n@@ -1 +1 @@\n-hello\n+bye\n",
          },
        },
      ],
    },
  },
  {
    rule: "6.5",
    title: "a deleted file is no fragment",
    in: {
      update: {
        toolCallId: "t1",
        rawInput: { text: "gone" },
        content: [{ type: "diff", path: "/w/b", oldText: "gone" }],
      },
    },
    out: {
      toolCallId: "t1",
      rawInput: { text: "gone" },
      content: [
        {
          type: "diff",
          changes: [{ operation: "delete", path: "/w/b", fileType: "text" }],
          patch: {
            format: "git_patch",
            text: "diff --git /w/b /w/b\ndeleted file mode 100644\n--- /w/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n\\ No newline at end of file\n",
          },
        },
      ],
    },
  },
  {
    rule: "6.9",
    title: "the display-terminal keys are not this function's business",
    in: { update: { toolCallId: "t1", _meta: { terminal_info: { terminal_id: "x" } } } },
    out: { toolCallId: "t1", _meta: { terminal_info: { terminal_id: "x" } } },
  },
];

/** `toolCallTitle`. */
export const titles: Case[] = [
  {
    rule: "6.3",
    title: "its own title",
    in: { title: "Read", name: "read_file", kind: "read", toolCallId: "t1" },
    out: "Read",
  },
  {
    rule: "6.3",
    title: "the name",
    in: { title: "", name: "read_file", kind: "read", toolCallId: "t1" },
    out: "read_file",
  },
  { rule: "6.3", title: "the kind", in: { title: null, kind: "read", toolCallId: "t1" }, out: "read" },
  { rule: "6.3", title: "the id", in: { toolCallId: "t1" }, out: "t1" },
  { rule: "6.3", title: "nothing at all", in: { toolCallId: 7 }, out: "Tool call" },
];

/** `displayTerminalsToV2` in a session whose cwd is `/w`, after the terminal `shown`; the updates are v2 `SessionUpdate`. */
export const displayTerminals: Case[] = [
  {
    rule: "6.9",
    title: "nothing to take out",
    in: { update: { toolCallId: "t1", _meta: { other: 1 } } },
    out: { updates: [], toolCall: { toolCallId: "t1", _meta: { other: 1 } } },
  },
  {
    rule: "6.9",
    title: "terminal_info, the command from the raw input",
    in: {
      update: {
        sessionUpdate: "tool_call",
        toolCallId: "t1",
        title: "Run it",
        content: [{ type: "terminal", terminalId: "t1" }],
        rawInput: { command: "touch made && echo hi" },
        _meta: { terminal_info: { terminal_id: "t1", cwd: "/work" } },
      },
    },
    out: {
      updates: [{ sessionUpdate: "terminal_update", terminalId: "t1", cwd: "/work", command: "touch made && echo hi" }],
      toolCall: {
        sessionUpdate: "tool_call",
        toolCallId: "t1",
        title: "Run it",
        content: [{ type: "terminal", terminalId: "t1" }],
        rawInput: { command: "touch made && echo hi" },
      },
      shown: { terminalId: "t1", command: "touch made && echo hi" },
    },
  },
  {
    rule: "6.9",
    title: "terminal_info without cwd, the command from a list, from the title, from nowhere",
    in: {
      update: {
        rawInput: { command: ["bash", "-lc", "ls"] },
        _meta: { terminal_info: { terminal_id: "t1" } },
      },
    },
    out: {
      updates: [{ sessionUpdate: "terminal_update", terminalId: "t1", cwd: "/w", command: "bash -lc ls" }],
      toolCall: { rawInput: { command: ["bash", "-lc", "ls"] } },
      shown: { terminalId: "t1", command: "bash -lc ls" },
    },
  },
  {
    rule: "6.9",
    title: "terminal_info with a relative cwd, the command from the title",
    in: { update: { title: "ls", _meta: { terminal_info: { terminal_id: "t1", cwd: "sub" } } } },
    out: {
      updates: [{ sessionUpdate: "terminal_update", terminalId: "t1", cwd: "/w/sub", command: "ls" }],
      toolCall: { title: "ls" },
      shown: { terminalId: "t1", command: "ls" },
    },
  },
  {
    rule: "6.9",
    title: "a terminal opened before the tool has its input: the title is not the command's yet",
    in: { update: { title: "Terminal", rawInput: {}, _meta: { terminal_info: { terminal_id: "t1" } } } },
    out: {
      updates: [{ sessionUpdate: "terminal_update", terminalId: "t1", cwd: "/w" }],
      toolCall: { title: "Terminal", rawInput: {} },
      shown: { terminalId: "t1" },
    },
  },
  {
    rule: "6.9",
    title: "another terminal than the one shown so far",
    in: {
      update: { rawInput: { command: "ls" }, _meta: { terminal_info: { terminal_id: "t2" } } },
      shown: { terminalId: "t1", command: "pwd" },
    },
    out: {
      updates: [{ sessionUpdate: "terminal_update", terminalId: "t2", cwd: "/w", command: "ls" }],
      toolCall: { rawInput: { command: "ls" } },
      shown: { terminalId: "t2", command: "ls" },
    },
  },
  ...[{ command: "" }, { command: [] }, { command: 1 }, { later: 1 }, "ls -l"].map(
    (rawInput): Case => ({
      rule: "6.9",
      title: `a raw input that names no command, ${JSON.stringify(rawInput)}: the title does`,
      in: { update: { title: "ls", rawInput, _meta: { terminal_info: { terminal_id: "t1" } } } },
      out: {
        updates: [{ sessionUpdate: "terminal_update", terminalId: "t1", cwd: "/w", command: "ls" }],
        toolCall: { title: "ls", rawInput },
        shown: { terminalId: "t1", command: "ls" },
      },
    }),
  ),
  {
    rule: "6.9",
    title: "the input that comes later names the command",
    in: { update: { toolCallId: "c", rawInput: { command: "ls" } }, shown: { terminalId: "t1" } },
    out: {
      updates: [{ sessionUpdate: "terminal_update", terminalId: "t1", command: "ls" }],
      toolCall: { toolCallId: "c", rawInput: { command: "ls" } },
      shown: { terminalId: "t1", command: "ls" },
    },
  },
  {
    rule: "6.9",
    title: "the command is told once",
    in: { update: { toolCallId: "c", rawInput: { command: "ls" } }, shown: { terminalId: "t1", command: "ls" } },
    out: {
      updates: [],
      toolCall: { toolCallId: "c", rawInput: { command: "ls" } },
      shown: { terminalId: "t1", command: "ls" },
    },
  },
  {
    rule: "6.9",
    title: "output and output delta, base64 of UTF-8; other _meta stays",
    in: {
      update: {
        toolCallId: "t1",
        _meta: {
          terminal_output_delta: { terminal_id: "t1", data: "é\n" },
          terminal_output: { terminal_id: "t1", data: "hi\n" },
          other: true,
        },
      },
    },
    out: {
      updates: [
        { sessionUpdate: "terminal_output_chunk", terminalId: "t1", data: "aGkK" },
        { sessionUpdate: "terminal_output_chunk", terminalId: "t1", data: "w6kK" },
      ],
      toolCall: { toolCallId: "t1", _meta: { other: true } },
    },
  },
  {
    rule: "6.9",
    title: "exit with a code",
    in: {
      update: { toolCallId: "t1", _meta: { terminal_exit: { terminal_id: "t1", exit_code: 0, signal: null } } },
    },
    out: {
      updates: [{ sessionUpdate: "terminal_update", terminalId: "t1", exitStatus: { exitCode: 0 } }],
      toolCall: { toolCallId: "t1" },
    },
  },
  {
    rule: "6.9",
    title: "exit by a signal, and with neither",
    in: {
      update: { toolCallId: "t1", _meta: { terminal_exit: { terminal_id: "t1", signal: "SIGTERM", why: "user" } } },
    },
    out: {
      updates: [{ why: "user", sessionUpdate: "terminal_update", terminalId: "t1", exitStatus: { signal: "SIGTERM" } }],
      toolCall: { toolCallId: "t1" },
    },
  },
  {
    rule: "6.9",
    title: "everything in one update, in the order of a terminal's life",
    in: {
      update: {
        toolCallId: "t1",
        title: "ls",
        _meta: {
          terminal_exit: { terminal_id: "t1", exit_code: null, signal: null },
          terminal_output_delta: { terminal_id: "t1", data: "" },
          terminal_info: { terminal_id: "t1", cwd: "/w" },
        },
      },
    },
    out: {
      updates: [
        { sessionUpdate: "terminal_update", terminalId: "t1", cwd: "/w", command: "ls" },
        { sessionUpdate: "terminal_output_chunk", terminalId: "t1", data: "" },
        { sessionUpdate: "terminal_update", terminalId: "t1", exitStatus: {} },
      ],
      toolCall: { toolCallId: "t1", title: "ls" },
      shown: { terminalId: "t1", command: "ls" },
    },
  },
  {
    rule: "6.9",
    title: "keys that name no terminal or bring no text stay",
    in: {
      update: {
        toolCallId: "t1",
        _meta: { terminal_info: { cwd: "/w" }, terminal_output: { terminal_id: "t1" }, terminal_exit: null },
      },
    },
    out: {
      updates: [],
      toolCall: {
        toolCallId: "t1",
        _meta: { terminal_info: { cwd: "/w" }, terminal_output: { terminal_id: "t1" }, terminal_exit: null },
      },
    },
  },
  {
    rule: "6.9",
    title: "an empty _meta is not one that has become empty",
    in: { update: { toolCallId: "t1", _meta: {} } },
    out: { updates: [], toolCall: { toolCallId: "t1", _meta: {} } },
  },
];
