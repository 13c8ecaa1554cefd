/**
 * The state directory, `--state-dir DIR`: what the bridge remembers of sessions beyond one run (docs/mapping.md §4, §5).
 *
 * **Form.** One append-only file of JSON lines per session, `DIR/<agent>/<session>.jsonl`, each name a readable part and
 * a hash. No database: SQLite is a native build or, as `node:sqlite`, missing in Node 20, and nothing here needs more
 * than appending and reading from start to end. A person can read the files with any tool, and the only damage a kill
 * can do is one torn last line, which is skipped on reading and fenced off by a line break on appending. Nothing is
 * synced to the disk: a kill loses no line that was written, a power cut may lose the last ones.
 *
 * **Several processes.** No lock is needed. A file is only ever appended to or deleted as a whole; each append is a
 * single write of whole lines in append mode, which a local file system does not interleave; and readers do not depend
 * on how the lines of two processes follow each other. (Whoever looks at a file's end in the middle of another's write
 * takes it for torn, which costs an empty line.) Whoever appends looks afterwards whether the file is still there, and
 * if another process deleted it, writes the same lines to a new one, which also says where the session works and that
 * the start of its transcript is missing.
 *
 * **Limit.** When the session files in DIR take more than the limit, the ones longest unused (by modification time) are
 * deleted, whoever's they are, except those this process has open: the sessions it appended to and did not close. This
 * is looked after when the store is opened and whenever this process has appended another eighth of the limit.
 * One session's file takes transcript records only up to a quarter of the limit; then a `transcript-cut` record stands
 * for the rest, while the ledger and the index go on.
 *
 * **Privacy.** Files are 0600, directories 0700; wider ones of ours are tightened. A DIR in which there is anything else
 * keeps its mode, as it may be somebody's home. Nothing is created before there is something to write.
 *
 * **Faults.** No method throws or rejects. What cannot be kept is lost, and `onFault` is told once per cause.
 */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { agentDirectory, isAgentDirectory, isSessionFile, sessionFileName } from "./names.ts";
import { namesIn, prune } from "./prune.ts";
import { recordLine, type StoreRecord } from "./records.ts";
import {
  appendLines,
  closeDirectory,
  readSession,
  readSessionInfo,
  type StoredSession,
  type StoredSessionInfo,
} from "./session-file.ts";
import { bytesOf, compose, createWriting, lose, remember, type Writing } from "./writing.ts";

export interface StoreOptions {
  /** The state directory; it need not be there yet. */
  directory: string;
  /** Whose sessions these are: the same text in every run for the same agent. */
  agent: string;
  /** How much all sessions of all agents may take on disk, in bytes. */
  limitBytes: number;
  now(): Date;
  /** Told once of every cause for which records are lost or cannot be read. */
  onFault(error: Error): void;
}

export interface Store {
  /**
   * Keeps a record. Records of one session keep their order. Returns at once: lines wait in memory, up to a bound, and
   * are written together. The first record of a session in a run should be its `session` record.
   */
  append(sessionId: string, record: StoreRecord): void;
  /** This agent's sessions, the one that changed last first. */
  list(): Promise<StoredSessionInfo[]>;
  /** All that is known of a session, including what this process appended before; undefined when it is not known. */
  read(sessionId: string): Promise<StoredSession | undefined>;
  /** Deletes all that is known of a session. */
  forget(sessionId: string): Promise<void>;
  /** Writes what waits; what is appended later is not kept. */
  close(): Promise<void>;
}

/** How many bytes may wait to be written before records are lost; the last record may exceed it. */
const MAX_WAITING = 16 * 1024 * 1024;

