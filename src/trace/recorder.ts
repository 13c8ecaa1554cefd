import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";
import type { Event, Side } from "../bridge/events.ts";
import { type Logger, loggerOf } from "../logging.ts";
import {
  type ChunkLine,
  type ChunkPattern,
  frameOf,
  frameText,
  lineOf,
  type SplicedFrame,
} from "../protocol/chunk-pattern.ts";
import { parseExact, printExact, readExact } from "../protocol/exact.ts";
import { asObject, isObject, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import { mask } from "../redact.ts";
import { newRunId, openTraceFile } from "./files.ts";
import { looksHarmless } from "./first-look.ts";
import type { Header } from "./format.ts";
import { createHeads, type HeadFields } from "./heads.ts";
import {
  type Description,
  describe,
  INVALID,
  type LegState,
  members,
  newLegs,
  type Subject,
  subjectOf,
} from "./legs.ts";
import { type Cause, madeOf } from "./made.ts";
import { noteKind } from "./notes.ts";
import { REPLACED, redactFrame, redactText, redactValue } from "./secrets.ts";
import { createTraceWriter } from "./writer.ts";

/**
 * Records one run (docs/trace.md): told by the shell of everything that passes, in order. None of its functions throws or
 * waits. What it is told of it may record later: frames and bytes must not change any more (a `ChunkLine` may).
 */
export interface Recorder {
  /** Names the run; random. */
  readonly run: string;
  /** Where it records. */
  readonly path: string;
  /** Wall-clock time, in ms since the epoch, at which the run's clock is 0. */
  readonly timeOrigin: number;
  /**
   * The run's clock: monotonic, in whole microseconds, as ms since its start. The core of a recorded run goes by it, so that
   * `trace verify` can give it the very same times.
   */
  now(): number;
  /**
   * True when the event loop should turn before more is read: only then it is heard that something has been written, and its
   * memory can be used again.
   */
  readonly isBehind: boolean;
  /** Begins the record: what the core was told when it was made, as plain data, `agentCommand` among it. */
  begin(bridge: JsonObject): void;
  /**
   * An event, before the core takes it. All that is told until `settled` happens because of it.
   *
   * @param now when, by the run's clock
   * @param source the record of the line the frame was found in, when it was not all of the line
   */
  event(event: Event, now: number, source?: number): void;
  /** The effects of the last event have been carried out. */
  settled(): void;
  /** A frame of the bridge's has been written, as this text. */
  sent(to: Side, frame: unknown, text: string): void;
  /** The text of the event's chunk has been written into this frame. */
  spliced(to: Side, chunk: ChunkLine, frame: SplicedFrame): void;
  /** A line has been passed on as it came, or a notification written in the same bytes. */
  forwarded(to: Side, line: Uint8Array): void;
  /** A line of the agent's that is not simply a frame. Returns the number of its record. */
  untidy(line: Uint8Array): number;
  /** A line the agent wrote on stderr. */
  stderr(text: string): void;
  /** A logger that records all it is told as notes, and passes it on. */
  listening(log: Logger): Logger;
  /** Ends the record, and waits until it is written, as far as that takes no longer than two seconds. */
  end(status: number): Promise<void>;
}

export interface RecorderOptions {
  /** A file, or a directory that gets a file for each run. */
  target: string;
  /** How large the files of the run may grow together, in bytes. */
  limit: number;
  /** Whether secrets are replaced before anything is written. */
  redact: boolean;
  /** Told once each time writing begins to fail. */
  onFault(path: string, error: Error): void;
}

/** How long the end of a run waits for the disk, in ms. */
const END_PATIENCE = 2000;

/** How much of what has passed waits until it is recorded, in bytes. */
const MOST_PASSED = 64 * 1024;

/** What passes all the time, as it is told. */
type Passed = { now: number } & (
  | { what: "event"; event: Event; source: number | undefined }
  | { what: "sent"; to: Side; value: unknown; text: string }
  | { what: "spliced"; to: Side; chunk: ChunkLine; round: SplicedFrame }
  | { what: "forwarded"; to: Side; line: Uint8Array }
);

/** What was seen of a frame when it was recorded: its text without secrets, when it had any. */
interface Seen {
  described: Description;
  redacted: string | undefined;
}

/** What is known of frames that are the same but for a text, each between the same bytes. */
interface KnownRound {
  described: Description;
  /** Whether there is nothing like a secret in those bytes. */
  harmless: boolean;
  /** The message the frames are chunks of. */
  message: unknown;
  /** The beginning of a record up to the text, and what stands behind it. */
  head: ReturnType<typeof createHeads>;
  rest: Uint8Array;
}

/**
 * Opens the file of a trace and returns its recorder.
 *
 * @throws UsageError when the file cannot be opened
 */
export function openRecorder(options: RecorderOptions): Recorder {
  const origin = performance.now();
  const wallOrigin = performance.timeOrigin + origin;
  const elapsed = () => Math.round((performance.now() - origin) * 1000) / 1000;
  const started = new Date(wallOrigin);
  const run = newRunId();
  const { path, destination } = openTraceFile(options.target, run, started);
  let header: Omit<Header, "part"> | undefined;

  const writer = createTraceWriter({
    destination,
    limit: options.limit,
    header: (part) => JSON.stringify({ ...header, part }),
    onExpected: rest,
    onFault: (error) => options.onFault(path, error),
  });
  const { record } = writer;

  let sequence = 0;
  let dropped = 0;
  /** The record that everything told now is due to. */
  let cause: number | undefined;
  /** The event's frame, for when it is passed on. */
  let current: (Seen & { line: Uint8Array; value: unknown }) | undefined;
  /** What made it happen, and what was said of it when it was a frame; the same of the frame recorded last. */
  let event: Event | undefined;
  let causing = INVALID;
  let described = INVALID;
  let subject: Subject | undefined;
  const [fromClient, toClient] = newLegs("client-bridge", "bridge-client");
  const [fromAgent, toAgent] = newLegs("agent-bridge", "bridge-agent");
  const legFrom = (side: Side) => (side === "client" ? fromClient : fromAgent);
  const legTo = (side: Side) => (side === "client" ? toClient : toAgent);

  /** What has passed and is not recorded yet, in order. */
  let passed: Passed[] = [];
  let passedBytes = 0;
  /** Whether all that the last event brought about has passed. */
  let isSettled = true;
  /** The event's chunk. */
  let heard: ChunkLine | undefined;
  /** The chunk whose text was looked through for secrets last, and what came of it. */
  let looked: ChunkLine | undefined;
  let isTextHarmless = false;

  const knownRounds = new WeakMap<SplicedFrame, KnownRound>();

  let millisecond = -1;
  /** Wall and monotonic time of that millisecond, as members up to the point; as text and as bytes. */
  let clock = "";
  let clockBytes = Buffer.alloc(0);
  const fields: HeadFields = { seq: 0, clock: clockBytes, thousandths: 0, cause, about: clockBytes, bytes: 0 };

  /** Sets the clock; the microseconds beyond it. */
  function setClock(now: number): number {
    const micros = Math.round(now * 1000);
    const millis = Math.floor(micros / 1000);
    if (millis !== millisecond) {
      millisecond = millis;
      clock = `,"time":"${new Date(wallOrigin + millis).toISOString()}","mono":${millis}.`;
      clockBytes = Buffer.from(clock);
    }
    return micros - millis * 1000;
  }

  /** Records what was dropped, in its place. */
  function tellLoss(now: number): void {
    const loss = writer.takeLoss();
    if (loss === undefined) return;
    dropped += loss.records;
    append("dropped", now, members({ ...loss }), undefined);
  }

  /** The number of the next record. */
  function next(now: number): number {
    tellLoss(now);
    return ++sequence;
  }

  /** Records anything but a frame; `rest` are its own members, each after a comma. */
  function append(type: string, now: number, rest: string, due: number | undefined): void {
    const seq = next(now);
    const thousandths = String(setClock(now)).padStart(3, "0");
    const caused = due === undefined ? "" : `,"cause":${due}`;
    const line = `{"type":"${type}","seq":${seq}${clock}${thousandths}${caused}${rest}}`;
    if (!writer.begin(Buffer.byteLength(line))) return;
    record.text(line);
    writer.commit();
  }

  /** What the beginning of a record says; good until the next call. */
  function fieldsOf(seq: number, now: number, due: number | undefined, about: Buffer, bytes: number): HeadFields {
    fields.seq = seq;
    fields.thousandths = setClock(now);
    fields.clock = clockBytes;
    fields.cause = due;
    fields.about = about;
    fields.bytes = bytes;
    return fields;
  }

  /**
   * Records a frame.
   *
   * @param line the frame as it was on the wire
   * @param before what was seen of it on another leg
   * @returns its text without secrets; undefined when it had none
   */
  function frame(
    leg: LegState,
    value: unknown,
    line: string | Uint8Array,
    now: number,
    due: number | undefined,
    before?: Seen,
  ): string | undefined {
    const seq = next(now);
    // On every leg a notification is the same.
    described = before?.described.kind === "notification" ? before.described : describe(leg, value, seq);
    subject = subjectOf(leg, described);
    const { method } = described;
    const { about, head, suspect } = subject;
    const fields = fieldsOf(seq, now, due, about, line.length);
    if (before?.redacted !== undefined) return writeRedacted(fields, line, before.redacted);

    if (!writer.begin(MOST_HEAD + about.length + mostBytes(line))) return undefined;
    if (typeof line === "string") writeText(head, fields, line);
    else {
      record.bytes(head(fields));
      record.bytes(line);
    }
    const isHarmless =
      !options.redact || before !== undefined || (!suspect && record.passes(fields.bytes, looksHarmless));
    if (!isHarmless) {
      const redacted = redactFrame(value, line, method);
      if (redacted !== undefined) return writeRedacted(fields, line, redacted);
    }
    record.byte(CLOSE);
    writer.commit();
    return undefined;
  }

  /**
   * Records a frame that is a text between bytes known from before, for a fraction of the cost. What is looked through for
   * secrets is the text with a little of what stands round it, and the rest once.
   *
   * @param round what stands round the text
   * @returns false, with nothing recorded, when all of the frame has to be looked through
   */
  function chunk(leg: LegState, line: ChunkLine, round: SplicedFrame, now: number): boolean {
    const { pattern, source, textStart, textEnd } = line;
    const known = knownOf(round, pattern);
    subject = subjectOf(leg, known.described);
    if (options.redact) {
      // On its way out it is the same text between the same three bytes.
      if (looked !== line) isTextHarmless = looksHarmless(source, textStart - 3, textEnd + 3);
      looked = line;
      if (!known.harmless || subject.suspect || !isTextHarmless) return false;
    }
    described = known.described;
    const bytes = round.before.length + textEnd - textStart + round.after.length;
    const { about } = subject;
    const { head, rest } = known;
    const fields = fieldsOf(next(now), now, cause, about, bytes);
    if (!writer.begin(MOST_HEAD + about.length + bytes)) return true;
    record.bytes(head(fields));
    record.part(source, textStart, textEnd);
    record.bytes(rest);
    writer.commit();
    return true;
  }

  function knownOf(round: SplicedFrame, { sessionId }: ChunkPattern): KnownRound {
    let known = knownRounds.get(round);
    if (known === undefined) {
      const { before, after } = round;
      known = {
        described: { kind: "notification", method: Method.sessionUpdate, session: sessionId, request: undefined },
        harmless: looksHarmless(before) && looksHarmless(after),
        message: messageOf(asObject(parsed(Buffer.concat([before, after])))),
        head: createHeads(before),
        rest: Buffer.concat([after, Buffer.of(CLOSE)]),
      };
      knownRounds.set(round, known);
    }
    return known;
  }

  /** Writes the beginning of a record and its frame, whose length in bytes is known only then. */
  function writeText(head: Subject["head"], fields: HeadFields, text: string): void {
    const guessed = head(fields);
    const { length } = guessed;
    record.bytes(guessed);
    fields.bytes = record.text(text);
    if (fields.bytes !== text.length) {
      const known = head(fields);
      if (known.length === length) record.overwrite(known);
      else {
        record.again();
        record.bytes(known);
        record.text(text);
      }
    }
  }

  /** Writes a frame without its secrets, in place of what was written of the record. */
  function writeRedacted(fields: HeadFields, line: string | Uint8Array, text: string): string {
    const about = Buffer.concat([fields.about, REDACTED]);
    if (!writer.begin(MOST_HEAD + about.length + mostBytes(text))) return text;
    record.bytes(createHeads()({ ...fields, about, bytes: Buffer.byteLength(line) }));
    record.text(text);
    record.byte(CLOSE);
    writer.commit();
    return text;
  }

  function noFrame(leg: LegState, line: Uint8Array, now: number, truncated?: { bytes: number; tail: string }): void {
    const bytes = Buffer.from(line.buffer, line.byteOffset, line.length);
    // Bytes that are no text may still hold secrets in what of them is.
    const verbatim = bytes.toString(isUtf8(bytes) ? "utf8" : "latin1");
    const text = options.redact ? redactText(verbatim) : verbatim;
    const redacted = text !== verbatim;
    const content = isUtf8(bytes) || redacted ? { text } : { base64: bytes.toString("base64") };
    const cut = truncated === undefined ? {} : { truncated: true, tail: secretless(truncated.tail) };
    const length = truncated?.bytes ?? line.length;
    append(
      "bytes",
      now,
      members({ leg: leg.name, bytes: length, redacted: redacted || undefined, ...content, ...cut }),
      cause,
    );
  }

  function secretless(text: string): string {
    return options.redact ? redactText(text) : text;
  }

  function json(value: unknown): string {
    return options.redact ? redactValue(value) : printExact(value);
  }

  function note(event: string, details: JsonObject): void {
    const { what, rule } = noteKind(event);
    const { sessionId, ...others } = details;
    const session = typeof sessionId === "string" ? sessionId : undefined;
    const rest = Object.keys(others).length === 0 ? "" : `,"details":${json(others)}`;
    append("note", elapsed(), members({ what, event, rule, session }) + rest, cause);
  }

  /** Notes what the log does not tell of the frame recorded last, once for each message. */
  function tellMade(to: Side, value: JsonObject, event: Event, now: number): void {
    const { kind, method, session } = described;
    const message = method === Method.sessionUpdate ? messageOf(value) : undefined;
    if (message !== undefined && subject?.message === message) return;
    if (subject !== undefined && message !== undefined) subject.message = message;
    const due = causeOf(event, causing);
    const isAsked = () => [...fromClient.asked.values()].some((asked) => asked.method === method);
    const made = madeOf({ to, kind, method, frame: value }, due, isAsked);
    if (made !== undefined) append("note", now, members({ ...made, session }), sequence);
  }

  /** Records what happens to the core; what is recorded from then on is due to it. */
  function recordDue(told: Event, now: number, source: number | undefined): void {
    event = told;
    current = undefined;
    cause = undefined;
    try {
      recordEvent(told, now, source);
    } finally {
      cause = sequence;
    }
  }

  /** Nothing is due to the last event any more, and nothing of it is kept. */
  function settle(): void {
    event = undefined;
    cause = undefined;
    current = undefined;
    looked = undefined;
  }

  function recordEvent(told: Event, now: number, source: number | undefined): void {
    switch (told.type) {
      case "frame": {
        const { value, line } = told;
        // A frame without a line stands in for one that could not be written.
        const written = line.length === 0 ? printExact(value) : line;
        const redacted = frame(legFrom(told.from), value, written, now, source);
        current = { line, value, redacted, described };
        causing = described;
        break;
      }
      case "chunk": {
        const { pattern } = told.chunk;
        if (!chunk(fromAgent, told.chunk, pattern, now))
          frame(fromAgent, frameOf(told.chunk), lineOf(told.chunk), now, source);
        causing = described;
        break;
      }
      case "not-json":
        noFrame(fromClient, told.line, now);
        break;
      case "oversized":
        noFrame(legFrom(told.from), Buffer.from(told.head), now, told);
        break;
      default: {
        const { type, ...details } = told;
        append("event", now, `,"event":"${type}","details":${json(details)}`, cause);
      }
    }
  }

  function recordSpliced(to: Side, line: ChunkLine, round: SplicedFrame, now: number): void {
    const leg = legTo(to);
    const isRecorded = chunk(leg, line, round, now);
    if (isRecorded && subject?.message === knownOf(round, line.pattern).message) return;
    const text = frameText(line, round);
    const value = asObject(parseExact(text));
    if (!isRecorded) frame(leg, value, text, now, cause);
    if (event !== undefined) tellMade(to, value, event, now);
  }

  function recordPassed(one: Passed): void {
    switch (one.what) {
      case "event":
        return recordDue(one.event, one.now, one.source);
      case "spliced":
        return recordSpliced(one.to, one.chunk, one.round, one.now);
      case "sent":
        frame(legTo(one.to), one.value, one.text, one.now, cause);
        if (event !== undefined) tellMade(one.to, one.value as JsonObject, event, one.now);
        break;
      case "forwarded": {
        const { line, now } = one;
        const known = line === current?.line ? current : undefined;
        const value = known === undefined ? parsed(line) : known.value;
        if (value === undefined) noFrame(legTo(one.to), line, now);
        else frame(legTo(one.to), value, line, now, cause, known);
      }
    }
  }

  /** Has it recorded together with others: alone, the code for it would be cold each time. */
  function later(bytes: number, one: Passed): void {
    passed.push(one);
    passedBytes += bytes;
    if (passedBytes >= MOST_PASSED) catchUp();
    else writer.expect();
  }

  function catchUp(): void {
    const all = passed;
    passed = [];
    passedBytes = 0;
    for (const one of all) attempt(recordPassed, one);
  }

  /** Leaves nothing unrecorded. */
  function rest(): void {
    catchUp();
    if (isSettled) settle();
  }

  /** Records what is rare, after all that passed before. */
  function atOnce(make: () => void): void {
    rest();
    attempt(make);
  }

  /** A record that cannot be made is a loss to the trace, never to the conversation. */
  function attempt<T extends unknown[]>(make: (...told: T) => void, ...told: T): void {
    try {
      make(...told);
    } catch (error) {
      writer.lose(0, error instanceof Error ? error.message : String(error));
    }
  }

  return {
    run,
    path,
    timeOrigin: wallOrigin,
    now: elapsed,
    get isBehind() {
      return writer.isBehind;
    },
    begin(bridge) {
      const { acpShift, sdk } = versions();
      const told = JSON.parse(json(bridge));
      header = {
        type: "header",
        format: "acp-shift-trace",
        version: 1,
        run,
        acpShift,
        sdk,
        node: process.version,
        started: started.toISOString(),
        agent: { command: told.agentCommand },
        redaction: { on: options.redact, replaced: options.redact ? [...REPLACED] : [], mark: mask },
        bridge: told,
      };
    },
    event(told, now, source) {
      isSettled = false;
      if (told.type === "frame") later(told.line.length, { what: "event", event: told, now, source });
      else if (told.type === "chunk") {
        const chunk = { ...told.chunk };
        heard = chunk;
        later(chunk.end - chunk.start, { what: "event", event: { type: "chunk", chunk }, now, source });
      } else atOnce(() => recordDue(told, now, source));
    },
    settled() {
      isSettled = true;
      heard = undefined;
      if (passed.length === 0) settle();
    },
    sent(to, value, text) {
      later(text.length, { what: "sent", to, value, text, now: elapsed() });
    },
    spliced(to, chunk, round) {
      later(chunk.end - chunk.start, { what: "spliced", to, chunk: heard ?? { ...chunk }, round, now: elapsed() });
    },
    forwarded(to, line) {
      later(line.length, { what: "forwarded", to, line, now: elapsed() });
    },
    untidy(line) {
      atOnce(() => noFrame(fromAgent, line, elapsed()));
      return sequence;
    },
    stderr(text) {
      atOnce(() => append("stderr", elapsed(), members({ text: secretless(text) }), undefined));
    },
    listening(log) {
      return loggerOf((level) => (event, details = {}) => {
        log[level](event, details);
        // Noise is recorded as the bytes it was.
        if (event !== "agent-noise") atOnce(() => note(event, details));
      });
    },
    end(status) {
      catchUp();
      const now = elapsed();
      tellLoss(now);
      const records = sequence + 1 - dropped;
      append("end", now, members({ status, records, dropped }), undefined);
      return writer.end(END_PATIENCE);
    },
  };
}

/** What made the bridge write a frame. */
function causeOf(event: Event, { kind, method }: Description): Cause {
  if (event.type === "frame") return { from: event.from, kind, method, frame: asObject(event.value) };
  if (event.type === "chunk") return { from: "agent", kind, method, frame: frameOf(event.chunk) };
  return { from: "nobody", event: event.type };
}

/** The message that an update is a chunk of. */
function messageOf({ params }: JsonObject): unknown {
  const update = isObject(params) && isObject(params["update"]) ? params["update"] : {};
  return "content" in update ? update["messageId"] : undefined;
}

const CLOSE = "}".charCodeAt(0);
const REDACTED = Buffer.from(',"redacted":true');
/** At least as many bytes as the beginning and the end of a frame's record have, but for what the frame is about. */
const MOST_HEAD = 256;

/** Up to which length of a text it is cheaper to make room for the most bytes it can have than to count them. */
const ROUGHLY = 64 * 1024;

/** At least as many bytes as the line has. */
function mostBytes(line: string | Uint8Array): number {
  if (typeof line !== "string") return line.length;
  return line.length < ROUGHLY ? 3 * line.length : Buffer.byteLength(line);
}

function parsed(line: Uint8Array): unknown {
  return readExact(Buffer.from(line).toString());
}

/** The versions of this program and of the SDK whose schemas it holds. */
export function versions(): { acpShift: string; sdk: string } {
  const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return { acpShift: manifest.version, sdk: manifest.dependencies["@agentclientprotocol/sdk"] };
}
