// Guards docs/mapping.md §1: `initialize`, which of the pairings applies, and what each side is told of the other.
import { describe, expect, test } from "vitest";
import { step } from "../../src/bridge/bridge.ts";
import type { BridgeOptions } from "../../src/bridge/state.ts";
import {
  agentHello,
  clientHello,
  createDialogue,
  downgradeDialogue,
  fail,
  notify,
  openDialogue,
  pairedDialogue,
  play,
  type Row,
  reply,
  request,
} from "../support/dialogue.ts";

/** What a v1 agent is told of a v2 client that has no capabilities of its own. */
const clientCapabilities = {
  fs: { readTextFile: false, writeTextFile: false },
  terminal: false,
  session: { configOptions: { boolean: {} }, notices: {}, compaction: {} },
  plan: {},
  auth: { terminal: false },
  _meta: { terminal_output: true },
};

const info = clientHello.info;
const toBoth = { protocolVersion: 2, info, capabilities: {}, clientInfo: info, clientCapabilities };
const toV1 = { protocolVersion: 1, clientInfo: info, clientCapabilities };

const plainV1 = { protocolVersion: 1, agentInfo: { name: "a", version: "1" }, agentCapabilities: {} };
const plainV1AsV2 = {
  protocolVersion: 2,
  info: { name: "a", version: "1" },
  capabilities: { session: { mcp: { stdio: {} } } },
};
const plainV2 = { protocolVersion: 2, info: { name: "a", version: "1" }, capabilities: { session: {} } };
const plainV2AsV1 = {
  protocolVersion: 1,
  agentInfo: { name: "a", version: "1" },
  agentCapabilities: {
    loadSession: true,
    promptCapabilities: { image: false, audio: false, embeddedContext: false },
    mcpCapabilities: { http: false, sse: false },
    sessionCapabilities: { list: {}, resume: {}, close: {} },
    auth: {},
  },
  authMethods: [],
};
const helloV1 = { protocolVersion: 1, clientInfo: info, clientCapabilities: { fs: { readTextFile: true } } };

const hello = (id: unknown, params: unknown = clientHello) => request(id, "initialize", params);

