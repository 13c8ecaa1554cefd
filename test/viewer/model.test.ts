// Guards what the trace viewer makes of a trace, before anything is drawn: the conversation as the client saw it (v1 and
// v2), the rows of the diagram, the turns, the time scale, what differs between two forms, filters and search.
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/protocol/json.ts";
import { asObject } from "../../src/protocol/json.ts";
import type { TraceRecord } from "../../src/trace/format.ts";
import { type ConversationPart, textOf } from "../../src/viewer/conversation.ts";
import { compareJson, patchLines } from "../../src/viewer/difference.ts";
import { equalHeights, ownHeights } from "../../src/viewer/heights.ts";
import { formsOf } from "../../src/viewer/rows.ts";
import { createTimeScale } from "../../src/viewer/time-scale.ts";
import { createViewModel, type ViewModel } from "../../src/viewer/view-model.ts";
import { reply, request, text, update } from "../support/dialogue.ts";
import { createRecorder, passedThroughRuns, recordedNames, translatedRuns } from "../support/recorded.ts";
import { longStory, story } from "../support/story.ts";

function modelOf(records: readonly TraceRecord[]): ViewModel {
  const model = createViewModel();
  for (const record of records) model.add(JSON.stringify(record));
  model.refresh();
  return model;
}

/** A part in short: what it is, and what it says. */
function short(part: ConversationPart): string {
  switch (part.type) {
    case "message":
      return `${part.role}: ${textOf(part)}`;
    case "tool-call":
      return `tool: ${part.fields["title"]} ${part.fields["status"]}`;
    case "plan":
      return `plan: ${part.entriesOf.map(({ content, status }) => `${content} ${status}`).join(", ")}`;
    case "question":
      return `question: ${part.title} ${part.answer?.text}`;
    case "state":
      return [part.state, part.reason, part.error].filter(Boolean).join(" ");
    case "terminal":
      return `terminal: ${part.terminal.command}`;
    case "line":
      return `${part.label}: ${part.text}`;
  }
}

