// What a v2 client shows, made from the frames it exchanged: the fold the protocol describes, without anything that is
// another one in each run (ids, times). Two runs of one agent can so be compared.
import {
  asArray,
  asObject,
  asString,
  isObject,
  type JsonObject,
  without,
  withoutNulls,
} from "../../src/protocol/json.ts";

/** A frame as the client sent or got it. */
export interface Frame {
  from: "client" | "agent";
  frame: JsonObject;
}

/** What is shown, in the order in which it first appeared. */
export type Item =
  | { type: "user_message" | "agent_message" | "agent_thought"; text: string }
  | ToolCallItem
  | { type: "plan"; entries: string[] }
  | { type: "permission"; title: unknown; subject: string; options: string[]; answer: unknown }
  | { type: "state"; state: string }
  | { type: "error"; method: string; code: unknown }
  | { type: "notice"; title: unknown };

interface ToolCallItem {
  type: "tool_call";
  title: unknown;
  kind: unknown;
  status: unknown;
  content: unknown[];
  locations: string[];
}

/** What a client has at the end of some frames. */
export interface View {
  timeline: Item[];
  /** One line per option: its id, name, category, value and values; undefined when none were told. */
  configOptions: string[] | undefined;
  commands: string[] | undefined;
  title: unknown;
  /** The entries of the last `session/list`. */
  sessions: unknown;
}

/**
 * Folds the frames of one session.
 *
 * @param readable turns a text into one that does not depend on the run: paths, numbers
 */
export function fold(frames: readonly Frame[], readable: (text: string) => string = (text) => text): View {
  const folding = createFolding();
  for (const { from, frame } of frames) {
    if (from === "client") fromClient(folding, frame);
    else fromAgent(folding, frame);
  }
  return mapStrings(finished(folding), readable) as View;
}

interface Folding {
  items: (Item | { type: "tool_call"; id: string } | { type: "message"; key: string } | { type: "plan"; id: string })[];
  messages: Map<string, { type: "user_message" | "agent_message" | "agent_thought"; text: string }>;
  toolCalls: Map<string, JsonObject>;
  terminals: Map<string, Terminal>;
  plans: Map<string, unknown>;
  permissions: Map<unknown, Item & { type: "permission" }>;
  asked: Map<unknown, string>;
  configOptions: unknown;
  commands: unknown;
  title: unknown;
  sessions: unknown;
}

interface Terminal {
  command: unknown;
  output: Buffer;
  exitStatus: unknown;
}

function createFolding(): Folding {
  return {
    items: [],
    messages: new Map(),
    toolCalls: new Map(),
    terminals: new Map(),
    plans: new Map(),
    permissions: new Map(),
    asked: new Map(),
    configOptions: undefined,
    commands: undefined,
    title: undefined,
    sessions: undefined,
  };
}

function fromClient(folding: Folding, frame: JsonObject): void {
  const { id, method, result } = frame;
  if (typeof method === "string") {
    folding.asked.set(id, method);
    return;
  }
  const permission = folding.permissions.get(id);
  if (permission !== undefined) permission.answer = asObject(asObject(result)["outcome"])["outcome"];
}

function fromAgent(folding: Folding, frame: JsonObject): void {
  const { id, method, params, result, error } = frame;
  if (method === "session/update") return takeUpdate(folding, asObject(asObject(params)["update"]));
  if (method === "session/request_permission") return takePermission(folding, id, asObject(params));
  if (method !== undefined) return;
  const asked = folding.asked.get(id);
  if (error !== undefined && asked !== undefined) {
    folding.items.push({ type: "error", method: asked, code: asObject(error)["code"] });
  }
  const { configOptions, availableCommands, sessions } = asObject(result);
  if (configOptions !== undefined) folding.configOptions = configOptions;
  if (availableCommands !== undefined) folding.commands = availableCommands;
  if (asked === "session/list") folding.sessions = sessions;
}

