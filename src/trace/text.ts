/** Text for a terminal: what fits where, and in which colour. */
import { styleText } from "node:util";

/** How wide the text may be, in columns, and whether it may be coloured. */
export interface Page {
  columns: number;
  colour: boolean;
}

export type Style = Parameters<typeof styleText>[0];

/** Where no terminal says how wide it is. */
const USUAL_COLUMNS = 160;

/**
 * The page that a stream is.
 * @param wanted what the person said about colour; undefined: coloured on a terminal where NO_COLOR is not set
 */
export function pageOf(
  stream: { columns?: number; isTTY?: boolean },
  wanted: unknown,
  variables: Readonly<Record<string, string | undefined>> = process.env,
): Page {
  const byDefault = stream.isTTY === true && !variables["NO_COLOR"];
  return { columns: stream.columns || USUAL_COLUMNS, colour: typeof wanted === "boolean" ? wanted : byDefault };
}

/** The text in a style, where the page has colour. */
export function paint(style: Style | undefined, text: string, { colour }: Page): string {
  return colour && style !== undefined && text !== "" ? styleText(style, text, { validateStream: false }) : text;
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const ONLY_ASCII = /^[ -~]*$/;

/** How many columns the text takes. */
export function widthOf(text: string): number {
  if (ONLY_ASCII.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += columnsOf(character);
  return width;
}

function columnsOf(character: string): number {
  if (/\p{M}|\u200d/u.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** The longest beginning of the text that fits. */
export function beginning(text: string, columns: number): string {
  let end = 0;
  let width = 0;
  for (const character of text) {
    width += columnsOf(character);
    if (width > columns) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** The text, or as much of its beginning as fits, with `…` for the rest. */
export function cut(text: string, columns: number): string {
  // Frames may have megabytes: what is far beyond is not measured.
  if (text.length <= columns * 4 && widthOf(text) <= columns) return text;
  return `${beginning(text, columns - 1)}…`;
}

/** The text in exactly that many columns. */
export function column(text: string, columns: number): string {
  const kept = cut(text, columns);
  return kept + " ".repeat(Math.max(0, columns - widthOf(kept)));
}

/** The text in lines of at most so many columns. */
export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > columns || widthOf(rest) > columns) {
    const line = beginning(rest, columns);
    lines.push(line);
    rest = rest.slice(line.length);
  }
  return rest === "" && lines.length > 0 ? lines : [...lines, rest];
}

/** A table with its columns as wide as they must be; numbers stand right. */
export function table(rows: readonly (readonly (string | number)[])[], gap = "  "): string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, widthOf(String(cell)));
  return rows.map((row) =>
    row
      .map((cell, index) => {
        const padding = " ".repeat((widths[index] ?? 0) - widthOf(String(cell)));
        return typeof cell === "number" || /^[\d.,]+( ?[a-zA-Zµ]{1,3}| ?%)?$/.test(cell)
          ? padding + cell
          : cell + padding;
      })
      .join(gap)
      .trimEnd(),
  );
}
