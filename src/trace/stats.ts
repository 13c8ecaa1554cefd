/** `acp-shift trace stats`: how much was said, and how long it took. All times are in ms. */
import { asArray, asObject, asString } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import type { FrameRecord, Header, Leg, TraceRecord } from "./format.ts";
import { isIncoming, remember, updateKind } from "./summary.ts";

/** The spread of some times; null without any. */
export interface Spread {
  count: number;
  p50: number | null;
  p99: number | null;
  max: number | null;
}

export interface Turn {
  session: string;
  /** The number of the client's `session/prompt`. */
  seq: number;
  /** From the prompt to the first text or thought of the agent's; null when there was none. */
  firstToken: number | null;
  /** From the prompt to the end of the turn: `idle` in version 2, the result in version 1; null when it did not end. */
  end: number | null;
  /** The stop reason, or `error` for a prompt that failed. */
  stopReason: string | null;
  toolCalls: number;
  permissions: number;
}

export interface Call {
  session: string;
  id: string;
  title: string | null;
  kind: string | null;
  status: string;
  /** From its announcement to its end; null when it did not end. */
  time: number | null;
}

export interface Permission {
  session: string;
  seq: number;
  /** The option that was chosen, `cancelled`, or `error`; null when it was not answered. */
  outcome: string | null;
  time: number | null;
}

export interface Stats {
  run: { id: string; started: string; agent: string[]; duration: number; records: number; dropped: number };
  legs: { leg: Leg; frames: number; bytes: number; noise: number }[];
  messages: { leg: Leg; kind: FrameRecord["kind"]; method: string; count: number; bytes: number }[];
  /** By method and the leg it was asked on. */
  requests: ({ leg: Leg; method: string; errors: number; unanswered: number } & Spread)[];
  /** From the moment a frame was read to the moment what became of it was sent on to the other peer. */
  added: { to: "agent" | "client"; spread: Spread }[];
  sessions: { session: string; frames: number; bytes: number; turns: number; toolCalls: number; permissions: number }[];
  turns: Turn[];
  toolCalls: Call[];
  permissions: Permission[];
}

export interface Counter {
  /** Takes the next record of a run. */
  take(record: TraceRecord): void;
  /** The figures of all records so far. */
  result(): Stats;
}

const TOKENS = ["agent_message_chunk", "agent_thought_chunk", "agent_message", "agent_thought"];
const FINAL = ["completed", "failed", "cancelled"];

/** A turn as it goes on. */
type OpenTurn = Turn & { mono: number; accepted: boolean };
type OpenCall = Call & { mono: number };
type Timed = { leg: Leg; method: string; errors: number; unanswered: number; times: number[] };

