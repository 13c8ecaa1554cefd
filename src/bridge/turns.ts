/**
 * The turn engine: v1's blocking prompt becomes acceptance, `running`, and one `idle` (docs/mapping.md §9).
 */
import { ErrorCode, RequestFault, type RpcError, rpcError } from "../protocol/errors.ts";
import { type ErrorFrame, notification, type RequestId, type ResultFrame } from "../protocol/frames.ts";
import { asArray, asObject, isObject, isWritable, type JsonObject, without } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import { promptToV1 } from "../translate/content.ts";
import { errorToV2, isBusyError } from "../translate/errors.ts";
import { stopReasonToV2 } from "../translate/stop-reasons.ts";
import { clearTimer, log, setTimer, toAgent, updateClient, updateClientAsIs } from "./effects.ts";
import { keepMessages } from "./memory.ts";
import { endMessage, enterUserMessage } from "./messages.ts";
import { answerAsIs, passOn, refuse, withdrawRequests } from "./requests.ts";
import type { Bridge, HeldPrompt, Session, SessionState, ToolCallRecord, Turn, TurnEnding } from "./state.ts";
import { endUnprompted } from "./unprompted.ts";

/** How often a prompt is sent again to an agent that says it is busy, and how long each time is waited, in ms. */
const BUSY_ATTEMPTS = 5;
const BUSY_PAUSE = 200;

/**
 * How long an agent that has answered may go on without a pause before what follows counts as background, in ms: one
 * that never falls silent must not keep its turn, or a resume, for ever.
 */
const LONGEST_SETTLE = 10_000;

const FINAL_STATUSES = new Set<string | undefined>(["completed", "failed", "cancelled"]);

/** A new id for a message, plan or other entity the bridge names: unique in this and every other run. */
export function mintId(bridge: Bridge): string {
  return `m_${bridge.options.runId}_${bridge.nextMessage++}`;
}

/** The client's `session/prompt`: sent to the agent now, or held until the running turn is over. */
export function prompt(bridge: Bridge, session: Session, clientId: RequestId, params: JsonObject): void {
  const content = asArray(params["prompt"]).filter(isObject);
  const offers = bridge.offers?.prompt ?? { image: false, audio: false, embeddedContext: false };
  const v1Params = { ...params, prompt: promptToV1(content, offers) };
  const held: HeldPrompt = { clientId, content, params: v1Params };
  // A session that is being closed has a turn until it is.
  if (session.turn === undefined && session.restoring === undefined) {
    begin(bridge, session, held);
  } else if (session.held.length < bridge.options.promptQueue) {
    session.held.push(held);
    log(bridge, "info", "prompt-held", { sessionId: session.id, waiting: session.held.length });
  } else {
    const limit = bridge.options.promptQueue;
    throw new RequestFault(
      rpcError(ErrorCode.internalError, `${limit} prompts of this session are waiting already; try again later`, {
        limit,
      }),
    );
  }
}

function begin(bridge: Bridge, session: Session, held: HeldPrompt): void {
  const { clientId, content, params } = held;
  // `{ ...held, …}` is no substitute: V8 takes longer to add members to a copy than for all else a prompt needs of it.
  const turn: Turn = {
    clientId,
    content,
    params,
    accepted: false,
    cancelled: false,
    working: false,
    open: false,
    attempts: 0,
  };
  endUnprompted(bridge, session, { stopReason: "end_turn" });
  session.turn = turn;
  session.lastSign = bridge.now;
  endMessage(session.messages);
  if (bridge.options.stallNotice > 0) setTimer(bridge, `stall ${session.id}`, bridge.options.stallNotice);
  send(bridge, session, turn);
}

function send(bridge: Bridge, session: Session, turn: Turn): void {
  turn.open = true;
  turn.attempts++;
  passOn(bridge, turn.clientId, Method.sessionPrompt, turn.params, (frame) =>
    promptAnswered(bridge, session, turn, frame),
  );
  if (bridge.options.acceptWindow === 0) accept(bridge, session);
  else setTimer(bridge, `accept ${session.id}`, bridge.options.acceptWindow);
}

