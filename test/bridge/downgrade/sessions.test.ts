// Guards docs/mapping.md §13: how a v1 client opens, loads, resumes, lists, closes and deletes sessions of a v2 agent,
// sets their modes and options, and logs in and out.
import { describe, expect, test } from "vitest";
import {
  agentText,
  downgradeDialogue,
  fail,
  idle,
  notify,
  openDowngrade,
  play,
  prompt,
  type Row,
  reply,
  request,
  runningTurn,
  stateUpdate,
  text,
  update,
} from "../../support/dialogue.ts";

const setup = { cwd: "/work", mcpServers: [] };
const choices = [
  { value: "ask", name: "Ask" },
  { value: "code", name: "Code", description: "Without asking" },
];
const mode = (currentValue: string) => ({
  type: "select",
  name: "Mode",
  category: "mode",
  currentValue,
  options: choices,
});
const options = (current: string) => [{ ...mode(current), configId: "the-mode" }];
const v1Options = (current: string) => [{ ...mode(current), id: "the-mode" }];
const modes = (currentModeId: string) => ({
  currentModeId,
  availableModes: [
    { id: "ask", name: "Ask" },
    { id: "code", name: "Code", description: "Without asking" },
  ],
});
const v2Commands = [{ type: "command", name: "plan", description: "Plan", input: { type: "text", hint: "what" } }];
const v1Commands = [{ name: "plan", description: "Plan", input: { hint: "what" } }];
const commandsUpdate = (availableCommands: unknown) =>
  update("s1", { sessionUpdate: "available_commands_update", availableCommands });

describe("session/new", () => {
  test("servers, options, modes; commands follow the answer; what came early comes after it", () => {
    play(downgradeDialogue(), [
      [
        "client",
        request("n", "session/new", {
          cwd: "/work",
          mcpServers: [
            { name: "files", command: "/bin/files", args: [], env: [] },
            { type: "http", name: "web", url: "https://example.org", headers: [] },
          ],
        }),
      ],
      [
        "to agent",
        request(2, "session/new", {
          cwd: "/work",
          mcpServers: [
            { type: "stdio", name: "files", command: "/bin/files", args: [], env: [] },
            { type: "http", name: "web", url: "https://example.org", headers: [] },
          ],
        }),
      ],
      ["agent", agentText("Welcome", "m1")],
      ["agent", stateUpdate("idle")],
      ["agent", reply(2, { sessionId: "s1", configOptions: options("ask"), availableCommands: v2Commands })],
      ["to client", reply("n", { sessionId: "s1", configOptions: v1Options("ask"), modes: modes("ask") })],
      ["to client", commandsUpdate(v1Commands)],
      ["to client", agentText("Welcome", "m1")],
    ]);
  });

  test("a transport v2 does not have, and a relative directory, are refused here", () => {
    play(downgradeDialogue(), [
      [
        "client",
        request("n", "session/new", {
          cwd: "/work",
          mcpServers: [{ type: "sse", name: "old", url: "https://example.org", headers: [] }],
        }),
      ],
      ["to client", fail("n", -32602, expect.stringContaining("sse") as never, { type: "sse", name: "old" })],
      ["client", request("n", "session/new", { cwd: "work", mcpServers: [] })],
      ["to client", fail("n", -32602, "cwd must be an absolute path")],
      ["client", request("n", "session/new", { mcpServers: [] })],
      ["to client", fail("n", -32602, "cwd is required")],
    ]);
  });

  test("an error, and a result that names no session", () => {
    play(downgradeDialogue(), [
      ["client", request("n", "session/new", setup)],
      ["to agent", request(2, "session/new", setup)],
      ["agent", fail(2, -32000, "log in first")],
      ["to client", fail("n", -32000, "log in first")],
      ["client", request("n", "session/new", setup)],
      ["to agent", request(3, "session/new", setup)],
      ["agent", reply(3, {})],
      ["to client", fail("n", -32603, "the agent's result names no session")],
      ["client", request("n", "session/new", setup)],
      ["to agent", request(4, "session/new", setup)],
      ["agent", reply(4, { sessionId: "" })],
      ["to client", fail("n", -32603, "the agent's result names no session")],
      ["agent", agentText("Hi", "m1")],
      ["log", "update-of-unknown-session"],
    ]);
  });
});

