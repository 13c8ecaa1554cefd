/** The command line of `acp-shift trace …`. */
import type { Options } from "yargs";
import { suggestion } from "./nearest.ts";
import { parse, strictParser } from "./parser.ts";
import { UsageError } from "./usage-error.ts";

/** One sub-command: all that its command line and its `--help` are read from. */
interface TraceCommand {
  /** The words after `acp-shift trace`. */
  usage: string;
  /** One line for `acp-shift trace --help`. */
  summary: string;
  /** More, for its own `--help`. */
  epilogue?: string;
  /** By name; `array` ones may be given several times. */
  options: Readonly<Record<string, Options>>;
  /** The words behind `--` are a command; without it there may be none. */
  takesCommand?: true;
}

const text = (description: string, more: Options = {}): Options => ({
  type: "string",
  requiresArg: true,
  description,
  ...more,
});
const flag = (description: string): Options => ({ type: "boolean", description });
const color = flag("Colour the text or not; not given: when standard output is a terminal and NO_COLOR is not set");
const json = flag("Print it as JSON, as docs/trace.md describes");

const FORMATS = ["acp-inspector", "conductor", "ndjson"];
const LEG_NAMES = ["client-bridge", "bridge-agent", "agent-bridge", "bridge-client"];
const output = text("The file to write, overwritten if it exists; not given: standard output", { alias: "o" });

/** Every sub-command, in the order of `--help`; src/commands/trace.ts has the same names. */
export const traceCommands = {
  show: {
    usage: "show [options] FILE…",
    summary: "Show the frames in the terminal",
    options: {
      session: text("Only records of this session; a part of its id is enough", { array: true }),
      method: text("Only frames whose method or kind of update has this in it, and their answers", { array: true }),
      leg: text("Only records of this leg", {
        array: true,
        choices: ["client-bridge", "bridge-agent", "agent-bridge", "bridge-client"],
      }),
      since: text("Only records from then on: a time after the start (90s) or an ISO 8601 time"),
      grep: text("Only records whose JSON matches this regular expression, without regard to case"),
      errors: flag("Only errors, bytes that were no frame, and what was dropped"),
      follow: flag("Go on as the file grows, until the run ends"),
      frame: text("One record in full, with what made it and what became of it side by side"),
      pairs: flag("Show what became of each frame beside it, with what differs marked"),
      color,
    },
    epilogue: "FILE is a run's trace, and its later parts beside it are read as well; - is standard input.",
  },
  stats: {
    usage: "stats [--json] FILE…",
    summary: "Count frames and bytes, and time requests, turns, tool calls and permissions",
    options: { json, color },
  },
  check: {
    usage: "check [options] FILE…",
    summary: "Check every frame against the schema and the order rules of its protocol",
    options: {
      side: text("Only what this side broke", { array: true, choices: ["client", "agent", "bridge"] }),
      json,
      color,
    },
    epilogue: "Exit status: 0 when nobody broke a rule, 1 when somebody did, 2 when the file cannot be read.",
  },
  view: {
    usage: "view [options] FILE…",
    summary: "Show a run as a page in the browser: the conversation beside the frames",
    options: {
      open: flag("Open the page in the browser; --no-open only prints its address"),
      port: text("The port to serve it on, of this machine only; not given: any that is free"),
      live: flag("Go on as the file grows, until the run ends"),
    },
    epilogue: "The page is served to whoever has the address, which holds a secret, until it is interrupted.",
  },
  html: {
    usage: "html -o OUT FILE…",
    summary: "Write that page, with the run in it, as one file to attach to a report",
    options: { output: text("The file to write; one that exists is overwritten", { alias: "o" }) },
  },
  replay: {
    usage: "replay [options] FILE… [-- <command> [args…]]",
    summary: "Play the recorded agent as a process, or the recorded client against an agent",
    options: {
      as: text("Whom to play; client needs the agent's command behind --", {
        choices: ["agent", "client"],
        default: "agent",
      }),
      side: text("Whose conversation with acp-shift is played; not given: that of the one who is played", {
        choices: ["agent", "client"],
      }),
      fast: flag("Wait for the other side, but not as long as the record took"),
      wait: text("As the client: how long the agent may be silent before the rest counts as unanswered", {
        default: "60s",
      }),
    },
    epilogue:
      "As the agent it ends as the recorded one did. As the client: 0 when all was as recorded, 1 when not, 126 or 127 when the command could not be run.",
    takesCommand: true,
  },
  verify: {
    usage: "verify FILE…",
    summary: "Put the recorded input through this version's core and show where its output differs",
    options: {},
    epilogue:
      "Exit status: 0 when nothing differs, 1 when something does or not all could be verified, 2 when the file cannot be read.",
  },
  export: {
    usage: "export --format FORMAT [options] FILE…",
    summary: "Write the trace in another tool's format",
    options: {
      format: text("acp-inspector, conductor, or ndjson: bare frames, one a line", { choices: FORMATS }),
      side: text("Only the client's or the agent's side; not given: the client's, and both for conductor", {
        choices: ["client", "agent"],
      }),
      leg: text("Only this leg", { array: true, choices: LEG_NAMES }),
      output,
    },
    epilogue: "docs/trace.md says what each format has no place for.",
  },
  import: {
    usage: "import [options] FILE",
    summary: "Make a trace of one in another tool's format",
    options: {
      format: text("acp-inspector, conductor or ndjson; not given: told from the file", { choices: FORMATS }),
      connection: text("Of an acp-inspector file with several connections: which one"),
      output,
    },
    epilogue: "FILE is - for standard input. docs/trace.md says what each format has no place for.",
  },
} as const satisfies Record<string, TraceCommand>;

