/** How the frames on both sides of acp-shift are shown to a person: v2 on the left, v1 on the right. */
import { inspect } from "node:util";
import { asObject, asString, type JsonObject, without } from "../protocol/json.ts";
import type { Seen } from "./turn.ts";
import { type Paint, painter, type Screen } from "./view.ts";

type Side = "v2" | "v1";

/** One frame, written out. */
interface Cell {
  at: bigint;
  side: Side;
  /** The same for a frame and its translation. */
  key: string;
  lines: string[];
}

type Row = Partial<Record<Side, Cell>>;

/** From this many columns on, two frames fit beside each other. */
const columnsForTwo = 100;

/** A frame of more lines than this is cut. */
const mostLines = 8;

/** What v2 calls what a v1 frame is translated to, where the names differ. */
const v2Names: Record<string, string> = {
  "session/set_mode": "session/set_config_option",
  "session/set_mode result": "session/set_config_option result",
  "session/update plan": "session/update plan_update",
  "session/update tool_call": "session/update tool_call_update",
  "session/prompt result": "session/update state_update",
  "session/prompt error": "session/update state_update",
};

/**
 * The frames of both sides as text: `v2` as the client saw them, `v1` as the agent did. All are stamped by one clock,
 * before they were written or after they were read, so that in the order of time each comes after the one that caused it.
 * `jsonrpc` and `sessionId` are left out.
 *
 * On a wide screen there is a column for each side, and a frame stands beside the one it was translated to. On a narrow
 * one each line begins with its side.
 */
export function bothSides(v2: readonly Seen[], v1: readonly Seen[], screen: Screen): string {
  const paint = painter(screen);
  const two = screen.columns >= columnsForTwo;
  const width = two ? Math.floor((screen.columns - 3) / 2) : Math.max(20, screen.columns - 4);
  const cells = [...cellsOf("v2", v2, width), ...cellsOf("v1", v1, width)].sort((a, b) => (a.at < b.at ? -1 : 1));
  return two
    ? paired(cells)
        .map((row) => rowText(row, width, paint))
        .join("")
    : cells.map((cell) => cellText(cell, paint)).join("");
}

/** Says what `bothSides` is going to show. */
export function legend({ columns }: Screen): string {
  const where = columns >= columnsForTwo ? "ACP v2 on the left, ACP v1 on the right" : "each line marked with its side";
  return `Shown are all frames, ${where}, without jsonrpc and sessionId.`;
}

/** Puts cells into rows, each beside its translation unless that would put a column out of order. */
function paired(cells: Cell[]): Row[] {
  const rows: Row[] = [];
  for (const cell of cells) {
    const other = cell.side === "v2" ? "v1" : "v2";
    const free = rows.slice(rows.findLastIndex((row) => row[cell.side] !== undefined) + 1);
    const row = free.find(({ [other]: twin }) => twin?.key === cell.key);
    if (row) row[cell.side] = cell;
    else rows.push({ [cell.side]: cell });
  }
  return rows;
}

function rowText({ v2, v1 }: Row, width: number, paint: Paint): string {
  return Array.from({ length: Math.max(v2?.lines.length ?? 0, v1?.lines.length ?? 0) }, (_, n) => {
    const [left, right] = [v2?.lines[n] ?? "", v1?.lines[n] ?? ""];
    const padded = `${styled(left, n, "v2", paint)}${" ".repeat(width - left.length)}`;
    return `${padded} ${paint("dim", "│")}${right === "" ? "" : ` ${styled(right, n, "v1", paint)}`}\n`;
  }).join("");
}

function cellText({ side, lines }: Cell, paint: Paint): string {
  return lines.map((line, n) => `${paint(sideColour[side], `${side}│`)} ${styled(line, n, side, paint)}\n`).join("");
}

const sideColour = { v2: "cyan", v1: "magenta" } as const;

function styled(line: string, n: number, side: Side, paint: Paint): string {
  return n === 0 ? paint(sideColour[side], line) : line;
}

function cellsOf(side: Side, frames: readonly Seen[], width: number): Cell[] {
  const asked = new Map<string, string>();
  return frames.map(({ at, direction, frame }) => {
    // The client sends and the agent receives what travels towards the agent.
    const toAgent = (direction === "sent") === (side === "v2");
    const method = asString(frame["method"]);
    if (method !== undefined) asked.set(`${toAgent} ${frame["id"]}`, method);
    const name =
      method === undefined ? responseName(frame, asked.get(`${!toAgent} ${frame["id"]}`)) : callName(frame, method);
    const title = `${toAgent ? "→" : "←"} ${name}${"id" in frame ? ` #${frame["id"]}` : ""}`;
    return {
      at,
      side,
      key: `${toAgent} ${(side === "v1" && v2Names[name]) || name} ${whatChanges(frame)}`,
      lines: [title.length > width ? `${title.slice(0, width - 1)}…` : title, ...body(frame, width)],
    };
  });
}

function callName(frame: JsonObject, method: string): string {
  const kind = asString(asObject(asObject(frame["params"])["update"])["sessionUpdate"]);
  return kind === undefined ? method : `${method} ${kind}`;
}

function responseName(frame: JsonObject, asked: string | undefined): string {
  return `${asked ?? "unasked"} ${"error" in frame ? "error" : "result"}`;
}

/** What tells one update from the next of its kind. */
function whatChanges(frame: JsonObject): string {
  const update = asObject(asObject(frame["params"])["update"]);
  const { entries } = asObject(update["plan"] ?? update);
  return JSON.stringify([asObject(update["content"])["text"], update["toolCallId"], update["status"], entries]);
}

function body(frame: JsonObject, width: number): string[] {
  const params = asObject(frame["params"]);
  const call = "update" in params ? without(asObject(params["update"]), "sessionUpdate") : without(params, "sessionId");
  const shown = frame["error"] ?? frame["result"] ?? call;
  if (Object.keys(asObject(shown)).length === 0) return [];
  const options = { depth: null, compact: true, breakLength: Number.POSITIVE_INFINITY };
  const lines = wrap(inspect(shown, options).replace(/^\{ | \}$/g, ""), width - 2).map((line) => `  ${line}`);
  return lines.length > mostLines ? [...lines.slice(0, mostLines - 1), "  …"] : lines;
}

/** Breaks text at spaces, and inside a word that is longer than a line. */
function wrap(text: string, width: number): string[] {
  return text.match(new RegExp(`\\S.{0,${width - 2}}\\S(?=\\s|$)|\\S.{0,${width - 1}}`, "gu")) ?? [];
}
