// Guards docs/mapping.md §10, `terminal/*` and `fs/*`: what the bridge asks of the world for the agent, what the agent
// gets for an answer, and what the client sees of it.
import { describe, expect, test } from "vitest";
import {
  type Act,
  agentHello,
  type Dialogue,
  fail,
  idle,
  openDialogue,
  pairedDialogue,
  play,
  type Row,
  RUNNING,
  reply,
  request,
  runningDialogue,
  update,
} from "../support/dialogue.ts";

const terminals = { hosts: { files: false, terminals: true } };
const files = { hosts: { files: true, terminals: false } };

const TERMINAL = "t_run_1";
const host = (call: number, method: string, params: object, more: object = {}): Row => [
  "does",
  { type: "host", call, method, params, roots: ["/work"], ...more } as Act,
];
const hosted = (call: number, result: object): Row => [
  "event",
  { type: "hosted", call, outcome: { result: { ...result } } },
];
const changed = (change: { data: string } | { exitStatus: { exitCode: number } }, sessionId = "s1"): Row => [
  "event",
  { type: "terminal", sessionId, terminalId: TERMINAL, change },
];
const terminalUpdate = (fields: object) =>
  update("s1", { sessionUpdate: "terminal_update", terminalId: TERMINAL, ...fields });
const outputChunk = (data: string) =>
  update("s1", { sessionUpdate: "terminal_output_chunk", terminalId: TERMINAL, data });
const ofTerminal = { sessionId: "s1", terminalId: TERMINAL };

/** `terminal/create` of the command `ls -l`, up to the agent's answer. */
function created(agentId: unknown = 9): Row[] {
  const params = {
    sessionId: "s1",
    command: "ls",
    args: ["-l"],
    env: [{ name: "A", value: "b" }],
    outputByteLimit: 10,
  };
  return [
    ["agent", request(agentId, "terminal/create", params)],
    host(1, "terminal/create", params, { terminalId: TERMINAL }),
    hosted(1, {}),
    ["to client", terminalUpdate({ command: "ls -l", cwd: "/work" })],
    ["to agent", reply(agentId, { terminalId: TERMINAL })],
  ];
}

