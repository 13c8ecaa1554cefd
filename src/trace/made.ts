/**
 * What the bridge makes up, fills in or sends at another time without a word in the log, told from a frame it wrote and
 * what made it write it.
 */
import { asObject, isObject, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import type { FrameRecord, NoteRecord } from "./format.ts";

type Kind = FrameRecord["kind"];

/** A frame the bridge wrote. */
export interface Written {
  to: "client" | "agent";
  kind: Kind;
  /** Its method; of an answer, its request's. */
  method: string | undefined;
  frame: JsonObject;
}

/** What made the bridge write it: a frame it read, or anything else that reached it (`event`, as in its record). */
export type Cause =
  | { from: "client" | "agent"; kind: Kind; method: string | undefined; frame: JsonObject }
  | { from: "nobody"; event: string };

export interface Made {
  event: string;
  what: NoteRecord["what"];
  /** A number or section of docs/mapping.md. */
  rule: string;
}

const made = (event: string, what: Made["what"], rule: string): Made => ({ event, what, rule });

/** The section of docs/mapping.md that a method belongs to. */
const SECTIONS: ReadonlyMap<string | undefined, string> = new Map([
  [Method.initialize, "§1"],
  [Method.authLogin, "§2"],
  [Method.authLogout, "§2"],
  [Method.authenticate, "§2"],
  [Method.logout, "§2"],
  [Method.sessionNew, "§3"],
  [Method.sessionFork, "§3"],
  [Method.sessionLoad, "§4"],
  [Method.sessionList, "§4"],
  [Method.sessionResume, "§4"],
  [Method.sessionClose, "§4"],
  [Method.sessionDelete, "§4"],
  [Method.sessionPrompt, "§9"],
  [Method.sessionCancel, "§9"],
  [Method.sessionSetConfigOption, "§8"],
  [Method.requestPermission, "§10"],
  [Method.elicitationCreate, "§10"],
]);

const sectionOf = (method: string | undefined): string =>
  SECTIONS.get(method) ?? (/^_?(?:fs|terminal)\//.test(method ?? "") ? "§10" : "§12");

/**
 * What is to be noted of a frame; nothing where it is what its cause became, in the form of the other version.
 *
 * @param isAsked whether the client has a request of the frame's method open
 */
export function madeOf(written: Written, cause: Cause, isAsked: () => boolean): Made | undefined {
  const { kind, method, to } = written;
  if (kind === "notification" && method === Method.sessionUpdate && to === "client") return updateMade(written, cause);
  if (kind === "result" || kind === "error")
    return to === "client" ? answerMade(written, cause) : answerForClient(cause);
  if (kind !== "request" && kind !== "notification") return undefined;
  const isSame = cause.from !== "nobody" && cause.from !== to && bare(cause.method) === bare(method);
  if (isSame && method === Method.initialize) {
    const params = asObject(written.frame["params"]);
    const isForBoth = "info" in params && "clientInfo" in params && !("clientInfo" in asObject(cause.frame["params"]));
    return isForBoth ? made("initialize-for-both", "changed", "1.2") : undefined;
  }
  if (isSame) return undefined;
  if (method === Method.cancelRequest) return made("request-withdrawn", "synthesised", "§9");
  if (to === "client") return undefined;
  if (kind === "notification") return made("notification-made", "synthesised", sectionOf(method));
  if (isAsked()) return made("request-sent-late", "other", sectionOf(method));
  if (cause.from === "client" && cause.kind === "request")
    return made("request-translated", "changed", sectionOf(cause.method));
  return made("request-made", "synthesised", sectionOf(method));
}

const bare = (method: string | undefined): string | undefined => method?.replace(/^_/, "");

function answerMade({ method, frame }: Written, cause: Cause): Made | undefined {
  if (method === Method.sessionPrompt && "result" in frame) return made("prompt-accepted", "synthesised", "§9");
  const rule = sectionOf(method);
  if (cause.from === "client") return made("answer-made", "synthesised", rule);
  if (cause.from === "nobody")
    return cause.event === "recalled"
      ? made("answer-made", "synthesised", rule)
      : made("answer-sent-late", "other", rule);
  if (cause.kind !== "result" && cause.kind !== "error") return made("answer-sent-late", "other", rule);
  if (method === Method.initialize)
    return "agentCapabilities" in asObject(cause.frame["result"]) && !("agentCapabilities" in asObject(frame["result"]))
      ? made("initialize-translated", "changed", "§1")
      : undefined;
  return method === cause.method ? undefined : made("answer-derived", "changed", rule);
}

function answerForClient(cause: Cause): Made | undefined {
  const isClients = cause.from === "client" && (cause.kind === "result" || cause.kind === "error");
  return isClients ? undefined : made("answered-for-client", "synthesised", "§10");
}

const CHUNK = /_chunk$/;

/** What an agent says before it answers these waits for the answer. */
const OPENING = new Set<string | undefined>([
  Method.sessionNew,
  Method.sessionFork,
  Method.sessionLoad,
  Method.sessionResume,
]);

/** Out of the bridge's own memory. */
function isHistory(cause: Cause): boolean {
  return cause.from === "nobody"
    ? cause.event === "recalled"
    : cause.from === "client" && cause.method === Method.sessionResume;
}

function isHosted(cause: Cause): boolean {
  return cause.from === "nobody" && (cause.event === "terminal" || cause.event === "hosted");
}

function noticeRule(cause: Cause): string {
  if (cause.from !== "nobody") return "§10";
  return cause.event === "oversized" ? "§12" : "§9";
}

function updateMade({ frame }: Written, cause: Cause): Made | undefined {
  const update = updateOf(frame);
  const kind = String(update["sessionUpdate"]);
  if (kind === "state_update") return made("state-told", "synthesised", "§9");
  if (isHistory(cause)) return made("history-told", "synthesised", "§4");
  if (kind === "user_message" || kind === "agent_message" || kind === "agent_thought")
    return made("message-told-whole", "synthesised", "§5");
  if (kind === "terminal_update" || kind === "terminal_output_chunk")
    return made("terminal-told", "synthesised", isHosted(cause) ? "§10" : "§6");
  if (kind === "notice") return made("notice-given", "synthesised", noticeRule(cause));
  if (cause.from !== "agent" || cause.kind === "result" || cause.kind === "error") {
    const method = cause.from === "nobody" ? undefined : cause.method;
    if (cause.from === "agent" && OPENING.has(method)) return made("update-sent-late", "other", "§3");
    if (kind === "tool_call_update") return made("tool-call-ended", "synthesised", "§6");
    return made("update-made", "synthesised", kind === "config_option_update" ? "§8" : sectionOf(method));
  }
  const given = updateOf(cause.frame);
  if (kind === "plan_update" && given["sessionUpdate"] === "plan") return made("plan-named", "synthesised", "7.1");
  if (kind === "tool_call_update" && isText(update["title"]) && !isText(given["title"]))
    return made("tool-call-titled", "guessed", "6.3");
  if (CHUNK.test(kind) && update["messageId"] !== given["messageId"])
    return isText(given["messageId"])
      ? made("message-id-changed", "changed", "§5")
      : made("message-id-made", "synthesised", "§5");
  return undefined;
}

/** What a frame tells of a session, or the tool call a permission is asked for. */
function updateOf(frame: JsonObject): JsonObject {
  const params = asObject(frame["params"]);
  const { update, toolCall } = params;
  if (isObject(update)) return update;
  return isObject(toolCall) ? toolCall : {};
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}
