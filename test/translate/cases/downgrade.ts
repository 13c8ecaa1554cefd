import type { Case, Refusal } from "./case.ts";

/** `initializeParamsToV2` with the client `unknown` 0, input and result: `InitializeRequest`. */
export const initializeParams: Case[] = [
  {
    rule: "13.1",
    title: "a client with everything",
    in: {
      v1Params: {
        protocolVersion: 1,
        clientInfo: { name: "editor", title: "Editor", version: "1.2" },
        clientCapabilities: {
          fs: { readTextFile: true, writeTextFile: true },
          terminal: true,
          session: { notices: {}, configOptions: { boolean: {} } },
          auth: { terminal: true, _meta: { a: 1 } },
          elicitation: { form: {}, url: null },
          later: 1,
          _meta: { terminal_output: true, m: 1 },
        },
        _meta: { n: 2 },
      },
    },
    out: {
      protocolVersion: 2,
      info: { name: "editor", title: "Editor", version: "1.2" },
      capabilities: { auth: { terminal: {}, _meta: { a: 1 } }, elicitation: { form: {} }, later: 1, _meta: { m: 1 } },
      _meta: { n: 2 },
    },
  },
  {
    rule: "13.1",
    title: "a client that says nothing",
    in: { v1Params: { protocolVersion: 1 } },
    out: { protocolVersion: 2, info: { name: "unknown", version: "0" }, capabilities: {} },
  },
  {
    rule: "13.1",
    title: "no terminal logins, no elicitation",
    in: {
      v1Params: {
        protocolVersion: 1,
        clientInfo: null,
        clientCapabilities: { auth: { terminal: false }, elicitation: null, _meta: { terminal_output: true } },
      },
    },
    out: { protocolVersion: 2, info: { name: "unknown", version: "0" }, capabilities: {} },
  },
  {
    rule: "13.1",
    title: "elicitation by URL only; plans and subagents, which version 2 has no capability for",
    in: {
      v1Params: {
        protocolVersion: 1,
        clientCapabilities: { elicitation: { form: null, url: {} }, plan: {}, subagents: {} },
      },
    },
    out: {
      protocolVersion: 2,
      info: { name: "unknown", version: "0" },
      capabilities: { elicitation: { url: {} } },
    },
  },
];

/** `clientAbilities`. */
export const abilities: Case[] = [
  {
    rule: "13.23",
    title: "a client that announces everything",
    in: {
      v1: {
        session: { notices: {}, compaction: {}, configOptions: { boolean: {} } },
        subagents: {},
        _meta: { terminal_output: true },
      },
    },
    out: { notices: true, compaction: true, booleans: true, displayTerminals: true, subagents: true },
  },
  {
    rule: "13.23",
    title: "a client that announces nothing",
    in: { v1: { session: { notices: null }, _meta: { terminal_output: false } } },
    out: { notices: false, compaction: false, booleans: false, displayTerminals: false, subagents: false },
  },
];

/** `initializeResultToV1` for a client with terminal logins, input and result: `InitializeResponse`. */
export const initializeResults: Case[] = [
  {
    rule: "13.2",
    title: "an agent with everything",
    in: {
      v2Result: {
        protocolVersion: 2,
        info: { name: "agent", version: "3" },
        capabilities: {
          session: {
            prompt: { image: {}, audio: null, embeddedContext: {}, _meta: { p: 1 } },
            mcp: { stdio: {}, http: {}, acp: {} },
            delete: {},
            fork: {},
            later: {},
            _meta: { s: 1 },
          },
          auth: { status: {} },
          providers: {},
          _meta: { c: 1 },
        },
        authMethods: [{ methodId: "key", type: "agent", name: "Key" }],
        _meta: { r: 1 },
      },
    },
    out: {
      protocolVersion: 1,
      agentInfo: { name: "agent", version: "3" },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: false, embeddedContext: true, _meta: { p: 1 } },
        mcpCapabilities: { http: true, sse: false, acp: true },
        sessionCapabilities: { delete: {}, fork: {}, later: {}, _meta: { s: 1 }, list: {}, resume: {}, close: {} },
        auth: { status: {}, logout: {} },
        providers: {},
        _meta: { c: 1 },
      },
      authMethods: [{ id: "key", name: "Key" }],
      _meta: { r: 1 },
    },
  },
  {
    rule: "13.2",
    title: "an agent without sessions and logins",
    in: { v2Result: { protocolVersion: 2, info: { name: "agent", version: "3" } } },
    out: {
      protocolVersion: 1,
      agentInfo: { name: "agent", version: "3" },
      agentCapabilities: {
        loadSession: false,
        promptCapabilities: { image: false, audio: false, embeddedContext: false },
        mcpCapabilities: { http: false, sse: false },
        sessionCapabilities: {},
        auth: {},
      },
      authMethods: [],
    },
  },
];

/** `authMethodsToV1`, items of input and result: `AuthMethod`. */
export const authMethods: Case[] = [
  {
    rule: "13.3",
    title: "agent and terminal",
    in: {
      methods: [
        { methodId: "a", type: "agent", name: "A", description: null, _meta: { m: 1 } },
        { methodId: "t", type: "terminal", name: "T", args: ["login"], env: [{ name: "X", value: "1" }] },
        { methodId: "u", type: "terminal", name: "U" },
      ],
      clientHasTerminalAuth: true,
    },
    out: [
      { id: "a", name: "A", description: null, _meta: { m: 1 } },
      { id: "t", type: "terminal", name: "T", args: ["login"], env: { X: "1" } },
      { id: "u", type: "terminal", name: "U" },
    ],
  },
  {
    rule: "13.3",
    title: "terminal methods for a client without",
    in: { methods: [{ methodId: "t", type: "terminal", name: "T" }], clientHasTerminalAuth: false },
    out: [],
    notes: ["auth-method-terminal"],
  },
  {
    rule: "13.3",
    title: "a type of its own",
    in: { methods: [{ methodId: "x", type: "_key", name: "X", vars: ["K"] }], clientHasTerminalAuth: true },
    out: [{ id: "x", name: "X", vars: ["K"], _meta: { "acp-shift/type": "_key" } }],
    notes: ["auth-method-type"],
  },
  {
    rule: "13.3",
    title: "what is no method, no variable or no list of them",
    in: {
      methods: [
        null,
        { methodId: "t", type: "terminal", name: "T", env: null },
        { methodId: "u", type: "terminal", name: "U", env: [null, { name: "X", value: "1" }] },
      ],
      clientHasTerminalAuth: true,
    },
    badInput: true,
    out: [
      { id: "t", type: "terminal", name: "T" },
      { id: "u", type: "terminal", name: "U", env: { X: "1" } },
    ],
  },
];

