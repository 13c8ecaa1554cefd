/** Opening, loading, resuming and closing sessions of a v1 client at a v2 agent (docs/mapping.md §13). */
import { ErrorCode, RequestFault, rpcError } from "../../protocol/errors.ts";
import type { RequestId } from "../../protocol/frames.ts";
import { asArray, asObject, asString, type JsonObject } from "../../protocol/json.ts";
import { Method } from "../../protocol/methods.ts";
import { availableCommandsToV1 } from "../../translate/commands.ts";
import { errorToV1 } from "../../translate/errors.ts";
import type { Notes } from "../../translate/notes.ts";
import { resultToClient } from "../../translate/path-map.ts";
import { loadParamsToV2, newSessionParamsToV2, sessionResultToV1 } from "../../translate/sessions.ts";
import { dropEarly, takeEarly } from "../early.ts";
import { logNotes } from "../effects.ts";
import { answer, passOn, refuse } from "../requests.ts";
import type { Bridge } from "../state.ts";
import { updateV1Client } from "./effects.ts";
import { createDowngradedSession, type DowngradedSession } from "./state.ts";
import { endAllPrompts, sendHeld, stopPrompts } from "./turns.ts";
import { sessionUpdate } from "./updates.ts";

/** `session/new`, and the unstable `session/fork`: both name a new session in their result. */
export function openSession(bridge: Bridge, clientId: RequestId, params: JsonObject, method: string): void {
  const v2Params = newSessionParamsToV2(params);
  bridge.sessionsOpening++;
  passOn(bridge, clientId, method, v2Params, (frame) => {
    bridge.sessionsOpening--;
    if ("error" in frame) refuse(bridge, clientId, errorToV1(frame.error));
    else sessionOpened(bridge, clientId, asString(params["cwd"]) ?? "/", asObject(frame.result));
    dropEarly(bridge);
  });
}

function sessionOpened(bridge: Bridge, clientId: RequestId, cwd: string, result: JsonObject): void {
  const sessionId = asString(result["sessionId"]);
  if (sessionId === undefined || sessionId === "") {
    refuse(bridge, clientId, rpcError(ErrorCode.internalError, "the agent's result names no session"));
    return;
  }
  const before = bridge.downgraded.get(sessionId);
  if (before !== undefined) endAllPrompts(bridge, before);
  const session = createDowngradedSession(sessionId, cwd);
  bridge.downgraded.set(sessionId, session);
  const early = takeEarly(bridge, sessionId);
  answerWithSession(bridge, session, clientId, result);
  for (const update of early) sessionUpdate(bridge, session, update);
}

/** The answer that gives the client a session; the commands in it, which v1 has as an update, follow it. */
function answerWithSession(bridge: Bridge, session: DowngradedSession, clientId: RequestId, result: JsonObject): void {
  const notes: Notes = [];
  session.configOptions = result["configOptions"] ?? session.configOptions;
  answer(bridge, clientId, sessionResultToV1(result, bridge.abilities.booleans, notes));
  if (asArray(result["availableCommands"]).length > 0) {
    const availableCommands = availableCommandsToV1(result["availableCommands"], notes);
    updateV1Client(bridge, session, { sessionUpdate: "available_commands_update", availableCommands });
  }
  logNotes(bridge, notes, { sessionId: session.id });
}

/**
 * `session/load` is v2's `session/resume` with the whole history, which comes before the answer as v1 wants it;
 * `session/resume` is the same without. A load tells the session from its start, whatever the client was sent before.
 */
export function resumeSession(bridge: Bridge, clientId: RequestId, params: JsonObject, method: string): void {
  const loads = method === Method.sessionLoad;
  const v2Params = loads ? loadParamsToV2(params) : newSessionParamsToV2(params);
  const sessionId = asString(params["sessionId"]) ?? "";
  const live = bridge.downgraded.get(sessionId);
  const session = live ?? createDowngradedSession(sessionId, asString(params["cwd"]) ?? "/");
  if (loads) {
    const { messages, toolCalls, terminals, plans } = createDowngradedSession(sessionId, session.cwd);
    Object.assign(session, { messages, toolCalls, terminals, plans });
  }
  bridge.downgraded.set(sessionId, session);
  session.restoring = true;
  passOn(bridge, clientId, Method.sessionResume, v2Params, (frame) => {
    session.restoring = false;
    if ("result" in frame) {
      answerWithSession(bridge, session, clientId, asObject(frame.result));
    } else {
      const error = errorToV1(frame.error);
      refuse(bridge, clientId, error);
      if (live === undefined && bridge.downgraded.get(sessionId) === session) {
        bridge.downgraded.delete(sessionId);
        for (const held of session.held.splice(0)) refuse(bridge, held.clientId, error);
      }
    }
    sendHeld(bridge, session);
  });
}

/** `session/list`: the agent's own. */
export function listSessions(bridge: Bridge, clientId: RequestId, params: JsonObject): void {
  passOn(bridge, clientId, Method.sessionList, params, (frame) => {
    if ("error" in frame) return refuse(bridge, clientId, errorToV1(frame.error));
    const list = asObject(frame.result);
    const { paths } = bridge.options;
    answer(bridge, clientId, paths === undefined ? list : resultToClient(paths, Method.sessionList, list));
  });
}

/**
 * `session/close` and `session/delete`. The agent cancels what runs and says so before it answers; prompts that wait
 * here are not sent any more. A session the agent does not know counts as closed.
 */
export function closeSession(bridge: Bridge, clientId: RequestId, params: JsonObject, method: string): void {
  const sessionId = asString(params["sessionId"]) ?? "";
  const session = bridge.downgraded.get(sessionId);
  if (session !== undefined) stopPrompts(bridge, session);
  passOn(bridge, clientId, method, params, (frame) => {
    const gone = "error" in frame && frame.error.code === ErrorCode.resourceNotFound && method === Method.sessionClose;
    if ("error" in frame && !gone) {
      if (session !== undefined) session.closing = false;
      refuse(bridge, clientId, errorToV1(frame.error));
      return;
    }
    if (session !== undefined) {
      endAllPrompts(bridge, session);
      if (bridge.downgraded.get(sessionId) === session) bridge.downgraded.delete(sessionId);
    }
    answer(bridge, clientId, "result" in frame ? frame.result : {});
  });
}

/**
 * The session a request names.
 *
 * @throws RequestFault `-32002` when the client has not opened it
 */
export function openSessionOf(bridge: Bridge, params: JsonObject): DowngradedSession {
  const sessionId = asString(params["sessionId"]) ?? "";
  const session = bridge.downgraded.get(sessionId);
  if (session !== undefined) return session;
  const message = "session not found: open it with session/new, session/load or session/resume first";
  throw new RequestFault(rpcError(ErrorCode.resourceNotFound, message, { sessionId }));
}
