/**
 * Updates that come before the result that names their session: they wait for it, in both translating pairings
 * (docs/mapping.md §3).
 */
import { asObject, asString, isObject, type JsonObject } from "../protocol/json.ts";
import { log } from "./effects.ts";
import type { Bridge } from "./state.ts";

/** The params of a `session/update`, with the session it names; undefined, with a record, when they are none. */
export function readUpdate(bridge: Bridge, params: unknown): { sessionId: string; params: JsonObject } | undefined {
  const sessionId = isObject(params) ? asString(params["sessionId"]) : undefined;
  if (
    isObject(params) &&
    sessionId !== undefined &&
    asString(asObject(params["update"])["sessionUpdate"]) !== undefined
  )
    return { sessionId, params };
  log(bridge, "warn", "update-malformed");
  return undefined;
}

/** An update of a session the client does not know: kept while one is being opened, else dropped. */
export function keepEarly(bridge: Bridge, sessionId: string, params: JsonObject): void {
  const early = bridge.early.get(sessionId);
  if (bridge.sessionsOpening === 0) log(bridge, "info", "update-of-unknown-session", { sessionId });
  else if (early === undefined) bridge.early.set(sessionId, [params]);
  else early.push(params);
}

/** What came early for a session that is open now. */
export function takeEarly(bridge: Bridge, sessionId: string): JsonObject[] {
  const early = bridge.early.get(sessionId) ?? [];
  bridge.early.delete(sessionId);
  return early;
}

/** Once no session is being opened any more, what still waits belongs to none. */
export function dropEarly(bridge: Bridge): void {
  if (bridge.sessionsOpening > 0) return;
  for (const [sessionId, updates] of bridge.early)
    log(bridge, "info", "update-of-unknown-session", { sessionId, updates: updates.length });
  bridge.early.clear();
}