describe("session/load and session/resume", () => {
  const load = request("l", "session/load", { sessionId: "s1", ...setup });
  const toResume = request(2, "session/resume", { sessionId: "s1", ...setup, replayFrom: { type: "start" } });
  const userChunk = (messageId: string, words: string) =>
    update("s1", { sessionUpdate: "user_message_chunk", messageId, content: text(words) });
  const history: Row[] = [
    ["agent", update("s1", { sessionUpdate: "user_message", messageId: "u1", content: [text("hello")] })],
    ["to client", userChunk("u1", "hello")],
    ["agent", update("s1", { sessionUpdate: "agent_message", messageId: "m1", content: [text("Hi"), text(" you")] })],
    ["to client", agentText("Hi", "m1")],
    ["to client", agentText(" you", "m1")],
    ["agent", stateUpdate("idle", { stopReason: "end_turn" })],
  ];

  test("a load replays the history, user messages too, before its answer", () => {
    play(downgradeDialogue(), [
      ["client", load],
      ["to agent", toResume],
      ...history,
      ["agent", reply(2, { configOptions: options("code"), availableCommands: v2Commands })],
      ["to client", reply("l", { configOptions: v1Options("code"), modes: modes("code") })],
      ["to client", commandsUpdate(v1Commands)],
      ["client", prompt("p", "more")],
      ["to agent", prompt(3, "more")],
    ]);
  });

  test("a session loaded anew is told from its start", () => {
    const dialogue = downgradeDialogue();
    play(dialogue, [
      ["client", load],
      ["to agent", toResume],
      ...history,
      ["agent", reply(2, {})],
      ["to client", reply("l", {})],
    ]);
    play(dialogue, [
      ["client", load],
      ["to agent", { ...toResume, id: 3 }],
      ...history,
      ["agent", reply(3, {})],
      ["to client", reply("l", {})],
    ]);
  });

  test("a prompt sent before a load has its answer waits for it", () => {
    play(downgradeDialogue(), [
      ["client", load],
      ["to agent", toResume],
      ["client", prompt("p", "more")],
      ...history,
      ["agent", reply(2, {})],
      ["to client", reply("l", {})],
      ["to agent", prompt(3, "more")],
    ]);
    play(downgradeDialogue(), [
      ["client", load],
      ["to agent", toResume],
      ["client", prompt("p", "more")],
      ["agent", fail(2, -32603, "no")],
      ["to client", fail("l", -32603, "no")],
      ["to client", fail("p", -32603, "no")],
    ]);
  });

  test("a resume asks for no history", () => {
    play(downgradeDialogue(), [
      ["client", request("r", "session/resume", { sessionId: "s1", cwd: "/work" })],
      ["to agent", request(2, "session/resume", { sessionId: "s1", ...setup })],
      ["agent", stateUpdate("idle")],
      ["agent", reply(2, {})],
      ["to client", reply("r", {})],
    ]);
  });

  test("its directory is the one it was resumed with", () => {
    const call = { sessionUpdate: "tool_call_update", toolCallId: "t", title: "ls" };
    const content = [{ type: "terminal", terminalId: "x" }];
    play(downgradeDialogue({ _meta: { terminal_output: true } }), [
      ["client", request("r", "session/resume", { sessionId: "s1", cwd: "/more" })],
      ["to agent", request(2, "session/resume", { sessionId: "s1", cwd: "/more", mcpServers: [] })],
      ["agent", reply(2, {})],
      ["to client", reply("r", {})],
      ["agent", update("s1", { ...call, content })],
      [
        "to client",
        update("s1", {
          ...call,
          sessionUpdate: "tool_call",
          content,
          _meta: { terminal_info: { terminal_id: "x", cwd: "/more" } },
        }),
      ],
    ]);
  });

  test("a resume forgets nothing of what the client was told", () => {
    const call = { sessionUpdate: "tool_call_update", toolCallId: "t" };
    play(openDowngrade(), [
      ["agent", update("s1", { ...call, title: "Look" })],
      ["to client", update("s1", { ...call, sessionUpdate: "tool_call", title: "Look" })],
      ["client", request("r", "session/resume", { sessionId: "s1", ...setup })],
      ["to agent", request(3, "session/resume", { sessionId: "s1", ...setup })],
      ["agent", reply(3, {})],
      ["to client", reply("r", {})],
      ["agent", update("s1", { ...call, status: "completed" })],
      ["to client", update("s1", { ...call, status: "completed" })],
    ]);
  });

  test("one that fails leaves no session, unless there was one", () => {
    play(downgradeDialogue(), [
      ["client", load],
      ["to agent", toResume],
      ["agent", fail(2, -32002, "session not found", { sessionId: "s1" })],
      ["to client", fail("l", -32002, "session not found", { sessionId: "s1" })],
      ["client", prompt("p", "hello")],
      ["to client", fail("p", -32002, expect.any(String) as never, { sessionId: "s1" })],
    ]);
    play(openDowngrade(), [
      ["client", load],
      ["to agent", { ...toResume, id: 3 }],
      ["agent", fail(3, -32603, "no")],
      ["to client", fail("l", -32603, "no")],
      ["client", prompt("p", "hello")],
      ["to agent", prompt(4, "hello")],
    ]);
  });
});

