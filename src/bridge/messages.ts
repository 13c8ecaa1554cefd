/**
 * Message identity: which message a chunk belongs to, and under which id the client knows it (docs/mapping.md §5).
 */
import { type ChunkLine, textOf as textOfChunk } from "../protocol/chunk-pattern.ts";
import { isObject, type JsonObject, without } from "../protocol/json.ts";

/** The three kinds of message; an id is unique within one kind (v2 prompt lifecycle, "Entity IDs"). */
export type MessageKind = "user_message" | "agent_message" | "agent_thought";

/** One message of the session, as the ledger remembers it. */
export interface LedgerEntry {
  kind: MessageKind;
  id: string;
  digest: Digest;
}

/** A running digest of a message's content: independent of how its text was cut into chunks. */
export interface Digest {
  a: number;
  b: number;
}

interface CurrentMessage extends LedgerEntry {
  /** True when the agent gave the id. */
  given: boolean;
  /** The length of all text so far, in UTF-16 units. */
  length: number;
  /** The content since it was last taken; only where the bridge has to tell it again. */
  content: JsonObject[] | undefined;
  /** True when some of the content was taken before. */
  continues: boolean;
}

/** A message that has ended, for now. */
export interface FinishedMessage extends LedgerEntry {
  content?: JsonObject[] | undefined;
  continues?: boolean;
}

/** A message put together from replayed chunks. */
export interface ReplayedMessage {
  kind: MessageKind;
  id: string;
  content: JsonObject[];
  meta: JsonObject | undefined;
  /** True for the rest of a message whose beginning was sent before: something stood between them on the timeline. */
  continues: boolean;
}

interface GatheredMessage {
  kind: MessageKind;
  given: string | undefined;
  /** The entry of the message it continues. */
  begun: LedgerEntry | undefined;
  content: JsonObject[];
  meta: JsonObject | undefined;
  digest: Digest;
}

interface Replay {
  gathered: GatheredMessage | undefined;
  /** For each kind, how much of the ledger has been passed. */
  passed: Map<MessageKind, number>;
  occurrences: Map<string, number>;
  entries: LedgerEntry[];
  /** The entries by kind and id. */
  used: Set<string>;
  /** Replayed messages whose id the agent gave, by kind and id. */
  given: Map<string, LedgerEntry>;
}

/** What a session knows of its messages. */
export interface Messages {
  /** The message at the end of the timeline; undefined when something else took its place. */
  current: CurrentMessage | undefined;
  /** The last message of each kind, for chunks that take no place of their own. */
  last: Map<MessageKind, CurrentMessage>;
  /** A message of empty chunks only: it takes its place on the timeline with its first text. */
  unplaced: CurrentMessage | undefined;
  /** Messages by kind and the id the agent gave, or gave when it restated them. */
  given: Map<string, CurrentMessage>;
  ledger: LedgerEntry[];
  /** Whether content is kept until its message ends. */
  keepsContent: boolean;
  /** Messages that changed and then lost their place, or ended, since they were last taken. */
  finished: Set<FinishedMessage>;
  /** What of the user's prompt the agent has not echoed yet. */
  echo: { text: string; blocks: string[] } | undefined;
  replay: Replay | undefined;
}

/** The messages of a session that has none yet. */
export function createMessages(): Messages {
  return {
    current: undefined,
    last: new Map(),
    unplaced: undefined,
    given: new Map(),
    ledger: [],
    keepsContent: false,
    finished: new Set(),
    echo: undefined,
    replay: undefined,
  };
}

/** A new tool call, a new turn or an idle takes the current message's place on the timeline. */
export function endMessage(messages: Messages): void {
  replaceCurrent(messages, undefined);
  messages.unplaced = undefined;
}

function replaceCurrent(messages: Messages, next: CurrentMessage | undefined): void {
  if (messages.current !== undefined && messages.current !== next) messages.finished.add(messages.current);
  messages.current = next;
}

/** The messages that ended since the last call, in the order they began to. */
export function takeFinished(messages: Messages): FinishedMessage[] {
  const finished = [...messages.finished].map((message) => ({ ...message }));
  for (const message of messages.finished) {
    if (message.content === undefined) continue;
    message.content = [];
    message.continues = true;
  }
  messages.finished.clear();
  return finished;
}

