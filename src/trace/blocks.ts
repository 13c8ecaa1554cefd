/** Bytes that are complete; and the block they end, when it may be used again. */
export interface Batch {
  bytes: Uint8Array;
  block?: Buffer;
}

/** A record being written. */
export interface Draft {
  bytes(bytes: Uint8Array): void;
  /** A few bytes, those from `start` to `end`. */
  part(bytes: Uint8Array, start: number, end: number): void;
  byte(byte: number): void;
  /** Returns how many bytes the text has. */
  text(text: string): number;
  /** Writes over its beginning. */
  overwrite(bytes: Uint8Array): void;
  /** Begins it again, in the same room. */
  again(): void;
  /** Whether its last so many bytes pass. */
  passes(bytes: number, look: (bytes: Uint8Array, start: number, end: number) => boolean): boolean;
}

/** Records gathered in blocks. */
export interface Blocks extends Draft {
  /** Bytes gathered that no batch has. */
  readonly gathered: number;
  /**
   * Begins a record, in place of one that was not kept, with room for so many bytes in one piece. Returns what was gathered
   * before, when that takes a new block.
   */
  reserve(bytes: number): Batch | undefined;
  /** Ends the record. */
  keep(): void;
  /** What has been gathered so far. */
  take(): Batch | undefined;
  /** Gives back a block whose batches are all written. */
  reuse(block: Buffer): void;
}

/** How many blocks are kept to be used again: new memory costs more than all that is written to it. */
const SPARE_BLOCKS = 128;

/**
 * Gathers records as bytes, in blocks of `size` bytes. Strings put together first would have to be made flat and encoded
 * later, which costs several times as much as all this.
 */
export function createBlocks(size: number): Blocks {
  const spare: Buffer[] = [];
  let block: Buffer = Buffer.allocUnsafe(size);
  let taken = 0;
  let used = 0;
  /** The end of the record being written, which begins at `used`. */
  let end = 0;

  return {
    get gathered() {
      return used - taken;
    },
    reserve(bytes) {
      end = used;
      if (block.length - used >= bytes) return undefined;
      const batch = used === taken ? undefined : { bytes: block.subarray(taken, used) };
      const full = block;
      // A larger record gets a block of its own.
      block = bytes > size ? Buffer.allocUnsafe(bytes) : (spare.pop() ?? Buffer.allocUnsafe(size));
      taken = 0;
      used = 0;
      end = 0;
      return batch === undefined || full.length !== size ? batch : { ...batch, block: full };
    },
    bytes(bytes) {
      block.set(bytes, end);
      end += bytes.length;
    },
    part(bytes, from, to) {
      // For a few bytes the loop is quicker than a view of them.
      if (to - from > 100) return this.bytes(bytes.subarray(from, to));
      const into = block;
      let at = end;
      for (let index = from; index < to; index++) into[at++] = bytes[index] ?? 0;
      end = at;
    },
    byte(byte) {
      block[end++] = byte;
    },
    text(text) {
      const bytes = block.write(text, end);
      end += bytes;
      return bytes;
    },
    overwrite(bytes) {
      block.set(bytes, used);
    },
    again() {
      end = used;
    },
    passes: (bytes, look) => look(block, end - bytes, end),
    keep() {
      used = end;
    },
    take() {
      if (used === taken) return undefined;
      const bytes = block.subarray(taken, used);
      taken = used;
      return { bytes };
    },
    reuse(done) {
      if (spare.length < SPARE_BLOCKS) spare.push(done);
    },
  };
}
