/** What one recorded peer said and heard, in an order by which it can be played again (docs/trace.md, "Replay"). */
import { asObject, asString, isObject, type JsonObject } from "../../protocol/json.ts";
import { Method } from "../../protocol/methods.ts";
import type { BytesRecord, FrameRecord, Header, Leg, StderrRecord, TraceRecord } from "../format.ts";

/** Whom the script is for. */
export type Role = "agent" | "client";
/** The conversation it is taken from: that between bridge and agent, or that between client and bridge. */
export type Side = "agent" | "client";

interface Common {
  seq: number;
  mono: number;
  /** Of its record, for `Script.read`. */
  place: number;
  /** The lane it stands in. */
  lane: Lane;
}

/** A request the peer said, or an answer. */
export interface Say extends Common {
  type: "say";
  /** Of an answer: the request. */
  answers?: Hear;
}

/** A line the peer wrote that holds frames among other things. */
export interface Noise extends Common {
  type: "noise";
  /** The frames in it. */
  frames: Say[];
}

/** What the peer said in a row that has no answer: notifications, lines that are no frame, the agent's stderr. */
export interface Run extends Common {
  type: "run";
  /** Of all the records; `seq`, `mono` and `place` are those of the last. */
  places: number[];
}

/** A frame the peer heard, and what it said after it may have to wait for. */
export interface Hear extends Common {
  type: "hear";
  kind: "request" | "notification" | "answer";
  /** What a live frame must be to count as this one. */
  key: string;
  /** True for a session's `state_update`. */
  isState: boolean;
  /** Of an answer: the request. */
  answers?: Say;
}

export type Item = Say | Noise | Run | Hear;

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

/**
 * A script holds no frames: what is said, and what a live frame is compared with, is read when it is needed. However long the
 * trace, what is kept of a record is its place, and a little more of requests, answers and what is waited for.
 */
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
  /** Records that the trace is missing. */
  missing: number;
  /** The record at a place. */
  read(place: number): TraceRecord;
}