/** The updates that tell a message's content: whole, or added to what was told of it before. */
export function contentUpdates(message: Omit<FinishedMessage, "digest">): JsonObject[] {
  const { kind, id, content = [], continues = false } = message;
  if (continues) return content.map((block) => ({ sessionUpdate: `${kind}_chunk`, messageId: id, content: block }));
  // What is told may be kept, while an open message goes on.
  return content.length === 0 ? [] : [{ sessionUpdate: kind, messageId: id, content: [...content] }];
}

/** How a live chunk is to be sent: under an id, or not at all because it repeats a whole message. */
export type Identity = { id: string } | { restates: string };

/**
 * The identity of a live chunk.
 *
 * @param given the agent's `messageId`, if it gave one
 * @param mint makes a new id
 * @param restated what to do with a whole message that repeats the current one under a new id
 */
export function identify(
  messages: Messages,
  kind: MessageKind,
  given: string | undefined,
  content: JsonObject,
  mint: () => string,
  restated: "keep" | "drop",
): Identity {
  const message = placeOf(messages, kind, given, content, restated);
  if (typeof message === "string") return { restates: message };
  if (message !== undefined) {
    digest(message.digest, content);
    message.length += textOf(content)?.length ?? 0;
    if (message.content !== undefined) appendBlock(message.content, content);
    return { id: message.id };
  }
  const length = textOf(content)?.length ?? 0;
  const entry: CurrentMessage = {
    kind,
    id: given ?? mint(),
    digest: newDigest(),
    given: given !== undefined,
    length,
    content: messages.keepsContent ? [content] : undefined,
    continues: false,
  };
  digest(entry.digest, content);
  messages.ledger.push(entry);
  messages.last.set(kind, entry);
  if (given !== undefined) messages.given.set(`${kind} ${given}`, entry);
  // An empty chunk says nothing, so it takes nobody's place.
  if (textOf(content) !== "" || messages.current === undefined) replaceCurrent(messages, entry);
  else if (given === undefined) messages.unplaced = entry;
  return { id: entry.id };
}

/**
 * The identity of a live chunk of text that goes on with the message at the end of the timeline, as {@link identify} has it;
 * undefined, with nothing done, for any other.
 */
export function continueMessage(
  messages: Messages,
  kind: MessageKind,
  given: string | undefined,
  chunk: ChunkLine,
): string | undefined {
  const { current } = messages;
  if (current === undefined || current.kind !== kind || current.content !== undefined) return undefined;
  if (given === undefined ? current.given : !current.given || current.id !== given) return undefined;
  current.length += digestChunk(current.digest, chunk);
  return current.id;
}

/** The message a chunk continues; undefined for a new one; a string for the id of the message it restates. */
function placeOf(
  messages: Messages,
  kind: MessageKind,
  given: string | undefined,
  content: JsonObject,
  restated: "keep" | "drop",
): CurrentMessage | string | undefined {
  const current = messages.current;
  if (given === undefined) {
    if (current?.kind === kind && !current.given) return current;
    if (textOf(content) === "") return messages.last.get(kind);
    if (messages.unplaced?.kind !== kind) return undefined;
    replaceCurrent(messages, messages.unplaced);
    messages.unplaced = undefined;
    return messages.current;
  }
  const known = messages.given.get(`${kind} ${given}`);
  if (known !== undefined) {
    replaceCurrent(messages, known);
    return known;
  }
  if (restated === "drop" && current?.kind === kind && isWhole(current, content)) {
    messages.given.set(`${kind} ${given}`, current);
    return current.id;
  }
  return undefined;
}

/** True when the content is all the text of the message, which may have come in pieces. */
function isWhole(message: CurrentMessage, content: JsonObject): boolean {
  if (message.length === 0 || message.length !== textOf(content)?.length) return false;
  const whole = newDigest();
  digest(whole, content);
  return sameDigest(message.digest, whole);
}

/** Enters the user's own message, sent under a minted id, and expects the agent to echo it. */
export function enterUserMessage(messages: Messages, id: string, prompt: readonly JsonObject[]): void {
  const entry: LedgerEntry = { kind: "user_message", id, digest: newDigest() };
  for (const block of prompt) digest(entry.digest, block);
  messages.ledger.push(entry);
  messages.finished.add(entry);
  replaceCurrent(messages, undefined);
  messages.echo = {
    text: prompt.map((block) => textOf(block) ?? "").join(""),
    blocks: prompt.filter((block) => textOf(block) === undefined).map(canonical),
  };
}

