export type ShutdownCause = "SIGTERM" | "SIGINT" | "SIGHUP" | "uncaught";

const SIGNALS = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

/**
 * Calls `handler` instead of letting the process die: on SIGTERM, SIGINT and SIGHUP, and on errors nobody caught
 * (`uncaught`, with the error; a rejection without an `Error` is wrapped in one).
 *
 * The handler is called every time, not only the first: a second signal while shutting down is its cue to go straight to
 * the last rung of the ladder. It never ends the process itself, so nothing is left behind however often the user presses
 * Ctrl-C. Returns a function that takes the wiring away.
 */
export function onShutdown(handler: (cause: ShutdownCause, error?: Error) => void): () => void {
  const onSignal = (signal: NodeJS.Signals): void => {
    const cause = SIGNALS.find((name) => name === signal);
    if (cause) handler(cause);
  };
  const onUncaught = (reason: unknown): void =>
    handler("uncaught", reason instanceof Error ? reason : new Error(String(reason)));

  for (const signal of SIGNALS) process.on(signal, onSignal);
  process.on("uncaughtException", onUncaught);
  process.on("unhandledRejection", onUncaught);
  return () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
    process.off("uncaughtException", onUncaught);
    process.off("unhandledRejection", onUncaught);
  };
}
