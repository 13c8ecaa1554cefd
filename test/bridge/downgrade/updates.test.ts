// Guards docs/mapping.md §13: what a v2 agent shows, as a v1 client can show it. A v1 client is strict: every frame here
// is validated against the v1 schema on its way out.
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/protocol/json.ts";
import {
  agentText,
  fail,
  idle,
  minted,
  notify,
  openDowngrade,
  play,
  prompt,
  type Row,
  reply,
  request,
  runningTurn,
  text,
  update,
} from "../../support/dialogue.ts";

const toClient = (fields: object): Row => ["to client", update("s1", fields)];
const fromAgent = (fields: object): Row => ["agent", update("s1", fields)];
const whole = (messageId: string, content: unknown, fields = {}) =>
  fromAgent({ sessionUpdate: "agent_message", messageId, content, ...fields });
const chunk = (messageId: string, words: string): Row => ["agent", agentText(words, messageId)];
const shows = (messageId: string, words: string): Row => ["to client", agentText(words, messageId)];
const image = { type: "image", data: "AAAA", mimeType: "image/png" };
const shownImage = (messageId: string) => toClient({ sessionUpdate: "agent_message_chunk", messageId, content: image });
const content = (words: string) => ({ type: "content", content: text(words) });

describe("messages", () => {
  test("chunks of every kind go through; ids are apart for each kind", () => {
    play(openDowngrade(), [
      chunk("m1", "Hi"),
      shows("m1", "Hi"),
      fromAgent({ sessionUpdate: "agent_thought_chunk", messageId: "m1", content: text("Hm"), _meta: { a: 1 } }),
      toClient({ sessionUpdate: "agent_thought_chunk", messageId: "m1", content: text("Hm"), _meta: { a: 1 } }),
      fromAgent({ sessionUpdate: "user_message_chunk", messageId: "m1", content: image }),
      toClient({ sessionUpdate: "user_message_chunk", messageId: "m1", content: image }),
    ]);
  });

  test.each<[string, Row[]]>([
    ["a whole message is chunks", [whole("m1", [text("Hi"), image]), shows("m1", "Hi"), shownImage("m1")]],
    [
      "what it adds to the chunks before it",
      [chunk("m1", "Hello, "), shows("m1", "Hello, "), whole("m1", [text("Hello, world")]), shows("m1", "world")],
    ],
    [
      "however it was cut",
      [
        chunk("m1", "Hel"),
        shows("m1", "Hel"),
        chunk("m1", "lo"),
        shows("m1", "lo"),
        whole("m1", [text("H"), text("ello"), image, text("!")]),
        shownImage("m1"),
        shows("m1", "!"),
        chunk("m1", "?"),
        shows("m1", "?"),
        whole("m1", [text("Hello"), image, text("!?"), image]),
        shownImage("m1"),
      ],
    ],
    ["what says nothing new is not repeated", [chunk("m1", "Hi"), shows("m1", "Hi"), whole("m1", [text("Hi")])]],
    [
      "a changed one is sent in full as a message of its own, which goes on",
      [
        chunk("m1", "Helo"),
        shows("m1", "Helo"),
        whole("m1", [text("Hello")]),
        shows(minted(1), "Hello"),
        ["log", "message-sent-anew"],
        chunk("m1", " you"),
        shows(minted(1), " you"),
        whole("m1", [text("Hello you!")]),
        shows(minted(1), "!"),
      ],
    ],
    [
      "so is one that got shorter, or whose picture changed",
      [
        whole("m1", [text("Hi"), image]),
        shows("m1", "Hi"),
        shownImage("m1"),
        whole("m1", [text("Hi")]),
        shows(minted(1), "Hi"),
        whole("m1", [text("Hi"), { ...image, data: "BBBB" }]),
        toClient({ sessionUpdate: "agent_message_chunk", messageId: minted(1), content: { ...image, data: "BBBB" } }),
      ],
    ],
    [
      "one that is cleared stays, and one that says nothing of its content changes nothing",
      [
        chunk("m1", "Hi"),
        shows("m1", "Hi"),
        whole("m1", null),
        ["log", "message-not-cleared"],
        fromAgent({ sessionUpdate: "agent_message", messageId: "m1", _meta: { a: 1 } }),
        ["log", "message-without-content"],
      ],
    ],
    ["what is no block is no content", [whole("m1", [null, text("Hi")]), shows("m1", "Hi")]],
    [
      "a picture where a text was is another message",
      [chunk("m1", "Hi"), shows("m1", "Hi"), whole("m1", [image]), shownImage(minted(1))],
    ],
    [
      "one without an id goes without",
      [
        fromAgent({ sessionUpdate: "agent_message_chunk", content: text("Hi") }),
        toClient({ sessionUpdate: "agent_message_chunk", content: text("Hi") }),
      ],
    ],
    [
      "a chunk of a block v1 does not know is named too",
      [
        fromAgent({ sessionUpdate: "agent_message_chunk", messageId: "m1", content: { type: "_hologram" }, _meta: {} }),
        toClient({
          sessionUpdate: "agent_message_chunk",
          messageId: "m1",
          content: { ...text("[_hologram]"), _meta: { "acp-shift/content": { type: "_hologram" } } },
          _meta: {},
        }),
      ],
    ],
    [
      "a block v1 does not know is named",
      [
        whole("m1", [{ type: "_hologram", data: 3 }]),
        toClient({
          sessionUpdate: "agent_message_chunk",
          messageId: "m1",
          content: { ...text("[_hologram]"), _meta: { "acp-shift/content": { type: "_hologram", data: 3 } } },
        }),
      ],
    ],
  ])("%s", (_, script) => {
    play(openDowngrade(), script);
  });
});

