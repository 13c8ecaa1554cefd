import { constants } from "node:os";
import type { Settings } from "../config/settings.ts";
import type { Logger } from "../logging.ts";
import { startAgentAhead } from "../transport/agent-ahead.ts";
import { onShutdown } from "../transport/signals.ts";
import type { AgentSource } from "./agent.ts";
import type { Ops } from "./ops.ts";
import { pathsOf } from "./paths.ts";
import { recorderFor } from "./recording.ts";
import type { Shell } from "./shell.ts";

/** How much may wait for a reader of our stderr before what is said there is dropped, in bytes. */
const STDERR_BACKLOG = 1024 * 1024;

/** How long output is waited for once all is over, in ms. */
const LEAVE_AFTER = 2000;

/**
 * Runs the agent and bridges between it and the client on stdin and stdout, until either is gone.
 *
 * @returns the exit status: 0 when the client left, the agent's own (or 128 + signal) when the agent ended it, 127 or
 *   126 when it could not be started, 128 + signal when a signal ended the bridge, 1 for any other failure
 */
export async function run(settings: Settings, agent: AgentSource, log: Logger): Promise<number> {
  // Nobody reads our stderr: the conversation goes on without it. Unheard, the error would be told on stderr again.
  process.stderr.on("error", () => {});
  const tell = (text: string) => {
    if (process.stderr.writableLength < STDERR_BACKLOG) process.stderr.write(`${text}\n`);
  };
  const client = { input: process.stdin, output: process.stdout };
  // No agent is started for options that cannot be used.
  pathsOf(settings);
  let shell: Shell | undefined;
  let cause: number | undefined;
  const recorder = await recorderFor(settings, tell);
  const ops = await opsFor(settings, log, () => (cause === undefined ? undefined : "ending"));
  const watch = ops?.connected();
  const removeSignals = onShutdown((signal, error) => {
    if (error !== undefined) {
      log.error("uncaught", { message: error.message, stack: error.stack });
      tell(`acp-shift: internal error: ${error.stack ?? error.message}`);
    }
    // Without a shell there is nothing to wait for; the agent ends with this process.
    if (shell === undefined && signal === "uncaught") process.exit(1);
    if (cause !== undefined) return shell?.kill();
    cause = signal === "uncaught" ? 1 : 128 + constants.signals[signal];
    shell?.stop();
  });
  // While the agent starts, the rest of the bridge is loaded.
  const ladder = { termAfterMs: settings.termAfter, killAfterMs: settings.killAfter };
  const started = startAgentAhead((handlers) => agent.start(ladder, handlers));
  const { setFlagsFromString } = await import("node:v8");
  // Compiled at once, without optimising: what runs once a prompt would else be interpreted for the first hundreds of prompts.
  setFlagsFromString("--always-sparkplug");
  // What there is to do when young objects are collected takes less than to wake other threads for it.
  setFlagsFromString("--no-parallel-scavenge");
  const { startShell } = await import("./shell.ts");
  // Nearly all of what comes is gone at once: space for more of it would only be memory that stays ours after a flood. A trace
  // leaves more behind, and is to cost little time before it costs little memory.
  if (recorder === undefined) setFlagsFromString("--semi-space-growth-factor=1");
  shell = startShell({
    settings,
    agent,
    client,
    log: ops?.listening(log) ?? log,
    tell,
    recorder,
    observer: watch?.observer,
    started,
  });
  if (cause !== undefined) shell.stop();

  const ownStatus = await shell.ended;
  const status = cause ?? ownStatus;
  watch?.ended();
  await Promise.all([ops?.close(), recorder?.end(status)]);
  removeSignals();
  leave(status);
  return status;
}

/** What `--ops` and `--otlp` ask for; undefined, and nothing of it loaded, without. */
async function opsFor(settings: Settings, log: Logger, closedTo: () => string | undefined): Promise<Ops | undefined> {
  if (settings.ops === undefined && settings.otlp === undefined) return undefined;
  const { openOps } = await import("./ops.ts");
  return openOps(settings, log, closedTo);
}

/** Output that nobody reads, or a disk that does not answer, must not keep the process: after a while it just ends. */
function leave(status: number): void {
  setTimeout(() => process.exit(status), LEAVE_AFTER).unref();
}
