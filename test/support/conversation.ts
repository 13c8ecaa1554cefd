// What nearly every test from end to end does first: say hello, open a session, see a turn through.
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import type { BridgeProcess } from "./bridge-process.ts";

/** The `initialize` params of a v2 client without special abilities. */
export const HELLO = { protocolVersion: 2, info: { name: "test-client", version: "1.0.0" }, capabilities: {} };

/** The `initialize` result. */
export function initialize(bridge: BridgeProcess, params: JsonObject = HELLO): Promise<JsonObject> {
  return bridge.call("initialize", params);
}

/** Opens a session; its id. */
export async function newSession(bridge: BridgeProcess, params: JsonObject = { cwd: "/work" }): Promise<string> {
  return String((await bridge.call("session/new", params))["sessionId"]);
}

/** Initializes and opens a session; its id. */
export async function openSession(bridge: BridgeProcess): Promise<string> {
  await initialize(bridge);
  return newSession(bridge);
}

export const text = (words: string): JsonObject => ({ type: "text", text: words });

/** One turn as the client saw it. */
export interface Turn {
  sessionId: string;
  /** The response to `session/prompt`. */
  response: JsonObject;
  messageId: string;
  /** Every frame from acp-shift from the prompt to the ending idle, both included. */
  frames: JsonObject[];
  /** The updates of the session among them. */
  updates: JsonObject[];
  /** The update that ended the turn. */
  idle: JsonObject;
}

/** Sends a prompt, and waits for its response and for the idle that ends its turn. */
export async function turn(
  bridge: BridgeProcess,
  sessionId: string,
  prompt: string | JsonObject[],
  extra: JsonObject = {},
): Promise<Turn> {
  const from = bridge.frames.length;
  const content = typeof prompt === "string" ? [text(prompt)] : prompt;
  const response = await bridge.request("session/prompt", { ...extra, sessionId, prompt: content });
  if ("error" in response) throw new Error(`session/prompt failed: ${JSON.stringify(response)}`);
  return turnFrom(bridge, sessionId, from, response);
}

/** The turn that began at position `from` of the record, once it has ended. */
export async function turnFrom(
  bridge: BridgeProcess,
  sessionId: string,
  from: number,
  response: JsonObject,
): Promise<Turn> {
  let running = false;
  const endsTurn = (frame: JsonObject) => {
    const state = stateOf(updateOf(frame, sessionId) ?? {});
    running ||= state === "running";
    return running && state === "idle";
  };
  const last = await bridge.next("idle that ends the turn", endsTurn, from);
  const recorded = bridge.frames.slice(from).flatMap((entry) => (entry.from === "bridge" ? [entry.frame] : []));
  const frames = recorded.slice(0, recorded.indexOf(last) + 1);
  return {
    sessionId,
    response,
    messageId: String(asObject(response["result"])["messageId"]),
    frames,
    updates: updatesIn(frames, sessionId),
    idle: updateOf(last, sessionId) ?? {},
  };
}

/** The updates of a session among frames, in order. */
export function updatesIn(frames: readonly JsonObject[], sessionId: string): JsonObject[] {
  return frames.map((frame) => updateOf(frame, sessionId)).filter((update) => update !== undefined);
}

/** The `update` of a `session/update` frame of this session. */
export function updateOf(frame: JsonObject, sessionId: string): JsonObject | undefined {
  if (frame["method"] !== "session/update") return undefined;
  const params = asObject(frame["params"]);
  return params["sessionId"] === sessionId ? asObject(params["update"]) : undefined;
}

/** The state a `state_update` tells; undefined for other updates. */
export function stateOf(update: JsonObject): unknown {
  return update["sessionUpdate"] === "state_update" ? update["state"] : undefined;
}

/** The kinds of updates in order, neighbours of one kind counted once; states by their name. */
export function outline(updates: readonly JsonObject[]): string[] {
  const kinds = updates.map((update) => String(stateOf(update) ?? update["sessionUpdate"]));
  return kinds.filter((kind, index) => kind !== kinds[index - 1]);
}
