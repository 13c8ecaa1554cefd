import { createRequire } from "node:module";
import { expect } from "vitest";
import { step } from "../../src/bridge/bridge.ts";
import { takesChunks } from "../../src/bridge/chunks.ts";
import type { Effect, Event, Side } from "../../src/bridge/events.ts";
import { type Bridge, type BridgeOptions, createBridge } from "../../src/bridge/state.ts";
import { frameText } from "../../src/protocol/chunk-pattern.ts";
import type { JsonObject } from "../../src/protocol/json.ts";
import { readSchema } from "../../src/protocol/schema.ts";
import { createChunkReader } from "../../src/transport/chunk-reader.ts";
import { definesMethod, type Version, validateFrame } from "./schema.ts";

const schemaOf = (version: Version) =>
  readSchema(createRequire(import.meta.url)(`@agentclientprotocol/sdk/schema/${version}/schema.json`));
const [schemaV1, schemaV2] = [schemaOf("v1"), schemaOf("v2")];

/** What the core asks of the world beside frames, timers and words: to keep, to host, to restart. */
export type Act = Extract<Effect, { type: "keep" | "forget" | "recall" | "host" | "end-terminals" | "restart-agent" }>;

/** What one event led to. */
export interface Outcome {
  toClient: JsonObject[];
  toAgent: JsonObject[];
  /** Frames to either side in the order they left. */
  sent: [Side, JsonObject][];
  acts: Act[];
  logs: { level: string; event: string; details: JsonObject }[];
  says: string[];
  done: number | undefined;
  /** How many of the frames were not made, but spliced. */
  spliced: number;
}

/** Options of a core under test: no waiting anywhere unless a test asks for it. */
export const testOptions: BridgeOptions = {
  agentCommand: ["/usr/bin/test-agent", "--acp"],
  agentProtocol: "auto",
  handshakeTimeout: 60_000,
  acceptWindow: 50,
  cancelTimeout: 30_000,
  promptQueue: 64,
  unprompted: "pass",
  stallNotice: 0,
  hosts: { files: false, terminals: false },
  paths: undefined,
  remembers: false,
  lingerLimit: 0,
  settle: 0,
  replaySettle: 0,
  restatedMessages: "keep",
  runId: "run",
  timeOrigin: Date.UTC(2026, 0, 1),
  restartAfterLogin: false,
  behaviourOf: () => testOptions,
  schemaV1: () => schemaV1,
  schemaV2: () => schemaV2,
  agentStderr: () => "",
};

export interface Dialogue {
  bridge: Bridge;
  /** Timers that are set, with their times. */
  timers: Map<string, number>;
  /** All that the core has asked of the world. */
  acts: Act[];
  /** Monotonic time, to be moved by the test. */
  now: number;
  /** Set by a test that makes the core fail; in any other an internal error is one of the test too. */
  hasBug: boolean;
  client(frame: unknown): Outcome;
  agent(frame: unknown): Outcome;
  /** A frame of the agent's as it is on the wire: one whose pattern is known comes as a chunk. */
  agentLine(line: string): Outcome;
  event(event: Event): Outcome;
  /** Fires a timer that is set; fails when it is not. */
  fire(name: string): Outcome;
  /** Lets time pass, in ms: every timer that is due fires at its time, in order. */
  wait(ms: number): Outcome;
}

/**
 * A core without a world: each call gives it one event and returns what it did. Every frame it sends is validated
 * against the schema of its side (in pass-through nothing is).
 */
