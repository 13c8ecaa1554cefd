import { ErrorCode, type RpcError, rpcError } from "../protocol/errors.ts";
import { asString, isObject } from "../protocol/json.ts";

/** How agents say that a session does not exist, once the session's id is taken out of the text. */
const NO_SUCH_SESSION: readonly RegExp[] = [
  /\b(?:session|conversation|thread)[\s_-]*(?:id|identifier)?\W{0,8}(?:was |is |could |does |has )?(?:not (?:be )?found|not exist|doesn't exist|unknown\b|not (?:active|open|loaded))/i,
  /\b(?:unknown|invalid|no such|nonexistent) (?:session|conversation|thread)[\s_-]*(?:id|identifier)\b/i,
  /\b(?:unknown|no such|nonexistent) (?:session|conversation|thread)(?:\W*$|\s*["':,.({[])/i,
  /\bno (?:session|conversation|thread|rollout)s?(?: was| were)? found\b/i,
];

/** How agents say that a session takes no prompt while one runs. A busy *model* is another matter. */
const BUSY: readonly RegExp[] = [
  /\b(?:agent|session|thread|conversation)\b.{0,30}\bbusy\b/i,
  /\bbusy (?:processing|with|handling|running)\b/i,
  /\balready\b.{0,40}\b(?:running|in progress|processing|active|prompting|generating|streaming)\b/i,
  /\b(?:prompt|turn)\b.{0,20}\b(?:in progress|running|underway)\b/i,
  /\banother (?:prompt|turn|generation)\b/i,
];

/** The longest stretch of an error's text that is searched for a known spelling, in characters. */
const SEARCHED_CHARS = 4096;

/**
 * The `error` member of a peer's response, whatever JSON it holds, as a valid error object (schema `Error`).
 * A code that is no integer becomes `-32603`, and what was received goes to `data.cause`.
 */
export function readError(value: unknown): RpcError {
  if (!isObject(value)) {
    return rpcError(ErrorCode.internalError, asString(value) ?? "Internal error", { cause: value });
  }
  const message = asString(value.message) ?? "";
  if (!Number.isSafeInteger(value.code)) {
    return rpcError(ErrorCode.internalError, message || "Internal error", { cause: value });
  }
  return rpcError(Number(value.code), message || "Unnamed error", value.data);
}

/**
 * An agent's error as the v2 client receives it (docs/mapping.md §2, §12).
 *
 * "No such session" in its known spellings, in the answer to a session-scoped method, becomes `-32002` with
 * `data: {sessionId, cause}`. A code that is no integer becomes `-32603` with `data.cause`. The message is put on one
 * line. Code and data of every other error stay.
 *
 * @param context the method the error answers, and the session id of its params when it had one
 */
export function errorToV2(error: RpcError, context: { method: string; sessionId?: string }): RpcError {
  const read = Number.isSafeInteger(error.code) ? error : readError(error);
  const message = singleLine(read.message) || "Unnamed error";
  const { sessionId } = context;
  if (sessionId !== undefined && context.method.startsWith("session/") && isNoSuchSession(error, sessionId)) {
    return rpcError(ErrorCode.resourceNotFound, message, { sessionId, cause: error });
  }
  return { ...read, message };
}

/** True for an error by which a v1 agent says that it takes no prompt now because one is running (docs/mapping.md §9). */
export function isBusyError(error: RpcError): boolean {
  const text = textOf(error);
  return BUSY.some((spelling) => spelling.test(text));
}

function isNoSuchSession(error: RpcError, sessionId: string): boolean {
  const { code, data } = error;
  if (code === ErrorCode.resourceNotFound) return !namesAnotherResource(data, sessionId);
  if (code !== ErrorCode.invalidParams && code !== ErrorCode.internalError) return false;
  const text = textOf(error);
  const withoutId = text.replaceAll(sessionId, "");
  return NO_SUCH_SESSION.some((spelling) => spelling.test(withoutId));
}

/** `-32002` is also "resource not found": v1 agents then name the resource's URI in `data.uri`. */
function namesAnotherResource(data: unknown, sessionId: string): boolean {
  const uri = isObject(data) ? asString(data.uri) : undefined;
  return uri !== undefined && !uri.includes(sessionId) && !/session/i.test(uri);
}

/** The message, and the texts of `data` at most two levels down. */
function textOf(error: RpcError): string {
  const texts = [asString(error.message) ?? "", ...stringsIn(error.data, 2)];
  return texts.join("\n").slice(0, SEARCHED_CHARS);
}

function stringsIn(value: unknown, depth: number): string[] {
  if (typeof value === "string") return [value];
  if (depth === 0 || typeof value !== "object" || value === null) return [];
  return Object.values(value)
    .slice(0, 20)
    .flatMap((inner) => stringsIn(inner, depth - 1));
}

/** The text on one line: its lines, without the space round them and the empty ones among them. */
export function singleLine(text: unknown): string {
  const lines = (asString(text) ?? "").split(/[\r\n\u2028\u2029]/).map((line) => line.trim());
  return lines.filter((line) => line !== "").join(" ");
}

/**
 * A v2 agent's error as the v1 client receives it (docs/mapping.md §13): v1's codes are v2's. What is no error object is
 * repaired as {@link readError} has it, and the message is put on one line.
 */
export function errorToV1(error: unknown): RpcError {
  const read = readError(error);
  return { ...read, message: singleLine(read.message) || "Unnamed error" };
}
