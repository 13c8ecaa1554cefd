import { StringDecoder } from "node:string_decoder";
import { createTail } from "./tail.ts";

export interface StderrReader {
  push(chunk: Buffer): void;
  /** Takes the end of the stream: a last line without a line break is complete now. */
  end(): void;
  /** The text read last: up to `tailBytes` bytes of it. */
  tail(): string;
}

/** Characters after which a line is cut: never more than 64 KiB of UTF-8. */
const LINE_CHARS = 16 * 1024;

/**
 * Reads a text stream line by line (`\n` or `\r\n`, UTF-8 across chunk borders) and keeps its last `tailBytes` bytes.
 * A line of more than 16 Ki characters comes in pieces. Never throws.
 */
export function createStderrReader(tailBytes: number, onLine: (line: string) => void): StderrReader {
  const decoder = new StringDecoder("utf8");
  const tail = createTail(tailBytes);
  let pending = "";

  function read(text: string): void {
    let start = 0;
    for (let lineFeed = text.indexOf("\n"); lineFeed !== -1; lineFeed = text.indexOf("\n", start)) {
      const line = pending + text.slice(start, lineFeed);
      pending = "";
      start = lineFeed + 1;
      onLine(emitPieces(line.endsWith("\r") ? line.slice(0, -1) : line));
    }
    pending = emitPieces(pending + text.slice(start));
  }

  /** Emits what a line has beyond one piece, and returns the rest. */
  function emitPieces(line: string): string {
    let rest = line;
    while (rest.length > LINE_CHARS) {
      const last = rest.charCodeAt(LINE_CHARS - 1);
      const cut = last >= 0xd800 && last <= 0xdbff ? LINE_CHARS - 1 : LINE_CHARS;
      onLine(rest.slice(0, cut));
      rest = rest.slice(cut);
    }
    return rest;
  }

  return {
    push(chunk) {
      tail.push(chunk);
      read(decoder.write(chunk));
    },
    end() {
      read(decoder.end());
      if (pending !== "") onLine(pending);
      pending = "";
    },
    tail: tail.text,
  };
}
