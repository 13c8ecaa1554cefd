// Guards docs/trace.md, "Replay", rule by rule: how live frames are found in the record, what each recorded one waits for, and what
// happens when the live peer does something else.
import { Readable } from "node:stream";
import { serialize } from "node:v8";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/protocol/json.ts";
import type { Leg, TraceRecord } from "../../src/trace/format.ts";
import { type Act, createPlayer, type Player } from "../../src/trace/replay/player.ts";
import { type Item, type Role, sidesOf } from "../../src/trace/replay/script.ts";
import { fail, notify, prompt, reply, request, text, update } from "../support/dialogue.ts";
import { createRecorder, type Recorder, scriptOf } from "../support/recorded.ts";

/** As many acts at once as there are. */
const ALL = Number.POSITIVE_INFINITY;
const IN: Leg = "bridge-agent";
const OUT: Leg = "agent-bridge";
const chunk = (words: string, sessionId = "s1") =>
  update(sessionId, { sessionUpdate: "agent_message_chunk", content: text(words) });
const permission = (id: unknown) =>
  request(id, "session/request_permission", { sessionId: "s1", toolCall: {}, options: [] });

/** A record of what an agent heard (`in`), said (`out`) and did else; a number is time that passes. */
type Line = ["in" | "out", unknown] | ["add", JsonObject & { type: string }] | ["wait", number];

function recorded(lines: readonly Line[]): Recorder {
  const recorder = createRecorder();
  for (const line of lines) {
    if (line[0] === "wait") recorder.wait(line[1]);
    else if (line[0] === "add") recorder.add(line[1]);
    else recorder.frame(line[0] === "in" ? IN : OUT, line[1]);
  }
  return recorder;
}

const opening: Line[] = [
  ["in", request(1, "initialize", { protocolVersion: 1 })],
  ["out", reply(1, { protocolVersion: 1 })],
  ["in", request(2, "session/new", { cwd: "/work" })],
  ["out", reply(2, { sessionId: "s1" })],
];

function playerOf(lines: readonly Line[], { role = "agent" as Role, fast = true } = {}): Player {
  return createPlayer(scriptOf(recorded(lines).records, role, "agent"), { start: 0, fast });
}

/** What the player says to these frames, each at this time. */
function hear(player: Player, frames: readonly unknown[], now = 0): unknown[] {
  return frames.flatMap((frame) => {
    player.hear(frame, now);
    return shown(player.due(now, ALL).acts);
  });
}

const shown = (acts: readonly Act[]) =>
  acts.map((act) => {
    if (act.type === "frame") return act.frame;
    if (act.type === "bytes") return Buffer.from(act.bytes).toString();
    return act.type === "stderr" ? `stderr: ${act.text}` : act.exit;
  });

/** A player past the opening, with live ids of its own. */
function opened(lines: readonly Line[], setup: { role?: Role; fast?: boolean } = {}): Player {
  const player = playerOf([...opening, ...lines], setup);
  hear(player, [request("a", "initialize", { protocolVersion: 1 }), request("b", "session/new", { cwd: "/else" })]);
  return player;
}