/** Counts the records of a run, given one by one. Turns, tool calls and permissions are as the client saw them. */
export function createCounter(): Counter {
  let header: Header | undefined;
  let records = 0;
  let dropped = 0;
  let duration = 0;
  const legs = new Map<Leg, Stats["legs"][number]>();
  const messages = new Map<string, Stats["messages"][number]>();
  const requests = new Map<string, Timed>();
  const open = new Map<number, { mono: number; leg: Leg; timed: Timed }>();
  /** By number, for frames that came in lately: when. What waits longer to be sent on is a request. */
  const arrived = new Map<number, { mono: number; leg: Leg }>();
  const added = { agent: [] as number[], client: [] as number[] };
  const sessions = new Map<string, { frames: number; bytes: number }>();
  const turns: OpenTurn[] = [];
  const running = new Set<OpenTurn>();
  const calls = new Map<string, OpenCall>();
  const permissions = new Map<number, Permission & { mono: number }>();
  const restoring = new Map<string, number>();

  function count(record: FrameRecord): void {
    const leg = legs.get(record.leg) ?? { leg: record.leg, frames: 0, bytes: 0, noise: 0 };
    leg.frames++;
    leg.bytes += record.bytes;
    legs.set(record.leg, leg);

    const method = updateKind(record.frame) ?? record.method ?? "";
    const key = `${record.leg} ${record.kind} ${method}`;
    const message = messages.get(key) ?? { leg: record.leg, kind: record.kind, method, count: 0, bytes: 0 };
    message.count++;
    message.bytes += record.bytes;
    messages.set(key, message);

    if (record.session === undefined) return;
    const session = sessions.get(record.session) ?? { frames: 0, bytes: 0 };
    session.frames++;
    session.bytes += record.bytes;
    sessions.set(record.session, session);
  }

  function time(record: FrameRecord): void {
    const { kind, leg, seq, mono, request, cause, method = "" } = record;
    const came = cause === undefined ? undefined : (arrived.get(cause) ?? open.get(cause));
    if (isIncoming(record)) remember(arrived, seq, { mono, leg });
    if (came?.leg === "client-bridge" && leg === "bridge-agent") added.agent.push(mono - came.mono);
    if (came?.leg === "agent-bridge" && leg === "bridge-client") added.client.push(mono - came.mono);

    if (kind === "request") {
      const key = `${leg} ${method}`;
      const timed = requests.get(key) ?? { leg, method, errors: 0, unanswered: 0, times: [] };
      timed.unanswered++;
      requests.set(key, timed);
      open.set(seq, { mono, leg, timed });
    }
    const asked = request === undefined ? undefined : open.get(request);
    if (asked === undefined || request === undefined) return;
    open.delete(request);
    asked.timed.unanswered--;
    asked.timed.times.push(mono - asked.mono);
    if (kind === "error") asked.timed.errors++;
  }

  function fromClient(record: FrameRecord): void {
    const { kind, method, session = "", seq, mono, request } = record;
    if (kind === "request" && (method === Method.sessionLoad || method === Method.sessionResume))
      restoring.set(session, seq);
    if (kind === "request" && method === Method.sessionPrompt) {
      const turn: OpenTurn = {
        session,
        seq,
        firstToken: null,
        end: null,
        stopReason: null,
        toolCalls: 0,
        permissions: 0,
        mono,
        accepted: false,
      };
      turns.push(turn);
      running.add(turn);
    }
    const asked = request === undefined ? undefined : permissions.get(request);
    if (asked === undefined) return;
    const { outcome, optionId } = asObject(asObject(asObject(record.frame)["result"])["outcome"]);
    asked.outcome = kind === "error" ? "error" : (asString(optionId) ?? asString(outcome) ?? null);
    asked.time = mono - asked.mono;
  }

  function toClient(record: FrameRecord): void {
    const { kind, method, session = "", seq, mono, request, frame } = record;
    if (request !== undefined && restoring.get(session) === request) restoring.delete(session);
    if (request !== undefined && method === Method.sessionPrompt) answered(record, request);
    if (kind === "request" && method === Method.requestPermission) {
      permissions.set(seq, { session, seq, outcome: null, time: null, mono });
      for (const turn of turnsOf(session)) turn.permissions++;
    }
    if (method !== Method.sessionUpdate || restoring.has(session)) return;
    const update = asObject(asObject(asObject(frame)["params"])["update"]);
    const kindOfUpdate = String(update["sessionUpdate"]);
    if (TOKENS.includes(kindOfUpdate)) for (const turn of turnsOf(session)) turn.firstToken ??= mono - turn.mono;
    if (kindOfUpdate === "state_update" && update["state"] === "idle")
      for (const turn of turnsOf(session)) if (turn.accepted) ended(turn, mono, asString(update["stopReason"]) ?? null);
    if (kindOfUpdate === "tool_call" || kindOfUpdate === "tool_call_update") called(session, update, mono);
  }

  function answered({ kind, frame, mono }: FrameRecord, request: number): void {
    const turn = [...running].find(({ seq }) => seq === request);
    if (turn === undefined) return;
    const { stopReason } = asObject(asObject(frame)["result"]);
    if (kind === "error") ended(turn, mono, "error");
    else if (stopReason !== undefined) ended(turn, mono, asString(stopReason) ?? null);
    else turn.accepted = true;
  }

  function ended(turn: OpenTurn, mono: number, stopReason: string | null): void {
    turn.end = mono - turn.mono;
    turn.stopReason = stopReason;
    running.delete(turn);
  }

  /** The session's turns that go on: the first that was begun, as long as none was accepted. */
  function turnsOf(session: string): OpenTurn[] {
    const own = [...running].filter((turn) => turn.session === session);
    const accepted = own.filter((turn) => turn.accepted);
    return accepted.length > 0 ? accepted : own.slice(0, 1);
  }

  function called(session: string, update: ReturnType<typeof asObject>, mono: number): void {
    const id = String(update["toolCallId"]);
    const key = `${session} ${id}`;
    let call = calls.get(key);
    if (call === undefined) {
      call = { session, id, title: null, kind: null, status: "pending", time: null, mono };
      calls.set(key, call);
      for (const turn of turnsOf(session)) turn.toolCalls++;
    }
    call.title = asString(update["title"]) ?? call.title;
    call.kind = asString(update["kind"]) ?? call.kind;
    call.status = asString(update["status"]) ?? call.status;
    if (FINAL.includes(call.status)) call.time ??= mono - call.mono;
  }

  return {
    take(record) {
      if (record.type === "header") {
        header ??= record;
        return;
      }
      records++;
      duration = record.mono;
      if (record.type === "dropped") dropped += record.records;
      if (record.type === "bytes") {
        const leg = legs.get(record.leg) ?? { leg: record.leg, frames: 0, bytes: 0, noise: 0 };
        legs.set(record.leg, { ...leg, noise: leg.noise + record.bytes });
      }
      if (record.type !== "frame") return;
      count(record);
      time(record);
      if (record.leg === "client-bridge") fromClient(record);
      if (record.leg === "bridge-client") toClient(record);
    },
    result() {
      const toolCalls = [...calls.values()];
      const asked = [...permissions.values()];
      const of = (list: readonly { session: string }[], session: string) =>
        list.filter((one) => one.session === session).length;
      return {
        run: {
          id: header?.run ?? "",
          started: header?.started ?? "",
          agent: asArray(header?.agent.command).map(String),
          duration,
          records,
          dropped,
        },
        legs: [...legs.values()],
        messages: [...messages.values()].sort((one, other) => other.count - one.count),
        requests: [...requests.values()].map(({ times, ...rest }) => ({ ...rest, ...spread(times) })),
        added: [
          { to: "agent", spread: spread(added.agent) },
          { to: "client", spread: spread(added.client) },
        ],
        sessions: [...sessions].map(([session, { frames, bytes }]) => ({
          session,
          frames,
          bytes,
          turns: of(turns, session),
          toolCalls: of(toolCalls, session),
          permissions: of(asked, session),
        })),
        turns: turns.map(({ mono: _, accepted: __, ...turn }) => rounded(turn)),
        toolCalls: toolCalls.map(({ mono: _, ...call }) => rounded(call)),
        permissions: asked.map(({ mono: _, ...permission }) => rounded(permission)),
      };
    },
  };
}

/** Percentiles by nearest rank. */
export function spread(times: readonly number[]): Spread {
  const sorted = [...times].sort((one, other) => one - other);
  const at = (part: number) => round(sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? null);
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** Times have three decimals; what is computed of them has no more. */
function round(time: number | null): number | null {
  return time === null ? null : Math.round(time * 1000) / 1000;
}

function rounded<Fields extends object>(fields: Fields): Fields {
  const entries = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === "number" ? round(value) : value,
  ]);
  return Object.fromEntries(entries) as Fields;
}
