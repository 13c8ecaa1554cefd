import type { TraceLine } from "../config/trace-line.ts";
import { readTrace } from "../trace/read.ts";
import { createCounter } from "../trace/stats.ts";
import { statsReport } from "../trace/stats-report.ts";
import { pageOf } from "../trace/text.ts";
import { createPrinter, reportProblem } from "./printer.ts";

/**
 * `acp-shift trace stats`: counts and times as tables; as JSON (docs/trace.md) when asked.
 * @returns the exit status: 0
 * @throws UsageError for a file that is no trace
 */
export async function traceStats({ files, options }: TraceLine): Promise<number> {
  const counter = createCounter();
  for await (const record of readTrace(files, { report: reportProblem })) counter.take(record);
  const stats = counter.result();
  const printer = createPrinter(process.stdout);
  await printer.print(
    options["json"] === true
      ? [JSON.stringify(stats, null, 2)]
      : statsReport(stats, pageOf(process.stdout, options["color"])),
  );
  return 0;
}
