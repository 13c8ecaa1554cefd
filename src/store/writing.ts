import { cutLine, headerLine, type Line, type StoreRecord } from "./records.ts";

/** A session this process appends to, and what it has to know of it for that. */
export interface Writing {
  readonly sessionId: string;
  readonly path: string;
  /** Lines that are not written yet. */
  waiting: Line[];
  /** True while a write is queued that will take what waits. */
  queued: boolean;
  /** True once this process has written to the file, or tried to. */
  begun: boolean;
  /** True when lines were lost, so that what has to be known of the session must be written again. */
  due: boolean;
  /** The last record of its place, and of its title. */
  session: Line | undefined;
  info: Line | undefined;
  /** True when updates are missing in the transcript. */
  cut: boolean;
  /** True when the transcript takes no more. */
  full: boolean;
}

export function createWriting(sessionId: string, path: string): Writing {
  return {
    sessionId,
    path,
    waiting: [],
    queued: false,
    begun: false,
    due: false,
    session: undefined,
    info: undefined,
    cut: false,
    full: false,
  };
}

/** Remembers a record that would have to be written again if the file were lost. */
export function remember(writing: Writing, record: StoreRecord, line: Line): void {
  if (record.type === "session") writing.session = line;
  if (record.type === "info" && record.title !== undefined) writing.info = line;
}

/** Notes that records of these types will never be in the file. */
export function lose(writing: Writing, types: readonly string[]): void {
  writing.due = true;
  if (types.includes("update")) writing.cut = true;
}

/** What a batch is composed for. */
export interface Batch {
  agent: string;
  lines: readonly Line[];
  /** The size of the file it is appended to, in bytes. */
  size: number;
  /** Whether lines were lost before it. */
  due: boolean;
  /** How large the file may be for the transcript to go on, in bytes. */
  transcriptLimit: number;
  /** The time, ISO 8601. */
  at: string;
}

/**
 * The bytes to append: the lines, as far as the transcript's limit allows, and before them what the file must say first:
 * whose it is when this process begins with it, and what is known of the session when some of that was lost or another
 * process deleted the file.
 */
export function compose(writing: Writing, batch: Batch): Buffer {
  const deleted = writing.begun && batch.size === 0;
  const anew = deleted || batch.due;
  if (deleted) writing.cut = true;
  const lines: Line[] = [];
  if (anew || !writing.begun) lines.push(headerLine(batch.agent, writing.sessionId));
  if (anew) {
    if (writing.session !== undefined) lines.push(writing.session);
    if (writing.info !== undefined) lines.push(writing.info);
    if (writing.cut) lines.push(cutLine(batch.at));
  }
  let end = batch.size + bytesOf(lines);
  const add = (line: Line) => {
    lines.push(line);
    end += line.bytes.length;
  };
  for (const line of batch.lines) {
    if (line.type === "update") {
      if (writing.full) continue;
      writing.full = end + line.bytes.length > batch.transcriptLimit;
      if (writing.full) writing.cut = true;
      add(writing.full ? cutLine(batch.at) : line);
    } else if (!anew || (line.type !== "session" && line.type !== "info")) {
      add(line);
    }
  }
  return Buffer.concat(lines.map(({ bytes }) => bytes));
}

export function bytesOf(lines: readonly Line[]): number {
  return lines.reduce((sum, { bytes }) => sum + bytes.length, 0);
}
