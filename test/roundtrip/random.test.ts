// Guards docs/mapping.md §13 by a model: whatever a v2 agent says of what v1 can show, in whatever order, a v1 client
// that knows the display-terminal extension has the same view of it as a v2 client; so has a v2 client behind two
// bridges, and, of what a v1 agent says, a v1 client behind two bridges.
import fc from "fast-check";
import { expect, test } from "vitest";
import { asArray, asObject, type JsonObject, without } from "../../src/protocol/json.ts";
import { notify, reply, request, text } from "../support/dialogue.ts";
import type { TraceLine } from "../traces/replay.ts";
import { asV1 } from "./as-v1.ts";
import { v1OverV2, v1OverV2OverV1, v2OverV1OverV2 } from "./channel.ts";
import { play, recorded } from "./play.ts";
import { type View, viewsV1, viewsV2 } from "./views.ts";

const runs = Number(process.env["ACP_SHIFT_PROPERTY_RUNS"] ?? 60);

const KINDS = ["read", "edit", "execute", "other"];
const STATUSES = ["pending", "in_progress", "completed", "failed"];
const words = fc.constantFrom("a", "b ", "é漢😀", "\n", "ab");
const ids = fc.constantFrom("1", "2", "3");
const block = words.map(text);
const item = block.map((content) => ({ type: "content", content }));
const option = fc.constantFrom("ask", "code").map((currentValue) => ({
  type: "select",
  name: "Mode",
  category: "mode",
  currentValue,
  options: [
    { value: "ask", name: "Ask" },
    { value: "code", name: "Code" },
  ],
}));
const entry = fc.record({
  content: words,
  priority: fc.constantFrom("high", "medium", "low"),
  // A plan that is done is forgotten with its turn.
  status: fc.constantFrom("pending", "in_progress"),
});

/** What an agent of either version says of a tool call. */
const toolCall = fc
  .record(
    {
      toolCallId: ids.map((id) => `t${id}`),
      title: words.map((word) => `Do ${word}`),
      kind: fc.constantFrom(...KINDS),
      status: fc.constantFrom(...STATUSES),
      content: fc.array(item, { maxLength: 2 }),
      locations: fc.array(fc.record({ path: fc.constant("/work/a"), line: fc.integer({ min: 1, max: 9 }) }), {
        maxLength: 2,
      }),
      rawInput: fc.record({ path: words }),
      rawOutput: words,
      _meta: fc.record({ m: words }),
    },
    { requiredKeys: ["toolCallId", "title"] },
  )
  .map((fields): JsonObject => fields);

/** A step of a v2 agent; `grow` adds to a message by sending all of it. */
const stepV2: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.record({
    sessionUpdate: fc.constantFrom("agent_message_chunk", "agent_thought_chunk", "user_message_chunk"),
    messageId: ids,
    content: block,
  }),
  fc.record({ grow: fc.constantFrom("agent_message", "agent_thought"), messageId: ids, content: block }),
  toolCall.map((fields) => ({ sessionUpdate: "tool_call_update", ...fields })),
  fc.record({
    sessionUpdate: fc.constant("tool_call_content_chunk"),
    toolCallId: fc.constant("t1"),
    content: item,
  }),
  fc.record({ terminal: fc.constantFrom("show", "write", "replace", "exit"), id: ids, output: words, cut: fc.nat(3) }),
  fc.record({ planId: ids, entries: fc.array(entry, { minLength: 1, maxLength: 2 }) }).map((plan) => ({
    sessionUpdate: "plan_update",
    plan: { type: "items", ...plan },
  })),
  option.map((mode) => ({ sessionUpdate: "config_option_update", configOptions: [{ configId: "mode", ...mode }] })),
  fc.record({ sessionUpdate: fc.constant("usage_update"), used: fc.nat(9), size: fc.constant(9) }),
  fc.record({ sessionUpdate: fc.constant("session_info_update"), title: words }),
  fc.record({ sessionUpdate: fc.constant("notice"), severity: fc.constant("info"), title: fc.constant("N") }),
);

