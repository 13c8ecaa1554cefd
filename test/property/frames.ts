// What the random peers of the property tests say: valid frames of both versions, and ways to spoil them.
import fc from "fast-check";
import { isObject, type JsonObject } from "../../src/protocol/json.ts";

export const pick = <T>(from: readonly T[], at: number): T => {
  if (from.length === 0) throw new Error("nothing to pick from");
  return from[at % from.length] as T;
};

const config = [
  {},
  { modes: null, models: null, configOptions: null },
  {
    modes: {
      currentModeId: "ask",
      availableModes: [
        { id: "ask", name: "Ask" },
        { id: "code", name: "Code" },
      ],
    },
  },
  { models: { currentModelId: "small", availableModels: [{ modelId: "small", name: "Small" }] } },
  {
    configOptions: [
      { type: "select", id: "mode", name: "Mode", currentValue: "ask", options: [{ value: "ask", name: "Ask" }] },
      { type: "boolean", id: "fast", name: "Fast", currentValue: false },
    ],
  },
];

/** A valid v1 result for a method; `what` chooses among the forms it may have. */
export function agentResult(method: string, sessionId: string, what: number): unknown {
  switch (method) {
    case "session/new":
    case "session/fork":
      return { sessionId, ...pick(config, what) };
    case "session/load":
    case "session/resume":
      return pick([{}, ...config, { _meta: { kept: true } }], what);
    case "session/list":
      return pick([{ sessions: [] }, { sessions: [{ sessionId, cwd: "/work" }], nextCursor: null }], what);
    case "session/prompt":
      return pick(
        [
          { stopReason: "end_turn" },
          { stopReason: "max_tokens", usage: { totalTokens: 3, inputTokens: 1, outputTokens: 2 } },
          { stopReason: "cancelled" },
          { stopReason: "refusal", _meta: { kept: true } },
        ],
        what,
      );
    case "session/set_config_option":
      return pick([{ configOptions: [] }, config[4]], what);
    default:
      return {};
  }
}

/** Answers no schema allows, and errors of every sort. */
export const oddAnswers: readonly JsonObject[] = [
  { error: { code: -32603, message: "session is busy with another prompt" } },
  { error: { code: -32602, message: "session not found" } },
  { error: { code: -32000, message: "log in first" } },
  { error: { code: -32601, message: "no such method" } },
  { error: { code: 400, message: "bad\nrequest", data: ["x"] } },
  { error: "a text" },
  { error: null },
  { error: { code: 1.5 } },
  { result: null },
  { result: "a text" },
  { result: [] },
  { result: { stopReason: "exploded" } },
  { result: { stopReason: null, usage: "none" } },
  { result: { sessionId: "" } },
  { result: { sessions: "none", configOptions: {}, modes: [], availableCommands: 1 } },
];

/**
 * A v1 update of any kind. `n` marks it: in `_meta`, in a field no version knows, and in the text of a message.
 */
export function agentUpdate(what: number, n: number): JsonObject {
  const marks = { _meta: { n }, unknownField: n };
  const text = { type: "text", text: `<${n}>` };
  const toolCallId = `tool${what % 3}`;
  const messageId = `given${what % 2}`;
  const updates: JsonObject[] = [
    { sessionUpdate: "agent_message_chunk", content: text },
    { sessionUpdate: "agent_message_chunk", content: text, messageId },
    { sessionUpdate: "agent_message_chunk", content: { type: "image", data: "AA==", mimeType: "image/png" } },
    { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "" } },
    { sessionUpdate: "agent_thought_chunk", content: text },
    { sessionUpdate: "agent_thought_chunk", content: text, messageId },
    { sessionUpdate: "user_message_chunk", content: text },
    { sessionUpdate: "user_message_chunk", content: { type: "text", text: "hel" } },
    { sessionUpdate: "tool_call", toolCallId, title: "Read", kind: "read", status: "pending" },
    { sessionUpdate: "tool_call", toolCallId, title: "Run", status: "in_progress", rawInput: { a: 1 } },
    { sessionUpdate: "tool_call_update", toolCallId, status: "completed", title: null, content: null },
    { sessionUpdate: "tool_call_update", toolCallId, status: "failed", rawOutput: "no" },
    {
      sessionUpdate: "tool_call_update",
      toolCallId,
      content: [{ type: "diff", path: "a.txt", oldText: "one\n", newText: "two\n" }],
      locations: [{ path: "a.txt", line: 1 }],
    },
    { sessionUpdate: "tool_call_update", toolCallId, content: [{ type: "terminal", terminalId: "term" }] },
    { sessionUpdate: "plan", entries: [{ content: "step", priority: "high", status: "pending" }] },
    { sessionUpdate: "available_commands_update", availableCommands: [{ name: "go", description: "", input: null }] },
    { sessionUpdate: "current_mode_update", currentModeId: "code" },
    { sessionUpdate: "config_option_update", configOptions: config[4]?.configOptions },
    { sessionUpdate: "session_info_update", title: "A title" },
    { sessionUpdate: "usage_update", used: 1, size: 2 },
    { sessionUpdate: "notice", severity: "info", title: "Note" },
    { sessionUpdate: "something_new", detail: 1 },
    { sessionUpdate: "_vendor", detail: 1 },
  ];
  return { ...pick(updates, what), ...marks };
}

