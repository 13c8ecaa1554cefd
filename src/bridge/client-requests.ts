/**
 * What the client asks of the agent: each v2 method, and what it becomes in v1 (docs/mapping.md §2–§4, §8, §9).
 */
import { ErrorCode, invalidParams, RequestFault, rpcError } from "../protocol/errors.ts";
import type { RequestId } from "../protocol/frames.ts";
import { asObject, asString, isObject, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import { configOptionsToV2, setConfigOptionToV1 } from "../translate/config-options.ts";
import { errorToV2 } from "../translate/errors.ts";
import { log } from "./effects.ts";
import { restartAgent } from "./negotiate.ts";
import { answer, answerAsIs, passOn, refuse } from "./requests.ts";
import { closeSession, deleteSession, listSessions, openSession, resumeSession, touch } from "./sessions.ts";
import type { Bridge, Session } from "./state.ts";
import { cancel, prompt } from "./turns.ts";

type Handler = (bridge: Bridge, clientId: RequestId, params: JsonObject, method: string) => void;

/** Every request of version 2 that is more than its v1 namesake. */
const HANDLERS: Record<string, Handler> = {
  [Method.authLogin]: login,
  [Method.authLogout]: logout,
  [Method.sessionNew]: openSession,
  [Method.sessionFork]: openSession,
  [Method.sessionList]: listSessions,
  [Method.sessionResume]: resumeSession,
  [Method.sessionClose]: closeSession,
  [Method.sessionDelete]: deleteSession,
  [Method.sessionPrompt]: sendPrompt,
  [Method.sessionSetConfigOption]: setConfigOption,
  [Method.sessionCancel]: (bridge, id, params) => {
    // A notification by the book; some clients send it as a request, and wait.
    cancelSession(bridge, params);
    answerAsIs(bridge, id, {});
  },
  [Method.toolCallCancel]: notCancellable("toolCallId"),
  [Method.terminalCancel]: notCancellable("terminalId"),
};

/**
 * A request of the client's, in the upgrade pairing. Its params are checked against the v2 schema first.
 *
 * @throws RequestFault when the request is at fault; nothing has been sent then
 */
export function clientRequest(bridge: Bridge, clientId: RequestId, method: string, params: unknown): void {
  const handler = Object.hasOwn(HANDLERS, method) ? HANDLERS[method] : undefined;
  if (handler === undefined) return forward(bridge, clientId, method, params);
  if (method === Method.sessionPrompt && isPlainPrompt(params)) return handler(bridge, clientId, params, method);
  const schema = bridge.options.schemaV2();
  const definition = schema.definitionOf("agent", method, "params");
  // An unstable method, which the stable schema does not define.
  if (definition === undefined) return handler(bridge, clientId, asObject(params), method);
  const conformed = schema.conform(definition, params ?? {}, false);
  if (!conformed.ok) throw invalidParams(conformed.fault);
  if (conformed.dropped.length > 0)
    log(bridge, "info", "params-repaired", { method, sessionId: sessionIn(params), dropped: conformed.dropped });
  handler(bridge, clientId, asObject(conformed.value), method);
}

/** True for the params of a prompt of text with nothing in it that could be invalid: its first chunk is waited for. */
export function isPlainPrompt(params: unknown): params is JsonObject {
  if (!isObject(params) || typeof params["sessionId"] !== "string" || params["_meta"] !== undefined) return false;
  const { prompt: blocks } = params;
  return (
    Array.isArray(blocks) &&
    blocks.length > 0 &&
    blocks.every(
      (block) =>
        isObject(block) &&
        block["type"] === "text" &&
        typeof block["text"] === "string" &&
        Object.keys(block).length === 2,
    )
  );
}

/** Passes a request on under the agent's name for it, and its answer back. */
function forward(
  bridge: Bridge,
  clientId: RequestId,
  method: string,
  params: unknown,
  onResult = (result: unknown) => answer(bridge, clientId, result),
): void {
  const sessionId = sessionIn(params);
  passOn(bridge, clientId, method, params, (frame) => {
    if ("error" in frame)
      refuse(bridge, clientId, errorToV2(frame.error, sessionId === undefined ? { method } : { method, sessionId }));
    else onResult(frame.result);
  });
}

function login(bridge: Bridge, clientId: RequestId, params: JsonObject): void {
  forward(bridge, clientId, Method.authenticate, params, (result) => {
    if (bridge.behaviour.restartAfterLogin) restartAgent(bridge, clientId, result);
    else answer(bridge, clientId, result);
  });
}

function logout(bridge: Bridge, clientId: RequestId, params: JsonObject): void {
  if (!bridge.offers?.logout) throw new RequestFault(rpcError(ErrorCode.internalError, "this agent cannot log out"));
  forward(bridge, clientId, Method.logout, params);
}

function sendPrompt(bridge: Bridge, clientId: RequestId, params: JsonObject): void {
  const session = openSessionOf(bridge, params);
  touch(bridge, session);
  prompt(bridge, session, clientId, params);
}

function setConfigOption(bridge: Bridge, clientId: RequestId, params: JsonObject): void {
  const session = openSessionOf(bridge, params);
  const call = setConfigOptionToV1(params, session.config);
  passOn(bridge, clientId, call.method, call.params, (frame) => {
    if ("error" in frame) {
      refuse(bridge, clientId, errorToV2(frame.error, { method: call.method, sessionId: session.id }));
      return;
    }
    const { configOptions: list, ...rest } = asObject(frame.result);
    session.config = Array.isArray(list) ? { ...session.config, configOptions: list } : call.apply(session.config);
    answer(bridge, clientId, { ...rest, configOptions: configOptionsToV2(session.config) });
  });
}

/** `session/cancel`; of a session the client has not opened there is nothing to cancel. */
export function cancelSession(bridge: Bridge, params: unknown): void {
  const session = bridge.sessions.get(sessionIn(params) ?? "");
  if (session !== undefined) cancel(bridge, session, asObject(params));
  else log(bridge, "debug", "cancel-of-unknown-session", { sessionId: sessionIn(params) });
}

function sessionIn(params: unknown): string | undefined {
  return asString(asObject(params)["sessionId"]);
}

function openSessionOf(bridge: Bridge, params: JsonObject): Session {
  const sessionId = asString(params["sessionId"]) ?? "";
  const session = bridge.sessions.get(sessionId);
  if (session?.connection === bridge.connection) return session;
  const message = "session not found: open it with session/new or session/resume first";
  throw new RequestFault(rpcError(ErrorCode.resourceNotFound, message, { sessionId }));
}

function notCancellable(key: "toolCallId" | "terminalId"): Handler {
  return (_, __, params) => {
    throw invalidParams(`the agent cannot cancel this: it announced no such capability`, { [key]: params[key] });
  };
}
