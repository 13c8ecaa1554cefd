import type { ChildProcess } from "node:child_process";
import { Writable } from "node:stream";
import { atExit } from "./at-exit.ts";
import { endGroup, KILL_GRACE_MS, type Ladder, processGroup } from "./process-group.ts";
import { type SpawnFault, spawn, spawnFault } from "./spawn.ts";
import { createStderrReader } from "./stderr.ts";
import { within } from "./within.ts";

export interface AgentOptions {
  command: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  cwd: string;
  /** How much of the agent's stderr {@link AgentProcess.stderrTail} returns, in bytes. 64 KiB by default. */
  stderrTailBytes?: number;
  /** For what the agent leaves running when it exits by itself. 2 s and 2 s by default. */
  ladder?: Ladder;
}

export interface AgentExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Set when the agent could not be started. */
  spawnError?: SpawnFault;
  /** Set when the agent was reached over a connection: what became of that, in words. */
  connection?: string;
}

export interface AgentHandlers {
  onStdout(chunk: Buffer): void;
  /** The agent's stdout has been read to its end. Called once, before `onExit`. */
  onStdoutEnd(): void;
  onStderrLine(line: string): void;
  /**
   * The agent is gone, or could not be started. Called exactly once, never from within `startAgent`, and after
   * everything on stdout was delivered. What the agent leaves behind with its stdout open is ended first.
   */
  onExit(exit: AgentExit): void;
  /** The agent lives on, but no longer speaks or listens: it is being ended. Called at most once. */
  onClosed?(stream: "stdin" | "stdout"): void;
}

/** A running agent, or a connection to one. */
export interface AgentProcess {
  /** Undefined when the agent could not be started, or runs elsewhere. */
  readonly pid: number | undefined;
  readonly stdin: Writable;
  pauseStdout(): void;
  resumeStdout(): void;
  /** The last part of what the agent wrote on stderr. */
  stderrTail(): string;
  /**
   * Ends the agent and everything in its process group, step by step, each step only if something is still running.
   * Resolves when nothing is left and `onExit` was called. Never rejects; a second call joins the first. Lines still
   * batched for `stdin` must have been flushed to it before.
   */
  stop(ladder: Ladder): Promise<void>;
  /** Kills the whole group at once. */
  killNow(): void;
}

const DEFAULT_LADDER: Ladder = { termAfterMs: 2000, killAfterMs: 2000 };
const DEFAULT_TAIL_BYTES = 64 * 1024;
/** How long the pipes of an ended agent may stay open before someone else is taken to hold them. */
const PIPE_GRACE_MS = 250;

/**
 * Starts the agent without a shell, as the leader of a process group of its own, so that a wrapper's children
 * (`npx`, `sh -c`) end with it. Its stderr is always drained. The group is killed when this process exits before it.
 * Never throws: whatever goes wrong arrives as `onExit`.
 */