describe("tool calls", () => {
  const call = (fields: object) => fromAgent({ sessionUpdate: "tool_call_update", toolCallId: "t", ...fields });
  const announced = (fields: object) => toClient({ sessionUpdate: "tool_call", toolCallId: "t", ...fields });
  const changed = (fields: object) => toClient({ sessionUpdate: "tool_call_update", toolCallId: "t", ...fields });
  const added = (item: unknown) =>
    fromAgent({ sessionUpdate: "tool_call_content_chunk", toolCallId: "t", content: item });

  test.each<[string, Row[]]>([
    [
      "the first of an id is a tool call, every other an update",
      [
        call({ title: "Look", kind: "read", status: "pending", rawInput: { a: 1 } }),
        announced({ title: "Look", kind: "read", status: "pending", rawInput: { a: 1 } }),
        call({ status: "completed", rawOutput: "x", locations: [{ path: "/work/a" }] }),
        changed({ status: "completed", rawOutput: "x", locations: [{ path: "/work/a" }] }),
      ],
    ],
    [
      "a title is found where there is none",
      [
        call({ name: "Read", status: "in_progress" }),
        announced({ title: "Read", name: "Read", status: "in_progress" }),
      ],
    ],
    [
      "null is what a new one has; v1 knows fewer states and kinds",
      [
        call({ title: "Look", kind: "_dance", status: "paused", content: [content("a")] }),
        announced({ title: "Look", kind: "other", status: "in_progress", content: [content("a")] }),
        call({ kind: null, content: null, locations: null, rawOutput: null, capabilities: null, status: "cancelled" }),
        changed({ kind: "other", content: [], locations: [], status: "failed" }),
      ],
    ],
    [
      "content that comes in chunks accumulates",
      [
        call({ title: "Look", content: [content("a")] }),
        announced({ title: "Look", content: [content("a")] }),
        added(content("b")),
        changed({ content: [content("a"), content("b")] }),
        call({ content: [content("c")] }),
        changed({ content: [content("c")] }),
        added(content("d")),
        changed({ content: [content("c"), content("d")] }),
      ],
    ],
    [
      "what was said meanwhile of something else changes nothing in it",
      [
        call({ title: "Look", content: [content("a")] }),
        announced({ title: "Look", content: [content("a")] }),
        call({ status: "in_progress" }),
        changed({ status: "in_progress" }),
        added(content("b")),
        changed({ content: [content("a"), content("b")] }),
      ],
    ],
    [
      "a chunk may be the first that is heard of it",
      [added(content("a")), announced({ title: "t", content: [content("a")] })],
    ],
    [
      "a diff is the texts of its patch",
      [
        call({
          title: "Edit",
          content: [
            {
              type: "diff",
              changes: [{ operation: "modify", path: "/work/a" }],
              patch: {
                format: "git_patch",
                text: "diff --git a/work/a b/work/a\n--- a/work/a\n+++ b/work/a\n@@ -1 +1 @@\n-one\n+two\n",
              },
            },
          ],
        }),
        announced({ title: "Edit", content: [{ type: "diff", path: "/work/a", oldText: "one\n", newText: "two\n" }] }),
      ],
    ],
  ])("%s", (_, script) => {
    play(openDowngrade(), script);
  });

  test("what was said of one that is over is dropped with its turn", () => {
    const dialogue = openDowngrade();
    play(dialogue, [
      ...runningTurn,
      call({ title: "Look", status: "completed", content: [content("a")] }),
      announced({ title: "Look", status: "completed", content: [content("a")] }),
      ["agent", idle({ stopReason: "end_turn" })],
      ["to client", reply("p", { stopReason: "end_turn" })],
    ]);
    expect(dialogue.bridge.downgraded.get("s1")?.toolCalls.get("t")?.content).toEqual([]);
  });
});

