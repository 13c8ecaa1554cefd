/** The two forms of one message, side by side, with what differs marked. */
import { diffArrays } from "diff";
import { asObject } from "../protocol/json.ts";
import { printable } from "../protocol/printable.ts";
import { inOrderOf } from "./difference.ts";
import type { FrameRecord } from "./format.ts";
import { column, type Page, paint, type Style, wrapped } from "./text.ts";

/** One line of the two forms; `same`, or on which side it stands. */
export interface FormLine {
  left: string | undefined;
  right: string | undefined;
  mark: "same" | "changed" | "left" | "right";
}

/** How long it may take to find out what differs, in ms; after that everything does. */
const LONGEST_DIFF = 500;

/** The lines of two frames, paired; the right one's fields in the order of the left one's. */
export function compareForms(left: unknown, right: unknown): FormLine[] {
  const lefts = linesOf(left);
  const rights = linesOf(inOrderOf(right, left));
  const parts = diffArrays(lefts, rights, { timeout: LONGEST_DIFF }) ?? [
    { value: lefts, removed: true, added: false },
    { value: rights, removed: false, added: true },
  ];
  const lines: FormLine[] = [];
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index];
    const next = parts[index + 1];
    if (part === undefined) break;
    if (part.removed && next?.added) {
      const height = Math.max(part.value.length, next.value.length);
      for (let at = 0; at < height; at++) lines.push(lineOf(part.value[at], next.value[at], "changed"));
      index++;
    } else if (part.removed) lines.push(...part.value.map((text) => lineOf(text, undefined, "changed")));
    else if (part.added) lines.push(...part.value.map((text) => lineOf(undefined, text, "changed")));
    else lines.push(...part.value.map((text) => lineOf(text, text, "same")));
  }
  return lines;
}

function lineOf(left: string | undefined, right: string | undefined, mark: "same" | "changed"): FormLine {
  if (left === undefined) return { left, right, mark: "right" };
  return { left, right, mark: right === undefined ? "left" : mark };
}

/** A JSON value over several lines, its short parts on one. Commas are left out: a field added last changes no line. */
export function linesOf(value: unknown, columns = 40, indent = ""): string[] {
  const compact = JSON.stringify(value) ?? "";
  if (value === null || typeof value !== "object" || indent.length + compact.length <= columns)
    return [indent + compact];
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const members = Object.entries(value).flatMap(([key, item]) => {
    const [first = "", ...rest] = linesOf(item, columns, inner);
    return [isList ? first : `${inner}${JSON.stringify(key)}: ${first.slice(inner.length)}`, ...rest];
  });
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  return [indent + open, ...members, indent + close];
}

const MARKS: Record<FormLine["mark"], { sign: string; left?: Style; right?: Style }> = {
  same: { sign: " " },
  changed: { sign: "|", left: "red", right: "green" },
  left: { sign: "<", left: "red" },
  right: { sign: ">", right: "green" },
};

/** The two forms in two columns as wide as the page; what does not fit is wrapped. */
export function formsText(lines: readonly FormLine[], page: Page): string[] {
  const half = Math.max(20, Math.floor((page.columns - 3) / 2));
  return lines.flatMap(({ left = "", right = "", mark }) => {
    const { sign, left: leftStyle, right: rightStyle } = MARKS[mark];
    const lefts = wrapped(printable(left), half);
    const rights = wrapped(printable(right), half);
    return Array.from({ length: Math.max(lefts.length, rights.length) }, (_, at) => {
      const first = paint(leftStyle, column(lefts[at] ?? "", half), page);
      return `${first} ${sign} ${paint(rightStyle, rights[at] ?? "", page)}`.trimEnd();
    });
  });
}

/** One frame over the page's width. */
export function formText(value: unknown, page: Page): string[] {
  return linesOf(value, 60).flatMap((line) => wrapped(printable(line), page.columns));
}

/** The frame's form for comparing: what crosses, without the envelope's version. */
export function formOf({ frame }: FrameRecord): unknown {
  const { jsonrpc: _, ...form } = asObject(frame);
  return Object.keys(form).length === 0 ? frame : form;
}