describe("session/list, close, delete, fork", () => {
  test("a list is the agent's", () => {
    const sessions = [{ sessionId: "s1", cwd: "/work", title: "T", updatedAt: "2026-01-01T00:00:00Z" }];
    play(downgradeDialogue(), [
      ["client", request("l", "session/list", { cwd: "/work" })],
      ["to agent", request(2, "session/list", { cwd: "/work" })],
      ["agent", reply(2, { sessions, nextCursor: "2" })],
      ["to client", reply("l", { sessions, nextCursor: "2" })],
    ]);
  });

  const close = request("c", "session/close", { sessionId: "s1" });

  test("closing ends the turn first; held prompts are over at once; nothing of the session is passed on after it", () => {
    play(openDowngrade(), [
      ...runningTurn,
      ["client", prompt("q", "more")],
      ["client", close],
      ["to client", reply("q", { stopReason: "cancelled" })],
      ["to agent", request(4, "session/close", { sessionId: "s1" })],
      ["agent", idle({ stopReason: "cancelled" })],
      ["to client", reply("p", { stopReason: "cancelled" })],
      ["agent", reply(4, {})],
      ["to client", reply("c", {})],
      ["agent", agentText("late", "m1")],
      ["log", "update-of-unknown-session"],
    ]);
  });

  test("an agent that ends no turn when it closes leaves none open", () => {
    play(openDowngrade(), [
      ["client", prompt("p", "hello")],
      ["to agent", prompt(3, "hello")],
      ["client", close],
      ["to agent", request(4, "session/close", { sessionId: "s1" })],
      ["agent", reply(4, {})],
      ["to client", reply("p", { stopReason: "cancelled" })],
      ["to client", reply("c", {})],
      ["agent", fail(3, -32800, "cancelled")],
      ["log", "late-prompt-answer"],
    ]);
  });

  test("a session the agent does not know counts as closed; another error is passed on, and the session lives", () => {
    play(openDowngrade(), [
      ["client", close],
      ["to agent", request(3, "session/close", { sessionId: "s1" })],
      ["agent", fail(3, -32603, "not now")],
      ["to client", fail("c", -32603, "not now")],
      ["client", prompt("p", "hello")],
      ["to agent", prompt(4, "hello")],
      ["agent", fail(4, -32603, "no")],
      ["to client", fail("p", -32603, "no")],
      ["client", close],
      ["to agent", request(5, "session/close", { sessionId: "s1" })],
      ["agent", fail(5, -32002, "gone", { sessionId: "s1" })],
      ["to client", reply("c", {})],
    ]);
  });

  test("delete", () => {
    play(openDowngrade(), [
      ["client", request("d", "session/delete", { sessionId: "s1" })],
      ["to agent", request(3, "session/delete", { sessionId: "s1" })],
      ["agent", reply(3, {})],
      ["to client", reply("d", {})],
      ["client", prompt("p", "hello")],
      ["to client", fail("p", -32002, expect.any(String) as never, { sessionId: "s1" })],
    ]);
  });

  test("delete, of a session the agent does not know", () => {
    play(openDowngrade(), [
      ["client", request("d", "session/delete", { sessionId: "s1" })],
      ["to agent", request(3, "session/delete", { sessionId: "s1" })],
      ["agent", fail(3, -32002, "gone")],
      ["to client", fail("d", -32002, "gone")],
    ]);
  });

  test("params that are not v1's are refused here, not mended", () => {
    play(downgradeDialogue(), [
      ["client", request("n", "session/new", { cwd: "/work", mcpServers: [{ name: 1 }] })],
      ["to client", fail("n", -32602, expect.any(String))],
    ]);
  });

  test("a fork is a session", () => {
    play(openDowngrade(), [
      ["client", request("f", "session/fork", { sessionId: "s1", ...setup })],
      ["to agent", request(3, "session/fork", { sessionId: "s1", ...setup })],
      ["agent", reply(3, { sessionId: "s2", configOptions: options("ask") })],
      ["to client", reply("f", { sessionId: "s2", configOptions: v1Options("ask"), modes: modes("ask") })],
      ["client", prompt("p", "hello", "s2")],
      ["to agent", prompt(4, "hello", "s2")],
    ]);
  });

  test.each(["session/close", "session/delete"])("%s of a session that is not open is the agent's", (method) => {
    play(downgradeDialogue(), [
      ["client", request(1, method, { sessionId: "s9" })],
      ["to agent", request(2, method, { sessionId: "s9" })],
      ["agent", reply(2, {})],
      ["to client", reply(1, {})],
      ["client", request(2, method, { sessionId: "s9" })],
      ["to agent", request(3, method, { sessionId: "s9" })],
      ["agent", fail(3, -32603, "no")],
      ["to client", fail(2, -32603, "no")],
    ]);
  });

  test("a session that the agent opened anew meanwhile stays", () => {
    const opens = (id: string, agentId: number): Row[] => [
      ["client", request(id, "session/new", setup)],
      ["to agent", request(agentId, "session/new", setup)],
      ["agent", reply(agentId, { sessionId: "s1" })],
      ["to client", reply(id, { sessionId: "s1" })],
    ];
    play(openDowngrade(), [
      ["client", request("c", "session/close", { sessionId: "s1" })],
      ["to agent", request(3, "session/close", { sessionId: "s1" })],
      ...opens("n", 4),
      ["agent", reply(3, {})],
      ["to client", reply("c", {})],
      ["client", prompt("p", "hello")],
      ["to agent", prompt(5, "hello")],
    ]);
    play(downgradeDialogue(), [
      ["client", request("r", "session/resume", { sessionId: "s1", ...setup })],
      ["to agent", request(2, "session/resume", { sessionId: "s1", ...setup })],
      ...opens("n", 3),
      ["agent", fail(2, -32603, "no")],
      ["to client", fail("r", -32603, "no")],
      ["client", prompt("p", "hello")],
      ["to agent", prompt(4, "hello")],
    ]);
  });

  test("a session id the agent uses again is a new session", () => {
    play(openDowngrade(), [
      ["client", prompt("p", "hello")],
      ["to agent", prompt(3, "hello")],
      ["client", request("n", "session/new", setup)],
      ["to agent", request(4, "session/new", setup)],
      ["agent", reply(4, { sessionId: "s1" })],
      ["to client", reply("p", { stopReason: "cancelled" })],
      ["to client", reply("n", { sessionId: "s1" })],
    ]);
  });
});

