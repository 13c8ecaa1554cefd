// Guards src/ops/follow.ts: which sessions are open, when work begins and how it ends, told from the frames on the client's
// side alone, in both versions of the protocol (docs/operations.md).
import { describe, expect, test } from "vitest";
import { follow, type Happenings } from "../../src/ops/follow.ts";
import type { JsonObject } from "../../src/protocol/json.ts";

type Row = ["client" | "agent", JsonObject] | string;

const asks = (id: number, method: string, params: JsonObject = {}): Row => ["client", { id, method, params }];
const answers = (id: number, result: JsonObject = {}): Row => ["agent", { id, result }];
const fails = (id: number): Row => ["agent", { id, error: { code: -32603, message: "no" } }];
const prompts = (id: number, sessionId = "s"): Row => asks(id, "session/prompt", { sessionId, prompt: [] });
const updates = (update: JsonObject, sessionId = "s"): Row => [
  "agent",
  { method: "session/update", params: { sessionId, update } },
];
const state = (name: string, fields: JsonObject = {}): Row =>
  updates({ sessionUpdate: "state_update", state: name, ...fields });
const idle = (stopReason = "end_turn"): Row => state("idle", { stopReason });
const hello = (protocolVersion: number): Row[] => [asks(0, "initialize"), answers(0, { protocolVersion })];

/** What a follower told, and "busy" or "free" after each frame that changed it. */
function told(rows: readonly Row[]): string[] {
  const seen: string[] = [];
  const write =
    (name: string) =>
    (...words: unknown[]) =>
      void seen.push(
        [name, ...words.map((word) => (typeof word === "object" ? JSON.stringify(word) : word))].join(" "),
      );
  const listener: Happenings = {
    sessionOpened: write("opened"),
    sessionClosed: write("closed"),
    turnBegan: (sessionId, params) => write("began")(sessionId, params === undefined ? "unasked" : "asked"),
    turnEnded: write("ended"),
    toolCall: (sessionId, update) => write("tool")(sessionId, update["toolCallId"]),
    permissionAsked: (sessionId, key) => write("asked")(sessionId, key),
    permissionAnswered: write("answered"),
  };
  const follower = follow([listener]);
  let busy = false;
  for (const row of rows) {
    if (typeof row === "string") follower.ended();
    else if (row[0] === "client") follower.fromClient(row[1]);
    else follower.toClient(row[1]);
    if (follower.busy !== busy) seen.push(follower.busy ? "busy" : "free");
    busy = follower.busy;
  }
  return seen;
}

