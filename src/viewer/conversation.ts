import { asArray, asObject, asString, isObject, type JsonObject } from "../protocol/json.ts";
import { createTerminal, type Terminal } from "./terminal.ts";
import { type Entry, type FrameEntry, isFrame, updateOf } from "./trace.ts";
import { blocksText, configText, contentText, errorText, paramsText, resultText } from "./words.ts";

/** What all parts of a conversation have. */
interface Part {
  /** Its place among the parts. */
  readonly index: number;
  readonly session: string | undefined;
  /** The frames it is made of, in order. */
  readonly entries: FrameEntry[];
  /** Counts up with every change. */
  revision: number;
}

/** A message of the user's or the agent's, or a thought. */
export interface Message extends Part {
  readonly type: "message";
  readonly role: "user" | "agent" | "thought";
  /** Content blocks; consecutive text is one block. */
  blocks: JsonObject[];
  /** Of a prompt: why it was refused. */
  refused?: string;
}

/** A tool call: its fields as the updates have left them. */
export interface ToolCall extends Part {
  readonly type: "tool-call";
  readonly toolCallId: string;
  fields: JsonObject;
  content: JsonObject[];
}

/** A terminal that no tool call shows; one that does is found by {@link Conversation.terminal}. */
export interface TerminalPart extends Part {
  readonly type: "terminal";
  readonly terminal: Terminal;
}

export interface Plan extends Part {
  readonly type: "plan";
  entriesOf: JsonObject[];
  removed: boolean;
}

/** A question of the agent's: a permission or an elicitation. */
export interface Question extends Part {
  readonly type: "question";
  readonly title: string;
  readonly description: string | undefined;
  readonly options: JsonObject[];
  /** What the client answered: the chosen option's id, or another outcome; undefined while it is open. */
  answer: { optionId?: string; text: string } | undefined;
}

/** The session's state, as v2 reports it; of v1 the end of a turn. */
export interface State extends Part {
  readonly type: "state";
  readonly state: string;
  readonly reason: string | undefined;
  readonly error: string | undefined;
}

/** Anything else, in a line. */
export interface Line extends Part {
  readonly type: "line";
  readonly label: string;
  text: string;
  tone: "plain" | "info" | "warning" | "error";
}

export type ConversationPart = Message | ToolCall | TerminalPart | Plan | Question | State | Line;

/** A conversation as the client saw it. */
export interface Conversation {
  readonly parts: readonly ConversationPart[];
  /** Takes in the next entry of the trace. */
  add(entry: Entry): void;
  /** The part an entry belongs to; a frame on the agent's side belongs where the one it became, or came from, does. */
  partOf(entry: Entry): ConversationPart | undefined;
  terminal(session: string | undefined, terminalId: string): Terminal | undefined;
  /** True for a terminal that a tool call shows: it needs no place of its own. */
  isShownElsewhere(part: ConversationPart): boolean;
}

/** What a new part is made of; the rest it gets when it is added. */
type Fresh<P> = P extends ConversationPart ? Omit<P, keyof Part> : never;

/** What is known of one session. */
interface SessionView {
  /** The message that chunks without an id add to. */
  open: Message | undefined;
  /** Prompts that have no answer yet. */
  prompts: Message[];
  /** By kind and id. */
  messages: Map<string, Message>;
  toolCalls: Map<string, ToolCall>;
  terminals: Map<string, TerminalPart>;
  plans: Map<string, Plan>;
  last: ConversationPart | undefined;
}

/** Updates that tell the same thing anew each time: one after the other is one line. */
const REPEATED = new Set(["usage_update", "available_commands_update", "session_info_update"]);

/**
 * Folds the frames between client and bridge into the conversation the client shows, whichever version it speaks: the
 * shapes of v1 and v2 tell themselves apart. Never throws, whatever the frames hold.
 */
