import { asArray, asObject, asString, isObject, type JsonObject, without, withoutNulls } from "../protocol/json.ts";
import { CONTENT_BLOCK_TYPES, placeholder, withContentToV1, withContentToV2 } from "./content.ts";
import { type DiffMemo, diffToV1, diffToV2 } from "./diffs.ts";
import type { Notes } from "./notes.ts";
import { nearest, openEnum, underscored } from "./open-enums.ts";
import { resolvePath } from "./paths.ts";

/** What translating a tool call needs to know of its session. */
export interface ToolCallContext {
  /** The session's directory, an absolute path. */
  cwd: string;
  /** Diffs already made for this session. */
  diffs: DiffMemo;
  /** True when an earlier update showed that this tool call edits fragments of files. */
  fragments?: boolean;
}

const KINDS = ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"];
const STATUSES = ["pending", "in_progress", "paused", "completed", "failed", "cancelled"];
const CONTENT_TYPES = ["content", "diff", "terminal"];

/**
 * A v1 `tool_call` or `tool_call_update`, or the tool call of a permission request, as a v2 tool-call update
 * (docs/mapping.md §6, schema v2 `ToolCallUpdate`).
 *
 * Fields that are null are dropped: in v1 null means "unchanged", in v2 it clears. So is `capabilities`, by which v2
 * would offer a cancellation that v1 does not have. The display-terminal keys of `_meta` are left alone.
 */
export function toolCallToV2(update: JsonObject, context: ToolCallContext, notes: Notes): JsonObject {
  const toolCall = without(withoutNulls(update), "capabilities");
  if (toolCall.sessionUpdate !== undefined) toolCall.sessionUpdate = "tool_call_update";
  if (toolCall.kind !== undefined) toolCall.kind = openEnum(toolCall.kind, KINDS);
  if (toolCall.status !== undefined) toolCall.status = openEnum(toolCall.status, STATUSES);
  if (Array.isArray(toolCall.content)) toolCall.content = contentToV2(toolCall, context, notes);
  if (Array.isArray(toolCall.locations)) {
    toolCall.locations = toolCall.locations.map((location: unknown) => locationToV2(location, context.cwd));
  }
  return toolCall;
}

/**
 * The strings of a v1 tool call, or a change of one, that are passed on without a look at what is in them: the texts of its
 * content, and all of its raw output. None of another update.
 */
export function unreadStrings(update: JsonObject): string[] {
  const { sessionUpdate, content, rawOutput } = update;
  if (sessionUpdate !== "tool_call" && sessionUpdate !== "tool_call_update") return [];
  const texts = asArray(content).flatMap((item) => {
    const { type, content: block } = asObject(item);
    return type === "content" && asObject(block).type === "text" ? [asObject(block).text] : [];
  });
  return [...texts, rawOutput].flatMap(stringsIn);
}

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return value.flatMap(stringsIn);
  return isObject(value) ? Object.values(value).flatMap(stringsIn) : [];
}

/** A title for a tool call, never empty: its own, else its name, kind or id (docs/mapping.md §6). */
export function toolCallTitle(update: JsonObject): string {
  const { title, name, kind, toolCallId } = update;
  return [title, name, kind, toolCallId].map(asString).find(Boolean) ?? "Tool call";
}

/**
 * True when a diff's old text is one of the tool's own arguments: the tool was asked to replace just that text, so the
 * diffs of the tool call are of fragments, not of whole files.
 */
export function editsFragments(update: JsonObject): boolean {
  const given = Object.values(asObject(update.rawInput)).filter((value) => typeof value === "string" && value !== "");
  return asArray(update.content).some((item) => given.includes(asObject(item).oldText));
}

function contentToV2(toolCall: JsonObject, context: ToolCallContext, notes: Notes): unknown[] {
  const content = asArray(toolCall.content);
  const isFragment = context.fragments === true || editsFragments(toolCall);
  return content.map((item, index) => {
    if (!isObject(item) || typeof item.type !== "string") return item;
    if (item.type === "content") return withContentToV2(item);
    if (item.type === "diff") {
      const locations = locationsOfDiff(content, index, item, toolCall.locations, context.cwd);
      return diffToV2(item, { cwd: context.cwd, locations, isFragment }, context.diffs, notes);
    }
    // A content block where a `content` item should be.
    if (CONTENT_BLOCK_TYPES.includes(item.type)) return { type: "content", content: item };
    return { ...item, type: underscored(item.type, CONTENT_TYPES) };
  });
}

/**
 * The locations that speak of one diff. An agent that splits one file's edit into hunks sends one diff and one
 * location per hunk: then the n-th location of that file belongs to its n-th diff.
 */
