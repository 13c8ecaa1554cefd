// Validates values and whole JSON-RPC frames against the JSON schemas inside the protocol's SDK. Guards invariant I3
// (docs/mapping.md §0): what leaves the bridge is valid in the version its receiver speaks.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { isObject, type JsonObject } from "../../src/protocol/json.ts";

export type Version = "v1" | "v2";
/** Who receives a frame. */
export type Receiver = "client" | "agent";

interface Method {
  request?: string;
  response?: string;
  notification?: string;
}

interface Schema {
  has(definition: string): boolean;
  validate(definition: string, value: unknown): string | undefined;
  /** The definitions of a method that `side` (the one that receives it) answers. */
  method(side: string, name: string): Method | undefined;
}

const require = createRequire(import.meta.url);
const loaded = new Map<string, Schema>();

/** Error text when `value` is no valid `$defs/<definition>` of protocol version 1, else undefined. */
export function validateV1(definition: string, value: unknown): string | undefined {
  return validate("v1", definition, value);
}

/** Error text when `value` is no valid `$defs/<definition>` of protocol version 2, else undefined. */
export function validateV2(definition: string, value: unknown): string | undefined {
  return validate("v2", definition, value);
}

/**
 * Error text when the frame may not be sent to a v2 client, else undefined.
 *
 * @param requestMethodOfItsId the method of the client's request that the frame answers, when it is a response
 */
export function validateFrameToClient(frame: unknown, requestMethodOfItsId?: string): string | undefined {
  return validateFrame("v2", "client", frame, requestMethodOfItsId);
}

/**
 * Error text when the frame may not be sent to a v1 agent, else undefined.
 *
 * @param requestMethodOfItsId the method of the agent's request that the frame answers, when it is a response
 */
export function validateFrameToAgent(frame: unknown, requestMethodOfItsId?: string): string | undefined {
  return validateFrame("v1", "agent", frame, requestMethodOfItsId);
}

/** As {@link validateFrameToClient}, for either version and receiver. */
export function validateFrame(
  version: Version,
  receiver: Receiver,
  frame: unknown,
  requestMethodOfItsId?: string,
): string | undefined {
  if (!isObject(frame) || frame.jsonrpc !== "2.0") return "not a JSON-RPC 2.0 object";
  if (typeof frame.method === "string") return validateCall(version, receiver, frame, frame.method);
  const answers = Number("result" in frame) + Number("error" in frame);
  if (answers !== 1) return "neither method nor exactly one of result and error";
  if ("error" in frame) return idFault(frame, true) ?? validate(version, "Error", frame.error);
  // Version 1 lets a request have an id of null.
  if (idFault(frame, version === "v1") !== undefined) return idFault(frame, version === "v1");
  if (requestMethodOfItsId === undefined) return "a result for an id that nobody asked about";
  if (isExtension(requestMethodOfItsId)) return undefined;
  const sender = receiver === "client" ? "agent" : "client";
  const definition = methodOf(version, sender, requestMethodOfItsId)?.response;
  if (definition === undefined) return `${requestMethodOfItsId} has no result in ${version}`;
  return validate(version, definition, frame.result);
}

/** True for a method that the receiver may be called by: one in a schema of the version, stable or not, or an extension. */
export function definesMethod(version: Version, receiver: Receiver, name: string): boolean {
  return isExtension(name) || (methodOf(version, receiver, name) ?? methodOf(version, "protocol", name)) !== undefined;
}

function validateCall(version: Version, receiver: Receiver, frame: JsonObject, name: string): string | undefined {
  if ("result" in frame || "error" in frame) return "both a call and an answer";
  if ("id" in frame && idFault(frame, false) !== undefined) return idFault(frame, false);
  if (isExtension(name)) return undefined;
  const method = methodOf(version, receiver, name) ?? methodOf(version, "protocol", name);
  if (method === undefined) return `${name} is no ${version} method of the ${receiver}`;
  const definition = "id" in frame ? method.request : method.notification;
  if (definition === undefined) return `${name} is no ${"id" in frame ? "request" : "notification"} in ${version}`;
  return validate(version, definition, frame.params);
}

/** Gone from the v1 schema, still served by many v1 agents (docs/mapping.md §8). */
const RETIRED_METHODS = ["session/set_model"];

function isExtension(method: string): boolean {
  return method.startsWith("_") || RETIRED_METHODS.includes(method);
}

function idFault(frame: JsonObject, nullable: boolean): string | undefined {
  if (typeof frame.id === "string" || Number.isInteger(frame.id) || (nullable && frame.id === null)) return undefined;
  return "id is neither a string nor an integer";
}

/** The stable schema where it has the definition, else the unstable one. */
function validate(version: Version, definition: string, value: unknown): string | undefined {
  const stable = schema(`${version}/schema.json`);
  if (stable.has(definition)) return stable.validate(definition, value);
  return schema(`${version}/schema.unstable.json`).validate(definition, value);
}

function methodOf(version: Version, side: string, name: string): Method | undefined {
  return (
    schema(`${version}/schema.json`).method(side, name) ?? schema(`${version}/schema.unstable.json`).method(side, name)
  );
}

function schema(file: string): Schema {
  const known = loaded.get(file);
  if (known !== undefined) return known;
  const made = readSchema(file);
  loaded.set(file, made);
  return made;
}

function readSchema(file: string): Schema {
  // The SDK's package.json exports the schemas' folder under `schema`.
  const document: unknown = JSON.parse(
    readFileSync(require.resolve(`@agentclientprotocol/sdk/schema/${file}`), "utf8"),
  );
  if (!isObject(document) || !isObject(document.$defs)) throw new Error(`${file} is no JSON schema with $defs`);
  const definitions = document.$defs;
  // The schemas are the SDK's and known good; compiling them is most of the time a test takes.
  const quick = { validateSchema: false, inlineRefs: false, code: { optimize: false } };
  const ajv = new Ajv2020({ strict: false, validateFormats: false, ...quick });
  ajv.addSchema(document, file);
  const validators = new Map<string, ValidateFunction>();
  const methods = methodsOf(definitions);
  return {
    has: (definition) => definition in definitions,
    method: (side, name) => methods.get(`${side} ${name}`),
    validate(definition, value) {
      if (!(definition in definitions)) throw new Error(`${file} defines no ${definition}`);
      const validator = validators.get(definition) ?? ajv.compile({ $ref: `${file}#/$defs/${definition}` });
      validators.set(definition, validator);
      return validator(value) ? undefined : `${definition}: ${ajv.errorsText(validator.errors)}`;
    },
  };
}

function methodsOf(definitions: JsonObject): Map<string, Method> {
  const methods = new Map<string, Method>();
  for (const [definition, body] of Object.entries(definitions)) {
    if (!isObject(body) || typeof body["x-method"] !== "string" || typeof body["x-side"] !== "string") continue;
    const key = `${body["x-side"]} ${body["x-method"]}`;
    const method = methods.get(key) ?? {};
    if (definition.endsWith("Request")) method.request = definition;
    else if (definition.endsWith("Response")) method.response = definition;
    else method.notification = definition;
    methods.set(key, method);
  }
  return methods;
}
