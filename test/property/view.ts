// What a v2 client makes of a session's updates: the fold that the protocol describes, and nothing more.
import { asArray, asObject, asString, isObject, type JsonObject } from "../../src/protocol/json.ts";

export interface Message {
  kind: string;
  text: string;
}

export interface ToolCall {
  title: unknown;
  kind: unknown;
  status: unknown;
  content: unknown[];
}

/** A client's view of one session. Messages and tool calls keep the order in which they first appeared. */
export interface View {
  messages: Map<string, Message>;
  toolCalls: Map<string, ToolCall>;
  /** Message keys and tool-call ids together, as on a timeline. */
  timeline: string[];
  plan: unknown;
  state: unknown;
  config: Record<string, unknown>;
  notices: number;
}

export function createView(): View {
  return {
    messages: new Map(),
    toolCalls: new Map(),
    timeline: [],
    plan: undefined,
    state: undefined,
    config: {},
    notices: 0,
  };
}

/** Takes an update in. */
export function fold(view: View, update: JsonObject): void {
  const kind = asString(update["sessionUpdate"]) ?? "";
  switch (kind) {
    case "user_message":
    case "agent_message":
    case "agent_thought":
      messageOf(view, kind, update["messageId"]).text = asArray(update["content"]).map(textOf).join("");
      break;
    case "user_message_chunk":
    case "agent_message_chunk":
    case "agent_thought_chunk":
      messageOf(view, kind.replace("_chunk", ""), update["messageId"]).text += textOf(update["content"]);
      break;
    case "tool_call_update":
      patchToolCall(view, update);
      break;
    case "plan_update":
      view.plan = asObject(update["plan"])["entries"];
      break;
    case "state_update":
      view.state = update["state"];
      break;
    case "config_option_update":
      takeConfig(view, update["configOptions"]);
      break;
    case "notice":
      view.notices++;
      break;
    default:
  }
}

/** Takes a list of config options in, from an update or a result; undefined changes nothing. */
export function takeConfig(view: View, configOptions: unknown): void {
  if (configOptions === undefined) return;
  view.config = Object.fromEntries(
    asArray(configOptions).map((option) => [asObject(option)["configId"], asObject(option)["currentValue"]]),
  );
}

function messageOf(view: View, kind: string, messageId: unknown): Message {
  const key = `${kind} ${messageId}`;
  const known = view.messages.get(key);
  if (known !== undefined) return known;
  const added = { kind, text: "" };
  view.messages.set(key, added);
  view.timeline.push(key);
  return added;
}

function patchToolCall(view: View, update: JsonObject): void {
  const id = String(update["toolCallId"]);
  let known = view.toolCalls.get(id);
  if (known === undefined) {
    known = { title: undefined, kind: "other", status: "pending", content: [] };
    view.toolCalls.set(id, known);
    view.timeline.push(id);
  }
  // null clears, absence changes nothing.
  if (update["title"] !== undefined) known.title = update["title"];
  if (update["kind"] !== undefined) known.kind = update["kind"] ?? "other";
  if (update["status"] !== undefined) known.status = update["status"] ?? "pending";
  if (update["content"] !== undefined) known.content = asArray(update["content"]);
}

function textOf(block: unknown): string {
  return isObject(block) && typeof block["text"] === "string" ? block["text"] : "";
}
