/** How much an arrow key moves a splitter, in percent. */
const STEP = 4;
/** Neither side gets less than this, in percent. */
const LEAST = 15;

export interface SplitterOptions {
  label: string;
  /** Of the splitter itself: a vertical one stands between a left and a right side. */
  orientation: "vertical" | "horizontal";
  /** The percentage that goes to what stands before it, to begin with. */
  share: number;
}

/**
 * Lets an element share out the room of its parent, by dragging or the arrow keys: the parent's custom property
 * `--share` is what goes to what stands before it.
 */
export function createSplitter(separator: HTMLElement, { label, orientation, share }: SplitterOptions): void {
  const parent = separator.parentElement;
  const isVertical = orientation === "vertical";
  separator.tabIndex = 0;
  separator.role = "separator";
  separator.ariaLabel = label;
  separator.ariaOrientation = orientation;
  separator.ariaValueMin = String(LEAST);
  separator.ariaValueMax = String(100 - LEAST);
  let now = share;
  set(share);

  function set(wanted: number): void {
    now = Math.max(LEAST, Math.min(100 - LEAST, wanted));
    parent?.style.setProperty("--share", `${now}%`);
    separator.ariaValueNow = String(Math.round(now));
  }

  separator.addEventListener("pointerdown", ({ pointerId }) => separator.setPointerCapture(pointerId));
  separator.addEventListener("pointermove", (event) => {
    if (parent === null || !separator.hasPointerCapture(event.pointerId)) return;
    const { left, top, width, height } = parent.getBoundingClientRect();
    set(isVertical ? ((event.clientX - left) / width) * 100 : ((event.clientY - top) / height) * 100);
  });
  separator.addEventListener("keydown", ({ key }) => {
    if (key === (isVertical ? "ArrowLeft" : "ArrowUp")) set(now - STEP);
    if (key === (isVertical ? "ArrowRight" : "ArrowDown")) set(now + STEP);
  });
}
