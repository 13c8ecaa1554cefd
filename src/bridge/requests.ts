/**
 * The two id spaces, exactly one answer to every request, and cancellation (docs/mapping.md §0 I4 and I5, §9).
 */
import { ErrorCode, type RpcError, rpcError } from "../protocol/errors.ts";
import {
  type ErrorFrame,
  failure,
  notification,
  type RequestId,
  type ResultFrame,
  request,
  result,
} from "../protocol/frames.ts";
import { asObject, isObject, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import type { Conformed, ProtocolSchema } from "../protocol/schema.ts";
import { type PathMap, paramsToAgent } from "../translate/path-map.ts";
import { isAway, isOrphan } from "./connection.ts";
import { log, toAgent, toClient, updateClient } from "./effects.ts";
import type { Side } from "./events.ts";
import type { AgentCall, Bridge, ClientCall } from "./state.ts";

/** Sends the agent a request under the bridge's own id (docs/mapping.md §0, I4). Returns that id. */
export function callAgent(bridge: Bridge, params: unknown, call: AgentCall): number {
  const id = bridge.nextAgentId++;
  bridge.agentCalls.set(id, call);
  const paths = pathsOfAgent(bridge);
  const ownPaths = paths !== undefined && isObject(params) ? paramsToAgent(paths, call.method, params) : params;
  toAgent(bridge, request(id, call.method, ownPaths));
  return id;
}

/**
 * The path map where it is applied at the agent's end of the core. It speaks of version 1, so that in a downgrade it is
 * applied at the client's.
 */
export function pathsOfAgent(bridge: Bridge): PathMap | undefined {
  return bridge.pairing === "downgrade" ? undefined : bridge.options.paths;
}

/** As {@link callAgent}, for a request of the client's: when the client withdraws that one, the agent's goes with it. */
export function passOn(
  bridge: Bridge,
  clientId: RequestId,
  method: string,
  params: unknown,
  onAnswer: AgentCall["onAnswer"],
): void {
  const agentId = callAgent(bridge, params, { method, onAnswer });
  const open = bridge.clientRequests.get(clientId);
  if (open !== undefined) open.agentId = agentId;
}

/** Sends the client a request under the bridge's own id; when it is back, if it is away. */
export function callClient(bridge: Bridge, params: unknown, call: Omit<ClientCall, "params" | "waits">): void {
  const id = bridge.nextClientId++;
  const waits = isAway(bridge, call.sessionId);
  bridge.clientCalls.set(id, { ...call, params, waits });
  if (!waits) toClient(bridge, request(id, call.method, params));
}

/** Answers a request of the client's with a result in its own version; the second answer to one request is dropped (I5). */
export function answer(bridge: Bridge, clientId: RequestId, value: unknown): void {
  const open = bridge.clientRequests.get(clientId);
  if (open === undefined) return;
  const conformed = conformResult(bridge, "agent", open.method, value);
  if (conformed.ok) answerAsIs(bridge, clientId, conformed.value);
  else refuse(bridge, clientId, rpcError(ErrorCode.internalError, `the agent's result is invalid: ${conformed.fault}`));
}

/** Answers a request of the client's with a result that is nobody's to change: an extension's, or in pass-through. */
export function answerAsIs(bridge: Bridge, clientId: RequestId, value: unknown): void {
  if (bridge.clientRequests.delete(clientId)) toClient(bridge, result(clientId, value));
}

/** Answers a request of the client's with an error; the second answer to one request is dropped (I5). */
export function refuse(bridge: Bridge, clientId: RequestId, error: RpcError): void {
  const open = bridge.clientRequests.get(clientId);
  if (open === undefined) return;
  bridge.clientRequests.delete(clientId);
  toClient(bridge, failure(clientId, error));
  const session = bridge.sessions.get(open.sessionId ?? "");
  if (open.method === Method.sessionPrompt && session !== undefined && isOrphan(bridge, clientId))
    updateClient(bridge, session, refusalNotice(error));
}

/** Whoever sent the prompt lost its connection before it was refused, and would never hear of it. */
function refusalNotice(error: RpcError): JsonObject {
  return {
    sessionUpdate: "notice",
    severity: "warning",
    title: "A prompt sent before the connection was lost was not taken",
    description: error.message,
  };
}

/** The result of a method that `side` serves, in the shape the schema gives it, if that defines the method (I3). */
export function conformResult(bridge: Bridge, side: Side, method: string, value: unknown): Conformed {
  return conform(bridge, side, method, "result", value);
}

/** The params of a call to the client, in the shape the schema gives them, if that defines the method (I3). */
export function conformParams(bridge: Bridge, method: string, params: unknown): Conformed {
  return conform(bridge, "client", method, "params", params);
}

/** The schema of the version that side speaks. A v1 agent is judged leniently by v2's, in whose shape the core works. */
function schemaTo(bridge: Bridge, side: Side): ProtocolSchema {
  const speaksV1 = bridge.pairing === "downgrade" && side === "client";
  return speaksV1 ? bridge.options.schemaV1() : bridge.options.schemaV2();
}

function conform(bridge: Bridge, side: Side, method: string, part: "params" | "result", value: unknown): Conformed {
  const receiver = part === "params" ? side : side === "client" ? "agent" : "client";
  const schema = schemaTo(bridge, receiver);
  const definition = schema.definitionOf(side, method, part);
  if (definition === undefined) return { ok: true, value, dropped: [] };
  const conformed = schema.conform(definition, value ?? {}, true);
  const about = { method, sessionId: asObject(value)["sessionId"] };
  if (!conformed.ok) log(bridge, "warn", `${part}-invalid`, { ...about, fault: conformed.fault });
  else if (conformed.dropped.length > 0)
    log(bridge, "warn", `${part}-repaired`, { ...about, dropped: conformed.dropped });
  return conformed;
}

/**
 * The open request a response answers: by its number, or by the string twin of it (`"7"` for 7). A second response to
 * a settled id finds nothing.
 */
export function settled<Call>(open: Map<number, Call>, id: unknown): Call | undefined {
  const number = typeof id === "string" && /^[1-9][0-9]*$/.test(id) ? Number(id) : id;
  if (typeof number !== "number") return undefined;
  const call = open.get(number);
  open.delete(number);
  return call;
}

/** What whoever asked is told of a fault of the bridge's own. */
export const FAULT: RpcError = rpcError(
  ErrorCode.internalError,
  "acp-shift failed to handle this request; please report it",
);

/** Passes the client's answer to the agent's request back, under the agent's own id. */
export function answerAgent(bridge: Bridge, call: ClientCall, frame: ResultFrame | ErrorFrame): void {
  let answer: ResultFrame | ErrorFrame = failure(null, FAULT);
  try {
    answer = call.translate(frame);
  } finally {
    toAgent(bridge, { ...answer, id: call.agentId });
  }
}

/**
 * Cancelled work no longer waits for a person: the agent's open permission and elicitation requests of the session are
 * answered as cancelled and withdrawn from the client, whose later answer then settles nothing.
 */
export function withdrawRequests(bridge: Bridge, sessionId: string): void {
  for (const [clientId, call] of bridge.clientCalls) {
    if (call.sessionId !== sessionId || call.cancelled === undefined) continue;
    bridge.clientCalls.delete(clientId);
    toAgent(bridge, result(call.agentId, call.cancelled));
    if (!call.waits) toClient(bridge, notification(Method.cancelRequest, { requestId: clientId }));
  }
}

/** True while a request that waits for a person is open in the session. */
export function awaitsPerson(bridge: Bridge, sessionId: string): boolean {
  for (const call of bridge.clientCalls.values())
    if (call.sessionId === sessionId && call.cancelled !== undefined) return true;
  return false;
}

/**
 * The agent withdraws a request of its own: passed on under the id the client knows it by, and answered for a client that
 * is away.
 *
 * @returns the session of the request when that is answered now
 */
export function cancelFromAgent(bridge: Bridge, params: JsonObject): string | undefined {
  for (const [clientId, call] of bridge.clientCalls) {
    if (call.agentId !== params["requestId"]) continue;
    if (call.waits) {
      answerInstead(bridge, clientId, call, rpcError(ErrorCode.requestCancelled, "the request was withdrawn"));
      return call.sessionId;
    }
    call.withdrawn = true;
    toClient(bridge, notification(Method.cancelRequest, { ...params, requestId: clientId }));
    return undefined;
  }
  log(bridge, "debug", "cancel-of-unknown-request", { from: "agent" });
  return undefined;
}

/** The client withdraws a request of its own: passed on under the id the agent knows it by. */
export function cancelFromClient(bridge: Bridge, params: JsonObject): void {
  const open = bridge.clientRequests.get(params["requestId"] as RequestId);
  if (open?.agentId !== undefined && bridge.agentCalls.has(open.agentId))
    toAgent(bridge, notification(Method.cancelRequest, { ...params, requestId: open.agentId }));
  else log(bridge, "debug", "cancel-of-unknown-request", { from: "client" });
}

/** The client's own id of an open request that the agent knows under `agentId`. */
export function clientIdOf(bridge: Bridge, agentId: unknown): RequestId | undefined {
  // A request that is still held here has no such id.
  if (agentId === undefined) return undefined;
  for (const [clientId, open] of bridge.clientRequests) if (open.agentId === agentId) return clientId;
  return undefined;
}

/** Answers everything that is still open on both sides: the bridge is ending (I5). */
export function answerEverything(bridge: Bridge, error: RpcError): void {
  for (const clientId of [...bridge.clientRequests.keys()]) refuse(bridge, clientId, error);
  bridge.agentCalls.clear();
  answerForClient(bridge);
}

/** The client is gone: whatever the agent still waits for is answered in its place (I5). */
export function answerForClient(bridge: Bridge): void {
  for (const [id, call] of bridge.clientCalls)
    answerInstead(bridge, id, call, rpcError(ErrorCode.internalError, "the client is gone"));
}

/** Answers a request of the agent's in the client's place: cancelled where it waited for a person, else the error. */
export function answerInstead(bridge: Bridge, id: number, call: ClientCall, error: RpcError): void {
  bridge.clientCalls.delete(id);
  toAgent(bridge, call.cancelled === undefined ? failure(call.agentId, error) : result(call.agentId, call.cancelled));
}
