/** What other tools' traces and ours have in common: messages that crossed between a client and an agent. */
import type { Side } from "../../bridge/events.ts";
import { asObject, asString, isObject } from "../../protocol/json.ts";
import type { BytesRecord, FrameRecord, Leg, TraceRecord } from "../format.ts";

/** One message, or one line that was none. */
export interface Crossing {
  /**
   * Between client and bridge, or between bridge and agent; `whole` where nothing is between client and agent, or nothing
   * is known of it.
   */
  hop: Side | "whole";
  toward: Side;
  /** Since the trace began, in ms. */
  at: number;
  /** Exactly one of the three. */
  frame?: unknown;
  text?: string;
  bytes?: Uint8Array;
}

/** What was made of a trace in one form or the other, and what had no place in it. */
export interface Converted<Value> {
  value: Value;
  /** Messages and lines left out, by the reason. */
  left: ReadonlyMap<string, number>;
}

/** Counts what is left out. */
export function createLosses(): { left: Map<string, number>; add(reason: string): void } {
  const left = new Map<string, number>();
  return { left, add: (reason) => left.set(reason, (left.get(reason) ?? 0) + 1) };
}

/** The leg's two ends. */
export function placeOf(leg: Leg): { hop: Side; toward: Side } {
  const hop = leg.includes("client") ? "client" : "agent";
  const fromBridge = leg.startsWith("bridge");
  return { hop, toward: fromBridge === (hop === "client") ? "client" : "agent" };
}

/** A record of a leg. */
export type Passed = FrameRecord | BytesRecord;

/** The records on these legs. */
export function passedOn(records: readonly TraceRecord[], legs: ReadonlySet<Leg>): Passed[] {
  return records.filter(
    (record): record is Passed => (record.type === "frame" || record.type === "bytes") && legs.has(record.leg),
  );
}

/** What the records after the header hold of one run, from what crossed; `started` is the wall time of its beginning in ms. */
export function recordsOf(crossings: readonly Crossing[], started: number): TraceRecord[] {
  const records: TraceRecord[] = [];
  const open = new Map<string, FrameRecord>();
  let mono = 0;

  function add(leg: Leg, crossing: Crossing, cause: number | undefined): number {
    const seq = records.length + 1;
    const stamp = {
      seq,
      time: new Date(Math.floor(started + mono)).toISOString(),
      mono,
      ...(cause !== undefined && { cause }),
    };
    records.push(
      "frame" in crossing
        ? frameOf(leg, crossing.frame, stamp)
        : { type: "bytes", ...stamp, leg, ...contentOf(crossing) },
    );
    return seq;
  }

  function frameOf(leg: Leg, frame: unknown, stamp: Pick<FrameRecord, "seq" | "time" | "mono">): FrameRecord {
    const { id, method, params, result } = asObject(frame);
    const kind = kindOf(frame);
    const isAnswer = kind === "result" || kind === "error";
    const request = isAnswer ? open.get(`${ANSWERED[leg]} ${String(id)}`) : undefined;
    if (isAnswer) open.delete(`${ANSWERED[leg]} ${String(id)}`);
    const name = asString(method) ?? request?.method;
    const session =
      asString(asObject(params)["sessionId"]) ?? request?.session ?? asString(asObject(result)["sessionId"]);
    const record: FrameRecord = {
      type: "frame",
      ...stamp,
      leg,
      kind,
      ...(kind !== "invalid" && name !== undefined && { method: name }),
      ...(session !== undefined && { session }),
      ...(request !== undefined && { request: request.seq }),
      bytes: Buffer.byteLength(JSON.stringify(frame)),
      frame,
    };
    if (kind === "request") open.set(`${leg} ${String(id)}`, record);
    return record;
  }

  for (const crossing of crossings) {
    mono = Math.max(mono, crossing.at);
    const { hop, toward } = crossing;
    const [first, second] = toward === "agent" ? TO_AGENT : TO_CLIENT;
    if (hop === "client") add(toward === "agent" ? first : second, crossing, undefined);
    else if (hop === "agent") add(toward === "agent" ? second : first, crossing, undefined);
    else {
      const seq = add(first, crossing, undefined);
      // A line of the agent's that is no frame goes no further.
      if ("frame" in crossing || toward === "agent") add(second, crossing, seq);
    }
  }
  return records;
}

const TO_AGENT = ["client-bridge", "bridge-agent"] as const;
const TO_CLIENT = ["agent-bridge", "bridge-client"] as const;
/** The leg on which the request of an answer was. */
const ANSWERED: Record<Leg, Leg> = {
  "client-bridge": "bridge-client",
  "bridge-client": "client-bridge",
  "agent-bridge": "bridge-agent",
  "bridge-agent": "agent-bridge",
};

function contentOf({ text, bytes }: Crossing): { bytes: number; text: string } | { bytes: number; base64: string } {
  if (bytes === undefined) return { bytes: Buffer.byteLength(text ?? ""), text: text ?? "" };
  return { bytes: bytes.length, base64: Buffer.from(bytes).toString("base64") };
}

/** What a JSON-RPC message is; `invalid` for what is none. */
export function kindOf(frame: unknown): FrameRecord["kind"] {
  if (!isObject(frame) || frame["jsonrpc"] !== "2.0") return "invalid";
  if (typeof frame["method"] === "string") return "id" in frame ? "request" : "notification";
  if ("result" in frame) return "result";
  return "error" in frame ? "error" : "invalid";
}
