/**
 * What a client was shown of a session lately, as state that can be told once more (docs/linger.md). Nobody can know which
 * of the last frames reached a client whose connection broke; told as whole messages, tool calls and plans, what did
 * reach it changes nothing, and what did not is made good (schema v2 `SessionUpdate`: everything with an id is an upsert).
 */
import { type NotificationFrame, notification } from "../protocol/frames.ts";
import { asArray, asObject, asString, isObject, type JsonObject, without } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import { CHUNKS, UPSERTS } from "../protocol/upserts.ts";
import { appendBlock } from "./messages.ts";

/** The latest of one session, in the order in which things first appeared. */
export interface Shown {
  entries: Map<string, Entry>;
  /** The size of all entries together, in UTF-16 units of JSON. */
  size: number;
  /** Counts the updates. */
  clock: number;
  /** What had to make room: what is added to it later cannot be told as a whole. */
  forgotten: Set<string>;
  /** When something was last added to what is forgotten, while the client was there. */
  unkept: number;
  /** True when something that the client may have missed is forgotten. */
  gap: boolean;
  /** Counts the stretches of foreground work, for the key of their state. */
  works: number;
}

interface Entry {
  method: string;
  /** The params it last came in. */
  params: JsonObject;
  /** The update so far; undefined for what is told once, in just these params. */
  update?: JsonObject;
  /** The bytes a terminal has written, one a character. */
  output?: string | undefined;
  size: number;
  /** When it last changed. */
  changed: number;
  /** True for a state that was reached while the client was away. */
  missed?: boolean;
}

/** How many entities that had to make room are remembered as forgotten: nothing is added any more to what is older. */
const MOST_FORGOTTEN = 10_000;

/** Updates of which there is one in a session. */
const SINGLE = new Set(["available_commands_update", "config_option_update", "session_info_update", "usage_update"]);

/** Nothing shown yet. */
export function createShown(): Shown {
  return { entries: new Map(), size: 0, clock: 0, forgotten: new Set(), unkept: 0, gap: false, works: 0 };
}

/**
 * Takes in the params of a `session/update` that goes to the client, or would if it were there.
 *
 * @param away whether it is not
 */
export function show(shown: Shown, params: JsonObject, away: boolean): void {
  const update = asObject(params["update"]);
  const kind = asString(update["sessionUpdate"]) ?? "";
  if (kind === "state_update") return showState(shown, params, update, away);
  const key = keyOf(kind, update);
  if (key === undefined) {
    // What has no identity is told once: it cannot be told again without being told twice.
    if (away) showOnce(shown, Method.sessionUpdate, params);
    return;
  }
  const known = shown.entries.get(key);
  const isForgotten = shown.forgotten.has(key);
  const whole = CHUNKS.get(kind);
  const entry = whole === undefined ? patched(known, update) : added(known, whole, update, isForgotten);
  if (entry === undefined) {
    if (away) showOnce(shown, Method.sessionUpdate, params);
    else shown.unkept = ++shown.clock;
    return;
  }
  put(shown, key, { ...entry, method: Method.sessionUpdate, params });
}

/**
 * Keeps a notification that a client who is away is to get once.
 *
 * @param name of what it tells of, where it has one: then the last of that name is kept
 */
export function showOnce(shown: Shown, method: string, params: JsonObject, name?: string): void {
  put(shown, name ?? `once ${shown.clock}`, { method, params, size: sizeOf(params) });
}

function put(shown: Shown, key: string, entry: Omit<Entry, "changed">): void {
  shown.size += entry.size - (shown.entries.get(key)?.size ?? 0);
  shown.entries.set(key, { ...entry, changed: ++shown.clock });
}

function remove(shown: Shown, key: string): void {
  shown.size -= shown.entries.get(key)?.size ?? 0;
  shown.entries.delete(key);
}

type Content = Pick<Entry, "update" | "output" | "size">;

/** A patch: fields that are present replace those before, `_meta` key by key. A plan is replaced whole. */
function patched(known: Entry | undefined, change: JsonObject): Content {
  const before = known?.update;
  if (before === undefined || before["sessionUpdate"] !== change["sessionUpdate"])
    return withOutput(change, undefined, change);
  const meta = [before["_meta"], change["_meta"]];
  const merged = { ...before, ...change };
  if (meta.every(isObject)) merged["_meta"] = Object.assign({}, ...meta);
  return withOutput(merged, known?.output, change);
}

/** A terminal's output is kept apart, so that adding to it costs no more than what is added. */
function withOutput(update: JsonObject, output: string | undefined, change: JsonObject): Content {
  const isReplaced = change["sessionUpdate"] === "terminal_update" && change["output"] !== undefined;
  const bytes = isReplaced ? bytesOf(asObject(change["output"])["data"]) : output;
  const rest = isReplaced ? without(update, "output") : update;
  return { update: rest, output: bytes, size: sizeOf(rest) + (bytes?.length ?? 0) };
}

