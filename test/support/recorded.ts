// Traces in the format of src/trace/format.ts, made from recorded conversations and from frames written in a test.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { asArray, asObject, asString, type JsonObject } from "../../src/protocol/json.ts";
import type { FrameRecord, Header, Leg, TraceRecord } from "../../src/trace/format.ts";
import { createScript, type Role, type Script, type Side } from "../../src/trace/replay/script.ts";
import { conversations, isNativeV2, play, readTrace, type TraceLine } from "../traces/replay.ts";

export const header: Header = {
  type: "header",
  format: "acp-shift-trace",
  version: 1,
  run: "run-1",
  part: 1,
  acpShift: "0.1.0",
  sdk: "2.4.0",
  node: "20.20.0",
  started: "2026-01-01T00:00:00.000Z",
  agent: { command: ["agent", "--acp"] },
  redaction: { on: false, replaced: [], mark: "" },
  bridge: {},
};

export interface Recorder {
  readonly records: TraceRecord[];
  /** Adds a frame; its number. Session, method and request are filled in as the recorder does. */
  frame(leg: Leg, frame: unknown, cause?: number): number;
  /** Adds any other record; its number. */
  add(fields: JsonObject & { type: string }, cause?: number): number;
  /** Lets time pass, in ms. */
  wait(ms: number): void;
  /** Ends the run in order; all records. */
  end(): TraceRecord[];
}

const ANSWERED_ON: Record<Leg, Leg> = {
  "client-bridge": "bridge-client",
  "bridge-client": "client-bridge",
  "agent-bridge": "bridge-agent",
  "bridge-agent": "agent-bridge",
};

/** Writes records as the recorder would; each takes 1 ms. */
export function createRecorder(): Recorder {
  const records: TraceRecord[] = [header];
  const open = new Map<string, FrameRecord>();
  let seq = 0;
  let mono = 0;

  function stamp(cause: number | undefined) {
    seq++;
    mono++;
    const time = new Date(Date.parse(header.started) + mono).toISOString();
    return { seq, time, mono, ...(cause !== undefined && { cause }) };
  }
  const recorder: Recorder = {
    records,
    frame(leg, frame, cause) {
      const object = asObject(frame);
      const isCall = typeof object["method"] === "string";
      const key = `${isCall ? leg : ANSWERED_ON[leg]} ${JSON.stringify(object["id"])}`;
      const request = isCall ? undefined : open.get(key);
      const method = isCall ? String(object["method"]) : request?.method;
      const session =
        asString(asObject(object["params"])["sessionId"]) ??
        request?.session ??
        asString(asObject(object["result"])["sessionId"]);
      const record: FrameRecord = {
        type: "frame",
        ...stamp(cause),
        leg,
        kind: kindOf(object),
        ...(method !== undefined && { method }),
        ...(session !== undefined && { session }),
        ...(request !== undefined && { request: request.seq }),
        bytes: JSON.stringify(frame).length,
        frame,
      };
      if (record.kind === "request") open.set(key, record);
      else if (request !== undefined) open.delete(key);
      records.push(record);
      return record.seq;
    },
    add(fields, cause) {
      const record = { ...fields, ...stamp(cause) } as unknown as TraceRecord;
      records.push(record);
      return seq;
    },
    wait(ms) {
      mono += ms;
    },
    end() {
      recorder.add({ type: "end", status: 0, records: records.length + 1, dropped: 0 });
      return records;
    },
  };
  return recorder;
}

function kindOf(frame: JsonObject): FrameRecord["kind"] {
  if (typeof frame["method"] === "string") return "id" in frame ? "request" : "notification";
  if ("result" in frame) return "result";
  return "error" in frame ? "error" : "invalid";
}

/** The script of records that are in memory: the place of each is its index. */
export function scriptOf(records: readonly TraceRecord[], role: Role, side: Side): Script {
  const script = createScript(role, side);
  for (const [place, record] of records.entries()) script.take(record, place);
  return script.end((place) => records[place] ?? header);
}

/** The conversations of a recorded file (test/fixtures/traces) as a bridge records them that passes them through. */
export function passedThroughRuns(name: string): TraceRecord[][] {
  return conversationsOf(name).map(passedThrough);
}

/** Those of a version 1 agent with a version 2 client in place of the recorded one, translated by the core. */
export function translatedRuns(name: string): TraceRecord[][] {
  return conversationsOf(name)
    .filter((part) => !isNativeV2(part))
    .map(translated);
}

/** Names of the recorded files. */
export function recordedNames(): string[] {
  return readdirSync(new URL("../fixtures/traces/", import.meta.url)).filter((name) => name.endsWith(".jsonl"));
}

function conversationsOf(name: string): TraceLine[][] {
  return conversations(readTrace(new URL(`../fixtures/traces/${name}`, import.meta.url)));
}

/** What the agent's own client and it said to each other, with a bridge between them that only listens. */
function passedThrough(lines: readonly TraceLine[]): TraceRecord[] {
  const recorder = createRecorder();
  const start = lines[0]?.t ?? 0;
  for (const line of lines) {
    recorder.wait(Math.max(0, line.t - start - elapsed(recorder)));
    if (line.dir === "stderr") recorder.add({ type: "stderr", text: String(asObject(line)["text"] ?? "").trimEnd() });
    if (line.dir === "exit") agentExit(recorder, line);
    if (line.dir === "note" && line.note?.startsWith("stdin close")) clientLeft(recorder);
    if (line.dir === "c2a-raw") recorder.add({ type: "bytes", leg: "client-bridge", bytes: 1, text: line.raw ?? "" });
    if (line.frame === undefined) continue;
    const [into, out]: [Leg, Leg] =
      line.dir === "c2a" ? ["client-bridge", "bridge-agent"] : ["agent-bridge", "bridge-client"];
    recorder.frame(out, line.frame, recorder.frame(into, line.frame));
  }
  return recorder.end();
}

function translated(lines: TraceLine[]): TraceRecord[] {
  const recorder = createRecorder();
  for (const { from, frame, outcome, now, event } of play(lines, "run")) {
    recorder.wait(Math.max(0, now - elapsed(recorder)));
    const leg = from === "client" ? "client-bridge" : "agent-bridge";
    const cause =
      frame !== undefined
        ? recorder.frame(leg, frame)
        : from === "client"
          ? recorder.add({ type: "bytes", leg, bytes: 1, text: "{" })
          : recorder.add({ type: "event", event, details: {} });
    for (const log of outcome.logs)
      recorder.add({ type: "note", what: "other", event: log.event, details: log.details }, cause);
    for (const [to, sent] of outcome.sent)
      recorder.frame(to === "client" ? "bridge-client" : "bridge-agent", sent, cause);
  }
  return recorder.end();
}

function clientLeft(recorder: Recorder): void {
  recorder.add({ type: "event", event: "client-left", details: {} });
}

function agentExit(recorder: Recorder, { code = null, sig = null }: TraceLine): void {
  recorder.add({ type: "event", event: "agent-exit", details: { code, signal: sig } });
}

function elapsed({ records }: Recorder): number {
  const last = records.at(-1);
  return last === undefined || last.type === "header" ? 0 : last.mono;
}

/** The records as a file, gone after the test; its path. */
export function traceFile(records: readonly unknown[], name = "trace.jsonl"): string {
  const directory = mkdtempSync(join(tmpdir(), "acp-shift-trace-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, name);
  writeFileSync(
    file,
    asArray(records)
      .map((record) => `${JSON.stringify(record)}\n`)
      .join(""),
  );
  return file;
}