/** Something came from the agent for the session: a sign of life, if the agent has a prompt of it. */
export function heard(bridge: Bridge, session: Session): void {
  if (session.turn?.open) accept(bridge, session);
  session.lastSign = bridge.now;
}

/** Content came from the agent: if its first of the turn comes after a cancel, it has lost the cancel, and is told again. */
export function showsWork(bridge: Bridge, session: Session): void {
  const turn = session.turn;
  if (turn === undefined || !turn.open || turn.working) return;
  turn.working = true;
  if (!turn.cancelled) return;
  log(bridge, "info", "cancel-repeated", { sessionId: session.id });
  toAgent(bridge, notification(Method.sessionCancel, { sessionId: session.id }));
}

/**
 * The agent's first sign of life, or the end of the acceptance window: the message counts as inserted, and the client
 * gets its answer, the message and `running`, in that order.
 */
export function accept(bridge: Bridge, session: Session): void {
  const turn = session.turn;
  if (turn === undefined || turn.accepted) return;
  turn.accepted = true;
  clearTimer(bridge, `accept ${session.id}`);
  const messageId = mintId(bridge);
  answerAsIs(bridge, turn.clientId, { messageId });
  enterUserMessage(session.messages, messageId, turn.content);
  keepMessages(bridge, session);
  updateClientAsIs(bridge, session, { sessionUpdate: "user_message", messageId, content: turn.content });
  reportState(bridge, session, "running");
}

/** Tells the client the session's state. */
export function reportState(bridge: Bridge, session: Session, state: SessionState, fields: JsonObject = {}): void {
  session.state = state;
  if (Object.keys(fields).length === 0)
    return updateClientAsIs(bridge, session, { sessionUpdate: "state_update", state });
  updateClient(bridge, session, { sessionUpdate: "state_update", state, ...without(fields, "sessionUpdate", "state") });
}

function promptAnswered(bridge: Bridge, session: Session, turn: Turn, frame: ResultFrame | ErrorFrame): void {
  turn.open = false;
  if (session.turn !== turn) {
    log(bridge, "info", "late-prompt-answer", { sessionId: session.id });
    return;
  }
  session.lastSign = bridge.now;
  if ("error" in frame) promptFailed(bridge, session, turn, frame.error);
  else promptStopped(bridge, session, turn, asObject(frame.result));
}

function promptFailed(bridge: Bridge, session: Session, turn: Turn, error: RpcError): void {
  if (!turn.cancelled && isBusyError(error) && turn.attempts < BUSY_ATTEMPTS) {
    log(bridge, "info", "busy-agent-retried", { sessionId: session.id, attempt: turn.attempts });
    clearTimer(bridge, `accept ${session.id}`);
    setTimer(bridge, `retry ${session.id}`, BUSY_PAUSE * turn.attempts);
    return;
  }
  const v2Error = errorToV2(error, { method: Method.sessionPrompt, sessionId: session.id });
  if (!turn.accepted) {
    leaveTurn(bridge, session);
    refuse(bridge, turn.clientId, v2Error);
    afterTurn(bridge, session);
    return;
  }
  if (turn.cancelled) {
    log(bridge, "info", "cancel-answered-by-error", { sessionId: session.id, error: v2Error });
    settle(bridge, session, turn, { outcome: "cancelled", fields: {} });
  } else {
    settle(bridge, session, turn, { outcome: "failed", error: { ...v2Error } });
  }
}

function promptStopped(bridge: Bridge, session: Session, turn: Turn, result: JsonObject): void {
  accept(bridge, session);
  const stopReason = stopReasonToV2(result["stopReason"]);
  const fields = without(result, "stopReason");
  if (turn.cancelled && stopReason !== "cancelled")
    log(bridge, "info", "cancel-answered-otherwise", { sessionId: session.id, stopReason });
  if (turn.cancelled || stopReason === "cancelled") settle(bridge, session, turn, { outcome: "cancelled", fields });
  else settle(bridge, session, turn, { outcome: "stopped", fields: { ...fields, ...(stopReason && { stopReason }) } });
}

