import type { Argv } from "yargs";
import { commonNames, optionName, optionNames, options, readValue, settingNames } from "./options.ts";
import { type Parsed, parse, strictParser } from "./parser.ts";
import { readDefaults } from "./settings.ts";
import type { TraceLine } from "./trace-line.ts";
import { at, UsageError } from "./usage-error.ts";

export type CommandLine =
  /**
   * `acp-shift [options] -- command args…`; options by name, as text (switches as booleans), `config` among them. Without a
   * command where the settings are to name another agent; `usage` is for the complaint when they do not.
   */
  | { type: "run" | "serve"; options: Record<string, unknown>; command: string[]; usage: string }
  /** `acp-shift doctor [options] -- command args…`; options as above, without `json`. */
  | { type: "doctor"; json: boolean; options: Record<string, unknown>; command: string; args: string[] }
  | { type: "demo"; both: boolean }
  | TraceLine
  /** `--help` or `--version`: what to print. */
  | { type: "print"; text: string };

/**
 * Reads the words after the program's name. Everything behind the first `--` is the agent's, word for word.
 * @throws UsageError for an option that does not exist or lacks its value, or when no agent command follows `--`
 */
export async function readCommandLine(words: readonly string[]): Promise<CommandLine> {
  const split = words.indexOf("--");
  const own = split < 0 ? words : words.slice(0, split);
  const agent = split < 0 ? [] : words.slice(split + 1);

  if (own[0] === "demo") return readDemo(own.slice(1), agent);
  if (own[0] === "doctor") return readDoctor(own.slice(1), agent);
  if (own[0] === "serve") return readServe(own.slice(1), agent);
  if (own[0] === "trace") {
    const { readTraceLine } = await import("./trace-line.ts");
    return readTraceLine(own.slice(1), agent);
  }
  // The usual call has no options of its own; it need not wait for the option parser to load.
  const parsed =
    own.length === 0 ? { text: "", given: {}, rest: [] } : readOptions(own, await mainParser(), commonNames);
  if (parsed.text !== "") return { type: "print", text: parsed.text };
  const [word] = parsed.rest;
  if (word === "demo") throw new UsageError("demo takes no options before it: acp-shift demo [--both]");
  if (word === "doctor") throw new UsageError(`doctor takes its options after it: ${doctorUsage}`);
  if (word === "serve") throw new UsageError(`serve takes its options after it: ${serveUsage}`);
  if (word === "trace") throw new UsageError("trace takes no options before it: acp-shift trace <command> FILE");
  return { type: "run", options: parsed.given, command: readWords(parsed.rest, agent, runUsage), usage: runUsage };
}

async function readServe(words: readonly string[], agent: readonly string[]): Promise<CommandLine> {
  const { text, given, rest } = readOptions(words, await serveParser(), optionNames);
  if (text !== "") return { type: "print", text };
  return { type: "serve", options: given, command: readWords(rest, agent, serveUsage), usage: serveUsage };
}

async function readDoctor(words: readonly string[], agent: readonly string[]): Promise<CommandLine> {
  const { text, given, rest } = readOptions(words, await doctorParser(), commonNames);
  if (text !== "") return { type: "print", text };
  const { json, ...options } = given;
  return { type: "doctor", json: json === true, options, ...readAgent(rest, agent, doctorUsage) };
}

const listNames = settingNames.filter((setting) => options[setting].kind === "list").map(optionName);

/** Reads our own options. @throws UsageError for one that does not exist, or a switch that is neither on nor off */
function readOptions(words: readonly string[], parser: Argv, names: readonly string[]): Parsed {
  checkSwitches(words);
  const foreign = optionNames.find((name) => !names.includes(name) && words.some((word) => isOption(word, name)));
  if (foreign !== undefined) throw new UsageError(`--${foreign} is an option of serve: ${serveUsage}`);
  return parse(words, parser, { options: ["config", ...names], lists: listNames });
}

function isOption(word: string, name: string): boolean {
  return word === `--${name}` || word.startsWith(`--${name}=`);
}

/** The agent's command, or nothing. @throws UsageError when `rest` shows that `--` was forgotten before it */
function readWords(rest: readonly string[], agent: readonly string[], usage: string): string[] {
  if (rest.length > 0) {
    const meant = [...rest, ...(agent.length > 0 ? ["--", ...agent] : [])].join(" ");
    throw new UsageError(`put -- before the agent's command: ${usage.replace("<command> [args…]", meant)}`);
  }
  return [...agent];
}

/** @throws UsageError when there is no command, or `rest` shows that `--` was forgotten before it */
function readAgent(
  rest: readonly string[],
  agent: readonly string[],
  usage: string,
): { command: string; args: string[] } {
  const [command, ...args] = readWords(rest, agent, usage);
  if (command === undefined || command === "") {
    throw new UsageError(`the agent's command is missing: ${usage} (see acp-shift --help)`);
  }
  return { command, args };
}

const runUsage = "acp-shift [options] -- <command> [args…]";
const serveUsage = "acp-shift serve --listen URL [options] -- <command> [args…]";
const doctorUsage = "acp-shift doctor [options] -- <command> [args…]";