function takeUpdate(folding: Folding, update: JsonObject): void {
  const kind = asString(update["sessionUpdate"]) ?? "";
  switch (kind) {
    case "user_message":
    case "agent_message":
    case "agent_thought": {
      const message = messageOf(folding, kind, update["messageId"]);
      if (update["content"] !== undefined) message.text = asArray(update["content"]).map(textOf).join("");
      break;
    }
    case "user_message_chunk":
    case "agent_message_chunk":
    case "agent_thought_chunk":
      messageOf(folding, kind.slice(0, -"_chunk".length) as "user_message", update["messageId"]).text += textOf(
        update["content"],
      );
      break;
    case "tool_call_update":
      patch(toolCallOf(folding, update["toolCallId"]), without(update, "sessionUpdate", "toolCallId"));
      break;
    case "tool_call_content_chunk": {
      const known = toolCallOf(folding, update["toolCallId"]);
      known["content"] = [...asArray(known["content"]), update["content"]];
      break;
    }
    case "terminal_update": {
      const terminal = terminalOf(folding, update["terminalId"]);
      if (update["command"] !== undefined) terminal.command = update["command"];
      if (update["exitStatus"] !== undefined) terminal.exitStatus = update["exitStatus"];
      if (isObject(update["output"])) terminal.output = bytes(update["output"]["data"]);
      break;
    }
    case "terminal_output_chunk": {
      const terminal = terminalOf(folding, update["terminalId"]);
      terminal.output = Buffer.concat([terminal.output, bytes(update["data"])]);
      break;
    }
    case "plan_update": {
      const plan = asObject(update["plan"]);
      const id = String(plan["planId"]);
      if (!folding.plans.has(id)) folding.items.push({ type: "plan", id });
      folding.plans.set(id, plan["entries"] ?? plan["content"]);
      break;
    }
    case "plan_removed": {
      const id = String(update["planId"]);
      folding.plans.delete(id);
      folding.items = folding.items.filter((item) => !(item.type === "plan" && "id" in item && item.id === id));
      break;
    }
    case "state_update":
      folding.items.push({ type: "state", state: stateText(update) });
      break;
    case "notice":
      folding.items.push({ type: "notice", title: update["title"] });
      break;
    case "config_option_update":
      folding.configOptions = update["configOptions"];
      break;
    case "available_commands_update":
      folding.commands = update["availableCommands"];
      break;
    case "session_info_update":
      if (update["title"] !== undefined) folding.title = update["title"];
      break;
    default:
  }
}

function takePermission(folding: Folding, id: unknown, params: JsonObject): void {
  const subject = asObject(params["subject"]);
  const toolCall = asObject(subject["toolCall"]);
  if (typeof toolCall["toolCallId"] === "string")
    patch(toolCallOf(folding, toolCall["toolCallId"]), without(toolCall, "toolCallId"));
  const item = {
    type: "permission" as const,
    title: params["title"],
    subject: permissionSubject(folding, subject),
    options: asArray(params["options"]).map((option) => `${asObject(option)["kind"]}: ${asObject(option)["name"]}`),
    answer: undefined,
  };
  folding.permissions.set(id, item);
  folding.items.push(item);
}

/** What permission is asked for: a tool call by its title, a command as it is. */
function permissionSubject(folding: Folding, { type, toolCall, command }: JsonObject): string {
  const toolCallId = asObject(toolCall)["toolCallId"];
  const title = toolCallId === undefined ? command : toolCallOf(folding, toolCallId)["title"];
  return title === undefined ? String(type) : `${type} ${title}`;
}

function messageOf(folding: Folding, type: "user_message" | "agent_message" | "agent_thought", id: unknown) {
  const key = `${type} ${id}`;
  let message = folding.messages.get(key);
  if (message === undefined) {
    message = { type, text: "" };
    folding.messages.set(key, message);
    folding.items.push({ type: "message", key });
  }
  return message;
}

function toolCallOf(folding: Folding, toolCallId: unknown): JsonObject {
  const id = String(toolCallId);
  let known = folding.toolCalls.get(id);
  if (known === undefined) {
    known = {};
    folding.toolCalls.set(id, known);
    folding.items.push({ type: "tool_call", id });
  }
  return known;
}

function terminalOf(folding: Folding, terminalId: unknown): Terminal {
  const id = String(terminalId);
  let known = folding.terminals.get(id);
  if (known === undefined) {
    known = { command: undefined, output: Buffer.alloc(0), exitStatus: undefined };
    folding.terminals.set(id, known);
  }
  return known;
}

