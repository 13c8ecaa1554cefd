// What the stand-in model and its dialects speak about: a conversation as an agent sends it, and the reply to it.
import type { JsonObject } from "../../../src/protocol/json.ts";

/** One entry of the conversation in an agent's request. */
export interface Item {
  from: "user" | "model" | "tool";
  text: string;
}

/** A tool the agent offers; a freeform one takes text instead of arguments. */
export interface Tool {
  name: string;
  schema: JsonObject;
  freeform: boolean;
}

export interface Asked {
  items: Item[];
  tools: Tool[];
}

export interface Call {
  id: string;
  name: string;
  arguments: JsonObject | string;
}

/** Where a stream stands still until the test lets it go on, or the agent hangs up. */
export const PAUSE = Symbol("pause");
export type Pause = typeof PAUSE;

export interface Reply {
  thoughts: string[];
  words: (string | Pause)[];
  calls: Call[];
}

/** One server-sent event. */
export interface StreamEvent {
  event?: string;
  data: unknown;
}

/** A model API: how it puts what it is asked, and how it wants the reply. */
export interface Dialect {
  name: string;
  /** True for the paths of its requests for a reply. */
  serves(path: string): boolean;
  streams(path: string, body: JsonObject): boolean;
  read(body: JsonObject): Asked;
  stream(reply: Reply, body: JsonObject): Iterable<StreamEvent | Pause>;
  whole(reply: Reply, body: JsonObject): JsonObject;
  /** The body of a refusal with status 400. */
  failure: JsonObject;
}

/** The words of a reply as one text. */
export function textOf(reply: Reply): string {
  return reply.words.filter((word) => word !== PAUSE).join("");
}

/** The text in a message's content, whichever way the API writes it. */
export function plainText(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(plainText).join("\n");
  const text = (content as JsonObject | null | undefined)?.["text"];
  return typeof text === "string" ? text : "";
}

/** The two halves of a text, as an API streams a tool call's arguments. */
export function halves(text: string): [string, string] {
  const middle = text.length >> 1;
  return [text.slice(0, middle), text.slice(middle)];
}
