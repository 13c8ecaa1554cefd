// Guards docs/mapping.md §12 as far as it is the core's: what is no valid message, what is too large, and what becomes
// of errors. Bytes and lines are in test/transport.
import { describe, expect, test } from "vitest";
import { step } from "../../src/bridge/bridge.ts";
import type { Event } from "../../src/bridge/events.ts";
import type { JsonObject } from "../../src/protocol/json.ts";
import {
  accepted,
  agentHello,
  agentText,
  clientHello,
  createDialogue,
  type Dialogue,
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
  testOptions,
  text,
  update,
} from "../support/dialogue.ts";

const plainV2 = { protocolVersion: 2, info: { name: "a", version: "1" }, capabilities: { session: {} } };
const bytes = (words: string) => new TextEncoder().encode(words);

describe("§12 from the client: what is no message", () => {
  test("invalid JSON: -32700 with id null, before `initialize` and after", () => {
    const junk: Row = ["event", { type: "not-json", line: bytes("{") }];
    const parseError: Row = ["to client", fail(null, -32700, expect.any(String))];
    play(createDialogue(), [junk, parseError]);
    play(pairedDialogue(), [junk, parseError, junk, parseError]);
  });

  const invalid: [string, unknown][] = [
    ["text", "hello"],
    ["a number", 7],
    ["null", null],
    ["true", true],
    ["an object without jsonrpc", { id: 1, method: "session/list" }],
    ["another jsonrpc", { jsonrpc: "1.0", id: 1, method: "session/list" }],
    ["no method, no result, no error", { jsonrpc: "2.0", id: 1 }],
    ["a method that is no text", { jsonrpc: "2.0", id: 1, method: 7 }],
    ["nothing but jsonrpc", { jsonrpc: "2.0" }],
    ["an empty object", {}],
    ["an id of null", request(null, "session/list", {})],
    ["an id that is no integer", request(1.5, "session/list", {})],
    ["an id that is true", request(true, "session/list", {})],
    ["an id that is an object", request({}, "session/list", {})],
    ["an id that is a list", request([1], "session/list", {})],
    ["an empty batch", []],
    ["a batch of requests", [request(1, "session/list", {}), request(2, "session/list", {})]],
    ["a batch of notifications", [notify("session/cancel", { sessionId: "s1" })]],
    ["a batch of nonsense", [1, "a", null]],
  ];
  test.each(invalid)("%s: one -32600 with id null; the connection lives on", (_, frame) => {
    play(openDialogue(), [
      ["client", frame],
      ["to client", fail(null, -32600, expect.any(String))],
      ["client", request(1, "session/list", {})],
      ["to agent", request(3, "session/list", {})],
    ]);
  });

  test("an id still in use: -32600, and the first request keeps its one answer", () => {
    play(openDialogue(), [
      ["client", request(1, "session/list", {})],
      ["to agent", request(3, "session/list", {})],
      ["client", request(1, "session/list", {})],
      ["to client", fail(null, -32600, expect.stringContaining("in use"))],
      ["agent", reply(3, { sessions: [] })],
      ["to client", reply(1, { sessions: [] })],
      ["client", request(1, "session/list", {})],
      ["to agent", request(4, "session/list", {})],
    ]);
  });

  test("the id of a held prompt is in use too", () => {
    play(runningDialogue(), [
      ["client", prompt(1, "next")],
      ["client", prompt(1, "again")],
      ["to client", fail(null, -32600, expect.stringContaining("in use"))],
    ]);
  });

  test('1 and "1" are two ids', () => {
    play(openDialogue(), [
      ["client", request(1, "session/list", {})],
      ["to agent", request(3, "session/list", {})],
      ["client", request("1", "session/list", {})],
      ["to agent", request(4, "session/list", {})],
      ["agent", reply(4, { sessions: [] })],
      ["to client", reply("1", { sessions: [] })],
      ["agent", reply(3, { sessions: [] })],
      ["to client", reply(1, { sessions: [] })],
    ]);
  });

  test.each([0, -1, 2 ** 53 - 1, "", "7", "ä"])("the id %j comes back as it is", (id) => {
    play(openDialogue(), [
      ["client", request(id, "session/list", {})],
      ["to agent", request(3, "session/list", {})],
      ["agent", reply(3, { sessions: [] })],
      ["to client", reply(id, { sessions: [] })],
    ]);
  });

  const malformed: [string, unknown, string][] = [
    ["session/new", undefined, "cwd"],
    ["session/new", [], "object"],
    ["session/prompt", { prompt: [text("hi")] }, "sessionId"],
    ["session/prompt", { sessionId: 7, prompt: [text("hi")] }, "sessionId"],
    ["session/prompt", { sessionId: "s1", prompt: [{ type: "text" }] }, "prompt.0.text"],
    ["session/prompt", { sessionId: "s1", prompt: [{ type: "text", text: 7 }] }, "prompt.0.text"],
    ["session/prompt", { sessionId: "s1", prompt: [text("hi"), { type: "text", text: 7 }] }, "prompt.1.text"],
    ["session/prompt", { sessionId: "s1", prompt: [{ type: "image", text: "hi" }] }, "prompt.0"],
    ["session/prompt", { sessionId: "s1", prompt: [null] }, "prompt.0"],
    ["session/close", {}, "sessionId"],
    ["session/set_config_option", { sessionId: "s1", value: "x" }, "configId"],
  ];
  test.each(malformed)("%s with params %j: -32602 that names the fault, nothing sent", (method, params, named) => {
    play(openDialogue(), [
      ["client", request(1, method, params)],
      ["to client", fail(1, -32602, expect.stringContaining(named))],
    ]);
  });

  test("a response nobody waits for is logged", () => {
    play(openDialogue(), [
      ["client", reply(9, {})],
      ["log", "answer-to-no-request"],
      ["client", fail(null, -32603, "what?")],
      ["log", "answer-to-no-request"],
    ]);
  });
});

