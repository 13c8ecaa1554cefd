import type { RpcError } from "./errors.ts";
import { isObject, type JsonObject } from "./json.ts";

/** A request id as ACP v2 allows it (schema `RequestId`). */
export type RequestId = number | string;

export interface RequestFrame {
  jsonrpc: "2.0";
  id: RequestId | null;
  method: string;
  params?: unknown;
}
export interface NotificationFrame {
  jsonrpc: "2.0";
  method: string;
  params?: unknown;
}
export interface ResultFrame {
  jsonrpc: "2.0";
  id: RequestId | null;
  result: unknown;
}
export interface ErrorFrame {
  jsonrpc: "2.0";
  id: RequestId | null;
  error: RpcError;
}
/** One JSON-RPC 2.0 message. */
export type Frame = RequestFrame | NotificationFrame | ResultFrame | ErrorFrame;

export function request(id: RequestId, method: string, params?: unknown): RequestFrame {
  return params === undefined ? { jsonrpc: "2.0", id, method } : { jsonrpc: "2.0", id, method, params };
}
export function notification(method: string, params?: unknown): NotificationFrame {
  return params === undefined ? { jsonrpc: "2.0", method } : { jsonrpc: "2.0", method, params };
}
export function result(id: RequestId | null, value: unknown): ResultFrame {
  return { jsonrpc: "2.0", id, result: value === undefined ? null : value };
}
export function failure(id: RequestId | null, error: RpcError): ErrorFrame {
  return { jsonrpc: "2.0", id, error };
}

/** True for an id ACP v2 accepts: a string or an integer. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === "string" || Number.isInteger(value);
}

/** True for an object that looks like a JSON-RPC 2.0 message of any kind. */
export function isFrame(value: unknown): value is JsonObject {
  return (
    isObject(value) &&
    value["jsonrpc"] === "2.0" &&
    (typeof value["method"] === "string" || "result" in value || "error" in value)
  );
}

/**
 * What can be told of a message from its two ends, without the middle: its id, and whether it is a call (a request or
 * notification) rather than a response. Only members of the message itself count, not those of its params.
 */
export function readFrameEnds(head: string, tail: string): { id: RequestId | undefined; isRequest: boolean } {
  const members = topLevelMembers(head);
  const last = /[,{]\s*"id"\s*:\s*(-?\d{1,15}|"(?:[^"\\]|\\.){0,200}")\s*}\s*$/.exec(tail);
  const id = members.get("id") ?? last?.[1];
  return { id: id === undefined ? undefined : readId(id), isRequest: members.has("method") };
}

function readId(text: string): RequestId | undefined {
  try {
    const id: unknown = JSON.parse(text);
    return isRequestId(id) ? id : undefined;
  } catch {
    return undefined;
  }
}

/** The scalar members of the outermost object, as JSON text, as far as the text reaches. */
function topLevelMembers(text: string): Map<string, string> {
  const members = new Map<string, string>();
  const token = /"(?:[^"\\]|\\.)*"|[{}[\]:,"]|[^\s{}[\]:,"]+/g;
  let depth = 0;
  let key: string | undefined;
  let previous = "";
  for (const { 0: part, index } of text.matchAll(token)) {
    // The text is cut off within this string, or perhaps within this scalar.
    if (part === '"' || (/^[^{}[\]:,"]/.test(part) && index + part.length === text.length)) break;
    if (part === "{" || part === "[") depth++;
    else if (part === "}" || part === "]") depth--;
    else if (depth === 1 && part === ":") key = previous;
    else if (depth === 1 && previous === ":" && key !== undefined) members.set(key.slice(1, -1), part);
    previous = part;
  }
  return members;
}
