// Guards docs/linger.md as far as it is the core's: a client that loses its connection and comes back over another is told
// what it missed or may have missed, in a form that changes nothing where it had arrived; questions are asked again,
// requests of the lost connection are settled, and nothing is sent to a client who is not there.
import { describe, expect, test } from "vitest";
import type { Event } from "../../src/bridge/events.ts";
import { canLinger, canMove } from "../../src/bridge/linger.ts";
import type { BridgeOptions } from "../../src/bridge/state.ts";
import type { JsonObject } from "../../src/protocol/json.ts";
import {
  agentHello,
  agentText,
  createDialogue,
  type Dialogue,
  downgradeDialogue,
  fail,
  idle,
  minted,
  notify,
  openDialogue,
  pairedDialogue,
  play,
  prompt,
  type Row,
  RUNNING,
  reply,
  request,
  runningDialogue,
  stateUpdate,
  text,
  update,
} from "../support/dialogue.ts";
import { remembered } from "../support/remembered.ts";

const LINGER = { lingerLimit: 1024 ** 2 };
const lost: Row = ["event", { type: "client-lost" }];
const back = (capabilities: JsonObject = {}): Row => ["event", { type: "client-back", capabilities }];
const resume = (id: unknown, more: object = {}, sessionId = "s1") =>
  request(id, "session/resume", { sessionId, cwd: "/work", ...more });
/** The session is resumed with its history, for which the agent is asked. */
const replaying: Row[] = [
  ["client", resume(1, { replayFrom: { type: "start" } })],
  ["to agent", request(3, "session/load", { sessionId: "s1", cwd: "/work", mcpServers: [] })],
];
/** The answer to a `session/resume` of a session without options. */
const resumed = (id: unknown): Row => ["to client", reply(id, {})];
const toClient = (update1: object, sessionId = "s1"): Row => ["to client", update(sessionId, update1)];
const message = (kind: string, messageId: string, ...words: string[]) =>
  toClient({ sessionUpdate: kind, messageId, content: words.map(text) });
const fromAgent = (update1: object): Row => ["agent", update("s1", update1)];
const hello: Row = message("user_message", minted(1), "hello");

const lingering = (overrides: Partial<BridgeOptions> = {}) => openDialogue({ ...LINGER, ...overrides });
const working = (overrides: Partial<BridgeOptions> = {}, agent: unknown = agentHello) =>
  runningDialogue({ ...LINGER, ...overrides }, agent);

const permission = (id: string, toolCallId = "t1") =>
  request(id, "session/request_permission", {
    sessionId: "s1",
    toolCall: { toolCallId, title: "Write" },
    options: [{ optionId: "y", name: "Yes", kind: "allow_once" }],
  });
const asked = (id: number): Row => ["to client", expect.objectContaining({ id, method: "session/request_permission" })];
const yes = { outcome: { outcome: "selected", optionId: "y" } };

