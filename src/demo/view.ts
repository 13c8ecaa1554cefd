/** How a conversation is shown to a person, as text for a terminal. */
import { relative } from "node:path";
import { styleText } from "node:util";
import { asArray, asObject, asString, isObject, type JsonObject } from "../protocol/json.ts";
import type { Verdict } from "./acts.ts";
import type { Tap } from "./peer.ts";

/** Where text goes, how many columns a line has there, and whether it may be coloured. */
export interface Screen {
  write(text: string): void;
  columns: number;
  colour: boolean;
}

type Style = Parameters<typeof styleText>[0];
const plain: Style = [];

export type Paint = (style: Style, text: string) => string;

/** Colours text for the screen, or leaves it as it is. */
export function painter({ colour }: Screen): Paint {
  return (style, text) => (colour && text !== "" ? styleText(style, text) : text);
}

/** Who talks to whom, and what of it is shown. */
export function introduction(what: string, screen: Screen): string {
  const paint = painter(screen);
  const road = (version: string): string => `${paint("dim", "──")} ${version} ${paint("dim", "──")}`;
  const [client, bridge, agent] = ["demo client", "acp-shift", "demo agent"].map((name) => paint("bold", name));
  const picture = [client, road(paint("cyan", "ACP v2")), bridge, road(paint("magenta", "ACP v1")), agent].join(" ");
  return `\n${picture}\n\nThree processes, no network and no model: the agent plays a script.\n${what}\n`;
}

/** The line a part begins with, below an empty one. */
export function heading(text: string, screen: Screen): string {
  const rule = "─".repeat(Math.max(0, screen.columns - text.length - 5));
  return `\n${painter(screen)("bold", `── ${text} ${rule}`)}\n`;
}

/** What was expected, line by line, with a tick or a cross. */
export function verdictList(verdicts: readonly Verdict[], screen: Screen): string {
  const paint = painter(screen);
  return verdicts
    .map(({ label, held, found }) => {
      if (held) return `  ${paint("green", "✔")} ${label}\n`;
      return `  ${paint("red", `✘ ${label}`)}\n${found === undefined ? "" : `      ${found}\n`}`;
    })
    .join("");
}

/** A line of text and how it is coloured. */
interface Row {
  text: string;
  style: Style;
}

/** Columns before the text: whose line it is, and the id of what it is about. */
const labelColumns = 8;
const idColumns = 12;

/**
 * Shows what a v2 client sees, as it comes: streamed messages grow in place, anything else is one line or a few. The
 * returned function takes the client's frames in the order of the wire.
 */
