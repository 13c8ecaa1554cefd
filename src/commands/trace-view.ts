import { once } from "node:events";
import type { TraceLine } from "../config/trace-line.ts";
import { UsageError } from "../config/usage-error.ts";
import { serveTrace } from "../trace/serve.ts";
import { openBrowser } from "./browser.ts";
import { reportProblem } from "./printer.ts";

/**
 * `acp-shift trace view`: serves the trace as a page on this machine, until it is interrupted.
 * @returns the exit status: 0
 * @throws UsageError for a file that is no trace, or a port that cannot be had
 */
export async function traceView({ files, options }: TraceLine): Promise<number> {
  if (files.includes("-")) throw new UsageError("trace view needs a file: a page may be loaded more than once");
  const interrupted = Promise.race(["SIGINT", "SIGTERM"].map((signal) => once(process, signal)));
  const server = await serveTrace({
    files,
    live: options["live"] === true,
    port: readPort(options["port"]),
    report: reportProblem,
  });
  process.stdout.write(`${server.url}\n`);
  if (options["open"] !== false) openBrowser(server.url);
  await interrupted;
  await server.close();
  return 0;
}

function readPort(written: unknown): number {
  if (written === undefined) return 0;
  const port = Number(written);
  if (!/^\d{1,5}$/.test(String(written)) || port > 65_535)
    throw new UsageError(`--port: expected a number up to 65535, found ${written}`);
  return port;
}
