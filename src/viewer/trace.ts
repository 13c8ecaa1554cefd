import { asObject, asString, type JsonObject } from "../protocol/json.ts";
import type { FrameRecord, Header, Leg, TraceRecord } from "../trace/format.ts";
import { isFault } from "../trace/summary.ts";

/** A record with its place in time: all but the header. */
export type Stamped = Exclude<TraceRecord, Header>;

/** A record of a trace, and the ones it hangs together with. */
export interface Entry {
  readonly record: Stamped;
  /** The record as it stands in the file: what a search looks through. */
  readonly line: string;
  /** The record's session; of an answer that names none, its request's. */
  readonly session: string | undefined;
  /** True for what went wrong: see {@link isFault}. */
  readonly fault: boolean;
  readonly cause: Entry | undefined;
  /** Of an answer: its request on the paired leg. */
  readonly request: Entry | undefined;
  readonly effects: Entry[];
  answer: Entry | undefined;
}

/** An entry that is a frame. */
export type FrameEntry = Entry & { readonly record: FrameRecord };

/** A trace as far as it has been read. */
export interface Trace {
  header: Header | undefined;
  /** In the order of the file. */
  readonly entries: readonly Entry[];
  /** How often each session and each method occurs. */
  readonly sessions: ReadonlyMap<string, number>;
  readonly methods: ReadonlyMap<string, number>;
  faults: number;
  find(seq: number): Entry | undefined;
  /** Takes one line of the file in. Returns its entry; undefined for a header, an empty line, or one that is no record. */
  add(line: string): Entry | undefined;
}

/** Reads a trace line by line (docs/trace.md). A line that is no record is skipped: the last one may be half written. */
export function createTrace(): Trace {
  const entries: Entry[] = [];
  const bySeq = new Map<number, Entry>();
  const sessions = new Map<string, number>();
  const methods = new Map<string, number>();

  function add(line: string): Entry | undefined {
    const record = recordOf(line);
    if (record === undefined) return undefined;
    if (record.type === "header") {
      trace.header ??= record;
      return undefined;
    }
    const cause = record.cause === undefined ? undefined : bySeq.get(record.cause);
    const answered = record.type === "frame" ? record.request : undefined;
    const request = answered === undefined ? undefined : bySeq.get(answered);
    const named = "session" in record ? record.session : undefined;
    const session = named ?? request?.session;
    const fault = isFault(record);
    const entry: Entry = { record, line, session, fault, cause, request, effects: [], answer: undefined };
    entries.push(entry);
    bySeq.set(record.seq, entry);
    cause?.effects.push(entry);
    if (request !== undefined) request.answer ??= entry;
    if (session !== undefined) count(sessions, session);
    if (record.type === "frame" && record.method !== undefined) count(methods, record.method);
    if (fault) trace.faults++;
    return entry;
  }

  const trace: Trace = { header: undefined, entries, sessions, methods, faults: 0, find: (seq) => bySeq.get(seq), add };
  return trace;
}

function recordOf(line: string): TraceRecord | undefined {
  if (line === "") return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return asString(asObject(value)["type"]) === undefined ? undefined : (value as TraceRecord);
  } catch {
    return undefined;
  }
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** True when the entry is a frame. */
export function isFrame(entry: Entry): entry is FrameEntry {
  return entry.record.type === "frame";
}

/** The leg an entry is on, if it is on one. */
export function legOf({ record }: Entry): Leg | undefined {
  return record.type === "frame" || record.type === "bytes" ? record.leg : undefined;
}

/** The `update` of a `session/update` frame, else undefined. */
export function updateOf({ record }: Entry): JsonObject | undefined {
  if (record.type !== "frame" || record.method !== "session/update" || record.kind !== "notification") return undefined;
  return asObject(asObject(asObject(record.frame)["params"])["update"]);
}
