// Conversations written by hand, in each version, that hold every kind of update that version has.
import type { JsonObject } from "../../src/protocol/json.ts";
import { notify, reply, request, text, update } from "../support/dialogue.ts";
import type { TraceLine } from "../traces/replay.ts";

export interface Conversation {
  name: string;
  lines: TraceLine[];
}

/** How long after the one before each frame comes, in ms: longer than any of the bridge's windows. */
const PACE = 100;

type Said = readonly ["client" | "agent", JsonObject, "at once"?];
const client = (frame: JsonObject): Said => ["client", frame];
const agent = (frame: JsonObject): Said => ["agent", frame];
const agentAtOnce = (frame: JsonObject): Said => ["agent", frame, "at once"];
/** Updates of session `s`. */
const updates = (...list: JsonObject[]): Said[] => list.map((one) => agent(update("s", one)));

function conversation(name: string, ...said: Said[]): Conversation {
  let t = 0;
  const lines = said.map(([from, frame, when]): TraceLine => {
    if (when !== "at once") t += PACE;
    return { t, dir: from === "client" ? "c2a" : "a2c", frame };
  });
  return { name, lines };
}

const base64 = (words: string) => Buffer.from(words).toString("base64");
const item = (words: string) => ({ type: "content", content: text(words) });

const OPTIONS = [
  { optionId: "yes", name: "Yes", kind: "allow_once" },
  { optionId: "no", name: "No", kind: "reject_once" },
];
const selected = (optionId: string) => ({ outcome: { outcome: "selected", optionId } });

/** A choice of mode; in v1 its id is `id`, in v2 `configId`. */
const modeOption = (idKey: string, currentValue: string) => ({
  [idKey]: "mode",
  type: "select",
  name: "Mode",
  category: "mode",
  currentValue,
  options: [
    { value: "ask", name: "Ask", description: "Asks first" },
    { value: "code", name: "Code" },
  ],
});
const modelOption = (idKey: string, groupKey: string, currentValue: string) => ({
  [idKey]: "model",
  type: "select",
  name: "Model",
  category: "model",
  currentValue,
  options: [
    { [groupKey]: "big", name: "Big", options: [{ value: "a", name: "A" }] },
    { [groupKey]: "small", name: "Small", options: [{ value: "b", name: "B" }] },
  ],
});
const fastOption = (idKey: string, currentValue: boolean) => ({
  [idKey]: "fast",
  type: "boolean",
  name: "Fast",
  currentValue,
});

// ---- version 2

const NUMBER = { configId: "n", type: "_number", name: "N", currentValue: 1 };

const HELLO_V2 = [
  client(
    request(1, "initialize", {
      protocolVersion: 2,
      info: { name: "client", version: "1" },
      capabilities: { elicitation: { form: {} } },
    }),
  ),
  agent(
    reply(1, {
      protocolVersion: 2,
      info: { name: "agent", version: "1" },
      capabilities: { session: { prompt: { image: {} }, mcp: { stdio: {} } } },
    }),
  ),
  client(request(2, "session/new", { cwd: "/work", mcpServers: [] })),
];

const openV2 = (result: object = {}): Said[] => [...HELLO_V2, agent(reply(2, { sessionId: "s", ...result }))];

/** A turn: the agent accepts the prompt, works, says these things, and is idle again. */
const turnV2 = (id: number, idle: object, ...said: Said[]): Said[] => [
  client(request(id, "session/prompt", { sessionId: "s", prompt: [text(`prompt ${id}`)] })),
  ...updates({ sessionUpdate: "user_message", messageId: `u${id}`, content: [text(`prompt ${id}`)] }),
  agent(reply(id, { messageId: `u${id}` })),
  ...updates({ sessionUpdate: "state_update", state: "running" }),
  ...said,
  ...updates({ sessionUpdate: "state_update", state: "idle", ...idle }),
];

const toolCallV2 = (fields: JsonObject) => ({ sessionUpdate: "tool_call_update", ...fields });

