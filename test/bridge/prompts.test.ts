// Guards docs/mapping.md §9: a prompt's way from acceptance to its one idle, held prompts, cancellation in all its
// forms, and what is left of a turn when the agent answers late, twice, never, or dies.
import { describe, expect, test } from "vitest";
import type { BridgeOptions } from "../../src/bridge/state.ts";
import {
  accepted,
  agentHello,
  agentText,
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
  text,
  update,
} from "../support/dialogue.ts";

const sent = (id: number, words: string, sessionId = "s1"): Row => [
  "to agent",
  request(id, "session/prompt", { sessionId, prompt: [text(words)] }),
];
const cancel = notify("session/cancel", { sessionId: "s1" });
const heard = (words: string, id: string): Row[] => [
  ["agent", agentText(words)],
  ["to client", agentText(words, id)],
];
const toolCall = (toolCallId: string, status?: string): Row[] => {
  const fields = { toolCallId, title: "T", ...(status !== undefined && { status }) };
  return [
    ["agent", update("s1", { sessionUpdate: "tool_call", ...fields })],
    ["to client", update("s1", { sessionUpdate: "tool_call_update", ...fields })],
  ];
};
const toolStatus = (toolCallId: string, status: string) =>
  update("s1", { sessionUpdate: "tool_call_update", toolCallId, status });
const permission = (id: unknown) =>
  request(id, "session/request_permission", {
    sessionId: "s1",
    toolCall: { toolCallId: "t" },
    options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
  });
const askedPermission = (id: number) =>
  request(id, "session/request_permission", {
    sessionId: "s1",
    title: "T",
    subject: { type: "tool_call", toolCall: { toolCallId: "t" } },
    options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
  });
const CANCELLED = { outcome: { outcome: "cancelled" } };

/** A second session, s2, beside s1. */
function openSecond(dialogue: Dialogue): Dialogue {
  const { toAgent } = dialogue.client(request("new2", "session/new", { cwd: "/work" }));
  dialogue.agent(reply(toAgent[0]?.["id"], { sessionId: "s2" }));
  return dialogue;
}

describe("§9 content", () => {
  const blocks: [string, object][] = [
    ["image", { type: "image", data: "aGk=", mimeType: "image/png" }],
    ["audio", { type: "audio", data: "aGk=", mimeType: "audio/wav" }],
    ["resource", { type: "resource", resource: { uri: "file:///a", text: "A" } }],
    ["_hologram", { type: "_hologram" }],
  ];
  test.each(blocks)(
    "a block of type %s that the agent did not offer: -32602 naming it, nothing sent",
    (type, block) => {
      const dialogue = openDialogue({}, { ...agentHello, agentCapabilities: {} });
      const content = [text("Look:"), block];
      play(dialogue, [
        ["client", request(1, "session/prompt", { sessionId: "s1", prompt: content })],
        ["to client", fail(1, -32602, expect.stringContaining(type), { index: 1, type })],
        // Nothing has begun.
        ["client", prompt(2, "hi")],
        sent(3, "hi"),
      ]);
    },
  );

  test("likewise while a turn runs: it is not held only to be refused later", () => {
    const image = { type: "image", data: "aGk=", mimeType: "image/png" };
    play(runningDialogue({}, { ...agentHello, agentCapabilities: {} }), [
      ["client", request(1, "session/prompt", { sessionId: "s1", prompt: [image] })],
      ["to client", fail(1, -32602, expect.stringContaining("image"), { index: 0, type: "image" })],
    ]);
  });

  test("what every agent takes, and what this one offered, is sent as it is, with `_meta` and unknown fields", () => {
    const content = [
      text("Look:"),
      { type: "resource_link", name: "a", uri: "file:///a" },
      ...blocks.slice(0, 3).map(([, block]) => block),
    ];
    play(openDialogue(), [
      ["client", request(1, "session/prompt", { sessionId: "s1", prompt: content, _meta: { a: 1 }, extra: 2 })],
      ["to agent", request(3, "session/prompt", { sessionId: "s1", prompt: content, _meta: { a: 1 }, extra: 2 })],
    ]);
  });

  test("a bad optional part is not sent", () => {
    play(openDialogue(), [
      ["client", request(1, "session/prompt", { sessionId: "s1", prompt: [text("hi")], _meta: 7 })],
      ["to agent", request(3, "session/prompt", { sessionId: "s1", prompt: [text("hi")] })],
    ]);
  });

  test.each([
    ["no blocks", { sessionId: "s1", prompt: [] }],
    ["no prompt", { sessionId: "s1" }],
    ["a prompt that is text", { sessionId: "s1", prompt: "hi" }],
  ])("%s: -32602, nothing sent", (_, params) => {
    play(openDialogue(), [
      ["client", request(1, "session/prompt", params)],
      ["to client", fail(1, -32602, expect.stringContaining("prompt"))],
    ]);
  });

  test("a session the client has not opened: -32002 naming it, nothing sent", () => {
    play(openDialogue(), [
      ["client", prompt(1, "hi", "s9")],
      ["to client", fail(1, -32002, expect.any(String), { sessionId: "s9" })],
    ]);
  });
});

