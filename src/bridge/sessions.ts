/**
 * Session setup and the baseline methods a v1 agent may lack (docs/mapping.md §3, §4).
 */
import { ErrorCode, RequestFault, type RpcError, rpcError } from "../protocol/errors.ts";
import type { RequestId } from "../protocol/frames.ts";
import { asArray, asObject, asString, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import type { AgentOffers } from "../translate/capabilities.ts";
import type { SessionConfig } from "../translate/config-options.ts";
import { errorToV2 } from "../translate/errors.ts";
import type { Notes } from "../translate/notes.ts";
import { newSessionParamsToV1, resumeParamsToV1, sessionListToV2, sessionResultToV2 } from "../translate/sessions.ts";
import { arrive, claim, isOrphan } from "./connection.ts";
import { dropEarly, takeEarly } from "./early.ts";
import { log, logNotes, sendUpdate, setTimer, toClient, updateClient } from "./effects.ts";
import { endTerminals } from "./hosting.ts";
import { askAgain, dropWaiting, takeMissed } from "./linger.ts";
import {
  forget,
  keep,
  keepMessages,
  type RememberedSession,
  recall,
  recallIndex,
  rememberedLedger,
  replayOf,
  timeText,
  transcribes,
} from "./memory.ts";
import { beginReplay, contentUpdates, endMessage, endReplay, finishReplayed } from "./messages.ts";
import { answer, passOn, refuse, withdrawRequests } from "./requests.ts";
import { type Bridge, createSession, type IndexEntry, type Restoring, type Session } from "./state.ts";
import { cancel, endToolCalls, endTurn, isQuiet, refuseHeld, reportState, sendHeld } from "./turns.ts";
import { endUnprompted } from "./unprompted.ts";
import { commandsAmong, rememberReplayed, replayed, sessionUpdate } from "./updates.ts";

/** How long a close waits for the agent to end its work when `--cancel-timeout` sets no limit, in ms. */
const CLOSE_TIMEOUT = 30_000;

/** What the agent offers. No request gets here before it has said so. */
function offersOf(bridge: Bridge): AgentOffers {
  if (bridge.offers === undefined) throw new Error("no agent has been paired yet");
  return bridge.offers;
}

/** `session/new`, and the unstable `session/fork`: both name a new session in their result. */
export function openSession(bridge: Bridge, clientId: RequestId, params: JsonObject, method: string): void {
  const v1Params = newSessionParamsToV1(params, offersOf(bridge));
  bridge.sessionsOpening++;
  passOn(bridge, clientId, method, v1Params, (frame) => {
    bridge.sessionsOpening--;
    if ("error" in frame) refuse(bridge, clientId, errorToV2(frame.error, { method }));
    else sessionOpened(bridge, clientId, params, asObject(frame.result));
    dropEarly(bridge);
  });
}

function sessionOpened(bridge: Bridge, clientId: RequestId, params: JsonObject, result: JsonObject): void {
  const sessionId = asString(result["sessionId"]);
  if (sessionId === undefined || sessionId === "") {
    refuse(bridge, clientId, rpcError(ErrorCode.internalError, "the agent's result names no session"));
    return;
  }
  const cwd = asString(params["cwd"]) ?? "/";
  const config = configOf(result);
  const session = createSession(sessionId, cwd, config);
  settleIn(bridge, session, clientId);
  abandon(bridge, bridge.sessions.get(sessionId));
  bridge.ledgers.delete(sessionId);
  forget(bridge, sessionId);
  bridge.sessions.set(sessionId, session);
  remember(bridge, session, params);
  const early = takeEarly(bridge, sessionId);
  answer(bridge, clientId, sessionResultToV2(result, config, commandsAmong(early)));
  for (const update of early) sessionUpdate(bridge, session, update);
}

/** The agent gave a live session's id to a new one: the work of the first is over. */
function abandon(bridge: Bridge, session: Session | undefined): void {
  if (session === undefined) return;
  log(bridge, "warn", "session-id-reused", { sessionId: session.id });
  dropWaiting(bridge, session);
  refuseHeld(bridge, session);
  session.restoring?.onQuiet?.();
  endRestoring(bridge, session);
  endTurn(bridge, session, { outcome: "cancelled", fields: {} });
  endUnprompted(bridge, session, { stopReason: "cancelled" });
}

/** The session belongs to the connection over which it was asked for, which may be lost by now. */
function settleIn(bridge: Bridge, session: Session, clientId: RequestId): void {
  claim(bridge, session, clientId);
  arrive(bridge, session);
}

function configOf(result: JsonObject): SessionConfig {
  return { configOptions: result["configOptions"], modes: result["modes"], models: result["models"] };
}

function remember(bridge: Bridge, session: Session, params: JsonObject): void {
  const { additionalDirectories } = params;
  session.cwd = asString(params["cwd"]) ?? session.cwd;
  bridge.index.set(session.id, {
    updatedAt: bridge.now,
    ...bridge.index.get(session.id),
    sessionId: session.id,
    cwd: session.cwd,
    ...(Array.isArray(additionalDirectories) && additionalDirectories.length > 0 && { additionalDirectories }),
  });
  session.additionalDirectories = asArray(additionalDirectories).filter((entry) => typeof entry === "string");
  session.messages.keepsContent = transcribes(bridge);
  keep(bridge, session.id, {
    type: "session",
    cwd: session.cwd,
    ...(Array.isArray(additionalDirectories) && { additionalDirectories }),
    at: timeText(bridge, bridge.now),
  });
}

/** Notes that something happened in the session, for the order and `updatedAt` of `session/list`. */
export function touch(bridge: Bridge, session: Session): void {
  const entry = bridge.index.get(session.id);
  if (entry === undefined) return;
  entry.updatedAt = bridge.now;
  if (bridge.options.remembers) keep(bridge, session.id, { type: "info", at: timeText(bridge, bridge.now) });
}

/** `session/list`: the agent's own, or the sessions of this run and those kept from earlier ones. */
export function listSessions(bridge: Bridge, clientId: RequestId, params: JsonObject): void {
  const cwd = asString(params["cwd"]);
  const offers = offersOf(bridge);
  if (!offers.list) {
    const answerFrom = (kept: IndexEntry[]) => {
      const entries = new Map(kept.map((entry) => [entry.sessionId, entry]));
      for (const [sessionId, entry] of bridge.index) entries.set(sessionId, { ...entries.get(sessionId), ...entry });
      const sessions = [...entries.values()]
        .filter((entry) => cwd === undefined || entry.cwd === cwd)
        .map((entry) => ({ ...entry, updatedAt: timeText(bridge, entry.updatedAt) }))
        .sort((one, other) => other.updatedAt.localeCompare(one.updatedAt));
      answer(bridge, clientId, { sessions });
    };
    // An earlier run's session that nothing can bring back is not worth listing.
    if (offers.resume || offers.load) recallIndex(bridge, answerFrom);
    else answerFrom([]);
    return;
  }
  passOn(bridge, clientId, Method.sessionList, params, (frame) => {
    if ("error" in frame) return refuse(bridge, clientId, errorToV2(frame.error, { method: Method.sessionList }));
    const notes: Notes = [];
    const list = sessionListToV2(asObject(frame.result), cwd, notes);
    logNotes(bridge, notes, { method: Method.sessionList });
    answer(bridge, clientId, list);
  });
}

/** `session/resume`, over whatever the agent has for it. Before the result the client gets the session's state. */
export function resumeSession(bridge: Bridge, clientId: RequestId, params: JsonObject): void {
  const live = bridge.sessions.get(asString(params["sessionId"]) ?? "");
  if (live?.restoring !== undefined) {
    const next = live.resumesNext;
    if (live.connection === bridge.connection || (next !== undefined && !isOrphan(bridge, next.clientId)))
      throw resumedAlready();
    live.resumesNext = { clientId, params };
    return;
  }
  if (live?.closing !== undefined) {
    const close = live.closing;
    live.closing = () => {
      close();
      attempt(bridge, clientId, () => resumeSession(bridge, clientId, params));
    };
    return;
  }
  const replayFrom = params["replayFrom"] ?? undefined;
  if (replayFrom !== undefined && asObject(replayFrom)["type"] !== "start")
    throw new RequestFault(
      rpcError(ErrorCode.invalidParams, 'replayFrom must be {"type": "start"} or be left out', {
        supported: ["start"],
      }),
    );
  const v1Params = resumeParamsToV1(params, offersOf(bridge));
  const returns = live?.away === true;
  const wantsReplay = replayFrom !== undefined;
  const resume: Resume = { clientId, params, v1Params, wantsReplay, returns, live, kept: undefined };
  if (live !== undefined) claim(bridge, live, clientId);
  // What was kept is needed for the ids of a session of an earlier run, and for a replay the agent cannot give.
  const needed = live === undefined || ((wantsReplay || live.shown?.gap === true) && transcribes(bridge));
  if (!needed) return resumeOver(bridge, live, resume);
  const sessionId = asString(params["sessionId"]) ?? "";
  const { load, resume: resumes } = offersOf(bridge);
  if (live === undefined && !load && !resumes) throw sessionNotFound(sessionId);
  const session = live ?? awaited(bridge, clientId, params);
  keepMessages(bridge, session);
  recall(bridge, sessionId, (kept) => {
    if (bridge.sessions.get(sessionId) !== session) return refuseClosed(bridge, session, clientId);
    resumeAwaited(bridge, session, { ...resume, kept });
  });
}

/** A session the client is about to have: what it asks of it meanwhile waits. */
function awaited(bridge: Bridge, clientId: RequestId, params: JsonObject): Session {
  const session = createSession(asString(params["sessionId"]) ?? "", asString(params["cwd"]) ?? "/", {});
  settleIn(bridge, session, clientId);
  session.restoring = { replay: "swallow", swallowed: 0, toolCalls: new Set(), plans: [] };
  bridge.sessions.set(session.id, session);
  return session;
}

function resumedAlready(): RequestFault {
  return new RequestFault(rpcError(ErrorCode.invalidRequest, "the session is being resumed already"));
}

function sessionNotFound(sessionId: string): RequestFault {
  return new RequestFault(rpcError(ErrorCode.resourceNotFound, "session not found", { sessionId }));
}

function refuseClosed(bridge: Bridge, session: Session, clientId: RequestId): void {
  const error = rpcError(ErrorCode.requestCancelled, "the session was closed while it was being resumed");
  refuse(bridge, clientId, error);
  if (session.resumesNext !== undefined) refuse(bridge, session.resumesNext.clientId, error);
}

/** Resumes over what the agent has by now; where that is nothing, what waited for the session fails as the resume does. */
function resumeAwaited(bridge: Bridge, session: Session, resume: Resume): void {
  try {
    resumeOver(bridge, session, resume);
  } catch (fault) {
    if (!(fault instanceof RequestFault)) throw fault;
    refuse(bridge, resume.clientId, fault.error);
    if (resume.live === undefined) afterFailedRestore(bridge, session, undefined, fault.error);
  }
}

function resumeOver(bridge: Bridge, session: Session, resume: Resume): void {
  const { wantsReplay, returns, live } = resume;
  const offers = offersOf(bridge);
  if (live?.restoring !== undefined) throw resumedAlready();

  // Work that runs is not to be disturbed: the agent has the session open already.
  if (session.turn !== undefined) return resumed(bridge, session, resume, {});
  if (wantsReplay && offers.load) return restore(bridge, session, resume, Method.sessionLoad, "translate");
  if (returns) return resumed(bridge, session, resume, {});
  if (offers.resume) return restore(bridge, session, resume, Method.sessionResume, "swallow");
  if (offers.load) return restore(bridge, session, resume, Method.sessionLoad, "swallow");
  if (live === undefined) throw sessionNotFound(session.id);
  resumed(bridge, session, resume, {});
}

interface Resume {
  clientId: RequestId;
  params: JsonObject;
  v1Params: JsonObject;
  wantsReplay: boolean;
  /** The clock of what was shown before the agent told the history, once it did. */
  replayed?: number | undefined;
  /** True when the client comes back to a session that it left open when it lost its connection. */
  returns: boolean;
  /** The session when the client has it open already. */
  live: Session | undefined;
  kept: RememberedSession | undefined;
}

function restore(bridge: Bridge, session: Session, resume: Resume, method: string, replay: Restoring["replay"]): void {
  const { clientId, v1Params, live, kept } = resume;
  const sessionId = session.id;
  if (live === undefined)
    session.messages.ledger = bridge.ledgers.get(sessionId) ?? (kept === undefined ? [] : rememberedLedger(kept));
  session.restoring = { replay, swallowed: 0, toolCalls: new Set(), plans: [] };
  const replayed = replay === "translate" ? (session.shown?.clock ?? 0) : undefined;
  if (replay === "translate") {
    beginReplay(session.messages);
    arrive(bridge, session);
  }
  passOn(bridge, clientId, method, v1Params, (frame) => {
    if (bridge.sessions.get(sessionId) !== session) return refuseClosed(bridge, session, clientId);
    if ("error" in frame) {
      const refusal = errorToV2(frame.error, { method, sessionId });
      endRestoring(bridge, session);
      // Some agents announce a resume they do not have.
      if (method === Method.sessionResume && refusal.code === ErrorCode.methodNotFound) {
        log(bridge, "warn", "resume-announced-but-missing", { sessionId });
        bridge.offers = { ...offersOf(bridge), resume: false };
        return resumeAwaited(bridge, session, resume);
      }
      // What it left open is still there.
      if (resume.returns) return resumed(bridge, session, resume, {});
      refuse(bridge, clientId, refusal);
      return afterFailedRestore(bridge, session, live, refusal);
    }
    const result = asObject(frame.result);
    session.config = { ...session.config, ...definedConfig(result) };
    const finish = () => restored(bridge, session, { ...resume, replayed }, result);
    // Some agents answer in the middle of the replay.
    if (method === Method.sessionLoad || session.restoring?.swallowed) whenQuiet(bridge, session, finish);
    else finish();
  });
}

/** What waited for the session: it goes on in one that was open before, else it fails as the resume did. */
function afterFailedRestore(bridge: Bridge, session: Session, live: Session | undefined, refusal: RpcError): void {
  if (live !== undefined) return goOn(bridge, session);
  bridge.sessions.delete(session.id);
  for (const held of session.held.splice(0)) refuse(bridge, held.clientId, refusal);
  dropWaiting(bridge, session);
  resumeNext(bridge, session);
}

/** The session is open: what waited for that goes on. */
function goOn(bridge: Bridge, session: Session): void {
  sendHeld(bridge, session);
  resumeNext(bridge, session);
}

function resumeNext(bridge: Bridge, session: Session): void {
  const next = session.resumesNext;
  session.resumesNext = undefined;
  if (next !== undefined) attempt(bridge, next.clientId, () => resumeSession(bridge, next.clientId, next.params));
}

function definedConfig(result: JsonObject): SessionConfig {
  return Object.fromEntries(
    Object.entries(configOf(result)).filter(([, value]) => value !== undefined && value !== null),
  );
}

function whenQuiet(bridge: Bridge, session: Session, finish: () => void): void {
  if (session.restoring === undefined) return;
  session.restoring.onQuiet = finish;
  session.restoring.answeredAt = bridge.now;
  session.lastSign = bridge.now;
  setTimer(bridge, `quiet ${session.id}`, Math.max(replayQuiet(bridge), 1));
}

function replayQuiet({ behaviour }: Bridge): number {
  return Math.max(behaviour.settle, behaviour.replaySettle);
}

/** The quiet after a load's result: what still came counted as replay. */
export function quietTimer(bridge: Bridge, session: Session): void {
  const { onQuiet, answeredAt } = session.restoring ?? {};
  if (onQuiet !== undefined && isQuiet(bridge, session, "quiet", replayQuiet(bridge), answeredAt)) onQuiet();
}

/** History is over: the message being gathered is sent, and what was swallowed is on record. */
function endRestoring(bridge: Bridge, session: Session): void {
  replayed(bridge, session, finishReplayed(session.messages));
  endReplay(session.messages);
  session.diffs.clear();
  const swallowed = session.restoring?.swallowed ?? 0;
  session.restoring = undefined;
  if (swallowed > 0) log(bridge, "info", "replay-swallowed", { sessionId: session.id, updates: swallowed });
}

function restored(bridge: Bridge, session: Session, resume: Resume, result: JsonObject): void {
  const translated = session.restoring?.replay === "translate";
  endRestoring(bridge, session);
  remember(bridge, session, resume.params);
  const wantsReplay = resume.wantsReplay && !translated;
  resumed(bridge, session, { ...resume, wantsReplay }, result);
}

function resumed(bridge: Bridge, session: Session, resume: Resume, result: JsonObject): void {
  arrive(bridge, session);
  // Its own connection is lost, and what it was to be told waits for whoever comes next.
  if (session.away) return goOn(bridge, session);
  const missed = resume.returns ? takeMissed(session, resume.replayed) : undefined;
  if (resume.wantsReplay) replayKept(bridge, session, resume, NO_HISTORY);
  else if (missed?.gap) replayKept(bridge, session, resume, NOT_ALL_KEPT);
  for (const frame of missed?.frames ?? []) toClient(bridge, frame);
  if (missed?.state === undefined) reportState(bridge, session, session.state);
  else toClient(bridge, missed.state);
  answer(bridge, resume.clientId, sessionResultToV2(result, session.config, undefined));
  if (resume.returns) askAgain(bridge, session);
  goOn(bridge, session);
}

const NO_HISTORY = {
  title: "The history of this session is not available",
  description: "The agent cannot replay it now, and it was not kept in full here.",
};

const NOT_ALL_KEPT = {
  title: "Not all that happened while the connection was lost is shown",
  description: "It was more than is kept; resume the session with its history to see what there is of it.",
};

/** A replay the agent cannot give comes from the transcript, as far as there is one; else the client gets that notice. */
function replayKept(
  bridge: Bridge,
  session: Session,
  { kept, live }: Resume,
  without: { title: string; description: string },
): void {
  for (const update of replayOf(kept?.transcript ?? [])) {
    rememberReplayed(session, update);
    sendUpdate(bridge, session, update);
  }
  const open = session.messages.current;
  if (open !== undefined) for (const update of contentUpdates(open)) sendUpdate(bridge, session, update);
  // Whoever worked on what is still open in it is gone.
  if (live === undefined) endToolCalls(bridge, session, "failed");
  if (kept?.transcriptComplete && (kept.transcript.length > 0 || kept.messages.length === 0)) return;
  updateClient(bridge, session, {
    sessionUpdate: "notice",
    severity: "warning",
    ...without,
  });
}

/** `session/close`: running work is cancelled first, as `session/cancel` would; an unknown session counts as closed. */
export function closeSession(bridge: Bridge, clientId: RequestId, params: JsonObject): void {
  const session = bridge.sessions.get(asString(params["sessionId"]) ?? "");
  if (session === undefined) return answer(bridge, clientId, {});
  endWork(bridge, session, () => {
    const offers = offersOf(bridge);
    if (!offers.resume && !offers.load) {
      bridge.index.delete(session.id);
      forget(bridge, session.id);
    }
    if (!offers.close) return answer(bridge, clientId, {});
    passOn(bridge, clientId, Method.sessionClose, params, (frame) => {
      const error =
        "error" in frame ? errorToV2(frame.error, { method: Method.sessionClose, sessionId: session.id }) : undefined;
      if (error === undefined || error.code === ErrorCode.resourceNotFound)
        answer(bridge, clientId, "result" in frame ? frame.result : {});
      else refuse(bridge, clientId, error);
    });
  });
}

/** `session/delete`, which ends running work likewise. */
export function deleteSession(bridge: Bridge, clientId: RequestId, params: JsonObject): void {
  const sessionId = asString(params["sessionId"]) ?? "";
  if (!offersOf(bridge).delete)
    throw new RequestFault(rpcError(ErrorCode.methodNotFound, "this agent cannot delete sessions"));
  const forward = () => {
    passOn(bridge, clientId, Method.sessionDelete, params, (frame) => {
      if ("error" in frame) {
        refuse(bridge, clientId, errorToV2(frame.error, { method: Method.sessionDelete, sessionId }));
        return;
      }
      bridge.index.delete(sessionId);
      bridge.ledgers.delete(sessionId);
      forget(bridge, sessionId);
      answer(bridge, clientId, frame.result);
    });
  };
  const session = bridge.sessions.get(sessionId);
  if (session === undefined) forward();
  else endWork(bridge, session, forward);
}

/** Cancels what runs, and goes on when the turn has its idle. From then on updates of the session are dropped. */
function endWork(bridge: Bridge, session: Session, done: () => void): void {
  refuseHeld(bridge, session);
  endUnprompted(bridge, session, { stopReason: "cancelled" });
  session.restoring?.onQuiet?.();
  const close = () => {
    // Before it was restored it has no ledger, which is not to hide the one there is.
    const isOpen = session.restoring === undefined;
    endRestoring(bridge, session);
    endMessage(session.messages);
    keepMessages(bridge, session);
    if (bridge.index.has(session.id)) keep(bridge, session.id, { type: "closed", at: timeText(bridge, bridge.now) });
    bridge.sessions.delete(session.id);
    if (isOpen || session.messages.ledger.length > 0) bridge.ledgers.set(session.id, session.messages.ledger);
    session.closing = undefined;
    refuseHeld(bridge, session);
    withdrawRequests(bridge, session.id);
    dropWaiting(bridge, session);
    endTerminals(bridge, session.id);
    done();
  };
  if (session.closing !== undefined) {
    const first = session.closing;
    session.closing = () => {
      first();
      done();
    };
    return;
  }
  if (session.turn === undefined) return close();
  session.closing = close;
  cancel(bridge, session, { sessionId: session.id });
  if (bridge.options.cancelTimeout === 0) setTimer(bridge, `cancel ${session.id}`, CLOSE_TIMEOUT);
}

/** Runs a handler; a fault in the request becomes its error answer. */
export function attempt(bridge: Bridge, clientId: RequestId, handle: () => void): void {
  try {
    handle();
  } catch (fault) {
    if (!(fault instanceof RequestFault)) throw fault;
    refuse(bridge, clientId, fault.error);
  }
}
