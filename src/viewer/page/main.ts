import { createViewModel } from "../view-model.ts";
import { createConversationPane } from "./conversation-pane.ts";
import { createDetailPane, versionOn } from "./detail-pane.ts";
import { byId } from "./dom.ts";
import { load } from "./load.ts";
import { createPage, type Pane } from "./page.ts";
import { createSequencePane } from "./sequence-pane.ts";
import { createSplitter } from "./splitter.ts";
import { createTimeLine } from "./time-line.ts";
import { createToolbar } from "./toolbar.ts";

/** How often the page is brought up to date at most while records come, in ms. */
const REFRESH = 100;

const panes: Record<Pane, HTMLElement> = {
  conversation: byId("conversation", HTMLElement),
  sequence: byId("sequence", HTMLElement),
  detail: byId("detail", HTMLElement),
};
const search = byId("search", HTMLInputElement);
const help = byId("help", HTMLDialogElement);
const reading = byId("reading", HTMLElement);

const model = createViewModel();
const page = createPage(model, (pane) => panes[pane].focus());
createToolbar(page);
const timeLine = createTimeLine(page, byId("time-line", HTMLElement), {
  readout: byId("readout", HTMLElement),
  buttons: byId("scale", HTMLElement),
});
createConversationPane(page, panes.conversation);
createSequencePane(page, panes.sequence);
createDetailPane(page, panes.detail);
panes.detail.tabIndex = 0;
createSplitter(byId("columns", HTMLElement), {
  label: "Width of the conversation",
  orientation: "vertical",
  share: 42,
});
createSplitter(byId("rows", HTMLElement), { label: "Height of the diagram", orientation: "horizontal", share: 58 });

page.onChange((change) => {
  if (change === "records") showHeader();
  const { selected } = page;
  if (change === "selection") history.replaceState(null, "", selected === undefined ? "#" : `#${selected.record.seq}`);
});

function showHeader(): void {
  const { header } = model.trace;
  if (header === undefined) return;
  const command = header.agent.command.join(" ");
  document.title = `${command} · acp-shift trace`;
  const told = byId("command", HTMLElement);
  told.textContent = command;
  told.title = `acp-shift ${header.acpShift}, Node ${header.node}, started ${header.started}, run ${header.run}`;
  byId("redaction", HTMLElement).hidden = header.redaction.on;
  for (const side of ["client", "agent"] as const)
    byId(`${side}-version`, HTMLElement).textContent = versionOn(model.trace, side);
}

let due: number | undefined;
let pause = REFRESH;
function refresh(): void {
  clearTimeout(due);
  due = undefined;
  const begun = performance.now();
  model.refresh();
  page.changed("records");
  // The longer the trace the longer this takes: most of the time is for reading on, and for the person.
  pause = Math.max(REFRESH, 4 * (performance.now() - begun));
}

load(byId("trace", HTMLElement), {
  lines(lines) {
    for (const line of lines) model.add(line);
    due ??= setTimeout(refresh, pause);
  },
  done(live) {
    refresh();
    reading.textContent = live ? "live" : "";
    reading.className = live ? "live" : "";
    const asked = Number(location.hash.slice(1));
    const entry = page.selected === undefined && asked > 0 ? model.trace.find(asked) : undefined;
    if (entry !== undefined) page.select(entry);
  },
  failed(why) {
    reading.textContent = why;
    reading.className = "failed";
  },
});

const SCHEMES = ["light dark", "light", "dark"] as const;
const SCHEME_NAMES = ["auto", "light", "dark"];
const theme = byId("theme", HTMLButtonElement);
let scheme = 0;
theme.addEventListener("click", () => {
  scheme = (scheme + 1) % SCHEMES.length;
  document.documentElement.style.colorScheme = SCHEMES[scheme] ?? "";
  theme.textContent = `Theme: ${SCHEME_NAMES[scheme]}`;
});
byId("help-button", HTMLButtonElement).addEventListener("click", () => help.showModal());

/** Selects the next row, or the one before, in which something went wrong. */
function stepToFault(by: 1 | -1): void {
  const { visibleRows } = model;
  const start = page.selected === undefined ? -1 : model.placeOf(page.selected);
  for (let at = start + by; at >= 0 && at < visibleRows.length; at += by) {
    const fault = visibleRows[at]?.entries.find((entry) => entry.fault);
    if (fault !== undefined) return page.select(fault);
  }
}

function goBack(): void {
  const { activeElement } = document;
  const isAway = activeElement === search || panes.detail.contains(activeElement);
  if (search.value !== "") {
    search.value = "";
    model.filterBy({ query: "" });
    page.changed("filter");
  } else if (!isAway) page.select(undefined);
  if (isAway) page.focus("sequence");
}

const KEYS: Record<string, () => void> = {
  "/": () => search.select(),
  "?": () => help.showModal(),
  "[": () => timeLine.step(-1),
  "]": () => timeLine.step(1),
  e: () => stepToFault(1),
  E: () => stepToFault(-1),
  "1": () => page.focus("conversation"),
  "2": () => page.focus("sequence"),
  "3": () => page.focus("detail"),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  if (event.key === "Escape") {
    event.preventDefault();
    return goBack();
  }
  if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) return;
  const act = KEYS[event.key];
  if (act === undefined) return;
  act();
  event.preventDefault();
});
