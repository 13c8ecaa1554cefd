// Guards what is said when the agent fails (docs/mapping.md §1 last rule, §9 "dies"): each failure names what was run, in
// which phase, how it ended, what the agent said last and what to try, on stderr for the person and as the error for the
// client; and the exit status.
import { describe, expect, test } from "vitest";
import type { BridgeOptions } from "../../src/bridge/state.ts";
import type { JsonObject } from "../../src/protocol/json.ts";
import {
  accepted,
  agentHello,
  clientHello,
  createDialogue,
  fail,
  idle,
  minted,
  notify,
  openDialogue,
  openDowngrade,
  pairedDialogue,
  play,
  prompt,
  type Row,
  RUNNING,
  reply,
  request,
  runningDialogue,
  text,
} from "../support/dialogue.ts";

const command = ["/opt/agent", "--acp"];
const ran: Partial<BridgeOptions> = { agentCommand: command, agentStderr: () => "one\n\ntwo\r\nlast words\n" };
const stderr = ["one", "two", "last words"];

const exit = (code: number | null, signal: string | null = null): Row => [
  "event",
  { type: "agent-exit", code, signal },
];
const notStarted = (code: string): Row => [
  "event",
  { type: "agent-exit", code: null, signal: null, spawnError: { code, message: `spawn /opt/agent ${code}` } },
];
const hello = (id: unknown): Row => ["client", request(id, "initialize", clientHello)];
const helloToAgent: Row = ["to agent", expect.objectContaining({ id: 1, method: "initialize" })];

/** The error of a failure: everything a client needs to show. */
const failure = (id: unknown, message: string, data: JsonObject): Row => [
  "to client",
  fail(id, -32603, expect.stringMatching(new RegExp(`^[^\\n]*${message}[^\\n]*/opt/agent --acp`)), {
    command,
    stderr,
    hint: expect.stringMatching(/\w/),
    ...data,
  }),
];

