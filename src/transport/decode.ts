import { endOfString, parseExact, readExact } from "../protocol/exact.ts";
import { isFrame } from "../protocol/frames.ts";
import type { JsonObject } from "../protocol/json.ts";

/** Decodes one line of the client's. A line that is no JSON is a fault to be answered with `-32700` (docs/mapping.md §12). */
export function decodeClientLine(bytes: Buffer): { value: unknown } | { fault: "not-json" } {
  try {
    return { value: parseExact(bytes.toString()) };
  } catch {
    return { fault: "not-json" };
  }
}

/** A JSON-RPC message and the bytes it was written in. */
export interface DecodedFrame {
  value: JsonObject;
  line: Uint8Array;
}

export interface AgentLine {
  /** The frames on the line, in order. */
  frames: DecodedFrame[];
  /** What else stood on the line, as text free of terminal escapes, in order. */
  noise: string[];
  /** Set when the line was not simply one frame: whether it was an array, or frames among other text. */
  recovered?: "array" | "fragments";
}

/**
 * Decodes one line of the agent's (docs/mapping.md §12). An array is unpacked; terminal escapes and byte order
 * marks before a frame are dropped; several frames on one line are told apart; whatever is no JSON-RPC is noise.
 * Takes time linear in the length of the line. Never throws.
 */
export function decodeAgentLine(bytes: Buffer): AgentLine {
  let text: string;
  try {
    text = bytes.toString();
  } catch {
    return { frames: [], noise: [`(a line of ${bytes.length} bytes, too long to be read as text)`] };
  }
  const value = readExact(text);
  if (isFrame(value)) return { frames: [{ value, line: bytes }], noise: [] };
  return decodeUntidy(text);
}

function decodeUntidy(raw: string): AgentLine {
  // `trim` takes byte order marks for white space.
  const text = raw.replace(TERMINAL_ESCAPE, "").trim();
  if (text === "") return { frames: [], noise: [] };
  const value = readExact(text);
  if (Array.isArray(value)) return unpack(text, value);
  if (isFrame(value)) return { frames: [{ value, line: Buffer.from(text) }], noise: [], recovered: "fragments" };
  if (value !== undefined) return { frames: [], noise: [text] };
  return searchFrames(text);
}

/**
 * Terminal control: CSI sequences; strings (OSC, DCS, SOS, PM, APC) up to BEL or ST; other escapes; a stray ESC.
 * None of the alternatives may take the `{` of a frame that follows a sequence cut short.
 */
const TERMINAL_ESCAPE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  /\x1b(?:\[[0-?]*[ -/]*[@-z|}~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-Z\\^-z|~])?/g;

/** Frames of a JSON array, each with the bytes it has in `text`; elements that are no frame are noise. */
function unpack(text: string, elements: unknown[]): AgentLine {
  const line: AgentLine = { frames: [], noise: [], recovered: "array" };
  let position = 1;
  for (const element of elements) {
    const end = endOfElement(text, position);
    const source = text.slice(position, end).trim();
    if (isFrame(element)) line.frames.push({ value: element, line: Buffer.from(source) });
    else line.noise.push(source);
    position = end + 1;
  }
  return line;
}

/** The position of the `,` or `]` after the array element at `position` of well-formed JSON. */
function endOfElement(text: string, position: number): number {
  let depth = 0;
  for (let i = position; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) i = endOfString(text, i) - 1;
    else if (char === OPEN_OBJECT || char === OPEN_ARRAY) depth++;
    else if (depth === 0 && (char === COMMA || char === CLOSE_ARRAY)) return i;
    else if (char === CLOSE_OBJECT || char === CLOSE_ARRAY) depth--;
  }
  return text.length;
}

/**
 * Finds the frames in text that is not JSON as a whole: frames glued together, or among other output. Only an object that
 * stands by itself can be a frame: one inside another object, even a broken one, is data that an agent passes on.
 */
function searchFrames(text: string): AgentLine {
  const line: AgentLine = { frames: [], noise: [] };
  let noiseStart = 0;
  let start = text.indexOf("{");
  while (start !== -1) {
    const { whole, next } = readObject(text, start);
    const value = whole ? readExact(text.slice(start, next)) : undefined;
    if (isFrame(value)) {
      addNoise(line.noise, text.slice(noiseStart, start));
      line.frames.push({ value, line: Buffer.from(text.slice(start, next)) });
      noiseStart = next;
    }
    start = text.indexOf("{", next);
  }
  addNoise(line.noise, text.slice(noiseStart));
  if (line.frames.length > 0) line.recovered = "fragments";
  return line;
}

function addNoise(noise: string[], text: string): void {
  const trimmed = text.trim();
  if (trimmed !== "") noise.push(trimmed);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Reads the object that opens at `start` as far as it has the form of JSON (scalars and escapes are left to the parser).
 * `next` is its end when it is whole, else where the search for another object goes on.
 */
function readObject(text: string, start: number): { whole: boolean; next: number } {
  const closers: number[] = [];
  let expected: "value" | "key" | "colon" | "separator" = "value";
  let lastString = { start: -1, end: -1 };
  let i = start;
  for (;;) {
    while (isSpace(text.charCodeAt(i))) i++;
    if (i >= text.length) return { whole: false, next: i };
    const char = text.charCodeAt(i);
    if (char === closers.at(-1) && expected !== "colon") {
      closers.pop();
      i++;
      if (closers.length === 0) return { whole: true, next: i };
      expected = "separator";
    } else if (char === QUOTE && (expected === "key" || expected === "value")) {
      lastString = { start: i, end: endOfString(text, i) };
      i = lastString.end;
      expected = expected === "key" ? "colon" : "separator";
    } else if (expected === "value" && (char === OPEN_OBJECT || char === OPEN_ARRAY)) {
      closers.push(char === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY);
      i++;
      expected = char === OPEN_OBJECT ? "key" : "value";
    } else if (expected === "colon" && char === COLON) {
      i++;
      expected = "value";
    } else if (expected === "separator" && char === COMMA) {
      i++;
      expected = closers.at(-1) === CLOSE_OBJECT ? "key" : "value";
    } else if (expected === "value" && isScalar(char)) {
      while (isScalar(text.charCodeAt(i))) i++;
      expected = "separator";
    } else {
      // A frame cut off inside a string swallows the `{"` of the next one: the search goes back to where the string began.
      const torn = lastString.end === i;
      return { whole: false, next: torn ? lastString.start + 1 : Math.max(i, start + 1) };
    }
  }
}

function isSpace(char: number): boolean {
  return char === 0x20 || char === 0x09 || char === 0x0a || char === 0x0d;
}

/** True for a character of a number, `true`, `false` or `null`. */
function isScalar(char: number): boolean {
  return (
    (char >= 0x30 && char <= 0x39) ||
    (char >= 0x41 && char <= 0x5a) ||
    (char >= 0x61 && char <= 0x7a) ||
    char === 0x2b ||
    char === 0x2d ||
    char === 0x2e
  );
}