/**
 * Takes a user chunk for the agent's echo of the prompt when it continues what was sent.
 *
 * @returns true when the chunk is an echo and is not to be shown again
 */
export function absorbEcho(messages: Messages, content: JsonObject): boolean {
  const echo = messages.echo;
  if (echo === undefined) return false;
  const text = textOf(content);
  if (text !== undefined) {
    if (!echo.text.startsWith(text)) return false;
    echo.text = echo.text.slice(text.length);
    return true;
  }
  const index = echo.blocks.indexOf(canonical(content));
  if (index < 0) return false;
  echo.blocks.splice(index, 1);
  return true;
}

/** Begins reading a replay: from here on chunks are gathered into whole messages. */
export function beginReplay(messages: Messages): void {
  messages.replay = {
    gathered: undefined,
    passed: new Map(),
    occurrences: new Map(),
    entries: [],
    used: new Set(),
    given: new Map(),
  };
  replaceCurrent(messages, undefined);
}

/**
 * Adds a replayed chunk to the message it belongs to.
 *
 * @returns the message before it, now complete, if the chunk begins another
 */
export function gatherReplay(
  messages: Messages,
  kind: MessageKind,
  given: string | undefined,
  content: JsonObject,
  meta: JsonObject | undefined,
): ReplayedMessage | undefined {
  const replay = messages.replay;
  if (replay === undefined) return undefined;
  const open = replay.gathered;
  const continues = open !== undefined && open.kind === kind && open.given === given;
  const begins = continues && textOf(content) !== "" && beginsAnother(messages, replay, open, content);
  if (continues && !begins) {
    appendBlock(open.content, content);
    digest(open.digest, content);
    if (meta !== undefined) open.meta = { ...open.meta, ...meta };
    return undefined;
  }
  const complete = finishReplayed(messages);
  const begun = given === undefined ? undefined : replay.given.get(`${kind} ${given}`);
  replay.gathered = { kind, given, begun, content: [content], meta, digest: begun?.digest ?? newDigest() };
  digest(replay.gathered.digest, content);
  return complete;
}

/**
 * True when a chunk that could go on with what was gathered is another message: what was gathered is all of the one that
 * comes next in the ledger, or the chunk alone is, and what was gathered is one that the ledger does not know.
 */
function beginsAnother(messages: Messages, replay: Replay, open: GatheredMessage, content: JsonObject): boolean {
  const next = nextInLedger(messages, replay, open.kind);
  if (next === undefined) return false;
  if (sameDigest(next.digest, open.digest)) return true;
  const alone = newDigest();
  digest(alone, content);
  return open.given === undefined && sameDigest(next.digest, alone);
}

/** The message of this kind that comes next when the replay is what the ledger remembers. */
function nextInLedger({ ledger }: Messages, replay: Replay, kind: MessageKind): LedgerEntry | undefined {
  return ledger.find((entry, index) => index >= (replay.passed.get(kind) ?? 0) && entry.kind === kind);
}

/** True in the middle of a replayed message. */
export function isGathering(messages: Messages): boolean {
  return messages.replay?.gathered !== undefined;
}

/** Completes the message being gathered: something else follows it on the timeline. */
export function finishReplayed(messages: Messages): ReplayedMessage | undefined {
  const replay = messages.replay;
  const open = replay?.gathered;
  if (replay === undefined || open === undefined) return undefined;
  replay.gathered = undefined;
  const { kind, given, begun, content, meta } = open;
  if (begun !== undefined) return { kind, id: begun.id, content, meta, continues: true };
  const entry = replayedEntry(messages, replay, open);
  replay.entries.push(entry);
  replay.used.add(`${kind} ${entry.id}`);
  if (given !== undefined) replay.given.set(`${kind} ${given}`, entry);
  return { kind, id: entry.id, content, meta, continues: false };
}

/** Ends the replay. The ledger now follows the replayed order; entries that were not replayed are kept behind it. */
export function endReplay(messages: Messages): void {
  const replay = messages.replay;
  if (replay === undefined) return;
  const replayed = new Set(replay.entries.map((entry) => `${entry.kind} ${entry.id}`));
  messages.ledger = [
    ...replay.entries,
    ...messages.ledger.filter((entry) => !replayed.has(`${entry.kind} ${entry.id}`)),
  ];
  messages.replay = undefined;
}

