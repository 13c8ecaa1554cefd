/** Reads what the recorder wrote (docs/trace.md): one run, from a file, its rotated parts, or standard input. */
import { existsSync, statSync } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { UsageError } from "../config/usage-error.ts";
import { isObject, type JsonObject } from "../protocol/json.ts";
import { existingParts, firstPath, type PartFile } from "./files.ts";
import { type DroppedRecord, type Header, LEGS, type Stamp, type TraceRecord } from "./format.ts";

/** Something in a file that could not be read; the rest could. */
export interface Problem {
  file: string;
  /** Counted from 1. */
  line: number;
  text: string;
}

export interface ReadOptions {
  /** Told of each line that could not be read. */
  report: (problem: Problem) => void;
  /** Set to go on as the last file grows, and into the parts after it, until the run's end is read or the signal comes. */
  follow?: AbortSignal;
}

/** A record, and where its line begins in its file, in bytes. */
export interface Placed {
  record: TraceRecord;
  file: string;
  at: number;
}

/** How often a file that is followed is looked at, in ms. */
const LOOK_EVERY = 100;

const NEITHER =
  "acp-shift --trace FILE -- <command> records one, and acp-shift trace import reads those of other tools";

/** A file in which there is no record yet. */
export class NothingRecorded extends UsageError {}

/**
 * The records of one run in order, beginning with its header; a run in several parts has a header before each. Where numbers are
 * missing that no `dropped` record speaks of (a part was removed, a line cannot be read), one is put in their place.
 * @param files a trace, whose later parts beside it are read as well; or parts in any order; or `-` for standard input
 * @throws UsageError when a file cannot be opened, is no trace, or belongs to another run than the first
 */
export async function* readTrace(files: readonly string[], options: ReadOptions): AsyncGenerator<TraceRecord> {
  for await (const { record } of readPlaced(files, options)) yield record;
}

/** As `readTrace`, with the place of each record. */
export async function* readPlaced(files: readonly string[], options: ReadOptions): AsyncGenerator<Placed> {
  const { follow } = options;
  const opened: Opened[] = [];
  let seq = 0;
  try {
    for (const file of files) opened.push(...(await openNamed(file, options)));
    const only = files.length === 1 && files[0] !== "-" ? opened[0] : undefined;
    const base = only && firstPath(only.file, only.header.part);
    const laterThan = (part: number) =>
      base === undefined ? [] : existingParts(base).filter((file) => file.part > part);
    if (only?.header.part === 1) opened.push(...(await openBeside(laterThan(1), options)));
    opened.sort((one, other) => one.header.part - other.header.part);
    checkParts(opened);
    for (let part = opened[0]; part !== undefined; part = opened[0]) {
      const { header } = part;
      const signal = opened.length === 1 ? follow : undefined;
      const isOver = () => laterThan(header.part).some(({ path }) => hasBegun(path));
      let last: TraceRecord | undefined;
      for await (const placed of part.records(signal && { signal, isOver })) {
        last = placed.record;
        if (last.type !== "header") {
          const missing = last.seq - seq - 1 - (last.type === "dropped" ? last.records : 0);
          if (missing > 0) yield { ...placed, record: missingBefore(last, missing) };
          seq = last.seq;
        }
        yield placed;
      }
      // Of the parts that began meanwhile the oldest may be gone again.
      while (base !== undefined && signal?.aborted === false && last?.type !== "end" && opened.length === 1) {
        opened.push(...(await openBeside(laterThan(header.part), options)));
        if (opened.length === 1) await pause(signal);
      }
      checkParts(opened);
      await opened.shift()?.close();
    }
  } finally {
    for (const { close } of opened) await close();
  }
}

function missingBefore({ seq, time, mono }: Stamp, records: number): DroppedRecord {
  return { type: "dropped", seq: seq - 1, time, mono, records, bytes: 0, reason: "they are not in what was read" };
}

/** A file the user named: one that is followed may have nothing in it yet. */
async function openNamed(file: string, options: ReadOptions): Promise<Opened[]> {
  for (;;) {
    try {
      return [await openTrace(file, options)];
    } catch (error) {
      if (options.follow === undefined || !(error instanceof NothingRecorded)) throw error;
    }
    if (options.follow.aborted) return [];
    await pause(options.follow);
  }
}

