import { asArray, asObject, asString, type JsonObject } from "../../protocol/json.ts";
import type { ConversationPart, Message, Plan, Question, State, ToolCall } from "../conversation.ts";
import { patchLines } from "../difference.ts";
import type { Terminal } from "../terminal.ts";
import { blockText, oneLine } from "../words.ts";
import { element, marked, timeText } from "./dom.ts";
import { jsonView } from "./json-view.ts";

/** What the rendering of a part needs to know of the rest. */
export interface Surroundings {
  query: RegExp | undefined;
  terminal(id: string): Terminal | undefined;
  /** What is folded, by name within the part, and whether it was opened. */
  isUnfolded(name: string): boolean;
  unfold(name: string, open: boolean): void;
  redraw(): void;
}

/** More text than this is shown on demand only, in characters. */
const LONG = 4_000;

/** Pictures that are shown; anything else is named. */
const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** A part of the conversation as an element. */
export function renderPart(part: ConversationPart, around: Surroundings): HTMLElement {
  const at = part.entries[0]?.record.mono ?? 0;
  const row = element("div", { class: `part ${part.type} ${variant(part)}` });
  row.append(
    element("span", { class: "time" }, timeText(at)),
    element("div", { class: "body" }, ...body(part, around)),
  );
  return row;
}

function variant(part: ConversationPart): string {
  switch (part.type) {
    case "message":
      return part.role;
    case "line":
      return part.tone;
    case "state":
      return part.reason === "error" ? "error" : part.state;
    case "question":
      return part.answer === undefined ? "open" : "answered";
    default:
      return "";
  }
}

function body(part: ConversationPart, around: Surroundings): (Node | string)[] {
  switch (part.type) {
    case "message":
      return message(part, around);
    case "tool-call":
      return toolCall(part, around);
    case "terminal":
      return [terminalView(part.terminal, around)];
    case "plan":
      return plan(part);
    case "question":
      return question(part);
    case "state":
      return state(part);
    case "line":
      return [element("b", {}, part.label), " ", element("span", {}, ...marked(oneLine(part.text, 600), around.query))];
  }
}

const SPEAKERS = { user: "You", agent: "Agent", thought: "Thought" };

function message(part: Message, around: Surroundings): Node[] {
  const refused = part.refused === undefined ? [] : [element("p", { class: "complaint" }, `Refused: ${part.refused}`)];
  return [
    element("div", { class: "speaker" }, SPEAKERS[part.role]),
    ...part.blocks.map((block, at) => blockView(block, `block ${at}`, around)),
    ...refused,
  ];
}

function blockView(block: JsonObject, name: string, around: Surroundings): HTMLElement {
  const { type, mimeType, data } = block;
  if (type === "image" && typeof mimeType === "string" && PICTURES.has(mimeType) && typeof data === "string") {
    const image = element("img", { src: `data:${mimeType};base64,${data}`, alt: "picture" });
    image.addEventListener("load", () => around.redraw(), { once: true });
    return image;
  }
  return textView(blockText(block), name, around, type === "text" ? "text" : "text named");
}

/** Text as it is; the end of a long one on demand. */
function textView(text: string, name: string, around: Surroundings, kind: string): HTMLElement {
  const isCut = text.length > LONG && !around.isUnfolded(name);
  const view = element("div", { class: kind }, ...marked(isCut ? `${text.slice(0, LONG)}…` : text, around.query));
  if (!isCut) return view;
  const button = element("button", { class: "more", type: "button" }, `Show all ${text.length} characters`);
  button.addEventListener("click", () => {
    around.unfold(name, true);
    around.redraw();
  });
  return element("div", {}, view, button);
}

/** Something behind a line that opens it; made when it is opened. */
function folded(title: string, name: string, around: Surroundings, make: () => HTMLElement): HTMLElement {
  const open = around.isUnfolded(name);
  const fold = element("details", { open }, element("summary", { tabindex: -1 }, title));
  if (open) fold.append(make());
  fold.addEventListener("toggle", () => {
    around.unfold(name, fold.open);
    if (fold.open && fold.childElementCount === 1) fold.append(make());
  });
  return fold;
}

const TOOL_SIGNS: Record<string, string> = {
  read: "▤",
  edit: "✎",
  delete: "✕",
  move: "⇄",
  search: "⌕",
  execute: "❯",
  think: "◌",
  fetch: "⇣",
};

