// Guards docs/trace.md, "Other formats": what is exported is as its format has it, and comes back the same, in the same order, at
// the same times, for every recorded conversation.
import { describe, expect, test, vi } from "vitest";
import { calledSide as sideOf } from "../../src/commands/trace-import.ts";
import type { JsonObject } from "../../src/protocol/json.ts";
import { fromConductor, isConductor, toConductor } from "../../src/trace/foreign/conductor.ts";
import { type Crossing, type Passed, passedOn, recordsOf } from "../../src/trace/foreign/crossing.ts";
import { connectionsOf, fromInspector, isInspector, toInspector } from "../../src/trace/foreign/inspector.ts";
import { fromNdjson, isNdjson, toNdjson } from "../../src/trace/foreign/ndjson.ts";
import { LEGS, type Leg, type TraceRecord } from "../../src/trace/format.ts";
import { notify, reply, request } from "../support/dialogue.ts";
import { createRecorder, passedThroughRuns, recordedNames, translatedRuns } from "../support/recorded.ts";

vi.setConfig({ testTimeout: 60_000 });

const CLIENT_SIDE = new Set<Leg>(["client-bridge", "bridge-client"]);
const AGENT_SIDE = new Set<Leg>(["agent-bridge", "bridge-agent"]);
const ALL = new Set<Leg>(LEGS);
const EXPORTED = Date.UTC(2026, 0, 2);

const viaText = <T>(value: T): T => JSON.parse(JSON.stringify(value));
const inspectorLines = (records: readonly TraceRecord[], legs: ReadonlySet<Leg>) =>
  viaText(toInspector(passedOn(records, legs), EXPORTED, 0, false).value);
const conductorLines = (records: readonly TraceRecord[], legs: ReadonlySet<Leg>) =>
  viaText(toConductor(passedOn(records, legs), legs).value);
const ndjsonLines = (records: readonly TraceRecord[], legs: ReadonlySet<Leg>) =>
  viaText(toNdjson(passedOn(records, legs)).value);

/** What counts of a record: where it went, and what it was. */
function content(record: Passed): unknown {
  const { leg } = record;
  if (record.type === "bytes") return { leg, text: record.text, base64: record.base64 };
  const { kind, method, session, frame } = record;
  return { leg, kind, method, session, frame };
}
const frames = (records: readonly TraceRecord[], legs: ReadonlySet<Leg>) =>
  passedOn(records, legs).filter((record) => record.type === "frame" && record.kind !== "invalid");

describe("there and back", () => {
  test.each(recordedNames())("%s", (name) => {
    for (const records of [...passedThroughRuns(name), ...translatedRuns(name)]) {
      for (const legs of [CLIENT_SIDE, AGENT_SIDE]) viaInspector(records, legs);
      for (const legs of [ALL, CLIENT_SIDE]) viaConductor(records, legs);
      viaNdjson(records);
    }
  });

  function viaInspector(records: readonly TraceRecord[], legs: ReadonlySet<Leg>): void {
    const lines = inspectorLines(records, legs);
    const { value, left, started } = fromInspector(lines, 1);
    const back = recordsOf(value, started);
    expect(left.size).toBe(0);
    expect(passedOn(back, legs).map(content)).toEqual(passedOn(records, legs).map(content));
    expect(passedOn(back, legs).map(({ time }) => time)).toEqual(passedOn(records, legs).map(({ time }) => time));
    expect(inspectorLines(back, legs)).toEqual(lines);
  }

  function viaConductor(records: readonly TraceRecord[], legs: ReadonlySet<Leg>): void {
    const lines = conductorLines(records, legs);
    const { value, left } = fromConductor(lines);
    const back = recordsOf(value, 0);
    expect(left.size).toBe(0);
    expect(frames(back, legs).map(content)).toEqual(frames(records, legs).map(content));
    expect(frames(back, legs).map(({ mono }) => mono)).toEqual(frames(records, legs).map(({ mono }) => mono));
    expect(conductorLines(back, legs)).toEqual(lines);
  }

  /** Time is lost, and the direction is guessed: of known methods rightly. */
  function viaNdjson(records: readonly TraceRecord[]): void {
    const lines = ndjsonLines(records, CLIENT_SIDE);
    const back = frames(recordsOf(fromNdjson(lines, sideOf).value, 0), CLIENT_SIDE);
    const isKnown = (record: Passed) => "method" in record && sideOf(record.method ?? "") !== undefined;
    expect(back.map((record) => "frame" in record && record.frame)).toEqual(lines);
    expect(back.filter(isKnown).map(content)).toEqual(frames(records, CLIENT_SIDE).filter(isKnown).map(content));
  }
});

