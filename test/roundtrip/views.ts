// What a client of either version has made of a conversation when it is over: the fold its protocol describes, and
// nothing more. Both folds give the same shape, so that any two clients' views can be compared.
import {
  asArray,
  asObject,
  asString,
  isObject,
  type JsonObject,
  without,
  withoutNulls,
} from "../../src/protocol/json.ts";

/** One frame as a client sent or received it. */
export interface Crossed {
  from: "client" | "agent";
  frame: JsonObject;
}

/** A client's view of one session. */
export interface View {
  /** Messages and tool calls in the order in which they appeared. */
  timeline: string[];
  messages: { kind: string; content: unknown[] }[];
  toolCalls: Record<string, JsonObject>;
  /** By terminal: what it shows. */
  terminals: Record<string, { output: string; exit: unknown }>;
  plan: unknown[];
  /** By option: its type, value and choices. */
  config: Record<string, JsonObject>;
  mode: unknown;
  commands: unknown[];
  info: JsonObject;
  usage: unknown;
  notices: unknown[];
  compactions: Record<string, JsonObject>;
  /** Updates of any other kind. */
  others: JsonObject[];
  /** What the person was asked. */
  asked: unknown[];
  /** How each turn ended, in v2's words. */
  ends: unknown[];
}

interface Folding extends View {
  /** Messages by kind and id. */
  byId: Map<string, { kind: string; content: unknown[] }>;
  /** The message without an id that is being streamed. */
  current: { kind: string; content: unknown[] } | undefined;
  works: boolean;
  /** What each terminal of a v2 agent has written. */
  bytes: Map<unknown, Buffer>;
  /** The entries of each plan of a v2 agent. */
  plans: Map<unknown, unknown[]>;
}

/** The views of a v1 client, by session. */
export function viewsV1(crossed: readonly Crossed[]): Record<string, View> {
  return views(crossed, foldV1, (method, answer, view) => {
    const result = asObject(answer["result"]);
    takeConfig(view, result["configOptions"], "id");
    if (isObject(result["modes"])) view.mode = result["modes"]["currentModeId"];
    if (method === "session/prompt")
      view.ends.push("error" in answer ? errorOf(answer["error"]) : withoutNulls(result));
  });
}

/** The views of a v2 client, by session. */
export function viewsV2(crossed: readonly Crossed[]): Record<string, View> {
  return views(crossed, foldV2, (method, answer, view) => {
    const result = asObject(answer["result"]);
    takeConfig(view, result["configOptions"], "configId");
    if (Array.isArray(result["availableCommands"])) view.commands = result["availableCommands"].map(plainCommand);
    if (method === "session/prompt" && "error" in answer) view.ends.push(errorOf(answer["error"]));
  });
}

function views(
  crossed: readonly Crossed[],
  fold: (view: Folding, update: JsonObject) => void,
  answered: (method: unknown, answer: JsonObject, view: Folding) => void,
): Record<string, View> {
  const sessions = new Map<string, Folding>();
  const requests = new Map<unknown, JsonObject>();
  const viewOf = (sessionId: unknown) => {
    const known = sessions.get(String(sessionId)) ?? createFolding();
    sessions.set(String(sessionId), known);
    return known;
  };
  function anew(sessionId: string): void {
    const before = sessions.get(sessionId) ?? createFolding();
    sessions.set(`${sessionId}, before ${sessions.size}`, before);
    sessions.set(sessionId, keeping(before));
  }
  for (const { from, frame } of crossed) {
    const params = asObject(frame["params"]);
    if (from === "client" && "method" in frame && "id" in frame) {
      requests.set(frame["id"], frame);
      // A history that is told anew replaces what the client had, which is a view of its own.
      const tellsAnew = frame["method"] === "session/load" || isObject(params["replayFrom"]);
      if (tellsAnew) anew(String(params["sessionId"]));
      if (frame["method"] === "session/prompt") viewOf(params["sessionId"]).current = undefined;
    }
    if (from === "client") continue;
    if (frame["method"] === "session/update") fold(viewOf(params["sessionId"]), asObject(params["update"]));
    else if ("method" in frame && "id" in frame) ask(viewOf(params["sessionId"]), frame, fold);
    else if (!("method" in frame)) {
      const request = requests.get(frame["id"]);
      requests.delete(frame["id"]);
      const sessionId = asObject(frame["result"])["sessionId"] ?? asObject(request?.["params"])["sessionId"];
      if (request !== undefined && sessionId !== undefined) answered(request["method"], frame, viewOf(sessionId));
    }
  }
  return Object.fromEntries([...sessions].map(([id, view]) => [id, finished(view)]));
}

