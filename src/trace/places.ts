/** Records of a trace by where they stand, read when they are asked for: what is only named takes up no memory. */
import { closeSync, openSync, readSync } from "node:fs";
import type { TraceRecord } from "./format.ts";
import type { Placed } from "./read.ts";

export interface Places {
  /** A number for the place of a record. */
  of(placed: Placed): number;
  /** The record at a place, which must have been given out. */
  read(place: number): TraceRecord;
  /** Closes the files. */
  close(): void;
}

/** Room for the places within one file, in bytes. */
const FILE = 2 ** 40;
/** How much is read at once, in bytes, unless a line is longer. */
const BLOCK = 64 * 1024;
const LINE_FEED = 0x0a;

export function createPlaces(): Places {
  const files: { name: string; descriptor: number }[] = [];
  /** What was read last, and whether it goes to the end of its file. */
  let block = { from: 0, bytes: Buffer.alloc(0), isLast: false };

  /** The line at a place, without its line break. */
  function lineAt(place: number): Buffer {
    for (let size = BLOCK; ; size *= 4) {
      const held = place < block.from ? Buffer.alloc(0) : block.bytes.subarray(place - block.from);
      const end = held.indexOf(LINE_FEED);
      if (end >= 0) return held.subarray(0, end);
      if (block.isLast && held.length > 0) return held;
      const { descriptor = -1 } = files[Math.floor(place / FILE)] ?? {};
      const bytes = Buffer.allocUnsafe(size);
      const length = readSync(descriptor, bytes, 0, size, place % FILE);
      block = { from: place, bytes: bytes.subarray(0, length), isLast: length < size };
      if (length === 0)
        throw new Error(`${files[Math.floor(place / FILE)]?.name} has become shorter while it was played`);
    }
  }

  return {
    of({ file, at }) {
      const known = files.findIndex(({ name }) => name === file);
      return FILE * (known < 0 ? files.push({ name: file, descriptor: openSync(file, "r") }) - 1 : known) + at;
    },
    read: (place) => JSON.parse(lineAt(place).toString()),
    close() {
      for (const { descriptor } of files.splice(0)) closeSync(descriptor);
    },
  };
}
