import type { RpcError } from "../protocol/errors.ts";
import { asArray, asObject, asString, isObject, type JsonObject, without } from "../protocol/json.ts";
import type { Notes } from "./notes.ts";
import { underscored } from "./open-enums.ts";
import { type ToolCallContext, type ToolCallToV1Context, toolCallToV1, toolCallToV2 } from "./tool-calls.ts";

const OPTION_KINDS = ["allow_once", "allow_always", "reject_once", "reject_always"];

/** The result of a v1 permission request that nobody approved. */
export const PERMISSION_CANCELLED: { outcome: { outcome: "cancelled" } } = { outcome: { outcome: "cancelled" } };

/**
 * The params of a v1 `session/request_permission` as v2 has them (docs/mapping.md §10, schema v2
 * `RequestPermissionRequest`): a title, the tool call as `subject`, the options. Options without an id, and ids used
 * twice, are left out with a note; a request without a usable tool call has no subject.
 *
 * @param known what the client knows of the tool call: its tracked title, and whether it has seen it at all. Empty
 *   fields of an announced tool call are dropped, so that they never overwrite known ones.
 */
export function permissionRequestToV2(
  v1Params: JsonObject,
  known: { title?: string; announced: boolean },
  context: ToolCallContext,
  notes: Notes,
): JsonObject {
  const requested = isObject(v1Params.toolCall) ? v1Params.toolCall : undefined;
  const title = [v1Params.title, requested?.title, known.title].find((text) => asString(text)) ?? "Permission required";
  return {
    ...without(v1Params, "toolCall"),
    title,
    ...subjectOf(requested, known.announced, context, notes),
    options: optionsToV2(v1Params.options, notes),
  };
}

function subjectOf(
  requested: JsonObject | undefined,
  announced: boolean,
  context: ToolCallContext,
  notes: Notes,
): { subject?: JsonObject } {
  if (requested === undefined || typeof requested.toolCallId !== "string") {
    notes.push({ rule: "permission-without-tool-call", detail: "the request names no tool call" });
    return {};
  }
  const toolCall = toolCallToV2(announced ? withoutEmpties(requested) : requested, context, notes);
  return { subject: { type: "tool_call", toolCall } };
}

function withoutEmpties(toolCall: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(toolCall).filter(([key, value]) => key === "toolCallId" || !isEmpty(value)));
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

function optionsToV2(v1Options: unknown, notes: Notes): JsonObject[] {
  const ids = new Set<string>();
  return asArray(v1Options).flatMap((option): JsonObject[] => {
    const optionId = isObject(option) ? asString(option.optionId) : undefined;
    if (!isObject(option) || optionId === undefined || ids.has(optionId)) {
      notes.push({ rule: "permission-option-dropped", detail: "an option has no id, or one that is already taken" });
      return [];
    }
    ids.add(optionId);
    const kind = underscored(asString(option.kind) ?? "unknown", OPTION_KINDS);
    return [{ ...option, optionId, name: asString(option.name) ?? optionId, kind }];
  });
}

/**
 * A v2 client's answer to a permission request, for the v1 agent (docs/mapping.md §10).
 *
 * Only `selected` with an option id that was offered is an approval or refusal; an error, `cancelled`, and anything
 * unknown or malformed is `cancelled`. `_meta` of the result and of the outcome stay.
 */
export function permissionResultToV1(
  response: { result?: unknown; error?: RpcError },
  offeredOptionIds: readonly string[],
): JsonObject {
  if (response.error !== undefined || !isObject(response.result)) return PERMISSION_CANCELLED;
  const result = withValidMeta(response.result);
  const outcome = withValidMeta(isObject(result.outcome) ? result.outcome : {});
  const optionId = asString(outcome.optionId);
  if (outcome.outcome === "selected" && optionId !== undefined && offeredOptionIds.includes(optionId)) {
    return { ...result, outcome };
  }
  const meta = outcome._meta === undefined ? {} : { _meta: outcome._meta };
  // A misplaced option must not be found by an agent that looks for it there.
  return { ...without(result, "optionId"), outcome: { outcome: "cancelled", ...meta } };
}

