/**
 * What a v1 client asks of the agent: each v1 method, and what it becomes in v2 (docs/mapping.md §13).
 */
import { invalidParams } from "../../protocol/errors.ts";
import type { RequestId } from "../../protocol/frames.ts";
import { asObject, asString, type JsonObject } from "../../protocol/json.ts";
import { Method } from "../../protocol/methods.ts";
import { configOptionsToV1, setConfigOptionToV2, setModeToV2 } from "../../translate/config-options.ts";
import { promptToV2 } from "../../translate/content.ts";
import { errorToV1 } from "../../translate/errors.ts";
import type { Notes } from "../../translate/notes.ts";
import { paramsToAgent } from "../../translate/path-map.ts";
import { log, logNotes } from "../effects.ts";
import { restartAgent } from "../negotiate.ts";
import { answer, answerAsIs, cancelFromClient, passOn, refuse } from "../requests.ts";
import type { Bridge } from "../state.ts";
import { closeSession, listSessions, openSession, openSessionOf, resumeSession } from "./sessions.ts";
import type { DowngradedSession } from "./state.ts";
import { cancel, cancelPrompt, prompt } from "./turns.ts";
import { configUpdate, takeConfig } from "./updates.ts";

type Handler = (bridge: Bridge, clientId: RequestId, params: JsonObject, method: string) => void;

/** Every request of version 1 that is more than its v2 namesake. */
const HANDLERS: Record<string, Handler> = {
  [Method.authenticate]: login,
  [Method.logout]: (bridge, id, params) => forward(bridge, id, Method.authLogout, params),
  [Method.sessionNew]: openSession,
  [Method.sessionFork]: openSession,
  [Method.sessionLoad]: resumeSession,
  [Method.sessionResume]: resumeSession,
  [Method.sessionList]: listSessions,
  [Method.sessionClose]: closeSession,
  [Method.sessionDelete]: closeSession,
  [Method.sessionPrompt]: sendPrompt,
  [Method.sessionSetMode]: setMode,
  [Method.sessionSetConfigOption]: setConfigOption,
  [Method.sessionCancel]: (bridge, id, params) => {
    // A notification by the book; some clients send it as a request, and wait.
    cancelSession(bridge, params);
    answerAsIs(bridge, id, {});
  },
};

/**
 * A request of the client's, in the downgrade pairing. Its params are checked against the v1 schema first.
 *
 * @throws RequestFault when the request is at fault; nothing has been sent then
 */
export function clientRequest(bridge: Bridge, clientId: RequestId, method: string, params: unknown): void {
  const handler = Object.hasOwn(HANDLERS, method) ? HANDLERS[method] : undefined;
  if (handler === undefined) return forward(bridge, clientId, method, params);
  const schema = bridge.options.schemaV1();
  const definition = schema.definitionOf("agent", method, "params");
  const conformed = definition === undefined ? undefined : schema.conform(definition, params ?? {}, false);
  if (conformed?.ok === false) throw invalidParams(conformed.fault);
  if (conformed !== undefined && conformed.dropped.length > 0)
    log(bridge, "info", "params-repaired", { method, sessionId: sessionIn(params), dropped: conformed.dropped });
  const checked = asObject(conformed === undefined ? params : conformed.value);
  const { paths } = bridge.options;
  handler(bridge, clientId, paths === undefined ? checked : paramsToAgent(paths, method, checked), method);
}

/** Passes a request on under the agent's name for it, and its answer back. */
function forward(
  bridge: Bridge,
  clientId: RequestId,
  method: string,
  params: unknown,
  onResult = (result: unknown) => answer(bridge, clientId, result),
): void {
  passOn(bridge, clientId, method, params, (frame) => {
    if ("error" in frame) refuse(bridge, clientId, errorToV1(frame.error));
    else onResult(frame.result);
  });
}

function login(bridge: Bridge, clientId: RequestId, params: JsonObject): void {
  forward(bridge, clientId, Method.authLogin, params, (result) => {
    if (bridge.behaviour.restartAfterLogin) restartAgent(bridge, clientId, result);
    else answer(bridge, clientId, result);
  });
}

function sendPrompt(bridge: Bridge, clientId: RequestId, params: JsonObject): void {
  prompt(bridge, openSessionOf(bridge, params), clientId, promptToV2(params));
}

function setMode(bridge: Bridge, clientId: RequestId, params: JsonObject): void {
  const session = openSessionOf(bridge, params);
  const v2Params = setModeToV2(params, session.configOptions);
  forward(bridge, clientId, Method.sessionSetConfigOption, v2Params, (result) => {
    const { configOptions, ...rest } = asObject(result);
    if (Array.isArray(configOptions)) {
      // The result of v1's method has no room for it.
      session.configOptions = configOptions;
      configUpdate(bridge, session);
    }
    answer(bridge, clientId, rest);
  });
}

function setConfigOption(bridge: Bridge, clientId: RequestId, params: JsonObject): void {
  const session = openSessionOf(bridge, params);
  const v2Params = setConfigOptionToV2(params, session.configOptions);
  forward(bridge, clientId, Method.sessionSetConfigOption, v2Params, (result) => {
    const v2Result = asObject(result);
    const notes: Notes = [];
    takeConfig(bridge, session, v2Result["configOptions"]);
    const configOptions = configOptionsToV1(session.configOptions, bridge.abilities.booleans, notes);
    logNotes(bridge, notes, { sessionId: session.id });
    answer(bridge, clientId, { ...v2Result, configOptions });
  });
}

/** `session/cancel`; of a session the client has not opened there is nothing to cancel. */
export function cancelSession(bridge: Bridge, params: unknown): void {
  const session = sessionNamed(bridge, params);
  if (session !== undefined) cancel(bridge, session, asObject(params));
  else log(bridge, "debug", "cancel-of-unknown-session", { sessionId: sessionIn(params) });
}

function sessionNamed(bridge: Bridge, params: unknown): DowngradedSession | undefined {
  return bridge.downgraded.get(sessionIn(params) ?? "");
}

function sessionIn(params: unknown): string | undefined {
  return asString(asObject(params)["sessionId"]);
}

/** The client's `$/cancel_request`. */
export function cancelRequest(bridge: Bridge, params: JsonObject): void {
  for (const session of bridge.downgraded.values())
    if (cancelPrompt(bridge, session, params["requestId"] as RequestId)) return;
  cancelFromClient(bridge, params);
}
