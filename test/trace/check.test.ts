// Guards `acp-shift trace check` (docs/trace.md): each rule fires on a trace that breaks it and nothing else, and none on
// real traffic, but for what real agents break indeed.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { loadSchema } from "../../src/commands/schemas.ts";
import type { JsonObject } from "../../src/protocol/json.ts";
import { allRules, createChecker } from "../../src/trace/check/check.ts";
import type { TraceRecord } from "../../src/trace/format.ts";
import {
  createRecorder,
  passedThroughRuns,
  type Recorder,
  recordedNames,
  translatedRuns,
} from "../support/recorded.ts";
import { BROKEN } from "./broken.ts";

const schemasOf = (version: 1 | 2) => ({
  stable: loadSchema(`v${version}/schema.json`),
  unstable: loadSchema(`v${version}/schema.unstable.json`),
});

function check(records: readonly TraceRecord[]) {
  const checker = createChecker(schemasOf);
  for (const record of records) checker.take(record);
  return checker.result();
}

/** A conversation on one side of the bridge: the client speaks to the bridge, or the bridge to the agent. */
interface Talk {
  recorder: Recorder;
  client(frame: unknown): number;
  agent(frame: unknown): number;
  /** The client's request and the agent's answer. */
  ask(method: string, params: JsonObject, result: JsonObject): void;
  /** The client's request, left open; its id. */
  request(method: string, params: JsonObject): number;
  answer(id: number, result: JsonObject): void;
  fail(id: number, code: number): void;
  notify(method: string, params: JsonObject): void;
  update(update: JsonObject, sessionId?: string): void;
  /** The agent's request; its id. */
  requestOfAgent(method: string, params: JsonObject): number;
  answerOfClient(id: number, result: JsonObject): void;
}

function talkOn(side: "client" | "agent"): Talk {
  const recorder = createRecorder();
  let id = 0;
  const rpc = (frame: JsonObject) => ({ jsonrpc: "2.0", ...frame });
  const client = (frame: unknown) => recorder.frame(side === "client" ? "client-bridge" : "bridge-agent", frame);
  const agent = (frame: unknown) => recorder.frame(side === "client" ? "bridge-client" : "agent-bridge", frame);
  const talk: Talk = {
    recorder,
    client,
    agent,
    ask(method, params, result) {
      talk.answer(talk.request(method, params), result);
    },
    request(method, params) {
      client(rpc({ id: ++id, method, params }));
      return id;
    },
    answer: (asked, result) => void agent(rpc({ id: asked, result })),
    fail: (asked, code) => void agent(rpc({ id: asked, error: { code, message: "no" } })),
    notify: (method, params) => void client(rpc({ method, params })),
    update: (update, sessionId = "s1") => void agent(rpc({ method: "session/update", params: { sessionId, update } })),
    requestOfAgent(method, params) {
      agent(rpc({ id: ++id, method, params }));
      return id;
    },
    answerOfClient: (asked, result) => void client(rpc({ id: asked, result })),
  };
  return talk;
}

const HELLO: Record<1 | 2, [JsonObject, JsonObject]> = {
  1: [
    { protocolVersion: 1, clientCapabilities: {} },
    { protocolVersion: 1, agentCapabilities: {}, agentInfo: { name: "a", version: "1" } },
  ],
  2: [
    { protocolVersion: 2, info: { name: "c", version: "1" }, capabilities: {} },
    { protocolVersion: 2, info: { name: "a", version: "1" }, capabilities: { session: {} } },
  ],
};
const OPTION = { name: "Mode", type: "select", currentValue: "a", options: [{ name: "A", value: "a" }] };
const RESULT: Record<1 | 2, JsonObject> = {
  1: {
    sessionId: "s1",
    modes: { currentModeId: "m1", availableModes: [{ id: "m1", name: "M1" }] },
    configOptions: [{ ...OPTION, id: "o1" }],
  },
  2: { sessionId: "s1", configOptions: [{ ...OPTION, configId: "o1" }] },
};

function hello(talk: Talk, version: 1 | 2, offers: { client?: JsonObject; agent?: JsonObject } = {}): void {
  const [asked, answered] = HELLO[version];
  talk.ask("initialize", { ...asked, ...offers.client }, { ...answered, ...offers.agent });
}

