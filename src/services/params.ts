import { isAbsolute } from "node:path";
import { invalidParams } from "../protocol/errors.ts";
import { isObject, type JsonObject } from "../protocol/json.ts";

// Reads the params of requests. A fault says which field is wrong and what was expected, never what was found.

/** A required string that the system can take: it has no NUL in it. */
export function textParam(params: JsonObject, name: string): string {
  return systemText(params[name], name);
}

/** A required absolute path, in the syntax of this platform. */
export function pathParam(params: JsonObject, name: string): string {
  const path = textParam(params, name);
  if (!isAbsolute(path)) throw invalidParams(`${name} must be an absolute path`);
  return path;
}

/** An unsigned integer, or undefined when it is left out or null. */
export function countParam(params: JsonObject, name: string): number | undefined {
  const value = params[name] ?? undefined;
  if (value === undefined || (typeof value === "number" && Number.isInteger(value) && value >= 0)) return value;
  throw invalidParams(`${name} must be an unsigned integer`);
}

/** A list of strings; empty when it is left out or null. */
export function textsParam(params: JsonObject, name: string): string[] {
  return listParam(params, name).map((item, index) => systemText(item, `${name}[${index}]`));
}

/** Environment variables (schema v1 `EnvVariable`); empty when they are left out or null. */
export function variablesParam(params: JsonObject, name: string): Record<string, string> {
  const variables = listParam(params, name).map((item, index) => {
    if (!isObject(item)) throw invalidParams(`${name}[${index}] must be an object`);
    return [
      systemText(item["name"], `${name}[${index}].name`),
      systemText(item["value"], `${name}[${index}].value`),
    ] as const;
  });
  return Object.fromEntries(variables);
}

function listParam(params: JsonObject, name: string): unknown[] {
  const value = params[name] ?? [];
  if (!Array.isArray(value)) throw invalidParams(`${name} must be a list`);
  return value;
}

function systemText(value: unknown, name: string): string {
  if (typeof value !== "string") throw invalidParams(`${name} must be a string`);
  if (value.includes("\0")) throw invalidParams(`${name} must not contain NUL`);
  return value;
}
