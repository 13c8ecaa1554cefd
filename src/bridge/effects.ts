/** The few ways in which the core acts: each adds to the effects of the current step. */
import { type Frame, notification } from "../protocol/frames.ts";
import { asObject, isObject, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import type { ProtocolSchema } from "../protocol/schema.ts";
import type { Notes } from "../translate/notes.ts";
import { forPresentClient } from "./connection.ts";
import { keepUpdate } from "./memory.ts";
import type { Bridge, Session } from "./state.ts";

/** Sends the client a frame, or keeps it for when it is back. */
export function toClient(bridge: Bridge, frame: Frame): void {
  const due = bridge.options.lingerLimit > 0 ? forPresentClient(bridge, frame) : frame;
  if (due !== undefined) bridge.effects.push({ type: "send", to: "client", frame: due });
}

/** Sends the agent a frame. */
export function toAgent(bridge: Bridge, frame: Frame): void {
  bridge.effects.push({ type: "send", to: "agent", frame });
}

/** Writes a log record; `event` names what happened, in kebab-case. */
export function log(
  bridge: Bridge,
  level: "debug" | "info" | "warn" | "error",
  event: string,
  details: JsonObject = {},
): void {
  bridge.effects.push({ type: "log", level, event, details });
}

/** One record for each thing a translation lost or guessed. */
export function logNotes(bridge: Bridge, notes: Notes, details: JsonObject): void {
  for (const note of notes) log(bridge, "info", note.rule, { ...details, detail: note.detail });
}

/** Sets the named timer, in ms, in place of one that runs under that name. */
export function setTimer(bridge: Bridge, name: string, ms: number): void {
  bridge.effects.push({ type: "timer", name, ms });
}

/** Takes the named timer back, if it runs. */
export function clearTimer(bridge: Bridge, name: string): void {
  bridge.effects.push({ type: "clear-timer", name });
}

/** Sends the client a session update, and keeps it where it is history the agent cannot tell again. */
export function updateClient(bridge: Bridge, session: Session, update: JsonObject, params: JsonObject = {}): void {
  const sent = sendUpdate(bridge, session, update, params);
  if (sent !== undefined) keepUpdate(bridge, session, sent);
}

/** As {@link updateClient}, for an update made here of what has been checked: the schema is not asked once more. */
export function updateClientAsIs(bridge: Bridge, session: Session, update: JsonObject): void {
  toClient(bridge, notification(Method.sessionUpdate, { sessionId: session.id, update }));
  keepUpdate(bridge, session, update);
}

/**
 * Sends the client a session update. What the agent's frame had beside `update` is kept. An update that is not valid
 * v2 loses its bad optional parts, or is dropped with a record when a required part is bad (I3).
 *
 * @returns the update as it was sent
 */
export function sendUpdate(
  bridge: Bridge,
  session: Session,
  update: JsonObject,
  params: JsonObject = {},
): JsonObject | undefined {
  const full = { ...params, sessionId: session.id, update };
  return sendConforming(bridge, full, bridge.options.schemaV2, "UpdateSessionNotification");
}

/**
 * Sends the client the params of a session update, as strictly as the client's version has them.
 *
 * @param definition the name of the params in that version's schema
 * @returns the update as it was sent
 */
export function sendConforming(
  bridge: Bridge,
  params: JsonObject,
  schema: () => ProtocolSchema,
  definition: string,
): JsonObject | undefined {
  const update = asObject(params["update"]);
  if (isPlainChunk(params)) {
    toClient(bridge, notification(Method.sessionUpdate, params));
    return update;
  }
  const conformed = schema().conform(definition, params, true);
  const details = { sessionId: params["sessionId"], kind: update["sessionUpdate"] };
  if (!conformed.ok) {
    log(bridge, "warn", "update-dropped", { ...details, fault: conformed.fault });
    return undefined;
  }
  if (conformed.dropped.length > 0) log(bridge, "warn", "update-repaired", { ...details, dropped: conformed.dropped });
  toClient(bridge, notification(Method.sessionUpdate, conformed.value));
  return asObject(asObject(conformed.value)["update"]);
}

const CHUNKS = new Set<unknown>(["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]);

/** True for the params of a text chunk with nothing in it that could be invalid: most traffic, sent without asking the schema. */
export function isPlainChunk(params: JsonObject): boolean {
  const update = asObject(params["update"]);
  const content = update["content"];
  return (
    (params["_meta"] === undefined || isObject(params["_meta"])) &&
    CHUNKS.has(update["sessionUpdate"]) &&
    isObject(content) &&
    content["type"] === "text" &&
    typeof content["text"] === "string" &&
    content["annotations"] === undefined &&
    content["_meta"] === undefined &&
    (update["_meta"] === undefined || isObject(update["_meta"]))
  );
}