function open(talk: Talk, version: 1 | 2, offers: { client?: JsonObject; agent?: JsonObject } = {}): void {
  hello(talk, version, offers);
  talk.ask("session/new", { cwd: "/work", ...(version === 1 && { mcpServers: [] }) }, RESULT[version]);
}

const text = (words: string) => ({ type: "text", text: words });
const PROMPT = { sessionId: "s1", prompt: [text("hi")] };
const chunk = (messageId?: string) => ({
  sessionUpdate: "agent_message_chunk",
  content: text("x"),
  ...(messageId && { messageId }),
});
const state = (name: string, more: JsonObject = {}) => ({ sessionUpdate: "state_update", state: name, ...more });
const call = (fields: JsonObject = {}) => ({ sessionUpdate: "tool_call", toolCallId: "t1", title: "T", ...fields });
const change = (fields: JsonObject = {}) => ({ sessionUpdate: "tool_call_update", toolCallId: "t1", ...fields });
const options = (...ids: string[]) => ids.map((optionId) => ({ optionId, name: optionId, kind: "allow_once" }));
const permission = (...ids: string[]) => ({
  sessionId: "s1",
  toolCall: { toolCallId: "t1" },
  options: options(...ids),
});

/** A version 2 turn up to running; the caller ends it. */
function begin(talk: Talk, messageId = "u1"): void {
  talk.ask("session/prompt", PROMPT, { messageId });
  talk.update({ sessionUpdate: "user_message", messageId, content: [text("hi")] });
  talk.update(state("running"));
}

/** A version 1 turn. */
function inTurn(talk: Talk, said: () => void): void {
  const id = talk.request("session/prompt", PROMPT);
  said();
  talk.answer(id, { stopReason: "end_turn" });
}

interface Case {
  rule: string;
  level: "must" | "should";
  /** The side of the bridge it happens on, which is the side of who breaks the rule. */
  by: "client" | "agent";
  version: 1 | 2;
  at?: string;
  /** What is said after `initialize` and `session/new`. */
  break(talk: Talk): void;
  /** What is offered in `initialize`. */
  offers?: { client?: JsonObject; agent?: JsonObject };
  /** Said from the very beginning. */
  fromStart?: true;
  /** The run is cut off. */
  cut?: true;
}

