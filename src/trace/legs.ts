/** What a record says of a frame: its kind, and what it belongs to, as far as the frames before it tell. */
import { printExact } from "../protocol/exact.ts";
import { isObject, type JsonObject } from "../protocol/json.ts";
import type { FrameRecord, Leg } from "./format.ts";
import { createHeads } from "./heads.ts";
import { holdsSecrets } from "./secrets.ts";

/** Of how many sessions a leg remembers what it said last. */
const SESSIONS_REMEMBERED = 1000;

/** A request that has no answer yet. */
interface Asked {
  seq: number;
  method: string;
  session: string | undefined;
}

/** A leg, and what is remembered of it. */
export interface LegState {
  name: Leg;
  /** Requests on it that have no answer yet, by id; and those that are answered on it. */
  asked: Map<unknown, Asked>;
  answered: Map<unknown, Asked>;
  /** What was said last of a notification of each session. */
  notified: Map<string | undefined, Subject>;
}

/** What a record says of its frame. */
export interface Subject {
  described: Description;
  /** Whether it has to be looked at for secrets however harmless it looks. */
  suspect: boolean;
  about: Buffer;
  /** The message whose chunk was told of last. */
  message?: unknown;
  head: ReturnType<typeof createHeads>;
}

/** What is told of a frame beside its text. */
export interface Description {
  kind: FrameRecord["kind"];
  method: string | undefined;
  session: string | undefined;
  request: number | undefined;
}

/** The two legs between the bridge and one peer. */
export function newLegs(one: Leg, other: Leg): [LegState, LegState] {
  const [asked, answered] = [new Map<unknown, Asked>(), new Map<unknown, Asked>()];
  return [
    { name: one, asked, answered, notified: new Map() },
    { name: other, asked: answered, answered: asked, notified: new Map() },
  ];
}

/**
 * Reads a frame: what kind it is, and what it belongs to. A request is remembered for its answer.
 *
 * @param seq the number of its record
 */
export function describe(leg: LegState, value: unknown, seq: number): Description {
  if (!isObject(value) || value["jsonrpc"] !== "2.0") return INVALID;
  const { method, params } = value;
  if (typeof method === "string") {
    const given = isObject(params) ? params["sessionId"] : undefined;
    const session = typeof given === "string" ? given : undefined;
    if (!("id" in value)) {
      const last = leg.notified.get(session)?.described;
      return last?.method === method ? last : { kind: "notification", method, session, request: undefined };
    }
    leg.asked.set(value["id"], { seq, method, session });
    return { kind: "request", method, session, request: undefined };
  }
  const isResult = "result" in value;
  if (!isResult && !("error" in value)) return INVALID;
  const request = takeAsked(leg.answered, value["id"]);
  const named = isObject(value["result"]) ? value["result"]["sessionId"] : undefined;
  return {
    kind: isResult ? "result" : "error",
    method: request?.method,
    session: request?.session ?? (typeof named === "string" ? named : undefined),
    request: request?.seq,
  };
}

/** The request an answer is to: also where a number comes back as its text (docs/mapping.md §0, I4). */
function takeAsked(open: Map<unknown, Asked>, id: unknown): Asked | undefined {
  const key = !open.has(id) && typeof id === "string" && open.has(Number(id)) ? Number(id) : id;
  const request = open.get(key);
  open.delete(key);
  return request;
}

/** What a record says of its frame; in a stream always the same. */
export function subjectOf(leg: LegState, described: Description): Subject {
  const { kind, method, session, request } = described;
  const last = kind === "notification" ? leg.notified.get(session) : undefined;
  if (last?.described.method === method && last !== undefined) return last;
  const about = Buffer.from(members({ leg: leg.name, kind, method, session, request }));
  const subject = { described, suspect: holdsSecrets(method), about, head: createHeads() };
  if (kind !== "notification") return subject;
  if (leg.notified.size >= SESSIONS_REMEMBERED) leg.notified.clear();
  leg.notified.set(session, subject);
  return subject;
}

/** The members that are defined, as JSON text with a comma before each. */
export function members(object: JsonObject): string {
  let text = "";
  for (const [key, value] of Object.entries(object))
    if (value !== undefined) text += `,${JSON.stringify(key)}:${printExact(value)}`;
  return text;
}

/** Of what is no frame. */
export const INVALID: Description = { kind: "invalid", method: undefined, session: undefined, request: undefined };
