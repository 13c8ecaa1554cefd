/**
 * The turn engine the other way round: v2's acceptance, `running` and `idle` become v1's blocking prompt, which ends with
 * the `idle` that ends the work it began (docs/mapping.md §13).
 */
import { ErrorCode, RequestFault, type RpcError, rpcError } from "../../protocol/errors.ts";
import { type ErrorFrame, notification, type RequestId, type ResultFrame } from "../../protocol/frames.ts";
import { asObject, asString, isObject, type JsonObject, without } from "../../protocol/json.ts";
import { Method } from "../../protocol/methods.ts";
import { errorToV1 } from "../../translate/errors.ts";
import { promptResultToV1 } from "../../translate/stop-reasons.ts";
import { clearTimer, log, setTimer, toAgent } from "../effects.ts";
import { answer, passOn, refuse, withdrawRequests } from "../requests.ts";
import type { Bridge } from "../state.ts";
import { absorb, messageUpdate } from "./messages.ts";
import type { DowngradedSession, HeldV1Prompt, Insertion, OpenPrompt } from "./state.ts";
import { showTerminalTexts } from "./terminals.ts";
import { endQuestion, failToolCalls, forgetEnded } from "./updates.ts";

/**
 * How long after an `idle` that may or may not have ended a prompt's work the agent is waited for to say that it runs,
 * in ms.
 */
const DOUBTFUL_IDLE = 2000;

/** The client's `session/prompt`: sent to the agent now, or held until the open one has ended. */
export function prompt(bridge: Bridge, session: DowngradedSession, clientId: RequestId, params: JsonObject): void {
  const held: HeldV1Prompt = { clientId, params };
  if (isFree(session)) return begin(bridge, session, held);
  const limit = bridge.options.promptQueue;
  if (session.held.length >= limit) {
    const message = `${limit} prompts of this session are waiting already; try again later`;
    throw new RequestFault(rpcError(ErrorCode.internalError, message, { limit }));
  }
  session.held.push(held);
  log(bridge, "info", "prompt-held", { sessionId: session.id, waiting: session.held.length });
}

/** True when nothing stands in the way of a prompt. */
function isFree({ turn, closing, restoring }: DowngradedSession): boolean {
  return turn === undefined && !closing && !restoring;
}

function begin(bridge: Bridge, session: DowngradedSession, { clientId, params }: HeldV1Prompt): void {
  const turn: OpenPrompt = {
    clientId,
    cancelled: false,
    inserted: undefined,
    sinceSent: { worked: false },
    echoes: new Map(),
  };
  session.turn = turn;
  passOn(bridge, clientId, Method.sessionPrompt, params, (frame) => promptAnswered(bridge, session, turn, frame));
}

function promptAnswered(
  bridge: Bridge,
  session: DowngradedSession,
  turn: OpenPrompt,
  frame: ResultFrame | ErrorFrame,
): void {
  if (session.turn !== turn) {
    log(bridge, "info", "late-prompt-answer", { sessionId: session.id });
    return;
  }
  const messageId = "result" in frame ? asString(asObject(frame.result)["messageId"]) : undefined;
  const echo = messageId === undefined ? undefined : turn.echoes.get(messageId);
  if (messageId !== undefined) {
    absorb(session, "user_message", messageId);
    turn.echoes.delete(messageId);
  }
  showOthers(bridge, session, turn);
  if ("error" in frame) return promptRefused(bridge, session, turn, frame.error);
  turn.inserted = echo ?? { worked: session.works };
  if (turn.inserted.idle !== undefined) return endTurn(bridge, session, turn.inserted.idle);
  if (session.works) return;
  // An agent that answers late, and sends no echo, may be done already; a cancelled one may have nothing to end.
  const idle = turn.cancelled ? CANCELLED : turn.sinceSent.idle;
  if (idle !== undefined) doubtIdle(bridge, session, idle);
}

