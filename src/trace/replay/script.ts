/** What one recorded peer said and heard, in an order by which it can be played again (docs/trace.md, "Replay"). */
import { asObject, asString, isObject, type JsonObject } from "../../protocol/json.ts";
import { Method } from "../../protocol/methods.ts";
import type { BytesRecord, FrameRecord, Header, Leg, StderrRecord, TraceRecord } from "../format.ts";
import { bytesOf } from "../verify.ts";

/** Whom the script is for. */
export type Role = "agent" | "client";
/** The conversation it is taken from: that between bridge and agent, or that between client and bridge. */
export type Side = "agent" | "client";

interface Common {
  seq: number;
  mono: number;
  /** The lane it stands in. */
  lane: Lane;
}

/** A frame the peer said. */
export interface Say extends Common {
  type: "say";
  frame: JsonObject;
  /** Of an answer: the request. */
  answers?: Hear;
}

/** A line the peer wrote that is no frame, or holds some among other things. */
export interface Noise extends Common {
  type: "noise";
  bytes: Uint8Array;
  /** The frames in it. */
  frames: Say[];
}

/** A line the agent wrote on stderr. */
export interface Stderr extends Common {
  type: "stderr";
  text: string;
}

/** A frame the peer heard, and what it said after it may have to wait for. */
export interface Hear extends Common {
  type: "hear";
  kind: "request" | "notification" | "answer";
  frame: JsonObject;
  /** What a live frame must be to count as this one. */
  key: string;
  /** Of an answer: the request. */
  answers?: Say;
}

export type Item = Say | Noise | Stderr | Hear;

/**
 * The order within one session, or among all that belongs to none. Lanes go on side by side: what is said in one waits for
 * nothing in another but for the item that opened it.
 */
export interface Lane {
  /** Empty for the connection's own. */
  session: string;
  opener: Item | undefined;
  items: Item[];
}

/** How the recorded agent ended. */
export interface Exit {
  mono: number;
  code: number | null;
  signal: string | null;
  /** True when it ended before the client left. */
  byItself: boolean;
}

export interface Script {
  role: Role;
  side: Side;
  run: string;
  lanes: ReadonlyMap<string, Lane>;
  exit: Exit | undefined;
  /** How many of the peer's own frames had secrets replaced, and what stands in their place. */
  redacted: number;
  mark: string;
  /** Lines above the frame limit: only their ends are on record, so they are left out. */
  truncated: number;
}

const LEGS: Record<Role, Record<Side, { said: Leg; heard: Leg }>> = {
  agent: {
    agent: { said: "agent-bridge", heard: "bridge-agent" },
    client: { said: "bridge-client", heard: "client-bridge" },
  },
  client: {
    agent: { said: "bridge-agent", heard: "agent-bridge" },
    client: { said: "client-bridge", heard: "bridge-client" },
  },
};