/** Parts beside it: but for those that are gone by now, or only just begun. */
async function openBeside(parts: readonly PartFile[], options: ReadOptions): Promise<Opened[]> {
  const opened: Opened[] = [];
  for (const { path } of parts) {
    try {
      opened.push(await openTrace(path, options));
    } catch (error) {
      if (!(error instanceof NothingRecorded) && existsSync(path)) throw error;
    }
  }
  return opened;
}

async function pause(follow: AbortSignal): Promise<void> {
  await sleep(LOOK_EVERY, undefined, { signal: follow }).catch(() => undefined);
}

interface Opened {
  file: string;
  header: Header;
  /** All records, the header among them; of a file that is followed until the run ends, or it is over and read. */
  records(follow?: { signal: AbortSignal; isOver(): boolean }): AsyncGenerator<Placed>;
  close(): Promise<void>;
}

async function openTrace(file: string, { report }: ReadOptions): Promise<Opened> {
  const handle = file === "-" ? undefined : await openFile(file);
  const source = handle === undefined ? process.stdin[Symbol.asyncIterator]() : chunksOf(handle);
  const lines = createLines(source);
  const name = file === "-" ? "standard input" : file;
  // Who does not read to the end need not wait for it.
  const close = async () => (handle === undefined ? void process.stdin.destroy() : handle.close());
  let header: Header;
  try {
    header = headerOf(await firstOf(lines, name), name);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    file: name,
    header,
    async *records(follow) {
      yield { record: header, file, at: 0 };
      let number = 1;
      let isLast = false;
      for (;;) {
        const line = await lines.next();
        if (line === undefined || (!line.whole && follow !== undefined)) {
          if (follow === undefined || follow.signal.aborted || handle === undefined || isLast) return;
          // What was written before the next part began is read first.
          isLast = follow.isOver();
          if (!isLast) await pause(follow.signal);
          lines.resume(chunksOf(handle));
          continue;
        }
        number++;
        const record = line.text === "" ? undefined : recordOf(line.text);
        if (typeof record === "string")
          report({
            file: name,
            line: number,
            text: line.whole ? record : "cut off: the run was killed, or still writes",
          });
        else if (record !== undefined) yield { record, file, at: line.at };
        if (!line.whole || (record instanceof Object && record.type === "end" && follow !== undefined)) return;
      }
    },
    close,
  };
}

/** @throws UsageError when it cannot be read */
async function firstOf(lines: ReturnType<typeof createLines>, name: string): Promise<Line | undefined> {
  try {
    return await lines.next();
  } catch (error) {
    throw new UsageError(`${name}: cannot be read (${messageOf(error)})`);
  }
}

/** True when something is written to the file: a part's header comes first, and at once. */
function hasBegun(file: string): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

function checkParts(opened: readonly Opened[]): void {
  const [first] = opened;
  for (const [index, { file, header }] of opened.entries()) {
    if (header.run !== first?.header.run)
      throw new UsageError(`${file} is of another run than ${first?.file}: look at one run at a time`);
    if (index > 0 && header.part === opened[index - 1]?.header.part)
      throw new UsageError(`${file} and ${opened[index - 1]?.file} are the same part of the run`);
  }
}

async function openFile(file: string): Promise<FileHandle> {
  let handle: FileHandle;
  try {
    handle = await open(file, "r");
  } catch (error) {
    const why = isObject(error) && error["code"] === "ENOENT" ? "no such file" : messageOf(error);
    throw new UsageError(`${file}: ${why}`);
  }
  if ((await handle.stat()).isDirectory()) {
    await handle.close();
    const names = (await readdir(file)).filter((name) => !name.startsWith(".")).sort();
    const some = names.slice(-3).join(", ");
    throw new UsageError(`${file} is a directory; name a file in it${some === "" ? "" : `, such as ${some}`}`);
  }
  return handle;
}

/** From the handle's position to the present end of the file. */
async function* chunksOf(handle: FileHandle): AsyncGenerator<Uint8Array> {
  for (;;) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(256 * 1024));
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

interface Line {
  text: string;
  /** Where it begins, in bytes. */
  at: number;
  /** False for what stands after the last line break. */
  whole: boolean;
}

