// Guards `acp-shift trace stats` (docs/trace.md): what is counted, and from when to when times are taken.
import { expect, test } from "vitest";
import { createCounter, spread } from "../../src/trace/stats.ts";
import { createRecorder, header, type Recorder } from "../support/recorded.ts";

const rpc = (frame: object) => ({ jsonrpc: "2.0", ...frame });
const update = (fields: object) => rpc({ method: "session/update", params: { sessionId: "s1", update: fields } });
const prompt = (id: number) => rpc({ id, method: "session/prompt", params: { sessionId: "s1", prompt: [] } });
const text = { sessionUpdate: "agent_message_chunk", messageId: "m", content: { type: "text", text: "x" } };
const state = (name: string, more = {}) => update({ sessionUpdate: "state_update", state: name, ...more });

function count({ records }: Recorder) {
  const counter = createCounter();
  for (const record of records) counter.take(record);
  return counter.result();
}

test.each([
  [[], { count: 0, p50: null, p99: null, max: null }],
  [[7], { count: 1, p50: 7, p99: 7, max: 7 }],
  [[3, 1, 2, 4], { count: 4, p50: 2, p99: 4, max: 4 }],
  [Array.from({ length: 1000 }, (_, index) => 1000 - index), { count: 1000, p50: 500, p99: 990, max: 1000 }],
])("percentiles by nearest rank: %#", (times, expected) => {
  expect(spread(times)).toEqual(expected);
});

test("frames and bytes of each leg, noise, the run, what was dropped", () => {
  const recorder = createRecorder();
  recorder.frame("agent-bridge", update(text));
  recorder.frame("agent-bridge", update(text));
  recorder.add({ type: "bytes", leg: "agent-bridge", bytes: 5, text: "hello" });
  recorder.add({ type: "dropped", records: 3, bytes: 9, reason: "slow disk" });
  const stats = count(recorder);
  const bytes = 2 * JSON.stringify(update(text)).length;
  expect(stats.legs).toEqual([{ leg: "agent-bridge", frames: 2, bytes, noise: 5 }]);
  expect(stats.messages).toEqual([
    { leg: "agent-bridge", kind: "notification", method: "agent_message_chunk", count: 2, bytes },
  ]);
  expect(stats.run).toEqual({
    id: header.run,
    started: header.started,
    agent: ["agent", "--acp"],
    duration: 4,
    records: 4,
    dropped: 3,
  });
});

test("requests by leg and method, from the question to the answer; what went on, from in to out", () => {
  const recorder = createRecorder();
  const asked = recorder.frame("client-bridge", rpc({ id: 1, method: "_x" }));
  recorder.wait(4);
  recorder.frame("bridge-agent", rpc({ id: 7, method: "_x" }), asked);
  recorder.wait(9);
  const answered = recorder.frame("agent-bridge", rpc({ id: 7, error: { code: 1, message: "" } }));
  recorder.frame("bridge-client", rpc({ id: 1, error: { code: 1, message: "" } }), answered);
  recorder.frame("client-bridge", rpc({ id: 2, method: "_x" }));
  const { requests, added } = count(recorder);
  expect(requests).toEqual([
    { leg: "client-bridge", method: "_x", errors: 1, unanswered: 1, count: 1, p50: 16, p99: 16, max: 16 },
    { leg: "bridge-agent", method: "_x", errors: 1, unanswered: 0, count: 1, p50: 10, p99: 10, max: 10 },
  ]);
  expect(added).toEqual([
    { to: "agent", spread: { count: 1, p50: 5, p99: 5, max: 5 } },
    { to: "client", spread: { count: 1, p50: 1, p99: 1, max: 1 } },
  ]);
});

test("a version 2 turn: to the first token and to idle, with its tool calls and permissions", () => {
  const recorder = createRecorder();
  const to = (frame: object) => recorder.frame("bridge-client", frame);
  recorder.frame("client-bridge", prompt(1));
  to(rpc({ id: 1, result: { messageId: "u" } }));
  to(state("running"));
  recorder.frame("client-bridge", prompt(2));
  to(update(text));
  to(update({ sessionUpdate: "tool_call_update", toolCallId: "t", title: "T", kind: "read" }));
  to(rpc({ id: 9, method: "session/request_permission", params: { sessionId: "s1", options: [] } }));
  recorder.wait(10);
  recorder.frame("client-bridge", rpc({ id: 9, result: { outcome: { outcome: "selected", optionId: "yes" } } }));
  to(update({ sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed" }));
  to(state("idle", { stopReason: "end_turn" }));
  to(rpc({ id: 2, error: { code: -32800, message: "" } }));
  const { turns, toolCalls, permissions, sessions } = count(recorder);
  const first = { session: "s1", seq: 1, firstToken: 4, end: 19, stopReason: "end_turn", toolCalls: 1, permissions: 1 };
  const refused = {
    session: "s1",
    seq: 4,
    firstToken: null,
    end: 17,
    stopReason: "error",
    toolCalls: 0,
    permissions: 0,
  };
  expect(turns).toEqual([first, refused]);
  expect(toolCalls).toEqual([{ session: "s1", id: "t", title: "T", kind: "read", status: "completed", time: 13 }]);
  expect(permissions).toEqual([{ session: "s1", seq: 7, outcome: "yes", time: 11 }]);
  expect(sessions).toMatchObject([{ session: "s1", frames: 11, turns: 2, toolCalls: 1, permissions: 1 }]);
});

test("a version 1 turn ends with its result; what never ends has no times", () => {
  const recorder = createRecorder();
  const to = (frame: object) => recorder.frame("bridge-client", frame);
  recorder.frame("client-bridge", prompt(1));
  to(update({ sessionUpdate: "tool_call", toolCallId: "t", title: "T" }));
  to(rpc({ id: 9, method: "session/request_permission", params: { sessionId: "s1", options: [] } }));
  to(rpc({ id: 1, result: { stopReason: "refusal" } }));
  recorder.frame("client-bridge", prompt(2));
  const { turns, toolCalls, permissions } = count(recorder);
  expect(turns).toMatchObject([
    { firstToken: null, end: 3, stopReason: "refusal" },
    { firstToken: null, end: null, stopReason: null },
  ]);
  expect(toolCalls).toMatchObject([{ status: "pending", time: null }]);
  expect(permissions).toMatchObject([{ outcome: null, time: null }]);
});

test("history that is replayed is no turn's", () => {
  const recorder = createRecorder();
  recorder.frame("client-bridge", rpc({ id: 1, method: "session/resume", params: { sessionId: "s1", cwd: "/" } }));
  recorder.frame("bridge-client", update({ sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed" }));
  recorder.frame("bridge-client", rpc({ id: 1, result: {} }));
  expect(count(recorder).toolCalls).toEqual([]);
});
