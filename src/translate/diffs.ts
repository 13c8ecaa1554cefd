import { structuredPatch } from "diff/lib/patch/create.js";
import { asArray, asObject, asString, isObject, type JsonObject, without } from "../protocol/json.ts";
import type { Notes } from "./notes.ts";
import { isAbsolutePath, resolvePath } from "./paths.ts";

/**
 * Translated diffs by a hash of what they were made from, so that a diff an agent sends again and again is made once.
 * The caller owns the map and bounds it.
 */
export type DiffMemo = Map<string, JsonObject>;

/** Where a diff was found. */
export interface DiffOrigin {
  /** The session's directory, for relative paths. */
  cwd: string;
  /** The `locations` of the tool call, for the position of fragments. */
  locations: unknown;
  /** True when the old text is known to be a fragment. */
  isFragment?: boolean;
}

/** The most diffs a memo holds: agents repeat those of the tool call at hand, not those of long ago. */
const MAX_DIFFS_KEPT = 32;

/** The most characters old and new text may have together; a larger diff is shown without its patch. */
export const MAX_DIFF_CHARS = 1024 * 1024;

/** The most lines old and new text may have together, likewise. */
export const MAX_DIFF_LINES = 50_000;

/**
 * The most changed lines that are looked for when both texts have content. The time needed grows with the square; this
 * many take some tens of milliseconds. It is counted in lines so that a recorded conversation gives the same frames on
 * every machine.
 */
export const MAX_CHANGED_LINES = 1000;

/** The backstop on a machine where even that takes long, in milliseconds. */
export const MAX_DIFF_MS = 250;

const CONTEXT_LINES = 3;
const NO_FINAL_NEWLINE = "\\ No newline at end of file";

type Operation = "add" | "delete" | "modify";
interface Hunk {
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  lines: string[];
}

/**
 * A v1 diff as v2 has it (docs/mapping.md §6, schema v2 `Diff`): one change, and a git patch where one can be made.
 *
 * `oldText` null, absent or empty adds the file; `newText` absent, or `_meta.kind` "delete", deletes it. The patch is
 * left out, with the note `diff-without-patch`, when a text is binary (has a NUL), too large or too costly to compare,
 * or when what was deleted is not known; and, without a note, when nothing changed. A diff without a path is returned
 * as it is.
 *
 * `oldText` may be only the edited fragment of a file. It is taken for one when the origin says so, and when a location
 * of that file names a line L above 1 and, reading `oldText` as the whole file, L is behind its end or no hunk covers L.
 * Line 1 of the fragment is then line L of the file, and a fragment's missing final newline means nothing.
 */
export function diffToV2(diff: JsonObject, origin: DiffOrigin, memo: DiffMemo, notes: Notes): JsonObject {
  const { path, oldText, newText } = diff;
  if (typeof path !== "string" || !isTextOrAbsent(oldText) || !isTextOrAbsent(newText)) return diff;
  const located = lineOf(path, origin);
  const operation = operationOf(diff, located);
  // Only an edit can be of a fragment; a file is added and deleted as a whole.
  const line = operation === "modify" ? located : 1;
  const isFragment = operation === "modify" && origin.isFragment === true;
  const absolute = resolvePath(origin.cwd, path);
  const before = operation === "add" ? "" : asString(oldText);
  const after = operation === "delete" ? "" : asString(newText);
  const key = [operation, line, isFragment, hashOf(before), hashOf(after), absolute].join(" ");
  const known = memo.get(key);
  const made = known ?? makeDiff(operation, absolute, before, after, { line, isFragment }, notes);
  if (known === undefined) {
    if (memo.size >= MAX_DIFFS_KEPT) memo.clear();
    memo.set(key, made);
  }
  return { ...without(diff, "path", "oldText", "newText"), ...made };
}

function isTextOrAbsent(value: unknown): value is string | null | undefined {
  return value === undefined || value === null || typeof value === "string";
}

function operationOf(diff: JsonObject, line: number): Operation {
  const kind = isObject(diff._meta) ? asString(diff._meta.kind) : undefined;
  const { oldText, newText } = diff;
  const absent = (text: unknown) => text === undefined || text === null;
  if (kind === "delete") return "delete";
  if (absent(newText)) return absent(oldText) ? "modify" : "delete";
  if (absent(oldText)) return "add";
  // Many agents write "" for a file that did not exist. It is an insertion when they say so.
  return oldText === "" && (kind === undefined || kind === "add") && line === 1 ? "add" : "modify";
}

