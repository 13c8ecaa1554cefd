import type { TraceLine } from "../config/trace-line.ts";
import { UsageError } from "../config/usage-error.ts";
import { asArray } from "../protocol/json.ts";
import { toConductor } from "../trace/foreign/conductor.ts";
import { passedOn } from "../trace/foreign/crossing.ts";
import { toInspector } from "../trace/foreign/inspector.ts";
import { toNdjson } from "../trace/foreign/ndjson.ts";
import { LEGS, type Leg, type TraceRecord } from "../trace/format.ts";
import { readTrace } from "../trace/read.ts";
import { tellLosses, writeLines } from "./conversion.ts";
import { reportProblem } from "./printer.ts";

/**
 * `acp-shift trace export`: the trace in another tool's format.
 * @returns the exit status: 0
 * @throws UsageError for a file that is no trace, or an output that cannot be written
 */
export async function traceExport({ files, options }: TraceLine): Promise<number> {
  const { format, output } = options;
  if (typeof format !== "string") throw new UsageError("--format is missing: acp-inspector, conductor or ndjson");
  const records: TraceRecord[] = [];
  let dropped = 0;
  let redacted = false;
  for await (const record of readTrace(files, { report: reportProblem })) {
    records.push(record);
    if (record.type === "dropped") dropped += record.records;
    if (record.type === "header") redacted = record.redaction.on;
  }
  const legs = legsOf(options, records);
  const passed = passedOn(records, legs);
  const { value, left } =
    format === "conductor"
      ? toConductor(passed, legs)
      : format === "ndjson"
        ? toNdjson(passed)
        : toInspector(passed, Date.now(), dropped, redacted);
  tellLosses(left);
  await writeLines(value, output);
  return 0;
}

/** Those that were asked for; else the client's side, or the only one there is; a conductor's chain has both. */
function legsOf({ format, side, leg }: Record<string, unknown>, records: readonly TraceRecord[]): ReadonlySet<Leg> {
  const named = asArray(leg);
  if (named.length > 0) return new Set(LEGS.filter((one) => named.includes(one)));
  const recorded = LEGS.filter((one) => records.some((record) => record.type === "frame" && record.leg === one));
  const ofSide = (name: unknown) => LEGS.filter((one) => one.includes(String(name)));
  if (side !== undefined) return new Set(ofSide(side));
  if (format === "conductor") return new Set(recorded);
  return new Set(recorded.some((one) => one.includes("client")) ? ofSide("client") : ofSide("agent"));
}
