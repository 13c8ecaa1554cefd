/**
 * Five characters of every spelling that src/redact.ts or src/trace/secrets.ts acts on, in lower case: those of it that are
 * rarest in what agents say. `?` stands for any character. A beginning and an end of two in the same row may be taken for one
 * of them before they are compared; the rows were chosen so that this is rare.
 */
const FRAGMENTS: readonly (readonly string[])[] = [
  // With `-`, `_`, a space or nothing before the `key`.
  ["asswd", "asswo", "assph", "apike", "pi_ke", "ss-ke", "te-ke", 'ders"'],
  ["token", "reden", "sskey", "tekey", "te_ke"],
  // A letter that is written as its number.
  ['"env"', '"envi', '"blob', "xoxa-", "\\u00?"],
  ["?sk-?", "aiza?", "akia?", "?eyj?"],
  ["beare", "pi ke", '"data', "ghp_?", "ghr_?", "ghu_?", "hub_p", "glpat", "xoxr-", "xoxs-"],
  ["secre", "rizat", "ookie", "pi-ke", "ss_ke", "gho_?", "npm_?", "xoxp-"],
  ["ss ke", "te ke", "ghs_?", "xoxb-"],
];

/** Stands before the host of a URL that names a user. */
const AT = "@";

const ANYTHING = "?".charCodeAt(0);
const CAPITAL_A = 0x41;
const CAPITAL_Z = 0x5a;
/** What a small letter has more than its capital. */
const SMALL = 0x20;

/**
 * Of each two bytes in a row, bits for the rows of fragments that they can be the beginning of, and in the other half bits for
 * those that they can go on. Read two bytes at a time a fragment is seen as its first two and the two after that, or from its
 * second on: which of them is another set of bits.
 */
const pairs = new Uint32Array(2 ** 16);
const HALF = 16;
/** For what is suspicious by itself, whatever comes before. */
const ALONE = 1 << (2 * FRAGMENTS.length);
const ANY = [...Array(256).keys()];
const IS_BIG_ENDIAN = new Uint16Array(Uint8Array.of(0, 1).buffer)[0] === 1;

pairs.fill(ALONE);
for (const [row, fragments] of FRAGMENTS.entries()) {
  for (const fragment of fragments) {
    const [first, second, third, fourth, fifth] = [...fragment].map(spellings);
    mark(first, second, 1 << row);
    mark(third, fourth, 1 << (row + HALF));
    mark(second, third, 1 << (row + FRAGMENTS.length));
    mark(fourth, fifth, 1 << (row + FRAGMENTS.length + HALF));
  }
}
mark(spellings(AT), ANY, ALONE << HALF);
mark(ANY, spellings(AT), ALONE << HALF);

function spellings(character: string): number[] {
  if (character === "?") return ANY;
  return [character, character.toUpperCase()].map((spelling) => spelling.charCodeAt(0));
}

function mark(firsts: number[] = [], seconds: number[] = [], bits: number): void {
  for (const first of firsts)
    for (const second of seconds) pairs[pairOf(first, second)] = (pairs[pairOf(first, second)] ?? 0) | bits;
}

/** Two bytes in a row as this machine reads them. */
function pairOf(first: number, second: number): number {
  return IS_BIG_ENDIAN ? (first << 8) | second : first | (second << 8);
}

/** What was looked at last, and the memory it is in, two bytes at a time: to read them one by one takes twice as long. */
let seen: Uint8Array = new Uint8Array();
let words: Uint16Array = new Uint16Array();

/**
 * A first look for secrets at bytes of JSON text, those from `start` to `end`, for a fraction of what the expressions for them
 * cost: true when there is nothing in it that could be one; false for little that is harmless.
 */
export function looksHarmless(bytes: Uint8Array, start = 0, end = bytes.length): boolean {
  const { byteOffset } = bytes;
  if (bytes !== seen) {
    seen = bytes;
    words = new Uint16Array(bytes.buffer, 0, bytes.buffer.byteLength >> 1);
  }
  // The last byte of JSON text is no part of a secret.
  const last = (byteOffset + end) >> 1;
  for (let at = (byteOffset + start) >> 1; at < last; at += AT_ONCE) {
    at = nextToCompare(words, at, last);
    const position = 2 * at - byteOffset;
    if (at < last && isSuspicious(bytes, position - 3, Math.min(end, position + 2 * AT_ONCE))) return false;
  }
  return true;
}

/** How many pairs are looked at together. */
const AT_ONCE = 8;

/**
 * From where on a fragment has to be looked for among the next pairs; the end when nowhere. This is most of what a record of
 * a frame costs: nothing in it but what every pair takes.
 */
function nextToCompare(words: Uint16Array, start: number, end: number): number {
  const known = pairs;
  let at = start;
  let before = at === 0 ? ALONE : (known[words[at - 1] ?? 0] ?? 0);
  for (; at + AT_ONCE <= end; at += AT_ONCE) {
    const a = known[words[at] ?? 0] ?? 0;
    const b = known[words[at + 1] ?? 0] ?? 0;
    const c = known[words[at + 2] ?? 0] ?? 0;
    const d = known[words[at + 3] ?? 0] ?? 0;
    const e = known[words[at + 4] ?? 0] ?? 0;
    const f = known[words[at + 5] ?? 0] ?? 0;
    const g = known[words[at + 6] ?? 0] ?? 0;
    const h = known[words[at + 7] ?? 0] ?? 0;
    const half = (before & (a >>> HALF)) | (a & (b >>> HALF)) | (b & (c >>> HALF)) | (c & (d >>> HALF));
    if ((half | (d & (e >>> HALF)) | (e & (f >>> HALF)) | (f & (g >>> HALF)) | (g & (h >>> HALF))) !== 0) return at;
    before = h;
  }
  for (; at < end; at++) {
    const pair = known[words[at] ?? 0] ?? 0;
    if ((before & (pair >>> HALF)) !== 0) return at;
    before = pair;
  }
  return end;
}

/** By their first bytes. */
const beginningWith = ANY.map((byte) =>
  [...FRAGMENTS.flat(), `${AT}????`].filter((one) => isByte(one.charCodeAt(0), byte)),
);

/** Whether a fragment begins at one of these bytes. */
function isSuspicious(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++)
    for (const fragment of beginningWith[bytes[at] ?? 0] ?? []) if (isAt(fragment, bytes, at)) return true;
  return false;
}

function isAt(fragment: string, bytes: Uint8Array, at: number): boolean {
  for (let index = 1; index < fragment.length; index++)
    if (!isByte(fragment.charCodeAt(index), bytes[at + index] ?? 0)) return false;
  return true;
}

function isByte(character: number, byte: number): boolean {
  if (character === ANYTHING || character === byte) return true;
  return byte >= CAPITAL_A && byte <= CAPITAL_Z && character === (byte | SMALL);
}
