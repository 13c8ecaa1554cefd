// Guards docs/mapping.md §13: a v1 prompt over a v2 agent stays open until the idle that ends the work it began, and
// gets exactly one answer, whatever the agent does.
import { describe, expect, test } from "vitest";
import {
  agentText,
  type Dialogue,
  fail,
  idle,
  notify,
  openDowngrade,
  play,
  prompt,
  type Row,
  reply,
  request,
  stateUpdate,
  text,
  update,
} from "../../support/dialogue.ts";

/** The agent's id for the first prompt of {@link openDowngrade}. */
const PROMPT = 3;

const userMessage = (messageId: string, words: string) =>
  update("s1", { sessionUpdate: "user_message", messageId, content: [text(words)] });
const userChunk = (messageId: string, words: string) =>
  update("s1", { sessionUpdate: "user_message_chunk", messageId, content: text(words) });
const sent = (id: unknown, words: string, agentId = PROMPT): Row[] => [
  ["client", prompt(id, words)],
  ["to agent", prompt(agentId, words)],
];
const running: Row = ["agent", stateUpdate("running")];
const accepts = (messageId: string, agentId = PROMPT): Row => ["agent", reply(agentId, { messageId })];
const idles = (stopReason?: string): Row => ["agent", idle(stopReason === undefined ? {} : { stopReason })];
const ends = (id: unknown, stopReason = "end_turn"): Row => ["to client", reply(id, { stopReason })];
const says = (words: string, messageId: string): Row[] => [
  ["agent", agentText(words, messageId)],
  ["to client", agentText(words, messageId)],
];
const cancel = notify("session/cancel", { sessionId: "s1" });

/** A dialogue whose agent has accepted the prompt "p" and works on it. */
function working(overrides = {}): Dialogue {
  const dialogue = openDowngrade({}, overrides);
  play(dialogue, [...sent("p", "hello"), accepts("u1"), ["agent", userMessage("u1", "hello")], running]);
  return dialogue;
}

describe("an ordinary turn", () => {
  test.each<[string, Row[]]>([
    ["accepted, echoed, running", [accepts("u1"), ["agent", userMessage("u1", "hello")], running]],
    ["echoed, accepted, running", [["agent", userMessage("u1", "hello")], accepts("u1"), running]],
    [
      "running, echoed in chunks, accepted",
      [running, ["agent", userChunk("u1", "hel")], ["agent", userChunk("u1", "lo")], accepts("u1")],
    ],
    ["running, accepted, never echoed", [running, accepts("u1")]],
    ["a repeated idle before it runs", [accepts("u1"), idles(), ["wait", 60_000], running]],
    ["waiting for a person at once", [accepts("u1"), ["agent", stateUpdate("requires_action")]]],
    [
      "echoed, a repeated idle, accepted, running",
      [["agent", userMessage("u1", "hello")], idles("end_turn"), accepts("u1"), running],
    ],
  ])("%s", (_, beginning) => {
    play(openDowngrade(), [
      ...sent("p", "hello"),
      ...beginning,
      ...says("Hi", "m1"),
      idles("end_turn"),
      ends("p"),
      // A second idle ends nothing.
      idles("end_turn"),
      ["wait", 60_000],
    ]);
  });

  test("waiting for a person ends no turn", () => {
    play(working(), [["agent", stateUpdate("requires_action")], running, idles("end_turn"), ends("p")]);
  });

  test.each([
    ["max_tokens", { stopReason: "max_tokens" }],
    ["max_turn_requests", { stopReason: "max_turn_requests" }],
    ["refusal", { stopReason: "refusal" }],
    ["cancelled", { stopReason: "cancelled" }],
    ["_out_of_luck", { stopReason: "end_turn", _meta: { "acp-shift/stopReason": "_out_of_luck" } }],
    ["brand_new", { stopReason: "end_turn", _meta: { "acp-shift/stopReason": "brand_new" } }],
    [undefined, { stopReason: "end_turn" }],
    [null, { stopReason: "end_turn" }],
  ])("stop reason %s", (stopReason, result) => {
    play(working(), [
      ["agent", idle(stopReason === undefined ? {} : { stopReason })],
      ["to client", reply("p", result)],
    ]);
  });

  test("what the idle says beside is kept, but for what runs in the background", () => {
    const usage = { totalTokens: 3, inputTokens: 1, outputTokens: 2 };
    play(working(), [
      ["agent", idle({ stopReason: "end_turn", usage, background: [], error: null, _meta: { cost: 1 } })],
      ["to client", reply("p", { stopReason: "end_turn", usage, _meta: { cost: 1 } })],
    ]);
  });

  test("an error with and without details", () => {
    play(working(), [
      ["agent", idle({ stopReason: "error", error: { code: 529, message: "over\nloaded", data: { retry: 1 } } })],
      ["to client", fail("p", 529, "over loaded", { retry: 1 })],
      ...sent("q", "again", 4),
      accepts("u2", 4),
      running,
      idles("error"),
      ["to client", fail("q", -32603, "the agent's work failed")],
    ]);
  });

  test("a prompt the agent refuses", () => {
    play(openDowngrade(), [
      ...sent("p", "hello"),
      ["agent", fail(PROMPT, -32602, "no images, please")],
      ["to client", fail("p", -32602, "no images, please")],
      ...sent("q", "again", 4),
    ]);
  });

  test("an empty prompt, and one of a session that is not open, are refused here", () => {
    play(openDowngrade(), [
      ["client", request("p", "session/prompt", { sessionId: "s1", prompt: [] })],
      ["to client", fail("p", -32602, "prompt must be a list with content")],
      ["client", prompt("q", "hello", "other")],
      [
        "to client",
        fail("q", -32002, "session not found: open it with session/new, session/load or session/resume first", {
          sessionId: "other",
        }),
      ],
    ]);
  });
});

