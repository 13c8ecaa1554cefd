import type { Case, Refusal } from "./case.ts";

const OFFERS = {
  additionalDirectories: true,
  mcp: { http: true, sse: true, acp: true },
};
const BARE = {
  additionalDirectories: false,
  mcp: { http: false, sse: false, acp: false },
};

/** `mcpServersToV1`, result: list of v1 `McpServer`. */
export const mcpServers: Case[] = [
  { rule: "3.1", title: "omitted", in: { mcp: BARE.mcp }, out: [] },
  { rule: "3.1", title: "null", in: { servers: null, mcp: BARE.mcp }, out: [] },
  { rule: "3.1", title: "empty", in: { servers: [], mcp: BARE.mcp }, out: [] },
  {
    rule: "3.2",
    title: "bare stdio server",
    in: { servers: [{ type: "stdio", name: "s", command: "/bin/s" }], mcp: BARE.mcp },
    out: [{ name: "s", command: "/bin/s", args: [], env: [] }],
  },
  {
    rule: "3.2",
    title: "stdio server with everything, and fields nobody knows",
    in: {
      servers: [
        {
          type: "stdio",
          name: "s",
          command: "/bin/s",
          args: ["-v"],
          env: [{ name: "A", value: "1" }],
          _meta: { m: 1 },
          later: 2,
        },
      ],
      mcp: BARE.mcp,
    },
    out: [
      {
        name: "s",
        command: "/bin/s",
        args: ["-v"],
        env: [{ name: "A", value: "1" }],
        _meta: { m: 1 },
        later: 2,
      },
    ],
  },
  {
    rule: "3.2",
    title: "args and env null",
    in: { servers: [{ type: "stdio", name: "s", command: "/bin/s", args: null, env: null }], mcp: BARE.mcp },
    out: [{ name: "s", command: "/bin/s", args: [], env: [] }],
  },
  {
    rule: "3.3",
    title: "http server without and with headers",
    in: {
      servers: [
        { type: "http", name: "h", url: "https://h" },
        { type: "http", name: "i", url: "https://i", headers: [{ name: "X", value: "1" }] },
      ],
      mcp: OFFERS.mcp,
    },
    out: [
      { type: "http", name: "h", url: "https://h", headers: [] },
      { type: "http", name: "i", url: "https://i", headers: [{ name: "X", value: "1" }] },
    ],
  },
  {
    rule: "3.3",
    title: "sse and acp servers for an agent that takes them",
    in: {
      servers: [
        { type: "sse", name: "e", url: "https://e" },
        { type: "acp", name: "a", serverId: "x" },
      ],
      mcp: OFFERS.mcp,
    },
    out: [
      { type: "sse", name: "e", url: "https://e", headers: [] },
      { type: "acp", name: "a", serverId: "x" },
    ],
  },
  {
    rule: "3.3",
    title: "servers without a name have not the same one",
    in: {
      servers: [
        { type: "acp", serverId: "x" },
        { type: "acp", serverId: "y" },
      ],
      mcp: OFFERS.mcp,
    },
    out: [
      { type: "acp", serverId: "x" },
      { type: "acp", serverId: "y" },
    ],
  },
];

/** `mcpServersToV1`, refused. */
export const mcpServersRefused: Refusal[] = [
  {
    rule: "3.4",
    title: "http not offered",
    in: { servers: [{ type: "http", name: "h", url: "https://h" }], mcp: BARE.mcp },
    error: {
      code: -32602,
      message: 'The agent does not take MCP servers of type "http"',
      data: { type: "http", name: "h" },
    },
  },
  {
    rule: "3.4",
    title: "a type nobody knows",
    in: { servers: [{ type: "_pipe", name: "p" }], mcp: OFFERS.mcp },
    error: {
      code: -32602,
      message: 'The agent does not take MCP servers of type "_pipe"',
      data: { type: "_pipe", name: "p" },
    },
  },
  {
    rule: "3.4",
    title: "no type",
    in: { servers: [{ name: "s", command: "/bin/s" }], mcp: OFFERS.mcp },
    error: { code: -32602, message: "mcpServers[0] has no type", data: { index: 0 } },
  },
  {
    rule: "3.4",
    title: "a name used twice",
    in: {
      servers: [
        { type: "stdio", name: "s", command: "/bin/s" },
        { type: "stdio", name: "s", command: "/bin/t" },
      ],
      mcp: OFFERS.mcp,
    },
    error: { code: -32602, message: "Duplicate MCP server name s", data: { name: "s" } },
  },
  {
    rule: "3.4",
    title: "no list",
    in: { servers: { s: {} }, mcp: OFFERS.mcp },
    error: { code: -32602, message: "mcpServers must be a list" },
  },
];