describe("acp-inspector-trace", () => {
  const recorder = createRecorder();
  recorder.frame("client-bridge", request(1, "initialize", {}));
  recorder.frame("bridge-client", reply(1, {}));
  recorder.add({ type: "bytes", leg: "client-bridge", bytes: 5, text: "{oops" });
  recorder.add({ type: "bytes", leg: "client-bridge", bytes: 1, base64: "/w==" });
  recorder.add({ type: "bytes", leg: "client-bridge", bytes: 999, text: "{", truncated: true });

  test("a header that counts, and frames as text, verbatim", () => {
    const { value, left } = toInspector(passedOn(recorder.records, CLIENT_SIDE), EXPORTED, 3, true);
    const at = Date.UTC(2026, 0, 1);
    expect(value).toEqual([
      {
        ...{ type: "header", format: "acp-inspector-trace", version: 1, at: EXPORTED, frames: 3, dropped: 5 },
        warning: expect.stringContaining("secret was replaced"),
      },
      {
        ...{ type: "frame", at: at + 1, connection: 1, direction: "client -> agent", encoding: "utf8" },
        frame: '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}',
      },
      {
        ...{ type: "frame", at: at + 2, connection: 1, direction: "agent -> client", encoding: "utf8" },
        frame: '{"jsonrpc":"2.0","id":1,"result":{}}',
      },
      { type: "frame", at: at + 3, connection: 1, direction: "client -> agent", encoding: "utf8", frame: "{oops" },
    ]);
    expect([...left.values()]).toEqual([2]);
    expect(isInspector(value[0])).toBe(true);
  });

  test("each connection is a run of its own; fields and records it does not know are no matter", () => {
    const frame = (connection: number, text: string, more: JsonObject = {}) => ({
      ...{
        type: "frame",
        at: 1000 * connection,
        connection,
        direction: "client -> agent",
        encoding: "utf8",
        frame: text,
      },
      ...more,
    });
    const lines = [
      { type: "header", format: "acp-inspector-trace", version: 1 },
      frame(1, '{"a":1}', { colour: "red" }),
      { type: "mark", at: 5 },
      frame(2, "not json"),
      frame(2, "/w==", { encoding: "base64" }),
      frame(2, "{}", { direction: "sideways" }),
    ];
    expect(connectionsOf(lines)).toEqual([1, 2]);
    const { value, left, started } = fromInspector(lines, 2);
    expect(value).toEqual([
      { hop: "whole", toward: "agent", at: 0, text: "not json" },
      { hop: "whole", toward: "agent", at: 0, bytes: Buffer.from([0xff]) },
    ]);
    expect([started, [...left.values()]]).toEqual([2000, [1]]);
  });
});