/** What a chunk makes of the thing it adds to, which is told by `kind`; undefined when the beginning is forgotten. */
function added(known: Entry | undefined, kind: string, chunk: JsonObject, isForgotten: boolean): Content | undefined {
  const { id = "", content: field = "" } = UPSERTS.get(kind) ?? {};
  const before = known?.update ?? {
    sessionUpdate: kind,
    [id]: chunk[id],
    ...(kind === "compaction_update" && { status: "in_progress" }),
  };
  const size = known?.size ?? sizeOf(before);
  if (field === "output") {
    if (known?.output === undefined && isForgotten) return undefined;
    const bytes = bytesOf(chunk["data"]);
    return { update: before, output: (known?.output ?? "") + bytes, size: size + bytes.length };
  }
  if (before[field] === undefined && isForgotten) return undefined;
  const content = asArray(before[field]).filter(isObject);
  const block = asObject(chunk["content"]);
  appendBlock(content, block);
  const meta = isObject(chunk["_meta"]) ? { _meta: { ...asObject(before["_meta"]), ...chunk["_meta"] } } : undefined;
  const { text } = block;
  return {
    update: { ...before, ...meta, [field]: content },
    size: size + (typeof text === "string" ? text.length : sizeOf(block)),
  };
}

/**
 * A state is told where it was reached. Of the states of one stretch of work the last counts; how earlier work ended is
 * kept only when the client was away, for otherwise it knows or will know by what followed.
 */
function showState(shown: Shown, params: JsonObject, update: JsonObject, away: boolean): void {
  const last = stateOf(shown);
  const key = () => `state ${shown.works}`;
  if (last?.update?.["state"] === "idle" && update["state"] !== "idle") {
    if (last.missed) delete last.update;
    else remove(shown, key());
    shown.works++;
  }
  remove(shown, key());
  put(shown, key(), { method: Method.sessionUpdate, params, update, size: sizeOf(update), missed: away });
}

function stateOf(shown: Shown): Entry | undefined {
  return shown.entries.get(`state ${shown.works}`);
}

function keyOf(kind: string, update: JsonObject): string | undefined {
  const patches = CHUNKS.get(kind) ?? kind;
  const id = UPSERTS.get(patches)?.id;
  if (id !== undefined) return `${patches} ${update[id]}`;
  if (kind === "plan_update") return `plan ${asObject(update["plan"])["planId"]}`;
  if (kind === "plan_removed") return `plan ${update["planId"]}`;
  return SINGLE.has(kind) ? kind : undefined;
}

/** The bytes of base64 text, one a character; none of them when it is no base64. */
function bytesOf(data: unknown): string {
  try {
    return atob(asString(data) ?? "");
  } catch {
    return "";
  }
}

/** The length of a value as JSON; 0 when it nests too deeply to be written, and so will never be sent. */
function sizeOf(value: unknown): number {
  try {
    return JSON.stringify(value).length;
  } catch {
    return 0;
  }
}

/**
 * Forgets what has not changed for longest, until no more than `limit` is kept.
 *
 * @param away whether the client is
 */
export function trim(shown: Shown, limit: number, away = false): void {
  if (shown.size <= limit) return;
  const oldestFirst = [...shown.entries].sort(([, one], [, other]) => one.changed - other.changed);
  for (const [key] of oldestFirst) {
    if (shown.size <= limit) break;
    remove(shown, key);
    shown.forgotten.add(key);
    if (away) shown.gap = true;
  }
  for (const oldest of shown.forgotten) {
    if (shown.forgotten.size <= MOST_FORGOTTEN) break;
    shown.forgotten.delete(oldest);
  }
}

/** The connection broke: what changed last is in doubt, and as much again may come until the client is back. */
export function lose(shown: Shown, limit: number): void {
  trim(shown, limit / 2);
  const isOld = ({ changed }: Entry) => changed < shown.unkept;
  if (shown.unkept > 0 && (shown.entries.size === 0 || [...shown.entries.values()].some(isOld))) shown.gap = true;
}

/** What to tell a client that is back: in order, and apart from that the session's state. */
export interface Retold {
  frames: NotificationFrame[];
  state: NotificationFrame | undefined;
}

/**
 * Takes what is to be told a client that is back. What cannot be told twice is forgotten then.
 *
 * @param replayed the clock before the agent told the session's history, if it did: what is in that is not told again,
 *   nor are messages, which it may tell under other ids where it put them together otherwise
 */
export function takeRetold(shown: Shown, replayed: number | undefined): Retold {
  const current = stateOf(shown);
  const entries = [...shown.entries];
  const isTold = ({ update, changed }: Entry) =>
    replayed === undefined ||
    update === undefined ||
    (changed <= replayed && !MESSAGES.has(asString(update["sessionUpdate"]) ?? ""));
  const told = entries.filter(([, entry]) => entry !== current && isTold(entry));
  for (const [key, { update }] of entries) if (update === undefined) remove(shown, key);
  if (current !== undefined) current.missed = false;
  shown.gap = false;
  shown.unkept = 0;
  return { frames: told.map(([, entry]) => frameOf(entry)), state: current && frameOf(current) };
}

const MESSAGES = new Set(["user_message", "agent_message", "agent_thought", "session_message"]);

function frameOf({ method, params, update, output }: Entry): NotificationFrame {
  if (update === undefined) return notification(method, params);
  const whole = output === undefined ? update : { ...update, output: { data: btoa(output) } };
  return notification(method, { ...params, update: whole });
}