describe("what is said", () => {
  const cases: [string, Row[], { phase: string; says: RegExp; hint: RegExp }][] = [
    [
      "a missing command, noticed before the client has asked anything",
      [
        notStarted("ENOENT"),
        hello("i"),
        failure("i", "could not be started", { phase: "start", cause: "ENOENT" }),
        ["done", 127],
      ],
      { phase: "start", says: /could not be started: spawn \/opt\/agent ENOENT/, hint: /spelling|install/ },
    ],
    [
      "a missing command, noticed after",
      [
        hello("i"),
        helloToAgent,
        notStarted("ENOENT"),
        failure("i", "could not be started", { phase: "start", cause: "ENOENT" }),
        ["done", 127],
      ],
      { phase: "start", says: /could not be started/, hint: /spelling|install/ },
    ],
    [
      "a file that may not be run",
      [
        hello("i"),
        helloToAgent,
        notStarted("EACCES"),
        failure("i", "could not be started", { phase: "start", cause: "EACCES" }),
        ["done", 126],
      ],
      { phase: "start", says: /could not be started/, hint: /execute/ },
    ],
    [
      "a server that says no, and hangs up",
      [
        hello("i"),
        helloToAgent,
        ["agent", fail(1, -32603, "no agent", { command: ["there"], phase: "start" })],
        ["to agent", expect.objectContaining({ id: 2, method: "initialize" })],
        ["event", { type: "agent-exit", code: null, signal: null, connection: "tcp:a:1 closed the connection" }],
        ["to client", fail("i", -32603, "no agent", { command: ["there"], phase: "start" })],
        ["done", 1],
      ],
      { phase: "connect", says: /tcp:a:1 closed the connection: no agent/, hint: /--token-file/ },
    ],
    [
      "a command that prints its usage and ends, before the client has asked anything",
      [
        exit(2),
        hello("i"),
        failure("i", "status 2 before it answered initialize", { phase: "start", exitCode: 2, signal: null }),
        ["done", 2],
      ],
      { phase: "start", says: /exited with status 2 before it answered initialize/, hint: /by itself/ },
    ],
    [
      "a command that says no to the first `initialize`, and ends before it answers the second",
      [
        hello("i"),
        helloToAgent,
        ["agent", fail(1, -32602, "no")],
        ["to agent", expect.objectContaining({ id: 2, method: "initialize" })],
        exit(1),
        failure("i", "status 1 before it answered initialize", { phase: "initialize", exitCode: 1, signal: null }),
        ["done", 1],
      ],
      { phase: "initialize", says: /exited with status 1 before it answered initialize/, hint: /--acp/ },
    ],
    [
      "a server that says no to the first `initialize`, and breaks off later",
      [
        hello("i"),
        helloToAgent,
        ["agent", fail(1, -32602, "no")],
        ["to agent", expect.objectContaining({ id: 2, method: "initialize" })],
        ["agent", reply(2, agentHello)],
        ["to client", expect.objectContaining({ id: "i" })],
        ["client", request("x", "_vendor/do", {})],
        ["to agent", request(3, "_vendor/do", {})],
        ["event", { type: "agent-exit", code: null, signal: null, connection: "it broke" }],
        failure("x", "it broke \\(", { phase: "session" }),
        ["done", 1],
      ],
      { phase: "session", says: /: it broke\n/, hint: /--token-file/ },
    ],
    ...(["connect", "session"] as const).map(
      (phase): [string, Row[], { phase: string; says: RegExp; hint: RegExp }] => [
        `a connection that breaks, in the phase ${phase}`,
        [
          hello("i"),
          helloToAgent,
          ...(phase === "connect"
            ? []
            : ([
                ["agent", reply(1, agentHello)],
                ["to client", expect.objectContaining({ id: "i" })],
                ["client", request("x", "_vendor/do", {})],
                ["to agent", request(2, "_vendor/do", {})],
              ] satisfies Row[])),
          ["event", { type: "agent-exit", code: null, signal: null, connection: "nobody\nlistens there" }],
          failure(phase === "connect" ? "i" : "x", "nobody listens there", { phase }),
          ["done", 1],
        ],
        {
          phase,
          says: /nobody listens there/,
          hint: /listens there, and, where it asks for a token, that --token-file/,
        },
      ],
    ),
    [
      "a command that ends when it is asked",
      [
        hello("i"),
        helloToAgent,
        exit(1),
        failure("i", "status 1 before it answered initialize", { phase: "initialize", exitCode: 1, signal: null }),
        ["done", 1],
      ],
      { phase: "initialize", says: /exited with status 1 before it answered initialize/, hint: /--acp/ },
    ],
    [
      "a command that ends well without an answer",
      [
        hello("i"),
        helloToAgent,
        exit(0),
        failure("i", "status 0 before it answered initialize", { phase: "initialize", exitCode: 0, signal: null }),
        ["done", 1],
      ],
      { phase: "initialize", says: /exited with status 0 before it answered initialize/, hint: /ACP agent/ },
    ],
    [
      "a command killed when it is asked",
      [
        hello("i"),
        helloToAgent,
        exit(null, "SIGSEGV"),
        failure("i", "SIGSEGV", { phase: "initialize", exitCode: null, signal: "SIGSEGV" }),
        ["done", 139],
      ],
      { phase: "initialize", says: /was ended by SIGSEGV/, hint: /\w/ },
    ],
    [
      "a command that never answers",
      [
        hello("i"),
        helloToAgent,
        ["wait", 59_999],
        ["wait", 1],
        failure("i", "did not answer initialize within 60 s", { phase: "initialize", timeoutMs: 60_000 }),
        ["done", 1],
        // The agent's end comes too late to say anything new.
        exit(null, "SIGTERM"),
      ],
      { phase: "initialize", says: /did not answer initialize within 60 s/, hint: /--handshake-timeout/ },
    ],
    [
      "a command that refuses the first `initialize` and never answers the second: one time-out for both",
      [
        hello("i"),
        helloToAgent,
        ["wait", 59_000],
        ["agent", fail(1, -32602, "no")],
        ["to agent", expect.objectContaining({ id: 2, method: "initialize" })],
        ["wait", 1000],
        failure("i", "did not answer initialize within 60 s", { phase: "initialize", timeoutMs: 60_000 }),
        ["done", 1],
      ],
      { phase: "initialize", says: /did not answer initialize/, hint: /--handshake-timeout/ },
    ],
  ];
  test.each(cases)("of %s", (_, script, { phase, says, hint }) => {
    const said = play(createDialogue(ran), script);
    expect(said).toMatch(/^acp-shift: /);
    expect(said).toMatch(says);
    expect(said).toMatch(hint);
    expect(said).toContain("command: /opt/agent --acp");
    expect(said).toMatch(new RegExp(`phase: +${phase}`));
    for (const line of stderr) expect(said).toContain(line);
  });

  test("of a crash mid-turn", () => {
    const said = play(runningDialogue(ran), [
      exit(3),
      [
        "to client",
        idle({
          stopReason: "error",
          error: {
            code: -32603,
            message: expect.stringMatching(/status 3.*\/opt\/agent --acp/),
            data: { command, stderr, phase: "turn", exitCode: 3, signal: null, hint: expect.any(String) },
          },
        }),
      ],
      ["done", 3],
    ]);
    expect(said).toMatch(/exited with status 3 while it was working/);
    expect(said).toMatch(/phase: +turn/);
    expect(said).toContain("last words");
  });

  test("of a connection that breaks mid-turn", () => {
    const said = play(runningDialogue(ran), [
      ["event", { type: "agent-exit", code: null, signal: null, connection: "it broke" }],
      ["to client", idle({ stopReason: "error", error: expect.objectContaining({ code: -32603 }) })],
      ["done", 1],
    ]);
    expect(said).toMatch(/phase: +turn/);
  });

  test("of an end between the turns", () => {
    const said = play(openDialogue(ran), [exit(null, "SIGKILL"), ["done", 137]]);
    const lines = [
      "acp-shift: the agent was ended by SIGKILL",
      "  command: /opt/agent --acp",
      "  phase:   session",
      "  its last words:",
      "    one",
      "    two",
      "    last words",
      "  What it said last is above; start it again to go on.",
    ];
    expect(said).toBe(lines.join("\n"));
  });

  test("of an end between the turns of a version 1 client", () => {
    const said = play(openDowngrade({}, { agentStderr: () => "" }), [exit(3), ["done", 3]]);
    const lines = [
      "acp-shift: the agent exited with status 3",
      "  command: /usr/bin/test-agent --acp",
      "  phase:   session",
      "  What it said last is above; start it again to go on.",
    ];
    expect(said).toBe(lines.join("\n"));
  });

  test("of a good end between the turns: nothing", () => {
    expect(play(openDialogue(ran), [exit(0), ["done", 0]])).toBe("");
  });

  test("of an end after the client has left: nothing", () => {
    const left: Row = ["event", { type: "client-left" }];
    expect(play(openDialogue(ran), [left, exit(null, "SIGTERM"), ["done", 0]])).toBe("");
    expect(
      play(runningDialogue(ran), [
        left,
        exit(1),
        ["to client", idle({ stopReason: "error", error: expect.objectContaining({ code: -32603 }) })],
        ["done", 0],
      ]),
    ).toBe("");
  });

  test("the end of stderr: 20 lines, 500 characters each", () => {
    const lines = Array.from({ length: 50 }, (_, index) => `line ${index} ${"x".repeat(1000)}`);
    const dialogue = createDialogue({ ...ran, agentStderr: () => lines.join("\n") });
    dialogue.client(request("i", "initialize", clientHello));
    const { toClient } = dialogue.event({ type: "agent-exit", code: 1, signal: null });
    const expected = lines.slice(30).map((line) => line.slice(0, 500));
    expect(toClient).toEqual([
      {
        jsonrpc: "2.0",
        id: "i",
        error: expect.objectContaining({ data: expect.objectContaining({ stderr: expected }) }),
      },
    ]);
  });

  test("an agent that said nothing: no such lines", () => {
    const said = play(createDialogue({ ...ran, agentStderr: () => "\n \n" }), [
      hello("i"),
      helloToAgent,
      exit(1),
      ["to client", { jsonrpc: "2.0", id: "i", error: expect.objectContaining({ code: -32603 }) }],
      ["done", 1],
    ]);
    expect(said).not.toContain("its last words");
  });
});

