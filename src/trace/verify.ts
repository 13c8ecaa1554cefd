/**
 * Puts what a trace recorded as the core's input through the core of today, and finds where its output is not the
 * recorded one. The core has no clock and no randomness of its own, so there is nothing to allow for.
 */
import { step } from "../bridge/bridge.ts";
import type { Effect, Event, Side } from "../bridge/events.ts";
import { type BridgeOptions, createBridge } from "../bridge/state.ts";
import { printExact } from "../protocol/exact.ts";
import { asObject, asString } from "../protocol/json.ts";
import { bytesOf } from "./bytes.ts";
import { differencesOf, type ValueDifference } from "./difference.ts";
import type { BytesRecord, FrameRecord, Header, Leg, TraceRecord } from "./format.ts";

/** One frame that is not what it was. */
export interface Difference {
  /** The record of the event that led to it. */
  cause: number;
  leg: Leg;
  /** The recorded frame; absent when only today's core sends one. */
  seq?: number;
  /** What the frame is: its method, or the method it answers. */
  method: string | undefined;
  what: "changed" | "missing" | "extra";
  /** The places in the frame that differ; the whole frame when it is missing or extra. */
  places: ValueDifference[];
}

export interface Verified {
  /** Events given to the core, and recorded frames compared with what it sent. */
  events: number;
  frames: number;
  /** Why what came after a record could not be verified. */
  incomplete?: { after: number; reason: string };
}

export interface Verifier {
  /** Takes the records in order, headers among them; returns what was found since the last call. */
  take(record: TraceRecord): Difference[];
  /** After the last record. */
  end(): Difference[];
  readonly verified: Verified;
}

/** What the core gets from outside, beside its plain options. */
export interface VerifierWorld extends Pick<BridgeOptions, "behaviourOf" | "schemaV1" | "schemaV2"> {
  /** What of a line of the agent's is no frame. */
  noiseOf(line: Uint8Array): string[];
}

const INPUT: Partial<Record<Leg, Side>> = { "client-bridge": "client", "agent-bridge": "agent" };
const OUTPUT: Record<Side, Leg> = { client: "bridge-client", agent: "bridge-agent" };

/** What was sent on one leg: a frame, or the text of a line that is none. */
interface Sent {
  leg: Leg;
  value: unknown;
}

/**
 * @param header of the run's first part
 * @param options the core's plain options, as the header has them
 */
export function createVerifier(
  header: Header,
  options: Omit<BridgeOptions, "behaviourOf" | "schemaV1" | "schemaV2" | "agentStderr">,
  { noiseOf, ...world }: VerifierWorld,
): Verifier {
  const mask = header.redaction.on ? header.redaction.mark : undefined;
  const stderr: string[] = [];
  const noise: string[] = [];
  const bridge = createBridge({
    ...options,
    ...world,
    agentStderr: () => [...stderr, "", ...noise].join("\n"),
  });
  const verified: Verified = { events: 0, frames: 0 };
  let last = 0;
  /** The event under way: what the core sent, and what the record has. */
  let current: { cause: number; actual: Sent[]; expected: (FrameRecord | BytesRecord)[] } | undefined;

  function settle(): Difference[] {
    const done = current;
    current = undefined;
    return done === undefined ? [] : compare(done.cause, done.expected, done.actual, mask);
  }

  function give(record: TraceRecord & { seq: number; mono: number }, event: Event): Difference[] {
    const found = settle();
    verified.events++;
    const effects = step(bridge, event, record.mono);
    current = { cause: record.seq, actual: effects.flatMap(sentBy), expected: [] };
    return found;
  }

  function expect(record: FrameRecord | BytesRecord): Difference[] {
    verified.frames++;
    // What was sent for no event on record stands alone.
    if (record.cause !== current?.cause) return compare(record.cause ?? record.seq, [record], [], mask);
    current?.expected.push(record);
    return [];
  }

  return {
    verified,
    take(record) {
      if (record.type === "header" || verified.incomplete !== undefined) return [];
      if (record.type === "dropped" || record.seq !== last + 1) {
        const reason =
          record.type === "dropped" ? record.reason : `records ${last + 1} to ${record.seq - 1} are missing`;
        verified.incomplete = { after: last, reason };
        return settle();
      }
      last = record.seq;
      switch (record.type) {
        case "frame": {
          const from = INPUT[record.leg];
          if (from === undefined) return expect(record);
          const line = new TextEncoder().encode(written(record.frame) ?? "");
          return give(record, { type: "frame", from, value: record.frame, line });
        }
        case "bytes": {
          const from = INPUT[record.leg];
          if (from === undefined) return expect(record);
          if (record.truncated)
            return give(record, {
              type: "oversized",
              from,
              bytes: record.bytes,
              head: record.text ?? "",
              tail: record.tail ?? "",
            });
          if (from === "client") return give(record, { type: "not-json", line: bytesOf(record) });
          keep(
            noise,
            noiseOf(bytesOf(record)).map((text) => text.slice(0, LOGGED_NOISE)),
          );
          return [];
        }
        case "stderr":
          keep(stderr, [record.text]);
          return [];
        case "event":
          if (record.event === "agent-restarted") stderr.length = 0;
          return give(record, { type: record.event, ...record.details } as unknown as Event);
        default:
          return [];
      }
    },
    end: settle,
  };
}

