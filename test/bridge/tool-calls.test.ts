// Guards docs/mapping.md §6 where it takes memory: what is known of a tool call from before, terminals already
// announced, and the calls a turn leaves open. What one frame becomes is in test/translate.
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/protocol/json.ts";
import {
  agentHello,
  fail,
  idle,
  minted,
  notify,
  openDialogue,
  play,
  prompt,
  type Row,
  RUNNING,
  reply,
  request,
  runningDialogue,
  text,
  update,
} from "../support/dialogue.ts";

const call = (fields: JsonObject): Row => ["agent", update("s1", { sessionUpdate: "tool_call", ...fields })];
const change = (fields: JsonObject): Row => ["agent", update("s1", { sessionUpdate: "tool_call_update", ...fields })];
const shown = (fields: JsonObject): Row => [
  "to client",
  update("s1", { sessionUpdate: "tool_call_update", ...fields }),
];
const terminal = (fields: JsonObject): Row => [
  "to client",
  update("s1", { sessionUpdate: "terminal_update", ...fields }),
];
const output = (terminalId: string, data: string): Row => [
  "to client",
  update("s1", { sessionUpdate: "terminal_output_chunk", terminalId, data }),
];
const base64 = (words: string) => Buffer.from(words).toString("base64");

describe("§6 tool_call and tool_call_update", () => {
  const cases: [string, Row[]][] = [
    [
      "tool_call: the same fields under the v2 kind",
      [
        call({
          toolCallId: "t",
          title: "Read",
          kind: "read",
          status: "pending",
          rawInput: { path: "a" },
          rawOutput: ["b"],
          content: [{ type: "content", content: text("c") }],
          locations: [{ path: "/work/a", line: 3 }],
          _meta: { m: 1 },
          extra: 2,
        }),
        shown({
          toolCallId: "t",
          title: "Read",
          kind: "read",
          status: "pending",
          rawInput: { path: "a" },
          rawOutput: ["b"],
          content: [{ type: "content", content: text("c") }],
          locations: [{ path: "/work/a", line: 3 }],
          _meta: { m: 1 },
          extra: 2,
        }),
      ],
    ],
    [
      "a repeated tool_call is a patch: what it leaves out is not sent",
      [
        call({ toolCallId: "t", title: "Read", kind: "read", content: [{ type: "content", content: text("c") }] }),
        shown({ toolCallId: "t", title: "Read", kind: "read", content: [{ type: "content", content: text("c") }] }),
        call({ toolCallId: "t", title: "Read a.txt", status: "in_progress" }),
        shown({ toolCallId: "t", title: "Read a.txt", status: "in_progress" }),
        call({ toolCallId: "t", rawInput: { path: "a.txt" } }),
        shown({ toolCallId: "t", rawInput: { path: "a.txt" } }),
      ],
    ],
    ...["completed", "failed"].flatMap((final): [string, Row[]][] =>
      ["pending", "in_progress"].map((earlier) => [
        `a repeated tool_call does not move ${final} back to ${earlier}`,
        [
          call({ toolCallId: "t", title: "T", status: final }),
          shown({ toolCallId: "t", title: "T", status: final }),
          call({ toolCallId: "t", title: "T", status: earlier }),
          shown({ toolCallId: "t", title: "T" }),
        ],
      ]),
    ),
    [
      "a repeated tool_call may move one final status to another, and an open one anywhere",
      [
        call({ toolCallId: "t", title: "T", status: "in_progress" }),
        shown({ toolCallId: "t", title: "T", status: "in_progress" }),
        call({ toolCallId: "t", title: "T", status: "pending" }),
        shown({ toolCallId: "t", title: "T", status: "pending" }),
        call({ toolCallId: "t", title: "T", status: "completed" }),
        shown({ toolCallId: "t", title: "T", status: "completed" }),
        call({ toolCallId: "t", title: "T", status: "failed" }),
        shown({ toolCallId: "t", title: "T", status: "failed" }),
      ],
    ],
    [
      "an update may move a final status back: the agent says so",
      [
        call({ toolCallId: "t", title: "T", status: "completed" }),
        shown({ toolCallId: "t", title: "T", status: "completed" }),
        change({ toolCallId: "t", status: "in_progress" }),
        shown({ toolCallId: "t", status: "in_progress" }),
      ],
    ],
    [
      "null means unchanged in v1 and would clear in v2: dropped",
      [
        call({ toolCallId: "t", title: "T", kind: null, content: null }),
        shown({ toolCallId: "t", title: "T" }),
        change({ toolCallId: "t", title: null, status: "completed", locations: null, rawOutput: null, _meta: null }),
        shown({ toolCallId: "t", status: "completed" }),
      ],
    ],
    [
      "a status and a kind v2 does not define get a prefix",
      [
        call({ toolCallId: "t", title: "T", kind: "browse", status: "queued" }),
        shown({ toolCallId: "t", title: "T", kind: "_browse", status: "_queued" }),
      ],
    ],
    [
      "relative locations are resolved against the session's cwd",
      [
        call({ toolCallId: "t", title: "T", locations: [{ path: "src/../a.txt", line: null }, { path: "/etc/b" }] }),
        shown({ toolCallId: "t", title: "T", locations: [{ path: "/work/a.txt" }, { path: "/etc/b" }] }),
      ],
    ],
    [
      "a diff: one change, absolute, with its patch",
      [
        call({
          toolCallId: "t",
          title: "T",
          content: [{ type: "diff", path: "a.txt", oldText: "1\n", newText: "2\n" }],
        }),
        shown({
          toolCallId: "t",
          title: "T",
          content: [
            {
              type: "diff",
              changes: [{ operation: "modify", path: "/work/a.txt", fileType: "text" }],
              patch: {
                format: "git_patch",
                text: "diff --git /work/a.txt /work/a.txt\n--- /work/a.txt\n+++ /work/a.txt\n@@ -1 +1 @@\n-1\n+2\n",
              },
            },
          ],
        }),
      ],
    ],
  ];
  test.each(cases)("%s", (_, script) => {
    play(runningDialogue(), script);
  });

  const unknown: [string, JsonObject, string][] = [
    ["its title", { title: "Read", name: "read_file", kind: "read" }, "Read"],
    ["its name", { name: "read_file", kind: "read" }, "read_file"],
    ["its kind", { kind: "read" }, "read"],
    ["its id", { status: "in_progress" }, "t"],
    ["its kind when the title is empty", { title: "", kind: "read" }, "read"],
    ["its kind when the title is null", { title: null, kind: "read" }, "read"],
  ];
  test.each(unknown)("an update for an id never announced passes, with a title: %s", (_, fields, title) => {
    const { title: __, ...rest } = fields;
    play(runningDialogue(), [
      change({ toolCallId: "t", ...fields }),
      shown({ toolCallId: "t", ...rest, title }),
      // From then on it is known.
      change({ toolCallId: "t", status: "completed" }),
      shown({ toolCallId: "t", status: "completed" }),
    ]);
  });

  test("a tool_call after that update is a patch of it", () => {
    play(runningDialogue(), [
      change({ toolCallId: "t", status: "completed" }),
      shown({ toolCallId: "t", title: "t", status: "completed" }),
      call({ toolCallId: "t", title: "Read", status: "pending" }),
      shown({ toolCallId: "t", title: "Read" }),
    ]);
  });

  test.each([[undefined], [null], [""], [7]])("without an id (%j) there is nothing to show: logged", (toolCallId) => {
    play(runningDialogue(), [call({ toolCallId, title: "T" }), ["log", "update-dropped"]]);
  });

  test("a bad part costs that part, and is logged", () => {
    play(runningDialogue(), [
      call({
        toolCallId: "t",
        title: "T",
        status: 7,
        content: [{ type: "content" }, { type: "content", content: text("c") }],
      }),
      shown({ toolCallId: "t", title: "T", content: [{ type: "content", content: text("c") }] }),
      ["log", "update-repaired"],
    ]);
  });

  test("an identical diff sent again is not worked out again", () => {
    const binary = { type: "diff", path: "/a", oldText: "\0", newText: "1" };
    const v2 = { type: "diff", changes: [{ operation: "modify", path: "/a", fileType: "binary" }] };
    play(runningDialogue(), [
      call({ toolCallId: "t", title: "T", content: [binary] }),
      shown({ toolCallId: "t", title: "T", content: [v2] }),
      ["log", "diff-without-patch"],
      change({ toolCallId: "t", content: [binary] }),
      shown({ toolCallId: "t", content: [v2] }),
    ]);
  });
});

