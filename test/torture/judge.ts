// Puts a conversation, however spoilt, through what a bridge does with it (bytes, lines, frames, the core, lines again), and
// judges all that comes out by docs/mapping.md §0: valid frames of the receiver's version, one answer to each request, one
// idle to each turn, nothing lost without a record, nothing thrown.
import assert from "node:assert/strict";
import { step } from "../../src/bridge/bridge.ts";
import type { Effect, Event, Side } from "../../src/bridge/events.ts";
import { type BridgeOptions, createBridge } from "../../src/bridge/state.ts";
import { type Frame, failure, isFrame, isRequestId } from "../../src/protocol/frames.ts";
import { asObject, isObject, type JsonObject } from "../../src/protocol/json.ts";
import { decodeAgentLine, decodeClientLine } from "../../src/transport/decode.ts";
import { createLineSplitter, type Line } from "../../src/transport/lines.ts";
import { testOptions } from "../support/dialogue.ts";
import { type Version, validateFrame } from "../support/schema.ts";
import type { Conversation } from "./corpus.ts";

/** What came of a conversation. */
export interface Verdict {
  /** Events given to the core, and frames it sent. */
  events: number;
  frames: number;
  /** Frames or parts of them that were dropped or repaired, with a record. */
  records: number;
  /** Errors that answered a request, or something that was none. */
  errors: number;
}

const MAX_FRAME = 512 * 1024;

/** What the stable schemas do not define is the receiver's to refuse. */
const NOT_JUDGED = /is no v[12] method|has no result|is no (request|notification)|^ForkSession/;

interface View {
  state: unknown;
  due: JsonObject[];
  accepted: number;
  running: number;
  idle: number;
}