describe("§1 which pairing", () => {
  test.each<[string, unknown, unknown, Row[]]>([
    [
      "2 with a v1 agent: bridged",
      clientHello,
      plainV1,
      [
        ["to client", reply("c", plainV1AsV2)],
        ["log", "paired"],
        // Bridged: the agent gets an id of the bridge's own.
        ["client", request("c", "session/new", { cwd: "/" })],
        ["to agent", request(2, "session/new", { cwd: "/", mcpServers: [] })],
      ],
    ],
    [
      "3 with a v1 agent: bridged, and answered with 2",
      { ...clientHello, protocolVersion: 3 },
      plainV1,
      [
        ["to client", reply("c", plainV1AsV2)],
        ["log", "paired"],
      ],
    ],
    [
      "65535 with a v1 agent: bridged, and answered with 2",
      { ...clientHello, protocolVersion: 65535 },
      plainV1,
      [
        ["to client", reply("c", plainV1AsV2)],
        ["log", "paired"],
      ],
    ],
    [
      "2 with an agent that echoes 2 and answers in v1 fields: bridged",
      clientHello,
      { ...plainV1, protocolVersion: 2 },
      [
        ["to client", reply("c", plainV1AsV2)],
        ["log", "paired"],
      ],
    ],
    [
      "2 with an agent that answers 99 in v1 fields: bridged",
      clientHello,
      { protocolVersion: 99, agentCapabilities: {} },
      [
        ["to client", reply("c", { ...plainV1AsV2, info: { name: "test-agent", version: "unknown" } })],
        ["log", "paired"],
      ],
    ],
    [
      "2 with a v2 agent: passed through",
      clientHello,
      plainV2,
      [
        ["to client", reply("c", plainV2)],
        ["log", "paired"],
        ["client", request("c", "session/new", { cwd: "/" })],
        ["to agent", request("c", "session/new", { cwd: "/" })],
        ["agent", reply("c", { sessionId: "s1", modes: null })],
        ["to client", reply("c", { sessionId: "s1", modes: null })],
        ["agent", notify("session/update", { anything: "goes" })],
        ["to client", notify("session/update", { anything: "goes" })],
        ["agent", request("c", "fs/read_text_file", { path: "/a" })],
        ["to client", request("c", "fs/read_text_file", { path: "/a" })],
        ["client", reply("c", { content: "" })],
        ["to agent", reply("c", { content: "" })],
        ["client", [1, 2]],
        ["to agent", [1, 2]],
      ],
    ],
  ])("%s", (_, params, answer, then) => {
    const asked = params as { protocolVersion: number };
    play(createDialogue(), [
      ["client", hello("c", params)],
      ["to agent", hello(1, { ...toBoth, protocolVersion: asked.protocolVersion >= 2 ? 2 : 1 })],
      ["agent", reply(1, answer)],
      ...then,
    ]);
  });

  test("1 with a v1 agent: asked as the client asked, then passed through", () => {
    play(createDialogue(), [
      ["client", hello("c", helloV1)],
      ["to agent", hello(1, helloV1)],
      ["agent", reply(1, plainV1)],
      ["to client", reply("c", plainV1)],
      ["client", request(7, "session/prompt", { sessionId: "s1", prompt: [] })],
      ["to agent", request(7, "session/prompt", { sessionId: "s1", prompt: [] })],
      ["agent", reply(7, { stopReason: "end_turn" })],
      ["to client", reply(7, { stopReason: "end_turn" })],
    ]);
  });

  test("1 with a v1 agent: a request sent before the answer waits for it, and the order stays", () => {
    play(createDialogue(), [
      ["client", hello(1, helloV1)],
      ["to agent", hello(1, helloV1)],
      ["client", request(2, "session/new", { cwd: "/", mcpServers: [] })],
      ["agent", reply(1, plainV1)],
      ["to client", reply(1, plainV1)],
      ["to agent", request(2, "session/new", { cwd: "/", mcpServers: [] })],
    ]);
  });

  describe("1 with a v2 agent", () => {
    const unsupported = fail(1, -32022, "unsupported", { requested: 1, supported: [2] });

    test.each<[string, unknown]>([
      ["answers 2", reply(1, plainV2)],
      ["answers -32022", unsupported],
      ["does not understand version 1 at all", fail(1, -32602, "info is required")],
    ])("that %s: asked once more in version 2, and downgraded", (_, answer) => {
      play(createDialogue(), [
        ["client", hello("c", helloV1)],
        ["to agent", hello(1, helloV1)],
        ["agent", answer],
        ["to agent", hello(2, { protocolVersion: 2, info, capabilities: {} })],
        ["agent", reply(2, plainV2)],
        ["to client", reply("c", plainV2AsV1)],
        ["log", "paired"],
        ["client", request("n", "session/new", { cwd: "/", mcpServers: [] })],
        ["to agent", request(3, "session/new", { cwd: "/", mcpServers: [] })],
      ]);
    });

    test("--agent-protocol 2 asks in version 2 from the start", () => {
      play(createDialogue({ agentProtocol: "2" }), [
        ["client", hello("c", helloV1)],
        ["to agent", hello(1, { protocolVersion: 2, info, capabilities: {} })],
        ["agent", reply(1, plainV2)],
        ["to client", reply("c", plainV2AsV1)],
      ]);
    });

    test("what the client says of itself that is not valid v2 is left out", () => {
      const clientInfo = { ...helloV1.clientInfo, title: {} };
      play(createDialogue({ agentProtocol: "2" }), [
        ["client", hello("c", { ...helloV1, clientInfo })],
        ["to agent", hello(1, { protocolVersion: 2, info, capabilities: {} })],
      ]);
    });

    test("--agent-protocol 2 with a v1 agent says so", () => {
      play(createDialogue({ agentProtocol: "2" }), [
        ["client", hello("c", helloV1)],
        ["to agent", hello(1, { protocolVersion: 2, info, capabilities: {} })],
        ["agent", reply(1, plainV1)],
        [
          "to client",
          fail("c", -32022, expect.stringContaining("--agent-protocol 2"), { requested: 2, supported: [1] }),
        ],
      ]);
    });

    test.each<[string, unknown]>([
      ["answers 2", reply(1, plainV2)],
      ["answers -32022", unsupported],
    ])("--agent-protocol 1 with an agent that %s says so", (_, answer) => {
      play(createDialogue({ agentProtocol: "1" }), [
        ["client", hello("c", helloV1)],
        ["to agent", hello(1, helloV1)],
        ["agent", answer],
        [
          "to client",
          fail("c", -32022, expect.stringContaining("--agent-protocol 1"), { requested: 1, supported: [2] }),
        ],
      ]);
    });

    test("that answers 2 and does not want to be asked again is taken at its first word", () => {
      play(createDialogue(), [
        ["client", hello("c", helloV1)],
        ["to agent", hello(1, helloV1)],
        ["agent", reply(1, plainV2)],
        ["to agent", hello(2, { protocolVersion: 2, info, capabilities: {} })],
        ["agent", fail(2, -32600, "already initialized")],
        ["to client", reply("c", plainV2AsV1)],
      ]);
    });

    test("that fails in both versions: the error for what the client asked", () => {
      play(createDialogue(), [
        ["client", hello("c", helloV1)],
        ["to agent", hello(1, helloV1)],
        ["agent", fail(1, -32000, "log in first")],
        ["to agent", hello(2, { protocolVersion: 2, info, capabilities: {} })],
        ["agent", fail(2, -32603, "no")],
        ["to client", fail("c", -32000, "log in first")],
        ["client", hello("d", helloV1)],
        ["to agent", hello(3, helloV1)],
      ]);
    });

    test("that does not know version 1, and fails in version 2: that error", () => {
      play(createDialogue(), [
        ["client", hello("c", helloV1)],
        ["to agent", hello(1, helloV1)],
        ["agent", unsupported],
        ["to agent", hello(2, { protocolVersion: 2, info, capabilities: {} })],
        ["agent", fail(2, -32603, "no licence")],
        ["to client", fail("c", -32603, "no licence")],
      ]);
    });

    test("--agent-protocol 1: an error that is not about the version is the client's", () => {
      play(createDialogue({ agentProtocol: "1" }), [
        ["client", hello("c", helloV1)],
        ["to agent", hello(1, helloV1)],
        ["agent", fail(1, -32603, "no licence")],
        ["to client", fail("c", -32603, "no licence")],
      ]);
    });

    test.each([[true], [false]])("logins in a terminal for a client that has them: %j", (terminal) => {
      const login = { methodId: "t", type: "terminal", name: "T", args: ["login"] };
      const { methodId, ...rest } = login;
      const client = { ...helloV1, clientCapabilities: { auth: { terminal } } };
      play(createDialogue({ agentProtocol: "2" }), [
        ["client", hello("c", client)],
        ["to agent", expect.objectContaining({ id: 1, method: "initialize" })],
        ["agent", reply(1, { ...plainV2, authMethods: [login] })],
        [
          "to client",
          reply("c", {
            ...plainV2AsV1,
            agentCapabilities: { ...plainV2AsV1.agentCapabilities, auth: { logout: {} } },
            authMethods: terminal ? [{ ...rest, id: methodId }] : [],
          }),
        ],
      ]);
    });

    test("a request sent before the answer waits for it", () => {
      play(createDialogue(), [
        ["client", hello("c", helloV1)],
        ["to agent", hello(1, helloV1)],
        ["client", request("n", "session/new", { cwd: "/", mcpServers: [] })],
        ["agent", unsupported],
        ["to agent", hello(2, { protocolVersion: 2, info, capabilities: {} })],
        ["agent", reply(2, plainV2)],
        ["to client", reply("c", plainV2AsV1)],
        ["to agent", request(3, "session/new", { cwd: "/", mcpServers: [] })],
      ]);
    });

    test("a client without a name is unknown", () => {
      play(createDialogue({ agentProtocol: "2" }), [
        ["client", hello("c", { protocolVersion: 1 })],
        ["to agent", hello(1, { protocolVersion: 2, info: { name: "unknown", version: "unknown" }, capabilities: {} })],
      ]);
    });
  });

  test("passed-through lines keep their bytes", () => {
    const { bridge } = pairedDialogue({}, plainV2);
    const line = new TextEncoder().encode('{ "jsonrpc":"2.0", "id":1e0,"method":"x" , "n":1.0}');
    const value: unknown = JSON.parse(new TextDecoder().decode(line));
    expect(step(bridge, { type: "frame", from: "client", value, line }, 0)).toEqual([
      { type: "forward", to: "agent", line },
    ]);
    expect(step(bridge, { type: "frame", from: "agent", value, line }, 0)).toEqual([
      { type: "forward", to: "client", line },
    ]);
  });
});

