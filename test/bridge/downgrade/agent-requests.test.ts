// Guards docs/mapping.md §13: what a v2 agent asks of a v1 client. An unknown answer is never an approval, and every
// request of the agent's gets exactly one answer.
import { describe, expect, test } from "vitest";
import {
  type Dialogue,
  fail,
  idle,
  minted,
  notify,
  openDowngrade,
  play,
  prompt,
  type Row,
  reply,
  request,
  runningTurn,
  text,
  update,
} from "../../support/dialogue.ts";

const options = [
  { optionId: "yes", name: "Yes", kind: "allow_once" },
  { optionId: "no", name: "No", kind: "reject_once" },
];
const selected = (optionId: string) => ({ outcome: { outcome: "selected", optionId } });
const cancelled = { outcome: { outcome: "cancelled" } };
const asks = (fields: object, id: unknown = "a"): Row => [
  "agent",
  request(id, "session/request_permission", { sessionId: "s1", title: "May I?", options, ...fields }),
];
const asked = (toolCall: object, id = 1, fields: object = {}): Row => [
  "to client",
  request(id, "session/request_permission", { sessionId: "s1", title: "May I?", options, toolCall, ...fields }),
];
const shows = (fields: object): Row => ["to client", update("s1", fields)];

describe("permissions", () => {
  const subject = { type: "tool_call", toolCall: { toolCallId: "t", title: "Remove a", kind: "delete" } };
  const toolCall = { toolCallId: "t", title: "Remove a", kind: "delete" };
  const announced = shows({ sessionUpdate: "tool_call", ...toolCall });

  test("about a tool call that was not announced, which it then is", () => {
    play(openDowngrade(), [
      asks({ subject }),
      announced,
      asked(toolCall),
      ["client", reply(1, selected("yes"))],
      ["to agent", reply("a", selected("yes"))],
    ]);
  });

  test("about something v1 does not define: a tool call made for it", () => {
    const { title, ...rest } = { title: "May I?", kind: "other", status: "pending", rawInput: { toolCall } };
    const made = { toolCallId: minted(1), title, ...rest };
    play(openDowngrade(), [
      asks({ subject: { type: "_deploy", toolCall } }),
      shows({ sessionUpdate: "tool_call", ...made }),
      asked(made),
    ]);
  });

  test("about one with content that is not valid, which goes", () => {
    const content = [{ type: "content", content: { type: "image" } }];
    play(openDowngrade(), [
      asks({ subject: { type: "tool_call", toolCall: { ...toolCall, content } } }),
      shows({ sessionUpdate: "tool_call", ...toolCall, content: [] }),
      asked({ ...toolCall, content: [] }),
    ]);
  });

  test("about one the client knows, under the title it knows it by", () => {
    play(openDowngrade(), [
      ["agent", update("s1", { sessionUpdate: "tool_call_update", ...toolCall })],
      announced,
      asks({ subject: { type: "tool_call", toolCall: { toolCallId: "t", status: "paused" } } }),
      asked({ toolCallId: "t", title: "Remove a", status: "in_progress" }),
      ["client", reply(1, selected("no"))],
      ["to agent", reply("a", selected("no"))],
    ]);
  });

  const command = { type: "command", command: "rm a", cwd: "/work" };
  const made = {
    toolCallId: minted(1),
    title: "rm a",
    kind: "execute",
    status: "pending",
    content: [{ type: "content", content: text("May I?") }],
    rawInput: { command: "rm a", cwd: "/work" },
  };
  const ends = (status: string) => shows({ sessionUpdate: "tool_call_update", toolCallId: minted(1), status });

  test("about a command, or nothing in particular: a tool call made for it, which ends with the answer", () => {
    play(openDowngrade(), [
      asks({ subject: command }),
      shows({ sessionUpdate: "tool_call", ...made }),
      asked(made),
      ["client", reply(1, selected("yes"))],
      ends("completed"),
      ["to agent", reply("a", selected("yes"))],
    ]);
    const plain = { toolCallId: minted(1), title: "May I?", kind: "other", status: "pending" };
    play(openDowngrade(), [
      asks({}),
      shows({ sessionUpdate: "tool_call", ...plain }),
      asked(plain),
      ["client", reply(1, selected("no"))],
      ends("failed"),
      ["to agent", reply("a", selected("no"))],
    ]);
  });

  test("about a command of a tool call the client knows", () => {
    play(openDowngrade(), [
      ["agent", update("s1", { sessionUpdate: "tool_call_update", ...toolCall })],
      announced,
      asks({ subject: { ...command, toolCallId: "t" } }),
      asked({ toolCallId: "t", title: "Remove a" }),
    ]);
  });

  test.each<[string, unknown]>([
    ["an option that was not offered", reply(1, selected("maybe"))],
    ["an outcome nobody defined", reply(1, { outcome: { outcome: "_approved", optionId: "yes" } })],
    ["cancelled", reply(1, cancelled)],
    ["no outcome", reply(1, {})],
    ["an error", fail(1, -32603, "no")],
  ])("%s is no approval", (_, answer) => {
    play(openDowngrade(), [
      asks({ subject }),
      announced,
      asked(toolCall),
      ["client", answer],
      ["to agent", reply("a", cancelled)],
    ]);
    play(openDowngrade(), [
      asks({ subject: command }),
      shows({ sessionUpdate: "tool_call", ...made }),
      asked(made),
      ["client", answer],
      ends("failed"),
      ["to agent", reply("a", cancelled)],
    ]);
  });

  test("options v1 does not know are the nearest kind, or left out; without any left it is cancelled", () => {
    const odd = [
      { optionId: "1", name: "Allow here", kind: "_allow_here" },
      { optionId: "2", name: "Never", kind: "_reject_forever" },
      { optionId: "3", name: "Explain", kind: "_explain" },
    ];
    play(openDowngrade(), [
      asks({ subject, options: odd }),
      announced,
      asked(toolCall, 1, {
        options: [
          { ...odd[0], kind: "allow_once" },
          { ...odd[1], kind: "reject_once" },
        ],
      }),
      ["client", reply(1, selected("3"))],
      ["to agent", reply("a", cancelled)],
    ]);
    play(openDowngrade(), [
      asks({ options: odd.slice(2) }),
      ["to agent", reply("a", cancelled)],
      ["log", "permission-cancelled"],
    ]);
  });

  /** A dialogue in a turn, the agent having asked for permission under "a". */
  function asking(): Dialogue {
    const dialogue = openDowngrade();
    play(dialogue, [...runningTurn, asks({ subject }), announced, asked(toolCall)]);
    return dialogue;
  }

  test("a cancel answers it, withdraws it from the client, and refuses those that still come", () => {
    const cancel = notify("session/cancel", { sessionId: "s1" });
    play(asking(), [
      ["client", cancel],
      ["to agent", cancel],
      ["to agent", reply("a", cancelled)],
      ["to client", notify("$/cancel_request", { requestId: 1 })],
      // As v1 has it, the client answers all the same.
      ["client", reply(1, cancelled)],
      asks({ subject }, "b"),
      ["to agent", reply("b", cancelled)],
      ["agent", idle({ stopReason: "cancelled" })],
      ["to client", reply("p", { stopReason: "cancelled" })],
    ]);
  });

  test("the tool call made for a question that is withdrawn ends with it", () => {
    const cancel = notify("session/cancel", { sessionId: "s1" });
    const plain = { toolCallId: minted(1), title: "May I?", kind: "other", status: "pending" };
    play(openDowngrade(), [
      asks({}),
      shows({ sessionUpdate: "tool_call", ...plain }),
      asked(plain),
      ["client", cancel],
      ["to agent", cancel],
      ["to agent", reply("a", cancelled)],
      ["to client", notify("$/cancel_request", { requestId: 1 })],
      ends("failed"),
    ]);
  });

  test("the agent withdraws it", () => {
    play(asking(), [
      ["agent", notify("$/cancel_request", { requestId: "a" })],
      ["to client", notify("$/cancel_request", { requestId: 1 })],
      ["client", fail(1, -32800, "withdrawn")],
      ["to agent", reply("a", cancelled)],
    ]);
  });

  test("the client leaves, or closes the session", () => {
    expect(asking().event({ type: "client-left" }).toAgent).toEqual([reply("a", cancelled)]);
    play(asking(), [
      ["client", request("c", "session/close", { sessionId: "s1" })],
      ["to agent", reply("a", cancelled)],
      ["to client", notify("$/cancel_request", { requestId: 1 })],
      ["to agent", request(4, "session/close", { sessionId: "s1" })],
    ]);
  });

  test("in a session the client does not know", () => {
    play(openDowngrade(), [
      asks({ sessionId: "other" }),
      ["to agent", reply("a", cancelled)],
      ["log", "permission-cancelled"],
    ]);
  });
});

