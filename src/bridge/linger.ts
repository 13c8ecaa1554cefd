/**
 * A client that loses its connection and comes back over another (docs/linger.md). Meanwhile the agent works on, and what
 * the client is to be told is kept: what it was shown by shown.ts, questions as open requests, turns and held prompts as
 * they are.
 */
import { ErrorCode, rpcError } from "../protocol/errors.ts";
import type { NotificationFrame, RequestId } from "../protocol/frames.ts";
import { asObject, isObject, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import { arrive, claim, sessionLimit } from "./connection.ts";
import { log, toClient } from "./effects.ts";
import { farewell } from "./failures.ts";
import { answerEverything, answerInstead, callClient } from "./requests.ts";
import { lose, takeRetold } from "./shown.ts";
import type { Bridge, ClientCall, Session } from "./state.ts";

/** True when there is something for a client to come back to: a session it can resume. */
export function canLinger(bridge: Bridge): boolean {
  const { options, phase, pairing, sessions, sessionsOpening, agentExit } = bridge;
  const isPaired = phase === "ready" && pairing === "upgrade" && agentExit === undefined;
  return options.lingerLimit > 0 && isPaired && (sessions.size > 0 || sessionsOpening > 0);
}

/** True when nothing would be lost if the client went over to another bridge: it has no session here. */
export function canMove({ phase, pairing, sessions, sessionsOpening }: Bridge): boolean {
  return phase === "ready" && pairing === "upgrade" && sessions.size === 0 && sessionsOpening === 0;
}

/** The client went over to another bridge. What it still asks here gets no other answer. */
export function clientMoved(bridge: Bridge): void {
  const message = "the connection went over to the agent of the session it resumes: ask again";
  answerEverything(bridge, rpcError(ErrorCode.requestCancelled, message));
  bridge.clientLeft = true;
  farewell(bridge);
}

/** The connection broke. Its requests go on, but nobody is told how they end. */
export function clientLost(bridge: Bridge): void {
  bridge.connection++;
  bridge.clientAway = true;
  log(bridge, "info", "client-lost", { sessions: bridge.sessions.size });
  for (const session of bridge.sessions.values()) {
    session.away = true;
    if (session.shown !== undefined) lose(session.shown, sessionLimit(bridge));
  }
  for (const [id, call] of [...bridge.clientCalls]) {
    if (call.waits) continue;
    if (canBeAskedAgain(call)) call.waits = true;
    else answerInstead(bridge, id, call, rpcError(ErrorCode.internalError, "the client lost its connection"));
  }
  for (const { id } of bridge.pipelined.splice(0)) bridge.clientRequests.delete(id);
}

/** A question to a person may be asked twice. Of anything else nobody knows whether the client has done it. */
function canBeAskedAgain(call: ClientCall): boolean {
  return call.cancelled !== undefined && call.sessionId !== undefined && call.withdrawn !== true;
}

/**
 * The client is there again. What it is told waits for the `session/resume` of each session.
 *
 * @param capabilities what it said of itself on this connection: from now on that is what it can do
 */
export function clientBack(bridge: Bridge, capabilities: JsonObject): void {
  bridge.clientAway = false;
  bridge.clientCapabilities = capabilities;
  log(bridge, "info", "client-back", { connection: bridge.connection });
  for (const frame of takeRetold(bridge.missed, undefined).frames) toClient(bridge, frame);
  askWaiting(bridge, ({ sessionId }) => sessionId === undefined || !bridge.sessions.has(sessionId));
}

/** What a client that is back in a session has or may have missed there. */
export interface Missed {
  frames: NotificationFrame[];
  /** The session's state, with what was said of it. */
  state: NotificationFrame | undefined;
  /** True when there was more than was kept. */
  gap: boolean;
}

/**
 * Takes what is to be told.
 *
 * @param replayed the clock of what was shown before the agent told the session's history, if it did
 */
export function takeMissed({ shown }: Session, replayed: number | undefined): Missed {
  if (shown === undefined) return { frames: [], state: undefined, gap: false };
  const gap = shown.gap && replayed === undefined;
  return { ...takeRetold(shown, replayed), gap };
}

/** The questions of a session that are open go to the client that is back, under new ids. */
export function askAgain(bridge: Bridge, session: Session): void {
  askWaiting(bridge, ({ sessionId }) => sessionId === session.id);
}

/** The session is over before its client came back to it: nobody will answer what waits for that. */
export function dropWaiting(bridge: Bridge, session: Session): void {
  for (const [id, call] of [...bridge.clientCalls])
    if (call.waits && call.sessionId === session.id)
      answerInstead(bridge, id, call, rpcError(ErrorCode.requestCancelled, "the session was closed"));
}

function askWaiting(bridge: Bridge, isMeant: (call: ClientCall) => boolean): void {
  for (const [id, call] of [...bridge.clientCalls]) {
    if (!call.waits || !isMeant(call)) continue;
    if (offersToAnswer(bridge, call)) {
      bridge.clientCalls.delete(id);
      callClient(bridge, call.params, call);
    } else answerInstead(bridge, id, call, rpcError(ErrorCode.methodNotFound, "the client does not offer this"));
  }
}

function offersToAnswer({ clientCapabilities }: Bridge, { method, params }: ClientCall): boolean {
  if (method !== Method.elicitationCreate) return true;
  return isObject(asObject(clientCapabilities["elicitation"])[String(asObject(params)["mode"])]);
}

/** The agent is gone: before the client that comes back is told so, it gets what it missed of the session. */
export function tellOnceMore(bridge: Bridge, clientId: RequestId): void {
  const session = bridge.sessions.get(bridge.clientRequests.get(clientId)?.sessionId ?? "");
  if (session === undefined || !session.away) return;
  claim(bridge, session, clientId);
  arrive(bridge, session);
  const { frames, state } = takeMissed(session, undefined);
  for (const frame of frames) toClient(bridge, frame);
  if (state !== undefined) toClient(bridge, state);
}