describe("§12 from the client: what the bridge does not know", () => {
  const cases: [string, Row[]][] = [
    [
      "an unknown method: forwarded; the agent's -32601 comes back",
      [
        ["client", request(1, "session/rewind", { sessionId: "s1", to: 3 })],
        ["to agent", request(3, "session/rewind", { sessionId: "s1", to: 3 })],
        ["agent", fail(3, -32601, "Method not found", { method: "session/rewind" })],
        ["to client", fail(1, -32601, "Method not found", { method: "session/rewind" })],
      ],
    ],
    [
      "an extension: forwarded, and so is its result, untouched",
      [
        ["client", request(1, "_vendor/x", { deep: [null, { a: 1 }] })],
        ["to agent", request(3, "_vendor/x", { deep: [null, { a: 1 }] })],
        ["agent", reply(3, { deep: [null] })],
        ["to client", reply(1, { deep: [null] })],
      ],
    ],
    [
      "a name that every object has",
      [
        ["client", request(1, "constructor", {})],
        ["to agent", request(3, "constructor", {})],
      ],
    ],
    [
      "a request without params",
      [
        ["client", request(1, "_vendor/x")],
        ["to agent", request(3, "_vendor/x")],
      ],
    ],
    [
      "an unknown notification: forwarded",
      [
        ["client", notify("_vendor/seen", { a: 1 })],
        ["to agent", notify("_vendor/seen", { a: 1 })],
        ["client", notify("editor/focus")],
        ["to agent", notify("editor/focus")],
      ],
    ],
    ["an unknown `$/` notification: ignored", [["client", notify("$/trace", { a: 1 })]]],
  ];
  test.each(cases)("%s", (_, script) => {
    play(openDialogue(), script);
  });
});

