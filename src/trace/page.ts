/** The page that shows a trace (src/viewer), as it was built: dist/viewer/page.html. */
import { readFileSync } from "node:fs";
import type { TraceRecord } from "./format.ts";

/** The page in two parts, between which a trace may stand. */
export interface Page {
  head: string;
  tail: string;
}

/** Where in the page a trace goes. */
const PLACE = "%TRACE%";

export function readPage(): Page {
  const text = readFileSync(new URL("../viewer/page.html", import.meta.url), "utf8");
  const at = text.indexOf(PLACE);
  return { head: text.slice(0, at), tail: text.slice(at + PLACE.length) };
}

/**
 * A record as a line within the page. Nothing in it can end the element it stands in, or its line: `<` and the line
 * separators occur in JSON only within strings, and there they are written as escapes.
 */
export function lineInPage(record: TraceRecord): string {
  const escaped = JSON.stringify(record).replace(
    /[<\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return `${escaped}\n`;
}
