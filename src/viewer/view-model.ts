import { type Conversation, type ConversationPart, createConversation, textOf } from "./conversation.ts";
import { EVERYTHING, type Filter, finder, passes } from "./filter.ts";
import { createRows, type Row, type Rows } from "./rows.ts";
import { createTrace, type Entry, type Trace } from "./trace.ts";
import { createTurns, type Turns } from "./turns.ts";

/** A trace with all that is shown of it, and what of that the filter lets through. */
export interface ViewModel {
  readonly trace: Trace;
  readonly rows: Rows;
  readonly conversation: Conversation;
  readonly turns: Turns;
  readonly filter: Filter;
  /** Finds the text that is searched for; undefined when none is. */
  readonly query: RegExp | undefined;
  /** The rows the filter lets through, in order. */
  readonly visibleRows: readonly Row[];
  /** The parts of the conversation of the session asked for, in order. */
  readonly visibleParts: readonly ConversationPart[];
  /** Whether a part has a frame among the visible rows; all have when only the session is asked for. */
  matches(part: ConversationPart): boolean;
  /** The place of an entry's row among the visible ones; -1 when the filter keeps it out. */
  placeOf(entry: Entry): number;
  /** Takes a line of the trace in; `refresh` makes it visible. */
  add(line: string): void;
  filterBy(change: Partial<Filter>): void;
  refresh(): void;
}

/** Makes the model of a trace of which nothing has been read yet. */
export function createViewModel(): ViewModel {
  const trace = createTrace();
  const rows = createRows();
  const conversation = createConversation();
  const turns = createTurns();
  let filter = EVERYTHING;
  let query: RegExp | undefined;
  let visibleRows: readonly Row[] = [];
  let visibleParts: readonly ConversationPart[] = [];
  /** Undefined while the filter lets all of a session through. */
  let matching: Set<ConversationPart> | undefined;

  function refresh(): void {
    visibleParts = conversation.parts.filter(
      (part) =>
        !conversation.isShownElsewhere(part) &&
        (filter.session === "" || part.session === undefined || part.session === filter.session),
    );
    const test = testOf();
    visibleRows = test === undefined ? rows.rows : rows.rows.filter(({ entries }) => entries.some(test));
    const onlySession = isAll({ ...filter, session: "" });
    matching = onlySession ? undefined : new Set();
    for (const { entries } of onlySession ? [] : visibleRows) {
      for (const entry of entries) {
        const part = conversation.partOf(entry);
        if (part !== undefined) matching?.add(part);
      }
    }
  }

  /** The test an entry has to pass; undefined when all do. */
  function testOf(): ((entry: Entry) => boolean) | undefined {
    if (isAll(filter)) return undefined;
    const pass = passes(filter);
    const words = query;
    if (words === undefined) return pass;
    // A text that came in pieces is found where they are put together.
    const found = new Set(conversation.parts.filter((part) => words.test(textOf(part))));
    return (entry) => {
      if (!pass(entry)) return false;
      const part = conversation.partOf(entry);
      return words.test(entry.line) || (part !== undefined && found.has(part));
    };
  }

  return {
    trace,
    rows,
    conversation,
    turns,
    get filter() {
      return filter;
    },
    get query() {
      return query;
    },
    get visibleRows() {
      return visibleRows;
    },
    get visibleParts() {
      return visibleParts;
    },
    matches: (part) => matching?.has(part) ?? true,
    placeOf(entry) {
      const row = rows.rowOf(entry);
      const seq = row?.entries[0].record.seq ?? 0;
      // Rows stand in the order of their first entries.
      let [low, high] = [0, visibleRows.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((visibleRows[middle]?.entries[0].record.seq ?? 0) >= seq) high = middle;
        else low = middle + 1;
      }
      return row !== undefined && visibleRows[low] === row ? low : -1;
    },
    add(line) {
      const entry = trace.add(line);
      if (entry === undefined) return;
      rows.add(entry);
      conversation.add(entry);
      turns.add(entry);
    },
    filterBy(change) {
      filter = { ...filter, ...change };
      query = finder(filter.query);
      refresh();
    },
    refresh,
  };
}

function isAll(filter: Filter): boolean {
  const { session, method, kind, legs, faultsOnly, query } = filter;
  return (
    session === "" && method === "" && kind === "" && !faultsOnly && query === "" && legs.size === EVERYTHING.legs.size
  );
}