describe("a client that has not asked anything is waited for, so that it hears of it", () => {
  test("but not for ever", () => {
    play(createDialogue(ran), [notStarted("ENOENT"), ["wait", 999], ["wait", 1], ["done", 127]]);
    expect(play(createDialogue(ran), [exit(0), ["wait", 1000], ["done", 1]])).toMatch(/status 0 before it answered/);
  });

  test("nor one whose `initialize` was refused, which may try again", () => {
    play(createDialogue({ ...ran, agentProtocol: "1" }), [
      hello("i"),
      helloToAgent,
      ["agent", fail(1, -32000, "log in first")],
      ["to client", fail("i", -32000, "log in first")],
      exit(1),
      ["wait", 999],
      hello("j"),
      failure("j", "status 1 before it answered initialize", { phase: "start", exitCode: 1, signal: null }),
      ["done", 1],
    ]);
  });

  test("nor when it leaves", () => {
    play(createDialogue(ran), [notStarted("ENOENT"), ["event", { type: "client-left" }], ["done", 127]]);
  });

  test("nor when it has left before", () => {
    play(createDialogue(ran), [["event", { type: "client-left" }], exit(null, "SIGTERM"), ["done", 0]]);
  });

  test("whatever it asks", () => {
    play(createDialogue(ran), [
      exit(1),
      ["client", notify("session/cancel", { sessionId: "s1" })],
      ["client", request(1, "session/new", { cwd: "/" })],
      failure(1, "status 1", { phase: "start", exitCode: 1, signal: null }),
      ["done", 1],
    ]);
  });
});

