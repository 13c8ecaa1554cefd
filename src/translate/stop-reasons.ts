import { asObject, isObject, type JsonObject, without } from "../protocol/json.ts";
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

/** The `_meta` key under which a v1 prompt result carries a stop reason that v1 does not define. */
const ORIGINAL_STOP_REASON = "acp-shift/stopReason";

/**
 * What a v2 `idle` says of the work it ends, as the result of a v1 `session/prompt` (docs/mapping.md §13, schema v1
 * `PromptResponse`). No stop reason, and one v1 does not define, is `end_turn`; the original is then kept in `_meta`.
 * `error` is no matter of a result: the caller answers with an error instead.
 *
 * @param idle `stopReason`, `usage`, `_meta` and whatever else the `idle` has that belongs to the result
 */
export function promptResultToV1(idle: JsonObject): JsonObject {
  const { stopReason } = idle;
  const usage = isObject(idle.usage) ? { usage: idle.usage } : {};
  const rest = without(idle, "usage");
  if (typeof stopReason === "string" && V1_STOP_REASONS.includes(stopReason)) return { ...rest, stopReason, ...usage };
  if (typeof stopReason !== "string") return { ...rest, stopReason: "end_turn", ...usage };
  const _meta = { ...asObject(idle._meta), [ORIGINAL_STOP_REASON]: stopReason };
  return { ...rest, stopReason: "end_turn", ...usage, _meta };
}
