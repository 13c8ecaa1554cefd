/**
 * The trace format, version 1: what one line of a trace file holds (docs/trace.md, config/trace.schema.json). A public
 * interface: fields may be added, none changes its meaning.
 */
import type { Event } from "../bridge/events.ts";
import type { JsonObject } from "../protocol/json.ts";

/** The four legs of the wire. */
export const LEGS = ["client-bridge", "bridge-agent", "agent-bridge", "bridge-client"] as const;
export type Leg = (typeof LEGS)[number];

/** The first line of every file; a rotated trace starts each part with one, `part` counting from 1. */
export interface Header {
  type: "header";
  format: "acp-shift-trace";
  version: 1;
  /** Same in every part of one run. */
  run: string;
  part: number;
  acpShift: string;
  sdk: string;
  node: string;
  /** Wall time at `mono` 0, ISO 8601 with milliseconds. */
  started: string;
  agent: { command: string[] };
  /** What was replaced before writing, in words; `on: false` with `--no-redact`. */
  redaction: { on: boolean; replaced: string[]; mark: string };
  /** What the core was told when it was made, so that `trace verify` can make the same one again; no secrets. */
  bridge: JsonObject;
  /** The format it was imported from: then no bridge was there, and nothing is known of its options or its peers' commands. */
  imported?: string;
}

/** What all records after the header share. */
export interface Stamp {
  /** Counts up from 1 by one over the whole run; a gap means records were dropped. */
  seq: number;
  /** Wall time, ISO 8601 with milliseconds. */
  time: string;
  /** Monotonic time since the start of the run, in ms with three decimals. */
  mono: number;
  /** `seq` of the record that made this one happen; absent for what came from outside. */
  cause?: number;
}

/** One JSON-RPC message on one leg. */
export interface FrameRecord extends Stamp {
  type: "frame";
  leg: Leg;
  kind: "request" | "notification" | "result" | "error" | "invalid";
  /** The frame's method; of an answer, its request's. */
  method?: string;
  session?: string;
  /** Of an answer: `seq` of its request on the paired leg. */
  request?: number;
  /** Length on the wire in bytes, without the line break. */
  bytes: number;
  /** True when `frame` differs from what was on the wire by its redaction. */
  redacted?: true;
  frame: unknown;
}

/** Bytes on a leg that were no frame, verbatim. */
export interface BytesRecord extends Stamp {
  type: "bytes";
  leg: Leg;
  bytes: number;
  /** Exactly one of the two: text when the bytes are UTF-8. */
  text?: string;
  base64?: string;
  /** Set for a line above the frame limit, whose middle was not held: `text` is its beginning, `tail` its end. */
  truncated?: true;
  tail?: string;
  /** True when `text` differs from what was on the wire by its redaction. */
  redacted?: true;
}

/** One line of the agent's stderr. */
export interface StderrRecord extends Stamp {
  type: "stderr";
  text: string;
}

/** Something the bridge made, changed, left out or guessed; `event` is the log event, `rule` the rule of docs/mapping.md. */
export interface NoteRecord extends Stamp {
  type: "note";
  what: "synthesised" | "changed" | "dropped" | "guessed" | "other";
  event: string;
  rule?: string;
  session?: string;
  details?: JsonObject;
}

/** An input of the core that is no frame: a timer, the agent's exit, the answer of a hosted service, the client's end. */
export interface EventRecord extends Stamp {
  type: "event";
  event: Exclude<Event["type"], "frame" | "not-json" | "oversized">;
  details: JsonObject;
}

/** Records that could not be written in time (slow disk, full disk), counted where they are missing. */
export interface DroppedRecord extends Stamp {
  type: "dropped";
  records: number;
  bytes: number;
  reason: string;
}

/** The last line of a run that ended in order; `status` is the exit status. */
export interface EndRecord extends Stamp {
  type: "end";
  status: number;
  records: number;
  dropped: number;
}

export type TraceRecord =
  | Header
  | FrameRecord
  | BytesRecord
  | StderrRecord
  | NoteRecord
  | EventRecord
  | DroppedRecord
  | EndRecord;