describe("§1 refused", () => {
  test.each([0, -1, -32022])("version %i: -32022 with what was asked and what is supported", (protocolVersion) => {
    play(createDialogue(), [
      ["client", hello(1, { ...clientHello, protocolVersion })],
      [
        "to client",
        fail(1, -32022, expect.stringContaining(String(protocolVersion)), {
          requested: protocolVersion,
          supported: [1, 2],
        }),
      ],
    ]);
  });

  test.each<[string, unknown, string]>([
    ["a version that is text", { ...clientHello, protocolVersion: "2" }, "protocolVersion"],
    ["a version that is no integer", { ...clientHello, protocolVersion: 2.5 }, "protocolVersion"],
    ["a version that is null", { ...clientHello, protocolVersion: null }, "protocolVersion"],
    ["no version", { info, capabilities: {} }, "protocolVersion"],
    ["no params", undefined, "protocolVersion"],
    ["params that are a list", [2], "protocolVersion"],
    ["version 2 without info", { protocolVersion: 2, capabilities: {} }, "info"],
    ["version 2 with info null", { protocolVersion: 2, info: null }, "info"],
    ["version 2 with info without a name", { protocolVersion: 2, info: { version: "1" } }, "info"],
    ["version 2 with info without a version", { protocolVersion: 2, info: { name: "c" } }, "info"],
  ])("%s: -32602 that names what is missing", (_, params, named) => {
    play(createDialogue(), [
      ["client", request(1, "initialize", params)],
      ["to client", fail(1, -32602, expect.stringContaining(named))],
      // Nothing was begun: the client may ask again.
      ["client", hello(2)],
      ["to agent", hello(1, toBoth)],
    ]);
  });

  test("version 2 without capabilities: a client that has none", () => {
    play(createDialogue(), [
      ["client", hello(1, { protocolVersion: 2, info })],
      ["to agent", hello(1, toBoth)],
    ]);
  });

  test("version 3 without info: no fault in a version that may have none", () => {
    const unknown = { name: "unknown", version: "unknown" };
    play(createDialogue(), [
      ["client", hello(1, { protocolVersion: 3 })],
      ["to agent", hello(1, { ...toBoth, info: unknown, clientInfo: unknown })],
      ["agent", reply(1, plainV1)],
      ["to client", reply(1, plainV1AsV2)],
    ]);
  });

  test("requests before `initialize`: -32600; notifications: ignored", () => {
    play(createDialogue(), [
      ["client", request(1, "session/new", { cwd: "/" })],
      ["to client", fail(1, -32600, expect.stringContaining("initialize"))],
      ["client", notify("session/cancel", { sessionId: "s1" })],
      ["log", "notification-before-initialize"],
      ["client", request(2, "_vendor/x")],
      ["to client", fail(2, -32600, expect.stringContaining("initialize"))],
      ["client", hello(3)],
      ["to agent", hello(1, toBoth)],
    ]);
  });
});