export function startAgent(options: AgentOptions, handlers: AgentHandlers): AgentProcess {
  let child: ChildProcess;
  try {
    child = spawn(options.command, options.args, {
      cwd: options.cwd,
      env: options.env,
      stdio: ["pipe", "pipe", "pipe"],
      detached: process.platform !== "win32",
      windowsHide: true,
    });
  } catch (error) {
    return neverStarted(options, handlers, (report) => process.nextTick(report, error));
  }
  const { pid, stdin, stdout, stderr } = child;
  if (pid === undefined || !stdin || !stdout || !stderr) {
    return neverStarted(options, handlers, (report) => child.on("error", report));
  }

  const group = processGroup(pid);
  const stderrReader = createStderrReader(options.stderrTailBytes ?? DEFAULT_TAIL_BYTES, handlers.onStderrLine);
  let status: AgentExit | undefined;
  let stdoutEnded = false;
  let stdoutPaused = false;
  let stopping = false;
  let reported = false;
  let abandoned = false;
  let ending: Promise<void> | undefined;
  let markGone = (): void => {};
  const whenGone = new Promise<void>((resolve) => {
    markGone = resolve;
  });
  let markReported = (): void => {};
  const whenReported = new Promise<void>((resolve) => {
    markReported = resolve;
  });

  stdin.on("error", () => void abandon("stdin"));
  stdout.on("error", endStdout);
  stderr.on("error", ignore);
  stdout.on("data", handlers.onStdout);
  stdout.on("end", endStdout);
  stderr.on("data", stderrReader.push);
  stderr.on("end", stderrReader.end);
  // On Windows the resolver of shims reports a missing command by an error in place of the exit.
  child.on("error", (error) => onGone({ code: null, signal: null, spawnError: spawnFault(error, options) }));
  child.on("exit", (code, signal) => onGone({ code, signal }));
  child.on("close", (code, signal) => finish(status ?? { code, signal }));
  const letGo = atExit(killNow);

  const isRunning = () => status === undefined || group.alive();

  function onGone(exit: AgentExit): void {
    if (status) return;
    status = exit;
    markGone();
    // Node resumes the streams of a process in the tick after its exit: back-pressure holds all the same.
    process.nextTick(() => process.nextTick(() => stdoutPaused && stdout?.pause()));
    void windUp(exit);
  }

  function endStdout(): void {
    if (stdoutEnded) return;
    stdoutEnded = true;
    handlers.onStdoutEnd();
    void abandon("stdout");
  }

  /** Nothing can be asked of an agent that has closed its end; one that is about to exit does so too. */
  async function abandon(stream: "stdin" | "stdout"): Promise<void> {
    if (abandoned) return;
    abandoned = true;
    await within(PIPE_GRACE_MS, whenGone);
    if (status !== undefined || ending !== undefined) return;
    handlers.onClosed?.(stream);
    await end(options.ladder ?? DEFAULT_LADDER);
  }

  function finish(exit: AgentExit): void {
    if (reported) return;
    reported = true;
    stdout?.destroy();
    stderr?.destroy();
    endStdout();
    stderrReader.end();
    handlers.onExit(exit);
    markReported();
  }

  /** Ends what an exited agent left running, and reports the exit also if its pipes stay open. */
  async function windUp(exit: AgentExit): Promise<void> {
    await within(PIPE_GRACE_MS, whenReported);
    await end(options.ladder ?? DEFAULT_LADDER);
    letGo();
    // A process that has left the group may hold the pipes for ever. What the agent wrote is read by now, unless nobody
    // wanted to read it.
    do await within(PIPE_GRACE_MS, whenReported);
    while (!reported && stdoutPaused && !stopping);
    finish(exit);
  }

  function end(ladder: Ladder): Promise<void> {
    stdin?.end();
    ending ??= endGroup(group, isRunning, ladder);
    return ending;
  }

  function killNow(): void {
    if (isRunning()) group.signal("SIGKILL");
  }

  return {
    pid,
    stdin,
    pauseStdout() {
      stdoutPaused = true;
      stdout.pause();
    },
    resumeStdout() {
      stdoutPaused = false;
      stdout.resume();
    },
    stderrTail: stderrReader.tail,
    async stop(ladder) {
      stopping = true;
      await end(ladder);
      await within(KILL_GRACE_MS, whenReported);
    },
    killNow,
  };
}

/** Stands in for an agent that could not be started; `failure` calls back with the error, later. */
function neverStarted(
  options: AgentOptions,
  handlers: AgentHandlers,
  failure: (report: (error: unknown) => void) => void,
): AgentProcess {
  const reported = new Promise<void>((resolve) => {
    failure((error) => {
      handlers.onStdoutEnd();
      handlers.onExit({ code: null, signal: null, spawnError: spawnFault(error, options) });
      resolve();
    });
  });
  return {
    pid: undefined,
    stdin: new Writable({ write: (_chunk, _encoding, done) => done() }),
    pauseStdout: ignore,
    resumeStdout: ignore,
    stderrTail: () => "",
    stop: () => reported,
    killNow: ignore,
  };
}

function ignore(): void {}
