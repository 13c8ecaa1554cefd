// A core between two random peers. Every act is one event; after each, what must always hold is checked
// (docs/mapping.md §0), with nothing but the frames that crossed to go by.
import assert from "node:assert/strict";
import { step } from "../../src/bridge/bridge.ts";
import type { Effect, Event, Side } from "../../src/bridge/events.ts";
import { type Bridge, type BridgeOptions, createBridge } from "../../src/bridge/state.ts";
import { isFrame, isRequestId } from "../../src/protocol/frames.ts";
import { asArray, asObject, asString, isObject, type JsonObject } from "../../src/protocol/json.ts";
import { agentHello, clientHello, fail, notify, reply, request, testOptions, text } from "../support/dialogue.ts";
import { validateFrameToAgent, validateFrameToClient } from "../support/schema.ts";
import {
  agentRequest,
  agentResult,
  agentUpdate,
  clientAnswers,
  junk,
  type Mutation,
  mutate,
  oddAnswers,
  pick,
} from "./frames.ts";

export type Act =
  | "prompt"
  | "cancel"
  | "cancel-request"
  | "client-answer"
  | "set-config"
  | "new"
  | "close"
  | "delete"
  | "resume"
  | "list"
  | "ext"
  | "client-junk"
  | "update"
  | "agent-request"
  | "agent-answer"
  | "agent-odd-answer"
  | "agent-late-answer"
  | "agent-cancel-request"
  | "agent-notification"
  | "agent-junk"
  | "time";

/** One act of one peer, or the passing of time; `which` and `what` choose whom it concerns and what is said. */
export interface Move {
  act: Act;
  which: number;
  what: number;
  /** Spoils the frame on its way. */
  mutations: Mutation[];
}

export interface Setting {
  settle: number;
  acceptWindow: number;
  cancelTimeout: number;
  restatedMessages: "keep" | "drop";
  capable: boolean;
}

interface OpenCall {
  method: string;
  params: JsonObject;
}

/** A session as the client sees it. */
interface View {
  state: "idle" | "running" | "requires_action";
  /** What must come next, after a prompt was accepted. */
  due: JsonObject[];
  /** The id of the v1 prompt at work, and how it has been answered. */
  prompt: number | undefined;
  promptAnswer: JsonObject | undefined;
  cancelled: boolean;
  turns: { running: number; idle: number };
  quietChunks: number[];
  lastMark: number;
  lastInTimeline: number;
  toolStatus: Map<unknown, unknown>;
  /** Messages as a client shows them: text by kind and id. */
  shown: Map<string, string>;
}

export interface World {
  bridge: Bridge;
  over: boolean;
  play(move: Move): void;
  /** Lets everything that is under way come to its end: time passes, both peers answer what they were asked. */
  settleDown(): void;
  /** The end: the agent's process is gone. Checks what must hold of a whole run. */
  end(clientLeftFirst: boolean): void;
}

const FINAL = ["completed", "failed", "cancelled"];