/** A step of a v1 agent. */
const stepV1: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.record(
    {
      sessionUpdate: fc.constantFrom("agent_message_chunk", "agent_thought_chunk"),
      content: block,
      messageId: ids,
    },
    { requiredKeys: ["sessionUpdate", "content"] },
  ),
  toolCall.map((fields) => ({ sessionUpdate: "tool_call_update", ...fields })),
  fc.record({ sessionUpdate: fc.constant("plan"), entries: fc.array(entry, { maxLength: 3 }) }),
  option.map((mode) => ({ sessionUpdate: "config_option_update", configOptions: [{ id: "mode", ...mode }] })),
  fc.record({ sessionUpdate: fc.constant("usage_update"), used: fc.nat(9), size: fc.constant(9) }),
  fc.record({ sessionUpdate: fc.constant("session_info_update"), title: words }),
);

/** The frames of a v2 agent's steps, with what a step needs to know of those before it. */
function updatesV2(steps: readonly JsonObject[]): JsonObject[] {
  const messages = new Map<string, unknown[]>();
  const terminals = new Map<string, Buffer>();
  const begun = new Set<unknown>();
  const ended = new Set<unknown>();
  return steps.flatMap((step): JsonObject[] => {
    const { sessionUpdate, grow, messageId, content, terminal, id } = step;
    const kind = String(grow ?? sessionUpdate).replace("_chunk", "");
    if (messageId !== undefined) {
      // Ids are unique in a session, whatever the kind of message.
      const key = `${kind} ${messageId}`;
      const whole = [...(messages.get(key) ?? []), content];
      messages.set(key, whole);
      return [
        grow === undefined
          ? { ...step, messageId: key }
          : {
              sessionUpdate: grow,
              messageId: key,
              content: [text(whole.map((one) => asObject(one)["text"]).join(""))],
            },
      ];
    }
    // What a tool call holds is forgotten with the turn in which it ended, so nothing is added to it from then on.
    const { toolCallId, status } = step;
    if (sessionUpdate === "tool_call_update") begun.add(toolCallId);
    if (status === "completed" || status === "failed") ended.add(toolCallId);
    if (sessionUpdate === "tool_call_content_chunk" && (!begun.has(toolCallId) || ended.has(toolCallId))) return [];
    return terminal === undefined ? [step] : terminalStep(terminals, String(id), step);
  });
}

function terminalStep(terminals: Map<string, Buffer>, id: string, step: JsonObject): JsonObject[] {
  const terminalId = `x${id}`;
  const known = terminals.get(terminalId);
  if (known === undefined) {
    terminals.set(terminalId, Buffer.alloc(0));
    const content = [{ type: "terminal", terminalId }];
    return [
      { sessionUpdate: "terminal_update", terminalId, command: "ls", cwd: "/work" },
      { sessionUpdate: "tool_call_update", toolCallId: `run${id}`, title: "ls", kind: "execute", content },
    ];
  }
  const bytes = Buffer.from(String(step["output"]));
  const after = Buffer.concat([known, bytes]);
  switch (step["terminal"]) {
    case "write": {
      terminals.set(terminalId, after);
      const cut = Number(step["cut"]);
      return [bytes.subarray(0, cut), bytes.subarray(cut)].map((piece) => ({
        sessionUpdate: "terminal_output_chunk",
        terminalId,
        data: piece.toString("base64"),
      }));
    }
    case "replace":
      // What was written and more: of anything else a v1 client cannot unsee what it has seen.
      terminals.set(terminalId, after);
      return [{ sessionUpdate: "terminal_update", terminalId, output: { data: after.toString("base64") } }];
    case "exit":
      return [{ sessionUpdate: "terminal_update", terminalId, exitStatus: { exitCode: 0 } }];
    default:
      return [];
  }
}

/** The frames of a v1 agent's steps: the first that names a tool call is `tool_call`. */
function updatesV1(steps: readonly JsonObject[], announced: Set<unknown>): JsonObject[] {
  return steps.map((step) => {
    const { toolCallId } = step;
    if (toolCallId === undefined || announced.has(toolCallId)) return step;
    announced.add(toolCallId);
    return { ...step, sessionUpdate: "tool_call" };
  });
}

const hello = { name: "peer", version: "1" };

function lines(frames: readonly (readonly ["c2a" | "a2c", JsonObject])[]): TraceLine[] {
  return frames.map(([dir, frame], index) => ({ t: index * 10, dir, frame }));
}

const told = (update: JsonObject) => ["a2c", notify("session/update", { sessionId: "s", update })] as const;

