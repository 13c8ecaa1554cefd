// Guards docs/mapping.md §4 and §5 as far as they outlive a run: what is kept of a session, that a later run's replay has
// the ids of this one, and the replay from the transcript for an agent that has none.
import { describe, expect, test } from "vitest";
import { type RememberedSession, replayOf, type SessionRecord } from "../../src/bridge/memory.ts";
import {
  accepted,
  agentHello,
  agentText,
  type Dialogue,
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

const agentWith = (agentCapabilities: object) => ({ ...agentHello, agentCapabilities });
const bare = agentWith({});
const onlyLoad = agentWith({ loadSession: true });
const onlyResume = agentWith({ sessionCapabilities: { resume: {} } });

const remembers = { remembers: true };
/** The next run of the same program. */
const later = { remembers: true, runId: "later", timeOrigin: Date.UTC(2026, 0, 2) };

const START = "2026-01-01T00:00:00.000Z";
const agent = "test-agent";
const keep = (record: SessionRecord, sessionId = "s1"): Row => ["does", { type: "keep", agent, sessionId, record }];
const keepUpdate = (change: object) => keep({ type: "update", update: change as never });
const keepMessage = (kind: "user_message" | "agent_message" | "agent_thought", id: string) =>
  keep({ type: "message", kind, id, digest: expect.any(String) });
const recall = (token: number, sessionId = "s1"): Row => ["does", { type: "recall", agent, token, sessionId }];
const recallIndex = (token: number): Row => ["does", { type: "recall", agent, token }];
const recalled = (token: number, value: unknown): Row => ["event", { type: "recalled", token, value }];

const chunk = (words: string, kind = "agent_message_chunk") =>
  update("s1", { sessionUpdate: kind, content: text(words) });
const message = (kind: string, messageId: string, words: string) =>
  update("s1", { sessionUpdate: kind, messageId, content: [text(words)] });
const resume = (id: unknown, fields: object = {}) =>
  request(id, "session/resume", { sessionId: "s1", cwd: "/work", ...fields });
const replay = { replayFrom: { type: "start" } };
const v1Params = { sessionId: "s1", cwd: "/work", mcpServers: [] };
const unavailable = update("s1", {
  sessionUpdate: "notice",
  severity: "warning",
  title: "The history of this session is not available",
  description: expect.any(String),
});

/** A whole turn: thought, message, tool call, message again. */
function converse(dialogue: Dialogue): void {
  dialogue.agent(chunk("Hm", "agent_thought_chunk"));
  dialogue.agent(chunk("Hel"));
  dialogue.agent(chunk("lo"));
  dialogue.agent(update("s1", { sessionUpdate: "tool_call", toolCallId: "t", title: "Read", status: "pending" }));
  dialogue.agent(chunk("Done"));
  dialogue.agent(update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed" }));
  dialogue.agent(reply(RUNNING, { stopReason: "end_turn" }));
}

describe("what is kept", () => {
  test("nothing, without a state directory", () => {
    const dialogue = runningDialogue({}, onlyResume);
    converse(dialogue);
    dialogue.client(request("l", "session/list", {}));
    dialogue.client(request("c", "session/close", { sessionId: "s1" }));
    expect(dialogue.acts).toEqual([]);
  });

  test("under the name the agent gives itself, whatever its command is called", () => {
    const dialogue = openDialogue({ ...remembers, agentCommand: ["/bin/other"] }, onlyLoad);
    expect(new Set(dialogue.acts.map((act) => "agent" in act && act.agent))).toEqual(new Set([agent]));
  });

  const opening: Row[] = [
    ["client", request("n", "session/new", { cwd: "/work", additionalDirectories: [] })],
    ["to agent", request(2, "session/new", { cwd: "/work", mcpServers: [], additionalDirectories: [] })],
    ["agent", reply(2, { sessionId: "s1" })],
    ["to client", reply("n", { sessionId: "s1" })],
    // Whatever an earlier session of this id left is nothing of this one's.
    ["does", { type: "forget", agent, sessionId: "s1" }],
    keep({ type: "session", cwd: "/work", additionalDirectories: [], at: START }),
    ["wait", 1000],
    ["client", prompt("p", "hi")],
    ["to agent", request(3, "session/prompt", { sessionId: "s1", prompt: [text("hi")] })],
    keep({ type: "info", at: "2026-01-01T00:00:01.000Z" }),
    ["wait", 50],
    ...accepted("p", minted(1), "hi"),
    keepMessage("user_message", minted(1)),
  ];

  test("of an agent that can load: the index and the ledger, no content", () => {
    play(pairedDialogue(remembers), [
      ...opening,
      ["agent", agentText("Hel")],
      ["to client", agentText("Hel", minted(2))],
      ["agent", agentText("lo")],
      ["to client", agentText("lo", minted(2))],
      ["agent", update("s1", { sessionUpdate: "session_info_update", title: "Greeting" })],
      ["to client", update("s1", { sessionUpdate: "session_info_update", title: "Greeting" })],
      keep({ type: "info", title: "Greeting", at: "2026-01-01T00:00:01.000Z" }),
      ["agent", update("s1", { sessionUpdate: "session_info_update", title: 7 })],
      ["to client", update("s1", { sessionUpdate: "session_info_update" })],
      keep({ type: "info", at: "2026-01-01T00:00:01.000Z" }),
      ...[{ _meta: { a: 1 } }, { title: null }].flatMap((said): Row[] => [
        ["agent", update("s1", { sessionUpdate: "session_info_update", ...said })],
        ["to client", update("s1", { sessionUpdate: "session_info_update", ...said })],
        keep({ type: "info", ...("title" in said && { title: null }), at: "2026-01-01T00:00:01.000Z" }),
      ]),
      ["agent", reply(3, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
      keepMessage("agent_message", minted(2)),
      ["client", request("c", "session/close", { sessionId: "s1" })],
      ["to agent", request(4, "session/close", { sessionId: "s1" })],
      keep({ type: "closed", at: "2026-01-01T00:00:01.050Z" }),
    ]);
  });

  test("of an agent that cannot: also the history, each message whole as soon as another begins", () => {
    const call = { sessionUpdate: "tool_call_update", toolCallId: "t", title: "Read", status: "pending" };
    const plan = { entries: [{ content: "a", priority: "high", status: "pending" }] };
    play(pairedDialogue(remembers, agentWith({ sessionCapabilities: { resume: {}, additionalDirectories: {} } })), [
      ...opening,
      keepUpdate({ sessionUpdate: "user_message", messageId: minted(1), content: [text("hi")] }),
      ["agent", chunk("Hm", "agent_thought_chunk")],
      ["to client", update("s1", { sessionUpdate: "agent_thought_chunk", messageId: minted(2), content: text("Hm") })],
      ["agent", chunk("Hel")],
      ["to client", agentText("Hel", minted(3))],
      keepMessage("agent_thought", minted(2)),
      keepUpdate({ sessionUpdate: "agent_thought", messageId: minted(2), content: [text("Hm")] }),
      ["agent", chunk("lo")],
      ["to client", agentText("lo", minted(3))],
      ["agent", update("s1", { ...call, sessionUpdate: "tool_call" })],
      ["to client", update("s1", call)],
      keepMessage("agent_message", minted(3)),
      keepUpdate({ sessionUpdate: "agent_message", messageId: minted(3), content: [text("Hello")] }),
      keepUpdate(call),
      ["agent", update("s1", { sessionUpdate: "plan", ...plan })],
      ["to client", update("s1", { sessionUpdate: "plan_update", plan: { type: "items", planId: "plan", ...plan } })],
      keepUpdate({ sessionUpdate: "plan_update", plan: { type: "items", planId: "plan", ...plan } }),
      // The session's present state is no history.
      ["agent", update("s1", { sessionUpdate: "usage_update", used: 1, size: 2 })],
      ["to client", update("s1", { sessionUpdate: "usage_update", used: 1, size: 2 })],
      ["agent", reply(3, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
    ]);
  });

  const endings: [string, (dialogue: Dialogue) => void][] = [
    ["the session's close", (dialogue) => dialogue.client(request("c", "session/close", { sessionId: "s1" }))],
    ["the agent's end", (dialogue) => dialogue.event({ type: "agent-exit", code: 0, signal: null })],
  ];
  test.each(endings)("a message that came after its turn is kept at %s", (_, end) => {
    const dialogue = runningDialogue(remembers, onlyResume);
    dialogue.agent(reply(RUNNING, { stopReason: "end_turn" }));
    dialogue.agent(agentText("By the way"));
    expect(remembered(dialogue.acts).messages).toHaveLength(1);
    end(dialogue);
    expect(remembered(dialogue.acts).messages).toMatchObject([{ id: minted(1) }, { id: minted(2) }]);
    expect(remembered(dialogue.acts).transcript).toContainEqual({
      sessionUpdate: "agent_message",
      messageId: minted(2),
      content: [text("By the way")],
    });
  });

  test("a session that nothing can bring back is forgotten with its close", () => {
    play(openDialogue(remembers, bare), [
      ["client", request("c", "session/close", { sessionId: "s1" })],
      ["to client", reply("c", {})],
      keep({ type: "closed", at: START }),
      ["does", { type: "forget", agent, sessionId: "s1" }],
    ]);
  });

  test("a deleted session is forgotten, once the agent has deleted it", () => {
    play(pairedDialogue(remembers), [
      ["client", request("d", "session/delete", { sessionId: "s1" })],
      ["to agent", request(2, "session/delete", { sessionId: "s1" })],
      ["agent", reply(2, {})],
      ["to client", reply("d", {})],
      ["does", { type: "forget", agent, sessionId: "s1" }],
    ]);
  });
});

describe("§5 ids in a later run", () => {
  const replayed: Row[] = [
    ["agent", chunk("hel", "user_message_chunk")],
    ["agent", chunk("lo", "user_message_chunk")],
    ["agent", chunk("Hm", "agent_thought_chunk")],
    ["to client", message("user_message", minted(1), "hello")],
    ["agent", chunk("Hello")],
    ["to client", message("agent_thought", minted(2), "Hm")],
    ["agent", update("s1", { sessionUpdate: "tool_call", toolCallId: "t", title: "Read", status: "completed" })],
    ["to client", message("agent_message", minted(3), "Hello")],
    [
      "to client",
      update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t", title: "Read", status: "completed" }),
    ],
    ["agent", chunk("Done")],
    ["agent", reply(2, {})],
    ["wait", 1],
    ["to client", message("agent_message", minted(4), "Done")],
    keep({ type: "session", cwd: "/work", at: "2026-01-02T00:00:00.001Z" }),
    ["to client", stateUpdate("idle")],
    ["to client", reply("r", {})],
  ];
  /** Acts come behind the frames of their event. */
  const inOrder = (rows: Row[]) => {
    const last = rows.findIndex((row) => row[0] === "does");
    return [...rows.slice(0, last), ...rows.slice(last + 1), ...rows.slice(last, last + 1)];
  };

  test("reappear in the replay of session/load", () => {
    const first = runningDialogue(remembers, onlyLoad);
    converse(first);
    play(pairedDialogue(later, onlyLoad), [
      ["client", resume("r", replay)],
      recall(1),
      recalled(1, remembered(first.acts)),
      ["to agent", request(2, "session/load", v1Params)],
      ...inOrder(replayed),
    ]);
  });

  test("of what was said after a resume are new, and follow in the next run", () => {
    const first = runningDialogue(remembers, onlyLoad);
    converse(first);
    const second = pairedDialogue(later, onlyLoad);
    play(second, [
      ["client", resume("r")],
      recall(1),
      recalled(1, remembered(first.acts)),
      ["to agent", request(2, "session/load", v1Params)],
      ["agent", chunk("hello", "user_message_chunk")],
      ["agent", reply(2, {})],
      ["wait", 1],
      ["to client", stateUpdate("idle")],
      ["to client", reply("r", {})],
      keep({ type: "session", cwd: "/work", at: "2026-01-02T00:00:00.001Z" }),
      ["client", prompt("p", "hello")],
      ["to agent", request(3, "session/prompt", { sessionId: "s1", prompt: [text("hello")] })],
      keep({ type: "info", at: "2026-01-02T00:00:00.001Z" }),
      ["wait", 50],
      ...accepted("p", "m_later_1", "hello"),
      keepMessage("user_message", "m_later_1"),
      ["agent", reply(3, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
    ]);
    const third = pairedDialogue({ remembers: true, runId: "third" }, onlyLoad);
    const kept = remembered([...first.acts, ...second.acts]);
    play(third, [
      ["client", resume("r", replay)],
      recall(1),
      recalled(1, kept),
      ["to agent", request(2, "session/load", v1Params)],
      ["agent", chunk("hello", "user_message_chunk")],
      ["agent", chunk("Hm", "agent_thought_chunk")],
      ["to client", message("user_message", minted(1), "hello")],
      ["agent", chunk("hello", "user_message_chunk")],
      ["to client", message("agent_thought", minted(2), "Hm")],
      ["agent", reply(2, {})],
      ["wait", 1],
      ["to client", message("user_message", "m_later_1", "hello")],
      ["to client", stateUpdate("idle")],
      ["to client", reply("r", {})],
      keep({ type: "session", cwd: "/work", at: "2026-01-01T00:00:00.001Z" }),
    ]);
  });
});

test("§5 a message that grew after a replay keeps its id, and so does another with the text it had", () => {
  const dialogue = openDialogue({}, onlyLoad);
  const said = (id: string, words: string) => agentText(words, id);
  const load = (n: number, id: string, first: string): Row[] => [
    ["client", resume(id, replay)],
    ["to agent", request(n, "session/load", v1Params)],
    ["agent", said("a", first)],
    ["agent", said("b", "Well.")],
    ["to client", message("agent_message", "a", first)],
    ["agent", reply(n, {})],
    ["wait", 1],
    ["to client", message("agent_message", "b", "Well.")],
    ["to client", stateUpdate("idle")],
    ["to client", reply(id, {})],
  ];
  play(dialogue, [
    ["agent", said("a", "Well.")],
    ["to client", said("a", "Well.")],
    ["agent", said("b", "Well.")],
    ["to client", said("b", "Well.")],
    ...load(3, "r1", "Well."),
    ["agent", said("a", " One")],
    ["to client", said("a", " One")],
    ...load(4, "r2", "Well. One"),
  ]);
});

describe("§4 replay from the transcript, at an agent that has only session/resume", () => {
  const history: Row[] = [
    ["to client", message("user_message", minted(1), "hello")],
    ["to client", message("agent_thought", minted(2), "Hm")],
    ["to client", message("agent_message", minted(3), "Hello")],
    [
      "to client",
      update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t", title: "Read", status: "completed" }),
    ],
    ["to client", message("agent_message", minted(4), "Done")],
  ];

  test("in a later run: resumed, then the history whole with its ids, the state, the result", () => {
    const first = runningDialogue(remembers, onlyResume);
    converse(first);
    const dialogue = pairedDialogue(later, onlyResume);
    play(dialogue, [
      ["client", resume("r", replay)],
      recall(1),
      recalled(1, remembered(first.acts)),
      ["to agent", request(2, "session/resume", v1Params)],
      ["agent", reply(2, {})],
      ...history,
      ["to client", stateUpdate("idle")],
      ["to client", reply("r", {})],
      keep({ type: "session", cwd: "/work", at: "2026-01-02T00:00:00.000Z" }),
      // The replayed tool call is known: a late update of it is none of a new one.
      ["agent", update("s1", { sessionUpdate: "tool_call", toolCallId: "t", status: "pending" })],
      ["to client", update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t" })],
      keepUpdate({ sessionUpdate: "tool_call_update", toolCallId: "t" }),
    ]);
  });

  test("a tool call that was open when the run was killed has failed; a status that comes after all still counts", () => {
    const first = runningDialogue(remembers, onlyResume);
    first.agent(update("s1", { sessionUpdate: "tool_call", toolCallId: "t", title: "Read", status: "in_progress" }));
    const failed = { sessionUpdate: "tool_call_update", toolCallId: "t", status: "failed" };
    const completed = { ...failed, status: "completed" };
    play(pairedDialogue(later, onlyResume), [
      ["client", resume("r", replay)],
      recall(1),
      recalled(1, remembered(first.acts)),
      ["to agent", request(2, "session/resume", v1Params)],
      ["agent", reply(2, {})],
      ["to client", message("user_message", minted(1), "hello")],
      ["to client", update("s1", { ...failed, title: "Read", status: "in_progress" })],
      ["to client", update("s1", failed)],
      ["to client", stateUpdate("idle")],
      ["to client", reply("r", {})],
      keep({ type: "session", cwd: "/work", at: "2026-01-02T00:00:00.000Z" }),
      keepUpdate(failed),
      ["agent", update("s1", completed)],
      ["to client", update("s1", completed)],
      keepUpdate(completed),
    ]);
  });

  test("not told again when no replay is asked for", () => {
    const first = runningDialogue(remembers, onlyResume);
    converse(first);
    play(pairedDialogue(later, onlyResume), [
      ["client", resume("r")],
      recall(1),
      recalled(1, remembered(first.acts)),
      ["to agent", request(2, "session/resume", v1Params)],
      ["agent", reply(2, {})],
      ["to client", stateUpdate("idle")],
      ["to client", reply("r", {})],
      keep({ type: "session", cwd: "/work", at: "2026-01-02T00:00:00.000Z" }),
    ]);
  });

  const incomplete: [string, (kept: RememberedSession) => RememberedSession | undefined, Row[]][] = [
    ["nothing is known of the session", () => undefined, []],
    ["its transcript was cut", (kept) => ({ ...kept, transcriptComplete: false }), history],
    ["only its ledger was kept", (kept) => ({ ...kept, transcript: [] }), []],
  ];
  test.each(incomplete)("a notice when %s", (_, spoil, rows) => {
    const first = runningDialogue(remembers, onlyResume);
    converse(first);
    play(pairedDialogue(later, onlyResume), [
      ["client", resume("r", replay)],
      recall(1),
      recalled(1, spoil(remembered(first.acts))),
      ["to agent", request(2, "session/resume", v1Params)],
      ["agent", reply(2, {})],
      ...rows,
      ["to client", unavailable],
      ["to client", stateUpdate("idle")],
      ["to client", reply("r", {})],
      keep({ type: "session", cwd: "/work", at: "2026-01-02T00:00:00.000Z" }),
    ]);
  });

  test("a session in which nothing was said has no history to miss", () => {
    const first = openDialogue(remembers, onlyResume);
    play(pairedDialogue(later, onlyResume), [
      ["client", resume("r", replay)],
      recall(1),
      recalled(1, remembered(first.acts)),
      ["to agent", request(2, "session/resume", v1Params)],
      ["agent", reply(2, {})],
      ["to client", stateUpdate("idle")],
      ["to client", reply("r", {})],
      keep({ type: "session", cwd: "/work", at: "2026-01-02T00:00:00.000Z" }),
    ]);
  });

  test("what a terminal wrote is its output, whole", () => {
    const first = runningDialogue({ ...remembers, hosts: { files: false, terminals: true } }, onlyResume);
    const { acts } = first.agent(request(9, "terminal/create", { sessionId: "s1", command: "ls" }));
    const [hosted] = acts.filter((act) => act.type === "host");
    first.event({ type: "hosted", call: hosted?.call ?? 0, outcome: { result: {} } });
    const terminalId = hosted?.terminalId ?? "";
    for (const data of ["YQ==", "YmM="])
      first.event({ type: "terminal", sessionId: "s1", terminalId, change: { data } });
    first.event({ type: "terminal", sessionId: "s1", terminalId, change: { exitStatus: { exitCode: 0 } } });
    const second = pairedDialogue(later, onlyResume);
    second.client(resume("r", replay));
    second.event({ type: "recalled", token: 1, value: remembered(first.acts) });
    const { toClient } = second.agent(reply(2, {}));
    // It is known now, and not announced once more.
    const shows = {
      sessionUpdate: "tool_call",
      toolCallId: "t",
      title: "T",
      content: [{ type: "terminal", terminalId }],
    };
    expect(second.agent(update("s1", shows)).toClient).toHaveLength(1);
    expect(toClient[1]).toEqual(
      update("s1", {
        sessionUpdate: "terminal_update",
        terminalId,
        command: "ls",
        cwd: "/work",
        exitStatus: { exitCode: 0 },
        output: { data: "YWJj" },
      }),
    );
  });
});

test("the outputs of terminals stay apart, and what belongs to none is left out", () => {
  const opened = (terminalId: string) => ({
    sessionUpdate: "terminal_update",
    terminalId,
    output: { data: btoa("?") },
  });
  const wrote = (terminalId: string, words: string) => ({
    sessionUpdate: "terminal_output_chunk",
    terminalId,
    data: btoa(words),
  });
  const shown = (terminalId: string, words: string) => ({ ...opened(terminalId), output: { data: btoa(words) } });
  const transcript = [opened("a"), opened("b"), wrote("a", "1"), wrote("b", "2"), wrote("c", "3"), wrote("a", "4")];
  expect(replayOf(transcript)).toEqual([shown("a", "14"), shown("b", "2")]);
});

test("of an agent that can load no content is kept, also of a message it comes back to", () => {
  const dialogue = runningDialogue(remembers, onlyLoad);
  const call = (toolCallId: string) => update("s1", { sessionUpdate: "tool_call", toolCallId, title: "T" });
  for (const frame of [agentText("a", "m1"), call("t"), agentText("b", "m1"), call("u")]) dialogue.agent(frame);
  const kept = dialogue.acts.flatMap((act) => (act.type === "keep" ? [act.record.type] : []));
  expect(kept).toEqual(["session", "info", "message", "message", "message"]);
});

test("an update that is dropped is not kept", () => {
  play(openDialogue(remembers, onlyResume), [
    ["agent", update("s1", { sessionUpdate: "usage_update", used: "much" })],
    ["log", "update-dropped"],
  ]);
});

test("what was found, but nobody asked for, changes nothing", () => {
  play(openDialogue(remembers), [recalled(99, undefined)]);
});

test("§0 I6 the content of a message is let go once it is kept; what is added to it later is kept as such", () => {
  const dialogue = runningDialogue(remembers, onlyResume);
  dialogue.agent(agentText("One", "a"));
  const kept = (id: string, words: string) =>
    keepUpdate({ sessionUpdate: "agent_message", messageId: id, content: [text(words)] });
  play(dialogue, [
    ["agent", agentText("Two", "b")],
    ["to client", agentText("Two", "b")],
    keepMessage("agent_message", "a"),
    kept("a", "One"),
    ["agent", agentText(" and more", "a")],
    ["to client", agentText(" and more", "a")],
    ["agent", reply(RUNNING, { stopReason: "end_turn" })],
    ["to client", idle({ stopReason: "end_turn" })],
    keepMessage("agent_message", "b"),
    kept("b", "Two"),
    keepMessage("agent_message", "a"),
    keepUpdate({ sessionUpdate: "agent_message_chunk", messageId: "a", content: text(" and more") }),
  ]);
  expect(JSON.stringify(dialogue.bridge.sessions.get("s1")?.messages.ledger)).not.toContain("One");
  expect(remembered(dialogue.acts)?.transcript).toContainEqual({
    sessionUpdate: "agent_message_chunk",
    messageId: "a",
    content: text(" and more"),
  });
});

describe("§4 replay of a live session from the transcript", () => {
  test("at an agent that has nothing", () => {
    const dialogue = runningDialogue(remembers, bare);
    converse(dialogue);
    play(dialogue, [
      ["client", resume("r", replay)],
      recall(1),
      recalled(1, remembered(dialogue.acts)),
      ["to client", message("user_message", minted(1), "hello")],
      ["to client", message("agent_thought", minted(2), "Hm")],
      ["to client", message("agent_message", minted(3), "Hello")],
      [
        "to client",
        update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t", title: "Read", status: "completed" }),
      ],
      ["to client", message("agent_message", minted(4), "Done")],
      ["to client", stateUpdate("idle")],
      ["to client", reply("r", {})],
    ]);
  });

  test("while it runs: with the message being streamed, which goes on under the same id", () => {
    const dialogue = runningDialogue(remembers, onlyResume);
    const open = { toolCallId: "t", title: "Read", status: "pending" };
    dialogue.agent(update("s1", { sessionUpdate: "tool_call", ...open }));
    dialogue.agent(chunk("Hel"));
    dialogue.agent(chunk("lo"));
    play(dialogue, [
      ["client", resume("r", replay)],
      recall(1),
      recalled(1, remembered(dialogue.acts)),
      ["to client", message("user_message", minted(1), "hello")],
      ["to client", update("s1", { sessionUpdate: "tool_call_update", ...open })],
      ["to client", message("agent_message", minted(2), "Hello")],
      ["to client", stateUpdate("running")],
      ["to client", reply("r", {})],
      ["agent", chunk(" again")],
      ["to client", agentText(" again", minted(2))],
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
      keepMessage("agent_message", minted(2)),
      keepUpdate({ sessionUpdate: "agent_message", messageId: minted(2), content: [text("Hello again")] }),
    ]);
  });

  test("is not looked up when none is asked for", () => {
    play(openDialogue(remembers, onlyResume), [
      ["client", resume("r")],
      ["to agent", request(3, "session/resume", v1Params)],
    ]);
  });

  test("without a state directory: a notice", () => {
    const dialogue = runningDialogue({}, bare);
    converse(dialogue);
    play(dialogue, [
      ["client", resume("r", replay)],
      ["to client", unavailable],
      ["to client", stateUpdate("idle")],
      ["to client", reply("r", {})],
    ]);
  });
});

describe("what comes while a session is looked up", () => {
  test("a second resume is refused, a prompt waits", () => {
    play(pairedDialogue(later, onlyResume), [
      ["client", resume("r")],
      recall(1),
      ["client", resume("again")],
      ["to client", fail("again", -32600, "the session is being resumed already")],
      ["client", prompt("p", "hi")],
      recalled(1, undefined),
      ["to agent", request(2, "session/resume", v1Params)],
      ["agent", reply(2, {})],
      ["to client", stateUpdate("idle")],
      ["to client", reply("r", {})],
      ["to agent", request(3, "session/prompt", { sessionId: "s1", prompt: [text("hi")] })],
      keep({ type: "session", cwd: "/work", at: "2026-01-02T00:00:00.000Z" }),
    ]);
  });

  test("two replays of an open session: the second is refused, and the session stays", () => {
    const dialogue = openDialogue(remembers, onlyResume);
    play(dialogue, [
      ["client", resume("r", replay)],
      recall(1),
      ["client", resume("again", replay)],
      recall(2),
      recalled(1, remembered(dialogue.acts)),
      ["to agent", request(3, "session/resume", v1Params)],
      recalled(2, remembered(dialogue.acts)),
      ["to client", fail("again", -32600, "the session is being resumed already")],
      ["agent", reply(3, {})],
      ["to client", stateUpdate("idle")],
      ["to client", reply("r", {})],
      keep({ type: "session", cwd: "/work", at: START }),
    ]);
  });

  test("history that the agent tells before it is asked for it is not shown", () => {
    play(pairedDialogue(later, onlyResume), [
      ["client", resume("r")],
      recall(1),
      ["agent", update("s1", { sessionUpdate: "tool_call", toolCallId: "t", title: "Read" })],
      recalled(1, undefined),
      ["to agent", request(2, "session/resume", v1Params)],
    ]);
  });

  test("a close: the resume gets -32800, and nothing is opened", () => {
    play(pairedDialogue(later, onlyResume), [
      ["client", resume("r")],
      recall(1),
      ["client", request("c", "session/close", { sessionId: "s1" })],
      ["to client", reply("c", {})],
      recalled(1, undefined),
      ["to client", fail("r", -32800, "the session was closed while it was being resumed")],
    ]);
  });

  test("a close does not cost the session the ids it had", () => {
    const first = runningDialogue(remembers, onlyLoad);
    converse(first);
    const dialogue = pairedDialogue(later, onlyLoad);
    play(dialogue, [
      ["client", resume("r")],
      recall(1),
      ["client", request("c", "session/close", { sessionId: "s1" })],
      ["to client", reply("c", {})],
      recalled(1, undefined),
      ["to client", fail("r", -32800, "the session was closed while it was being resumed")],
      ["client", resume("again", replay)],
      recall(2),
      recalled(2, remembered(first.acts)),
      ["to agent", request(2, "session/load", v1Params)],
      ["agent", chunk("hello", "user_message_chunk")],
      ["agent", chunk("Hm", "agent_thought_chunk")],
      ["to client", message("user_message", minted(1), "hello")],
    ]);
  });

  test("a resume that the agent refuses leaves nothing behind", () => {
    play(pairedDialogue(later, onlyResume), [
      ["client", resume("r")],
      recall(1),
      recalled(1, undefined),
      ["to agent", request(2, "session/resume", v1Params)],
      ["agent", fail(2, -32002, "session not found")],
      ["to client", fail("r", -32002, expect.any(String), expect.anything())],
      ["client", prompt("p", "hi")],
      ["to client", fail("p", -32002, expect.any(String), { sessionId: "s1" })],
      ["client", notify("session/cancel", { sessionId: "s1" })],
    ]);
  });

  test("at an agent that can bring back nothing: -32002, and nothing is looked up", () => {
    play(pairedDialogue(later, bare), [
      ["client", resume("r")],
      ["to client", fail("r", -32002, "session not found", { sessionId: "s1" })],
    ]);
  });

  test("two at once, at an agent that has no resume after all: neither is left waiting", () => {
    const dialogue = pairedDialogue(later, onlyResume);
    play(dialogue, [
      ["client", resume("r")],
      recall(1),
      ["client", request("other", "session/resume", { sessionId: "s2", cwd: "/work" })],
      recall(2, "s2"),
      ["client", request("p", "session/prompt", { sessionId: "s2", prompt: [text("hello")] })],
      ["log", "prompt-held"],
      recalled(1, undefined),
      ["to agent", request(2, "session/resume", v1Params)],
      ["agent", fail(2, -32601)],
      ["to client", fail("r", -32002, "session not found", { sessionId: "s1" })],
      ["log", "resume-announced-but-missing"],
      recalled(2, undefined),
      ["to client", fail("other", -32002, "session not found", { sessionId: "s2" })],
      ["to client", fail("p", -32002, "session not found", { sessionId: "s2" })],
      ["client", request("again", "session/resume", { sessionId: "s2", cwd: "/work" })],
      ["to client", fail("again", -32002, "session not found", { sessionId: "s2" })],
    ]);
  });
});

describe("§4 session/list from the index", () => {
  const entry = (sessionId: string, updatedAt: string, more: object = {}) => ({
    sessionId,
    cwd: "/work",
    updatedAt,
    ...more,
  });

  test("kept sessions and this run's, newest first; what is kept of a session of both is not lost", () => {
    const dialogue = pairedDialogue(later, onlyResume);
    dialogue.client(resume("r"));
    dialogue.event({ type: "recalled", token: 1, value: undefined });
    dialogue.agent(reply(2, {}));
    play(dialogue, [
      ["client", request("l", "session/list", {})],
      recallIndex(2),
      recalled(2, [
        entry("s3", "2026-01-03T00:00:00.000Z"),
        entry("s1", "2026-01-01T12:00:00.000Z", { title: "Named" }),
        entry("s2", "2026-01-01T00:00:00.000Z", { title: "Older" }),
        entry("s0", "2026-01-01T13:00:00.000Z", { cwd: "/elsewhere" }),
      ]),
      [
        "to client",
        reply("l", {
          sessions: [
            entry("s3", "2026-01-03T00:00:00.000Z"),
            entry("s1", "2026-01-02T00:00:00.000Z", { title: "Named" }),
            entry("s0", "2026-01-01T13:00:00.000Z", { cwd: "/elsewhere" }),
            entry("s2", "2026-01-01T00:00:00.000Z", { title: "Older" }),
          ],
        }),
      ],
      ["client", request("w", "session/list", { cwd: "/elsewhere" })],
      recallIndex(3),
      recalled(3, [entry("s0", "2026-01-01T13:00:00.000Z", { cwd: "/elsewhere" })]),
      ["to client", reply("w", { sessions: [entry("s0", "2026-01-01T13:00:00.000Z", { cwd: "/elsewhere" })] })],
    ]);
  });

  test("at an agent that can bring back nothing: only what is open", () => {
    play(openDialogue(remembers, bare), [
      ["client", request("l", "session/list", {})],
      ["to client", reply("l", { sessions: [entry("s1", START)] })],
    ]);
  });

  test("an agent that lists is asked, not the index", () => {
    play(openDialogue(remembers), [
      ["client", request("l", "session/list", {})],
      ["to agent", request(3, "session/list", {})],
    ]);
  });
});
