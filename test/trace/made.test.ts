// Guards that a trace notes what the bridge makes up without a word in the log (docs/trace.md), and claims it of nothing
// that only passed through: each kind, told from a frame and its cause.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { JsonObject } from "../../src/protocol/json.ts";
import { type Cause, madeOf, type Written } from "../../src/trace/made.ts";

const update = (sessionUpdate: string, more: JsonObject = {}): JsonObject => ({
  method: "session/update",
  params: { sessionId: "s", update: { sessionUpdate, ...more } },
});
const told = (kind: string, more?: JsonObject): Written => ({
  to: "client",
  kind: "notification",
  method: "session/update",
  frame: update(kind, more),
});
const saying = (kind: string, more?: JsonObject): Cause => ({
  from: "agent",
  kind: "notification",
  method: "session/update",
  frame: update(kind, more),
});
const said = (from: "client" | "agent", kind: Written["kind"], method: string, frame: JsonObject = {}): Cause => ({
  from,
  kind,
  method,
  frame,
});
const wrote = (to: "client" | "agent", kind: Written["kind"], method: string, frame: JsonObject = {}): Written => ({
  to,
  kind,
  method,
  frame,
});
const happened = (event: string): Cause => ({ from: "nobody", event });
const chunk = "agent_message_chunk";

