import type { Case } from "./case.ts";

const NOT_HOSTED = { files: false, terminals: false };
const BASELINE_SESSION = { configOptions: { boolean: {} }, notices: {}, compaction: {} };

/** `clientCapabilitiesToV1`, result: v1 `ClientCapabilities`. */
export const clientCapabilities: Case[] = [
  {
    rule: "1.5",
    title: "a client with no capabilities",
    in: { v2: {}, hosted: NOT_HOSTED },
    out: {
      fs: { readTextFile: false, writeTextFile: false },
      terminal: false,
      session: BASELINE_SESSION,
      plan: {},
      auth: { terminal: false },
      _meta: { terminal_output: true },
    },
  },
  {
    rule: "1.4",
    title: "hosted files and terminals",
    in: { v2: {}, hosted: { files: true, terminals: true } },
    out: {
      fs: { readTextFile: true, writeTextFile: true },
      terminal: true,
      session: BASELINE_SESSION,
      plan: {},
      auth: { terminal: false },
      _meta: { terminal_output: true },
    },
  },
  {
    rule: "1.6",
    title: "auth.terminal as a marker",
    in: { v2: { auth: { terminal: {}, _meta: { a: 1 } } }, hosted: NOT_HOSTED },
    out: {
      fs: { readTextFile: false, writeTextFile: false },
      terminal: false,
      session: BASELINE_SESSION,
      plan: {},
      auth: { terminal: true, _meta: { a: 1 } },
      _meta: { terminal_output: true },
    },
  },
  {
    rule: "1.6",
    title: "auth.terminal null is absent",
    in: { v2: { auth: { terminal: null } }, hosted: NOT_HOSTED },
    out: {
      fs: { readTextFile: false, writeTextFile: false },
      terminal: false,
      session: BASELINE_SESSION,
      plan: {},
      auth: { terminal: false },
      _meta: { terminal_output: true },
    },
  },
  {
    rule: "1.7",
    title: "elicitation modes",
    in: { v2: { elicitation: { form: {}, url: {} } }, hosted: NOT_HOSTED },
    out: {
      elicitation: { form: {}, url: {} },
      fs: { readTextFile: false, writeTextFile: false },
      terminal: false,
      session: BASELINE_SESSION,
      plan: {},
      auth: { terminal: false },
      _meta: { terminal_output: true },
    },
  },
  {
    rule: "1.8",
    title: "plan and subagents",
    in: { v2: { plan: { _meta: { p: 1 } }, subagents: {} }, hosted: NOT_HOSTED },
    out: {
      plan: { _meta: { p: 1 } },
      subagents: {},
      fs: { readTextFile: false, writeTextFile: false },
      terminal: false,
      session: BASELINE_SESSION,
      auth: { terminal: false },
      _meta: { terminal_output: true },
    },
  },
  {
    rule: "1.9",
    title: "_meta and unknown capabilities",
    in: {
      v2: { _meta: { vendor: { x: 1 } }, session: { later: {} }, later: true },
      hosted: NOT_HOSTED,
    },
    out: {
      later: true,
      fs: { readTextFile: false, writeTextFile: false },
      terminal: false,
      session: { later: {}, ...BASELINE_SESSION },
      plan: {},
      auth: { terminal: false },
      _meta: { vendor: { x: 1 }, terminal_output: true },
    },
  },
];

const V1_CAPABILITIES = {
  fs: { readTextFile: false, writeTextFile: false },
  terminal: false,
  session: BASELINE_SESSION,
  plan: {},
  auth: { terminal: false },
  _meta: { terminal_output: true },
};

/** `initializeParamsToV1`, result: v1 `InitializeRequest`. */
export const initializeParams: Case[] = [
  {
    rule: "1.3",
    title: "info and capabilities renamed, the rest kept",
    in: {
      v2Params: {
        protocolVersion: 3,
        info: { name: "ed", title: "Ed", version: "1.2" },
        capabilities: {},
        _meta: { trace: "t" },
        later: 1,
      },
      hosted: NOT_HOSTED,
    },
    out: {
      protocolVersion: 1,
      _meta: { trace: "t" },
      later: 1,
      clientInfo: { name: "ed", title: "Ed", version: "1.2" },
      clientCapabilities: V1_CAPABILITIES,
    },
  },
  {
    rule: "1.3",
    title: "no capabilities at all",
    in: { v2Params: { protocolVersion: 2, info: { name: "ed", version: "1" } }, hosted: NOT_HOSTED },
    out: {
      protocolVersion: 1,
      clientInfo: { name: "ed", version: "1" },
      clientCapabilities: V1_CAPABILITIES,
    },
  },
];

