import { asArray, asObject, asString, isObject, type JsonObject } from "../protocol/json.ts";
import type { Direction } from "./peer.ts";

/** One frame as a peer saw it; `at` is in nanoseconds of the machine's monotonic clock. */
export interface Seen {
  at: bigint;
  direction: Direction;
  frame: JsonObject;
}

/** A message put together from its chunks. */
export interface Message {
  kind: "user" | "agent" | "thought";
  id: string;
  text: string;
  chunks: number;
}

/** What a v2 client holds of one stretch of a conversation after reading its frames. */
export interface Turn {
  /**
   * What came from the agent's side, in order, in short words: `accepted`, `user message`, `running`, `thought`,
   * `message`, `plan`, `<tool call id> <status>`, `permission`, `requires_action`, `idle end_turn`, … The chunks of one
   * message are one step. What has no word of its own goes by its method, its kind of update, or `result` / `error`.
   */
  steps: string[];
  /** The message id each prompt was answered with. */
  accepted: string[];
  messages: Message[];
  plans: JsonObject[];
  /** Every tool call by id: its fields, each update laid over the ones before. */
  toolCalls: Map<string, JsonObject>;
  permissions: JsonObject[];
  configOptions: JsonObject[];
  commands: JsonObject[];
  /** The last `idle`. */
  idle: JsonObject;
  /** The results of requests, other than of prompts. */
  results: JsonObject[];
}

/** Reads the frames a v2 client has received, in order; the ones it sent are skipped. */
export function readTurn(frames: readonly Seen[]): Turn {
  const turn: Turn = {
    steps: [],
    accepted: [],
    messages: [],
    plans: [],
    toolCalls: new Map(),
    permissions: [],
    configOptions: [],
    commands: [],
    idle: {},
    results: [],
  };
  for (const { direction, frame } of frames) {
    if (direction === "sent") continue;
    const step = readFrame(turn, frame);
    if (step !== undefined) turn.steps.push(step);
  }
  return turn;
}

/** Takes one frame in; its word, or undefined when it continues the step before. */
function readFrame(turn: Turn, frame: JsonObject): string | undefined {
  const params = asObject(frame["params"]);
  const method = asString(frame["method"]);
  if (method === "session/update") return readUpdate(turn, asObject(params["update"]));
  if (method === "session/request_permission") {
    turn.permissions.push(params);
    return "permission";
  }
  if (method !== undefined) return method;
  if ("error" in frame) return "error";
  const result = asObject(frame["result"]);
  const messageId = asString(result["messageId"]);
  if (messageId !== undefined) {
    turn.accepted.push(messageId);
    return "accepted";
  }
  turn.results.push(result);
  if ("configOptions" in result) turn.configOptions = asArray(result["configOptions"]).filter(isObject);
  return "result";
}

function readUpdate(turn: Turn, update: JsonObject): string | undefined {
  const kind = asString(update["sessionUpdate"]) ?? "an update without a kind";
  switch (kind) {
    case "user_message":
      turn.messages.push(message("user", update, asArray(update["content"])));
      return "user message";
    case "agent_thought_chunk":
      return readChunk(turn, "thought", update);
    case "agent_message_chunk":
      return readChunk(turn, "agent", update);
    case "plan_update":
      turn.plans.push(asObject(update["plan"]));
      return "plan";
    case "tool_call_update": {
      const id = asString(update["toolCallId"]) ?? "";
      turn.toolCalls.set(id, { ...turn.toolCalls.get(id), ...update });
      return `${id} ${asString(update["status"]) ?? "changed"}`;
    }
    case "available_commands_update":
      turn.commands = asArray(update["availableCommands"]).filter(isObject);
      return "commands";
    case "config_option_update":
      turn.configOptions = asArray(update["configOptions"]).filter(isObject);
      return "config options";
    case "state_update": {
      const state = asString(update["state"]) ?? "a state without a name";
      if (state !== "idle") return state;
      turn.idle = update;
      return `idle ${asString(update["stopReason"]) ?? "for no reason"}`;
    }
    default:
      return kind;
  }
}

function readChunk(turn: Turn, kind: "agent" | "thought", update: JsonObject): string | undefined {
  const word = kind === "agent" ? "message" : "thought";
  const chunk = message(kind, update, [update["content"]]);
  const known = turn.messages.find((other) => other.kind === kind && other.id === chunk.id);
  if (!known) {
    turn.messages.push(chunk);
    return word;
  }
  known.text += chunk.text;
  known.chunks += 1;
  return turn.steps.at(-1) === word ? undefined : word;
}

function message(kind: Message["kind"], update: JsonObject, blocks: unknown[]): Message {
  const text = blocks.map((block) => asString(asObject(block)["text"]) ?? "").join("");
  return { kind, id: asString(update["messageId"]) ?? "", text, chunks: 1 };
}