const cases: Case[] = [
  {
    rule: "no-frame",
    level: "must",
    by: "agent",
    version: 1,
    break: ({ recorder }) => void recorder.add({ type: "bytes", leg: "agent-bridge", bytes: 5, text: "hello" }),
  },
  {
    rule: "envelope",
    level: "must",
    by: "agent",
    version: 1,
    at: "/jsonrpc",
    break: ({ agent }) => void agent({ method: "_x" }),
  },
  { rule: "envelope", level: "must", by: "agent", version: 1, at: "", break: ({ agent }) => void agent([]) },
  {
    rule: "envelope",
    level: "must",
    by: "client",
    version: 2,
    at: "",
    break: ({ client }) => void client({ jsonrpc: "2.0", id: 9 }),
  },
  {
    rule: "envelope",
    level: "must",
    by: "agent",
    version: 1,
    at: "",
    break: (talk) => {
      const id = talk.request("_x", {});
      talk.agent({ jsonrpc: "2.0", id, result: {}, error: { code: 1, message: "" } });
    },
  },
  {
    rule: "id",
    level: "must",
    by: "client",
    version: 2,
    at: "/id",
    break: (talk) => {
      talk.client({ jsonrpc: "2.0", id: null, method: "_x" });
      talk.agent({ jsonrpc: "2.0", id: null, error: { code: -32600, message: "no" } });
    },
  },
  {
    rule: "id",
    level: "must",
    by: "agent",
    version: 1,
    at: "/id",
    break: ({ agent }) => void agent({ jsonrpc: "2.0", error: { code: -32601, message: "no" } }),
  },
  {
    rule: "id-reused",
    level: "must",
    by: "client",
    version: 2,
    at: "/id",
    break: (talk) => {
      talk.client({ jsonrpc: "2.0", id: "a", method: "_x" });
      talk.client({ jsonrpc: "2.0", id: "a", method: "_x" });
      talk.agent({ jsonrpc: "2.0", id: "a", result: {} });
    },
  },
  { rule: "answer", level: "must", by: "agent", version: 1, at: "/id", break: (talk) => talk.answer(99, {}) },
  {
    rule: "answer",
    level: "must",
    by: "agent",
    version: 2,
    at: "/id",
    break: (talk) => {
      talk.ask("_x", {}, {});
      talk.fail(3, -32603);
    },
  },
  {
    rule: "method",
    level: "must",
    by: "agent",
    version: 1,
    at: "/method",
    break: ({ agent }) => void agent({ jsonrpc: "2.0", method: "vendor/thing" }),
  },
  {
    rule: "method",
    level: "must",
    by: "client",
    version: 2,
    at: "/method",
    break: (talk) => talk.fail(talk.request("session/load", PROMPT), -32601),
  },
  {
    rule: "request-or-notification",
    level: "must",
    by: "client",
    version: 2,
    at: "/id",
    break: (talk) => talk.notify("session/close", { sessionId: "s1" }),
  },
  {
    rule: "request-or-notification",
    level: "must",
    by: "client",
    version: 1,
    at: "/id",
    break: (talk) => talk.ask("session/cancel", { sessionId: "s1" }, {}),
  },
  {
    rule: "schema",
    level: "must",
    by: "agent",
    version: 1,
    at: "/params/update/content/text",
    break: (talk) => talk.update({ sessionUpdate: "user_message_chunk", content: { type: "text" } }),
  },
  {
    rule: "schema",
    level: "must",
    by: "client",
    version: 2,
    at: "/params/prompt",
    break: (talk) => talk.fail(talk.request("session/prompt", { sessionId: "s1" }), -32602),
  },
  {
    rule: "schema",
    level: "must",
    by: "agent",
    version: 2,
    at: "/error/code",
    break: (talk) => {
      const id = talk.request("_x", {});
      talk.agent({ jsonrpc: "2.0", id, error: { code: "E", message: "no" } });
    },
  },
  {
    rule: "schema",
    level: "must",
    by: "agent",
    version: 1,
    at: "/result/stopReason",
    break: (talk) => talk.ask("session/prompt", PROMPT, { stopReason: "done" }),
  },
  {
    rule: "initialize-first",
    level: "must",
    by: "client",
    version: 1,
    fromStart: true,
    break: (talk) => {
      talk.fail(talk.request("session/list", {}), -32600);
      hello(talk, 1, { agent: { agentCapabilities: { sessionCapabilities: { list: {} } } } });
    },
  },
  { rule: "initialize-once", level: "should", by: "client", version: 2, break: (talk) => hello(talk, 2) },
  {
    rule: "version",
    level: "must",
    by: "agent",
    version: 2,
    at: "/result/protocolVersion",
    fromStart: true,
    break: (talk) => hello(talk, 2, { agent: { protocolVersion: 3 } }),
  },
  {
    rule: "version-spoken",
    level: "must",
    by: "agent",
    version: 1,
    at: "/result/protocolVersion",
    fromStart: true,
    break: (talk) => talk.ask("initialize", HELLO[2][0], { ...HELLO[1][1], protocolVersion: 2 }),
  },
  {
    rule: "not-offered",
    level: "must",
    by: "client",
    version: 1,
    at: "/method",
    break: (talk) => talk.ask("session/list", {}, { sessions: [] }),
  },
  {
    rule: "not-offered",
    level: "must",
    by: "client",
    version: 2,
    at: "/method",
    break: (talk) => talk.ask("session/delete", { sessionId: "s2" }, {}),
  },
  {
    rule: "not-offered",
    level: "must",
    by: "agent",
    version: 1,
    at: "/method",
    break: (talk) =>
      talk.answerOfClient(talk.requestOfAgent("fs/read_text_file", { sessionId: "s1", path: "/a" }), { content: "" }),
  },
  {
    rule: "not-offered",
    level: "must",
    by: "agent",
    version: 1,
    at: "/params/update/sessionUpdate",
    break: (talk) => talk.update({ sessionUpdate: "notice", severity: "info", title: "n" }),
  },
  {
    rule: "not-offered",
    level: "must",
    by: "client",
    version: 1,
    at: "/params/prompt/0/type",
    break: (talk) =>
      talk.ask(
        "session/prompt",
        { sessionId: "s1", prompt: [{ type: "image", data: "", mimeType: "image/png" }] },
        { stopReason: "end_turn" },
      ),
  },
  {
    rule: "not-offered",
    level: "must",
    by: "client",
    version: 2,
    at: "/params/mcpServers/0/type",
    break: (talk) =>
      talk.ask(
        "session/new",
        { cwd: "/w", mcpServers: [{ type: "http", name: "h", url: "http://localhost" }] },
        { sessionId: "s2" },
      ),
  },
  {
    rule: "login-method",
    level: "must",
    by: "client",
    version: 2,
    at: "/params/methodId",
    break: (talk) => talk.fail(talk.request("auth/login", { methodId: "none" }), -32602),
  },
  {
    rule: "absolute-path",
    level: "must",
    by: "client",
    version: 2,
    at: "/params/cwd",
    break: (talk) => talk.fail(talk.request("session/new", { cwd: "here" }), -32602),
  },
  {
    rule: "absolute-path",
    level: "must",
    by: "agent",
    version: 1,
    at: "/params/update/content/0/path",
    break: (talk) =>
      inTurn(talk, () => {
        talk.update(call({ status: "completed", content: [{ type: "diff", path: "a.txt", newText: "" }] }));
      }),
  },
  {
    rule: "session-unknown",
    level: "must",
    by: "client",
    version: 1,
    at: "/params/sessionId",
    break: (talk) => talk.fail(talk.request("session/prompt", { ...PROMPT, sessionId: "s9" }), -32602),
  },
  {
    rule: "session-unknown",
    level: "must",
    by: "agent",
    version: 2,
    at: "/params/sessionId",
    break: (talk) => talk.update(state("idle"), "s9"),
  },
  {
    rule: "session-unknown",
    level: "should",
    by: "agent",
    version: 1,
    at: "/params/sessionId",
    break: (talk) => {
      const id = talk.request("session/new", { cwd: "/w", mcpServers: [] });
      talk.update({ sessionUpdate: "available_commands_update", availableCommands: [] }, "s2");
      talk.answer(id, { sessionId: "s2" });
    },
  },
  {
    rule: "session-closed",
    level: "must",
    by: "agent",
    version: 2,
    at: "/params/sessionId",
    break: (talk) => {
      talk.ask("session/close", { sessionId: "s1" }, {});
      talk.update(state("idle"));
    },
  },
  {
    rule: "session-id-reused",
    level: "must",
    by: "agent",
    version: 2,
    at: "/result/sessionId",
    break: (talk) => talk.ask("session/new", { cwd: "/work" }, { sessionId: "s1" }),
  },
  {
    rule: "resume-replays",
    level: "must",
    by: "agent",
    version: 2,
    at: "/params/update/sessionUpdate",
    break: (talk) => {
      const id = talk.request("session/resume", { sessionId: "s2", cwd: "/work" });
      talk.update(chunk("m1"), "s2");
      talk.update(state("idle"), "s2");
      talk.answer(id, {});
    },
  },
  {
    rule: "resume-state",
    level: "must",
    by: "agent",
    version: 2,
    break: (talk) => talk.ask("session/resume", { sessionId: "s2", cwd: "/work" }, {}),
  },
  {
    rule: "close-in-turn",
    level: "must",
    by: "agent",
    version: 2,
    break: (talk) => {
      begin(talk);
      talk.ask("session/close", { sessionId: "s1" }, {});
    },
  },
  {
    rule: "mode-unknown",
    level: "must",
    by: "client",
    version: 1,
    at: "/params/modeId",
    break: (talk) => talk.fail(talk.request("session/set_mode", { sessionId: "s1", modeId: "m9" }), -32602),
  },
  {
    rule: "mode-unknown",
    level: "must",
    by: "agent",
    version: 1,
    at: "/params/update/currentModeId",
    break: (talk) => talk.update({ sessionUpdate: "current_mode_update", currentModeId: "m9" }),
  },
  {
    rule: "option-unknown",
    level: "must",
    by: "client",
    version: 2,
    at: "/params/configId",
    break: (talk) =>
      talk.fail(
        talk.request("session/set_config_option", { sessionId: "s1", configId: "o9", type: "id", value: "a" }),
        -32602,
      ),
  },
  {
    rule: "option-unknown",
    level: "must",
    by: "client",
    version: 1,
    at: "/params/value",
    break: (talk) =>
      talk.fail(talk.request("session/set_config_option", { sessionId: "s1", configId: "o1", value: "z" }), -32602),
  },
  {
    rule: "option-value",
    level: "must",
    by: "agent",
    version: 2,
    at: "/params/update/configOptions/0/currentValue",
    break: (talk) =>
      talk.update({
        sessionUpdate: "config_option_update",
        configOptions: [{ ...OPTION, configId: "o1", currentValue: "z" }],
      }),
  },
  {
    rule: "command-name",
    level: "must",
    by: "agent",
    version: 2,
    at: "/params/update/availableCommands/0/name",
    break: (talk) =>
      talk.update({
        sessionUpdate: "available_commands_update",
        availableCommands: [{ type: "command", name: "a b", description: "" }],
      }),
  },
  { rule: "unanswered", level: "must", by: "agent", version: 1, break: (talk) => void talk.request("_x", {}) },
  { rule: "unanswered", level: "must", by: "client", version: 1, break: (talk) => void talk.requestOfAgent("_x", {}) },
  {
    rule: "unanswered",
    level: "must",
    by: "agent",
    version: 1,
    break: (talk) => {
      talk.request("_x", {});
      talk.recorder.wait(20_000);
      talk.recorder.add({ type: "event", event: "client-left", details: {} });
    },
  },
  {
    rule: "unanswered",
    level: "should",
    by: "agent",
    version: 1,
    break: (talk) => {
      talk.request("session/prompt", PROMPT);
      talk.recorder.wait(20_000);
      talk.recorder.add({ type: "event", event: "client-left", details: {} });
    },
  },
  {
    rule: "unanswered",
    level: "should",
    by: "agent",
    version: 1,
    break: (talk) => void talk.request("_x", {}),
    cut: true,
  },
  {
    rule: "prompt-in-turn",
    level: "should",
    by: "client",
    version: 1,
    break: (talk) => {
      const id = talk.request("session/prompt", PROMPT);
      talk.ask("session/prompt", PROMPT, { stopReason: "end_turn" });
      talk.answer(id, { stopReason: "end_turn" });
    },
  },
  {
    rule: "outside-turn",
    level: "should",
    by: "agent",
    version: 1,
    at: "/params/update/sessionUpdate",
    break: (talk) => talk.update(chunk()),
  },
  {
    rule: "outside-turn",
    level: "should",
    by: "agent",
    version: 2,
    at: "/params/update/sessionUpdate",
    break: (talk) => talk.update(chunk("m1")),
  },
  {
    rule: "one-idle",
    level: "must",
    by: "agent",
    version: 2,
    at: "/params/update/state",
    break: (talk) => {
      begin(talk);
      talk.update(state("idle", { stopReason: "end_turn" }));
      talk.update(state("idle", { stopReason: "refusal" }));
    },
  },
  {
    rule: "idle-without-running",
    level: "must",
    by: "agent",
    version: 2,
    at: "/params/update/state",
    break: (talk) => {
      talk.ask("session/prompt", PROMPT, { messageId: "u1" });
      talk.update({ sessionUpdate: "user_message", messageId: "u1", content: [] });
      talk.update(state("idle"));
      talk.update(state("running"));
      talk.update(state("idle"));
    },
  },
  { rule: "turn-unfinished", level: "must", by: "agent", version: 2, break: (talk) => begin(talk) },
  {
    rule: "prompt-not-run",
    level: "must",
    by: "agent",
    version: 2,
    break: (talk) => {
      talk.ask("session/prompt", PROMPT, { messageId: "u1" });
      talk.update({ sessionUpdate: "user_message", messageId: "u1", content: [] });
    },
  },
  {
    rule: "user-message",
    level: "must",
    by: "agent",
    version: 2,
    at: "/result/messageId",
    break: (talk) => {
      talk.ask("session/prompt", PROMPT, { messageId: "u1" });
      talk.update(state("running"));
      talk.update(state("idle"));
    },
  },
  {
    rule: "message-id-reused",
    level: "must",
    by: "agent",
    version: 2,
    at: "/result/messageId",
    break: (talk) => {
      begin(talk);
      talk.update(state("idle"));
      begin(talk);
      talk.update(state("idle"));
    },
  },
  {
    rule: "message-resumed",
    level: "should",
    by: "agent",
    version: 1,
    at: "/params/update/messageId",
    break: (talk) => {
      const id = talk.request("session/prompt", PROMPT);
      for (const message of ["a", "b", "a"]) talk.update(chunk(message));
      talk.answer(id, { stopReason: "end_turn" });
    },
  },
  {
    rule: "tool-call-new",
    level: "must",
    by: "agent",
    version: 1,
    at: "/params/update/toolCallId",
    break: (talk) => talk.update(change({ status: "completed" })),
  },
  {
    rule: "tool-call-again",
    level: "should",
    by: "agent",
    version: 1,
    at: "/params/update/toolCallId",
    break: (talk) => {
      const id = talk.request("session/prompt", PROMPT);
      talk.update(call());
      talk.update(call({ status: "completed" }));
      talk.answer(id, { stopReason: "end_turn" });
    },
  },
  {
    rule: "tool-call-final",
    level: "should",
    by: "agent",
    version: 2,
    at: "/params/update/status",
    break: (talk) => {
      talk.update(change({ title: "T", status: "completed" }));
      talk.update(change({ status: "in_progress" }));
    },
  },
  {
    rule: "tool-call-open",
    level: "should",
    by: "agent",
    version: 1,
    break: (talk) => {
      const id = talk.request("session/prompt", PROMPT);
      talk.update(call());
      talk.answer(id, { stopReason: "end_turn" });
    },
  },
  {
    rule: "tool-call-open",
    level: "should",
    by: "agent",
    version: 2,
    break: (talk) => {
      begin(talk);
      talk.update(change());
      talk.update(state("idle", { stopReason: "error", error: { code: 1, message: "no" } }));
    },
  },
  {
    rule: "cancelled-reason",
    level: "must",
    by: "agent",
    version: 1,
    at: "/error",
    break: (talk) => {
      const id = talk.request("session/prompt", PROMPT);
      talk.notify("session/cancel", { sessionId: "s1" });
      talk.fail(id, -32603);
    },
  },
  {
    rule: "cancelled-reason",
    level: "must",
    by: "agent",
    version: 1,
    at: "/result/stopReason",
    break: (talk) => {
      const id = talk.request("session/prompt", PROMPT);
      talk.notify("session/cancel", { sessionId: "s1" });
      talk.recorder.wait(5000);
      talk.answer(id, { stopReason: "end_turn" });
    },
  },
  {
    rule: "cancelled-reason",
    level: "should",
    by: "agent",
    version: 2,
    at: "/params/update/stopReason",
    break: (talk) => {
      begin(talk);
      talk.notify("session/cancel", { sessionId: "s1" });
      talk.update(state("idle", { stopReason: "end_turn" }));
    },
  },
  {
    rule: "permission-cancelled",
    level: "must",
    by: "client",
    version: 1,
    at: "/result/outcome/outcome",
    break: (talk) => {
      const id = talk.request("session/prompt", PROMPT);
      talk.update(call({ status: "completed" }));
      const asked = talk.requestOfAgent("session/request_permission", permission("a"));
      talk.notify("session/cancel", { sessionId: "s1" });
      talk.answerOfClient(asked, { outcome: { outcome: "selected", optionId: "a" } });
      talk.answer(id, { stopReason: "cancelled" });
    },
  },
  {
    rule: "permission-option",
    level: "must",
    by: "client",
    version: 1,
    at: "/result/outcome/optionId",
    break: (talk) =>
      inTurn(talk, () => {
        talk.update(call({ status: "completed" }));
        const id = talk.requestOfAgent("session/request_permission", permission("a"));
        talk.answerOfClient(id, { outcome: { outcome: "selected", optionId: "z" } });
      }),
  },
  {
    rule: "permission-options",
    level: "must",
    by: "agent",
    version: 1,
    at: "/params/options/1/optionId",
    break: (talk) =>
      inTurn(talk, () => {
        talk.update(call({ status: "completed" }));
        const id = talk.requestOfAgent("session/request_permission", permission("a", "a"));
        talk.answerOfClient(id, { outcome: { outcome: "cancelled" } });
      }),
  },
  {
    rule: "permission-call",
    level: "should",
    by: "agent",
    version: 1,
    break: (talk) => {
      talk.answerOfClient(talk.requestOfAgent("session/request_permission", permission("a")), {
        outcome: { outcome: "cancelled" },
      });
    },
  },
  {
    rule: "terminal-unknown",
    level: "must",
    by: "agent",
    version: 1,
    at: "/params/terminalId",
    offers: { client: { clientCapabilities: { terminal: true } } },
    break: (talk) => {
      talk.answerOfClient(talk.requestOfAgent("terminal/kill", { sessionId: "s1", terminalId: "x" }), {});
    },
  },
  {
    rule: "terminal-id-reused",
    level: "must",
    by: "client",
    version: 1,
    at: "/result/terminalId",
    offers: { client: { clientCapabilities: { terminal: true } } },
    break: (talk) => {
      for (const command of ["a", "b"])
        talk.answerOfClient(talk.requestOfAgent("terminal/create", { sessionId: "s1", command }), { terminalId: "x" });
    },
  },
];