describe("§12 from the agent", () => {
  const cases: [string, Row[]][] = [
    [
      "a response with an unknown id is logged",
      [
        ["agent", reply(99, {})],
        ["log", "answer-to-no-request"],
      ],
    ],
    [
      "a response with an id of null is logged",
      [
        ["agent", fail(null, -32601, "?")],
        ["log", "answer-to-no-request"],
      ],
    ],
    [
      "an error without an id is logged",
      [
        ["agent", { jsonrpc: "2.0", error: { code: -32601, message: "?" } }],
        ["log", "answer-to-no-request"],
      ],
    ],
    [
      "an id that only looks like a pending one is unknown",
      [
        ["client", request(1, "session/list", {})],
        ["to agent", request(3, "session/list", {})],
        ...["03", "3.0", " 3", "3e0", "+3", 3.5, [3], { id: 3 }, true].flatMap((id): Row[] => [
          ["agent", reply(id, { sessions: [] })],
          ["log", "answer-to-no-request"],
        ]),
        ["agent", reply("3", { sessions: [] })],
        ["to client", reply(1, { sessions: [] })],
      ],
    ],
    [
      "a second response to a settled id settles nothing, though another request waits",
      [
        ["client", request(1, "session/list", {})],
        ["to agent", request(3, "session/list", {})],
        ["agent", reply(3, { sessions: [] })],
        ["to client", reply(1, { sessions: [] })],
        ["client", request(2, "session/list", {})],
        ["to agent", request(4, "session/list", {})],
        ["agent", reply(3, { sessions: [] })],
        ["log", "answer-to-no-request"],
      ],
    ],
    [
      "a response with both result and error is an error",
      [
        ["client", request(1, "session/list", {})],
        ["to agent", request(3, "session/list", {})],
        ["agent", { jsonrpc: "2.0", id: 3, result: { sessions: [] }, error: { code: 1, message: "no" } }],
        ["to client", fail(1, 1, "no")],
      ],
    ],
    [
      "a request with an id of null is answered with it",
      [
        ["agent", request(null, "fs/read_text_file", { sessionId: "s1", path: "/a" })],
        ["to agent", fail(null, -32601, expect.any(String))],
      ],
    ],
    ...[undefined, null, 7, [], { update: {} }, { sessionId: "s1" }, { sessionId: "s1", update: {} }].map(
      (params): [string, Row[]] => [
        `an update of the form ${JSON.stringify(params)} is logged`,
        [
          ["agent", notify("session/update", params)],
          ["log", "update-malformed"],
        ],
      ],
    ),
    [
      "an update with a bad part goes without it",
      [
        ["agent", update("s1", { sessionUpdate: "session_info_update", title: "T", updatedAt: 7 })],
        ["to client", update("s1", { sessionUpdate: "session_info_update", title: "T" })],
        ["log", "update-repaired"],
      ],
    ],
    [
      "an update that cannot be made valid is dropped, and logged",
      [
        ["agent", update("s1", { sessionUpdate: "usage_update", used: "much" })],
        ["log", "update-dropped"],
      ],
    ],
  ];
  test.each(cases)("%s", (_, script) => {
    play(openDialogue(), script);
  });
});

describe('§12 "no such session" in its spellings', () => {
  const spellings: [unknown, string][] = [
    [-32002, "Resource not found"],
    [-32002, "Session not found"],
    [-32602, "Session not found: s1"],
    [-32602, "Invalid session id: s1"],
    [-32602, "Unknown session s1"],
    [-32603, "session s1 does not exist"],
    [-32603, "No session found with id s1"],
    [-32603, "No such session"],
  ];
  test.each(spellings)("%s %s → -32002 with the session and the cause", (code, message) => {
    play(openDialogue(), [
      ["client", request(1, "session/close", { sessionId: "s9" })],
      ["to client", reply(1, {})],
      ["client", prompt(2, "hi")],
      ["to agent", request(3, "session/prompt", { sessionId: "s1", prompt: [text("hi")] })],
      ["agent", fail(3, Number(code), message)],
      ["to client", fail(2, -32002, message, { sessionId: "s1", cause: { code, message } })],
    ]);
  });

  test("the agent's own data stays in the cause", () => {
    play(openDialogue(), [
      ["client", request(1, "session/status", { sessionId: "s1" })],
      ["to agent", request(3, "session/status", { sessionId: "s1" })],
      ["agent", fail(3, -32603, "Internal error", { details: "Session s1 not found" })],
      [
        "to client",
        fail(1, -32002, "Internal error", {
          sessionId: "s1",
          cause: { code: -32603, message: "Internal error", data: { details: "Session s1 not found" } },
        }),
      ],
    ]);
  });

  const others: [string, string, JsonObject, JsonObject][] = [
    ["another code", "session/status", { sessionId: "s1" }, { code: 400, message: "Session not found" }],
    ["another text", "session/status", { sessionId: "s1" }, { code: -32603, message: "Model not found", data: [1] }],
    ["another method", "_vendor/x", { sessionId: "s1" }, { code: -32602, message: "Session not found" }],
    ["no session named", "session/list", {}, { code: -32602, message: "Session not found" }],
    [
      "another resource",
      "session/status",
      { sessionId: "s1" },
      { code: -32002, message: "Resource not found", data: { uri: "file:///a" } },
    ],
    ["a code from nowhere", "session/status", { sessionId: "s1" }, { code: 1001, message: "?", data: "text" }],
  ];
  test.each(others)("every other error keeps its code and data: %s", (_, method, params, error) => {
    play(openDialogue(), [
      ["client", request(1, method, params)],
      ["to agent", request(3, method, params)],
      ["agent", { jsonrpc: "2.0", id: 3, error }],
      ["to client", { jsonrpc: "2.0", id: 1, error }],
    ]);
  });
});