export const CONVERSATIONS_V2: Conversation[] = [
  conversation(
    "v2 messages",
    ...openV2(),
    ...turnV2(
      3,
      { stopReason: "end_turn", usage: { totalTokens: 3, inputTokens: 1, outputTokens: 2 } },
      ...updates(
        { sessionUpdate: "agent_thought_chunk", messageId: "t1", content: text("Hm, ") },
        { sessionUpdate: "agent_thought_chunk", messageId: "t1", content: text("so.") },
        { sessionUpdate: "agent_message_chunk", messageId: "m1", content: text("One ") },
        { sessionUpdate: "agent_message_chunk", messageId: "m1", content: text("two.") },
        { sessionUpdate: "agent_message", messageId: "m1", content: [text("One two. Three.")] },
        { sessionUpdate: "agent_thought", messageId: "t2", content: [text("A whole thought")] },
        { sessionUpdate: "agent_message", messageId: "m2", content: [text("A whole message")] },
        {
          sessionUpdate: "agent_message_chunk",
          messageId: "m3",
          content: { type: "resource_link", name: "a", uri: "file:///work/a" },
        },
        {
          sessionUpdate: "agent_message_chunk",
          messageId: "m3",
          content: { type: "image", data: base64("x"), mimeType: "image/png" },
        },
      ),
    ),
    ...turnV2(
      4,
      { stopReason: "max_tokens" },
      ...updates(
        { sessionUpdate: "user_message_chunk", messageId: "other", content: text("Said elsewhere") },
        { sessionUpdate: "agent_message_chunk", messageId: "m5", content: { type: "_chart", points: [1] } },
      ),
    ),
    ...updates({ sessionUpdate: "agent_message_chunk", messageId: "m6", content: text("In the background") }),
  ),
  conversation(
    "v2 a replaced message",
    ...openV2(),
    ...turnV2(
      3,
      { stopReason: "end_turn" },
      ...updates(
        { sessionUpdate: "agent_message_chunk", messageId: "m", content: text("Draft") },
        { sessionUpdate: "agent_message", messageId: "m", content: [text("Final")] },
      ),
    ),
  ),
  conversation(
    "v2 ends",
    ...openV2(),
    ...turnV2(3, { stopReason: "refusal" }),
    ...turnV2(4, { stopReason: "_budget" }),
    ...turnV2(5, { stopReason: "error", error: { code: -32603, message: "Broke", data: { at: 1 } } }),
    ...turnV2(6, { background: [] }),
    client(request(7, "session/prompt", { sessionId: "s", prompt: [text("prompt 7")] })),
    agentAtOnce({ jsonrpc: "2.0", id: 7, error: { code: -32000, message: "Log in first" } }),
    client(request(8, "session/prompt", { sessionId: "s", prompt: [text("prompt 8")] })),
    ...updates({ sessionUpdate: "user_message", messageId: "u8", content: [text("prompt 8")] }),
    agent(reply(8, { messageId: "u8" })),
    ...updates(
      { sessionUpdate: "state_update", state: "running" },
      toolCallV2({ toolCallId: "c", title: "Long", status: "in_progress" }),
    ),
    client(notify("session/cancel", { sessionId: "s" })),
    ...updates(toolCallV2({ toolCallId: "c", status: "cancelled" }), {
      sessionUpdate: "state_update",
      state: "idle",
      stopReason: "cancelled",
    }),
  ),
  conversation(
    "v2 tool calls",
    ...openV2(),
    ...turnV2(
      3,
      { stopReason: "end_turn" },
      ...updates(
        toolCallV2({
          toolCallId: "read",
          name: "Read",
          title: "Read a",
          kind: "read",
          status: "pending",
          rawInput: { path: "a" },
          locations: [{ path: "/work/a", line: 2 }],
          _meta: { m: 1 },
        }),
        toolCallV2({ toolCallId: "read", status: "in_progress" }),
        { sessionUpdate: "tool_call_content_chunk", toolCallId: "read", content: item("one") },
        { sessionUpdate: "tool_call_content_chunk", toolCallId: "read", content: item("two") },
        toolCallV2({ toolCallId: "read", status: "completed", rawOutput: { lines: 2 } }),
        toolCallV2({ toolCallId: "pausing", title: "Wait", status: "paused", kind: "_query" }),
        toolCallV2({ toolCallId: "cleared", title: "Clear", kind: "edit", content: [item("gone")], rawInput: 1 }),
        toolCallV2({ toolCallId: "cleared", kind: null, content: null, status: null, title: null, rawInput: null }),
        toolCallV2({
          toolCallId: "edit",
          title: "Edit",
          kind: "edit",
          status: "completed",
          content: [
            {
              type: "diff",
              changes: [{ operation: "modify", path: "/work/a", fileType: "text" }],
              patch: {
                format: "git_patch",
                text: "diff --git a/work/a b/work/a\n--- a/work/a\n+++ b/work/a\n@@ -1 +1 @@\n-old\n+new\n",
              },
            },
            {
              type: "diff",
              changes: [
                { operation: "add", path: "/work/b", fileType: "text" },
                { operation: "delete", path: "/work/c", fileType: "text" },
              ],
              patch: {
                format: "git_patch",
                text: [
                  "diff --git a/work/b b/work/b",
                  "new file mode 100644",
                  "--- /dev/null",
                  "+++ b/work/b",
                  "@@ -0,0 +1 @@",
                  "+b",
                  "diff --git a/work/c b/work/c",
                  "deleted file mode 100644",
                  "--- a/work/c",
                  "+++ /dev/null",
                  "@@ -1 +0,0 @@",
                  "-c",
                  "",
                ].join("\n"),
              },
            },
            { type: "diff", changes: [{ operation: "move", oldPath: "/work/d", path: "/work/e" }] },
          ],
        }),
        toolCallV2({ toolCallId: "odd", title: "Odd", content: [{ type: "_table", rows: [] }] }),
      ),
    ),
  ),
  conversation(
    "v2 terminals",
    ...openV2(),
    ...turnV2(
      3,
      { stopReason: "end_turn" },
      ...updates(
        { sessionUpdate: "terminal_update", terminalId: "x", command: "ls", cwd: "/work" },
        toolCallV2({
          toolCallId: "run",
          title: "ls",
          kind: "execute",
          status: "in_progress",
          content: [{ type: "terminal", terminalId: "x" }],
        }),
        { sessionUpdate: "terminal_output_chunk", terminalId: "x", data: base64("a\n") },
        { sessionUpdate: "terminal_output_chunk", terminalId: "x", data: base64("b\n") },
        { sessionUpdate: "terminal_update", terminalId: "x", output: { data: base64("a\nb\nc\n") } },
        { sessionUpdate: "terminal_update", terminalId: "x", exitStatus: { exitCode: 1 } },
        toolCallV2({ toolCallId: "run", status: "failed" }),
        { sessionUpdate: "terminal_update", terminalId: "hidden", command: "true", cwd: "/work" },
      ),
    ),
  ),
  conversation(
    "v2 plans, options and news",
    ...openV2({
      configOptions: [
        modeOption("configId", "ask"),
        modelOption("configId", "groupId", "a"),
        fastOption("configId", false),
        NUMBER,
      ],
      availableCommands: [{ type: "command", name: "help", description: "Helps" }],
    }),
    client(request(3, "session/set_config_option", { sessionId: "s", configId: "fast", type: "boolean", value: true })),
    agent(
      reply(3, {
        configOptions: [
          modeOption("configId", "ask"),
          modelOption("configId", "groupId", "a"),
          fastOption("configId", true),
        ],
      }),
    ),
    ...turnV2(
      4,
      { stopReason: "end_turn" },
      ...updates(
        {
          sessionUpdate: "plan_update",
          plan: {
            type: "items",
            planId: "p",
            entries: [
              { content: "One", priority: "high", status: "completed" },
              { content: "Two", priority: "low", status: "cancelled" },
            ],
          },
        },
        {
          sessionUpdate: "plan_update",
          plan: {
            type: "items",
            planId: "q",
            entries: [{ content: "Three", priority: "medium", status: "pending" }],
          },
        },
        { sessionUpdate: "plan_update", plan: { type: "_board", planId: "r" } },
        {
          sessionUpdate: "config_option_update",
          configOptions: [
            modeOption("configId", "code"),
            modelOption("configId", "groupId", "b"),
            fastOption("configId", true),
            NUMBER,
          ],
        },
        {
          sessionUpdate: "available_commands_update",
          availableCommands: [
            { type: "command", name: "help", description: "Helps", input: { type: "text", hint: "topic" } },
            { type: "_skill", name: "skill", description: "Knows" },
          ],
        },
        { sessionUpdate: "session_info_update", title: "Title", updatedAt: "2026-01-01T00:00:00Z" },
        { sessionUpdate: "usage_update", used: 5, size: 10, cost: { amount: 1, currency: "EUR" } },
        { sessionUpdate: "notice", severity: "warning", title: "Careful" },
        { sessionUpdate: "compaction_update", compactionId: "c", status: "in_progress" },
        { sessionUpdate: "compaction_summary_chunk", compactionId: "c", content: text("Summary") },
        { sessionUpdate: "compaction_update", compactionId: "c", status: "completed" },
        { sessionUpdate: "_vendor", payload: 1 },
      ),
    ),
  ),
  conversation(
    "v2 questions",
    ...openV2(),
    ...turnV2(
      3,
      { stopReason: "end_turn" },
      agent(
        request(10, "session/request_permission", {
          sessionId: "s",
          title: "Write b?",
          description: "It is needed",
          subject: {
            type: "tool_call",
            toolCall: { toolCallId: "w", title: "Write b", kind: "edit", status: "pending" },
          },
          options: OPTIONS,
        }),
      ),
      client(reply(10, selected("yes"))),
      ...updates(toolCallV2({ toolCallId: "w", status: "completed" })),
      agent(
        request(11, "session/request_permission", {
          sessionId: "s",
          title: "Go on?",
          subject: { type: "tool_call", toolCall: { toolCallId: "w" } },
          options: [...OPTIONS, { optionId: "x", name: "X", kind: "_later" }],
        }),
      ),
      client(reply(11, selected("no"))),
      agent(
        request(12, "elicitation/create", {
          sessionId: "s",
          mode: "form",
          message: "Which?",
          requestedSchema: { type: "object", properties: { name: { type: "string" } } },
        }),
      ),
      client(reply(12, { action: "accept", content: { name: "a" } })),
    ),
  ),
  conversation(
    "v2 a plan that was done",
    ...openV2(),
    ...turnV2(
      3,
      { stopReason: "end_turn" },
      ...updates({
        sessionUpdate: "plan_update",
        plan: {
          type: "items",
          planId: "p",
          entries: [{ content: "Done", priority: "high", status: "completed" }],
        },
      }),
    ),
    ...turnV2(
      4,
      { stopReason: "end_turn" },
      ...updates({
        sessionUpdate: "plan_update",
        plan: { type: "items", planId: "q", entries: [{ content: "Next", priority: "high", status: "pending" }] },
      }),
    ),
  ),
  conversation(
    "v2 a question about a command",
    ...openV2(),
    ...turnV2(
      3,
      { stopReason: "end_turn" },
      agent(
        request(10, "session/request_permission", {
          sessionId: "s",
          title: "Run it?",
          subject: { type: "command", command: "rm b", cwd: "/work" },
          options: OPTIONS,
        }),
      ),
      client(reply(10, selected("no"))),
    ),
  ),
];

