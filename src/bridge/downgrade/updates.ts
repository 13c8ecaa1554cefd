/**
 * The v2 agent's `session/update` notifications on their way to a v1 client (docs/mapping.md §13).
 */
import { asArray, asObject, asString, type JsonObject, without } from "../../protocol/json.ts";
import { configOptionsToV1, currentModeOf } from "../../translate/config-options.ts";
import type { Notes } from "../../translate/notes.ts";
import { plansToV1 } from "../../translate/plans.ts";
import { type ToolCallToV1Context, toolCallToV1 } from "../../translate/tool-calls.ts";
import { updateToV1 } from "../../translate/updates.ts";
import { keepEarly, readUpdate } from "../early.ts";
import { log, logNotes } from "../effects.ts";
import type { Bridge } from "../state.ts";
import { updateV1Client } from "./effects.ts";
import { messageKind, messageUpdate } from "./messages.ts";
import type { DowngradedSession } from "./state.ts";
import { showTerminals, terminalChunk, terminalText, terminalUpdate } from "./terminals.ts";
import { mayBeEcho, stateUpdate } from "./turns.ts";

const DONE = new Set<unknown>(["completed", "cancelled"]);
const FINAL_STATUSES = new Set<unknown>(["completed", "failed", "cancelled"]);

/** A `session/update` notification of the agent's. */
export function agentUpdate(bridge: Bridge, received: unknown): void {
  const read = readUpdate(bridge, received);
  if (read === undefined) return;
  const { sessionId, params } = read;
  const session = bridge.downgraded.get(sessionId);
  if (session === undefined) keepEarly(bridge, sessionId, params);
  else sessionUpdate(bridge, session, params);
}

/** An update of a session the client knows. */
export function sessionUpdate(bridge: Bridge, session: DowngradedSession, params: JsonObject): void {
  const update = asObject(params["update"]);
  const kind = update["sessionUpdate"];
  const message = messageKind(kind);
  if (message !== undefined) {
    const messageId = asString(update["messageId"]) ?? "";
    if (message !== "user_message" || !mayBeEcho(session, messageId, params))
      messageUpdate(bridge, session, update, params);
    return;
  }
  switch (kind) {
    case "state_update":
      return stateUpdate(bridge, session, update);
    case "tool_call_update":
      return toolCall(bridge, session, update, params);
    case "tool_call_content_chunk":
      return toolCallChunk(bridge, session, update, params);
    case "terminal_update":
      return terminalUpdate(bridge, session, update);
    case "terminal_output_chunk":
      return terminalChunk(bridge, session, update);
    case "plan_update":
    case "plan_removed":
      return plan(bridge, session, update, params);
    case "config_option_update":
      return configChanged(bridge, session, update, params);
    default:
      return other(bridge, session, update, params);
  }
}

/** A tool call or a change of one: the first that names an id is v1's `tool_call`. */
function toolCall(bridge: Bridge, session: DowngradedSession, update: JsonObject, params: JsonObject): void {
  const toolCallId = asString(update["toolCallId"]);
  if (toolCallId === undefined) {
    log(bridge, "warn", "update-dropped", { sessionId: session.id, fault: "toolCallId must be a string" });
    return;
  }
  sendToolCall(bridge, session, update, params);
}

/** Content added to a tool call: v1 has only the whole of it. */
function toolCallChunk(bridge: Bridge, session: DowngradedSession, update: JsonObject, params: JsonObject): void {
  const before = session.toolCalls.get(asString(update["toolCallId"]) ?? "")?.content ?? [];
  const content = [...before, update["content"]];
  toolCall(bridge, session, { ...update, sessionUpdate: "tool_call_update", content }, params);
}

/** Sends the client a tool call as v1 has it, with the terminals it shows, and remembers what is needed of it. */
export function sendToolCall(
  bridge: Bridge,
  session: DowngradedSession,
  update: JsonObject,
  params: JsonObject = {},
): void {
  const toolCallId = asString(update["toolCallId"]) ?? "";
  const known = session.toolCalls.get(toolCallId);
  const notes: Notes = [];
  const meta = showTerminals(bridge, session, toolCallId, update);
  const v1 = toolCallToV1(update, contextOf(bridge, session, toolCallId), notes);
  logNotes(bridge, notes, { sessionId: session.id, toolCallId });
  session.toolCalls.set(toolCallId, {
    title: asString(v1["title"]) ?? known?.title ?? "",
    status: asString(update["status"]) ?? known?.status ?? "pending",
    content: "content" in update ? asArray(update["content"]) : (known?.content ?? []),
  });
  const full = meta === undefined ? v1 : { ...v1, _meta: { ...asObject(v1["_meta"]), ...meta } };
  updateV1Client(bridge, session, full, params);
}