describe("terminals", () => {
  const data = (words: string) => btoa(String.fromCharCode(...new TextEncoder().encode(words)));
  const terminal = (fields: object) => fromAgent({ sessionUpdate: "terminal_update", terminalId: "x", ...fields });
  const output = (bytes: string) => fromAgent({ sessionUpdate: "terminal_output_chunk", terminalId: "x", data: bytes });
  const shown = { type: "terminal", terminalId: "x" };
  const call = (fields: object) => fromAgent({ sessionUpdate: "tool_call_update", toolCallId: "t", ...fields });
  const changed = (fields: object) => toClient({ sessionUpdate: "tool_call_update", toolCallId: "t", ...fields });

  describe("for a client that shows them", () => {
    const open = () => openDowngrade({ _meta: { terminal_output: true } });
    const announced = (meta: object) =>
      toClient({ sessionUpdate: "tool_call", toolCallId: "t", title: "ls", content: [shown], _meta: meta });
    const info = { terminal_id: "x", command: "ls", cwd: "/work/sub" };

    test("introduced with the tool call that shows it, with the output so far; then what is new", () => {
      play(open(), [
        terminal({ command: "ls", cwd: "/work/sub" }),
        output(data("one\n")),
        call({ title: "ls", content: [shown], _meta: { m: 1 } }),
        announced({ m: 1, terminal_info: info, terminal_output: { terminal_id: "x", data: "one\n" } }),
        output(data("two\n")),
        changed({ _meta: { terminal_output: { terminal_id: "x", data: "two\n" } } }),
        terminal({ exitStatus: { exitCode: 1 } }),
        changed({ _meta: { terminal_exit: { terminal_id: "x", exit_code: 1, signal: null } } }),
        // Told once.
        terminal({ exitStatus: { exitCode: 1 } }),
        call({ content: [shown, content("!")] }),
        changed({ content: [shown, content("!")] }),
        call({ status: "failed" }),
        changed({ status: "failed" }),
      ]);
    });

    test("what is not said of it stays; what came in another turn is not lost", () => {
      play(open(), [
        ...runningTurn,
        terminal({ command: "ls", cwd: "/work/sub" }),
        terminal({ exitStatus: { exitCode: 1 } }),
        terminal({ output: { data: data("one") } }),
        ["agent", idle({ stopReason: "end_turn" })],
        ["to client", reply("p", { stopReason: "end_turn" })],
        output(data("two")),
        call({ title: "ls", content: [shown] }),
        announced({
          terminal_info: info,
          terminal_output: { terminal_id: "x", data: "two" },
          terminal_exit: { terminal_id: "x", exit_code: 1, signal: null },
        }),
      ]);
    });

    test("of what came before it was shown, in an earlier turn too, its end", () => {
      const long = "x".repeat(60_000);
      play(open(), [
        ...runningTurn,
        output(data(`${long}1`)),
        ["agent", idle({ stopReason: "end_turn" })],
        ["to client", reply("p", { stopReason: "end_turn" })],
        output(data(`${long}2`)),
        call({ title: "ls", content: [shown] }),
        announced({
          terminal_info: { terminal_id: "x", cwd: "/work" },
          terminal_output: { terminal_id: "x", data: `${long}1${long}2`.slice(-100_000) },
        }),
      ]);
    });

    test("a character cut in two is one", () => {
      const bytes = atob(data("é"));
      play(open(), [
        call({ title: "ls", content: [shown] }),
        announced({ terminal_info: { terminal_id: "x", cwd: "/work" } }),
        output(btoa(bytes.slice(0, 1))),
        output(btoa(bytes.slice(1))),
        changed({ _meta: { terminal_output: { terminal_id: "x", data: "é" } } }),
      ]);
    });

    test("of what came before it was shown, no more than there is of it now", () => {
      play(open(), [
        terminal({ output: { data: data("one") } }),
        terminal({ output: { data: data("two") } }),
        call({ title: "ls", content: [shown] }),
        announced({
          terminal_info: { terminal_id: "x", cwd: "/work" },
          terminal_output: { terminal_id: "x", data: "two" },
        }),
      ]);
    });

    test("output as a whole: what it adds, or the screen is cleared", () => {
      play(open(), [
        call({ title: "ls", content: [shown] }),
        toClient(expect.objectContaining({ toolCallId: "t" }) as never),
        output(data("one\n")),
        changed({ _meta: { terminal_output: { terminal_id: "x", data: "one\n" } } }),
        terminal({ output: { data: data("one\ntwo\n") } }),
        changed({ _meta: { terminal_output: { terminal_id: "x", data: "two\n" } } }),
        terminal({ output: { data: data("three\n") } }),
        changed({ _meta: { terminal_output: { terminal_id: "x", data: "\u001bcthree\n" } } }),
      ]);
    });
  });

  describe("for any other client", () => {
    const asText = (words: string) => [content(words)];

    test("text with the command, the output, and how it ended; output is told of at intervals", () => {
      play(openDowngrade(), [
        terminal({ command: "ls", cwd: "/work" }),
        call({ title: "ls", content: [shown] }),
        toClient({ sessionUpdate: "tool_call", toolCallId: "t", title: "ls", content: asText("$ ls") }),
        output(data("one\n")),
        output(data("two\n")),
        ["wait", 1000],
        changed({ content: asText("$ ls\none\ntwo") }),
        ["wait", 10_000],
        output(data("three\n")),
        terminal({ exitStatus: { exitCode: 2 } }),
        changed({ content: asText("$ ls\none\ntwo\nthree\n[exit 2]") }),
        ["wait", 10_000],
      ]);
    });

    test("before the turn ends all of it is told", () => {
      play(openDowngrade(), [
        ...runningTurn,
        call({ title: "ls", content: [shown] }),
        toClient({ sessionUpdate: "tool_call", toolCallId: "t", title: "ls", content: [content("")] }),
        output(data("one\n")),
        ["agent", idle({ stopReason: "end_turn" })],
        changed({ content: asText("one") }),
        ["to client", reply("p", { stopReason: "end_turn" })],
      ]);
    });

    test("one that goes on after its tool call and the turn is still told of", () => {
      play(openDowngrade(), [
        ...runningTurn,
        call({ title: "ls", status: "completed", content: [shown] }),
        toClient({
          sessionUpdate: "tool_call",
          toolCallId: "t",
          title: "ls",
          status: "completed",
          content: [content("")],
        }),
        ["agent", idle({ stopReason: "end_turn" })],
        ["to client", reply("p", { stopReason: "end_turn" })],
        output(data("one\n")),
        terminal({ exitStatus: { exitCode: 0 } }),
        changed({ content: asText("one") }),
      ]);
    });

    test("each time there is something new, at most once a second, and no more than its end", () => {
      const ten = (end: string) => `${"x".repeat(60_000)}${end}`;
      play(openDowngrade(), [
        call({ title: "make", content: [shown] }),
        toClient({ sessionUpdate: "tool_call", toolCallId: "t", title: "make", content: asText("") }),
        output(data(ten("1"))),
        ["wait", 1000],
        changed({ content: asText(ten("1")) }),
        output(data("2")),
        ["wait", 500],
        output(data(ten("3"))),
        ["wait", 500],
        changed({ content: asText(`${ten("1")}2${ten("3")}`.slice(-100_000)) }),
        terminal({ output: { data: btoa(ten("4") + ten("5")) } }),
        ["wait", 1000],
        changed({ content: asText((ten("4") + ten("5")).slice(-100_000)) }),
        ["wait", 10_000],
      ]);
    });

    test("one that ended before its tool call did is still shown in the next turn", () => {
      const open = { title: "ls", status: "in_progress", content: [shown] };
      play(openDowngrade(), [
        ...runningTurn,
        output(data("one\n")),
        terminal({ exitStatus: { exitCode: 0 } }),
        call(open),
        toClient({ sessionUpdate: "tool_call", toolCallId: "t", ...open, content: asText("one") }),
        ["agent", idle({ stopReason: "end_turn" })],
        changed({ content: asText("one") }),
        ["to client", reply("p", { stopReason: "end_turn" })],
        call({ content: [shown, content("!")] }),
        changed({ content: [...asText("one"), content("!")] }),
      ]);
    });

    test("not in a tool call that does not show it any more", () => {
      play(openDowngrade(), [
        call({ title: "make", content: [shown] }),
        toClient({ sessionUpdate: "tool_call", toolCallId: "t", title: "make", content: asText("") }),
        call({ content: [] }),
        changed({ content: [] }),
        output(data("one\n")),
        ["wait", 10_000],
      ]);
    });

    test("one that no tool call shows is not shown", () => {
      play(openDowngrade(), [terminal({ command: "ls", cwd: "/work" }), output(data("one\n")), ["wait", 10_000]]);
    });
  });
});

