import { element } from "./dom.ts";

/** A string longer than this is shown by its beginning, in characters. */
const LONG_STRING = 2_000;
/** Tokens beyond this are not coloured, only shown. */
const MOST_TOKENS = 4_000;

/** A JSON value, indented and coloured; very long strings are cut. */
export function jsonView(value: unknown): HTMLElement {
  return element("pre", { class: "json" }, ...colouredJson(displayed(value)));
}

/** The text of a value as it is shown. */
function displayed(value: unknown): string {
  const shorten = (_: string, part: unknown) =>
    typeof part === "string" && part.length > LONG_STRING
      ? `${part.slice(0, LONG_STRING)}… (${part.length - LONG_STRING} more characters)`
      : part;
  return JSON.stringify(value, shorten, 2) ?? "";
}

/** JSON text with its tokens in elements that say what they are. */
export function colouredJson(text: string): (Node | string)[] {
  const pieces: (Node | string)[] = [];
  let [at, tokens] = [0, 0];
  for (const match of text.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g)) {
    if (++tokens > MOST_TOKENS) break;
    const [whole, string, colon] = match;
    const kind = string === undefined ? "scalar" : colon === undefined ? "string" : "key";
    const token = string ?? whole;
    pieces.push(text.slice(at, match.index), element("span", { class: kind }, token));
    at = match.index + token.length;
  }
  return [...pieces, text.slice(at)];
}
