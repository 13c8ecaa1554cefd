/** `acp-shift trace check`: who broke which rule of the protocol, and where. */
import type { BytesRecord, FrameRecord, Leg, TraceRecord } from "../format.ts";
import { nameOf } from "../summary.ts";
import {
  breakConnection,
  type Connection,
  createConnection,
  type Role,
  said,
  take,
  type Version,
} from "./connection.ts";
import { frameRules, type Schemas } from "./frame-rules.ts";
import type { Ending, Fault, Level, Rule } from "./rule.ts";
import { setupRules } from "./setup-rules.ts";
import { turnRules } from "./turn-rules.ts";

export type Side = "client" | "agent" | "bridge";

/** A rule that was broken, everywhere it was broken in the same way. */
export interface Finding {
  rule: string;
  level: Level;
  /** Who broke it. */
  by: Side;
  leg: Leg;
  /** The method, or kind of update, of the frame. */
  frame: string;
  /** JSON pointer into the frame where it was broken first; "" for the frame as a whole. */
  at: string;
  /** What is the matter there. */
  text: string;
  /** The numbers of the records, in order. */
  seqs: number[];
  /** The rule in one sentence, and where the protocol says so. */
  says: string;
  page: string;
}

export interface Checked {
  frames: number;
  /** The version spoken on each side of the bridge; null when no `initialize` was answered. */
  versions: { client: Version | null; agent: Version | null };
  /** What could not be judged for certain, because records are missing. */
  incomplete: boolean;
  findings: Finding[];
}

export interface Checker {
  /** Takes the next record of a run. */
  take(record: TraceRecord): void;
  /** What was found, after the last record. */
  result(): Checked;
}

/** Bytes on a leg that were no frame. */
const NO_FRAME: Rule = {
  name: "no-frame",
  says: "Every line is one JSON-RPC message",
  page: "v1 transports, v2 transports: stdio",
  level: "must",
};

/** Every rule there is, in the order of docs/trace.md. */
export function allRules(schemasOf: (version: Version) => Schemas): Rule[] {
  return [NO_FRAME, ...frameRules(schemasOf), ...setupRules, ...turnRules];
}

interface Broken {
  rule: Rule;
  fault: Fault;
  by: Side;
  record: { seq: number; leg: Leg; cause?: number; name: string };
}

/** The two connections, and who plays which role on each leg. */
const LEGS: Record<Leg, { connection: "client" | "agent"; from: Role; by: Side }> = {
  "client-bridge": { connection: "client", from: "client", by: "client" },
  "bridge-client": { connection: "client", from: "agent", by: "bridge" },
  "bridge-agent": { connection: "agent", from: "client", by: "bridge" },
  "agent-bridge": { connection: "agent", from: "agent", by: "agent" },
};

/** Checks the records of a run, given one by one. */
export function createChecker(schemasOf: (version: Version) => Schemas): Checker {
  const rules = allRules(schemasOf);
  const connections = { client: createConnection(), agent: createConnection() };
  const broken: Broken[] = [];
  /** Requests that were passed on to the other peer. */
  const passedOn = new Set<number>();
  const ending: Ending = { complete: false, clientLeft: undefined, agentExited: false };
  let frames = 0;
  let last = 0;
  let incomplete = false;

  function hear(record: FrameRecord): void {
    frames++;
    const { connection: name, from, by } = LEGS[record.leg];
    const connection = connections[name];
    if (record.kind === "request" && record.cause !== undefined && by === "bridge") passedOn.add(record.cause);
    const heard = said(connection, record, from);
    for (const rule of rules) {
      if (rule.check === undefined || !applies(rule, connection, from)) continue;
      for (const fault of rule.check(heard, connection))
        broken.push({ rule, fault: softened(rule, fault), by, record: placeOf(record, frameName(record)) });
    }
    take(connection, heard);
  }

  /** After a gap nothing that depends on what came before is certain. */
  function softened(rule: Rule, fault: Fault): Fault {
    return incomplete && !FRAME_RULES.has(rule.name) ? { ...fault, level: "should" } : fault;
  }

  function end(): void {
    for (const leg of Object.keys(LEGS) as Leg[]) {
      const { connection: name, from, by } = LEGS[leg];
      const connection = connections[name];
      // Nobody is owed anything by a peer that is gone.
      if (name === "agent" && from === "client" && ending.agentExited) continue;
      for (const rule of rules) {
        if (!applies(rule, connection, from)) continue;
        for (const fault of rule.atEnd?.(connection, from, ending) ?? []) {
          if (fault.record === undefined) continue;
          broken.push({
            rule,
            fault: softened(rule, fault),
            by,
            record: placeOf(fault.record, frameName(fault.record)),
          });
        }
      }
    }
  }

  return {
    take(record) {
      if (record.type === "header") return;
      if (record.type === "dropped" || record.seq !== last + 1) incomplete = true;
      last = record.seq;
      if (record.type === "frame") hear(record);
      else if (record.type === "bytes" && record.truncated !== true)
        broken.push({
          rule: NO_FRAME,
          fault: { text: "is no frame" },
          by: LEGS[record.leg].by,
          record: placeOf(record, "bytes"),
        });
      else if (record.type === "end") ending.complete = true;
      else if (record.type === "event" && record.event === "client-left") ending.clientLeft ??= record.mono;
      else if (record.type === "event" && record.event === "client-lost") breakConnection(connections.client);
      else if (record.type === "event" && record.event === "agent-exit") ending.agentExited = true;
      else if (record.type === "event" && record.event === "agent-restarted") {
        connections.agent = createConnection();
        ending.agentExited = false;
      }
    },
    result() {
      end();
      const isPassThrough = connections.client.version === connections.agent.version;
      return {
        frames,
        versions: { client: connections.client.version ?? null, agent: connections.agent.version ?? null },
        incomplete,
        findings: gathered(withoutAnothers(broken, passedOn, isPassThrough, ending)),
      };
    },
  };
}