export function createDialogue(overrides: Partial<BridgeOptions> = {}): Dialogue {
  const options = { ...testOptions, ...overrides };
  if (overrides.behaviourOf === undefined) options.behaviourOf = () => options;
  const bridge = createBridge(options);
  const timers = new Map<string, number>();
  const due = new Map<string, number>();
  const chunks = createChunkReader();
  const saidByClient = new Set<string>();
  let askedInV2 = false;
  const asked: Record<Side, Map<unknown, string>> = { client: new Map(), agent: new Map() };

  function remember(from: Side, value: unknown): void {
    const frame = value as JsonObject;
    if (from === "client" && typeof frame?.["method"] === "string") saidByClient.add(frame["method"]);
    if (typeof frame?.["method"] === "string" && "id" in frame) asked[from].set(frame["id"], frame["method"]);
  }

  /** The version a side speaks: the client says its own, and until it is known whether the agent speaks 2, it is asked in 1. */
  function versionOf(side: Side): Version {
    if (side === "client") return bridge.clientAsksV1 ? "v1" : "v2";
    return bridge.pairing === "downgrade" || askedInV2 ? "v2" : "v1";
  }

  function validate(to: Side, frame: JsonObject): void {
    if (bridge.pairing === "pass-through") return;
    if (to === "agent" && frame["method"] === "initialize" && bridge.clientAsksV1)
      askedInV2 = (frame["params"] as JsonObject)["protocolVersion"] === 2;
    const other = to === "client" ? "client" : "agent";
    const answers = "method" in frame ? undefined : asked[other].get(frame["id"]);
    // A notification by the schema, answered all the same to a client that sends it with an id.
    if (answers === "session/cancel") return;
    // A method that no schema knows is the client's own business, and so is its result.
    const { method } = frame;
    if (to === "agent" && typeof method === "string" && !definesMethod(versionOf("agent"), "agent", method)) {
      expect([...saidByClient]).toContain(method);
      return;
    }
    if (to === "client" && answers !== undefined && !definesMethod(versionOf("client"), "agent", answers)) return;
    const faults = validateFrame(versionOf(to), to, frame, answers);
    expect(faults, `${JSON.stringify(frame)} to the ${to}`).toBeUndefined();
  }

  function event(event: Event): Outcome {
    if (event.type === "frame") remember(event.from, frozen(event.value));
    const outcome = noOutcome();
    for (const effect of step(bridge, event, dialogue.now)) collect(effect, outcome);
    if (!dialogue.hasBug) expect(outcome.logs.find((log) => log.event === "internal-error")).toBeUndefined();
    return outcome;
  }

  function collect(effect: Effect, outcome: Outcome): void {
    switch (effect.type) {
      case "send":
      case "splice":
      case "forward": {
        const frame = JSON.parse(textOf(effect)) as JsonObject;
        if (effect.type === "send") frozen(effect.frame);
        if (effect.type !== "forward") validate(effect.to, frame);
        if (effect.type === "splice") outcome.spliced++;
        outcome.sent.push([effect.to, frame]);
        (effect.to === "client" ? outcome.toClient : outcome.toAgent).push(frame);
        break;
      }
      case "timer":
        timers.set(effect.name, effect.ms);
        due.set(effect.name, dialogue.now + effect.ms);
        break;
      case "clear-timer":
        timers.delete(effect.name);
        due.delete(effect.name);
        break;
      case "log":
        outcome.logs.push(effect);
        break;
      case "say":
        outcome.says.push(effect.text);
        break;
      case "done":
        outcome.done = effect.status;
        break;
      default:
        outcome.acts.push(effect);
        dialogue.acts.push(effect);
    }
  }

  const frame = (from: Side) => (value: unknown) =>
    event({ type: "frame", from, value, line: new TextEncoder().encode(JSON.stringify(value)) });

  const dialogue: Dialogue = {
    bridge,
    timers,
    acts: [],
    now: 0,
    hasBug: false,
    client: frame("client"),
    agent: frame("agent"),
    agentLine(line) {
      const bytes = Buffer.from(line);
      const chunk = takesChunks(bridge) ? chunks.read(bytes, 0, bytes.length) : undefined;
      if (chunk !== undefined) return event({ type: "chunk", chunk });
      const value = JSON.parse(line);
      chunks.parsed(bytes, value);
      return event({ type: "frame", from: "agent", value, line: bytes });
    },
    event,
    fire(name) {
      expect([...timers.keys()]).toContain(name);
      timers.delete(name);
      due.delete(name);
      return event({ type: "timer", name });
    },
    wait(ms) {
      const until = dialogue.now + ms;
      const outcome = noOutcome();
      for (;;) {
        const [next] = [...due].filter(([, at]) => at <= until).sort(([, one], [, other]) => one - other);
        if (next === undefined) break;
        dialogue.now = next[1];
        add(outcome, dialogue.fire(next[0]));
      }
      dialogue.now = until;
      return outcome;
    },
  };
  return dialogue;
}

/** The value, made unchangeable: what has passed is recorded later (trace/recorder.ts), and must still be what it was. */
function frozen(value: unknown): unknown {
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== "object" || next === null || Object.isFrozen(next)) continue;
    open.push(...Object.values(Object.freeze(next)));
  }
  return value;
}

/** The frame as it leaves. */
function textOf(effect: Extract<Effect, { type: "send" | "splice" | "forward" }>): string {
  switch (effect.type) {
    case "send":
      return JSON.stringify(effect.frame);
    case "splice":
      return frameText(effect.chunk, effect.frame);
    case "forward":
      return new TextDecoder().decode(effect.line);
  }
}

