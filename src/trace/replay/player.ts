/**
 * Plays a script against a live peer: what the peer says is found in the record, and what the record has next is due as soon
 * as the record's conditions for it are met. Synchronous and without a clock: time is handed in.
 */
import { ErrorCode, type RpcError, rpcError } from "../../protocol/errors.ts";
import { failure } from "../../protocol/frames.ts";
import { asObject, asString, isObject, type JsonObject } from "../../protocol/json.ts";
import { Method } from "../../protocol/methods.ts";
import { bytesOf } from "../bytes.ts";
import { differencesOf } from "../difference.ts";
import type { TraceRecord } from "../format.ts";
import {
  type Exit,
  type Hear,
  type Item,
  keyOf,
  type Lane,
  type Noise,
  type Run,
  type Say,
  type Script,
} from "./script.ts";

/** What is to be done. */
export type Act =
  | { type: "frame"; frame: JsonObject }
  | { type: "bytes"; bytes: Uint8Array }
  | { type: "stderr"; text: string }
  | { type: "exit"; exit: Exit };

/** Something that was not as in the record. */
export interface Finding {
  /** The record it is about; absent for what is not in the record. */
  seq?: number;
  text: string;
}

export interface Player {
  /** What the live peer said, at this time, in ms. */
  hear(value: unknown, now: number): void;
  /**
   * What is to be done by now, in order, and when there will be more, as far as that is known: at once where that was `most`
   * acts (or as many as one line holds).
   */
  due(now: number, most: number): { acts: Act[]; next: number | undefined };
  /** What the record goes on after and has not come; empty when it is over. */
  awaited(): Finding[];
  /** True when all is said and heard. */
  over(): boolean;
  /** How many frames were said, and how many of those the record waits for have come. */
  counts(): { said: number; heard: number };
  /** What was not as in the record so far. */
  readonly findings: readonly Finding[];
}

/** With how many requests in the record a live one is compared. */
const MOST_COMPARED = 1000;

/** What a lane is to say next, and when. */
interface Next {
  lane: Progress;
  item: Exclude<Item, Hear>;
  seq: number;
  mono: number;
  at: number;
}

/** How far a lane has come. */
interface Progress {
  lane: Lane;
  position: number;
  /** Of a run: how many of it are done, and the next, once it was read. */
  within: number;
  ahead: TraceRecord | undefined;
  /** When its last item was done. */
  at: number;
  /** What came before the next item in the record, for the time between them. */
  previous: number;
  open: boolean;
  /** True after a request that was left out: what the peer said about it is left out too. */
  muted: boolean;
}

/**
 * @param start time at which the peer was started, in ms
 * @param fast whether nothing is waited for but the live peer
 */