/** Waits until the agent has been quiet: some send the tail of a message after their result. */
function settle(bridge: Bridge, session: Session, turn: Turn, ending: TurnEnding): void {
  turn.ending = ending;
  turn.answeredAt = bridge.now;
  clearTimer(bridge, `cancel ${session.id}`);
  if (bridge.behaviour.settle === 0) endTurn(bridge, session, ending);
  else setTimer(bridge, `settle ${session.id}`, bridge.behaviour.settle);
}

/**
 * True when the agent has been quiet for that long since it answered, or never is; else the timer of that name is set
 * anew, for the quiet still missing.
 */
export function isQuiet(bridge: Bridge, session: Session, timer: string, ms: number, answeredAt = 0): boolean {
  const quiet = bridge.now - session.lastSign;
  if (quiet >= ms || bridge.now - answeredAt >= LONGEST_SETTLE) return true;
  setTimer(bridge, `${timer} ${session.id}`, Math.ceil(ms - quiet));
  return false;
}

/** Ends the turn: open tool calls get their final status, then the client its one `idle`. */
export function endTurn(bridge: Bridge, session: Session, ending: TurnEnding): void {
  if (session.turn === undefined) return;
  accept(bridge, session);
  leaveTurn(bridge, session);
  if (ending.outcome === "failed") endToolCalls(bridge, session, "failed");
  if (ending.outcome === "cancelled") endToolCalls(bridge, session, "cancelled");
  if (ending.outcome === "stopped") endToolCalls(bridge, session, "failed", ({ refused }) => refused === true);
  endMessage(session.messages);
  keepMessages(bridge, session);
  session.diffs.clear();
  reportState(bridge, session, "idle", idleFields(bridge, ending));
  afterTurn(bridge, session);
}

/** The session has no turn any more, and nothing is waited for in it. */
function leaveTurn(bridge: Bridge, session: Session): void {
  for (const name of ["accept", "settle", "cancel", "retry", "stall"]) clearTimer(bridge, `${name} ${session.id}`);
  session.turn = undefined;
}

/** What the idle says beside its state. A part that cannot be written must not cost the client the idle. */
function idleFields(bridge: Bridge, ending: TurnEnding): JsonObject {
  const all =
    ending.outcome === "failed"
      ? { stopReason: "error", error: ending.error }
      : { ...ending.fields, ...(ending.outcome === "cancelled" && { stopReason: "cancelled" }) };
  const fields = Object.fromEntries(Object.entries(all).filter(([, value]) => isWritable(value)));
  if (Object.keys(fields).length < Object.keys(all).length) log(bridge, "warn", "idle-repaired");
  if (ending.outcome === "failed") fields["error"] ??= without(ending.error, "data");
  return fields;
}

/** Gives every tool call that is still open, or those of them that are meant, a final status (docs/mapping.md §6). */
export function endToolCalls(
  bridge: Bridge,
  session: Session,
  status: "failed" | "cancelled",
  isMeant: (record: ToolCallRecord) => boolean = () => true,
): void {
  for (const [toolCallId, record] of session.toolCalls) {
    if (isFinalStatus(record.status) || !isMeant(record)) continue;
    record.status = status;
    record.guessed = true;
    updateClient(bridge, session, { sessionUpdate: "tool_call_update", toolCallId, status });
  }
}

/** True for a tool-call status after which nothing more is expected. */
export function isFinalStatus(status: string | undefined): boolean {
  return FINAL_STATUSES.has(status);
}

/** What waited for the turn goes on: a close, or the next held prompt. */
function afterTurn(bridge: Bridge, session: Session): void {
  if (session.closing !== undefined) {
    session.closing();
    return;
  }
  sendHeld(bridge, session);
}

/** Sends the agent the next held prompt, if nothing stands in its way. */
export function sendHeld(bridge: Bridge, session: Session): void {
  if (session.turn !== undefined) return;
  const next = session.held.shift();
  if (next !== undefined) begin(bridge, session, next);
}

