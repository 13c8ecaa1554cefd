import { contentOf, nameOf } from "../../trace/summary.ts";
import { equalHeights } from "../heights.ts";
import type { Row } from "../rows.ts";
import { type Entry, isFrame, legOf } from "../trace.ts";
import { element, marked, timeText } from "./dom.ts";
import type { Page } from "./page.ts";
import { createVirtualList } from "./virtual-list.ts";

/** The height of a row, in pixels; page.css has it too. */
const ROW = 30;

/** What fits into a row, and more, in characters. */
const LONGEST = 200;

/** The sequence diagram: a row for each message, an arrow on each leg it took. */
export function createSequencePane(page: Page, scroller: HTMLElement): void {
  const { model } = page;
  const list = createVirtualList({
    scroller,
    label: "Messages between client, bridge and agent",
    measure: false,
    onSelect: (index) => {
      const row = model.visibleRows[index];
      if (row !== undefined) page.select(row.entries[0]);
    },
    onEnter: () => page.focus("detail"),
  });
  let looks = 0;

  page.onChange((change) => {
    if (change !== "selection") {
      looks++;
      list.show({
        heights: equalHeights(model.visibleRows.length, ROW),
        key: (index) => keyOf(model.visibleRows[index], looks),
        render: (index) => render(model.visibleRows[index]),
      });
    } else list.redraw();
    list.select(page.selected === undefined ? -1 : model.placeOf(page.selected));
  });

  function render(row: Row | undefined): HTMLElement {
    if (row === undefined) return element("div");
    const [first] = row.entries;
    const part = model.conversation.partOf(first);
    const linked = part !== undefined && part === page.selectedPart;
    const out = element("div", {
      class: `row${linked ? " linked" : ""}${row.entries.some(({ fault }) => fault) ? " fault" : ""}`,
      "aria-label": labelOf(row),
    });
    out.append(element("span", { class: "time" }, timeText(first.record.mono)), ...lanes(row));
    return out;
  }

  function lanes({ entries }: Row): HTMLElement[] {
    const [first] = entries;
    if (legOf(first) === undefined) return [element("span", { class: `remark ${first.record.type}` }, ...words(first))];
    return [half("client", entries), half("agent", entries)];
  }

  /** One half of the diagram: what the row has between bridge and client, or between bridge and agent. */
  function half(side: "client" | "agent", entries: readonly Entry[]): HTMLElement {
    const entry = entries.find((one) => legOf(one)?.includes(side));
    if (entry === undefined) return element("span", { class: "half" });
    const leg = legOf(entry) ?? "";
    const towards = leg === "client-bridge" || leg === "bridge-agent" ? "right" : "left";
    const kind = isFrame(entry) ? entry.record.kind : "invalid";
    return element("span", { class: `half arrow ${towards} ${kind}` }, ...words(entry, entry !== entries[0]));
  }

  function words(entry: Entry, nameOnly = false): HTMLElement[] {
    const [name, text] = [nameOf(entry.record), contentOf(entry.record).slice(0, LONGEST)];
    const shown: (Node | string)[] = [element("b", { class: "name" }, ...marked(name, model.query))];
    if (!nameOnly && text !== "") shown.push(" ", element("span", { class: "gist" }, ...marked(text, model.query)));
    return [element("span", { class: "words" }, ...shown)];
  }
}

function keyOf(row: Row | undefined, looks: number): string {
  return row === undefined ? "" : `${row.entries[0].record.seq} ${row.entries.length} ${looks}`;
}

function labelOf({ entries }: Row): string {
  return entries
    .map((entry) => {
      const where = legOf(entry)?.replace("-", " to ") ?? entry.record.type;
      return `${where}: ${nameOf(entry.record)} ${contentOf(entry.record).slice(0, LONGEST)}`;
    })
    .join("; ");
}
