// Guards the view that real agents are judged by: what a v2 client shows of the frames it exchanged (v2 schema,
// `SessionUpdate`), and when two views count as the same.
import { expect, test } from "vitest";
import type { JsonObject } from "../../src/protocol/json.ts";
import { EXPLAINED, explain } from "./explained.ts";
import { inAnyOrder, neighboursInAnyOrder, transcript, untilCancelled } from "./transcript.ts";
import { type Frame, fold, type Item } from "./view.ts";

const update = (sessionUpdate: string, fields: JsonObject = {}): Frame => ({
  from: "agent",
  frame: { method: "session/update", params: { sessionId: "s", update: { sessionUpdate, ...fields } } },
});
const text = (words: string) => ({ type: "text", text: words });
const base64 = (words: string) => Buffer.from(words).toString("base64");
const timeline = (...frames: Frame[]) => fold(frames).timeline;

test("messages keep their place; chunks are added, a whole message replaces, one without text shows nothing", () => {
  expect(
    timeline(
      update("agent_message_chunk", { messageId: "a", content: text("On") }),
      update("agent_thought", { messageId: "a", content: [text("Hm")] }),
      update("agent_message_chunk", { messageId: "a", content: text("e") }),
      update("user_message", { messageId: "u", content: [text("old")] }),
      update("user_message", { messageId: "u", content: [text("new"), { type: "image" }] }),
      update("agent_message", { messageId: "e", content: [] }),
    ),
  ).toEqual([
    { type: "agent_message", text: "One" },
    { type: "agent_thought", text: "Hm" },
    { type: "user_message", text: "new[image]" },
  ]);
});

test("a tool call is patched: absent fields stay, null clears, content chunks are added", () => {
  const [call] = timeline(
    update("tool_call_update", { toolCallId: "t", title: "Read", kind: "read", locations: [{ path: "/a", line: 3 }] }),
    update("tool_call_content_chunk", { toolCallId: "t", content: { type: "content", content: text("x") } }),
    update("tool_call_update", { toolCallId: "t", status: "completed", kind: null }),
  );
  expect(call).toEqual({
    type: "tool_call",
    title: "Read",
    kind: "other",
    status: "completed",
    content: [{ text: "x" }],
    locations: ["/a:3"],
  });
});

test("a terminal is shown where it is referred to, with all it has put out; null says nothing of its exit", () => {
  const [call] = timeline(
    update("terminal_update", { terminalId: "x", command: "ls" }),
    update("tool_call_update", { toolCallId: "t", content: [{ type: "terminal", terminalId: "x" }] }),
    update("terminal_output_chunk", { terminalId: "x", data: base64("lost") }),
    update("terminal_update", { terminalId: "x", output: { data: base64("one ") } }),
    update("terminal_output_chunk", { terminalId: "x", data: base64("two") }),
    update("terminal_update", { terminalId: "x", exitStatus: { exitCode: 0, signal: null } }),
  );
  expect(call).toMatchObject({ content: [{ terminal: "ls", output: "one two", exitStatus: { exitCode: 0 } }] });
});

test("plans, states, notices", () => {
  const entries = [{ content: "First", priority: "high", status: "pending" }];
  expect(
    timeline(
      update("state_update", { state: "running" }),
      update("plan_update", { plan: { type: "items", planId: "p", entries: [] } }),
      update("plan_update", { plan: { type: "items", planId: "q", entries } }),
      update("plan_update", { plan: { type: "items", planId: "p", entries } }),
      update("plan_removed", { planId: "q" }),
      update("notice", { title: "Look" }),
      update("state_update", { state: "idle", stopReason: "error", error: { message: "no" } }),
    ),
  ).toEqual([
    { type: "state", state: "running" },
    { type: "plan", entries: ["pending high: First"] },
    { type: "notice", title: "Look" },
    { type: "state", state: "idle error no" },
  ]);
});

test("a permission with what it is for, its options and its answer; its tool call is patched too", () => {
  const toolCall = { toolCallId: "t", title: "Run it", kind: "execute" };
  const options = [{ optionId: "y", name: "Yes", kind: "allow_once" }];
  const shown = timeline(
    {
      from: "agent",
      frame: {
        id: 7,
        method: "session/request_permission",
        params: { title: "May I?", subject: { type: "tool_call", toolCall }, options },
      },
    },
    { from: "client", frame: { id: 7, result: { outcome: { outcome: "selected", optionId: "y" } } } },
  );
  expect(shown).toMatchObject([
    { type: "tool_call", title: "Run it", kind: "execute" },
    {
      type: "permission",
      title: "May I?",
      subject: "tool_call Run it",
      options: ["allow_once: Yes"],
      answer: "selected",
    },
  ]);
});

