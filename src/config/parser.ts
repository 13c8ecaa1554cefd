/** The parser of the command line: yargs, strict, silent, and with complaints in our words. */
import { readFileSync } from "node:fs";
import type { Argv } from "yargs";
import { suggestion } from "./nearest.ts";
import { UsageError } from "./usage-error.ts";

/** What the parser made of the words: the help or version text if they ask for it, the options, and what follows them. */
export type Parsed = { text: string; given: Record<string, unknown>; rest: string[] };

/**
 * Runs the parser, which prints nothing and leaves the process alone.
 * @param known the names of its options, to suggest one that was meant; those in `lists` may be given several times
 * @throws UsageError for an option that does not exist or lacks its value
 */
export function parse(
  words: readonly string[],
  parser: Argv,
  known: { options: readonly string[]; lists: readonly string[] },
): Parsed {
  let parsed: Parsed = { text: "", given: {}, rest: [] };
  let failure: Error | undefined;
  parser.parse([...words], {}, (error, { $0: _program, _: rest, ...given }, output) => {
    failure = error;
    parsed = {
      text: output === "" ? "" : `${output}\n`,
      given: lastOfEach(given, known.lists),
      rest: rest.map(String),
    };
  });
  if (failure) throw new UsageError(`${complaint(failure.message, known.options)} (see acp-shift --help)`);
  return parsed;
}

/** An option given twice counts as it was given last, except a list, which grows. */
function lastOfEach(given: Record<string, unknown>, lists: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      if (lists.includes(name)) return [name, value === undefined || Array.isArray(value) ? value : [value]];
      return [name, Array.isArray(value) ? value.at(-1) : value];
    }),
  );
}

/**
 * A parser that takes no word for anything else than it is.
 * @param anywhere options may also stand behind other words; without it they end at the first of these
 */
export async function strictParser({ anywhere = false } = {}): Promise<Argv> {
  const { default: yargs } = await import("yargs");
  return yargs()
    .scriptName("acp-shift")
    .locale("en")
    .exitProcess(false)
    .parserConfiguration({
      "halt-at-non-option": !anywhere,
      "parse-numbers": false,
      "parse-positional-numbers": false,
      "dot-notation": false,
      "camel-case-expansion": false,
      "duplicate-arguments-array": true,
      "short-option-groups": false,
    })
    .strict(!anywhere)
    .strictOptions()
    .version(versionText())
    .help()
    .wrap(Math.min(process.stdout.columns ?? 100, 100));
}

function versionText(): string {
  const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const sdk = "@agentclientprotocol/sdk";
  return `acp-shift ${manifest.version} (ACP 1 and 2, ${sdk} ${manifest.dependencies[sdk]})`;
}

/** The parser's complaint in our words, with the option that was probably meant. */
function complaint(message: string, options: readonly string[]): string {
  const [, incomplete] = /^Not enough arguments following: (.+)$/.exec(message) ?? [];
  if (incomplete !== undefined) return `--${incomplete} needs a value`;
  const [, unknown] = /^Unknown arguments?: (.+)$/.exec(message) ?? [];
  if (unknown === undefined)
    return message
      .split("\n", 20)
      .map((line) => line.trim())
      .join(" ");
  const known = ["help", "version", ...options];
  const named = unknown.split(", ").map((name) => `--${name}${suggestion(name, known)}`);
  return `unknown option ${named.join(", ")}`;
}
