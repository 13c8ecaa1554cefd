/** A line without its line break; or the report of one that was longer than allowed and has been dropped. */
export type Line = { bytes: Buffer } | OversizedLine;

/** `oversized` is the length of the whole line in bytes; `head` and `tail` are its first and last 4 KiB as text. */
export interface OversizedLine {
  oversized: number;
  head: string;
  tail: string;
}

/** Who is told of lines, in their order. */
export interface LineReader {
  /**
   * A line at the bytes from `start` to `end` of these: of a chunk, or of what was joined from several.
   *
   * @returns whether it has been read there; else it comes as a line
   */
  within(bytes: Buffer, start: number, end: number): boolean;
  line(line: Line): void;
}

export interface LineSplitter {
  /** Takes the next bytes of the stream; returns the lines they complete, in order. */
  push(chunk: Buffer): Line[];
  /** The same, telling of each line before it looks for the next. */
  read(chunk: Buffer, reader: LineReader): void;
  /** Takes the end of the stream; returns the last line when it had no line break. */
  end(): Line[];
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const END_BYTES = 4096;

/**
 * Cuts a byte stream into lines (docs/mapping.md §12): separated by `\n`, a trailing `\r` and a UTF-8 byte order mark at
 * the start taken off, blank lines left out.
 *
 * A line of more than `maxBytes` bytes before its `\n` is drained without being held and reported once it has ended. A
 * line that lies within one chunk shares the chunk's memory; one that spans chunks is copied once. Never throws.
 */
export function createLineSplitter(maxBytes: number): LineSplitter {
  // What must be kept of an unfinished line: all of an allowed one, the head of any.
  const keptBytes = Math.max(maxBytes, END_BYTES);
  let held: Buffer[] = [];
  let length = 0;
  // The end of a line too long to be held.
  let tail: Buffer = Buffer.alloc(0);

  function hold(piece: Buffer): void {
    const fitted = length <= keptBytes;
    length += piece.length;
    if (fitted) held.push(piece);
    else tail = lastBytes([tail, piece]);
    if (!fitted || length <= keptBytes) return;
    tail = lastBytes(held);
    held = [Buffer.concat(held, END_BYTES)];
  }

  function finish(): Line | undefined {
    const bytes = held.length === 1 && held[0] !== undefined ? held[0] : joined(held, length);
    const whole = length;
    held = [];
    length = 0;
    if (whole > maxBytes) return oversized(whole, bytes, whole > keptBytes ? tail : bytes);
    return whole > 0 ? lineOf(bytes) : undefined;
  }

  function read(chunk: Buffer, reader: LineReader): void {
    let start = 0;
    let lineFeed = chunk.indexOf(LINE_FEED);
    if (length > 0 && lineFeed !== -1) {
      hold(chunk.subarray(0, lineFeed));
      const line = finish();
      if (line !== undefined && !isReadWithin(line, reader)) reader.line(line);
      start = lineFeed + 1;
      lineFeed = chunk.indexOf(LINE_FEED, start);
    }
    while (lineFeed !== -1) {
      if (lineFeed - start > maxBytes || !reader.within(chunk, start, lineFeed)) {
        const bytes = chunk.subarray(start, lineFeed);
        const line = bytes.length > maxBytes ? oversized(bytes.length, bytes, bytes) : lineOf(bytes);
        if (line !== undefined) reader.line(line);
      }
      start = lineFeed + 1;
      lineFeed = chunk.indexOf(LINE_FEED, start);
    }
    if (start < chunk.length) hold(chunk.subarray(start));
  }

  return {
    push(chunk) {
      const lines: Line[] = [];
      read(chunk, { within: () => false, line: (line) => lines.push(line) });
      return lines;
    },
    read,
    end() {
      const line = finish();
      return line === undefined ? [] : [line];
    },
  };
}

function isReadWithin(line: Line, reader: LineReader): boolean {
  return "bytes" in line && reader.within(line.bytes, 0, line.bytes.length);
}

/** The line that these bytes are, unless they are blank. */
function lineOf(raw: Buffer): Line | undefined {
  const start = raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf ? 3 : 0;
  const end = raw[raw.length - 1] === CARRIAGE_RETURN ? raw.length - 1 : raw.length;
  const bytes = start === 0 && end === raw.length ? raw : raw.subarray(start, Math.max(start, end));
  return isBlank(bytes) ? undefined : { bytes };
}

function isBlank(bytes: Buffer): boolean {
  let i = 0;
  while (i < bytes.length && (bytes[i] === 0x20 || bytes[i] === 0x09 || bytes[i] === CARRIAGE_RETURN)) i++;
  return i === bytes.length;
}

/**
 * The pieces one after another, in memory of their own. Node's pool of small buffers would do for most lines; but what is
 * left of it after a flood is memory that V8 counts as old, where it does not look for garbage for a long time.
 */
function joined(pieces: Buffer[], length: number): Buffer {
  const whole = Buffer.allocUnsafeSlow(length);
  let end = 0;
  for (const piece of pieces) end += piece.copy(whole, end);
  return whole;
}

/** The last 4 KiB of a run of pieces. */
function lastBytes(pieces: Buffer[]): Buffer {
  let first = pieces.length;
  for (let bytes = 0; first > 0 && bytes < END_BYTES; ) bytes += pieces[--first]?.length ?? 0;
  return Buffer.concat(pieces.slice(first).map((piece) => piece.subarray(-END_BYTES))).subarray(-END_BYTES);
}

function oversized(bytes: number, first: Buffer, last: Buffer): OversizedLine {
  // In stream mode the decoder leaves out a character that the cut has torn apart.
  const head = new TextDecoder().decode(first.subarray(0, END_BYTES), { stream: true });
  const tail = last.subarray(-END_BYTES);
  let start = 0;
  while (((tail[start] ?? 0) & 0xc0) === 0x80) start++;
  return { oversized: bytes, head, tail: tail.toString("utf8", start) };
}
