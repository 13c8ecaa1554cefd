import { diffArrays, structuredPatch } from "diff";
import { asArray, asObject, asString, type JsonObject } from "../protocol/json.ts";
import { inOrderOf } from "../trace/difference.ts";

/** Two lines beside each other; one is missing where the other side has nothing in its place. */
export interface Pair {
  left?: string;
  right?: string;
  same: boolean;
}

/** Two texts with more lines than this in which they differ are shown beside each other, not compared. */
const MOST_EDITS = 2_000;

/**
 * Two JSON values as lines beside each other, with what differs marked. The right one's fields are put in the order of
 * the left one's: order means nothing in JSON, and would hide what does.
 */
export function compareJson(left: unknown, right: unknown): Pair[] {
  const [a, b] = [linesOf(left), linesOf(inOrderOf(right, left))];
  // Whether something follows is no difference.
  const comparator = (one: string, other: string) => withoutComma(one) === withoutComma(other);
  const changes = diffArrays(a, b, { maxEditLength: MOST_EDITS, comparator });
  if (changes === undefined) return beside(a, b);
  const pairs: Pair[] = [];
  let removed: string[] = [];
  let [leftAt, rightAt] = [0, 0];
  for (const { added, removed: gone, count } of changes) {
    if (gone) {
      removed = a.slice(leftAt, leftAt + count);
      leftAt += count;
      continue;
    }
    pairs.push(...beside(removed, added ? b.slice(rightAt, rightAt + count) : []));
    removed = [];
    for (let at = 0; !added && at < count; at++)
      pairs.push({ left: a[leftAt + at] ?? "", right: b[rightAt + at] ?? "", same: true });
    if (!added) leftAt += count;
    rightAt += count;
  }
  return [...pairs, ...beside(removed, [])];
}

function withoutComma(line: string): string {
  return line.endsWith(",") ? line.slice(0, -1) : line;
}

function linesOf(value: unknown): string[] {
  return (JSON.stringify(value, null, 2) ?? "").split("\n");
}

function beside(left: readonly string[], right: readonly string[]): Pair[] {
  return Array.from({ length: Math.max(left.length, right.length) }, (_, at) => {
    const [one, other] = [left[at], right[at]];
    return { ...(one !== undefined && { left: one }), ...(other !== undefined && { right: other }), same: false };
  });
}

/** A line of a shown file change: what it is, by its first character as in a patch, and its text. */
export interface PatchLine {
  mark: "file" | "hunk" | "+" | "-" | " ";
  text: string;
}

/** The `diff` content of a tool call as lines, whether it has v1's two texts or v2's changes and patch. */
export function patchLines(diff: JsonObject): PatchLine[] {
  const path = asString(diff["path"]);
  if (path !== undefined) return [{ mark: "file", text: path }, ...linesBetween(diff["oldText"], diff["newText"])];
  const files = asArray(diff["changes"]).map(asObject).map(changeLine);
  const patch = asString(asObject(diff["patch"])["text"]) ?? "";
  return files.length === 1 ? [...files, ...hunksOf(patch)] : [...files, ...patchOf(patch)];
}

function changeLine(change: JsonObject): PatchLine {
  const { operation, path, oldPath } = change;
  const from = oldPath === undefined || oldPath === null ? "" : `${oldPath} → `;
  return { mark: "file", text: `${operation} ${from}${path}` };
}

function linesBetween(oldText: unknown, newText: unknown): PatchLine[] {
  const [before, after] = [asString(oldText) ?? "", asString(newText) ?? ""];
  const patch = structuredPatch("", "", before, after, "", "", { context: 3, maxEditLength: MOST_EDITS });
  if (patch === undefined) return [{ mark: "hunk", text: "(too much changed to compare)" }];
  return patch.hunks.flatMap((hunk) => [
    { mark: "hunk" as const, text: `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@` },
    ...hunk.lines.map(lineInHunk),
  ]);
}

/** The hunks of a patch of one file: what comes before the first, its change has said. */
function hunksOf(patch: string): PatchLine[] {
  const lines = patchOf(patch);
  const first = lines.findIndex(({ mark }) => mark === "hunk");
  return first < 0 ? [] : lines.slice(first);
}

/** The lines of a git patch. Within a hunk, which says how long it is, `--- x` is a removed line and no file's name. */
function patchOf(patch: string): PatchLine[] {
  if (patch === "") return [];
  let [before, after] = [0, 0];
  return patch
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => {
      if (before > 0 || after > 0) {
        if (!line.startsWith("+") && !line.startsWith("\\")) before--;
        if (!line.startsWith("-") && !line.startsWith("\\")) after--;
        return lineInHunk(line);
      }
      const [, removed, added] = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line) ?? [];
      if (!line.startsWith("@@")) return { mark: "file", text: line };
      [before, after] = [Number(removed ?? 1), Number(added ?? 1)];
      return { mark: "hunk", text: line };
    });
}

function lineInHunk(line: string): PatchLine {
  const mark = line[0];
  return mark === "+" || mark === "-" ? { mark, text: line.slice(1) } : { mark: " ", text: line.slice(1) };
}