/** Makes a script out of the records of a trace, given one after the other. */
export interface ScriptMaker {
  take(record: TraceRecord, place: number): void;
  /** After the last record. `read` gives the record at a place. */
  end(read: (place: number) => TraceRecord): Script;
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

/** For a role, from one side of the bridge. */
export function createScript(role: Role, side: Side): ScriptMaker {
  const legs = LEGS[role][side];
  const lanes = new Map<string, Lane>();
  /** By the number of its record. */
  const requests = new Map<number, Say | Hear>();
  const laneOfCall = new Map<string, string>();
  /** Items that open lanes: nothing is added to them. */
  const openers = new Set<Item>();
  let header: Header | undefined;
  let last: Item | undefined;
  /** The last line that is no frame. */
  let noise: Noise | undefined;
  let exit: Exit | undefined;
  let clientLeft = false;
  let truncated = 0;
  let redacted = 0;
  let missing = 0;

  function laneOf(session: string): Lane {
    const found = lanes.get(session);
    if (found !== undefined) return found;
    const lane: Lane = { session, opener: undefined, items: [] };
    lanes.set(session, lane);
    if (session !== "") openWith(lane);
    return lane;
  }

  function openWith(lane: Lane): void {
    lane.opener = last;
    if (last !== undefined) openers.add(last);
  }

  function add(item: Item): void {
    if (item.type === "hear") dropPassing(item.lane);
    item.lane.items.push(item);
    last = item;
  }

  /** Adds what is said and has no answer. */
  function addToRun({ seq, mono }: { seq: number; mono: number }, place: number, lane: Lane): void {
    const run = lane.items.at(-1);
    if (run?.type !== "run" || openers.has(run)) return add({ type: "run", seq, mono, place, lane, places: [place] });
    run.places.push(place);
    last = Object.assign(run, { seq, mono, place });
  }

  /** A notification is waited for only by what was said right after it; a state always. */
  function dropPassing({ items }: Lane): void {
    const item = items.at(-1);
    if (item?.type !== "hear" || item.kind !== "notification" || item.isState) return;
    items.pop();
    if (openers.delete(item)) for (const lane of lanes.values()) if (lane.opener === item) lane.opener = items.at(-1);
  }

  /** Where a frame belongs: to the session it names, a withdrawal to where the request was, an answer likewise. */
  function laneOfFrame(record: FrameRecord, frame: JsonObject): Lane {
    const answered = record.request === undefined ? undefined : requests.get(record.request);
    if (answered !== undefined) return answered.lane;
    const params = asObject(frame["params"]);
    const withdrawn =
      record.method === Method.cancelRequest ? laneOfCall.get(callKey(record.leg, params["requestId"])) : undefined;
    const session = asString(params["sessionId"]) ?? withdrawn ?? "";
    if (record.kind === "request") laneOfCall.set(callKey(record.leg, frame["id"]), session);
    return laneOf(session);
  }

  function frame(record: FrameRecord, place: number): void {
    if (!isObject(record.frame)) return;
    const { seq, mono, kind } = record;
    const lane = laneOfFrame(record, record.frame);
    const answered = record.request === undefined ? undefined : requests.get(record.request);
    if (record.leg === legs.heard) {
      if (kind === "invalid") return;
      const isCall = kind === "request" || kind === "notification";
      if (!isCall && answered?.type !== "say") return;
      const heard: Hear = {
        ...{ type: "hear", seq, mono, place, lane, kind: isCall ? kind : "answer" },
        ...{ key: keyOf(record.frame, role), isState: isStateUpdate(record.frame) },
        ...(answered?.type === "say" && { answers: answered }),
      };
      add(heard);
      if (kind === "request") requests.set(seq, heard);
    } else {
      if (record.redacted) redacted++;
      const said: Say = {
        type: "say",
        seq,
        mono,
        place,
        lane,
        ...(answered?.type === "hear" && { answers: answered }),
      };
      if (noise !== undefined && record.cause === noise.seq) addToNoise(noise, said);
      else if (kind === "request" || said.answers !== undefined) add(said);
      else addToRun(record, place, lane);
      if (kind === "request") requests.set(seq, said);
    }
    const opened = asString(asObject(record.frame["result"])["sessionId"]);
    if (opened !== undefined && last !== undefined) {
      const opening = laneOf(opened);
      // An answer names the session it opens, but updates may have come before it.
      if (opening.items.length === 0 && opening !== last.lane) openWith(opening);
    }
  }

  /** Written with the line it was found in, which goes where the frame belongs. */
  function addToNoise(line: Noise, said: Say): void {
    if (line.frames.length === 0 && line.lane.items.at(-1) === line) {
      line.lane.items.pop();
      if (said.lane.opener === line) said.lane.opener = line.lane.items.at(-1);
      line.lane = said.lane;
      line.lane.items.push(line);
    }
    line.frames.push(said);
  }

  /** What is no frame goes with what was said or heard last. */
  function beside(record: BytesRecord | StderrRecord, place: number): void {
    const { seq, mono } = record;
    const lane = last?.lane ?? laneOf("");
    if (record.type === "stderr") return addToRun(record, place, lane);
    if (record.truncated) {
      truncated++;
      return;
    }
    noise = { type: "noise", seq, mono, place, lane, frames: [] };
    add(noise);
  }

  /** A line in which no frame was found, as is known when something else comes, is one among what was said. */
  function settleNoise(cause: number | undefined): void {
    if (noise === undefined || noise.frames.length > 0 || cause === noise.seq) return;
    noise.lane.items.pop();
    addToRun(noise, noise.place, noise.lane);
    noise = undefined;
  }

  function take(record: TraceRecord, place: number): void {
    const isAgent = role === "agent" && side === "agent";
    if (record.type === "header") header ??= record;
    else if (record.type === "dropped") missing += record.records;
    else if (record.type === "frame" && (record.leg === legs.said || record.leg === legs.heard)) {
      settleNoise(record.cause);
      frame(record, place);
    } else if ((record.type === "bytes" && record.leg === legs.said) || (record.type === "stderr" && isAgent)) {
      settleNoise(undefined);
      beside(record, place);
    } else if (record.type === "event" && record.event === "client-left") clientLeft = true;
    else if (record.type === "event" && record.event === "agent-exit" && isAgent) {
      const { code, signal } = record.details;
      exit = {
        mono: record.mono,
        code: typeof code === "number" ? code : null,
        signal: asString(signal) ?? null,
        byItself: !clientLeft,
      };
    }
  }

  return {
    take,
    end(read) {
      settleNoise(undefined);
      for (const lane of lanes.values()) dropPassing(lane);
      const { run = "", redaction } = header ?? {};
      return { role, side, run, lanes, exit, redacted, mark: redaction?.mark ?? "", truncated, missing, read };
    },
  };
}

/** The sides of the bridge a trace has frames of; reads no further than it must. */
export async function sidesOf(records: AsyncIterable<TraceRecord>): Promise<Set<Side>> {
  const sides = new Set<Side>();
  for await (const record of records) {
    if (record.type === "frame") sides.add(record.leg.includes("agent") ? "agent" : "client");
    if (sides.size === 2) break;
  }
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

function isStateUpdate(frame: JsonObject): boolean {
  return asObject(asObject(frame["params"])["update"])["sessionUpdate"] === "state_update";
}