describe("the conversation", () => {
  test("of a v2 client", () => {
    const { visibleParts, conversation } = modelOf(story());
    expect(visibleParts.map(short)).toEqual([
      "initialize: version 2, test-client 1.0.0 → version 2, story-agent 1.0.0",
      "session/new: /work",
      "user: Make it 2",
      "running",
      "thought: The second line is to change.",
      "plan: Change the line completed",
      "tool: Edit a.txt completed",
      "question: Edit a.txt Allow",
      "requires_action",
      "running",
      "tool: Look at it completed",
      "notice: Nearly out of quota — 3 % left",
      "agent: All done, the file says 2 now.",
      "idle end_turn",
      "user: Again",
      "running",
      "idle error The model is overloaded (-32603)",
    ]);
    expect(conversation.terminal("s1", "x1")).toMatchObject({
      command: "cat a.txt",
      output: "one\n2\nthree\n",
      exit: "exit 0",
    });
  });

  test("of a v1 client, which reads files and runs commands for the agent", () => {
    const run = createRecorder();
    const client = (frame: unknown) => run.frame("client-bridge", frame);
    const agent = (frame: unknown) => run.frame("bridge-client", frame);
    const updated = (fields: JsonObject) => agent(update("s1", fields));
    client(request(1, "session/prompt", { sessionId: "s1", prompt: [text("Look "), text("here")] }));
    updated({ sessionUpdate: "agent_thought_chunk", content: text("Hm") });
    updated({ sessionUpdate: "agent_message_chunk", content: text("I ") });
    updated({ sessionUpdate: "usage_update", used: 1, size: 10 });
    updated({ sessionUpdate: "usage_update", used: 2, size: 10 });
    updated({ sessionUpdate: "agent_message_chunk", content: text("look.") });
    updated({ sessionUpdate: "tool_call", toolCallId: "c", title: "Run", status: "pending" });
    agent(request(5, "fs/read_text_file", { sessionId: "s1", path: "/a" }));
    client(reply(5, { content: "A" }));
    agent(request(6, "terminal/create", { sessionId: "s1", command: "ls", args: ["-l"] }));
    client(reply(6, { terminalId: "t" }));
    updated({
      sessionUpdate: "tool_call_update",
      toolCallId: "c",
      status: "completed",
      content: [{ type: "terminal", terminalId: "t" }],
    });
    agent(request(7, "terminal/output", { sessionId: "s1", terminalId: "t" }));
    client(reply(7, { output: "total 0", truncated: false, exitStatus: { exitCode: 3 } }));
    updated({ sessionUpdate: "agent_message_chunk", content: text("Done.") });
    updated({ sessionUpdate: "current_mode_update", currentModeId: "code" });
    updated({ sessionUpdate: "plan", entries: [{ content: "Rest", status: "pending", priority: "low" }] });
    client({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId: "s1" } });
    agent(reply(1, { stopReason: "cancelled" }));
    const { visibleParts, conversation } = modelOf(run.end());
    expect(visibleParts.map(short)).toEqual([
      "user: Look here",
      "thought: Hm",
      "agent: I look.",
      "usage_update: 2 of 10 tokens",
      "tool: Run completed",
      "fs/read_text_file: /a → A",
      "agent: Done.",
      "current_mode_update: code",
      "plan: Rest pending",
      "session/cancel: ",
      "idle cancelled",
    ]);
    expect(conversation.terminal("s1", "t")).toMatchObject({ command: "ls -l", output: "total 0", exit: "exit 3" });
  });

  test("has messages, plans and tool calls updated, not told twice", () => {
    const run = createRecorder();
    const updated = (fields: JsonObject) => run.frame("bridge-client", update("s1", fields));
    updated({ sessionUpdate: "agent_message_chunk", messageId: "m", content: text("wrong") });
    updated({ sessionUpdate: "agent_message", messageId: "m", content: [text("right")] });
    updated({ sessionUpdate: "agent_message_chunk", messageId: "m", content: text(" indeed") });
    updated({ sessionUpdate: "plan_update", plan: { planId: "p", entries: [{ content: "A" }] } });
    updated({ sessionUpdate: "plan_update", plan: { planId: "p", entries: [{ content: "B", status: "completed" }] } });
    updated({ sessionUpdate: "tool_call_update", toolCallId: "c", title: "Do", status: "pending" });
    updated({
      sessionUpdate: "tool_call_content_chunk",
      toolCallId: "c",
      content: { type: "content", content: text("1") },
    });
    updated({ sessionUpdate: "tool_call_update", toolCallId: "c", status: "failed" });
    const { visibleParts } = modelOf(run.end());
    expect(visibleParts.map(short)).toEqual(["agent: right indeed", "plan: B completed", "tool: Do failed"]);
    expect(visibleParts.at(-1)).toMatchObject({ content: [{ type: "content", content: text("1") }] });
  });

  test("shows a prompt once, whether its message comes before its acceptance or after", () => {
    const run = createRecorder();
    const shown = (messageId: string) =>
      run.frame("bridge-client", update("s1", { sessionUpdate: "user_message", messageId, content: [text("Go")] }));
    for (const [id, isFirst] of [
      [1, true],
      [2, false],
    ] as const) {
      run.frame("client-bridge", request(id, "session/prompt", { sessionId: "s1", prompt: [text("Go")] }));
      if (isFirst) shown(`m${id}`);
      run.frame("bridge-client", reply(id, { messageId: `m${id}` }));
      if (!isFirst) shown(`m${id}`);
    }
    shown("m3");
    const { visibleParts } = modelOf(run.end());
    expect(visibleParts.map(({ entries }) => entries.length)).toEqual([3, 3, 1]);
  });

  test("tells who refused what", () => {
    const run = createRecorder();
    run.frame("client-bridge", request(1, "session/prompt", { sessionId: "s1", prompt: [text("Now")] }));
    run.frame("bridge-client", { jsonrpc: "2.0", id: 1, error: { code: -32800, message: "busy" } });
    run.frame("client-bridge", request(2, "session/load", { sessionId: "s2" }));
    run.frame("bridge-client", { jsonrpc: "2.0", id: 2, error: { code: -32002, message: "no such session" } });
    const { visibleParts } = modelOf(run.end());
    expect(visibleParts).toMatchObject([
      { type: "message", refused: "busy (-32800)" },
      { type: "line", label: "session/load", text: "no such session (-32002)", tone: "error" },
    ]);
  });

  test.each(recordedNames().filter((name) => /full|concurrent/.test(name)))("of %s holds all that was said", (name) => {
    for (const records of [...translatedRuns(name), ...passedThroughRuns(name)]) {
      const { conversation, trace } = modelOf(records);
      const placed = trace.entries.filter(
        ({ record }) => record.type === "frame" && (record.leg === "bridge-client" || record.leg === "client-bridge"),
      );
      expect(placed.filter((entry) => conversation.partOf(entry) === undefined)).toEqual([]);
      expect(conversation.parts.flatMap(({ entries }) => entries).length).toBeGreaterThanOrEqual(placed.length);
    }
  });

  test("survives frames of any shape", () => {
    const run = createRecorder();
    const values = [null, 1, "x", [], {}, [null], { content: null }, { type: 1 }];
    for (const kind of [
      "agent_message_chunk",
      "tool_call",
      "plan_update",
      "terminal_update",
      "state_update",
      "notice",
      "x",
    ])
      for (const value of values)
        run.frame(
          "bridge-client",
          update("s", { sessionUpdate: kind, content: value, plan: value, data: value, title: value }),
        );
    for (const value of values) {
      run.frame("bridge-client", request(1, "session/request_permission", value));
      run.frame("client-bridge", reply(1, value));
      run.frame("bridge-client", value);
    }
    expect(() => modelOf(run.end())).not.toThrow();
  });
});

