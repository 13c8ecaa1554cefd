/** `acp-inspector-trace`, version 1: the export of github.com/sagikazarmark/acp-inspector (its docs/trace-export.md). */
import { asString, isObject, type JsonObject } from "../../protocol/json.ts";
import { bytesOf } from "../bytes.ts";
import { type Converted, type Crossing, createLosses, type Passed, placeOf } from "./crossing.ts";

const FORMAT = "acp-inspector-trace";
const DIRECTION = { agent: "client -> agent", client: "agent -> client" } as const;

/**
 * One connection as an export.
 *
 * @param exported when, in ms since the epoch
 * @param dropped records the trace itself is missing
 */
export function toInspector(
  passed: readonly Passed[],
  exported: number,
  dropped: number,
  redacted: boolean,
): Converted<JsonObject[]> {
  const { left, add } = createLosses();
  const frames = passed.flatMap((record) => {
    const text = textOf(record);
    if (text === undefined) {
      add("lines that are not all on record, or no text");
      return [];
    }
    const direction = DIRECTION[placeOf(record.leg).toward];
    return [{ type: "frame", at: Date.parse(record.time), connection: 1, direction, encoding: "utf8", frame: text }];
  });
  const header = {
    type: "header",
    format: FORMAT,
    version: 1,
    at: exported,
    frames: frames.length,
    dropped: dropped + passed.length - frames.length,
    warning: `Prompts, file contents and tool output can be in these frames; ${redacted ? "what looked like a secret was replaced" : "nothing was replaced"}`,
  };
  return { value: [header, ...frames], left };
}

function textOf(record: Passed): string | undefined {
  if (record.type === "frame") return JSON.stringify(record.frame);
  return record.truncated || record.base64 !== undefined ? undefined : bytesOf(record).toString();
}

/** True for the first line of an export. */
export function isInspector(first: unknown): boolean {
  return isObject(first) && first["type"] === "header" && first["format"] === FORMAT;
}

/** The connections in an export, in the order in which they come. */
export function connectionsOf(lines: readonly JsonObject[]): unknown[] {
  return [...new Set(lines.filter(({ type }) => type === "frame").map(({ connection }) => connection))];
}

/** What crossed on one connection of an export, and the wall time of its beginning in ms. */
export function fromInspector(
  lines: readonly JsonObject[],
  connection: unknown,
): Converted<Crossing[]> & { started: number } {
  const { left, add } = createLosses();
  let started: number | undefined;
  const value = lines.flatMap((line): Crossing[] => {
    if (line["type"] !== "frame" || line["connection"] !== connection) return [];
    const { at, direction, encoding, frame } = line;
    const toward = direction === DIRECTION.agent ? "agent" : direction === DIRECTION.client ? "client" : undefined;
    const text = asString(frame);
    if (toward === undefined || text === undefined || typeof at !== "number") {
      add("records that are not as the format has them");
      return [];
    }
    started ??= at;
    return [{ hop: "whole", toward, at: at - started, ...contentOf(text, encoding) }];
  });
  return { value, left, started: started ?? 0 };
}

function contentOf(text: string, encoding: unknown): Pick<Crossing, "frame" | "text" | "bytes"> {
  if (encoding === "base64") return { bytes: Buffer.from(text, "base64") };
  try {
    return { frame: JSON.parse(text) };
  } catch {
    return { text };
  }
}
