import type { Heights } from "../heights.ts";
import { element, onNextFrame } from "./dom.ts";

/** What a list shows. */
export interface ListContent {
  heights: Heights;
  /** Tells rows apart, and a row from what it was before it changed: an element is kept as long as this stays. */
  key(index: number): string;
  render(index: number): HTMLElement;
}

export interface VirtualList {
  /** Shows this content from now on. Stays where it is, or at the end if it was there. */
  show(content: ListContent): void;
  /** The row selected; -1 for none. */
  readonly selected: number;
  /** Selects a row, and brings it into view if it is not. */
  select(index: number): void;
  /** Renders anew what is to be seen, as when its rows look different. */
  redraw(): void;
  /** Heights that were measured are of no use any more. */
  onWidth(act: () => void): void;
}

export interface ListOptions {
  /** The element that scrolls; it becomes a listbox. */
  scroller: HTMLElement;
  label: string;
  /** False when all rows have the height they are said to have. */
  measure: boolean;
  /** A row was chosen by mouse or keyboard. */
  onSelect(index: number): void;
  /** Enter was pressed on a row. */
  onEnter(index: number): void;
  onMeasured?(index: number, height: number): void;
}

/** How far beyond its borders a list is rendered, in pixels. */
const OVERSCAN = 240;

/**
 * A list of any length of which only what can be seen is in the document. It is a listbox to assistive technology: the
 * focus stays on the scrolling element, which names the active row.
 */
export function createVirtualList({
  scroller,
  label,
  measure,
  onSelect,
  onEnter,
  onMeasured,
}: ListOptions): VirtualList {
  const space = element("div", { class: "space", role: "presentation" });
  scroller.append(space);
  scroller.role = "listbox";
  scroller.ariaLabel = label;
  scroller.tabIndex = 0;
  let content: ListContent | undefined;
  let shown = new Map<string, { index: number; row: HTMLElement }>();
  let selected = -1;
  let widthChanged: () => void = () => {};
  const draw = onNextFrame(render);

  function atEnd(): boolean {
    return scroller.scrollTop > 0 && scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - 4;
  }

  function render(): void {
    if (content === undefined) return;
    const { heights } = content;
    // Rows above that turn out higher or lower than thought must not move what is being looked at.
    const anchor = heights.at(scroller.scrollTop);
    const within = scroller.scrollTop - heights.top(anchor);
    for (let round = 0; round < 4; round++) {
      place(content);
      if (!measure || !measureShown(content)) break;
      space.style.height = `${heights.total}px`;
      const wanted = heights.top(anchor) + within;
      if (Math.abs(scroller.scrollTop - wanted) > 1) scroller.scrollTop = wanted;
    }
  }

  function place({ heights, key, render: make }: ListContent): void {
    space.style.height = `${heights.total}px`;
    const kept = shown;
    shown = new Map();
    const until = scroller.scrollTop + scroller.clientHeight + OVERSCAN;
    const start = heights.count === 0 ? 0 : heights.at(scroller.scrollTop - OVERSCAN);
    for (let index = start, top = heights.top(start); index < heights.count && top < until; index++) {
      const name = key(index);
      const row = kept.get(name)?.row ?? prepared(make(index));
      kept.delete(name);
      row.style.top = `${top}px`;
      row.setAttribute("aria-posinset", String(index + 1));
      row.setAttribute("aria-setsize", String(heights.count));
      row.setAttribute("aria-selected", String(index === selected));
      row.dataset["index"] = String(index);
      row.id = `${scroller.id}-${index}`;
      shown.set(name, { index, row });
      if (row.parentNode !== space) space.append(row);
      top += heights.get(index);
    }
    for (const { row } of kept.values()) row.remove();
    scroller.setAttribute("aria-activedescendant", `${scroller.id}-${selected}`);
    if (selected < 0) scroller.removeAttribute("aria-activedescendant");
  }

  function prepared(row: HTMLElement): HTMLElement {
    row.setAttribute("role", "option");
    row.addEventListener("toggle", draw, true);
    return row;
  }

  /** True when a height was another than thought. */
  function measureShown({ heights }: ListContent): boolean {
    let changed = false;
    for (const { index, row } of shown.values()) {
      const height = row.offsetHeight;
      if (height === heights.get(index)) continue;
      heights.set(index, height);
      onMeasured?.(index, height);
      changed = true;
    }
    return changed;
  }

  function reveal(index: number): void {
    if (content === undefined) return;
    const { heights } = content;
    const [top, height] = [heights.top(index), heights.get(index)];
    const room = scroller.clientHeight;
    if (top >= scroller.scrollTop && top + Math.min(height, room) <= scroller.scrollTop + room) return;
    const isNear = Math.abs(top - scroller.scrollTop - room / 2) < room;
    if (!isNear) scroller.scrollTop = top - room / 3;
    else if (top < scroller.scrollTop) scroller.scrollTop = top;
    else scroller.scrollTop = Math.min(top, top + height - room);
  }

  function select(index: number): void {
    selected = index;
    if (index >= 0) {
      reveal(index);
      render();
      // Its true height is known only now.
      if (measure) reveal(index);
    }
    draw();
  }

  function choose(index: number): void {
    const last = (content?.heights.count ?? 0) - 1;
    const bounded = Math.max(0, Math.min(last, index));
    if (last >= 0) onSelect(bounded);
  }

  scroller.addEventListener("scroll", draw, { passive: true });
  scroller.addEventListener("click", ({ target }) => {
    if (!(target instanceof Element) || target.closest("button, summary, a")) return;
    const index = target.closest<HTMLElement>("[role=option]")?.dataset["index"];
    if (index !== undefined && (getSelection()?.isCollapsed ?? true)) choose(Number(index));
  });
  scroller.addEventListener("keydown", (event) => {
    if (event.target !== scroller || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, shown.size - 4);
    const moves: Record<string, number> = {
      ArrowDown: selected + 1,
      ArrowUp: selected - 1,
      PageDown: selected + page,
      PageUp: selected - page,
      Home: 0,
      End: Number.MAX_SAFE_INTEGER,
    };
    const to = moves[event.key];
    if (to !== undefined) choose(to);
    else if (event.key === "Enter" && selected >= 0) onEnter(selected);
    else return;
    event.preventDefault();
  });
  let width = 0;
  new ResizeObserver(() => {
    if (measure && width !== 0 && width !== scroller.clientWidth) widthChanged();
    width = scroller.clientWidth;
    draw();
  }).observe(scroller);

  return {
    show(next) {
      const stay = atEnd();
      content = next;
      space.style.height = `${next.heights.total}px`;
      if (stay) scroller.scrollTop = next.heights.total;
      draw();
    },
    get selected() {
      return selected;
    },
    select,
    redraw() {
      for (const { row } of shown.values()) row.remove();
      shown = new Map();
      draw();
    },
    onWidth(act) {
      widthChanged = act;
    },
  };
}