describe("§1 --agent-protocol", () => {
  const cases: [string, Partial<BridgeOptions>, Row[]][] = [
    [
      "auto: an error makes the bridge try once more in pure v1 shape",
      {},
      [
        ["client", hello("c")],
        ["to agent", hello(1, toBoth)],
        ["agent", fail(1, -32602, "unrecognised key: info")],
        ["to agent", hello(2, toV1)],
        ["agent", reply(2, plainV1)],
        ["to client", reply("c", plainV1AsV2)],
      ],
    ],
    [
      "auto: the error of the second attempt is the client's, and there is no third",
      {},
      [
        ["client", hello("c")],
        ["to agent", hello(1, toBoth)],
        ["agent", fail(1, -32602, "bad params")],
        ["to agent", hello(2, toV1)],
        ["agent", fail(2, -32000, "log in first", { url: "https://example.org" })],
        ["to client", fail("c", -32000, "log in first", { url: "https://example.org" })],
      ],
    ],
    [
      "1: pure v1 shape from the start",
      { agentProtocol: "1" },
      [
        ["client", hello("c")],
        ["to agent", hello(1, toV1)],
        ["agent", reply(1, plainV1)],
        ["to client", reply("c", plainV1AsV2)],
      ],
    ],
    [
      "1: an agent that answers in v2 all the same is refused",
      { agentProtocol: "1" },
      [
        ["client", hello("c")],
        ["to agent", hello(1, toV1)],
        ["agent", reply(1, plainV2)],
        ["to client", fail("c", -32022, expect.any(String), { requested: 1, supported: [2] })],
      ],
    ],
    [
      "2: only v2 shape",
      { agentProtocol: "2" },
      [
        ["client", hello("c", { ...clientHello, protocolVersion: 5 })],
        ["to agent", hello(1, clientHello)],
        ["agent", reply(1, plainV2)],
        ["to client", reply("c", plainV2)],
      ],
    ],
    [
      "2: a v1 agent is refused, with what to do",
      { agentProtocol: "2" },
      [
        ["client", hello("c")],
        ["to agent", hello(1, clientHello)],
        ["agent", reply(1, plainV1)],
        ["to client", fail("c", -32022, expect.stringContaining("--agent-protocol"), { requested: 2, supported: [1] })],
      ],
    ],
    [
      "2: an error is not tried again in v1",
      { agentProtocol: "2" },
      [
        ["client", hello("c")],
        ["to agent", hello(1, clientHello)],
        ["agent", fail(1, -32603, "broken")],
        ["to client", fail("c", -32603, "broken")],
      ],
    ],
  ];
  test.each(cases)("%s", (_, options, script) => {
    play(createDialogue(options), script);
  });

  test("a second one is refused while the first is open", () => {
    play(createDialogue({ agentProtocol: "1" }), [
      ["client", hello("c")],
      ["to agent", hello(1, toV1)],
      ["client", hello("d")],
      ["to client", fail("d", -32600, "initialize is already in progress")],
      ["agent", reply(1, plainV1)],
      ["to client", reply("c", plainV1AsV2)],
    ]);
  });

  test("after a failed attempt the client may try again", () => {
    const dialogue = createDialogue({ agentProtocol: "1" });
    play(dialogue, [
      ["client", hello("c")],
      ["to agent", hello(1, toV1)],
      ["agent", fail(1, -32603, "not yet")],
      ["to client", fail("c", -32603, "not yet")],
    ]);
    expect([...dialogue.timers.keys()]).toEqual([]);
    play(dialogue, [
      ["client", hello("d")],
      ["to agent", hello(2, toV1)],
      ["agent", reply(2, plainV1)],
      ["to client", reply("d", plainV1AsV2)],
    ]);
  });
});