describe("a late acceptance", () => {
  test("all is over when it comes: the echo tells which idle was the prompt's", () => {
    play(openDowngrade(), [
      ...sent("p", "hello"),
      ["agent", userMessage("u1", "hello")],
      running,
      ...says("Hi", "m1"),
      idles("max_tokens"),
      accepts("u1"),
      ends("p", "max_tokens"),
    ]);
  });

  test("the idle of other work, before the prompt's echo, ends nothing", () => {
    play(openDowngrade(), [
      running,
      ...sent("p", "hello"),
      idles("end_turn"),
      ["agent", userMessage("u1", "hello")],
      accepts("u1"),
      running,
      idles("refusal"),
      ends("p", "refusal"),
    ]);
  });

  test("nor does it where the prompt is not echoed", () => {
    play(openDowngrade(), [
      running,
      ...sent("p", "hello"),
      idles("end_turn"),
      accepts("u1"),
      ["wait", 60_000],
      running,
      idles("refusal"),
      ends("p", "refusal"),
    ]);
  });

  test("without an echo the agent is given a moment to say that it runs", () => {
    play(openDowngrade(), [
      ...sent("p", "hello"),
      running,
      idles("end_turn"),
      accepts("u1"),
      ["wait", 1999],
      ["wait", 1],
      ends("p"),
    ]);
    play(openDowngrade(), [
      ...sent("p", "hello"),
      running,
      idles("end_turn"),
      accepts("u1"),
      ["wait", 1999],
      running,
      ["wait", 60_000],
      idles("refusal"),
      ends("p", "refusal"),
    ]);
  });

  test("so it is where it never says that it runs, and then how that ended", () => {
    play(openDowngrade(), [...sent("p", "hello"), accepts("u1"), idles("end_turn"), ["wait", 2000], ends("p")]);
  });

  test("messages of others that came before the acceptance are shown after it", () => {
    play(openDowngrade(), [
      ...sent("p", "hello"),
      ["agent", userChunk("other", "Your build ")],
      ["agent", userChunk("other", "is done")],
      ["agent", userMessage("u1", "hello")],
      accepts("u1"),
      ["to client", userChunk("other", "Your build ")],
      ["to client", userChunk("other", "is done")],
      running,
      // Not even a change of the client's own message is shown.
      ["agent", userMessage("u1", "hello, you")],
    ]);
  });
});

describe("work the agent begins", () => {
  test("its updates pass outside a turn, and no state reaches the client", () => {
    play(openDowngrade(), [
      running,
      ...says("The build is done", "m1"),
      ["agent", userMessage("u9", "from elsewhere")],
      ["to client", userChunk("u9", "from elsewhere")],
      idles("end_turn"),
    ]);
  });

  test("a prompt inserted into it ends with it", () => {
    play(openDowngrade(), [running, ...sent("p", "hello"), accepts("u1"), ...says("Hi", "m1"), idles(), ends("p")]);
  });

  test("a state v2 does not define says nothing", () => {
    play(working(), [["agent", stateUpdate("_asleep")], ["log", "state-unknown"], idles("end_turn"), ends("p")]);
  });
});