function toolCall({ fields, content, toolCallId }: ToolCall, around: Surroundings): Node[] {
  const title = asString(fields["title"]) ?? asString(fields["name"]) ?? toolCallId;
  const status = asString(fields["status"]) ?? "pending";
  const kind = asString(fields["kind"]) ?? "other";
  const locations = asArray(fields["locations"]).map(asObject);
  const head = element(
    "div",
    { class: "head" },
    element("span", { class: "sign", title: kind }, TOOL_SIGNS[kind] ?? "◆"),
    element("span", { class: "title" }, ...marked(oneLine(title, 300), around.query)),
    element("span", { class: `status ${status}` }, status.replace("_", " ")),
  );
  const shown: Node[] = [head];
  if (locations.length > 0) {
    const places = locations.map(({ path, line }) =>
      element("code", {}, `${path}${typeof line === "number" ? `:${line}` : ""}`),
    );
    shown.push(element("div", { class: "locations" }, ...places));
  }
  shown.push(...content.map((item, at) => toolContent(item, `content ${at}`, around)));
  for (const name of ["rawInput", "rawOutput"] as const) {
    const raw = fields[name];
    if (raw !== undefined && raw !== null)
      shown.push(folded(name === "rawInput" ? "Input" : "Output", name, around, () => jsonView(raw)));
  }
  return shown;
}

function toolContent(item: JsonObject, name: string, around: Surroundings): HTMLElement {
  switch (item["type"]) {
    case "content":
      return blockView(asObject(item["content"]), name, around);
    case "diff":
      return patchView(item, name, around);
    case "terminal": {
      const id = asString(item["terminalId"]) ?? "";
      const terminal = around.terminal(id);
      return terminal === undefined
        ? element("div", { class: "text named" }, `[terminal ${id}]`)
        : terminalView(terminal, around);
    }
    default:
      return element("div", { class: "text named" }, `[${item["type"]}]`);
  }
}

/** More lines of a change than this are shown on demand only. */
const LONG_PATCH = 60;

function patchView(diff: JsonObject, name: string, around: Surroundings): HTMLElement {
  const lines = patchLines(diff);
  const all = around.isUnfolded(name) || lines.length <= LONG_PATCH;
  const marks = { file: "file", hunk: "hunk", "+": "added", "-": "removed", " ": "same" };
  const view = element(
    "div",
    { class: "patch" },
    ...lines.slice(0, all ? undefined : LONG_PATCH).map(({ mark, text }) => {
      const sign = mark === "+" || mark === "-" ? mark : mark === " " ? " " : "";
      return element("div", { class: marks[mark] }, `${sign}${text}`);
    }),
  );
  if (!all) {
    const button = element("button", { class: "more", type: "button" }, `Show all ${lines.length} lines`);
    button.addEventListener("click", () => {
      around.unfold(name, true);
      around.redraw();
    });
    view.append(button);
  }
  return view;
}

function terminalView({ command, cwd, output, exit }: Terminal, around: Surroundings): HTMLElement {
  const head = element("div", { class: "prompt", title: cwd }, `$ ${command === "" ? "(unknown command)" : command}`);
  const tail = output.length > LONG ? `…${output.slice(-LONG)}` : output;
  return element(
    "div",
    { class: "terminal-view" },
    head,
    output === "" ? undefined : element("pre", {}, ...marked(tail, around.query)),
    element("div", { class: "exit" }, exit ?? "running"),
  );
}

const PLAN_SIGNS: Record<string, string> = { completed: "✔", in_progress: "▶", pending: "○", cancelled: "✕" };

function plan({ entriesOf, removed }: Plan): Node[] {
  const items = entriesOf.map((entry) => {
    const status = asString(entry["status"]) ?? "pending";
    const sign = element("span", { class: "sign", title: status }, PLAN_SIGNS[status] ?? "·");
    return element("li", { class: status }, sign, ` ${asString(entry["content"]) ?? ""}`);
  });
  return [element("div", { class: "speaker" }, removed ? "Plan (removed)" : "Plan"), element("ul", {}, ...items)];
}

function question({ title, description, options, answer }: Question): Node[] {
  const choices = options.map((option) => {
    const chosen = answer?.optionId !== undefined && option["optionId"] === answer.optionId;
    return element("span", { class: chosen ? "choice chosen" : "choice" }, `${chosen ? "✔ " : ""}${option["name"]}`);
  });
  const shown = [element("div", { class: "title" }, title)];
  if (description !== undefined) shown.push(element("div", { class: "text" }, description));
  const verdict = answer === undefined ? "not answered" : answer.optionId === undefined ? answer.text : undefined;
  shown.push(
    element("div", { class: "choices" }, ...choices, verdict && element("span", { class: "verdict" }, verdict)),
  );
  return shown;
}

function state({ state, reason, error }: State): Node[] {
  const text = reason === undefined ? state.replace("_", " ") : `${state}: ${reason}`;
  return [
    element("span", { class: "pill" }, text),
    ...(error === undefined ? [] : [element("span", { class: "complaint" }, error)]),
  ];
}