describe("§6 terminals are announced before they are referred to", () => {
  test("a terminal in the content of a tool call: once, with the session's cwd", () => {
    play(runningDialogue(), [
      call({ toolCallId: "t", title: "T", content: [{ type: "terminal", terminalId: "x" }] }),
      terminal({ terminalId: "x", cwd: "/work" }),
      shown({ toolCallId: "t", title: "T", content: [{ type: "terminal", terminalId: "x" }] }),
      change({
        toolCallId: "t",
        content: [
          { type: "terminal", terminalId: "x" },
          { type: "terminal", terminalId: "y" },
        ],
      }),
      terminal({ terminalId: "y", cwd: "/work" }),
      shown({
        toolCallId: "t",
        content: [
          { type: "terminal", terminalId: "x" },
          { type: "terminal", terminalId: "y" },
        ],
      }),
    ]);
  });

  test("the display-terminal extension: updates before the tool call, its `_meta` keys gone", () => {
    play(runningDialogue(), [
      call({
        toolCallId: "t",
        title: "Run",
        rawInput: { command: "ls" },
        content: [{ type: "terminal", terminalId: "x" }],
        _meta: { terminal_info: { terminal_id: "x", cwd: "/tmp" }, keep: 1 },
      }),
      terminal({ terminalId: "x", cwd: "/tmp", command: "ls" }),
      shown({
        toolCallId: "t",
        title: "Run",
        rawInput: { command: "ls" },
        content: [{ type: "terminal", terminalId: "x" }],
        _meta: { keep: 1 },
      }),
      change({ toolCallId: "t", _meta: { terminal_output_delta: { terminal_id: "x", data: "é\n" } } }),
      output("x", base64("é\n")),
      shown({ toolCallId: "t" }),
      change({
        toolCallId: "t",
        status: "completed",
        _meta: {
          terminal_output: { terminal_id: "x", data: "b" },
          terminal_exit: { terminal_id: "x", exit_code: 0, signal: null },
        },
      }),
      output("x", base64("b")),
      terminal({ terminalId: "x", exitStatus: { exitCode: 0 } }),
      shown({ toolCallId: "t", status: "completed" }),
    ]);
  });

  test("a terminal opened before the tool has its input: its command is told when the input names it", () => {
    const content = [{ type: "terminal", terminalId: "x" }];
    play(runningDialogue(), [
      call({
        toolCallId: "t",
        title: "Terminal",
        rawInput: {},
        content,
        _meta: { terminal_info: { terminal_id: "x" } },
      }),
      terminal({ terminalId: "x", cwd: "/work" }),
      shown({ toolCallId: "t", title: "Terminal", rawInput: {}, content }),
      change({ toolCallId: "t", title: "ls", rawInput: { command: "ls" } }),
      terminal({ terminalId: "x", command: "ls" }),
      shown({ toolCallId: "t", title: "ls", rawInput: { command: "ls" } }),
      change({ toolCallId: "t", rawInput: { command: "ls", why: "to look" } }),
      shown({ toolCallId: "t", rawInput: { command: "ls", why: "to look" } }),
    ]);
  });

  test("once a diff was of a fragment, so are the later ones of its tool call", () => {
    const edit = (oldText: string, newText: string) => [{ type: "diff", path: "/work/a", oldText, newText }];
    const patched = (removed: string, added: string) => [
      {
        type: "diff",
        changes: [{ operation: "modify", path: "/work/a", fileType: "text" }],
        patch: {
          format: "git_patch",
          text: `diff --git /work/a /work/a\n--- /work/a\n+++ /work/a\n@@ -1 +1 @@\n-${removed}\n+${added}\n`,
        },
      },
    ];
    const rawInput = { old_string: "hello", new_string: "bye" };
    play(runningDialogue(), [
      call({ toolCallId: "t", title: "Edit", rawInput, content: edit("hello", "bye") }),
      shown({ toolCallId: "t", title: "Edit", rawInput, content: patched("hello", "bye") }),
      change({ toolCallId: "t", content: edit("hello world", "bye world") }),
      shown({ toolCallId: "t", content: patched("hello world", "bye world") }),
    ]);
  });

  test("the diff of a tool call that was not asked to replace a text is of the whole file", () => {
    const { toClient } = runningDialogue().agent(
      update("s1", {
        sessionUpdate: "tool_call",
        toolCallId: "t",
        title: "Edit",
        content: [{ type: "diff", path: "/work/a", oldText: "hello", newText: "bye" }],
      }),
    );
    expect(JSON.stringify(toClient)).toContain("No newline at end of file");
  });

  test("output of a terminal nobody announced: announced first", () => {
    play(runningDialogue(), [
      call({ toolCallId: "t", title: "T", _meta: { terminal_output: { terminal_id: "x", data: "a" } } }),
      terminal({ terminalId: "x", cwd: "/work" }),
      output("x", base64("a")),
      shown({ toolCallId: "t", title: "T" }),
    ]);
  });

  test("a terminal is known to one session, not to another", () => {
    const dialogue = runningDialogue();
    dialogue.client(request("new2", "session/new", { cwd: "/other" }));
    dialogue.agent(reply(4, { sessionId: "s2" }));
    play(dialogue, [
      call({ toolCallId: "t", title: "T", content: [{ type: "terminal", terminalId: "x" }] }),
      terminal({ terminalId: "x", cwd: "/work" }),
      shown({ toolCallId: "t", title: "T", content: [{ type: "terminal", terminalId: "x" }] }),
      [
        "agent",
        update("s2", {
          sessionUpdate: "tool_call",
          toolCallId: "t",
          title: "T",
          content: [{ type: "terminal", terminalId: "x" }],
        }),
      ],
      ["to client", update("s2", { sessionUpdate: "terminal_update", terminalId: "x", cwd: "/other" })],
      [
        "to client",
        update("s2", {
          sessionUpdate: "tool_call_update",
          toolCallId: "t",
          title: "T",
          content: [{ type: "terminal", terminalId: "x" }],
        }),
      ],
    ]);
  });
});