/** `newSessionParamsToV2`, input and result: `NewSessionRequest`. */
export const newSessionParams: Case[] = [
  {
    rule: "13.4",
    title: "servers",
    in: {
      v1Params: {
        cwd: "/w",
        mcpServers: [
          { name: "s", command: "/bin/s", args: [], env: [{ name: "A", value: "b" }] },
          { type: "http", name: "h", url: "http://localhost/", headers: [] },
        ],
        additionalDirectories: ["/x"],
        _meta: { m: 1 },
      },
    },
    out: {
      cwd: "/w",
      mcpServers: [
        { type: "stdio", name: "s", command: "/bin/s", args: [], env: [{ name: "A", value: "b" }] },
        { type: "http", name: "h", url: "http://localhost/", headers: [] },
      ],
      additionalDirectories: ["/x"],
      _meta: { m: 1 },
    },
  },
  {
    rule: "13.4",
    title: "null for nothing",
    in: { v1Params: { cwd: "/w", additionalDirectories: null, mcpServers: null } },
    badInput: true,
    out: { cwd: "/w", mcpServers: [] },
  },
];

/** Likewise, but refused. */
export const newSessionRefused: Refusal[] = [
  {
    rule: "13.4",
    title: "a server on sse",
    in: { v1Params: { cwd: "/w", mcpServers: [{ type: "sse", name: "e", url: "http://localhost/", headers: [] }] } },
    error: {
      code: -32602,
      message: 'The agent does not take MCP servers of type "sse"',
      data: { type: "sse", name: "e" },
    },
  },
  {
    rule: "13.4",
    title: "a relative cwd",
    in: { v1Params: { cwd: "w", mcpServers: [] } },
    error: { code: -32602, message: "cwd must be an absolute path" },
  },
  {
    rule: "13.4",
    title: "no cwd",
    in: { v1Params: { mcpServers: [] } },
    error: { code: -32602, message: "cwd must be an absolute path" },
  },
  {
    rule: "13.4",
    title: "a server that is no object",
    in: { v1Params: { cwd: "/w", mcpServers: ["s"] } },
    error: { code: -32602, message: "mcpServers[0] is no object", data: { index: 0 } },
  },
  {
    rule: "13.4",
    title: "servers that are no list",
    in: { v1Params: { cwd: "/w", mcpServers: {} } },
    error: { code: -32602, message: "mcpServers must be a list" },
  },
];

/** `loadParamsToV2`, input: `LoadSessionRequest`, result: `ResumeSessionRequest`. */
export const loadParams: Case[] = [
  {
    rule: "13.4",
    title: "load",
    in: { v1Params: { sessionId: "s", cwd: "/w", mcpServers: [] } },
    out: { sessionId: "s", cwd: "/w", mcpServers: [], replayFrom: { type: "start" } },
  },
];

const MODE = {
  configId: "mode",
  type: "select",
  name: "Mode",
  category: "mode",
  currentValue: "ask",
  options: [
    { value: "ask", name: "Ask", description: "Asks" },
    { value: "code", name: "Code" },
  ],
};
const FAST = { configId: "fast", type: "boolean", name: "Fast", currentValue: true };

/** `sessionResultToV1` for a client with boolean options, input and result: `NewSessionResponse`. */
export const sessionResults: Case[] = [
  {
    rule: "13.5",
    title: "options, one of them the mode, and commands",
    in: {
      v2Result: {
        sessionId: "s",
        configOptions: [MODE, FAST],
        availableCommands: [{ type: "command", name: "c", description: "" }],
        _meta: { m: 1 },
      },
    },
    out: {
      sessionId: "s",
      configOptions: [
        {
          id: "mode",
          type: "select",
          name: "Mode",
          category: "mode",
          currentValue: "ask",
          options: [
            { value: "ask", name: "Ask", description: "Asks" },
            { value: "code", name: "Code" },
          ],
        },
        { id: "fast", type: "boolean", name: "Fast", currentValue: true },
      ],
      modes: {
        currentModeId: "ask",
        availableModes: [
          { id: "ask", name: "Ask", description: "Asks" },
          { id: "code", name: "Code" },
        ],
      },
      _meta: { m: 1 },
    },
  },
  { rule: "13.5", title: "nothing but an id", in: { v2Result: { sessionId: "s" } }, out: { sessionId: "s" } },
  {
    rule: "13.5",
    title: "null for nothing",
    in: { v2Result: { sessionId: "s", configOptions: null } },
    badInput: true,
    out: { sessionId: "s" },
  },
];

/** `configOptionsToV1`, items of input and result: `SessionConfigOption`. */
export const configOptions: Case[] = [
  {
    rule: "13.6",
    title: "groups",
    in: {
      booleans: true,
      options: [
        {
          configId: "model",
          type: "select",
          name: "Model",
          currentValue: "a",
          options: [{ groupId: "g", name: "G", options: [{ value: "a", name: "A" }], _meta: { m: 1 } }],
        },
      ],
    },
    out: [
      {
        id: "model",
        type: "select",
        name: "Model",
        currentValue: "a",
        options: [{ group: "g", name: "G", options: [{ value: "a", name: "A" }], _meta: { m: 1 } }],
      },
    ],
  },
  {
    rule: "13.6",
    title: "a boolean option for a client without",
    in: { booleans: false, options: [FAST] },
    out: [
      {
        id: "fast",
        type: "select",
        name: "Fast",
        currentValue: "true",
        options: [
          { value: "true", name: "On" },
          { value: "false", name: "Off" },
        ],
      },
    ],
  },
  {
    rule: "13.6",
    title: "an option of another type",
    in: { booleans: true, options: [{ configId: "n", type: "_number", name: "N", currentValue: 3 }] },
    out: [],
    notes: ["config-option-type"],
  },
  {
    rule: "13.6",
    title: "a boolean option that is off, for a client without; what is no option and no choice",
    in: {
      booleans: false,
      options: [null, { ...FAST, currentValue: false }, { ...MODE, options: [null, { value: "a", name: "A" }] }],
    },
    badInput: true,
    out: [
      {
        id: "fast",
        type: "select",
        name: "Fast",
        currentValue: "false",
        options: [
          { value: "true", name: "On" },
          { value: "false", name: "Off" },
        ],
      },
      {
        id: "mode",
        type: "select",
        name: "Mode",
        category: "mode",
        currentValue: "ask",
        options: [{ value: "a", name: "A" }],
      },
    ],
  },
];