test("what a session has beside its timeline, from results and updates; refusals stand on the timeline", () => {
  const ask = (id: number, method: string): Frame => ({ from: "client", frame: { id, method } });
  const answer = (id: number, fields: JsonObject): Frame => ({ from: "agent", frame: { id, ...fields } });
  const option = { configId: "mode", type: "select", category: "mode", name: "Mode", currentValue: "ask" };
  const view = fold([
    ask(1, "session/new"),
    answer(1, {
      result: { configOptions: [{ ...option, options: [{ value: "ask" }, { options: [{ value: "do" }] }] }] },
    }),
    update("available_commands_update", { availableCommands: [{ name: "help" }] }),
    update("session_info_update", { title: "A title" }),
    update("session_info_update", { updatedAt: "now" }),
    ask(2, "session/list"),
    answer(2, { result: { sessions: [{ sessionId: "s", cwd: "/w", updatedAt: "2026" }] } }),
    ask(3, "session/resume"),
    answer(3, { error: { code: -32002, message: "none" } }),
  ]);
  expect(view).toEqual({
    timeline: [{ type: "error", method: "session/resume", code: -32002 }],
    configOptions: ["mode (select, mode) Mode: ask of ask, do"],
    commands: ["help"],
    title: "A title",
    sessions: [{ cwd: "/w", title: undefined, updatedAt: "string" }],
  });
});

test("what depends on the run can be taken out of every text", () => {
  const view = fold([update("agent_message", { messageId: "a", content: [text("in /tmp/x1/f")] })], (words) =>
    words.replaceAll("/tmp/x1", "/work"),
  );
  expect(transcript(view)).toEqual(['agent_message: "in /work/f"']);
});

test("tools called at once: whichever is first, the lines are the same", () => {
  const call = (title: string): Item => ({
    type: "tool_call",
    title,
    kind: "read",
    status: "completed",
    content: [],
    locations: [],
  });
  const permission = (subject: string): Item => ({
    type: "permission",
    title: "?",
    subject,
    options: [],
    answer: "selected",
  });
  const state = (name: string): Item => ({ type: "state", state: name });
  const one = [state("running"), call("a"), permission("a"), state("requires_action"), call("b"), permission("b")];
  const other = [state("running"), call("b"), permission("b"), state("running"), permission("a"), call("a")];
  const rest = [state("running"), { type: "agent_message" as const, text: "Done" }, state("idle end_turn")];
  expect(inAnyOrder([...one, ...rest])).toEqual(inAnyOrder([...other, ...rest]));
  expect(inAnyOrder(rest)).toEqual(rest);
  const replay = (first: string, second: string) => [...rest, call(first), call(second), ...rest, call("c")];
  expect(neighboursInAnyOrder(replay("b", "a"))).toEqual(replay("a", "b"));
});

test("a turn cancelled at a permission: what came after it, and what the tool put out, are left out", () => {
  const permission: Item = { type: "permission", title: "?", subject: "a", options: [], answer: "cancelled" };
  const call = (content: unknown[]): Item => ({
    type: "tool_call",
    title: "a",
    kind: "execute",
    status: "failed",
    content,
    locations: [],
  });
  const said: Item = { type: "agent_message", text: "x" };
  expect(untilCancelled([said, call([1]), permission, said])).toEqual([said, call([]), permission]);
});

test("an explanation rewrites what it explains, and is stale where it explains nothing", () => {
  const explanations = [
    { why: "more is said", native: /^b$/gm, bridged: "b and c" },
    { why: "no longer so", native: /^x$/gm, bridged: "y" },
  ];
  expect(explain("a\nb\n", explanations)).toEqual({ explained: "a\nb and c\n", stale: ["no longer so"] });
});

test("every explanation says why", () => {
  for (const { why, native } of Object.values(EXPLAINED).flat()) {
    expect(why.length).toBeGreaterThan(40);
    expect(native.global).toBe(true);
  }
});
