/**
 * Messages of a v2 agent as chunks, which is all that v1 has: chunks go through, and of a message sent whole what the
 * client does not have yet (docs/mapping.md §13).
 */
import { asArray, asString, isObject, type JsonObject, without } from "../../protocol/json.ts";
import { contentBlockToV1 } from "../../translate/content.ts";
import { log } from "../effects.ts";
import { canonical, digest, type MessageKind, newDigest, sameDigest, textOf } from "../messages.ts";
import type { Bridge } from "../state.ts";
import { mintId } from "../turns.ts";
import { updateV1Client } from "./effects.ts";
import type { DowngradedSession, SentMessage } from "./state.ts";

const KINDS = new Map<unknown, MessageKind>([
  ["user_message_chunk", "user_message"],
  ["agent_message_chunk", "agent_message"],
  ["agent_thought_chunk", "agent_thought"],
  ["user_message", "user_message"],
  ["agent_message", "agent_message"],
  ["agent_thought", "agent_thought"],
]);

/** The kind of message an update of that kind belongs to; undefined for any other update. */
export function messageKind(sessionUpdate: unknown): MessageKind | undefined {
  return KINDS.get(sessionUpdate);
}

/** A message, or a chunk of one. */
export function messageUpdate(
  bridge: Bridge,
  session: DowngradedSession,
  update: JsonObject,
  params: JsonObject,
): void {
  const kind = messageKind(update["sessionUpdate"]);
  // By the book there is an id; v1 can do without.
  const messageId = asString(update["messageId"]) ?? "";
  if (kind === undefined) return;
  const message = messageOf(session, kind, messageId);
  if (message.absorbed) return log(bridge, "debug", "echo-absorbed", { sessionId: session.id, messageId });
  if (kind !== update["sessionUpdate"]) chunk(bridge, session, message, update, params);
  else whole(bridge, session, message, update, params);
}

/** The message of that id is the client's own, which has it already. */
export function absorb(session: DowngradedSession, kind: MessageKind, messageId: string): void {
  messageOf(session, kind, messageId).absorbed = true;
}

function messageOf(session: DowngradedSession, kind: MessageKind, messageId: string): SentMessage {
  const key = `${kind} ${messageId}`;
  const known = session.messages.get(key);
  if (known !== undefined) return known;
  const message = { kind, id: messageId, length: 0, digest: newDigest(), absorbed: false };
  session.messages.set(key, message);
  return message;
}

function chunk(
  bridge: Bridge,
  session: DowngradedSession,
  message: SentMessage,
  update: JsonObject,
  params: JsonObject,
): void {
  const { content } = update;
  if (!isObject(content)) {
    log(bridge, "warn", "update-dropped", { sessionId: session.id, fault: "content must be an object" });
    return;
  }
  remember(message, content);
  send(bridge, session, message, content, without(update, "sessionUpdate", "messageId", "content"), params);
}

/**
 * A message as it now is. v1 can add to a message and not change it: what only grew gets what is new, anything else
 * is sent in full as a message of its own, under a new id.
 */
function whole(
  bridge: Bridge,
  session: DowngradedSession,
  message: SentMessage,
  update: JsonObject,
  params: JsonObject,
): void {
  const { sessionId, id: messageId } = { sessionId: session.id, id: message.id };
  const content = asArray(update["content"]).filter(isObject);
  if (content.length === 0) {
    // Nothing is said of the content, or it is taken back, which v1 cannot do.
    if (message.length > 0 && update["content"] !== undefined)
      log(bridge, "info", "message-not-cleared", { sessionId, messageId });
    else log(bridge, "debug", "message-without-content", { sessionId, messageId });
    return;
  }
  const rest = unsent(message, content);
  if (rest === undefined) {
    log(bridge, "info", "message-sent-anew", { sessionId, messageId });
    Object.assign(message, { id: mintId(bridge), length: 0, digest: newDigest() });
  }
  const fields = without(update, "sessionUpdate", "messageId", "content");
  for (const block of rest ?? content) {
    remember(message, block);
    send(bridge, session, message, block, fields, params);
  }
}

function remember(message: SentMessage, block: JsonObject): void {
  digest(message.digest, block);
  message.length += sizeOf(block);
}

function sizeOf(block: JsonObject): number {
  return (textOf(block) ?? canonical(block)).length;
}

/** What the content has beyond what was sent; undefined when it does not begin with that. */
function unsent(sent: SentMessage, content: readonly JsonObject[]): JsonObject[] | undefined {
  const prefix = newDigest();
  let missing = sent.length;
  const rest: JsonObject[] = [];
  for (const block of content) {
    const text = textOf(block);
    const size = sizeOf(block);
    if (missing === 0) {
      rest.push(block);
    } else if (size <= missing) {
      digest(prefix, block);
      missing -= size;
    } else {
      if (text === undefined) return undefined;
      digest(prefix, { type: "text", text: text.slice(0, missing) });
      rest.push({ ...block, text: text.slice(missing) });
      missing = 0;
    }
  }
  return sameDigest(prefix, sent.digest) ? rest : undefined;
}

function send(
  bridge: Bridge,
  session: DowngradedSession,
  { kind, id }: SentMessage,
  block: JsonObject,
  fields: JsonObject,
  params: JsonObject,
): void {
  const sessionUpdate = `${kind}_chunk`;
  const content = contentBlockToV1(block);
  // As in the other direction: V8 is slow to add members to a copy, and most chunks are no more than this.
  const plain = id === "" ? { sessionUpdate, content } : { sessionUpdate, messageId: id, content };
  updateV1Client(bridge, session, Object.keys(fields).length === 0 ? plain : { ...plain, ...fields }, params);
}
