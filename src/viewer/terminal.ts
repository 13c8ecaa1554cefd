import { asArray, asObject, asString, isObject, type JsonObject } from "../protocol/json.ts";

/** A terminal as a client would show it. */
export interface Terminal {
  id: string;
  readonly command: string;
  readonly cwd: string;
  /** Without control sequences. */
  readonly output: string;
  /** How it ended, in words; undefined while it runs. */
  readonly exit: string | undefined;
  /** Takes in v2's `terminal_update` or `terminal_output_chunk`. */
  updated(update: JsonObject): void;
  /** Takes in the result of v1's `terminal/output` or `terminal/wait_for_exit`. */
  answered(result: JsonObject): void;
}

/** How much output is kept to be shown, in characters: the end of it. */
const MOST_OUTPUT = 200_000;

/** Makes a terminal; `created` is what v1's `terminal/create` asked for. */
export function createTerminal(created: JsonObject, id = ""): Terminal {
  let decoder = new TextDecoder();
  const terminal = {
    id,
    command: [created["command"], ...asArray(created["args"])].filter((word) => typeof word === "string").join(" "),
    cwd: asString(created["cwd"]) ?? "",
    output: "",
    exit: undefined as string | undefined,
    updated(update: JsonObject): void {
      terminal.command = asString(update["command"]) ?? terminal.command;
      terminal.cwd = asString(update["cwd"]) ?? terminal.cwd;
      if (isObject(update["output"])) {
        decoder = new TextDecoder();
        terminal.output = "";
        append(decode(asString(update["output"]["data"]) ?? "", decoder));
      }
      if (update["sessionUpdate"] === "terminal_output_chunk") append(decode(asString(update["data"]) ?? "", decoder));
      if (isObject(update["exitStatus"])) terminal.exit = exitText(update["exitStatus"]);
    },
    answered(result: JsonObject): void {
      const output = asString(result["output"]);
      if (output !== undefined) {
        terminal.output = "";
        append(output);
      }
      const status = isObject(result["exitStatus"]) ? result["exitStatus"] : result;
      if ("exitCode" in status || "signal" in status) terminal.exit = exitText(status);
    },
  };

  function append(text: string): void {
    terminal.output = (terminal.output + withoutControls(text)).slice(-MOST_OUTPUT);
  }
  return terminal;
}

function decode(base64: string, decoder: InstanceType<typeof TextDecoder>): string {
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    return decoder.decode(bytes, { stream: true });
  } catch {
    return "";
  }
}

function exitText(status: JsonObject): string {
  const { exitCode, signal } = asObject(status);
  return typeof signal === "string" ? `ended by ${signal}` : `exit ${exitCode ?? "unknown"}`;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const CONTROLS = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])|[\x00-\x08\x0b-\x1f\x7f]/g;

/** Takes out what moves cursors and paints: escape sequences, carriage returns, backspaces. */
function withoutControls(text: string): string {
  return text.replace(CONTROLS, "");
}
