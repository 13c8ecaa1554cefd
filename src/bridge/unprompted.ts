/**
 * Work the agent begins on its own, when `--unprompted running` asks for it to be shown (docs/mapping.md §9): its content
 * is bracketed by `running` and, after a quiet time with nothing open, `idle`.
 */
import type { JsonObject } from "../protocol/json.ts";
import { clearTimer, setTimer } from "./effects.ts";
import { keepMessages } from "./memory.ts";
import { endMessage } from "./messages.ts";
import { awaitsPerson } from "./requests.ts";
import type { Bridge, Session } from "./state.ts";
import { isFinalStatus, reportState } from "./turns.ts";

/** How long the agent must have been quiet before work nobody asked for counts as done, in ms. */
const QUIET = 2000;

/** Content of the agent's: only this opens a bracket, metadata never does. */
const CONTENT = new Set(["agent_message_chunk", "agent_thought_chunk"]);

/** An update that came while no prompt is running. */
export function unpromptedUpdate(bridge: Bridge, session: Session, kind: string, update: JsonObject): void {
  if (bridge.options.unprompted === "pass" || session.turn !== undefined || session.restoring !== undefined) return;
  const isNewToolCall = kind === "tool_call" && !session.toolCalls.has(String(update["toolCallId"]));
  if (session.unprompted || !(CONTENT.has(kind) || isNewToolCall)) return;
  session.unprompted = true;
  reportState(bridge, session, "running");
  setTimer(bridge, `unprompted ${session.id}`, QUIET);
}

/** The quiet time is over, unless the agent has spoken since or something is still open. */
export function unpromptedTimer(bridge: Bridge, session: Session): void {
  const quiet = bridge.now - session.lastSign;
  const open = [...session.toolCalls.values()].some(({ status }) => !isFinalStatus(status));
  if (quiet < QUIET || open || awaitsPerson(bridge, session.id))
    setTimer(bridge, `unprompted ${session.id}`, Math.max(Math.ceil(QUIET - quiet), QUIET / 4));
  else endUnprompted(bridge, session, { stopReason: "end_turn" });
}

/** Closes the bracket, if one is open: the work is done, cancelled or lost, or gives way to a prompt. */
export function endUnprompted(
  bridge: Bridge,
  session: Session,
  ending: { stopReason: string; error?: JsonObject },
): void {
  if (!session.unprompted) return;
  session.unprompted = false;
  clearTimer(bridge, `unprompted ${session.id}`);
  endMessage(session.messages);
  keepMessages(bridge, session);
  reportState(bridge, session, "idle", ending);
}