export function createWorld(setting: Setting): World {
  const options: BridgeOptions = {
    ...testOptions,
    settle: setting.settle,
    acceptWindow: setting.acceptWindow,
    cancelTimeout: setting.cancelTimeout,
    promptQueue: 3,
    behaviourOf: () => ({ ...setting, restartAfterLogin: false, replaySettle: 0 }),
  };
  const bridge = createBridge(options);
  let now = 0;
  let over = false;
  let exited = false;
  let count = 0;
  const timers = new Map<string, number>();

  /** Requests of each side that have no answer yet, by the JSON of their id. */
  const asked: Record<Side, Map<string, string[]>> = { client: new Map(), agent: new Map() };
  /** The core's own requests that have no answer yet. */
  const calls: Record<Side, Map<number, OpenCall>> = { client: new Map(), agent: new Map() };
  const lastId: Record<Side, number> = { client: 0, agent: 0 };
  const settledIds: number[] = [];

  const views = new Map<string, View>();
  /** Params of the client's requests, for what their results mean. */
  const clientParams = new Map<string, JsonObject>();
  /** How many resumes of a session are under way. */
  const restoring = new Map<string, number>();
  let clientActs = false;
  /** The request the client is answering, and its answer. */
  let answering: { call: OpenCall; frame: JsonObject } | undefined;
  /** The marks of updates that reached the core as they should be, and of those of which nothing has come yet. */
  const marks = new Set<number>();
  const unaccounted = new Map<number, string>();
  const seenTexts = new Set<number>();

  function view(sessionId: string): View {
    const known = views.get(sessionId);
    if (known !== undefined) return known;
    const made: View = {
      state: "idle",
      due: [],
      prompt: undefined,
      promptAnswer: undefined,
      cancelled: false,
      turns: { running: 0, idle: 0 },
      quietChunks: [],
      lastMark: 0,
      lastInTimeline: 0,
      toolStatus: new Map(),
      shown: new Map(),
    };
    views.set(sessionId, made);
    return made;
  }

  // ---- One event, and everything that is checked of what it led to.

  function give(event: Event): Effect[] {
    const effects = step(bridge, event, now);
    for (const effect of effects) follow(effect);
    return effects;
  }

  function follow(effect: Effect): void {
    switch (effect.type) {
      case "send": {
        const frame = JSON.parse(JSON.stringify(effect.frame)) as JsonObject;
        if (effect.to === "client") clientGets(frame);
        else agentGets(frame);
        break;
      }
      case "forward":
        throw new Error("bytes forwarded though the versions differ");
      case "timer":
        timers.set(effect.name, now + effect.ms);
        break;
      case "clear-timer":
        timers.delete(effect.name);
        break;
      case "log": {
        const { sessionId } = effect.details;
        if (effect.event === "session-id-reused") view(String(sessionId)).cancelled = true;
        // A record of an update that was held back comes when it is let go.
        if (/unknown-session|replay|mode-without-modes/.test(effect.event))
          for (const [n, of] of unaccounted) if (of === sessionId) unaccounted.delete(n);
        break;
      }
      case "done":
        over = true;
        break;
      case "say":
        break;
    }
  }

  /** Takes an answer off the open requests it answers; returns their method. */
  function takeAsked(side: Side, frame: JsonObject): string | undefined {
    const key = JSON.stringify(frame["id"]);
    const methods = asked[side].get(key) ?? [];
    const method = methods.shift();
    if (methods.length === 0) asked[side].delete(key);
    return method;
  }

  function clientGets(frame: JsonObject): void {
    if (!("method" in frame) && frame["id"] === null) {
      assert.ok("error" in frame);
      assert.equal(validateFrameToClient(frame), undefined);
      faultsAnswered++;
      return;
    }
    const key = JSON.stringify(frame["id"]);
    const method = "method" in frame ? undefined : takeAsked("client", frame);
    if (!("method" in frame)) assert.ok(method !== undefined, `I5: an answer nobody waits for: ${key}`);
    const fault = validateFrameToClient(frame, method);
    // What answers a method that neither version has, only the agent knows.
    if (method === undefined || !fault?.includes("has no result"))
      assert.equal(fault, undefined, `I3: ${JSON.stringify(frame)}`);
    const params = asObject(frame["params"]);
    if (method !== undefined) {
      clientAnswered(method, clientParams.get(key) ?? {}, frame);
    } else if ("id" in frame) {
      const id = frame["id"] as number;
      assert.ok(Number.isInteger(id) && id > lastId.client, "I4: an id of the core's is new each time");
      lastId.client = id;
      calls.client.set(id, { method: String(frame["method"]), params });
    } else if (frame["method"] === "session/update") {
      clientUpdated(String(params["sessionId"]), asObject(params["update"]));
    }
  }

  function clientAnswered(method: string, params: JsonObject, frame: JsonObject): void {
    const sessionId = String(params["sessionId"]);
    const result = asObject(frame["result"]);
    if (method === "session/resume") resumes(sessionId, -1);
    if ("error" in frame) return;
    if (method === "session/close" && !setting.capable) view(sessionId).toolStatus.clear();
    if (method === "session/new" || method === "session/fork") {
      views.delete(String(result["sessionId"]));
      view(String(result["sessionId"]));
    }
    if (method !== "session/prompt") return;
    const session = view(sessionId);
    assert.equal(session.state, "idle", "I7: a prompt is accepted while a turn runs");
    session.due = [
      { sessionUpdate: "user_message", messageId: result["messageId"], content: params["prompt"] },
      { sessionUpdate: "state_update", state: "running" },
    ];
  }

  function clientUpdated(sessionId: string, update: JsonObject): void {
    const session = view(sessionId);
    const due = session.due.shift();
    if (due !== undefined) {
      assert.deepEqual(update, due, "§9: answer, message, running");
      if (update["state"] === "running") {
        session.state = "running";
        session.turns.running++;
      }
      return;
    }
    checkMarks(sessionId, session, update);
    const kind = String(update["sessionUpdate"]);
    if (kind === "state_update") clientStateChanged(sessionId, session, update);
    if (kind === "tool_call_update") {
      const id = update["toolCallId"];
      if (!session.toolStatus.has(id)) assert.ok(asString(update["title"]), "§6: a title");
      session.toolStatus.set(id, update["status"] ?? session.toolStatus.get(id));
    }
    showMessage(session, kind, update);
  }

  /** I1: what the agent sent for one session reaches the client in the order it was sent. */
  function checkMarks(sessionId: string, session: View, update: JsonObject): void {
    const kind = String(update["sessionUpdate"]);
    // A replayed message is put together from chunks; one that goes on after something else, as chunks.
    const whole =
      /_message$|_thought$/.test(kind) || (restoring.has(sessionId) && /(message|thought)_chunk$/.test(kind));
    for (const [, number] of JSON.stringify(update["content"] ?? "").matchAll(/<(\d+)>/g)) {
      const n = Number(number);
      assert.ok(!seenTexts.has(n), `I2: text ${n} twice`);
      seenTexts.add(n);
      unaccounted.delete(n);
    }
    const n = asObject(update["_meta"])["n"];
    if (typeof n !== "number" || !marks.has(n)) return;
    unaccounted.delete(n);
    // Of the chunks that became one whole message, those without a text of their own are in it too.
    if (whole) for (const quiet of session.quietChunks.splice(0)) unaccounted.delete(quiet);
    // It is sent when it is complete, so only what took a place on the timeline keeps its order with it.
    const takesPlace =
      whole || kind.endsWith("_chunk") || (update["toolCallId"] && !session.toolStatus.has(update["toolCallId"]));
    if (takesPlace) {
      assert.ok(n > session.lastInTimeline, `I1: ${n} after ${session.lastInTimeline}`);
      session.lastInTimeline = n;
    }
    if (whole) return;
    assert.ok(n > session.lastMark, `I1: ${n} after ${session.lastMark}`);
    session.lastMark = n;
    if (kind !== "terminal_update") assert.equal(update["unknownField"], n, `I2: unknown fields of ${kind} survive`);
  }

  function clientStateChanged(sessionId: string, session: View, update: JsonObject): void {
    const { state } = update;
    const before = session.state;
    if (before === "idle") {
      assert.equal(state, "idle", "I7: a session runs without a prompt");
      assert.ok(restoring.has(sessionId), "I7: a second idle");
      return;
    }
    if (restoring.has(sessionId) && state === before) return;
    if (state === "requires_action") assert.equal(before, "running");
    if (state === "running") assert.equal(before, "requires_action");
    session.state = state as View["state"];
    if (state === "idle") turnEnded(session, update);
  }

  function turnEnded(session: View, update: JsonObject): void {
    session.turns.idle++;
    const answer = session.promptAnswer;
    const { stopReason } = asObject(answer?.["result"]);
    if (exited && answer === undefined) {
      assert.equal(update["stopReason"], "error", "I7");
    } else if (session.cancelled || clientActs || stopReason === "cancelled") {
      // Only a cancel makes a turn end by a frame of the client's.
      assert.equal(update["stopReason"], "cancelled", "I7");
    } else if (answer === undefined) {
      assert.fail("I7: an idle, but the prompt is open");
    } else if ("error" in answer) {
      assert.equal(update["stopReason"], "error", "I7");
    } else {
      const known = ["end_turn", "max_tokens", "max_turn_requests", "refusal"].includes(String(stopReason));
      const spelled = asString(stopReason)?.startsWith("_") || known ? stopReason : `_${stopReason}`;
      assert.equal(update["stopReason"], asString(stopReason) ? spelled : undefined, "I7");
      const { _meta: meta } = asObject(answer["result"]);
      if (isObject(meta)) assert.deepEqual(update["_meta"], meta, "I2: _meta survives");
    }
    if (
      ["cancelled", "error"].includes(String(update["stopReason"])) &&
      (session.cancelled || "error" in (answer ?? {}))
    )
      for (const status of session.toolStatus.values()) assert.ok(FINAL.includes(String(status)), `§6: ${status}`);
    session.prompt = undefined;
  }

  function showMessage(session: View, kind: string, update: JsonObject): void {
    const texts = [update["content"]].flat().map((block) => asString(asObject(block)["text"]) ?? "");
    const message = `${kind.replace(/_chunk$/, "")} ${update["messageId"]}`;
    if (/_message$|_thought$/.test(kind)) session.shown.set(message, texts.join(""));
    if (/(message|thought)_chunk$/.test(kind))
      session.shown.set(message, (session.shown.get(message) ?? "") + texts.join(""));
  }

  function agentGets(frame: JsonObject): void {
    const params = asObject(frame["params"]);
    const sessionId = String(params["sessionId"]);
    const method = "method" in frame ? undefined : takeAsked("agent", frame);
    if (!("method" in frame)) assert.ok(method !== undefined, "I5: an answer the agent does not wait for");
    // An agent that asks under the id null is answered under it.
    const fault = validateFrameToAgent(frame["id"] === null ? { ...frame, id: 0 } : frame, method);
    // What the stable schemas do not define is the agent's to refuse.
    if (fault !== undefined && !/is no v1 method|has no result|is no (request|notification)|^ForkSession/.test(fault))
      assert.fail(`valid v1 to the agent: ${fault} ${JSON.stringify(frame)}`);
    if (!("method" in frame)) {
      if (method === "session/request_permission") checkApproval(asObject(asObject(frame["result"])["outcome"]));
      return;
    }
    if ("id" in frame) {
      const id = frame["id"] as number;
      assert.ok(Number.isSafeInteger(id) && id > lastId.agent, "I4: small positive integers");
      lastId.agent = id;
      calls.agent.set(id, { method: String(frame["method"]), params });
      // What a closed session knew of its tool calls is forgotten.
      if (frame["method"] === "session/close" || frame["method"] === "session/delete")
        view(sessionId).toolStatus.clear();
      if (frame["method"] === "session/prompt") {
        const session = view(sessionId);
        const isRetry = session.promptAnswer !== undefined && session.prompt !== undefined;
        if (!isRetry) session.cancelled = false;
        session.prompt = id;
        session.promptAnswer = undefined;
      }
    } else if (frame["method"] === "session/cancel") {
      const open = [...calls.agent.values()].filter((call) => call.params["sessionId"] === sessionId);
      assert.ok(
        open.some((call) => call.method === "session/prompt"),
        "§9: a cancel with no prompt open",
      );
      view(sessionId).cancelled = true;
    }
  }

  /** §10: nothing but an offered option, selected by the client, ever passes as a choice. */
  function checkApproval(outcome: JsonObject): void {
    if (outcome["outcome"] === "cancelled") return;
    const options = asArray(answering?.call.params["options"]).map((option) => asObject(option)["optionId"]);
    assert.ok(options.includes(outcome["optionId"]), "§10: an option that was offered");
    const said = asObject(asObject(answering?.frame["result"])["outcome"]);
    assert.equal(said["outcome"], "selected");
    assert.equal(said["optionId"], outcome["optionId"]);
  }

  // ---- The client.

  let faultsAnswered = 0;

  function clientSays(value: unknown): void {
    const faultsBefore = faultsAnswered;
    const isRequest = isFrame(value) && typeof value["method"] === "string" && "id" in value;
    let refused = !isFrame(value) || (isRequest && !isRequestId(value["id"]));
    if (isRequest && !refused) {
      const key = JSON.stringify(value["id"]);
      if (asked.client.has(key)) refused = true;
      else {
        asked.client.set(key, [String(value["method"])]);
        const params = asObject(value["params"]);
        clientParams.set(key, params);
        if (value["method"] === "session/resume") resumes(String(params["sessionId"]), 1);
      }
    }
    if (isFrame(value) && typeof value["method"] !== "string") takeAnswer(value);
    clientActs = true;
    give({ type: "frame", from: "client", value, line: bytesOf(value) });
    clientActs = false;
    answering = undefined;
    assert.equal(faultsAnswered - faultsBefore, refused ? 1 : 0, "§12: one -32600 for each thing that is no request");
  }

  function takeAnswer(frame: JsonObject): void {
    const id = [...calls.client.keys()].find((open) => open === frame["id"] || String(open) === frame["id"]);
    const call = id === undefined ? undefined : calls.client.get(id);
    if (id === undefined || call === undefined) return;
    calls.client.delete(id);
    answering = { call, frame };
  }

  function resumes(sessionId: string, change: number): void {
    const open = (restoring.get(sessionId) ?? 0) + change;
    if (open > 0) restoring.set(sessionId, open);
    else restoring.delete(sessionId);
  }

  // ---- The agent.

  function agentSays(frame: JsonObject, mark?: { n: number; sessionId: string }): void {
    if (!isFrame(frame) || exited) return;
    const isRequest = typeof frame["method"] === "string" && "id" in frame;
    const isResponse = typeof frame["method"] !== "string";
    if (isRequest) {
      const key = JSON.stringify(isRequestId(frame["id"]) ? frame["id"] : null);
      const open = asked.agent.get(key) ?? [];
      // Two open requests under one id: which of them an answer means could not be told.
      if (open.some((method) => method !== frame["method"])) return;
      asked.agent.set(key, [...open, String(frame["method"])]);
    }
    const answered = isResponse ? settle(frame) : undefined;
    if (mark !== undefined) {
      marks.add(mark.n);
      const { content, sessionUpdate } = asObject(asObject(frame["params"])["update"]);
      if (/message_chunk$/.test(String(sessionUpdate)) && !JSON.stringify(content).includes("<"))
        views.get(mark.sessionId)?.quietChunks.push(mark.n);
      unaccounted.set(mark.n, mark.sessionId);
    }
    const effects = give({ type: "frame", from: "agent", value: frame, line: bytesOf(frame) });
    const logs = effects.filter((effect) => effect.type === "log");
    const sent = effects.filter((effect) => effect.type === "send");
    if (isResponse && answered === undefined) {
      assert.ok(logs.some(({ event }) => event === "answer-to-no-request"));
      assert.equal(sent.length, 0, "I4: an answer to no open request settles nothing");
    }
    if (answered !== undefined)
      assert.ok(!logs.some(({ event }) => event === "answer-to-no-request"), "I4: twins count");
    const held = restoring.size > 0 || bridge.sessionsOpening > 0;
    if (effects.length === 0) assert.ok(held || answered !== undefined, `I2: nothing came of ${JSON.stringify(frame)}`);
    if (mark !== undefined && logs.length > 0) unaccounted.delete(mark.n);
    if (mark !== undefined && !held) assert.ok(!unaccounted.has(mark.n), `I2: lost ${JSON.stringify(frame)}`);
  }

  /** Takes a response of the agent's off the core's open calls; undefined when it answers none. */
  function settle(frame: JsonObject): OpenCall | undefined {
    const id = [...calls.agent.keys()].find((open) => open === frame["id"] || String(open) === frame["id"]);
    if (id === undefined) return undefined;
    const call = calls.agent.get(id);
    calls.agent.delete(id);
    settledIds.push(id);
    const session = views.get(String(call?.params["sessionId"]));
    if (session?.prompt === id) session.promptAnswer = frame;
    return call;
  }

  // ---- Moves.

  const ids = (which: number): unknown =>
    pick([count, String(count), `c${count}`, which % 4, String(which % 4)], which);
  /** Mostly one of those there are; now and then none of them. */
  const one = <T>(known: readonly T[], other: T, which: number): T =>
    known.length === 0 || which % 10 === 9 ? other : pick(known, which);
  const someSession = (which: number) => one([...views.keys()], "nowhere", which);

  function frameOf(move: Move): { from: Side; value: unknown; mark?: { n: number; sessionId: string } } | undefined {
    const { act, which, what } = move;
    const n = ++count;
    const sessionId = someSession(which);
    const client = (value: unknown) => ({ from: "client" as const, value });
    const agent = (value: unknown) => ({ from: "agent" as const, value });
    switch (act) {
      case "prompt":
        return client(request(ids(what), "session/prompt", { sessionId, prompt: [text(`hello ${n}`)] }));
      case "cancel":
        return client(
          what % 5 === 0
            ? request(ids(what), "session/cancel", { sessionId })
            : notify("session/cancel", { sessionId }),
        );
      case "cancel-request": {
        const open = [...asked.client.keys()].map((key) => JSON.parse(key) as unknown);
        return client(notify("$/cancel_request", { requestId: one(open, 999, which) }));
      }
      case "client-answer": {
        if (calls.client.size === 0 && which % 10 !== 9) return undefined;
        const id = one([...calls.client.keys()], 999, which);
        const used = what % 3 === 0 ? String(id) : id;
        return client({ jsonrpc: "2.0", id: used, ...pick(clientAnswers, what) });
      }
      case "set-config": {
        const value = pick(
          [
            { configId: "mode", type: "id", value: "code" },
            { configId: "mode", type: "id", value: "ask" },
            { configId: "fast", type: "boolean", value: true },
            { configId: "model", type: "id", value: "small" },
            { configId: "nothing", type: "id", value: "x" },
          ],
          what,
        );
        return client(request(ids(which), "session/set_config_option", { sessionId, ...value }));
      }
      case "new":
        return client(
          request(ids(what), pick(["session/new", "session/new", "session/fork"], what), newParams(sessionId)),
        );
      case "close":
        return client(request(ids(what), "session/close", { sessionId }));
      case "delete":
        return client(request(ids(what), "session/delete", { sessionId }));
      case "resume": {
        const replayFrom = pick([undefined, { type: "start" }, { type: "start" }, { type: "_other" }], what);
        return client(request(ids(what), "session/resume", { sessionId, cwd: "/work", replayFrom }));
      }
      case "list":
        return client(request(ids(what), "session/list", pick([{}, { cwd: "/work" }, undefined], what)));
      case "ext": {
        const method = pick(
          ["_vendor/do", "auth/login", "auth/logout", "vendor/do", "tool_call/cancel", "toString"],
          what,
        );
        const params = pick<unknown>([{ methodId: "key" }, { sessionId, toolCallId: "tool0" }, undefined, [1]], which);
        return client(what % 4 === 0 ? notify(method, params) : request(ids(which), method, params));
      }
      case "client-junk":
        return client(pick(junk, what));
      case "update":
        return {
          from: "agent",
          value: notify("session/update", { sessionId, update: agentUpdate(what, n) }),
          mark: { n, sessionId },
        };
      case "agent-request": {
        const { method, params } = agentRequest(what, sessionId);
        return agent(request(pick<unknown>([n, String(n), 0, "0", `a${n}`, null], which), method, params));
      }
      case "agent-answer":
      case "agent-odd-answer": {
        if (calls.agent.size === 0 && which % 10 !== 9) return undefined;
        const [id, call] = one<[number, OpenCall]>([...calls.agent], [999, { method: "none", params: {} }], which);
        const used = what % 3 === 0 ? String(id) : id;
        if (act === "agent-odd-answer") return agent({ jsonrpc: "2.0", id: used, ...pick(oddAnswers, what) });
        return agent(reply(used, agentResult(call.method, `s${pick([n, n, which % 3], what)}`, what)));
      }
      case "agent-late-answer":
        return agent(
          what % 2 === 0
            ? reply(one(settledIds, 999, which), { stopReason: "end_turn" })
            : fail(one<unknown>(settledIds, null, which), -32603),
        );
      case "agent-cancel-request": {
        const open = [...asked.agent.keys()].map((key) => JSON.parse(key) as unknown);
        return agent(notify("$/cancel_request", { requestId: one(open, 999, which) }));
      }
      case "agent-notification":
        return agent(
          notify(pick(["_vendor/told", "vendor/told", "elicitation/complete", "$/progress"], what), {
            elicitationId: "e",
          }),
        );
      case "agent-junk":
        return agent(pick(junk.filter(isFrame), what));
      case "time":
        return undefined;
    }
  }

  function newParams(sessionId: string): JsonObject {
    return { sessionId, cwd: "/work" };
  }

  function passTime(ms: number): void {
    const until = now + ms;
    for (;;) {
      const next = [...timers].sort(([, one], [, other]) => one - other)[0];
      if (next === undefined || next[1] > until) break;
      now = next[1];
      fire(next[0]);
    }
    now = until;
  }

  function fire(name: string): void {
    timers.delete(name);
    const cancelled = /^cancel (.*)$/.exec(name)?.[1];
    if (cancelled !== undefined) view(cancelled).cancelled = true;
    give({ type: "timer", name });
  }

  function play(move: Move): void {
    if (over) return;
    if (move.act === "time") {
      const next = Math.min(...timers.values());
      passTime(move.what % 2 === 0 || !Number.isFinite(next) ? move.what : Math.max(0, next - now));
      return;
    }
    const made = frameOf(move);
    if (made === undefined) return;
    const spoilt = move.mutations.length > 0 && isObject(made.value);
    const value = spoilt ? mutate(JSON.parse(JSON.stringify(made.value)) as JsonObject, move.mutations) : made.value;
    const plain = JSON.parse(JSON.stringify(value ?? null)) as unknown;
    if (made.from === "client") clientSays(plain);
    else if (isObject(plain)) agentSays(plain, spoilt ? undefined : made.mark);
  }

  function settleDown(): void {
    for (let round = 0; round < 200 && !over; round++) {
      passTime(100_000);
      const [agentId, call] = [...calls.agent][0] ?? [];
      const [clientId] = calls.client.keys();
      if (agentId !== undefined && call !== undefined)
        agentSays(reply(agentId, agentResult(call.method, `s${++count}`, 0)) as JsonObject);
      else if (clientId !== undefined) {
        clientSays(reply(clientId, { outcome: { outcome: "cancelled" } }));
      } else break;
    }
    passTime(100_000);
    assert.deepEqual([...asked.client.entries()], [], "I5: requests of the client's are never answered");
    assert.deepEqual([...asked.agent.entries()], [], "I5: requests of the agent's are never answered");
    assert.deepEqual([...unaccounted.keys()], [], "I2: updates are lost");
    for (const [id, { state }] of views) assert.equal(state, "idle", `I7: ${id} is not idle`);
  }

  function end(clientLeftFirst: boolean): void {
    if (!over && clientLeftFirst) give({ type: "client-left" });
    exited = true;
    if (!over) give({ type: "agent-exit", code: 1, signal: null });
    assert.ok(over, "the bridge ends when the agent is gone");
    assert.deepEqual([...asked.client.entries()], [], "I5: the agent died, and the client waits");
    assert.deepEqual([...asked.agent.entries()], [], "I5: the agent waits");
    for (const [id, { turns, state, due }] of views) {
      assert.equal(turns.running, turns.idle, `I7: one running and one idle in ${id}`);
      assert.equal(state, "idle");
      assert.deepEqual(due, []);
    }
  }

  clientSays(request("hello", "initialize", { ...clientHello, capabilities: { elicitation: { form: {} } } }));
  agentSays(
    reply(
      1,
      setting.capable ? agentHello : { protocolVersion: 1, agentCapabilities: { loadSession: true } },
    ) as JsonObject,
  );
  clientSays(request("first", "session/new", { cwd: "/work" }));
  agentSays(reply(2, agentResult("session/new", "s0", setting.capable ? 4 : 2)) as JsonObject);

  return {
    bridge,
    get over() {
      return over;
    },
    play,
    settleDown,
    end,
  };
}

function bytesOf(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** The size of a core's state as JSON, maps and sets included. */
export function stateSize(bridge: Bridge): number {
  const { options: _, effects: __, ...state } = bridge;
  return JSON.stringify(state, (_key, value: unknown) => {
    if (value instanceof Map) return [...value];
    if (value instanceof Set) return [...value];
    return value;
  }).length;
}
