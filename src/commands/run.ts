import { constants } from "node:os";
import type { Settings } from "../config/settings.ts";
import type { Logger } from "../logging.ts";
import { onShutdown } from "../transport/signals.ts";
import { recorderFor } from "./recording.ts";
import { startShell } from "./shell.ts";

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
export async function run(
  settings: Settings,
  agent: { command: string; args: string[] },
  log: Logger,
): Promise<number> {
  // Nobody reads our stderr: the conversation goes on without it. Unheard, the error would be told on stderr again.
  process.stderr.on("error", () => {});
  const tell = (text: string) => {
    if (process.stderr.writableLength < STDERR_BACKLOG) process.stderr.write(`${text}\n`);
  };
  const client = { input: process.stdin, output: process.stdout };
  const recorder = await recorderFor(settings, tell);
  const shell = startShell({ settings, agent, client, log, tell, recorder });

  let cause: number | undefined;
  const removeSignals = onShutdown((signal, error) => {
    if (error !== undefined) {
      log.error("uncaught", { message: error.message, stack: error.stack });
      tell(`acp-shift: internal error: ${error.stack ?? error.message}`);
    }
    if (cause !== undefined) return shell.kill();
    cause = signal === "uncaught" ? 1 : 128 + constants.signals[signal];
    shell.stop();
  });
  const ownStatus = await shell.ended;
  const status = cause ?? ownStatus;
  await recorder?.end(status);
  removeSignals();
  leave(status);
  return status;
}

/** Output that nobody reads, or a disk that does not answer, must not keep the process: after a while it just ends. */
function leave(status: number): void {
  setTimeout(() => process.exit(status), LEAVE_AFTER).unref();
}
