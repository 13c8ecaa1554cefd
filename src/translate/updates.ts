import { asString, type JsonObject } from "../protocol/json.ts";
import { availableCommandsToV2 } from "./commands.ts";
import { contentBlockToV2, withContentToV2 } from "./content.ts";
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
