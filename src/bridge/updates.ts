/**
 * The agent's `session/update` notifications on their way to the client (docs/mapping.md §5–§8, §10, §11).
 */
import { asObject, asString, isObject, type JsonObject } from "../protocol/json.ts";
import { availableCommandsToV2 } from "../translate/commands.ts";
import { configOptionsToV2, withCurrentMode } from "../translate/config-options.ts";
import { chunkToV2, contentBlockToV2 } from "../translate/content.ts";
import type { Notes } from "../translate/notes.ts";
import { planToV2 } from "../translate/plans.ts";
import { displayTerminalsToV2, terminalsReferred } from "../translate/terminals.ts";
import { editsFragments, toolCallTitle, toolCallToV2 } from "../translate/tool-calls.ts";
import { updateToV2 } from "../translate/updates.ts";
import { keepEarly, readUpdate } from "./early.ts";
import { log, logNotes, updateClient } from "./effects.ts";
import { keep, keepMessages, timeText } from "./memory.ts";
import {
  absorbEcho,
  contentUpdates,
  endMessage,
  finishReplayed,
  gatherReplay,
  identify,
  isGathering,
  type MessageKind,
  type ReplayedMessage,
} from "./messages.ts";
import type { Bridge, Session, ToolCallRecord } from "./state.ts";
import { heard, isFinalStatus, mintId, showsWork } from "./turns.ts";
import { unpromptedUpdate } from "./unprompted.ts";

const MESSAGE_KINDS: Record<string, MessageKind> = {
  user_message_chunk: "user_message",
  agent_message_chunk: "agent_message",
  agent_thought_chunk: "agent_thought",
};

/** Updates that are history when they come during a replay; everything else is the session's present state. */
const HISTORY = new Set([
  ...Object.keys(MESSAGE_KINDS),
  "tool_call",
  "tool_call_update",
  "plan",
  "plan_update",
  "plan_removed",
  "compaction_update",
  "compaction_summary_chunk",
]);

/** Updates by which an agent shows that it works on a prompt. */
const WORK = new Set(["agent_message_chunk", "agent_thought_chunk", "tool_call"]);

/** A `session/update` notification of the agent's. */
export function agentUpdate(bridge: Bridge, received: unknown): void {
  const read = readUpdate(bridge, received);
  if (read === undefined) return;
  const { sessionId, params } = read;
  const session = bridge.sessions.get(sessionId);
  if (session === undefined) return keepEarly(bridge, sessionId, params);
  heard(bridge, session);
  sessionUpdate(bridge, session, params);
}

/** An update of a session the client knows. */
export function sessionUpdate(bridge: Bridge, session: Session, params: JsonObject): void {
  const update = asObject(params["update"]);
  const kind = asString(update["sessionUpdate"]) ?? "";
  if (session.restoring?.replay === "swallow" && HISTORY.has(kind)) {
    session.restoring.swallowed++;
    return;
  }
  unpromptedUpdate(bridge, session, kind, update);
  if (WORK.has(kind)) showsWork(bridge, session);
  switch (kind) {
    case "user_message_chunk":
    case "agent_message_chunk":
    case "agent_thought_chunk":
      messageChunk(bridge, session, kind, update, params);
      break;
    case "tool_call":
    case "tool_call_update":
      toolCall(bridge, session, update, params);
      break;
    case "plan":
    case "plan_update":
    case "plan_removed":
      plan(bridge, session, planToV2(update, session.planId), params);
      break;
    case "compaction_update":
      // Its place on the timeline is where it first stands; a message being replayed came before it.
      replayed(bridge, session, finishReplayed(session.messages));
      updateClient(bridge, session, updateToV2(update), params);
      break;
    case "current_mode_update":
      session.config = withCurrentMode(session.config, asString(update["currentModeId"]) ?? "");
      configChanged(bridge, session, update, params);
      break;
    case "config_option_update":
      session.config = { ...session.config, configOptions: update["configOptions"] };
      configChanged(bridge, session, update, params);
      break;
    case "session_info_update":
      rememberInfo(bridge, session, update);
      updateClient(bridge, session, updateToV2(update), params);
      break;
    case "state_update":
      // State is the bridge's to report: a v1 agent's own would break "one idle per turn".
      log(bridge, "warn", "state-update-renamed", { sessionId: session.id });
      updateClient(bridge, session, { ...update, sessionUpdate: "_state_update" }, params);
      break;
    default:
      updateClient(bridge, session, updateToV2(update), params);
  }
}