/** True for the v1 result of a permission request after which the tool call may not run. */
export function isRefusal(v1Result: JsonObject, offered: readonly JsonObject[]): boolean {
  const { outcome, optionId } = asObject(v1Result.outcome);
  const chosen = offered.find((option) => option.optionId === optionId);
  return outcome !== "selected" || asString(chosen?.kind)?.startsWith("reject") === true;
}

function withValidMeta(object: JsonObject): JsonObject {
  return isObject(object._meta) ? object : without(object, "_meta");
}

/**
 * The params of a v2 `session/request_permission` as v1 has them (docs/mapping.md §13, schema v1
 * `RequestPermissionRequest`). The title and the description stay where v2 has them.
 *
 * A request about a command, about something v1 does not define, or about nothing in particular, gets a tool call made
 * for it: its title is the command, else the request's; its content is the description.
 *
 * Options of a kind v1 does not define become the nearest kind that promises no more than the original; where there is
 * none they are left out with a note.
 *
 * @param context as for the tool call the request is about
 * @param madeId the id of a tool call made for the request
 * @returns `made`: the tool call made for the request, for the caller to announce and to end; undefined when the
 *   request is about one of the agent's
 */
export function permissionRequestToV1(
  v2Params: JsonObject,
  context: ToolCallToV1Context,
  madeId: string,
  notes: Notes,
): { params: JsonObject; made: JsonObject | undefined } {
  const subject = asObject(v2Params.subject);
  const own = subject.type === "tool_call" && isObject(subject.toolCall) ? subject.toolCall : undefined;
  const made = own === undefined ? toolCallFor(v2Params, subject, madeId) : undefined;
  const toolCall = own === undefined ? made : toolCallToV1(own, context, notes);
  const params = { ...without(v2Params, "subject"), toolCall, options: optionsToV1(v2Params.options, notes) };
  return { params, made };
}

function toolCallFor(v2Params: JsonObject, subject: JsonObject, toolCallId: string): JsonObject {
  const { title, description } = v2Params;
  const command = subject.type === "command" ? asString(subject.command) : undefined;
  const text = [command === undefined ? undefined : asString(title), asString(description)].filter(Boolean).join("\n");
  return {
    toolCallId,
    title: command || asString(title) || "Permission required",
    kind: command === undefined ? "other" : "execute",
    status: "pending",
    ...(text === "" ? {} : { content: [{ type: "content", content: { type: "text", text } }] }),
    ...(Object.keys(subject).length > 0 ? { rawInput: without(subject, "type", "_meta") } : {}),
  };
}

function optionsToV1(v2Options: unknown, notes: Notes): JsonObject[] {
  return asArray(v2Options)
    .filter(isObject)
    .flatMap((option): JsonObject[] => {
      const kind = nearestKind(asString(option.kind) ?? "");
      if (kind !== undefined) return [{ ...option, kind }];
      notes.push({
        rule: "permission-option-kind",
        detail: `the option ${option.optionId} neither allows nor rejects`,
      });
      return [];
    });
}

/** A client that answers by itself goes by the kind, so an unknown one must not be taken for more than it says. */
function nearestKind(kind: string): string | undefined {
  if (OPTION_KINDS.includes(kind)) return kind;
  if (/^_?(?:reject|deny|decline)/.test(kind)) return "reject_once";
  return /^_?(?:allow|approve|accept)/.test(kind) ? "allow_once" : undefined;
}

/**
 * A v1 client's answer to a permission request, for the v2 agent (docs/mapping.md §13): the outcomes are the same, and
 * so is the care with which they are read.
 */
export const permissionResultToV2: typeof permissionResultToV1 = permissionResultToV1;
