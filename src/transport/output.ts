import type { Writable } from "node:stream";

export interface Output {
  /** Writes one line; the `\n` is added. Lines leave in the order of the calls, strings and bytes alike. */
  write(line: string | Uint8Array): void;
  /** Writes one line of all these bytes, one after another; they must not change any more. */
  join(parts: readonly Uint8Array[]): void;
  /** Writes one line of these bytes, those from `start` to `end` of `source`, and those after them. */
  splice(before: Uint8Array, source: Uint8Array, start: number, end: number, after: Uint8Array): void;
  /** Whether the text of the line written last has just these bytes. */
  wrote(bytes: Uint8Array): boolean;
  /** True from the stream's back-pressure until `onDrain`: whatever feeds this output should pause. */
  readonly full: boolean;
  /** Hands everything written so far to the stream, if that has taken all it was given: in a flood most calls do nothing. */
  offer(): void;
  /**
   * Hands everything written so far to the stream at once, and resolves when the stream has handed it to the operating
   * system, or is broken. Never rejects.
   */
  flush(): Promise<void>;
}

export interface OutputHandlers {
  /** The output is no longer `full`: the stream has taken what filled it, or is broken. */
  onDrain(): void;
  /**
   * The stream failed, or its reader is gone (`EPIPE`). Called once, never from within `write`; what is written from then
   * on is discarded.
   */
  onBroken(error: Error): void;
}

const BATCH_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;
/** A line of more bytes than this is not copied into a block. */
const LARGE = BATCH_BYTES / 4;
/** How many blocks are kept to be used again. */
const SPARE_BLOCKS = 4;

/** Memory that lines are written into, and how many parts of it the stream is still busy with. */
interface Block {
  bytes: Buffer;
  inFlight: number;
}

function newBlock(): Block {
  return { bytes: Buffer.allocUnsafeSlow(BATCH_BYTES), inFlight: 0 };
}

/**
 * An ordered line writer over a stream. What is written within one turn of the event loop leaves in one write, or in
 * several of about 64 KiB; what somebody waits for can be handed over before. Ending the stream is left to its owner: lines written after its end are discarded.
 */
export function createOutput(stream: Writable, handlers: OutputHandlers): Output {
  // Lines are written into blocks of bytes at once: text joined first would have to be made flat and encoded later, which
  // costs more than all of this.
  const spare: Block[] = [];
  let current = newBlock();
  let block = current.bytes;
  /** The end of what the stream has of the block, and of what is in it. */
  let taken = 0;
  let used = 0;
  /** The text written last as a line: where it is. */
  let text = block;
  let textStart = 0;
  let textEnd = 0;
  let scheduled = false;
  let inFlight = 0;
  let full = false;
  let broken = false;
  let flushed: (() => void)[] = [];

  function handOver(): void {
    if (used === taken) return;
    const source = current;
    const batch = block.subarray(taken, used);
    taken = used;
    source.inFlight++;
    give(batch, () => {
      source.inFlight--;
      if (source !== current) reuse(source);
      onTaken();
    });
  }

  /** The block is handed over for good, and another begun. */
  function nextBlock(): void {
    handOver();
    const done = current;
    current = spare.pop() ?? newBlock();
    block = current.bytes;
    taken = 0;
    used = 0;
    reuse(done);
  }

  function reuse(done: Block): void {
    if (done.inFlight === 0 && spare.length < SPARE_BLOCKS) spare.push(done);
  }

  function give(batch: Uint8Array, done: () => void): void {
    if (broken || stream.writableEnded) return;
    inFlight++;
    try {
      if (!stream.write(batch, done)) full = true;
    } catch (error) {
      // A file's stream writes at once and throws when the disk is full.
      process.nextTick(breakDown, error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Makes room for so many bytes and a line break. */
  function reserve(bytes: number): void {
    if (used + bytes >= BATCH_BYTES) nextBlock();
  }

  function endLine(): void {
    block[used++] = LINE_FEED;
    if (scheduled) return;
    scheduled = true;
    process.nextTick(() => {
      scheduled = false;
      handOver();
    });
  }

  function put(bytes: Uint8Array): void {
    block.set(bytes, used);
    used += bytes.length;
  }

  function putPart(source: Uint8Array, start: number, end: number): void {
    // For a few bytes the loop is quicker than a view of them.
    if (end - start > 100) return put(source.subarray(start, end));
    for (let index = start; index < end; index++) block[used++] = source[index] ?? 0;
  }

  function large(...parts: readonly Uint8Array[]): void {
    nextBlock();
    for (const part of parts) if (part.length > 0) give(part, onTaken);
    endLine();
  }

  function onTaken(): void {
    inFlight--;
    if (inFlight === 0) settle();
  }

  function settle(): void {
    for (const resolve of flushed) resolve();
    flushed = [];
  }

  function breakDown(error: Error): void {
    if (broken) return;
    broken = true;
    textEnd = textStart;
    settle();
    drain();
    handlers.onBroken(error);
  }

  function drain(): void {
    if (!full) return;
    full = false;
    handlers.onDrain();
  }

  stream.on("drain", drain);
  stream.on("error", breakDown);
  stream.on("close", () => {
    if (!stream.writableFinished) breakDown(new Error("the stream was closed"));
  });

  return {
    write(line) {
      if (broken) return;
      if (typeof line !== "string") {
        if (line.length > LARGE) return large(line);
        reserve(line.length);
        put(line);
      } else {
        // A character of a string has up to three bytes.
        if (line.length > LARGE / 3) {
          text = Buffer.from(line);
          textStart = 0;
          textEnd = text.length;
          return large(text);
        }
        reserve(line.length * 3);
        text = block;
        textStart = used;
        used += block.write(line, used);
        textEnd = used;
      }
      endLine();
    },
    join(parts) {
      if (!broken) large(...parts);
    },
    splice(before, source, start, end, after) {
      if (broken) return;
      const length = before.length + end - start + after.length;
      if (length > LARGE) return large(Buffer.concat([before, source.subarray(start, end), after]));
      reserve(length);
      put(before);
      putPart(source, start, end);
      put(after);
      endLine();
    },
    offer() {
      if (inFlight === 0) handOver();
    },
    wrote(bytes) {
      return bytes.length === textEnd - textStart && text.compare(bytes, 0, bytes.length, textStart, textEnd) === 0;
    },
    get full() {
      return full;
    },
    flush() {
      handOver();
      if (broken || inFlight === 0) return Promise.resolve();
      return new Promise((resolve) => flushed.push(resolve));
    },
  };
}
