import { LEGS, type Leg } from "../../trace/format.ts";
import { KINDS, type Kind } from "../filter.ts";
import { byId, element } from "./dom.ts";
import type { Page } from "./page.ts";

const LEG_NAMES: Record<Leg, [short: string, long: string]> = {
  "client-bridge": ["C→B", "client to bridge"],
  "bridge-agent": ["B→A", "bridge to agent"],
  "agent-bridge": ["A→B", "agent to bridge"],
  "bridge-client": ["B→C", "bridge to client"],
};

/** How long typing pauses before it is searched for, in ms. */
const PAUSE = 150;

/** Search and filters. */
export function createToolbar(page: Page): void {
  const { model } = page;
  const search = byId("search", HTMLInputElement);
  const session = byId("session", HTMLSelectElement);
  const method = byId("method", HTMLSelectElement);
  const kind = byId("kind", HTMLSelectElement);
  const faults = byId("faults", HTMLButtonElement);
  const clear = byId("clear", HTMLButtonElement);
  const status = byId("status", HTMLElement);
  const legs = byId("legs", HTMLElement);

  const filterBy = (change: Parameters<typeof model.filterBy>[0]) => {
    model.filterBy(change);
    page.changed("filter");
  };

  let typing: number | undefined;
  const searchNow = () => {
    clearTimeout(typing);
    if (search.value !== model.filter.query) filterBy({ query: search.value });
  };
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(searchNow, PAUSE);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    searchNow();
    const at = page.selected === undefined ? -1 : model.placeOf(page.selected);
    const row = model.visibleRows[at + (event.shiftKey ? -1 : 1)] ?? model.visibleRows[event.shiftKey ? -1 : 0];
    if (row !== undefined) page.select(row.entries[0]);
    event.preventDefault();
  });

  session.addEventListener("change", () => filterBy({ session: session.value }));
  method.addEventListener("change", () => filterBy({ method: method.value }));
  kind.addEventListener("change", () => filterBy({ kind: kind.value as Kind | "" }));
  kind.append(element("option", { value: "" }, "all kinds"), ...KINDS.map((one) => element("option", {}, one)));
  faults.addEventListener("click", () => filterBy({ faultsOnly: !model.filter.faultsOnly }));
  const legButtons = LEGS.map((leg) => {
    const [short, long] = LEG_NAMES[leg];
    const button = element(
      "button",
      { type: "button", "aria-pressed": "true", "aria-label": long, title: long },
      short,
    );
    button.addEventListener("click", () => {
      const wanted = new Set(model.filter.legs);
      if (!wanted.delete(leg)) wanted.add(leg);
      filterBy({ legs: wanted });
    });
    return [leg, button] as const;
  });
  legs.append(...legButtons.map(([, button]) => button));
  clear.addEventListener("click", () => {
    search.value = "";
    filterBy({ query: "", session: "", method: "", kind: "", faultsOnly: false, legs: new Set(LEGS) });
  });

  page.onChange((change) => {
    if (change === "selection") return;
    const { filter, trace, visibleRows, rows } = model;
    fill(session, "all sessions", trace.sessions, filter.session);
    fill(method, "all methods", trace.methods, filter.method);
    kind.value = filter.kind;
    faults.setAttribute("aria-pressed", String(filter.faultsOnly));
    faults.textContent = `Errors ${trace.faults}`;
    faults.classList.toggle("some", trace.faults > 0);
    for (const [leg, button] of legButtons) button.setAttribute("aria-pressed", String(filter.legs.has(leg)));
    const all = visibleRows === rows.rows;
    clear.hidden = all;
    const count = trace.entries.length.toLocaleString("en");
    status.textContent = all
      ? `${count} records`
      : `${visibleRows.length.toLocaleString("en")} of ${rows.rows.length.toLocaleString("en")} rows, ${count} records`;
  });
}

/** Gives a select an option for each name, in order, and keeps its value. */
function fill(select: HTMLSelectElement, all: string, names: ReadonlyMap<string, number>, value: string): void {
  if (select.options.length !== names.size + 1) {
    const options = [...names.keys()].sort().map((name) => element("option", { value: name }, name));
    select.replaceChildren(element("option", { value: "" }, all), ...options);
  }
  select.value = value;
}
