/**
 * Most traffic is chunks of text that differ in nothing but the text. What two such lines have in common is learned once, by
 * parsing; from then on a line of the same pattern is known by its bytes, and never parsed.
 */
import { printExact, readExact } from "./exact.ts";
import { asObject, asString, isObject, type JsonObject } from "./json.ts";
import { Method } from "./methods.ts";

/** All there is to know of a `session/update` with a chunk of plain text, but the text. */
export interface ChunkPattern {
  sessionId: string;
  /** The update's kind. */
  kind: ChunkKind;
  /** The message it says it belongs to. */
  messageId: string | undefined;
  /** The frame, with another text. */
  frame: JsonObject;
  /** What stands before the text and after it, its quotes included: the line is these two with a JSON string's inside between. */
  before: Uint8Array;
  after: Uint8Array;
}

export type ChunkKind = "agent_message_chunk" | "agent_thought_chunk";

/** A line that has a pattern: the bytes of `source` from `start` to `end`; those of its text are a JSON string's inside. */
export interface ChunkLine {
  pattern: ChunkPattern;
  source: Uint8Array;
  start: number;
  end: number;
  textStart: number;
  textEnd: number;
  /** True for text in ASCII without escapes of the form `\\u0000`. */
  simple: boolean;
}

/** A frame, taken apart round the text of its chunk. */
export interface SplicedFrame {
  before: Uint8Array;
  after: Uint8Array;
}

/** A pattern longer than this is not worth its memory, in bytes. */
const LONGEST = 2048;

/** Stand for the text and the message's id where a frame is taken apart. */
const TEXT = "<the text of the chunk>";
const MESSAGE_ID = "<the id of its message>";

const encoder = new TextEncoder();
/** Byte order marks inside a text are text. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const TEXT_BEGINS = encoder.encode('"text":"');
const TEXT_BYTES = encoder.encode(TEXT);
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * The pattern of a line; undefined when it is no chunk of plain text of the agent's, or not written in a way that shows
 * where its text is.
 *
 * Sound because of how JSON is read: where a text takes the place of the one in the line and the frame read is the same in all but
 * its text, the bytes before leave the reader inside the string that is the text, and the bytes after begin with its end.
 *
 * @param value what the line says
 */
export function patternOf(line: Uint8Array, value: JsonObject): ChunkPattern | undefined {
  const params = asObject(value["params"]);
  const sessionId = asString(params["sessionId"]);
  const kind = kindOf(value);
  const text = textOfChunk(value);
  if (sessionId === undefined || kind === undefined || text === undefined) return undefined;
  const begins = find(line, TEXT_BEGINS);
  if (begins === -1) return undefined;
  const start = begins + TEXT_BEGINS.length;
  let end = start;
  while (end < line.length && line[end] !== QUOTE) end += line[end] === BACKSLASH ? 2 : 1;
  if (start + line.length - end > LONGEST) return undefined;
  const before = line.slice(0, start);
  const after = line.slice(end);
  const frame = asObject(readExact(new TextDecoder().decode(joined(before, TEXT_BYTES, after))));
  if (textOfChunk(frame) !== TEXT || JSON.stringify(withText(frame, text)) !== JSON.stringify(value)) return undefined;
  const messageId = asString(asObject(params["update"])["messageId"]) || undefined;
  return { sessionId, kind, messageId, frame, before, after };
}

/** The frame that the line is. */
export function frameOf(chunk: ChunkLine): JsonObject {
  return withText(chunk.pattern.frame, textOf(chunk));
}

/** A frame with the line's text in it, as JSON text. */
export function frameText({ source, textStart, textEnd }: ChunkLine, { before, after }: SplicedFrame): string {
  return decoder.decode(joined(before, source.subarray(textStart, textEnd), after));
}

/** The text of the line. */
export function textOf({ source, textStart, textEnd }: ChunkLine): string {
  return JSON.parse(decoder.decode(source.subarray(textStart - 1, textEnd + 1)));
}

/** The bytes of the line. */
export function lineOf({ source, start, end }: ChunkLine): Uint8Array {
  return source.subarray(start, end);
}

/** The frame with this text in place of its own. */
export function withText(frame: JsonObject, text: string): JsonObject {
  const params = asObject(frame["params"]);
  const update = asObject(params["update"]);
  const content = { ...asObject(update["content"]), text };
  return { ...frame, params: { ...params, update: { ...update, content } } };
}

/**
 * How a frame with a chunk of text is written under the id of any message, taken apart round its text; undefined when that
 * cannot be told.
 *
 * @param frameUnder the frame under an id
 */
export function takeApart(
  frameUnder: (messageId: string) => object,
): ((messageId: string) => SplicedFrame) | undefined {
  const [first, rest, ...more] = printExact(withText({ ...frameUnder(MESSAGE_ID) }, TEXT)).split(MESSAGE_ID);
  const [second, third, ...others] = rest?.split(TEXT) ?? [];
  if (second === undefined || third === undefined || more.length + others.length > 0) return undefined;
  const after = encoder.encode(third);
  return (messageId) => ({
    before: encoder.encode(`${first}${JSON.stringify(messageId).slice(1, -1)}${second}`),
    after,
  });
}

/** The text of a frame that has a chunk of text and nothing else as its content. */
function textOfChunk(frame: JsonObject): string | undefined {
  const content = asObject(asObject(frame["params"])["update"])["content"];
  if (!isObject(content) || Object.keys(content).length !== 2 || content["type"] !== "text") return undefined;
  return asString(content["text"]);
}

function kindOf(frame: JsonObject): ChunkKind | undefined {
  if (frame["method"] !== Method.sessionUpdate || "id" in frame) return undefined;
  const kind = asObject(asObject(frame["params"])["update"])["sessionUpdate"];
  return kind === "agent_message_chunk" || kind === "agent_thought_chunk" ? kind : undefined;
}

function joined(...parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let end = 0;
  for (const part of parts) {
    whole.set(part, end);
    end += part.length;
  }
  return whole;
}

/** Where the sequence first stands; -1 when nowhere. */
function find(bytes: Uint8Array, sequence: Uint8Array): number {
  for (let at = 0; at + sequence.length <= bytes.length; at++)
    if (sequence.every((byte, index) => bytes[at + index] === byte)) return at;
  return -1;
}
