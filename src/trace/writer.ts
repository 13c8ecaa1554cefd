import { type Batch, createBlocks, type Draft } from "./blocks.ts";
import type { Destination, LaterParts } from "./files.ts";

export interface TraceWriter {
  /**
   * Begins a record of at most so many bytes, in place of one that was not committed. False when there is no room for it: it
   * is counted as dropped. Never waits.
   */
  begin(bytes: number): boolean;
  /** What the record just begun is written to. */
  readonly record: Draft;
  /** Ends the record, with its line break. */
  commit(): void;
  /** There will be records to write with the next ones, when `onExpected` is called. */
  expect(): void;
  /** Whether much waits for a write to be over, which is only heard of when the event loop turns. */
  readonly isBehind: boolean;
  /** What was dropped since this was last asked; undefined when nothing was, or when there still is no room. */
  takeLoss(): Loss | undefined;
  /** Counts a record that could not be made. */
  lose(bytes: number, reason: string): void;
  /** Writes what is left, as far as that is possible within `ms`, and closes the file. */
  end(ms: number): Promise<void>;
}

export interface Loss {
  records: number;
  bytes: number;
  reason: string;
}

export interface WriterOptions {
  destination: Destination;
  /** How large all files together may grow, in bytes. */
  limit: number;
  /** How much may wait to be written before records are dropped, in bytes; a record begun below it is taken whole. */
  bufferLimit?: number;
  /** The first line of a part. */
  header(part: number): string;
  /** What was expected is to be recorded now. */
  onExpected(): void;
  /** Writing fails; called once each time that begins. */
  onFault(error: Error): void;
}

/** A trace is kept in so many files: the first, which holds how it began, and the newest others. */
export const PARTS_KEPT = 4;

const BUFFER_LIMIT = 64 * 1024 ** 2;
const LINE_FEED = 0x0a;
/** Small enough to stay in a fast cache until it is written. */
const BLOCK = 128 * 1024;
/** In a flood a write waits for so many batches, for each one wakes a thread; and takes no more than so many. */
const FEWEST_AT_ONCE = 4;
const MOST_AT_ONCE = 64;
/** So many batches that wait are many: two writes are good for them. */
const MANY_WAITING = 8;
/**
 * How long records wait for others to be written with them, in ms: where messages come one at a time, writes are most of what a
 * trace costs.
 */
const GATHER = 250;
/** How long after a failure it is tried again, in ms: a pipe that is full, and anything else. */
const RETRY_FULL_PIPE = 50;
const RETRY = 1000;

/**
 * Writes the lines of a trace without ever holding up who writes them: gathered into batches, one write at a time, into
 * files of a quarter of the limit. A write that fails is tried again until it succeeds; meanwhile lines are held up to
 * `bufferLimit` and then dropped and counted.
 */
