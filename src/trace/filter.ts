import { parseDuration } from "../config/units.ts";
import { UsageError } from "../config/usage-error.ts";
import { asObject } from "../protocol/json.ts";
import type { TraceRecord } from "./format.ts";
import { isFault, isIncoming, nameOf } from "./summary.ts";

/** Which records to show; a record must pass all that are given, and one value of each. */
export interface Filter {
  /** Parts of session ids. */
  session?: readonly string[];
  /** Parts of methods and kinds of update. */
  method?: readonly string[];
  leg?: readonly string[];
  /** Wall time as ISO 8601, or ms since the start. */
  since?: string | number;
  grep?: RegExp;
  errors?: boolean;
}

/**
 * Reads `--since`: a time after the start, or a wall time.
 * @throws UsageError for text that is neither
 */
export function readSince(written: string): string | number {
  const time = /^\d{4}-/.test(written) ? Date.parse(written) : Number.NaN;
  if (!Number.isNaN(time)) return new Date(time).toISOString();
  try {
    return parseDuration(written);
  } catch {
    throw new UsageError(`expected a time after the start (90s, 5m) or an ISO 8601 time, found "${written}"`);
  }
}

/**
 * A test for records given to it in order. A note passes with the record that it is about; the header and the end of a
 * run always pass.
 */
export function createFilter(filter: Filter): (record: TraceRecord) => boolean {
  let passed: { seq: number; yes: boolean } | undefined;
  return (record) => {
    if (record.type === "header" || record.type === "end") return true;
    if (record.type === "note" && passed?.yes && record.cause === passed.seq) return true;
    const yes = passes(record, filter);
    if (isIncoming(record)) passed = { seq: record.seq, yes };
    else if (passed !== undefined && record.cause === passed.seq && yes) passed = { ...passed, yes };
    return yes;
  };
}

function passes(record: Exclude<TraceRecord, { type: "header" }>, filter: Filter): boolean {
  const { session, method, leg, since, grep, errors } = filter;
  const of = (key: string) => String(asObject(record)[key] ?? "");
  if (session !== undefined && !session.some((part) => of("session").includes(part))) return false;
  if (leg !== undefined && !leg.includes(of("leg"))) return false;
  if (since !== undefined && (typeof since === "number" ? record.mono < since : record.time < since)) return false;
  if (method !== undefined && !method.some((part) => of("method").includes(part) || nameOf(record).includes(part)))
    return false;
  if (errors && !isError(record)) return false;
  return grep === undefined || grep.test(JSON.stringify(record));
}

/** True for what went wrong, and for what the bridge left out. */
export function isError(record: TraceRecord): boolean {
  if (record.type === "note") return record.what === "dropped";
  return record.type === "end" ? record.status !== 0 : isFault(record);
}
