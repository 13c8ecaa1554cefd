// Guards docs/mapping.md §3 (session setup) and §4 (the baseline methods a v1 agent may lack), as far as no transcript
// of the bridge's own is needed.
import { describe, expect, test } from "vitest";
import {
  accepted,
  agentHello,
  agentText,
  fail,
  idle,
  minted,
  notify,
  openDialogue,
  pairedDialogue,
  play,
  prompt,
  type Row,
  RUNNING,
  reply,
  request,
  runningDialogue,
  stateUpdate,
  text,
  update,
} from "../support/dialogue.ts";

const agentWith = (agentCapabilities: object) => ({ ...agentHello, agentCapabilities });
const bare = agentWith({});
const onlyLoad = agentWith({ loadSession: true });
const onlyResume = agentWith({ sessionCapabilities: { resume: {} } });

describe("§3 session/new: params", () => {
  const cases: [string, object, object][] = [
    ["mcpServers omitted → []", { cwd: "/work" }, { cwd: "/work", mcpServers: [] }],
    ["mcpServers null → []", { cwd: "/work", mcpServers: null }, { cwd: "/work", mcpServers: [] }],
    [
      "stdio servers lose `type` and gain args and env; http servers gain headers",
      {
        cwd: "C:\\work",
        mcpServers: [
          { type: "stdio", name: "a", command: "/bin/a" },
          {
            type: "stdio",
            name: "b",
            command: "/bin/b",
            args: ["x"],
            env: [{ name: "K", value: "v" }],
            _meta: { m: 1 },
          },
          { type: "http", name: "c", url: "https://example.org/c" },
          { type: "http", name: "d", url: "https://example.org/d", headers: [{ name: "H", value: "v" }] },
        ],
      },
      {
        cwd: "C:\\work",
        mcpServers: [
          { name: "a", command: "/bin/a", args: [], env: [] },
          { name: "b", command: "/bin/b", args: ["x"], env: [{ name: "K", value: "v" }], _meta: { m: 1 } },
          { type: "http", name: "c", url: "https://example.org/c", headers: [] },
          { type: "http", name: "d", url: "https://example.org/d", headers: [{ name: "H", value: "v" }] },
        ],
      },
    ],
    [
      "additional directories, `_meta` and unknown fields are kept",
      { cwd: "/work", additionalDirectories: ["/lib"], _meta: { m: 1 }, extra: 2 },
      { cwd: "/work", mcpServers: [], additionalDirectories: ["/lib"], _meta: { m: 1 }, extra: 2 },
    ],
  ];
  test.each(cases)("%s", (_, params, v1Params) => {
    play(pairedDialogue(), [
      ["client", request("n", "session/new", params)],
      ["to agent", request(2, "session/new", v1Params)],
    ]);
  });

  const faults: [string, object, string][] = [
    ["cwd missing", {}, "cwd"],
    ["cwd relative", { cwd: "work" }, "cwd"],
    ["cwd relative with a drive letter", { cwd: "C:work" }, "cwd"],
    ["cwd no text", { cwd: 7 }, "cwd"],
    ["an http server", { cwd: "/", mcpServers: [{ type: "http", name: "c", url: "https://example.org" }] }, "http"],
    ["an unknown server type", { cwd: "/", mcpServers: [{ type: "_pipe", name: "c" }] }, "_pipe"],
    ["additional directories", { cwd: "/", additionalDirectories: ["/lib"] }, "additionalDirectories"],
  ];
  test.each(faults)("%s, at an agent that offers nothing: -32602 naming it, nothing sent", (_, params, named) => {
    const dialogue = pairedDialogue({}, bare);
    const { sent } = dialogue.client(request("n", "session/new", params));
    expect(sent).toEqual([
      [
        "client",
        {
          jsonrpc: "2.0",
          id: "n",
          error: expect.objectContaining({ code: -32602, message: expect.stringContaining(named) }),
        },
      ],
    ]);
  });

  test("a relative additional directory: -32602 naming it", () => {
    play(pairedDialogue(), [
      ["client", request("n", "session/new", { cwd: "/", additionalDirectories: ["/lib", "src"] })],
      ["to client", fail("n", -32602, expect.stringContaining("additionalDirectories[1]"))],
    ]);
  });
});

describe("§3 session/new: result", () => {
  const mode = {
    configId: "mode",
    name: "Mode",
    category: "mode",
    type: "select",
    currentValue: "ask",
    options: [
      { value: "ask", name: "Ask", description: "Asks first" },
      { value: "code", name: "Code" },
    ],
  };
  const model = {
    configId: "model",
    name: "Model",
    category: "model",
    type: "select",
    currentValue: "m1",
    options: [{ value: "m1", name: "M 1" }],
  };
  const modes = {
    currentModeId: "ask",
    availableModes: [
      { id: "ask", name: "Ask", description: "Asks first" },
      { id: "code", name: "Code" },
    ],
  };
  const models = { currentModelId: "m1", availableModels: [{ modelId: "m1", name: "M 1" }] };

  const cases: [string, object, object][] = [
    ["an id and nothing else", { sessionId: "s1" }, { sessionId: "s1" }],
    [
      "modes and models become config options",
      { sessionId: "s1", modes, models },
      {
        sessionId: "s1",
        configOptions: [mode, model],
      },
    ],
    [
      "null is left out",
      { sessionId: "s1", modes: null, models: null, configOptions: null, availableCommands: null },
      { sessionId: "s1" },
    ],
    [
      "`_meta` and unknown fields are kept",
      { sessionId: "s1", _meta: { a: 1 }, x: 2 },
      {
        sessionId: "s1",
        _meta: { a: 1 },
        x: 2,
      },
    ],
  ];
  test.each(cases)("%s", (_, v1Result, v2Result) => {
    play(pairedDialogue(), [
      ["client", request("n", "session/new", { cwd: "/work" })],
      ["to agent", request(2, "session/new", { cwd: "/work", mcpServers: [] })],
      ["agent", reply(2, v1Result)],
      ["to client", reply("n", v2Result)],
    ]);
  });

  test.each([[{}], [{ sessionId: "" }], [{ sessionId: 7 }], [null], [[]]])(
    "%j names no session: an error, not a session without an id",
    (result) => {
      play(pairedDialogue(), [
        ["client", request("n", "session/new", { cwd: "/work" })],
        ["to agent", request(2, "session/new", { cwd: "/work", mcpServers: [] })],
        ["agent", reply(2, result)],
        ["to client", fail("n", -32603, expect.any(String))],
      ]);
    },
  );

  test("an error keeps its code and data", () => {
    play(pairedDialogue(), [
      ["client", request("n", "session/new", { cwd: "/gone" })],
      ["to agent", request(2, "session/new", { cwd: "/gone", mcpServers: [] })],
      ["agent", fail(2, -32603, "no such directory", ["/gone"])],
      ["to client", fail("n", -32603, "no such directory", ["/gone"])],
    ]);
  });

  test("the unstable session/fork opens a session likewise", () => {
    play(openDialogue(), [
      ["client", request("f", "session/fork", { sessionId: "s1", cwd: "/work" })],
      ["to agent", request(3, "session/fork", { sessionId: "s1", cwd: "/work", mcpServers: [] })],
      ["agent", reply(3, { sessionId: "s2", modes })],
      ["to client", reply("f", { sessionId: "s2", configOptions: [mode] })],
      ["client", prompt(1, "hi", "s2")],
      ["to agent", request(4, "session/prompt", { sessionId: "s2", prompt: [text("hi")] })],
    ]);
  });
});