/** `newSessionParamsToV1`, result: v1 `NewSessionRequest`. */
export const newSessionParams: Case[] = [
  {
    rule: "3.1",
    title: "only a cwd",
    in: { v2Params: { cwd: "/w" }, offers: BARE },
    out: { cwd: "/w", mcpServers: [] },
  },
  {
    rule: "3.5",
    title: "a Windows cwd",
    in: { v2Params: { cwd: "C:\\w" }, offers: BARE },
    out: { cwd: "C:\\w", mcpServers: [] },
  },
  {
    rule: "3.6",
    title: "additional directories for an agent that takes them, unknown fields kept",
    in: {
      v2Params: { cwd: "/w", additionalDirectories: ["/x", "/y"], _meta: { m: 1 }, later: true },
      offers: OFFERS,
    },
    out: { cwd: "/w", _meta: { m: 1 }, later: true, additionalDirectories: ["/x", "/y"], mcpServers: [] },
  },
  {
    rule: "3.6",
    title: "no additional directories for an agent that takes none: empty and null",
    in: { v2Params: { cwd: "/w", additionalDirectories: [] }, offers: BARE },
    out: { cwd: "/w", mcpServers: [] },
  },
  {
    rule: "3.6",
    title: "additional directories null",
    in: { v2Params: { cwd: "/w", additionalDirectories: null }, offers: OFFERS },
    out: { cwd: "/w", mcpServers: [] },
  },
];

/** `newSessionParamsToV1`, refused. */
export const newSessionRefused: Refusal[] = [
  {
    rule: "3.5",
    title: "a relative cwd",
    in: { v2Params: { cwd: "w" }, offers: OFFERS },
    error: { code: -32602, message: "cwd must be an absolute path" },
  },
  {
    rule: "3.5",
    title: "no cwd",
    in: { v2Params: {}, offers: OFFERS },
    error: { code: -32602, message: "cwd must be an absolute path" },
  },
  {
    rule: "3.6",
    title: "additional directories not offered",
    in: { v2Params: { cwd: "/w", additionalDirectories: ["/x"] }, offers: BARE },
    error: { code: -32602, message: "The agent does not take additionalDirectories" },
  },
  {
    rule: "3.6",
    title: "a relative additional directory",
    in: { v2Params: { cwd: "/w", additionalDirectories: ["/x", "y"] }, offers: OFFERS },
    error: { code: -32602, message: "additionalDirectories[1] must be an absolute path" },
  },
  {
    rule: "3.6",
    title: "a relative additional directory, the first",
    in: { v2Params: { cwd: "/w", additionalDirectories: ["x"] }, offers: OFFERS },
    error: { code: -32602, message: "additionalDirectories[0] must be an absolute path" },
  },
  {
    rule: "3.6",
    title: "additional directories that are no list of texts",
    in: { v2Params: { cwd: "/w", additionalDirectories: [1] }, offers: OFFERS },
    error: { code: -32602, message: "additionalDirectories must be a list of absolute paths" },
  },
];

/** `resumeParamsToV1`, result: v1 `ResumeSessionRequest` and `LoadSessionRequest`. */
export const resumeParams: Case[] = [
  {
    rule: "4.3",
    title: "replayFrom goes, the rest is as for a new session",
    in: {
      v2Params: { sessionId: "s1", cwd: "/w", replayFrom: { type: "start" }, _meta: { m: 1 } },
      offers: BARE,
    },
    out: { sessionId: "s1", cwd: "/w", _meta: { m: 1 }, mcpServers: [] },
  },
];

