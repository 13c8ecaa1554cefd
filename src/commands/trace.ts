import type { TraceCommandName, TraceLine } from "../config/trace-line.ts";

/** Runs `acp-shift trace …`. Returns the exit status. @throws UsageError for what cannot be used */
type Run = (line: TraceLine) => Promise<number>;

/** Each loaded only when it runs. */
const commands: Record<TraceCommandName, () => Promise<Run>> = {
  show: async () => (await import("./trace-show.ts")).traceShow,
  stats: async () => (await import("./trace-stats.ts")).traceStats,
  check: async () => (await import("./trace-check.ts")).traceCheck,
  view: async () => (await import("./trace-view.ts")).traceView,
  html: async () => (await import("./trace-html.ts")).traceHtml,
  replay: async () => (await import("./trace-replay.ts")).traceReplay,
  verify: async () => (await import("./trace-verify.ts")).traceVerify,
  export: async () => (await import("./trace-export.ts")).traceExport,
  import: async () => (await import("./trace-import.ts")).traceImport,
};

/**
 * Runs a command on a recorded trace.
 * @returns the exit status
 * @throws UsageError for a file that is no trace, or an option's value that means nothing
 */
export async function trace(line: TraceLine): Promise<number> {
  const run = await commands[line.command]();
  return run(line);
}