export function createPlayer(script: Script, { start, fast }: { start: number; fast: boolean }): Player {
  const { role } = script;
  const findings: Finding[] = [];
  const progress = new Map<Lane, Progress>();
  for (const lane of script.lanes.values())
    progress.set(lane, {
      lane,
      position: 0,
      within: 0,
      ahead: undefined,
      at: start,
      previous: 0,
      open: lane.opener === undefined,
      muted: false,
    });

  const index = indexOf(script);
  /** Items that are done: said or heard. */
  const done = new Set<Item>();
  /** Heard items that are not waited for any more, and said ones that were left out. */
  const left = new Set<Item>();
  /** By heard request: the id it has in the live conversation. */
  const live = new Map<Hear, unknown>();
  /** By id: our requests without an answer. */
  const asked = new Map<string, Say>();
  /** By recorded id of a session or terminal the live peer made: the one it has now, and back. */
  const liveName = new Map<string, string>();
  const recordedName = new Map<string, string>();
  const arrivedAt = new Map<Item, number>();
  const finishedAt = new Map<Item, number>();
  /** What is said out of the record's order, at once. */
  const answers: Act[] = [];
  const counts = { said: 0, heard: 0 };
  let lastAt = start;
  let lastMono = 0;
  let exited = false;

  function hear(value: unknown, now: number): void {
    if (!isObject(value)) return;
    const { method, id } = value;
    if (typeof method !== "string") return hearAnswer(value, now);
    const lane = script.lanes.get(laneName(value));
    const match = lane === undefined ? undefined : bestMatch(lane, value, "id" in value);
    if (match !== undefined) return arrive(match, value, now);
    if (!("id" in value)) return;
    const error = beyondRecord(script, method, laneName(value), done);
    findings.push({ text: `${method} came and is not in the record: answered with an error` });
    answers.push({ type: "frame", frame: { ...failure(null, error), id } });
  }

  /** The session a live frame is about, by its name in the record; of a withdrawal, that of the request. */
  function laneName(frame: JsonObject): string {
    const params = asObject(frame["params"]);
    const session = asString(params["sessionId"]);
    if (session !== undefined) return recordedName.get(session) ?? session;
    if (frame["method"] !== Method.cancelRequest) return "";
    return [...live].find(([, id]) => id === params["requestId"])?.[0].lane.session ?? "";
  }

  /** Of the same kind: the one most like it, else the first. */
  function bestMatch(lane: Lane, frame: JsonObject, isRequest: boolean): Hear | undefined {
    const kind = isRequest ? "request" : "notification";
    // A request that was passed over can still come, and a client can ask for anything at any time.
    const from = isRequest ? 0 : (progress.get(lane)?.position ?? 0);
    const to =
      role === "agent" && isRequest ? Number.POSITIVE_INFINITY : reach(lane, progress.get(lane)?.position ?? 0);
    const alike = Object.keys(asObject(frame["params"])).length;
    let best: { item: Hear; likeness: number } | undefined;
    let compared = 0;
    for (const item of index.calls.get(lane)?.get(keyOf(frame, role)) ?? []) {
      const position = index.position.get(item) ?? 0;
      if (done.has(item) || item.kind !== kind || position < from || position >= to) continue;
      const likeness = likenessOf(frameAt(item), frame, script.mark);
      if (best === undefined || likeness > best.likeness) best = { item, likeness };
      compared++;
      if (likeness === alike || compared === MOST_COMPARED) break;
    }
    return best?.item;
  }

  /** The recorded frame. */
  function frameAt({ place }: Say | Hear): JsonObject {
    return frameOf(script.read(place));
  }

  /**
   * Up to where the items of a lane can have happened by now: to the client's next request. What an agent does is known only
   * after it was asked to, and a notification is about what was asked last.
   */
  function reach({ items }: Lane, from: number): number {
    for (let at = from; at < items.length; at++) {
      const item = items[at];
      if (item === undefined || done.has(item)) continue;
      // What is said and has no answer of its own is a request.
      if (
        role === "agent"
          ? item.type === "hear" && item.kind === "request"
          : item.type === "say" && item.answers === undefined
      )
        return at;
    }
    return items.length;
  }

  function hearAnswer(value: JsonObject, now: number): void {
    const say = asked.get(String(value["id"]));
    if (say === undefined) return;
    asked.delete(String(value["id"]));
    const heard = index.heard.get(say);
    if (heard === undefined) return;
    const recorded = frameAt(heard);
    for (const name of NAMES) learn(asObject(recorded["result"])[name], asObject(value["result"])[name]);
    const [was, is] = [outcomeOf(recorded), outcomeOf(value)];
    if (was !== is)
      findings.push({ seq: heard.seq, text: `${methodOf(say)} was answered with ${was}, now with ${is}` });
    arrive(heard, value, now);
  }

  function learn(recorded: unknown, actual: unknown): void {
    if (typeof recorded !== "string" || typeof actual !== "string" || recorded === actual) return;
    liveName.set(recorded, actual);
    recordedName.set(actual, recorded);
  }

  /** A heard item has come: what stands before it in its lane is not waited for any longer. */
  function arrive(item: Hear, frame: JsonObject, now: number): void {
    if (item.kind === "request") live.set(item, frame["id"]);
    const lane = progress.get(item.lane);
    const position = index.position.get(item);
    if (lane === undefined || position === undefined) return;
    if (!lane.open) open(lane, now, item.lane.items[0]?.mono ?? 0);
    done.add(item);
    counts.heard++;
    arrivedAt.set(item, now);
    for (const before of item.lane.items.slice(lane.position, position))
      if (before.type === "hear" && !done.has(before) && isPassedOver(before, item)) left.add(before);
    // What was passed over is answered all the same.
    const answer = index.answers.get(item);
    if (answer !== undefined && left.delete(answer)) {
      done.add(answer);
      answers.push({ type: "frame", frame: said(answer) });
    }
  }

  /** An answer can always still come; a request and a state unless an answer, a request or a state shows otherwise. */
  function isPassedOver(before: Hear, item: Hear): boolean {
    if (before.kind === "answer") return false;
    const isPlain = (hear: Hear) => hear.kind === "notification" && !hear.isState;
    return isPlain(before) || !isPlain(item);
  }

  function open(lane: Progress, at: number, previous: number): void {
    Object.assign(lane, { open: true, at, previous });
  }

  function due(now: number, most: number): { acts: Act[]; next: number | undefined } {
    const acts = answers.splice(0);
    while (acts.length < most) {
      const ready = [...progress.values()].flatMap((lane) => nextOf(lane, now));
      const [first] = ready.sort((one, other) => one.at - other.at || one.seq - other.seq);
      if (first === undefined) return { acts, next: dueExit(now, acts) };
      if (first.at > now) return { acts, next: first.at };
      perform(first, acts);
    }
    return { acts, next: now };
  }

  /** The next item of a lane that is to be said, and when; nothing while it waits. */
  function nextOf(lane: Progress, now: number): Next[] {
    if (!lane.open) {
      const { opener } = lane.lane;
      if (opener === undefined || !done.has(opener)) return [];
      open(lane, finishedAt.get(opener) ?? now, opener.mono);
    }
    for (;;) {
      const item = lane.lane.items[lane.position];
      if (item === undefined) return [];
      if (item.type === "hear") {
        if (!isPast(item)) return [];
        if (item.kind === "request") missed(lane, item, !done.has(item));
        pass(lane, item, Math.max(lane.at, arrivedAt.get(item) ?? lane.at));
      } else if (isLeftOut(lane, item)) {
        for (const one of item.type === "noise" ? [item, ...item.frames] : [item]) left.add(one);
        pass(lane, item, lane.at);
      } else {
        const { seq, mono } = item.type === "run" ? stampOf(ahead(lane, item)) : item;
        return [{ lane, item, seq, mono, at: fast ? now : lane.at + Math.max(0, mono - lane.previous) }];
      }
    }
  }

  /** The next record of a run. */
  function ahead(lane: Progress, { places }: Run): TraceRecord {
    lane.ahead ??= script.read(places[lane.within] ?? 0);
    return lane.ahead;
  }

  /** An agent has nothing to say about what it was not asked; a client goes on. */
  function missed(lane: Progress, { seq, key }: Hear, isMissing: boolean): void {
    if (role === "agent") lane.muted = isMissing;
    else if (isMissing) findings.push({ seq, text: `${key} did not come` });
  }

  function isPast(item: Hear): boolean {
    return done.has(item) || left.has(item) || (item.answers !== undefined && left.has(item.answers));
  }

  function isLeftOut({ muted }: Progress, item: Exclude<Item, Hear>): boolean {
    const frames = item.type === "noise" ? item.frames : item.type === "say" ? [item] : [];
    const answered = frames.flatMap((frame) => (frame.answers === undefined ? [] : [frame.answers]));
    if (answered.length === 0) return muted;
    return answered.some((request) => !live.has(request));
  }

  function pass(lane: Progress, item: Item, at: number): void {
    lane.position++;
    finishedAt.set(item, at);
    goOn(lane, item.mono, at);
  }

  /** What was done at this time in the record was done at that one now. */
  function goOn(lane: Progress, mono: number, at: number): void {
    lane.at = at;
    lane.previous = mono;
    if (at < lastAt) return;
    lastAt = at;
    lastMono = Math.max(lastMono, mono);
  }

  function perform({ lane, item, mono, at }: Next, acts: Act[]): void {
    if (item.type === "run") {
      acts.push(actOf(ahead(lane, item)));
      lane.ahead = undefined;
      lane.within++;
      if (lane.within < item.places.length) return goOn(lane, mono, at);
      lane.within = 0;
    } else acts.push(...(item.type === "say" ? [frameAct(said(item))] : spoken(item)));
    done.add(item);
    pass(lane, item, at);
  }

  /** What the peer did by itself. */
  function actOf(record: TraceRecord): Act {
    if (record.type === "stderr") return { type: "stderr", text: record.text };
    if (record.type === "bytes") return { type: "bytes", bytes: bytesOf(record) };
    return frameAct(renamed(frameOf(record)));
  }

  function frameAct(frame: JsonObject): Act {
    counts.said++;
    return { type: "frame", frame };
  }

  /** The line as it was; its frames one by one where an id in it has to be another one. */
  function spoken({ place, frames }: Noise): Act[] {
    const now = frames.map(said);
    const isVerbatim = frames.every((frame, index) => frameAt(frame)["id"] === now[index]?.["id"]);
    return isVerbatim ? [actOf(script.read(place))] : now.map(frameAct);
  }

  function said(item: Say): JsonObject {
    const frame = renamed(frameAt(item));
    const { answers: request } = item;
    if (request !== undefined) return { ...frame, id: live.get(request) };
    if ("id" in frame) asked.set(String(frame["id"]), item);
    return frame;
  }

  /** With the live peer's names for what it makes. */
  function renamed(frame: JsonObject): JsonObject {
    return liveName.size === 0 ? frame : asObject(withNames(frame, liveName));
  }

  /** The agent ends by itself once all it had to say is said. */
  function dueExit(now: number, acts: Act[]): number | undefined {
    const { exit } = script;
    if (exit === undefined || !exit.byItself || exited || unfinished().length > 0) return undefined;
    const at = fast ? lastAt : lastAt + Math.max(0, exit.mono - lastMono);
    if (at > now) return at;
    exited = true;
    acts.push({ type: "exit", exit });
    return undefined;
  }

  function unfinished(): Progress[] {
    return [...progress.values()].filter(
      ({ lane, position, open: isOpen }) =>
        position < lane.items.length && (isOpen || lane.opener === undefined || !left.has(lane.opener)),
    );
  }

  return {
    hear,
    due,
    findings,
    over: () => unfinished().length === 0,
    counts: () => ({ ...counts }),
    awaited: () =>
      unfinished().flatMap(({ lane, position, open }) => {
        const item = open ? lane.items[position] : undefined;
        return item?.type === "hear" ? [{ seq: item.seq, text: `${nameOf(item)} did not come` }] : [];
      }),
  };

  function nameOf(item: Hear): string {
    return item.answers === undefined ? methodOf(item) : `the answer to ${methodOf(item.answers)}`;
  }

  function methodOf(item: Say | Hear): string {
    return String(frameAt(item)["method"]);
  }
}