describe("§1 `initialize` repeated", () => {
  test.each([
    ["bridged", plainV1, plainV1AsV2],
    ["passed through", plainV2, plainV2],
  ])("%s: answered from the cached result until another request is sent", (_, answer, result) => {
    const dialogue = createDialogue();
    play(dialogue, [
      ["client", hello(1)],
      ["to agent", hello(1, toBoth)],
      ["agent", reply(1, answer)],
      ["to client", reply(1, result)],
      ["client", hello("again")],
      ["to client", reply("again", result)],
      ["client", hello("once more", { ...clientHello, protocolVersion: 65535 })],
      ["to client", reply("once more", result)],
    ]);
  });

  test("after another request it is refused, and the agent never sees it", () => {
    const dialogue = openDialogue();
    play(dialogue, [
      ["client", hello(9)],
      ["to client", fail(9, -32600, expect.stringContaining("initialize"))],
    ]);
  });

  test("after another request that was passed through it is the agent's", () => {
    play(pairedDialogue({}, plainV2), [
      ["client", request(1, "session/list", {})],
      ["to agent", request(1, "session/list", {})],
      ["client", hello(9)],
      ["to agent", hello(9)],
    ]);
  });

  test("notifications in between do not end the time for it", () => {
    const dialogue = createDialogue();
    play(dialogue, [
      ["client", hello(1)],
      ["to agent", hello(1, toBoth)],
      ["agent", reply(1, plainV1)],
      ["to client", reply(1, plainV1AsV2)],
      ["client", notify("session/cancel", { sessionId: "s1" })],
      ["client", hello(2)],
      ["to client", reply(2, plainV1AsV2)],
    ]);
  });
});

