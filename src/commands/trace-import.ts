import { readFile, stat } from "node:fs/promises";
import type { Side } from "../bridge/events.ts";
import type { TraceLine } from "../config/trace-line.ts";
import { UsageError } from "../config/usage-error.ts";
import { isObject, type JsonObject } from "../protocol/json.ts";
import { newRunId } from "../trace/files.ts";
import { fromConductor, isConductor } from "../trace/foreign/conductor.ts";
import { type Converted, type Crossing, recordsOf } from "../trace/foreign/crossing.ts";
import { connectionsOf, fromInspector, isInspector } from "../trace/foreign/inspector.ts";
import { fromNdjson, isNdjson } from "../trace/foreign/ndjson.ts";
import type { Header } from "../trace/format.ts";
import { versions } from "../trace/recorder.ts";
import { tellLosses, writeLines } from "./conversion.ts";
import { reportProblem } from "./printer.ts";
import { loadSchema } from "./schemas.ts";

/**
 * `acp-shift trace import`: a trace of what another tool recorded.
 * @returns the exit status: 0
 * @throws UsageError for a file in none of the formats, or an output that cannot be written
 */
export async function traceImport({ files, options }: TraceLine): Promise<number> {
  const [file = "", ...more] = files;
  if (more.length > 0) throw new UsageError("one file is imported at a time");
  const name = file === "-" ? "standard input" : file;
  const { text, modified } = await readSource(file);
  const lines = linesOf(text, name);
  const format = formatOf(options["format"], lines[0], name);
  const { value, left, started } = read(format, lines, options["connection"], modified);
  if (value.length === 0) throw new UsageError(`${name} holds no message as ${format} has them`);
  tellLosses(left);
  const { acpShift, sdk } = versions();
  const header: Header = {
    type: "header",
    format: "acp-shift-trace",
    version: 1,
    run: newRunId(),
    part: 1,
    acpShift,
    sdk,
    node: process.version,
    started: new Date(Math.floor(started)).toISOString(),
    agent: { command: [] },
    redaction: { on: false, replaced: [], mark: "" },
    bridge: {},
    imported: format,
  };
  await writeLines([header, ...recordsOf(value, started)], options["output"]);
  return 0;
}

function read(
  format: string,
  lines: readonly JsonObject[],
  connection: unknown,
  modified: number,
): Converted<Crossing[]> & { started: number } {
  if (format === "acp-inspector") return fromInspector(lines, chosen(connectionsOf(lines), connection));
  if (connection !== undefined) throw new UsageError(`--connection: ${format} files have but one`);
  if (format === "ndjson") return { ...fromNdjson(lines, calledSide), started: modified };
  const converted = fromConductor(lines);
  // A conductor writes each event at once, so the file is as old as the last one.
  return { ...converted, started: modified - (converted.value.at(-1)?.at ?? 0) };
}

function chosen(connections: readonly unknown[], wanted: unknown): unknown {
  const named = connections.find((connection) => String(connection) === wanted);
  if (named !== undefined) return named;
  if (wanted === undefined && connections.length <= 1) return connections[0];
  const names = connections.map(String).join(", ");
  throw new UsageError(
    wanted === undefined
      ? `the file has several connections: choose one with --connection (${names})`
      : `--connection: the file has none ${String(wanted)}, only ${names}`,
  );
}

/** Who is called by a method, in either version. */
export function calledSide(method: string): Side | undefined {
  const schemas = ["v2/schema.json", "v1/schema.json", "v2/schema.unstable.json", "v1/schema.unstable.json"];
  for (const schema of schemas)
    for (const side of ["agent", "client"] as const)
      if (loadSchema(schema).definitionOf(side, method, "params") !== undefined) return side;
  return undefined;
}

function formatOf(given: unknown, first: JsonObject | undefined, name: string): string {
  if (typeof given === "string") return given;
  if (isInspector(first)) return "acp-inspector";
  if (isConductor(first)) return "conductor";
  if (isNdjson(first)) return "ndjson";
  if (first?.["format"] === "acp-shift-trace") throw new UsageError(`${name} is an acp-shift trace already`);
  throw new UsageError(`${name} is in none of the formats that can be imported: acp-inspector, conductor, ndjson`);
}

/** The JSON objects of a file, one a line; other lines are reported. */
function linesOf(text: string, file: string): JsonObject[] {
  return text.split(/\r?\n/).flatMap((line, index) => {
    if (line.trim() === "") return [];
    const value = parsed(line);
    if (isObject(value)) return [value];
    reportProblem({ file, line: index + 1, text: "not a JSON object" });
    return [];
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function readSource(file: string): Promise<{ text: string; modified: number }> {
  try {
    if (file !== "-") return { text: await readFile(file, "utf8"), modified: (await stat(file)).mtimeMs };
    const chunks: Uint8Array[] = [];
    for await (const chunk of process.stdin) chunks.push(chunk);
    return { text: Buffer.concat(chunks).toString(), modified: Date.now() };
  } catch (error) {
    const missing = isObject(error) && error["code"] === "ENOENT";
    throw new UsageError(
      `${file}: ${missing ? "no such file" : error instanceof Error ? error.message : String(error)}`,
    );
  }
}
