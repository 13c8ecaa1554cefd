import type { Frame } from "../protocol/frames.ts";

const LINE_FEED = 0x0a;

/** A frame as a line. */
export function lineOf(frame: Frame): string {
  return `${JSON.stringify(frame)}\n`;
}

/**
 * A message as a line: with a line break at its end, and none within. JSON may have them between its tokens, where a space
 * is as good; what is no JSON with them must not become JSON without.
 */
export function asLine(message: Buffer): Buffer {
  if (!message.includes(LINE_FEED)) return Buffer.concat([message, Buffer.of(LINE_FEED)]);
  const text = message.toString();
  return Buffer.from(`${text.replaceAll("\n", parseJson(text) === undefined ? "\r" : " ")}\n`);
}

/** The value of a JSON text; undefined when it is none. A byte order mark before it is left out. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    return undefined;
  }
}