// ---- version 1

const HELLO_V1 = [
  client(
    request(1, "initialize", {
      protocolVersion: 1,
      clientInfo: { name: "client", version: "1" },
      clientCapabilities: { elicitation: { form: {} } },
    }),
  ),
  agent(
    reply(1, {
      protocolVersion: 1,
      agentInfo: { name: "agent", version: "1" },
      agentCapabilities: { loadSession: true, promptCapabilities: { image: true } },
    }),
  ),
  client(request(2, "session/new", { cwd: "/work", mcpServers: [] })),
];
const openV1 = (result: object = {}): Said[] => [...HELLO_V1, agent(reply(2, { sessionId: "s", ...result }))];

const turnV1 = (id: number, end: object, ...said: Said[]): Said[] => [
  client(request(id, "session/prompt", { sessionId: "s", prompt: [text(`prompt ${id}`)] })),
  ...said,
  agent("stopReason" in end ? reply(id, end) : { jsonrpc: "2.0", id, error: end }),
];

export const CONVERSATIONS_V1: Conversation[] = [
  conversation(
    "v1 messages",
    ...openV1(),
    ...turnV1(
      3,
      { stopReason: "end_turn", usage: { totalTokens: 3, inputTokens: 1, outputTokens: 2 }, _meta: { m: 1 } },
      ...updates(
        { sessionUpdate: "agent_thought_chunk", content: text("Hm.") },
        { sessionUpdate: "agent_message_chunk", content: text("One ") },
        { sessionUpdate: "agent_message_chunk", content: text("two.") },
        { sessionUpdate: "agent_message_chunk", messageId: "m", content: text("Under an id") },
        {
          sessionUpdate: "agent_message_chunk",
          messageId: "m",
          content: { type: "resource_link", name: "a", uri: "file:///work/a" },
        },
      ),
    ),
    ...updates({ sessionUpdate: "agent_message_chunk", content: text("In the background") }),
  ),
  conversation(
    "v1 an echo",
    ...openV1(),
    ...turnV1(
      3,
      { stopReason: "end_turn" },
      ...updates(
        { sessionUpdate: "user_message_chunk", content: text("prompt 3") },
        { sessionUpdate: "user_message_chunk", messageId: "o", content: text("Said elsewhere") },
      ),
    ),
  ),
  conversation(
    "v1 ends",
    ...openV1(),
    ...turnV1(3, { stopReason: "refusal" }),
    ...turnV1(4, { stopReason: "max_turn_requests" }, ...updates({ sessionUpdate: "usage_update", used: 1, size: 2 })),
    ...turnV1(
      5,
      { code: -32603, message: "Broke", data: { at: 1 } },
      ...updates({ sessionUpdate: "tool_call", toolCallId: "t", title: "T", status: "in_progress" }),
    ),
    ...turnV1(6, { code: -32000, message: "Log in first" }),
    client(request(7, "session/prompt", { sessionId: "s", prompt: [text("prompt 7")] })),
    ...updates({ sessionUpdate: "tool_call", toolCallId: "u", title: "U", status: "in_progress" }),
    client(notify("session/cancel", { sessionId: "s" })),
    agent(reply(7, { stopReason: "cancelled" })),
  ),
  conversation(
    "v1 tool calls",
    ...openV1(),
    ...turnV1(
      3,
      { stopReason: "end_turn" },
      ...updates(
        {
          sessionUpdate: "tool_call",
          toolCallId: "read",
          title: "Read a",
          kind: "read",
          status: "pending",
          rawInput: { path: "a" },
          locations: [{ path: "a", line: null }],
          _meta: { m: 1 },
        },
        { sessionUpdate: "tool_call_update", toolCallId: "read", status: "in_progress", title: null, content: null },
        { sessionUpdate: "tool_call_update", toolCallId: "read", status: "completed", content: [item("text")] },
        {
          sessionUpdate: "tool_call",
          toolCallId: "edit",
          title: "Edit",
          kind: "edit",
          content: [
            { type: "diff", path: "/work/a", oldText: "old\n", newText: "new\n" },
            { type: "diff", path: "/work/b", newText: "b\n" },
          ],
        },
        {
          sessionUpdate: "tool_call",
          toolCallId: "long",
          title: "Edit a long file",
          kind: "edit",
          content: [
            {
              type: "diff",
              path: "/work/long",
              oldText: [..."abcdefghijkl", ""].join("\n"),
              newText: [..."abcdefghijkL", ""].join("\n"),
            },
          ],
        },
        {
          sessionUpdate: "tool_call",
          toolCallId: "run",
          title: "ls",
          kind: "execute",
          content: [{ type: "terminal", terminalId: "x" }],
          _meta: { terminal_info: { terminal_id: "x", cwd: "/work" } },
        },
        {
          sessionUpdate: "tool_call_update",
          toolCallId: "run",
          _meta: { terminal_output: { terminal_id: "x", data: "a é\n" } },
        },
        {
          sessionUpdate: "tool_call_update",
          toolCallId: "run",
          status: "completed",
          _meta: { terminal_exit: { terminal_id: "x", exit_code: 0, signal: null } },
        },
      ),
    ),
  ),
  conversation(
    "v1 plans, options and news",
    ...openV1({
      configOptions: [modelOption("id", "group", "a"), fastOption("id", false)],
      modes: {
        currentModeId: "ask",
        availableModes: [
          { id: "ask", name: "Ask" },
          { id: "code", name: "Code" },
        ],
      },
    }),
    client(request(3, "session/set_mode", { sessionId: "s", modeId: "code" })),
    agent(reply(3, {})),
    client(request(4, "session/set_config_option", { sessionId: "s", configId: "model", value: "b" })),
    agent(reply(4, { configOptions: [modelOption("id", "group", "b"), fastOption("id", false)] })),
    ...turnV1(
      5,
      { stopReason: "end_turn" },
      ...updates(
        {
          sessionUpdate: "plan",
          entries: [
            { content: "One", priority: "high", status: "completed" },
            { content: "Two", priority: "low", status: "pending" },
          ],
        },
        { sessionUpdate: "current_mode_update", currentModeId: "ask" },
        {
          sessionUpdate: "config_option_update",
          configOptions: [modelOption("id", "group", "b"), fastOption("id", true)],
        },
        {
          sessionUpdate: "available_commands_update",
          availableCommands: [
            { name: "help", description: "Helps", input: { hint: "topic" } },
            { name: "plain", description: "", input: null },
          ],
        },
        { sessionUpdate: "session_info_update", title: "Title" },
        { sessionUpdate: "usage_update", used: 5, size: 10 },
        { sessionUpdate: "notice", severity: "info", title: "Note" },
        { sessionUpdate: "compaction_update", compactionId: "c", status: "in_progress" },
        { sessionUpdate: "compaction_summary_chunk", compactionId: "c", content: text("Summary") },
      ),
    ),
  ),
  conversation(
    "v1 questions",
    ...openV1(),
    ...turnV1(
      3,
      { stopReason: "end_turn" },
      ...updates({ sessionUpdate: "tool_call", toolCallId: "w", title: "Write b", kind: "edit", status: "pending" }),
      agent(
        request(10, "session/request_permission", { sessionId: "s", toolCall: { toolCallId: "w" }, options: OPTIONS }),
      ),
      client(reply(10, selected("yes"))),
      agent(
        request(11, "session/request_permission", {
          sessionId: "s",
          toolCall: { toolCallId: "new", title: "Write c", kind: "edit", status: "pending" },
          options: OPTIONS,
        }),
      ),
      client(reply(11, { outcome: { outcome: "cancelled" } })),
      agent(
        request(12, "elicitation/create", {
          sessionId: "s",
          mode: "form",
          message: "Which?",
          requestedSchema: { type: "object", properties: { name: { type: "string" } } },
        }),
      ),
      client(reply(12, { action: "decline" })),
    ),
  ),
];