/**
 * The message as the ledger knows it: the next unused entry with its content; else under the agent's id, unless another
 * message has it already; else under a derived one.
 */
function replayedEntry(messages: Messages, replay: Replay, message: GatheredMessage): LedgerEntry {
  const { kind, given, digest } = message;
  const { ledger } = messages;
  for (let index = replay.passed.get(kind) ?? 0; index < ledger.length; index++) {
    const entry = ledger[index];
    if (entry?.kind !== kind || !sameDigest(entry.digest, digest) || replay.used.has(`${kind} ${entry.id}`)) continue;
    replay.passed.set(kind, index + 1);
    return entry;
  }
  if (given !== undefined && !replay.used.has(`${kind} ${given}`)) {
    const known = ledger.find((entry) => entry.kind === kind && entry.id === given);
    // What is said of it later is to be added to this content.
    return Object.assign(known ?? { kind, id: given, digest }, { digest });
  }
  const content = digestText(digest);
  const key = `${kind} ${content}`;
  const occurrence = (replay.occurrences.get(key) ?? 0) + 1;
  replay.occurrences.set(key, occurrence);
  return { kind, id: `r_${content}_${occurrence}`, digest };
}

/** Appends a block to a message; text that only continues text becomes one block with it. */
export function appendBlock(content: JsonObject[], block: JsonObject): void {
  const last = content.at(-1);
  if (last !== undefined && isPlainText(last) && isPlainText(block)) {
    content[content.length - 1] = { ...last, text: `${last["text"]}${block["text"]}` };
  } else {
    content.push(block);
  }
}

function isPlainText(block: JsonObject): boolean {
  return textOf(block) !== undefined && Object.keys(block).length === 2;
}

/** The text of a text block; undefined for any other. */
export function textOf(block: JsonObject): string | undefined {
  return block["type"] === "text" && typeof block["text"] === "string" ? block["text"] : undefined;
}

/** A block other than text, as text that depends neither on optional decoration the agent may drop or add, nor on the order of fields. */
export function canonical(block: JsonObject): string {
  const resource = block["resource"];
  const bare = without(block, "annotations", "_meta");
  return JSON.stringify(isObject(resource) ? { ...bare, resource: without(resource, "_meta") } : bare, sortFields);
}

function sortFields(_: string, value: unknown): unknown {
  return isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
}

/** The digest of no content at all. */
export function newDigest(): Digest {
  return { a: 0x811c9dc5, b: 0x9e3779b9 };
}

/** Adds a block to a digest. Text adds the same however it is cut into blocks. */
export function digest(into: Digest, block: JsonObject): void {
  const text = textOf(block) ?? canonical(block);
  let { a, b } = into;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x85ebca6b) + 1;
  }
  into.a = a;
  into.b = b;
}

/** Adds the text of a chunk to a digest, as {@link digest} does. Returns its length, in UTF-16 units. */
function digestChunk(into: Digest, chunk: ChunkLine): number {
  if (!chunk.simple) {
    const text = textOfChunk(chunk);
    digest(into, { type: "text", text });
    return text.length;
  }
  const { source, textEnd } = chunk;
  let { a, b } = into;
  let length = 0;
  for (let index = chunk.textStart; index < textEnd; index++) {
    let unit = source[index] ?? 0;
    if (unit === BACKSLASH) unit = unescaped[source[++index] ?? 0] ?? 0;
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x85ebca6b) + 1;
    length++;
  }
  into.a = a;
  into.b = b;
  return length;
}

const BACKSLASH = 0x5c;
/** What the characters after a backslash stand for. */
const unescaped = new Uint8Array(128).map((_, index) => index);
for (const [letter, character] of ["b\b", "f\f", "n\n", "r\r", "t\t"])
  unescaped[letter?.charCodeAt(0) ?? 0] = character?.charCodeAt(0) ?? 0;

/** True for digests of the same content. */
export function sameDigest(one: Digest, other: Digest): boolean {
  return one.a === other.a && one.b === other.b;
}

/** A digest as text, for ids and for keeping. */
export function digestText(value: Digest): string {
  return `${(value.a >>> 0).toString(36)}.${(value.b >>> 0).toString(36)}`;
}

/** The digest that {@link digestText} wrote. */
export function readDigest(text: string): Digest {
  const [a = "", b = ""] = text.split(".");
  return { a: Number.parseInt(a, 36) | 0, b: Number.parseInt(b, 36) | 0 };
}
