// Guards docs/linger.md and I3 to I5 of docs/mapping.md §0 for a client that loses its connection again and again: whatever
// both sides do, nothing is sent to a client who is not there, every request over the present connection and every request
// of the agent's gets one answer, and nothing crashes. Every frame is valid for its side.
// ACP_SHIFT_PROPERTY_RUNS sets how many are tried.
import assert from "node:assert/strict";
import fc from "fast-check";
import { test } from "vitest";
import { asArray, asObject, type JsonObject } from "../../src/protocol/json.ts";
import {
  agentHello,
  createDialogue,
  fail,
  notify,
  type Outcome,
  reply,
  request,
  text,
  update,
} from "../support/dialogue.ts";
import { pick } from "./frames.ts";

const runs = Number(process.env["ACP_SHIFT_PROPERTY_RUNS"] ?? 100);

const ACTS = {
  prompt: 6,
  cancel: 1,
  withdraw: 1,
  answer: 4,
  new: 2,
  close: 1,
  resume: 4,
  "set-config": 1,
  list: 1,
  extension: 1,
  update: 10,
  ask: 5,
  "agent-withdraws": 1,
  "agent-answers": 8,
  "agent-fails": 2,
  time: 4,
  lose: 4,
  back: 5,
} as const;

interface Move {
  act: keyof typeof ACTS;
  which: number;
  what: number;
}

const moves = fc.array(
  fc.record({
    act: fc.oneof(
      ...Object.entries(ACTS).map(([act, weight]) => ({ weight, arbitrary: fc.constant(act as Move["act"]) })),
    ),
    which: fc.nat(20),
    what: fc.nat(20),
  }),
  { maxLength: 70, size: "max" },
);

const settings = fc.record({
  settle: fc.constantFrom(0, 50),
  acceptWindow: fc.constantFrom(0, 50),
  lingerLimit: fc.constantFrom(2000, 1_000_000),
  remembers: fc.boolean(),
  unprompted: fc.constantFrom("pass" as const, "running" as const),
  loads: fc.boolean(),
});

test("everything over the present connection is answered, and nothing goes to a client who is not there", () => {
  fc.assert(
    fc.property(settings, moves, ({ loads, ...options }, played) => {
      const world = createWorld(options, loads);
      for (const move of played) world.play(move);
      world.end();
    }),
    { numRuns: runs },
  );
});

