import { isObject, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import type { Conformed, ProtocolSchema } from "../protocol/schema.ts";

/** Something the agent sent that its version of the protocol does not allow. */
export interface Violation {
  /** Which frame: its method and kind of update, or the method it answers. */
  frame: string;
  /** Where in it, and what was expected there; never what was found. */
  fault: string;
  count: number;
}

/** The schemas of the version the agent speaks. What only the unstable one knows is no fault. */
export interface Schemas {
  stable: ProtocolSchema;
  unstable(): ProtocolSchema;
}

/**
 * Judges one frame of the agent's, strictly.
 *
 * @param answersTo the method of the request that a response answers; undefined when nothing was asked
 */
export function judge(
  frame: JsonObject,
  answersTo: string | undefined,
  schemas: Schemas,
): { frame: string; faults: string[] } {
  const method = frame["method"];
  return typeof method === "string" ? judgeCall(frame, method, schemas) : judgeAnswer(frame, answersTo, schemas);
}

function judgeCall(frame: JsonObject, method: string, schemas: Schemas): { frame: string; faults: string[] } {
  const params = frame["params"];
  const name = callName(method, params);
  const faults: string[] = [];
  if ("result" in frame || "error" in frame) faults.push("is a call and an answer at once");
  if ("id" in frame) faults.push(...faultsOf("RequestId", frame["id"], schemas).map(() => "id is no request id"));
  if (method.startsWith("_")) return { frame: name, faults };
  const definition =
    method === Method.cancelRequest
      ? "CancelRequestNotification"
      : (schemas.stable.definitionOf("client", method, "params") ??
        schemas.unstable().definitionOf("client", method, "params"));
  if (definition === undefined) {
    if (!method.startsWith("$/")) faults.push("is no method of the protocol, and does not begin with _");
    return { frame: name, faults };
  }
  if (definition.endsWith("Request") && !("id" in frame)) faults.push("is a request and has no id");
  if (definition.endsWith("Notification") && "id" in frame) faults.push("is a notification and has an id");
  return { frame: name, faults: [...faults, ...faultsOf(definition, params ?? {}, schemas)] };
}

/** Requests to the agent are numbered, by the bridge and by the doctor alike. */
function judgeAnswer(frame: JsonObject, answersTo: string | undefined, schemas: Schemas) {
  const isError = "error" in frame;
  const name = `${answersTo ?? "an answer:"} ${isError ? "error" : "result"}`;
  const { id } = frame;
  const faults: string[] = [];
  if (isError && "result" in frame) faults.push("has both a result and an error");
  if (!("id" in frame)) faults.push("has no id");
  else if (!Number.isInteger(id) && !(isError && id === null)) faults.push("id is not the request's: that is a number");
  if (isError) return { frame: name, faults: [...faults, ...faultsOf("Error", frame["error"], schemas)] };
  if (answersTo === undefined) return { frame: name, faults: [...faults, "answers nothing that was asked"] };
  const definition = schemas.stable.definitionOf("agent", answersTo, "result");
  return {
    frame: name,
    faults: definition === undefined ? faults : [...faults, ...faultsOf(definition, frame["result"], schemas)],
  };
}

function callName(method: string, params: unknown): string {
  const update = isObject(params) ? params["update"] : undefined;
  const kind = isObject(update) ? update["sessionUpdate"] : undefined;
  return method === Method.sessionUpdate && typeof kind === "string" ? `${method} ${kind}` : method;
}

function faultsOf(definition: string, value: unknown, schemas: Schemas): string[] {
  const faults = read(schemas.stable, definition, value);
  return faults.length > 0 && read(schemas.unstable(), definition, value).length === 0 ? [] : faults;
}

function read(schema: ProtocolSchema, definition: string, value: unknown): string[] {
  let conformed: Conformed;
  try {
    conformed = schema.conform(definition, value, false);
  } catch {
    // The stable schema lacks what only the unstable one defines.
    return [`${definition} is not defined`];
  }
  // The schema says that a reader takes a bad value for absent: a fault all the same.
  const faults = conformed.ok ? conformed.dropped.map((path) => `${path} is invalid`) : [conformed.fault];
  // Which item of a list it was does not matter, and a list may have hundreds.
  return faults.map((fault) => fault.replace(/(?<=^|\.)\d+(?=\.| )/g, "*"));
}