describe("§6 tool calls still open at the end of a turn", () => {
  const calls: Row[] = [
    { toolCallId: "pending", title: "T", status: "pending" },
    { toolCallId: "none", title: "T" },
    { toolCallId: "done", title: "T", status: "completed" },
    { toolCallId: "failed", title: "T", status: "failed" },
    { toolCallId: "custom", title: "T", status: "_queued" },
    { toolCallId: "late", title: "T", status: "in_progress" },
  ].flatMap((fields): Row[] => [call(fields), shown(fields)]);
  const open = ["pending", "none", "custom", "late"];
  const ended = (status: string): Row[] => open.map((toolCallId) => shown({ toolCallId, status }));

  const cases: [string, Row[]][] = [
    [
      "cancelled when the turn was cancelled",
      [
        ["client", notify("session/cancel", { sessionId: "s1" })],
        ["to agent", notify("session/cancel", { sessionId: "s1" })],
        ["agent", reply(RUNNING, { stopReason: "cancelled" })],
        ...ended("cancelled"),
        ["to client", idle({ stopReason: "cancelled" })],
      ],
    ],
    [
      "failed when it ended with an error",
      [
        ["agent", fail(RUNNING, -32603, "no")],
        ...ended("failed"),
        ["to client", idle({ stopReason: "error", error: { code: -32603, message: "no" } })],
      ],
    ],
    [
      "failed when the agent died",
      [
        ["event", { type: "agent-exit", code: 1, signal: null }],
        ...ended("failed"),
        [
          "to client",
          idle({
            stopReason: "error",
            error: { code: -32603, message: expect.any(String), data: expect.anything() },
          }),
        ],
        ["done", 1],
      ],
    ],
    ...["end_turn", "max_tokens", "max_turn_requests", "refusal"].map((stopReason): [string, Row[]] => [
      `untouched when it ended with ${stopReason}`,
      [
        ["agent", reply(RUNNING, { stopReason })],
        ["to client", idle({ stopReason })],
      ],
    ]),
  ];
  test.each(cases)("%s", (_, end) => {
    play(runningDialogue(), [...calls, ...end]);
  });

  test("a real status that comes later still wins, in either form", () => {
    play(runningDialogue(), [
      call({ toolCallId: "a", title: "T" }),
      shown({ toolCallId: "a", title: "T" }),
      call({ toolCallId: "b", title: "T" }),
      shown({ toolCallId: "b", title: "T" }),
      call({ toolCallId: "c", title: "T" }),
      shown({ toolCallId: "c", title: "T" }),
      ["client", notify("session/cancel", { sessionId: "s1" })],
      ["to agent", notify("session/cancel", { sessionId: "s1" })],
      ["agent", reply(RUNNING, { stopReason: "cancelled" })],
      shown({ toolCallId: "a", status: "cancelled" }),
      shown({ toolCallId: "b", status: "cancelled" }),
      shown({ toolCallId: "c", status: "cancelled" }),
      ["to client", idle({ stopReason: "cancelled" })],
      change({ toolCallId: "a", status: "completed" }),
      shown({ toolCallId: "a", status: "completed" }),
      call({ toolCallId: "b", title: "T", status: "completed" }),
      shown({ toolCallId: "b", title: "T", status: "completed" }),
      // The cancellation was the bridge's guess: that the call goes on is a real status too.
      change({ toolCallId: "c", title: "T" }),
      shown({ toolCallId: "c", title: "T" }),
      call({ toolCallId: "c", title: "T", status: "in_progress" }),
      shown({ toolCallId: "c", title: "T", status: "in_progress" }),
      // The agent's own is not.
      change({ toolCallId: "a", title: "T" }),
      shown({ toolCallId: "a", title: "T" }),
      call({ toolCallId: "a", title: "T", status: "in_progress" }),
      shown({ toolCallId: "a", title: "T" }),
    ]);
  });

  test("are ended once", () => {
    play(runningDialogue(), [
      call({ toolCallId: "a", title: "T" }),
      shown({ toolCallId: "a", title: "T" }),
      ["agent", reply(RUNNING, { stopReason: "cancelled" })],
      shown({ toolCallId: "a", status: "cancelled" }),
      ["to client", idle({ stopReason: "cancelled" })],
      ["client", prompt("q", "two")],
      ["to agent", request(4, "session/prompt", { sessionId: "s1", prompt: [text("two")] })],
      ["agent", reply(4, { stopReason: "cancelled" })],
      ["to client", reply("q", { messageId: minted(2) })],
      ["to client", update("s1", { sessionUpdate: "user_message", messageId: minted(2), content: [text("two")] })],
      ["to client", update("s1", { sessionUpdate: "state_update", state: "running" })],
      ["to client", idle({ stopReason: "cancelled" })],
    ]);
  });

  test("the tail of the settle window still counts before they are ended", () => {
    play(runningDialogue({ settle: 50 }), [
      call({ toolCallId: "a", title: "T" }),
      shown({ toolCallId: "a", title: "T" }),
      ["agent", fail(RUNNING, -32603, "no")],
      change({ toolCallId: "a", status: "completed" }),
      shown({ toolCallId: "a", status: "completed" }),
      ["wait", 50],
      ["to client", idle({ stopReason: "error", error: { code: -32603, message: "no" } })],
    ]);
  });
});

test("§6 tool calls of an idle session are shown as they come", () => {
  play(openDialogue({}, agentHello), [
    call({ toolCallId: "a", title: "T", status: "in_progress" }),
    shown({ toolCallId: "a", title: "T", status: "in_progress" }),
    change({ toolCallId: "a", status: "completed" }),
    shown({ toolCallId: "a", status: "completed" }),
  ]);
});
