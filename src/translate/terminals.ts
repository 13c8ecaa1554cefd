import { asArray, asObject, asString, isObject, type JsonObject, without } from "../protocol/json.ts";
import { resolvePath } from "./paths.ts";

/** The `_meta` keys of the display-terminal extension, in the order in which a terminal lives. */
const DISPLAY_TERMINAL_KEYS = ["terminal_info", "terminal_output", "terminal_output_delta", "terminal_exit"] as const;

/** What a v1 tool call said about display terminals, taken apart. */
export interface DisplayTerminals {
  /** v2 `terminal_update` and `terminal_output_chunk` updates, to be sent before the tool call. */
  updates: JsonObject[];
  /** The tool call without the `_meta` keys that became updates. */
  toolCall: JsonObject;
  /** The terminal the tool call shows, as the client knows it now. */
  shown: ShownTerminal | undefined;
}

/** A tool call's display terminal, and the command the client was told. */
export interface ShownTerminal {
  terminalId: string;
  command: string | undefined;
}

/**
 * Takes the display-terminal extension out of a v1 tool call (docs/mapping.md §6): `_meta.terminal_info`,
 * `terminal_output`, `terminal_output_delta` and `terminal_exit` become v2 terminal updates. A key that names no
 * terminal is no such thing and stays. `_meta` goes when nothing is left in it.
 *
 * An agent may open the terminal before the tool's input is complete: the command of a terminal shown before is told as
 * soon as the raw input names it.
 *
 * @param cwd the session's directory, for a terminal that names none or a relative one
 * @param shown the terminal the tool call has shown so far
 */
export function displayTerminalsToV2(v1Update: JsonObject, cwd: string, shown?: ShownTerminal): DisplayTerminals {
  const opened = terminalOpened(v1Update) ?? shown;
  const command = inputCommand(v1Update);
  const isNews = opened === shown && shown !== undefined && command !== undefined && command !== shown.command;
  const named = isNews ? { ...shown, command } : opened;
  const updates: JsonObject[] = isNews ? [{ sessionUpdate: "terminal_update", ...named }] : [];

  const meta = v1Update._meta;
  if (!isObject(meta)) return { updates, toolCall: v1Update, shown: named };
  const taken: string[] = [];
  for (const key of DISPLAY_TERMINAL_KEYS) {
    const value = meta[key];
    if (!isObject(value) || typeof value.terminal_id !== "string") continue;
    const update = terminalUpdate(key, value, value.terminal_id, v1Update, cwd);
    if (update === undefined) continue;
    taken.push(key);
    updates.push(update);
  }
  if (taken.length === 0) return { updates, toolCall: v1Update, shown: named };
  const rest = without(meta, ...taken);
  const toolCall = Object.keys(rest).length > 0 ? { ...v1Update, _meta: rest } : without(v1Update, "_meta");
  return { updates, toolCall, shown: named };
}

function terminalOpened(v1Update: JsonObject): ShownTerminal | undefined {
  const info = asObject(asObject(v1Update._meta).terminal_info);
  const terminalId = asString(info.terminal_id);
  return terminalId === undefined ? undefined : { terminalId, command: asString(info.command) ?? commandOf(v1Update) };
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

/**
 * The command a terminal shows: the tool's raw input names it, else the title does. Raw input that is still empty says
 * that the title is not yet the command's either.
 */
function commandOf(v1Update: JsonObject): string | undefined {
  const { rawInput, title } = v1Update;
  const isIncomplete = isObject(rawInput) && Object.keys(rawInput).length === 0;
  return inputCommand(v1Update) ?? (isIncomplete ? undefined : asString(title) || undefined);
}

function inputCommand(v1Update: JsonObject): string | undefined {
  const { command } = asObject(v1Update.rawInput);
  if (typeof command === "string" && command !== "") return command;
  return Array.isArray(command) && command.length > 0 ? command.map(String).join(" ") : undefined;
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

/** The bytes that base64 text stands for; none when it is no base64. */
export function fromBase64(data: string): Uint8Array {
  try {
    return Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

/**
 * Text from bytes that come in pieces: what is whole, and the bytes of a character that is not complete yet, to be put
 * in front of the next piece. Bytes that are no UTF-8 become U+FFFD.
 */
export function decodePiece(pending: readonly number[], bytes: Uint8Array): { text: string; pending: number[] } {
  const all = Uint8Array.from([...pending, ...bytes]);
  const whole = all.length - incompleteTail(all);
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(all.subarray(0, whole));
  return { text, pending: [...all.subarray(whole)] };
}

/** How many bytes at the end begin a character that does not end there. */
function incompleteTail(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > back ? back : 0;
  }
  return 0;
}

/** A step in the life of a v2 display terminal. */
export interface TerminalStep {
  /** The terminal's beginning, with what is known of it. */
  info?: { command?: string; cwd?: string };
  /** Output, after what was sent before. */
  output?: string;
  /** A v2 `TerminalExitStatus`: the terminal's end. */
  exitStatus?: JsonObject;
}

/**
 * The `_meta` by which a v1 tool call tells a step of a terminal, to a client that announced the display-terminal
 * extension (docs/mapping.md §6, §13).
 */
export function displayTerminalToV1(terminalId: string, step: TerminalStep): JsonObject {
  const { info, output, exitStatus } = step;
  const terminal_id = terminalId;
  const exit = exitStatus && {
    terminal_id,
    exit_code: exitStatus.exitCode ?? null,
    signal: exitStatus.signal ?? null,
  };
  return {
    ...(info && { terminal_info: { terminal_id, ...info } }),
    ...(output !== undefined && { terminal_output: { terminal_id, data: output } }),
    ...(exit && { terminal_exit: exit }),
  };
}

/**
 * A v2 display terminal as v1 tool-call content, for a client that did not announce the extension (docs/mapping.md
 * §13): one text block with the command, the output so far, and how it ended unless it ended well.
 */
export function terminalAsText(terminal: { command?: string; output: string; exitStatus?: JsonObject }): JsonObject {
  const { command, output, exitStatus } = terminal;
  const code = exitStatus?.exitCode;
  const signal = asString(exitStatus?.signal);
  const end = signal ? `[ended by ${signal}]` : typeof code === "number" && code !== 0 ? `[exit ${code}]` : "";
  const shown = [command ? `$ ${command}` : "", output.replace(/\n$/, ""), end].filter((part) => part !== "");
  return { type: "content", content: { type: "text", text: shown.join("\n") } };
}
