import { randomUUID } from "node:crypto";
import { readExact } from "../protocol/exact.ts";
import { isFrame } from "../protocol/frames.ts";
import type { JsonObject } from "../protocol/json.ts";
import { readInside } from "./json-bytes.ts";

/** A frame of which the long strings stand aside, so that nobody has to read and write them anew. */
export interface Abridged {
  /** The frame, with a short string in place of each long one. */
  value: JsonObject;
  /** What stands in place of each. */
  standIns: string[];
  /** The bytes of a text in which stand-ins occur, with the long strings where these are. */
  restore(text: string): Uint8Array[];
}

/** Strings shorter than this are not worth the trouble, in bytes. */
const LONG = 64 * 1024;
/** Nobody else can know, so nobody else says, what stands in: it never leaves this process. */
const SECRET = randomUUID();
const STAND_IN = new RegExp(`<long string (\\d+) of ${SECRET}>`);
const QUOTE = 0x22;

/** A line without its long strings; undefined when it has none, or is not simply a frame. */
export function abridge(line: Buffer): Abridged | undefined {
  const strings: Uint8Array[] = [];
  const standIns: string[] = [];
  const kept: string[] = [];
  let copied = 0;
  for (let quote = line.indexOf(QUOTE); quote !== -1; ) {
    const end = readInside(line, quote + 1, line.length)?.end ?? line.length;
    if (line[end] !== QUOTE) return undefined;
    if (end - quote > LONG) {
      kept.push(line.toString("utf8", copied, quote + 1));
      standIns.push(`<long string ${strings.length} of ${SECRET}>`);
      strings.push(line.subarray(quote + 1, end));
      copied = end;
    }
    quote = line.indexOf(QUOTE, end + 1);
  }
  kept.push(line.toString("utf8", copied));
  if (strings.length === 0) return undefined;
  const value = readExact(kept.map((text, index) => text + (standIns[index] ?? "")).join(""));
  if (!isFrame(value)) return undefined;
  return {
    value,
    standIns,
    // Between two stand-ins `split` gives what stands there, and for each the number in it.
    restore: (text) =>
      text
        .split(STAND_IN)
        .map((part, index) => (index % 2 === 0 ? undefined : strings[Number(part)]) ?? Buffer.from(part)),
  };
}