const CASES: [string, Written, Cause, [event: string, what: string, rule: string] | undefined][] = [
  ["a chunk under the agent's id", told(chunk, { messageId: "a" }), saying(chunk, { messageId: "a" }), undefined],
  ["a chunk without one", told(chunk, { messageId: "m" }), saying(chunk), ["message-id-made", "synthesised", "§5"]],
  [
    "another id",
    told(chunk, { messageId: "m" }),
    saying(chunk, { messageId: "a" }),
    ["message-id-changed", "changed", "§5"],
  ],
  ["running", told("state_update", { state: "running" }), saying(chunk), ["state-told", "synthesised", "§9"]],
  ["idle", told("state_update", { state: "idle" }), happened("timer"), ["state-told", "synthesised", "§9"]],
  ["the user's message", told("user_message"), saying(chunk), ["message-told-whole", "synthesised", "§5"]],
  ["history", told("agent_message"), happened("recalled"), ["history-told", "synthesised", "§4"]],
  [
    "history of this run",
    told("plan_update"),
    said("client", "request", "session/resume"),
    ["history-told", "synthesised", "§4"],
  ],
  ["a plan", told("plan_update"), saying("plan"), ["plan-named", "synthesised", "7.1"]],
  ["a plan with an id", told("plan_update"), saying("plan_update"), undefined],
  ["a title", told("tool_call_update", { title: "x" }), saying("tool_call"), ["tool-call-titled", "guessed", "6.3"]],
  ["the agent's title", told("tool_call_update", { title: "x" }), saying("tool_call", { title: "x" }), undefined],
  [
    "the title of a permission's tool call",
    told("tool_call_update", { title: "x" }),
    said("agent", "request", "session/request_permission", { params: { toolCall: { title: "x" } } }),
    undefined,
  ],
  [
    "a tool call that was open",
    told("tool_call_update"),
    said("agent", "result", "session/prompt"),
    ["tool-call-ended", "synthesised", "§6"],
  ],
  [
    "one when the agent died",
    told("tool_call_update"),
    happened("agent-exit"),
    ["tool-call-ended", "synthesised", "§6"],
  ],
  [
    "one of a session closed",
    told("tool_call_update"),
    said("client", "request", "session/close"),
    ["tool-call-ended", "synthesised", "§6"],
  ],
  [
    "an update that waited",
    told("tool_call_update"),
    said("agent", "result", "session/new"),
    ["update-sent-late", "other", "§3"],
  ],
  ["a hosted terminal", told("terminal_update"), happened("hosted"), ["terminal-told", "synthesised", "§10"]],
  ["its output", told("terminal_output_chunk"), happened("terminal"), ["terminal-told", "synthesised", "§10"]],
  ["a terminal in _meta", told("terminal_update"), saying("tool_call"), ["terminal-told", "synthesised", "§6"]],
  [
    "options after a change",
    told("config_option_update"),
    said("agent", "result", "session/set_mode"),
    ["update-made", "synthesised", "§8"],
  ],
  ["a notice of silence", told("notice"), happened("timer"), ["notice-given", "synthesised", "§9"]],
  ["a notice of a loss", told("notice"), happened("oversized"), ["notice-given", "synthesised", "§12"]],
  ["commands", told("available_commands_update"), saying("available_commands_update"), undefined],
  [
    "an acceptance",
    wrote("client", "result", "session/prompt", { result: {} }),
    saying(chunk),
    ["prompt-accepted", "synthesised", "§9"],
  ],
  ["an answer passed on", wrote("client", "result", "session/new"), said("agent", "result", "session/new"), undefined],
  [
    "an answer of its own",
    wrote("client", "result", "session/close"),
    said("client", "request", "session/close"),
    ["answer-made", "synthesised", "§4"],
  ],
  [
    "a refusal of its own",
    wrote("client", "error", "x/y"),
    said("client", "request", "x/y"),
    ["answer-made", "synthesised", "§12"],
  ],
  [
    "a list out of memory",
    wrote("client", "result", "session/list"),
    happened("recalled"),
    ["answer-made", "synthesised", "§4"],
  ],
  [
    "an answer that waited",
    wrote("client", "result", "session/resume"),
    happened("timer"),
    ["answer-sent-late", "other", "§4"],
  ],
  [
    "another method's answer",
    wrote("client", "result", "session/resume"),
    said("agent", "result", "session/load"),
    ["answer-derived", "changed", "§4"],
  ],
  [
    "initialize's answer",
    wrote("client", "result", "initialize", { result: { capabilities: {} } }),
    said("agent", "result", "initialize", { result: { agentCapabilities: {} } }),
    ["initialize-translated", "changed", "§1"],
  ],
  [
    "initialize's answer in pass-through",
    wrote("client", "result", "initialize", { result: { agentCapabilities: {} } }),
    said("agent", "result", "initialize", { result: { agentCapabilities: {} } }),
    undefined,
  ],
  [
    "initialize for both versions",
    wrote("agent", "request", "initialize", { params: { info: {}, clientInfo: {} } }),
    said("client", "request", "initialize", { params: { info: {} } }),
    ["initialize-for-both", "changed", "1.2"],
  ],
  [
    "a request passed on",
    wrote("agent", "request", "session/new"),
    said("client", "request", "session/new"),
    undefined,
  ],
  ["an extension's", wrote("client", "request", "_x/y"), said("agent", "request", "x/y"), undefined],
  [
    "another method",
    wrote("agent", "request", "session/set_mode"),
    said("client", "request", "session/set_config_option"),
    ["request-translated", "changed", "§8"],
  ],
  [
    "a request that waited",
    wrote("agent", "request", "session/prompt"),
    happened("timer"),
    ["request-sent-late", "other", "§9"],
  ],
  [
    "a request of its own",
    wrote("agent", "request", "session/load"),
    happened("timer"),
    ["request-made", "synthesised", "§4"],
  ],
  [
    "a cancel of its own",
    wrote("agent", "notification", "session/cancel"),
    said("client", "request", "session/close"),
    ["notification-made", "synthesised", "§9"],
  ],
  [
    "a withdrawal",
    wrote("client", "notification", "$/cancel_request"),
    said("client", "notification", "session/cancel"),
    ["request-withdrawn", "synthesised", "§9"],
  ],
  [
    "a withdrawal passed on",
    wrote("agent", "notification", "$/cancel_request"),
    said("client", "notification", "$/cancel_request"),
    undefined,
  ],
  [
    "a person's answer",
    wrote("agent", "result", "session/request_permission"),
    said("client", "result", "session/request_permission"),
    undefined,
  ],
  [
    "an answer in the client's stead",
    wrote("agent", "result", "terminal/create"),
    happened("hosted"),
    ["answered-for-client", "synthesised", "§10"],
  ],
  ["what is no message", wrote("client", "invalid", ""), saying(chunk), undefined],
];

test.each(CASES)("%s", (_, written, cause, expected) => {
  const { event, what, rule } = madeOf(written, cause, () => written.method === "session/prompt") ?? {};
  expect(event && [event, what, rule]).toEqual(expected);
});

test("every rule stands in docs/mapping.md", () => {
  const mapping = readFileSync(new URL("../../docs/mapping.md", import.meta.url), "utf8");
  const rules = new Set(CASES.flatMap(([, , , expected]) => expected?.[2] ?? []));
  for (const rule of rules)
    expect(mapping).toContain(rule.startsWith("§") ? `\n## ${rule.slice(1)}. ` : `\n| ${rule} |`);
});