describe("plans", () => {
  const entry = (words: string, status = "pending") => ({ content: words, priority: "medium", status });
  const plan = (planId: string, entries: unknown) =>
    fromAgent({ sessionUpdate: "plan_update", plan: { type: "items", planId, entries } });

  test("several are one list", () => {
    play(openDowngrade(), [
      plan("a", [entry("one")]),
      toClient({ sessionUpdate: "plan", entries: [entry("one")] }),
      plan("b", [entry("two", "cancelled")]),
      toClient({ sessionUpdate: "plan", entries: [entry("one"), entry("two", "completed")] }),
      plan("a", [entry("one", "completed"), entry("three")]),
      toClient({
        sessionUpdate: "plan",
        entries: [entry("one", "completed"), entry("three"), entry("two", "completed")],
      }),
      fromAgent({ sessionUpdate: "plan_removed", planId: "a" }),
      toClient({ sessionUpdate: "plan", entries: [entry("two", "completed")] }),
    ]);
  });
});

describe("when a turn is over", () => {
  test("what is done in plans and terminals is forgotten", () => {
    const dialogue = openDowngrade();
    const done = { content: "one", priority: "high", status: "completed" };
    const next = { content: "two", priority: "high", status: "pending" };
    const plan = (planId: string, entry: object) =>
      fromAgent({ sessionUpdate: "plan_update", plan: { type: "items", planId, entries: [entry] } });
    play(dialogue, [
      ...runningTurn,
      plan("a", done),
      toClient({ sessionUpdate: "plan", entries: [done] }),
      fromAgent({ sessionUpdate: "terminal_update", terminalId: "x", exitStatus: { exitCode: 0 } }),
      fromAgent({ sessionUpdate: "terminal_output_chunk", terminalId: "x", data: btoa("one") }),
      ["agent", idle({ stopReason: "end_turn" })],
      ["to client", reply("p", { stopReason: "end_turn" })],
      plan("b", next),
      toClient({ sessionUpdate: "plan", entries: [next] }),
    ]);
    expect(dialogue.bridge.downgraded.get("s1")?.terminals.get("x")?.text).toBe("");
  });
});

