import type { Case } from "./case.ts";

/** `availableCommandsToV2`, result: list of v2 `AvailableCommand`. */
export const commands: Case[] = [
  {
    rule: "11.1",
    title: "a command without input",
    in: { commands: [{ name: "init", description: "Starts", _meta: { m: 1 }, later: 1 }] },
    out: [{ name: "init", description: "Starts", _meta: { m: 1 }, later: 1, type: "command" }],
  },
  {
    rule: "11.2",
    title: "a command with input",
    in: { commands: [{ name: "web", description: "Searches", input: { hint: "query", _meta: { m: 1 } } }] },
    out: [
      {
        name: "web",
        description: "Searches",
        type: "command",
        input: { hint: "query", _meta: { m: 1 }, type: "text" },
      },
    ],
  },
  {
    rule: "11.2",
    title: "input without a hint, of another kind, and of no kind",
    in: {
      commands: [
        { name: "a", description: "", input: {} },
        { name: "b", description: "", input: { type: "form", fields: [] } },
        { name: "c", description: "", input: "text" },
      ],
    },
    out: [
      { name: "a", description: "", type: "command", input: { type: "text", hint: "" } },
      { name: "b", description: "", type: "command", input: { type: "_form", fields: [] } },
      { name: "c", description: "", type: "command" },
    ],
  },
  {
    rule: "11.3",
    title: "input null",
    in: { commands: [{ name: "init", description: "Starts", input: null }] },
    out: [{ name: "init", description: "Starts", type: "command" }],
  },
  {
    rule: "11.1",
    title: "entries without a name are skipped, a missing description is empty",
    in: { commands: [null, "x", { description: "d" }, { name: "" }, { name: "a" }] },
    out: [{ name: "a", type: "command", description: "" }],
  },
  {
    rule: "11.1",
    title: "a type of the agent's own stays, another becomes command",
    in: {
      commands: [
        { type: "_macro", name: "a", description: "" },
        { type: "macro", name: "b", description: "" },
      ],
    },
    out: [
      { type: "_macro", name: "a", description: "" },
      { type: "command", name: "b", description: "" },
    ],
  },
  {
    rule: "11.1",
    title: "a v2 list is its own translation",
    in: { commands: [{ type: "command", name: "a", description: "d", input: { type: "text", hint: "h" } }] },
    out: [{ type: "command", name: "a", description: "d", input: { type: "text", hint: "h" } }],
  },
  {
    rule: "11.4",
    title: "a command of several words is something to type after the first",
    in: {
      commands: [
        { name: "memory", description: "Keeps" },
        { name: "init", description: "Starts" },
        { name: "memory  show all", description: "Shows" },
        { name: "memory add ", description: "Adds", input: { hint: "what" } },
      ],
    },
    out: [
      {
        name: "memory",
        description: "Keeps",
        type: "command",
        input: { type: "text", hint: "show all | add" },
        _meta: {
          "acp-shift/commands": [
            { name: "memory", description: "Keeps" },
            { name: "memory  show all", description: "Shows" },
            { name: "memory add ", description: "Adds", input: { hint: "what" } },
          ],
        },
      },
      { name: "init", description: "Starts", type: "command" },
    ],
  },
  {
    rule: "11.4",
    title: "a first word that is no command of its own, and one whose input says more",
    in: {
      commands: [
        { name: "mcp list", description: "Lists" },
        { name: "go", description: "Goes", input: { hint: "where" } },
        { name: "go back", description: "Returns" },
      ],
    },
    out: [
      {
        name: "mcp",
        description: "list",
        type: "command",
        input: { type: "text", hint: "list" },
        _meta: { "acp-shift/commands": [{ name: "mcp list", description: "Lists" }] },
      },
      {
        name: "go",
        description: "Goes",
        type: "command",
        input: { type: "text", hint: "where" },
        _meta: {
          "acp-shift/commands": [
            { name: "go", description: "Goes", input: { hint: "where" } },
            { name: "go back", description: "Returns" },
          ],
        },
      },
    ],
  },
  {
    rule: "11.4",
    title: "a name told twice",
    in: {
      commands: [
        { name: "init", description: "Starts" },
        { name: "init", description: "Starts again" },
      ],
    },
    out: [
      {
        name: "init",
        description: "Starts",
        type: "command",
        _meta: {
          "acp-shift/commands": [
            { name: "init", description: "Starts" },
            { name: "init", description: "Starts again" },
          ],
        },
      },
    ],
  },
  { rule: "11.1", title: "no list", in: { commands: null }, out: [] },
];

const same = (title: string, update: Record<string, unknown>): Case => ({
  rule: "10.8",
  title,
  in: { update },
  out: update,
});

