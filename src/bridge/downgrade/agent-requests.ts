/**
 * What a v2 agent asks of a v1 client (docs/mapping.md §13): permissions, elicitations, and everything else.
 */
import { ErrorCode, rpcError } from "../../protocol/errors.ts";
import { failure, type RequestId, result } from "../../protocol/frames.ts";
import { asArray, asObject, asString, isObject, type JsonObject } from "../../protocol/json.ts";
import { Method } from "../../protocol/methods.ts";
import { methodToClientV1 } from "../../translate/methods.ts";
import type { Notes } from "../../translate/notes.ts";
import { PERMISSION_CANCELLED, permissionRequestToV1, permissionResultToV2 } from "../../translate/permissions.ts";
import { ELICITATION_CANCELLED, elicitationAnswer } from "../agent-requests.ts";
import { log, logNotes, toAgent } from "../effects.ts";
import { callClient, clientIdOf, conformParams } from "../requests.ts";
import type { Bridge } from "../state.ts";
import { mintId } from "../turns.ts";
import { clientPaths } from "./effects.ts";
import type { DowngradedSession } from "./state.ts";
import { contextOf, endQuestion, sendToolCall } from "./updates.ts";

/** A request of the agent's. It always gets exactly one answer. */
export function agentRequest(bridge: Bridge, id: RequestId | null, method: string, params: unknown): void {
  if (method === Method.requestPermission) return permission(bridge, id, asObject(params));
  if (method === Method.elicitationCreate) return elicitation(bridge, id, asObject(params));
  // v2 has no such methods: what a v1 client could do for the agent goes unused.
  if (method.startsWith("fs/") || method.startsWith("terminal/")) {
    toAgent(bridge, failure(id, rpcError(ErrorCode.methodNotFound, `${method} is not known here`)));
    return;
  }
  const v1Method = methodToClientV1(method, "request");
  const sessionId = asString(asObject(params)["sessionId"]);
  if (v1Method !== method) log(bridge, "info", "method-prefixed", { sessionId, method, as: v1Method });
  callClient(bridge, params, { method: v1Method, agentId: id, sessionId, translate: (answer) => answer });
}

/** Nobody is asked for work that is being cancelled. */
function isEnding({ turn, closing }: DowngradedSession): boolean {
  return closing || turn?.cancelled === true;
}

function permission(bridge: Bridge, id: RequestId | null, params: JsonObject): void {
  const session = bridge.downgraded.get(asString(params["sessionId"]) ?? "");
  const cancelled = (reason: string) => {
    log(bridge, "warn", "permission-cancelled", { sessionId: params["sessionId"], reason });
    toAgent(bridge, result(id, PERMISSION_CANCELLED));
  };
  if (session === undefined) return cancelled("no session of the client's to ask it in");
  if (isEnding(session)) return cancelled("the turn is being cancelled");

  const notes: Notes = [];
  const { v1, made } = permissionToV1(bridge, session, params, notes);
  logNotes(bridge, notes, { sessionId: session.id });
  const full = clientPaths(bridge, Method.requestPermission, v1);
  const conformed = conformParams(bridge, Method.requestPermission, full);
  if (!conformed.ok) return cancelled(conformed.fault);
  const asked = asObject(conformed.value);
  const options = asArray(asked["options"]).map(asObject);
  if (options.length === 0) return cancelled("no option that version 1 knows");
  const question = asString(made?.["toolCallId"]);
  if (question !== undefined) {
    session.questions.add(question);
    sendToolCall(bridge, session, { sessionUpdate: "tool_call_update", ...made });
  }
  callClient(bridge, asked, {
    method: Method.requestPermission,
    agentId: id,
    sessionId: session.id,
    cancelled: PERMISSION_CANCELLED,
    translate(answer) {
      const offered = options.flatMap(({ optionId }) => asString(optionId) ?? []);
      const v2 = permissionResultToV2(answer, offered);
      if (question !== undefined) endQuestion(bridge, session, question, isAllowed(v2, options));
      return result(null, v2);
    },
  });
}

/**
 * The question in v1's terms. It is always about a tool call that the client has been told of: the agent's, which is
 * announced now if it was not before, else one made for the question, for the caller to announce.
 */
function permissionToV1(
  bridge: Bridge,
  session: DowngradedSession,
  params: JsonObject,
  notes: Notes,
): { v1: JsonObject; made: JsonObject | undefined } {
  const subject = asObject(params["subject"]);
  const own = subject["type"] === "tool_call" && isObject(subject["toolCall"]) ? subject["toolCall"] : undefined;
  const toolCallId = asString(own === undefined ? subject["toolCallId"] : own["toolCallId"]) ?? mintId(bridge);
  if (own !== undefined && !session.toolCalls.has(toolCallId))
    sendToolCall(bridge, session, { sessionUpdate: "tool_call_update", ...own });
  const context = contextOf(bridge, session, toolCallId);
  const { params: v1, made } = permissionRequestToV1(params, context, toolCallId, notes);
  if (!context.announced) return { v1, made };
  // What the client knows better stays as it is.
  const toolCall = made === undefined ? asObject(v1["toolCall"]) : { toolCallId };
  return { v1: { ...v1, toolCall: { title: context.title, ...toolCall } }, made: undefined };
}

function isAllowed(v2Result: JsonObject, options: readonly JsonObject[]): boolean {
  const { optionId } = asObject(v2Result["outcome"]);
  const chosen = options.find((option) => option["optionId"] === optionId);
  return asString(chosen?.["kind"])?.startsWith("allow") === true;
}

function elicitation(bridge: Bridge, id: RequestId | null, params: JsonObject): void {
  const mode = asString(params["mode"]) ?? "form";
  if (!isObject(asObject(bridge.clientCapabilities["elicitation"])[mode])) {
    const error = rpcError(ErrorCode.methodNotFound, `the client offers no elicitation of mode ${mode}`);
    toAgent(bridge, failure(id, error));
    return;
  }
  const session = bridge.downgraded.get(asString(params["sessionId"]) ?? "");
  const v1 = elicitationToClient(bridge, session, params);
  if (v1 === undefined || (session !== undefined && isEnding(session))) {
    log(bridge, "warn", "elicitation-cancelled", { sessionId: params["sessionId"] });
    toAgent(bridge, result(id, ELICITATION_CANCELLED));
    return;
  }
  const conformed = conformParams(bridge, Method.elicitationCreate, v1);
  if (!conformed.ok) {
    toAgent(bridge, failure(id, rpcError(ErrorCode.invalidParams, conformed.fault)));
    return;
  }
  callClient(bridge, conformed.value, {
    method: Method.elicitationCreate,
    agentId: id,
    sessionId: session?.id,
    cancelled: ELICITATION_CANCELLED,
    translate: (answer) => elicitationAnswer(bridge, answer),
  });
}

/** The same elicitation in the session or for the request that the client knows; undefined when it knows neither. */
function elicitationToClient(
  bridge: Bridge,
  session: DowngradedSession | undefined,
  params: JsonObject,
): JsonObject | undefined {
  if (session !== undefined) return params;
  const { sessionId, requestId } = params;
  const known = sessionId === undefined ? clientIdOf(bridge, requestId) : undefined;
  return known === undefined ? undefined : { ...params, requestId: known };
}