function locationsOfDiff(content: unknown[], index: number, diff: JsonObject, locations: unknown, cwd: string) {
  const path = asString(diff.path);
  if (path === undefined) return [];
  const sameFile = (entry: unknown): entry is JsonObject =>
    isObject(entry) && typeof entry.path === "string" && resolvePath(cwd, entry.path) === resolvePath(cwd, path);
  const own = asArray(locations).filter(sameFile);
  const isDiffOfFile = (entry: unknown) => sameFile(entry) && entry.type === "diff";
  if (content.filter(isDiffOfFile).length !== own.length) return own;
  const nth = content.slice(0, index).filter(isDiffOfFile).length;
  return own.slice(nth, nth + 1);
}

function locationToV2(location: unknown, cwd: string): unknown {
  if (!isObject(location) || typeof location.path !== "string") return location;
  // v1 counted from 0 or 1 and allowed null; v2 has 1-based lines only.
  const valid = Number.isSafeInteger(location.line) && Number(location.line) >= 1;
  return { ...(valid ? location : without(location, "line")), path: resolvePath(cwd, location.path) };
}

/** What translating a v2 tool call for a v1 client needs to know. */
export interface ToolCallToV1Context {
  /** True when the client has been told of this tool call. */
  announced: boolean;
  /** The title the client has, for one that is cleared. */
  title?: string;
  /**
   * What a client that cannot show the agent's terminals gets in place of one: the item, or undefined for nothing.
   * Absent for a client that can: it gets the reference.
   */
  showTerminal?: (terminalId: string) => JsonObject | undefined;
}

const V1_STATUSES = ["pending", "in_progress", "completed", "failed"];
const NEAREST_STATUS = { cancelled: "failed", paused: "in_progress" };

/**
 * A v2 tool-call update as v1 has it (docs/mapping.md §13, schema v1 `ToolCall`, `ToolCallUpdate`): `tool_call`, with a
 * title, for the first the client is told of it, `tool_call_update` for every other. The tool call of a permission
 * request has no kind of update, and gets none.
 *
 * A field that is null becomes what a new tool call has there. v1 cannot take back a name or raw data: those are left
 * out with a note, as are the capabilities, by which v2 offers a cancellation that v1 does not have. A kind v1 does not
 * define is `other`, a status v1 does not define is the nearest.
 */
export function toolCallToV1(update: JsonObject, context: ToolCallToV1Context, notes: Notes): JsonObject {
  const toolCall = without(update, "capabilities");
  if (isObject(update.capabilities)) {
    notes.push({ rule: "tool-call-capabilities", detail: "v1 cannot cancel a tool call by itself" });
  }
  for (const field of ["name", "rawInput", "rawOutput"]) {
    if (toolCall[field] !== null) continue;
    delete toolCall[field];
    if (context.announced) notes.push({ rule: "tool-call-not-cleared", detail: `v1 cannot take back ${field}` });
  }
  if (toolCall.sessionUpdate !== undefined) {
    toolCall.sessionUpdate = context.announced ? "tool_call_update" : "tool_call";
  }
  if (!asString(toolCall.title) && (!context.announced || toolCall.title !== undefined)) {
    toolCall.title = context.title || toolCallTitle(toolCall);
  }
  if (toolCall.kind !== undefined) toolCall.kind = nearest(toolCall.kind, KINDS, {}, "other");
  if (toolCall.status !== undefined) {
    const otherwise = toolCall.status === null ? "pending" : "in_progress";
    toolCall.status = nearest(toolCall.status, V1_STATUSES, NEAREST_STATUS, otherwise);
  }
  if (toolCall.content !== undefined) toolCall.content = toolCallContentToV1(toolCall.content, context, notes);
  if (toolCall.locations !== undefined) toolCall.locations = asArray(toolCall.locations);
  return toolCall;
}

/** v2 tool-call content as v1 has it; null is no content. One item may become several: a diff of several files. */
function toolCallContentToV1(content: unknown, context: ToolCallToV1Context, notes: Notes): JsonObject[] {
  return asArray(content)
    .filter(isObject)
    .flatMap((item): JsonObject[] => {
      switch (item.type) {
        case "content":
          return [withContentToV1(item)];
        case "diff":
          return diffToV1(item, notes);
        case "terminal": {
          if (context.showTerminal === undefined) return [item];
          const shown = context.showTerminal(String(item.terminalId));
          return shown === undefined ? [] : [shown];
        }
        default:
          return [{ type: "content", content: placeholder(item) }];
      }
    });
}