describe("a trace that breaks one rule", () => {
  test.each(cases)("$rule, $level, by the $by in version $version, at $at", (one) => {
    const talk = talkOn(one.by);
    if (!one.fromStart) open(talk, one.version, one.offers);
    one.break(talk);
    const { findings } = check(one.cut ? talk.recorder.records : talk.recorder.end());
    expect(findings.map(({ rule, level, by, at }) => ({ rule, level, by, at }))).toEqual([
      { rule: one.rule, level: one.level, by: one.by, at: one.at ?? "" },
    ]);
  });

  test("there is one for every rule", () => {
    expect([...new Set(cases.map(({ rule }) => rule))]).toEqual(allRules(schemasOf).map(({ name }) => name));
  });
});

test("docs/trace.md has every rule as it is, in order", () => {
  const documented = readFileSync(new URL("../../docs/trace.md", import.meta.url), "utf8").matchAll(
    /^\| `([\w-]+)` \| (must|should) \|.*$/gm,
  );
  const rows = allRules(schemasOf).map(
    ({ name, level, version = "1, 2", by = "either", says }) =>
      `| \`${name}\` | ${level} | ${version} | ${by} | ${says} |`,
  );
  expect([...documented].map(([row]) => row)).toEqual(rows);
});

const good: [string, 1 | 2, (talk: Talk) => void][] = [
  [
    "states told again, and work that begins blocked",
    2,
    (talk) => {
      begin(talk);
      for (const name of ["running", "requires_action", "requires_action", "running", "idle", "idle"])
        talk.update(state(name));
      for (const name of ["requires_action", "idle"]) talk.update(state(name));
    },
  ],
  [
    "work that is over before its prompt is answered",
    2,
    (talk) => {
      const id = talk.request("session/prompt", PROMPT);
      talk.update({ sessionUpdate: "user_message", messageId: "u1", content: [] });
      for (const name of ["running", "idle"]) talk.update(state(name));
      talk.answer(id, { messageId: "u1" });
    },
  ],
  [
    "updates before the result that opens the session",
    2,
    (talk) => {
      const id = talk.request("session/new", { cwd: "/work" });
      talk.update(state("idle"), "s2");
      talk.answer(id, { sessionId: "s2" });
    },
  ],
  [
    "a session that is closed and resumed",
    2,
    (talk) => {
      talk.ask("session/close", { sessionId: "s1" }, {});
      const id = talk.request("session/resume", { sessionId: "s1", cwd: "/work", replayFrom: { type: "start" } });
      talk.update(chunk("m1"));
      talk.update(state("idle"));
      talk.answer(id, {});
    },
  ],
  [
    "a turn that is cancelled with an open permission",
    1,
    (talk) => {
      const id = talk.request("session/prompt", PROMPT);
      talk.update(call());
      const asked = talk.requestOfAgent("session/request_permission", permission("a"));
      talk.notify("session/cancel", { sessionId: "s1" });
      talk.answerOfClient(asked, { outcome: { outcome: "cancelled" } });
      talk.answer(id, { stopReason: "cancelled" });
    },
  ],
  [
    "a cancel after the turn, and an error in the next one",
    1,
    (talk) => {
      inTurn(talk, () => {});
      talk.notify("session/cancel", { sessionId: "s1" });
      talk.fail(talk.request("session/prompt", PROMPT), -32603);
    },
  ],
  [
    "the sessions of subagents",
    2,
    (talk) => {
      begin(talk);
      talk.update({ sessionUpdate: "subagent_update", sessionId: "child", title: "helper" });
      for (const name of ["running", "idle"]) talk.update(state(name), "child");
      talk.update(state("idle"));
    },
  ],
  ["methods that are nobody's but both sides'", 1, (talk) => talk.ask("_own/thing", { sessionId: "s9" }, {})],
  ["$/ notifications of any name", 2, (talk) => talk.notify("$/own", {})],
];