/** `updateToV2`, result: v2 `SessionUpdate`. */
export const updates: Case[] = [
  {
    rule: "11.1",
    title: "available_commands_update",
    in: {
      update: {
        sessionUpdate: "available_commands_update",
        availableCommands: [{ name: "a", description: "d", input: null }],
        _meta: { m: 1 },
      },
    },
    out: {
      sessionUpdate: "available_commands_update",
      availableCommands: [{ name: "a", description: "d", type: "command" }],
      _meta: { m: 1 },
    },
  },
  same("session_info_update; null clears in both versions", {
    sessionUpdate: "session_info_update",
    title: null,
    updatedAt: "2026-01-01T00:00:00Z",
  }),
  same("usage_update", {
    sessionUpdate: "usage_update",
    used: 1,
    size: 2,
    cost: { amount: 0.1, currency: "USD" },
    _meta: { m: 1 },
  }),
  same("notice", { sessionUpdate: "notice", severity: "warning", title: "Careful" }),
  same("compaction_update; null clears in both versions", {
    sessionUpdate: "compaction_update",
    compactionId: "c",
    status: "in_progress",
    summary: null,
  }),
  same("compaction_summary_chunk", {
    sessionUpdate: "compaction_summary_chunk",
    compactionId: "c",
    content: { type: "text", text: "s" },
  }),
  same("subagent_update", { sessionUpdate: "subagent_update", sessionId: "child", title: "Helper" }),
  same("an extension", { sessionUpdate: "_vendor", x: 1 }),
  {
    rule: "10.8",
    title: "open enumerations and content blocks inside",
    in: {
      update: {
        sessionUpdate: "compaction_update",
        compactionId: "c",
        status: "queued",
        summary: [{ type: "chart" }],
      },
    },
    out: {
      sessionUpdate: "compaction_update",
      compactionId: "c",
      status: "_queued",
      summary: [{ type: "_chart" }],
    },
  },
  {
    rule: "10.8",
    title: "a notice's unknown severity",
    in: { update: { sessionUpdate: "notice", severity: "fatal", title: "T" } },
    out: { sessionUpdate: "notice", severity: "_fatal", title: "T" },
  },
  {
    rule: "10.8",
    title: "a notice without a severity",
    in: { update: { sessionUpdate: "notice", title: "T" } },
    out: { sessionUpdate: "notice", severity: "info", title: "T" },
  },
  {
    rule: "10.8",
    title: "a session message's content",
    in: { update: { sessionUpdate: "session_message", messageId: "m", content: [{ type: "chart" }] } },
    out: { sessionUpdate: "session_message", messageId: "m", content: [{ type: "_chart" }] },
  },
  ...["session_message_chunk", "compaction_summary_chunk"].map(
    (sessionUpdate): Case => ({
      rule: "10.8",
      title: `the content of a ${sessionUpdate}`,
      in: { update: { sessionUpdate, messageId: "m", compactionId: "c", content: { type: "chart" } } },
      out: { sessionUpdate, messageId: "m", compactionId: "c", content: { type: "_chart" } },
    }),
  ),
  {
    rule: "10.8",
    title: "a status that is no text is left for the schema to refuse",
    in: { update: { sessionUpdate: "compaction_update", compactionId: "c", status: 1 } },
    out: { sessionUpdate: "compaction_update", compactionId: "c", status: 1 },
    invalid: true,
  },
  {
    rule: "10.7",
    title: "an unknown kind",
    in: { update: { sessionUpdate: "weather", sky: "blue", _meta: { m: 1 } } },
    out: { sessionUpdate: "_weather", sky: "blue", _meta: { m: 1 } },
  },
  { rule: "10.7", title: "no kind", in: { update: { x: 1 } }, out: { x: 1 }, invalid: true },
];

/** `methodToClientV2`. */
export const methods: Case[] = [
  ...[
    ["notification", "session/update"],
    ["request", "session/request_permission"],
    ["request", "elicitation/create"],
    ["notification", "elicitation/complete"],
    ["request", "mcp/message"],
    ["notification", "auth/status_update"],
    ["request", "_vendor/method"],
    ["notification", "_vendor/method"],
    ["notification", "$/cancel_request"],
    ["notification", "$/progress"],
  ].map(
    ([kind, method]): Case => ({
      rule: "10.6",
      title: `the ${kind} ${method} stays`,
      in: { kind, method },
      out: method,
    }),
  ),
  ...[
    ["notification", "qwen/notify/session/mode-update"],
    ["request", "fs/read_text_file"],
    ["request", "session/prompt"],
    ["request", "session/update"],
    ["notification", "session/request_permission"],
    ["request", ""],
  ].map(
    ([kind, method]): Case => ({
      rule: "10.6",
      title: `the ${kind} ${method || "(empty)"} gets a prefix`,
      in: { kind, method },
      out: `_${method}`,
    }),
  ),
];
