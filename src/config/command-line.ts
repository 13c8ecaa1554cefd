import { readFileSync } from "node:fs";
import type { Argv } from "yargs";
import { suggestion } from "./nearest.ts";
import { optionName, optionNames, options, readValue, settingNames } from "./options.ts";
import { readDefaults } from "./settings.ts";
import { at, UsageError } from "./usage-error.ts";

export type CommandLine =
  /** `acp-shift [options] -- command args…`; options by name, as text (switches as booleans), `config` among them. */
  | { type: "run"; options: Record<string, unknown>; command: string; args: string[] }
  /** `acp-shift doctor [options] -- command args…`; options as above, without `json`. */
  | { type: "doctor"; json: boolean; options: Record<string, unknown>; command: string; args: string[] }
  | { type: "demo"; both: boolean }
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
  // The usual call has no options of its own; it need not wait for the option parser to load.
  const parsed = own.length === 0 ? { text: "", given: {}, rest: [] } : readOptions(own, await mainParser());
  if (parsed.text !== "") return { type: "print", text: parsed.text };
  const [word] = parsed.rest;
  if (word === "demo") throw new UsageError("demo takes no options before it: acp-shift demo [--both]");
  if (word === "doctor") throw new UsageError(`doctor takes its options after it: ${doctorUsage}`);
  return { type: "run", options: parsed.given, ...readAgent(parsed.rest, agent, runUsage) };
}

async function readDoctor(words: readonly string[], agent: readonly string[]): Promise<CommandLine> {
  const { text, given, rest } = readOptions(words, await doctorParser());
  if (text !== "") return { type: "print", text };
  const { json, ...options } = given;
  return { type: "doctor", json: json === true, options, ...readAgent(rest, agent, doctorUsage) };
}

/** Reads our own options. @throws UsageError for one that does not exist, or a switch that is neither on nor off */
function readOptions(words: readonly string[], parser: Argv): Parsed {
  checkSwitches(words);
  return parse(words, parser);
}

/** @throws UsageError when there is no command, or `rest` shows that `--` was forgotten before it */
function readAgent(
  rest: readonly string[],
  agent: readonly string[],
  usage: string,
): { command: string; args: string[] } {
  if (rest.length > 0) {
    const meant = [...rest, ...(agent.length > 0 ? ["--", ...agent] : [])].join(" ");
    throw new UsageError(`put -- before the agent's command: ${usage.replace("<command> [args…]", meant)}`);
  }
  const [command, ...args] = agent;
  if (command === undefined || command === "") {
    throw new UsageError(`the agent's command is missing: ${usage} (see acp-shift --help)`);
  }
  return { command, args };
}

const runUsage = "acp-shift [options] -- <command> [args…]";
const doctorUsage = "acp-shift doctor [options] -- <command> [args…]";

async function readDemo(words: readonly string[], agent: readonly string[]): Promise<CommandLine> {
  const parser = (await strictParser())
    .usage(
      "acp-shift demo [--both]\n\nShows one conversation between a demo client and a demo agent through acp-shift.",
    )
    .option("both", { type: "boolean", description: "Also show the frames of the agent's side" });
  const { text, given, rest } = parse(words, parser);
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

/** What the parser made of the words: the help or version text if they ask for it, the options, and what follows them. */
type Parsed = { text: string; given: Record<string, unknown>; rest: string[] };

/** Runs the parser, which prints nothing and leaves the process alone. */
function parse(words: readonly string[], parser: Argv): Parsed {
  let parsed: Parsed = { text: "", given: {}, rest: [] };
  let failure: Error | undefined;
  parser.parse([...words], {}, (error, { $0: _program, _: rest, ...given }, output) => {
    failure = error;
    parsed = { text: output === "" ? "" : `${output}\n`, given: lastOfEach(given), rest: rest.map(String) };
  });
  if (failure) throw new UsageError(`${complaint(failure.message)} (see acp-shift --help)`);
  return parsed;
}

/** An option given twice counts as it was given last, except a list, which grows. */
function lastOfEach(given: Record<string, unknown>): Record<string, unknown> {
  const lists = new Set(settingNames.filter((setting) => options[setting].kind === "list").map(optionName));
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      if (lists.has(name)) return [name, value === undefined || Array.isArray(value) ? value : [value]];
      return [name, Array.isArray(value) ? value.at(-1) : value];
    }),
  );
}

async function strictParser(): Promise<Argv> {
  const { default: yargs } = await import("yargs");
  return yargs()
    .scriptName("acp-shift")
    .locale("en")
    .exitProcess(false)
    .parserConfiguration({
      "halt-at-non-option": true,
      "parse-numbers": false,
      "parse-positional-numbers": false,
      "dot-notation": false,
      "camel-case-expansion": false,
      "duplicate-arguments-array": true,
      "short-option-groups": false,
    })
    .strict()
    .version(versionText())
    .help();
}

async function mainParser(): Promise<Argv> {
  const parser = await ordinaryOptions(
    `${runUsage}\n\nLets a client that speaks version 2 of the Agent Client Protocol use an agent that speaks version 1, and the other way round. ` +
      "Speaks the protocol on standard input and output, and runs <command> as the agent.",
  );
  return parser
    .command(
      "doctor [--json] [options]",
      "Say what an agent offers, what becomes of it here, and whether it can be used",
    )
    .command("demo [--both]", "Show one conversation between a demo client and a demo agent")
    .epilogue(epilogue);
}

async function doctorParser(): Promise<Argv> {
  const parser = await ordinaryOptions(
    `${doctorUsage}\n\nStarts the agent, opens one session in the current directory and says what it is and offers, what ` +
      "acp-shift does in its stead, what does not cross, and what it does wrong.",
  );
  return parser
    .option("json", { type: "boolean", description: "Print it as JSON, as docs/doctor.md describes" })
    .epilogue(doctorEpilogue);
}

async function ordinaryOptions(usage: string): Promise<Argv> {
  const defaults = readDefaults();
  let parser = (await strictParser()).usage(usage);
  for (const setting of settingNames) {
    const name = optionName(setting);
    const { kind, description, choices } = options[setting];
    const byDefault = defaults[name] ?? undefined;
    parser = parser.option(name, {
      type: kind === "boolean" ? "boolean" : "string",
      requiresArg: kind !== "boolean",
      description: choices ? `${description} (${choices.join(", ")})` : description,
      ...(byDefault === undefined || kind === "list" ? {} : { defaultDescription: String(byDefault) }),
    });
  }
  return parser
    .option("config", {
      type: "string",
      requiresArg: true,
      description: "Configuration file; not given: acp-shift/config.json in your configuration directory",
    })
    .wrap(Math.min(process.stdout.columns ?? 100, 100));
}

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
  otherwise  the agent's own status when the agent ended, 1 when something else went wrong

Example:
  acp-shift --log-level info -- gemini --acp`;

function versionText(): string {
  const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const sdk = "@agentclientprotocol/sdk";
  return `acp-shift ${manifest.version} (ACP 1 and 2, ${sdk} ${manifest.dependencies[sdk]})`;
}

/** The parser's complaint in our words, with the option that was probably meant. */
function complaint(message: string): string {
  const [, incomplete] = /^Not enough arguments following: (.+)$/.exec(message) ?? [];
  if (incomplete !== undefined) return `--${incomplete} needs a value`;
  const [, unknown] = /^Unknown arguments?: (.+)$/.exec(message) ?? [];
  if (unknown === undefined) return message;
  const known = ["help", "version", "config", ...optionNames];
  const named = unknown.split(", ").map((name) => `--${name}${suggestion(name, known)}`);
  return `unknown option ${named.join(", ")}`;
}