function conversationV2(turns: readonly (readonly JsonObject[])[]): TraceLine[] {
  const all = turns.map((turn) => turn.length);
  const updates = updatesV2(turns.flat());
  const state = (fields: JsonObject) => told({ sessionUpdate: "state_update", ...fields });
  return lines([
    ["c2a", request(1, "initialize", { protocolVersion: 2, info: hello, capabilities: {} })],
    ["a2c", reply(1, { protocolVersion: 2, info: hello, capabilities: { session: {} } })],
    ["c2a", request(2, "session/new", { cwd: "/work", mcpServers: [] })],
    ["a2c", reply(2, { sessionId: "s" })],
    ...all.flatMap((_, index) => {
      const id = 10 + index;
      const prompt = [text(`prompt ${id}`)];
      const from = Math.floor((updates.length * index) / all.length);
      const to = Math.floor((updates.length * (index + 1)) / all.length);
      return [
        ["c2a", request(id, "session/prompt", { sessionId: "s", prompt })] as const,
        ["a2c", reply(id, { messageId: `p${id}` })] as const,
        told({ sessionUpdate: "user_message", messageId: `p${id}`, content: prompt }),
        state({ state: "running" }),
        ...updates.slice(from, to).map(told),
        state({ state: "idle", stopReason: "end_turn" }),
      ];
    }),
  ]);
}

function conversationV1(turns: readonly (readonly JsonObject[])[]): TraceLine[] {
  const announced = new Set();
  return lines([
    ["c2a", request(1, "initialize", { protocolVersion: 1, clientInfo: hello, clientCapabilities: {} })],
    ["a2c", reply(1, { protocolVersion: 1, agentInfo: hello, agentCapabilities: {} })],
    ["c2a", request(2, "session/new", { cwd: "/work", mcpServers: [] })],
    ["a2c", reply(2, { sessionId: "s" })],
    ...turns.flatMap((updates, index) => [
      [
        "c2a",
        request(10 + index, "session/prompt", { sessionId: "s", prompt: [text(`prompt ${10 + index}`)] }),
      ] as const,
      ...updatesV1(updates, announced).map(told),
      ["a2c", reply(10 + index, { stopReason: "end_turn" })] as const,
    ]),
  ]);
}

const turns = (step: fc.Arbitrary<JsonObject>) =>
  fc.array(fc.array(step, { maxLength: 25, size: "max" }), { minLength: 1, maxLength: 3 });

/** The view without the client's own prompts, which a v1 client does not get from the agent. */
function seen(views: Record<string, View>): View | undefined {
  const view = views["s"];
  if (view === undefined) return undefined;
  const isPrompt = ({ kind, content }: View["messages"][number]) =>
    kind === "user_message" && String(asObject(asArray(content)[0])["text"]).startsWith("prompt ");
  let nth = 0;
  const own = view.messages.map(isPrompt);
  const timeline = view.timeline.filter((one) => one.startsWith("tool ") || !own[nth++]);
  return { ...view, timeline, messages: view.messages.filter((one) => !isPrompt(one)) };
}

test("a v1 client sees of a v2 agent what a v2 client sees", () => {
  fc.assert(
    fc.property(turns(stepV2), (said) => {
      const conversation = conversationV2(said);
      expect(seen(viewsV1(play(conversation, v1OverV2, asV1)))).toEqual(seen(viewsV2(recorded(conversation))));
    }),
    { numRuns: runs },
  );
});

test("a v2 client sees of a v2 agent, in version 1 on the way, what it sees without", () => {
  fc.assert(
    fc.property(turns(stepV2), (said) => {
      const conversation = conversationV2(said);
      expect(viewsV2(play(conversation, v2OverV1OverV2))).toEqual(viewsV2(recorded(conversation)));
    }),
    { numRuns: runs },
  );
});

test("a v1 client sees of a v1 agent, in version 2 on the way, what it sees without", () => {
  fc.assert(
    fc.property(turns(stepV1), (said) => {
      const conversation = conversationV1(said);
      expect(viewsV1(play(conversation, v1OverV2OverV1, showsEverything))).toEqual(viewsV1(recorded(conversation)));
    }),
    { numRuns: runs },
  );
});

function showsEverything(frame: JsonObject): JsonObject {
  return frame["method"] === "initialize" ? asV1(without(frame, "params")) : frame;
}