/** Makes the script for a role out of the whole of a trace. */
export function scriptOf(records: readonly TraceRecord[], role: Role, side: Side): Script {
  const legs = LEGS[role][side];
  const lanes = new Map<string, Lane>();
  const items = new Map<number, Item>();
  const laneOfCall = new Map<string, string>();
  let last: Item | undefined;
  let exit: Exit | undefined;
  let clientLeft = false;
  let truncated = 0;
  let redacted = 0;

  function laneOf(session: string): Lane {
    const found = lanes.get(session);
    if (found !== undefined) return found;
    const lane: Lane = { session, opener: session === "" ? undefined : last, items: [] };
    lanes.set(session, lane);
    return lane;
  }

  function add(item: Item): void {
    items.set(item.seq, item);
    item.lane.items.push(item);
    last = item;
  }

  /** Where a frame belongs: to the session it names, a withdrawal to where the request was, an answer likewise. */
  function laneOfFrame(record: FrameRecord, frame: JsonObject): Lane {
    const answered = record.request === undefined ? undefined : items.get(record.request);
    if (answered !== undefined) return answered.lane;
    const params = asObject(frame["params"]);
    const withdrawn =
      record.method === Method.cancelRequest ? laneOfCall.get(callKey(record.leg, params["requestId"])) : undefined;
    const session = asString(params["sessionId"]) ?? withdrawn ?? "";
    if (record.kind === "request") laneOfCall.set(callKey(record.leg, frame["id"]), session);
    return laneOf(session);
  }

  function frame(record: FrameRecord): void {
    if (!isObject(record.frame)) return;
    const { seq, mono } = record;
    const lane = laneOfFrame(record, record.frame);
    const answered = record.request === undefined ? undefined : items.get(record.request);
    if (record.leg === legs.heard) {
      if (record.kind === "invalid") return;
      const kind = record.kind === "request" || record.kind === "notification" ? record.kind : "answer";
      if (kind === "answer" && answered?.type !== "say") return;
      const heard: Hear = { type: "hear", seq, mono, lane, kind, frame: record.frame, key: keyOf(record.frame, role) };
      add(answered?.type === "say" ? { ...heard, answers: answered } : heard);
    } else {
      if (record.redacted) redacted++;
      const said: Say = { type: "say", seq, mono, lane, frame: record.frame };
      if (answered?.type === "hear") said.answers = answered;
      const noise = record.cause === undefined ? undefined : items.get(record.cause);
      if (noise?.type === "noise") {
        // Written with the line it was found in, which goes where the frame belongs.
        if (noise.frames.length === 0 && noise.lane.items.at(-1) === noise) {
          noise.lane.items.pop();
          noise.lane = lane;
          lane.items.push(noise);
        }
        noise.frames.push(said);
        items.set(seq, said);
      } else add(said);
    }
    const opened = asString(asObject(record.frame["result"])["sessionId"]);
    if (opened !== undefined && last !== undefined) {
      const opening = laneOf(opened);
      // An answer names the session it opens, but updates may have come before it.
      if (opening.items.length === 0 && opening !== last.lane) opening.opener = last;
    }
  }

  /** What is no frame goes with what was said or heard last. */
  function beside(record: BytesRecord | StderrRecord): void {
    const { seq, mono } = record;
    const lane = last?.lane ?? laneOf("");
    if (record.type === "stderr") return add({ type: "stderr", seq, mono, lane, text: record.text });
    if (record.truncated) truncated++;
    else add({ type: "noise", seq, mono, lane, bytes: bytesOf(record), frames: [] });
  }

  for (const record of records) {
    if (record.type === "frame" && (record.leg === legs.said || record.leg === legs.heard)) frame(record);
    else if (record.type === "bytes" && record.leg === legs.said) beside(record);
    else if (record.type === "stderr" && role === "agent" && side === "agent") beside(record);
    else if (record.type === "event" && record.event === "client-left") clientLeft = true;
    else if (record.type === "event" && record.event === "agent-exit" && role === "agent" && side === "agent") {
      const { code, signal } = record.details;
      exit = {
        mono: record.mono,
        code: typeof code === "number" ? code : null,
        signal: asString(signal) ?? null,
        byItself: !clientLeft,
      };
    }
  }
  const all = new Map([...lanes.values()].map((lane) => [lane, lane.items]));
  for (const lane of lanes.values())
    lane.items = lane.items.filter((item, index) => counts(item, lane.items[index + 1]));
  for (const lane of lanes.values()) lane.opener = keptOpener(lane.opener, all);
  const header = records.find((record): record is Header => record.type === "header");
  const { run = "", redaction } = header ?? {};
  return { role, side, run, lanes, exit, redacted, mark: redaction?.mark ?? "", truncated };
}

/** The sides of the bridge a trace has frames of. */
export function sidesOf(records: readonly TraceRecord[]): Set<Side> {
  const sides = new Set<Side>();
  for (const record of records)
    if (record.type === "frame") sides.add(record.leg.includes("agent") ? "agent" : "client");
  return sides;
}

function callKey(leg: Leg, id: unknown): string {
  return `${leg} ${String(id)}`;
}

/**
 * What a frame is, for finding it again. Of a client's view of a session the kind of update counts, and of its states which
 * one: how many chunks a text comes in differs from run to run.
 */
export function keyOf(frame: JsonObject, role: Role): string {
  const { sessionUpdate, state } = asObject(asObject(frame["params"])["update"]);
  const kind = role === "client" && sessionUpdate !== undefined ? [sessionUpdate, state ?? ""] : [];
  return [frame["method"], ...kind].map(String).join(" ").trimEnd();
}

/** A notification is waited for only by what was said right after it; a state always. */
function counts(item: Item, next: Item | undefined): boolean {
  if (item.type !== "hear" || item.kind !== "notification") return true;
  return isState(item) || (next !== undefined && next.type !== "hear");
}

/** True for a session's `state_update`. */
export function isState({ frame }: Hear): boolean {
  return asObject(asObject(frame["params"])["update"])["sessionUpdate"] === "state_update";
}

/** The opener, or what comes before it in its lane when it is not waited for. */
function keptOpener(opener: Item | undefined, all: ReadonlyMap<Lane, readonly Item[]>): Item | undefined {
  if (opener === undefined) return undefined;
  const before = all.get(opener.lane) ?? [];
  return before.slice(0, before.indexOf(opener) + 1).findLast((item) => opener.lane.items.includes(item));
}
