/**
 * Four characters of every spelling that src/redact.ts or src/trace/secrets.ts acts on, whatever its case: those of it
 * that are rarest in what agents say. `?` stands for any character.
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

const BITS = 5;
const CLASSES = 2 ** BITS;
const MASK = CLASSES ** 3 - 1;
const OTHER = 0;

/** The class of each byte: the characters of the fragments have one each, upper and lower case together, all others one. */
const classes = new Uint8Array(256);
[...new Set(FRAGMENTS.join("") + AT)]
  .filter((character) => character !== "?")
  .forEach((character, index) => {
    classes[character.charCodeAt(0)] = index + 1;
    classes[character.toUpperCase().charCodeAt(0)] = index + 1;
  });

/** One bit for each sequence of three classes, set when it is worth a closer look: small enough to stay in a fast cache. */
const suspicious = new Uint32Array((MASK + 1) / 32);
for (const fragment of FRAGMENTS) {
  suspect(fragment.slice(0, 3));
  suspect(fragment.slice(1));
}
for (const three of [`${AT}??`, `?${AT}?`, `??${AT}`]) suspect(three);

function suspect(three: string): void {
  let sequences = [0];
  for (const character of three) {
    const all = character === "?" ? [...Array(CLASSES).keys()] : [classes[character.charCodeAt(0)] ?? OTHER];
    sequences = sequences.flatMap((before) => all.map((next) => (before << BITS) | next));
  }
  for (const sequence of sequences)
    suspicious[sequence >> 5] = (suspicious[sequence >> 5] ?? 0) | (1 << (sequence & 31));
}

/**
 * A first look for secrets at bytes of JSON text, those from `start` to `end`, for a fraction of what the expressions for them cost: true when
 * there is nothing in it that could be one; false for little that is harmless.
 *
 * Of each fragment of four it needs to see three characters in a row, so that it takes two steps at once.
 */
export function looksHarmless(bytes: Uint8Array, start = 0, end = bytes.length): boolean {
  let position = start + ((end - start) % 2);
  let three = position === start ? OTHER : (classes[bytes[start] ?? 0] ?? OTHER);
  for (; position < end; position += 2) {
    const first = classes[bytes[position] ?? 0] ?? OTHER;
    const second = classes[bytes[position + 1] ?? 0] ?? OTHER;
    three = ((three << (2 * BITS)) | (first << BITS) | second) & MASK;
    if ((((suspicious[three >> 5] ?? 0) >>> (three & 31)) & 1) === 1) return false;
  }
  return true;
}
