import { asString, isObject, type JsonObject } from "../protocol/json.ts";
import type { ClientAbilities } from "./capabilities.ts";
import { availableCommandsToV1, availableCommandsToV2 } from "./commands.ts";
import { contentBlockToV1, contentBlockToV2, withContentToV1, withContentToV2 } from "./content.ts";
import type { Notes } from "./notes.ts";
import { underscored } from "./open-enums.ts";

/** The update kinds v2 defines, unstable ones included (schema v2 `SessionUpdate`). */
const V2_UPDATES: readonly string[] = [
  "user_message_chunk",
  "user_message",
  "agent_message_chunk",
  "agent_message",
  "agent_thought_chunk",
  "agent_thought",
  "state_update",
  "tool_call_content_chunk",
  "tool_call_update",
  "terminal_update",
  "terminal_output_chunk",
  "plan_update",
  "plan_removed",
  "available_commands_update",
  "config_option_update",
  "session_info_update",
  "usage_update",
  "notice",
  "compaction_update",
  "compaction_summary_chunk",
  "subagent_update",
  "session_message",
  "session_message_chunk",
];
const NOTICE_SEVERITIES = ["info", "warning", "error"];
const COMPACTION_STATUSES = ["in_progress", "completed", "failed", "cancelled"];

/**
 * The v2 form of a v1 session update that is the same thing in both versions: commands, session info, usage, notices,
 * compaction, subagent updates (docs/mapping.md §8, §10, §11). A kind v2 does not define gets a `_` prefix and keeps its payload.
 * Messages, tool calls, plans and config options have their own modules.
 */
export function updateToV2(update: JsonObject): JsonObject {
  const kind = asString(update.sessionUpdate);
  switch (kind) {
    case "available_commands_update":
      return { ...update, availableCommands: availableCommandsToV2(update.availableCommands) };
    case "notice":
      return { ...update, severity: underscored(asString(update.severity) ?? "info", NOTICE_SEVERITIES) };
    case "compaction_update":
      return {
        ...update,
        ...(typeof update.status === "string" ? { status: underscored(update.status, COMPACTION_STATUSES) } : {}),
        ...(Array.isArray(update.summary) ? { summary: update.summary.map((block) => contentBlockToV2(block)) } : {}),
      };
    case "compaction_summary_chunk":
    case "session_message":
    case "session_message_chunk":
      return withContentToV2(update);
    case undefined:
      return update;
    default:
      return V2_UPDATES.includes(kind) ? update : { ...update, sessionUpdate: underscored(kind, V2_UPDATES) };
  }
}

/**
 * The v1 form of a v2 session update that is the same thing in both versions: chunks of messages, commands, session
 * info, usage, and, for a client that announced them, notices, compaction and subagents (docs/mapping.md §13).
 * Undefined, with a note, for what a v1 client must not get: it may drop the connection on a kind it does not know.
 *
 * Whole messages, tool calls, terminals, plans, config options and states have their own modules.
 */
export function updateToV1(update: JsonObject, client: ClientAbilities, notes: Notes): JsonObject | undefined {
  const kind = asString(update.sessionUpdate);
  switch (kind) {
    case "user_message_chunk":
    case "agent_message_chunk":
    case "agent_thought_chunk":
      return withContentToV1(update);
    case "session_info_update":
    case "usage_update":
      return update;
    case "available_commands_update":
      return { ...update, availableCommands: availableCommandsToV1(update.availableCommands, notes) };
    case "notice":
      return client.notices ? update : unshown(kind, notes);
    case "compaction_update":
      if (!client.compaction) return unshown(kind, notes);
      return Array.isArray(update.summary)
        ? { ...update, summary: update.summary.filter(isObject).map(contentBlockToV1) }
        : update;
    case "compaction_summary_chunk":
      return client.compaction ? withContentToV1(update) : unshown(kind, notes);
    case "subagent_update":
    case "session_message":
    case "session_message_chunk":
      return client.subagents ? withContentToV1(update) : unshown(kind, notes);
    default:
      return unshown(kind ?? "", notes);
  }
}

function unshown(kind: string, notes: Notes): undefined {
  notes.push({ rule: "update-not-shown", detail: `the client did not announce that it can show ${kind}` });
}
