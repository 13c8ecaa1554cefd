import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import envPaths from "env-paths";
import { isObject } from "../protocol/json.ts";
import { jsonFault } from "./json-fault.ts";
import { suggestion } from "./nearest.ts";
import { optionNames } from "./options.ts";
import type { Source } from "./settings.ts";
import { UsageError } from "./usage-error.ts";

/**
 * Reads the configuration file: a JSON object whose keys are the option names as on the command line.
 * @param named the file a person named; else `acp-shift/config.json` in the user's configuration directory
 * @returns undefined when no file was named and there is none
 * @throws UsageError for a named file that is missing, one that cannot be read, is no JSON, or has an unknown key
 */
export async function readConfigFile(named: string | undefined): Promise<Source | undefined> {
  const file = named === undefined ? usualFile() : resolve(named);
  if (file === undefined) return undefined;
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (named === undefined && (code === "ENOENT" || code === "ENOTDIR")) return undefined;
    throw new UsageError(`${file}: ${reason(code)}`);
  }
  return parseConfigFile(file, text);
}

/** The source in a configuration file's text. Throws UsageError when it is no JSON, no object, or has an unknown key. */
export function parseConfigFile(file: string, text: string): Source {
  const json = text.replace(/^\uFEFF/, "");
  const fault = jsonFault(json);
  if (fault !== undefined) throw new UsageError(`${file}:${lineAndColumn(json, fault)}: ${faultAt(json, fault)}`);
  const values: unknown = JSON.parse(json);
  if (!isObject(values)) throw new UsageError(`${file}: expected a JSON object of options`);
  for (const key of Object.keys(values)) {
    if (!optionNames.includes(key)) {
      throw new UsageError(`${file}: unknown option "${key}"${suggestion(key, optionNames)}`);
    }
  }
  return { values, place: (option) => `${file}: "${option}"`, directory: dirname(file) };
}

function usualFile(): string | undefined {
  try {
    return join(envPaths("acp-shift", { suffix: "" }).config, "config.json");
  } catch {
    // A user without a home directory has no configuration directory either.
    return undefined;
  }
}

function reason(code: string | undefined): string {
  if (code === "ENOENT" || code === "ENOTDIR") return "no such configuration file";
  if (code === "EACCES" || code === "EPERM") return "the configuration file may not be read";
  if (code === "EISDIR") return "expected a configuration file, found a directory";
  return `the configuration file cannot be read (${code})`;
}

function lineAndColumn(text: string, offset: number): string {
  const before = text.slice(0, offset).split("\n");
  return `${before.length}:${(before.at(-1)?.length ?? 0) + 1}`;
}

function faultAt(text: string, offset: number): string {
  return offset >= text.length
    ? "not JSON: the end comes too early"
    : `not JSON: unexpected ${JSON.stringify(String.fromCodePoint(text.codePointAt(offset) ?? 0))}`;
}