function noOutcome(): Outcome {
  return { toClient: [], toAgent: [], sent: [], acts: [], logs: [], says: [], done: undefined, spliced: 0 };
}

function add(to: Outcome, more: Outcome): void {
  to.toClient.push(...more.toClient);
  to.toAgent.push(...more.toAgent);
  to.sent.push(...more.sent);
  to.acts.push(...more.acts);
  to.logs.push(...more.logs);
  to.says.push(...more.says);
  to.done ??= more.done;
  to.spliced += more.spliced;
}

/** One row of a script: something that happens, or something that is expected to come of it. */
export type Row =
  /** A frame in, from one side. */
  | readonly [Side, unknown]
  /** Any other event in. */
  | readonly ["event", Event]
  /** Time that passes, in ms. */
  | readonly ["wait", number]
  /** A whole frame out, to one side. */
  | readonly ["to client" | "to agent", unknown]
  /** What the core asks of the world; it comes after the frames of the same event. */
  | readonly ["does", Act]
  /** The name of a log record; records that no row of the script names do not count. */
  | readonly ["log", string]
  /** The end of the core, with the exit status. */
  | readonly ["done", number];

/**
 * Plays a script: what happens is done to the core, row by row, and what comes of each is compared with the rows that
 * follow it. Every frame out counts, to both sides, in the order in which they left.
 *
 * @returns what the person was told meanwhile
 */
export function play(dialogue: Dialogue, script: readonly Row[]): string {
  const named = new Set(script.flatMap((row) => (row[0] === "log" ? [row[1]] : [])));
  const happened: Row[] = [];
  const says: string[] = [];
  for (const row of script) {
    const outcome = perform(dialogue, row);
    if (outcome === undefined) continue;
    happened.push(row);
    for (const [side, frame] of outcome.sent) happened.push([side === "client" ? "to client" : "to agent", frame]);
    for (const act of outcome.acts) happened.push(["does", act]);
    for (const { event } of outcome.logs) if (named.has(event)) happened.push(["log", event]);
    if (outcome.done !== undefined) happened.push(["done", outcome.done]);
    says.push(...outcome.says);
  }
  expect(happened).toEqual(script);
  return says.join("\n");
}

function perform(dialogue: Dialogue, row: Row): Outcome | undefined {
  switch (row[0]) {
    case "client":
      return dialogue.client(row[1]);
    case "agent":
      return dialogue.agent(row[1]);
    case "event":
      return dialogue.event(row[1]);
    case "wait":
      return dialogue.wait(row[1]);
    default:
      return undefined;
  }
}

/** The `initialize` params of a plain v2 client. */
export const clientHello = {
  protocolVersion: 2,
  info: { name: "test-client", version: "1.0.0" },
  capabilities: {},
};

/** The `initialize` result of a v1 agent that offers everything the stable schema knows. */
export const agentHello = {
  protocolVersion: 1,
  agentInfo: { name: "test-agent", version: "1.0.0" },
  agentCapabilities: {
    loadSession: true,
    promptCapabilities: { image: true, audio: true, embeddedContext: true },
    mcpCapabilities: { http: true, sse: true },
    sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {}, additionalDirectories: {} },
    auth: { logout: {} },
  },
  authMethods: [],
};

export const request = (id: unknown, method: string, params?: unknown) => ({ jsonrpc: "2.0", id, method, params });
export const notify = (method: string, params?: unknown) => ({ jsonrpc: "2.0", method, params });
export const reply = (id: unknown, result: unknown) => ({ jsonrpc: "2.0", id, result });
export const fail = (id: unknown, code: number, message = "failed", data?: unknown) => ({
  jsonrpc: "2.0",
  id,
  error: data === undefined ? { code, message } : { code, message, data },
});
export const update = (sessionId: string, update: unknown) => notify("session/update", { sessionId, update });
export const text = (text: string) => ({ type: "text", text });

/** A dialogue past `initialize`, between a v2 client and a v1 agent. */
export function pairedDialogue(overrides: Partial<BridgeOptions> = {}, hello: unknown = agentHello): Dialogue {
  const dialogue = createDialogue(overrides);
  const { toAgent } = dialogue.client(request("init", "initialize", clientHello));
  dialogue.agent(reply(toAgent[0]?.["id"], hello));
  return dialogue;
}

