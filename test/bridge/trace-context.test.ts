// Guards I2 (docs/mapping.md §0) for W3C trace context (schema, `_meta`: `traceparent`, `tracestate`, `baggage`): it passes
// through untouched in both directions, with every method that has `_meta`, in calls and in answers, in both pairings. A
// method that is new in a schema makes the last tests fail until it is here.
import { createRequire } from "node:module";
import { describe, expect, test } from "vitest";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import {
  agentHello,
  agentHelloV2,
  clientHello,
  clientHelloV1,
  createDialogue,
  type Dialogue,
  notify,
  type Outcome,
  openDialogue,
  openDowngrade,
  pairedDialogue,
  reply,
  request,
  runningDialogue,
  startPrompt,
  text,
  update,
} from "../support/dialogue.ts";
import type { Version } from "../support/schema.ts";

/** What a call bears, and what its answer bears: each other than the other, so that none stands in for the other. */
const CALL = {
  traceparent: "00-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01",
  tracestate: "vendor=a:1,other=b",
  baggage: "userId=alice,serverNode=DF%2028",
  "acme.dev/more": { nested: [1] },
};
const ANSWER = { ...CALL, traceparent: "00-80e1afed08e019fc1110464cfa66635c-00f067aa0ba902b7-00", tracestate: "z=9" };

/** A call, and what its answer is. `result` undefined: a notification. */
interface Call {
  method: string;
  params?: JsonObject;
  result?: JsonObject;
  /** The dialogue it is made in; an open session by default. */
  dialogue?(): Dialogue;
  /** The same of the answer's `_meta` where it does not come in a result. */
  answerIn?: "update";
}

const MODE = { category: "mode", name: "Mode", type: "select", currentValue: "a" };
const CHOICES = {
  options: [
    { value: "a", name: "A" },
    { value: "b", name: "B" },
  ],
};
const V1_OPTIONS = [{ id: "m", ...MODE, ...CHOICES }];
const V2_OPTIONS = [{ configId: "m", ...MODE, ...CHOICES }];
const CONFIG = { sessionId: "s1", configId: "m", value: "b" };
const PERMISSION = { sessionId: "s1", options: [{ optionId: "y", name: "Yes", kind: "allow_once" }] };
const ELICITATION = {
  sessionId: "s1",
  mode: "form",
  message: "?",
  requestedSchema: { type: "object", properties: {} },
};
const SESSIONS = { sessions: [{ sessionId: "s9", cwd: "/work" }] };
const LOGIN = { authMethods: [{ id: "key", name: "Key" }] };
const YES = { outcome: { outcome: "selected", optionId: "y" } };

const withOptions = () => {
  const dialogue = pairedDialogue();
  const { toAgent } = dialogue.client(request("new", "session/new", { cwd: "/work" }));
  dialogue.agent(reply(toAgent[0]?.["id"], { sessionId: "s1", configOptions: V1_OPTIONS }));
  return dialogue;
};
const canElicit = (): Dialogue => {
  const dialogue = createDialogue();
  const hello = { ...clientHello, capabilities: { elicitation: { form: {}, url: {} } } };
  dialogue.agent(reply(dialogue.client(request("init", "initialize", hello)).toAgent[0]?.["id"], agentHello));
  dialogue.agent(
    reply(dialogue.client(request("new", "session/new", { cwd: "/work" })).toAgent[0]?.["id"], { sessionId: "s1" }),
  );
  return dialogue;
};
const running = () => runningDialogue();

