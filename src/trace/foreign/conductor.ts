/** The `.jsons` events of the Rust SDK's conductor (agentclientprotocol/rust-sdk, md/trace-viewer.md). */
import { asString, isObject, type JsonObject } from "../../protocol/json.ts";
import type { Leg } from "../format.ts";
import { type Converted, type Crossing, createLosses, type Passed } from "./crossing.ts";

const CLIENT = "Client";
const AGENT = "Agent";
/** What stands between the two: a chain of one. */
const BRIDGE = "Proxy(0)";

/** @param legs the legs exported: with those of one side only, nothing stands between client and agent */
export function toConductor(passed: readonly Passed[], legs: ReadonlySet<Leg>): Converted<JsonObject[]> {
  const { left, add } = createLosses();
  const hasBoth = new Set([...legs].map((leg) => leg.includes("client"))).size === 2;
  const nameOf = (end: string | undefined, leg: Leg): string => {
    if (end === "client") return CLIENT;
    if (end === "agent") return AGENT;
    return hasBoth ? BRIDGE : leg.includes("client") ? AGENT : CLIENT;
  };
  const value = passed.flatMap((record): JsonObject[] => {
    if (record.type === "bytes" || record.kind === "invalid" || !isObject(record.frame)) {
      add("lines that are no message");
      return [];
    }
    const [from, to] = record.leg.split("-").map((end) => nameOf(end, record.leg));
    const { id, method, params, result, error } = record.frame;
    const ends = { ts: record.mono / 1000, from, to };
    if (record.kind === "result" || record.kind === "error") {
      const isError = record.kind === "error";
      return [{ type: "response", ...ends, id, is_error: isError, payload: isError ? error : result }];
    }
    const call = { protocol: "acp", method, ...(record.session !== undefined && { session: record.session }) };
    return record.kind === "request"
      ? [{ type: "request", ...ends, id, ...call, params: params ?? null }]
      : [{ type: "notification", ...ends, ...call, params: params ?? null }];
  });
  return { value, left };
}

/** True for an event of a conductor. */
export function isConductor(first: unknown): boolean {
  return (
    isObject(first) &&
    ["request", "response", "notification"].includes(String(first["type"])) &&
    typeof first["ts"] === "number" &&
    typeof first["from"] === "string" &&
    typeof first["to"] === "string"
  );
}

/**
 * What crossed at the client's end of the chain and at the agent's. What passed between two proxies, and MCP messages, which
 * are recorded without what carried them, have no place in our traces.
 */
export function fromConductor(events: readonly JsonObject[]): Converted<Crossing[]> {
  const { left, add } = createLosses();
  const passedOver = new Set<string>();
  const value = events.flatMap((event): Crossing[] => {
    const { ts, from, to, id } = event;
    if (!isConductor(event) || typeof ts !== "number") {
      add("events that are not as the format has them");
      return [];
    }
    const isResponse = event["type"] === "response";
    const request = (isResponse ? [to, from, id] : [from, to, id]).map(String).join(" ");
    if (event["protocol"] === "mcp" || (isResponse && passedOver.delete(request))) {
      if (event["type"] === "request") passedOver.add(request);
      add("MCP messages");
      return [];
    }
    const place = placeOf(from, to);
    if (place === undefined) {
      add("messages between two proxies");
      return [];
    }
    return [{ ...place, at: Math.round(ts * 1_000_000) / 1000, frame: frameOf(event) }];
  });
  return { value, left };
}

function placeOf(from: unknown, to: unknown): Pick<Crossing, "hop" | "toward"> | undefined {
  const ends = [from, to];
  if (!ends.includes(CLIENT) && !ends.includes(AGENT)) return undefined;
  const hop = !ends.includes(AGENT) ? "client" : ends.includes(CLIENT) ? "whole" : "agent";
  return { hop, toward: from === CLIENT || to === AGENT ? "agent" : "client" };
}

function frameOf({ type, id, method, params, is_error, payload }: JsonObject): JsonObject {
  if (type === "response") return { jsonrpc: "2.0", id, [is_error === true ? "error" : "result"]: payload };
  return {
    jsonrpc: "2.0",
    ...(type === "request" && { id }),
    method: asString(method) ?? "",
    ...(params !== null && params !== undefined && { params }),
  };
}