/** User messages that came before the acceptance and turned out to be none of the client's. */
function showOthers(bridge: Bridge, session: DowngradedSession, turn: OpenPrompt): void {
  for (const { frames } of turn.echoes.values())
    for (const params of frames) messageUpdate(bridge, session, asObject(params["update"]), params);
  turn.echoes.clear();
}

function promptRefused(bridge: Bridge, session: DowngradedSession, turn: OpenPrompt, error: RpcError): void {
  if (turn.cancelled) return endTurn(bridge, session, CANCELLED);
  finish(bridge, session);
  refuse(bridge, turn.clientId, errorToV1(error));
  sendHeld(bridge, session);
}

/**
 * A user message came. Before the agent has accepted the open prompt it may be its echo.
 *
 * @returns true when it is kept until the acceptance tells
 */
export function mayBeEcho(session: DowngradedSession, messageId: string, params: JsonObject): boolean {
  const { turn } = session;
  if (turn === undefined || turn.inserted !== undefined) return false;
  const echo = turn.echoes.get(messageId);
  if (echo === undefined) turn.echoes.set(messageId, { worked: session.works, frames: [params] });
  else echo.frames.push(params);
  return true;
}

/** The agent's `state_update`. A repeated `idle` ends nothing: only work that was reported can end. */
export function stateUpdate(bridge: Bridge, session: DowngradedSession, update: JsonObject): void {
  const { state } = update;
  const { turn } = session;
  const points: Insertion[] =
    turn === undefined ? [] : [turn.sinceSent, ...turn.echoes.values(), ...(turn.inserted ? [turn.inserted] : [])];
  if (state !== "idle") {
    if (state !== "running" && state !== "requires_action") {
      log(bridge, "info", "state-unknown", { sessionId: session.id });
      return;
    }
    session.works = true;
    for (const point of points) point.worked = true;
    clearTimer(bridge, doubtTimer(session));
    return;
  }
  session.works = false;
  for (const point of points) if (point.worked) point.idle ??= update;
  if (turn?.inserted === undefined) return;
  if (turn.inserted.worked || turn.cancelled) endTurn(bridge, session, update);
  // By the book an agent says that it runs before it says how that ended.
  else if (typeof update["stopReason"] === "string") doubtIdle(bridge, session, update);
}

const doubtTimer = (session: DowngradedSession) => `idle ${session.id}`;

/** An `idle` that ends the open prompt unless the agent says soon that it runs. */
function doubtIdle(bridge: Bridge, session: DowngradedSession, idle: JsonObject): void {
  if (session.turn === undefined) return;
  log(bridge, "debug", "idle-in-doubt", { sessionId: session.id });
  session.turn.doubted = idle;
  setTimer(bridge, doubtTimer(session), DOUBTFUL_IDLE);
}

/** Ends the open prompt as the `idle` says. */
function endTurn(bridge: Bridge, session: DowngradedSession, idle: JsonObject): void {
  const { turn } = session;
  if (turn === undefined) return;
  showTerminalTexts(bridge, session);
  finish(bridge, session);
  const { stopReason, error } = idle;
  if (stopReason === "error" && !turn.cancelled) {
    refuse(bridge, turn.clientId, isObject(error) ? errorToV1(error) : UNEXPLAINED);
  } else {
    if (turn.cancelled && stopReason !== "cancelled")
      log(bridge, "info", "cancel-answered-otherwise", { sessionId: session.id, stopReason });
    const rest = without(idle, "sessionUpdate", "state", "background", "error");
    answer(bridge, turn.clientId, promptResultToV1(turn.cancelled ? { ...rest, ...CANCELLED } : rest));
  }
  sendHeld(bridge, session);
}

const CANCELLED = { stopReason: "cancelled" };
const UNEXPLAINED = rpcError(ErrorCode.internalError, "the agent's work failed");

