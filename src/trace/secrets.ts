/**
 * What is replaced in a trace before it is written: what src/redact.ts knows of secrets, and the places where the
 * protocol itself has room for one.
 */
import { isUtf8 } from "node:buffer";
import { printExact } from "../protocol/exact.ts";
import { asObject, isObject, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import { mask, mayHoldSecrets, redact, withoutSecrets } from "../redact.ts";

/** For the header: what is replaced, in words. */
export const REPLACED: readonly string[] = [
  "every value of an environment and of HTTP headers",
  "every value under a name like token, secret, password, API key, authorization, cookie or credential, in _meta too",
  "the word after a command-line option of such a name",
  "every text of authenticate and auth/login but the id of the method",
  "every text a person entered into an elicitation, and the query of its URL",
  "whatever looks like a secret in text, in terminal output and embedded text files too: bearer tokens, keys of known forms, name=value and name: value, the user in a URL",
];

/**
 * The JSON text of a frame with its secrets replaced; undefined when there are none.
 *
 * @param line the frame as it was on the wire
 * @param method the frame's method; of an answer, its request's
 */
export function redactFrame(frame: unknown, line: string | Uint8Array, method: string | undefined): string | undefined {
  const json = typeof line === "string" ? line : Buffer.from(line.buffer, line.byteOffset, line.length).toString();
  const replaceMore = PLACES.get(method);
  if (replaceMore === undefined && !mayHoldSecrets(json) && !/"(?:blob|data)"/.test(json)) return undefined;
  const copy = withoutEncodedSecrets(redact(frame)) as JsonObject;
  const redacted = printExact(isObject(copy) && replaceMore !== undefined ? replaceMore(copy) : copy);
  return redacted === printExact(frame) ? undefined : redacted;
}

/** True when frames of the method (of an answer, its request's) have to be looked at however harmless their text looks. */
export function holdsSecrets(method: string | undefined): boolean {
  return PLACES.has(method);
}

/** The same for any other value. */
export function redactValue(value: unknown): string {
  return printExact(withoutEncodedSecrets(redact(value)));
}

/** Text with what looks like a secret in it replaced. */
export function redactText(text: string): string {
  return mayHoldSecrets(text) ? withoutSecrets(text) : text;
}

/** Methods whose frames hold more secrets than their names and looks tell; each replaces them in a copy of a frame. */
const PLACES: ReadonlyMap<string | undefined, (frame: JsonObject) => JsonObject> = new Map([
  [Method.authenticate, credentials],
  [Method.authLogin, credentials],
  [Method.elicitationCreate, answersAndQuery],
]);

function answersAndQuery(frame: JsonObject): JsonObject {
  const params = asObject(frame["params"]);
  if (typeof params["url"] === "string")
    return { ...frame, params: { ...params, url: params["url"].replace(/[?#].*/s, `?${mask}`) } };
  const result = asObject(frame["result"]);
  return "content" in result ? { ...frame, result: { ...result, content: masked(result["content"]) } } : frame;
}

function credentials(frame: JsonObject): JsonObject {
  if (!isObject(frame["params"])) return frame;
  const { methodId, ...others } = frame["params"];
  return { ...frame, params: { methodId, ...asObject(masked(others)) } };
}

/** A copy in which every text and number is replaced. */
function masked(value: unknown): unknown {
  if (typeof value === "string" || typeof value === "number") return mask;
  if (Array.isArray(value)) return value.map(masked);
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, masked(item)]));
  return value;
}

/** A copy in which text that is encoded in base64, as terminal output and embedded files are, shows no secret either. */
function withoutEncodedSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEncodedSecrets);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      (key === "data" || key === "blob") && typeof item === "string"
        ? withoutSecretsInBase64(item)
        : withoutEncodedSecrets(item),
    ]),
  );
}

function withoutSecretsInBase64(text: string): string {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return text;
  const bytes = Buffer.from(text, "base64");
  if (!isUtf8(bytes)) return text;
  const decoded = bytes.toString();
  const redacted = redactText(decoded);
  return redacted === decoded ? text : Buffer.from(redacted).toString("base64");
}