/** The line a location names for the file, 1 when none does. */
function lineOf(path: string, origin: DiffOrigin): number {
  const absolute = resolvePath(origin.cwd, path);
  for (const location of asArray(origin.locations)) {
    if (!isObject(location) || typeof location.path !== "string" || !Number.isSafeInteger(location.line)) continue;
    if (resolvePath(origin.cwd, location.path) === absolute) return Math.max(1, Number(location.line));
  }
  return 1;
}

function makeDiff(
  operation: Operation,
  path: string,
  before: string | undefined,
  after: string | undefined,
  place: Place,
  notes: Notes,
): JsonObject {
  const binary = before?.includes("\0") || after?.includes("\0");
  const changes = [{ operation, path, fileType: binary ? "binary" : "text" }];
  const withoutPatch = (detail: string): JsonObject => {
    notes.push({ rule: "diff-without-patch", detail: `${path}: ${detail}` });
    return { type: "diff", changes };
  };
  if (before === undefined || after === undefined) return withoutPatch("the agent did not send the text");
  if (binary) return withoutPatch("binary content");
  if (before.length + after.length > MAX_DIFF_CHARS || lineCount(before) + lineCount(after) > MAX_DIFF_LINES) {
    return withoutPatch("too large to compare");
  }
  const hunks = hunksOf(before, after, place);
  if (hunks === undefined) return withoutPatch("too costly to compare");
  if (operation === "modify" && hunks.length === 0) return { type: "diff", changes };
  return { type: "diff", changes, patch: { format: "git_patch", text: gitPatch(operation, path, hunks) } };
}

/** Where the texts stand in their file: at which line, and whether they are known to be a fragment of it. */
interface Place {
  line: number;
  isFragment: boolean;
}

/** The hunks between two texts, moved to the line when the texts are a fragment; undefined when too costly. */
function hunksOf(before: string, after: string, { line, isFragment }: Place): Hunk[] | undefined {
  if (isFragment || (line > 1 && line > lineCount(before))) return fragmentHunks(before, after, line);
  const hunks = compare(before, after);
  if (hunks === undefined || line === 1 || hunks.some((hunk) => covers(hunk, line))) return hunks;
  return fragmentHunks(before, after, line);
}

function fragmentHunks(before: string, after: string, line: number): Hunk[] | undefined {
  return compare(closed(before), closed(after))?.map((hunk) => ({
    ...hunk,
    oldStart: hunk.oldStart + line - 1,
    newStart: hunk.newStart + line - 1,
  }));
}

function compare(before: string, after: string): Hunk[] | undefined {
  if (before === "" || after === "") return wholeText(before, after);
  const options = { context: CONTEXT_LINES, maxEditLength: MAX_CHANGED_LINES, timeout: MAX_DIFF_MS };
  return structuredPatch("", "", before, after, undefined, undefined, options)?.hunks;
}

/** The one hunk between a text and none, which needs no comparing. */
function wholeText(before: string, after: string): Hunk[] {
  const sign = before === "" ? "+" : "-";
  const text = before + after;
  if (text === "") return [];
  const lines = text.split("\n").map((line) => sign + line);
  if (text.endsWith("\n")) lines.pop();
  const count = lines.length;
  if (!text.endsWith("\n")) lines.push(NO_FINAL_NEWLINE);
  const [oldLines, newLines] = before === "" ? [0, count] : [count, 0];
  return [{ oldStart: 1, oldLines, newStart: 1, newLines, lines }];
}

function covers(hunk: Hunk, line: number): boolean {
  const within = (start: number, count: number) => line >= start && line < start + count;
  return within(hunk.oldStart, hunk.oldLines) || within(hunk.newStart, hunk.newLines);
}

function lineCount(text: string): number {
  let breaks = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) breaks++;
  return text === "" || text.endsWith("\n") ? breaks : breaks + 1;
}

/** A fragment with the line break that follows it in the file. */
function closed(fragment: string): string {
  if (fragment === "" || fragment.endsWith("\n")) return fragment;
  return fragment + (fragment.includes("\r\n") ? "\r\n" : "\n");
}

/**
 * One file's section of a patch as `git diff` prints it, but for the name: that is the absolute path, without git's
 * prefixes (schema v2 `DiffPatchFormat`).
 */