/** The prompt is over; what it needed is not needed any more. */
function finish(bridge: Bridge, session: DowngradedSession): void {
  forgetEnded(session);
  for (const timer of [doubtTimer(session), `cancel ${session.id}`]) clearTimer(bridge, timer);
  session.turn = undefined;
}

/** Sends the agent the next held prompt, if nothing stands in its way. */
export function sendHeld(bridge: Bridge, session: DowngradedSession): void {
  if (!isFree(session)) return;
  const next = session.held.shift();
  if (next !== undefined) begin(bridge, session, next);
}

/**
 * The client's `session/cancel`. v2's has the same name and ends whatever works in the foreground, so it is passed on
 * in any case; all the client's prompts of the session end as `cancelled`.
 */
export function cancel(bridge: Bridge, session: DowngradedSession, params: JsonObject): void {
  endHeld(bridge, session);
  cancelWork(bridge, session, params);
}

function cancelWork(bridge: Bridge, session: DowngradedSession, params: JsonObject): void {
  toAgent(bridge, notification(Method.sessionCancel, params));
  withdrawQuestions(bridge, session);
  const { turn } = session;
  if (turn === undefined) return;
  turn.cancelled = true;
  if (bridge.options.cancelTimeout > 0) setTimer(bridge, `cancel ${session.id}`, bridge.options.cancelTimeout);
  if (turn.inserted !== undefined && !session.works) doubtIdle(bridge, session, CANCELLED);
}

/** Cancelled work waits for nobody: its questions are answered as cancelled, and the client need not answer them. */
function withdrawQuestions(bridge: Bridge, session: DowngradedSession): void {
  withdrawRequests(bridge, session.id);
  for (const toolCallId of session.questions) endQuestion(bridge, session, toolCallId, false);
}

/** The prompts that wait for the open one end as cancelled, which for v1 is no error. */
function endHeld(bridge: Bridge, session: DowngradedSession): void {
  for (const { clientId } of session.held.splice(0)) answer(bridge, clientId, CANCELLED);
}

/**
 * The client's `$/cancel_request` for a prompt: a held one is refused; the open one is cancelled as `session/cancel`
 * would, since the agent has answered v2's part of it long before it ends.
 *
 * @returns true when the request was such a prompt
 */
export function cancelPrompt(bridge: Bridge, session: DowngradedSession, clientId: RequestId): boolean {
  if (session.turn?.clientId === clientId) {
    cancelWork(bridge, session, { sessionId: session.id });
    return true;
  }
  const index = session.held.findIndex((held) => held.clientId === clientId);
  if (index < 0) return false;
  session.held.splice(index, 1);
  refuse(bridge, clientId, rpcError(ErrorCode.requestCancelled, "the prompt was cancelled before the agent took it"));
  return true;
}

/** The session is about to be closed: no prompt of it is sent any more, and nothing waits for a person. */
export function stopPrompts(bridge: Bridge, session: DowngradedSession): void {
  session.closing = true;
  endHeld(bridge, session);
  withdrawQuestions(bridge, session);
}

/** The session is over: nothing of it is waited for any more. */
export function endAllPrompts(bridge: Bridge, session: DowngradedSession): void {
  endHeld(bridge, session);
  endTurn(bridge, session, CANCELLED);
}

/** The agent is gone: its tool calls failed, and its prompts are to be answered with what happened. */
export function abandonPrompts(bridge: Bridge, session: DowngradedSession): void {
  failToolCalls(bridge, session);
  session.held = [];
  finish(bridge, session);
}

/** A timer of this session has run out. */
export function promptTimer(bridge: Bridge, session: DowngradedSession, name: string): void {
  const { turn } = session;
  if (turn === undefined) return;
  if (name === "idle" && turn.doubted !== undefined) endTurn(bridge, session, turn.doubted);
  if (name === "cancel") {
    log(bridge, "warn", "cancel-timeout", { sessionId: session.id, ms: bridge.options.cancelTimeout });
    endTurn(bridge, session, CANCELLED);
  }
}