export type TraceCommandName = keyof typeof traceCommands;

/** `acp-shift trace <command> [options] FILE… [-- command args…]`; options by name, as text, list or switch. */
export interface TraceLine {
  type: "trace";
  command: TraceCommandName;
  files: string[];
  options: Record<string, unknown>;
  /** The words behind `--`. */
  agent: string[];
}

/**
 * Reads the words after `acp-shift trace`.
 * @throws UsageError for a command or option that does not exist, or when no file is named
 */
export async function readTraceLine(
  words: readonly string[],
  agent: readonly string[],
): Promise<TraceLine | { type: "print"; text: string }> {
  const [name = "", ...others] = words;
  if (name === "" || name.startsWith("-")) return readWithoutCommand(words);
  if (!isTraceCommand(name)) {
    const names = Object.keys(traceCommands);
    throw new UsageError(`trace has no command ${name}${suggestion(name, names)}: it has ${names.join(", ")}`);
  }
  const { usage, summary, options, epilogue, takesCommand }: TraceCommand = traceCommands[name];
  let parser = (await strictParser({ anywhere: true })).usage(`acp-shift trace ${usage}\n\n${summary}.`);
  for (const [option, { array: _, ...rest }] of Object.entries(options)) parser = parser.option(option, rest);
  if (epilogue !== undefined) parser = parser.epilogue(epilogue);
  const lists = Object.keys(options).filter((option) => options[option]?.array);
  const parsed = parse(others, parser, { options: Object.keys(options), lists });
  if (parsed.text !== "") return { type: "print", text: parsed.text };
  if (parsed.rest.length === 0) throw new UsageError(`the file is missing: acp-shift trace ${usage}`);
  if (!takesCommand && agent.length > 0) throw new UsageError(`nothing may follow --: acp-shift trace ${usage}`);
  return { type: "trace", command: name, files: parsed.rest, options: parsed.given, agent: [...agent] };
}

async function readWithoutCommand(words: readonly string[]): Promise<{ type: "print"; text: string }> {
  const usage = "acp-shift trace <command> [options] FILE…";
  let parser = (await strictParser())
    .scriptName("acp-shift trace")
    .usage(`${usage}\n\nLooks at, checks and uses what --trace recorded.`);
  for (const { usage, summary } of Object.values(traceCommands)) parser = parser.command(usage, summary);
  const { text } = parse(words, parser, { options: [], lists: [] });
  if (text === "") throw new UsageError(`the command is missing: ${usage} (see acp-shift trace --help)`);
  return { type: "print", text };
}

function isTraceCommand(name: string): name is TraceCommandName {
  return Object.hasOwn(traceCommands, name);
}