describe("what is told again", () => {
  // What the agent says while the client is away, and what of it the client gets once it is back.
  const kept: [string, object[], Row[]][] = [
    [
      "chunks, as one message",
      ["One ", "two"].map((words) => ({ sessionUpdate: "agent_message_chunk", content: text(words) })),
      [message("agent_message", minted(2), "One two")],
    ],
    [
      "blocks that are no text, between text",
      [text("See: "), { type: "image", mimeType: "image/png", data: "AAAA" }, text("!")].map((content) => ({
        sessionUpdate: "agent_message_chunk",
        messageId: "a",
        content,
      })),
      [
        toClient({
          sessionUpdate: "agent_message",
          messageId: "a",
          content: [text("See: "), { type: "image", mimeType: "image/png", data: "AAAA" }, text("!")],
        }),
      ],
    ],
    [
      "a chunk's `_meta`, as on replay",
      [{ sessionUpdate: "agent_message_chunk", messageId: "a", content: text("a"), _meta: { x: 1 } }],
      [toClient({ sessionUpdate: "agent_message", messageId: "a", content: [text("a")], _meta: { x: 1 } })],
    ],
    [
      "the `_meta` of all chunks",
      [{ x: 1, y: 1 }, { y: 2 }].map((_meta) => ({
        sessionUpdate: "agent_message_chunk",
        messageId: "a",
        content: text("a"),
        _meta,
      })),
      [toClient({ sessionUpdate: "agent_message", messageId: "a", content: [text("aa")], _meta: { x: 1, y: 2 } })],
    ],
    [
      "what a compaction kept, of one that was not announced",
      [{ sessionUpdate: "compaction_summary_chunk", compactionId: "c", content: text("a") }],
      [
        toClient({
          sessionUpdate: "compaction_update",
          compactionId: "c",
          status: "in_progress",
          summary: [text("a")],
        }),
      ],
    ],
    [
      "a tool call with all its patches",
      [
        { sessionUpdate: "tool_call", toolCallId: "t", title: "Read", kind: "read", _meta: { a: 1, b: 1 } },
        { sessionUpdate: "tool_call_update", toolCallId: "t", status: "in_progress", _meta: { b: 2 } },
        { sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed", rawOutput: 7 },
      ],
      [
        toClient({
          sessionUpdate: "tool_call_update",
          toolCallId: "t",
          title: "Read",
          kind: "read",
          status: "completed",
          rawOutput: 7,
          _meta: { a: 1, b: 2 },
        }),
      ],
    ],
    [
      "in the order of the timeline",
      [
        { sessionUpdate: "agent_thought_chunk", content: text("Hm") },
        { sessionUpdate: "tool_call", toolCallId: "t", title: "Read" },
        { sessionUpdate: "agent_message_chunk", content: text("Done") },
        { sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed" },
      ],
      [
        message("agent_thought", minted(2), "Hm"),
        toClient({ sessionUpdate: "tool_call_update", toolCallId: "t", title: "Read", status: "completed" }),
        message("agent_message", minted(3), "Done"),
      ],
    ],
    [
      "the last of a plan, options and usage",
      [
        { sessionUpdate: "plan", entries: [] },
        { sessionUpdate: "plan", entries: [{ content: "Go", priority: "high", status: "pending" }] },
        { sessionUpdate: "usage_update", used: 1, size: 10, cost: { amount: 1, currency: "EUR" } },
        { sessionUpdate: "usage_update", used: 2, size: 10 },
      ],
      [
        toClient({
          sessionUpdate: "plan_update",
          plan: { type: "items", planId: "plan", entries: [{ content: "Go", priority: "high", status: "pending" }] },
        }),
        toClient({ sessionUpdate: "usage_update", used: 2, size: 10, cost: { amount: 1, currency: "EUR" } }),
      ],
    ],
    [
      "a plan that was removed",
      [
        { sessionUpdate: "plan_update", plan: { type: "markdown", planId: "p", content: "x" } },
        { sessionUpdate: "plan_removed", planId: "p" },
      ],
      [toClient({ sessionUpdate: "plan_removed", planId: "p" })],
    ],
    [
      "what has no identity, once and in its place",
      [
        { sessionUpdate: "notice", severity: "info", title: "One" },
        { sessionUpdate: "agent_message_chunk", messageId: "a", content: text("a") },
        { sessionUpdate: "_vendor", n: 1 },
      ],
      [
        toClient({ sessionUpdate: "notice", severity: "info", title: "One" }),
        message("agent_message", "a", "a"),
        toClient({ sessionUpdate: "_vendor", n: 1 }),
      ],
    ],
  ];
  test.each(kept)("%s", (_, said, told) => {
    const once = told.filter(([, frame]) => !/notice|_vendor/.test(JSON.stringify(frame)));
    const dialogue = working();
    play(dialogue, [
      lost,
      ...said.map(fromAgent),
      back(),
      ["client", resume(1)],
      hello,
      ...told,
      ["to client", stateUpdate("running")],
      resumed(1),
    ]);
    // Lost once more before it is clear whether all that arrived: nothing that would be there twice.
    play(dialogue, [
      lost,
      back(),
      ["client", resume(1)],
      hello,
      ...once,
      ["to client", stateUpdate("running")],
      resumed(1),
    ]);
  });

  test("what was under way when the connection broke is told whole, and goes on", () => {
    play(working(), [
      ["agent", agentText("One ")],
      ["to client", agentText("One ", minted(2))],
      lost,
      ["agent", agentText("two ")],
      back(),
      ["client", resume("r")],
      hello,
      message("agent_message", minted(2), "One two "),
      ["to client", stateUpdate("running")],
      resumed("r"),
      ["agent", agentText("three")],
      ["to client", agentText("three", minted(2))],
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
    ]);
  });

  test("a turn that ended meanwhile, with why; one before it too when another has begun", () => {
    const dialogue = working();
    dialogue.client(prompt("q", "and then"));
    play(dialogue, [
      lost,
      ["agent", reply(RUNNING, { stopReason: "max_tokens" })],
      ["to agent", prompt(RUNNING + 1, "and then")],
      ["wait", 50],
      ["agent", agentText("Then")],
      ["agent", fail(RUNNING + 1, -32603, "boom")],
      back(),
      ["client", resume(1)],
      hello,
      ["to client", idle({ stopReason: "max_tokens" })],
      message("user_message", minted(2), "and then"),
      message("agent_message", minted(3), "Then"),
      ["to client", idle({ stopReason: "error", error: { code: -32603, message: "boom" } })],
      resumed(1),
    ]);
    expect(dialogue.bridge.clientRequests.size).toBe(0);
  });

  test("a terminal's output, as its bytes are", () => {
    const dialogue = lingering({ hosts: { terminals: true, files: false } });
    dialogue.agent(request("t", "terminal/create", { sessionId: "s1", command: "make" }));
    const terminalId = "t_run_1";
    const terminal = (change: { data: string } | { exitStatus: JsonObject }): Row => [
      "event",
      { type: "terminal", sessionId: "s1", terminalId, change },
    ];
    dialogue.event({ type: "hosted", call: 1, outcome: { result: {} } });
    play(dialogue, [
      terminal({ data: btoa("a") }),
      toClient({ sessionUpdate: "terminal_output_chunk", terminalId, data: btoa("a") }),
      lost,
      terminal({ data: btoa("bc\xff") }),
      terminal({ exitStatus: { exitCode: 0 } }),
      back(),
      ["client", resume(1)],
      toClient({
        sessionUpdate: "terminal_update",
        terminalId,
        command: "make",
        cwd: "/work",
        exitStatus: { exitCode: 0 },
        output: { data: btoa("abc\xff") },
      }),
      ["to client", idle({})],
      resumed(1),
    ]);
  });

  test("the completion of an elicitation, once more after each loss; the client knows it by its id", () => {
    const canElicit: JsonObject = { elicitation: { url: {} } };
    const complete = notify("elicitation/complete", { elicitationId: "e1" });
    play(lingering(), [
      lost,
      back(canElicit),
      ["agent", complete],
      ["to client", complete],
      lost,
      ["agent", notify("elicitation/complete", { elicitationId: "e2" })],
      back(canElicit),
      ["to client", complete],
      ["to client", notify("elicitation/complete", { elicitationId: "e2" })],
    ]);
  });

  test("not an extension's notification that was told", () => {
    play(lingering(), [
      ["agent", notify("_vendor/told", { sessionId: "s1", n: 1 })],
      ["to client", notify("_vendor/told", { sessionId: "s1", n: 1 })],
      ["agent", notify("_vendor/told", { n: 2 })],
      ["to client", notify("_vendor/told", { n: 2 })],
      lost,
      back(),
      ["client", resume(1)],
      ["to client", idle({})],
      resumed(1),
    ]);
  });

  test("not what is of no session the client knows, nor of a request it lost", () => {
    play(lingering(), [
      ["agent", request("v", "_vendor/do", {})],
      ["to client", request(1, "_vendor/do", {})],
      lost,
      ["to agent", fail("v", -32603, expect.any(String))],
      ["agent", notify("$/cancel_request", { requestId: "v" })],
      ["agent", agentText("Hi", "a", "s9")],
      back(),
    ]);
  });

  test("a question that comes when the client is back and has not resumed its session yet", () => {
    play(lingering(), [
      lost,
      back(),
      ["agent", permission("a")],
      ["client", resume(1)],
      toClient({ sessionUpdate: "tool_call_update", toolCallId: "t1", title: "Write" }),
      ["to client", idle({})],
      resumed(1),
      asked(2),
    ]);
  });

  test("an extension's notification, of a session and of none", () => {
    play(lingering(), [
      lost,
      ["agent", notify("_vendor/told", { sessionId: "s1", n: 1 })],
      ["agent", notify("_vendor/told", { n: 2 })],
      back(),
      ["to client", notify("_vendor/told", { n: 2 })],
      ["client", resume(1)],
      ["to client", notify("_vendor/told", { sessionId: "s1", n: 1 })],
      ["to client", idle({})],
      resumed(1),
    ]);
  });
});

describe("requests of the lost connection", () => {
  test("a prompt that was not accepted yet goes on, and the client sees its message", () => {
    const dialogue = lingering();
    dialogue.client(prompt(7, "hello"));
    play(dialogue, [
      lost,
      ["wait", 50],
      back(),
      ["client", resume(7)],
      hello,
      ["to client", stateUpdate("running")],
      resumed(7),
    ]);
  });

  test("a prompt that is refused is told in a notice", () => {
    const dialogue = lingering();
    dialogue.client(prompt(7, "hello"));
    play(dialogue, [
      lost,
      ["agent", fail(RUNNING, -32603, "no")],
      back(),
      ["client", resume(8)],
      toClient({
        sessionUpdate: "notice",
        severity: "warning",
        title: "A prompt sent before the connection was lost was not taken",
        description: "no",
      }),
      ["to client", idle({})],
      resumed(8),
    ]);
  });

  test("another request that is refused is told to nobody", () => {
    const dialogue = lingering();
    dialogue.client(request(7, "_vendor/do", { sessionId: "s1" }));
    play(dialogue, [
      lost,
      ["agent", fail(3, -32603, "no")],
      back(),
      ["client", resume(8)],
      ["to client", idle({})],
      resumed(8),
    ]);
  });

  test("an answer that comes late goes to nobody, whatever ids the new connection uses", () => {
    const dialogue = lingering();
    play(dialogue, [
      ["client", request(1, "session/list", {})],
      ["to agent", request(3, "session/list", {})],
      lost,
      back(),
      ["client", request(1, "session/list", {})],
      ["to agent", request(4, "session/list", {})],
      ["agent", reply(3, { sessions: [] })],
      ["client", request(1, "session/list", {})],
      ["to client", fail(null, -32600, expect.stringContaining("in use"))],
      ["client", notify("$/cancel_request", { requestId: 1 })],
      ["to agent", notify("$/cancel_request", { requestId: 4 })],
      ["agent", reply(4, { sessions: [] })],
      ["to client", reply(1, { sessions: [] })],
      // Its string twin is another request.
      ["client", request("1", "session/list", {})],
      ["to agent", request(5, "session/list", {})],
      ["agent", reply(5, { sessions: [] })],
      ["to client", reply("1", { sessions: [] })],
    ]);
    expect(dialogue.bridge.clientRequests.size).toBe(0);
  });

  test("a later connection's ids are the client's own wherever it meets them", () => {
    const sign = { mode: "url", message: "Sign in", url: "https://example.org", elicitationId: "e1" };
    play(lingering(), [
      lost,
      back({ elicitation: { url: {} } }),
      ["client", request(7, "auth/login", { methodId: "web" })],
      ["to agent", request(3, "authenticate", { methodId: "web" })],
      ["agent", request("e", "elicitation/create", { ...sign, requestId: 3 })],
      ["to client", request(1, "elicitation/create", { ...sign, requestId: 7 })],
      // What is called so elsewhere is none.
      ["client", request("a/b", "_vendor/do", { requestId: 7 })],
      ["to agent", request(4, "_vendor/do", { requestId: 7 })],
      ["agent", reply(4, {})],
      ["to client", reply("a/b", {})],
      ["agent", request("v", "_vendor/do", { requestId: "run/1/7" })],
      ["to client", request(2, "_vendor/do", { requestId: "run/1/7" })],
    ]);
  });

  // They look like ids of a later connection, and are none.
  test.each(["a/1/5", "run/1", "run/1/x", "run/x/5", "run/9/5"])("a first connection's may be anything: %s", (id) => {
    play(lingering(), [
      ["client", request(id, "session/new", { cwd: "/more" })],
      ["to agent", request(3, "session/new", { cwd: "/more", mcpServers: [] })],
      lost,
      ["agent", reply(3, { sessionId: "s2" })],
      back(),
      ["client", resume(1, { cwd: "/more" }, "s2")],
      ["to client", idle({}, "s2")],
      resumed(1),
    ]);
  });

  test("a session that was being opened can be resumed all the same", () => {
    play(lingering(), [
      ["client", request(1, "session/new", { cwd: "/more" })],
      ["to agent", request(3, "session/new", { cwd: "/more", mcpServers: [] })],
      lost,
      ["agent", reply(3, { sessionId: "s2" })],
      ["agent", agentText("Hi", "a", "s2")],
      back(),
      ["client", resume(1, { cwd: "/more" }, "s2")],
      ["to client", update("s2", { sessionUpdate: "agent_message", messageId: "a", content: [text("Hi")] })],
      ["to client", idle({}, "s2")],
      resumed(1),
    ]);
  });

  test("a resume that was under way is waited for by the next one", () => {
    play(lingering({ replaySettle: 100 }), [
      ...replaying,
      ["agent", agentText("Old", "a")],
      lost,
      back(),
      ["client", resume(1)],
      ["agent", reply(3, {})],
      ["wait", 100],
      message("agent_message", "a", "Old"),
      ["to client", idle({})],
      resumed(1),
    ]);
  });

  test("of the resumes that wait for it there is one, of the connection that is there", () => {
    play(lingering(), [
      ...replaying,
      lost,
      back(),
      ["client", resume(1)],
      lost,
      back(),
      ["client", resume(1)],
      ["client", resume(2)],
      ["to client", fail(2, -32600, "the session is being resumed already")],
      ["agent", reply(3, {})],
      ["wait", 1],
      ["to client", idle({})],
      resumed(1),
    ]);
  });

  test("a closed session's waiting resume gets its answer", () => {
    play(lingering(), [
      ...replaying,
      lost,
      back(),
      ["client", resume(1)],
      ["client", request(2, "session/close", { sessionId: "s1" })],
      ["to agent", request(4, "session/close", { sessionId: "s1" })],
      ["agent", reply(3, {})],
      ["to client", fail(1, -32800, expect.any(String))],
      ["agent", reply(4, {})],
      ["to client", reply(2, {})],
    ]);
  });
});

describe("questions", () => {
  test("an open permission is asked again under a new id; the old id answers nothing", () => {
    const dialogue = working();
    dialogue.agent(permission("p"));
    play(dialogue, [
      lost,
      back(),
      ["client", resume(1)],
      hello,
      toClient({ sessionUpdate: "tool_call_update", toolCallId: "t1", title: "Write" }),
      ["to client", stateUpdate("requires_action")],
      resumed(1),
      asked(2),
      ["client", reply(1, yes)],
      ["log", "answer-to-no-request"],
      ["client", reply(2, yes)],
      ["to agent", reply("p", yes)],
      ["to client", stateUpdate("running")],
    ]);
  });

  test("one that comes while the client is away waits for it", () => {
    play(working(), [
      lost,
      ["agent", permission("p")],
      back(),
      ["client", resume(1)],
      hello,
      toClient({ sessionUpdate: "tool_call_update", toolCallId: "t1", title: "Write" }),
      ["to client", stateUpdate("requires_action")],
      resumed(1),
      asked(2),
      ["client", notify("session/cancel", { sessionId: "s1" })],
      ["to agent", notify("session/cancel", { sessionId: "s1" })],
      ["to agent", reply("p", { outcome: { outcome: "cancelled" } })],
      ["to client", notify("$/cancel_request", { requestId: 2 })],
    ]);
  });

  test("one that the agent withdraws is answered in the client's place", () => {
    play(working(), [
      lost,
      ["agent", permission("p")],
      ["agent", notify("$/cancel_request", { requestId: "p" })],
      ["to agent", reply("p", { outcome: { outcome: "cancelled" } })],
      back(),
      ["client", resume(1)],
      hello,
      toClient({ sessionUpdate: "tool_call_update", toolCallId: "t1", title: "Write" }),
      ["to client", stateUpdate("running")],
      resumed(1),
    ]);
  });

  test("one that the agent had withdrawn is answered when the connection breaks", () => {
    const dialogue = working();
    dialogue.agent(permission("p"));
    dialogue.agent(notify("$/cancel_request", { requestId: "p" }));
    play(dialogue, [lost, ["to agent", reply("p", { outcome: { outcome: "cancelled" } })]]);
  });

  test("an extension's request is not asked twice", () => {
    const dialogue = lingering();
    dialogue.agent(request("v", "_vendor/do", { sessionId: "s1" }));
    play(dialogue, [
      lost,
      ["to agent", fail("v", -32603, expect.any(String))],
      ["agent", request("w", "_vendor/do", { sessionId: "s1" })],
      ["agent", request("x", "_vendor/do", {})],
      back(),
      ["to client", request(4, "_vendor/do", {})],
      ["client", resume(1)],
      ["to client", idle({})],
      resumed(1),
      ["to client", request(5, "_vendor/do", { sessionId: "s1" })],
    ]);
  });

  const form = { mode: "form", message: "Who?", requestedSchema: { type: "object", properties: {} } };

  test("one that waits outlasts another loss, and is asked when its own session is resumed", () => {
    const dialogue = lingering();
    dialogue.client(request(1, "session/new", { cwd: "/work" }));
    dialogue.agent(reply(3, { sessionId: "s2" }));
    play(dialogue, [
      lost,
      ["agent", request("v", "_vendor/do", { sessionId: "s1" })],
      ["agent", request("w", "_vendor/do", { sessionId: "s2" })],
      ["agent", request("x", "_vendor/do", { sessionId: "s9" })],
      back(),
      ["to client", request(4, "_vendor/do", { sessionId: "s9" })],
      lost,
      ["to agent", fail("x", -32603, expect.any(String))],
      back(),
      ["client", resume(1)],
      ["to client", idle({})],
      resumed(1),
      ["to client", request(5, "_vendor/do", { sessionId: "s1" })],
    ]);
  });

  test("one that belongs to a request of the lost connection is answered when that breaks", () => {
    const dialogue = lingering();
    dialogue.bridge.clientCapabilities = { elicitation: { form: {} } };
    dialogue.client(request(1, "session/list", {}));
    dialogue.agent(request("e", "elicitation/create", { requestId: 3, ...form }));
    play(dialogue, [lost, ["to agent", reply("e", { action: "cancel" })]]);
  });

  test.each([
    ["a form", form, { elicitation: { form: {} } }, true],
    ["a form, of one that can do URLs only", form, { elicitation: { url: {} } }, false],
  ])("an elicitation is put to a client that offers it: %s", (_, fields, capabilities, isPut) => {
    const dialogue = lingering();
    dialogue.bridge.clientCapabilities = { elicitation: { form: {} } };
    const elicitation = request("e", "elicitation/create", { sessionId: "s1", ...fields });
    dialogue.event({ type: "client-lost" });
    dialogue.agent(elicitation);
    dialogue.event({ type: "client-back", capabilities });
    const { toClient, toAgent } = dialogue.client(resume(1));
    expect(toClient.some((frame) => "method" in frame && frame["method"] === "elicitation/create")).toBe(isPut);
    expect(toAgent.length).toBe(isPut ? 0 : 1);
  });

  test("an elicitation is not put to a client that no longer offers it", () => {
    const elicitation = request("e", "elicitation/create", { sessionId: "s1", ...form });
    const dialogue = lingering();
    dialogue.bridge.clientCapabilities = { elicitation: { form: {} } };
    play(dialogue, [
      lost,
      ["agent", elicitation],
      back(),
      ["client", resume(1)],
      ["to client", idle({})],
      resumed(1),
      ["to agent", reply("e", { action: "cancel" })],
    ]);
  });
});

describe("coming back", () => {
  test("nothing is sent to a client who is not there, nor of a session it has not resumed", () => {
    const dialogue = working();
    const silent: Event[] = [
      { type: "client-lost" },
      { type: "not-json", line: new Uint8Array() },
      { type: "client-back", capabilities: {} },
    ];
    for (const event of silent) expect(dialogue.event(event).toClient).toEqual([]);
    expect(dialogue.agent(agentText("One")).toClient).toEqual([]);
    expect(dialogue.client(prompt(1, "more")).toClient).toEqual([
      fail(1, -32002, expect.stringContaining("session/resume"), { sessionId: "s1" }),
    ]);
  });

  test("the agent is not asked, unless for the history", () => {
    const call = { sessionUpdate: "tool_call", toolCallId: "t", title: "Read", status: "completed" };
    const usage = { sessionUpdate: "usage_update", used: 1, size: 10 };
    const dialogue = lingering();
    for (const said of [call, usage]) dialogue.agent(update("s1", said));
    dialogue.agent(agentText("Hi", "a"));
    play(dialogue, [
      lost,
      back(),
      ...replaying,
      ["agent", update("s1", call)],
      toClient({ ...call, sessionUpdate: "tool_call_update" }),
      ["agent", agentText("Hi", "b")],
      ["agent", reply(3, {})],
      ["wait", 1],
      // Known by its content, and not told again under the id it had.
      message("agent_message", "a", "Hi"),
      // No part of the history.
      toClient(usage),
      ["to client", idle({})],
      resumed(1),
    ]);
  });

  test("an agent that fails to tell the history is no reason to lose the session", () => {
    play(lingering(), [
      lost,
      ["agent", agentText("Hi", "a")],
      back(),
      ...replaying,
      ["agent", fail(3, -32603, "no")],
      toClient(expect.objectContaining({ sessionUpdate: "notice" })),
      message("agent_message", "a", "Hi"),
      ["to client", idle({})],
      resumed(1),
    ]);
  });

  test("two losses, with a return in between to another session", () => {
    const dialogue = lingering();
    dialogue.client(request("n", "session/new", { cwd: "/work" }));
    dialogue.agent(reply(3, { sessionId: "s2" }));
    play(dialogue, [
      lost,
      ["agent", agentText("Hi", "a", "s1")],
      back(),
      ["client", resume(1, {}, "s2")],
      ["to client", idle({}, "s2")],
      resumed(1),
      ["agent", agentText(" ho", "a", "s1")],
      lost,
      back(),
      ["client", resume(1)],
      message("agent_message", "a", "Hi ho"),
      ["to client", idle({})],
      resumed(1),
    ]);
  });

  test("the agent died meanwhile: the client hears how its turn ended before it hears why there is no agent", () => {
    const dialogue = working();
    dialogue.agent(agentText("One", "a"));
    const exit: Row = ["event", { type: "agent-exit", code: 1, signal: null }];
    const ended = expect.objectContaining({ sessionUpdate: "state_update", state: "idle", stopReason: "error" });
    play(dialogue, [
      lost,
      exit,
      back(),
      ["client", resume(1)],
      hello,
      message("agent_message", "a", "One"),
      ["to client", update("s1", ended)],
      ["to client", fail(1, -32603, "the agent exited with status 1 (/usr/bin/test-agent --acp)", expect.any(Object))],
      ["done", 1],
    ]);
  });

  const died: Event = { type: "agent-exit", code: 1, signal: null };
  const away: Event[] = [{ type: "client-lost" }, died, { type: "client-back", capabilities: {} }];
  test.each<[string, Event[], unknown]>([
    ["a resume of a session there is none of", away, resume(1, {}, "s9")],
    ["a resume by a client that was there all the time", [died], resume(1)],
    ["a prompt for a session that was not resumed", away, prompt(1, "hello")],
  ])("the agent died: %s is only refused", (_, before, frame) => {
    const dialogue = working();
    for (const event of before) dialogue.event(event);
    expect(dialogue.client(frame).toClient.filter((sent) => "method" in sent)).toEqual([]);
  });

  test("the client never comes: it ends as if it had left", () => {
    const dialogue = working();
    dialogue.agent(permission("p"));
    play(dialogue, [
      lost,
      ["event", { type: "client-left" }],
      ["to agent", reply("p", { outcome: { outcome: "cancelled" } })],
      ["event", { type: "agent-exit", code: 0, signal: null }],
      ["done", 0],
    ]);
    const died = working();
    play(died, [
      lost,
      ["event", { type: "agent-exit", code: 1, signal: null }],
      ["event", { type: "client-left" }],
      ["done", 0],
    ]);
  });
});

describe("more than is kept", () => {
  const LIMIT = 40_000;
  const long = (n: number) => `${n} ${"x".repeat(1000)}`;
  const incapable = { protocolVersion: 1, agentInfo: { name: "a", version: "1" }, agentCapabilities: {} };

  function flood(dialogue: Dialogue): void {
    for (let n = 0; n < 50; n++) dialogue.agent(agentText(long(n), `a${n}`));
  }
  const titles = (frames: JsonObject[]) =>
    frames.flatMap((frame) => {
      const { sessionUpdate, title } = (frame["params"] as { update: JsonObject } | undefined)?.update ?? {};
      return sessionUpdate === "notice" ? [title] : [];
    });

  test("the latest is told, and a notice says that there was more", () => {
    const dialogue = lingering({ lingerLimit: LIMIT });
    dialogue.event({ type: "client-lost" });
    flood(dialogue);
    dialogue.event({ type: "client-back", capabilities: {} });
    const { toClient } = dialogue.client(resume(1));
    expect(titles(toClient)).toEqual(["Not all that happened while the connection was lost is shown"]);
    expect(JSON.stringify(toClient)).toContain(JSON.stringify(long(49)));
    expect(JSON.stringify(toClient).length).toBeLessThan(LIMIT);
    // It is said once.
    dialogue.event({ type: "client-lost" });
    dialogue.event({ type: "client-back", capabilities: {} });
    expect(titles(dialogue.client(resume(1)).toClient)).toEqual([]);
  });

  test("what changed last is kept, however long it has been there", () => {
    const dialogue = lingering({ lingerLimit: LIMIT });
    const call = { sessionUpdate: "tool_call", toolCallId: "t", title: "Build" };
    dialogue.event({ type: "client-lost" });
    dialogue.agent(update("s1", call));
    flood(dialogue);
    dialogue.agent(update("s1", { ...call, sessionUpdate: "tool_call_update", status: "in_progress" }));
    dialogue.agent(agentText(long(50), "a50"));
    dialogue.event({ type: "client-back", capabilities: {} });
    const { toClient } = dialogue.client(resume(1));
    expect(toClient).toContainEqual(
      update("s1", { ...call, sessionUpdate: "tool_call_update", status: "in_progress" }),
    );
  });

  test("what was there long before the connection broke is no loss", () => {
    const dialogue = lingering({ lingerLimit: LIMIT });
    flood(dialogue);
    dialogue.event({ type: "client-lost" });
    dialogue.agent(agentText(long(50), "a50"));
    dialogue.event({ type: "client-back", capabilities: {} });
    expect(titles(dialogue.client(resume(1)).toClient)).toEqual([]);
  });

  test("a message too long to be told whole goes on in chunks", () => {
    const dialogue = lingering({ lingerLimit: LIMIT });
    for (let n = 0; n < 50; n++) dialogue.agent(agentText(long(n), "a"));
    dialogue.event({ type: "client-lost" });
    dialogue.agent(agentText("end", "a"));
    dialogue.event({ type: "client-back", capabilities: {} });
    const { toClient } = dialogue.client(resume(1));
    expect(toClient).toContainEqual(agentText("end", "a"));
    expect(titles(toClient)).toEqual(["Not all that happened while the connection was lost is shown"]);
  });

  test("with a transcript all of it is told", () => {
    const dialogue = openDialogue({ lingerLimit: LIMIT, remembers: true }, incapable);
    dialogue.event({ type: "client-lost" });
    flood(dialogue);
    dialogue.event({ type: "client-back", capabilities: {} });
    const { acts } = dialogue.client(resume(1));
    expect(acts).toContainEqual(expect.objectContaining({ type: "recall", sessionId: "s1" }));
    const { toClient } = dialogue.event({ type: "recalled", token: 1, value: remembered(dialogue.acts) });
    for (let n = 0; n < 50; n++) expect(JSON.stringify(toClient)).toContain(JSON.stringify(long(n)));
    expect(titles(toClient)).toEqual([]);
    expect(toClient.at(-1)).toEqual(reply(1, {}));
  });

  /** Sessions s1 to s`count`. */
  function open(count: number): Dialogue {
    const dialogue = lingering({ lingerLimit: LIMIT });
    for (let n = 2; n <= count; n++) {
      dialogue.client(request(n, "session/new", { cwd: "/work" }));
      dialogue.agent(reply(n + 1, { sessionId: `s${n}` }));
    }
    return dialogue;
  }
  const sizes = ({ bridge }: Dialogue) => [...bridge.sessions.values()].map(({ shown }) => shown?.size ?? 0);
  const sum = (numbers: number[]) => numbers.reduce((one, other) => one + other, 0);

  test("it is kept within its limit, of all sessions", () => {
    const dialogue = open(6);
    for (let n = 0; n < 60; n++) {
      for (const id of dialogue.bridge.sessions.keys()) dialogue.agent(agentText(long(n), `a${n}`, id));
      expect(sum(sizes(dialogue))).toBeLessThanOrEqual(LIMIT);
      if (n === 30) dialogue.event({ type: "client-lost" });
    }
    expect(sum(sizes(dialogue))).toBeGreaterThan(LIMIT / 4);
  });

  test("of one session no more than a quarter is kept, and half of that when it was too much", () => {
    const dialogue = open(1);
    const kept: number[] = [];
    for (let n = 0; n < 50; n++) {
      dialogue.agent(agentText(long(n), `a${n}`));
      kept.push(...sizes(dialogue));
    }
    expect(Math.max(...kept)).toBeLessThanOrEqual(LIMIT / 4);
    expect(Math.max(...kept)).toBeGreaterThan(LIMIT / 5);
    expect(Math.min(...kept.slice(10))).toBeLessThanOrEqual(LIMIT / 8);
  });

  test("where all together are too much, the one that has most gives half of it", () => {
    const dialogue = open(6);
    const say = (sessionId: string, first: number, last: number) => {
      for (let n = first; n <= last; n++) dialogue.agent(agentText(long(n), `a${n}`, sessionId));
    };
    const messages = () => [...dialogue.bridge.sessions.values()].map(({ shown }) => shown?.entries.size);
    for (const [index, last] of [6, 8, 7, 7, 7, 3].entries()) say(`s${index + 1}`, 1, last);
    expect(messages()).toEqual([6, 8, 7, 7, 7, 3]);
    say("s6", 4, 4);
    expect(messages()).toEqual([6, 4, 7, 7, 7, 4]);
  });
});

describe("which bridge", () => {
  test("a client that went over to another gets an answer to all it had asked", () => {
    play(lingering(), [
      ["client", request(1, "session/list", {})],
      ["to agent", request(3, "session/list", {})],
      ["event", { type: "client-moved" }],
      ["to client", fail(1, -32800, expect.any(String))],
      // However the agent ends now, nobody is to be told.
      ["event", { type: "agent-exit", code: 1, signal: null }],
      ["done", 0],
    ]);
  });

  test("a session that another bridge has is refused, with why", () => {
    play(lingering(), [
      ["event", { type: "session-elsewhere", message: "it is elsewhere" }],
      ["client", resume(1, {}, "s9")],
      ["to client", fail(1, -32600, "it is elsewhere")],
      ["client", request(2, "session/list", {})],
      ["to agent", request(3, "session/list", {})],
    ]);
  });
});

describe("a client may come back, or go over to another bridge", () => {
  const opening = (dialogue: Dialogue) => {
    dialogue.client(request(1, "session/new", { cwd: "/work", mcpServers: [] }));
    return dialogue;
  };
  const orphaned = (dialogue: Dialogue) => {
    dialogue.event({ type: "agent-exit", code: 0, signal: null });
    return dialogue;
  };
  test.each<[string, () => Dialogue, boolean, boolean]>([
    ["with a session", () => lingering(), true, false],
    ["while one is being opened", () => opening(pairedDialogue(LINGER)), true, false],
    ["without one", () => pairedDialogue(LINGER), false, true],
    ["before it has said hello", () => createDialogue(LINGER), false, false],
    ["when it speaks version 1", () => downgradeDialogue({}, LINGER), false, false],
    ["when it speaks version 1, and opens a session", () => opening(downgradeDialogue({}, LINGER)), false, false],
    ["without --linger", () => openDialogue(), false, false],
    ["when the agent has ended", () => orphaned(lingering()), false, false],
  ])("%s", (_, make, comesBack, goesOver) => {
    const { bridge } = make();
    expect([canLinger(bridge), canMove(bridge)]).toEqual([comesBack, goesOver]);
  });
});

test.each([
  ["a question", permission("a"), reply("a", { outcome: { outcome: "cancelled" } })],
  [
    "an extension's request",
    request("a", "_vendor/do", { sessionId: "s1" }),
    fail("a", -32800, "the session was closed"),
  ],
])(
  "%s that waits for the client is answered when its session is closed, and no other session's",
  (_, waits, answer) => {
    const dialogue = lingering();
    dialogue.client(request(1, "session/new", { cwd: "/work" }));
    dialogue.agent(reply(3, { sessionId: "s2" }));
    play(dialogue, [lost, ["agent", waits], ["agent", request("b", "_vendor/do", { sessionId: "s2" })], back()]);
    const { toAgent, toClient } = dialogue.client(request(1, "session/close", { sessionId: "s1" }));
    expect(toAgent.filter((frame) => !("method" in frame))).toEqual([answer]);
    // It does not know of the question.
    expect(toClient).toEqual([]);
  },
);

test("without --linger nothing is kept", () => {
  const dialogue = runningDialogue();
  dialogue.agent(agentText("One"));
  expect(dialogue.bridge.sessions.get("s1")?.shown).toBeUndefined();
});