export function createTraceWriter(options: WriterOptions): TraceWriter {
  const { destination, bufferLimit = BUFFER_LIMIT } = options;
  const partLimit = Math.floor(options.limit / PARTS_KEPT);
  const blocks = createBlocks(Math.min(BLOCK, Math.floor(partLimit / 4)));
  const batches: Batch[] = [];
  /** Bytes of the first batch that are written, and of all batches. */
  let offset = 0;
  let waiting = 0;

  let file = destination.first;
  let part = 1;
  /** Bytes in the current file, and of them its header; 0 until that is on the way. */
  let size = 0;
  let headed = 0;

  let busy = false;
  let failing: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let ending: (() => void) | undefined;
  let closed = false;
  let lost: Loss | undefined;
  let expected = false;

  const isFull = () => waiting + blocks.gathered >= bufferLimit;

  function enqueue(batch: Batch | undefined): void {
    if (batch === undefined) return;
    waiting += batch.bytes.length;
    batches.push(batch);
  }

  function commit(): void {
    blocks.byte(LINE_FEED);
    blocks.keep();
    if (batches.length >= FEWEST_AT_ONCE) pump();
    else gather();
  }

  function gather(): void {
    if (timer === undefined && !busy) wake(GATHER);
  }

  function wake(ms: number): void {
    timer = setTimeout(() => {
      expected = false;
      options.onExpected();
      timer = undefined;
      pump();
    }, ms);
    timer.unref();
  }

  /** Writes on, unless a write is under way or a failed one has to wait. */
  function pump(): void {
    if (busy || closed || (failing !== undefined && timer !== undefined)) return;
    clearTimeout(timer);
    timer = undefined;
    if (batches.length < FEWEST_AT_ONCE) enqueue(blocks.take());
    const [first] = batches;
    if (first === undefined) return finish();
    busy = true;
    const { later } = destination;
    if (later !== undefined && size > headed && offset === 0 && size + first.bytes.length > partLimit)
      return startPart(later);
    if (headed === 0) {
      const header = { bytes: Buffer.from(`${options.header(part)}\n`) };
      headed = header.bytes.length;
      waiting += headed;
      batches.unshift(header);
    }
    write();
  }

  /** Writes the first batches, as many as one write is good for and have room in the part; the first in any case. */
  function write(): void {
    const pieces: Uint8Array[] = [];
    /** What the file will hold. */
    let end = size - offset;
    for (const { bytes } of batches.slice(0, MOST_AT_ONCE)) {
      if (pieces.length > 0 && end > headed && end + bytes.length > partLimit) break;
      pieces.push(pieces.length === 0 ? bytes.subarray(offset) : bytes);
      end += bytes.length;
    }
    file.write(pieces, (error, written) => {
      busy = false;
      if (error) return fault(error);
      failing = undefined;
      offset += written;
      size += written;
      for (let [first] = batches; first !== undefined && offset >= first.bytes.length; [first] = batches) {
        offset -= first.bytes.length;
        waiting -= first.bytes.length;
        batches.shift();
        if (first.block !== undefined) blocks.reuse(first.block);
      }
      if (offset > 0 || batches.length >= FEWEST_AT_ONCE || ending !== undefined) pump();
      else if (expected || batches.length > 0 || blocks.gathered > 0) wake(GATHER);
    });
  }

  function startPart(later: LaterParts): void {
    later.open(part + 1, (error, opened) => {
      busy = false;
      if (error || opened === undefined) return fault(error ?? new Error("no file"));
      file.close(() => {});
      file = opened;
      part++;
      if (part > PARTS_KEPT) later.remove(part - PARTS_KEPT + 1);
      size = 0;
      headed = 0;
      pump();
    });
  }

  function fault(error: NodeJS.ErrnoException): void {
    const pipeIsFull = error.code === "EAGAIN";
    if (ending !== undefined && !pipeIsFull) return finish();
    if (failing === undefined && !pipeIsFull) options.onFault(error);
    failing = error.message;
    clearTimeout(timer);
    wake(pipeIsFull ? RETRY_FULL_PIPE : RETRY);
  }

  function finish(): void {
    if (ending === undefined || closed) return;
    closed = true;
    clearTimeout(timer);
    if (busy) ending();
    else file.close(ending);
  }

  function lose(bytes: number, reason: string): void {
    lost = { records: (lost?.records ?? 0) + 1, bytes: (lost?.bytes ?? 0) + bytes, reason };
  }

  return {
    begin(bytes) {
      // What happens after the end of the run is no part of it.
      if (ending !== undefined) return false;
      if (isFull()) {
        lose(bytes, failing ?? "the disk is too slow");
        return false;
      }
      enqueue(blocks.reserve(bytes + 1));
      return true;
    },
    record: blocks,
    commit,
    expect() {
      expected = true;
      gather();
    },
    get isBehind() {
      return busy && batches.length >= MANY_WAITING;
    },
    takeLoss() {
      if (lost === undefined || isFull()) return undefined;
      const loss = lost;
      lost = undefined;
      return loss;
    },
    lose,
    end(ms) {
      return new Promise((resolve) => {
        const deadline = setTimeout(finish, ms);
        ending = () => {
          clearTimeout(deadline);
          resolve();
        };
        clearTimeout(timer);
        timer = undefined;
        pump();
      });
    },
  };
}