/** What is looked up in a script, gathered once. */
function indexOf(script: Script) {
  const position = new Map<Item, number>();
  const calls = new Map<Lane, Map<string, Hear[]>>();
  const heard = new Map<Say, Hear>();
  const answers = new Map<Hear, Say>();
  for (const lane of script.lanes.values()) {
    const byKey = new Map<string, Hear[]>();
    calls.set(lane, byKey);
    for (const [at, item] of lane.items.entries()) {
      position.set(item, at);
      if (item.type === "say" && item.answers !== undefined) answers.set(item.answers, item);
      if (item.type !== "hear") continue;
      if (item.answers !== undefined) heard.set(item.answers, item);
      else {
        const alike = byKey.get(item.key) ?? [];
        alike.push(item);
        byKey.set(item.key, alike);
      }
    }
  }
  return {
    position,
    /** Requests and notifications the peer heard. */
    calls,
    /** By its request: the answer the peer heard. */
    heard,
    /** By the request it heard: the peer's answer. */
    answers,
  };
}

/** Fields whose values the live peer chooses. */
const NAMES = ["sessionId", "terminalId"];

function withNames(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => withNames(item, names));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      NAMES.includes(key) && typeof item === "string" ? (names.get(item) ?? item) : withNames(item, names),
    ]),
  );
}

