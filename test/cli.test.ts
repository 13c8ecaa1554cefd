// Guards the program as a person meets it: what cannot be used ends with status 2, one message on stderr and nothing on
// stdout; help goes to stdout; on a terminal the agent gets the terminal, with its own status and its signals.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";

const cli = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const agent = fileURLToPath(new URL("fixtures/cli/say-and-end.mjs", import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "acp-shift-cli-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The environment without anything that configures us; the configuration directory is an empty one. */
const environment: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("ACP_SHIFT_"))),
  XDG_CONFIG_HOME: join(folder, "empty"),
};

function acpShift(words: string[], variables: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...words], {
    encoding: "utf8",
    env: { ...environment, ...variables },
    input: "",
  });
  return { status, stdout, stderr };
}

const refused = (message: string) => ({ status: 2, stdout: "", stderr: `acp-shift: ${message}\n` });

describe("what cannot be used ends with status 2 and one message", () => {
  test.each([
    [["gemini", "--acp"], "put -- before the agent's command: acp-shift [options] -- gemini --acp"],
    [[], "the agent's command is missing: acp-shift [options] -- <command> [args…] (see acp-shift --help)"],
    [["--setle", "1", "--", "x"], 'unknown option --setle (did you mean "settle"?) (see acp-shift --help)'],
    [["--prompt-queue", "many", "--", "x"], '--prompt-queue: expected a whole number, found "many"'],
    [["--config", "/no/such.json", "--", "x"], "/no/such.json: no such configuration file"],
    [["--log-file", "/no/such/log", "--", "x"], "cannot log to /no/such/log: its folder does not exist"],
  ])("%j", (words, message) => {
    expect(acpShift(words)).toEqual(refused(message));
  });

  test("a variable", () => {
    expect(acpShift(["--", "x"], { ACP_SHIFT_LOG_LEVEL: "loud" })).toEqual(
      refused('ACP_SHIFT_LOG_LEVEL: expected one of trace, debug, info, warn, error, fatal, silent, found "loud"'),
    );
  });

  test.runIf(process.platform === "linux")("the configuration file in the user's configuration directory", () => {
    const directory = join(folder, "with-file", "acp-shift");
    mkdirSync(directory, { recursive: true });
    const file = join(directory, "config.json");
    writeFileSync(file, '{"settle": "soon"}');
    expect(acpShift(["--", "x"], { XDG_CONFIG_HOME: join(folder, "with-file") })).toEqual(
      refused(`${file}: "settle": expected a duration (250ms, 30s, 5m, 1h or plain milliseconds), found "soon"`),
    );
  });
});

test.each([["--help"], ["--version"]])("%s is printed on stdout, with status 0", (word) => {
  const { status, stdout, stderr } = acpShift([word]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toMatch(/^acp-shift .*\n/);
});

test("a variable that means nothing is one record in the log, and no error", () => {
  const { status, stdout, stderr } = acpShift(["--", "no-such-command-anywhere"], { ACP_SHIFT_SETLE: "1" });
  expect({ status, stdout }).toEqual({ status: 127, stdout: "" });
  const records = stderr.split("\n").filter((line) => line.includes("ACP_SHIFT_"));
  expect(records.map((line) => JSON.parse(line))).toMatchObject([
    { level: "warn", event: "unknown-variable", name: "ACP_SHIFT_SETLE", meant: "ACP_SHIFT_SETTLE" },
  ]);
});

const pseudoTerminals = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;

describe.runIf(pseudoTerminals)("on a terminal", () => {
  /** Starts us under `script`, which gives us a terminal, passes its stdin on as the keyboard and returns our status. */
  function onTerminal(words: string[]) {
    const command = [process.execPath, cli, ...words].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
    // `exec`: Ctrl-C would end a shell that waits, and its status would hide ours.
    const terminal = spawn("script", ["-qec", `exec ${command}`, "/dev/null"], {
      env: environment,
      stdio: ["pipe", "pipe", "inherit"],
    });
    onTestFinished(() => void terminal.kill("SIGHUP"));
    const lines = createInterface({ input: terminal.stdout })[Symbol.asyncIterator]();
    return {
      keyboard: terminal.stdin,
      line: async () => (await lines.next()).value as string,
      status: once(terminal, "exit").then(([status]) => status as number),
    };
  }

  test("the agent gets it, with its words as they are, and its status is ours", async () => {
    const args = ["--help", "", "a b", "007", "--", "it's"];
    const { line, status } = onTerminal(["--settle", "1s", "--", process.execPath, agent, "7", ...args]);
    expect(JSON.parse(await line())).toMatchObject({ args, terminal: true });
    expect(await status).toBe(7);
  });

  test("a signal that ends the agent is our status", async () => {
    const { status } = onTerminal(["--", process.execPath, agent, "SIGKILL"]);
    expect(await status).toBe(128 + 9);
  });

  test("Ctrl-C is the agent's to answer", async () => {
    const { keyboard, line, status } = onTerminal(["--", process.execPath, agent, "wait"]);
    await line();
    keyboard.write("\x03");
    expect(await status).toBe(42);
  });

  test("SIGTERM to us reaches the agent", async () => {
    const { line, status } = onTerminal(["--", process.execPath, agent, "wait"]);
    process.kill(JSON.parse(await line()).parent, "SIGTERM");
    expect(await status).toBe(43);
  });

  test.each([
    ["no-such-command-anywhere", 127, "no such command"],
    [fileURLToPath(new URL("fixtures", import.meta.url)), 126, "it is not an executable program"],
  ])("%s cannot be run", async (command, expected, reason) => {
    const { line, status } = onTerminal(["--", command]);
    expect(await line()).toBe(`acp-shift: cannot run ${JSON.stringify(command)}: ${reason}`);
    expect(await status).toBe(expected);
  });

  test("unless it is turned off: then we speak the protocol on it", async () => {
    const { keyboard, line, status } = onTerminal([
      "--no-tty-passthrough",
      "--log-level=silent",
      "--term-after=0",
      "--",
      process.execPath,
      agent,
      "wait",
    ]);
    keyboard.write('{"jsonrpc":"2.0","id":5,"method":"session/new","params":{}}\n');
    let answer = "";
    while (!answer.startsWith('{"jsonrpc":"2.0","id":5,"error"')) answer = await line();
    keyboard.write("\x04");
    expect(JSON.parse(answer).error.code).toBe(-32600);
    expect(await status).toBe(0);
  });
});
