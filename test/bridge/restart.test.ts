// Guards docs/mapping.md §2 and issue "restart after login": an agent that takes up its login only in a fresh process.
import { describe, expect, test } from "vitest";
import {
  accepted,
  agentHello,
  agentText,
  clientHello,
  createDialogue,
  type Dialogue,
  fail,
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
} from "../support/dialogue.ts";

const restarts = { restartAfterLogin: true };
const login = request("l", "auth/login", { methodId: "key" });
const authenticate = (id: number): Row => ["to agent", request(id, "authenticate", { methodId: "key" })];
const restart: Row = ["does", { type: "restart-agent" }];
const restarted: Row = ["event", { type: "agent-restarted" }];

/** What the agent was told first; it is told the same again. */
function introduction(): unknown {
  const dialogue = createDialogue(restarts);
  return dialogue.client(request("init", "initialize", clientHello)).toAgent[0]?.["params"];
}
const initialize = (id: number): Row => ["to agent", request(id, "initialize", introduction())];

const ended = {
  code: -32603,
  message: expect.stringContaining("restarted") as string,
};

describe("restart after login", () => {
  test("not unless it is asked for", () => {
    play(pairedDialogue(), [
      ["client", login],
      authenticate(2),
      ["agent", reply(2, {})],
      ["to client", reply("l", {})],
    ]);
  });

  test("the agent is introduced again; then the login is answered, with its own result", () => {
    play(pairedDialogue(restarts), [
      ["client", login],
      authenticate(2),
      ["agent", reply(2, { _meta: { a: 1 } })],
      restart,
      restarted,
      initialize(3),
      ["agent", reply(3, agentHello)],
      ["to client", reply("l", { _meta: { a: 1 } })],
      // A handshake that is over is not timed out.
      ["wait", 120_000],
    ]);
  });

  test("a login that fails restarts nothing", () => {
    play(pairedDialogue(restarts), [
      ["client", login],
      authenticate(2),
      ["agent", fail(2, -32603, "wrong key")],
      ["to client", fail("l", -32603, "wrong key")],
    ]);
  });

  test("requests wait meanwhile, and go through in their order", () => {
    const dialogue = pairedDialogue(restarts);
    play(dialogue, [
      ["client", login],
      authenticate(2),
      ["agent", reply(2, {})],
      restart,
      ["client", request("n", "session/new", { cwd: "/work" })],
      restarted,
      initialize(3),
      ["client", request("x", "_vendor/do", {})],
      ["agent", reply(3, agentHello)],
      ["to client", reply("l", {})],
      ["to agent", request(4, "session/new", { cwd: "/work", mcpServers: [] })],
      ["to agent", request(5, "_vendor/do", {})],
      ["agent", reply(5, {})],
      ["to client", reply("x", {})],
      ["agent", reply(4, { sessionId: "s1" })],
      ["to client", reply("n", { sessionId: "s1" })],
    ]);
    expect([...dialogue.timers.keys()]).toEqual([]);
  });

  test("an error of the second initialize is the login's", () => {
    play(pairedDialogue(restarts), [
      ["client", login],
      authenticate(2),
      ["agent", reply(2, {})],
      restart,
      restarted,
      initialize(3),
      ["agent", fail(3, -32603, "no licence")],
      ["to client", fail("l", -32603, "no licence")],
      ["client", login],
      authenticate(4),
    ]);
  });

  test("an agent that does not come up again in time ends the bridge, and the login has its answer", () => {
    play(pairedDialogue(restarts), [
      ["client", login],
      authenticate(2),
      ["agent", reply(2, {})],
      restart,
      restarted,
      initialize(3),
      ["wait", 60_000],
      ["to client", { jsonrpc: "2.0", id: "l", error: expect.objectContaining({ code: -32603 }) }],
      ["done", 1],
    ]);
  });

  test("an agent that dies when started again ends the bridge, and who waits has an answer", () => {
    play(pairedDialogue(restarts), [
      ["client", login],
      authenticate(2),
      ["agent", reply(2, {})],
      restart,
      ["client", request("n", "session/new", { cwd: "/work" })],
      restarted,
      initialize(3),
      ["event", { type: "agent-exit", code: 7, signal: null }],
      ["to client", { jsonrpc: "2.0", id: "l", error: expect.objectContaining({ code: -32603 }) }],
      ["to client", { jsonrpc: "2.0", id: "n", error: expect.objectContaining({ code: -32603 }) }],
      ["done", 7],
    ]);
  });
});

