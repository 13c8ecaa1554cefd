// What both worlds of the model checker have in common: a core with time of its own, and what must hold of every frame
// whatever it says (docs/mapping.md §0: I3, I4, I5).
import assert from "node:assert/strict";
import { step } from "../../src/bridge/bridge.ts";
import type { Effect, Event, Side } from "../../src/bridge/events.ts";
import { type Bridge, type BridgeOptions, createBridge } from "../../src/bridge/state.ts";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import { testOptions } from "../support/dialogue.ts";
import { type Version, validateFrame } from "../support/schema.ts";

/** What one event led to. */
export interface Outcome {
  toClient: JsonObject[];
  toAgent: JsonObject[];
  /** Frames to either side in the order they left. */
  sent: [Side, JsonObject][];
  logs: string[];
}

export interface Wire {
  bridge: Bridge;
  over: boolean;
  /** Timers that are set, and when each is due. */
  timers: Map<string, number>;
  /** Requests of each side that have no answer, by id. */
  asked: Record<Side, Map<unknown, string>>;
  /** The core's own requests to each side that have no answer, by id. */
  calls: Record<Side, Map<number, JsonObject>>;
  /** Gives the core a frame of a peer's. */
  frame(from: Side, value: JsonObject): Outcome;
  event(event: Event): Outcome;
  /** Lets the timer that is due next run out; undefined when none is set. */
  nextTimer(): Outcome | undefined;
  /** All that the core's future depends on, with times as distances from now. */
  key(): unknown;
}

/** Frames that were found valid before, but for their numbers. */
const valid = new Set<string>();

export function createWire(overrides: Partial<BridgeOptions>, versions: Record<Side, Version>): Wire {
  const options = { ...testOptions, ...overrides };
  options.behaviourOf = () => options;
  const lastId: Record<Side, number> = { client: 0, agent: 0 };
  let now = 0;

  const wire: Wire = {
    bridge: createBridge(options),
    over: false,
    timers: new Map(),
    asked: { client: new Map(), agent: new Map() },
    calls: { client: new Map(), agent: new Map() },
    frame(from, value) {
      if (typeof value["method"] !== "string") wire.calls[from].delete(value["id"] as number);
      else if ("id" in value) wire.asked[from].set(value["id"], value["method"]);
      return wire.event({ type: "frame", from, value, line: new Uint8Array() });
    },
    event(event) {
      const outcome: Outcome = { toClient: [], toAgent: [], sent: [], logs: [] };
      const effects = step(wire.bridge, event, now);
      if (wire.over) assert.deepEqual(effects, [], "nothing happens after the end");
      for (const effect of effects) follow(effect, outcome);
      assert.ok(!outcome.logs.includes("internal-error"), JSON.stringify(effects));
      return outcome;
    },
    nextTimer() {
      const [next] = [...wire.timers].sort(([, one], [, other]) => one - other);
      if (next === undefined) return undefined;
      wire.timers.delete(next[0]);
      now = Math.max(now, next[1]);
      return wire.event({ type: "timer", name: next[0] });
    },
    key() {
      const { options: _, effects: __, now: ___, ...state } = wire.bridge;
      const timers = [...wire.timers].map(([name, due]) => [name, due - now]);
      return JSON.stringify([state, timers, wire.over, wire.asked, wire.calls], (name, value: unknown) => {
        if (value instanceof Map || value instanceof Set) return [...value];
        if (typeof value === "function") return "function";
        if (name === "updatedAt") return undefined;
        // The core compares them with limits of at most 10 s.
        if (name === "lastSign" || name === "answeredAt") return Math.min(now - Number(value), 20_000);
        return value;
      });
    },
  };

  function follow(effect: Effect, outcome: Outcome): void {
    if (effect.type === "send") sent(effect.to, JSON.parse(JSON.stringify(effect.frame)) as JsonObject, outcome);
    else if (effect.type === "timer") wire.timers.set(effect.name, now + effect.ms);
    else if (effect.type === "clear-timer") wire.timers.delete(effect.name);
    else if (effect.type === "log") outcome.logs.push(effect.event);
    else if (effect.type === "done") {
      wire.over = true;
      wire.timers.clear();
    }
  }

  function sent(to: Side, frame: JsonObject, outcome: Outcome): void {
    const { id, method } = frame;
    let answers: string | undefined;
    if (typeof method !== "string") {
      answers = wire.asked[to].get(id);
      assert.ok(answers !== undefined, `I5: the ${to} waits for no answer to ${JSON.stringify(id)}`);
      wire.asked[to].delete(id);
    } else if ("id" in frame) {
      assert.ok(Number.isInteger(id) && Number(id) > lastId[to], "I4: an id of the core's is new each time");
      lastId[to] = Number(id);
      wire.calls[to].set(Number(id), frame);
    }
    checkValid(to, frame, answers);
    outcome.sent.push([to, frame]);
    (to === "client" ? outcome.toClient : outcome.toAgent).push(frame);
  }

  function checkValid(to: Side, frame: JsonObject, answers: string | undefined): void {
    const key = `${to} ${versions[to]} ${answers} ${JSON.stringify(frame).replace(/\d+/g, "0")}`;
    if (valid.has(key)) return;
    const fault = validateFrame(versions[to], to, frame, answers);
    assert.equal(fault, undefined, `I3: ${JSON.stringify(frame)}`);
    valid.add(key);
  }

  return wire;
}

/** The update in a `session/update`; undefined for any other frame. */
export function updateIn(frame: JsonObject): JsonObject | undefined {
  return frame["method"] === "session/update" ? asObject(asObject(frame["params"])["update"]) : undefined;
}

/** Checks that nothing is open, of either side's or the core's, and that no timer is left. */
export function checkSettled(wire: Wire): void {
  const open = { client: [...wire.asked.client.values()], agent: [...wire.asked.agent.values()] };
  assert.deepEqual(open, { client: [], agent: [] }, "I5: a request without an answer");
  if (wire.over) return;
  assert.deepEqual([...wire.timers.keys()], [], "a timer is left");
  const { clientRequests, agentCalls, clientCalls, pipelined, early } = wire.bridge;
  const kept = [clientRequests.size, agentCalls.size, clientCalls.size, pipelined.length, early.size];
  assert.deepEqual(kept, [0, 0, 0, 0, 0], "I6: something is kept that nobody waits for");
}
