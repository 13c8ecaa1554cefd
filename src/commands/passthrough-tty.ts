import { constants } from "node:os";
import spawn from "cross-spawn";

/** Sent to every process of a terminal's foreground group, so the agent has them already. */
const fromTerminal = ["SIGINT", "SIGQUIT"] as const;
/** Sent to this process alone. */
const forwarded = ["SIGTERM", "SIGHUP"] as const;

const reasons: Record<string, string> = { ENOENT: "no such command", EACCES: "it is not an executable program" };

/**
 * Runs the agent on our own terminal, for its login (docs/mapping.md §2): it owns the keyboard, the screen and Ctrl-C
 * until it ends.
 * @returns the agent's status, 128+n when signal n ended it, 127 when there is no such command, 126 when it cannot be run
 */
export function runOnTerminal(command: string, args: readonly string[]): Promise<number> {
  // Listening starts before the agent does: the agent's first word may be answered with Ctrl-C at once.
  const leaveToAgent = () => {};
  const forward = (signal: NodeJS.Signals) => agent.kill(signal);
  for (const signal of fromTerminal) process.on(signal, leaveToAgent);
  for (const signal of forwarded) process.on(signal, forward);
  const agent = spawn(command, args, { stdio: "inherit" });

  return new Promise<number>((resolve) => {
    agent.once("error", (error: NodeJS.ErrnoException) => {
      process.stderr.write(
        `acp-shift: cannot run ${JSON.stringify(command)}: ${reasons[error.code ?? ""] ?? error.message}\n`,
      );
      resolve(error.code === "ENOENT" ? 127 : 126);
    });
    agent.once("exit", (code, signal) => resolve(signal ? 128 + constants.signals[signal] : (code ?? 1)));
  }).finally(() => {
    for (const signal of fromTerminal) process.off(signal, leaveToAgent);
    for (const signal of forwarded) process.off(signal, forward);
  });
}