function gitPatch(operation: Operation, path: string, hunks: Hunk[]): string {
  const name = quoted(path);
  const lines = [`diff --git ${name} ${name}`];
  if (operation === "add") lines.push("new file mode 100644");
  if (operation === "delete") lines.push("deleted file mode 100644");
  if (hunks.length > 0) {
    lines.push(`--- ${operation === "add" ? "/dev/null" : tabbed(name)}`);
    lines.push(`+++ ${operation === "delete" ? "/dev/null" : tabbed(name)}`);
  }
  const body = hunks.flatMap((hunk) => [
    `@@ -${range(hunk.oldStart, hunk.oldLines)} +${range(hunk.newStart, hunk.newLines)} @@`,
    ...hunk.lines,
  ]);
  return `${lines.concat(body).join("\n")}\n`;
}

/** A range of a hunk header: an empty one names the line before it, a count of 1 is not written. */
function range(start: number, count: number): string {
  if (count === 0) return `${start - 1},0`;
  return count === 1 ? `${start}` : `${start},${count}`;
}

/** Git ends a file name that has a space with a tab, in `---` and `+++` lines. */
function tabbed(name: string): string {
  return name.includes(" ") ? `${name}\t` : name;
}

const ESCAPES: ReadonlyMap<number, string> = new Map([
  [0x07, "\\a"],
  [0x08, "\\b"],
  [0x09, "\\t"],
  [0x0a, "\\n"],
  [0x0b, "\\v"],
  [0x0c, "\\f"],
  [0x0d, "\\r"],
  [0x22, '\\"'],
  [0x5c, "\\\\"],
]);

