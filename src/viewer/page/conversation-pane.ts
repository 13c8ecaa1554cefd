import type { ConversationPart } from "../conversation.ts";
import { ownHeights } from "../heights.ts";
import { element } from "./dom.ts";
import type { Page } from "./page.ts";
import { renderPart } from "./part.ts";
import { createVirtualList } from "./virtual-list.ts";

/** The conversation as the client saw it. */
export function createConversationPane(page: Page, scroller: HTMLElement): void {
  const { model } = page;
  /** By part: its height when it was last seen. */
  const measured = new Map<ConversationPart, number>();
  /** What was unfolded by hand, by part and name. */
  const unfolded = new Set<string>();
  let looks = 0;
  const list = createVirtualList({
    scroller,
    label: "Conversation as the client saw it",
    measure: true,
    onSelect: (index) => page.select(entryOf(model.visibleParts[index])),
    onEnter: (index) => unfoldAll(index),
    onMeasured: (index, height) => {
      const part = model.visibleParts[index];
      if (part !== undefined) measured.set(part, height);
    },
  });
  list.onWidth(() => {
    measured.clear();
    show();
  });

  function show(): void {
    const parts = model.visibleParts;
    list.show({
      heights: ownHeights(parts.map((part) => measured.get(part) ?? guess(part))),
      key: (index) => {
        const part = parts[index];
        return part === undefined ? "" : `${part.index} ${part.revision} ${looks}`;
      },
      render: (index) => {
        const part = parts[index];
        return part === undefined ? element("div") : render(part);
      },
    });
  }

  function render(part: ConversationPart): HTMLElement {
    const row = renderPart(part, {
      query: model.query,
      terminal: (id) => model.conversation.terminal(part.session, id),
      isUnfolded: (name) => unfolded.has(`${part.index} ${name}`),
      unfold(name, open) {
        if (open) unfolded.add(`${part.index} ${name}`);
        else unfolded.delete(`${part.index} ${name}`);
      },
      redraw: () => list.redraw(),
    });
    row.classList.toggle("dim", !model.matches(part));
    return row;
  }

  /** Opens all that can be unfolded in a part, or closes it when all is open. */
  function unfoldAll(index: number): void {
    const row = scroller.querySelector<HTMLElement>(`[data-index="${index}"]`);
    const folds = [...(row?.querySelectorAll("details") ?? [])];
    const open = folds.some((fold) => !fold.open);
    for (const fold of folds) fold.open = open;
    row?.querySelector<HTMLButtonElement>("button.more")?.click();
  }

  /** The entry that stands for a part: its first that the filter lets through. */
  function entryOf(part: ConversationPart | undefined) {
    return part?.entries.find((entry) => model.placeOf(entry) >= 0) ?? part?.entries[0];
  }

  page.onChange((change) => {
    if (change === "filter") looks++;
    if (change !== "selection") show();
    const part = page.selectedPart;
    const index = part === undefined ? -1 : model.visibleParts.indexOf(part);
    if (index !== list.selected || change === "filter") list.select(index);
  });
}

/** A height to begin with, in pixels: near enough that the scroll bar does not jump much. */
function guess(part: ConversationPart): number {
  switch (part.type) {
    case "message": {
      const text = part.blocks.reduce((sum, { text }) => sum + (typeof text === "string" ? text.length : 100), 0);
      return 40 + Math.min(60, Math.ceil(text / 60)) * 21;
    }
    case "tool-call":
      return 60 + part.content.length * 120;
    case "plan":
      return 40 + part.entriesOf.length * 24;
    case "question":
      return 90;
    default:
      return 30;
  }
}