const upgrade = {
  client: [
    { method: "initialize", params: clientHello, result: agentHello, dialogue: () => createDialogue() },
    {
      method: "auth/login",
      params: { methodId: "key" },
      result: {},
      dialogue: () => pairedDialogue({}, { ...agentHello, ...LOGIN }),
    },
    { method: "auth/logout", result: {} },
    { method: "session/new", params: { cwd: "/work" }, result: { sessionId: "s2" } },
    { method: "session/list", result: SESSIONS },
    { method: "session/resume", params: { sessionId: "s9", cwd: "/work" }, result: {} },
    { method: "session/close", params: { sessionId: "s1" }, result: {} },
    { method: "session/delete", params: { sessionId: "s1" }, result: {} },
    {
      method: "session/set_config_option",
      params: { ...CONFIG, type: "id" },
      result: { configOptions: V1_OPTIONS },
      dialogue: withOptions,
    },
    {
      method: "session/prompt",
      params: { sessionId: "s1", prompt: [text("go")] },
      result: { stopReason: "end_turn" },
      answerIn: "update",
    },
    { method: "session/cancel", params: { sessionId: "s1" }, dialogue: running },
  ],
  agent: [
    {
      method: "session/request_permission",
      params: { ...PERMISSION, toolCall: { toolCallId: "t", title: "Do" } },
      result: YES,
      dialogue: running,
    },
    { method: "elicitation/create", params: ELICITATION, result: { action: "decline" }, dialogue: canElicit },
    { method: "elicitation/complete", params: { elicitationId: "e" }, dialogue: canElicit },
    { method: "session/update", params: { sessionId: "s1", update: {} }, dialogue: running },
  ],
} satisfies Record<string, Call[]>;

const openV1 = () => openDowngrade();
const runningV1 = () => {
  const dialogue = openDowngrade();
  const id = startPrompt(dialogue, "p");
  dialogue.agent(reply(id, { messageId: "m1" }));
  dialogue.agent(update("s1", { sessionUpdate: "state_update", state: "running" }));
  return dialogue;
};

const downgrade = {
  client: [
    {
      method: "initialize",
      params: clientHelloV1,
      result: agentHelloV2,
      dialogue: () => createDialogue({ agentProtocol: "2" }),
    },
    { method: "authenticate", params: { methodId: "key" }, result: {} },
    { method: "logout", result: {} },
    { method: "session/new", params: { cwd: "/work", mcpServers: [] }, result: { sessionId: "s2" } },
    { method: "session/load", params: { sessionId: "s9", cwd: "/work", mcpServers: [] }, result: {} },
    { method: "session/resume", params: { sessionId: "s9", cwd: "/work" }, result: {} },
    { method: "session/list", result: SESSIONS },
    { method: "session/close", params: { sessionId: "s1" }, result: {} },
    { method: "session/delete", params: { sessionId: "s1" }, result: {} },
    {
      method: "session/set_mode",
      params: { sessionId: "s1", modeId: "b" },
      result: { configOptions: V2_OPTIONS },
      dialogue: () => openDowngrade({}, {}, { configOptions: V2_OPTIONS }),
    },
    {
      method: "session/set_config_option",
      params: CONFIG,
      result: { configOptions: V2_OPTIONS },
      dialogue: () => openDowngrade({}, {}, { configOptions: V2_OPTIONS }),
    },
    { method: "session/cancel", params: { sessionId: "s1" }, dialogue: runningV1 },
    { method: "session/prompt", params: { sessionId: "s1", prompt: [text("go")] }, result: { messageId: "m1" } },
  ],
  agent: [
    {
      method: "session/request_permission",
      params: { ...PERMISSION, title: "Do?" },
      result: YES,
      dialogue: runningV1,
    },
    {
      method: "elicitation/create",
      params: ELICITATION,
      result: { action: "decline" },
      dialogue: () => openDowngrade({ elicitation: { form: {}, url: {} } }),
    },
    {
      method: "elicitation/complete",
      params: { elicitationId: "e" },
      dialogue: () => openDowngrade({ elicitation: { form: {}, url: {} } }),
    },
    { method: "session/update", params: { sessionId: "s1", update: {} }, dialogue: runningV1 },
  ],
} satisfies Record<string, Call[]>;

const pairings = [
  { name: "a v2 client over a v1 agent", calls: upgrade, open: () => openDialogue(), client: "v2", agent: "v1" },
  { name: "a v1 client over a v2 agent", calls: downgrade, open: openV1, client: "v1", agent: "v2" },
] as const;