describe("a second prompt", () => {
  test("is held until the first has its answer", () => {
    play(working(), [
      ["client", prompt("q", "and then?")],
      ["log", "prompt-held"],
      idles("end_turn"),
      ends("p"),
      ["to agent", prompt(4, "and then?")],
      accepts("u2", 4),
      running,
      idles("refusal"),
      ends("q", "refusal"),
    ]);
  });

  test("is not sent by a resume meanwhile, and not once the session is being closed", () => {
    play(working(), [
      ["client", prompt("q", "and then?")],
      ["client", request("r", "session/resume", { sessionId: "s1", cwd: "/work", mcpServers: [] })],
      ["to agent", request(4, "session/resume", { sessionId: "s1", cwd: "/work", mcpServers: [] })],
      ["agent", reply(4, {})],
      ["to client", reply("r", {})],
      ["client", request("c", "session/close", { sessionId: "s1" })],
      ends("q", "cancelled"),
      ["to agent", request(5, "session/close", { sessionId: "s1" })],
      ["client", prompt("r", "late")],
      idles("cancelled"),
      ends("p", "cancelled"),
      ["agent", reply(5, {})],
      ends("r", "cancelled"),
      ["to client", reply("c", {})],
    ]);
  });

  test("is refused beyond --prompt-queue", () => {
    play(working({ promptQueue: 0 }), [
      ["client", prompt("q", "and then?")],
      ["to client", fail("q", -32603, "0 prompts of this session are waiting already; try again later", { limit: 0 })],
    ]);
  });

  test("goes on when the first is refused", () => {
    play(openDowngrade(), [
      ...sent("p", "hello"),
      ["client", prompt("q", "and then?")],
      ["agent", fail(PROMPT, -32603, "busy")],
      ["to client", fail("p", -32603, "busy")],
      ["to agent", prompt(4, "and then?")],
    ]);
  });
});

