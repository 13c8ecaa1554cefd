/** What v2 lets an agent call on a client, unstable methods included (schema v2, `x-side: client` and `protocol`). */
const V2_CLIENT_METHODS = {
  request: ["session/request_permission", "elicitation/create", "mcp/message"],
  notification: ["session/update", "elicitation/complete", "auth/status_update"],
};

/**
 * The name under which a v1 agent's request or notification is forwarded to a v2 client (docs/mapping.md §10).
 * Bare names are reserved in v2, so a method v2 does not define gets a `_` prefix, as does one that it defines as the
 * other kind of call; `_…` and `$/…` stay.
 */
export function methodToClientV2(method: string, kind: "request" | "notification"): string {
  const allowed = method.startsWith("_") || method.startsWith("$/") || V2_CLIENT_METHODS[kind].includes(method);
  return allowed ? method : `_${method}`;
}

/**
 * The name under which a v2 agent's request or notification is forwarded to a v1 client (docs/mapping.md §13). Every
 * method that v2 lets an agent call, v1 has under the same name; the rest is named as {@link methodToClientV2} has it.
 */
export const methodToClientV1: typeof methodToClientV2 = methodToClientV2;