describe("elicitations", () => {
  const form = {
    sessionId: "s1",
    mode: "form",
    message: "Name?",
    requestedSchema: { type: "object", properties: { name: { type: "string" } } },
  };
  const capable = { elicitation: { form: {} } };

  test("of work that is being cancelled, and one that cannot be made valid, are not asked", () => {
    play(openDowngrade(capable), [
      ["agent", request("b", "elicitation/create", { ...form, message: 7 })],
      ["to agent", fail("b", -32602, expect.any(String))],
      ["agent", request("c", "elicitation/create", { ...form, mode: 7 })],
      ["to agent", fail("c", -32602, expect.any(String))],
      ["client", prompt("p", "hello")],
      ["to agent", prompt(3, "hello")],
      ["client", notify("session/cancel", { sessionId: "s1" })],
      ["to agent", notify("session/cancel", { sessionId: "s1" })],
      ["agent", request("a", "elicitation/create", form)],
      ["to agent", reply("a", { action: "cancel" })],
    ]);
  });

  test("pass to a client that has them; an answer that is none is cancel", () => {
    play(openDowngrade(capable), [
      ["agent", request("a", "elicitation/create", form)],
      ["to client", request(1, "elicitation/create", form)],
      ["client", reply(1, { action: "accept", content: { name: "x" } })],
      ["to agent", reply("a", { action: "accept", content: { name: "x" } })],
      ["agent", request("b", "elicitation/create", form)],
      ["to client", request(2, "elicitation/create", form)],
      ["client", reply(2, { content: { name: "x" } })],
      ["to agent", reply("b", { action: "cancel" })],
    ]);
  });

  test("not to one that has not, nor in a mode it has not", () => {
    const refusal = (mode: string) => fail("a", -32601, `the client offers no elicitation of mode ${mode}`);
    play(openDowngrade(), [
      ["agent", request("a", "elicitation/create", form)],
      ["to agent", refusal("form")],
    ]);
    play(openDowngrade(capable), [
      ["agent", request("a", "elicitation/create", { ...form, mode: "_voice" })],
      ["to agent", refusal("_voice")],
    ]);
  });

  test("one for a request of the client's bears the id the client knows", () => {
    const { sessionId: _, ...rest } = form;
    play(openDowngrade(capable), [
      ["client", request("auth", "authenticate", { methodId: "key" })],
      ["to agent", request(3, "auth/login", { methodId: "key" })],
      ["agent", request("a", "elicitation/create", { ...rest, requestId: 3 })],
      ["to client", request(1, "elicitation/create", { ...rest, requestId: "auth" })],
      ["agent", request("b", "elicitation/create", { ...rest, requestId: 99 })],
      ["to agent", reply("b", { action: "cancel" })],
    ]);
  });

  test("one for nothing in particular is not asked, whatever else is open", () => {
    const { sessionId: _, ...rest } = form;
    play(openDowngrade(capable), [
      ["client", prompt("p", "hello")],
      ["to agent", prompt(3, "hello")],
      ["client", prompt("held", "next")],
      ["agent", request("a", "elicitation/create", rest)],
      ["to agent", reply("a", { action: "cancel" })],
    ]);
  });

  test("one for a session the client does not know and a request it does is not asked", () => {
    play(openDowngrade(capable), [
      ["client", request("auth", "authenticate", { methodId: "key" })],
      ["to agent", request(3, "auth/login", { methodId: "key" })],
      ["agent", request("a", "elicitation/create", { ...form, sessionId: "s9", requestId: 3 })],
      ["to agent", reply("a", { action: "cancel" })],
    ]);
  });

  test("news of one reach only a client that has them", () => {
    const complete = notify("elicitation/complete", { elicitationId: "e" });
    play(openDowngrade(capable), [
      ["agent", complete],
      ["to client", complete],
    ]);
    play(openDowngrade(), [
      ["agent", complete],
      ["log", "elicitation-not-offered"],
    ]);
  });
});

describe("everything else", () => {
  test("files and terminals of the client's go unused", () => {
    play(openDowngrade({ fs: { readTextFile: true }, terminal: true }), [
      ["agent", request("a", "fs/read_text_file", { sessionId: "s1", path: "/work/a" })],
      ["to agent", fail("a", -32601, "fs/read_text_file is not known here")],
      ["agent", request("b", "terminal/create", { sessionId: "s1", command: "ls" })],
      ["to agent", fail("b", -32601, "terminal/create is not known here")],
    ]);
  });

  test("an extension passes, and a bare name gets a prefix", () => {
    play(openDowngrade(), [
      ["agent", request("a", "_vendor/ask", { x: 1 })],
      ["to client", request(1, "_vendor/ask", { x: 1 })],
      ["client", reply(1, { y: null })],
      ["to agent", reply("a", { y: null })],
      ["agent", request("b", "vendor/ask", { x: 1 })],
      ["to client", request(2, "_vendor/ask", { x: 1 })],
      ["client", fail(2, -32601, "what?")],
      ["to agent", fail("b", -32601, "what?")],
      ["agent", notify("vendor/tell", { x: 1 })],
      ["to client", notify("_vendor/tell", { x: 1 })],
    ]);
  });
});