const FRAME_RULES = new Set([
  "no-frame",
  "envelope",
  "id",
  "method",
  "request-or-notification",
  "schema",
  "absolute-path",
]);

function applies({ version, by }: Rule, connection: Connection, from: Role): boolean {
  return (version === undefined || version === connection.version) && (by === undefined || by === from);
}

/**
 * Without what the bridge only passed on, which is not the bridge's: where it translates, an order that was broken before
 * it, or an answer it waited for until the client left; where it passes through, everything that came in or should have
 * come back.
 */
function withoutAnothers(
  all: readonly Broken[],
  passedOn: ReadonlySet<number>,
  isPassThrough: boolean,
  { clientLeft }: Ending,
): Broken[] {
  const key = (rule: Rule, seq: number | undefined) => `${rule.name} ${seq}`;
  const others = all.filter(({ by }) => by !== "bridge");
  const broken = new Set(others.map(({ rule, record }) => key(rule, record.seq)));
  const awaited = new Set(others.map(({ rule, record }) => key(rule, record.cause)));
  return all.filter(({ by, rule, record }) => {
    if (by !== "bridge") return true;
    if (isPassThrough && (record.cause !== undefined || passedOn.has(record.seq))) return false;
    if (rule.name === "unanswered" && clientLeft !== undefined && awaited.has(key(rule, record.seq))) return false;
    return FRAME_RULES.has(rule.name) || !broken.has(key(rule, record.cause));
  });
}

/** What is kept of a record: traces are longer than memory. */
function placeOf({ seq, leg, cause }: FrameRecord | BytesRecord, name: string): Broken["record"] {
  return { seq, leg, ...(cause !== undefined && { cause }), name };
}

/** A frame's name for a person: its method or kind of update, and whether it is an answer. */
function frameName(record: FrameRecord): string {
  const isAnswer = record.kind === "result" || record.kind === "error";
  return isAnswer ? `${record.method ?? "unknown request"} ${record.kind}` : nameOf(record);
}

function gathered(broken: readonly Broken[]): Finding[] {
  const findings = new Map<string, Finding>();
  for (const { rule, fault, by, record } of broken) {
    const { name, says, page } = rule;
    const { at = "", text, level = rule.level } = fault;
    const key = JSON.stringify([name, level, by, record.leg, record.name, at.replace(/\/\d+(?=\/|$)/g, "/*"), text]);
    const known = findings.get(key);
    if (known === undefined)
      findings.set(key, {
        rule: name,
        level,
        by,
        leg: record.leg,
        frame: record.name,
        at,
        text,
        seqs: [record.seq],
        says,
        page,
      });
    else if (known.seqs.at(-1) !== record.seq) known.seqs.push(record.seq);
  }
  return [...findings.values()].sort((one, other) => (one.seqs[0] ?? 0) - (other.seqs[0] ?? 0));
}