describe("rows", () => {
  test("put a frame beside what it went on as, notes in between or not", () => {
    const run = createRecorder();
    const cause = run.frame("agent-bridge", update("s1", { sessionUpdate: "plan", entries: [] }));
    run.add({ type: "note", what: "changed", event: "plan" }, cause);
    run.frame("bridge-client", update("s1", { sessionUpdate: "plan_update" }), cause);
    run.frame("bridge-client", update("s1", { sessionUpdate: "state_update", state: "idle" }), cause);
    const asked = run.frame("client-bridge", request(1, "session/list"));
    run.frame("agent-bridge", update("s1", { sessionUpdate: "x" }));
    run.frame("bridge-agent", request(1, "session/list"), asked);
    run.frame("bridge-client", reply(1, {}), asked);
    const { visibleRows } = modelOf(run.end());
    expect(visibleRows.map(({ entries }) => entries.map(({ record }) => record.seq))).toEqual([
      [1, 3],
      [2],
      [4],
      [5],
      [6],
      [7],
      [8],
      [9],
    ]);
  });

  test("the two forms of a frame are found from either, each one it became", () => {
    const run = createRecorder();
    const cause = run.frame("agent-bridge", update("s1", { sessionUpdate: "tool_call" }));
    run.frame("bridge-client", update("s1", { sessionUpdate: "tool_call_update" }), cause);
    run.frame("bridge-client", update("s1", { sessionUpdate: "terminal_update" }), cause);
    run.frame("bridge-agent", request(2, "x"), cause);
    const { trace } = modelOf(run.end());
    const seqs = trace.entries.map((entry) =>
      formsOf(entry).map(({ client, agent }) => [client.record.seq, agent.record.seq]),
    );
    expect(seqs).toEqual([
      [
        [2, 1],
        [3, 1],
      ],
      [[2, 1]],
      [[3, 1]],
      [],
      [],
    ]);
  });

  test("what the bridge says by itself on the occasion of a frame is no form of it", () => {
    const run = createRecorder();
    const sign = run.frame("agent-bridge", update("s1", { sessionUpdate: "tool_call" }));
    run.frame("bridge-client", reply("prompt", { messageId: "u1" }), sign);
    const end = run.frame("agent-bridge", reply(1, { stopReason: "end_turn" }));
    run.frame("bridge-client", update("s1", { sessionUpdate: "state_update", state: "idle" }), end);
    const { trace, visibleRows } = modelOf(run.end());
    expect(trace.entries.flatMap(formsOf)).toEqual([]);
    expect(visibleRows).toHaveLength(5);
  });
});