/** A patch of an entity: absent fields stay, null clears. */
function patch(entity: JsonObject, fields: JsonObject): void {
  for (const [key, value] of Object.entries(fields)) {
    if (value === null) delete entity[key];
    else entity[key] = value;
  }
}

function finished(folding: Folding): View {
  const timeline = folding.items.flatMap((item): Item[] => {
    if (item.type === "message") {
      const message = folding.messages.get(item.key);
      // A message without text shows nothing.
      return message === undefined || message.text === "" ? [] : [message];
    }
    if (item.type === "tool_call" && "id" in item) return [toolCallItem(folding, folding.toolCalls.get(item.id) ?? {})];
    if (item.type === "plan" && "id" in item) return [{ type: "plan", entries: planText(folding.plans.get(item.id)) }];
    return [item as Item];
  });
  return {
    timeline,
    configOptions: Array.isArray(folding.configOptions) ? folding.configOptions.map(optionText) : undefined,
    commands: Array.isArray(folding.commands)
      ? folding.commands.map((command) => String(asObject(command)["name"]))
      : undefined,
    title: folding.title,
    sessions: folding.sessions === undefined ? undefined : asArray(folding.sessions).map(sessionEntry),
  };
}

function toolCallItem(folding: Folding, toolCall: JsonObject): ToolCallItem {
  return {
    type: "tool_call",
    title: toolCall["title"],
    kind: toolCall["kind"] ?? "other",
    status: toolCall["status"] ?? "pending",
    content: asArray(toolCall["content"]).map((item) => contentItem(folding, asObject(item))),
    locations: asArray(toolCall["locations"]).map((location) => {
      const { path, line } = asObject(location);
      return line === undefined ? String(path) : `${path}:${line}`;
    }),
  };
}

function contentItem(folding: Folding, item: JsonObject): unknown {
  switch (item["type"]) {
    case "content":
      return { text: textOf(item["content"]) };
    case "diff":
      return { changes: item["changes"], patch: asObject(item["patch"])["text"] };
    case "terminal": {
      const terminal = folding.terminals.get(String(item["terminalId"]));
      if (terminal === undefined) return { terminal: "unknown" };
      const { command, output, exitStatus } = terminal;
      return { terminal: command, output: output.toString("utf8"), exitStatus: withoutAbsent(exitStatus) };
    }
    default:
      return item;
  }
}

/** In an exit status null means the same as absence (schema v2 `TerminalExitStatus`). */
function withoutAbsent(exitStatus: unknown): unknown {
  return isObject(exitStatus) ? withoutNulls(exitStatus) : undefined;
}

function planText(plan: unknown): string[] {
  if (typeof plan === "string") return [plan];
  return asArray(plan).map((entry) => {
    const { content, status, priority } = asObject(entry);
    return `${status} ${priority}: ${content}`;
  });
}

function stateText(update: JsonObject): string {
  const { state, stopReason, error } = update;
  return [state, stopReason, asObject(error)["message"]].filter((part) => part !== undefined).join(" ");
}

function optionText(option: unknown): string {
  const { configId, name, category, type, currentValue, options } = asObject(option);
  const values = asArray(options)
    .flatMap((entry) => (isObject(entry) && Array.isArray(entry["options"]) ? entry["options"] : [entry]))
    .map((entry) => asObject(entry)["value"]);
  return `${configId} (${type}, ${category}) ${name}: ${currentValue} of ${values.join(", ")}`;
}

/** A session as a list shows it; which optional fields it has counts, not when it was. */
function sessionEntry(entry: unknown): JsonObject {
  const { cwd, title, updatedAt } = asObject(entry);
  return { cwd, title, updatedAt: typeof updatedAt };
}

function textOf(block: unknown): string {
  const { type, text } = asObject(block);
  return typeof text === "string" ? text : `[${type}]`;
}

function bytes(data: unknown): Buffer {
  return Buffer.from(asString(data) ?? "", "base64");
}

function mapStrings(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === "string") return map(value);
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, map));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapStrings(item, map)]));
}