describe("§12 lines above --max-frame", () => {
  const MAX = 300_000_000;
  const tooLarge = expect.stringContaining("300000000");
  const data = { bytes: MAX };
  const oversized = (from: "client" | "agent", head: string, tail = '"}}'): Row => [
    "event",
    { type: "oversized", from, bytes: MAX, head, tail } satisfies Event,
  ];
  const notice: Row = [
    "to client",
    update("s1", {
      sessionUpdate: "notice",
      severity: "warning",
      title: expect.any(String),
      description: tooLarge,
    }),
  ];
  const logged: Row = ["log", "frame-too-large"];

  test("of one session: the others hear nothing of it", () => {
    const dialogue = openDialogue();
    dialogue.client(request("n2", "session/new", { cwd: "/work" }));
    dialogue.agent(reply(3, { sessionId: "s2" }));
    play(dialogue, [
      oversized("agent", '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{'),
      notice,
    ]);
  });

  const cases: [string, Row[]][] = [
    [
      "a request of the client's: an error to the client",
      [
        oversized(
          "client",
          '{"jsonrpc":"2.0","id":"big","method":"session/prompt","params":{"sessionId":"s1","prompt":[',
        ),
        ["to client", fail("big", -32603, tooLarge, data)],
        logged,
      ],
    ],
    [
      "its id at the end",
      [
        oversized(
          "client",
          '{"jsonrpc":"2.0","method":"session/prompt","params":{"prompt":[',
          '"}],"sessionId":"s1"},"id":12}',
        ),
        ["to client", fail(12, -32603, tooLarge, data)],
        logged,
      ],
    ],
    [
      "a notification of the client's: logged",
      [oversized("client", '{"jsonrpc":"2.0","method":"_vendor/x","params":{"id":3,"a":"'), logged],
    ],
    [
      "the client's answer to a permission: no approval",
      [
        ["agent", update("s1", { sessionUpdate: "tool_call", toolCallId: "t", title: "T" })],
        ["to client", update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t", title: "T" })],
        [
          "agent",
          request("perm", "session/request_permission", {
            sessionId: "s1",
            toolCall: { toolCallId: "t" },
            options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
          }),
        ],
        [
          "to client",
          request(1, "session/request_permission", {
            sessionId: "s1",
            title: "T",
            subject: { type: "tool_call", toolCall: { toolCallId: "t" } },
            options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
          }),
        ],
        ["to client", stateUpdate("requires_action")],
        oversized(
          "client",
          '{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"yes","_meta":{"a":"',
        ),
        ["to agent", reply("perm", { outcome: { outcome: "cancelled" } })],
        ["to client", stateUpdate("running")],
        logged,
      ],
    ],
    [
      "an update of the agent's: a notice in its session, which lives on",
      [
        oversized("agent", '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"a":"'),
        notice,
        logged,
        ["agent", agentText("still here")],
        ["to client", agentText("still here", minted(2))],
      ],
    ],
    [
      "a request of the agent's: an error to the agent, a notice to the client",
      [
        oversized(
          "agent",
          '{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"s1","a":"',
        ),
        ["to agent", fail(0, -32603, tooLarge, data)],
        notice,
        logged,
      ],
    ],
    [
      "the agent's response: the client's request fails",
      [
        ["client", request("l", "session/list", {})],
        ["to agent", request(4, "session/list", {})],
        oversized("agent", '{"jsonrpc":"2.0","id":4,"result":{"sessions":[{"sessionId":"s1","a":"'),
        ["to client", fail("l", -32603, tooLarge, data)],
        logged,
      ],
    ],
    [
      "the agent's response to the prompt: the turn ends with the error",
      [
        oversized("agent", `{"jsonrpc":"2.0","result":{"stopReason":"end_turn","_meta":{"a":"`, `"}},"id":${RUNNING}}`),
        ["to client", idle({ stopReason: "error", error: { code: -32603, message: tooLarge, data } })],
        logged,
      ],
    ],
    [
      "a response of the agent's that nobody waits for: logged",
      [oversized("agent", '{"jsonrpc":"2.0","id":99,"result":{"a":"'), logged],
    ],
    [
      "an answer of the client's that nobody waits for: logged",
      [oversized("client", '{"jsonrpc":"2.0","id":99,"result":{"a":"'), logged],
    ],
    ["noise of the agent's: logged", [oversized("agent", "progress: #########", "####"), logged]],
  ];
  test.each(cases)("%s", (_, script) => {
    play(runningDialogue(), script);
  });

  const through: [string, Row[]][] = [
    [
      "the client's request",
      [
        oversized("client", '{"jsonrpc":"2.0","id":1,"method":"x","params":"'),
        ["to client", fail(1, -32603, tooLarge, data)],
      ],
    ],
    [
      "the agent's request",
      [
        oversized("agent", '{"jsonrpc":"2.0","id":1,"method":"x","params":"'),
        ["to agent", fail(1, -32603, tooLarge, data)],
      ],
    ],
    [
      "the agent's response",
      [
        ["client", request(7, "x", {})],
        ["to agent", request(7, "x", {})],
        oversized("agent", '{"jsonrpc":"2.0","id":7,"result":"'),
        ["to client", fail(7, -32603, tooLarge, data)],
      ],
    ],
    [
      "the client's response",
      [
        ["agent", request(7, "x", {})],
        ["to client", request(7, "x", {})],
        oversized("client", '{"jsonrpc":"2.0","id":7,"result":"'),
        ["to agent", fail(7, -32603, tooLarge, data)],
      ],
    ],
    ["noise of the client's, for which nobody waits", [oversized("client", "######", "####")]],
  ];
  test.each(through)("passed through, %s: whoever waits gets an error", (_, script) => {
    play(pairedDialogue({}, plainV2), script);
  });
});

test("§12 passed through, what is no JSON goes on as it is", () => {
  const { bridge } = pairedDialogue({}, plainV2);
  const line = bytes('{"jsonrpc"');
  expect(step(bridge, { type: "not-json", line }, 0)).toEqual([{ type: "forward", to: "agent", line }]);
});

test("§0 I5 passed through, only the client's requests are answered when the agent ends", () => {
  const frames = [null, 7, [request(2, "x")], notify("x"), request(null, "x"), reply(3, {}), request(4, "x")];
  play(pairedDialogue({}, plainV2), [
    ...frames.flatMap((frame): Row[] => [
      ["client", frame],
      ["to agent", frame],
    ]),
    ["event", { type: "agent-exit", code: 1, signal: null }],
    ["to client", fail(4, -32603, expect.any(String), expect.anything())],
    ["done", 1],
  ]);
});

test("§0 I5 every request gets its answer though the agent answers none, and none gets two", () => {
  const dialogue = createDialogue();
  play(dialogue, [
    ["client", request("i", "initialize", clientHello)],
    ["to agent", expect.objectContaining({ id: 1 })],
    ["agent", reply(1, agentHello)],
    ["to client", expect.objectContaining({ id: "i" })],
    ["client", request("n", "session/new", { cwd: "/work" })],
    ["to agent", request(2, "session/new", { cwd: "/work", mcpServers: [] })],
    ["agent", reply(2, { sessionId: "s1" })],
    ["to client", reply("n", { sessionId: "s1" })],
    ["client", prompt("p", "hi")],
    ["to agent", request(3, "session/prompt", { sessionId: "s1", prompt: [text("hi")] })],
    ["wait", 50],
    ...accepted("p", minted(1), "hi"),
    ["client", prompt("held", "more")],
    ["client", request("x", "_vendor/x", {})],
    ["to agent", request(4, "_vendor/x", {})],
    ["client", request("c", "session/close", { sessionId: "s1" })],
    ["to client", fail("held", -32800, expect.any(String))],
    ["to agent", notify("session/cancel", { sessionId: "s1" })],
    ["event", { type: "agent-exit", code: 1, signal: null }],
    ["to client", idle({ stopReason: "error", error: expect.objectContaining({ code: -32603 }) })],
    ["to client", expect.objectContaining({ id: "x" })],
    ["to client", expect.objectContaining({ id: "c" })],
    ["done", 1],
  ]);
});

describe("§0 I5 a fault of the bridge's own costs one frame, and whoever asked is told", () => {
  const refused = (id: unknown) => fail(id, -32603, expect.any(String));
  const toolCall = { toolCallId: "t", title: "T" };
  const options = [{ optionId: "y", name: "Y", kind: "allow_once" }];
  const permission = request(0, "session/request_permission", { sessionId: "s1", toolCall, options });
  const elicitation = { mode: "form", message: "Who?", requestedSchema: { type: "object", properties: {} } };
  const internalError: Row = ["log", "internal-error"];

  /** A dialogue in which nothing can be checked against the schema any more once it was prepared. */
  function broken(prepare: (dialogue: Dialogue) => void): Dialogue {
    let isBroken = false;
    const schemaV2 = () => {
      if (isBroken) throw new Error("a bug");
      return testOptions.schemaV2();
    };
    const dialogue = runningDialogue({ schemaV2 });
    prepare(dialogue);
    isBroken = true;
    dialogue.hasBug = true;
    return dialogue;
  }

  test("requests, and the answer to one", () => {
    const dialogue = broken(({ client, agent }) => {
      client(request("x", "_test/ask", {}));
      agent(request("v", "_vendor/ask", {}));
    });
    play(dialogue, [
      ["agent", permission],
      ["to agent", refused(0)],
      ["agent", reply(RUNNING + 1, {})],
      ["to client", refused("x")],
      ["client", request("n", "session/new", { cwd: "/work" })],
      ["to client", refused("n")],
    ]);
  });

  test("the client's answer, whose id is also that of a prompt of its own, which waits on", () => {
    const dialogue = broken(({ bridge, client, agent }) => {
      bridge.clientCapabilities = { elicitation: { form: {} } };
      agent(request("e", "elicitation/create", { sessionId: "s1", ...elicitation }));
      client(prompt(1, "next"));
    });
    play(dialogue, [
      ["client", reply(1, { action: "decline" })],
      ["to agent", refused("e")],
      internalError,
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      internalError,
    ]);
    expect([...dialogue.bridge.clientRequests.keys()]).toEqual([1]);
  });

  test("a question that has been put to the person: their answer counts", () => {
    const dialogue = runningDialogue();
    dialogue.agent(request("v", "_vendor/ask", {}));
    const session = dialogue.bridge.sessions.get("s1");
    Object.defineProperty(session, "state", {
      get() {
        throw new Error("a bug");
      },
    });
    dialogue.hasBug = true;
    play(dialogue, [
      ["agent", permission],
      ["to client", update("s1", { sessionUpdate: "tool_call_update", ...toolCall })],
      ["to client", expect.objectContaining({ id: 2, method: "session/request_permission" })],
      internalError,
      ["client", reply(2, { outcome: { outcome: "selected", optionId: "y" } })],
      ["to agent", reply(0, { outcome: { outcome: "selected", optionId: "y" } })],
      internalError,
    ]);
  });

  test("what nobody asked for", () => {
    play(
      broken(() => {}),
      [["agent", update("s1", { sessionUpdate: "usage_update", used: 1, size: 2 })], internalError],
    );
  });
});