export function createConversation(): Conversation {
  const parts: ConversationPart[] = [];
  const partOf = new Map<Entry, ConversationPart>();
  const sessions = new Map<string | undefined, SessionView>();
  /** The tool call that shows a terminal, by the terminal's part. */
  const shownBy = new Map<ConversationPart, ToolCall>();

  function viewOf(session: string | undefined): SessionView {
    let view = sessions.get(session);
    if (view === undefined) {
      view = {
        open: undefined,
        prompts: [],
        messages: new Map(),
        toolCalls: new Map(),
        terminals: new Map(),
        plans: new Map(),
        last: undefined,
      };
      sessions.set(session, view);
    }
    return view;
  }

  function begin<F extends Fresh<ConversationPart>>(entry: FrameEntry, fresh: F): F & Part {
    const part = { ...fresh, index: parts.length, session: entry.session, entries: [entry], revision: 0 };
    parts.push(part as unknown as ConversationPart);
    partOf.set(entry, part as unknown as ConversationPart);
    viewOf(entry.session).last = part as unknown as ConversationPart;
    return part;
  }

  function extend(part: ConversationPart, entry: FrameEntry): void {
    part.entries.push(entry);
    part.revision++;
    partOf.set(entry, part);
  }

  function line(entry: FrameEntry, label: string, text: string, tone: Line["tone"] = "plain"): Line {
    return begin(entry, { type: "line", label, text, tone });
  }

  // What the client says

  function clientCalls(entry: FrameEntry, params: JsonObject): void {
    const { method = "", kind } = entry.record;
    if (method === "session/prompt" && kind === "request") {
      const view = viewOf(entry.session);
      const blocks = joined([], asArray(params["prompt"]).map(asObject));
      view.prompts.push(begin(entry, { type: "message", role: "user", blocks }));
      view.open = undefined;
    } else {
      line(entry, method, paramsText(method, params));
    }
  }

  // What the client is asked

  function clientIsCalled(entry: FrameEntry, params: JsonObject): void {
    const { method = "" } = entry.record;
    switch (method) {
      case "session/update":
        return updated(entry, updateOf(entry) ?? {});
      case "session/request_permission":
        return permissionAsked(entry, params);
      case "elicitation/create":
        begin(entry, {
          type: "question",
          title: asString(params["message"]) ?? "The agent asks for input",
          description: asString(params["url"]),
          options: [],
          answer: undefined,
        });
        return;
      case "terminal/create":
        begin(entry, { type: "terminal", terminal: createTerminal(params) });
        return;
      default: {
        // v1's client serves terminals: what is asked of one belongs to it.
        const terminal = viewOf(entry.session).terminals.get(asString(params["terminalId"]) ?? "");
        if (method.startsWith("terminal/") && terminal !== undefined) extend(shownBy.get(terminal) ?? terminal, entry);
        else line(entry, method, paramsText(method, params));
      }
    }
  }

  function permissionAsked(entry: FrameEntry, params: JsonObject): void {
    // v2 has a subject, v1 the tool call itself.
    const toolCall = asObject(asObject(params["subject"])["toolCall"] ?? params["toolCall"]);
    const known = viewOf(entry.session).toolCalls.get(asString(toolCall["toolCallId"]) ?? "");
    const title = asString(params["title"]) ?? asString(toolCall["title"]) ?? asString(known?.fields["title"]);
    begin(entry, {
      type: "question",
      title: title ?? "Permission required",
      description: asString(params["description"]),
      options: asArray(params["options"]).filter(isObject),
      answer: undefined,
    });
  }

  // Answers of either side

  function answered(entry: FrameEntry, frame: JsonObject): void {
    const { record, request } = entry;
    const part = request === undefined ? undefined : partOf.get(request);
    const failure = record.kind === "error" ? errorText(frame["error"]) : undefined;
    if (part === undefined) {
      line(entry, record.method ?? record.kind, failure ?? resultText(frame["result"]), failure ? "error" : "plain");
      return;
    }
    extend(part, entry);
    const result = asObject(frame["result"]);
    switch (part.type) {
      case "message":
        return promptAnswered(entry, part, result, failure);
      case "question":
        part.answer = failure === undefined ? outcomeOf(result, part) : { text: failure };
        return;
      case "terminal":
        return terminalAnswered(part, result);
      case "tool-call":
        for (const terminal of viewOf(part.session).terminals.values()) {
          const asked = asObject(asObject(request?.record.type === "frame" ? request.record.frame : {})["params"]);
          if (shownBy.get(terminal) === part && terminal.terminal.id === asked["terminalId"])
            terminal.terminal.answered(result);
        }
        return;
      case "line":
        if (failure !== undefined) part.tone = "error";
        part.text = [part.text, failure ?? resultText(frame["result"])].filter((text) => text !== "").join(" → ");
    }
  }

  function promptAnswered(entry: FrameEntry, prompt: Message, result: JsonObject, failure: string | undefined): void {
    const { prompts } = viewOf(prompt.session);
    if (prompts.includes(prompt)) prompts.splice(prompts.indexOf(prompt), 1);
    if (failure !== undefined) {
      prompt.refused = failure;
      return;
    }
    const messageId = asString(result["messageId"]);
    if (messageId !== undefined) viewOf(prompt.session).messages.set(`user ${messageId}`, prompt);
    const stopReason = asString(result["stopReason"]);
    if (stopReason !== undefined) begin(entry, { type: "state", state: "idle", reason: stopReason, error: undefined });
  }

  function terminalAnswered(part: TerminalPart, result: JsonObject): void {
    const id = asString(result["terminalId"]);
    part.terminal.answered(result);
    if (id === undefined) return;
    part.terminal.id = id;
    viewOf(part.session).terminals.set(id, part);
  }

  // Updates

  function updated(entry: FrameEntry, update: JsonObject): void {
    const kind = asString(update["sessionUpdate"]) ?? "update";
    switch (kind) {
      case "user_message_chunk":
      case "user_message":
        return message(entry, "user", update);
      case "agent_message_chunk":
      case "agent_message":
        return message(entry, "agent", update);
      case "agent_thought_chunk":
      case "agent_thought":
        return message(entry, "thought", update);
      case "tool_call":
      case "tool_call_update":
        return toolCallUpdated(entry, update, (call) => {
          if ("content" in update) call.content = asArray(update["content"]).filter(isObject);
          call.fields = { ...call.fields, ...definedFields(update) };
        });
      case "tool_call_content_chunk":
        return toolCallUpdated(entry, update, (call) => call.content.push(asObject(update["content"])));
      case "terminal_update":
      case "terminal_output_chunk":
        return terminalUpdated(entry, update);
      case "plan":
      case "plan_update":
      case "plan_removed":
        return planUpdated(entry, update);
      case "state_update":
        return stateUpdated(entry, update);
      case "notice":
        line(entry, "notice", [update["title"], update["description"]].filter(Boolean).join(" — "), toneOf(update));
        return;
      default:
        return otherUpdate(entry, kind, update);
    }
  }

  function message(entry: FrameEntry, role: Message["role"], update: JsonObject): void {
    const view = viewOf(entry.session);
    const id = asString(update["messageId"]);
    const isChunk = isObject(update["content"]);
    const blocks = isChunk ? [asObject(update["content"])] : asArray(update["content"]).map(asObject);
    // An agent may show the message before it accepts the prompt that brought it.
    const isPrompt = (prompt: Message) => !isChunk && blocksText(prompt.blocks) === blocksText(blocks);
    const known =
      id === undefined
        ? view.open
        : (view.messages.get(`${role} ${id}`) ?? (role === "user" ? view.prompts.find(isPrompt) : undefined));
    let part = known?.role === role ? known : undefined;
    if (part === undefined) {
      part = begin(entry, { type: "message", role, blocks: joined([], blocks) });
    } else {
      extend(part, entry);
      if (isChunk) part.blocks = joined(part.blocks, blocks);
      else if ("content" in update) part.blocks = joined([], blocks);
    }
    if (id === undefined) view.open = part;
    else view.messages.set(`${role} ${id}`, part);
  }

  function toolCallUpdated(entry: FrameEntry, update: JsonObject, change: (call: ToolCall) => void): void {
    const view = viewOf(entry.session);
    const toolCallId = asString(update["toolCallId"]) ?? "";
    let call = view.toolCalls.get(toolCallId);
    if (call === undefined) {
      call = begin(entry, { type: "tool-call", toolCallId, fields: {}, content: [] });
      view.toolCalls.set(toolCallId, call);
      view.open = undefined;
    } else {
      extend(call, entry);
    }
    change(call);
    for (const { type, terminalId } of call.content) {
      const terminal = type === "terminal" ? view.terminals.get(asString(terminalId) ?? "") : undefined;
      if (terminal === undefined || shownBy.has(terminal)) continue;
      shownBy.set(terminal, call);
      terminal.revision++;
    }
  }

  function terminalUpdated(entry: FrameEntry, update: JsonObject): void {
    const { terminals } = viewOf(entry.session);
    const id = asString(update["terminalId"]) ?? "";
    let part = terminals.get(id);
    if (part === undefined) {
      part = begin(entry, { type: "terminal", terminal: createTerminal({}, id) });
      terminals.set(id, part);
    } else {
      extend(part, entry);
    }
    part.terminal.updated(update);
    const call = shownBy.get(part);
    if (call !== undefined) call.revision++;
  }

  function planUpdated(entry: FrameEntry, update: JsonObject): void {
    const { plans } = viewOf(entry.session);
    // v1 has one plan a session, its entries in the update itself.
    const content = isObject(update["plan"]) ? update["plan"] : update;
    const id = asString(content["planId"]) ?? "";
    let plan = plans.get(id);
    if (plan === undefined) {
      plan = begin(entry, { type: "plan", entriesOf: [], removed: false });
      plans.set(id, plan);
    } else {
      extend(plan, entry);
    }
    plan.removed = update["sessionUpdate"] === "plan_removed";
    if (!plan.removed) plan.entriesOf = asArray(content["entries"]).filter(isObject);
  }

  function stateUpdated(entry: FrameEntry, update: JsonObject): void {
    const error = isObject(update["error"]) ? errorText(update["error"]) : undefined;
    begin(entry, {
      type: "state",
      state: asString(update["state"]) ?? "unknown",
      reason: asString(update["stopReason"]),
      error,
    });
  }

  function otherUpdate(entry: FrameEntry, kind: string, update: JsonObject): void {
    const text = contentText(update) ?? configText(kind, update);
    const { last } = viewOf(entry.session);
    if (REPEATED.has(kind) && last?.type === "line" && last.label === kind) {
      extend(last, entry);
      last.text = text;
    } else line(entry, kind, text);
  }

  function add(entry: Entry): void {
    if (!isFrame(entry)) return;
    const { leg, kind } = entry.record;
    if (leg !== "client-bridge" && leg !== "bridge-client") return;
    const frame = asObject(entry.record.frame);
    const params = asObject(frame["params"]);
    if (kind === "result" || kind === "error") answered(entry, frame);
    else if (kind === "invalid") line(entry, "invalid frame", entry.record.method ?? "", "error");
    else if (leg === "client-bridge") clientCalls(entry, params);
    else clientIsCalled(entry, params);
  }

  function find(entry: Entry): ConversationPart | undefined {
    const part = partOf.get(entry);
    return part === undefined ? undefined : (shownBy.get(part) ?? part);
  }

  return {
    parts,
    add,
    partOf(entry) {
      const related = [entry, ...entry.effects, entry.cause, entry.request];
      for (const other of related) {
        const part = other === undefined ? undefined : find(other);
        if (part !== undefined) return part;
      }
      return undefined;
    },
    terminal: (session, terminalId) => sessions.get(session)?.terminals.get(terminalId)?.terminal,
    isShownElsewhere: (part) => shownBy.has(part),
  };
}