/** `modesToV1` and `currentModeOf`, result: `{modes, current}`. */
export const modes: Case[] = [
  {
    rule: "13.7",
    title: "grouped modes",
    in: {
      options: [FAST, { ...MODE, options: [{ groupId: "g", name: "G", options: [{ value: "ask", name: "Ask" }] }] }],
    },
    out: { modes: { currentModeId: "ask", availableModes: [{ id: "ask", name: "Ask" }] }, current: "ask" },
  },
  {
    rule: "13.7",
    title: "an option that is only called mode",
    in: { options: [{ ...MODE, category: "_x" }] },
    out: { modes: undefined, current: undefined },
    invalid: true,
  },
  {
    rule: "13.7",
    title: "an option of that category that is no choice",
    in: { options: [{ ...FAST, category: "mode" }] },
    out: { modes: undefined, current: undefined },
    invalid: true,
  },
  {
    rule: "13.7",
    title: "what is no option, no choice and no group of them",
    in: {
      options: [
        null,
        { ...MODE, options: [null, { groupId: "g", name: "G", options: [null, { value: "ask", name: "Ask" }] }] },
      ],
    },
    badInput: true,
    out: { modes: { currentModeId: "ask", availableModes: [{ id: "ask", name: "Ask" }] }, current: "ask" },
  },
];

/** `setModeToV2`, result: `SetSessionConfigOptionRequest`. */
export const setMode: Case[] = [
  {
    rule: "13.7",
    title: "the option's own id",
    in: { v1Params: { sessionId: "s", modeId: "code", _meta: { m: 1 } }, options: [{ ...MODE, configId: "m" }] },
    out: { sessionId: "s", configId: "m", type: "id", value: "code", _meta: { m: 1 } },
  },
];

/** Likewise, but refused. */
export const setModeRefused: Refusal[] = [
  {
    rule: "13.7",
    title: "a session without modes",
    in: { v1Params: { sessionId: "s", modeId: "code" }, options: [FAST] },
    error: { code: -32602, message: "This session has no modes" },
  },
];

/** `setConfigOptionToV2`, input and result: `SetSessionConfigOptionRequest`. */
export const setConfigOption: Case[] = [
  {
    rule: "13.8",
    title: "a choice",
    in: { v1Params: { sessionId: "s", configId: "mode", value: "code" }, options: [MODE] },
    out: { sessionId: "s", configId: "mode", type: "id", value: "code" },
  },
  {
    rule: "13.8",
    title: "a boolean",
    in: { v1Params: { sessionId: "s", configId: "fast", type: "boolean", value: false }, options: [FAST] },
    out: { sessionId: "s", configId: "fast", type: "boolean", value: false },
  },
  {
    rule: "13.8",
    title: "a boolean shown as a choice",
    in: { v1Params: { sessionId: "s", configId: "fast", value: "false" }, options: [null, MODE, FAST] },
    badInput: true,
    out: { sessionId: "s", configId: "fast", type: "boolean", value: false },
  },
  {
    rule: "13.8",
    title: "likewise, on",
    in: { v1Params: { sessionId: "s", configId: "fast", value: "true" }, options: [FAST] },
    out: { sessionId: "s", configId: "fast", type: "boolean", value: true },
  },
  {
    rule: "13.8",
    title: "neither on nor off: the agent's to refuse",
    in: { v1Params: { sessionId: "s", configId: "fast", value: "maybe" }, options: [FAST] },
    out: { sessionId: "s", configId: "fast", type: "id", value: "maybe" },
  },
  {
    rule: "13.8",
    title: "a choice that is called true",
    in: { v1Params: { sessionId: "s", configId: "mode", value: "true" }, options: [FAST, MODE] },
    out: { sessionId: "s", configId: "mode", type: "id", value: "true" },
  },
];

/** `promptToV2`, input and result: `PromptRequest`. */
export const prompts: Case[] = [
  {
    rule: "13.9",
    title: "blocks",
    in: {
      v1Params: {
        sessionId: "s",
        prompt: [
          { type: "text", text: "hi", annotations: { priority: 3 } },
          { type: "resource_link", name: "a", uri: "file:///a" },
        ],
        _meta: { m: 1 },
      },
    },
    out: {
      sessionId: "s",
      prompt: [
        { type: "text", text: "hi", annotations: { priority: 1 } },
        { type: "resource_link", name: "a", uri: "file:///a" },
      ],
      _meta: { m: 1 },
    },
  },
];

/** Likewise, but refused. */
export const promptsRefused: Refusal[] = [
  {
    rule: "13.9",
    title: "nothing",
    in: { v1Params: { sessionId: "s", prompt: [] } },
    error: { code: -32602, message: "prompt must be a list with content" },
  },
];

/** `contentBlockToV1`, input and result: `ContentBlock`. */
export const blocks: Case[] = [
  {
    rule: "13.9",
    title: "a type of its own",
    in: { block: { type: "_chart", points: [1, 2], _meta: { m: 1 } } },
    out: {
      type: "text",
      text: "[_chart]",
      _meta: { "acp-shift/content": { type: "_chart", points: [1, 2], _meta: { m: 1 } } },
    },
  },
  {
    rule: "13.9",
    title: "an audience v1 does not know",
    in: { block: { type: "text", text: "t", annotations: { audience: ["user", "_tool"], priority: 0.5 } } },
    out: { type: "text", text: "t", annotations: { audience: ["user"], priority: 0.5 } },
  },
  {
    rule: "13.9",
    title: "icons, which v1 does not know",
    in: { block: { type: "resource_link", name: "n", uri: "file:///a", icons: [{ src: "x" }] } },
    out: { type: "resource_link", name: "n", uri: "file:///a", icons: [{ src: "x" }] },
  },
  {
    rule: "13.9",
    title: "an audience of nobody",
    in: { block: { type: "text", text: "t", annotations: { audience: [] } } },
    out: { type: "text", text: "t", annotations: { audience: [] } },
  },
  {
    rule: "13.9",
    title: "no type: left to the schema",
    in: { block: { text: "t" } },
    badInput: true,
    out: { text: "t" },
    invalid: true,
  },
];