/** A file name as git quotes it with `core.quotePath`: in C style when a byte is no plain printable ASCII. */
function quoted(name: string): string {
  if (/^[ !#-[\]-~]*$/.test(name)) return name;
  let text = "";
  for (const byte of new TextEncoder().encode(name)) {
    const plain = byte >= 0x20 && byte < 0x7f;
    const other = plain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, "0")}`;
    text += ESCAPES.get(byte) ?? other;
  }
  return `"${text}"`;
}

/** A cheap hash of a text: its length and two 32-bit FNV-1a style sums. */
function hashOf(text: string | undefined): string {
  if (text === undefined) return "-";
  let first = 0x811c9dc5;
  let second = 0x9747b28c;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    first = Math.imul(first ^ unit, 0x01000193);
    second = Math.imul(second ^ unit, 0x85ebca6b);
    second ^= second >>> 13;
  }
  return `${text.length}.${first >>> 0}.${second >>> 0}`;
}

/**
 * A v2 diff as the items of v1 tool-call content (docs/mapping.md §13, schema v1 `ToolCallContent`): for each change one
 * diff, its `oldText` and `newText` rebuilt from the hunks of the file's section in the patch. They are the whole file
 * only where the hunks are. A change without such texts (binary, too large, a mere rename, no git patch) is one line of
 * text, with the note `diff-as-text`.
 *
 * Fields v1 does not define go to the first of the items.
 */
export function diffToV1(diff: JsonObject, notes: Notes): JsonObject[] {
  const patch = asObject(diff.patch);
  const sections = patch.format === "git_patch" ? sectionsOf(asString(patch.text) ?? "") : [];
  const rest = without(diff, "changes", "patch");
  const taken = new Set<Section>();
  const items = asArray(diff.changes)
    .filter(isObject)
    .map((change, index) => {
      const extra = index === 0 ? rest : {};
      const path = gitPath(asString(change.path) ?? "");
      const section = sections.find((candidate) => !taken.has(candidate) && isNamed(candidate, path));
      if (section !== undefined) taken.add(section);
      const made = section && sectionToV1(section, change);
      if (made === undefined) {
        notes.push({ rule: "diff-as-text", detail: `${change.path}: there are no texts to compare` });
        return { ...extra, type: "content", content: { type: "text", text: changeInWords(change) } };
      }
      const meta = { ...asObject(change._meta), ...asObject(extra._meta), ...asObject(made._meta) };
      return { ...extra, ...made, ...(Object.keys(meta).length > 0 ? { _meta: meta } : {}) };
    });
  if (taken.size < sections.length) {
    notes.push({ rule: "diff-section-dropped", detail: "a section of the patch belongs to none of the changes" });
  }
  return items;
}

/** One file's section of a git patch, as far as a v1 diff needs it. */
interface Section {
  names: string[];
  oldText: string;
  newText: string;
  /** False for a section without text to show: a rename, a mode, a binary file. */
  hasText: boolean;
}

/** Patches name files from the root, or from a directory of their own. */
function isNamed(section: Section, path: string): boolean {
  return section.names.some((name) => path === name || path.endsWith(`/${name}`));
}

function sectionToV1({ oldText, newText, hasText }: Section, { path, operation }: JsonObject): JsonObject | undefined {
  if (operation === "add") return { type: "diff", path, oldText: null, newText };
  if (!hasText) return undefined;
  if (operation === "delete") return { type: "diff", path, oldText, newText, _meta: { kind: "delete" } };
  return { type: "diff", path, oldText, newText };
}

const CHANGE_WORDS: ReadonlyMap<unknown, string> = new Map([
  ["add", "Added"],
  ["delete", "Deleted"],
  ["move", "Moved"],
  ["copy", "Copied"],
]);

function changeInWords({ operation, oldPath, path }: JsonObject): string {
  const word = CHANGE_WORDS.get(operation) ?? "Changed";
  return typeof oldPath === "string" ? `${word} ${oldPath} to ${path}` : `${word} ${path}`;
}

/** The file sections of a git patch; text that is none gives none. */
function sectionsOf(patch: string): Section[] {
  const sections: Section[] = [];
  let section: Section | undefined;
  let oldLeft = 0;
  let newLeft = 0;
  let sign = "";
  for (const line of patch.split("\n")) {
    const inHunk = oldLeft > 0 || newLeft > 0;
    if (!inHunk && line.startsWith("diff --git ")) {
      section = { names: gitLineNames(line), oldText: "", newText: "", hasText: false };
      sections.push(section);
    } else if (line.startsWith("\\") && section !== undefined) {
      // "No newline at end of file", said of the line before.
      if (sign !== "+") section.oldText = section.oldText.slice(0, -1);
      if (sign !== "-") section.newText = section.newText.slice(0, -1);
    } else if (inHunk && section !== undefined) {
      // Some tools cut the sign off an empty line of context.
      sign = line.charAt(0);
      const text = `${line.slice(1)}\n`;
      if (sign !== "+") section.oldText += text;
      if (sign !== "-") section.newText += text;
      oldLeft -= Number(sign !== "+");
      newLeft -= Number(sign !== "-");
    } else if (section !== undefined) {
      const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line);
      const name = /^(?:---|\+\+\+|(?:rename|copy) (?:from|to)) (.+)/.exec(line)?.[1];
      if (name !== undefined) section.names.push(...namesIn(name));
      if (hunk === null) continue;
      section.hasText = true;
      oldLeft = Number(hunk[1] ?? 1);
      newLeft = Number(hunk[2] ?? 1);
    }
  }
  return sections;
}

/** The name in `diff --git NAME NAME`, which only tells where both are the same but for their prefix. */
function gitLineNames(line: string): string[] {
  const names = line.slice("diff --git ".length);
  return namesIn(names.slice((names.length + 1) / 2));
}

/** What a name in a patch may be as a path: with and without git's prefix, without the root's `/`. */
function namesIn(written: string): string[] {
  const [trimmed = ""] = written.split("\t", 1);
  const name = gitPath(trimmed.startsWith('"') ? unquoted(trimmed) : trimmed);
  return /^[ab]\//.test(name) ? [name, name.slice(2)] : [name];
}

/** A path as git would name it, from the root and with `/`: `/a/b` is `a/b`, `C:\\a` is `C:/a`. */
function gitPath(path: string): string {
  if (path.startsWith("/")) return path.replace(/^\/+/, "");
  return isAbsolutePath(path) ? path.replaceAll("\\", "/") : path;
}

/** The file name that git quoted in C style. */
function unquoted(text: string): string {
  const bytes: number[] = [];
  for (const [part] of text.slice(1, -1).matchAll(/\\[0-7]{3}|\\.|[^\\]/gsu)) {
    const special = [...ESCAPES].find(([, written]) => written === part);
    if (/^\\[0-7]{3}$/.test(part)) bytes.push(Number.parseInt(part.slice(1), 8));
    else if (special !== undefined) bytes.push(special[0]);
    else bytes.push(...new TextEncoder().encode(part));
  }
  return new TextDecoder().decode(Uint8Array.from(bytes));
}
