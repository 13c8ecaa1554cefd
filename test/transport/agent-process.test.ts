// Guards the life of the agent's process: it is started without a shell, read to its end, reported once, and nothing of
// its process group is left behind, whatever it does.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { decodeAgentLine } from "../../src/transport/decode.ts";
import { createLineSplitter } from "../../src/transport/lines.ts";
import { agentFile, built, gone, isRunning, LONG, runHost, SHORT, type StartedAgent, start } from "./processes.ts";

function pidOf({ process }: StartedAgent): number {
  if (process.pid === undefined) throw new Error("not started");
  return process.pid;
}

describe("the exit", () => {
  test("is reported once, with the code, after everything on stdout", async () => {
    const agent = start("exits-with.mjs", ["3"]);
    expect(await agent.exit).toEqual({ code: 3, signal: null });
    expect(agent.stdout()).toBe("last frame\n");
    expect(agent.calls).toEqual(["stdout", "stdout end", "exit"]);
    expect(agent.stderrLines).toEqual(["last words"]);
    expect(agent.process.stderrTail()).toBe("last words\n");
  });

  test("is reported with the signal that caused it", async () => {
    expect(await start("dies-by.mjs", ["SIGKILL"]).exit).toEqual({ code: null, signal: "SIGKILL" });
    expect(await start("dies-by.mjs", ["SIGTERM"]).exit).toEqual({ code: null, signal: "SIGTERM" });
  });

  test("waits for a reader that holds stdout back", async () => {
    const agent = start("talks.mjs", ["1000"]);
    agent.process.pauseStdout();
    await gone(pidOf(agent));
    expect(agent.calls).toEqual([]);
    agent.process.resumeStdout();
    await agent.exit;
    expect(agent.stdout().split("\n")).toHaveLength(1001);
    expect(agent.calls.slice(-2)).toEqual(["stdout end", "exit"]);
  });

  test("does not wait for a reader any more once the agent is to stop", async () => {
    const agent = start("talks.mjs", ["1000"]);
    agent.process.pauseStdout();
    await gone(pidOf(agent));
    await agent.process.stop(LONG);
    expect(agent.calls.slice(-2)).toEqual(["stdout end", "exit"]);
  });

  test("is not held up by a child that keeps stdout open, which is ended", async () => {
    const agent = start("exits-before-its-child.mjs");
    expect(await agent.exit).toEqual({ code: 0, signal: null });
    await gone(await agent.says("running "));
  });

  test("is not held up by a child out of reach that keeps stdout open", async () => {
    const agent = start("exits-before-its-child.mjs", ["daemon"]);
    const pid = await agent.says("running ");
    onTestFinished(() => void process.kill(pid, "SIGKILL"));
    expect(await agent.exit).toEqual({ code: 0, signal: null });
    expect(isRunning(pid)).toBe(true);
    await agent.process.stop(LONG);
  });

  test("ends what the agent has left running, without being asked to", async () => {
    const agent = start("with-grandchild.mjs");
    const pid = await agent.says("running ");
    agent.process.stdin.end();
    expect(await agent.exit).toEqual({ code: 0, signal: null });
    await gone(pid);
  });
});

describe("an agent that lives on", () => {
  test("with its stdout closed is ended: nothing more will come of it", async () => {
    const agent = start("closes.mjs", ["stdout"]);
    expect(await agent.exit).toEqual({ code: null, signal: "SIGTERM" });
    expect(agent.calls).toEqual(["stdout end", "closed stdout", "exit"]);
  });

  test("with its stdin closed is ended once there is something to tell it", async () => {
    const agent = start("closes.mjs", ["stdin"]);
    await agent.says("closed ");
    expect(agent.calls).toEqual(["stdout"]);
    agent.process.stdin.write("anybody there?\n");
    expect(await agent.exit).toEqual({ code: null, signal: "SIGTERM" });
    expect(agent.calls).toEqual(["stdout", "closed stdin", "stdout end", "exit"]);
  });
});

