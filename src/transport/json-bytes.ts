/** What the bytes inside a JSON string can be. */
import { isUtf8 } from "node:buffer";

const PLAIN = 0;
const WIDE = 1;
const ESCAPE = 2;
const FORBIDDEN = 3;
const kinds = new Uint8Array(256).fill(WIDE, 0x80).fill(FORBIDDEN, 0, 0x20);
kinds[0x22] = FORBIDDEN;
kinds[0x5c] = ESCAPE;

/** The bytes that may follow a backslash; `u` wants four hexadecimal digits more. */
const escapable = new Uint8Array(256);
for (const character of '"\\/bfnrtu') escapable[character.charCodeAt(0)] = 1;
const LETTER_U = 0x75;
const hexadecimal = new Uint8Array(256);
for (const digit of "0123456789abcdefABCDEF") hexadecimal[digit.charCodeAt(0)] = 1;

/** What is found inside a JSON string. */
export interface StringInside {
  /** Where it ends: at the first byte that cannot be part of it, or at the end of what was looked at. */
  end: number;
  /** True for ASCII without escapes of the form `\u0000`. */
  simple: boolean;
}

const found: StringInside = { end: 0, simple: true };

/**
 * Reads the inside of a JSON string from `start` on, not beyond `end`; undefined when it is broken: an escape there is none
 * of, or bytes that are no UTF-8. The answer is good until the next call.
 */
export function readInside(source: Buffer, start: number, end: number): StringInside | undefined {
  let isAscii = true;
  found.simple = true;
  let index = start;
  for (; index < end; index++) {
    const kind = kinds[source[index] ?? 0];
    if (kind === PLAIN) continue;
    if (kind === FORBIDDEN) break;
    if (kind === WIDE) {
      isAscii = false;
      continue;
    }
    index++;
    const next = source[index] ?? 0;
    if (index >= end || escapable[next] === 0) return undefined;
    if (next !== LETTER_U) continue;
    found.simple = false;
    if (index + 4 >= end || !areHexadecimal(source, index + 1, index + 5)) return undefined;
    index += 4;
  }
  found.end = index;
  if (isAscii) return found;
  found.simple = false;
  return isUtf8(source.subarray(start, index)) ? found : undefined;
}

function areHexadecimal(source: Buffer, start: number, end: number): boolean {
  for (let index = start; index < end; index++) if (hexadecimal[source[index] ?? 0] === 0) return false;
  return true;
}
