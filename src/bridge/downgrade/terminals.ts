/**
 * Terminals of a v2 agent within the tool calls that show them: for a client that announced `_meta.terminal_output` in
 * that extension, for any other as text (docs/mapping.md §13, §6.9).
 */
import { asObject, asString, isObject, type JsonObject } from "../../protocol/json.ts";
import {
  decodePiece,
  displayTerminalToV1,
  fromBase64,
  type TerminalStep,
  terminalAsText,
  terminalsReferred,
} from "../../translate/terminals.ts";
import { setTimer } from "../effects.ts";
import type { Bridge } from "../state.ts";
import { updateV1Client } from "./effects.ts";
import type { DisplayTerminal, DowngradedSession } from "./state.ts";
import { sendToolCall } from "./updates.ts";

/** How much of a terminal's output is kept for whoever shows it later, in UTF-16 units. */
const KEPT = 100_000;

/** How often a client that gets terminals as text is told of new output, in ms: each time it gets all of it. */
const PAUSE = 1000;

const CLEAR_SCREEN = "\u001bc";

/** A `terminal_update` of the agent's. */
export function terminalUpdate(bridge: Bridge, session: DowngradedSession, update: JsonObject): void {
  const terminal = terminalOf(session, asString(update["terminalId"]) ?? "");
  const { command, cwd, output, exitStatus } = update;
  if (command !== undefined) terminal.command = asString(command);
  if (cwd !== undefined) terminal.cwd = asString(cwd);
  if (exitStatus !== undefined) terminal.exitStatus = isObject(exitStatus) ? exitStatus : undefined;
  if (output !== undefined) replaceOutput(terminal, asString(asObject(output)["data"]) ?? "");
  changed(bridge, session, terminal);
}

/** A `terminal_output_chunk` of the agent's. */
export function terminalChunk(bridge: Bridge, session: DowngradedSession, update: JsonObject): void {
  const terminal = terminalOf(session, asString(update["terminalId"]) ?? "");
  addOutput(terminal, asString(update["data"]) ?? "");
  changed(bridge, session, terminal);
}

function terminalOf(session: DowngradedSession, id: string): DisplayTerminal {
  const known = session.terminals.get(id);
  if (known !== undefined) return known;
  const terminal: DisplayTerminal = {
    id,
    command: undefined,
    cwd: undefined,
    text: "",
    unsent: "",
    pending: [],
    exitStatus: undefined,
    shownBy: new Set(),
    ended: false,
  };
  session.terminals.set(id, terminal);
  return terminal;
}

function addOutput(terminal: DisplayTerminal, data: string): void {
  const { text, pending } = decodePiece(terminal.pending, fromBase64(data));
  terminal.pending = pending;
  terminal.text = (terminal.text + text).slice(-KEPT);
  terminal.unsent = (terminal.unsent + text).slice(-KEPT);
}

/** The output is this and nothing else: what the client has of it is continued, or cleared from its screen. */
function replaceOutput(terminal: DisplayTerminal, data: string): void {
  const { text, pending } = decodePiece([], fromBase64(data));
  const added = text.startsWith(terminal.text) ? text.slice(terminal.text.length) : CLEAR_SCREEN + text;
  terminal.pending = pending;
  terminal.unsent = terminal.shownBy.size === 0 ? text : terminal.unsent + added;
  terminal.text = text.slice(-KEPT);
}

function changed(bridge: Bridge, session: DowngradedSession, terminal: DisplayTerminal): void {
  const [toolCallId] = terminal.shownBy;
  if (toolCallId === undefined) return;
  if (bridge.abilities.displayTerminals) {
    const meta = news(terminal);
    if (Object.keys(meta).length > 0)
      updateV1Client(bridge, session, { sessionUpdate: "tool_call_update", toolCallId, _meta: meta });
  } else if (terminal.exitStatus !== undefined) {
    showAsText(bridge, session, terminal);
  } else if (!session.terminalsWait) {
    session.terminalsWait = true;
    setTimer(bridge, `terminals ${session.id}`, PAUSE);
  }
}

/** The time to tell of new output in text has come, or its turn is over. */
export function showTerminalTexts(bridge: Bridge, session: DowngradedSession): void {
  session.terminalsWait = false;
  if (bridge.abilities.displayTerminals) return;
  for (const terminal of session.terminals.values()) if (terminal.unsent !== "") showAsText(bridge, session, terminal);
}

function showAsText(bridge: Bridge, session: DowngradedSession, terminal: DisplayTerminal): void {
  terminal.unsent = "";
  for (const toolCallId of terminal.shownBy) {
    const { content } = session.toolCalls.get(toolCallId) ?? { content: [] };
    if (content.length > 0) sendToolCall(bridge, session, { sessionUpdate: "tool_call_update", toolCallId, content });
  }
}

/** What the client does not have of the terminal yet, in the form of the extension. */
function news(terminal: DisplayTerminal, info?: TerminalStep["info"]): JsonObject {
  const { id, unsent, exitStatus } = terminal;
  const ends = exitStatus !== undefined && !terminal.ended;
  terminal.unsent = "";
  terminal.ended ||= ends;
  return displayTerminalToV1(id, {
    ...(info !== undefined && { info }),
    ...(unsent !== "" && { output: unsent }),
    ...(ends && { exitStatus }),
  });
}

/**
 * From now on the terminals that a tool call's content shows are told of through it.
 *
 * @returns the `_meta` that introduces the first that is new, to a client that shows terminals; the extension has room
 *   for one
 */
export function showTerminals(
  bridge: Bridge,
  session: DowngradedSession,
  toolCallId: string,
  update: JsonObject,
): JsonObject | undefined {
  const referred = terminalsReferred(update).map((id) => terminalOf(session, id));
  const fresh = referred.find(({ shownBy }) => shownBy.size === 0);
  for (const { shownBy } of referred) shownBy.add(toolCallId);
  if (fresh === undefined || !bridge.abilities.displayTerminals) return undefined;
  const { command, cwd = session.cwd } = fresh;
  return news(fresh, command === undefined ? { cwd } : { command, cwd });
}

/** A terminal in the stead of a reference to it, for a client that does not show terminals. */
export function terminalText(session: DowngradedSession, id: string): JsonObject {
  const { command, text, exitStatus } = terminalOf(session, id);
  return terminalAsText({
    output: text,
    ...(command !== undefined && { command }),
    ...(exitStatus !== undefined && { exitStatus }),
  });
}
