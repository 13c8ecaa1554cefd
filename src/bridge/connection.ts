/**
 * The connections of one client, of which it may lose one and come back over another (docs/linger.md): whose request ids
 * are whose, and what of all that goes to the client is for the one that is there.
 */
import { readExact } from "../protocol/exact.ts";
import {
  type ErrorFrame,
  type Frame,
  isRequestId,
  type NotificationFrame,
  type RequestFrame,
  type RequestId,
  type ResultFrame,
} from "../protocol/frames.ts";
import { asObject, asString, isObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import type { Event } from "./events.ts";
import { createShown, type Shown, show, showOnce, trim } from "./shown.ts";
import type { Bridge, Session } from "./state.ts";

/** How much of the whole limit one session may take. */
const SESSION_SHARE = 1 / 4;

/** How much is kept of one session. */
export function sessionLimit(bridge: Bridge): number {
  return bridge.options.lingerLimit * SESSION_SHARE;
}

/**
 * The client counts its requests anew on each connection, while some of an earlier one may still be open. So the core
 * knows those of later connections by ids of its own.
 *
 * @returns the event as the core is to see it
 */
export function withOwnIds(bridge: Bridge, event: Event): Event {
  if (bridge.connection === 0 || event.type !== "frame" || event.from !== "client" || !isObject(event.value))
    return event;
  const { method, id, params } = event.value;
  if (typeof method !== "string") return event;
  const value = { ...event.value };
  if (isRequestId(id)) value["id"] = ownId(bridge, id);
  const named = asObject(params)["requestId"];
  if (method === Method.cancelRequest && isRequestId(named))
    value["params"] = { ...asObject(params), requestId: ownId(bridge, named) };
  return { ...event, value };
}

/** The core's id for a request that came over the present connection. */
export function ownId(bridge: Bridge, id: RequestId): RequestId {
  return bridge.connection === 0 ? id : `${bridge.options.runId}/${bridge.connection}/${JSON.stringify(id)}`;
}

/** The number of the connection a request came over, and the client's own id of it. */
function readOwnId(bridge: Bridge, id: RequestId): { connection: number; id: RequestId } {
  if (bridge.connection === 0) return { connection: 0, id };
  const [run, number, ...rest] = typeof id === "string" ? id.split("/") : [];
  if (run !== bridge.options.runId) return { connection: 0, id };
  const connection = Number(number);
  const clients = readExact(rest.join("/"));
  // The first connection's ids are as the client made them, and may look like anything.
  const isOwn = connection <= bridge.connection && isRequestId(clients);
  return isOwn ? { connection, id: clients } : { connection: 0, id };
}

/** True for a request whose connection was lost: nobody is there to get an answer. */
export function isOrphan(bridge: Bridge, clientId: RequestId): boolean {
  return readOwnId(bridge, clientId).connection !== bridge.connection;
}

/** The session now belongs to the connection over which this request came. */
export function claim(bridge: Bridge, session: Session, clientId: RequestId): void {
  session.connection = Math.max(session.connection, readOwnId(bridge, clientId).connection);
}

/** From here on the session's updates go to the client, if it is still there. */
export function arrive(bridge: Bridge, session: Session): void {
  session.away = session.connection !== bridge.connection;
}

/** True when the client, or the one of that session, is not there to be asked anything. */
export function isAway(bridge: Bridge, sessionId: string | undefined): boolean {
  return bridge.sessions.get(sessionId ?? "")?.away ?? bridge.clientAway;
}

/** The frame as the client that is there is to get it; undefined when it is not to. What it may have missed is kept. */
export function forPresentClient(bridge: Bridge, frame: Frame): Frame | undefined {
  if (!("method" in frame)) return answerOverPresent(bridge, frame);
  if ("id" in frame) return withClientsId(bridge, frame);
  const params = asObject(frame.params);
  const session = bridge.sessions.get(asString(params["sessionId"]) ?? "");
  if (session === undefined) return ofNoSession(bridge, frame);
  const { away } = session;
  session.shown ??= createShown();
  if (frame.method === Method.sessionUpdate) show(session.shown, params, away);
  else if (away) showOnce(session.shown, frame.method, params);
  bound(bridge, session.shown, away);
  return away ? undefined : frame;
}

function answerOverPresent(bridge: Bridge, frame: ResultFrame | ErrorFrame): Frame | undefined {
  if (bridge.clientAway) return undefined;
  if (frame.id === null) return frame;
  const { connection, id } = readOwnId(bridge, frame.id);
  return connection === bridge.connection ? { ...frame, id } : undefined;
}

/** An elicitation may name a request of the client's. */
function withClientsId(bridge: Bridge, frame: RequestFrame): Frame {
  const params = asObject(frame.params);
  const { requestId } = params;
  if (frame.method !== Method.elicitationCreate || !isRequestId(requestId)) return frame;
  return { ...frame, params: { ...params, requestId: readOwnId(bridge, requestId).id } };
}

function ofNoSession(bridge: Bridge, frame: NotificationFrame): Frame | undefined {
  const params = asObject(frame.params);
  // What a client knows to be complete already is no news to it, so that may be told twice.
  if (frame.method === Method.elicitationComplete)
    showOnce(bridge.missed, frame.method, params, `elicitation ${params["elicitationId"]}`);
  else if (bridge.clientAway) showOnce(bridge.missed, frame.method, params);
  trim(bridge.missed, sessionLimit(bridge));
  return bridge.clientAway ? undefined : frame;
}

/** Makes room where the session that was just added to, or all together, take more than they may. */
function bound(bridge: Bridge, shown: Shown, away: boolean): void {
  const limit = sessionLimit(bridge);
  if (shown.size > limit) trim(shown, limit / 2, away);
  let total = 0;
  let largest = { shown, away };
  for (const other of bridge.sessions.values()) {
    if (other.shown === undefined) continue;
    total += other.shown.size;
    if (other.shown.size > largest.shown.size) largest = { shown: other.shown, away: other.away };
  }
  if (total > bridge.options.lingerLimit) trim(largest.shown, largest.shown.size / 2, largest.away);
}
