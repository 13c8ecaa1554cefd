/**
 * Files for an agent whose client has none to offer (docs/mapping.md §10): the v1 `fs/*` requests, answered from this
 * machine's disk.
 */
import { isUtf8 } from "node:buffer";
import { randomBytes } from "node:crypto";
import type { Stats } from "node:fs";
import { access, chmod, constants, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ErrorCode, invalidParams, RequestFault, rpcError } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/json.ts";
import { countParam, pathParam } from "./params.ts";
import { isMissing, pathWithin } from "./roots.ts";

/** The largest file that is read, in bytes. */
const MAX_READ_BYTES = 32 * 1024 * 1024;

/**
 * `fs/read_text_file` (schema v1 `ReadTextFileRequest`): the file's text, from line `line` on (1-based; 0 counts as 1), at
 * most `limit` lines. Lines keep their ends, a byte order mark stays; past the end there is no text.
 *
 * @param roots the session's `cwd` and `additionalDirectories`
 * @throws RequestFault `-32602` for a path outside the roots and for what is no text file, `-32002` with
 *   `data: {uri: path}` for a missing file, `-32603` when the system refuses
 */
export async function readTextFile(params: JsonObject, roots: readonly string[]): Promise<JsonObject> {
  const path = pathParam(params, "path");
  const line = countParam(params, "line") ?? 1;
  const limit = countParam(params, "limit") ?? Number.POSITIVE_INFINITY;
  const bytes = await asking(path, "read", async () => {
    const real = await pathWithin(roots, path);
    const { size } = regularFile(await stat(real), path);
    if (size > MAX_READ_BYTES) throw invalidParams("the file is larger than 32 MiB", { path });
    return readFile(real);
  });
  if (bytes.includes(0)) throw invalidParams("the file is binary", { path });
  if (!isUtf8(bytes)) throw invalidParams("the file is not UTF-8 text", { path });
  return { content: linesOf(bytes.toString(), line, limit) };
}

/**
 * `fs/write_text_file` (schema v1 `WriteTextFileRequest`): the file has the old text or the new, at any time. Missing
 * directories are made; an existing file keeps its mode. (It is replaced, so another hard link to it keeps the old text.)
 *
 * @param roots the session's `cwd` and `additionalDirectories`
 * @throws RequestFault `-32602` for a path outside the roots or to what is no file, `-32603` when the system refuses
 */
export async function writeTextFile(params: JsonObject, roots: readonly string[]): Promise<JsonObject> {
  const path = pathParam(params, "path");
  const { content } = params;
  if (typeof content !== "string") throw invalidParams("content must be a string");
  await asking(path, "written", async () => {
    const real = await pathWithin(roots, path);
    const mode = await modeOf(real, path);
    await mkdir(dirname(real), { recursive: true });
    await replaceFile(real, content, mode);
  });
  return {};
}

/** The part of the text that begins with the line and has at most so many lines. */
function linesOf(text: string, line: number, limit: number): string {
  const start = afterLines(text, 0, line - 1);
  return text.slice(start, afterLines(text, start, limit));
}

/** The index that comes `count` lines after `start`. */
function afterLines(text: string, start: number, count: number): number {
  let index = start;
  for (let passed = 0; passed < count && index < text.length; passed++) {
    const lineFeed = text.indexOf("\n", index);
    index = lineFeed === -1 ? text.length : lineFeed + 1;
  }
  return index;
}

function regularFile(status: Stats, path: string): Stats {
  if (status.isDirectory()) throw invalidParams("path is a directory", { path });
  if (!status.isFile()) throw invalidParams("path is not a regular file", { path });
  return status;
}

/** The mode of a file that may be overwritten; undefined for one that does not exist. */
async function modeOf(real: string, path: string): Promise<number | undefined> {
  try {
    const { mode } = regularFile(await stat(real), path);
    await access(real, constants.W_OK);
    return mode & 0o7777;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") throw invalidParams("path goes through a file", { path });
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function replaceFile(path: string, content: string, mode: number | undefined): Promise<void> {
  const draft = join(dirname(path), `.acp-shift-${randomBytes(8).toString("hex")}`);
  try {
    await writeFile(draft, content, { flag: "wx", mode: mode ?? 0o666 });
    // The process's umask may have taken something off.
    if (mode !== undefined) await chmod(draft, mode);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** Runs what asks the system; its errors become faults that say what could not be done. */
async function asking<Result>(path: string, done: "read" | "written", ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof RequestFault) throw error;
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    if (done === "read" && isMissing(error)) {
      throw new RequestFault(rpcError(ErrorCode.resourceNotFound, "the file does not exist", { uri: path }));
    }
    throw new RequestFault(rpcError(ErrorCode.internalError, `the file could not be ${done}: ${code}`, { path }));
  }
}
