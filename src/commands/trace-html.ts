import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import type { TraceLine } from "../config/trace-line.ts";
import { UsageError } from "../config/usage-error.ts";
import { lineInPage, readPage } from "../trace/page.ts";
import { readTrace } from "../trace/read.ts";
import { reportProblem } from "./printer.ts";

/**
 * `acp-shift trace html`: writes the page and the trace as one file that needs nothing else. Readable by its owner only,
 * as the trace is.
 * @returns the exit status: 0
 * @throws UsageError for a file that is no trace, or an output that cannot be written
 */
export async function traceHtml({ files, options }: TraceLine): Promise<number> {
  const out = options["output"];
  if (typeof out !== "string" || out === "") throw new UsageError("where to? acp-shift trace html FILE -o out.html");
  const records = readTrace(files, { report: reportProblem });
  // What is no trace must not cost the file that was there before.
  const first = await records.next();

  async function* lines(): AsyncGenerator<string> {
    const { head, tail } = readPage();
    yield `${head}\n`;
    if (!first.done) yield lineInPage(first.value);
    for await (const record of records) yield lineInPage(record);
    yield tail;
  }
  try {
    await pipeline(lines, createWriteStream(out, { mode: 0o600 }));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`cannot write ${out}: ${error instanceof Error ? error.message : String(error)}`);
  }
  return 0;
}