/** `initializeParamsForBoth`, result: v2 `InitializeRequest` that is a v1 one too. */
export const initializeParamsBoth: Case[] = [
  {
    rule: "1.2",
    title: "the fields of both versions",
    in: {
      v2Params: {
        protocolVersion: 65535,
        info: { name: "ed", version: "1" },
        capabilities: { elicitation: { form: {} } },
      },
      hosted: NOT_HOSTED,
    },
    out: {
      protocolVersion: 2,
      info: { name: "ed", version: "1" },
      capabilities: { elicitation: { form: {} } },
      clientInfo: { name: "ed", version: "1" },
      clientCapabilities: { elicitation: { form: {} }, ...V1_CAPABILITIES },
    },
  },
];

/** `isV1InitializeResult`. */
export const v1Results: Case[] = [
  { rule: "1.1", title: "version 1", in: { result: { protocolVersion: 1 } }, out: true },
  { rule: "1.1", title: "version 0", in: { result: { protocolVersion: 0, info: { name: "a" } } }, out: true },
  { rule: "1.1", title: "no version", in: { result: {} }, out: true },
  { rule: "1.1", title: "no object", in: { result: null }, out: true },
  {
    rule: "1.1",
    title: "echoes 2, answers agentCapabilities",
    in: { result: { protocolVersion: 2, agentCapabilities: {} } },
    out: true,
  },
  {
    rule: "1.1",
    title: "echoes 65535, answers agentInfo",
    in: { result: { protocolVersion: 65535, agentInfo: { name: "a", version: "1" } } },
    out: true,
  },
  {
    rule: "1.1",
    title: "version 2 with info",
    in: { result: { protocolVersion: 2, info: { name: "a", version: "1" }, capabilities: {} } },
    out: false,
  },
  {
    rule: "1.1",
    title: "version 2 with the fields of both",
    in: { result: { protocolVersion: 2, info: { name: "a", version: "1" }, agentCapabilities: {} } },
    out: false,
  },
  { rule: "1.1", title: "version 2 with neither", in: { result: { protocolVersion: 2 } }, out: false },
];

const INFO = { name: "a", version: "1" };
const CONTEXT = { agentCommandName: "agent-cli", clientHasTerminalAuth: true };
const STDIO = { stdio: {} };