/** Lines of a byte stream; after its end it can go on with what came later. */
function createLines(source: AsyncIterator<Uint8Array>) {
  let chunks = source;
  let pieces: Uint8Array[] = [];
  let rest: Uint8Array = new Uint8Array();
  let at = 0;
  const lineOf = (whole: boolean): Line => {
    const bytes = Buffer.concat(pieces);
    const text = bytes.toString();
    return { text: text.endsWith("\r") ? text.slice(0, -1) : text, at, whole };
  };
  return {
    /** The next line; at the end of the stream what is left, which is told again when the stream went on. */
    async next(): Promise<Line | undefined> {
      for (;;) {
        const end = rest.indexOf(0x0a);
        if (end >= 0) {
          pieces.push(rest.subarray(0, end));
          rest = rest.subarray(end + 1);
          const line = lineOf(true);
          at += pieces.reduce((sum, { length }) => sum + length, 0) + 1;
          pieces = [];
          return line;
        }
        if (rest.length > 0) pieces.push(rest);
        rest = new Uint8Array();
        const { done, value } = await chunks.next();
        if (done) return pieces.length === 0 ? undefined : lineOf(false);
        rest = value;
      }
    },
    resume(more: AsyncIterator<Uint8Array>): void {
      chunks = more;
    },
  };
}

/** How every header begins. */
const HEADER = '{"type":"header"';

/** @throws UsageError when the first line is no header this version can read */
function headerOf(line: Line | undefined, file: string): Header {
  if (line === undefined) throw new NothingRecorded(`${file} is empty: nothing was recorded`);
  if (!line.whole && line.text.startsWith(HEADER))
    throw new NothingRecorded(`${file} ends with its header: nothing was recorded`);
  const value = parseJson(line.text);
  if (!isObject(value) || value["type"] !== "header" || value["format"] !== "acp-shift-trace")
    throw new UsageError(`${file} is no acp-shift trace: its first line is no header. ${NEITHER}`);
  if (value["version"] !== 1)
    throw new UsageError(
      `${file} is a trace in version ${String(value["version"])} of the format, and this acp-shift reads version 1: use a newer one`,
    );
  const fault = faultOf(value);
  if (fault !== undefined) throw new UsageError(`${file}: its header cannot be read: ${fault}`);
  return value as unknown as Header;
}

/** The record on a line, or what is wrong with it. */
function recordOf(line: string): TraceRecord | string {
  const value = parseJson(line);
  if (!isObject(value)) return "not a JSON object";
  return faultOf(value) ?? (value as unknown as TraceRecord);
}

type Check = (value: unknown) => boolean;
const isText: Check = (value) => typeof value === "string";
const isNumber: Check = (value) => typeof value === "number";
const isRecord: Check = isObject;
const oneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value);
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);

const stamp = { seq: isNumber, time: isText, mono: isNumber, cause: optional(isNumber) };

/** The fields that are relied on, by type of record. */
const FIELDS: Readonly<Record<TraceRecord["type"], Readonly<Record<string, Check>>>> = {
  header: { run: isText, part: isNumber, started: isText, agent: isRecord, redaction: isRecord, bridge: isRecord },
  frame: {
    ...stamp,
    leg: oneOf(...LEGS),
    kind: oneOf("request", "notification", "result", "error", "invalid"),
    method: optional(isText),
    session: optional(isText),
    request: optional(isNumber),
    bytes: isNumber,
    frame: (value) => value !== undefined,
  },
  bytes: { ...stamp, leg: oneOf(...LEGS), bytes: isNumber, text: optional(isText), base64: optional(isText) },
  stderr: { ...stamp, text: isText },
  note: { ...stamp, what: isText, event: isText, session: optional(isText), details: optional(isRecord) },
  event: { ...stamp, event: isText, details: isRecord },
  dropped: { ...stamp, records: isNumber, bytes: isNumber, reason: isText },
  end: { ...stamp, status: isNumber, records: isNumber, dropped: isNumber },
};

function faultOf(value: JsonObject): string | undefined {
  const type = value["type"];
  if (typeof type !== "string" || !Object.hasOwn(FIELDS, type)) return "its type is none of the format's";
  const fields = FIELDS[type as TraceRecord["type"]];
  const bad = Object.keys(fields).find((name) => !fields[name]?.(value[name]));
  return bad === undefined ? undefined : `${type} record whose ${bad} is not as docs/trace.md has it`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
