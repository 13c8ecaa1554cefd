import { asArray, asString, isObject, type JsonObject, without } from "../protocol/json.ts";
import { resolvePath } from "./paths.ts";

/** The `_meta` keys of the display-terminal extension, in the order in which a terminal lives. */
const DISPLAY_TERMINAL_KEYS = ["terminal_info", "terminal_output", "terminal_output_delta", "terminal_exit"] as const;

/** What a v1 tool call said about display terminals, taken apart. */
export interface DisplayTerminals {
  /** v2 `terminal_update` and `terminal_output_chunk` updates, to be sent before the tool call. */
  updates: JsonObject[];
  /** The tool call without the `_meta` keys that became updates. */
  toolCall: JsonObject;
}

/**
 * Takes the display-terminal extension out of a v1 tool call (docs/mapping.md §6): `_meta.terminal_info`,
 * `terminal_output`, `terminal_output_delta` and `terminal_exit` become v2 terminal updates. A key that names no
 * terminal is no such thing and stays. `_meta` goes when nothing is left in it.
 *
 * @param cwd the session's directory, for a terminal that names none or a relative one
 */
export function displayTerminalsToV2(v1Update: JsonObject, cwd: string): DisplayTerminals {
  const meta = v1Update._meta;
  if (!isObject(meta)) return { updates: [], toolCall: v1Update };
  const taken: string[] = [];
  const updates: JsonObject[] = [];
  for (const key of DISPLAY_TERMINAL_KEYS) {
    const value = meta[key];
    if (!isObject(value) || typeof value.terminal_id !== "string") continue;
    const update = terminalUpdate(key, value, value.terminal_id, v1Update, cwd);
    if (update === undefined) continue;
    taken.push(key);
    updates.push(update);
  }
  if (taken.length === 0) return { updates, toolCall: v1Update };
  const rest = without(meta, ...taken);
  const toolCall = Object.keys(rest).length > 0 ? { ...v1Update, _meta: rest } : without(v1Update, "_meta");
  return { updates, toolCall };
}

function terminalUpdate(
  key: (typeof DISPLAY_TERMINAL_KEYS)[number],
  value: JsonObject,
  terminalId: string,
  v1Update: JsonObject,
  cwd: string,
): JsonObject | undefined {
  const rest = without(value, "terminal_id", "cwd", "data", "exit_code", "signal");
  switch (key) {
    case "terminal_info": {
      const command = asString(value.command) ?? commandOf(v1Update);
      return {
        ...rest,
        sessionUpdate: "terminal_update",
        terminalId,
        cwd: resolvePath(cwd, asString(value.cwd) ?? cwd),
        ...(command === undefined ? {} : { command }),
      };
    }
    case "terminal_output":
    case "terminal_output_delta": {
      const data = asString(value.data);
      if (data === undefined) return undefined;
      return { ...rest, sessionUpdate: "terminal_output_chunk", terminalId, data: toBase64(data) };
    }
    case "terminal_exit": {
      const { exit_code, signal } = value;
      const exitStatus = {
        ...(Number.isSafeInteger(exit_code) ? { exitCode: exit_code } : {}),
        ...(typeof signal === "string" ? { signal } : {}),
      };
      return { ...rest, sessionUpdate: "terminal_update", terminalId, exitStatus };
    }
  }
}

/** The command a terminal shows: the tool's raw input names it, else the title does. */
function commandOf(v1Update: JsonObject): string | undefined {
  const command = isObject(v1Update.rawInput) ? v1Update.rawInput.command : undefined;
  if (typeof command === "string" && command !== "") return command;
  if (Array.isArray(command) && command.length > 0) return command.map(String).join(" ");
  return asString(v1Update.title) || undefined;
}

/** The ids of the terminals a tool call's content shows (schema `ToolCallContent`, type `terminal`). */
export function terminalsReferred(v1Update: JsonObject): string[] {
  return asArray(v1Update.content)
    .filter(isObject)
    .filter((item) => item.type === "terminal")
    .flatMap((item) => asString(item.terminalId) ?? []);
}

/** The bytes turned into characters at once; argument lists have a limit. */
const BASE64_SLICE = 0x2000;

/** Text as base64 of its UTF-8 bytes. Half of a surrogate pair becomes U+FFFD. */
export function toBase64(text: string): string {
  const bytes = new TextEncoder().encode(text);
  let binary = "";
  for (let at = 0; at < bytes.length; at += BASE64_SLICE) {
    binary += String.fromCharCode(...bytes.subarray(at, at + BASE64_SLICE));
  }
  return btoa(binary);
}