/** `initializeResultToV2`, result: v2 `InitializeResponse`. */
export const initializeResults: Case[] = [
  {
    rule: "1.10",
    title: "agentInfo",
    in: {
      v1Result: { protocolVersion: 1, agentInfo: { name: "a", title: "A", version: "1", _meta: { x: 1 } } },
      context: CONTEXT,
    },
    out: {
      protocolVersion: 2,
      info: { name: "a", title: "A", version: "1", _meta: { x: 1 } },
      capabilities: { session: { mcp: STDIO } },
    },
  },
  {
    rule: "1.10",
    title: "no agentInfo, no logins",
    in: { v1Result: { protocolVersion: 1, authMethods: null }, context: CONTEXT },
    out: {
      protocolVersion: 2,
      info: { name: "agent-cli", version: "unknown" },
      capabilities: { session: { mcp: STDIO } },
    },
    notes: ["agent-info-guessed"],
  },
  {
    rule: "1.10",
    title: "empty name, null version",
    in: {
      v1Result: { protocolVersion: 1, agentInfo: { name: "", version: null, title: "A" } },
      context: { agentCommandName: "", clientHasTerminalAuth: true },
    },
    out: {
      protocolVersion: 2,
      info: { name: "agent", version: "unknown", title: "A" },
      capabilities: { session: { mcp: STDIO } },
    },
    notes: ["agent-info-guessed"],
  },
  {
    rule: "1.10",
    title: "a name without a version",
    in: { v1Result: { protocolVersion: 1, agentInfo: { name: "a" } }, context: CONTEXT },
    out: {
      protocolVersion: 2,
      info: { name: "a", version: "unknown" },
      capabilities: { session: { mcp: STDIO } },
    },
    notes: ["agent-info-guessed"],
  },
  {
    rule: "1.11",
    title: "an echoed version, unknown result fields and _meta kept",
    in: {
      v1Result: { protocolVersion: 99, agentInfo: INFO, _meta: { steering: { supported: true } }, later: 1 },
      context: CONTEXT,
    },
    out: {
      protocolVersion: 2,
      _meta: { steering: { supported: true } },
      later: 1,
      info: INFO,
      capabilities: { session: { mcp: STDIO } },
    },
  },
  {
    rule: "1.12",
    title: "prompt capabilities true, false and absent",
    in: {
      v1Result: {
        protocolVersion: 1,
        agentInfo: INFO,
        agentCapabilities: { promptCapabilities: { image: true, audio: false } },
      },
      context: CONTEXT,
    },
    out: {
      protocolVersion: 2,
      info: INFO,
      capabilities: { session: { prompt: { image: {} }, mcp: STDIO } },
    },
  },
  {
    rule: "1.12",
    title: "prompt capabilities as objects and null, unknown ones in _meta",
    in: {
      v1Result: {
        protocolVersion: 1,
        agentInfo: INFO,
        agentCapabilities: {
          promptCapabilities: { image: null, audio: { _meta: { hz: 1 } }, embeddedContext: true, video: true },
        },
      },
      context: CONTEXT,
    },
    out: {
      protocolVersion: 2,
      info: INFO,
      capabilities: {
        session: {
          prompt: { audio: { _meta: { hz: 1 } }, embeddedContext: {}, _meta: { video: true } },
          mcp: STDIO,
        },
      },
    },
  },
  {
    rule: "1.13",
    title: "http and sse",
    in: {
      v1Result: {
        protocolVersion: 1,
        agentInfo: INFO,
        agentCapabilities: { mcpCapabilities: { http: true, sse: true, acp: false } },
      },
      context: CONTEXT,
    },
    out: {
      protocolVersion: 2,
      info: INFO,
      capabilities: { session: { mcp: { stdio: {}, http: {}, _meta: { sse: true } } } },
    },
  },
  {
    rule: "1.14",
    title: "stdio always, sse false",
    in: {
      v1Result: {
        protocolVersion: 1,
        agentInfo: INFO,
        agentCapabilities: { mcpCapabilities: { http: true, sse: false } },
      },
      context: CONTEXT,
    },
    out: { protocolVersion: 2, info: INFO, capabilities: { session: { mcp: { stdio: {}, http: {} } } } },
  },
  {
    rule: "1.15",
    title: "delete true, additionalDirectories with _meta",
    in: {
      v1Result: {
        protocolVersion: 1,
        agentInfo: INFO,
        agentCapabilities: {
          sessionCapabilities: { delete: true, additionalDirectories: { _meta: { max: 3 } } },
        },
      },
      context: CONTEXT,
    },
    out: {
      protocolVersion: 2,
      info: INFO,
      capabilities: { session: { mcp: STDIO, delete: {}, additionalDirectories: { _meta: { max: 3 } } } },
    },
  },
  {
    rule: "1.16",
    title: "fork, archive, status, title, systemPrompt, providers, auth.status, mcp.acp",
    in: {
      v1Result: {
        protocolVersion: 1,
        agentInfo: INFO,
        agentCapabilities: {
          sessionCapabilities: {
            fork: {},
            archive: true,
            status: {},
            title: null,
            systemPrompt: { mode: { override: true } },
          },
          mcpCapabilities: { acp: true },
          providers: {},
          auth: { status: {} },
        },
      },
      context: CONTEXT,
    },
    out: {
      protocolVersion: 2,
      info: INFO,
      capabilities: {
        session: {
          mcp: { stdio: {}, acp: {} },
          fork: {},
          archive: {},
          status: {},
          systemPrompt: { mode: { override: {} } },
        },
        auth: { status: {} },
        providers: {},
      },
    },
  },
  ...[{ mode: { override: false, later: 1 } }, { mode: null, later: 1 }].map(
    (systemPrompt): Case => ({
      rule: "1.16",
      title: `systemPrompt ${JSON.stringify(systemPrompt)}`,
      in: {
        v1Result: { protocolVersion: 1, agentInfo: INFO, agentCapabilities: { sessionCapabilities: { systemPrompt } } },
        context: CONTEXT,
      },
      out: {
        protocolVersion: 2,
        info: INFO,
        capabilities: {
          session: { mcp: STDIO, systemPrompt: systemPrompt.mode === null ? { later: 1 } : { mode: { later: 1 } } },
        },
      },
    }),
  ),
  {
    rule: "1.17",
    title: "baseline markers go, what they say beyond being there stays in _meta",
    in: {
      v1Result: {
        protocolVersion: 1,
        agentInfo: INFO,
        agentCapabilities: {
          loadSession: true,
          sessionCapabilities: { list: {}, resume: true, close: { _meta: { soft: true } } },
        },
      },
      context: CONTEXT,
    },
    out: {
      protocolVersion: 2,
      info: INFO,
      capabilities: { session: { mcp: STDIO, _meta: { close: { _meta: { soft: true } } } } },
    },
  },
  {
    rule: "1.18",
    title: "auth.logout",
    in: {
      v1Result: { protocolVersion: 1, agentInfo: INFO, agentCapabilities: { auth: { logout: {} } } },
      context: CONTEXT,
    },
    out: { protocolVersion: 2, info: INFO, capabilities: { session: { mcp: STDIO } } },
  },
  {
    rule: "1.19",
    title: "_meta everywhere, and fields without a v2 form beside it",
    in: {
      v1Result: {
        protocolVersion: 1,
        agentInfo: INFO,
        agentCapabilities: {
          _meta: { authStatus: {} },
          vendorThing: { a: 1 },
          vendorNothing: null,
          auth: { _meta: { b: 2 } },
          promptCapabilities: { _meta: { c: 3 } },
          mcpCapabilities: { _meta: { d: 4 } },
          sessionCapabilities: { _meta: { e: 5 }, subagents: {} },
        },
      },
      context: CONTEXT,
    },
    out: {
      protocolVersion: 2,
      info: INFO,
      capabilities: {
        session: {
          prompt: { _meta: { c: 3 } },
          mcp: { stdio: {}, _meta: { d: 4 } },
          _meta: { subagents: {}, e: 5 },
        },
        auth: { _meta: { b: 2 } },
        _meta: { vendorThing: { a: 1 }, authStatus: {} },
      },
    },
  },
  {
    rule: "2.1",
    title: "authMethods ride in the result",
    in: {
      v1Result: { protocolVersion: 1, agentInfo: INFO, authMethods: [{ id: "login", name: "Log in" }] },
      context: CONTEXT,
    },
    out: {
      protocolVersion: 2,
      info: INFO,
      capabilities: { session: { mcp: STDIO } },
      authMethods: [{ methodId: "login", name: "Log in", type: "agent" }],
    },
  },
];