export function conversationView(screen: Screen): Tap {
  const paint = painter(screen);
  const width = Math.max(20, screen.columns - labelColumns - idColumns - 6);
  /** Methods the client asked for, and options it was offered, by request id. */
  const asked = new Map<unknown, string | undefined>();
  const offered = new Map<unknown, JsonObject[]>();
  const titles = new Map<string, string>();
  /** The message being streamed, and how full its last line is. */
  let open: string | undefined;
  let column = 0;
  let cwd = "";

  function begin(label: string, id: string): void {
    // Ids of one session tend to differ at their ends.
    const short = id.length > idColumns ? `${id.slice(0, 5)}…${id.slice(6 - idColumns)}` : id;
    screen.write(`  ${paint("bold", label.padEnd(labelColumns))} ${paint("dim", `${short.padEnd(idColumns)} │`)} `);
    column = 0;
  }

  function end(): void {
    if (open !== undefined) screen.write("\n");
    open = undefined;
  }

  /** Adds text to the message under way, or begins another. */
  function stream(label: string, id: string, text: string, style: Style): void {
    const key = `${label} ${id}`;
    if (open !== key) {
      end();
      begin(label, id);
      open = key;
    }
    let line = "";
    for (const token of text.match(/\n|[^\S\n]+|\S+/g) ?? []) {
      if (token !== "\n" && (column === 0 || column + token.length <= width)) {
        line += token;
        column += token.length;
        continue;
      }
      screen.write(`${paint(style, line)}\n`);
      begin("", "");
      line = token.trim();
      column = line.length;
    }
    screen.write(paint(style, line));
  }

  /** Lines of their own, cut where the screen ends. */
  function rows(label: string, id: string, lines: Row[]): void {
    end();
    lines.forEach(({ text, style }, index) => {
      begin(index === 0 ? label : "", index === 0 ? id : "");
      screen.write(`${paint(style, text.length > width ? `${text.slice(0, width - 1)}…` : text)}\n`);
    });
  }

  /** Text of its own, wrapped where the screen ends. */
  function row(label: string, id: string, text: string, style: Style = plain): void {
    end();
    stream(label, id, text, style);
    end();
  }

  function showUpdate(update: JsonObject): void {
    const id = asString(update["messageId"]) ?? "";
    switch (update["sessionUpdate"]) {
      case "user_message":
        return row("you", id, asArray(update["content"]).map(textOf).join(""), "cyan");
      case "agent_thought_chunk":
        return stream("thinking", id, textOf(update["content"]), ["italic", "gray"]);
      case "agent_message_chunk":
        return stream("agent", id, textOf(update["content"]), plain);
      case "plan_update": {
        const plan = asObject(update["plan"]);
        return rows("plan", asString(plan["planId"]) ?? "", asArray(plan["entries"]).map(asObject).map(planRow));
      }
      case "tool_call_update":
        return showToolCall(update);
      case "state_update":
        return showState(update);
      case "available_commands_update":
        return row("commands", "", asArray(update["availableCommands"]).map(asObject).map(commandText).join("   "));
      case "config_option_update":
        return showConfigOptions(update);
      default:
        return row("update", "", `${update["sessionUpdate"]}`, "yellow");
    }
  }

  function showState({ state, stopReason, error }: JsonObject): void {
    if (state === "requires_action") return row("state", "", "◆ requires_action", "yellow");
    if (state !== "idle") return row("state", "", `● ${state}`, "blue");
    const style = stopReason === "end_turn" ? "green" : stopReason === "error" ? "red" : "yellow";
    row("state", "", `■ idle: ${stopReason ?? "no reason given"}`, style);
    if (isObject(error)) row("", "", errorText(error), style);
  }

  function showToolCall(update: JsonObject): void {
    const id = asString(update["toolCallId"]) ?? "";
    const title = asString(update["title"]) ?? titles.get(id) ?? id;
    titles.set(id, title);
    const status = asString(update["status"]);
    row("tool", id, status === undefined ? title : `${title}: ${status}`, status === "failed" ? "red" : plain);
    for (const content of asArray(update["content"]).map(asObject)) rows("", "", contentRows(content, cwd));
  }

  function showConfigOptions(holder: JsonObject): void {
    for (const option of asArray(holder["configOptions"]).map(asObject)) {
      row("option", asString(option["configId"]) ?? "", optionText(option));
    }
  }

  function showRequest(frame: JsonObject): void {
    const params = asObject(frame["params"]);
    const options = asArray(params["options"]).filter(isObject);
    offered.set(frame["id"], options);
    const subject = asObject(asObject(params["subject"])["toolCall"]);
    const choice = options.map((option) => `[${option["name"]}]`).join(" ");
    row("asks", asString(subject["toolCallId"]) ?? "", `${params["title"]}?  ${choice}`, "yellow");
  }

  function showResult(method: string | undefined, result: JsonObject): void {
    switch (method) {
      case "initialize": {
        const { title, name, version } = asObject(result["info"]);
        return row("agent", "", `${title ?? name} ${version}, speaking ACP v${result["protocolVersion"]}`);
      }
      case "session/new":
        row("session", asString(result["sessionId"]) ?? "", "started");
        return showConfigOptions(result);
      case "session/prompt":
        return row("prompt", asString(result["messageId"]) ?? "", "accepted");
      default:
        return showConfigOptions(result);
    }
  }

  return (direction, frame) => {
    const method = asString(frame["method"]);
    const params = asObject(frame["params"]);
    if (direction === "sent") {
      if ("id" in frame && method !== undefined) asked.set(frame["id"], method);
      if (method === "session/new") cwd = asString(params["cwd"]) ?? "";
      if (method === "session/cancel") row("you", "", "stop!", "cyan");
      if (method === "session/set_config_option")
        row("you", "", `set ${params["configId"]} to ${params["value"]}`, "cyan");
      const { optionId } = asObject(asObject(frame["result"])["outcome"]);
      const chosen = offered.get(frame["id"])?.find((option) => option["optionId"] === optionId);
      if (method === undefined) row("you", "", asString(chosen?.["name"]) ?? "no answer", "cyan");
    } else if (method === "session/update") {
      showUpdate(asObject(params["update"]));
    } else if (method === "session/request_permission") {
      showRequest(frame);
    } else if (method !== undefined) {
      row("agent", "", method, "yellow");
    } else if ("error" in frame) {
      row("error", "", errorText(frame["error"]), "red");
    } else {
      showResult(asked.get(frame["id"]), asObject(frame["result"]));
    }
  };
}

function textOf(block: unknown): string {
  return asString(asObject(block)["text"]) ?? "";
}

function planRow({ content, status }: JsonObject): Row {
  const text = `${content}`;
  if (status === "completed") return { text: `✔ ${text}`, style: "green" };
  if (status === "in_progress") return { text: `▶ ${text}`, style: "bold" };
  return { text: `○ ${text}`, style: "gray" };
}

function errorText(error: unknown): string {
  const { code, message } = asObject(error);
  return `${message} (${code})`;
}

function contentRows(content: JsonObject, cwd: string): Row[] {
  if (content["type"] === "diff") {
    const changes = asArray(content["changes"]).map(asObject);
    const patch = (asString(asObject(content["patch"])["text"]) ?? "").trimEnd().split("\n");
    // What comes before the first hunk, the changes have said already.
    const firstHunk = patch.findIndex((line) => line.startsWith("@@"));
    const hunks = firstHunk < 0 ? [] : patch.slice(firstHunk);
    return [
      ...changes.map((change): Row => ({ text: changeText(change, cwd), style: "bold" })),
      ...hunks.map((text): Row => ({ text, style: hunkStyle(text) })),
    ];
  }
  const text = textOf(content["content"]).trimEnd();
  return text.split("\n").map((line) => ({ text: line, style: "gray" }));
}

function changeText({ operation, path }: JsonObject, cwd: string): string {
  return `${operation} ${relative(cwd, asString(path) ?? "")}`;
}

function hunkStyle(line: string): Style {
  if (line.startsWith("@@")) return "cyan";
  if (line.startsWith("+")) return "green";
  return line.startsWith("-") ? "red" : plain;
}

function optionText({ name, currentValue, options }: JsonObject): string {
  const values = asArray(options).map(asObject);
  const shown = values.map((value) => (value["value"] === currentValue ? `(${value["name"]})` : `${value["name"]}`));
  return `${name}: ${shown.join(" ")}`;
}

function commandText({ name, input }: JsonObject): string {
  const { hint } = asObject(input);
  return hint === undefined ? `/${name}` : `/${name} <${hint}>`;
}
