/** What a record says, in a few words: the same words for the terminal and for every other view. */
import { asArray, asObject, asString, isObject, type JsonObject, without } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import type { Leg, TraceRecord } from "./format.ts";

/** Longest text that is made for a frame; frames may have megabytes. */
const LONGEST = 2000;

/** The kind of a `session/update`, undefined for anything else. */
export function updateKind(frame: unknown): string | undefined {
  const { method, params } = asObject(frame);
  return method === Method.sessionUpdate ? asString(asObject(asObject(params)["update"])["sessionUpdate"]) : undefined;
}

/** True for what came from outside, which others are caused by: a frame too that was found in a line of noise. */
export function isIncoming(record: TraceRecord): boolean {
  if (record.type === "frame") return record.leg === "client-bridge" || record.leg === "agent-bridge";
  return record.type !== "header" && record.cause === undefined;
}

const GOES_ON: Partial<Record<Leg, Leg>> = { "client-bridge": "bridge-agent", "agent-bridge": "bridge-client" };

/** Updates the bridge makes of its own, on the occasion of another. */
const OWN_UPDATES = ["state_update", "user_message"];

/** True when `record` is what became of `cause` on its way to the other peer; else it is the bridge's own. */
export function isOnward(cause: TraceRecord | undefined, record: TraceRecord): boolean {
  if (cause?.type !== "frame" || record.type !== "frame") return false;
  const kind = updateKind(record.frame);
  const isOwn = kind !== undefined && OWN_UPDATES.includes(kind) && kind !== updateKind(cause.frame);
  return GOES_ON[cause.leg] === record.leg && cause.kind === record.kind && !isOwn;
}

/**
 * What one looks for first: error answers and invalid frames, bytes that were no frame, lost records, a turn that ended
 * in an error, a failed tool call, a notice of an error, an agent that ended with another status than 0.
 */
export function isFault(record: TraceRecord): boolean {
  switch (record.type) {
    case "bytes":
    case "dropped":
      return true;
    case "event":
      return record.event === "agent-exit" && record.details["code"] !== 0;
    case "frame": {
      if (record.kind === "error" || record.kind === "invalid") return true;
      const update = asObject(asObject(asObject(record.frame)["params"])["update"]);
      return update["stopReason"] === "error" || update["status"] === "failed" || update["severity"] === "error";
    }
    default:
      return false;
  }
}

/** The record's name: a method, a kind of update, an event. */
export function nameOf(record: TraceRecord): string {
  switch (record.type) {
    case "frame":
      return updateKind(record.frame) ?? record.method ?? record.kind;
    case "note":
      return record.rule === undefined ? record.event : `${record.event} (${record.rule})`;
    case "event":
      return record.event;
    default:
      return record.type;
  }
}

/** What is in it, on one line, without what {@link nameOf} says. */
export function contentOf(record: TraceRecord): string {
  return oneLine(contentText(record));
}

function contentText(record: TraceRecord): string {
  switch (record.type) {
    case "header":
      return `${record.agent.command.join(" ")}, acp-shift ${record.acpShift}, ${record.started}`;
    case "frame":
      return frameText(asObject(record.frame), record.frame);
    case "bytes":
      return record.text === undefined
        ? `${record.bytes} bytes that are no text`
        : `${JSON.stringify(record.text.slice(0, LONGEST))}${record.truncated ? ` … of ${record.bytes} bytes` : ""}`;
    case "stderr":
      return record.text;
    case "note":
      return [record.what === "other" ? "" : record.what, short(record.details ?? {})].filter((part) => part).join(" ");
    case "event":
      return short(record.details);
    case "dropped":
      return `${record.records} records${record.bytes > 0 ? ` (${record.bytes} bytes)` : ""} are missing here: ${record.reason}`;
    case "end":
      return `status ${record.status}, ${record.records} records, ${record.dropped} dropped`;
  }
}

function frameText(frame: JsonObject, whole: unknown): string {
  const params = asObject(frame["params"]);
  if (typeof frame["method"] !== "string") return answerText(frame, whole);
  switch (frame["method"]) {
    case Method.sessionUpdate:
      return updateText(asObject(params["update"]));
    case Method.sessionPrompt:
      return asArray(params["prompt"]).map(blockText).join(" ");
    case Method.requestPermission:
      return permissionText(params);
    default:
      return short(without(params, "sessionId"));
  }
}

function answerText(frame: JsonObject, whole: unknown): string {
  if ("error" in frame) {
    const { code, message, data } = asObject(frame["error"]);
    return `${String(code)} ${String(message)}${data === undefined ? "" : ` ${short(data)}`}`;
  }
  return short("result" in frame ? frame["result"] : whole);
}

function updateText(update: JsonObject): string {
  const rest = without(update, "sessionUpdate");
  switch (update["sessionUpdate"]) {
    case "user_message_chunk":
    case "agent_message_chunk":
    case "agent_thought_chunk":
      return `${blockText(rest["content"])}${messageText(rest["messageId"])}`;
    case "user_message":
    case "agent_message":
    case "agent_thought":
      return `${asArray(rest["content"]).map(blockText).join(" ")}${messageText(rest["messageId"])}`;
    case "tool_call":
    case "tool_call_update": {
      const { toolCallId, title, kind, status } = rest;
      const more = without(rest, "toolCallId", "title", "kind", "status", "_meta");
      const parts = [toolCallId, status, kind, title && JSON.stringify(title)].filter((part) => part).map(String);
      return `${parts.join(" ")}${Object.keys(more).length === 0 ? "" : ` ${short(more)}`}`;
    }
    case "state_update": {
      const { state, stopReason, error } = rest;
      return [state, stopReason, error && short(error)].filter((part) => part).join(" ");
    }
    default:
      return short(rest);
  }
}

function permissionText(params: JsonObject): string {
  const call = asObject(params["toolCall"] ?? asObject(params["subject"])["toolCall"]);
  const title = asString(params["title"]) ?? asString(call["title"]) ?? asString(call["toolCallId"]) ?? "";
  const options = asArray(params["options"]).map((option) => String(asObject(option)["optionId"]));
  return `${JSON.stringify(title)} [${options.join(", ")}]`;
}

function messageText(id: unknown): string {
  return typeof id === "string" ? ` (${id})` : "";
}

function blockText(block: unknown): string {
  const { type, text, uri, mimeType } = asObject(block);
  if (type === "text") return JSON.stringify(String(text).slice(0, LONGEST));
  return `[${[type, mimeType, uri].filter((part) => typeof part === "string").join(" ")}]`;
}

/** Compact JSON with long texts cut; an empty object is nothing. */
function short(value: unknown): string {
  if (isObject(value) && Object.keys(value).length === 0) return "";
  const text = JSON.stringify(value, (_key, item: unknown) =>
    typeof item === "string" && item.length > 200 ? `${item.slice(0, 200)}…` : item,
  );
  return (text ?? "").slice(0, LONGEST);
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** How many records are remembered for what becomes of them later. */
const REMEMBERED = 5000;

/** Keeps a value under the number of a record, and forgets the oldest when there are too many. */
export function remember<Value>(map: Map<number, Value>, seq: number, value: Value): void {
  map.set(seq, value);
  const [oldest] = map.keys();
  if (map.size > REMEMBERED && oldest !== undefined) map.delete(oldest);
}
