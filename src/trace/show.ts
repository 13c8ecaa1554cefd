/** `acp-shift trace show`: a line for each record, aligned. */
import { asObject, asString } from "../protocol/json.ts";
import { printable } from "../protocol/printable.ts";
import type { FrameRecord, Leg, TraceRecord } from "./format.ts";
import { contentOf, nameOf, updateKind } from "./summary.ts";
import { column, cut, type Page, paint, type Style } from "./text.ts";

/** Where a record stands between client, bridge and agent. */
const LANES: Record<Leg, string> = {
  "client-bridge": "C→B  ",
  "bridge-agent": "  B→A",
  "agent-bridge": "  B←A",
  "bridge-client": "C←B  ",
};
const TO_AGENT: readonly Leg[] = ["client-bridge", "bridge-agent"];
const SESSION_SHOWN = 6;
const NAME_COLUMNS = 32;

/** One line, before it is cut to a page. */
export interface Row {
  /** Seconds since the start. */
  time: string;
  seq: string;
  lane: string;
  /** The end of the session's id: ids begin alike. */
  session: string;
  name: string;
  content: string;
  style: Style | undefined;
}

/** Makes rows of records given to it in order; it remembers requests, to say how long each answer took. */
export function createRows(): (record: TraceRecord) => Row {
  const asked = new Map<number, number>();
  return (record) => {
    if (record.type === "frame" && record.kind === "request") asked.set(record.seq, record.mono);
    const row = rowOf(record);
    if (record.type !== "frame" || record.request === undefined) return row;
    const since = asked.get(record.request);
    asked.delete(record.request);
    return since === undefined ? row : { ...row, content: `${duration(record.mono - since)}  ${row.content}` };
  };
}

function rowOf(record: TraceRecord): Row {
  if (record.type === "header")
    return row(record, { time: "", seq: "", name: `part ${record.part}`, style: "bold", lane: "" });
  const placed = { time: (record.mono / 1000).toFixed(3), seq: String(record.seq) };
  switch (record.type) {
    case "frame":
      return row(record, { ...placed, lane: LANES[record.leg], style: frameStyle(record), name: frameName(record) });
    case "bytes":
      return row(record, { ...placed, lane: LANES[record.leg], style: "red", name: "no frame" });
    case "note":
      return row(record, { ...placed, time: "", lane: "  └", style: record.what === "dropped" ? "yellow" : "dim" });
    case "stderr":
      return row(record, { ...placed, lane: "    A", style: "dim" });
    case "event":
      return row(record, { ...placed, lane: "  ·", style: "magenta" });
    case "dropped":
      return row(record, { ...placed, lane: "  ✂", style: "red" });
    case "end":
      return row(record, { ...placed, lane: "", style: "bold" });
  }
}

function row(record: TraceRecord, fields: Partial<Row> & Pick<Row, "time" | "seq" | "lane" | "style">): Row {
  const session = record.type === "frame" || record.type === "note" ? (record.session ?? "") : "";
  return { name: nameOf(record), content: contentOf(record), session: session.slice(-SESSION_SHOWN), ...fields };
}

function frameName(record: FrameRecord): string {
  const id = asObject(record.frame)["id"];
  const number = id === undefined ? "" : ` #${String(id).slice(0, 8)}`;
  const mark = { request: "?", notification: "", result: "=", error: "!", invalid: "‼" }[record.kind];
  return `${mark}${nameOf(record)}${number}`;
}

function frameStyle(record: FrameRecord): Style | undefined {
  if (record.kind === "error" || record.kind === "invalid") return "red";
  if (record.kind === "request") return TO_AGENT.includes(record.leg) ? "cyan" : "yellow";
  if (record.kind === "result") return "green";
  const kind = updateKind(record.frame);
  if (kind === "state_update") return "blue";
  return asString(kind)?.startsWith("tool_call") ? "magenta" : undefined;
}

/** The row as a line of at most the page's width, without a line break. */
export function rowText({ time, seq, lane, session, name, content, style }: Row, page: Page): string {
  const head = [
    paint("dim", `${seq.padStart(6)} ${time.padStart(9)}`, page),
    paint(style, column(lane, 5), page),
    paint("dim", column(printable(session), SESSION_SHOWN), page),
    paint(style, column(printable(name), NAME_COLUMNS), page),
  ].join("  ");
  const taken = 6 + 1 + 9 + 5 + SESSION_SHOWN + NAME_COLUMNS + 4 * 2;
  const text = cut(printable(content), Math.max(10, page.columns - taken));
  return `${head}  ${style === "dim" ? paint(style, text, page) : text}`.trimEnd();
}

/** Milliseconds as a person reads them. */
export function duration(ms: number): string {
  if (ms < 10) return `${ms.toFixed(ms < 1 ? 2 : 1)} ms`;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}