/** @throws AssertionError when something came out that must not */
export function judge({ pairing, moments }: Conversation): Verdict {
  const upgrades = pairing === "upgrade";
  const versions: Record<Side, Version> = upgrades ? { client: "v2", agent: "v1" } : { client: "v1", agent: "v2" };
  const options: BridgeOptions = { ...testOptions, agentProtocol: upgrades ? "auto" : "2" };
  options.behaviourOf = () => options;
  const bridge = createBridge(options);
  const verdict: Verdict = { events: 0, frames: 0, records: 0, errors: 0 };
  const timers = new Map<string, number>();
  const splitters = { client: createLineSplitter(MAX_FRAME), agent: createLineSplitter(MAX_FRAME) };
  /** Requests without an answer; of an agent that uses an id twice, all of them. */
  const asked: Record<Side, Map<unknown, string[]>> = { client: new Map(), agent: new Map() };
  /** Which of two requests under one id an answer means cannot be told. */
  const usedTwice = new Set<unknown>();
  const params = new Map<unknown, JsonObject>();
  const views = new Map<unknown, View>();
  const resuming = new Map<unknown, number>();
  const later: Event[] = [];
  let now = 0;
  let over = false;
  /** True while only the ends of a line are known, so that what is answered may be no request. */
  let endsOnly = false;
  /** True while nothing is to be judged: both sides speak one version, or may. */
  let lax = false;

  function give(event: Event): Effect[] {
    if (over) return [];
    verdict.events++;
    const effects = step(bridge, event, now);
    endsOnly = event.type === "oversized";
    lax = bridge.pairing === "pass-through" || bridge.clientAsksV1 === upgrades;
    for (const effect of effects) follow(effect);
    for (const next of later.splice(0)) give(next);
    return effects;
  }

  function follow(effect: Effect): void {
    switch (effect.type) {
      case "send":
        send(effect.to, effect.frame);
        break;
      case "timer":
        timers.set(effect.name, now + effect.ms);
        break;
      case "clear-timer":
        timers.delete(effect.name);
        break;
      case "log":
        assert.notEqual(effect.event, "internal-error", `thrown: ${effect.details["message"]}`);
        JSON.stringify(effect.details, undefined, 0);
        verdict.records++;
        break;
      case "done":
        over = true;
        break;
      default:
    }
  }

  /** As the shell does it: what cannot be written costs no more than whoever waits for it. */
  function send(to: Side, frame: Frame): void {
    let line: string;
    try {
      line = JSON.stringify(frame);
    } catch {
      if (!("id" in frame)) return;
      const refusal = failure(frame.id, { code: -32603, message: "unwritable" });
      if ("method" in frame) later.push({ type: "frame", from: to, value: refusal, line: new Uint8Array() });
      else receive(to, refusal as unknown as JsonObject);
      return;
    }
    assert.ok(!/[\n\r]/.test(line), "a line break within a line");
    receive(to, JSON.parse(line) as JsonObject);
  }

  function receive(to: Side, frame: JsonObject): void {
    verdict.frames++;
    if (lax) {
      if (!("method" in frame)) takeAsked(to, frame["id"]);
      return;
    }
    const isCall = "method" in frame;
    const judged = to === "agent" && frame["id"] === null ? { ...frame, id: 0 } : frame;
    const answers = isCall ? undefined : takeAsked(to, frame["id"]);
    if (!isCall && answers === undefined && !endsOnly)
      assert.ok(to === "client" && frame["id"] === null && "error" in frame, `I5: nobody waits: ${short(frame)}`);
    if ("error" in frame) verdict.errors++;
    const fault = validateFrame(versions[to], to, judged, answers);
    // A notification by the schema, answered all the same to a client that sends it with an id.
    if (fault !== undefined && !NOT_JUDGED.test(fault) && answers !== "session/cancel" && !usedTwice.has(frame["id"]))
      assert.fail(`I3: ${fault}: ${short(frame)}`);
    if (to === "client" && upgrades) followTurns(frame, answers);
  }

  function takeAsked(side: Side, id: unknown): string | undefined {
    const methods = asked[side].get(id) ?? [];
    const method = methods.shift();
    if (methods.length === 0) asked[side].delete(id);
    if (side === "client" && method === "session/resume") count(resuming, params.get(id)?.["sessionId"], -1);
    return method;
  }

  function followTurns(frame: JsonObject, answers: string | undefined): void {
    if (answers === "session/prompt" && "result" in frame) {
      const { sessionId, prompt } = params.get(frame["id"]) ?? {};
      const view = viewOf(sessionId);
      assert.equal(view.state, "idle", "I7: a prompt is accepted while a turn runs");
      view.accepted++;
      view.due = [
        { sessionUpdate: "user_message", messageId: asObject(frame["result"])["messageId"], content: prompt },
        { sessionUpdate: "state_update", state: "running" },
      ];
    }
    if (frame["method"] !== "session/update") return;
    const { sessionId, update } = asObject(frame["params"]);
    const view = viewOf(sessionId);
    const due = view.due.shift();
    const { sessionUpdate, state } = asObject(update);
    if (due !== undefined) assert.equal(sessionUpdate, due["sessionUpdate"], "§9: answer, message, running");
    if (sessionUpdate !== "state_update") return;
    if (due !== undefined) view.running++;
    else if (state === view.state) assert.ok(resuming.has(sessionId), `I7: ${state} twice`);
    else if (state === "idle") view.idle++;
    else assert.notEqual(view.state, "idle", "I7: a session runs without a prompt");
    view.state = state;
  }

  function viewOf(sessionId: unknown): View {
    const known = views.get(sessionId) ?? { state: "idle", due: [], accepted: 0, running: 0, idle: 0 };
    views.set(sessionId, known);
    return known;
  }

  // ---- What comes in.

  function take(from: Side, lines: Line[]): void {
    for (const line of lines) {
      if ("oversized" in line) {
        give({ type: "oversized", from, bytes: line.oversized, head: line.head, tail: line.tail });
      } else if (from === "agent") {
        for (const { value, line: bytes } of decodeAgentLine(line.bytes).frames) agentSays(value, bytes);
      } else {
        const decoded = decodeClientLine(line.bytes);
        if ("fault" in decoded) give({ type: "not-json", line: line.bytes });
        else clientSays(decoded.value, line.bytes);
      }
    }
  }

  function clientSays(value: unknown, line: Uint8Array): void {
    if (over) return;
    if (
      isObject(value) &&
      value["jsonrpc"] === "2.0" &&
      typeof value["method"] === "string" &&
      isRequestId(value["id"])
    ) {
      const { id, method } = value;
      if (!asked.client.has(id)) {
        asked.client.set(id, [method]);
        params.set(id, asObject(value["params"]));
        if (method === "session/resume") count(resuming, params.get(id)?.["sessionId"], 1);
      }
    }
    give({ type: "frame", from: "client", value, line });
  }

  function agentSays(value: JsonObject, line: Uint8Array): void {
    if (over) return;
    assert.ok(isFrame(value));
    const { id, method } = value;
    if (typeof method === "string" && "id" in value) {
      const known = isRequestId(id) ? id : null;
      if (asked.agent.has(known)) usedTwice.add(known);
      asked.agent.set(known, [...(asked.agent.get(known) ?? []), method]);
    }
    const open = bridge.agentCalls.size;
    const effects = give({ type: "frame", from: "agent", value, line });
    const held =
      bridge.sessionsOpening > 0 || [...bridge.sessions.values()].some(({ restoring }) => restoring !== undefined);
    const settled = typeof method !== "string" && bridge.agentCalls.size < open;
    if (effects.length === 0 && upgrades && !over && !lax)
      assert.ok(held || settled, `I2: nothing came of ${short(value)}`);
  }

  function passTime(until: number): void {
    for (let round = 0; ; round++) {
      const [next] = [...timers].sort(([, one], [, other]) => one - other);
      if (next === undefined || next[1] > until || over) break;
      assert.ok(round < 10_000, "timers without end");
      timers.delete(next[0]);
      now = next[1];
      give({ type: "timer", name: next[0] });
    }
    now = Math.max(now, until);
  }

  for (const { from, at, bytes, cuts, ends } of moments) {
    passTime(at);
    const whole = ends ? Buffer.concat([bytes, LINE_FEED]) : bytes;
    for (const [start, end] of pieces(cuts, whole.length)) take(from, splitters[from].push(whole.subarray(start, end)));
  }
  for (const side of ["client", "agent"] as const) take(side, splitters[side].end());
  passTime(now + 100_000);
  give({ type: "agent-exit", code: 1, signal: null });
  // An agent that goes before anybody asked is waited for a little: the client is to hear of it.
  if (!over) passTime(now + 10_000);

  assert.ok(over, "the bridge ends when the agent is gone");
  if (bridge.pairing !== "pass-through") {
    assert.deepEqual([...asked.client], [], "I5: the client waits");
    assert.deepEqual([...asked.agent], [], "I5: the agent waits");
    for (const [id, view] of views) {
      assert.equal(view.state, "idle", `I7: ${id} is not idle`);
      assert.deepEqual([view.running, view.idle], [view.accepted, view.accepted], `I7: one running, one idle in ${id}`);
    }
  }
  assert.deepEqual(
    Reflect.ownKeys(Object.prototype).length,
    OBJECT_MEMBERS,
    "the prototype of all objects was changed",
  );
  return verdict;
}

const LINE_FEED = Buffer.from("\n");
const OBJECT_MEMBERS = Reflect.ownKeys(Object.prototype).length;

function pieces(cuts: readonly number[], length: number): [number, number][] {
  const bounds = [0, ...cuts.filter((cut) => cut > 0 && cut < length), length];
  return bounds.slice(1).map((end, index) => [bounds[index] ?? 0, end]);
}

function count(map: Map<unknown, number>, key: unknown, change: number): void {
  const sum = (map.get(key) ?? 0) + change;
  if (sum > 0) map.set(key, sum);
  else map.delete(key);
}

function short(value: unknown): string {
  return JSON.stringify(value).slice(0, 600);
}