describe("§10 initialize says what is hosted", () => {
  test.each([
    [
      { files: false, terminals: false },
      { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    ],
    [
      { files: false, terminals: true },
      { fs: { readTextFile: false, writeTextFile: false }, terminal: true },
    ],
    [
      { files: true, terminals: true },
      { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
    ],
  ])("%j", (hosts, capabilities) => {
    const dialogue = pairedDialogue({ hosts });
    expect(dialogue.bridge.initializeParams).toMatchObject({ clientCapabilities: capabilities });
  });

  test.each(["terminal/create", "terminal/output", "fs/read_text_file", "fs/write_text_file"])(
    "%s without a host for it: -32601",
    (method) => {
      play(runningDialogue(), [
        ["agent", request(9, method, { sessionId: "s1" })],
        ["to agent", fail(9, -32601, expect.stringContaining(method))],
      ]);
    },
  );
});

describe("§10 hosted terminals", () => {
  test("a whole life: seen by the client before the tool call that shows it", () => {
    const shown = [{ type: "terminal", terminalId: TERMINAL }];
    play(runningDialogue(terminals), [
      ...created(),
      ["agent", update("s1", { sessionUpdate: "tool_call", toolCallId: "c", title: "ls", content: shown })],
      ["to client", update("s1", { sessionUpdate: "tool_call_update", toolCallId: "c", title: "ls", content: shown })],
      changed({ data: "aGk=" }),
      ["to client", outputChunk("aGk=")],
      ["agent", request(10, "terminal/output", ofTerminal)],
      host(2, "terminal/output", ofTerminal),
      hosted(2, { output: "hi", truncated: false }),
      ["to agent", reply(10, { output: "hi", truncated: false })],
      ["agent", request("w", "terminal/wait_for_exit", ofTerminal)],
      host(3, "terminal/wait_for_exit", ofTerminal),
      ["agent", request(11, "terminal/kill", ofTerminal)],
      host(4, "terminal/kill", ofTerminal),
      hosted(4, {}),
      ["to agent", reply(11, {})],
      changed({ exitStatus: { exitCode: 3 } }),
      ["to client", terminalUpdate({ exitStatus: { exitCode: 3 } })],
      hosted(3, { exitCode: 3, signal: null }),
      ["to agent", reply("w", { exitCode: 3, signal: null })],
      ["agent", request(12, "terminal/release", ofTerminal)],
      host(5, "terminal/release", ofTerminal),
      hosted(5, {}),
      ["to agent", reply(12, {})],
    ]);
  });

  test("each request has one answer, whatever the world says twice", () => {
    play(runningDialogue(terminals), [...created(), hosted(1, {}), hosted(7, {})]);
  });

  test("what cannot be done is the agent's error, and no terminal is shown", () => {
    const params = { sessionId: "s1", command: "" };
    const error = { code: -32602, message: "command must not be empty" };
    play(runningDialogue(terminals), [
      ["agent", request(9, "terminal/create", params)],
      host(1, "terminal/create", params, { terminalId: TERMINAL }),
      ["event", { type: "hosted", call: 1, outcome: { error } }],
      ["to agent", fail(9, -32602, error.message)],
    ]);
  });

  test.each([
    [undefined, "/work"],
    ["/lib", "/lib"],
    ["src", "/work/src"],
  ])("a terminal in %j is shown in %s", (cwd, shown) => {
    const dialogue = runningDialogue(terminals);
    dialogue.agent(request(9, "terminal/create", { sessionId: "s1", command: "ls", ...(cwd && { cwd }) }));
    const { toClient } = dialogue.event({ type: "hosted", call: 1, outcome: { result: {} } });
    expect(toClient).toEqual([terminalUpdate({ command: "ls", cwd: shown })]);
  });

  test("one that outlives its turn goes on after the idle; no state lists background work", () => {
    const dialogue = runningDialogue(terminals);
    const script: Row[] = [
      ...created(),
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
      changed({ data: "aGk=" }),
      ["to client", outputChunk("aGk=")],
      changed({ exitStatus: { exitCode: 0 } }),
      ["to client", terminalUpdate({ exitStatus: { exitCode: 0 } })],
    ];
    play(dialogue, script);
    expect(JSON.stringify(script)).not.toContain("background");
  });

  test("of a child session: shown in the only session at work, and its later requests are that session's", () => {
    play(runningDialogue(terminals), [
      ["agent", request(9, "terminal/create", { sessionId: "child", command: "ls" })],
      host(1, "terminal/create", { sessionId: "s1", command: "ls" }, { terminalId: TERMINAL }),
      hosted(1, {}),
      ["to client", terminalUpdate({ command: "ls", cwd: "/work" })],
      ["to agent", reply(9, { terminalId: TERMINAL })],
      ["agent", request(10, "terminal/release", { sessionId: "child", terminalId: TERMINAL })],
      host(2, "terminal/release", ofTerminal),
    ]);
  });

  test("for a session nobody has, with none at work: -32002", () => {
    play(openDialogue(terminals), [
      ["agent", request(9, "terminal/create", { sessionId: "child", command: "ls" })],
      ["to agent", fail(9, -32002, "session not found", { sessionId: "child" })],
    ]);
  });

  test("end with their session: nothing more is shown, and an open wait is still answered", () => {
    play(openDialogue(terminals), [
      ...created(),
      ["agent", request(10, "terminal/wait_for_exit", ofTerminal)],
      host(2, "terminal/wait_for_exit", ofTerminal),
      ["client", request("c", "session/close", { sessionId: "s1" })],
      ["to agent", request(3, "session/close", { sessionId: "s1" })],
      ["does", { type: "end-terminals", sessionId: "s1" }],
      changed({ exitStatus: { exitCode: 0 } }),
      hosted(2, { exitCode: null, signal: "SIGTERM" }),
      ["to agent", reply(10, { exitCode: null, signal: "SIGTERM" })],
      ["agent", reply(3, {})],
      ["to client", reply("c", {})],
    ]);
  });

  test("a terminal whose session was closed before it was made is not shown", () => {
    const params = { sessionId: "s1", command: "ls" };
    play(openDialogue(terminals), [
      ["agent", request(9, "terminal/create", params)],
      host(1, "terminal/create", params, { terminalId: TERMINAL }),
      ["client", request("c", "session/close", { sessionId: "s1" })],
      ["to agent", request(3, "session/close", { sessionId: "s1" })],
      ["does", { type: "end-terminals", sessionId: "s1" }],
      hosted(1, {}),
      ["to agent", reply(9, { terminalId: TERMINAL })],
    ]);
  });
});

describe("§10 hosted files", () => {
  const opened = (additionalDirectories: string[]): Dialogue => {
    const dialogue = pairedDialogue(files);
    dialogue.client(request("n", "session/new", { cwd: "/work", additionalDirectories }));
    dialogue.agent(reply(2, { sessionId: "s1" }));
    return dialogue;
  };

  test.each<[string, object, object]>([
    ["fs/read_text_file", { path: "/lib/a", line: 2, limit: 3 }, { content: "a\n" }],
    ["fs/write_text_file", { path: "/work/a", content: "b" }, {}],
  ])("%s: within the session's directories", (method, fields, result) => {
    const params = { sessionId: "s1", ...fields };
    play(opened(["/lib", "/more"]), [
      ["agent", request(9, method, params)],
      host(1, method, params, { roots: ["/work", "/lib", "/more"] }),
      hosted(1, result),
      ["to agent", reply(9, result)],
    ]);
  });

  test("after a resume: those the resume named", () => {
    const dialogue = pairedDialogue(files);
    dialogue.client(
      request("r", "session/resume", { sessionId: "s1", cwd: "/elsewhere", additionalDirectories: ["/lib"] }),
    );
    dialogue.agent(reply(2, {}));
    const params = { sessionId: "s1", path: "/lib/a" };
    play(dialogue, [
      ["agent", request(9, "fs/read_text_file", params)],
      host(1, "fs/read_text_file", params, { roots: ["/elsewhere", "/lib"] }),
    ]);
  });

  test("a live session that is resumed elsewhere works there", () => {
    const dialogue = openDialogue(files, agentHello);
    dialogue.client(request("r", "session/resume", { sessionId: "s1", cwd: "/elsewhere" }));
    dialogue.agent(reply(3, {}));
    const params = { sessionId: "s1", path: "/elsewhere/a" };
    play(dialogue, [
      ["agent", request(9, "fs/read_text_file", params)],
      host(1, "fs/read_text_file", params, { roots: ["/elsewhere"] }),
    ]);
  });
});