function createWorld(options: object, loads: boolean) {
  const dialogue = createDialogue(options);
  const sessions: string[] = [];
  let away = false;
  let count = 0;
  /** Requests of the client's over the present connection that have no answer. */
  let asked = new Map<unknown, string>();
  /** Requests of the bridge's to the client. */
  const questions = new Set<unknown>();
  const calls = new Map<unknown, JsonObject>();
  const askedByAgent = new Set<unknown>();

  function take(outcome: Outcome): void {
    for (const { event, details } of outcome.logs) assert.notEqual(event, "internal-error", JSON.stringify(details));
    for (const frame of outcome.toClient) {
      assert.ok(!away, `sent to nobody: ${JSON.stringify(frame)}`);
      if ("method" in frame) {
        if ("id" in frame) questions.add(frame["id"]);
        continue;
      }
      assert.ok(asked.delete(frame["id"]), `I5: an answer to nothing: ${JSON.stringify(frame)}`);
      const { sessionId } = asObject(frame["result"]);
      if (typeof sessionId === "string") sessions.push(sessionId);
    }
    for (const frame of outcome.toAgent) {
      if (!("method" in frame)) assert.ok(askedByAgent.delete(frame["id"]), `I5: ${JSON.stringify(frame)}`);
      else if ("id" in frame) calls.set(frame["id"], frame);
    }
    for (const act of outcome.acts)
      if (act.type === "recall")
        take(
          dialogue.event({ type: "recalled", token: act.token, value: act.sessionId === undefined ? [] : undefined }),
        );
  }

  function ask(method: string, params: object): void {
    const id = asked.size === 0 ? 1 : Math.max(...[...asked.keys()].map(Number)) + 1;
    asked.set(id, method);
    take(dialogue.client(request(id, method, params)));
  }

  const agentSays = (frame: unknown) => take(dialogue.agent(frame));
  const someSession = (which: number) => pick(["s0", ...sessions], which);

  function agentAnswers(which: number, fails: boolean): void {
    if (calls.size === 0) return;
    const [id, call] = pick([...calls], which);
    calls.delete(id);
    if (fails) return agentSays(fail(id, pick([-32603, -32601, -32002], which)));
    const method = String(call["method"]);
    const results: Record<string, object> = {
      "session/new": { sessionId: `s${++count}` },
      "session/prompt": { stopReason: pick(["end_turn", "cancelled", "refusal"], which) },
      "session/list": { sessions: [] },
    };
    agentSays(reply(id, results[method] ?? {}));
  }

  function lose(): void {
    if (away) return;
    away = true;
    asked = new Map();
    questions.clear();
    take(dialogue.event({ type: "client-lost" }));
  }

  function back(which: number): void {
    if (!away) return;
    away = false;
    take(dialogue.event({ type: "client-back", capabilities: which % 2 === 0 ? {} : { elicitation: { form: {} } } }));
    if (which % 3 > 0) resume(someSession(which), which);
  }

  const resume = (sessionId: string, what: number) =>
    ask("session/resume", { sessionId, cwd: "/work", ...(what % 3 === 0 && { replayFrom: { type: "start" } }) });

  const CLIENTS = new Set<Move["act"]>([
    ...([
      "prompt",
      "cancel",
      "withdraw",
      "answer",
      "new",
      "close",
      "resume",
      "set-config",
      "list",
      "extension",
    ] as const),
  ]);

  function play({ act, which, what }: Move): void {
    if (away && CLIENTS.has(act)) return;
    const sessionId = someSession(which);
    const n = ++count;
    switch (act) {
      case "prompt":
        return ask("session/prompt", { sessionId, prompt: [text(`words ${n}`)] });
      case "cancel":
        return take(dialogue.client(notify("session/cancel", { sessionId })));
      case "withdraw":
        if (asked.size === 0) return;
        return take(dialogue.client(notify("$/cancel_request", { requestId: pick([...asked.keys()], which) })));
      case "answer": {
        const id = pick([...questions, 999], which);
        questions.delete(id);
        const outcome = pick([{ outcome: "cancelled" }, { outcome: "selected", optionId: "y" }], what);
        return take(dialogue.client(reply(id, { outcome })));
      }
      case "new":
        return ask("session/new", { cwd: "/work" });
      case "close":
        return ask("session/close", { sessionId });
      case "resume":
        return resume(sessionId, what);
      case "set-config":
        return ask("session/set_config_option", { sessionId, configId: "c", type: "id", value: "v" });
      case "list":
        return ask("session/list", {});
      case "extension":
        return ask("_vendor/do", what % 2 === 0 ? {} : { sessionId });
      case "update":
        return agentSays(update(sessionId, pick(updates(n, what), what)));
      case "ask": {
        const id = `a${n}`;
        askedByAgent.add(id);
        return agentSays(request(id, ...pick(asks(sessionId, what), which + what)));
      }
      case "agent-withdraws":
        return agentSays(notify("$/cancel_request", { requestId: pick([...askedByAgent, "none"], which) }));
      case "agent-answers":
        return agentAnswers(which, false);
      case "agent-fails":
        return agentAnswers(which, true);
      case "time":
        return take(dialogue.wait(pick([1, 50, 60, 11_000, 40_000], what)));
      case "lose":
        return lose();
      case "back":
        return back(which);
    }
  }

  function updates(n: number, what: number): JsonObject[] {
    return [
      { sessionUpdate: "agent_message_chunk", content: text(`${n}${"x".repeat(what * 30)}`) },
      { sessionUpdate: "agent_message_chunk", messageId: `m${what % 3}`, content: text(`${n}`) },
      { sessionUpdate: "agent_thought_chunk", content: text(`${n}`) },
      { sessionUpdate: "tool_call", toolCallId: `t${what % 4}`, title: "Tool" },
      { sessionUpdate: "tool_call_update", toolCallId: `t${what % 4}`, status: "completed" },
      { sessionUpdate: "plan", entries: [] },
      { sessionUpdate: "usage_update", used: n, size: 1000 },
      { sessionUpdate: "_vendor", n },
      { sessionUpdate: "session_info_update", title: `Title ${n}` },
    ];
  }

  function asks(sessionId: string, what: number): [string, object][] {
    const options = [{ optionId: "y", name: "Yes", kind: "allow_once" }];
    const form = { mode: "form", message: "Who?", requestedSchema: { type: "object", properties: {} } };
    return [
      ["session/request_permission", { sessionId, toolCall: { toolCallId: `t${what % 4}` }, options }],
      ["elicitation/create", { sessionId, ...form }],
      ["elicitation/create", { requestId: 3, ...form }],
      ["_vendor/do", { sessionId }],
      ["_vendor/do", {}],
      ["fs/read_text_file", { sessionId, path: "/work/a" }],
    ];
  }

  function end(): void {
    back(1);
    for (const sessionId of new Set(sessions)) resume(sessionId, 1);
    for (let round = 0; round < 200; round++) {
      take(dialogue.wait(100_000));
      const [question] = questions;
      if (calls.size > 0) agentAnswers(0, false);
      else if (question !== undefined) {
        questions.delete(question);
        take(dialogue.client(reply(question, { outcome: { outcome: "cancelled" } })));
      } else break;
    }
    assert.deepEqual([...asked], [], "I5: requests of the client's are never answered");
    assert.deepEqual([...askedByAgent], [], "I5: requests of the agent's are never answered");
    for (const session of dialogue.bridge.sessions.values()) {
      assert.equal(session.turn, undefined);
      assert.deepEqual(session.held, []);
      assert.equal(session.resumesNext, undefined);
    }
  }

  const { toAgent } = dialogue.client(
    request("hello", "initialize", {
      protocolVersion: 2,
      info: { name: "c", version: "1" },
      capabilities: { elicitation: { form: {} } },
    }),
  );
  const capabilities = { ...agentHello.agentCapabilities, loadSession: loads };
  dialogue.agent(reply(toAgent[0]?.["id"], { ...agentHello, agentCapabilities: capabilities }));
  ask("session/new", { cwd: "/work" });
  for (const [id] of calls) agentSays(reply(id, { sessionId: "s0" }));
  calls.clear();
  assert.equal(asArray(sessions).length, 1);
  return { play, end };
}
