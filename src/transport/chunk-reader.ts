import { type ChunkLine, type ChunkPattern, patternOf } from "../protocol/chunk-pattern.ts";
import type { JsonObject } from "../protocol/json.ts";
import { readInside } from "./json-bytes.ts";

/** Knows lines by what earlier ones had in common (protocol/chunk-pattern.ts). */
export interface ChunkReader {
  /** The line at these bytes, when it has a pattern that is known; it holds until the next call. */
  read(source: Buffer, start: number, end: number): ChunkLine | undefined;
  /** A line that had to be parsed; its pattern is learned when the next such line comes, so that nobody waits for it. */
  parsed(line: Uint8Array, value: JsonObject): void;
}

/** Patterns of lines that are equally long but for their text, and end alike. */
interface Shape {
  before: number;
  after: number;
  /** By the characters in which the sessions or messages of such lines are most likely to differ. */
  patterns: Map<number, ChunkPattern>;
  /** Where the characters are. */
  keyAt: number;
}

/** More shapes than this are not looked through; one that is not known any more is learned again. */
const MOST_SHAPES = 8;
const MOST_PATTERNS = 1000;

const CARRIAGE_RETURN = 0x0d;

const NO_BYTES = new Uint8Array();
const NO_PATTERN: ChunkPattern = {
  sessionId: "",
  kind: "agent_message_chunk",
  messageId: undefined,
  frame: {},
  before: NO_BYTES,
  after: NO_BYTES,
};

/** Nothing known at first. */
export function createChunkReader(): ChunkReader {
  /** The one of the line before comes first. */
  let shapes: Shape[] = [];
  let unlearned: { line: Uint8Array; value: JsonObject } | undefined;
  const found: ChunkLine = {
    pattern: NO_PATTERN,
    source: NO_BYTES,
    start: 0,
    end: 0,
    textStart: 0,
    textEnd: 0,
    simple: true,
  };

  function learn(): void {
    if (unlearned === undefined) return;
    const pattern = patternOf(unlearned.line, unlearned.value);
    unlearned = undefined;
    if (pattern === undefined) return;
    const { length: before } = pattern.before;
    const { length: after } = pattern.after;
    let shape = shapes.find((one) => one.before === before && one.after === after);
    if (shape === undefined) {
      shape = { before, after, patterns: new Map(), keyAt: endOfSessionId(pattern) - 4 };
      shapes = [shape, ...shapes.slice(0, MOST_SHAPES - 1)];
    }
    if (shape.patterns.size >= MOST_PATTERNS) shape.patterns.clear();
    shape.patterns.set(keyOf(pattern.before, shape.keyAt), pattern);
  }

  function matching(source: Buffer, start: number, end: number): ChunkPattern | undefined {
    for (const shape of shapes) {
      const { before, after, patterns, keyAt } = shape;
      if (end - start < before + after) continue;
      const pattern = patterns.get(keyOf(source, start + keyAt));
      if (pattern === undefined || !has(pattern, source, start, end)) continue;
      if (shape !== shapes[0]) shapes = [shape, ...shapes.filter((other) => other !== shape)];
      return pattern;
    }
    return undefined;
  }

  return {
    read(source, start, lineEnd) {
      const end = source[lineEnd - 1] === CARRIAGE_RETURN ? lineEnd - 1 : lineEnd;
      const pattern = matching(source, start, end);
      if (pattern === undefined) return undefined;
      const textStart = start + pattern.before.length;
      const textEnd = end - pattern.after.length;
      const inside = readInside(source, textStart, textEnd);
      if (inside?.end !== textEnd) return undefined;
      found.pattern = pattern;
      found.source = source;
      found.start = start;
      found.end = end;
      found.textStart = textStart;
      found.textEnd = textEnd;
      found.simple = inside.simple;
      return found;
    },
    parsed(line, value) {
      learn();
      unlearned = { line, value };
    },
  };
}

function has({ before, after }: ChunkPattern, source: Buffer, start: number, end: number): boolean {
  const textStart = start + before.length;
  const textEnd = end - after.length;
  if (textStart > textEnd) return false;
  for (let index = 0; index < after.length; index++) if (source[textEnd + index] !== after[index]) return false;
  return source.compare(before, 0, before.length, start, textStart) === 0;
}

/** Four bytes as a number. */
function keyOf(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 24) | ((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0);
}

/** Where the id of the session ends in the bytes before the text; where it does not stand there, the end of these. */
function endOfSessionId({ sessionId, before }: ChunkPattern): number {
  const at = Buffer.from(before).indexOf(sessionId);
  return at === -1 ? before.length : at + Buffer.byteLength(sessionId);
}