describe("other updates", () => {
  const notice = { sessionUpdate: "notice", severity: "info", title: "Slow today" };
  const compaction = { sessionUpdate: "compaction_update", compactionId: "c", status: "completed" };

  test("usage, session info and commands", () => {
    const commands = { sessionUpdate: "available_commands_update" };
    play(openDowngrade(), [
      fromAgent({ sessionUpdate: "usage_update", used: 1, size: 2 }),
      toClient({ sessionUpdate: "usage_update", used: 1, size: 2 }),
      fromAgent({ sessionUpdate: "session_info_update", title: "T" }),
      toClient({ sessionUpdate: "session_info_update", title: "T" }),
      fromAgent({ ...commands, availableCommands: [{ type: "command", name: "a", description: "A" }] }),
      toClient({ ...commands, availableCommands: [{ name: "a", description: "A" }] }),
    ]);
  });

  test("notices and compactions for a client that announced them, else dropped with a record", () => {
    play(openDowngrade({ session: { notices: {}, compaction: {} } }), [
      fromAgent(notice),
      toClient(notice),
      fromAgent(compaction),
      toClient(compaction),
    ]);
    play(openDowngrade(), [
      fromAgent(notice),
      ["log", "update-not-shown"],
      fromAgent(compaction),
      ["log", "update-not-shown"],
    ]);
  });

  test("what v1 does not define is dropped with a record", () => {
    for (const fields of [{ sessionUpdate: "_vendor_update", a: 1 }, { sessionUpdate: "brand_new" }])
      play(openDowngrade(), [fromAgent(fields), ["log", "update-not-shown"]]);
    for (const params of [{}, { sessionId: "s1" }, { sessionId: "s1", update: {} }, null])
      play(openDowngrade(), [
        ["agent", notify("session/update", params)],
        ["log", "update-malformed"],
      ]);
    play(openDowngrade(), [
      ["agent", update("other", { sessionUpdate: "usage_update", used: 1, size: 2 })],
      ["log", "update-of-unknown-session"],
    ]);
  });

  test.each<[string, JsonObject]>([
    ["a chunk without content", { sessionUpdate: "agent_message_chunk", messageId: "m1" }],
    ["a tool call without an id", { sessionUpdate: "tool_call_update", title: "x" }],
    ["usage without numbers", { sessionUpdate: "usage_update", used: "many" }],
  ])("%s is dropped with a record", (_, fields) => {
    play(openDowngrade(), [fromAgent(fields), ["log", "update-dropped"]]);
  });
});

