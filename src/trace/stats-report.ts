import { printable } from "../protocol/printable.ts";
import { duration } from "./show.ts";
import type { Spread, Stats } from "./stats.ts";
import { cut, type Page, paint, table } from "./text.ts";

/** How many rows of a long table a person is shown; `--json` has all. */
const SHOWN = 40;

type Cell = string | number;

/** The figures of a run as tables, for a person. */
export function statsReport(stats: Stats, page: Page): string[] {
  const { run } = stats;
  const lost = run.dropped === 0 ? "" : paint("yellow", `, ${run.dropped} missing`, page);
  return [
    paint("bold", printable(run.agent.join(" ")), page),
    `${run.started}, ${duration(run.duration)}, ${run.records} records${lost}`,
    ...section(
      "Legs",
      ["leg", "frames", "bytes", "noise"],
      stats.legs.map(({ leg, frames, bytes, noise }) => [leg, frames, size(bytes), size(noise)]),
      page,
    ),
    ...section(
      "Added by the bridge",
      ["to", "frames", "p50", "p99", "max"],
      stats.added.map(({ to, spread }) => [to, spread.count, ...times(spread)]),
      page,
    ),
    ...section(
      "Requests",
      ["leg", "method", "answered", "errors", "open", "p50", "p99", "max"],
      stats.requests.map(({ leg, method, errors, unanswered, ...spread }) => [
        leg,
        method,
        spread.count,
        errors,
        unanswered,
        ...times(spread),
      ]),
      page,
    ),
    ...section(
      "Turns",
      ["record", "session", "first token", "end", "stop reason", "tool calls", "permissions"],
      stats.turns.map((turn) => [
        turn.seq,
        turn.session,
        time(turn.firstToken),
        time(turn.end),
        turn.stopReason ?? "–",
        turn.toolCalls,
        turn.permissions,
      ]),
      page,
    ),
    ...section(
      "Tool calls",
      ["session", "id", "kind", "status", "time", "title"],
      stats.toolCalls.map((call) => [
        call.session,
        call.id,
        call.kind ?? "–",
        call.status,
        time(call.time),
        call.title ?? "",
      ]),
      page,
    ),
    ...section(
      "Permissions",
      ["record", "session", "outcome", "time"],
      stats.permissions.map(({ seq, session, outcome, time: took }) => [seq, session, outcome ?? "–", time(took)]),
      page,
    ),
    ...section(
      "Sessions",
      ["session", "frames", "bytes", "turns", "tool calls", "permissions"],
      stats.sessions.map((one) => [
        one.session,
        one.frames,
        size(one.bytes),
        one.turns,
        one.toolCalls,
        one.permissions,
      ]),
      page,
    ),
    ...section(
      "Messages",
      ["leg", "kind", "method", "count", "bytes"],
      stats.messages.map(({ leg, kind, method, count, bytes }) => [leg, kind, method, count, size(bytes)]),
      page,
    ),
  ];
}

function section(title: string, head: readonly string[], rows: readonly (readonly Cell[])[], page: Page): string[] {
  if (rows.length === 0) return [];
  const shown = rows
    .slice(0, SHOWN)
    .map((row) => row.map((cell) => (typeof cell === "string" ? printable(cell) : cell)));
  const [first = "", ...lines] = table([head, ...shown]);
  const more = rows.length > shown.length ? [paint("dim", `  … ${rows.length - shown.length} more`, page)] : [];
  const text = (line: string) => cut(`  ${line}`, page.columns);
  return ["", paint("bold", title, page), paint("dim", text(first), page), ...lines.map(text), ...more];
}

function times({ p50, p99, max }: Spread): Cell[] {
  return [time(p50), time(p99), time(max)];
}

function time(ms: number | null): string {
  return ms === null ? "–" : duration(ms);
}

function size(bytes: number): string {
  if (bytes < 10_000) return `${bytes} B`;
  return bytes < 10_000_000 ? `${Math.round(bytes / 1000)} kB` : `${Math.round(bytes / 1_000_000)} MB`;
}
