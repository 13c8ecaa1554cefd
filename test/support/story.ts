// Runs written for the viewer's tests: one that has everything a conversation can show, and one as long as one likes.
import type { JsonObject } from "../../src/protocol/json.ts";
import type { TraceRecord } from "../../src/trace/format.ts";
import { clientHello, reply, request, text, update } from "./dialogue.ts";
import { createRecorder, type Recorder } from "./recorded.ts";

const SESSION = "s1";

interface Narrator extends Recorder {
  /** The client says it; the agent gets it in its form. */
  client(frame: unknown, agentForm?: unknown): number;
  /** The agent says it; the client gets it in its form. */
  agent(frame: unknown, clientForm?: unknown): number;
  /** The agent updates the session, and so does the bridge. */
  update(fields: JsonObject, clientForm?: JsonObject): void;
  /** The bridge tells the client by itself. */
  tell(fields: JsonObject): void;
}

function createNarrator(): Narrator {
  const recorder = createRecorder();
  const narrator: Narrator = {
    ...recorder,
    client(frame, agentForm = frame) {
      return recorder.frame("bridge-agent", agentForm, recorder.frame("client-bridge", frame));
    },
    agent(frame, clientForm = frame) {
      return recorder.frame("bridge-client", clientForm, recorder.frame("agent-bridge", frame));
    },
    update(fields, clientForm = fields) {
      narrator.agent(update(SESSION, fields), update(SESSION, clientForm));
    },
    tell(fields) {
      recorder.frame("bridge-client", update(SESSION, fields));
    },
  };
  return narrator;
}

const chunk = (kind: string, words: string) => ({ sessionUpdate: `${kind}_chunk`, content: text(words) });

/** A prompt that was accepted as a message, with the state running. */
function beginTurn(run: Narrator, id: number, words: string): void {
  run.client(request(id, "session/prompt", { sessionId: SESSION, prompt: [text(words)] }));
  run.frame("bridge-client", reply(id, { messageId: `u${id}` }));
  run.tell({ sessionUpdate: "user_message", messageId: `u${id}`, content: [text(words)] });
  run.tell({ sessionUpdate: "state_update", state: "running" });
}

/** The agent's message in pieces of a word. */
function say(run: Narrator, kind: "agent_message" | "agent_thought", messageId: string, words: string): void {
  for (const piece of words.match(/\S+\s*/g) ?? []) {
    run.wait(20);
    run.update(chunk(kind, piece), { ...chunk(kind, piece), messageId });
  }
}

const EDIT = { oldText: "one\ntwo\nthree\n", newText: "one\n2\nthree\n" };
const PATCH = `diff --git a/work/a.txt b/work/a.txt
--- a/work/a.txt
+++ b/work/a.txt
@@ -1,3 +1,3 @@
 one
-two
+2
 three
`;

/**
 * A v2 client and a v1 agent: a turn with thought, message, plan, edit, permission and terminal; after a long pause one
 * that fails.
 * @param words what the agent says, instead of something friendly
 */
