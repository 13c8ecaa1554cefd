/**
 * What the agent asks of the client (docs/mapping.md §10): permissions, elicitations, and everything else.
 */
import { ErrorCode, rpcError } from "../protocol/errors.ts";
import { type ErrorFrame, failure, type RequestId, type ResultFrame, result } from "../protocol/frames.ts";
import { asArray, asObject, asString, isObject, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import { methodToClientV2 } from "../translate/methods.ts";
import type { Notes } from "../translate/notes.ts";
import {
  isRefusal,
  PERMISSION_CANCELLED,
  permissionRequestToV2,
  permissionResultToV1,
} from "../translate/permissions.ts";
import { log, logNotes, toAgent, updateClient } from "./effects.ts";
import { host, isHosted } from "./hosting.ts";
import { awaitsPerson, callClient, clientIdOf, conformParams, conformResult } from "./requests.ts";
import type { Bridge, Session } from "./state.ts";
import { heard, reportState } from "./turns.ts";
import { toolCall } from "./updates.ts";

/** Key under `_meta` that carries the agent's own session id where the client is asked on behalf of another session. */
const ORIGINAL_SESSION = "acp-shift/sessionId";

/** The result of an elicitation that nobody answered. */
export const ELICITATION_CANCELLED = { action: "cancel" };

/** A request of the agent's. It always gets exactly one answer. */
export function agentRequest(bridge: Bridge, id: RequestId | null, method: string, params: unknown): void {
  const sessionId = asString(asObject(params)["sessionId"]);
  const session = sessionId === undefined ? undefined : bridge.sessions.get(sessionId);
  if (session !== undefined) heard(bridge, session);
  if (method === Method.requestPermission) permission(bridge, id, asObject(params));
  else if (method === Method.elicitationCreate) elicitation(bridge, id, asObject(params));
  else if (isHosted(bridge, method))
    host(bridge, id, method, asObject(params), sessionAskedFor(bridge, asObject(params)));
  else if (method.startsWith("fs/") || method.startsWith("terminal/"))
    toAgent(bridge, failure(id, rpcError(ErrorCode.methodNotFound, `${method} is not offered by this client`)));
  else passOn(bridge, id, method, params, sessionId);
}

function passOn(bridge: Bridge, id: RequestId | null, method: string, params: unknown, sessionId?: string): void {
  const v2Method = methodToClientV2(method, "request");
  if (v2Method !== method) log(bridge, "info", "method-prefixed", { sessionId, method, as: v2Method });
  callClient(bridge, params, { method: v2Method, agentId: id, sessionId, translate: (answer) => answer });
}

function permission(bridge: Bridge, id: RequestId | null, params: JsonObject): void {
  const session = sessionAskedFor(bridge, params);
  const cancelled = (reason: string) => {
    log(bridge, "warn", "permission-cancelled", { sessionId: params["sessionId"], reason });
    toAgent(bridge, result(id, PERMISSION_CANCELLED));
  };
  if (session === undefined) return cancelled("no session of the client's to ask it in");
  if (session.turn?.cancelled) return cancelled("the turn is being cancelled");
  if (!asArray(params["options"]).some((option) => typeof asObject(option)["optionId"] === "string")) {
    updateClient(bridge, session, {
      sessionUpdate: "notice",
      severity: "warning",
      title: "A permission request without options was refused",
      description: "The agent asked for permission but offered nothing to choose from.",
    });
    return cancelled("no options offered");
  }

  const asked = asObject(params["toolCall"]);
  const toolCallId = asString(asked["toolCallId"]) ?? "";
  const announced = session.toolCalls.has(toolCallId);
  if (!announced) toolCall(bridge, session, { ...asked, sessionUpdate: "tool_call_update" }, {});
  const { title, fragments = false } = session.toolCalls.get(toolCallId) ?? {};
  const known = title === undefined ? { announced } : { announced, title };
  const notes: Notes = [];
  const v2 = permissionRequestToV2(params, known, { cwd: session.cwd, diffs: session.diffs, fragments }, notes);
  logNotes(bridge, notes, { sessionId: session.id, toolCallId });
  const conformed = bridge.options
    .schemaV2()
    .conform("RequestPermissionRequest", onBehalf(v2, session.id, params["sessionId"]), true);
  if (!conformed.ok) return cancelled(conformed.fault);

  const options = asArray(asObject(conformed.value)["options"]).map(asObject);
  ask(bridge, session, conformed.value, {
    id,
    method: Method.requestPermission,
    cancelled: PERMISSION_CANCELLED,
    translate: (answer) => {
      const v1 = permissionResultToV1(
        answer,
        options.map(({ optionId }) => String(optionId)),
      );
      const record = session.toolCalls.get(toolCallId);
      if (record !== undefined) record.refused = isRefusal(v1, options);
      return result(null, v1);
    },
  });
}

function elicitation(bridge: Bridge, id: RequestId | null, params: JsonObject): void {
  const offered = asObject(bridge.clientCapabilities["elicitation"]);
  const mode = asString(params["mode"]) ?? "form";
  if (!isObject(offered[mode])) {
    const error = rpcError(ErrorCode.methodNotFound, `the client offers no elicitation of mode ${mode}`);
    toAgent(bridge, failure(id, error));
    return;
  }
  const { session, v2 } = elicitationFor(bridge, params);
  if (v2 === undefined || session?.turn?.cancelled) {
    log(bridge, "warn", "elicitation-cancelled", { sessionId: params["sessionId"] });
    toAgent(bridge, result(id, ELICITATION_CANCELLED));
    return;
  }
  const conformed = conformParams(bridge, Method.elicitationCreate, v2);
  if (!conformed.ok) {
    toAgent(bridge, failure(id, rpcError(ErrorCode.invalidParams, conformed.fault)));
    return;
  }
  const call = {
    id,
    method: Method.elicitationCreate,
    cancelled: ELICITATION_CANCELLED,
    translate: (answer: ResultFrame | ErrorFrame) => elicitationAnswer(bridge, answer),
  };
  if (session !== undefined) ask(bridge, session, conformed.value, call);
  else callClient(bridge, conformed.value, { ...call, agentId: id });
}

/** Where an elicitation belongs: a session, or a request of the client's, under the id the client knows it by. */
function elicitationFor(bridge: Bridge, params: JsonObject): { session?: Session; v2?: JsonObject } {
  const { sessionId, requestId } = params;
  if (sessionId === undefined && requestId !== undefined) {
    const known = clientIdOf(bridge, requestId);
    return known === undefined ? {} : { v2: { ...params, requestId: known } };
  }
  const session = sessionAskedFor(bridge, params);
  return session === undefined ? {} : { session, v2: onBehalf(params, session.id, sessionId) };
}

/** Anything that is no answer to an elicitation is none. */
export function elicitationAnswer(bridge: Bridge, answer: ResultFrame | ErrorFrame): ResultFrame | ErrorFrame {
  if ("error" in answer) return answer;
  const conformed = conformResult(bridge, "client", Method.elicitationCreate, answer.result);
  return result(null, conformed.ok ? conformed.value : ELICITATION_CANCELLED);
}

interface Question {
  id: RequestId | null;
  method: string;
  cancelled: JsonObject;
  translate(answer: ResultFrame | ErrorFrame): ResultFrame | ErrorFrame;
}

/** Asks the person at the client; foreground work that waits for it is `requires_action` meanwhile. */
function ask(bridge: Bridge, session: Session, params: unknown, question: Question): void {
  const { id, method, cancelled, translate } = question;
  callClient(bridge, params, { method, agentId: id, sessionId: session.id, cancelled, translate });
  if (works(session) && session.state === "running") reportState(bridge, session, "requires_action");
}

/** The person answered: when nothing else waits for one and the turn goes on, the session runs again. */
export function personAnswered(bridge: Bridge, sessionId: string | undefined): void {
  const session = sessionId === undefined ? undefined : bridge.sessions.get(sessionId);
  if (session === undefined || session.state !== "requires_action") return;
  if (works(session) && !awaitsPerson(bridge, session.id)) reportState(bridge, session, "running");
}

function works(session: Session): boolean {
  return session.turn !== undefined && session.turn.ending === undefined && !session.turn.cancelled;
}

/** The session a question is asked in: the one it names, or, for an id the client does not know, the only one at work. */
function sessionAskedFor(bridge: Bridge, params: JsonObject): Session | undefined {
  const sessionId = asString(params["sessionId"]);
  const session = sessionId === undefined ? undefined : bridge.sessions.get(sessionId);
  if (session !== undefined) return session;
  // Work of a session that was closed is nobody else's.
  if (sessionId !== undefined && bridge.ledgers.has(sessionId)) return undefined;
  const working = [...bridge.sessions.values()].filter((candidate) => candidate.turn !== undefined);
  const [only] = working;
  if (only === undefined || working.length > 1) return undefined;
  heard(bridge, only);
  return only;
}

/** The same question in the client's session, with the agent's own session id kept in `_meta`. */
function onBehalf(params: JsonObject, sessionId: string, original: unknown): JsonObject {
  if (original === sessionId) return params;
  const meta = original === undefined ? {} : { _meta: { ...asObject(params["_meta"]), [ORIGINAL_SESSION]: original } };
  return { ...params, ...meta, sessionId };
}