async function readDemo(words: readonly string[], agent: readonly string[]): Promise<CommandLine> {
  const parser = (await strictParser())
    .usage(
      "acp-shift demo [--both]\n\nShows one conversation between a demo client and a demo agent through acp-shift.",
    )
    .option("both", { type: "boolean", description: "Also show the frames of the agent's side" });
  const { text, given, rest } = parse(words, parser, { options: ["both"], lists: [] });
  if (text !== "") return { type: "print", text };
  const surplus = [...rest, ...agent];
  if (surplus.length > 0) throw new UsageError(`demo takes no command: ${surplus.join(" ")} is too much`);
  return { type: "demo", both: given["both"] === true };
}

/** yargs takes `--tty-passthrough=anything` for false. */
function checkSwitches(words: readonly string[]): void {
  for (const setting of settingNames) {
    if (options[setting].kind !== "boolean") continue;
    const prefix = `--${optionName(setting)}=`;
    const word = words.find((candidate) => candidate.startsWith(prefix));
    if (word) at(prefix.slice(0, -1), () => readValue(options[setting], word.slice(prefix.length), ""));
  }
}

async function mainParser(): Promise<Argv> {
  const parser = await ordinaryOptions(
    `${runUsage}\n       acp-shift [options] --connect URL\n\nLets a client that speaks version 2 of the Agent Client Protocol use an agent that speaks version 1, and the other way round. ` +
      "Speaks the protocol on standard input and output, and runs <command> as the agent.",
    commonNames,
  );
  return parser
    .command(
      "doctor [--json] [options]",
      "Say what an agent offers, what becomes of it here, and whether it can be used",
    )
    .command(
      "serve --listen URL [options]",
      "Serve clients over a network or a socket, each with an agent of its own (see acp-shift serve --help)",
    )
    .command("demo [--both]", "Show one conversation between a demo client and a demo agent")
    .command("trace <command> FILE", "Look at, check and use what --trace recorded (see acp-shift trace --help)")
    .epilogue(epilogue);
}

async function doctorParser(): Promise<Argv> {
  const parser = await ordinaryOptions(
    `${doctorUsage}\n\nStarts the agent, opens one session in the current directory and says what it is and offers, what ` +
      "acp-shift does in its stead, what does not cross, and what it does wrong.",
    commonNames,
  );
  return parser
    .option("json", { type: "boolean", description: "Print it as JSON, as docs/doctor.md describes" })
    .epilogue(doctorEpilogue);
}

async function serveParser(): Promise<Argv> {
  const parser = await ordinaryOptions(
    `${serveUsage}\n       acp-shift serve --listen URL [options] --connect URL\n\nServes clients that connect, each ` +
      "with a bridge and an agent of its own, until a signal ends it (docs/remote.md).",
    optionNames,
  );
  return parser.epilogue(serveEpilogue);
}

async function ordinaryOptions(usage: string, names: readonly string[]): Promise<Argv> {
  const defaults = readDefaults();
  let parser = (await strictParser()).usage(usage);
  for (const setting of settingNames) {
    const name = optionName(setting);
    if (!names.includes(name)) continue;
    const { kind, description, choices } = options[setting];
    const byDefault = defaults[name] ?? undefined;
    parser = parser.option(name, {
      type: kind === "boolean" ? "boolean" : "string",
      requiresArg: kind !== "boolean",
      description: choices ? `${description} (${choices.join(", ")})` : description,
      ...(byDefault === undefined || kind === "list" ? {} : { defaultDescription: String(byDefault) }),
    });
  }
  return parser.option("config", {
    type: "string",
    requiresArg: true,
    description: "Configuration file; not given: acp-shift/config.json in your configuration directory",
  });
}

const serveEpilogue = `Without --token-file only this machine is listened to. A duration without a unit counts seconds for the options that only serve has. All options can also be given as variables or in the configuration file, as acp-shift --help says.

Exit status:
  2          the command line, a variable or the configuration file cannot be used
  128+n      signal n ended it
  1          something else went wrong

Example:
  acp-shift serve --listen ws://127.0.0.1:7000 --listen unix:/run/acp.sock -- gemini --acp`;

const doctorEpilogue = `Exit status:
  0          the agent can be used, perhaps after logging in
  1          it cannot be used
  2          the command line, a variable or the configuration file cannot be used
  126, 127   the agent's command could not be run, or does not exist

Example:
  acp-shift doctor -- gemini --acp`;

const epilogue = `Durations are written 250ms, 30s, 5m, 1h or as plain milliseconds, sizes 10KiB, 64MiB, 1GiB, 10MB or as plain bytes.

Every option can also be given as a variable (ACP_SHIFT_HANDSHAKE_TIMEOUT=90s) or in the configuration file, a JSON object with the names above as keys ({"handshake-timeout": "90s"}). The command line wins over variables, these over the file.

Exit status:
  0          the client left
  2          the command line, a variable or the configuration file cannot be used
  126, 127   the agent's command could not be run, or does not exist
  128+n      signal n ended the agent or acp-shift
  otherwise  the agent's own status when the agent ended (0 when one reached with --connect closed the connection), 1 when something else went wrong

Example:
  acp-shift --log-level info -- gemini --acp`;
