// Guards the command line: strict about our own options, and everything behind the first `--` is the agent's, word for
// word.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { agentOf } from "../../src/commands/agent.ts";
import { readCommandLine } from "../../src/config/command-line.ts";
import { commonNames, optionNames } from "../../src/config/options.ts";
import { commandLineSource, readDefaults, resolveSettings } from "../../src/config/settings.ts";
import { UsageError } from "../../src/config/usage-error.ts";

const agent = { command: "gemini", args: ["--acp"] };
const usage = "acp-shift [options] -- <command> [args…]";
const run = (options: Record<string, unknown>) => ({ type: "run", options, command: ["gemini", "--acp"], usage });

test.each<[string[], Record<string, unknown>]>([
  [[], {}],
  [["--settle", "5"], { settle: "5" }],
  [["--settle=5"], { settle: "5" }],
  [["--settle", "007"], { settle: "007" }],
  [["--settle", "5", "--settle", "6"], { settle: "6" }],
  [["--no-tty-passthrough"], { "tty-passthrough": false }],
  [["--tty-passthrough=false"], { "tty-passthrough": false }],
  [["--tty-passthrough"], { "tty-passthrough": true }],
  [["--log-file", "a b", "--config", "c.json"], { "log-file": "a b", config: "c.json" }],
])("options before --: %j", async (words, options) => {
  expect(await readCommandLine([...words, "--", "gemini", "--acp"])).toEqual(run(options));
});

test.each([
  [["--help"]],
  [["--version", "-v"]],
  [["", "", "a b"]],
  [["007", "1e3", "-5", "true"]],
  [["--", "--settle", "5", "--"]],
  [["demo", "--both"]],
  [["--x=1", "--no-x", "-abc", "é", "\n", "$HOME"]],
])("the agent's words stay as they are: %j", async (args) => {
  expect(await readCommandLine(["--", "x", ...args])).toEqual({ ...run({}), command: ["x", ...args] });
  expect(await readCommandLine(["--settle=1", "--", "x", ...args])).toMatchObject({ command: ["x", ...args] });
});

test.each([
  [["gemini", "--acp"], "put -- before the agent's command: acp-shift [options] -- gemini --acp"],
  [["--settle", "5", "gemini", "--help"], "put -- before the agent's command: acp-shift [options] -- gemini --help"],
  [["gemini", "--", "--acp"], "put -- before the agent's command: acp-shift [options] -- gemini -- --acp"],
  [["--setle", "5", "--", "x"], 'unknown option --setle (did you mean "settle"?)'],
  [["--colour", "--bold", "--", "x"], "unknown option --colour, --bold"],
  [["-x", "--", "x"], "unknown option --x"],
  [["--logLevel", "debug", "--", "x"], 'unknown option --logLevel (did you mean "log-level"?)'],
  [["--log.level", "debug", "--", "x"], "unknown option --log.level"],
  [["--settle", "--", "x"], "--settle needs a value"],
  [["--settle", "--log-level", "info", "--", "x"], "--settle needs a value"],
  [["--tty-passthrough=maybe", "--", "x"], '--tty-passthrough: expected true or false, found "maybe"'],
  [["demo", "--bth"], "unknown option --bth"],
  [["demo", "gemini"], "demo takes no command: gemini is too much"],
  [["demo", "--", "gemini"], "demo takes no command: gemini is too much"],
  [["--settle", "5", "demo"], "demo takes no options before it"],
  [["doctor"], "the agent's command is missing: acp-shift doctor [options] -- <command> [args…]"],
  [["doctor", "gemini", "--acp"], "put -- before the agent's command: acp-shift doctor [options] -- gemini --acp"],
  [["doctor", "--setle", "5", "--", "x"], 'unknown option --setle (did you mean "settle"?)'],
  [["doctor", "--tty-passthrough=maybe", "--", "x"], '--tty-passthrough: expected true or false, found "maybe"'],
  [["--settle", "5", "doctor", "--", "x"], "doctor takes its options after it: acp-shift doctor [options] -- "],
  [["--json", "--", "x"], "unknown option --json"],
  [["--listen", "tcp:localhost:1", "--", "x"], "--listen is an option of serve: acp-shift serve --listen URL"],
  [["doctor", "--max-connections=1", "--", "x"], "--max-connections is an option of serve"],
  [["serve", "gemini"], "put -- before the agent's command: acp-shift serve --listen URL [options] -- gemini"],
  [["serve", "--lisen", "x", "--", "x"], 'unknown option --lisen (did you mean "listen"?)'],
  [["--settle", "5", "serve", "--", "x"], "serve takes its options after it: acp-shift serve --listen URL"],
  [["trace"], "the command is missing: acp-shift trace <command> [options] FILE…"],
  [["trace", "shw", "f"], 'trace has no command shw (did you mean "show"?)'],
  [["trace", "show"], "the file is missing: acp-shift trace show [options] FILE…"],
  [["trace", "show", "f", "--colr"], 'unknown option --colr (did you mean "color"?)'],
  [["trace", "show", "f", "--leg", "agent"], 'Argument: leg, Given: "agent"'],
  [["trace", "show", "--grep"], "--grep needs a value"],
  [["trace", "stats", "f", "--", "x"], "nothing may follow --"],
  [["--settle", "5", "trace", "show", "f"], "trace takes no options before it"],
])("%j cannot be used", async (words, message) => {
  await expect(readCommandLine(words)).rejects.toThrow(UsageError);
  await expect(readCommandLine(words)).rejects.toThrow(message);
});