function messageChunk(bridge: Bridge, session: Session, chunk: string, update: JsonObject, params: JsonObject): void {
  const kind = MESSAGE_KINDS[chunk];
  const content = update["content"];
  if (kind === undefined || !isObject(content)) {
    log(bridge, "warn", "update-dropped", { sessionId: session.id, kind: chunk, fault: "content must be an object" });
    return;
  }
  const given = asString(update["messageId"]) || undefined;
  if (session.restoring !== undefined) {
    const meta = isObject(update["_meta"]) ? update["_meta"] : undefined;
    replayed(bridge, session, gatherReplay(session.messages, kind, given, asObject(contentBlockToV2(content)), meta));
    return;
  }
  if (kind === "user_message" && absorbEcho(session.messages, content)) {
    log(bridge, "debug", "echo-absorbed", { sessionId: session.id });
    return;
  }
  const messageId = messageOf(bridge, session, kind, given, content);
  if (messageId === undefined) return;
  updateClient(bridge, session, chunkToV2(update, messageId), params);
}

/** The message a live chunk belongs to; undefined when the chunk is not to be shown. */
export function messageOf(
  bridge: Bridge,
  session: Session,
  kind: MessageKind,
  given: string | undefined,
  content: JsonObject,
): string | undefined {
  const { messages } = session;
  const known = messages.ledger.length;
  const identity = identify(messages, kind, given, content, () => mintId(bridge), bridge.behaviour.restatedMessages);
  // Where a message begins, the one before it has ended.
  if (messages.ledger.length > known) keepMessages(bridge, session);
  if ("id" in identity) return identity.id;
  log(bridge, "info", "restated-message-dropped", { sessionId: session.id, messageId: identity.restates });
  return undefined;
}

/**
 * Sends a message put together from a replay, whole, so that a client that already shows it does not get it twice; then
 * what came in the middle of it.
 */
export function replayed(bridge: Bridge, session: Session, message: ReplayedMessage | undefined): void {
  if (message === undefined) return;
  const meta = message.meta && { _meta: message.meta };
  for (const update of contentUpdates(message)) updateClient(bridge, session, { ...update, ...meta });
  for (const [update, params] of session.restoring?.plans.splice(0) ?? [])
    updateClient(bridge, session, update, params);
}

/** A plan does not end a message; in a replay it follows the one it came in the middle of. */
function plan(bridge: Bridge, session: Session, v2: JsonObject, params: JsonObject): void {
  if (isGathering(session.messages)) session.restoring?.plans.push([v2, params]);
  else updateClient(bridge, session, v2, params);
}

/** A tool call or a change of one: the first that names an id announces it, whatever v1 called it. */
export function toolCall(bridge: Bridge, session: Session, update: JsonObject, params: JsonObject): void {
  const toolCallId = asString(update["toolCallId"]);
  if (toolCallId === undefined || toolCallId === "") {
    log(bridge, "warn", "update-dropped", { sessionId: session.id, fault: "toolCallId must be a string" });
    return;
  }
  const known = session.toolCalls.get(toolCallId);
  if (isFirstInReplay(session, toolCallId) || known === undefined) takePlace(bridge, session);

  const terminals = displayTerminalsToV2(update, session.cwd, known?.terminal);
  for (const terminal of terminals.updates) terminalUpdate(bridge, session, terminal);
  announceTerminals(bridge, session, update);

  const notes: Notes = [];
  const fragments = known?.fragments === true || editsFragments(update);
  const v2 = toolCallToV2(terminals.toolCall, { cwd: session.cwd, diffs: session.diffs, fragments }, notes);
  logNotes(bridge, notes, { sessionId: session.id, toolCallId });
  const status = asString(v2["status"]);
  const isFinal = known !== undefined && isFinalStatus(known.status) && !known.guessed;
  if (update["sessionUpdate"] === "tool_call" && isFinal && !isFinalStatus(status)) delete v2["status"];
  if (known === undefined) v2["title"] = toolCallTitle(v2);

  rememberToolCall(session, toolCallId, v2, { terminal: terminals.shown, fragments });
  updateClient(bridge, session, v2, params);
}