const MODES = {
  currentModeId: "ask",
  availableModes: [{ id: "ask", name: "Ask", description: "Asks first" }],
};
const MODE_OPTION = {
  configId: "mode",
  name: "Mode",
  category: "mode",
  type: "select",
  currentValue: "ask",
  options: [{ value: "ask", name: "Ask", description: "Asks first" }],
};

/** `sessionResultToV2`, result: v2 `NewSessionResponse`. */
export const sessionResults: Case[] = [
  {
    rule: "3.7",
    title: "an id alone",
    in: { v1Result: { sessionId: "s1" }, config: {} },
    out: { sessionId: "s1" },
  },
  {
    rule: "3.7",
    title: "null lists are omitted, unknown fields stay",
    in: {
      v1Result: {
        sessionId: "s1",
        modes: null,
        models: null,
        configOptions: null,
        availableCommands: null,
        _meta: {},
        later: 1,
      },
      config: { modes: null, models: null, configOptions: null },
    },
    out: { sessionId: "s1", _meta: {}, later: 1 },
  },
  {
    rule: "3.7",
    title: "modes become a config option",
    in: { v1Result: { sessionId: "s1", modes: MODES }, config: { modes: MODES } },
    out: { sessionId: "s1", configOptions: [MODE_OPTION] },
  },
  {
    rule: "3.8",
    title: "commands that came before the result",
    in: {
      v1Result: { sessionId: "s1" },
      config: {},
      availableCommands: [{ name: "plan", description: "Plans", input: { hint: "what" } }],
    },
    out: {
      sessionId: "s1",
      availableCommands: [
        { name: "plan", type: "command", description: "Plans", input: { type: "text", hint: "what" } },
      ],
    },
  },
  {
    rule: "3.8",
    title: "an empty command list is a list",
    in: { v1Result: { sessionId: "s1" }, config: {}, availableCommands: [] },
    out: { sessionId: "s1", availableCommands: [] },
  },
];

/** `sessionListToV2`, result: v2 `ListSessionsResponse`. */
export const sessionLists: Case[] = [
  {
    rule: "4.1",
    title: "entries as they are",
    in: {
      v1Result: {
        sessions: [{ sessionId: "s1", cwd: "/w", title: null, updatedAt: "2026-01-01T00:00:00Z", _meta: { m: 1 } }],
        nextCursor: "c",
      },
    },
    out: {
      nextCursor: "c",
      sessions: [{ sessionId: "s1", cwd: "/w", title: null, updatedAt: "2026-01-01T00:00:00Z", _meta: { m: 1 } }],
    },
  },
  {
    rule: "4.1",
    title: "entries without an id or an absolute cwd are dropped, nulls omitted",
    in: {
      v1Result: {
        sessions: [
          { cwd: "/w" },
          { sessionId: "s2", cwd: "w" },
          { sessionId: "s3" },
          { sessionId: "", cwd: "/w" },
          null,
          { sessionId: "s4", cwd: "/w", additionalDirectories: null },
        ],
        nextCursor: null,
      },
    },
    out: { sessions: [{ sessionId: "s4", cwd: "/w" }] },
    notes: Array.from({ length: 5 }, () => "session-list-entry-dropped"),
  },
  { rule: "4.1", title: "no list", in: { v1Result: {} }, out: { sessions: [] } },
  {
    rule: "4.2",
    title: "only the sessions of that directory, spelled as asked",
    in: {
      v1Result: {
        sessions: [
          { sessionId: "s1", cwd: "/w" },
          { sessionId: "s2", cwd: "/w/sub" },
          { sessionId: "s3", cwd: "/other" },
        ],
      },
      cwdFilter: "/w/",
    },
    out: { sessions: [{ sessionId: "s1", cwd: "/w/" }] },
  },
];