/** A v1 request of the agent's to its client. */
export function agentRequest(what: number, sessionId: string): { method: string; params: unknown } {
  const options = [
    { optionId: "yes", name: "Yes", kind: "allow_once" },
    { optionId: "no", name: "No", kind: "reject_once" },
  ];
  const toolCall = { toolCallId: `tool${what % 3}`, title: "Write" };
  return pick(
    [
      { method: "session/request_permission", params: { sessionId, toolCall, options } },
      { method: "session/request_permission", params: { sessionId, toolCall: { toolCallId: "tool0" }, options } },
      { method: "session/request_permission", params: { sessionId, toolCall, options: [] } },
      { method: "fs/read_text_file", params: { sessionId, path: "/work/a" } },
      { method: "terminal/create", params: { sessionId, command: "ls" } },
      {
        method: "elicitation/create",
        params: {
          sessionId,
          mode: "form",
          message: "Which?",
          requestedSchema: { type: "object", properties: { a: { type: "string" } } },
        },
      },
      { method: "_vendor/ask", params: { sessionId } },
      { method: "vendor/ask", params: [1] },
      { method: "session/update", params: { sessionId } },
    ],
    what,
  );
}

/** What a client may answer to a request: the approvals first, then everything that is none. */
export const clientAnswers: readonly JsonObject[] = [
  { result: { outcome: { outcome: "selected", optionId: "yes" } } },
  { result: { outcome: { outcome: "selected", optionId: "no" }, _meta: { kept: true } } },
  { result: { outcome: { outcome: "cancelled" } } },
  { result: { outcome: { outcome: "selected", optionId: "maybe" } } },
  { result: { outcome: { outcome: "approved", optionId: "yes" } } },
  { result: { outcome: "selected" } },
  { result: { action: "accept", content: { a: "b" } } },
  { result: { action: "decline" } },
  { result: "yes" },
  { result: null },
  { error: { code: -32800, message: "cancelled" } },
  { error: "no" },
];

/** Things on a line that are JSON and no JSON-RPC request, notification or response. */
export const junk: readonly unknown[] = [
  null,
  1,
  "text",
  [],
  [{ jsonrpc: "2.0", id: 1, method: "x" }],
  {},
  { jsonrpc: "1.0", id: 1, method: "session/list" },
  { jsonrpc: "2.0" },
  { jsonrpc: "2.0", id: 1 },
  { jsonrpc: "2.0", id: null, method: "session/list" },
  { jsonrpc: "2.0", id: 1.5, method: "session/list" },
  { jsonrpc: "2.0", id: {}, method: "session/list", params: {} },
];

/** One way to spoil a frame: something in it deleted, replaced by another value, or added. */
export interface Mutation {
  change: "delete" | "replace" | "add";
  at: number;
  value: unknown;
}

export const mutations: fc.Arbitrary<Mutation[]> = fc.array(
  fc.record({
    change: fc.constantFrom("delete" as const, "replace" as const, "add" as const),
    at: fc.nat(200),
    value: fc.constantFrom(null, "", "x", "_x", 0, -1, 1.5, true, [], {}, [null], { type: "x" }, ["x"], "toString"),
  }),
  { minLength: 1, maxLength: 3 },
);

/** The frame with the mutations made, `jsonrpc` excepted. */
export function mutate(frame: JsonObject, changes: readonly Mutation[]): JsonObject {
  const copy = structuredClone(frame);
  for (const { change, at, value } of changes) {
    const places = placesIn(copy).filter(([holder, key]) => !(holder === copy && key === "jsonrpc"));
    if (places.length === 0) break;
    const [holder, key] = pick(places, at);
    if (change === "add" && !Array.isArray(holder)) (holder as JsonObject)["addedField"] = structuredClone(value);
    else if (change === "delete" && !Array.isArray(holder)) delete (holder as JsonObject)[key];
    else (holder as JsonObject)[key] = structuredClone(value);
  }
  return copy;
}

/** Every field and item inside a value, as its holder and key. */
function placesIn(value: unknown): [object, string][] {
  if (!isObject(value) && !Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) => [[value, key] as [object, string], ...placesIn(inner)]);
}