/** A replay goes along the timeline once more: there a tool call has its place also when the client knows it. */
function isFirstInReplay(session: Session, toolCallId: string): boolean {
  const seen = session.restoring?.toolCalls;
  if (seen === undefined || seen.has(toolCallId)) return false;
  seen.add(toolCallId);
  return true;
}

/** Something that is no message takes its place on the timeline: the message before it is complete. */
function takePlace(bridge: Bridge, session: Session): void {
  endMessage(session.messages);
  keepMessages(bridge, session);
  replayed(bridge, session, finishReplayed(session.messages));
}

function rememberToolCall(
  session: Session,
  toolCallId: string,
  v2: JsonObject,
  open: Pick<ToolCallRecord, "terminal" | "fragments"> = {},
): void {
  const known = session.toolCalls.get(toolCallId);
  const own = asString(v2["status"]);
  const status = own ?? known?.status;
  const guessed = own === undefined && known?.guessed === true;
  const title = asString(v2["title"]) || known?.title;
  const refused = own === undefined && known?.refused === true;
  // Only what an open tool call may still need is kept.
  session.toolCalls.set(
    toolCallId,
    isFinalStatus(status) ? { status, guessed, title: undefined } : { status, guessed, title, refused, ...open },
  );
}

/** What an update out of the transcript says of tool calls and terminals the client knows. */
export function rememberReplayed(session: Session, update: JsonObject): void {
  const { sessionUpdate, toolCallId, terminalId } = update;
  if (sessionUpdate === "tool_call_update" && typeof toolCallId === "string")
    rememberToolCall(session, toolCallId, update);
  if (sessionUpdate === "terminal_update" && typeof terminalId === "string") session.terminals.add(terminalId);
}

function terminalUpdate(bridge: Bridge, session: Session, update: JsonObject): void {
  const terminalId = asString(update["terminalId"]);
  if (terminalId === undefined) return;
  if (update["sessionUpdate"] === "terminal_update") session.terminals.add(terminalId);
  else announceTerminal(bridge, session, terminalId);
  updateClient(bridge, session, update);
}

function announceTerminals(bridge: Bridge, session: Session, update: JsonObject): void {
  for (const terminalId of terminalsReferred(update)) announceTerminal(bridge, session, terminalId);
}

function announceTerminal(bridge: Bridge, session: Session, terminalId: string): void {
  if (session.terminals.has(terminalId)) return;
  session.terminals.add(terminalId);
  updateClient(bridge, session, { sessionUpdate: "terminal_update", terminalId, cwd: session.cwd });
}

/** Any change of modes, models or options is one full list in v2 (docs/mapping.md §8). */
function configChanged(bridge: Bridge, session: Session, update: JsonObject, params: JsonObject): void {
  const { sessionUpdate: _, currentModeId, configOptions: __, ...rest } = update;
  const configOptions = configOptionsToV2(session.config);
  if (configOptions.length === 0 && currentModeId !== undefined) {
    log(bridge, "info", "mode-without-modes", { sessionId: session.id, currentModeId });
    return;
  }
  updateClient(bridge, session, { ...rest, sessionUpdate: "config_option_update", configOptions }, params);
}

function rememberInfo(bridge: Bridge, session: Session, update: JsonObject): void {
  const entry = bridge.index.get(session.id);
  if (entry === undefined) return;
  const title = update["title"];
  if (typeof title === "string") entry.title = title;
  if (title === null) delete entry.title;
  entry.updatedAt = asString(update["updatedAt"]) ?? entry.updatedAt;
  const named = typeof title === "string" || title === null ? { title } : {};
  keep(bridge, session.id, { type: "info", ...named, at: timeText(bridge, entry.updatedAt) });
}

/** The commands of the last `available_commands_update` among updates that came early; undefined when there is none. */
export function commandsAmong(early: readonly JsonObject[]): JsonObject[] | undefined {
  const last = early
    .map((params) => asObject(params["update"]))
    .findLast((update) => update["sessionUpdate"] === "available_commands_update");
  return last === undefined ? undefined : availableCommandsToV2(last["availableCommands"]);
}