function createFolding(): Folding {
  return {
    timeline: [],
    messages: [],
    toolCalls: {},
    terminals: {},
    plan: [],
    config: {},
    mode: undefined,
    commands: [],
    info: {},
    usage: undefined,
    notices: [],
    compactions: {},
    others: [],
    asked: [],
    ends: [],
    byId: new Map(),
    current: undefined,
    works: false,
    bytes: new Map(),
    plans: new Map(),
  };
}

/** A view that begins anew, but for what is no history. */
function keeping({ config, mode, commands, asked, ends, notices }: Folding): Folding {
  return { ...createFolding(), config, mode, commands, asked, ends, notices };
}

function finished(view: Folding): View {
  const { byId: _byId, current: _current, works: _works, bytes: _bytes, plans: _plans, ...seen } = view;
  return { ...seen, messages: seen.messages.map(({ kind, content }) => ({ kind, content: joined(content) })) };
}

/** Blocks with neighbouring plain texts joined: where a text was cut says nothing. */
function joined(content: readonly unknown[]): unknown[] {
  const blocks: unknown[] = [];
  for (const block of content) {
    const { type, text, ...rest } = asObject(block);
    const last = asObject(blocks.at(-1));
    const plain = type === "text" && Object.keys(rest).length === 0;
    if (plain && text === "") continue;
    if (plain && last["type"] === "text" && Object.keys(last).length === 2)
      blocks[blocks.length - 1] = { type, text: `${last["text"]}${text}` };
    else blocks.push(block);
  }
  return blocks;
}

const errorOf = (error: unknown) => ({ stopReason: "error", error });

/** A message's content, whole or added to. */
function message(view: Folding, kind: string, id: unknown, content: unknown, adds: boolean): void {
  const key = `${kind} ${id}`;
  const named = id !== undefined && id !== null;
  const isEmpty = adds && asObject(content)["text"] === "";
  let known = named ? view.byId.get(key) : view.current?.kind === kind ? view.current : undefined;
  // Nothing added says nothing, and begins nothing.
  if (isEmpty) return;
  if (known === undefined) {
    known = { kind, content: [] };
    view.messages.push(known);
    view.timeline.push(kind);
    if (named) view.byId.set(key, known);
  }
  view.current = named ? undefined : known;
  known.content = adds ? [...known.content, content] : asArray(content);
}

/** A tool call's news: null is what a new one has there in v2, and nothing in v1. */
function toolCall(view: Folding, update: JsonObject, nullClears: boolean): void {
  const id = String(update["toolCallId"]);
  let known = view.toolCalls[id];
  if (known === undefined) {
    known = { kind: "other", status: "pending", content: [], locations: [] };
    view.toolCalls[id] = known;
    view.timeline.push(`tool ${id}`);
    view.current = undefined;
  }
  for (const [key, value] of Object.entries(without(update, "sessionUpdate", "toolCallId", "_meta"))) {
    if (value !== null) known[key] = value;
    else if (nullClears) known[key] = { kind: "other", status: "pending", content: [], locations: [] }[key];
  }
  if (Array.isArray(known["locations"])) known["locations"] = known["locations"].map(asObject).map(withoutNulls);
  if (isObject(update["_meta"])) known["_meta"] = { ...asObject(known["_meta"]), ...update["_meta"] };
}

function terminal(view: Folding, id: unknown): { output: string; exit: unknown } {
  const known = view.terminals[String(id)] ?? { output: "", exit: undefined };
  view.terminals[String(id)] = known;
  return known;
}