export function story(words = "All done, the file says 2 now."): TraceRecord[] {
  const run = createNarrator();
  run.client(request(1, "initialize", clientHello), request(1, "initialize", { protocolVersion: 1 }));
  run.agent(
    reply(1, { protocolVersion: 1, agentInfo: { name: "story-agent", version: "1.0.0" } }),
    reply(1, { protocolVersion: 2, info: { name: "story-agent", version: "1.0.0" } }),
  );
  run.client(request(2, "session/new", { cwd: "/work" }));
  run.agent(reply(2, { sessionId: SESSION }));
  run.add({ type: "stderr", text: "agent is warm" });

  beginTurn(run, 3, "Make it 2");
  run.wait(1_500);
  say(run, "agent_thought", "t1", "The second line is to change.");
  const plan = (status: string) => [{ content: "Change the line", priority: "high", status }];
  run.update(
    { sessionUpdate: "plan", entries: plan("in_progress") },
    { sessionUpdate: "plan_update", plan: { type: "items", planId: "p", entries: plan("in_progress") } },
  );
  const call = { toolCallId: "c1", title: "Edit a.txt", kind: "edit", locations: [{ path: "/work/a.txt", line: 2 }] };
  run.update(
    { sessionUpdate: "tool_call", ...call, content: [{ type: "diff", path: "/work/a.txt", ...EDIT }] },
    {
      sessionUpdate: "tool_call_update",
      ...call,
      content: [
        {
          type: "diff",
          changes: [{ operation: "modify", path: "/work/a.txt" }],
          patch: { format: "git_patch", text: PATCH },
        },
      ],
    },
  );
  const options = [
    { optionId: "yes", name: "Allow", kind: "allow_once" },
    { optionId: "no", name: "Reject", kind: "reject_once" },
  ];
  run.agent(
    request(7, "session/request_permission", { sessionId: SESSION, toolCall: call, options }),
    request("b1", "session/request_permission", {
      sessionId: SESSION,
      title: "Edit a.txt",
      subject: { type: "tool_call", toolCall: call },
      options,
    }),
  );
  run.tell({ sessionUpdate: "state_update", state: "requires_action" });
  run.wait(800);
  const outcome = { outcome: { outcome: "selected", optionId: "yes" } };
  run.client(reply("b1", outcome), reply(7, outcome));
  run.tell({ sessionUpdate: "state_update", state: "running" });
  run.update({ sessionUpdate: "tool_call_update", toolCallId: "c1", status: "completed" });
  run.tell({ sessionUpdate: "terminal_update", terminalId: "x1", command: "cat a.txt", cwd: "/work" });
  run.tell({
    sessionUpdate: "terminal_output_chunk",
    terminalId: "x1",
    data: btoa("one\n\u001b[32m2\u001b[0m\nthree\n"),
  });
  run.tell({ sessionUpdate: "terminal_update", terminalId: "x1", exitStatus: { exitCode: 0 } });
  const check = {
    toolCallId: "c2",
    title: "Look at it",
    kind: "execute",
    content: [{ type: "terminal", terminalId: "x1" }],
  };
  run.update(
    { sessionUpdate: "tool_call", ...check, status: "completed", rawInput: { command: "cat a.txt" } },
    { sessionUpdate: "tool_call_update", ...check, status: "completed", rawInput: { command: "cat a.txt" } },
  );
  run.tell({ sessionUpdate: "notice", severity: "warning", title: "Nearly out of quota", description: "3 % left" });
  run.update(
    { sessionUpdate: "plan", entries: plan("completed") },
    { sessionUpdate: "plan_update", plan: { type: "items", planId: "p", entries: plan("completed") } },
  );
  say(run, "agent_message", "m1", words);
  run.agent(
    reply(3, { stopReason: "end_turn" }),
    update(SESSION, { sessionUpdate: "state_update", state: "idle", stopReason: "end_turn" }),
  );

  run.wait(600_000);
  beginTurn(run, 4, "Again");
  run.add({ type: "bytes", leg: "agent-bridge", bytes: 5, text: "oops!" });
  const error = { code: -32603, message: "The model is overloaded" };
  run.agent(
    { jsonrpc: "2.0", id: 4, error },
    update(SESSION, { sessionUpdate: "state_update", state: "idle", stopReason: "error", error }),
  );
  run.add({ type: "event", event: "client-left", details: {} });
  return run.end();
}

/** A run of many frames: turns of streamed messages, each with a tool call. */
export function longStory(frames: number): TraceRecord[] {
  const run = createNarrator();
  run.client(request(1, "initialize", clientHello));
  run.agent(reply(1, { protocolVersion: 2 }));
  run.client(request(2, "session/new", { cwd: "/work" }));
  run.agent(reply(2, { sessionId: SESSION }));
  for (let turn = 3; run.records.length < frames; turn++) {
    beginTurn(run, turn, `Prompt number ${turn}`);
    say(
      run,
      "agent_message",
      `m${turn}`,
      `Answer number ${turn} in a good many pieces, each of them a frame of its own.`,
    );
    const call = { toolCallId: `c${turn}`, title: `Step ${turn}`, kind: "read", status: "completed" };
    run.update({ sessionUpdate: "tool_call", ...call }, { sessionUpdate: "tool_call_update", ...call });
    run.agent(
      reply(turn, { stopReason: "end_turn" }),
      update(SESSION, { sessionUpdate: "state_update", state: "idle", stopReason: "end_turn" }),
    );
    run.wait(5_000);
  }
  return run.end();
}
