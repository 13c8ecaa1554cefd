import type { TraceLine } from "../config/trace-line.ts";
import { at, UsageError } from "../config/usage-error.ts";
import { createFilter, type Filter, readSince } from "../trace/filter.ts";
import { createPairs, familyText } from "../trace/pairs.ts";
import { readTrace } from "../trace/read.ts";
import { createRows, rowText } from "../trace/show.ts";
import { pageOf } from "../trace/text.ts";
import { createPrinter, reportProblem } from "./printer.ts";

/**
 * `acp-shift trace show`: a line for each record; with `--pairs` also what became of a frame, with `--frame` one alone.
 * @returns the exit status: 0
 * @throws UsageError for a file that is no trace, or an option's value that means nothing
 */
export async function traceShow({ files, options }: TraceLine): Promise<number> {
  const filter = createFilter(readFilter(options));
  const seq = readSeq(options["frame"]);
  const interrupted = new AbortController();
  const follow = options["follow"] === true ? { follow: interrupted.signal } : {};
  if (options["follow"] === true) {
    if (files.includes("-")) throw new UsageError("--follow needs a file: standard input ends by itself");
    process.once("SIGINT", () => interrupted.abort());
    process.once("SIGTERM", () => interrupted.abort());
  }
  const printer = createPrinter(process.stdout, () => interrupted.abort());
  const page = pageOf(process.stdout, options["color"]);
  const records = readTrace(files, { report: reportProblem, ...follow });

  if (seq !== undefined) {
    const text = await familyText(records, seq, page);
    if (text === undefined) throw new UsageError(`--frame ${seq}: the trace has no such record`);
    await printer.print(text);
    return 0;
  }
  const rows = createRows();
  const pairs = options["pairs"] === true ? createPairs(page) : () => [];
  for await (const record of records) {
    const row = rows(record);
    const forms = pairs(record);
    if (filter(record)) await printer.print([rowText(row, page), ...forms]);
    if (printer.closed) break;
  }
  return 0;
}

function readSeq(written: unknown): number | undefined {
  if (written === undefined) return undefined;
  if (!/^\d+$/.test(String(written))) throw new UsageError(`--frame: expected a record's number, found ${written}`);
  return Number(written);
}

function readFilter(options: Record<string, unknown>): Filter {
  const { since, grep, errors, ...lists } = options;
  const filter: Filter = { errors: errors === true };
  for (const name of ["session", "method", "leg"] as const) {
    const values = lists[name];
    if (Array.isArray(values)) filter[name] = values.map(String);
  }
  if (typeof since === "string") filter.since = at("--since", () => readSince(since));
  if (typeof grep === "string") filter.grep = at("--grep", () => readExpression(grep));
  return filter;
}

function readExpression(text: string): RegExp {
  try {
    return new RegExp(text, "iu");
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