describe("§9 acceptance: the answer, the user message, `running`", () => {
  const end: Row[] = [
    ["agent", reply(3, { stopReason: "end_turn" })],
    ["to client", idle({ stopReason: "end_turn" })],
  ];
  const cases: [string, Row[]][] = [
    ["when the acceptance window is over", [["wait", 49], ["wait", 1], ...accepted("p", minted(1), "hi"), ...end]],
    [
      "at the agent's first update for the session",
      [
        ["agent", agentText("yes")],
        ...accepted("p", minted(1), "hi"),
        ["to client", agentText("yes", minted(2))],
        ["wait", 1000],
        ...end,
      ],
    ],
    [
      "at an update that says nothing to the person",
      [
        ["agent", update("s1", { sessionUpdate: "usage_update", used: 1, size: 2 })],
        ...accepted("p", minted(1), "hi"),
        ["to client", update("s1", { sessionUpdate: "usage_update", used: 1, size: 2 })],
        ...end,
      ],
    ],
    [
      "at the agent's first request for the session",
      [
        ["agent", request(0, "fs/read_text_file", { sessionId: "s1", path: "/a" })],
        ...accepted("p", minted(1), "hi"),
        ["to agent", fail(0, -32601, expect.any(String))],
        ...end,
      ],
    ],
    [
      "at the agent's response",
      [
        ["agent", reply(3, { stopReason: "end_turn" })],
        ...accepted("p", minted(1), "hi"),
        ["to client", idle({ stopReason: "end_turn" })],
      ],
    ],
    [
      "not at what is of another session",
      [
        ["agent", agentText("child", undefined, "s9")],
        ["agent", request(0, "fs/read_text_file", { sessionId: "s9", path: "/a" })],
        ["to agent", fail(0, -32601, expect.any(String))],
        ["wait", 50],
        ...accepted("p", minted(1), "hi"),
      ],
    ],
  ];
  test.each(cases)("%s", (_, script) => {
    play(openDialogue(), [["client", prompt("p", "hi")], sent(3, "hi"), ...script]);
  });

  test("a window of 0: at once", () => {
    play(openDialogue({ acceptWindow: 0 }), [
      ["client", prompt("p", "hi")],
      sent(3, "hi"),
      ...accepted("p", minted(1), "hi"),
      ["wait", 1000],
      ...end,
    ]);
  });

  test("in a session whose id has blanks", () => {
    const dialogue = pairedDialogue();
    dialogue.client(request("new", "session/new", { cwd: "/work" }));
    dialogue.agent(reply(2, { sessionId: "s 1  a" }));
    play(dialogue, [
      ["client", prompt("p", "hi", "s 1  a")],
      ["to agent", prompt(3, "hi", "s 1  a")],
      ["wait", 50],
      ...accepted("p", minted(1), "hi", "s 1  a"),
    ]);
  });

  test("another window", () => {
    play(openDialogue({ acceptWindow: 2000 }), [
      ["client", prompt("p", "hi")],
      sent(3, "hi"),
      ["wait", 1999],
      ["wait", 1],
      ...accepted("p", minted(1), "hi"),
    ]);
  });

  test("an error before it is the error of session/prompt: no user message, no state", () => {
    play(openDialogue(), [
      ["client", prompt("p", "hi")],
      sent(3, "hi"),
      ["agent", fail(3, -32603, "no model", { model: "m" })],
      ["to client", fail("p", -32603, "no model", { model: "m" })],
      ["wait", 1000],
      // The session is free.
      ["client", prompt("q", "again")],
      sent(4, "again"),
    ]);
  });

  test("an error of a session the agent does not know any more", () => {
    play(openDialogue(), [
      ["client", prompt("p", "hi")],
      sent(3, "hi"),
      ["agent", fail(3, -32602, "Session not found: s1")],
      [
        "to client",
        fail("p", -32002, "Session not found: s1", {
          sessionId: "s1",
          cause: { code: -32602, message: "Session not found: s1" },
        }),
      ],
    ]);
  });
});

