import { asObject } from "../../protocol/json.ts";
import { nameOf } from "../../trace/summary.ts";
import { compareJson } from "../difference.ts";
import { formsOf } from "../rows.ts";
import { type Entry, isFrame, legOf, type Trace } from "../trace.ts";
import { element, seconds } from "./dom.ts";
import { colouredJson, jsonView } from "./json-view.ts";
import type { Page } from "./page.ts";

/** What there is to say of the selected record: facts, its relatives, its two forms, its JSON. */
export function createDetailPane(page: Page, pane: HTMLElement): void {
  let tab: "forms" | "json" = "forms";
  let shown: { entry: Entry; effects: number; answered: boolean } | undefined;

  page.onChange((change) => {
    const entry = page.selected;
    // Records that come leave what is being read alone, unless they belong to it.
    const same = shown !== undefined && shown.entry === entry;
    if (change === "records" && same && shown?.effects === entry?.effects.length && shown?.answered === !!entry?.answer)
      return;
    shown = entry && { entry, effects: entry.effects.length, answered: entry.answer !== undefined };
    pane.replaceChildren(...(entry === undefined ? placeholder() : detail(entry)));
    if (!same) pane.scrollTop = 0;
  });
  pane.append(...placeholder());

  function detail(entry: Entry): Node[] {
    const forms = formsOf(entry);
    const tabs = element("div", { role: "tablist", "aria-label": "Views of the record" });
    const panel = element("div", { role: "tabpanel", id: "detail-panel" });
    const names = forms.length > 0 ? (["forms", "json"] as const) : (["json"] as const);
    const buttons = names.map((name) => {
      const text = name === "forms" ? "Two forms" : "JSON";
      const button = element("button", { role: "tab", type: "button", "aria-controls": "detail-panel" }, text);
      button.addEventListener("click", () => open(name));
      return button;
    });
    tabs.append(...buttons);
    tabs.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      open(tab === "forms" ? "json" : "forms");
      buttons[names.indexOf(tab as never)]?.focus();
      event.preventDefault();
    });

    function open(name: "forms" | "json"): void {
      if (!names.includes(name as never)) return;
      tab = name;
      select(name);
    }
    function select(name: "forms" | "json"): void {
      for (const [at, button] of buttons.entries()) {
        button.setAttribute("aria-selected", String(names[at] === name));
        button.tabIndex = names[at] === name ? 0 : -1;
      }
      panel.replaceChildren(
        ...(name === "forms"
          ? forms.map(({ client, agent }) => formsView(client, agent, page.model.trace))
          : [jsonView(entry.record)]),
      );
    }
    select(forms.length > 0 ? tab : "json");
    return [headline(entry), facts(entry), relatives(entry), tabs, panel];
  }

  function headline(entry: Entry): HTMLElement {
    const name = nameOf(entry.record);
    const copy = element("button", { type: "button", class: "copy" }, "Copy JSON");
    copy.addEventListener("click", () => {
      void navigator.clipboard.writeText(entry.line).then(() => {
        copy.textContent = "Copied";
      });
    });
    return element("h2", {}, element("span", { class: "seq" }, `#${entry.record.seq}`), ` ${name} `, copy);
  }

  function relatives(entry: Entry): HTMLElement {
    const links: Node[] = [];
    const add = (role: string, other: Entry | undefined) => {
      if (other === undefined) return;
      const delay = Math.abs(other.record.mono - entry.record.mono);
      const text = `${role} #${other.record.seq} ${nameOf(other.record)}`;
      const link = element("button", { type: "button", class: "relative" }, text, element("i", {}, seconds(delay)));
      link.addEventListener("click", () => {
        page.select(other);
        page.focus("detail");
      });
      links.push(link);
    };
    add("caused by", entry.cause);
    for (const effect of entry.effects.slice(0, 12)) add(effect.record.type === "note" ? "note" : "led to", effect);
    add("answers", entry.request);
    add("answered by", entry.answer);
    return element("div", { class: "relatives" }, ...links);
  }
}

function placeholder(): Node[] {
  return [
    element(
      "p",
      { class: "placeholder" },
      "Select a part of the conversation or a row of the diagram. ? shows the keys.",
    ),
  ];
}

function facts({ record, session }: Entry): HTMLElement {
  const leg = legOf({ record } as Entry);
  const told = [
    leg?.replace("-", " → "),
    record.type === "frame" ? record.kind : record.type,
    record.type === "frame" || record.type === "bytes" ? `${record.bytes} bytes` : undefined,
    record.time,
    session === undefined ? undefined : `session ${session}`,
    record.type === "note" && record.rule !== undefined ? `rule ${record.rule}` : undefined,
    record.type === "frame" && record.redacted ? "redacted" : undefined,
  ];
  return element("p", { class: "facts" }, told.filter((fact) => fact !== undefined).join(" · "));
}

/** The two forms of a message, line by line beside each other. */
function formsView(client: Entry, agent: Entry, trace: Trace): HTMLElement {
  const [left, right] = [client, agent].map((entry) => (isFrame(entry) ? entry.record.frame : undefined));
  const pairs = compareJson(left, right);
  const same = pairs.every((pair) => pair.same);
  const title = (side: "client" | "agent", { record }: Entry) =>
    element("th", { scope: "col" }, `${side} side${versionOn(trace, side)} · #${record.seq}`);
  const rows = pairs.map(({ left, right, same }) =>
    element(
      "tr",
      { class: same ? "" : "differs" },
      element("td", { class: left === undefined ? "none" : "" }, ...colouredJson(cut(left))),
      element("td", { class: right === undefined ? "none" : "" }, ...colouredJson(cut(right))),
    ),
  );
  return element(
    "table",
    { class: "forms" },
    element("caption", {}, same ? "Both forms are the same" : "What differs is marked"),
    element("thead", {}, element("tr", {}, title("client", client), title("agent", agent))),
    element("tbody", {}, ...rows),
  );
}

function cut(line = ""): string {
  return line.length > 2_000 ? `${line.slice(0, 2_000)}…` : line;
}

/** Which version is spoken on a side of the bridge, as its answer to `initialize` says. */
export function versionOn({ entries }: Trace, side: "client" | "agent"): string {
  const leg = side === "client" ? "bridge-client" : "agent-bridge";
  for (const { record } of entries.slice(0, 200)) {
    if (record.type !== "frame" || record.leg !== leg || record.method !== "initialize" || record.kind !== "result")
      continue;
    return ` · ACP v${asObject(asObject(record.frame)["result"])["protocolVersion"]}`;
  }
  return "";
}