/** A dialogue with session `s1` open, its `cwd` being /work. */
export function openDialogue(overrides: Partial<BridgeOptions> = {}, hello: unknown = agentHello): Dialogue {
  const dialogue = pairedDialogue(overrides, hello);
  const { toAgent } = dialogue.client(request("new", "session/new", { cwd: "/work" }));
  dialogue.agent(reply(toAgent[0]?.["id"], { sessionId: "s1" }));
  return dialogue;
}

/** Sends a prompt in a session; returns the agent's id for it. */
export function startPrompt(dialogue: Dialogue, id: unknown, words = "hello", sessionId = "s1"): unknown {
  const { toAgent } = dialogue.client(request(id, "session/prompt", { sessionId, prompt: [text(words)] }));
  return toAgent[0]?.["id"];
}

/** The n-th id that the core makes up. */
export const minted = (n: number) => `m_run_${n}`;

export const prompt = (id: unknown, words: string, sessionId = "s1") =>
  request(id, "session/prompt", { sessionId, prompt: [text(words)] });
export const stateUpdate = (state: string, fields: object = {}, sessionId = "s1") =>
  update(sessionId, { ...fields, sessionUpdate: "state_update", state });
export const idle = (fields: object, sessionId = "s1") => stateUpdate("idle", fields, sessionId);
/** A chunk of the agent's message, as v1 has it without a `messageId` and v2 with one. */
export const agentText = (words: string, messageId?: string, sessionId = "s1") =>
  update(sessionId, {
    sessionUpdate: "agent_message_chunk",
    ...(messageId !== undefined && { messageId }),
    content: text(words),
  });

/** What the client hears when its prompt is accepted: the answer, the message, and that the session runs. */
export const accepted = (id: unknown, messageId: string, words: string, sessionId = "s1"): Row[] => [
  ["to client", reply(id, { messageId })],
  ["to client", update(sessionId, { sessionUpdate: "user_message", messageId, content: [text(words)] })],
  ["to client", stateUpdate("running", {}, sessionId)],
];

/** The prompt of {@link runningDialogue}: the agent's id for it. */
export const RUNNING = 3;

/** A dialogue in whose session s1 a prompt runs: "hello", accepted as message {@link minted}(1). */
export function runningDialogue(overrides: Partial<BridgeOptions> = {}, hello: unknown = agentHello): Dialogue {
  const dialogue = openDialogue(overrides, hello);
  expect(startPrompt(dialogue, "p")).toBe(RUNNING);
  expect(dialogue.wait(50).toClient).toEqual(accepted("p", minted(1), "hello").map(([, frame]) => frame));
  return dialogue;
}

/** The `initialize` params of a plain v1 client. */
export const clientHelloV1 = {
  protocolVersion: 1,
  clientInfo: { name: "test-client", version: "1.0.0" },
  clientCapabilities: {},
};

/** The `initialize` result of a v2 agent. */
export const agentHelloV2 = {
  protocolVersion: 2,
  info: { name: "test-agent", version: "1.0.0" },
  capabilities: { session: { prompt: { image: {} }, mcp: { stdio: {}, http: {} }, delete: {} } },
};

/** A dialogue past `initialize`, between a v1 client with these capabilities and a v2 agent. */
export function downgradeDialogue(
  clientCapabilities: object = {},
  overrides: Partial<BridgeOptions> = {},
  hello: unknown = agentHelloV2,
): Dialogue {
  const dialogue = createDialogue({ agentProtocol: "2", ...overrides });
  const { toAgent } = dialogue.client(request("init", "initialize", { ...clientHelloV1, clientCapabilities }));
  dialogue.agent(reply(toAgent[0]?.["id"], hello));
  expect(dialogue.bridge.pairing).toBe("downgrade");
  return dialogue;
}

/** As {@link downgradeDialogue}, with session `s1` open, its `cwd` being /work. */
export function openDowngrade(
  clientCapabilities: object = {},
  overrides: Partial<BridgeOptions> = {},
  result: object = {},
): Dialogue {
  const dialogue = downgradeDialogue(clientCapabilities, overrides);
  const { toAgent } = dialogue.client(request("new", "session/new", { cwd: "/work", mcpServers: [] }));
  dialogue.agent(reply(toAgent[0]?.["id"], { sessionId: "s1", ...result }));
  return dialogue;
}

/** A turn of a version 1 client in s1 runs: its prompt `p`, "hello", is the agent's request 3 and message u1. */
export const runningTurn: Row[] = [
  ["client", prompt("p", "hello")],
  ["to agent", prompt(3, "hello")],
  ["agent", stateUpdate("running")],
  ["agent", reply(3, { messageId: "u1" })],
];