describe("§9 the prompt's result", () => {
  const cases: [string, unknown, object][] = [
    ...["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled", "_own"].map(
      (stopReason): [string, unknown, object] => [`stop reason ${stopReason}`, { stopReason }, { stopReason }],
    ),
    ["a stop reason v2 does not define", { stopReason: "timeout" }, { stopReason: "_timeout" }],
    ["`error`, which v1 does not define", { stopReason: "error" }, { stopReason: "_error" }],
    ["a missing stop reason", {}, {}],
    ["a stop reason of null", { stopReason: null }, {}],
    ["a stop reason that is no text", { stopReason: 7 }, {}],
    ["a result of null", null, {}],
    [
      "usage, `_meta` and unknown fields",
      { stopReason: "end_turn", usage: { totalTokens: 3, inputTokens: 2, outputTokens: 1 }, _meta: { a: 1 }, extra: 2 },
      { stopReason: "end_turn", usage: { totalTokens: 3, inputTokens: 2, outputTokens: 1 }, _meta: { a: 1 }, extra: 2 },
    ],
  ];
  test.each(cases)("%s", (_, result, fields) => {
    play(runningDialogue(), [
      ["agent", reply(RUNNING, result)],
      ["to client", idle(fields)],
    ]);
  });

  test("fields that would make another state of it do not", () => {
    play(runningDialogue(), [
      ["agent", reply(RUNNING, { stopReason: "end_turn", state: "running", sessionUpdate: "plan" })],
      ["to client", idle({ stopReason: "end_turn" })],
    ]);
  });

  test("the string twin of an id of several digits counts too", () => {
    const dialogue = openDialogue();
    for (let id = 0; id < 10; id++) dialogue.client(request(id, "session/list", {}));
    play(dialogue, [
      ["agent", fail("12", 1, "no")],
      ["to client", fail(9, 1, "no")],
    ]);
  });

  test("the string twin of the id counts; a second response settles nothing", () => {
    play(runningDialogue(), [
      ["agent", reply(String(RUNNING), { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
      ["agent", reply(RUNNING, { stopReason: "refusal" })],
      ["log", "answer-to-no-request"],
    ]);
  });

  test("tool calls left open by a normal end are left alone", () => {
    play(runningDialogue(), [
      ...toolCall("t", "in_progress"),
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
    ]);
  });

  test("an error: open tool calls failed, then idle/error with code, message and data", () => {
    play(runningDialogue(), [
      ...toolCall("t1", "in_progress"),
      ...toolCall("t2", "completed"),
      ...toolCall("t3"),
      ["agent", fail(RUNNING, -32603, "rate limit", { retryAfter: 3 })],
      ["to client", toolStatus("t1", "failed")],
      ["to client", toolStatus("t3", "failed")],
      [
        "to client",
        idle({ stopReason: "error", error: { code: -32603, message: "rate limit", data: { retryAfter: 3 } } }),
      ],
    ]);
  });

  test.each([
    ["a code that is text", { code: "E", message: "no" }, { code: -32603, message: "no", data: expect.anything() }],
    ["no message", { code: 400 }, { code: 400, message: expect.stringMatching(/./) }],
    ["text", "boom", { code: -32603, message: "boom", data: expect.anything() }],
    ["two lines", { code: 1, message: "a\nb" }, { code: 1, message: "a b" }],
  ])("an error that is %s becomes a valid one", (_, error, v2Error) => {
    play(runningDialogue(), [
      ["agent", { jsonrpc: "2.0", id: RUNNING, error }],
      ["to client", idle({ stopReason: "error", error: v2Error })],
    ]);
  });
});

describe("§9 a result or an error that nests too deeply to be written", () => {
  const deep = JSON.parse(`${"[".repeat(2000)}${"]".repeat(2000)}`) as unknown;

  test.each<[string, object, object]>([
    ["a result", { result: { stopReason: "end_turn", _meta: { deep } } }, { stopReason: "end_turn" }],
    [
      "an error",
      { error: { code: 1, message: "no", data: deep } },
      { stopReason: "error", error: { code: 1, message: "no" } },
    ],
  ])("%s: the idle comes without that part", (_, answer, fields) => {
    const { toClient, logs } = runningDialogue().agent({ jsonrpc: "2.0", id: RUNNING, ...answer });
    expect(toClient).toEqual([idle(fields)]);
    expect(logs.map(({ event }) => event)).toContain("idle-repaired");
  });
});

describe("§9 the settle window", () => {
  const running = () => runningDialogue({ settle: 50 });

  test("the idle waits until the agent has been quiet for it", () => {
    play(running(), [
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["wait", 49],
      ["wait", 1],
      ["to client", idle({ stopReason: "end_turn" })],
      ["wait", 1000],
    ]);
  });

  test("updates in it come before the idle, and make it begin anew", () => {
    play(running(), [
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["wait", 30],
      ...heard("the ", minted(2)),
      ["wait", 49],
      ...heard("tail", minted(2)),
      ["wait", 49],
      ["wait", 1],
      ["to client", idle({ stopReason: "end_turn" })],
    ]);
  });

  test("a request in it does so too", () => {
    play(running(), [
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["wait", 30],
      ["agent", request(0, "fs/read_text_file", { sessionId: "s1", path: "/a" })],
      ["to agent", fail(0, -32601, expect.any(String))],
      ["wait", 49],
      ["wait", 1],
      ["to client", idle({ stopReason: "end_turn" })],
    ]);
  });

  test("another session's updates do not", () => {
    play(openSecond(running()), [
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["wait", 30],
      ["agent", agentText("other", undefined, "s2")],
      ["to client", agentText("other", minted(2), "s2")],
      ["wait", 20],
      ["to client", idle({ stopReason: "end_turn" })],
    ]);
  });

  test("counts for an error and for a cancelled turn as well", () => {
    play(running(), [
      ["agent", fail(RUNNING, -32603, "no")],
      ["wait", 49],
      ...heard("tail", minted(2)),
      ["wait", 50],
      ["to client", idle({ stopReason: "error", error: { code: -32603, message: "no" } })],
    ]);
    play(running(), [
      ["client", cancel],
      ["to agent", cancel],
      ["agent", reply(RUNNING, { stopReason: "cancelled" })],
      ["wait", 49],
      ["wait", 1],
      ["to client", idle({ stopReason: "cancelled" })],
    ]);
  });

  test("a prompt in it waits for the idle; a cancel in it is not passed on", () => {
    play(running(), [
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["client", cancel],
      ["client", prompt("q", "next")],
      ["wait", 50],
      ["to client", idle({ stopReason: "end_turn" })],
      sent(4, "next"),
    ]);
  });

  test("a profile's time counts", () => {
    const behaviourOf = () =>
      ({ settle: 300, restatedMessages: "keep", restartAfterLogin: false, replaySettle: 0 }) as const;
    play(runningDialogue({ settle: 50, behaviourOf }), [
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["wait", 299],
      ["wait", 1],
      ["to client", idle({ stopReason: "end_turn" })],
    ]);
  });
});

describe("§9 updates after the idle", () => {
  test("pass, on their own message, without a state", () => {
    play(runningDialogue(), [
      ...heard("answer", minted(2)),
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
      ...heard("background", minted(3)),
      ...toolCall("t"),
      ["agent", toolStatus("t", "completed")],
      ["to client", toolStatus("t", "completed")],
      ["wait", 60_000],
    ]);
  });
});

describe("§9 a second prompt while the first runs", () => {
  test("is held, sent after the first one's idle, and accepted only then; FIFO", () => {
    play(runningDialogue(), [
      ["client", prompt("q", "two")],
      ["client", prompt("r", "three")],
      ...heard("one", minted(2)),
      ["wait", 5000],
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
      sent(4, "two"),
      ["wait", 50],
      ...accepted("q", minted(3), "two"),
      ["agent", fail(4, -32603, "no")],
      ["to client", idle({ stopReason: "error", error: { code: -32603, message: "no" } })],
      sent(5, "three"),
      ["agent", reply(5, { stopReason: "end_turn" })],
      ...accepted("r", minted(4), "three"),
      ["to client", idle({ stopReason: "end_turn" })],
    ]);
  });

  test("is sent when the first is refused", () => {
    play(openDialogue(), [
      ["client", prompt("p", "one")],
      sent(3, "one"),
      ["client", prompt("q", "two")],
      ["agent", fail(3, -32603, "no")],
      ["to client", fail("p", -32603, "no")],
      sent(4, "two"),
    ]);
  });

  test("sessions are independent", () => {
    play(openSecond(runningDialogue()), [
      ["client", prompt("q", "other", "s2")],
      sent(5, "other", "s2"),
      ["wait", 50],
      ...accepted("q", minted(2), "other", "s2"),
      ["agent", reply(5, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" }, "s2")],
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
    ]);
  });

  test("beyond the queue's limit: an error that names it, nothing held", () => {
    play(runningDialogue({ promptQueue: 2 }), [
      ["client", prompt("q", "two")],
      ["client", prompt("r", "three")],
      ["client", prompt("s", "four")],
      ["to client", fail("s", -32603, expect.stringContaining("2"), { limit: 2 })],
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
      sent(4, "two"),
      // A place is free again.
      ["client", prompt("s", "four")],
    ]);
  });

  test("a queue of 0 holds nothing", () => {
    play(runningDialogue({ promptQueue: 0 }), [
      ["client", prompt("q", "two")],
      ["to client", fail("q", -32603, expect.any(String), { limit: 0 })],
    ]);
  });

  test("`$/cancel_request` on a held prompt: -32800, and the others stay", () => {
    play(runningDialogue(), [
      ["client", prompt("q", "two")],
      ["client", prompt("r", "three")],
      ["client", notify("$/cancel_request", { requestId: "q" })],
      ["to client", fail("q", -32800, "the prompt was cancelled before the agent took it")],
      ["client", notify("$/cancel_request", { requestId: "q" })],
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
      sent(4, "three"),
    ]);
  });

  test("session/cancel: -32800 for every held prompt, in order", () => {
    play(runningDialogue(), [
      ["client", prompt("q", "two")],
      ["client", prompt("r", "three")],
      ["client", cancel],
      ["to client", fail("q", -32800, expect.any(String))],
      ["to client", fail("r", -32800, expect.any(String))],
      ["to agent", cancel],
      // What comes after the cancel is held like any other.
      ["client", prompt("s", "four")],
      ["agent", reply(RUNNING, { stopReason: "cancelled" })],
      ["to client", idle({ stopReason: "cancelled" })],
      sent(4, "four"),
    ]);
  });
});

describe("§9 a busy agent", () => {
  const busy = (id: number) => fail(id, -32603, "A prompt is already running in this session");

  test("the prompt is sent again after a pause; it is accepted when the agent takes it", () => {
    play(openDialogue(), [
      ["client", prompt("p", "hi")],
      sent(3, "hi"),
      ["agent", busy(3)],
      ["log", "busy-agent-retried"],
      // What the agent is busy with is no sign of life for a prompt it has refused.
      ["agent", agentText("still at it")],
      ["to client", agentText("still at it", minted(1))],
      ["wait", 199],
      ["wait", 1],
      sent(4, "hi"),
      ["agent", agentText("yes")],
      ...accepted("p", minted(2), "hi"),
      ["to client", agentText("yes", minted(3))],
      ["agent", reply(4, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
    ]);
  });

  test("after a few attempts the error is the client's", () => {
    play(openDialogue(), [
      ["client", prompt("p", "hi")],
      sent(3, "hi"),
      ["agent", busy(3)],
      ["wait", 200],
      sent(4, "hi"),
      ["agent", busy(4)],
      ["wait", 400],
      sent(5, "hi"),
      ["agent", busy(5)],
      ["wait", 600],
      sent(6, "hi"),
      ["agent", busy(6)],
      ["wait", 800],
      sent(7, "hi"),
      ["agent", busy(7)],
      ["to client", fail("p", -32603, expect.stringContaining("already running"))],
      ["wait", 60_000],
    ]);
  });

  test("a prompt accepted at once stays accepted", () => {
    play(openDialogue({ acceptWindow: 0 }), [
      ["client", prompt("p", "hi")],
      sent(3, "hi"),
      ...accepted("p", minted(1), "hi"),
      ["agent", busy(3)],
      ["wait", 200],
      sent(4, "hi"),
      ["agent", reply(4, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
    ]);
  });

  const inThePause: [string, unknown][] = [
    ["session/cancel", cancel],
    ["$/cancel_request", notify("$/cancel_request", { requestId: "p" })],
  ];
  test.each(inThePause)("%s in the pause: -32800, and nothing is sent again", (_, frame) => {
    play(openDialogue(), [
      ["client", prompt("p", "hi")],
      sent(3, "hi"),
      ["agent", busy(3)],
      ["client", frame],
      ["to client", fail("p", -32800, expect.any(String))],
      ["wait", 60_000],
      ["client", prompt("q", "two")],
      sent(4, "two"),
    ]);
  });

  test("session/cancel in the pause of an accepted prompt ends it as cancelled, without a word to the agent", () => {
    play(openDialogue({ acceptWindow: 0 }), [
      ["client", prompt("p", "hi")],
      sent(3, "hi"),
      ...accepted("p", minted(1), "hi"),
      ["agent", busy(3)],
      ["client", cancel],
      ["to client", idle({ stopReason: "cancelled" })],
      ["wait", 60_000],
    ]);
  });

  test("a prompt that is being cancelled is not sent again", () => {
    play(runningDialogue(), [
      ["client", cancel],
      ["to agent", cancel],
      ["agent", busy(RUNNING)],
      ["to client", idle({ stopReason: "cancelled" })],
      ["wait", 60_000],
    ]);
  });
});

describe("§9 session/cancel", () => {
  test("is passed on, `_meta` and all; open tool calls are cancelled, then idle/cancelled", () => {
    play(runningDialogue(), [
      ...toolCall("t1", "in_progress"),
      ...toolCall("t2", "failed"),
      ["client", notify("session/cancel", { sessionId: "s1", _meta: { why: "bored" } })],
      ["to agent", notify("session/cancel", { sessionId: "s1", _meta: { why: "bored" } })],
      ...heard("last words", minted(2)),
      ["agent", reply(RUNNING, { stopReason: "cancelled", usage: { totalTokens: 1 }, _meta: { a: 1 } })],
      ["to client", toolStatus("t1", "cancelled")],
      ["to client", idle({ stopReason: "cancelled", usage: { totalTokens: 1 }, _meta: { a: 1 } })],
    ]);
  });

  const answers: [string, unknown, Row[]][] = [
    ["end_turn", reply(RUNNING, { stopReason: "end_turn" }), [["log", "cancel-answered-otherwise"]]],
    ["an unknown stop reason", reply(RUNNING, { stopReason: "aborted" }), [["log", "cancel-answered-otherwise"]]],
    ["no stop reason", reply(RUNNING, {}), [["log", "cancel-answered-otherwise"]]],
    ["an error", fail(RUNNING, -32603, "AbortError"), [["log", "cancel-answered-by-error"]]],
    ["-32800", fail(RUNNING, -32800, "Request cancelled"), [["log", "cancel-answered-by-error"]]],
  ];
  test.each(answers)("answered with %s: cancelled all the same", (_, answer, log) => {
    play(runningDialogue(), [
      ...toolCall("t"),
      ["client", cancel],
      ["to agent", cancel],
      ["agent", answer],
      ["to client", toolStatus("t", "cancelled")],
      ["to client", idle({ stopReason: "cancelled" })],
      ...log,
    ]);
  });

  test("right after the prompt: the prompt is accepted, and ends as cancelled whatever the agent says", () => {
    play(openDialogue(), [
      ["client", prompt("p", "hi")],
      sent(3, "hi"),
      ["client", cancel],
      ...accepted("p", minted(1), "hi"),
      ["to agent", cancel],
      ["agent", fail(3, -32603, "aborted")],
      ["to client", idle({ stopReason: "cancelled" })],
    ]);
  });

  test("that comes before the agent's first content is passed on once more with it: the agent has lost it", () => {
    play(openDialogue(), [
      ["client", prompt("p", "hi")],
      sent(3, "hi"),
      ["client", cancel],
      ...accepted("p", minted(1), "hi"),
      ["to agent", cancel],
      ["agent", update("s1", { sessionUpdate: "session_info_update", title: "Hi" })],
      ["to client", update("s1", { sessionUpdate: "session_info_update", title: "Hi" })],
      ["agent", update("s1", { sessionUpdate: "agent_message_chunk", content: text("Hel") })],
      ["to agent", cancel],
      ["to client", update("s1", { sessionUpdate: "agent_message_chunk", messageId: minted(2), content: text("Hel") })],
      ["log", "cancel-repeated"],
      ...heard("lo", minted(2)),
      ["agent", reply(3, { stopReason: "cancelled" })],
      ["to client", idle({ stopReason: "cancelled" })],
      ...heard("late", minted(3)),
    ]);
  });

  test("a turn the agent ends as cancelled by itself is cancelled", () => {
    play(runningDialogue(), [
      ...toolCall("t"),
      ["agent", reply(RUNNING, { stopReason: "cancelled" })],
      ["to client", toolStatus("t", "cancelled")],
      ["to client", idle({ stopReason: "cancelled" })],
    ]);
  });

  test("the agent's open questions are answered `cancelled` at once and withdrawn; a later answer is ignored", () => {
    play(runningDialogue(), [
      ...toolCall("t"),
      ["agent", permission("a")],
      ["to client", askedPermission(1)],
      ["to client", stateUpdate("requires_action")],
      ["agent", permission("b")],
      ["to client", askedPermission(2)],
      ["client", cancel],
      ["to agent", cancel],
      ["to agent", reply("a", CANCELLED)],
      ["to client", notify("$/cancel_request", { requestId: 1 })],
      ["to agent", reply("b", CANCELLED)],
      ["to client", notify("$/cancel_request", { requestId: 2 })],
      ["client", reply(1, { outcome: { outcome: "selected", optionId: "yes" } })],
      ["client", fail(2, -32800, "cancelled")],
      // A question that comes now is cancelled without being asked.
      ["agent", permission("c")],
      ["to agent", reply("c", CANCELLED)],
      ["agent", reply(RUNNING, { stopReason: "cancelled" })],
      ["to client", toolStatus("t", "cancelled")],
      ["to client", idle({ stopReason: "cancelled" })],
    ]);
  });

  test("what is no question stays", () => {
    play(runningDialogue(), [
      ["agent", request("a", "_ask", { sessionId: "s1" })],
      ["to client", request(1, "_ask", { sessionId: "s1" })],
      ["client", cancel],
      ["to agent", cancel],
      ["client", reply(1, { x: 1 })],
      ["to agent", reply("a", { x: 1 })],
    ]);
  });

  test("questions of another session stay", () => {
    const dialogue = openSecond(runningDialogue());
    dialogue.agent(
      request("x", "session/request_permission", {
        sessionId: "s2",
        toolCall: { toolCallId: "t", title: "T" },
        options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
      }),
    );
    play(dialogue, [
      ["client", cancel],
      ["to agent", cancel],
      ["client", reply(1, { outcome: { outcome: "selected", optionId: "yes" } })],
      ["to agent", reply("x", { outcome: { outcome: "selected", optionId: "yes" } })],
    ]);
  });

  const idleCases: [string, unknown][] = [
    ["nothing running", cancel],
    ["an unknown session", notify("session/cancel", { sessionId: "s9" })],
    ["no session named", notify("session/cancel", {})],
    ["no params", notify("session/cancel")],
  ];
  test.each(idleCases)("with %s: nothing is sent, to nobody", (_, frame) => {
    play(openDialogue(), [["client", frame]]);
  });

  test("after the turn has ended it is not passed on: it would kill the next", () => {
    play(runningDialogue(), [
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
      ["client", cancel],
      ["log", "cancel-without-work"],
      ["client", prompt("q", "two")],
      sent(4, "two"),
    ]);
  });

  test("sent with an id, a known client bug: performed and answered", () => {
    play(runningDialogue(), [
      ["client", request("c", "session/cancel", { sessionId: "s1" })],
      ["to agent", cancel],
      ["to client", reply("c", {})],
      ["agent", reply(RUNNING, { stopReason: "cancelled" })],
      ["to client", idle({ stopReason: "cancelled" })],
      ["client", request("c", "session/cancel", { sessionId: "s9" })],
      ["to client", reply("c", {})],
    ]);
  });

  test("twice: passed on twice, one idle", () => {
    play(runningDialogue(), [
      ["client", cancel],
      ["to agent", cancel],
      ["client", cancel],
      ["to agent", cancel],
      ["agent", reply(RUNNING, { stopReason: "cancelled" })],
      ["to client", idle({ stopReason: "cancelled" })],
    ]);
  });
});

describe("§9 an agent that never answers a cancelled prompt", () => {
  test("--cancel-timeout: idle/cancelled after it; what the prompt answers later settles nothing", () => {
    play(runningDialogue({ cancelTimeout: 500 }), [
      ...toolCall("t"),
      ["client", cancel],
      ["to agent", cancel],
      ["wait", 499],
      ["wait", 1],
      ["to client", toolStatus("t", "cancelled")],
      ["to client", idle({ stopReason: "cancelled" })],
      ["log", "cancel-timeout"],
      ["client", prompt("q", "two")],
      sent(4, "two"),
      ["agent", reply(RUNNING, { stopReason: "cancelled" })],
      ["log", "late-prompt-answer"],
      ["wait", 50],
      ...accepted("q", minted(2), "two"),
      ["agent", reply(4, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
    ]);
  });

  test("a late error settles nothing either", () => {
    play(runningDialogue({ cancelTimeout: 500 }), [
      ["client", cancel],
      ["to agent", cancel],
      ["wait", 500],
      ["to client", idle({ stopReason: "cancelled" })],
      ["agent", fail(RUNNING, -32603, "aborted")],
      ["log", "late-prompt-answer"],
    ]);
  });

  test("its own late cancel is not passed on: that prompt is no longer open for the client", () => {
    play(runningDialogue({ cancelTimeout: 500 }), [
      ["client", cancel],
      ["to agent", cancel],
      ["wait", 500],
      ["to client", idle({ stopReason: "cancelled" })],
      ["client", cancel],
    ]);
  });

  test("updates do not put it off: the agent is given a time to end, not to be quiet", () => {
    play(runningDialogue({ cancelTimeout: 500 }), [
      ...heard("work", minted(2)),
      ["client", cancel],
      ["to agent", cancel],
      ["wait", 400],
      ...heard("not yet", minted(2)),
      ["wait", 100],
      ["to client", idle({ stopReason: "cancelled" })],
    ]);
  });

  test("0: it is waited for, for ever", () => {
    play(runningDialogue({ cancelTimeout: 0 }), [
      ["client", cancel],
      ["to agent", cancel],
      ["wait", 24 * 3600 * 1000],
      ["agent", reply(RUNNING, { stopReason: "cancelled" })],
      ["to client", idle({ stopReason: "cancelled" })],
    ]);
  });

  test("an answer in time clears it", () => {
    play(runningDialogue({ cancelTimeout: 500, settle: 600 }), [
      ["client", cancel],
      ["to agent", cancel],
      ["wait", 400],
      ["agent", reply(RUNNING, { stopReason: "cancelled" })],
      ["wait", 599],
      ["wait", 1],
      ["to client", idle({ stopReason: "cancelled" })],
    ]);
  });
});

describe("§9 no silent time-outs on running work", () => {
  test("a turn of a day", () => {
    play(runningDialogue(), [
      ["wait", 24 * 3600 * 1000],
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
    ]);
  });
});

describe("§9 timers", () => {
  const waits = { settle: 50, cancelTimeout: 500, stallNotice: 10_000 };
  const busy = fail(3, -32603, "A prompt is already running in this session");
  const begins = prompt("p", "hi");
  const opensAgain = [request("n", "session/new", { cwd: "/" }), reply(4, { sessionId: "s1" })];
  const ends: [string, Partial<BridgeOptions>, unknown[]][] = [
    ["an answer and quiet", waits, [begins, reply(3, { stopReason: "end_turn" }), 50]],
    ["a cancel that is never answered", waits, [begins, cancel, 500]],
    ["a refusal", waits, [begins, fail(3, -32603, "no")]],
    ["a cancel while a busy agent is waited for", waits, [begins, busy, cancel]],
    ["the same, of an accepted prompt", { ...waits, acceptWindow: 0 }, [begins, busy, cancel]],
    ["a cancelled prompt whose session gives way to a new one of its id", waits, [begins, cancel, ...opensAgain]],
    ["an answered one of which that is so", waits, [begins, reply(3, { stopReason: "end_turn" }), ...opensAgain]],
  ];
  test.each(ends)("%s leaves none", (_, options, happens) => {
    const dialogue = openDialogue(options);
    for (const what of happens) {
      if (typeof what === "number") dialogue.wait(what);
      else if ("method" in Object(what)) dialogue.client(what);
      else dialogue.agent(what);
    }
    expect([...dialogue.timers.keys()]).toEqual([]);
  });

  test.each(["accept", "retry", "stall", "settle", "cancel", "quiet", "unprompted"])(
    "%s that runs out after its turn changes nothing",
    (name) => {
      const late: Row = ["event", { type: "timer", name: `${name} s1` }];
      play(openDialogue(waits), [late]);
    },
  );

  test("settle that runs out in the next turn does not end it", () => {
    play(runningDialogue(waits), [["event", { type: "timer", name: "settle s1" }]]);
  });
});

describe("§9 `$/cancel_request` is passed on with the id mapped", () => {
  test("the client's, for a request the agent has", () => {
    play(openDialogue(), [
      ["client", request("l", "session/list", {})],
      ["to agent", request(3, "session/list", {})],
      ["client", notify("$/cancel_request", { requestId: "l", _meta: { a: 1 } })],
      ["to agent", notify("$/cancel_request", { requestId: 3, _meta: { a: 1 } })],
      ["agent", fail(3, -32800, "Request cancelled")],
      ["to client", fail("l", -32800, "Request cancelled")],
      ["client", notify("$/cancel_request", { requestId: "l" })],
      ["log", "cancel-of-unknown-request"],
    ]);
  });

  test("the client's, for a prompt the agent has not accepted", () => {
    play(openDialogue(), [
      ["client", prompt("p", "hi")],
      sent(3, "hi"),
      ["client", notify("$/cancel_request", { requestId: "p" })],
      ["to agent", notify("$/cancel_request", { requestId: 3 })],
      ["agent", fail(3, -32800, "Request cancelled")],
      ["to client", fail("p", -32800, "Request cancelled")],
    ]);
  });

  test("the client's, for a prompt that was accepted: its request is answered, so it is unknown", () => {
    play(runningDialogue(), [
      ["client", notify("$/cancel_request", { requestId: "p" })],
      ["log", "cancel-of-unknown-request"],
    ]);
  });

  test.each([[7], ["l2"], [null], [undefined]])("the client's, for the unknown id %j: ignored", (requestId) => {
    play(openDialogue(), [["client", notify("$/cancel_request", { requestId })]]);
  });

  test('ids are told apart by type: 1 is not "1"', () => {
    play(openDialogue(), [
      ["client", request(1, "session/list", {})],
      ["to agent", request(3, "session/list", {})],
      ["client", notify("$/cancel_request", { requestId: "1" })],
      ["client", notify("$/cancel_request", { requestId: 3 })],
      ["client", notify("$/cancel_request", { requestId: 1 })],
      ["to agent", notify("$/cancel_request", { requestId: 3 })],
    ]);
  });

  test("the agent's, for its own question: passed on; the client's answer to that is no approval", () => {
    play(runningDialogue(), [
      ...toolCall("t"),
      ["agent", permission("a")],
      ["to client", askedPermission(1)],
      ["to client", stateUpdate("requires_action")],
      ["agent", notify("$/cancel_request", { requestId: "a", _meta: { a: 1 } })],
      ["to client", notify("$/cancel_request", { requestId: 1, _meta: { a: 1 } })],
      ["client", fail(1, -32800, "Request cancelled")],
      ["to agent", reply("a", CANCELLED)],
      ["to client", stateUpdate("running")],
      ["agent", notify("$/cancel_request", { requestId: "a" })],
      ["log", "cancel-of-unknown-request"],
    ]);
  });

  test("the agent's, for the second of its questions", () => {
    play(runningDialogue(), [
      ...toolCall("t"),
      ["agent", permission("a")],
      ["to client", askedPermission(1)],
      ["to client", stateUpdate("requires_action")],
      ["agent", permission("b")],
      ["to client", askedPermission(2)],
      ["agent", notify("$/cancel_request", { requestId: "b" })],
      ["to client", notify("$/cancel_request", { requestId: 2 })],
    ]);
  });

  test("the agent's, for an unknown id: ignored", () => {
    play(openDialogue(), [["agent", notify("$/cancel_request", { requestId: 1 })]]);
  });
});

describe("§9 tool_call/cancel and terminal/cancel are never advertised for v1 work", () => {
  test.each([
    ["tool_call/cancel", { sessionId: "s1", toolCallId: "t" }],
    ["terminal/cancel", { sessionId: "s1", terminalId: "t" }],
  ])("%s: -32602, nothing sent", (method, params) => {
    const dialogue = runningDialogue();
    play(dialogue, toolCall("t", "in_progress"));
    const { sent } = dialogue.client(request("c", method, params));
    const message = "the agent cannot cancel this: it announced no such capability";
    const { sessionId: _, ...named } = params;
    expect(sent).toEqual([["client", fail("c", -32602, message, named)]]);
  });
});

describe("§9 the agent dies", () => {
  const exit = (code: number | null, signal: string | null): Row => ["event", { type: "agent-exit", code, signal }];
  const died = (words: string) => ({
    stopReason: "error",
    error: { code: -32603, message: expect.stringContaining(words), data: expect.anything() },
  });
  const ways: [string, Row, string, number][] = [
    ["with status 3", exit(3, null), "status 3", 3],
    ["with status 0", exit(0, null), "status 0", 1],
    ["by SIGKILL", exit(null, "SIGKILL"), "SIGKILL", 137],
  ];
  test.each(ways)(
    "%s: tool calls failed, idle/error saying so, and the bridge exits non-zero",
    (_, event, words, status) => {
      play(runningDialogue(), [
        ...toolCall("t"),
        event,
        ["to client", toolStatus("t", "failed")],
        ["to client", idle(died(words))],
        ["done", status],
      ]);
    },
  );

  test("every running session gets its idle, every open request its answer", () => {
    const error = { code: -32603, message: expect.stringContaining("status 3"), data: expect.anything() };
    const dialogue = openSecond(runningDialogue());
    play(dialogue, [
      ["client", prompt("q", "two", "s2")],
      sent(5, "two", "s2"),
      ["agent", agentText("yes", undefined, "s2")],
      ...accepted("q", minted(2), "two", "s2"),
      ["to client", agentText("yes", minted(3), "s2")],
      ["client", prompt("held", "later")],
      ["client", request("l", "session/list", {})],
      ["to agent", request(6, "session/list", {})],
      exit(3, null),
      ["to client", idle({ stopReason: "error", error })],
      ["to client", idle({ stopReason: "error", error }, "s2")],
      ["to client", { jsonrpc: "2.0", id: "held", error }],
      ["to client", { jsonrpc: "2.0", id: "l", error }],
      ["done", 3],
    ]);
  });

  test("before it gave a sign of life: the prompt gets the error, no user message, no state", () => {
    play(openDialogue(), [
      ["client", prompt("p", "hi")],
      sent(3, "hi"),
      exit(3, null),
      ["to client", { jsonrpc: "2.0", id: "p", error: died("status 3").error }],
      ["done", 3],
    ]);
  });

  test("in the settle window: the turn keeps the ending it had", () => {
    play(runningDialogue({ settle: 50 }), [
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      exit(0, null),
      ["to client", idle({ stopReason: "end_turn" })],
      ["done", 0],
    ]);
  });

  test("with a question open: it is of no use any more, and the turn ends", () => {
    play(runningDialogue(), [
      ...toolCall("t"),
      ["agent", permission("a")],
      ["to client", askedPermission(1)],
      ["to client", stateUpdate("requires_action")],
      exit(1, null),
      ["to client", toolStatus("t", "failed")],
      ["to client", idle(died("status 1"))],
      ["to agent", reply("a", CANCELLED)],
      ["done", 1],
    ]);
  });

  test("while a cancel is being waited for: that it died is what there is to say", () => {
    play(runningDialogue(), [
      ["client", cancel],
      ["to agent", cancel],
      exit(0, null),
      ["to client", idle(died("status 0"))],
      ["done", 1],
    ]);
  });
});

describe("§9 an agent that never falls silent", () => {
  test("has its turn ended ten seconds after its answer; what follows is background", () => {
    const dialogue = openDialogue({ settle: 50 });
    dialogue.wait(5000);
    const { toAgent } = dialogue.client(request(1, "session/prompt", { sessionId: "s1", prompt: [text("hello")] }));
    dialogue.agent(reply(toAgent[0]?.["id"], { stopReason: "end_turn" }));
    const idles: unknown[] = [];
    for (let time = 0; time <= 11_000; time += 25) {
      const { toClient } = dialogue.agent(update("s1", { sessionUpdate: "usage_update", used: 1, size: 2 }));
      for (const frame of [...toClient, ...dialogue.wait(25).toClient])
        if (JSON.stringify(frame).includes('"idle"')) idles.push(time);
    }
    expect(idles).toHaveLength(1);
    expect(idles[0]).toBeGreaterThanOrEqual(9_900);
    expect(idles[0]).toBeLessThan(10_100);
  });
});