/** As much as the shell keeps of a line of noise, in characters. */
const LOGGED_NOISE = 1000;
/** More lines than any message tells. */
const LINES_KEPT = 1000;

/** Adds lines, and leaves out the oldest when there are too many. */
function keep(lines: string[], more: readonly string[]): void {
  lines.push(...more);
  if (lines.length > 2 * LINES_KEPT) lines.splice(0, lines.length - LINES_KEPT);
}

function sentBy(effect: Effect): Sent[] {
  if (effect.type === "forward")
    return [{ leg: OUTPUT[effect.to], value: parsed(Buffer.from(effect.line).toString()) }];
  if (effect.type !== "send") return [];
  const text = written(effect.frame);
  // As it is on the wire: without the fields that are undefined.
  if (text !== undefined) return [{ leg: OUTPUT[effect.to], value: JSON.parse(text) }];
  // In place of an answer that cannot be written the shell sends a refusal of its own.
  return "method" in effect.frame ? [] : [{ leg: OUTPUT[effect.to], value: UNWRITABLE }];
}

const UNWRITABLE = Symbol("unwritable");

/** The JSON text of a value; undefined when it nests too deeply to be written. */
function written(value: unknown): string | undefined {
  try {
    return printExact(value);
  } catch {
    return undefined;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function compare(
  cause: number,
  expected: readonly (FrameRecord | BytesRecord)[],
  actual: readonly Sent[],
  mask: string | undefined,
): Difference[] {
  return Object.values(OUTPUT).flatMap((leg) => {
    const recorded = expected.filter((record) => record.leg === leg);
    const sent = actual.filter((one) => one.leg === leg);
    const both = recorded
      .slice(0, sent.length)
      .map((record, index) => changed(cause, record, sent[index]?.value, mask));
    return [
      ...both.filter(({ places }) => places.length > 0),
      ...recorded.slice(sent.length).map((record) => missing(cause, record)),
      ...sent.slice(recorded.length).map((one) => extra(cause, one)),
    ];
  });
}

function changed(
  cause: number,
  record: FrameRecord | BytesRecord,
  value: unknown,
  mask: string | undefined,
): Difference {
  const content = contentOf(record);
  const isSame = value === UNWRITABLE || written(content) === written(value);
  return { ...recordedAs(cause, record), what: "changed", places: isSame ? [] : differencesOf(content, value, mask) };
}

function missing(cause: number, record: FrameRecord | BytesRecord): Difference {
  return { ...recordedAs(cause, record), what: "missing", places: [{ pointer: "", expected: contentOf(record) }] };
}

function extra(cause: number, { leg, value }: Sent): Difference {
  const method = asString(asObject(value)["method"]);
  return { cause, leg, method, what: "extra", places: [{ pointer: "", actual: value }] };
}

function recordedAs(
  cause: number,
  record: FrameRecord | BytesRecord,
): Pick<Difference, "cause" | "leg" | "seq" | "method"> {
  return { cause, leg: record.leg, seq: record.seq, method: record.type === "frame" ? record.method : undefined };
}

function contentOf(record: FrameRecord | BytesRecord): unknown {
  return record.type === "frame" ? record.frame : bytesOf(record).toString();
}