test("turns begin with their prompt and end with idle, or with the answer in v1; a held prompt waits for its turn", () => {
  const [first, second] = modelOf(story()).turns.turns;
  expect(first).toMatchObject({ session: "s1", stopReason: "end_turn", waits: [{}] });
  expect(first?.first?.record).toMatchObject({ method: "session/update", leg: "bridge-client" });
  expect(Number(first?.waits[0]?.to) - Number(first?.waits[0]?.from)).toBeGreaterThan(800);
  expect(second).toMatchObject({ stopReason: "error", first: undefined });

  const run = createRecorder();
  const prompt = (id: number) =>
    run.frame("client-bridge", request(id, "session/prompt", { sessionId: "s", prompt: [] }));
  prompt(1);
  prompt(2);
  prompt(3);
  run.frame("bridge-client", { jsonrpc: "2.0", id: 3, error: { code: -32800, message: "no" } });
  run.frame("bridge-client", reply(1, { stopReason: "end_turn" }));
  run.frame("bridge-client", { jsonrpc: "2.0", id: 2, error: { code: 1, message: "no" } });
  run.frame("bridge-client", update("s", { sessionUpdate: "state_update", state: "running" }));
  const told = modelOf(run.end()).turns.turns.map(({ from, to, stopReason }) => [
    from.record.seq,
    to?.record.seq,
    stopReason,
  ]);
  expect(told).toEqual([
    [1, 5, "end_turn"],
    [5, 6, "error"],
    [7, undefined, undefined],
  ]);
});

describe("the time scale", () => {
  const times = [0, 10, 20, 60_020, 60_030, 65_030];
  const turns = [{ from: 60_020, to: 65_030 }];
  test("folds what lies between turns, and nothing within one", () => {
    const scale = createTimeScale(times, turns, true);
    expect(scale.folds).toEqual([{ from: 20, to: 60_020 }]);
    expect(scale.length).toBeLessThan(6_000);
    expect(scale.place(65_030) - scale.place(60_030)).toBeCloseTo(5_000);
  });
  test("is to scale when asked to be", () => {
    expect(createTimeScale(times, turns, false)).toMatchObject({ folds: [], length: 65_030 });
  });
  test("maps both ways, and stays within its bounds", () => {
    const scale = createTimeScale(times, turns, true);
    for (const time of times) expect(scale.time(scale.place(time))).toBeCloseTo(time);
    expect([scale.place(-5), scale.place(1e9)]).toEqual([0, scale.length]);
    expect(createTimeScale([], [], true).place(3)).toBeGreaterThanOrEqual(0);
  });
});

describe("differences", () => {
  test("stand beside each other; the order of fields is none", () => {
    const pairs = compareJson({ a: 1, b: { c: 2, d: 3 } }, { b: { e: 4, d: 3 }, a: 1 });
    expect(pairs).toEqual([
      { left: "{", right: "{", same: true },
      { left: '  "a": 1,', right: '  "a": 1,', same: true },
      { left: '  "b": {', right: '  "b": {', same: true },
      { left: '    "c": 2,', same: false },
      { left: '    "d": 3', right: '    "d": 3,', same: true },
      { right: '    "e": 4', same: false },
      { left: "  }", right: "  }", same: true },
      { left: "}", right: "}", same: true },
    ]);
    expect(compareJson({ a: [1], b: 2 }, { b: 2, a: [1] }).every(({ same }) => same)).toBe(true);
  });

  test("of a file are the same lines from v1's texts and from v2's patch", () => {
    const v1 = patchLines({ type: "diff", path: "/a", oldText: "x\n-- y\n", newText: "x\nz\n" });
    const patch = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n x\n--- y\n+z\n";
    const v2 = patchLines({ type: "diff", changes: [{ operation: "modify", path: "/a" }], patch: { text: patch } });
    expect(v1[0]).toEqual({ mark: "file", text: "/a" });
    expect(v2[0]).toEqual({ mark: "file", text: "modify /a" });
    expect(v2.slice(1)).toEqual(v1.slice(1));
    expect(v2.slice(2)).toEqual([
      { mark: " ", text: "x" },
      { mark: "-", text: "-- y" },
      { mark: "+", text: "z" },
    ]);
  });
});