function frameOf(record: TraceRecord): JsonObject {
  return asObject(record.type === "frame" ? record.frame : undefined);
}

function stampOf(record: TraceRecord): { seq: number; mono: number } {
  return record.type === "header" ? { seq: 0, mono: 0 } : record;
}

/** How much two frames' params have in common. */
function likenessOf(recorded: JsonObject, frame: JsonObject, mark: string): number {
  const [one, other] = [asObject(recorded["params"]), asObject(frame["params"])];
  const mask = mark === "" ? undefined : mark;
  return Object.keys(one).filter((key) => key in other && differencesOf(one[key], other[key], mask).length === 0)
    .length;
}

/** What an answer says, as far as two runs are expected to agree in it. */
function outcomeOf({ result, error }: JsonObject): string {
  if (error !== undefined) return `error ${String(asObject(error)["code"])}`;
  const stopReason = asString(asObject(result)["stopReason"]);
  return stopReason === undefined ? "a result" : `a result (${stopReason})`;
}

function beyondRecord(script: Script, method: string, session: string, done: ReadonlySet<Item>): RpcError {
  const lane = script.lanes.get(session);
  const all = [...script.lanes.values()].flatMap(({ items }) => items).filter(isRequest);
  const here = (lane?.items ?? []).filter(isRequest);
  const count = (requests: readonly Hear[]) => requests.filter(({ key }) => key === method).length;
  const sessions = [...script.lanes.keys()].filter((name) => name !== "");
  const where = session === "" ? "" : ` for session ${session}`;
  const why =
    count(here) > 0
      ? `the record has ${method}${where} ${count(here)}× and all are answered`
      : lane === undefined
        ? `the record has no session ${session}: it has ${sessions.join(", ") || "none"}`
        : `the record has no ${method}${where}`;
  const requests: Record<string, number> = {};
  for (const { key } of all) requests[key] = (requests[key] ?? 0) + 1;
  const code = count(all) === 0 ? ErrorCode.methodNotFound : ErrorCode.internalError;
  const left = here.filter((item) => !done.has(item)).map(({ seq, key }) => ({ seq, method: key }));
  return rpcError(code, `acp-shift trace replay: ${why}`, { run: script.run, requests, sessions, left });
}

function isRequest(item: Item): item is Hear {
  return item.type === "hear" && item.kind === "request";
}