/** What the translation of a tool call needs to know. */
export function contextOf(bridge: Bridge, session: DowngradedSession, toolCallId: string): ToolCallToV1Context {
  const known = session.toolCalls.get(toolCallId);
  return {
    announced: known !== undefined,
    ...(known !== undefined && { title: known.title }),
    ...(!bridge.abilities.displayTerminals && { showTerminal: (id: string) => terminalText(session, id) }),
  };
}

/** The question a tool call was made for is answered, or withdrawn. */
export function endQuestion(bridge: Bridge, session: DowngradedSession, toolCallId: string, isAllowed: boolean): void {
  session.questions.delete(toolCallId);
  const status = isAllowed ? "completed" : "failed";
  sendToolCall(bridge, session, { sessionUpdate: "tool_call_update", toolCallId, status });
}

/** What is kept of tool calls, terminals and plans that are over is not needed once their turn is. */
export function forgetEnded(session: DowngradedSession): void {
  const { toolCalls, terminals, plans } = session;
  const isOver = (toolCallId: string) => FINAL_STATUSES.has(toolCalls.get(toolCallId)?.status);
  const showing = new Set<string>();
  for (const terminal of terminals.values()) {
    if (terminal.exitStatus === undefined) for (const toolCallId of terminal.shownBy) showing.add(toolCallId);
    else if ([...terminal.shownBy].every(isOver)) Object.assign(terminal, { text: "", unsent: "" });
  }
  for (const [toolCallId, shown] of toolCalls) if (isOver(toolCallId) && !showing.has(toolCallId)) shown.content = [];
  // v1's one list would grow with every plan there ever was.
  for (const [planId, plan] of plans) if (isDone(plan)) plans.delete(planId);
}

function isDone(plan: JsonObject): boolean {
  return plan["type"] === "items" && asArray(plan["entries"]).every((entry) => DONE.has(asObject(entry)["status"]));
}

/** The agent is gone, and with it whatever worked on the tool calls that are open. */
export function failToolCalls(bridge: Bridge, session: DowngradedSession): void {
  for (const [toolCallId, { status }] of session.toolCalls)
    if (!FINAL_STATUSES.has(status))
      updateV1Client(bridge, session, { sessionUpdate: "tool_call_update", toolCallId, status: "failed" });
}

/** v1 has one plan: the entries of all of them, in the order in which they came. */
function plan(bridge: Bridge, session: DowngradedSession, update: JsonObject, params: JsonObject): void {
  const isRemoved = update["sessionUpdate"] === "plan_removed";
  const content = asObject(update["plan"]);
  const planId = asString(isRemoved ? update["planId"] : content["planId"]) ?? "";
  if (isRemoved) session.plans.delete(planId);
  else session.plans.set(planId, content);
  const notes: Notes = [];
  const v1 = plansToV1(session.plans.values(), notes);
  logNotes(bridge, notes, { sessionId: session.id });
  updateV1Client(bridge, session, { ...without(update, "plan", "planId"), ...v1 }, params);
}

function configChanged(bridge: Bridge, session: DowngradedSession, update: JsonObject, params: JsonObject): void {
  takeConfig(bridge, session, update["configOptions"]);
  configUpdate(bridge, session, update, params);
}

/** Tells the client the session's config options. */
export function configUpdate(
  bridge: Bridge,
  session: DowngradedSession,
  update: JsonObject = {},
  params: JsonObject = {},
): void {
  const notes: Notes = [];
  const configOptions = configOptionsToV1(session.configOptions, bridge.abilities.booleans, notes);
  logNotes(bridge, notes, { sessionId: session.id });
  updateV1Client(bridge, session, { ...update, sessionUpdate: "config_option_update", configOptions }, params);
}

/** The agent told its config options: a changed mode is told in v1's older form too. */
export function takeConfig(bridge: Bridge, session: DowngradedSession, configOptions: unknown): void {
  const before = currentModeOf(session.configOptions);
  session.configOptions = configOptions;
  const currentModeId = currentModeOf(configOptions);
  if (currentModeId === undefined || currentModeId === before) return;
  updateV1Client(bridge, session, { sessionUpdate: "current_mode_update", currentModeId });
}

function other(bridge: Bridge, session: DowngradedSession, update: JsonObject, params: JsonObject): void {
  const notes: Notes = [];
  const v1 = updateToV1(update, bridge.abilities, notes);
  logNotes(bridge, notes, { sessionId: session.id });
  if (v1 !== undefined) updateV1Client(bridge, session, v1, params);
}