/** The blocks with more of them at the end; text that follows text is one block. */
function joined(blocks: readonly JsonObject[], more: readonly JsonObject[]): JsonObject[] {
  const all = [...blocks];
  for (const block of more) {
    const last = all.at(-1);
    if (block["type"] === "text" && last?.["type"] === "text")
      all[all.length - 1] = { ...last, text: `${asString(last["text"]) ?? ""}${asString(block["text"]) ?? ""}` };
    else all.push(block);
  }
  return all;
}

/** In v1 null means unchanged, in v2 cleared; a client that shows the known value does right by the first. */
function definedFields(update: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(update).filter(([, value]) => value !== undefined));
}

function toneOf({ severity }: JsonObject): Line["tone"] {
  return severity === "error" || severity === "warning" ? severity : "info";
}

function outcomeOf(result: JsonObject, { options }: Question): NonNullable<Question["answer"]> {
  const outcome = asObject(result["outcome"]);
  const optionId = asString(outcome["optionId"]);
  if (optionId === undefined) return { text: asString(outcome["outcome"]) ?? asString(result["action"]) ?? "answered" };
  const chosen = options.find((option) => option["optionId"] === optionId);
  return { optionId, text: asString(chosen?.["name"]) ?? optionId };
}

/** All text of a part: what a search looks through, beside its frames. */
export function textOf(part: ConversationPart): string {
  switch (part.type) {
    case "message":
      return blocksText(part.blocks);
    case "terminal":
      return `${part.terminal.command}\n${part.terminal.output}`;
    case "line":
      return part.text;
    default:
      return "";
  }
}