describe("lost to --max-frame", () => {
  const lost = {
    type: "oversized" as const,
    from: "agent" as const,
    bytes: 99,
    head: '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1"',
    tail: "}}",
  };
  test("told to a client that shows notices", () => {
    expect(openDowngrade({ session: { notices: {} } }).event(lost).toClient).toMatchObject([
      { params: { update: { sessionUpdate: "notice", severity: "warning" } } },
    ]);
    expect(openDowngrade().event(lost).toClient).toEqual([]);
  });

  test("the answer to a prompt ends the prompt", () => {
    const dialogue = openDowngrade();
    play(dialogue, [
      ["client", prompt("p", "hello")],
      ["to agent", prompt(3, "hello")],
    ]);
    const answer = { ...lost, head: '{"jsonrpc":"2.0","id":3,"result":{"messageId":"' };
    expect(dialogue.event(answer).toClient).toEqual([
      fail("p", -32603, "a message of 99 bytes exceeds --max-frame", { bytes: 99 }),
    ]);
    play(dialogue, [
      ["client", request("q", "session/list", {})],
      ["to agent", request(4, "session/list", {})],
    ]);
  });
});

test("plans that are done go with their turn, others stay", () => {
  const entry = (content: string, status: string) => ({ content, priority: "low", status });
  const items = (planId: string, ...entries: object[]) => ({ type: "items", planId, entries });
  const plan = (content: object) => fromAgent({ sessionUpdate: "plan_update", plan: content });
  const shown = (...entries: object[]) => toClient({ sessionUpdate: "plan", entries });
  const [a, b, c] = [entry("a", "completed"), entry("b", "pending"), entry("c", "completed")];
  const text = { content: "# M", priority: "medium", status: "pending" };
  play(openDowngrade(), [
    ...runningTurn,
    plan(items("p", a, b)),
    shown(a, b),
    plan(items("q", c, entry("d", "cancelled"))),
    shown(a, b, c, entry("d", "completed")),
    plan({ type: "markdown", planId: "m", content: "# M" }),
    shown(a, b, c, entry("d", "completed"), text),
    ["agent", idle({ stopReason: "end_turn" })],
    ["to client", reply("p", { stopReason: "end_turn" })],
    plan(items("r", c)),
    shown(a, b, text, c),
  ]);
});