describe.each(pairings)("$name", ({ calls, open, client, agent }) => {
  describe.each(["client", "agent"] as const)("called by the %s", (caller) => {
    const callee = caller === "client" ? "toAgent" : "toClient";
    const back = caller === "client" ? "toClient" : "toAgent";
    const say = (dialogue: Dialogue, side: "client" | "agent", frame: unknown) => dialogue[side](frame);
    const other = caller === "client" ? "agent" : "client";

    test.each<Call>(calls[caller].filter(({ method }) => method !== "session/update"))("$method", (call) => {
      const dialogue = call.dialogue?.() ?? open();
      const params = { ...call.params, _meta: CALL };
      const frame = call.result === undefined ? notify(call.method, params) : request("c", call.method, params);
      const passedOn = all(dialogue, say(dialogue, caller, frame))[callee].filter((frame) => "method" in frame);
      const bearers = passedOn.filter((frame) => bears(asObject(frame["params"]), CALL));
      expect(bearers, JSON.stringify(passedOn)).toHaveLength(1);
      if (call.result === undefined) return;
      const answered = say(dialogue, other, reply(bearers[0]?.["id"], { ...call.result, _meta: ANSWER }));
      let answers = all(dialogue, answered)[back];
      if (call.method === "session/prompt" && client === "v1") {
        // v1 answers a prompt when v2 tells that the work has ended.
        for (const fields of [{ state: "running" }, { state: "idle", stopReason: "end_turn", _meta: ANSWER }])
          answers = dialogue.agent(update("s1", { sessionUpdate: "state_update", ...fields })).toClient;
      }
      const bearing = answers.filter((frame) =>
        bears(asObject(call.answerIn === "update" ? asObject(frame["params"])["update"] : frame["result"]), ANSWER),
      );
      expect(bearing, JSON.stringify(answers)).toHaveLength(1);
    });
  });

  test("every method of the schemas that passes through is here", () => {
    expect(calls.client.map(({ method }) => method).sort()).toEqual(methodsOf(client, "agent"));
    expect(calls.agent.map(({ method }) => method).sort()).toEqual(methodsOf(agent, "client"));
  });
});

/** For each kind of update what it needs to be valid. */
const CHUNK = { content: text("words"), messageId: "m9" };
const UPDATES: Record<Version, Record<string, JsonObject>> = {
  v1: {
    user_message_chunk: { content: text("words") },
    agent_message_chunk: { content: text("words") },
    agent_thought_chunk: { content: text("words") },
    tool_call: { toolCallId: "t", title: "Do" },
    tool_call_update: { toolCallId: "t", status: "completed" },
    plan: { entries: [] },
    available_commands_update: { availableCommands: [] },
    current_mode_update: { currentModeId: "b" },
    config_option_update: { configOptions: V1_OPTIONS },
    session_info_update: { title: "Words" },
    usage_update: { used: 1, size: 2 },
    notice: { severity: "info", title: "Words" },
    compaction_update: { compactionId: "c", status: "in_progress" },
    compaction_summary_chunk: { compactionId: "c", content: text("words") },
  },
  v2: {
    user_message_chunk: CHUNK,
    user_message: { messageId: "m9", content: [text("words")] },
    agent_message_chunk: CHUNK,
    agent_message: { messageId: "m9", content: [text("words")] },
    agent_thought_chunk: CHUNK,
    agent_thought: { messageId: "m9", content: [text("words")] },
    tool_call_update: { toolCallId: "t", title: "Do" },
    tool_call_content_chunk: { toolCallId: "t", content: { type: "content", content: text("words") } },
    plan_update: { plan: { type: "items", planId: "p", entries: [] } },
    available_commands_update: { availableCommands: [] },
    config_option_update: { configOptions: V2_OPTIONS },
    session_info_update: { title: "Words" },
    usage_update: { used: 1, size: 2 },
    notice: { severity: "info", title: "Words" },
    compaction_update: { compactionId: "c", status: "in_progress" },
    compaction_summary_chunk: { compactionId: "c", content: text("words") },
  },
};