test.each(good)("nothing is found in %s", (_what, version, say) => {
  for (const side of ["client", "agent"] as const) {
    const talk = talkOn(side);
    open(talk, version);
    say(talk);
    expect(check(talk.recorder.end()).findings).toEqual([]);
  }
});

test("an agent that keeps the bridge waiting is the agent's fault, not the bridge's as well", () => {
  const recorder = createRecorder();
  const ask = { jsonrpc: "2.0", id: 1, method: "_x" };
  recorder.frame("bridge-agent", { ...ask, id: 5 }, recorder.frame("client-bridge", ask));
  recorder.wait(20_000);
  recorder.add({ type: "event", event: "client-left", details: {} });
  const { findings, versions } = check(recorder.end());
  expect(versions).toEqual({ client: null, agent: null });
  expect(findings.filter(({ rule }) => rule === "unanswered")).toMatchObject([
    { by: "agent", level: "must", seqs: [2] },
  ]);
});

test("over a connection that broke nothing is owed, and the next counts its requests anew (docs/linger.md)", () => {
  const talk = talkOn("client");
  open(talk, 2);
  const id = talk.request("_x", {});
  talk.requestOfAgent("_y", {});
  talk.recorder.add({ type: "event", event: "client-lost", details: {} });
  talk.recorder.add({ type: "event", event: "client-back", details: { capabilities: {} } });
  talk.client({ jsonrpc: "2.0", id, method: "_x" });
  talk.answer(id, {});
  expect(check(talk.recorder.end()).findings).toEqual([]);
});

