import { asArray, asString, isObject, type JsonObject, without } from "../protocol/json.ts";
import type { Notes } from "./notes.ts";
import { nearest, openEnum, underscored } from "./open-enums.ts";

const PRIORITIES = ["high", "medium", "low"];
const STATUSES = ["pending", "in_progress", "completed", "cancelled"];
const PLAN_TYPES = ["items", "file", "markdown"];

/**
 * A v1 plan update as v2 has it (docs/mapping.md §7, schema v2 `PlanUpdate`).
 *
 * v1's `plan` becomes a `plan_update` of type `items` under `planId`, the session's one constant id. The unstable
 * `plan_update` keeps its kind and its own id, `plan_removed` stays as it is. Unknown priorities and statuses get a
 * `_` prefix, missing ones the middle value; entries that are no object or have no text are skipped.
 */
export function planToV2(update: JsonObject, planId: string): JsonObject {
  if (update.sessionUpdate === "plan_removed") return update;
  if (update.sessionUpdate === "plan_update") {
    return isObject(update.plan) ? { ...update, plan: planContentToV2(update.plan, planId) } : update;
  }
  const plan = { type: "items", planId, entries: entriesToV2(update.entries) };
  return { ...without(update, "entries"), sessionUpdate: "plan_update", plan };
}

function planContentToV2(plan: JsonObject, planId: string): JsonObject {
  const type = underscored(asString(plan.type) ?? "items", PLAN_TYPES);
  const content = { ...plan, type, planId: asString(plan.planId) ?? planId };
  return type === "items" ? { ...content, entries: entriesToV2(plan.entries) } : content;
}

function entriesToV2(entries: unknown): JsonObject[] {
  return asArray(entries)
    .filter(isObject)
    .filter((entry) => typeof entry.content === "string")
    .map((entry) => ({
      ...entry,
      priority: openEnum(asString(entry.priority) ?? "medium", PRIORITIES),
      status: openEnum(asString(entry.status) ?? "pending", STATUSES),
    }));
}

const V1_STATUSES = ["pending", "in_progress", "completed"];

/**
 * All plans of a v2 session as v1's one plan (docs/mapping.md §13, schema v1 `Plan`): the entries of the plans one after
 * the other. A plan in Markdown is one entry with its text, one in a file is one entry that names the file. A cancelled
 * entry counts as completed, since it needs no more doing.
 *
 * @param plans the content of each plan, in the order in which the plans appeared
 */
export function plansToV1(plans: Iterable<JsonObject>, notes: Notes): JsonObject {
  return { sessionUpdate: "plan", entries: [...plans].flatMap((plan) => entriesToV1(plan, notes)) };
}

function entriesToV1(plan: JsonObject, notes: Notes): JsonObject[] {
  if (plan.type === "items") {
    return asArray(plan.entries)
      .filter(isObject)
      .filter((entry) => typeof entry.content === "string")
      .map((entry) => ({
        ...entry,
        priority: nearest(entry.priority, PRIORITIES, {}, "medium"),
        status: nearest(entry.status, V1_STATUSES, { cancelled: "completed" }, "pending"),
      }));
  }
  notes.push({ rule: "plan-as-entry", detail: `a plan of type ${asString(plan.type)} is shown as one entry` });
  const content = asString(plan.content) ?? asString(plan.uri) ?? `[${asString(plan.type)}]`;
  return content === "" ? [] : [{ content, priority: "medium", status: "pending" }];
}
