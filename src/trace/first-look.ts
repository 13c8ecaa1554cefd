/**
 * Four characters of every spelling that src/redact.ts or src/trace/secrets.ts acts on, in lower case: those of it that are
 * rarest in what agents say. `?` stands for any character.
 */
const FRAGMENTS: readonly string[] = [
  ...["oken", "secr", "sswd", "sswo", "sphr", "izat", "okie", "tial", "bear"],
  // With `-`, `_`, a space or nothing before the `key`; all of `private`.
  ...["pike", "pi-k", "pi_k", "pi k", "sske", "ss-k", "ss_k", "ss k", "ivat"],
  ...['env"', "viro", '"hea', "tphe", 'lob"', 'ata"'],
  ...["sk-?", "gho_", "ghp_", "ghr_", "ghs_", "ghu_", "ub_p", "glpa", "npm_", "aiza", "akia", "eyj?"],
  ...["xoxa", "xoxb", "xoxp", "xoxr", "xoxs"],
  // A letter that is written as its number.
  "\\u00",
];

/** Stands before the host of a URL that names a user. */
const AT = "@";

const ANYTHING = "?".charCodeAt(0);
const CAPITAL_A = 0x41;
const CAPITAL_Z = 0x5a;
/** What a small letter has more than its capital. */
const SMALL = 0x20;

/**
 * Of each two bytes in a row, bits for the fragments they can be the beginning of, and in the other half bits for those that
 * they can go on. Read two bytes at a time a fragment is seen as its first two and its last two, or as its first, with
 * anything before it, and the two after that: which of them is another set of bits.
 */
const pairs = new Uint32Array(2 ** 16);
const HALF = 16;
const SETS = 7;
/** Set of everything that comes before, for what is suspicious by itself. */
const ALONE = 1 << (2 * SETS);
const ANY = [...Array(256).keys()];

pairs.fill(ALONE);
for (const [index, fragment] of FRAGMENTS.entries()) {
  const [first, second, third, fourth] = [...fragment].map(spellings);
  const set = index % SETS;
  mark(first, second, 1 << set);
  mark(third, fourth, 1 << (set + HALF));
  mark(ANY, first, 1 << (set + SETS));
  mark(second, third, 1 << (set + SETS + HALF));
}
mark(spellings(AT), ANY, ALONE << HALF);
mark(ANY, spellings(AT), ALONE << HALF);

function spellings(character: string): number[] {
  if (character === "?") return ANY;
  return [character, character.toUpperCase()].map((spelling) => spelling.charCodeAt(0));
}

function mark(firsts: number[] = [], seconds: number[] = [], bits: number): void {
  for (const first of firsts)
    for (const second of seconds) pairs[first | (second << 8)] = (pairs[first | (second << 8)] ?? 0) | bits;
}

/**
 * A first look for secrets at bytes of JSON text, those from `start` to `end`, for a fraction of what the expressions for them cost: true when
 * there is nothing in it that could be one; false for little that is harmless.
 */
export function looksHarmless(bytes: Uint8Array, start = 0, end = bytes.length): boolean {
  let before = ALONE;
  let position = start;
  // Four bytes at once, as far as they go: this is most of what a record of a frame costs.
  for (; position + 3 < end; position += 4) {
    const first = pairs[(bytes[position] ?? 0) | ((bytes[position + 1] ?? 0) << 8)] ?? 0;
    const second = pairs[(bytes[position + 2] ?? 0) | ((bytes[position + 3] ?? 0) << 8)] ?? 0;
    const seen = (before & (first >>> HALF)) | (first & (second >>> HALF));
    if (seen !== 0 && isSuspicious(bytes, position - 2, position + 4)) return false;
    before = second;
  }
  for (; position < end; position += 2) {
    const last = pairs[(bytes[position] ?? 0) | ((bytes[position + 1] ?? 0) << 8)] ?? 0;
    if ((before & (last >>> HALF)) !== 0 && isSuspicious(bytes, position - 2, position + 2)) return false;
    before = last;
  }
  return true;
}

/** By their first bytes. */
const beginningWith = ANY.map((byte) => [...FRAGMENTS, `${AT}???`].filter((one) => isByte(one.charCodeAt(0), byte)));

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
