import { createHash, timingSafeEqual } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { UsageError } from "../config/usage-error.ts";
import { isObject } from "../protocol/json.ts";

/** A secret both ends know. */
export interface Token {
  /** Whether this is it. Takes as long for a wrong one as for the right one. */
  matches(given: string | undefined): boolean;
  /** The value of the `Authorization` header that presents it. */
  readonly bearer: string;
  /** The line that presents it where there are no headers, with its line break. */
  readonly line: string;
}

/** The notification that presents a token on a connection without headers. Whoever does not know it ignores it. */
export const TOKEN_METHOD = "_acp-shift/token";

/**
 * Reads a token: the file's text without white space round it.
 * @param warn gets told when others than the owner may read the file
 * @param option the option that named the file
 * @throws UsageError when the file cannot be read, is empty, or holds what no header can carry
 */
export function readToken(file: string, warn: (text: string) => void, option = "--token-file"): Token {
  let text: string;
  try {
    text = readFileSync(file, "utf8").trim();
    if (process.platform !== "win32" && (statSync(file).mode & 0o004) !== 0)
      warn(`${file} can be read by everybody on this machine: chmod 600 keeps the token a secret`);
  } catch (error) {
    throw new UsageError(`${option}: ${file} cannot be read: ${(error as Error).message}`);
  }
  if (text === "") throw new UsageError(`${option}: ${file} is empty`);
  if (!/^[\x21-\x7e]+$/.test(text))
    throw new UsageError(`${option}: ${file} holds white space or other characters a token cannot have`);
  return tokenOf(text);
}

/** The token with this text. */
export function tokenOf(text: string): Token {
  const digest = digestOf(text);
  return {
    matches: (given) => given !== undefined && timingSafeEqual(digestOf(given), digest),
    bearer: `Bearer ${text}`,
    line: `${JSON.stringify({ jsonrpc: "2.0", method: TOKEN_METHOD, params: { token: text } })}\n`,
  };
}

/** The token an `Authorization` header presents. */
export function bearerIn(header: string | undefined): string | undefined {
  return /^bearer +(\S+) *$/i.exec(header ?? "")?.[1];
}

/** The token a message presents; undefined when it is another message. */
export function tokenIn(message: unknown): string | undefined {
  if (!isObject(message) || message["method"] !== TOKEN_METHOD || !isObject(message["params"])) return undefined;
  return String(message["params"]["token"]);
}

/** Of equal length for all texts, so that comparing tells nothing of it. */
function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
