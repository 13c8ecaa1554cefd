import type { ConversationPart } from "../conversation.ts";
import type { Entry } from "../trace.ts";
import type { ViewModel } from "../view-model.ts";

/** What changed: records came, the filter was set, another entry was selected. */
export type Change = "records" | "filter" | "selection";

/** The parts of the page that can have the focus. */
export type Pane = "conversation" | "sequence" | "detail";

/** What the parts of the page share: the model, and what is selected in it. */
export interface Page {
  readonly model: ViewModel;
  readonly selected: Entry | undefined;
  /** The part of the conversation that the selected entry belongs to. */
  readonly selectedPart: ConversationPart | undefined;
  select(entry: Entry | undefined): void;
  changed(change: Change): void;
  /** Has the function called after every change, in the order in which they were given. */
  onChange(act: (change: Change) => void): void;
  focus(pane: Pane): void;
}

/** Makes the page's state; `focus` moves the focus to a pane. */
export function createPage(model: ViewModel, focus: (pane: Pane) => void): Page {
  const listeners: ((change: Change) => void)[] = [];
  let selected: Entry | undefined;
  const page: Page = {
    model,
    get selected() {
      return selected;
    },
    get selectedPart() {
      return selected === undefined ? undefined : model.conversation.partOf(selected);
    },
    select(entry) {
      selected = entry;
      page.changed("selection");
    },
    changed(change) {
      for (const act of listeners) act(change);
    },
    onChange: (act) => listeners.push(act),
    focus,
  };
  return page;
}
