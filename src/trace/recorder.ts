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
import { asObject, isObject, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import { mask } from "../redact.ts";
import { newRunId, openTraceFile } from "./files.ts";
import { looksHarmless } from "./first-look.ts";
import type { FrameRecord, Header, Leg } from "./format.ts";
import { createHeads, type HeadFields } from "./heads.ts";
import { type Cause, madeOf } from "./made.ts";
import { noteKind } from "./notes.ts";
import { holdsSecrets, REPLACED, redactFrame, redactText, redactValue } from "./secrets.ts";
import { createTraceWriter } from "./writer.ts";

/**
 * Records one run (docs/trace.md): told by the shell of everything that passes, in order. None of its functions throws or
 * waits.
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
  /** A line has been passed on as it came. */
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

/** Of how many sessions a leg remembers what it said last. */
const SESSIONS_REMEMBERED = 1000;

/** A request that has no answer yet. */
interface Asked {
  seq: number;
  method: string;
  session: string | undefined;
}

/** A leg, and what is remembered of it. */
interface LegState {
  name: Leg;
  /** Requests on it that have no answer yet, by id. */
  asked: Map<unknown, Asked>;
  /** What was said last of a notification of each session. */
  notified: Map<string | undefined, Subject>;
}

/** What a record says of its frame. */
interface Subject {
  method: string | undefined;
  /** Whether it has to be looked at for secrets however harmless it looks. */
  suspect: boolean;
  about: Buffer;
  /** The message whose chunk was told of last. */
  message?: unknown;
  head: ReturnType<typeof createHeads>;
}

/** What is known of frames that are the same but for a text, each between the same bytes. */
interface KnownRound {
  described: Description;
  /** Whether there is nothing like a secret in those bytes. */
  harmless: boolean;
  /** The message the frames are chunks of. */
  message: unknown;
}

/** What is told of a frame beside its text. */
interface Description {
  kind: FrameRecord["kind"];
  method: string | undefined;
  session: string | undefined;
  request: number | undefined;
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
    onFault: (error) => options.onFault(path, error),
  });
  const { record } = writer;

  let sequence = 0;
  let dropped = 0;
  /** The record that everything told now is due to. */
  let cause: number | undefined;
  /** The event's frame, its line and the text it got without secrets, for when the line is passed on. */
  let current: { line: Uint8Array; value: unknown; redacted: string | undefined } | undefined;
  /** What made it happen, and what was said of it when it was a frame; the same of the frame recorded last. */
  let event: Event | undefined;
  let causing = INVALID;
  let described = INVALID;
  let subject: Subject | undefined;
  const fromClient = newLeg("client-bridge");
  const toClient = newLeg("bridge-client");
  const fromAgent = newLeg("agent-bridge");
  const toAgent = newLeg("bridge-agent");
  const legFrom = (side: Side) => (side === "client" ? fromClient : fromAgent);
  const legTo = (side: Side) => (side === "client" ? toClient : toAgent);

  const knownRounds = new WeakMap<SplicedFrame, KnownRound>();

  let millisecond = -1;
  /** Wall and monotonic time of that millisecond, as members up to the point; as text and as bytes. */
  let clock = "";
  let clockBytes = Buffer.alloc(0);

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
  function tellLoss(): void {
    const loss = writer.takeLoss();
    if (loss === undefined) return;
    dropped += loss.records;
    append("dropped", elapsed(), members({ ...loss }), undefined);
  }

  /** The number of the next record. */
  function next(): number {
    tellLoss();
    return ++sequence;
  }

  /** Records anything but a frame; `rest` are its own members, each after a comma. */
  function append(type: string, now: number, rest: string, due: number | undefined): void {
    const seq = next();
    const thousandths = String(setClock(now)).padStart(3, "0");
    const caused = due === undefined ? "" : `,"cause":${due}`;
    const line = `{"type":"${type}","seq":${seq}${clock}${thousandths}${caused}${rest}}`;
    if (!writer.begin(Buffer.byteLength(line))) return;
    record.text(line);
    writer.commit();
  }

  /** The leg whose requests are answered on this one. */
  function answeredBy(leg: LegState): LegState {
    if (leg === fromClient) return toClient;
    if (leg === toClient) return fromClient;
    return leg === fromAgent ? toAgent : fromAgent;
  }

  /** Reads a frame, whose record has the number last given. */
  function describe(leg: LegState, value: unknown): Description {
    if (!isObject(value) || value["jsonrpc"] !== "2.0") return INVALID;
    const { method, params } = value;
    if (typeof method === "string") {
      const given = isObject(params) ? params["sessionId"] : undefined;
      const session = typeof given === "string" ? given : undefined;
      if (!("id" in value)) return { kind: "notification", method, session, request: undefined };
      leg.asked.set(value["id"], { seq: sequence, method, session });
      return { kind: "request", method, session, request: undefined };
    }
    const isResult = "result" in value;
    if (!isResult && !("error" in value)) return INVALID;
    const request = takeAsked(answeredBy(leg).asked, value["id"]);
    const named = isObject(value["result"]) ? value["result"]["sessionId"] : undefined;
    return {
      kind: isResult ? "result" : "error",
      method: request?.method,
      session: request?.session ?? (typeof named === "string" ? named : undefined),
      request: request?.seq,
    };
  }

  /**
   * Records a frame.
   *
   * @param line the frame as it was on the wire
   * @param before what became of the frame when it was recorded on another leg
   * @returns its text without secrets; undefined when it had none
   */
  function frame(
    leg: LegState,
    value: unknown,
    line: string | Uint8Array,
    now: number,
    due: number | undefined,
    before?: { redacted: string | undefined },
  ): string | undefined {
    const seq = next();
    described = describe(leg, value);
    subject = subjectOf(leg, described);
    const { method } = described;
    const { about, head, suspect } = subject;
    const thousandths = setClock(now);
    const fields = { seq, clock: clockBytes, thousandths, cause: due, about, bytes: line.length };
    if (before?.redacted !== undefined) return writeRedacted(fields, line, before.redacted);

    if (!writer.begin(MOST_HEAD + about.length + mostBytes(line))) return undefined;
    const bytes = typeof line === "string" ? writeText(head, fields, line) : line;
    if (options.redact && before === undefined && (suspect || !looksHarmless(bytes))) {
      const redacted = redactFrame(value, line, method);
      if (redacted !== undefined) return writeRedacted(fields, line, redacted);
    }
    if (typeof line !== "string") {
      record.bytes(head(fields));
      record.bytes(line);
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
  function chunk(
    leg: LegState,
    { pattern, source, textStart, textEnd }: ChunkLine,
    round: SplicedFrame,
    now: number,
  ): boolean {
    const { before, after } = round;
    const known = knownOf(round, pattern);
    subject = subjectOf(leg, known.described);
    if (options.redact) {
      const isHarmless = known.harmless && !subject.suspect && looksHarmless(source, textStart - 3, textEnd + 3);
      if (!isHarmless) return false;
    }
    described = known.described;
    const length = before.length + textEnd - textStart + after.length;
    const { about, head } = subject;
    const seq = next();
    const thousandths = setClock(now);
    if (!writer.begin(MOST_HEAD + about.length + length)) return true;
    record.bytes(head({ seq, clock: clockBytes, thousandths, cause, about, bytes: length }));
    record.bytes(before);
    record.part(source, textStart, textEnd);
    record.bytes(after);
    record.byte(CLOSE);
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
      };
      knownRounds.set(round, known);
    }
    return known;
  }

  /** Writes a frame whose length in bytes is known only then. Returns its bytes where they stand. */
  function writeText(head: Subject["head"], fields: HeadFields, text: string): Uint8Array {
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
    return record.last(fields.bytes);
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
    return options.redact ? redactValue(value) : JSON.stringify(value);
  }

  function note(event: string, details: JsonObject): void {
    const { what, rule } = noteKind(event);
    const { sessionId, ...others } = details;
    const session = typeof sessionId === "string" ? sessionId : undefined;
    const rest = Object.keys(others).length === 0 ? "" : `,"details":${json(others)}`;
    append("note", elapsed(), members({ what, event, rule, session }) + rest, cause);
  }

  /** Notes what the log does not tell of the frame recorded last, once for each message. */
  function tellMade(to: Side, value: JsonObject, event: Event): void {
    const { kind, method, session } = described;
    const message = method === Method.sessionUpdate ? messageOf(value) : undefined;
    if (message !== undefined && subject?.message === message) return;
    if (subject !== undefined && message !== undefined) subject.message = message;
    const due = causeOf(event, causing);
    const isAsked = () => [...fromClient.asked.values()].some((asked) => asked.method === method);
    const made = madeOf({ to, kind, method, frame: value }, due, isAsked);
    if (made !== undefined) append("note", elapsed(), members({ ...made, session }), sequence);
  }

  /** A record that cannot be made is a loss to the trace, never to the conversation. */
  function attempt(make: () => void): void {
    try {
      make();
    } catch (error) {
      writer.lose(0, error instanceof Error ? error.message : String(error));
    }
  }

  return {
    run,
    path,
    timeOrigin: wallOrigin,
    now: elapsed,
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
      event = told;
      current = undefined;
      cause = undefined;
      attempt(() => {
        switch (told.type) {
          case "frame": {
            const { value, line } = told;
            // A frame without a line stands in for one that could not be written.
            const written = line.length === 0 ? JSON.stringify(value) : line;
            const redacted = frame(legFrom(told.from), value, written, now, source);
            current = { line, value, redacted };
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
      });
      cause = sequence;
    },
    settled() {
      event = undefined;
      cause = undefined;
      current = undefined;
    },
    sent(to, value, text) {
      attempt(() => {
        frame(legTo(to), value, text, elapsed(), cause);
        if (event !== undefined) tellMade(to, value as JsonObject, event);
      });
    },
    spliced(to, line, round) {
      attempt(() => {
        const now = elapsed();
        const leg = legTo(to);
        const isRecorded = chunk(leg, line, round, now);
        if (isRecorded && subject?.message === knownOf(round, line.pattern).message) return;
        const text = frameText(line, round);
        const value = JSON.parse(text);
        if (!isRecorded) frame(leg, value, text, now, cause);
        if (event !== undefined) tellMade(to, value, event);
      });
    },
    forwarded(to, line) {
      attempt(() => {
        const now = elapsed();
        const leg = legTo(to);
        const known = line === current?.line ? current : undefined;
        const value = known === undefined ? parsed(line) : known.value;
        if (value === undefined) noFrame(leg, line, now);
        else frame(leg, value, line, now, cause, known);
      });
    },
    untidy(line) {
      attempt(() => noFrame(fromAgent, line, elapsed()));
      return sequence;
    },
    stderr(text) {
      attempt(() => append("stderr", elapsed(), members({ text: secretless(text) }), undefined));
    },
    listening(log) {
      return loggerOf((level) => (event, details = {}) => {
        log[level](event, details);
        // Noise is recorded as the bytes it was.
        if (event !== "agent-noise") attempt(() => note(event, details));
      });
    },
    end(status) {
      tellLoss();
      const records = sequence + 1 - dropped;
      append("end", elapsed(), members({ status, records, dropped }), undefined);
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

const INVALID: Description = { kind: "invalid", method: undefined, session: undefined, request: undefined };

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

/** The request an answer is to: also where a number comes back as its text (docs/mapping.md §0, I4). */
function takeAsked(open: Map<unknown, Asked>, id: unknown): Asked | undefined {
  const key = !open.has(id) && typeof id === "string" && open.has(Number(id)) ? Number(id) : id;
  const request = open.get(key);
  open.delete(key);
  return request;
}

/** The members that are defined, as JSON text with a comma before each. */
function members(object: JsonObject): string {
  let text = "";
  for (const [key, value] of Object.entries(object))
    if (value !== undefined) text += `,${JSON.stringify(key)}:${JSON.stringify(value)}`;
  return text;
}

function newLeg(name: Leg): LegState {
  return { name, asked: new Map(), notified: new Map() };
}

/** What a record says of its frame; in a stream always the same. */
function subjectOf(leg: LegState, { kind, method, session, request }: Description): Subject {
  const last = kind === "notification" ? leg.notified.get(session) : undefined;
  if (last?.method === method && last !== undefined) return last;
  const about = Buffer.from(members({ leg: leg.name, kind, method, session, request }));
  const subject = { method, suspect: holdsSecrets(method), about, head: createHeads() };
  if (kind !== "notification") return subject;
  if (leg.notified.size >= SESSIONS_REMEMBERED) leg.notified.clear();
  leg.notified.set(session, subject);
  return subject;
}

function parsed(line: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(line).toString());
  } catch {
    return undefined;
  }
}

/** The versions of this program and of the SDK whose schemas it holds. */
export function versions(): { acpShift: string; sdk: string } {
  const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return { acpShift: manifest.version, sdk: manifest.dependencies["@agentclientprotocol/sdk"] };
}