const NOTHING = {
  list: false,
  resume: false,
  close: false,
  load: false,
  delete: false,
  logout: false,
  additionalDirectories: false,
  prompt: { image: false, audio: false, embeddedContext: false },
  mcp: { http: false, sse: false, acp: false },
};

/** `agentOffers`. */
export const offers: Case[] = [
  { rule: "1.20", title: "nothing", in: { v1Result: { protocolVersion: 1 } }, out: NOTHING },
  {
    rule: "1.20",
    title: "true and objects count",
    in: {
      v1Result: {
        agentCapabilities: {
          loadSession: true,
          auth: { logout: {} },
          promptCapabilities: { image: true, audio: {}, embeddedContext: true },
          mcpCapabilities: { http: true, sse: {}, acp: true },
          sessionCapabilities: { list: true, resume: {}, close: {}, delete: true, additionalDirectories: {} },
        },
      },
    },
    out: {
      list: true,
      resume: true,
      close: true,
      load: true,
      delete: true,
      logout: true,
      additionalDirectories: true,
      prompt: { image: true, audio: true, embeddedContext: true },
      mcp: { http: true, sse: true, acp: true },
    },
  },
  {
    rule: "1.20",
    title: "null, false and other types do not",
    in: {
      v1Result: {
        agentCapabilities: {
          loadSession: "yes",
          auth: null,
          promptCapabilities: { image: false, audio: null, embeddedContext: 1 },
          sessionCapabilities: { list: null, resume: false, close: [] },
        },
      },
    },
    out: NOTHING,
  },
];
