import { isObject, type JsonObject } from "./protocol/json.ts";

/** What stands in place of a secret. */
export const mask = "[redacted]";

/** Deeper values are left out; no frame of the protocol comes near it. */
const deepest = 64;

/** Objects whose every value may be a secret, whatever its name: environments and HTTP headers. */
const secretHolder = /^(?:env|environment|headers|httpheaders)$/i;
const secretWord =
  "token|secret|passw(?:or)?d|passphrase|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key|authorization|cookie|credential";
const secretName = new RegExp(secretWord, "i");
/** `totalTokens`, `tokenLimit`: a text under such a name is a secret, a number is an amount. */
const countName = /token/i;
/** A command-line option whose next word is a secret. */
const secretFlag = new RegExp(`^--?[\\w-]{0,40}(?:${secretWord})$`, "i");

/**
 * Secrets inside text. Every repetition is bounded or ends at a character it cannot match, so that the time stays
 * linear in the length of the text.
 */
const secretText: readonly [RegExp, string][] = [
  [/\b(bearer[ \t]{1,8})[^\s"',;]+/gi, `$1${mask}`],
  [/(?<![\w-])sk-[\w-]{12,}/g, mask],
  [/(?<![\w-])(?:gh[oprsu]_|github_pat_|glpat-|xox[abprs]-|npm_|AIza|AKIA)[\w-]{16,}/g, mask],
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, mask],
  [/(:\/\/)[^\s/@"']{1,512}@/g, `$1${mask}@`],
  [/\b((?:authorization|cookie|api[-_]?key)[ \t]{0,8}:)[^\r\n"]+/gi, `$1 ${mask}`],
  [new RegExp(`\\b((?:${secretWord})[ \\t]{0,8}:[ \\t]{1,8})[^\\s"',;]{8,}`, "gi"), `$1${mask}`],
  [new RegExp(`((?:${secretWord})[\\w-]{0,32}["']?=["']?)[^\\s"'&;,]+`, "gi"), `$1${mask}`],
  [new RegExp(`((?:${secretWord})[\\w-]{0,32}\\\\{0,3}"[ \\t]{0,8}:[ \\t]{0,8}\\\\{0,3}")[^"]+`, "gi"), `$1${mask}`],
  [new RegExp(`(--?(?:[a-z]{1,16}-){0,4}(?:${secretWord})[ \\t]{1,8})[^\\s"']+`, "gi"), `$1${mask}`],
];

/**
 * Whether {@link redact} might change the value this JSON text stands for. Never false when it would; true for much that
 * is harmless. Letters of a name written as `\\u00xx` count as a secret, since they could spell one.
 */
export function mayHoldSecrets(json: string): boolean {
  return suspectName.test(json) || suspectText.test(json);
}

/** Two expressions, since one takes twice as long. */
const suspectName = new RegExp(`${secretWord}|bearer|"(?:env|environment|headers|httpheaders)"`, "i");
const suspectText =
  /sk-[\w-]{12}|gh[oprsu]_|github_pat_|glpat-|xox[abprs]-|npm_|AIza|AKIA|eyJ|:\\?\/\\?\/[^\s/@"']{1,4096}@|\\u00[2-7]/;

/**
 * A copy of the value, fit for a log, with its secrets replaced by `[redacted]`: every value of an environment or of
 * HTTP headers (objects, or arrays of `{name, value}`), everything under a key named like a token, secret, password, API
 * key, authorization or cookie at any depth, the word after such an option in an array of arguments, and what looks like
 * a secret inside any text. Names, numbers of tokens, `true`, `false` and `null` stay. Errors become
 * `{name, message, code, stack}`, bytes their number.
 */
export function redact(value: unknown): unknown {
  return copy(value, "open", []);
}

/** `open`: look for secrets. `closed`: every value is one. `count`: every text is one, numbers are amounts. */
type Cover = "open" | "closed" | "count";

function copy(value: unknown, cover: Cover, ancestors: readonly object[]): unknown {
  if (typeof value === "string") return cover === "open" ? withoutSecrets(value) : mask;
  if (typeof value === "number") return cover === "closed" ? mask : value;
  if (typeof value === "boolean" || value === undefined || value === null) return value;
  if (typeof value !== "object") return cover === "open" ? String(value) : mask;
  if (value instanceof Uint8Array) return `[${value.byteLength} bytes]`;
  if (ancestors.includes(value)) return "[circular]";
  if (ancestors.length >= deepest) return "[too deep]";
  const inside = [...ancestors, value];
  if (Array.isArray(value)) {
    return value.map((item, index) => copy(item, followsFlag(value, index) ? "closed" : cover, inside));
  }
  return copyObject(value instanceof Error ? fieldsOf(value) : (value as JsonObject), cover, inside);
}

function copyObject(object: JsonObject, cover: Cover, inside: readonly object[]): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([key, item]) => [
      key,
      secretHolder.test(key) && typeof item === "object"
        ? copyHolder(item, inside)
        : copy(item, coverOf(object, key, cover), inside),
    ]),
  );
}

/** An environment or headers: `{NAME: value}`, or `[{name, value}]`, whose names stay. */
function copyHolder(holder: unknown, inside: readonly object[]): unknown {
  if (!Array.isArray(holder)) return copy(holder, "closed", inside);
  return holder.map((entry) =>
    isObject(entry) && typeof entry["name"] === "string"
      ? { ...copyObject(entry, "closed", [...inside, entry]), name: entry["name"] }
      : copy(entry, "closed", inside),
  );
}

function coverOf(object: JsonObject, key: string, cover: Cover): Cover {
  if (cover !== "open") return cover;
  const named = object["name"] ?? object["configId"];
  const name = key === "value" && typeof named === "string" ? named : key;
  if (!secretName.test(name)) return "open";
  return countName.test(name) ? "count" : "closed";
}

function followsFlag(words: readonly unknown[], index: number): boolean {
  const previous = words[index - 1];
  return typeof previous === "string" && secretFlag.test(previous);
}

function fieldsOf(error: Error): JsonObject {
  const { name, message, code, stack } = error as NodeJS.ErrnoException;
  return code === undefined ? { name, message, stack } : { name, message, code, stack };
}

/** The text with what looks like a secret in it replaced by `[redacted]`. */
export function withoutSecrets(text: string): string {
  if (text.length < 8) return text;
  return secretText.reduce((result, [pattern, replacement]) => result.replace(pattern, replacement), text);
}
