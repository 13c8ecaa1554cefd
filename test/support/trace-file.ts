// Reads a trace as the recorder wrote it, and checks every line of it against config/trace.schema.json.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, onTestFinished } from "vitest";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import type { Leg } from "../../src/trace/format.ts";

const schema = JSON.parse(readFileSync(new URL("../../config/trace.schema.json", import.meta.url), "utf8"));
const validate = new Ajv2020({ strict: false, allErrors: true }).compile(schema);

/** An empty directory for traces, gone after the test. */
export function traceDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "acp-shift-trace-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A line of a trace, and what it says. */
export interface TraceLine {
  text: string;
  record: JsonObject;
}

/**
 * All lines of a trace file, each valid and numbered in order after a header.
 *
 * @param gaps whether numbers may be missing
 */
export function readTraceFile(file: string, { gaps = false } = {}): TraceLine[] {
  const lines = readFileSync(file, "utf8").split("\n");
  expect(lines.pop(), "the file ends with a line break").toBe("");
  const trace = lines.map((text) => ({ text, record: asObject(JSON.parse(text)) }));
  const faults = trace.flatMap(({ text, record }) =>
    validate(record) ? [] : [`${JSON.stringify(validate.errors?.slice(0, 3))}: ${text.slice(0, 500)}`],
  );
  expect(faults).toEqual([]);
  expect(trace.map(({ record }) => record["type"] === "header")).toEqual(trace.map((_, index) => index === 0));
  const numbers = trace.slice(1).map(({ record }) => Number(record["seq"]));
  expect(numbers).toEqual(gaps ? numbers.toSorted((a, b) => a - b) : numbers.map((_, index) => index + 1));
  for (const { record } of trace) expect(Number(record["cause"] ?? 0)).toBeLessThan(Number(record["seq"] ?? 1));
  return trace;
}

export const ofType = (trace: readonly TraceLine[], type: string): JsonObject[] =>
  trace.flatMap(({ record }) => (record["type"] === type ? [record] : []));

/** What passed on a leg, line by line as it was on the wire. */
export function wire(trace: readonly TraceLine[], leg: Leg): string[] {
  return trace.flatMap(({ text, record }) => {
    if (record["leg"] !== leg) return [];
    if (record["type"] === "bytes") {
      // A line in which frames were found is there as a whole; the frames name it as their cause.
      const { text: verbatim, base64 } = record;
      return [typeof base64 === "string" ? Buffer.from(base64, "base64").toString("latin1") : String(verbatim)];
    }
    const fromOutside = leg === "client-bridge" || leg === "agent-bridge";
    if (fromOutside && record["cause"] !== undefined) return [];
    const frame = text.slice(text.indexOf(',"frame":') + ',"frame":'.length, -1);
    expect(Buffer.byteLength(frame)).toBe(record["bytes"]);
    return [frame];
  });
}
