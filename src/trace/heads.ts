/** What the beginning of a frame's record says. */
export interface HeadFields {
  seq: number;
  /** `,"time":"…","mono":…` up to the point. */
  clock: Buffer;
  /** The three digits after it. */
  thousandths: number;
  cause: number | undefined;
  /** The members that say what the frame is about. */
  about: Buffer;
  /** The frame's length. */
  bytes: number;
}

interface Head {
  bytes: Buffer;
  about: Buffer;
  clock: Buffer;
  clockAt: number;
  /** How many digits each number has, and where they end. */
  seq: Digits;
  thousandths: Digits;
  cause: Digits;
  length: Digits;
}

interface Digits {
  count: number;
  end: number;
  /** What they say now. */
  value: number;
}

const ZERO = 0x30;

/**
 * Makes the beginnings of one leg's records. In a stream each differs from the last only in its numbers, so these are
 * written over the last one's: this is what makes recording a chunk cheap.
 *
 * The bytes returned are good until the next call.
 *
 * @param opening with what all of the frames begin
 */
export function createHeads(opening: Uint8Array = new Uint8Array()): (fields: HeadFields) => Buffer {
  let head: Head | undefined;
  return (fields) => {
    const { seq, clock, thousandths, cause, about, bytes } = fields;
    if (
      head === undefined ||
      head.about !== about ||
      head.clock.length !== clock.length ||
      head.seq.count !== digitsOf(seq) ||
      head.cause.count !== digitsOf(cause) ||
      head.length.count !== digitsOf(bytes)
    )
      head = build(fields, opening);
    else if (head.clock !== clock) {
      head.bytes.set(clock, head.clockAt);
      head.clock = clock;
    }
    const { bytes: line } = head;
    write(line, head.seq, seq);
    write(line, head.thousandths, thousandths);
    if (cause !== undefined) write(line, head.cause, cause);
    write(line, head.length, bytes);
    return line;
  };
}

function build({ seq, clock, cause, about, bytes }: HeadFields, opening: Uint8Array): Head {
  const start = `{"type":"frame","seq":${seq}`;
  const clockAt = start.length;
  const due = cause === undefined ? "" : `,"cause":${cause}`;
  const size = `,"bytes":${bytes}`;
  const thousandthsEnd = clockAt + clock.length + 3;
  return {
    bytes: Buffer.concat([
      Buffer.from(start),
      clock,
      Buffer.from(`000${due}`),
      about,
      Buffer.from(`${size},"frame":`),
      opening,
    ]),
    about,
    clock,
    clockAt,
    seq: { count: digitsOf(seq), end: clockAt, value: seq },
    thousandths: { count: 3, end: thousandthsEnd, value: 0 },
    cause: { count: digitsOf(cause), end: thousandthsEnd + due.length, value: cause ?? 0 },
    length: { count: digitsOf(bytes), end: thousandthsEnd + due.length + about.length + size.length, value: bytes },
  };
}

/** How many digits a whole number has; none when there is none. */
function digitsOf(value: number | undefined): number {
  if (value === undefined) return 0;
  let count = 1;
  for (let power = 10; value >= power; power *= 10) count++;
  return count;
}

/** Writes a number of as many digits over the last one, from the right to where they are the same. */
function write(line: Buffer, digits: Digits, value: number): void {
  let rest = value;
  let former = digits.value;
  for (let position = digits.end - 1; rest !== former; position--) {
    const tenth = Math.floor(rest / 10);
    line[position] = ZERO + rest - tenth * 10;
    rest = tenth;
    former = Math.floor(former / 10);
  }
  digits.value = value;
}
