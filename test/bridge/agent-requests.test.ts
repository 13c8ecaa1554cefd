// Guards docs/mapping.md §10: what the agent asks of the client, and that it always gets exactly one answer.
import { describe, expect, test } from "vitest";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import {
  accepted,
  agentHello,
  clientHello,
  createDialogue,
  type Dialogue,
  fail,
  idle,
  minted,
  notify,
  openDialogue,
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

const ALLOW = { optionId: "yes", name: "Yes", kind: "allow_once" };
const REJECT = { optionId: "no", name: "No", kind: "reject_once" };
const CANCELLED = { outcome: { outcome: "cancelled" } };
const selected = (optionId: string) => ({ outcome: { outcome: "selected", optionId } });

const permission = (id: unknown, toolCall: unknown, more: object = {}) =>
  request(id, "session/request_permission", { sessionId: "s1", toolCall, options: [ALLOW, REJECT], ...more });
const asked = (id: number, title: string, toolCall: object, more: object = {}): Row => [
  "to client",
  request(id, "session/request_permission", {
    sessionId: "s1",
    title,
    subject: { type: "tool_call", toolCall },
    options: [ALLOW, REJECT],
    ...more,
  }),
];
const announced = (fields: object): Row => [
  "to client",
  update("s1", { sessionUpdate: "tool_call_update", ...fields }),
];
const toolCall = (fields: object): Row[] => [
  ["agent", update("s1", { sessionUpdate: "tool_call", ...fields })],
  announced(fields),
];
const REQUIRES_ACTION: Row = ["to client", stateUpdate("requires_action")];
const RUNS: Row = ["to client", stateUpdate("running")];

describe("§10 session/request_permission: what the client is asked", () => {
  const cases: [string, Row[]][] = [
    [
      "a known tool call: the question, then requires_action; the tracked title is the title",
      [
        ...toolCall({ toolCallId: "t", title: "Run ls", kind: "execute", rawInput: { command: "ls" } }),
        ["agent", permission(0, { toolCallId: "t" })],
        asked(1, "Run ls", { toolCallId: "t" }),
        REQUIRES_ACTION,
      ],
    ],
    [
      "a tool call never announced: announced first",
      [
        ["agent", permission(0, { toolCallId: "t", title: "Run ls", kind: "execute" })],
        announced({ toolCallId: "t", title: "Run ls", kind: "execute" }),
        asked(1, "Run ls", { toolCallId: "t", title: "Run ls", kind: "execute" }),
        REQUIRES_ACTION,
      ],
    ],
    [
      "a tool call never announced, and without a title: it gets one",
      [
        ["agent", permission(0, { toolCallId: "t", kind: "execute" })],
        announced({ toolCallId: "t", title: "execute", kind: "execute" }),
        asked(1, "execute", { toolCallId: "t", kind: "execute" }),
        REQUIRES_ACTION,
      ],
    ],
    [
      "the request's own title goes before the tracked one",
      [
        ...toolCall({ toolCallId: "t", title: "Run ls" }),
        ["agent", permission(0, { toolCallId: "t", title: "Run ls -l" })],
        asked(1, "Run ls -l", { toolCallId: "t", title: "Run ls -l" }),
        REQUIRES_ACTION,
      ],
    ],
    [
      "empty fields of the request never overwrite known ones",
      [
        ...toolCall({ toolCallId: "t", title: "Run ls", rawInput: { command: "ls" }, content: [] }),
        [
          "agent",
          permission(0, { toolCallId: "t", title: "", status: null, rawInput: {}, content: [], locations: [] }),
        ],
        asked(1, "Run ls", { toolCallId: "t" }),
        REQUIRES_ACTION,
      ],
    ],
    [
      "no title anywhere",
      [
        ...toolCall({ toolCallId: "t", title: "Done", status: "completed" }),
        ["agent", permission(0, { toolCallId: "t", rawInput: {} })],
        asked(1, "Permission required", { toolCallId: "t" }),
        REQUIRES_ACTION,
      ],
    ],
    [
      "a diff of a tool call that is over is of a whole file",
      [
        ...toolCall({ toolCallId: "t", title: "Done", status: "completed" }),
        [
          "agent",
          permission(0, { toolCallId: "t", content: [{ type: "diff", path: "/a", oldText: "a", newText: "b" }] }),
        ],
        asked(1, "Permission required", {
          toolCallId: "t",
          content: [
            {
              type: "diff",
              changes: [{ operation: "modify", path: "/a", fileType: "text" }],
              patch: { format: "git_patch", text: expect.stringContaining("No newline at end of file") },
            },
          ],
        }),
        REQUIRES_ACTION,
      ],
    ],
    [
      "a bad optional part is left out",
      [
        ...toolCall({ toolCallId: "t", title: "T" }),
        ["agent", permission(0, { toolCallId: "t" }, { _meta: 1 })],
        asked(1, "T", { toolCallId: "t" }),
        REQUIRES_ACTION,
      ],
    ],
    [
      "the tool call is translated as any other; unknown fields and `_meta` are kept",
      [
        [
          "agent",
          permission(
            0,
            { toolCallId: "t", title: "Edit", kind: "patch", locations: [{ path: "a.txt" }] },
            { _meta: { a: 1 }, extra: 2 },
          ),
        ],
        announced({ toolCallId: "t", title: "Edit", kind: "_patch", locations: [{ path: "/work/a.txt" }] }),
        asked(
          1,
          "Edit",
          { toolCallId: "t", title: "Edit", kind: "_patch", locations: [{ path: "/work/a.txt" }] },
          { _meta: { a: 1 }, extra: 2 },
        ),
        REQUIRES_ACTION,
      ],
    ],
    [
      "an option kind v2 does not define gets a prefix",
      [
        ...toolCall({ toolCallId: "t", title: "T" }),
        [
          "agent",
          permission(0, { toolCallId: "t" }, { options: [{ optionId: "x", name: "X", kind: "allow_session" }] }),
        ],
        asked(1, "T", { toolCallId: "t" }, { options: [{ optionId: "x", name: "X", kind: "_allow_session" }] }),
        REQUIRES_ACTION,
      ],
    ],
    [
      "no tool call at all: asked without a subject",
      [
        ["agent", permission(0, undefined)],
        [
          "to client",
          request(1, "session/request_permission", {
            sessionId: "s1",
            title: "Permission required",
            options: [ALLOW, REJECT],
          }),
        ],
        REQUIRES_ACTION,
        ["client", reply(1, selected("yes"))],
        ["to agent", reply(0, selected("yes"))],
        RUNS,
      ],
    ],
  ];
  test.each(cases)("%s", (_, script) => {
    play(runningDialogue(), script);
  });

  test("outside a turn it is background: no state", () => {
    play(openDialogue(), [
      ["agent", permission(0, { toolCallId: "t", title: "T" })],
      announced({ toolCallId: "t", title: "T" }),
      asked(1, "T", { toolCallId: "t", title: "T" }),
      ["client", reply(1, selected("yes"))],
      ["to agent", reply(0, selected("yes"))],
    ]);
  });

  test("in the settle window the state stays what it is", () => {
    play(runningDialogue({ settle: 50 }), [
      ...toolCall({ toolCallId: "t", title: "T" }),
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["agent", permission(0, { toolCallId: "t" })],
      asked(1, "T", { toolCallId: "t" }),
      ["client", reply(1, selected("yes"))],
      ["to agent", reply(0, selected("yes"))],
      ["wait", 50],
      ["to client", idle({ stopReason: "end_turn" })],
    ]);
  });

  const noOptions: [string, unknown, Row[]][] = [
    ["an empty list", [], []],
    ["none", undefined, []],
    ["null", null, []],
    ["no option with an id", [{ name: "Yes", kind: "allow_once" }], []],
  ];
  test.each(noOptions)("options: %s → `cancelled` to the agent, a notice to the client", (_, options) => {
    play(runningDialogue(), [
      ...toolCall({ toolCallId: "t", title: "T" }),
      ["agent", permission(0, { toolCallId: "t" }, { options })],
      [
        "to client",
        update("s1", {
          sessionUpdate: "notice",
          severity: "warning",
          title: expect.stringContaining("permission"),
          description: expect.any(String),
        }),
      ],
      ["to agent", reply(0, CANCELLED)],
      ["log", "permission-cancelled"],
    ]);
  });
});

describe("§6 a tool call that was asked about, and of which the agent says nothing more before its turn ends", () => {
  const cases: [string, unknown, Row[], Row[]][] = [
    ["is failed when it was refused", reply(1, selected("no")), [], [announced({ toolCallId: "t", status: "failed" })]],
    [
      "is failed when the client gave no answer",
      reply(1, CANCELLED),
      [],
      [announced({ toolCallId: "t", status: "failed" })],
    ],
    ["stays open when it was allowed", reply(1, selected("yes")), [], []],
    [
      "stays open when the agent gives it a status in spite of the refusal",
      reply(1, selected("no")),
      toolCall({ toolCallId: "t", title: "T", status: "in_progress" }),
      [],
    ],
    [
      "is failed when the agent gives it anything but a status",
      reply(1, selected("no")),
      toolCall({ toolCallId: "t", title: "Refused" }),
      [announced({ toolCallId: "t", status: "failed" })],
    ],
  ];
  test.each(cases)("%s", (_, answer, said, ended) => {
    play(runningDialogue(), [
      ...toolCall({ toolCallId: "t", title: "T", status: "pending" }),
      ["agent", permission("perm", { toolCallId: "t" })],
      asked(1, "T", { toolCallId: "t" }),
      REQUIRES_ACTION,
      ["client", answer],
      ["to agent", reply("perm", asObject(asObject(answer)["result"]))],
      RUNS,
      ...said,
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ...ended,
      ["to client", idle({ stopReason: "end_turn" })],
    ]);
  });
});

describe("§10 session/request_permission: what the agent gets", () => {
  const answers: [string, unknown, unknown][] = [
    ["an offered option, to allow", reply(1, selected("yes")), selected("yes")],
    ["an offered option, to reject", reply(1, selected("no")), selected("no")],
    [
      "`_meta` of the result and of the outcome",
      reply(1, { outcome: { outcome: "selected", optionId: "yes", _meta: { a: 1 } }, _meta: { b: 2 } }),
      { outcome: { outcome: "selected", optionId: "yes", _meta: { a: 1 } }, _meta: { b: 2 } },
    ],
    ["cancelled", reply(1, CANCELLED), CANCELLED],
    ["an option that was not offered", reply(1, selected("maybe")), CANCELLED],
    ["no option", reply(1, { outcome: { outcome: "selected" } }), CANCELLED],
    ["an option id of another type", reply(1, { outcome: { outcome: "selected", optionId: ["yes"] } }), CANCELLED],
    ["an unknown outcome", reply(1, { outcome: { outcome: "_allowed", optionId: "yes" } }), CANCELLED],
    ["an outcome that is text", reply(1, { outcome: "selected", optionId: "yes" }), CANCELLED],
    ["no outcome", reply(1, {}), CANCELLED],
    ["null", reply(1, null), CANCELLED],
    ["text", reply(1, "yes"), CANCELLED],
    ["the error -32800", fail(1, -32800, "cancelled"), CANCELLED],
    ["another error", fail(1, -32603, "broken"), CANCELLED],
    ["an error that is none", { jsonrpc: "2.0", id: 1, error: null }, CANCELLED],
    [
      "a result and an error",
      { jsonrpc: "2.0", id: 1, error: { code: 1, message: "" }, result: selected("yes") },
      CANCELLED,
    ],
    ["the string twin of the id", reply("1", selected("yes")), selected("yes")],
  ];
  test.each(answers)("answered with %s", (_, answer, result) => {
    play(runningDialogue(), [
      ...toolCall({ toolCallId: "t", title: "T" }),
      ["agent", permission("perm", { toolCallId: "t" })],
      asked(1, "T", { toolCallId: "t" }),
      REQUIRES_ACTION,
      ["client", answer],
      ["to agent", reply("perm", result)],
      RUNS,
    ]);
  });

  test.each([[0], [7], ["7"], [""], ["6f1c"], [-1]])("the agent's own id comes back: %j", (id) => {
    play(runningDialogue(), [
      ...toolCall({ toolCallId: "t", title: "T" }),
      ["agent", permission(id, { toolCallId: "t" })],
      asked(1, "T", { toolCallId: "t" }),
      REQUIRES_ACTION,
      ["client", reply(1, selected("yes"))],
      ["to agent", reply(id, selected("yes"))],
      RUNS,
    ]);
  });

  test("a second answer settles nothing", () => {
    play(runningDialogue(), [
      ...toolCall({ toolCallId: "t", title: "T" }),
      ["agent", permission(0, { toolCallId: "t" })],
      asked(1, "T", { toolCallId: "t" }),
      REQUIRES_ACTION,
      ["client", reply(1, selected("no"))],
      ["to agent", reply(0, selected("no"))],
      RUNS,
      ["client", reply(1, selected("yes"))],
    ]);
  });

  test("two open at once: `running` only when both are answered", () => {
    play(runningDialogue(), [
      ...toolCall({ toolCallId: "t", title: "T" }),
      ["agent", permission(0, { toolCallId: "t" })],
      asked(1, "T", { toolCallId: "t" }),
      REQUIRES_ACTION,
      ["agent", permission(1, { toolCallId: "t" })],
      asked(2, "T", { toolCallId: "t" }),
      ["client", reply(2, selected("yes"))],
      ["to agent", reply(1, selected("yes"))],
      ["client", reply(1, selected("yes"))],
      ["to agent", reply(0, selected("yes"))],
      RUNS,
    ]);
  });

  test("neither what is no question nor the question of another session is waited for", () => {
    const dialogue = runningDialogue();
    dialogue.client(request("new2", "session/new", { cwd: "/work" }));
    dialogue.agent(reply(RUNNING + 1, { sessionId: "s2" }));
    dialogue.agent(permission("x", undefined, { sessionId: "s2" }));
    dialogue.agent(request("y", "_ask", { sessionId: "s1" }));
    play(dialogue, [
      ...toolCall({ toolCallId: "t", title: "T" }),
      ["agent", permission(0, { toolCallId: "t" })],
      asked(3, "T", { toolCallId: "t" }),
      REQUIRES_ACTION,
      ["client", reply(3, selected("yes"))],
      ["to agent", reply(0, selected("yes"))],
      RUNS,
    ]);
  });

  test("answered after the turn has ended: passed on, no state", () => {
    play(runningDialogue(), [
      ...toolCall({ toolCallId: "t", title: "T" }),
      ["agent", permission(0, { toolCallId: "t" })],
      asked(1, "T", { toolCallId: "t" }),
      REQUIRES_ACTION,
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
      ["client", reply(1, selected("yes"))],
      ["to agent", reply(0, selected("yes"))],
    ]);
  });
});

/** A session in which a prompt runs, of a client with elicitation. */
function elicitingDialogue(): Dialogue {
  const dialogue = createDialogue();
  const capabilities = { elicitation: { form: {}, url: {} } };
  dialogue.client(request("init", "initialize", { ...clientHello, capabilities }));
  dialogue.agent(reply(1, agentHello));
  dialogue.client(request("new", "session/new", { cwd: "/work" }));
  dialogue.agent(reply(2, { sessionId: "s1" }));
  play(dialogue, [
    ["client", prompt("p", "hello")],
    ["to agent", request(RUNNING, "session/prompt", { sessionId: "s1", prompt: [text("hello")] })],
    ["wait", 50],
    ...accepted("p", minted(1), "hello"),
  ]);
  return dialogue;
}

describe("§10 elicitation", () => {
  const form = { mode: "form", message: "Which?", requestedSchema: { type: "object", properties: {} } };
  const url = { mode: "url", message: "Sign in", url: "https://example.org", elicitationId: "e1" };
  const create = (id: unknown, params: JsonObject) => request(id, "elicitation/create", params);

  test.each([form, url])(
    "at a client that has it: asked as it is ($mode), requires_action until answered",
    (params) => {
      const question = { ...params, sessionId: "s1", _meta: { a: 1 } };
      const answer = { action: "accept", content: { a: "b" }, _meta: { b: 2 } };
      play(elicitingDialogue(), [
        ["agent", create("e", question)],
        ["to client", create(1, question)],
        REQUIRES_ACTION,
        ["client", reply(1, answer)],
        ["to agent", reply("e", answer)],
        RUNS,
      ]);
    },
  );

  test.each([
    ["decline", reply(1, { action: "decline" }), reply("e", { action: "decline" })],
    ["cancel", reply(1, { action: "cancel" }), reply("e", { action: "cancel" })],
    ["an error", fail(1, -32603, "no"), fail("e", -32603, "no")],
  ])("answered with %s", (_, answer, result) => {
    const question = { ...form, sessionId: "s1" };
    play(elicitingDialogue(), [
      ["agent", create("e", question)],
      ["to client", create(1, question)],
      REQUIRES_ACTION,
      ["client", answer],
      ["to agent", result],
      RUNS,
    ]);
  });

  test("at a client without it, or without the mode: -32601, not asked", () => {
    play(runningDialogue(), [
      ["agent", create("e", { ...form, sessionId: "s1" })],
      ["to agent", fail("e", -32601, expect.stringContaining("elicitation"))],
    ]);
    play(elicitingDialogue(), [
      ["agent", create("e", { ...form, mode: "voice", sessionId: "s1" })],
      ["to agent", fail("e", -32601, expect.stringContaining("voice"))],
    ]);
  });

  test("elicitation/complete: passed on to a client that has elicitation, else logged", () => {
    const complete = notify("elicitation/complete", { elicitationId: "e1", _meta: { a: 1 } });
    play(elicitingDialogue(), [
      ["agent", complete],
      ["to client", complete],
    ]);
    play(runningDialogue(), [
      ["agent", complete],
      ["log", "elicitation-not-offered"],
    ]);
    play(elicitingDialogue(), [
      ["agent", notify("elicitation/complete", { elicitationId: 7 })],
      ["log", "params-invalid"],
    ]);
  });

  test("of no session and no request: asked in the one that runs", () => {
    play(elicitingDialogue(), [
      ["agent", create("e", form)],
      ["to client", create(1, { ...form, sessionId: "s1" })],
      REQUIRES_ACTION,
    ]);
  });

  test("of a session and a request, which cannot be: -32602, not asked", () => {
    play(elicitingDialogue(), [
      ["agent", create("e", { ...form, requestId: RUNNING, sessionId: "s1" })],
      ["to agent", fail("e", -32602, expect.any(String))],
    ]);
  });

  test("that cannot be made valid: -32602, not asked", () => {
    play(elicitingDialogue(), [
      ["agent", create("e", { message: 7, sessionId: "s1" })],
      ["to agent", fail("e", -32602, expect.any(String))],
    ]);
  });

  test("tied to a request of the client's: under the client's own id of it", () => {
    play(elicitingDialogue(), [
      ["client", request("login", "auth/login", { methodId: "web" })],
      ["to agent", request(4, "authenticate", { methodId: "web" })],
      ["agent", create("e", { ...url, requestId: 4 })],
      ["to client", create(1, { ...url, requestId: "login" })],
      ["client", reply(1, { action: "accept" })],
      ["to agent", reply("e", { action: "accept" })],
      ["agent", reply(4, {})],
      ["to client", reply("login", {})],
      // That request is over: nobody is to be asked about it.
      ["agent", create("f", { ...url, requestId: 4 })],
      ["to agent", reply("f", { action: "cancel" })],
    ]);
  });

  test("session/cancel: answered `cancel` at once and withdrawn; a new one is not asked", () => {
    const question = { ...form, sessionId: "s1" };
    play(elicitingDialogue(), [
      ["agent", create("e", question)],
      ["to client", create(1, question)],
      REQUIRES_ACTION,
      ["client", notify("session/cancel", { sessionId: "s1" })],
      ["to agent", notify("session/cancel", { sessionId: "s1" })],
      ["to agent", reply("e", { action: "cancel" })],
      ["to client", notify("$/cancel_request", { requestId: 1 })],
      ["agent", create("f", question)],
      ["to agent", reply("f", { action: "cancel" })],
      ["agent", reply(RUNNING, { stopReason: "cancelled" })],
      ["to client", idle({ stopReason: "cancelled" })],
    ]);
  });

  test("of a child session while one session runs: asked on its behalf; while none runs: cancelled", () => {
    const question = { ...form, sessionId: "child" };
    play(elicitingDialogue(), [
      ["agent", create("e", question)],
      ["to client", create(1, { ...form, sessionId: "s1", _meta: { "acp-shift/sessionId": "child" } })],
      REQUIRES_ACTION,
      ["client", reply(1, { action: "decline" })],
      ["to agent", reply("e", { action: "decline" })],
      RUNS,
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
      ["agent", create("f", question)],
      ["to agent", reply("f", { action: "cancel" })],
    ]);
  });
});

describe("§10 fs/* and terminal/*: -32601, whether or not the client knows the session", () => {
  test.each([
    "fs/read_text_file",
    "fs/write_text_file",
    "terminal/create",
    "terminal/output",
    "terminal/wait_for_exit",
    "terminal/kill",
    "terminal/release",
  ])("%s", (method) => {
    play(openDialogue(), [
      ["agent", request(0, method, { sessionId: "s1" })],
      ["to agent", fail(0, -32601, expect.stringContaining(method))],
      ["agent", request(1, method, { sessionId: "s9" })],
      ["to agent", fail(1, -32601, expect.stringContaining(method))],
    ]);
  });
});

describe("§10 a session id the client does not know", () => {
  const child = { toolCallId: "c", title: "Child" };
  const childPermission = (id: unknown) => permission(id, child, { sessionId: "child", _meta: { a: 1 } });
  const onBehalf = { _meta: { a: 1, "acp-shift/sessionId": "child" } };

  test("requests: asked on behalf of the one session that runs, with the original id in `_meta`", () => {
    play(runningDialogue(), [
      ["agent", childPermission(0)],
      announced(child),
      asked(1, "Child", child, onBehalf),
      REQUIRES_ACTION,
      ["client", reply(1, selected("yes"))],
      ["to agent", reply(0, selected("yes"))],
      RUNS,
    ]);
  });

  test("a prompt not yet accepted is accepted by it", () => {
    play(openDialogue(), [
      ["client", prompt("p", "hello")],
      ["to agent", request(3, "session/prompt", { sessionId: "s1", prompt: [text("hello")] })],
      ["agent", childPermission(0)],
      ...accepted("p", minted(1), "hello"),
      announced(child),
      asked(1, "Child", child, onBehalf),
      REQUIRES_ACTION,
    ]);
  });

  test("requests while none runs: `cancelled`", () => {
    play(openDialogue(), [
      ["agent", childPermission(0)],
      ["to agent", reply(0, CANCELLED)],
    ]);
  });

  test("requests while two run: `cancelled`, since nobody can tell whose they are", () => {
    const dialogue = runningDialogue();
    dialogue.client(request("new2", "session/new", { cwd: "/work" }));
    dialogue.agent(reply(4, { sessionId: "s2" }));
    dialogue.client(prompt("q", "two", "s2"));
    dialogue.wait(50);
    play(dialogue, [
      ["agent", childPermission(0)],
      ["to agent", reply(0, CANCELLED)],
    ]);
  });

  test("requests of a session the client has closed are not asked in another: `cancelled`", () => {
    const dialogue = runningDialogue();
    dialogue.client(request("new2", "session/new", { cwd: "/work" }));
    dialogue.agent(reply(4, { sessionId: "s2" }));
    dialogue.client(request("c", "session/close", { sessionId: "s2" }));
    dialogue.agent(reply(5, {}));
    play(dialogue, [
      ["agent", permission(0, child, { sessionId: "s2" })],
      ["to agent", reply(0, CANCELLED)],
    ]);
  });

  test("updates: not shown, logged", () => {
    play(runningDialogue(), [
      ["agent", update("child", { sessionUpdate: "agent_message_chunk", content: text("psst") })],
      ["log", "update-of-unknown-session"],
    ]);
  });
});

describe("§10 other methods", () => {
  const cases: [string, Row[]][] = [
    [
      "a `_` request: as it is, and so is its result",
      [
        ["agent", request("x", "_vendor/ask", { sessionId: "s9", deep: [1, { a: null }] })],
        ["to client", request(1, "_vendor/ask", { sessionId: "s9", deep: [1, { a: null }] })],
        ["client", reply(1, { deep: [null] })],
        ["to agent", reply("x", { deep: [null] })],
      ],
    ],
    [
      "a `_` request without params, answered with an error",
      [
        ["agent", request("x", "_vendor/ask")],
        ["to client", request(1, "_vendor/ask")],
        ["client", fail(1, -32000, "no", { a: 1 })],
        ["to agent", fail("x", -32000, "no", { a: 1 })],
      ],
    ],
    [
      "a request v2 does not define: with a prefix; the client's -32601 goes back",
      [
        ["agent", request("x", "craft/drainMidTurnQueue", { sessionId: "s1" })],
        ["to client", request(1, "_craft/drainMidTurnQueue", { sessionId: "s1" })],
        ["log", "method-prefixed"],
        ["client", fail(1, -32601, "Method not found")],
        ["to agent", fail("x", -32601, "Method not found")],
      ],
    ],
    [
      "a `_` notification: as it is",
      [
        ["agent", notify("_vendor/tell", { a: 1 })],
        ["to client", notify("_vendor/tell", { a: 1 })],
      ],
    ],
    [
      "a notification v2 does not define: with a prefix",
      [
        ["agent", notify("qwen/notify/slash_command", { a: 1 })],
        ["to client", notify("_qwen/notify/slash_command", { a: 1 })],
      ],
    ],
    ["a `$/` notification nobody knows: ignored", [["agent", notify("$/progress", { a: 1 })]]],
    [
      "the agent's ids and the client's are separate spaces",
      [
        ["client", request(1, "_vendor/a", {})],
        ["to agent", request(3, "_vendor/a", {})],
        ["agent", request(1, "_vendor/b", {})],
        ["to client", request(1, "_vendor/b", {})],
        ["client", reply(1, { to: "b" })],
        ["to agent", reply(1, { to: "b" })],
        ["agent", reply(3, { to: "a" })],
        ["to client", reply(1, { to: "a" })],
      ],
    ],
  ];
  test.each(cases)("%s", (_, script) => {
    play(openDialogue(), script);
  });

  test("an answer to what is no question changes no state", () => {
    play(runningDialogue(), [
      ["agent", request(0, "_ask", { sessionId: "s1" })],
      ["to client", request(1, "_ask", { sessionId: "s1" })],
      ["client", reply(1, {})],
      ["to agent", reply(0, {})],
    ]);
  });

  test("an update kind v2 does not define gets a prefix", () => {
    play(openDialogue(), [
      ["agent", update("s1", { sessionUpdate: "weather", sky: "blue", _meta: { a: 1 } })],
      ["to client", update("s1", { sessionUpdate: "_weather", sky: "blue", _meta: { a: 1 } })],
      ["agent", update("s1", { sessionUpdate: "_weather", sky: "grey" })],
      ["to client", update("s1", { sessionUpdate: "_weather", sky: "grey" })],
    ]);
  });

  test("a v1 agent's own state update is not the session's state", () => {
    play(runningDialogue(), [
      ["agent", update("s1", { sessionUpdate: "state_update", state: "idle" })],
      ["to client", update("s1", { sessionUpdate: "_state_update", state: "idle" })],
      ["log", "state-update-renamed"],
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
    ]);
  });
});