describe("what the old process was doing", () => {
  /** Logs in up to the restart; what came of it. */
  function logIn(dialogue: Dialogue) {
    const { toAgent } = dialogue.client(login);
    return dialogue.agent(reply(toAgent[0]?.["id"], {}));
  }

  test("a turn ends with idle/error, what was held or open gets an error, and its late answers are nobody's", () => {
    const dialogue = runningDialogue(restarts);
    play(dialogue, [
      ["client", prompt("held", "next")],
      ["client", request("open", "_vendor/do", {})],
      ["to agent", request(4, "_vendor/do", {})],
      ["client", login],
      authenticate(5),
      ["agent", reply(5, {})],
      ["to client", stateUpdate("idle", { stopReason: "error", error: ended })],
      ["to client", { jsonrpc: "2.0", id: "held", error: ended }],
      ["to client", { jsonrpc: "2.0", id: "open", error: ended }],
      restart,
      restarted,
      initialize(6),
      ["agent", reply(6, agentHello)],
      ["to client", reply("l", {})],
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      ["log", "answer-to-no-request"],
      ["client", prompt("p2", "hi")],
      ["to client", fail("p2", -32002, expect.any(String), { sessionId: "s1" })],
    ]);
  });

  test("a prompt that was not accepted yet fails, without a turn", () => {
    const dialogue = openDialogue(restarts);
    dialogue.client(prompt("p", "hi"));
    expect(logIn(dialogue).toClient).toEqual([{ jsonrpc: "2.0", id: "p", error: ended }]);
    expect(dialogue.wait(10_000).sent).toEqual([]);
  });

  test("a question to the person is withdrawn, and its answer does not reach the new process", () => {
    const dialogue = runningDialogue(restarts);
    dialogue.agent(
      request(9, "session/request_permission", {
        sessionId: "s1",
        toolCall: { toolCallId: "t", title: "Write" },
        options: [{ optionId: "y", name: "Yes", kind: "allow_once" }],
      }),
    );
    const { toClient, toAgent } = logIn(dialogue);
    expect(toClient[0]).toEqual(notify("$/cancel_request", { requestId: 1 }));
    expect(toAgent).toEqual([reply(9, { outcome: { outcome: "cancelled" } })]);
    expect(dialogue.client(reply(1, { outcome: { outcome: "selected", optionId: "y" } })).toAgent).toEqual([]);
  });

  test("its terminals end, and what they still say reaches nobody", () => {
    const dialogue = openDialogue({ ...restarts, hosts: { files: false, terminals: true } });
    dialogue.agent(request(9, "terminal/create", { sessionId: "s1", command: "ls" }));
    expect(logIn(dialogue).acts).toEqual([{ type: "end-terminals", sessionId: "s1" }, { type: "restart-agent" }]);
    expect(dialogue.event({ type: "hosted", call: 1, outcome: { result: {} } }).sent).toEqual([]);
  });

  test("a session/new in flight gets an error, and the next one works", () => {
    const dialogue = pairedDialogue(restarts);
    dialogue.client(request("n", "session/new", { cwd: "/work" }));
    expect(logIn(dialogue).toClient).toEqual([{ jsonrpc: "2.0", id: "n", error: ended }]);
    play(dialogue, [
      restarted,
      initialize(4),
      ["agent", reply(4, agentHello)],
      ["to client", reply("l", {})],
      // No session is being opened: an update of an unknown one is not held back for it.
      ["agent", agentText("hi", undefined, "s7")],
      ["log", "update-of-unknown-session"],
    ]);
  });

  test("a session is resumed in the new process, with the ids it had", () => {
    const dialogue = runningDialogue(restarts);
    dialogue.agent(reply(RUNNING, { stopReason: "end_turn" }));
    logIn(dialogue);
    play(dialogue, [
      restarted,
      initialize(5),
      ["agent", reply(5, agentHello)],
      ["to client", reply("l", {})],
      ["client", request("r", "session/resume", { sessionId: "s1", cwd: "/work", replayFrom: { type: "start" } })],
      ["to agent", request(6, "session/load", { sessionId: "s1", cwd: "/work", mcpServers: [] })],
      ["agent", { ...agentText("hello"), params: { sessionId: "s1", update: userChunk("hello") } }],
      ["agent", reply(6, {})],
      ["wait", 1],
      accepted("p", minted(1), "hello")[1] as Row,
      ["to client", stateUpdate("idle")],
      ["to client", reply("r", {})],
    ]);
  });
});

const userChunk = (words: string) => ({ sessionUpdate: "user_message_chunk", content: text(words) });
