import { underscored } from "./open-enums.ts";

const V1_STOP_REASONS = ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"];

/**
 * The stop reason of a v1 prompt result as a v2 `idle` carries it (docs/mapping.md §9).
 *
 * v1's own reasons stay; any other gets a `_` prefix, `error` too, since v2 gives that word a meaning v1 has not.
 * Undefined when the agent gave none.
 */
export function stopReasonToV2(reason: unknown): string | undefined {
  return typeof reason === "string" && reason !== "" ? underscored(reason, V1_STOP_REASONS) : undefined;
}