describe("filters", () => {
  const seqs = (model: ViewModel) =>
    model.visibleRows.flatMap(({ entries }) => entries.map(({ record }) => record.seq));

  test("by session, method, kind, leg and fault", () => {
    const model = modelOf(story());
    const all = model.rows.rows.length;
    expect(model.visibleRows).toHaveLength(all);
    model.filterBy({ method: "session/request_permission" });
    expect(model.visibleRows).toHaveLength(2);
    model.filterBy({ method: "", kind: "stderr" });
    expect(model.visibleRows.map(({ entries }) => entries[0].record)).toMatchObject([{ text: "agent is warm" }]);
    model.filterBy({ kind: "", faultsOnly: true });
    expect(model.visibleRows).toHaveLength(3);
    expect(model.trace.faults).toBe(3);
    model.filterBy({ faultsOnly: false, legs: new Set(["client-bridge"]) });
    for (const { entries } of model.visibleRows)
      expect(entries.some(({ record }) => !("leg" in record) || record.leg === "client-bridge")).toBe(true);
    model.filterBy({
      legs: new Set(["client-bridge", "bridge-agent", "agent-bridge", "bridge-client"]),
      session: "s2",
    });
    expect(model.visibleParts.map(short)).toEqual([expect.stringMatching(/^initialize/), "session/new: /work"]);
    model.filterBy({ session: "" });
    expect(model.visibleRows).toHaveLength(all);
  });

  test("by text, also one that came in pieces; characters mean themselves", () => {
    const model = modelOf(story("It costs (a+b) 5 $ and\nmore"));
    for (const query of ["costs (A+B) 5 $", "and\nmore"]) {
      model.filterBy({ query });
      expect(model.visibleRows.length, query).toBeGreaterThan(5);
      expect(model.visibleParts.filter((part) => model.matches(part)).map(short)).toEqual([
        "agent: It costs (a+b) 5 $ and\nmore",
      ]);
    }
    model.filterBy({ query: "a.b" });
    expect(seqs(model)).toEqual([]);
  });

  test("the place of an entry is found, or that it has none", () => {
    const model = modelOf(longStory(2_000));
    model.filterBy({ method: "session/prompt" });
    for (const [place, { entries }] of model.visibleRows.entries())
      for (const entry of entries) expect(model.placeOf(entry)).toBe(place);
    const hidden = model.trace.entries.find(({ record }) => record.type === "frame" && record.method === "initialize");
    expect(hidden && model.placeOf(hidden)).toBe(-1);
  });
});

test("lines that are no record are skipped", () => {
  const model = createViewModel();
  for (const line of ["", "{", "[]", "null", '{"type":"frame"']) model.add(line);
  expect(model.trace.entries).toEqual([]);
});

test("heights: where rows begin, and which is at an offset, whatever changes", () => {
  const heights = ownHeights(Array.from({ length: 1_000 }, (_, index) => 10 + (index % 7)));
  heights.set(0, 100);
  heights.set(999, 0);
  heights.set(500, 33);
  let top = 0;
  for (let index = 0; index < 1_000; index++) {
    expect(heights.top(index)).toBe(top);
    if (heights.get(index) > 0) {
      expect(heights.at(top)).toBe(index);
      expect(heights.at(top + heights.get(index) - 0.5)).toBe(index);
    }
    top += heights.get(index);
  }
  expect(heights.total).toBe(top);
  expect([heights.at(-10), heights.at(1e9)]).toEqual([0, 999]);
  expect(equalHeights(10, 5)).toMatchObject({ total: 50, count: 10 });
  expect(asObject(ownHeights([]))["total"]).toBe(0);
});