describe("stop", () => {
  test("ends an agent by the end of its stdin alone, when that is enough", async () => {
    const agent = start("silent.mjs");
    await vi.waitFor(() => expect(agent.stderrLines).toHaveLength(1));
    await agent.process.stop(LONG);
    expect(await agent.exit).toEqual({ code: 0, signal: null });
    expect(isRunning(pidOf(agent))).toBe(false);
  });

  test("goes on to TERM for an agent that does not read its stdin", async () => {
    const agent = start("deaf.mjs");
    await agent.says("deaf");
    await agent.process.stop({ termAfterMs: 50, killAfterMs: LONG.killAfterMs });
    expect(await agent.exit).toEqual({ code: null, signal: "SIGTERM" });
  });

  test("goes on to KILL for an agent that ignores all else", async () => {
    const agent = start("ignores-everything.mjs");
    await agent.says("running ");
    await agent.process.stop(SHORT);
    expect(await agent.exit).toEqual({ code: null, signal: "SIGKILL" });
    expect(isRunning(pidOf(agent))).toBe(false);
  });

  test("goes on for a grandchild that outlives the agent", async () => {
    const agent = start("with-grandchild.mjs");
    const pid = await agent.says("running ");
    await agent.process.stop(SHORT);
    expect([isRunning(pid), isRunning(pidOf(agent))]).toEqual([false, false]);
  });

  test("ends the agent behind a shell", async () => {
    const script = `"$0" "$1"; exit 5`;
    const args = ["-c", script, process.execPath, agentFile("ignores-everything.mjs")];
    const agent = start("", [], { command: "sh", args });
    const pid = await agent.says("running ");
    expect(pid).not.toBe(pidOf(agent));
    await agent.process.stop(SHORT);
    expect([isRunning(pid), isRunning(pidOf(agent))]).toEqual([false, false]);
  });

  test("resolves after the exit was reported, also when called twice or too late", async () => {
    const agent = start("silent.mjs");
    await Promise.all([agent.process.stop(SHORT), agent.process.stop(SHORT)]);
    expect(agent.calls).toEqual(["stdout end", "exit"]);
    await agent.process.stop(LONG);
    expect(agent.calls).toEqual(["stdout end", "exit"]);
  });

  test("is cut short by killNow", async () => {
    const agent = start("ignores-everything.mjs");
    await agent.says("running ");
    const stopped = agent.process.stop(LONG);
    agent.process.killNow();
    await stopped;
    expect(await agent.exit).toEqual({ code: null, signal: "SIGKILL" });
  });

  test("delivers what was written to stdin before", async () => {
    const agent = start("", [], { command: "cat", args: [] });
    agent.process.stdin.write("x".repeat(1_000_000));
    await agent.process.stop(LONG);
    expect(agent.stdout()).toHaveLength(1_000_000);
  });
});

test("the group is killed when this process exits without having ended it", async () => {
  const module = built("transport/agent-process");
  const { stdout, code } = await runHost("leaves-its-agent.mjs", [module, agentFile("ignores-everything.mjs")]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^running \d+\n$/);
  await gone(Number.parseInt(stdout.slice("running ".length), 10));
});

describe("stderr", () => {
  test("is drained, also when it is flooded before anything else", async () => {
    const agent = start("floods-stderr.mjs");
    await agent.exit;
    expect(agent.stdout()).toBe("answer\n");
    expect(agent.stderrLines).toHaveLength(10_001);
    expect(agent.process.stderrTail()).toHaveLength(64 * 1024);
    expect(agent.process.stderrTail().endsWith("x\nthe last words\n")).toBe(true);
  });

  test("has a tail as long as asked for", async () => {
    const agent = start("floods-stderr.mjs", [], { stderrTailBytes: 6 });
    await agent.exit;
    expect(agent.process.stderrTail()).toBe("words\n");
  });
});

test("a banner with escapes comes through the splitter and the decoder as frames and noise", async () => {
  const agent = start("banner.mjs");
  await agent.exit;
  const splitter = createLineSplitter(1 << 20);
  const lines = [...splitter.push(Buffer.from(agent.stdout())), ...splitter.end()];
  const decoded = lines.map((line) => ("bytes" in line ? decodeAgentLine(line.bytes) : expect.unreachable()));
  expect(decoded.flatMap(({ frames }) => frames.map(({ value }) => value))).toEqual([
    { jsonrpc: "2.0", id: 1, result: { text: "é漢😀" } },
    { jsonrpc: "2.0", method: "a" },
    { jsonrpc: "2.0", method: "b" },
  ]);
  expect(decoded.flatMap(({ noise }) => noise)).toEqual(["Welcome to the agent", "[12:00:00] ready"]);
});

describe("an agent that cannot be started", () => {
  const directory = mkdtempSync(join(tmpdir(), "acp-shift-start-"));
  const file = (name: string, text: string, mode: number) => {
    const path = join(directory, name);
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  };
  afterAll(() => rmSync(directory, { recursive: true }));
  const missing = join(directory, "missing");
  const plain = file("plain", "", 0o644);
  const orphaned = file("orphaned", `#!${missing}\n`, 0o755);
  const command = process.execPath;

  const faults: [string, { command: string; args?: string[]; cwd?: string }, string, string][] = [
    ["missing command", { command: "no-such-agent" }, "ENOENT", "the command no-such-agent was not found"],
    ["missing path", { command: missing }, "ENOENT", `the command ${missing} was not found`],
    ["missing interpreter", { command: orphaned }, "ENOENT", `the command ${orphaned} names an interpreter that`],
    ["not executable", { command: plain }, "EACCES", `the command ${plain} may not be executed`],
    ["missing cwd", { command, cwd: missing }, "ENOENT", `the working directory ${missing} does not exist`],
    ["cwd that is a file", { command, cwd: plain }, "ENOTDIR", `the working directory ${plain} is not a directory`],
    ["impossible argument", { command, args: ["\0"] }, "ERR_INVALID_ARG_VALUE", "null bytes"],
    ["endless argument", { command, args: ["x".repeat(1 << 22)] }, "E2BIG", "E2BIG"],
  ];
  test.each(faults)("is reported, once and later: %s", async (_name, options, code, message) => {
    const agent = start("", [], { args: [], ...options });
    expect(agent.process.pid).toBeUndefined();
    expect(agent.calls).toEqual([]);
    const spawnError = { code, message: expect.stringContaining(message) };
    expect(await agent.exit).toEqual({ code: null, signal: null, spawnError });
    agent.process.stdin.write("is not an error");
    await agent.process.stop(LONG);
    expect(agent.calls).toEqual(["stdout end", "exit"]);
  });
});