describe("the agent", () => {
  test("answers under the live ids, and keeps the recorded session", () => {
    const said = hear(playerOf(opening), [
      request("a", "initialize", { protocolVersion: 1 }),
      request("b", "session/new", { cwd: "/else" }),
    ]);
    expect(said).toEqual([reply("a", { protocolVersion: 1 }), reply("b", { sessionId: "s1" })]);
  });

  test("says after a prompt what it said after that prompt, in its order", () => {
    const player = opened([
      ["in", prompt(3, "one")],
      ["out", chunk("1")],
      ["out", reply(3, { stopReason: "end_turn" })],
      ["out", chunk("late")],
      ["in", prompt(4, "two")],
      ["out", chunk("2")],
      ["out", reply(4, { stopReason: "refusal" })],
    ]);
    expect(player.due(0, ALL).acts).toEqual([]);
    expect(hear(player, [prompt("c", "one")])).toEqual([
      chunk("1"),
      reply("c", { stopReason: "end_turn" }),
      chunk("late"),
    ]);
    expect(hear(player, [prompt("d", "two")])).toEqual([chunk("2"), reply("d", { stopReason: "refusal" })]);
    expect(player.over()).toBe(true);
  });

  test("of requests that look alike it takes the one with the same content, else the first", () => {
    const lists: Line[] = [
      ["in", request(3, "session/list", { cwd: "/a" })],
      ["out", reply(3, { sessions: ["a"] })],
      ["in", request(4, "session/list", { cwd: "/b" })],
      ["out", reply(4, { sessions: ["b"] })],
    ];
    expect(hear(opened(lists), [request("x", "session/list", { cwd: "/b" })])).toEqual([
      reply("x", { sessions: ["b"] }),
    ]);
    expect(hear(opened(lists), [request("x", "session/list", { cwd: "/c" })])).toEqual([
      reply("x", { sessions: ["a"] }),
    ]);
    // What was passed over can still be asked for.
    expect(
      hear(opened(lists), [request("x", "session/list", { cwd: "/b" }), request("y", "session/list", { cwd: "/a" })]),
    ).toEqual([reply("x", { sessions: ["b"] }), reply("y", { sessions: ["a"] })]);
  });

  test("waits for the answer to what it asks", () => {
    const player = opened([
      ["in", prompt(3, "one")],
      ["out", permission("ask-1")],
      ["in", reply("ask-1", { outcome: { outcome: "cancelled" } })],
      ["out", chunk("after")],
    ]);
    expect(hear(player, [prompt("c", "one")])).toEqual([permission("ask-1")]);
    expect(player.awaited()).toEqual([{ seq: 7, text: "the answer to session/request_permission did not come" }]);
    expect(hear(player, [reply("other", {})])).toEqual([]);
    expect(hear(player, [fail("ask-1", -32603)])).toEqual([chunk("after")]);
  });

  test("waits for a cancel that was recorded, and overlooks one that was not", () => {
    const turn = (id: number, words: string, cancel: Line[]): Line[] => [
      ["in", prompt(id, words)],
      ["out", chunk(words)],
      ...cancel,
      ["out", reply(id, { stopReason: "end_turn" })],
    ];
    const cancel = notify("session/cancel", { sessionId: "s1" });
    const player = opened([...turn(3, "one", []), ...turn(4, "two", [["in", cancel]])]);
    expect(hear(player, [prompt("c", "one"), cancel])).toEqual([chunk("one"), reply("c", { stopReason: "end_turn" })]);
    expect(hear(player, [prompt("d", "two")])).toEqual([chunk("two")]);
    expect(hear(player, [cancel])).toEqual([reply("d", { stopReason: "end_turn" })]);
  });

  test("leaves out what belongs to a prompt that is left out", () => {
    const player = opened([
      ["in", prompt(3, "one")],
      ["out", chunk("1")],
      ["out", permission("ask-1")],
      ["in", reply("ask-1", {})],
      ["out", reply(3, { stopReason: "end_turn" })],
      ["in", prompt(4, "two")],
      ["out", chunk("2")],
      ["out", reply(4, { stopReason: "end_turn" })],
    ]);
    expect(hear(player, [prompt("d", "two")])).toEqual([chunk("2"), reply("d", { stopReason: "end_turn" })]);
  });

  test("sessions go on side by side", () => {
    const player = playerOf([
      ...opening,
      ["in", request(3, "session/new", { cwd: "/work" })],
      ["out", reply(3, { sessionId: "s2" })],
      ["out", chunk("hello", "s2")],
      ["in", prompt(4, "one", "s1")],
      ["in", prompt(5, "two", "s2")],
      ["out", reply(5, { stopReason: "end_turn" })],
      ["out", reply(4, { stopReason: "end_turn" })],
    ]);
    const hello = [request("a", "initialize"), request("b", "session/new"), request("c", "session/new")];
    expect(hear(player, hello).slice(2)).toEqual([reply("c", { sessionId: "s2" }), chunk("hello", "s2")]);
    expect(hear(player, [prompt("e", "two", "s2")])).toEqual([reply("e", { stopReason: "end_turn" })]);
    expect(hear(player, [prompt("d", "one", "s1")])).toEqual([reply("d", { stopReason: "end_turn" })]);
  });

  test.each([
    {
      name: "a method",
      frame: request("x", "session/fork", { sessionId: "s1" }),
      code: -32601,
      message: "the record has no session/fork for session s1",
    },
    {
      name: "a session",
      frame: prompt("x", "one", "s9"),
      code: -32603,
      message: "the record has no session s9: it has s1",
    },
    {
      name: "one more",
      frame: request("x", "session/new", {}),
      code: -32603,
      message: "the record has session/new 1× and all are answered",
    },
  ])("says what was recorded when $name is not in the record", ({ frame, code, message }) => {
    const [said] = hear(opened([["in", prompt(3, "one")]]), [frame]);
    const requests = { initialize: 1, "session/new": 1, "session/prompt": 1 };
    expect(said).toMatchObject({
      id: "x",
      error: { code, message: `acp-shift trace replay: ${message}`, data: { requests, sessions: ["s1"] } },
    });
  });

  test("writes noise and stderr where they were, verbatim", () => {
    const player = playerOf([
      ["add", { type: "bytes", leg: OUT, bytes: 8, text: "Welcome!" }],
      ["add", { type: "stderr", text: "starting" }],
      ...opening.slice(0, 2),
      ["add", { type: "bytes", leg: OUT, bytes: 2, base64: "/w==" }],
    ]);
    expect(shown(player.due(0, ALL).acts)).toEqual(["Welcome!", "stderr: starting"]);
    expect(hear(player, [request("a", "initialize")])).toEqual([reply("a", { protocolVersion: 1 }), "\uFFFD"]);
  });

  test.each([
    { id: 1, said: ["> {answer} <"] },
    { id: "a", said: [reply("a", {})] },
  ])("a frame among noise: the whole line, or the frame alone where its id is another ($id)", ({ id, said }) => {
    const recorder = createRecorder();
    recorder.frame(IN, request(1, "initialize"));
    const line = recorder.add({ type: "bytes", leg: OUT, bytes: 12, text: "> {answer} <" });
    recorder.frame(OUT, reply(1, {}), line);
    const player = createPlayer(scriptOf(recorder.records, "agent", "agent"), { start: 0, fast: true });
    expect(hear(player, [request(id, "initialize")])).toEqual(said);
  });

  test("at the recorded speed it takes its time from what it waits for", () => {
    const player = opened(
      [
        ["wait", 5000],
        ["in", prompt(3, "one")],
        ["wait", 99],
        ["out", chunk("1")],
        ["wait", 49],
        ["out", reply(3, {})],
      ],
      { fast: false },
    );
    player.due(10_000, ALL);
    player.hear(prompt("c", "one"), 10_000);
    expect(player.due(10_000, ALL)).toEqual({ acts: [], next: 10_100 });
    expect(player.due(10_100, ALL)).toEqual({ acts: [{ type: "frame", frame: chunk("1") }], next: 10_150 });
    expect(shown(player.due(10_150, ALL).acts)).toEqual([reply("c", {})]);
  });

  test("ends by itself as it did, after all it said", () => {
    const lines: Line[] = [
      ["in", prompt(3, "one")],
      ["out", chunk("1")],
      ["add", { type: "stderr", text: "panic" }],
      ["add", { type: "event", event: "agent-exit", details: { code: null, signal: "SIGSEGV" } }],
    ];
    expect(opened(lines).due(0, ALL).acts).toEqual([]);
    const said = hear(opened(lines), [prompt("c", "one")]);
    expect(said).toMatchObject([chunk("1"), "stderr: panic", { code: null, signal: "SIGSEGV", byItself: true }]);
  });

  test("one that ended after the client left does not end by itself", () => {
    const player = opened([
      ["add", { type: "event", event: "client-left", details: {} }],
      ["add", { type: "event", event: "agent-exit", details: { code: 4, signal: null } }],
    ]);
    expect(player.due(0, ALL)).toEqual({ acts: [], next: undefined });
    expect(player.over()).toBe(true);
  });

  test("a terminal the live client makes has its own name from then on", () => {
    const create = request(0, "terminal/create", { sessionId: "s1", command: "ls" });
    const output = (terminalId: string) => request(1, "terminal/output", { sessionId: "s1", terminalId });
    const player = opened([
      ["in", prompt(3, "one")],
      ["out", create],
      ["in", reply(0, { terminalId: "t1" })],
      ["out", output("t1")],
    ]);
    expect(hear(player, [prompt("c", "one"), reply(0, { terminalId: "live" })])).toEqual([create, output("live")]);
  });
});