describe("modes and options", () => {
  const open = (capabilities = {}) => openDowngrade(capabilities, {}, { configOptions: options("ask") });
  const configUpdate = (configOptions: unknown) =>
    update("s1", { sessionUpdate: "config_option_update", configOptions });
  const modeUpdate = (currentModeId: string) => update("s1", { sessionUpdate: "current_mode_update", currentModeId });

  test("session/set_mode sets the option that is the mode", () => {
    play(open(), [
      ["client", request("m", "session/set_mode", { sessionId: "s1", modeId: "code" })],
      [
        "to agent",
        request(3, "session/set_config_option", { sessionId: "s1", configId: "the-mode", type: "id", value: "code" }),
      ],
      ["agent", reply(3, { configOptions: options("code") })],
      ["to client", configUpdate(v1Options("code"))],
      ["to client", reply("m", {})],
    ]);
  });

  test("session/set_mode at an agent that says no more than that it is done", () => {
    play(open(), [
      ["client", request("m", "session/set_mode", { sessionId: "s1", modeId: "code" })],
      [
        "to agent",
        request(3, "session/set_config_option", { sessionId: "s1", configId: "the-mode", type: "id", value: "code" }),
      ],
      ["agent", reply(3, {})],
      ["to client", reply("m", {})],
    ]);
  });

  test("a session without a mode has none to set", () => {
    play(openDowngrade(), [
      ["client", request("m", "session/set_mode", { sessionId: "s1", modeId: "code" })],
      ["to client", fail("m", -32602, "This session has no modes")],
    ]);
  });

  test("session/set_config_option; a changed mode is told in both forms", () => {
    play(open(), [
      ["client", request("o", "session/set_config_option", { sessionId: "s1", configId: "the-mode", value: "code" })],
      [
        "to agent",
        request(3, "session/set_config_option", { sessionId: "s1", configId: "the-mode", type: "id", value: "code" }),
      ],
      ["agent", reply(3, { configOptions: options("code") })],
      ["to client", modeUpdate("code")],
      ["to client", reply("o", { configOptions: v1Options("code") })],
    ]);
  });

  test("a refused option changes nothing", () => {
    play(open(), [
      ["client", request("o", "session/set_config_option", { sessionId: "s1", configId: "x", value: "y" })],
      ["to agent", request(3, "session/set_config_option", { sessionId: "s1", configId: "x", type: "id", value: "y" })],
      ["agent", fail(3, -32602, "unknown configId")],
      ["to client", fail("o", -32602, "unknown configId")],
    ]);
  });

  test("the agent changes its options, and with them its mode or not", () => {
    play(open(), [
      ["agent", configUpdate(options("code"))],
      ["to client", modeUpdate("code")],
      ["to client", configUpdate(v1Options("code"))],
      ["agent", configUpdate([...options("code"), { type: "_slider", configId: "x", name: "X", value: 3 }])],
      ["to client", configUpdate(v1Options("code"))],
    ]);
  });

  const boolean = { name: "Fast", type: "boolean", currentValue: true };

  test("a boolean option for a client that has them, and as a choice for one that has not", () => {
    const capable = { session: { configOptions: { boolean: {} } } };
    play(open(capable), [
      ["agent", configUpdate([{ ...boolean, configId: "fast" }])],
      ["to client", configUpdate([{ ...boolean, id: "fast" }])],
      [
        "client",
        request("o", "session/set_config_option", { sessionId: "s1", configId: "fast", type: "boolean", value: false }),
      ],
      [
        "to agent",
        request(3, "session/set_config_option", { sessionId: "s1", configId: "fast", type: "boolean", value: false }),
      ],
    ]);
    const onOff = [
      { value: "true", name: "On" },
      { value: "false", name: "Off" },
    ];
    play(open(), [
      ["agent", configUpdate([{ ...boolean, configId: "fast" }])],
      ["to client", configUpdate([{ name: "Fast", type: "select", currentValue: "true", options: onOff, id: "fast" }])],
      ["client", request("o", "session/set_config_option", { sessionId: "s1", configId: "fast", value: "false" })],
      [
        "to agent",
        request(3, "session/set_config_option", { sessionId: "s1", configId: "fast", type: "boolean", value: false }),
      ],
    ]);
  });
});

