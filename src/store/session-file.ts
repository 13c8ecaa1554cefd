import { createReadStream } from "node:fs";
import { chmod, type FileHandle, mkdir, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { isObject, type JsonObject } from "../protocol/json.ts";
import { isMessageKind, type MessageKind, parseLine, peekLine } from "./records.ts";
import { createTranscript } from "./transcript.ts";

const NEWLINE = 0x0a;
const LINE_BREAK = Buffer.of(NEWLINE);
/** The permissions of everybody but the owner. */
const OTHERS = 0o077;

/** How often the same lines are written to a file that is being deleted; after that they are gone with it. */
const ATTEMPTS = 3;

/** What a session's file says of it without its contents. */
export interface StoredSessionInfo {
  sessionId: string;
  cwd: string;
  additionalDirectories?: unknown;
  title?: string;
  /** When something was last kept of it, ISO 8601. */
  updatedAt: string;
}

/** Everything a session's file says. */
export interface StoredSession extends StoredSessionInfo {
  messages: { kind: MessageKind; id: string; digest: string }[];
  /** Its v2 session updates, folded. */
  transcript: JsonObject[];
  /** False when updates are known to be missing. */
  transcriptComplete: boolean;
}

/**
 * Appends lines to a session's file with one write, creating the file (0600) and its directory (0700) when they are
 * not there, and closing a file that others may read. After a torn line a line break comes first.
 *
 * @param lines the bytes to append to a file of the given size, 0 for a new one. Asked again when another process
 *   deleted the file meanwhile, so that the bytes get into one that is there
 * @throws Error, the system's where it has one, when they cannot be written to their end
 */
export async function appendLines(path: string, lines: (size: number) => Buffer): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const file = await openToAppend(path);
    try {
      const stats = await file.stat();
      // A device's mode is not ours to change.
      if (stats.isFile() && stats.mode & OTHERS) await file.chmod(0o600);
      const bytes = lines(stats.size);
      const batch = (await isTorn(file, stats.size)) ? Buffer.concat([LINE_BREAK, bytes]) : bytes;
      const { bytesWritten } = await file.write(batch);
      if (bytesWritten < batch.length)
        throw Object.assign(new Error("no space for more than a part"), { code: "ENOSPC" });
      if (await isStillAt(path, stats.ino)) return;
    } finally {
      await file.close();
    }
  }
}

async function openToAppend(path: string): Promise<FileHandle> {
  try {
    return await open(path, "a+", 0o600);
  } catch (error) {
    if (!isMissing(error)) throw error;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return await open(path, "a+", 0o600);
  }
}

async function isTorn(file: FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return !buffer.equals(LINE_BREAK);
}

async function isStillAt(path: string, inode: number): Promise<boolean> {
  try {
    return (await stat(path)).ino === inode;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Closes a directory of ours to others. */
export async function closeDirectory(path: string): Promise<void> {
  const { mode } = await stat(path);
  if (mode & OTHERS) await chmod(path, 0o700);
}

/** True for the system's "no such file or directory". */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

/**
 * Reads a session's file as a stream. Lines that are torn or not ours are skipped.
 *
 * @returns undefined when there is no such file, or it is not of that agent or does not say where the session works
 * @throws the system's error when it cannot be read
 */
export async function readSession(path: string, agent: string): Promise<StoredSession | undefined> {
  const info = createInfo(agent);
  const messages = new Map<string, StoredSession["messages"][number]>();
  const transcript = createTranscript();
  let transcriptComplete = true;
  const found = await forEachLine(path, (bytes) => {
    const line = parseLine(bytes);
    if (line === undefined) return;
    info.add(line);
    const { type, kind, id, digest, update } = line;
    if (type === "message" && isMessageKind(kind) && typeof id === "string" && typeof digest === "string")
      messages.set(`${kind} ${id}`, { kind, id, digest });
    if (type === "update" && isObject(update)) transcript.add(update);
    if (type === "transcript-cut") transcriptComplete = false;
  });
  const session = info.get();
  if (!found || session === undefined) return undefined;
  return { ...session, messages: [...messages.values()], transcript: transcript.updates(), transcriptComplete };
}

/** As {@link readSession}, for the little that a list of sessions needs. */
export async function readSessionInfo(path: string, agent: string): Promise<StoredSessionInfo | undefined> {
  const info = createInfo(agent);
  const found = await forEachLine(path, (bytes) => {
    const start = peekLine(bytes);
    if (start?.type === "update" || start?.type === "message") return info.touch(start.at);
    const line = parseLine(bytes);
    if (line !== undefined) info.add(line);
  });
  return found ? info.get() : undefined;
}

function createInfo(agent: string) {
  let sessionId: string | undefined;
  let place: { cwd: string; additionalDirectories?: unknown } | undefined;
  let title: string | undefined;
  let updatedAt = "";
  return {
    touch(at: string) {
      updatedAt = at;
    },
    add(line: JsonObject) {
      const { type, at, cwd, additionalDirectories } = line;
      if (typeof at === "string") updatedAt = at;
      if (line["v"] === 1 && line["agent"] === agent && typeof line["sessionId"] === "string")
        sessionId = line["sessionId"];
      if (type === "session" && typeof cwd === "string")
        place = { cwd, ...(additionalDirectories !== undefined && { additionalDirectories }) };
      if (type === "info" && typeof line["title"] === "string") title = line["title"];
      if (type === "info" && line["title"] === null) title = undefined;
    },
    get(): StoredSessionInfo | undefined {
      if (sessionId === undefined || place === undefined) return undefined;
      return { sessionId, ...place, ...(title !== undefined && { title }), updatedAt };
    },
  };
}

/** Hands out a file's lines without their line breaks, the last one also when it has none. False for no such file. */
async function forEachLine(path: string, onLine: (line: Buffer) => void): Promise<boolean> {
  let begun: Buffer[] = [];
  try {
    for await (const part of createReadStream(path)) {
      const chunk: Buffer = part;
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        const rest = chunk.subarray(start, end);
        onLine(begun.length === 0 ? rest : Buffer.concat([...begun, rest]));
        begun = [];
        start = end + 1;
      }
      if (start < chunk.length) begun.push(chunk.subarray(start));
    }
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
  if (begun.length > 0) onLine(Buffer.concat(begun));
  return true;
}
