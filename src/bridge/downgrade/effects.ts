/** How the core speaks to a v1 client: strictly in version 1, whatever the agent said. */
import { notification } from "../../protocol/frames.ts";
import { isObject, type JsonObject } from "../../protocol/json.ts";
import { Method } from "../../protocol/methods.ts";
import { paramsToClient } from "../../translate/path-map.ts";
import { isPlainChunk, log, toClient } from "../effects.ts";
import type { Bridge } from "../state.ts";
import type { DowngradedSession } from "./state.ts";

/**
 * Sends the client a v1 session update, with its own paths. What the agent's frame had beside `update` is kept. Bad optional parts
 * are left out, and an update with a bad required part is dropped, both with a record (I3).
 */
export function updateV1Client(
  bridge: Bridge,
  session: DowngradedSession,
  update: JsonObject,
  params: JsonObject = {},
): void {
  const full = clientPaths(bridge, Method.sessionUpdate, { ...params, sessionId: session.id, update });
  const meta = params["_meta"];
  if (isPlainChunk(update) && (meta === undefined || isObject(meta))) {
    toClient(bridge, notification(Method.sessionUpdate, full));
    return;
  }
  const conformed = bridge.options.schemaV1().conform("SessionNotification", full, true);
  const details = { sessionId: session.id, kind: update["sessionUpdate"] };
  if (!conformed.ok) return log(bridge, "warn", "update-dropped", { ...details, fault: conformed.fault });
  if (conformed.dropped.length > 0) log(bridge, "warn", "update-repaired", { ...details, dropped: conformed.dropped });
  toClient(bridge, notification(Method.sessionUpdate, conformed.value));
}

/** Params of a v1 call to the client, with the client's own paths. */
export function clientPaths(bridge: Bridge, method: string, params: JsonObject): JsonObject {
  const { paths } = bridge.options;
  return paths === undefined ? params : paramsToClient(paths, method, params);
}