/** `toolCallToV1`, input and result: `SessionUpdate`. */
export const toolCalls: Case[] = [
  {
    rule: "13.10",
    title: "the first of an id",
    in: {
      update: {
        sessionUpdate: "tool_call_update",
        toolCallId: "t",
        name: "Bash",
        kind: "execute",
        status: "pending",
        rawInput: { command: "ls" },
        locations: [{ path: "/w/a", line: 3 }],
        later: 1,
        _meta: { m: 1 },
      },
      context: { announced: false },
    },
    out: {
      sessionUpdate: "tool_call",
      toolCallId: "t",
      name: "Bash",
      title: "Bash",
      kind: "execute",
      status: "pending",
      rawInput: { command: "ls" },
      locations: [{ path: "/w/a", line: 3 }],
      later: 1,
      _meta: { m: 1 },
    },
  },
  {
    rule: "13.10",
    title: "the first, with nothing but an id",
    in: { update: { sessionUpdate: "tool_call_update", toolCallId: "t" }, context: { announced: false } },
    out: { sessionUpdate: "tool_call", toolCallId: "t", title: "t" },
  },
  {
    rule: "13.10",
    title: "a later one",
    in: {
      update: { sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed", rawOutput: "done" },
      context: { announced: true },
    },
    out: { sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed", rawOutput: "done" },
  },
  {
    rule: "13.10",
    title: "capabilities",
    in: {
      update: { sessionUpdate: "tool_call_update", toolCallId: "t", capabilities: { cancel: {} } },
      context: { announced: true },
    },
    out: { sessionUpdate: "tool_call_update", toolCallId: "t" },
    notes: ["tool-call-capabilities"],
  },
  {
    rule: "13.11",
    title: "every field null, later",
    in: {
      update: {
        sessionUpdate: "tool_call_update",
        toolCallId: "t",
        name: null,
        title: null,
        kind: null,
        status: null,
        content: null,
        locations: null,
        rawInput: null,
        rawOutput: null,
        capabilities: null,
      },
      context: { announced: true, title: "Known" },
    },
    out: {
      sessionUpdate: "tool_call_update",
      toolCallId: "t",
      title: "Known",
      kind: "other",
      status: "pending",
      content: [],
      locations: [],
    },
    notes: ["tool-call-not-cleared", "tool-call-not-cleared", "tool-call-not-cleared"],
  },
  {
    rule: "13.11",
    title: "fields null in the first",
    in: {
      update: { sessionUpdate: "tool_call_update", toolCallId: "t", title: null, rawInput: null, content: null },
      context: { announced: false },
    },
    out: { sessionUpdate: "tool_call", toolCallId: "t", title: "t", content: [] },
  },
  ...(
    [
      ["cancelled", "failed"],
      ["paused", "in_progress"],
      ["_waiting", "in_progress"],
      ["failed", "failed"],
    ] as const
  ).map(([status, v1]) => ({
    rule: "13.12",
    title: `status ${status}`,
    in: {
      update: { sessionUpdate: "tool_call_update", toolCallId: "t", status },
      context: { announced: true },
    },
    out: { sessionUpdate: "tool_call_update", toolCallId: "t", status: v1 },
  })),
  {
    rule: "13.12",
    title: "a status that is no text, though it looks like one",
    in: {
      update: { sessionUpdate: "tool_call_update", toolCallId: "t", status: ["cancelled"] },
      context: { announced: true },
    },
    badInput: true,
    out: { sessionUpdate: "tool_call_update", toolCallId: "t", status: "in_progress" },
  },
  {
    rule: "13.12",
    title: "kind",
    in: {
      update: { sessionUpdate: "tool_call_update", toolCallId: "t", kind: "_query" },
      context: { announced: true },
    },
    out: { sessionUpdate: "tool_call_update", toolCallId: "t", kind: "other" },
  },
  {
    rule: "13.13",
    title: "content of every type",
    in: {
      update: {
        sessionUpdate: "tool_call_update",
        toolCallId: "t",
        content: [
          { type: "content", content: { type: "text", text: "a" }, _meta: { m: 1 } },
          { type: "content", content: { type: "_x" } },
          null,
          { type: "terminal", terminalId: "shown" },
          { type: "_table", rows: [] },
        ],
      },
      context: { announced: true },
    },
    badInput: true,
    out: {
      sessionUpdate: "tool_call_update",
      toolCallId: "t",
      content: [
        { type: "content", content: { type: "text", text: "a" }, _meta: { m: 1 } },
        {
          type: "content",
          content: { type: "text", text: "[_x]", _meta: { "acp-shift/content": { type: "_x" } } },
        },
        { type: "terminal", terminalId: "shown" },
        {
          type: "content",
          content: { type: "text", text: "[_table]", _meta: { "acp-shift/content": { type: "_table", rows: [] } } },
        },
      ],
    },
  },
  {
    rule: "13.16",
    title: "a terminal in content, for a client without the extension",
    in: {
      update: {
        sessionUpdate: "tool_call_update",
        toolCallId: "t",
        content: [
          { type: "terminal", terminalId: "known" },
          { type: "terminal", terminalId: "unknown" },
        ],
      },
      context: { announced: true, terminals: { known: { command: "ls", output: "a\n" } } },
    },
    out: {
      sessionUpdate: "tool_call_update",
      toolCallId: "t",
      content: [{ type: "content", content: { type: "text", text: "$ ls\na" } }],
    },
  },
];

const patch = (...lines: string[]) => ({ format: "git_patch", text: `${lines.join("\n")}\n` });

/** `diffToV1`, input: `ToolCallContent`, items of the result: `ToolCallContent`. */
export const diffs: Case[] = [
  {
    rule: "13.14",
    title: "modify, two hunks, as git writes it",
    in: {
      diff: {
        type: "diff",
        changes: [{ operation: "modify", path: "/w/a.txt", fileType: "text", _meta: { c: 1 } }],
        patch: patch(
          "diff --git a/w/a.txt b/w/a.txt",
          "index 111..222 100644",
          "--- a/w/a.txt",
          "+++ b/w/a.txt",
          "@@ -1,2 +1,2 @@ context",
          " one",
          "-two",
          "+zwei",
          "@@ -9 +9,2 @@",
          " nine",
          "+ten",
        ),
        later: 1,
        _meta: { m: 1 },
      },
    },
    out: [
      {
        type: "diff",
        path: "/w/a.txt",
        oldText: "one\ntwo\nnine\n",
        newText: "one\nzwei\nnine\nten\n",
        later: 1,
        _meta: { c: 1, m: 1 },
      },
    ],
  },
  {
    rule: "13.14",
    title: "add, without git's prefixes",
    in: {
      diff: {
        type: "diff",
        changes: [{ operation: "add", path: "/w/new" }],
        patch: patch(
          "diff --git /w/new /w/new",
          "new file mode 100644",
          "--- /dev/null",
          "+++ /w/new",
          "@@ -0,0 +1 @@",
          "+hi",
        ),
      },
    },
    out: [{ type: "diff", path: "/w/new", oldText: null, newText: "hi\n" }],
  },
  {
    rule: "13.14",
    title: "add an empty file",
    in: {
      diff: {
        type: "diff",
        changes: [{ operation: "add", path: "/w/new" }],
        patch: patch("diff --git a/w/new b/w/new", "new file mode 100644"),
      },
    },
    out: [{ type: "diff", path: "/w/new", oldText: null, newText: "" }],
  },
  {
    rule: "13.14",
    title: "delete",
    in: {
      diff: {
        type: "diff",
        changes: [{ operation: "delete", path: "/w/old" }],
        patch: patch(
          "diff --git a/w/old b/w/old",
          "deleted file mode 100644",
          "--- a/w/old",
          "+++ /dev/null",
          "@@ -1 +0,0 @@",
          "-hi",
        ),
      },
    },
    out: [{ type: "diff", path: "/w/old", oldText: "hi\n", newText: "", _meta: { kind: "delete" } }],
  },
  {
    rule: "13.14",
    title: "texts without a final newline, and lines that look like headers",
    in: {
      diff: {
        type: "diff",
        changes: [{ operation: "modify", path: "/w/a" }],
        patch: patch(
          "diff --git a/w/a b/w/a",
          "--- a/w/a",
          "+++ b/w/a",
          "@@ -1,3 +1,3 @@",
          "--- dash",
          "+++ plus",
          "",
          "-end",
          "\\ No newline at end of file",
          "+End",
          "\\ No newline at end of file",
        ),
      },
    },
    out: [{ type: "diff", path: "/w/a", oldText: "-- dash\n\nend", newText: "++ plus\n\nEnd" }],
  },
  {
    rule: "13.14",
    title: "several files, named from a directory of their own, one of them quoted, one with a space",
    in: {
      diff: {
        type: "diff",
        changes: [
          { operation: "modify", path: "/w/é" },
          { operation: "modify", path: "/w/a b" },
          { operation: "move", oldPath: "/w/old", path: "/w/renamed-file" },
        ],
        patch: patch(
          "From somebody",
          "--- and their words",
          "\\ and more",
          "diff --git a/old b/renamed-file",
          "similarity index 90%",
          "rename from old",
          "rename to renamed-file",
          "--- a/old",
          "+++ b/renamed-file",
          "@@ -1 +1 @@",
          "-x",
          "+y",
          'diff --git "a/\\303\\251" "b/\\303\\251"',
          '--- "a/\\303\\251"',
          '+++ "b/\\303\\251"',
          "@@ -1 +1 @@",
          "-e",
          "+é",
          "diff --git a/a b b/a b",
          "--- a/a b\t",
          "+++ b/a b\t",
          "@@ -1 +1 @@",
          "-1",
          "+2",
        ),
      },
    },
    out: [
      { type: "diff", path: "/w/é", oldText: "e\n", newText: "é\n" },
      { type: "diff", path: "/w/a b", oldText: "1\n", newText: "2\n" },
      { type: "diff", path: "/w/renamed-file", oldText: "x\n", newText: "y\n" },
    ],
  },
  {
    rule: "13.14",
    title: "no patch, another format, a mere rename, a binary file",
    in: {
      diff: {
        type: "diff",
        changes: [
          { operation: "delete", path: "/w/gone" },
          { operation: "move", oldPath: "/w/x", path: "/w/y" },
          { operation: "_touch", path: "/w/z" },
        ],
        patch: patch("diff --git a/w/x b/w/y", "similarity index 100%", "rename from w/x", "rename to w/y"),
        _meta: { m: 1 },
      },
    },
    out: [
      { _meta: { m: 1 }, type: "content", content: { type: "text", text: "Deleted /w/gone" } },
      { type: "content", content: { type: "text", text: "Moved /w/x to /w/y" } },
      { type: "content", content: { type: "text", text: "Changed /w/z" } },
    ],
    notes: ["diff-as-text", "diff-as-text", "diff-as-text"],
  },
  {
    rule: "13.14",
    title: "long hunks, additions before deletions, an old text without a final newline",
    in: {
      diff: {
        type: "diff",
        changes: [{ operation: "modify", path: "/w/a" }],
        patch: patch(
          "diff --git a/w/a b/w/a",
          "--- a/w/a",
          "+++ b/w/a",
          "@@ -10,10 +10,11 @@",
          ...Array.from({ length: 10 }, () => " x"),
          "+y",
          "@@ -32,2 +33 @@",
          "+one",
          "-two",
          "-three",
          "\\ No newline at end of file",
        ),
      },
    },
    out: [
      {
        type: "diff",
        path: "/w/a",
        oldText: `${"x\n".repeat(10)}two\nthree`,
        newText: `${"x\n".repeat(10)}y\none\n`,
      },
    ],
  },
  {
    rule: "13.14",
    title: "names with escapes, names of Windows",
    in: {
      diff: {
        type: "diff",
        changes: [
          { operation: "modify", path: '/w/q"uo\te é.txt' },
          { operation: "modify", path: "C:\\w\\a.txt" },
          { operation: "modify", path: "/w/a\\b" },
        ],
        patch: patch(
          'diff --git "a/w/q\\"uo\\te \\303\\251.txt" "b/w/q\\"uo\\te \\303\\251.txt"',
          "@@ -1 +1 @@",
          "-1",
          "+2",
          "diff --git a/w/a.txt b/w/a.txt",
          "@@ -1 +1 @@",
          "-3",
          "+4",
          'diff --git "a/w/a\\\\b" "b/w/a\\\\b"',
          "@@ -1 +1 @@",
          "-5",
          "+6",
        ),
      },
    },
    out: [
      { type: "diff", path: '/w/q"uo\te é.txt', oldText: "1\n", newText: "2\n" },
      { type: "diff", path: "C:\\w\\a.txt", oldText: "3\n", newText: "4\n" },
      { type: "diff", path: "/w/a\\b", oldText: "5\n", newText: "6\n" },
    ],
  },
  ...[
    { format: "_other", text: patch("diff --git a/w/a b/w/a", "@@ -1 +1 @@", "-1", "+2").text },
    { format: "git_patch" },
  ].map((given) => ({
    rule: "13.14",
    title: `a patch of format ${given.format} ${given.text === undefined ? "without a text" : ""}, and what is no change`,
    in: { diff: { type: "diff", changes: [null, { operation: "modify", path: "/w/a" }], patch: given } },
    badInput: true,
    out: [{ type: "content", content: { type: "text", text: "Changed /w/a" } }],
    notes: ["diff-as-text"],
  })),
  {
    rule: "13.14",
    title: "a section that belongs to no change",
    in: {
      diff: {
        type: "diff",
        changes: [{ operation: "modify", path: "/w/a" }],
        patch: patch("diff --git a/w/b b/w/b", "--- a/w/b", "+++ b/w/b", "@@ -1 +1 @@", "-1", "+2"),
      },
    },
    out: [{ type: "content", content: { type: "text", text: "Changed /w/a" } }],
    notes: ["diff-as-text", "diff-section-dropped"],
  },
];

/** `displayTerminalToV1` of the terminal `t`. */
export const terminalSteps: Case[] = [
  {
    rule: "13.15",
    title: "beginning",
    in: { step: { info: { command: "ls", cwd: "/w" } } },
    out: { terminal_info: { terminal_id: "t", command: "ls", cwd: "/w" } },
  },
  {
    rule: "13.15",
    title: "output and end",
    in: { step: { output: "a\n", exitStatus: { exitCode: 0 } } },
    out: {
      terminal_output: { terminal_id: "t", data: "a\n" },
      terminal_exit: { terminal_id: "t", exit_code: 0, signal: null },
    },
  },
  {
    rule: "13.15",
    title: "an end by a signal",
    in: { step: { exitStatus: { exitCode: null, signal: "SIGTERM" } } },
    out: { terminal_exit: { terminal_id: "t", exit_code: null, signal: "SIGTERM" } },
  },
];

const asText = (text: string) => ({ type: "content", content: { type: "text", text } });

/** `terminalAsText`, result: `ToolCallContent`. */
export const terminalTexts: Case[] = [
  { rule: "13.16", title: "running", in: { terminal: { command: "ls", output: "a\nb\n" } }, out: asText("$ ls\na\nb") },
  {
    rule: "13.16",
    title: "ended well",
    in: { terminal: { command: "ls", output: "", exitStatus: { exitCode: 0 } } },
    out: asText("$ ls"),
  },
  {
    rule: "13.16",
    title: "failed",
    in: { terminal: { output: "no\n", exitStatus: { exitCode: 2 } } },
    out: asText("no\n[exit 2]"),
  },
  {
    rule: "13.16",
    title: "killed",
    in: { terminal: { command: "sleep 9", output: "", exitStatus: { signal: "SIGKILL" } } },
    out: asText("$ sleep 9\n[ended by SIGKILL]"),
  },
];

/** `plansToV1`, items of the input: `PlanUpdateContent`, result: `SessionUpdate`. */
export const plans: Case[] = [
  {
    rule: "13.17",
    title: "several plans",
    in: {
      plans: [
        {
          type: "items",
          planId: "p",
          entries: [
            { content: "A", priority: "high", status: "completed", _meta: { m: 1 } },
            { content: "B", priority: "_urgent", status: "cancelled" },
          ],
        },
        { type: "items", planId: "q", entries: [{ content: "C", priority: "low", status: "_blocked" }] },
      ],
    },
    out: {
      sessionUpdate: "plan",
      entries: [
        { content: "A", priority: "high", status: "completed", _meta: { m: 1 } },
        { content: "B", priority: "medium", status: "completed" },
        { content: "C", priority: "low", status: "pending" },
      ],
    },
  },
  {
    rule: "13.17",
    title: "Markdown, a file, and what neither version defines",
    in: {
      plans: [
        { type: "markdown", planId: "m", content: "# Do it" },
        { type: "file", planId: "f", uri: "file:///w/plan.md" },
        { type: "_board", planId: "b", columns: [] },
        { type: "markdown", planId: "e", content: "" },
      ],
    },
    out: {
      sessionUpdate: "plan",
      entries: [
        { content: "# Do it", priority: "medium", status: "pending" },
        { content: "file:///w/plan.md", priority: "medium", status: "pending" },
        { content: "[_board]", priority: "medium", status: "pending" },
      ],
    },
    notes: ["plan-as-entry", "plan-as-entry", "plan-as-entry", "plan-as-entry"],
  },
  { rule: "13.17", title: "no plan", in: { plans: [] }, out: { sessionUpdate: "plan", entries: [] } },
];

/** `availableCommandsToV1`, items of input and result: `AvailableCommand`. */
export const commands: Case[] = [
  {
    rule: "13.18",
    title: "with and without input",
    in: {
      commands: [
        { type: "command", name: "a", description: "A", input: { type: "text", hint: "what", _meta: { i: 1 } } },
        { type: "command", name: "b", description: "B", input: null, _meta: { m: 1 } },
      ],
    },
    out: [
      { name: "a", description: "A", input: { hint: "what", _meta: { i: 1 } } },
      { name: "b", description: "B", _meta: { m: 1 } },
    ],
  },
  {
    rule: "13.18",
    title: "of another type, with another input",
    in: {
      commands: [
        { type: "_skill", name: "a", description: "A" },
        { type: "command", name: "b", description: "B", input: { type: "_form", fields: [] } },
      ],
    },
    out: [
      { name: "a", description: "A" },
      { name: "b", description: "B" },
    ],
    notes: ["command-type", "command-input"],
  },
  {
    rule: "13.18",
    title: "what is no command",
    in: {
      commands: [
        null,
        { type: "command", description: "" },
        { type: "command", name: "a", description: "", _meta: { "acp-shift/commands": [null, { name: "a b" }] } },
      ],
    },
    badInput: true,
    out: [{ name: "a b" }],
    invalid: true,
  },
  {
    rule: "13.18",
    title: "one that stands for several of v1's",
    in: {
      commands: [
        {
          type: "command",
          name: "memory",
          description: "show",
          input: { type: "text", hint: "show" },
          _meta: { "acp-shift/commands": [{ name: "memory show", description: "Shows" }] },
        },
      ],
    },
    out: [{ name: "memory show", description: "Shows" }],
  },
];

const OPTIONS = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];

/** `permissionRequestToV1` with the id `made`, result: `{params: RequestPermissionRequest, made}`. */
export const permissionRequests: Case[] = [
  {
    rule: "13.19",
    title: "about a tool call",
    in: {
      v2Params: {
        sessionId: "s",
        title: "May I?",
        description: "It is needed",
        subject: { type: "tool_call", toolCall: { toolCallId: "t", title: "Write", status: "paused" } },
        options: OPTIONS,
        _meta: { m: 1 },
      },
    },
    out: {
      params: {
        sessionId: "s",
        title: "May I?",
        description: "It is needed",
        toolCall: { toolCallId: "t", title: "Write", status: "in_progress" },
        options: OPTIONS,
        _meta: { m: 1 },
      },
      made: undefined,
    },
  },
  {
    rule: "13.19",
    title: "about a command",
    in: {
      v2Params: {
        sessionId: "s",
        title: "Run it?",
        description: "It is needed",
        subject: { type: "command", command: "rm a", cwd: "/w", toolCallId: "t" },
        options: OPTIONS,
      },
    },
    out: {
      params: {
        sessionId: "s",
        title: "Run it?",
        description: "It is needed",
        toolCall: {
          toolCallId: "made",
          title: "rm a",
          kind: "execute",
          status: "pending",
          content: [asText("Run it?\nIt is needed")],
          rawInput: { command: "rm a", cwd: "/w", toolCallId: "t" },
        },
        options: OPTIONS,
      },
      made: {
        toolCallId: "made",
        title: "rm a",
        kind: "execute",
        status: "pending",
        content: [asText("Run it?\nIt is needed")],
        rawInput: { command: "rm a", cwd: "/w", toolCallId: "t" },
      },
    },
  },
  {
    rule: "13.19",
    title: "about nothing in particular",
    in: { v2Params: { sessionId: "s", title: "Go on?", subject: null, options: OPTIONS } },
    out: {
      params: {
        sessionId: "s",
        title: "Go on?",
        toolCall: { toolCallId: "made", title: "Go on?", kind: "other", status: "pending" },
        options: OPTIONS,
      },
      made: { toolCallId: "made", title: "Go on?", kind: "other", status: "pending" },
    },
  },
  {
    rule: "13.19",
    title: "about something that version 1 does not define, without a title",
    in: {
      v2Params: {
        sessionId: "s",
        subject: { type: "_deploy", command: "now", toolCall: { toolCallId: "t" }, _meta: { m: 1 } },
        options: [null, { optionId: "?", name: "?" }, ...OPTIONS],
      },
    },
    badInput: true,
    out: {
      params: {
        sessionId: "s",
        toolCall: {
          toolCallId: "made",
          title: "Permission required",
          kind: "other",
          status: "pending",
          rawInput: { command: "now", toolCall: { toolCallId: "t" } },
        },
        options: OPTIONS,
      },
      made: {
        toolCallId: "made",
        title: "Permission required",
        kind: "other",
        status: "pending",
        rawInput: { command: "now", toolCall: { toolCallId: "t" } },
      },
    },
    notes: ["permission-option-kind"],
  },
  {
    rule: "13.20",
    title: "options",
    in: {
      v2Params: {
        sessionId: "s",
        title: "Go on?",
        subject: { type: "tool_call", toolCall: { toolCallId: "t" } },
        options: [
          { optionId: "a", name: "A", kind: "allow_always" },
          { optionId: "b", name: "B", kind: "_allow_for_session" },
          { optionId: "c", name: "C", kind: "_reject_and_stop" },
          { optionId: "d", name: "D", kind: "_later" },
          { optionId: "e", name: "E", kind: "_disallow" },
          { optionId: "f", name: "F", kind: "_auto_reject" },
          { optionId: "g", name: "G", kind: "deny" },
          { optionId: "h", name: "H", kind: "approve" },
        ],
      },
    },
    out: {
      params: {
        sessionId: "s",
        title: "Go on?",
        toolCall: { toolCallId: "t" },
        options: [
          { optionId: "a", name: "A", kind: "allow_always" },
          { optionId: "b", name: "B", kind: "allow_once" },
          { optionId: "c", name: "C", kind: "reject_once" },
          { optionId: "g", name: "G", kind: "reject_once" },
          { optionId: "h", name: "H", kind: "allow_once" },
        ],
      },
      made: undefined,
    },
    notes: ["permission-option-kind", "permission-option-kind", "permission-option-kind"],
  },
];

/** `permissionResultToV2` with the option `yes`, result: `RequestPermissionResponse`. */
export const permissionResults: Case[] = [
  {
    rule: "13.21",
    title: "an offered option",
    in: { result: { outcome: { outcome: "selected", optionId: "yes" }, _meta: { m: 1 } } },
    out: { outcome: { outcome: "selected", optionId: "yes" }, _meta: { m: 1 } },
  },
  {
    rule: "13.21",
    title: "an option that was not offered",
    in: { result: { outcome: { outcome: "selected", optionId: "other" } } },
    out: { outcome: { outcome: "cancelled" } },
  },
  { rule: "13.21", title: "nonsense", in: { result: true }, out: { outcome: { outcome: "cancelled" } } },
];

/** `promptResultToV1`, result: `PromptResponse`. */
export const promptResults: Case[] = [
  {
    rule: "13.22",
    title: "a reason v1 has, with usage",
    in: { idle: { stopReason: "max_tokens", usage: { totalTokens: 1 }, _meta: { m: 1 }, later: 1 } },
    out: { stopReason: "max_tokens", usage: { totalTokens: 1 }, _meta: { m: 1 }, later: 1 },
  },
  {
    rule: "13.22",
    title: "a reason of its own",
    in: { idle: { stopReason: "_budget", usage: null, _meta: { m: 1 } } },
    out: { stopReason: "end_turn", _meta: { m: 1, "acp-shift/stopReason": "_budget" } },
  },
  { rule: "13.22", title: "none", in: { idle: { stopReason: null } }, out: { stopReason: "end_turn" } },
];

const ALL = { notices: true, compaction: true, booleans: true, displayTerminals: true, subagents: true };
const NONE = { notices: false, compaction: false, booleans: false, displayTerminals: false, subagents: false };
const notice = { sessionUpdate: "notice", severity: "warning", title: "T" };
const compaction = {
  sessionUpdate: "compaction_update",
  compactionId: "c",
  status: "completed",
  summary: [{ type: "_x" }, null],
};

/** `updateToV1`, input and result: `SessionUpdate`. */
export const updates: Case[] = [
  {
    rule: "13.23",
    title: "a chunk",
    in: {
      update: { sessionUpdate: "agent_message_chunk", messageId: "m", content: { type: "text", text: "a" }, later: 1 },
      client: NONE,
    },
    out: { sessionUpdate: "agent_message_chunk", messageId: "m", content: { type: "text", text: "a" }, later: 1 },
  },
  ...["user_message_chunk", "agent_thought_chunk", "session_message_chunk"].map((sessionUpdate) => ({
    rule: "13.23",
    title: `a ${sessionUpdate}`,
    in: { update: { sessionUpdate, messageId: "m", content: { type: "_x" } }, client: ALL },
    out: {
      sessionUpdate,
      messageId: "m",
      content: { type: "text", text: "[_x]", _meta: { "acp-shift/content": { type: "_x" } } },
    },
    invalid: sessionUpdate === "session_message_chunk",
  })),
  {
    rule: "13.23",
    title: "commands",
    in: {
      update: {
        sessionUpdate: "available_commands_update",
        availableCommands: [{ type: "command", name: "a", description: "A" }],
      },
      client: NONE,
    },
    out: { sessionUpdate: "available_commands_update", availableCommands: [{ name: "a", description: "A" }] },
  },
  {
    rule: "13.23",
    title: "session info",
    in: { update: { sessionUpdate: "session_info_update", title: null, _meta: { m: 1 } }, client: NONE },
    out: { sessionUpdate: "session_info_update", title: null, _meta: { m: 1 } },
  },
  {
    rule: "13.23",
    title: "usage",
    in: { update: { sessionUpdate: "usage_update", used: 1, size: 2 }, client: NONE },
    out: { sessionUpdate: "usage_update", used: 1, size: 2 },
  },
  { rule: "13.23", title: "a notice, announced", in: { update: notice, client: ALL }, out: notice },
  {
    rule: "13.23",
    title: "a notice",
    in: { update: notice, client: NONE },
    out: undefined,
    notes: ["update-not-shown"],
  },
  {
    rule: "13.23",
    title: "compaction, announced",
    in: { update: compaction, client: ALL },
    out: {
      ...compaction,
      summary: [{ type: "text", text: "[_x]", _meta: { "acp-shift/content": { type: "_x" } } }],
    },
  },
  {
    rule: "13.23",
    title: "compaction",
    in: { update: compaction, client: NONE },
    out: undefined,
    notes: ["update-not-shown"],
  },
  {
    rule: "13.23",
    title: "a piece of a compaction's summary",
    in: {
      update: { sessionUpdate: "compaction_summary_chunk", compactionId: "c", content: { type: "text", text: "a" } },
      client: ALL,
    },
    out: { sessionUpdate: "compaction_summary_chunk", compactionId: "c", content: { type: "text", text: "a" } },
  },
  {
    rule: "13.23",
    title: "a subagent, announced",
    in: { update: { sessionUpdate: "subagent_update", sessionId: "child" }, client: ALL },
    out: { sessionUpdate: "subagent_update", sessionId: "child" },
    invalid: true,
  },
  {
    rule: "13.23",
    title: "a subagent's message, announced",
    in: {
      update: { sessionUpdate: "session_message", sessionId: "child", content: [null, { type: "_x" }] },
      client: ALL,
    },
    badInput: true,
    out: {
      sessionUpdate: "session_message",
      sessionId: "child",
      content: [{ type: "text", text: "[_x]", _meta: { "acp-shift/content": { type: "_x" } } }],
    },
    invalid: true,
  },
  {
    rule: "13.23",
    title: "a subagent",
    in: { update: { sessionUpdate: "subagent_update", sessionId: "child" }, client: NONE },
    out: undefined,
    notes: ["update-not-shown"],
  },
  ...[
    "_vendor",
    "state_update",
    "terminal_update",
    "terminal_output_chunk",
    "tool_call_content_chunk",
    "plan_removed",
  ].map((sessionUpdate) => ({
    rule: "13.24",
    title: sessionUpdate,
    in: { update: { sessionUpdate }, client: ALL },
    out: undefined,
    notes: ["update-not-shown"],
    invalid: true,
  })),
];

/** `methodToClientV1`. */
export const methods: Case[] = [
  { rule: "13.25", title: "one both have", in: { method: "mcp/message" }, out: "mcp/message" },
  { rule: "13.25", title: "any other", in: { method: "vendor/ask" }, out: "_vendor/ask" },
];

/** `errorToV1`, result: `Error`. */
export const errors: Case[] = [
  {
    rule: "13.26",
    title: "code and data",
    in: { error: { code: -32002, message: "No such\nsession", data: { sessionId: "s" } } },
    out: { code: -32002, message: "No such session", data: { sessionId: "s" } },
  },
  {
    rule: "13.26",
    title: "a message of blank lines",
    in: { error: { code: -32603, message: " \n" } },
    out: { code: -32603, message: "Unnamed error" },
  },
  {
    rule: "13.26",
    title: "none",
    in: { error: "broken" },
    out: { code: -32603, message: "broken", data: { cause: "broken" } },
  },
];
