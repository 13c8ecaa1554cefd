// Guards docs/mapping.md §9: work the agent begins on its own under `--unprompted running`, and `--stall-notice`.
import { describe, expect, test } from "vitest";
import {
  accepted,
  agentText,
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

const shown = { unprompted: "running" } as const;
const running: Row = ["to client", stateUpdate("running")];
const idleRow = (stopReason: string): Row => ["to client", stateUpdate("idle", { stopReason })];
const toolCall = (fields: object) => update("s1", { sessionUpdate: "tool_call", toolCallId: "t", ...fields });
const toolCallUpdate = (fields: object) =>
  update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t", ...fields });
const thought = (messageId?: string) =>
  update("s1", { sessionUpdate: "agent_thought_chunk", ...(messageId && { messageId }), content: text("Hm") });

describe("§9 work nobody asked for", () => {
  test("passes as it is by default", () => {
    const dialogue = openDialogue();
    play(dialogue, [
      ["agent", agentText("By the way")],
      ["to client", agentText("By the way", minted(1))],
      ["wait", 60_000],
    ]);
    expect(dialogue.timers.size).toBe(0);
  });

  test.each<[string, unknown, unknown]>([
    ["text", agentText("By the way"), agentText("By the way", minted(1))],
    ["a thought", thought(), thought(minted(1))],
    [
      "a new tool call",
      toolCall({ title: "Read", status: "completed" }),
      toolCallUpdate({ title: "Read", status: "completed" }),
    ],
  ])("`running`: %s is bracketed", (_, said, heard) => {
    play(openDialogue(shown), [
      ["agent", said],
      running,
      ["to client", heard],
      ["wait", 1999],
      ["wait", 1],
      idleRow("end_turn"),
      // The bracket is closed: the next opens another.
      ["agent", agentText("And")],
      running,
      ["to client", agentText("And", expect.any(String) as never)],
    ]);
  });

  test.each<[string, object]>([
    ["usage", { sessionUpdate: "usage_update", used: 1, size: 2 }],
    ["a title", { sessionUpdate: "session_info_update", title: "T" }],
    ["commands", { sessionUpdate: "available_commands_update", availableCommands: [] }],
    ["a plan", { sessionUpdate: "plan", entries: [] }],
    ["a user message", { sessionUpdate: "user_message_chunk", content: text("hi") }],
    ["an extension", { sessionUpdate: "_own", a: 1 }],
  ])("%s opens nothing", (_, metadata) => {
    const dialogue = openDialogue(shown);
    const { toClient } = dialogue.agent(update("s1", metadata));
    expect(JSON.stringify(toClient)).not.toContain("state_update");
    expect(dialogue.timers.size).toBe(0);
  });

  test("an update of a tool call of the last turn opens nothing", () => {
    play(runningDialogue(shown), [
      ["agent", toolCall({ title: "Read" })],
      ["to client", toolCallUpdate({ title: "Read" })],
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      idleRow("end_turn"),
      ["agent", toolCallUpdate({ status: "completed" })],
      ["to client", toolCallUpdate({ status: "completed" })],
    ]);
  });

  test("is idle only after a quiet time with nothing open", () => {
    play(openDialogue(shown), [
      ["agent", toolCall({ title: "Read", status: "in_progress" })],
      running,
      ["to client", toolCallUpdate({ title: "Read", status: "in_progress" })],
      ["wait", 60_000],
      ["agent", toolCallUpdate({ status: "completed" })],
      ["to client", toolCallUpdate({ status: "completed" })],
      ["wait", 1500],
      ["agent", agentText("Done")],
      ["to client", agentText("Done", minted(1))],
      ["wait", 1500],
      ["wait", 1000],
      idleRow("end_turn"),
    ]);
  });

  test("gives way to a prompt", () => {
    play(openDialogue(shown), [
      ["agent", agentText("By the way")],
      running,
      ["to client", agentText("By the way", minted(1))],
      ["client", prompt("p", "hi")],
      idleRow("end_turn"),
      ["to agent", request(3, "session/prompt", { sessionId: "s1", prompt: [text("hi")] })],
      ["wait", 50],
      ...accepted("p", minted(2), "hi"),
      ["wait", 5000],
      ["agent", reply(3, { stopReason: "end_turn" })],
      idleRow("end_turn"),
    ]);
  });

  test("a cancel ends it as cancelled; the agent is told nothing, as it has no prompt", () => {
    play(openDialogue(shown), [
      ["agent", agentText("By the way")],
      running,
      ["to client", agentText("By the way", minted(1))],
      ["client", notify("session/cancel", { sessionId: "s1" })],
      idleRow("cancelled"),
      ["wait", 5000],
    ]);
  });

  test("a close ends it first", () => {
    play(openDialogue(shown), [
      ["agent", agentText("By the way")],
      running,
      ["to client", agentText("By the way", minted(1))],
      ["client", request("c", "session/close", { sessionId: "s1" })],
      idleRow("cancelled"),
      ["to agent", request(3, "session/close", { sessionId: "s1" })],
    ]);
  });

  test("the agent's end ends it, too", () => {
    const dialogue = openDialogue(shown);
    dialogue.agent(agentText("By the way"));
    const { toClient } = dialogue.event({ type: "agent-exit", code: 1, signal: null });
    const ended = { state: "idle", stopReason: "error", error: { code: -32603 } };
    expect(toClient).toMatchObject([{ params: { update: ended } }]);
  });

  test("a permission it asks for is waited for", () => {
    const asked = {
      sessionId: "s1",
      toolCall: { toolCallId: "t", title: "Write", status: "completed" },
      options: [{ optionId: "y", name: "Yes", kind: "allow_once" }],
    };
    const dialogue = openDialogue(shown);
    dialogue.agent(toolCall({ title: "Write", status: "completed" }));
    dialogue.agent(request(9, "session/request_permission", asked));
    expect(dialogue.wait(60_000).toClient).toEqual([]);
    dialogue.client(reply(1, { outcome: { outcome: "selected", optionId: "y" } }));
    expect(dialogue.wait(5000).toClient.at(-1)).toEqual(stateUpdate("idle", { stopReason: "end_turn" }));
  });
});

test("what is told again while a session is resumed is no work", () => {
  const agentCapabilities = { loadSession: true };
  const hello = { protocolVersion: 1, agentInfo: { name: "a", version: "1" }, agentCapabilities };
  const dialogue = openDialogue(shown, hello);
  dialogue.client(request("r", "session/resume", { sessionId: "s1", cwd: "/work", replayFrom: { type: "start" } }));
  expect(dialogue.agent(agentText("old", "a")).toClient).toEqual([]);
});

describe("§9 --stall-notice", () => {
  const stall = { stallNotice: 10_000 };
  const notice: Row = [
    "to client",
    update("s1", {
      sessionUpdate: "notice",
      severity: "info",
      title: "The agent has been silent for a while",
      description: expect.stringContaining("10 s"),
    }),
  ];

  test("off by default", () => {
    expect([...runningDialogue().timers.keys()]).toEqual([]);
  });

  test("once for each silence, and the work goes on", () => {
    play(runningDialogue(stall), [
      ["wait", 9949],
      ["wait", 1],
      notice,
      ["wait", 55_000],
      ["agent", agentText("Still here")],
      ["to client", agentText("Still here", minted(2))],
      ["wait", 9999],
      ["wait", 1],
      notice,
      ["wait", 60_000],
      ["agent", reply(RUNNING, { stopReason: "end_turn" })],
      idleRow("end_turn"),
      ["wait", 60_000],
    ]);
  });

  test("never while a person is asked", () => {
    const asked = {
      sessionId: "s1",
      toolCall: { toolCallId: "t", title: "Write" },
      options: [{ optionId: "y", name: "Yes", kind: "allow_once" }],
    };
    const dialogue = runningDialogue(stall);
    dialogue.agent(request(9, "session/request_permission", asked));
    expect(dialogue.wait(60_000).toClient).toEqual([]);
  });
});
