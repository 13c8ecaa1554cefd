import type { Leg } from "../trace/format.ts";
import { LEGS } from "../trace/format.ts";
import { type Entry, legOf } from "./trace.ts";

/** The kinds of record one can ask for: those of frames, and the other types of record. */
export const KINDS = [
  "request",
  "notification",
  "result",
  "error",
  "invalid",
  "bytes",
  "stderr",
  "note",
  "event",
  "dropped",
  "end",
] as const;
export type Kind = (typeof KINDS)[number];

/** What is to be seen; an empty string stands for "all". */
export interface Filter {
  session: string;
  method: string;
  kind: Kind | "";
  /** Records that are on no leg are not asked for theirs. */
  legs: ReadonlySet<Leg>;
  faultsOnly: boolean;
  /** Text to be found in the record, whatever its case. */
  query: string;
}

/** Lets everything through. */
export const EVERYTHING: Filter = {
  session: "",
  method: "",
  kind: "",
  legs: new Set(LEGS),
  faultsOnly: false,
  query: "",
};

function kindOf({ record }: Entry): Kind {
  return record.type === "frame" ? record.kind : record.type;
}

/** Makes the test for a filter, without its `query`. Records of no session pass whichever session is asked for. */
export function passes(filter: Filter): (entry: Entry) => boolean {
  const { session, method, kind, legs, faultsOnly } = filter;
  return (entry) => {
    const leg = legOf(entry);
    return (
      (session === "" || entry.session === undefined || entry.session === session) &&
      (method === "" || (entry.record.type === "frame" && entry.record.method === method)) &&
      (kind === "" || kindOf(entry) === kind) &&
      (leg === undefined || legs.has(leg)) &&
      (!faultsOnly || entry.fault)
    );
  };
}

/** Makes the test whether a record's line holds the text, as text or as JSON writes it; undefined for no text. */
export function finder(query: string): RegExp | undefined {
  if (query === "") return undefined;
  const written = JSON.stringify(query).slice(1, -1);
  const forms = written === query ? [query] : [query, written];
  return new RegExp(forms.map((form) => form.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "i");
}