describe("§1 what each side is told of the other", () => {
  test("params: every capability of the client's, and what is baseline in v2", () => {
    const capabilities = {
      auth: { terminal: {}, _meta: { a: 1 } },
      elicitation: { form: {}, url: {} },
      plan: {},
      subagents: { depth: 2 },
      session: { _meta: { b: 2 } },
      vendor: { c: 3 },
      _meta: { d: 4 },
    };
    const expected = {
      fs: { readTextFile: false, writeTextFile: false },
      terminal: false,
      session: { configOptions: { boolean: {} }, notices: {}, compaction: {}, _meta: { b: 2 } },
      auth: { terminal: true, _meta: { a: 1 } },
      elicitation: { form: {}, url: {} },
      plan: {},
      subagents: { depth: 2 },
      vendor: { c: 3 },
      _meta: { d: 4, terminal_output: true },
    };
    const title = { ...info, title: "Test Client" };
    play(createDialogue({ agentProtocol: "1" }), [
      ["client", hello(1, { protocolVersion: 2, info: title, capabilities, _meta: { e: 5 }, extra: true })],
      [
        "to agent",
        hello(1, {
          protocolVersion: 1,
          clientInfo: title,
          clientCapabilities: expected,
          _meta: { e: 5 },
          extra: true,
        }),
      ],
    ]);
  });

  test("result: every row of the table", () => {
    const agentCapabilities = {
      loadSession: true,
      promptCapabilities: { image: true, audio: false, embeddedContext: true, _meta: { p: 1 } },
      mcpCapabilities: { http: true, sse: true, _meta: { m: 1 } },
      sessionCapabilities: {
        list: {},
        resume: {},
        close: {},
        delete: {},
        additionalDirectories: {},
        fork: {},
        archive: {},
        status: {},
        title: {},
        systemPrompt: {},
        _meta: { s: 1 },
      },
      providers: {},
      auth: { logout: {} },
      _meta: { c: 1 },
    };
    const result = {
      protocolVersion: 2,
      info: { name: "a", title: "Agent A", version: "1" },
      capabilities: {
        session: {
          prompt: { image: {}, embeddedContext: {}, _meta: { p: 1 } },
          mcp: { stdio: {}, http: {}, _meta: { m: 1, sse: true } },
          delete: {},
          additionalDirectories: {},
          fork: {},
          archive: {},
          status: {},
          title: {},
          systemPrompt: {},
          _meta: { s: 1 },
        },
        providers: {},
        _meta: { c: 1 },
      },
      authMethods: [],
      _meta: { r: 1 },
    };
    play(createDialogue(), [
      ["client", hello(1)],
      ["to agent", hello(1, toBoth)],
      [
        "agent",
        reply(1, {
          protocolVersion: 1,
          agentInfo: { name: "a", title: "Agent A", version: "1" },
          agentCapabilities,
          authMethods: [],
          _meta: { r: 1 },
        }),
      ],
      ["to client", reply(1, result)],
    ]);
  });

  test("result: `true` counts as {}, null as absent, what is false is left out", () => {
    const agentCapabilities = {
      loadSession: null,
      promptCapabilities: { image: null, audio: false },
      mcpCapabilities: null,
      sessionCapabilities: { list: true, delete: true, additionalDirectories: null, resume: null },
    };
    play(createDialogue(), [
      ["client", hello(1)],
      ["to agent", hello(1, toBoth)],
      ["agent", reply(1, { ...plainV1, agentCapabilities, authMethods: null })],
      ["to client", reply(1, { ...plainV1AsV2, capabilities: { session: { mcp: { stdio: {} }, delete: {} } } })],
      // `list: true` is an offer, `resume: null` none.
      ["client", request(2, "session/list", {})],
      ["to agent", request(2, "session/list", {})],
      ["client", request(3, "session/resume", { sessionId: "s9", cwd: "/" })],
      ["to client", fail(3, -32002, expect.any(String), { sessionId: "s9" })],
    ]);
  });

  test.each([
    ["/opt/bin/gemini", "gemini"],
    ["C:\\agents\\codex-acp.exe", "codex-acp"],
    ["/opt/bin/my.js.agent", "my.js.agent"],
  ])("result: without agentInfo the agent is named after its command (%s)", (command, name) => {
    play(createDialogue({ agentCommand: [command, "--acp"] }), [
      ["client", hello(1)],
      ["to agent", hello(1, toBoth)],
      ["agent", reply(1, { protocolVersion: 1 })],
      ["to client", reply(1, { ...plainV1AsV2, info: { name, version: "unknown" } })],
      ["log", "agent-info-guessed"],
    ]);
  });

  test("result: a bad part costs that part", () => {
    play(createDialogue(), [
      ["client", hello(1)],
      ["to agent", hello(1, toBoth)],
      ["agent", reply(1, { ...plainV1, _meta: 7 })],
      ["to client", reply(1, plainV1AsV2)],
    ]);
  });

  test("profiles are asked for by the agent's own name", () => {
    const names: unknown[] = [];
    const behaviourOf = (name: string | undefined) => {
      names.push(name);
      return { settle: 0, restatedMessages: "keep", restartAfterLogin: false, replaySettle: 0 } as const;
    };
    pairedDialogue({ behaviourOf }, agentHello);
    pairedDialogue({ behaviourOf }, { protocolVersion: 1 });
    downgradeDialogue({}, { behaviourOf });
    expect(names).toEqual(["test-agent", undefined, "test-agent"]);
  });
});

test("§1 the answer may carry the string twin of the bridge's id", () => {
  play(createDialogue(), [
    ["client", hello("c")],
    ["to agent", hello(1, toBoth)],
    ["agent", reply("1", plainV1)],
    ["to client", reply("c", plainV1AsV2)],
  ]);
});

test("§1 what the agent asks before its `initialize` answer is refused", () => {
  play(createDialogue(), [
    ["client", hello("c")],
    ["to agent", hello(1, toBoth)],
    ["agent", request(5, "fs/read_text_file", {})],
    ["to agent", fail(5, -32600, "initialize has not been answered yet")],
  ]);
});

test("§1 what the agent says before its `initialize` answer is logged and goes no further", () => {
  play(createDialogue(), [
    ["client", hello("c")],
    ["to agent", hello(1, toBoth)],
    ["agent", notify("_agent/ready", {})],
    ["log", "frame-before-initialize"],
  ]);
});