describe("cancelling", () => {
  test("the open prompt ends as cancelled, whatever the idle says", () => {
    for (const stopReason of ["cancelled", "end_turn", "error"])
      play(working(), [
        ["client", cancel],
        ["to agent", cancel],
        ...says("Stopping", "m1"),
        idles(stopReason),
        ends("p", "cancelled"),
        ["wait", 60_000],
      ]);
  });

  test("held prompts end at once", () => {
    play(working(), [
      ["client", prompt("q", "and then?")],
      ["client", cancel],
      ends("q", "cancelled"),
      ["to agent", cancel],
      idles("cancelled"),
      ends("p", "cancelled"),
    ]);
  });

  test("before the acceptance: refused, or accepted and cancelled", () => {
    play(openDowngrade(), [
      ...sent("p", "hello"),
      ["client", cancel],
      ["to agent", cancel],
      ["agent", fail(PROMPT, -32800, "cancelled")],
      ends("p", "cancelled"),
    ]);
    play(openDowngrade(), [
      ...sent("p", "hello"),
      ["client", cancel],
      ["to agent", cancel],
      accepts("u1"),
      idles("cancelled"),
      ends("p", "cancelled"),
    ]);
  });

  test("accepted after the cancel, with nothing that runs", () => {
    play(openDowngrade(), [
      ...sent("p", "hello"),
      ["client", cancel],
      ["to agent", cancel],
      idles("cancelled"),
      accepts("u1"),
      ["wait", 2000],
      ends("p", "cancelled"),
    ]);
  });

  test("accepted, before anything runs: an agent with nothing to end need not say so", () => {
    play(openDowngrade(), [
      ...sent("p", "hello"),
      accepts("u1"),
      ["client", cancel],
      ["to agent", cancel],
      ["wait", 2000],
      ends("p", "cancelled"),
    ]);
  });

  test("an agent that never ends is given up, and what it says later ends nothing else", () => {
    play(working(), [
      ["client", cancel],
      ["to agent", cancel],
      ["wait", 29_999],
      ["wait", 1],
      ends("p", "cancelled"),
      ...sent("q", "again", 4),
      idles("cancelled"),
      ["agent", userMessage("u2", "again")],
      accepts("u2", 4),
      running,
      idles("end_turn"),
      ends("q"),
    ]);
  });

  test("--cancel-timeout 0: it is waited for, for ever", () => {
    play(working({ cancelTimeout: 0 }), [
      ["client", cancel],
      ["to agent", cancel],
      ["wait", 24 * 3600 * 1000],
      idles("cancelled"),
      ends("p", "cancelled"),
    ]);
  });

  test("before the acceptance, which is waited for; other work that runs then is waited for too", () => {
    play(openDowngrade(), [
      running,
      ...sent("p", "hello"),
      ["client", cancel],
      ["to agent", cancel],
      ["wait", 10_000],
      accepts("u1"),
      ["wait", 10_000],
      idles("cancelled"),
      ends("p", "cancelled"),
    ]);
    play(openDowngrade(), [
      ...sent("p", "hello"),
      ["client", notify("$/cancel_request", { requestId: "p" })],
      ["to agent", cancel],
      ["wait", 10_000],
      accepts("u1"),
      ["wait", 2000],
      ends("p", "cancelled"),
    ]);
  });

  test("leaves no timer, and one that runs out late changes nothing", () => {
    const dialogue = working();
    play(dialogue, [["client", cancel], ["to agent", cancel], idles("cancelled"), ends("p", "cancelled")]);
    expect([...dialogue.timers.keys()]).toEqual([]);
    for (const name of ["idle s1", "cancel s1", "idle other"]) play(dialogue, [["event", { type: "timer", name }]]);
    play(working(), [["event", { type: "timer", name: "idle s1" }]]);
  });

  test("with nothing open it is passed on: it ends what the agent began itself", () => {
    play(openDowngrade(), [
      ["client", cancel],
      ["to agent", cancel],
      ["client", request("c", "session/cancel", { sessionId: "s1" })],
      ["to agent", cancel],
      ["to client", reply("c", {})],
    ]);
  });

  test("$/cancel_request of the open prompt is as good; a held one is refused", () => {
    play(working(), [
      ["client", prompt("n", "no")],
      ["client", prompt("o", "or")],
      ["client", prompt("q", "and then?")],
      ["client", notify("$/cancel_request", { requestId: "n" })],
      ["to client", fail("n", -32800, "the prompt was cancelled before the agent took it")],
      ["client", notify("$/cancel_request", { requestId: "q" })],
      ["to client", fail("q", -32800, "the prompt was cancelled before the agent took it")],
      ["client", notify("$/cancel_request", { requestId: "p" })],
      ["to agent", cancel],
      idles("cancelled"),
      ends("p", "cancelled"),
      ["to agent", prompt(4, "or")],
    ]);
  });

  test("$/cancel_request of another request goes through under the agent's id", () => {
    play(openDowngrade(), [
      ["client", request("l", "session/list", {})],
      ["to agent", request(3, "session/list", {})],
      ["client", notify("$/cancel_request", { requestId: "l" })],
      ["to agent", notify("$/cancel_request", { requestId: 3 })],
      ["agent", fail(3, -32800, "cancelled")],
      ["to client", fail("l", -32800, "cancelled")],
    ]);
  });
});

describe("the agent dies", () => {
  const exit: Row = ["event", { type: "agent-exit", code: 3, signal: null }];

  test("in a turn: open tool calls fail, then every request gets the reason", () => {
    const dialogue = working();
    play(dialogue, [
      ["agent", update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t", title: "Look" })],
      ["to client", update("s1", { sessionUpdate: "tool_call", toolCallId: "t", title: "Look" })],
      ["agent", update("s1", { sessionUpdate: "tool_call_update", toolCallId: "u", title: "Do", status: "completed" })],
      ["to client", update("s1", { sessionUpdate: "tool_call", toolCallId: "u", title: "Do", status: "completed" })],
      ["client", prompt("q", "and then?")],
    ]);
    const { toClient, done } = dialogue.event(exit[1] as never);
    const failed = update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t", status: "failed" });
    const error = { code: -32603, data: { phase: "turn", exitCode: 3 } };
    expect(toClient).toMatchObject([failed, { id: "p", error }, { id: "q", error }]);
    expect(done).toBe(3);
  });

  test("before it answered anything", () => {
    const dialogue = openDowngrade();
    play(dialogue, sent("p", "hello"));
    expect(dialogue.event({ type: "agent-exit", code: 0, signal: null })).toMatchObject({
      toClient: [{ id: "p", error: { code: -32603 } }],
      done: 1,
    });
  });

  test("the client leaves in a turn: nothing more is sent", () => {
    const dialogue = working();
    expect(dialogue.event({ type: "client-left" }).done).toBeUndefined();
    expect(dialogue.event({ type: "agent-exit", code: 0, signal: null }).done).toBe(0);
  });
});