describe("exit status", () => {
  const idleEnds: [string, Row, number][] = [
    ["own status", exit(7), 7],
    ["own status 0", exit(0), 0],
    ["status 255", exit(255), 255],
    ["SIGHUP", exit(null, "SIGHUP"), 129],
    ["SIGINT", exit(null, "SIGINT"), 130],
    ["SIGABRT", exit(null, "SIGABRT"), 134],
    ["SIGKILL", exit(null, "SIGKILL"), 137],
    ["SIGTERM", exit(null, "SIGTERM"), 143],
  ];
  test.each(idleEnds)("of an agent that ends between the turns: %s → %s", (_, event, status) => {
    play(openDialogue(), [event, ["done", status]]);
  });

  test("of an agent that ends with 0 and leaves work undone: 1", () => {
    play(runningDialogue(), [
      exit(0),
      ["to client", idle({ stopReason: "error", error: expect.objectContaining({ code: -32603 }) })],
      ["done", 1],
    ]);
  });

  test("of an agent that ends with 0 and leaves a request unanswered: 1", () => {
    play(openDialogue(), [
      ["client", request("l", "session/list", {})],
      ["to agent", request(3, "session/list", {})],
      exit(0),
      ["to client", { jsonrpc: "2.0", id: "l", error: expect.objectContaining({ code: -32603 }) }],
      ["done", 1],
    ]);
  });

  test("when the client left first: 0, however the agent ends", () => {
    for (const event of [exit(0), exit(1), exit(null, "SIGKILL")])
      play(openDialogue(), [["event", { type: "client-left" }], event, ["done", 0]]);
  });

  test("passed through: the client's open requests are answered, and the status is the same", () => {
    const v2 = { protocolVersion: 2, info: { name: "a", version: "1" }, capabilities: { session: {} } };
    play(pairedDialogue(ran, v2), [
      ["client", request(7, "session/new", { cwd: "/" })],
      ["to agent", request(7, "session/new", { cwd: "/" })],
      ["client", request(8, "session/list", {})],
      ["to agent", request(8, "session/list", {})],
      ["agent", reply(8, { sessions: [] })],
      ["to client", reply(8, { sessions: [] })],
      exit(5),
      failure(7, "status 5", { phase: "session", exitCode: 5, signal: null }),
      ["done", 5],
    ]);
  });

  test("the bridge is done once: nothing that comes later has an effect", () => {
    play(openDialogue(), [
      exit(1),
      ["done", 1],
      exit(2),
      ["client", prompt("p", "hi")],
      ["agent", reply(3, {})],
      ["event", { type: "client-left" }],
      ["wait", 60_000],
    ]);
  });
});

describe("the client leaves (§0 I5)", () => {
  test("the agent's open requests are answered; running work goes on until the agent ends", () => {
    const dialogue = runningDialogue();
    dialogue.agent(
      request("perm", "session/request_permission", {
        sessionId: "s1",
        toolCall: { toolCallId: "t", title: "T" },
        options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
      }),
    );
    dialogue.agent(request("ext", "_vendor/x", {}));
    play(dialogue, [
      ["event", { type: "client-left" }],
      ["to agent", reply("perm", { outcome: { outcome: "cancelled" } })],
      ["to agent", fail("ext", -32603, expect.any(String))],
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
      exit(0),
      ["done", 0],
    ]);
  });
});

test("§1 after a refused `initialize` no time-out runs on, and none after a good one", () => {
  play(createDialogue({ ...ran, agentProtocol: "1" }), [
    hello("i"),
    helloToAgent,
    ["agent", fail(1, -32000, "log in first")],
    ["to client", fail("i", -32000, "log in first")],
    // No time-out runs on while the person logs in.
    ["wait", 600_000],
    hello("j"),
    ["to agent", expect.objectContaining({ id: 2 })],
    ["agent", reply(2, agentHello)],
    ["to client", expect.objectContaining({ id: "j" })],
    ["wait", 600_000],
    ["client", request("n", "session/new", { cwd: "/work" })],
    ["to agent", request(3, "session/new", { cwd: "/work", mcpServers: [] })],
    ["agent", reply(3, { sessionId: "s1" })],
    ["to client", reply("n", { sessionId: "s1" })],
    ["client", prompt("p", "hi")],
    ["to agent", request(4, "session/prompt", { sessionId: "s1", prompt: [text("hi")] })],
    ["wait", 50],
    ...accepted("p", minted(1), "hi"),
  ]);
});
