/** How the core speaks to a v1 client: strictly in version 1, whatever the agent said. */
import type { JsonObject } from "../../protocol/json.ts";
import { Method } from "../../protocol/methods.ts";
import { paramsToClient } from "../../translate/path-map.ts";
import { sendConforming } from "../effects.ts";
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
  sendConforming(bridge, full, bridge.options.schemaV1, "SessionNotification");
}

/** Params of a v1 call to the client, with the client's own paths. */
export function clientPaths(bridge: Bridge, method: string, params: JsonObject): JsonObject {
  const { paths } = bridge.options;
  return paths === undefined ? params : paramsToClient(paths, method, params);
}