describe("the conductor's events", () => {
  const event = (type: string, from: string, to: string, more: JsonObject) => ({ type, ts: 0.5, from, to, ...more });

  test("acp-shift stands where a proxy does", () => {
    const recorder = createRecorder();
    recorder.frame("client-bridge", request("a", "session/cancel", { sessionId: "s1" }), undefined);
    recorder.frame("bridge-agent", notify("_x"));
    recorder.frame("bridge-client", { jsonrpc: "2.0", id: "a", error: { code: 1, message: "no" } });
    recorder.add({ type: "bytes", leg: "agent-bridge", bytes: 1, text: "!" });
    const { value, left } = toConductor(passedOn(recorder.records, ALL), ALL);
    expect(value).toEqual([
      {
        ...{ type: "request", ts: 0.001, from: "Client", to: "Proxy(0)", id: "a", protocol: "acp" },
        ...{ method: "session/cancel", session: "s1", params: { sessionId: "s1" } },
      },
      { type: "notification", ts: 0.002, from: "Proxy(0)", to: "Agent", protocol: "acp", method: "_x", params: null },
      {
        ...{ type: "response", ts: 0.003, from: "Proxy(0)", to: "Client", id: "a" },
        ...{ is_error: true, payload: { code: 1, message: "no" } },
      },
    ]);
    expect([...left.values()]).toEqual([1]);
    expect(value.every(isConductor)).toBe(true);
  });

  test("of a chain the two ends come across; what is between proxies and MCP messages do not", () => {
    const call = { protocol: "acp", id: 1, method: "initialize", params: {} };
    const { value, left } = fromConductor([
      event("request", "Client", "Proxy(0)", call),
      event("request", "Proxy(0)", "Proxy(1)", call),
      event("request", "Proxy(1)", "Agent", call),
      event("request", "Agent", "Proxy(1)", { ...call, protocol: "mcp", id: 2, method: "tools/list" }),
      event("response", "Proxy(1)", "Agent", { id: 2, is_error: false, payload: {} }),
      event("response", "Agent", "Proxy(1)", { id: 1, is_error: false, payload: {} }),
      { type: "request" },
    ]);
    expect(value.map(({ hop, toward }) => `${hop} ${toward}`)).toEqual(["client agent", "agent agent", "agent client"]);
    expect(Object.fromEntries(left)).toEqual({
      "messages between two proxies": 1,
      "MCP messages": 2,
      "events that are not as the format has them": 1,
    });
  });
});

describe("bare messages", () => {
  test("the direction is told by the method, the request answered last, or whose request is withdrawn", () => {
    const { value, left } = fromNdjson(
      [
        request(1, "session/prompt", {}),
        request(1, "session/request_permission", {}),
        notify("$/cancel_request", { requestId: 1 }),
        reply(1, { outcome: {} }),
        reply(1, { stopReason: "end_turn" }),
        notify("_unknown"),
        { hello: true },
      ],
      sideOf,
    );
    expect(value.map(({ toward }) => toward)).toEqual(["agent", "client", "client", "agent", "client", "client"]);
    expect([...left.values()]).toEqual([1]);
  });
});

describe("what is made of what crossed", () => {
  test("a connection with nothing between is as one that is passed through", () => {
    const crossings: Crossing[] = [
      { hop: "whole", toward: "agent", at: 0, frame: request(1, "session/new", {}) },
      { hop: "whole", toward: "client", at: 2.5, frame: reply(1, { sessionId: "s1" }) },
      { hop: "whole", toward: "client", at: 1, text: "noise" },
    ];
    expect(recordsOf(crossings, 1000)).toMatchObject([
      {
        seq: 1,
        leg: "client-bridge",
        kind: "request",
        method: "session/new",
        mono: 0,
        time: "1970-01-01T00:00:01.000Z",
      },
      { seq: 2, leg: "bridge-agent", cause: 1 },
      { seq: 3, leg: "agent-bridge", kind: "result", method: "session/new", request: 2, session: "s1", mono: 2.5 },
      { seq: 4, leg: "bridge-client", cause: 3, request: 1 },
      { seq: 5, type: "bytes", leg: "agent-bridge", text: "noise", bytes: 5, mono: 2.5 },
    ]);
  });

  test.each([
    { first: { jsonrpc: "2.0", method: "x" }, told: true },
    { first: { type: "request" }, told: false },
    { first: undefined, told: false },
  ])("bare messages are known by their first line", ({ first, told }) => {
    expect(isNdjson(first)).toBe(told);
  });
});
