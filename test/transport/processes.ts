// Real processes for the tests of the transport: fixtures started as agents, and hosts that use the compiled modules.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, vi } from "vitest";
import { type AgentExit, type AgentOptions, type AgentProcess, startAgent } from "../../src/transport/agent-process.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Longer than any of these processes needs, also on a busy machine; short enough to fail a test rather than hang it. */
export const PATIENCE = { timeout: 20_000, interval: 10 };
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

export const SHORT = { termAfterMs: 50, killAfterMs: 50 };
/** No test waits for these: an outcome that needs them is a failure. */
export const LONG = { termAfterMs: 600_000, killAfterMs: 600_000 };

export function agentFile(name: string): string {
  return `${root}test/fixtures/agents/${name}`;
}

export function hostFile(name: string): string {
  return `${root}test/fixtures/hosts/${name}`;
}

export interface StartedAgent {
  process: AgentProcess;
  stdout(): string;
  stderrLines: string[];
  /** The handlers' calls so far, by name. */
  calls: string[];
  /** Resolves with the exit the handler was given. */
  exit: Promise<AgentExit>;
  /** Waits until stdout holds the text; returns the number that follows its last occurrence, or NaN. */
  says(text: string): Promise<number>;
}

/** Starts a fixture as an agent, or any command; it is killed at the end of the test at the latest. */
export function start(fixture: string, args: string[] = [], options: Partial<AgentOptions> = {}): StartedAgent {
  const chunks: Buffer[] = [];
  const stderrLines: string[] = [];
  const calls: string[] = [];
  let process: AgentProcess | undefined;
  const exit = new Promise<AgentExit>((resolve) => {
    process = startAgent(
      {
        command: globalThis.process.execPath,
        args: [agentFile(fixture), ...args],
        env: globalThis.process.env,
        cwd: root,
        ladder: SHORT,
        ...options,
      },
      {
        onStdout: (chunk) => {
          chunks.push(chunk);
          calls.push("stdout");
        },
        onStdoutEnd: () => calls.push("stdout end"),
        onStderrLine: (line) => stderrLines.push(line),
        onExit: (status) => {
          calls.push("exit");
          resolve(status);
        },
        onClosed: (stream) => calls.push(`closed ${stream}`),
      },
    );
  });
  if (!process) throw new Error("not started");
  const started = process;
  onTestFinished(() => started.killNow());
  const stdout = () => Buffer.concat(chunks).toString();
  return {
    process: started,
    stdout,
    stderrLines,
    calls,
    exit,
    async says(text) {
      await vi.waitFor(() => expect(stdout()).toContain(text), PATIENCE);
      return Number.parseInt(stdout().slice(stdout().lastIndexOf(text) + text.length), 10);
    },
  };
}

/** True while the process runs; a zombie does not. */
export function isRunning(pid: number): boolean {
  expect(pid).toBeGreaterThan(0);
  try {
    process.kill(pid, 0);
    if (process.platform !== "linux") return true;
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return !["Z", "X"].includes(stat.charAt(stat.lastIndexOf(")") + 2));
  } catch {
    return false;
  }
}

/** Waits until the process is gone. */
export async function gone(pid: number): Promise<void> {
  await vi.waitFor(() => expect(isRunning(pid)).toBe(false), PATIENCE);
}

/** The address of a module as it was compiled, not bundled: for a host process to import. */
export function built(module: string): string {
  return new URL(`../../build/${module}.js`, import.meta.url).href;
}

/** Runs a host to its end. Its stdout is collected, or goes to the file descriptor given, which is closed here. */
export async function runHost(host: string, args: string[], stdoutFd?: number) {
  const child = spawn(process.execPath, [hostFile(host), ...args], {
    stdio: ["ignore", stdoutFd ?? "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  if (stdoutFd !== undefined) closeSync(stdoutFd);
  const collect = (stream: NodeJS.ReadableStream | null) => {
    const chunks: Buffer[] = [];
    stream?.on("data", (chunk: Buffer) => chunks.push(chunk));
    return () => Buffer.concat(chunks).toString();
  };
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  const [code, signal] = await once(child, "close");
  return { code, signal, stdout: stdout(), stderr: stderr() };
}