/** Opens the store, which deletes what is over the limit. See the module for what it does and promises. */
export function openStore(options: StoreOptions): Store {
  const { directory, agent, limitBytes } = options;
  const home = agentDirectory(directory, agent);
  const pathOf = (sessionId: string) => join(home, sessionFileName(sessionId));
  const writing = new Map<string, Writing>();
  const reported = new Set<string>();
  let closed = false;
  let prepared = false;
  let waitingBytes = 0;
  let appendedBytes = 0;

  function fault(doing: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    const cause = `${doing} ${error instanceof Error && "code" in error ? error.code : message}`;
    if (reported.has(cause)) return;
    reported.add(cause);
    options.onFault(new Error(`cannot ${doing} in ${directory}: ${message}`, { cause: error }));
  }

  // One thing after the other, so that writes keep their order and a delete comes between the right ones.
  let last = Promise.resolve();
  function enqueue(doing: string, job: () => Promise<void>): Promise<void> {
    last = last.then(job).catch((error) => fault(doing, error));
    return last;
  }

  /** Resolves when everything appended so far has been written, or lost. */
  const settled = () => enqueue("keep sessions", async () => {});

  async function attempt<T>(doing: string, job: () => Promise<T>): Promise<T | undefined> {
    try {
      return await job();
    } catch (error) {
      fault(doing, error);
      return undefined;
    }
  }

  async function write(session: Writing): Promise<void> {
    const { waiting: lines, due } = session;
    session.queued = false;
    if (lines.length === 0) return;
    session.waiting = [];
    session.due = false;
    const at = options.now().toISOString();
    const transcriptLimit = limitBytes / 4;
    try {
      if (!prepared) await prepare();
      let length = 0;
      await appendLines(session.path, (size) => {
        const batch = compose(session, { agent, lines, size, due, transcriptLimit, at });
        length = batch.length;
        return batch;
      });
      appended(length);
    } catch (error) {
      const types = lines.map(({ type }) => type);
      lose(session, types);
      throw error;
    } finally {
      session.begun = true;
      waitingBytes -= bytesOf(lines);
    }
    const isClosed = lines.at(-1)?.type === "closed" && session.waiting.length === 0;
    if (isClosed && writing.get(session.sessionId) === session) writing.delete(session.sessionId);
  }

  function appended(length: number): void {
    appendedBytes += length;
    if (appendedBytes <= limitBytes / 8) return;
    appendedBytes = 0;
    enqueue("delete old sessions", pruneNow);
  }

  async function prepare(): Promise<void> {
    await mkdir(home, { recursive: true, mode: 0o700 });
    await closeDirectory(home);
    // It may belong to somebody else; what is in it is closed all the same.
    if ((await namesIn(directory)).every(isAgentDirectory))
      await attempt("change the permissions", () => closeDirectory(directory));
    prepared = true;
  }

  async function pruneNow(): Promise<void> {
    const open = new Set([...writing.values()].map(({ path }) => path));
    await prune(directory, limitBytes, (path) => open.has(path));
  }

  enqueue("delete old sessions", pruneNow);

  return {
    append(sessionId, record) {
      if (closed) return;
      const session = writing.get(sessionId) ?? createWriting(sessionId, pathOf(sessionId));
      writing.set(sessionId, session);
      if (record.type === "update" && session.full) return;
      try {
        const line = recordLine(record, options.now().toISOString());
        remember(session, record, line);
        if (waitingBytes >= MAX_WAITING) throw new Error("the disk is slower than what comes in");
        waitingBytes += line.bytes.length;
        session.waiting.push(line);
      } catch (error) {
        lose(session, [record.type]);
        fault("keep sessions", error);
        return;
      }
      if (session.queued) return;
      session.queued = true;
      enqueue("keep sessions", () => write(session));
    },

    async list() {
      const sessions: StoredSessionInfo[] = [];
      await settled();
      const names = await attempt("list sessions", () => namesIn(home));
      for (const name of (names ?? []).filter(isSessionFile)) {
        const session = await attempt("read sessions", () => readSessionInfo(join(home, name), agent));
        if (session !== undefined && sessionFileName(session.sessionId) === name) sessions.push(session);
      }
      return sessions.sort((one, other) => other.updatedAt.localeCompare(one.updatedAt));
    },

    async read(sessionId) {
      await settled();
      const session = await attempt("read sessions", () => readSession(pathOf(sessionId), agent));
      if (session?.sessionId !== sessionId) return undefined;
      return writing.get(sessionId)?.cut ? { ...session, transcriptComplete: false } : session;
    },

    forget(sessionId) {
      // What still waits is written first, so that it goes too; what is appended from now on begins a new file.
      writing.delete(sessionId);
      return enqueue("delete a session", () => rm(pathOf(sessionId), { force: true }));
    },

    close() {
      closed = true;
      return settled();
    },
  };
}