/** Kinds of version 2 that v1 shows in other updates, or in the answer to the prompt. */
const SHOWN_ELSEWHERE = /^(?:state_update|terminal_)/;

describe.each([
  { name: "a v1 agent's", version: "v1", open: () => withModes() },
  { name: "a v2 agent's", version: "v2", open: () => showsAll() },
] as const)("$name session/update", ({ version, open }) => {
  test.each(Object.entries(UPDATES[version]))("%s", (sessionUpdate, fields) => {
    const dialogue = open();
    const params = { sessionId: "s1", _meta: CALL, update: { sessionUpdate, ...fields, _meta: ANSWER } };
    const { toClient } = all(dialogue, dialogue.agent(notify("session/update", params)));
    const told = toClient.map((frame) => asObject(frame["params"]));
    expect(
      told.some((params) => bears(params, CALL)),
      JSON.stringify(told),
    ).toBe(true);
    expect(
      told.some((params) => bears(asObject(params["update"]), ANSWER)),
      JSON.stringify(told),
    ).toBe(true);
  });

  test("every kind of the schema is here", () => {
    const { $defs } = createRequire(import.meta.url)(`@agentclientprotocol/sdk/schema/${version}/schema.json`);
    const { anyOf, oneOf = anyOf } = $defs.SessionUpdate;
    const kinds: string[] = oneOf.flatMap((variant: JsonObject) => {
      const { const: kind } = asObject(asObject(variant["properties"])["sessionUpdate"]);
      return typeof kind === "string" && !SHOWN_ELSEWHERE.test(kind) ? [kind] : [];
    });
    expect(Object.keys(UPDATES[version]).sort()).toEqual(kinds.sort());
  });
});

/** A prompt runs in a session with modes. */
function withModes(): Dialogue {
  const modes = {
    currentModeId: "a",
    availableModes: [
      { id: "a", name: "A" },
      { id: "b", name: "B" },
    ],
  };
  const dialogue = pairedDialogue();
  const { toAgent } = dialogue.client(request("new", "session/new", { cwd: "/work" }));
  dialogue.agent(reply(toAgent[0]?.["id"], { sessionId: "s1", modes }));
  startPrompt(dialogue, "p");
  dialogue.wait(50);
  return dialogue;
}

/** A prompt runs for a v1 client that shows all that can be shown. */
function showsAll(): Dialogue {
  const session = { configOptions: { boolean: {} }, notices: {}, compaction: {} };
  const dialogue = openDowngrade({ session }, {}, { configOptions: V2_OPTIONS });
  dialogue.agent(reply(startPrompt(dialogue, "p"), { messageId: "m1" }));
  dialogue.agent(update("s1", { sessionUpdate: "state_update", state: "running" }));
  return dialogue;
}

/** Methods of one version without a counterpart in the other: the bridge answers them itself, or they are refused. */
const ANSWERED_HERE = /^(?:fs|terminal|tool_call)\//;

function methodsOf(version: Version, side: "client" | "agent"): string[] {
  const { $defs } = createRequire(import.meta.url)(`@agentclientprotocol/sdk/schema/${version}/schema.json`);
  const methods = Object.values($defs as Record<string, JsonObject>)
    .filter((definition) => definition["x-side"] === side && asObject(definition["properties"])["_meta"] !== undefined)
    .map((definition) => String(definition["x-method"]));
  return [...new Set(methods)].filter((method) => !ANSWERED_HERE.test(method)).sort();
}

/** What came of it at once, and once everything that was waited for had passed. */
function all(dialogue: Dialogue, outcome: Outcome): Outcome {
  const later = dialogue.wait(1000);
  return {
    ...outcome,
    toClient: [...outcome.toClient, ...later.toClient],
    toAgent: [...outcome.toAgent, ...later.toAgent],
  };
}

/** True when the object's `_meta` holds all of the context, untouched. The bridge may have keys of its own beside it. */
function bears({ _meta }: JsonObject, context: JsonObject): boolean {
  return Object.entries(context).every(
    ([key, value]) => JSON.stringify(asObject(_meta)[key]) === JSON.stringify(value),
  );
}