describe("authentication and extensions", () => {
  test("authenticate and logout under v2's names", () => {
    play(downgradeDialogue(), [
      ["client", request("a", "authenticate", { methodId: "key" })],
      ["to agent", request(2, "auth/login", { methodId: "key" })],
      ["agent", reply(2, {})],
      ["to client", reply("a", {})],
      ["client", request("l", "logout", {})],
      ["to agent", request(3, "auth/logout", {})],
      ["agent", fail(3, -32603, "not logged in")],
      ["to client", fail("l", -32603, "not logged in")],
    ]);
  });

  test("an agent that needs a fresh process after the login gets one, and is asked in its own version", () => {
    const initialize = { protocolVersion: 2, info: { name: "test-client", version: "1.0.0" }, capabilities: {} };
    const hello = { protocolVersion: 2, info: { name: "a", version: "1" } };
    play(openDowngrade({}, { restartAfterLogin: true }), [
      ["client", prompt("p", "hello")],
      ["to agent", prompt(3, "hello")],
      ["client", request("a", "authenticate", { methodId: "key" })],
      ["to agent", request(4, "auth/login", { methodId: "key" })],
      ["agent", reply(4, {})],
      ["to client", fail("p", -32603, "the agent restarted after the login; try again")],
      ["does", { type: "restart-agent" }],
      ["event", { type: "agent-restarted" }],
      ["to agent", request(5, "initialize", initialize)],
      ["agent", reply(5, hello)],
      ["to client", reply("a", {})],
      ["client", prompt("p", "hello")],
      ["to client", fail("p", -32002, expect.any(String) as never, { sessionId: "s1" })],
    ]);
  });

  test("the client's own methods go through", () => {
    play(downgradeDialogue(), [
      ["client", request("x", "_vendor/thing", { a: null })],
      ["to agent", request(2, "_vendor/thing", { a: null })],
      ["agent", reply(2, { b: [1] })],
      ["to client", reply("x", { b: [1] })],
      ["client", notify("_vendor/note", { c: 1 })],
      ["to agent", notify("_vendor/note", { c: 1 })],
      ["client", notify("$/progress", {})],
      ["log", "notification-ignored"],
    ]);
  });
});

