import type { Writable } from "node:stream";

export interface Output {
  /** Writes one line; the `\n` is added. Lines leave in the order of the calls, strings and bytes alike. */
  write(line: string | Uint8Array): void;
  /** True from the stream's back-pressure until `onDrain`: whatever feeds this output should pause. */
  readonly full: boolean;
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
const LINE_FEED = Buffer.from("\n");

/**
 * An ordered line writer over a stream. What is written within one turn of the event loop leaves in one write, or in
 * several of about 64 KiB. Ending the stream is left to its owner: lines written after its end are discarded.
 */
export function createOutput(stream: Writable, handlers: OutputHandlers): Output {
  // The batch is `pieces` followed by `text`. Joining text is several times cheaper than one stream write a line.
  let pieces: Uint8Array[] = [];
  let text = "";
  let size = 0;
  let scheduled = false;
  let inFlight = 0;
  let full = false;
  let broken = false;
  let flushed: (() => void)[] = [];

  function handOver(): void {
    scheduled = false;
    if (size === 0) return;
    if (pieces.length > 0) closeText();
    const batch = pieces.length === 0 ? text : Buffer.concat(pieces);
    pieces = [];
    text = "";
    size = 0;
    if (broken || stream.writableEnded) return;
    inFlight++;
    try {
      if (!stream.write(batch, onTaken)) full = true;
    } catch (error) {
      // A file's stream writes at once and throws when the disk is full.
      process.nextTick(breakDown, error instanceof Error ? error : new Error(String(error)));
    }
  }

  function closeText(): void {
    if (text !== "") pieces.push(Buffer.from(text));
    text = "";
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
      if (typeof line === "string") {
        text += line;
        text += "\n";
      } else {
        closeText();
        pieces.push(line, LINE_FEED);
      }
      size += line.length + 1;
      if (size >= BATCH_BYTES) handOver();
      else if (!scheduled) {
        scheduled = true;
        process.nextTick(handOver);
      }
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
