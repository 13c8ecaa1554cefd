/** What in version 2 has an id and is told by patches (schema v2 `SessionUpdate`). */

/** Updates that patch one thing: where its id is, and the field that chunks add to. */
export const UPSERTS: ReadonlyMap<string, { id: string; content?: string }> = new Map([
  ["user_message", { id: "messageId", content: "content" }],
  ["agent_message", { id: "messageId", content: "content" }],
  ["agent_thought", { id: "messageId", content: "content" }],
  ["session_message", { id: "messageId", content: "content" }],
  ["tool_call_update", { id: "toolCallId", content: "content" }],
  ["terminal_update", { id: "terminalId", content: "output" }],
  ["compaction_update", { id: "compactionId", content: "summary" }],
  ["subagent_update", { id: "sessionId" }],
]);

/** Updates that add to what another kind patches. */
export const CHUNKS: ReadonlyMap<string, string> = new Map([
  ["user_message_chunk", "user_message"],
  ["agent_message_chunk", "agent_message"],
  ["agent_thought_chunk", "agent_thought"],
  ["session_message_chunk", "session_message"],
  ["tool_call_content_chunk", "tool_call_update"],
  ["terminal_output_chunk", "terminal_update"],
  ["compaction_summary_chunk", "compaction_update"],
]);
