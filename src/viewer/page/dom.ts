type Attributes = Record<string, string | number | boolean | undefined>;
type Child = Node | string | undefined | false;

/**
 * Makes an element. Strings become text nodes and attribute values, never markup: whatever a trace holds, it is text.
 * `true` sets an attribute without a value; `false` and `undefined` leave it out.
 */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== undefined && child !== false));
  return made;
}

/** The element of the page with this id. @throws Error when the page has none of this kind: a fault of the page's own */
export function byId<E extends HTMLElement>(id: string, kind: new () => E): E {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`);
  return found;
}

/** Text with what the pattern finds marked. */
export function marked(text: string, pattern: RegExp | undefined): (Node | string)[] {
  if (pattern === undefined) return [text];
  const pieces: (Node | string)[] = [];
  let at = 0;
  for (const { 0: hit, index } of text.matchAll(new RegExp(pattern.source, "gi"))) {
    pieces.push(text.slice(at, index), element("mark", {}, hit));
    at = index + hit.length;
  }
  return [...pieces, text.slice(at)];
}

/** Runs the function before the next frame is drawn, once however often it is asked for until then. */
export function onNextFrame(act: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      act();
    });
  };
}

/** Milliseconds as seconds, as many places as tell something. */
export function seconds(ms: number): string {
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 1000) return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
  if (ms < 120_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  return ms < 7_200_000 ? `${(ms / 60_000).toFixed(1)} min` : `${(ms / 3_600_000).toFixed(1)} h`;
}

/** A time since the start of the run, in seconds with milliseconds: the same width for all that is near. */
export function timeText(mono: number): string {
  return (mono / 1000).toFixed(3);
}
