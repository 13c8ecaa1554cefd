// Guards against faults that the property tests and the recorded traces once found, each as the smallest case that
// showed it. The rule each breaks is in its title (docs/mapping.md).
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/protocol/json.ts";
import {
  agentHello,
  clientHello,
  createDialogue,
  type Dialogue,
  fail,
  notify,
  type Outcome,
  openDialogue,
  reply,
  request,
  startPrompt,
  text,
  update,
} from "../support/dialogue.ts";
import { stateSize } from "./world.ts";

const chunk = (words: string, messageId?: string) =>
  update("s1", { sessionUpdate: "agent_message_chunk", content: text(words), ...(messageId && { messageId }) });

const toolCall = (toolCallId: string, more: JsonObject = {}) =>
  update("s1", { sessionUpdate: "tool_call", toolCallId, title: "Read", ...more });

/** Asks for the session's history; returns the agent's id for it. */
function load(dialogue: Dialogue): unknown {
  const params = { sessionId: "s1", cwd: "/work", replayFrom: { type: "start" } };
  return dialogue.client(request("load", "session/resume", params)).toAgent[0]?.["id"];
}

/** The updates an outcome brought the client. */
function updates(outcome: Outcome): unknown[] {
  return outcome.toClient
    .filter((frame) => frame["method"] === "session/update")
    .map((frame) => (frame["params"] as JsonObject)["update"]);
}

function events(outcome: Outcome): string[] {
  return outcome.logs.map((log) => log.event);
}

describe("what the stable schema does not define", () => {
  test("§3: session/fork opens a session, its options in the v2 shape", () => {
    const dialogue = openDialogue();
    const { toAgent } = dialogue.client(request(1, "session/fork", { sessionId: "s1", cwd: "/work" }));
    const option = { type: "boolean", id: "fast", name: "Fast", currentValue: false };
    const { toClient } = dialogue.agent(reply(toAgent[0]?.["id"], { sessionId: "s2", configOptions: [option] }));
    expect(toClient).toEqual([
      reply(1, {
        sessionId: "s2",
        configOptions: [{ type: "boolean", configId: "fast", name: "Fast", currentValue: false }],
      }),
    ]);
    expect(
      dialogue.client(request(2, "session/prompt", { sessionId: "s2", prompt: [text("hi")] })).toAgent,
    ).toHaveLength(1);
  });

  test("§12: a method named like a member of every object goes to the agent, as any other it may know", () => {
    const { toAgent } = openDialogue().client(request(1, "toString", {}));
    expect(toAgent).toMatchObject([{ method: "toString" }]);
  });
});

describe("§10: a call of the wrong kind gets a prefix", () => {
  test("a notification's method, asked as a request", () => {
    const { toClient } = openDialogue().agent(request(0, "elicitation/complete", { elicitationId: "e" }));
    expect(toClient).toEqual([request(1, "_elicitation/complete", { elicitationId: "e" })]);
  });

  test("a request's method, told as a notification", () => {
    const { toClient } = openDialogue().agent(notify("elicitation/create", { sessionId: "s1" }));
    expect(toClient).toEqual([notify("_elicitation/create", { sessionId: "s1" })]);
  });
});

describe("I3: what cannot be made valid does not cross", () => {
  test("a result of the wrong type is an error", () => {
    const dialogue = openDialogue();
    const { toAgent } = dialogue.client(request(1, "auth/login", { methodId: "key" }));
    const { toClient } = dialogue.agent(reply(toAgent[0]?.["id"], "done"));
    expect(toClient).toMatchObject([{ id: 1, error: { code: -32603 } }]);
  });

  test("a notice with an empty title is dropped, on record", () => {
    const outcome = openDialogue().agent(update("s1", { sessionUpdate: "notice", severity: "info", title: "" }));
    expect(outcome.toClient).toEqual([]);
    expect(events(outcome)).toEqual(["update-dropped"]);
  });

  const asking = () => {
    const dialogue = createDialogue();
    const hello = { ...clientHello, capabilities: { elicitation: { form: {} } } };
    dialogue.agent(reply(dialogue.client(request(0, "initialize", hello)).toAgent[0]?.["id"], agentHello));
    const { toAgent } = dialogue.client(request(1, "session/new", { cwd: "/work" }));
    dialogue.agent(reply(toAgent[0]?.["id"], { sessionId: "s1" }));
    return dialogue;
  };

  test("a notification without what it needs is dropped, on record", () => {
    const outcome = asking().agent(notify("elicitation/complete", {}));
    expect(outcome.toClient).toEqual([]);
    expect(events(outcome)).toEqual(["params-invalid"]);
  });

  test("an elicitation without a form is refused", () => {
    const { toClient, toAgent } = asking().agent(request(0, "elicitation/create", { sessionId: "s1", message: "?" }));
    expect(toClient).toEqual([]);
    expect(toAgent).toMatchObject([{ id: 0, error: { code: -32602 } }]);
  });

  test.each([["a text"], [{ content: {} }], [{ action: 1 }]])(
    "an elicitation answered with %j is cancelled",
    (result) => {
      const dialogue = asking();
      const form = { type: "object", properties: {} };
      const params = { sessionId: "s1", mode: "form", message: "?", requestedSchema: form };
      const { toClient } = dialogue.agent(request(0, "elicitation/create", params));
      expect(dialogue.client(reply(toClient[0]?.["id"], result)).toAgent).toEqual([reply(0, { action: "cancel" })]);
    },
  );
});