const cases: [string, Row[], string[]][] = [
  [
    "v2: a turn is from the prompt to its idle",
    [...hello(2), prompts(1), answers(1, { messageId: "m" }), state("running"), idle(), idle()],
    ["began s asked", "busy", "ended s end_turn", "free"],
  ],
  [
    "v2: a prompt that is held begins when the turn before it ends",
    [
      ...hello(2),
      prompts(1),
      answers(1),
      state("running"),
      prompts(2),
      idle("cancelled"),
      answers(2),
      state("running"),
      idle(),
    ],
    ["began s asked", "busy", "ended s cancelled", "began s asked", "ended s end_turn", "free"],
  ],
  [
    "v2: a prompt that is accepted into running work is part of it",
    [...hello(2), prompts(1), answers(1), state("running"), prompts(2), answers(2), idle()],
    ["began s asked", "busy", "ended s end_turn", "free"],
  ],
  [
    "v2: a prompt that is refused",
    [...hello(2), prompts(1), fails(1)],
    ["began s asked", "busy", "ended s refused", "free"],
  ],
  [
    "v2: a held prompt that is refused never began",
    [...hello(2), prompts(1), answers(1), prompts(2), fails(2), idle()],
    ["began s asked", "busy", "ended s end_turn", "free"],
  ],
  [
    "v2: an idle before the acceptance ends nothing unless work was reported",
    [...hello(2), prompts(1), idle(), state("running"), idle("max_tokens"), answers(1)],
    ["began s asked", "busy", "ended s max_tokens", "free"],
  ],
  [
    "v2: work nobody asked for, and a prompt meanwhile",
    [...hello(2), state("running"), prompts(1), state("idle"), answers(1), state("running"), idle()],
    ["began s unasked", "busy", "ended s ", "began s asked", "ended s end_turn", "free"],
  ],
  [
    "v2: a turn that waits for a person goes on",
    [...hello(2), prompts(1), answers(1), state("running"), state("requires_action"), state("running"), idle("error")],
    ["began s asked", "busy", "ended s error", "free"],
  ],
  [
    "v1: a turn is from the prompt to its answer",
    [...hello(1), prompts(1), prompts(2), answers(1, { stopReason: "end_turn" }), fails(2)],
    ["began s asked", "busy", "ended s end_turn", "began s asked", "ended s error", "free"],
  ],
  [
    "two sessions work at the same time",
    [...hello(1), prompts(1, "a"), prompts(2, "b"), answers(1, { stopReason: "refusal" }), answers(2)],
    ["began a asked", "busy", "began b asked", "ended a refusal", "ended b ", "free"],
  ],
  [
    "sessions open and close, each once",
    [
      asks(1, "session/new"),
      answers(1, { sessionId: "n" }),
      asks(2, "session/load", { sessionId: "l" }),
      answers(2),
      asks(3, "session/resume", { sessionId: "l" }),
      answers(3),
      asks(4, "session/fork", { sessionId: "l" }),
      answers(4, { sessionId: "f" }),
      asks(5, "session/resume", { sessionId: "x" }),
      fails(5),
      asks(6, "session/close", { sessionId: "l" }),
      answers(6),
      asks(7, "session/delete", { sessionId: "l" }),
      answers(7),
      "the end",
    ],
    ["opened n session/new", "opened l session/load", "opened f session/fork", "closed l", "closed n", "closed f"],
  ],
  [
    "what a close or the end cuts off is unfinished",
    [
      ...hello(2),
      prompts(1, "a"),
      asks(2, "session/close", { sessionId: "a" }),
      answers(2),
      prompts(3, "b"),
      ["agent", { id: 9, method: "session/request_permission", params: { sessionId: "b" } }],
      "the end",
    ],
    [
      "began a asked",
      "busy",
      "ended a unfinished",
      "free",
      "began b asked",
      "busy",
      "asked b 9",
      "answered b 9 {}",
      "ended b unfinished",
      "free",
    ],
  ],
  [
    "permissions are answered once, or withdrawn",
    [
      ["agent", { id: 1, method: "session/request_permission", params: { sessionId: "s" } }],
      ["client", { id: 1, result: { outcome: { outcome: "selected", optionId: "yes" } } }],
      ["client", { id: 1, result: {} }],
      ["agent", { id: "2", method: "session/request_permission", params: { sessionId: "s" } }],
      ["agent", { method: "$/cancel_request", params: { requestId: "2" } }],
    ],
    ["asked s 1", 'answered s 1 {"outcome":"selected","optionId":"yes"}', "asked s 2", "answered s 2 {}"],
  ],
  [
    "tool calls of both versions",
    [
      updates({ sessionUpdate: "tool_call", toolCallId: "a" }),
      updates({ sessionUpdate: "tool_call_update", toolCallId: "b" }),
      updates({ sessionUpdate: "plan" }),
    ],
    ["tool s a", "tool s b"],
  ],
];

describe("what is told", () => {
  test.each(cases)("%s", (_name, rows, expected) => {
    expect(told(rows)).toEqual(expected);
  });
});

test("what is no frame is overlooked", () => {
  const odd: unknown[] = [null, 1, [], "x", {}, { method: 1 }, { id: 1 }, { method: "session/update", params: [] }];
  const follower = follow([{}]);
  for (const value of odd) {
    follower.fromClient(value);
    follower.toClient(value);
  }
  expect(follower.busy).toBe(false);
});