function takeConfig(view: Folding, options: unknown, idKey: string): void {
  if (!Array.isArray(options)) return;
  view.config = Object.fromEntries(options.map((option) => [asObject(option)[idKey], configOption(asObject(option))]));
  const mode = options.map(asObject).find(({ category }) => category === "mode");
  if (mode !== undefined) view.mode = mode["currentValue"];
}

function configOption(option: JsonObject): JsonObject {
  const rest = without(option, "id", "configId");
  if (!Array.isArray(option["options"])) return rest;
  const options = option["options"].map((choice) => without(asObject(choice), "group", "groupId"));
  return { ...rest, options };
}

function plainCommand(command: unknown): JsonObject {
  const { input, ...rest } = asObject(command);
  const plain = without(rest, "type");
  return isObject(input) ? { ...plain, input: without(input, "type") } : plain;
}

function foldV1(view: Folding, update: JsonObject): void {
  const kind = asString(update["sessionUpdate"]) ?? "";
  switch (kind) {
    case "user_message_chunk":
    case "agent_message_chunk":
    case "agent_thought_chunk":
      return message(view, kind.replace("_chunk", ""), update["messageId"], update["content"], true);
    case "tool_call":
    case "tool_call_update":
      return toolCallV1(view, update);
    case "plan":
      view.plan = asArray(update["entries"]);
      return;
    case "config_option_update":
      return takeConfig(view, update["configOptions"], "id");
    case "current_mode_update":
      view.mode = update["currentModeId"];
      return;
    default:
      return foldBoth(view, kind, update);
  }
}

/** The extension by which v1 agents show terminals of their own. */
function toolCallV1(view: Folding, update: JsonObject): void {
  const meta = asObject(update["_meta"]);
  const { terminal_info, terminal_output, terminal_output_delta, terminal_exit } = meta;
  if (isObject(terminal_info)) terminal(view, terminal_info["terminal_id"]);
  for (const output of [terminal_output, terminal_output_delta])
    if (isObject(output)) terminal(view, output["terminal_id"]).output += output["data"];
  if (isObject(terminal_exit)) {
    const { exit_code, signal } = terminal_exit;
    terminal(view, terminal_exit["terminal_id"]).exit = exitOf(exit_code, signal);
  }
  const rest = without(meta, "terminal_info", "terminal_output", "terminal_output_delta", "terminal_exit");
  toolCall(view, { ...update, _meta: Object.keys(rest).length > 0 ? rest : null }, false);
}

function exitOf(code: unknown, signal: unknown): JsonObject {
  return { code: code ?? null, signal: signal ?? null };
}

function foldV2(view: Folding, update: JsonObject): void {
  const kind = asString(update["sessionUpdate"]) ?? "";
  const { messageId, content } = update;
  switch (kind) {
    case "user_message":
    case "agent_message":
    case "agent_thought":
      return content === undefined ? undefined : message(view, kind, messageId, content, false);
    case "user_message_chunk":
    case "agent_message_chunk":
    case "agent_thought_chunk":
      return message(view, kind.replace("_chunk", ""), messageId, content, true);
    case "tool_call_update":
      return toolCall(view, update, true);
    case "tool_call_content_chunk": {
      const before = asArray(view.toolCalls[String(update["toolCallId"])]?.["content"]);
      return toolCall(view, { toolCallId: update["toolCallId"], content: [...before, content] }, true);
    }
    case "terminal_update": {
      const { terminalId, output, exitStatus } = update;
      const shown = terminal(view, terminalId);
      if (output !== undefined) shown.output = decoded(view, terminalId, asObject(output)["data"], false);
      if (isObject(exitStatus)) shown.exit = exitOf(exitStatus["exitCode"], exitStatus["signal"]);
      return;
    }
    case "terminal_output_chunk": {
      const { terminalId, data } = update;
      terminal(view, terminalId).output = decoded(view, terminalId, data, true);
      return;
    }
    case "plan_update":
    case "plan_removed":
      return planV2(view, update);
    case "config_option_update":
      return takeConfig(view, update["configOptions"], "configId");
    case "state_update":
      if (update["state"] !== "idle") view.works = true;
      else if (view.works) {
        view.works = false;
        view.ends.push(without(update, "sessionUpdate", "state"));
      }
      return;
    default:
      return foldBoth(view, kind, update);
  }
}

