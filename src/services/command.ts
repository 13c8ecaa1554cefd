import type { ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";
import { setImmediate as nextPoll } from "node:timers/promises";
import { endGroup, KILL_GRACE_MS, type Ladder, processGroup } from "../transport/process-group.ts";
import { spawn, spawnFault } from "../transport/spawn.ts";
import { within } from "../transport/within.ts";
import { createCharacterKeeper } from "./characters.ts";
import type { CommandLine } from "./command-line.ts";

export interface CommandExit {
  /** Null when a signal ended the process. */
  exitCode: number | null;
  signal: string | null;
}

/** None of them is called from within a function of this module. */
export interface CommandHandlers {
  /** What the command wrote on stdout and stderr, in the order of arrival, cut between characters. */
  onOutput(bytes: Uint8Array): void;
  /**
   * The command has ended. Called once. Its output was delivered before; only what it left running may write more, which
   * is delivered as well.
   */
  onExit(exit: CommandExit): void;
  /** The command and all it left running in its process group are gone. Called once. */
  onGone(): void;
}

export interface RunningCommand {
  /** Output is left unread: the command is held up once the pipes are full, and its exit is reported after that. */
  pause(): void;
  resume(): void;
  /** Ends all of the process group: TERM, then KILL. Resolves when it is gone. Never rejects; a second call joins the first. */
  kill(): Promise<void>;
  /**
   * The same, and nobody is interested in the output any more: it is thrown away, also while paused. Resolves after
   * `onExit` was called, unless not even KILL helped.
   */
  release(): Promise<void>;
  /** Kills the whole group at once. */
  killNow(): void;
}

/** How long the pipes of a command that has ended may stay open before what it left running is taken to hold them. */
const PIPE_GRACE_MS = 250;
/** How often to look whether what a command left running is gone: its group's number may be given out anew. */
const SURVIVORS_MS = 1000;
/** What shells report for a command that does not exist, or that cannot be run. */
const NOT_FOUND = 127;
const NOT_STARTED = 126;

/**
 * Starts a command in a process group of its own, with an empty stdin. Never throws. A command that cannot be started
 * ends as it would in a shell: the reason is its output, its exit code is 127 or 126.
 *
 * @param ladder `killAfterMs` is used; as there is no stdin to end, TERM comes at once
 */
export function runCommand(
  line: CommandLine,
  { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv },
  ladder: Ladder,
  handlers: CommandHandlers,
): RunningCommand {
  let child: ChildProcess;
  try {
    child = spawn(line.command, line.args, {
      cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      detached: process.platform !== "win32",
      windowsHide: true,
      windowsVerbatimArguments: line.verbatim,
    });
  } catch (error) {
    setImmediate(notStarted, error);
    return NEVER_STARTED;
  }
  const { pid, stdout, stderr } = child;
  if (pid === undefined || !stdout || !stderr) {
    // Node reports it in the next tick: before whoever asked for the command could say that it has a terminal.
    child.on("error", (error) => setImmediate(notStarted, error));
    return NEVER_STARTED;
  }

  const group = processGroup(pid);
  let ended = false;
  let closed = false;
  let paused = false;
  let discarding = false;
  let ending: Promise<void> | undefined;
  const whenClosed = new Promise<void>((resolve) => {
    child.on("close", () => {
      closed = true;
      resolve();
    });
  });
  let markReported = (): void => {};
  const whenReported = new Promise<void>((resolve) => {
    markReported = resolve;
  });

  const isRunning = () => !ended || group.alive();
  const isHeld = () => paused && !discarding;
  const readers = [stdout, stderr].map(readFrom);

  child.on("exit", (exitCode, signal) => onEnded({ exitCode, signal }));
  // On Windows the resolver of shims reports a missing command by an error in place of the exit.
  child.on("error", (error) => onEnded(explain(error)));

  /** Returns a function that reads all there is, unless reading is paused. */
  function readFrom(stream: Readable): () => void {
    const characters = createCharacterKeeper();
    function deliver(bytes: Buffer): void {
      if (bytes.length > 0 && !discarding) handlers.onOutput(bytes);
    }
    function read(): void {
      while (!isHeld()) {
        const chunk: Buffer | null = stream.read();
        if (chunk === null) return;
        deliver(characters.push(chunk));
      }
    }
    stream.on("readable", read);
    stream.on("end", () => deliver(characters.end()));
    stream.on("error", () => {});
    return read;
  }

  function onEnded(exit: CommandExit): void {
    if (ended) return;
    ended = true;
    watchSurvivors();
    void report(exit);
  }

  function watchSurvivors(): void {
    if (group.alive()) setTimeout(watchSurvivors, SURVIVORS_MS).unref();
    else handlers.onGone();
  }

  async function report(exit: CommandExit): Promise<void> {
    do await within(PIPE_GRACE_MS, whenClosed);
    while (!closed && isHeld());
    // Whatever kept this process busy that long, the pipes are read once more first.
    if (!closed) await nextPoll();
    handlers.onExit(exit);
    markReported();
  }

  function notStarted(error: unknown): void {
    const exit = explain(error);
    handlers.onGone();
    handlers.onExit(exit);
  }

  /** Says as the command's output why there is no command. */
  function explain(error: unknown): CommandExit {
    const { code, message } = spawnFault(error, { command: line.command, cwd });
    handlers.onOutput(Buffer.from(`acp-shift: ${message}\n`));
    return { exitCode: code === "ENOENT" ? NOT_FOUND : NOT_STARTED, signal: null };
  }

  function readAll(): void {
    for (const read of readers) read();
  }

  function kill(): Promise<void> {
    ending ??= endGroup(group, isRunning, { ...ladder, termAfterMs: 0 });
    return ending;
  }

  return {
    pause() {
      paused = true;
    },
    resume() {
      paused = false;
      process.nextTick(readAll);
    },
    kill,
    async release() {
      discarding = true;
      readAll();
      await kill();
      // A process that has left the group may hold the pipes for ever.
      stdout.destroy();
      stderr.destroy();
      await within(KILL_GRACE_MS, whenReported);
    },
    killNow() {
      if (isRunning()) group.signal("SIGKILL");
    },
  };
}

const NEVER_STARTED: RunningCommand = {
  pause() {},
  resume() {},
  async kill() {},
  async release() {},
  killNow() {},
};
