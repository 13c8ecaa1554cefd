import type { TraceLine } from "../config/trace-line.ts";
import { createChecker, type Side } from "../trace/check/check.ts";
import { checkReport } from "../trace/check/report.ts";
import { readTrace } from "../trace/read.ts";
import { pageOf } from "../trace/text.ts";
import { createPrinter, reportProblem } from "./printer.ts";
import { loadSchema } from "./schemas.ts";

/**
 * `acp-shift trace check`: says who broke which rule of the protocol, and where; as JSON (docs/trace.md) when asked.
 * @returns the exit status: 1 when somebody broke a rule, else 0
 * @throws UsageError for a file that is no trace
 */
export async function traceCheck({ files, options }: TraceLine): Promise<number> {
  const checker = createChecker((version) => ({
    stable: loadSchema(`v${version}/schema.json`),
    unstable: loadSchema(`v${version}/schema.unstable.json`),
  }));
  for await (const record of readTrace(files, { report: reportProblem })) checker.take(record);
  const all = checker.result();
  const sides = options["side"];
  const checked = Array.isArray(sides) ? { ...all, findings: all.findings.filter(({ by }) => isIn(sides, by)) } : all;
  const printer = createPrinter(process.stdout);
  await printer.print(
    options["json"] === true
      ? [JSON.stringify(checked, null, 2)]
      : checkReport(checked, pageOf(process.stdout, options["color"])),
  );
  return checked.findings.some(({ level }) => level === "must") ? 1 : 0;
}

function isIn(sides: readonly unknown[], side: Side): boolean {
  return sides.includes(side);
}