/** All of a terminal's output as text: its chunks may be cut anywhere. */
function decoded(view: Folding, terminalId: unknown, data: unknown, adds: boolean): string {
  const before = (adds && view.bytes.get(terminalId)) || Buffer.alloc(0);
  const bytes = Buffer.concat([before, Buffer.from(asString(data) ?? "", "base64")]);
  view.bytes.set(terminalId, bytes);
  return bytes.toString("utf8");
}

/** All plans one after the other. */
function planV2(view: Folding, update: JsonObject): void {
  const plan = asObject(update["plan"]);
  if (update["sessionUpdate"] === "plan_removed") view.plans.delete(update["planId"]);
  else view.plans.set(plan["planId"], plan["type"] === "items" ? asArray(plan["entries"]) : [plan]);
  view.plan = [...view.plans.values()].flat();
}

function foldBoth(view: Folding, kind: string, update: JsonObject): void {
  const rest = without(update, "sessionUpdate");
  switch (kind) {
    case "available_commands_update":
      view.commands = asArray(update["availableCommands"]).map(plainCommand);
      return;
    case "session_info_update":
      view.info = { ...view.info, ...rest };
      return;
    case "usage_update":
      view.usage = rest;
      return;
    case "notice":
      view.notices.push(rest);
      return;
    case "compaction_update": {
      const id = String(update["compactionId"]);
      view.compactions[id] = { ...view.compactions[id], ...rest };
      return;
    }
    case "compaction_summary_chunk": {
      const id = String(update["compactionId"]);
      const known = view.compactions[id] ?? {};
      view.compactions[id] = { ...known, summary: [...asArray(known["summary"]), update["content"]] };
      return;
    }
    default:
      view.others.push(update);
  }
}

/** A question to the person. The tool call of a permission is news of it in both versions. */
function ask(view: Folding, { method, params }: JsonObject, fold: (view: Folding, update: JsonObject) => void): void {
  if (method !== "session/request_permission" && method !== "elicitation/create") return;
  const { toolCall, subject, options, message, requestedSchema, title, description } = asObject(params);
  const about = isObject(toolCall) ? toolCall : asObject(subject)["toolCall"];
  if (isObject(about)) fold(view, { ...about, sessionUpdate: "tool_call_update" });
  // v1 has no title of its own.
  const words = isObject(toolCall) ? {} : { title, description };
  view.asked.push(withoutNulls({ method, options, message, requestedSchema, ...words }));
}

/** One prompt's turn: what the client saw from it to the next prompt, or to the end. */
export interface Turn {
  prompt: string;
  view: View;
}

/**
 * The turns of a v1 client, each as if it were all of the conversation. Tool calls and their terminals are named by
 * their place among the titles of the turn, so that turns of different runs can be compared.
 */
export function turnsV1(crossed: readonly Crossed[]): Turn[] {
  const starts = crossed.flatMap(({ from, frame }, index) =>
    from === "client" && frame["method"] === "session/prompt" ? [index] : [],
  );
  return starts.map((start, index) => {
    const frames = crossed.slice(start, starts[index + 1]);
    const params = asObject(frames[0]?.frame["params"]);
    const sessionId = String(params["sessionId"]);
    const named = withPlaces(viewsV1(frames)[sessionId] ?? finished(createFolding()));
    return {
      prompt: asArray(params["prompt"])
        .map((block) => asString(asObject(block)["text"]))
        .join(""),
      view: named,
    };
  });
}

function withPlaces(view: View): View {
  const titles = Object.entries(view.toolCalls).map(([id, { title }]) => ({ id, title: String(title) }));
  const sorted = titles.sort((one, other) => (one.title < other.title ? -1 : Number(one.title > other.title)));
  let json = JSON.stringify({ ...view, timeline: view.timeline.map((entry) => entry.replace(/^tool .*/, "tool")) });
  for (const [index, { id }] of sorted.entries()) json = json.replaceAll(id, `call-${index + 1}`);
  return JSON.parse(json) as View;
}