describe("§3 updates before the result", () => {
  const commands = {
    sessionUpdate: "available_commands_update",
    availableCommands: [{ name: "go", description: "Go" }],
  };
  const v2Commands = [{ type: "command", name: "go", description: "Go" }];

  test("are held by session id, while several session/new are open, and sent right after the result", () => {
    play(pairedDialogue(), [
      ["client", request("one", "session/new", { cwd: "/one" })],
      ["to agent", request(2, "session/new", { cwd: "/one", mcpServers: [] })],
      ["client", request("two", "session/new", { cwd: "/two" })],
      ["to agent", request(3, "session/new", { cwd: "/two", mcpServers: [] })],
      ["agent", agentText("two early", undefined, "s2")],
      ["agent", agentText("one early", undefined, "s1")],
      ["agent", update("s2", { sessionUpdate: "usage_update", used: 1, size: 2 })],
      ["agent", reply(3, { sessionId: "s2" })],
      ["to client", reply("two", { sessionId: "s2" })],
      ["to client", agentText("two early", minted(1), "s2")],
      ["to client", update("s2", { sessionUpdate: "usage_update", used: 1, size: 2 })],
      // Another session/new is still open: its updates are still held, those of s2 no longer.
      ["agent", agentText("one more", undefined, "s1")],
      ["agent", agentText(" and late", undefined, "s2")],
      ["to client", agentText(" and late", minted(1), "s2")],
      ["agent", reply(2, { sessionId: "s1" })],
      ["to client", reply("one", { sessionId: "s1" })],
      ["to client", agentText("one early", minted(2), "s1")],
      ["to client", agentText("one more", minted(2), "s1")],
    ]);
  });

  test("a command list also rides in the result", () => {
    play(pairedDialogue(), [
      ["client", request("n", "session/new", { cwd: "/work" })],
      ["to agent", request(2, "session/new", { cwd: "/work", mcpServers: [] })],
      ["agent", update("s1", { ...commands, availableCommands: [] })],
      ["agent", update("s1", commands)],
      ["agent", reply(2, { sessionId: "s1" })],
      ["to client", reply("n", { sessionId: "s1", availableCommands: v2Commands })],
      ["to client", update("s1", { ...commands, availableCommands: [] })],
      ["to client", update("s1", { ...commands, availableCommands: v2Commands })],
    ]);
  });

  test("of a session that is never opened are logged when nothing is being opened any more", () => {
    play(pairedDialogue(), [
      ["client", request("n", "session/new", { cwd: "/work" })],
      ["to agent", request(2, "session/new", { cwd: "/work", mcpServers: [] })],
      ["agent", agentText("who?", undefined, "s9")],
      ["agent", fail(2, -32603, "no")],
      ["to client", fail("n", -32603, "no")],
      ["log", "update-of-unknown-session"],
      ["agent", agentText("who?", undefined, "s9")],
      ["log", "update-of-unknown-session"],
    ]);
  });

  test("extension notifications are not held: they are no updates", () => {
    play(pairedDialogue(), [
      ["client", request("n", "session/new", { cwd: "/work" })],
      ["to agent", request(2, "session/new", { cwd: "/work", mcpServers: [] })],
      ["agent", notify("_claude/ready", { sessionId: "s1" })],
      ["to client", notify("_claude/ready", { sessionId: "s1" })],
    ]);
  });
});