test.each<[string[], string]>([
  [[], `the agent's command is missing: ${usage}`],
  [["--"], "the agent's command is missing"],
  [["--settle", "5"], "the agent's command is missing"],
  [["--", "", "x"], "the agent's command is missing"],
  [["serve", "--listen", "tcp:localhost:0"], "the agent's command is missing: acp-shift serve --listen URL"],
  [["--connect", "unix:/s", "--", "x", "-y"], "--connect takes the place of the agent's command: leave out -- x -y"],
  [["--connect", "localhost:7000"], '--connect: "localhost:7000" cannot be used: expected unix:/path, '],
])("%j names no agent", async (words, message) => {
  const line = await readCommandLine(words);
  if (line.type !== "run" && line.type !== "serve") throw new Error(line.type);
  const settings = resolveSettings([commandLineSource(line.options)]);
  await expect(agentOf(settings, line.command, line.usage)).rejects.toThrow(message);
  await expect(agentOf(settings, line.command, line.usage)).rejects.toThrow(UsageError);
});

test("serve takes all options, and a list of addresses", async () => {
  const words = ["serve", "--listen", "ws://localhost:1", "--settle", "5", "--listen=unix:/s", "--", "x", "--listen"];
  expect(await readCommandLine(words)).toMatchObject({
    type: "serve",
    options: { listen: ["ws://localhost:1", "unix:/s"], settle: "5" },
    command: ["x", "--listen"],
  });
});

test.each([
  [["demo"], false],
  [["demo", "--both"], true],
  [["demo", "--no-both"], false],
])("%j", async (words, both) => {
  expect(await readCommandLine(words)).toEqual({ type: "demo", both });
});

test.each<[string[], boolean, Record<string, unknown>]>([
  [[], false, {}],
  [["--json"], true, {}],
  [["--settle", "5", "--json", "--config", "c.json"], true, { settle: "5", config: "c.json" }],
])("doctor %j", async (words, json, options) => {
  const line = await readCommandLine(["doctor", ...words, "--", "gemini", "--acp"]);
  expect(line).toEqual({ type: "doctor", json, options, ...agent });
});

test.each<[string[], Record<string, unknown>]>([
  [["show", "f"], { command: "show", files: ["f"] }],
  [["show", "-", "--errors"], { files: ["-"], options: { errors: true } }],
  [["show", "a", "b", "--no-color"], { files: ["a", "b"], options: { color: false } }],
  [["show", "--leg", "client-bridge", "f"], { files: ["f"], options: { leg: ["client-bridge"] } }],
  [["show", "--method", "x", "f", "--method=y"], { files: ["f"], options: { method: ["x", "y"] } }],
  [["show", "--grep", "a", "--grep", "b", "f"], { options: { grep: "b" } }],
  [["check", "--json", "007"], { command: "check", files: ["007"], options: { json: true } }],
])("trace %j", async (words, line) => {
  expect(await readCommandLine(["trace", ...words])).toMatchObject({ type: "trace", agent: [], ...line });
});

test("doctor's words behind -- are the agent's", async () => {
  expect(await readCommandLine(["doctor", "--", "x", "--json", "--", "y"])).toMatchObject({
    json: false,
    command: "x",
    args: ["--json", "--", "y"],
  });
});

describe("--help", async () => {
  const { text } = (await readCommandLine(["--help"])) as { text: string };
  const { text: serveText } = (await readCommandLine(["serve", "--help"])) as { text: string };

  test.each([
    ...commonNames.map((name) => [name, text] as const),
    ...optionNames.map((name) => [name, serveText] as const),
  ])("has --%s with the default of config/default.json", (name, help) => {
    const byDefault = readDefaults()[name];
    const shown = byDefault === null ? "" : `.*?\\[default: ${byDefault}\\]`;
    expect(help.replace(/\s+/g, " ")).toMatch(new RegExp(`--${name} (?:(?! --).)*${shown}`));
  });

  test("has the exit statuses, the forms of values and an example", () => {
    for (const part of [
      "Exit status:",
      "126, 127",
      "250ms",
      "64MiB",
      "ACP_SHIFT_",
      "-- gemini --acp",
      "demo [--both]",
      "doctor [--json]",
    ]) {
      expect(text).toContain(part);
    }
  });

  test("wins over a missing command, and ends at --", async () => {
    expect(await readCommandLine(["--help", "--", "x"])).toEqual({ type: "print", text });
    expect(await readCommandLine(["demo", "--help"])).toMatchObject({ type: "print" });
    expect(await readCommandLine(["trace", "--help"])).toMatchObject({ text: expect.stringMatching(/check .*FILE/) });
    expect(await readCommandLine(["trace", "show", "--help"])).toMatchObject({
      text: expect.stringMatching(/--follow/),
    });
    expect(await readCommandLine(["doctor", "--help"])).toMatchObject({
      type: "print",
      text: expect.stringMatching(/^acp-shift doctor \[options\][\s\S]*--settle [\s\S]*--json /),
    });
  });
});

test("--version names us, the protocol versions and the pinned SDK", async () => {
  const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  const sdk = manifest.dependencies["@agentclientprotocol/sdk"];
  expect(await readCommandLine(["--version"])).toEqual({
    type: "print",
    text: `acp-shift ${manifest.version} (ACP 1 and 2, @agentclientprotocol/sdk ${sdk})\n`,
  });
});