test("after a gap, what depends on what was before it is told as advice", () => {
  const talk = talkOn("agent");
  open(talk, 1);
  talk.recorder.add({ type: "dropped", records: 2, bytes: 9, reason: "slow disk" });
  talk.answer(99, {});
  talk.agent({ jsonrpc: "2.0", method: "vendor/thing" });
  const { incomplete, findings } = check(talk.recorder.end());
  expect(incomplete).toBe(true);
  expect(findings.map(({ rule, level }) => [rule, level])).toEqual([
    ["answer", "should"],
    ["method", "must"],
  ]);
});

describe("real traffic", () => {
  const found = (runs: TraceRecord[][]) =>
    runs
      .flatMap((records) => check(records).findings)
      .map(({ by, level, rule, frame }) => `${by} ${level} ${rule}: ${frame}`)
      .filter((line, index, all) => all.indexOf(line) === index)
      .sort();

  describe.each(recordedNames())("%s", (name) => {
    test("breaks what this agent and the driver break indeed, when passed through", () => {
      const expected = BROKEN.filter(([, runs]) => runs.includes(name.replace(".jsonl", ""))).map(([line]) => line);
      expect(found(passedThroughRuns(name))).toEqual(expected.sort());
    });

    test.runIf(/-(full|cancel|load|reject|concurrent)\./.test(name))(
      "is translated into what no rule is broken by",
      () => {
        const byBridge = found(translatedRuns(name)).filter((line) => line.startsWith("bridge must"));
        // Version 1 allows names like "memory show"; the bridge hands them on.
        const known = name.startsWith("gemini") ? ["bridge must command-name: available_commands_update"] : [];
        expect(byBridge.filter((line) => !known.includes(line))).toEqual([]);
      },
    );
  });
});