/**
 * The client's `session/cancel`. v1's cancel names no turn, so it is passed on only while a v1 prompt is open: a late
 * one would end the next turn. Held prompts are refused with `-32800`.
 */
export function cancel(bridge: Bridge, session: Session, params: JsonObject): void {
  refuseHeld(bridge, session);
  endUnprompted(bridge, session, { stopReason: "cancelled" });
  const turn = session.turn;
  if (turn === undefined || turn.ending !== undefined) {
    log(bridge, "debug", "cancel-without-work", { sessionId: session.id });
    return;
  }
  if (isRefused(turn)) return dropRefused(bridge, session, turn);
  accept(bridge, session);
  turn.cancelled = true;
  if (!turn.open) {
    endTurn(bridge, session, { outcome: "cancelled", fields: {} });
    return;
  }
  toAgent(bridge, notification(Method.sessionCancel, params));
  withdrawRequests(bridge, session.id);
  if (bridge.options.cancelTimeout > 0) setTimer(bridge, `cancel ${session.id}`, bridge.options.cancelTimeout);
}

/** Refuses every prompt that waits for the running turn. */
export function refuseHeld(bridge: Bridge, session: Session): void {
  for (const held of session.held.splice(0)) refuseUnsent(bridge, held);
}

function refuseUnsent(bridge: Bridge, { clientId }: HeldPrompt): void {
  refuse(bridge, clientId, rpcError(ErrorCode.requestCancelled, "the prompt was cancelled before the agent took it"));
}

/** True for a prompt that waits to be sent again to a busy agent, and that the client was not told of. */
function isRefused(turn: Turn): boolean {
  return !turn.open && !turn.accepted;
}

function dropRefused(bridge: Bridge, session: Session, turn: Turn): void {
  leaveTurn(bridge, session);
  refuseUnsent(bridge, turn);
  afterTurn(bridge, session);
}

/**
 * The client's `$/cancel_request` for a prompt that the agent does not have.
 *
 * @returns true when the request was such a prompt
 */
export function cancelHeld(bridge: Bridge, session: Session, clientId: RequestId): boolean {
  const { turn } = session;
  if (turn?.clientId === clientId && isRefused(turn)) {
    dropRefused(bridge, session, turn);
    return true;
  }
  const index = session.held.findIndex((held) => held.clientId === clientId);
  if (index < 0) return false;
  for (const held of session.held.splice(index, 1)) refuseUnsent(bridge, held);
  return true;
}

/** A timer of this session has run out. */
export function turnTimer(bridge: Bridge, session: Session, name: string): void {
  const turn = session.turn;
  if (turn === undefined) return;
  switch (name) {
    case "accept":
      accept(bridge, session);
      break;
    case "retry":
      send(bridge, session, turn);
      break;
    case "stall":
      noticeStall(bridge, session, turn);
      break;
    case "settle":
      if (turn.ending !== undefined && isQuiet(bridge, session, "settle", bridge.behaviour.settle, turn.answeredAt))
        endTurn(bridge, session, turn.ending);
      break;
    case "cancel":
      log(bridge, "warn", "cancel-timeout", { sessionId: session.id, ms: bridge.options.cancelTimeout });
      endTurn(bridge, session, { outcome: "cancelled", fields: {} });
      break;
  }
}

/** Tells the client once of each silence that lasts; work is never ended for it. */
function noticeStall(bridge: Bridge, session: Session, turn: Turn): void {
  const limit = bridge.options.stallNotice;
  const quiet = bridge.now - session.lastSign;
  setTimer(bridge, `stall ${session.id}`, quiet < limit ? Math.ceil(limit - quiet) : limit);
  if (quiet < limit || session.state !== "running" || turn.stalledSince === session.lastSign) return;
  turn.stalledSince = session.lastSign;
  updateClient(bridge, session, {
    sessionUpdate: "notice",
    severity: "info",
    title: "The agent has been silent for a while",
    description: `Nothing came for ${Math.round(quiet / 1000)} s. It may be busy with a long task; cancel the turn if not.`,
  });
}