describe("§3 a session id the agent uses again starts with fresh state", () => {
  const toolCall = { sessionUpdate: "tool_call", toolCallId: "t", title: "T", status: "completed" };
  const cases: [string, Row[]][] = [
    [
      "after close",
      [
        ["client", request("c", "session/close", { sessionId: "s1" })],
        ["to agent", request(3, "session/close", { sessionId: "s1" })],
        ["agent", reply(3, {})],
        ["to client", reply("c", {})],
      ],
    ],
    [
      "after delete",
      [
        ["client", request("c", "session/delete", { sessionId: "s1" })],
        ["to agent", request(3, "session/delete", { sessionId: "s1" })],
        ["agent", reply(3, {})],
        ["to client", reply("c", {})],
      ],
    ],
  ];
  test("while the old one works: that is over for the client", () => {
    play(runningDialogue(), [
      ["agent", update("s1", { ...toolCall, status: "pending" })],
      ["to client", update("s1", { ...toolCall, sessionUpdate: "tool_call_update", status: "pending" })],
      ["client", prompt("held", "next")],
      ["client", request("n", "session/new", { cwd: "/other" })],
      ["to agent", request(4, "session/new", { cwd: "/other", mcpServers: [] })],
      ["agent", reply(4, { sessionId: "s1" })],
      ["to client", fail("held", -32800, expect.any(String))],
      ["to client", update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t", status: "cancelled" })],
      ["to client", idle({ stopReason: "cancelled" })],
      ["to client", reply("n", { sessionId: "s1" })],
      ["log", "session-id-reused"],
    ]);
  });

  test("while the old one is being resumed: that is answered, once", () => {
    const opened: Row[] = [
      ["client", request("n", "session/new", { cwd: "/other" })],
      ["to agent", request(4, "session/new", { cwd: "/other", mcpServers: [] })],
    ];
    const resuming: Row[] = [
      ["client", request("r", "session/resume", { sessionId: "s1", cwd: "/work" })],
      ["to agent", request(3, "session/load", { sessionId: "s1", cwd: "/work", mcpServers: [] })],
    ];
    play(openDialogue({}, onlyLoad), [
      ...resuming,
      ...opened,
      ["agent", reply(4, { sessionId: "s1" })],
      ["to client", reply("n", { sessionId: "s1" })],
      ["agent", reply(3, {})],
      ["to client", fail("r", -32800, expect.any(String))],
    ]);
    play(openDialogue({}, onlyLoad), [
      ...resuming,
      ...opened,
      ["agent", reply(3, {})],
      ["agent", reply(4, { sessionId: "s1" })],
      ["to client", idle({})],
      ["to client", reply("r", {})],
      ["to client", reply("n", { sessionId: "s1" })],
      ["wait", 1000],
    ]);
  });

  test("while the old one does what nobody asked for: that is over as cancelled", () => {
    play(openDialogue({ unprompted: "running" }), [
      ["agent", agentText("old")],
      ["to client", stateUpdate("running")],
      ["to client", agentText("old", minted(1))],
      ["client", request("n", "session/new", { cwd: "/other" })],
      ["to agent", request(3, "session/new", { cwd: "/other", mcpServers: [] })],
      ["agent", reply(3, { sessionId: "s1" })],
      ["to client", idle({ stopReason: "cancelled" })],
      ["to client", reply("n", { sessionId: "s1" })],
    ]);
  });

  test.each(cases)("%s", (_, leave) => {
    play(openDialogue(), [
      ["agent", agentText("old")],
      ["to client", agentText("old", minted(1))],
      ["agent", update("s1", toolCall)],
      ["to client", update("s1", { ...toolCall, sessionUpdate: "tool_call_update" })],
      ...leave,
      ["client", request("n", "session/new", { cwd: "/other" })],
      ["to agent", request(4, "session/new", { cwd: "/other", mcpServers: [] })],
      ["agent", reply(4, { sessionId: "s1" })],
      ["to client", reply("n", { sessionId: "s1" })],
      ["agent", agentText("new")],
      ["to client", agentText("new", minted(2))],
      // Neither the status nor the directory of the old session counts any more.
      ["agent", update("s1", { ...toolCall, status: "pending", locations: [{ path: "a" }] })],
      [
        "to client",
        update("s1", {
          ...toolCall,
          sessionUpdate: "tool_call_update",
          status: "pending",
          locations: [{ path: "/other/a" }],
        }),
      ],
    ]);
  });
});

describe("§4 session/list", () => {
  test("of an agent that has it: forwarded, entries mapped, the cwd filter applied", () => {
    play(pairedDialogue(), [
      ["client", request("l", "session/list", { cwd: "/a", cursor: "c1", _meta: { m: 1 } })],
      ["to agent", request(2, "session/list", { cwd: "/a", cursor: "c1", _meta: { m: 1 } })],
      [
        "agent",
        reply(2, {
          sessions: [
            { sessionId: "s1", cwd: "/a", title: "One", updatedAt: "2026-01-01T00:00:00Z", _meta: { e: 1 } },
            { sessionId: "s2", cwd: "/a/", title: null },
            { sessionId: "s3", cwd: "/b" },
            { sessionId: "s4", cwd: "relative" },
            { cwd: "/a" },
          ],
          nextCursor: "c2",
        }),
      ],
      [
        "to client",
        reply("l", {
          sessions: [
            { sessionId: "s1", cwd: "/a", title: "One", updatedAt: "2026-01-01T00:00:00Z", _meta: { e: 1 } },
            { sessionId: "s2", cwd: "/a", title: null },
          ],
          nextCursor: "c2",
        }),
      ],
    ]);
  });

  test.each([[["/lib"]], [[]]])("of an agent without it: additional directories %j", (additionalDirectories) => {
    const hello = agentWith({ sessionCapabilities: { additionalDirectories: {} } });
    play(pairedDialogue({}, hello), [
      ["client", request("n", "session/new", { cwd: "/a", additionalDirectories })],
      ["to agent", request(2, "session/new", { cwd: "/a", additionalDirectories, mcpServers: [] })],
      ["agent", reply(2, { sessionId: "s1" })],
      ["to client", reply("n", { sessionId: "s1" })],
      ["client", request("l", "session/list", {})],
      [
        "to client",
        reply("l", {
          sessions: [
            {
              sessionId: "s1",
              cwd: "/a",
              updatedAt: expect.any(String),
              ...(additionalDirectories.length > 0 && { additionalDirectories }),
            },
          ],
        }),
      ],
    ]);
  });

  test("a next cursor that is no text is left out", () => {
    play(pairedDialogue(), [
      ["client", request("l", "session/list", {})],
      ["to agent", request(2, "session/list", {})],
      ["agent", reply(2, { sessions: [], nextCursor: 7 })],
      ["to client", reply("l", { sessions: [] })],
    ]);
  });

  test("without a filter every entry stays, and a next cursor of null is left out", () => {
    play(pairedDialogue(), [
      ["client", request("l", "session/list", {})],
      ["to agent", request(2, "session/list", {})],
      ["agent", reply(2, { sessions: [{ sessionId: "s1", cwd: "/a" }], nextCursor: null })],
      ["to client", reply("l", { sessions: [{ sessionId: "s1", cwd: "/a" }] })],
    ]);
  });

  const entry = (sessionId: string, cwd: string, seconds: number, more: object = {}) => ({
    sessionId,
    cwd,
    updatedAt: new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString(),
    ...more,
  });

  test("of an agent without it: the sessions of this run, newest first, with their title, filtered by cwd", () => {
    const dialogue = pairedDialogue({}, bare);
    const open = (id: number, sessionId: string, cwd: string): Row[] => [
      ["client", request(sessionId, "session/new", { cwd })],
      ["to agent", request(id, "session/new", { cwd, mcpServers: [] })],
      ["agent", reply(id, { sessionId })],
      ["to client", reply(sessionId, { sessionId })],
    ];
    const titled = { sessionUpdate: "session_info_update", title: "First" };
    play(dialogue, [
      ["client", request("l", "session/list", {})],
      ["to client", reply("l", { sessions: [] })],
      ...open(2, "s1", "/a"),
      ["wait", 1000],
      ...open(3, "s2", "/b"),
      ["client", request("l", "session/list", {})],
      ["to client", reply("l", { sessions: [entry("s2", "/b", 1), entry("s1", "/a", 0)] })],
      ["wait", 1000],
      // A prompt makes a session the newest.
      ["client", prompt(1, "hi", "s1")],
      ["to agent", request(4, "session/prompt", { sessionId: "s1", prompt: [text("hi")] })],
      ["agent", update("s1", titled)],
      ...accepted(1, minted(1), "hi", "s1"),
      ["to client", update("s1", titled)],
      ["client", request("l", "session/list", { cwd: null })],
      ["to client", reply("l", { sessions: [entry("s1", "/a", 2, { title: "First" }), entry("s2", "/b", 1)] })],
      ["client", request("l", "session/list", { cwd: "/b" })],
      ["to client", reply("l", { sessions: [entry("s2", "/b", 1)] })],
      ["client", request("l", "session/list", { cwd: "/nowhere" })],
      ["to client", reply("l", { sessions: [] })],
      // What says nothing of the title leaves it.
      ["agent", update("s1", { sessionUpdate: "session_info_update" })],
      ["to client", update("s1", { sessionUpdate: "session_info_update" })],
      ["client", request("l", "session/list", { cwd: "/a" })],
      ["to client", reply("l", { sessions: [entry("s1", "/a", 2, { title: "First" })] })],
      // A title is taken back with null.
      ["agent", update("s1", { sessionUpdate: "session_info_update", title: null, updatedAt: "2026-02-01T00:00:00Z" })],
      [
        "to client",
        update("s1", { sessionUpdate: "session_info_update", title: null, updatedAt: "2026-02-01T00:00:00Z" }),
      ],
      ["client", request("l", "session/list", { cwd: "/a" })],
      ["to client", reply("l", { sessions: [entry("s1", "/a", 0, { updatedAt: "2026-02-01T00:00:00Z" })] })],
    ]);
  });
});

describe("§4 session/resume without replay", () => {
  const resume = request("r", "session/resume", { sessionId: "s9", cwd: "/work", _meta: { m: 1 } });
  const v1Params = { sessionId: "s9", cwd: "/work", mcpServers: [], _meta: { m: 1 } };
  const modes = { currentModeId: "a", availableModes: [{ id: "a", name: "A" }] };
  const mode = {
    configId: "mode",
    name: "Mode",
    category: "mode",
    type: "select",
    currentValue: "a",
    options: [{ value: "a", name: "A" }],
  };
  const replayed: Row[] = [
    ["agent", update("s9", { sessionUpdate: "user_message_chunk", content: text("hello") })],
    ["agent", agentText("hi", undefined, "s9")],
    ["agent", update("s9", { sessionUpdate: "agent_thought_chunk", content: text("hm") })],
    ["agent", update("s9", { sessionUpdate: "tool_call", toolCallId: "t", title: "T" })],
    ["agent", update("s9", { sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed" })],
    ["agent", update("s9", { sessionUpdate: "plan", entries: [] })],
  ];
  const usage = { sessionUpdate: "usage_update", used: 1, size: 2 };
  const titled = { sessionUpdate: "session_info_update", title: "T" };

  test("at an agent that has session/resume: forwarded; the state comes before the result", () => {
    play(pairedDialogue(), [
      ["client", resume],
      ["to agent", request(2, "session/resume", v1Params)],
      ["agent", reply(2, { modes, _meta: { b: 1 } })],
      ["to client", idle({}, "s9")],
      ["to client", reply("r", { configOptions: [mode], _meta: { b: 1 } })],
      ["client", prompt(1, "go", "s9")],
      ["to agent", request(3, "session/prompt", { sessionId: "s9", prompt: [text("go")] })],
    ]);
  });

  test("replayFrom null is none", () => {
    play(pairedDialogue(), [
      ["client", request("r", "session/resume", { sessionId: "s9", cwd: "/work", replayFrom: null })],
      ["to agent", request(2, "session/resume", { sessionId: "s9", cwd: "/work", mcpServers: [] })],
      ["agent", reply(2, {})],
      ["to client", idle({}, "s9")],
      ["to client", reply("r", {})],
    ]);
  });

  test("an agent that replays on session/resume although it should not: swallowed, and logged", () => {
    play(pairedDialogue(), [
      ["client", resume],
      ["to agent", request(2, "session/resume", v1Params)],
      ...replayed,
      ["agent", update("s9", usage)],
      ["to client", update("s9", usage)],
      ["agent", reply(2, {})],
      ["wait", 1],
      ["to client", idle({}, "s9")],
      ["to client", reply("r", {})],
      ["log", "replay-swallowed"],
    ]);
  });

  test("at an agent that has only session/load: messages, tool calls and plans are swallowed, the rest is kept", () => {
    const commands = { sessionUpdate: "available_commands_update", availableCommands: [] };
    play(pairedDialogue({ settle: 50 }, onlyLoad), [
      ["client", resume],
      ["to agent", request(2, "session/load", v1Params)],
      ...replayed,
      ["agent", update("s9", commands)],
      ["to client", update("s9", commands)],
      ["agent", update("s9", usage)],
      ["to client", update("s9", usage)],
      ["agent", update("s9", titled)],
      ["to client", update("s9", titled)],
      ["agent", reply(2, { modes })],
      // The answer came in the middle of the replay: what follows within the settle window counts as replay still.
      ["wait", 40],
      ["agent", agentText("tail", undefined, "s9")],
      ["wait", 40],
      ["agent", update("s9", { sessionUpdate: "current_mode_update", currentModeId: "a" })],
      ["to client", update("s9", { sessionUpdate: "config_option_update", configOptions: [mode] })],
      ["wait", 49],
      ["wait", 1],
      ["to client", idle({}, "s9")],
      ["to client", reply("r", { configOptions: [mode] })],
      ["log", "replay-swallowed"],
      // From here on the session is live.
      ["agent", agentText("now", undefined, "s9")],
      ["to client", agentText("now", minted(1), "s9")],
    ]);
  });

  test.each([
    ["an empty result", {}],
    ["a result of null", null],
  ])("session/load answered with %s", (_, result) => {
    play(pairedDialogue({}, onlyLoad), [
      ["client", resume],
      ["to agent", request(2, "session/load", v1Params)],
      ["agent", reply(2, result)],
      ["wait", 1],
      ["to client", idle({}, "s9")],
      ["to client", reply("r", {})],
    ]);
  });

  test("session/load announced but missing: its error is the client's", () => {
    play(pairedDialogue({}, onlyLoad), [
      ["client", resume],
      ["to agent", request(2, "session/load", v1Params)],
      ["agent", fail(2, -32601, "Method not found")],
      ["to client", fail("r", -32601, "Method not found")],
    ]);
  });

  test.each([[{}], [{ modes: null }]])("what a result does not say of modes stays: %j", (result) => {
    play(pairedDialogue(), [
      ["client", request("n", "session/new", { cwd: "/work" })],
      ["to agent", request(2, "session/new", { cwd: "/work", mcpServers: [] })],
      ["agent", reply(2, { sessionId: "s9", modes })],
      ["to client", reply("n", { sessionId: "s9", configOptions: [mode] })],
      ["client", resume],
      ["to agent", request(3, "session/resume", v1Params)],
      ["agent", reply(3, result)],
      ["to client", idle({}, "s9")],
      ["to client", reply("r", { configOptions: [mode] })],
    ]);
  });

  test("a message of an open session goes on after it", () => {
    play(openDialogue({}, onlyResume), [
      ["agent", agentText("one")],
      ["to client", agentText("one", minted(1))],
      ["client", request("r", "session/resume", { sessionId: "s1", cwd: "/work" })],
      ["to agent", request(3, "session/resume", { sessionId: "s1", cwd: "/work", mcpServers: [] })],
      ["agent", reply(3, {})],
      ["to client", idle({})],
      ["to client", reply("r", {})],
      ["agent", agentText(" two")],
      ["to client", agentText(" two", minted(1))],
    ]);
  });

  test("session/resume announced but missing: session/load is taken instead, now and from then on", () => {
    const both = agentWith({ loadSession: true, sessionCapabilities: { resume: {} } });
    play(pairedDialogue({}, both), [
      ["client", resume],
      ["to agent", request(2, "session/resume", v1Params)],
      ["agent", fail(2, -32601, "Method not found")],
      ["to agent", request(3, "session/load", v1Params)],
      ["agent", reply(3, {})],
      ["wait", 1],
      ["to client", idle({}, "s9")],
      ["to client", reply("r", {})],
      ["client", request("again", "session/resume", { sessionId: "s8", cwd: "/" })],
      ["to agent", request(4, "session/load", { sessionId: "s8", cwd: "/", mcpServers: [] })],
    ]);
  });

  test("at an agent with neither, a session of this run: succeeds with its state and config", () => {
    const dialogue = pairedDialogue({}, bare);
    play(dialogue, [
      ["client", request("n", "session/new", { cwd: "/work" })],
      ["to agent", request(2, "session/new", { cwd: "/work", mcpServers: [] })],
      ["agent", reply(2, { sessionId: "s9", modes })],
      ["to client", reply("n", { sessionId: "s9", configOptions: [mode] })],
      ["client", resume],
      ["to client", idle({}, "s9")],
      ["to client", reply("r", { configOptions: [mode] })],
    ]);
  });

  test("at an agent with neither, a session it does not know: -32002 naming it", () => {
    play(pairedDialogue({}, bare), [
      ["client", resume],
      ["to client", fail("r", -32002, expect.any(String), { sessionId: "s9" })],
    ]);
  });

  test("a session the agent does not know: -32002 with the agent's own error as the cause", () => {
    play(pairedDialogue(), [
      ["client", resume],
      ["to agent", request(2, "session/resume", v1Params)],
      ["agent", fail(2, -32603, "Session s9 not found")],
      [
        "to client",
        fail("r", -32002, "Session s9 not found", {
          sessionId: "s9",
          cause: { code: -32603, message: "Session s9 not found" },
        }),
      ],
      ["client", prompt(1, "hi", "s9")],
      ["to client", fail(1, -32002, expect.any(String), { sessionId: "s9" })],
    ]);
  });

  test.each([
    ["cwd relative", { sessionId: "s9", cwd: "work" }],
    ["cwd missing", { sessionId: "s9" }],
    ["a directory the agent does not take", { sessionId: "s9", cwd: "/", additionalDirectories: ["/lib"] }],
  ])("%s: -32602, nothing sent", (_, params) => {
    play(pairedDialogue({}, onlyResume), [
      ["client", request("r", "session/resume", params)],
      ["to client", fail("r", -32602, expect.any(String))],
    ]);
  });

  test("a session at work: its state is told, and the agent is not disturbed", () => {
    play(runningDialogue(), [
      ["client", prompt("held", "next")],
      ["client", request("r", "session/resume", { sessionId: "s1", cwd: "/work" })],
      ["to client", stateUpdate("running")],
      ["to client", reply("r", {})],
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
      ["to agent", prompt(4, "next")],
    ]);
  });

  test("a session that waits for the person: its state is told", () => {
    const dialogue = runningDialogue();
    dialogue.agent(
      request(0, "session/request_permission", {
        sessionId: "s1",
        toolCall: { toolCallId: "t", title: "T" },
        options: [{ optionId: "a", name: "A", kind: "allow_once" }],
      }),
    );
    play(dialogue, [
      ["client", request("r", "session/resume", { sessionId: "s1", cwd: "/work" })],
      ["to client", stateUpdate("requires_action")],
      ["to client", reply("r", {})],
    ]);
  });

  test("a prompt sent while the session is being resumed waits for it", () => {
    play(pairedDialogue(), [
      ["client", resume],
      ["to agent", request(2, "session/resume", v1Params)],
      ["client", prompt(1, "go", "s9")],
      ["agent", reply(2, {})],
      ["to client", idle({}, "s9")],
      ["to client", reply("r", {})],
      ["to agent", request(3, "session/prompt", { sessionId: "s9", prompt: [text("go")] })],
    ]);
  });
});

describe("§4 session/resume with replay", () => {
  const resume = request("r", "session/resume", { sessionId: "s9", cwd: "/work", replayFrom: { type: "start" } });
  const v1Params = { sessionId: "s9", cwd: "/work", mcpServers: [] };
  const chunk = (kind: string, messageId: string, words: string) =>
    update("s9", { sessionUpdate: kind, messageId, content: text(words) });
  const whole = (kind: string, messageId: string, words: string) =>
    update("s9", { sessionUpdate: kind, messageId, content: [text(words)] });

  test("session/load, the replay translated: whole messages, then the state, then the result", () => {
    play(pairedDialogue({ settle: 50 }), [
      ["client", resume],
      ["to agent", request(2, "session/load", v1Params)],
      ["agent", chunk("user_message_chunk", "u1", "Fix ")],
      ["agent", chunk("user_message_chunk", "u1", "it")],
      ["agent", chunk("agent_thought_chunk", "a1", "Hm")],
      ["to client", whole("user_message", "u1", "Fix it")],
      ["agent", chunk("agent_message_chunk", "a1", "Do")],
      ["to client", whole("agent_thought", "a1", "Hm")],
      ["agent", chunk("agent_message_chunk", "a1", "ne.")],
      [
        "agent",
        update("s9", {
          sessionUpdate: "tool_call",
          toolCallId: "t",
          title: "T",
          status: "completed",
          locations: [{ path: "a" }],
        }),
      ],
      ["to client", whole("agent_message", "a1", "Done.")],
      [
        "to client",
        update("s9", {
          sessionUpdate: "tool_call_update",
          toolCallId: "t",
          title: "T",
          status: "completed",
          locations: [{ path: "/work/a" }],
        }),
      ],
      ["agent", update("s9", { sessionUpdate: "plan", entries: [] })],
      [
        "to client",
        update("s9", { sessionUpdate: "plan_update", plan: { type: "items", planId: "plan", entries: [] } }),
      ],
      ["agent", reply(2, {})],
      // Within the settle window after the result: replay still.
      ["wait", 49],
      ["agent", chunk("agent_message_chunk", "a2", "Bye")],
      ["wait", 50],
      ["to client", whole("agent_message", "a2", "Bye")],
      ["to client", idle({}, "s9")],
      ["to client", reply("r", {})],
      ["agent", chunk("agent_message_chunk", "a3", "live")],
      ["to client", chunk("agent_message_chunk", "a3", "live")],
    ]);
  });

  test("at an agent that has only session/resume: resumed, and a notice that history is not available", () => {
    play(pairedDialogue({}, onlyResume), [
      ["client", resume],
      ["to agent", request(2, "session/resume", v1Params)],
      ["agent", reply(2, {})],
      [
        "to client",
        update("s9", {
          sessionUpdate: "notice",
          severity: "warning",
          title: expect.stringContaining("history"),
          description: expect.any(String),
        }),
      ],
      ["to client", idle({}, "s9")],
      ["to client", reply("r", {})],
    ]);
  });

  const supported = { supported: ["start"] };
  test.each<[unknown, object?]>([
    [{ type: "_cursor", at: 7 }, supported],
    [{ type: "message", messageId: "m" }, supported],
    [{}],
    ["start"],
    [7],
  ])("replayFrom %j: -32602, nothing sent", (replayFrom, data) => {
    play(pairedDialogue(), [
      ["client", request("r", "session/resume", { sessionId: "s9", cwd: "/work", replayFrom })],
      ["to client", fail("r", -32602, expect.any(String), data)],
    ]);
  });

  test("of a session at work, at an agent that could load it: the running turn is not disturbed", () => {
    const dialogue = runningDialogue();
    const { toAgent, toClient } = dialogue.client(
      request("r", "session/resume", { sessionId: "s1", cwd: "/work", replayFrom: { type: "start" } }),
    );
    expect(toAgent).toEqual([]);
    expect(toClient.slice(-2)).toEqual([stateUpdate("running"), reply("r", {})]);
  });
});

describe("§4 what comes while a session is resumed gets exactly one answer (§0 I5)", () => {
  const resume = (id: string, sessionId = "s9") => request(id, "session/resume", { sessionId, cwd: "/work" });
  const load = (id: number, sessionId = "s9"): Row => [
    "to agent",
    request(id, "session/load", { sessionId, cwd: "/work", mcpServers: [] }),
  ];

  test("a second resume is refused", () => {
    play(pairedDialogue({}, onlyLoad), [
      ["client", resume("r1")],
      load(2),
      ["client", resume("r2")],
      ["to client", fail("r2", -32600, expect.any(String))],
      ["agent", reply(2, {})],
      ["client", resume("r3")],
      ["to client", fail("r3", -32600, expect.any(String))],
      ["wait", 1],
      ["to client", idle({}, "s9")],
      ["to client", reply("r1", {})],
    ]);
  });

  test("a close before the agent has answered: the resume gets -32800", () => {
    play(pairedDialogue({}, onlyLoad), [
      ["client", resume("r")],
      load(2),
      ["client", request("c", "session/close", { sessionId: "s9" })],
      ["to client", reply("c", {})],
      ["agent", reply(2, {})],
      ["to client", fail("r", -32800, expect.any(String))],
    ]);
  });

  test("a close of a session that was open: its messages keep their ids", () => {
    const params = { sessionId: "s1", cwd: "/work", replayFrom: { type: "start" } };
    play(openDialogue({}, onlyLoad), [
      ["agent", agentText("hi")],
      ["to client", agentText("hi", minted(1))],
      ["client", resume("r", "s1")],
      load(3, "s1"),
      ["client", request("c", "session/close", { sessionId: "s1" })],
      ["to client", reply("c", {})],
      ["agent", reply(3, {})],
      ["to client", fail("r", -32800, expect.any(String))],
      ["client", request("again", "session/resume", params)],
      load(4, "s1"),
      ["agent", agentText("hi")],
      ["agent", reply(4, {})],
      ["wait", 1],
      ["to client", update("s1", { sessionUpdate: "agent_message", messageId: minted(1), content: [text("hi")] })],
      ["to client", idle({})],
      ["to client", reply("again", {})],
    ]);
  });

  test("a close while the end of the replay is waited for: the resume is answered first", () => {
    play(pairedDialogue({ settle: 50 }, onlyLoad), [
      ["client", resume("r")],
      load(2),
      ["agent", reply(2, {})],
      ["client", request("c", "session/close", { sessionId: "s9" })],
      ["to client", idle({}, "s9")],
      ["to client", reply("r", {})],
      ["to client", reply("c", {})],
      ["wait", 1000],
    ]);
  });

  test("a prompt for a session that cannot be resumed fails as the resume does", () => {
    const cause = { code: -32002, message: "gone" };
    play(pairedDialogue({}, onlyLoad), [
      ["client", resume("r")],
      load(2),
      ["client", prompt("p", "hi", "s9")],
      ["agent", fail(2, -32002, "gone")],
      ["to client", fail("r", -32002, "gone", { sessionId: "s9", cause })],
      ["to client", fail("p", -32002, "gone", { sessionId: "s9", cause })],
    ]);
  });

  test("a prompt for an open session whose resume fails is sent all the same", () => {
    play(openDialogue({}, onlyLoad), [
      ["client", resume("r", "s1")],
      load(3, "s1"),
      ["client", prompt("p", "hi")],
      ["agent", fail(3, -32603, "not now")],
      ["to client", fail("r", -32603, "not now")],
      ["to agent", request(4, "session/prompt", { sessionId: "s1", prompt: [text("hi")] })],
    ]);
  });

  test("a prompt that waits for a resume announced but missing waits for the load instead", () => {
    const both = agentWith({ loadSession: true, sessionCapabilities: { resume: {} } });
    play(pairedDialogue({}, both), [
      ["client", resume("r")],
      ["to agent", request(2, "session/resume", { sessionId: "s9", cwd: "/work", mcpServers: [] })],
      ["client", prompt("p", "hi", "s9")],
      ["agent", fail(2, -32601, "Method not found")],
      load(3),
      ["agent", reply(3, {})],
      ["wait", 1],
      ["to client", idle({}, "s9")],
      ["to client", reply("r", {})],
      ["to agent", request(4, "session/prompt", { sessionId: "s9", prompt: [text("hi")] })],
    ]);
  });
});

describe("§4 session/close", () => {
  const close = request("c", "session/close", { sessionId: "s1", _meta: { m: 1 } });
  const forwarded = (id: number) => request(id, "session/close", { sessionId: "s1", _meta: { m: 1 } });
  const cancelled: Row = ["to agent", notify("session/cancel", { sessionId: "s1" })];

  test("of an idle session, at an agent that has it: forwarded", () => {
    play(openDialogue(), [
      ["client", close],
      ["to agent", forwarded(3)],
      ["agent", reply(3, { _meta: { b: 1 } })],
      ["to client", reply("c", { _meta: { b: 1 } })],
      ["client", prompt(1, "hi")],
      ["to client", fail(1, -32002, expect.any(String), { sessionId: "s1" })],
    ]);
  });

  test("of an idle session, at an agent without it: {}; later updates are dropped", () => {
    play(openDialogue({}, bare), [
      ["client", close],
      ["to client", reply("c", {})],
      ["agent", agentText("late")],
      ["log", "update-of-unknown-session"],
    ]);
  });

  test("of an unknown session: {}, nothing sent", () => {
    play(pairedDialogue(), [
      ["client", close],
      ["to client", reply("c", {})],
    ]);
  });

  test("twice", () => {
    play(openDialogue({}, bare), [
      ["client", close],
      ["to client", reply("c", {})],
      ["client", close],
      ["to client", reply("c", {})],
    ]);
  });

  const withWork: [string, object, Row[]][] = [
    [
      "at an agent that has it",
      agentHello,
      [
        ["to agent", forwarded(RUNNING + 1)],
        ["agent", agentText("dropped")],
        ["agent", reply(RUNNING + 1, {})],
        ["to client", reply("c", {})],
      ],
    ],
    ["at an agent without it", bare, [["to client", reply("c", {})]]],
  ];
  test.each(withWork)(
    "%s, with running work: final updates, idle/cancelled, then the result; held prompts get -32800",
    (_, hello, end) => {
      play(runningDialogue({}, hello), [
        ["agent", update("s1", { sessionUpdate: "tool_call", toolCallId: "t", title: "T" })],
        ["to client", update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t", title: "T" })],
        ["client", prompt("held", "next")],
        ["client", close],
        ["to client", fail("held", -32800, expect.any(String))],
        cancelled,
        ["agent", agentText("last words")],
        ["to client", agentText("last words", minted(2))],
        // A prompt for a session that is being closed is never sent.
        ["client", prompt("late", "more")],
        ["agent", reply(RUNNING, { stopReason: "cancelled" })],
        ["to client", update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t", status: "cancelled" })],
        ["to client", idle({ stopReason: "cancelled" })],
        ["to client", fail("late", -32800, expect.any(String))],
        ...end,
        ["agent", agentText("dropped")],
      ]);
    },
  );

  test("twice, with running work: both are answered after it", () => {
    play(runningDialogue({}, bare), [
      ["client", close],
      cancelled,
      ["client", { ...close, id: "again" }],
      ["agent", reply(RUNNING, { stopReason: "cancelled" })],
      ["to client", idle({ stopReason: "cancelled" })],
      ["to client", reply("c", {})],
      ["to client", reply("again", {})],
    ]);
  });

  test("of a session the agent has lost: {}", () => {
    play(openDialogue(), [
      ["client", close],
      ["to agent", forwarded(3)],
      ["agent", fail(3, -32602, "Session not found")],
      ["to client", reply("c", {})],
    ]);
  });

  test("a resume sent meanwhile comes after it", () => {
    const v1Params = { sessionId: "s1", cwd: "/work", mcpServers: [] };
    play(runningDialogue({}, agentHello), [
      ["client", close],
      cancelled,
      ["client", request("r", "session/resume", { sessionId: "s1", cwd: "/work" })],
      ["agent", reply(RUNNING, { stopReason: "cancelled" })],
      ["to client", idle({ stopReason: "cancelled" })],
      ["to agent", forwarded(RUNNING + 1)],
      ["to agent", request(RUNNING + 2, "session/resume", v1Params)],
      ["agent", reply(RUNNING + 1, {})],
      ["to client", reply("c", {})],
      ["agent", reply(RUNNING + 2, {})],
      ["to client", stateUpdate("idle")],
      ["to client", reply("r", {})],
      ["client", prompt("p", "go on")],
      ["to agent", request(RUNNING + 3, "session/prompt", { sessionId: "s1", prompt: [text("go on")] })],
    ]);
  });

  test("the agent's open permission requests are answered `cancelled` and withdrawn", () => {
    const dialogue = runningDialogue({}, bare);
    dialogue.agent(
      request("perm", "session/request_permission", {
        sessionId: "s1",
        toolCall: { toolCallId: "t", title: "T" },
        options: [{ optionId: "a", name: "A", kind: "allow_once" }],
      }),
    );
    play(dialogue, [
      ["client", close],
      cancelled,
      ["to agent", reply("perm", { outcome: { outcome: "cancelled" } })],
      ["to client", notify("$/cancel_request", { requestId: 1 })],
      ["agent", reply(RUNNING, { stopReason: "cancelled" })],
      ["to client", update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t", status: "cancelled" })],
      ["to client", idle({ stopReason: "cancelled" })],
      ["to client", reply("c", {})],
    ]);
  });

  test("an agent's permission request of an idle session is answered `cancelled` too", () => {
    const dialogue = openDialogue({}, bare);
    dialogue.agent(
      request("perm", "session/request_permission", {
        sessionId: "s1",
        toolCall: { toolCallId: "t", title: "T" },
        options: [{ optionId: "a", name: "A", kind: "allow_once" }],
      }),
    );
    play(dialogue, [
      ["client", close],
      ["to agent", reply("perm", { outcome: { outcome: "cancelled" } })],
      ["to client", notify("$/cancel_request", { requestId: 1 })],
      ["to client", reply("c", {})],
    ]);
  });

  test.each([
    [30_000, 30_000],
    [500, 500],
    [0, 30_000],
  ])("with --cancel-timeout %i ms, the agent's prompt response is waited for %i ms", (cancelTimeout, ms) => {
    play(runningDialogue({ cancelTimeout }, bare), [
      ["client", close],
      cancelled,
      ["wait", ms - 1],
      ["wait", 1],
      ["to client", idle({ stopReason: "cancelled" })],
      ["to client", reply("c", {})],
    ]);
  });

  test("of a session whose prompt has just been sent: that prompt is accepted and cancelled", () => {
    play(openDialogue({}, bare), [
      ["client", prompt("p", "hello")],
      ["to agent", request(3, "session/prompt", { sessionId: "s1", prompt: [text("hello")] })],
      ["client", close],
      ...accepted("p", minted(1), "hello"),
      cancelled,
      ["agent", fail(3, -32603, "aborted")],
      ["to client", idle({ stopReason: "cancelled" })],
      ["to client", reply("c", {})],
    ]);
  });

  test("of work that ended in the settle window: it keeps its own stop reason", () => {
    play(runningDialogue({ settle: 50 }, bare), [
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["client", close],
      ["wait", 50],
      ["to client", idle({ stopReason: "end_turn" })],
      ["to client", reply("c", {})],
    ]);
  });

  test.each([
    ["a session the agent does not know any more counts as closed", fail(3, -32002, "gone"), reply("c", {})],
    ["another error is the client's", fail(3, -32603, "disk full"), fail("c", -32603, "disk full")],
  ])("%s", (_, answer, result) => {
    play(openDialogue(), [
      ["client", close],
      ["to agent", forwarded(3)],
      ["agent", answer],
      ["to client", result],
    ]);
  });
});

describe("§4 session/delete", () => {
  const remove = request("d", "session/delete", { sessionId: "s1" });

  test("of an agent that has it: forwarded, also for a session of another run", () => {
    play(pairedDialogue(), [
      ["client", remove],
      ["to agent", request(2, "session/delete", { sessionId: "s1" })],
      ["agent", reply(2, null)],
      ["to client", reply("d", {})],
    ]);
  });

  test("of an agent that has it, with running work: cancelled first", () => {
    play(runningDialogue(), [
      ["client", remove],
      ["to agent", notify("session/cancel", { sessionId: "s1" })],
      ["agent", reply(RUNNING, { stopReason: "cancelled" })],
      ["to client", idle({ stopReason: "cancelled" })],
      ["to agent", request(4, "session/delete", { sessionId: "s1" })],
      ["agent", reply(4, {})],
      ["to client", reply("d", {})],
    ]);
  });

  test("of an agent without it: -32601, and nothing happens to the session", () => {
    play(runningDialogue({}, bare), [
      ["client", remove],
      ["to client", fail("d", -32601, expect.any(String))],
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
    ]);
  });

  test("of a session the agent has lost: -32002", () => {
    play(openDialogue(), [
      ["client", remove],
      ["to agent", request(3, "session/delete", { sessionId: "s1" })],
      ["agent", fail(3, -32602, "Session not found")],
      ["to client", fail("d", -32002, "Session not found", expect.objectContaining({ sessionId: "s1" }))],
    ]);
  });

  test("an error keeps its code and data, and the session stays listed", () => {
    const listed = { sessionId: "s1", cwd: "/work", updatedAt: "2026-01-01T00:00:00.000Z" };
    play(openDialogue({}, agentWith({ sessionCapabilities: { delete: {} } })), [
      ["client", remove],
      ["to agent", request(3, "session/delete", { sessionId: "s1" })],
      ["agent", fail(3, -32603, "read-only", { file: "x" })],
      ["to client", fail("d", -32603, "read-only", { file: "x" })],
      ["client", request("l", "session/list", {})],
      ["to client", reply("l", { sessions: [listed] })],
      ["client", remove],
      ["to agent", request(4, "session/delete", { sessionId: "s1" })],
      ["agent", reply(4, {})],
      ["to client", reply("d", {})],
      ["client", request("l", "session/list", {})],
      ["to client", reply("l", { sessions: [] })],
    ]);
  });
});
