import { isOnward } from "../trace/summary.ts";
import { type Entry, type FrameEntry, isFrame } from "./trace.ts";

/**
 * One row of the sequence diagram: a frame that came in together with the one it went on as, or any other record alone.
 */
export interface Row {
  readonly entries: [Entry, ...Entry[]];
}

/** The rows of a trace, in order. */
export interface Rows {
  readonly rows: readonly Row[];
  /** Puts the next entry of the trace into the last row it belongs to, or into one of its own. */
  add(entry: Entry): void;
  /** The row an entry stands in. */
  rowOf(entry: Entry): Row | undefined;
}

/** Puts entries into rows, as they come. */
export function createRows(): Rows {
  const rows: Row[] = [];
  const rowOf = new Map<Entry, Row>();

  function add(entry: Entry): void {
    const row = rowToJoin(entry);
    if (row !== undefined) row.entries.push(entry);
    const joined = row ?? { entries: [entry] };
    if (row === undefined) rows.push(joined);
    rowOf.set(entry, joined);
  }

  /** The row of its cause, when the frame is that one's continuation and nothing else happened in between. */
  function rowToJoin(entry: Entry): Row | undefined {
    const { cause } = entry;
    if (cause === undefined || !goesOnAs(cause, entry)) return undefined;
    const row = rowOf.get(cause);
    if (row === undefined || row.entries.length > 1) return undefined;
    for (let at = rows.length - 1; rows[at] !== row; at--) {
      if (rows[at]?.entries[0].cause !== cause) return undefined;
    }
    return row;
  }

  return { rows, add, rowOf: (entry) => rowOf.get(entry) };
}

/** True when the second is the frame as which the first, a frame that came in, goes on. */
function goesOnAs(first: Entry, second: Entry): second is FrameEntry {
  return isOnward(first.record, second.record);
}

/** A message in its two forms. */
export interface Forms {
  /** As it was between client and bridge. */
  client: FrameEntry;
  /** As it was between bridge and agent. */
  agent: FrameEntry;
}

/** The frame and each frame it became, or it came from, on the other side of the bridge. */
export function formsOf(entry: Entry): Forms[] {
  if (!isFrame(entry)) return [];
  const onward = entry.effects.filter((effect): effect is FrameEntry => goesOnAs(entry, effect));
  if (onward.length > 0) return onward.map((effect) => forms(entry, effect));
  const { cause } = entry;
  return cause !== undefined && isFrame(cause) && goesOnAs(cause, entry) ? [forms(cause, entry)] : [];
}

function forms(first: FrameEntry, second: FrameEntry): Forms {
  return first.record.leg === "client-bridge" ? { client: first, agent: second } : { client: second, agent: first };
}