test("paths are the client's on its side and the agent's on the other", () => {
  const paths = { pairs: [{ client: "/home/me/project", agent: "/workspace" }] };
  play(downgradeDialogue({}, { paths }), [
    ["client", request("n", "session/new", { cwd: "/home/me/project", mcpServers: [] })],
    ["to agent", request(2, "session/new", { cwd: "/workspace", mcpServers: [] })],
    ["agent", reply(2, { sessionId: "s1" })],
    ["to client", reply("n", { sessionId: "s1" })],
    [
      "agent",
      update("s1", {
        sessionUpdate: "tool_call_update",
        toolCallId: "t",
        title: "Read /workspace/a",
        locations: [{ path: "/workspace/a" }],
        content: [{ type: "diff", changes: [{ operation: "add", path: "/workspace/b" }] }],
      }),
    ],
    [
      "to client",
      update("s1", {
        sessionUpdate: "tool_call",
        toolCallId: "t",
        title: "Read /workspace/a",
        locations: [{ path: "/home/me/project/a" }],
        content: [{ type: "content", content: text("Added /workspace/b") }],
      }),
    ],
    ["client", request("l", "session/list", { cwd: "/home/me/project" })],
    ["to agent", request(3, "session/list", { cwd: "/workspace" })],
    ["agent", reply(3, { sessions: [{ sessionId: "s1", cwd: "/workspace" }] })],
    ["to client", reply("l", { sessions: [{ sessionId: "s1", cwd: "/home/me/project" }] })],
    [
      "client",
      request("p", "session/prompt", {
        sessionId: "s1",
        prompt: [{ type: "resource_link", name: "a", uri: "file:///home/me/project/a" }],
      }),
    ],
    [
      "to agent",
      request(4, "session/prompt", {
        sessionId: "s1",
        prompt: [{ type: "resource_link", name: "a", uri: "file:///workspace/a" }],
      }),
    ],
  ]);
});
