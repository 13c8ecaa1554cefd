/** The last part of a stream of UTF-8 text. */
export interface Tail {
  /** Takes the next bytes; they are copied. */
  push(bytes: Uint8Array): void;
  /** The text kept. It starts with a whole character; bytes that are no UTF-8 are U+FFFD in it. */
  text(): string;
  /** True once bytes had to be dropped. */
  readonly truncated: boolean;
}

/** Keeps the last `limit` bytes of a stream, in at most twice the memory, however small the pieces it comes in. */
export function createTail(limit: number): Tail {
  let buffer = Buffer.alloc(0);
  let length = 0;
  let truncated = false;

  return {
    push(bytes) {
      const fresh = bytes.subarray(Math.max(0, bytes.length - limit));
      truncated ||= length + bytes.length > limit;
      if (length + fresh.length <= buffer.length) {
        buffer.set(fresh, length);
        length += fresh.length;
        return;
      }
      // Room for as much again, so that each byte is copied a bounded number of times.
      const kept = buffer.subarray(Math.max(0, length + fresh.length - limit), length);
      length = kept.length + fresh.length;
      buffer = Buffer.concat([kept, fresh], 2 * length);
    },
    text() {
      let start = Math.max(0, length - limit);
      // The cut may have torn a character apart: what is left of it, at most three bytes, is skipped.
      for (let rest = 3; truncated && rest > 0 && ((buffer[start] ?? 0) & 0xc0) === 0x80; rest--) start++;
      return buffer.toString("utf8", Math.min(start, length), length);
    },
    get truncated() {
      return truncated;
    },
  };
}