describe("the client", () => {
  const lines: Line[] = [
    ...opening,
    ["in", prompt(3, "one")],
    ["out", chunk("1")],
    ["out", permission("ask")],
    ["in", reply("ask", { outcome: { outcome: "selected", optionId: "yes" } })],
    ["out", reply(3, { stopReason: "end_turn" })],
    ["in", prompt(4, "two")],
    ["out", fail(4, -32603)],
  ];
  const start = (): Player => {
    const player = playerOf(lines, { role: "client" });
    expect(shown(player.due(0, ALL).acts)).toEqual([request(1, "initialize", { protocolVersion: 1 })]);
    expect(hear(player, [reply(1, {})])).toEqual([request(2, "session/new", { cwd: "/work" })]);
    expect(hear(player, [reply(2, { sessionId: "live" })])).toEqual([prompt(3, "one", "live")]);
    return player;
  };
  const asking = request("other", "session/request_permission", { sessionId: "live", toolCall: {}, options: [] });
  const yes = reply("other", { outcome: { outcome: "selected", optionId: "yes" } });

  test("goes on after what it went on after, in the live agent's session", () => {
    const player = start();
    expect(hear(player, [chunk("x", "live"), chunk("y", "live"), asking])).toEqual([yes]);
    expect(hear(player, [reply(3, { stopReason: "end_turn" })])).toEqual([prompt(4, "two", "live")]);
    expect(player.over()).toBe(false);
    hear(player, [fail(4, -32603)]);
    expect([player.over(), player.findings]).toEqual([true, []]);
  });

  test("does not stop at a question that is not asked", () => {
    const player = start();
    expect(hear(player, [reply(3, { stopReason: "end_turn" })])).toEqual([prompt(4, "two", "live")]);
    expect(player.findings.map(({ text }) => text)).toEqual(["session/request_permission did not come"]);
  });

  test("tells what was answered otherwise, and what it was not asked before", () => {
    const player = start();
    const [refusal] = hear(player, [request("q", "fs/read_text_file", { sessionId: "live", path: "/a" })]);
    expect(refusal).toMatchObject({ id: "q", error: { code: -32601 } });
    hear(player, [asking, reply(3, { stopReason: "refusal" }), reply(4, {})]);
    expect(player.findings.map(({ text }) => text)).toEqual([
      "fs/read_text_file came and is not in the record: answered with an error",
      "session/prompt was answered with a result (end_turn), now with a result (refusal)",
      "session/prompt was answered with error -32603, now with a result",
    ]);
  });

  test("knows what it waits for", () => {
    expect(start().awaited()).toEqual([{ seq: 7, text: "session/request_permission did not come" }]);
  });

  test("in version 2 it waits for the state that ended a turn", () => {
    const state = (name: string) => update("s1", { sessionUpdate: "state_update", state: name });
    const player = playerOf(
      [
        ["in", prompt(3, "one")],
        ["out", reply(3, { messageId: "m1" })],
        ["out", state("running")],
        ["out", state("idle")],
        ["out", update("s1", { sessionUpdate: "usage_update", used: 1, size: 2 })],
        ["in", prompt(4, "two")],
      ],
      { role: "client" },
    );
    expect(shown(player.due(0, ALL).acts)).toEqual([prompt(3, "one")]);
    const usage = update("s1", { sessionUpdate: "usage_update", used: 3, size: 4 });
    expect(hear(player, [reply(3, { messageId: "m9" }), state("running"), usage])).toEqual([]);
    expect(hear(player, [state("idle")])).toEqual([prompt(4, "two")]);
  });
});

