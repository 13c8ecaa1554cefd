import type { FrameRecord, TraceRecord } from "./format.ts";
import { compareForms, formOf, formsText, formText } from "./forms.ts";
import { createRows, rowText } from "./show.ts";
import { isIncoming, isOnward, remember } from "./summary.ts";
import { type Page, paint } from "./text.ts";

/** Makes the two forms for each frame that went on to the other peer; nothing for other records. */
export function createPairs(page: Page): (record: TraceRecord) => string[] {
  const frames = new Map<number, FrameRecord>();
  return (record) => {
    if (record.type !== "frame") return [];
    if (isIncoming(record)) {
      remember(frames, record.seq, record);
      return [];
    }
    const cause = frames.get(record.cause ?? 0);
    return cause !== undefined && isOnward(cause, record) ? pairText(cause, record, page) : [];
  };
}

function pairText(cause: FrameRecord, record: FrameRecord, page: Page): string[] {
  return formsText(compareForms(formOf(cause), formOf(record)), page);
}

/**
 * One record in full: itself and what made it, or what became of it, each beside its other form, with the notes.
 * @returns undefined when the trace has no record of that number
 */
export async function familyText(
  records: AsyncIterable<TraceRecord>,
  seq: number,
  page: Page,
): Promise<string[] | undefined> {
  const rows = createRows();
  const before = new Map<number, { record: TraceRecord; row: string }>();
  const family: { record: TraceRecord; row: string }[] = [];
  let root = seq;
  for await (const record of records) {
    const row = rowText(rows(record), page);
    if (record.type === "header") continue;
    if (record.seq < seq) remember(before, record.seq, { record, row });
    if (record.seq === seq && record.cause !== undefined && !isIncoming(record)) {
      root = record.cause;
      family.push(...[...before.values()].filter(({ record: other }) => isOf(other, root)));
    }
    if (record.seq >= seq && isOf(record, root)) family.push({ record, row });
  }
  return family.some(({ record }) => record.type !== "header" && record.seq === seq) ? told(family, page) : undefined;
}

function isOf(record: TraceRecord, root: number): boolean {
  return record.type !== "header" && (record.seq === root || record.cause === root);
}

function told(family: readonly { record: TraceRecord; row: string }[], page: Page): string[] {
  const [first] = family;
  const wentOn = family.some(({ record }) => isOnward(first?.record, record));
  return family.flatMap(({ record, row }) => {
    const head = paint("bold", row, page);
    if (
      first !== undefined &&
      first.record.type === "frame" &&
      record.type === "frame" &&
      isOnward(first.record, record)
    )
      return [head, ...pairText(first.record, record, page), ""];
    if (record === first?.record && wentOn) return [head];
    if (record.type === "frame") return [head, ...formText(record.frame, page), ""];
    return [
      head,
      ...(record.type === "note" || record.type === "event" ? formText(record.details ?? {}, page) : []),
      "",
    ];
  });
}