describe("I7: how a turn ended", () => {
  test("an agent that ends right after its answer has still answered", () => {
    const dialogue = openDialogue({ acceptWindow: 0, settle: 50 });
    const prompt = startPrompt(dialogue, 1);
    dialogue.agent(reply(prompt, { stopReason: "max_tokens" }));
    const outcome = dialogue.event({ type: "agent-exit", code: 0, signal: null });
    expect(updates(outcome)).toEqual([{ sessionUpdate: "state_update", state: "idle", stopReason: "max_tokens" }]);
    expect(outcome.done).toBe(0);
  });
});

describe("I2: history that is not finished is not lost", () => {
  test("when the load fails", () => {
    const dialogue = openDialogue();
    const id = load(dialogue);
    dialogue.agent(chunk("half a"));
    const outcome = dialogue.agent(fail(id, -32603));
    expect(updates(outcome)).toMatchObject([{ sessionUpdate: "agent_message", content: [text("half a")] }]);
  });

  test("when history that nobody asked for is swallowed, and the resume fails", () => {
    const dialogue = openDialogue();
    const { toAgent } = dialogue.client(request(1, "session/resume", { sessionId: "s1", cwd: "/work" }));
    dialogue.agent(chunk("old"));
    expect(events(dialogue.agent(fail(toAgent[0]?.["id"], -32603)))).toContain("replay-swallowed");
  });

  test("when the session is closed meanwhile", () => {
    const dialogue = openDialogue();
    load(dialogue);
    dialogue.agent(chunk("half a"));
    const outcome = dialogue.client(request(2, "session/close", { sessionId: "s1" }));
    expect(updates(outcome)).toMatchObject([{ sessionUpdate: "agent_message", content: [text("half a")] }]);
  });

  test("when the agent gives the session's id to a new one", () => {
    const dialogue = openDialogue();
    const id = load(dialogue);
    const opening = dialogue.client(request(2, "session/new", { cwd: "/work" })).toAgent[0]?.["id"];
    dialogue.agent(chunk("half a"));
    dialogue.agent(reply(id, {}));
    const outcome = dialogue.agent(reply(opening, { sessionId: "s1" }));
    expect(updates(outcome)).toMatchObject([
      { sessionUpdate: "agent_message", content: [text("half a")] },
      { sessionUpdate: "state_update", state: "idle" },
    ]);
    expect(outcome.toClient.filter((frame) => "id" in frame).map((frame) => frame["id"])).toEqual(["load", 2]);
  });

  test("§5: when a replayed message goes on after a tool call, its beginning stays", () => {
    const dialogue = openDialogue();
    const id = load(dialogue);
    dialogue.agent(chunk("one ", "m"));
    const first = dialogue.agent(toolCall("t"));
    dialogue.agent(chunk("two", "m"));
    dialogue.agent(reply(id, {}));
    const rest = dialogue.fire("quiet s1");
    expect(updates(first)).toMatchObject([
      { sessionUpdate: "agent_message", messageId: "m", content: [text("one ")] },
      { sessionUpdate: "tool_call_update" },
    ]);
    expect(updates(rest)).toMatchObject([
      { sessionUpdate: "agent_message_chunk", messageId: "m", content: text("two") },
      { sessionUpdate: "state_update", state: "idle" },
    ]);
  });
});

describe("I5: what a v1 client asked ahead of the answer to initialize", () => {
  test("is answered when the agent dies", () => {
    const dialogue = createDialogue();
    dialogue.client(request(1, "initialize", { ...clientHello, protocolVersion: 1 }));
    dialogue.client(request(2, "session/new", { cwd: "/work", mcpServers: [] }));
    const { toClient } = dialogue.event({ type: "agent-exit", code: 1, signal: null });
    expect(toClient.map((frame) => [frame["id"], "error" in frame])).toEqual([
      [1, true],
      [2, true],
    ]);
  });
});

describe("I6: what is over is not kept", () => {
  test("the text of messages that might be restated", () => {
    const sizeAfter = (words: string) => {
      const dialogue = openDialogue({ restatedMessages: "drop" });
      for (const id of ["a", "b", "c"]) dialogue.agent(chunk(words, id));
      return stateSize(dialogue.bridge);
    };
    expect(sizeAfter("x".repeat(10_000))).toBeLessThan(sizeAfter("x") + 100);
  });

  test("the diffs of a replay", () => {
    const sizeAfter = (diffs: number) => {
      const dialogue = openDialogue();
      const id = load(dialogue);
      for (let n = 0; n < diffs; n++)
        dialogue.agent(toolCall("t", { content: [{ type: "diff", path: "/a", oldText: null, newText: `${n}\n` }] }));
      dialogue.agent(reply(id, {}));
      dialogue.fire("quiet s1");
      return stateSize(dialogue.bridge);
    };
    expect(sizeAfter(20)).toBe(sizeAfter(1));
  });
});
