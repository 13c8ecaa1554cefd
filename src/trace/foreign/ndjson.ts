/** Bare messages, one a line, as they are on the wire: without direction and time. */
import type { Side } from "../../bridge/events.ts";
import { asObject, asString, isObject, type JsonObject } from "../../protocol/json.ts";
import { Method } from "../../protocol/methods.ts";
import { type Converted, type Crossing, createLosses, kindOf, type Passed } from "./crossing.ts";

export function toNdjson(passed: readonly Passed[]): Converted<JsonObject[]> {
  const { left, add } = createLosses();
  const value = passed.flatMap((record): JsonObject[] => {
    if (record.type === "frame" && isObject(record.frame)) return [record.frame];
    add("lines that are no message");
    return [];
  });
  return { value, left };
}

/** True for a message. */
export function isNdjson(first: unknown): boolean {
  return kindOf(first) !== "invalid";
}

/**
 * Guesses for each message which way it went: a call by who has its method, a withdrawal by whose request it names, an answer
 * by the request open last under its id.
 *
 * @param sideOf who is called by a method, where that is known
 */
export function fromNdjson(
  frames: readonly JsonObject[],
  sideOf: (method: string) => Side | undefined,
): Converted<Crossing[]> {
  const { left, add } = createLosses();
  const open: { id: string; toward: Side }[] = [];
  const value = frames.flatMap((frame): Crossing[] => {
    const kind = kindOf(frame);
    if (kind === "invalid") {
      add("lines that are no message");
      return [];
    }
    const isCall = kind === "request" || kind === "notification";
    const toward = isCall ? directionOf(frame) : answerTo(frame);
    if (kind === "request") open.push({ id: String(frame["id"]), toward });
    return [{ hop: "whole", toward, at: 0, frame }];
  });

  /** Of methods nobody knows, agents tell and clients ask. */
  function directionOf(frame: JsonObject): Side {
    const method = asString(frame["method"]) ?? "";
    const known = method === Method.cancelRequest ? withdrawnFrom(frame) : sideOf(method);
    return known ?? ("id" in frame ? "agent" : "client");
  }

  function withdrawnFrom({ params }: JsonObject): Side | undefined {
    const withdrawn = String(asObject(params)["requestId"]);
    return open.findLast(({ id }) => id === withdrawn)?.toward;
  }

  function answerTo({ id }: JsonObject): Side {
    const index = open.findLastIndex((request) => request.id === String(id));
    const [request] = index < 0 ? [] : open.splice(index, 1);
    return request?.toward === "client" ? "agent" : "client";
  }

  return { value, left };
}
