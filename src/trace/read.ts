/** Reads what the recorder wrote (docs/trace.md): one run, from a file, its rotated parts, or standard input. */
import { statSync } from "node:fs";
import { type FileHandle, open, readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { UsageError } from "../config/usage-error.ts";
import { isObject, type JsonObject } from "../protocol/json.ts";
import { existingParts, partPath } from "./files.ts";
import { type Header, LEGS, type TraceRecord } from "./format.ts";

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
  /** Set to go on as the last file grows, until the run's end is read or the signal comes. */
  follow?: AbortSignal;
}

/** How often a file that is followed is looked at, in ms. */
const LOOK_EVERY = 100;

const NEITHER =
  "acp-shift --trace FILE -- <command> records one, and acp-shift trace import reads those of other tools";

/**
 * The records of one run in order, beginning with its header; a run in several parts has a header before each.
 * @param files a trace, whose later parts beside it are read as well; or parts in any order; or `-` for standard input
 * @throws UsageError when a file cannot be opened, is no trace, or belongs to another run than the first
 */
export async function* readTrace(files: readonly string[], options: ReadOptions): AsyncGenerator<TraceRecord> {
  const opened: Opened[] = [];
  const [only, ...others] = files;
  const base = others.length === 0 && only !== undefined && only !== "-" ? only : undefined;
  try {
    for (const file of files) opened.push(await openTrace(file, options));
    for (const file of base === undefined ? [] : existingParts(base)) opened.push(await openTrace(file, options));
    opened.sort((one, other) => one.header.part - other.header.part);
    checkParts(opened);
    for (let index = 0; index < opened.length; index++) {
      const part = opened[index];
      if (part === undefined) break;
      const isLast = index === opened.length - 1;
      const next = base === undefined ? undefined : partPath(base, part.header.part + 1);
      let last: TraceRecord | undefined;
      for await (last of part.records(isLast ? options.follow : undefined, next)) yield last;
      // A part that began while the one before it was followed.
      if (isLast && options.follow?.aborted === false && last?.type !== "end" && next !== undefined && hasBegun(next))
        opened.push(await openTrace(next, options));
    }
  } finally {
    for (const { close } of opened) await close();
  }
}

/** True when something is written to the file: a part's header comes first, and at once. */
function hasBegun(file: string): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

interface Opened {
  file: string;
  header: Header;
  /** All records, the header among them; when they are followed, until they end or the next part has begun. */
  records(follow: AbortSignal | undefined, next: string | undefined): AsyncGenerator<TraceRecord>;
  close(): Promise<void>;
}

async function openTrace(file: string, { report }: ReadOptions): Promise<Opened> {
  const handle = file === "-" ? undefined : await openFile(file);
  const source = handle === undefined ? process.stdin[Symbol.asyncIterator]() : chunksOf(handle);
  const lines = createLines(source);
  const name = file === "-" ? "standard input" : file;
  let first: Line | undefined;
  try {
    first = await lines.next();
  } catch (error) {
    await handle?.close();
    throw new UsageError(`${name}: cannot be read (${messageOf(error)})`);
  }
  const header = headerOf(first?.text, name);
  if (first?.whole === false) throw new UsageError(`${name} ends with its header: nothing was recorded`);
  return {
    file: name,
    header,
    async *records(follow, next) {
      yield header;
      let number = 1;
      let isOver = false;
      for (;;) {
        const line = await lines.next();
        if (line === undefined || (!line.whole && follow !== undefined)) {
          if (follow === undefined || follow.aborted || handle === undefined || isOver) return;
          // What was written before the next part began is read first.
          isOver = next !== undefined && hasBegun(next);
          if (!isOver) await sleep(LOOK_EVERY, undefined, { signal: follow }).catch(() => undefined);
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
        else if (record !== undefined) yield record;
        if (!line.whole || (record instanceof Object && record.type === "end" && follow !== undefined)) return;
      }
    },
    // Who does not read to the end need not wait for it.
    close: async () => (handle === undefined ? void process.stdin.destroy() : handle.close()),
  };
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
  /** False for what stands after the last line break. */
  whole: boolean;
}

/** Lines of a byte stream; after its end it can go on with what came later. */
function createLines(source: AsyncIterator<Uint8Array>) {
  let chunks = source;
  let pieces: Uint8Array[] = [];
  let rest: Uint8Array = new Uint8Array();
  const text = () => {
    const line = Buffer.concat(pieces).toString();
    pieces = [];
    return line.endsWith("\r") ? line.slice(0, -1) : line;
  };
  return {
    /** The next line; at the end of the stream what is left, which is told again when the stream went on. */
    async next(): Promise<Line | undefined> {
      for (;;) {
        const end = rest.indexOf(0x0a);
        if (end >= 0) {
          pieces.push(rest.subarray(0, end));
          rest = rest.subarray(end + 1);
          return { text: text(), whole: true };
        }
        if (rest.length > 0) pieces.push(rest);
        rest = new Uint8Array();
        const { done, value } = await chunks.next();
        if (done) {
          if (pieces.length === 0) return undefined;
          const kept = [...pieces];
          const line = { text: text(), whole: false };
          pieces = kept;
          return line;
        }
        rest = value;
      }
    },
    resume(more: AsyncIterator<Uint8Array>): void {
      chunks = more;
    },
  };
}

/** @throws UsageError when the first line is no header this version can read */
function headerOf(line: string | undefined, file: string): Header {
  if (line === undefined) throw new UsageError(`${file} is empty: nothing was recorded`);
  const value = parseJson(line);
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