describe("the script", () => {
  test("each role is taken from its legs, and a trace can have one side only", async () => {
    const recorder = createRecorder();
    recorder.frame("client-bridge", request(1, "initialize"));
    expect(await sidesOf(Readable.from(recorder.records))).toEqual(new Set(["client"]));
    recorder.frame(IN, request(7, "initialize"));
    expect(await sidesOf(Readable.from(recorder.records))).toEqual(new Set(["client", "agent"]));
    const script = scriptOf(recorder.records, "client", "client");
    expect([...script.lanes.values()].flatMap(({ items }) => items)).toMatchObject([{ type: "say", seq: 1 }]);
  });

  test("counts replaced secrets, lines that are not whole, and what is missing", () => {
    const recorder = createRecorder();
    recorder.frame(OUT, notify("_x", { token: "[redacted]" }));
    Object.assign(recorder.records.at(-1) ?? {}, { redacted: true });
    recorder.add({ type: "bytes", leg: OUT, bytes: 9999, text: "{", truncated: true });
    recorder.add({ type: "dropped", records: 7, bytes: 0, reason: "gone" });
    expect(scriptOf(recorder.records, "agent", "agent")).toMatchObject({ redacted: 1, truncated: 1, missing: 7 });
  });
});

describe("a long trace", () => {
  const CHUNKS = 5000;
  const long = (): TraceRecord[] =>
    recorded([
      ...opening,
      ["in", prompt(3, "one")],
      ...Array.from({ length: CHUNKS }, (_, index): Line => ["out", chunk(`${index} ${"word ".repeat(200)}`)]),
      ["out", reply(3, { stopReason: "end_turn" })],
    ]).records;

  test.each(["agent", "client"] as const)("costs the %s's script no more than a place for each record", (role) => {
    const records = long();
    const { read: _, ...held } = scriptOf(records, role, "agent");
    // A number takes up to nine bytes here; the rest is for the opening.
    expect(serialize(held).length).toBeLessThan(2000 + (role === "agent" ? 9 * CHUNKS : 0));
    expect(JSON.stringify(records).length).toBeGreaterThan(1000 * CHUNKS);
  });

  test("is read as it is played, no further than asked for, and listened in between", () => {
    const records = long();
    let reads = 0;
    const script = scriptOf(records, "agent", "agent");
    const read = (place: number) => {
      reads++;
      return script.read(place);
    };
    const player = createPlayer({ ...script, read }, { start: 0, fast: true });
    hear(player, [request("a", "initialize"), request("b", "session/new")]);
    player.hear(prompt("c", "one"), 0);
    let said = 0;
    for (let next: number | undefined = 0; next === 0; ) {
      reads = 0;
      const step = player.due(0, 10);
      expect(step.acts.length).toBeLessThanOrEqual(10);
      expect(reads).toBeLessThanOrEqual(step.acts.length);
      said += step.acts.length;
      next = step.next;
    }
    expect([said, player.over(), player.counts()]).toEqual([CHUNKS + 1, true, { said: CHUNKS + 3, heard: 3 }]);
  });

  test("of two sessions that take turns each is said by itself, and what opens one is never added to", () => {
    const lines: Line[] = [
      ["out", notify("_one")],
      ["out", update("s1", { sessionUpdate: "a" })],
      ["out", notify("_two")],
      ["out", update("s2", { sessionUpdate: "b" })],
      ["out", update("s1", { sessionUpdate: "c" })],
      ["out", update("s2", { sessionUpdate: "d" })],
    ];
    const script = scriptOf(recorded(lines).records, "agent", "agent");
    expect([...script.lanes.values()].map(({ session, items }) => [session, items.map(placesOf)])).toEqual([
      ["", [[1], [3]]],
      ["s1", [[2, 5]]],
      ["s2", [[4, 6]]],
    ]);
    const player = createPlayer(script, { start: 0, fast: true });
    expect(shown(player.due(0, ALL).acts)).toEqual(lines.map(([, frame]) => frame));
  });
});

const placesOf = (item: Item) => (item.type === "run" ? item.places : []);
