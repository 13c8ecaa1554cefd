// Finds keys that the schema of version 2 does not know, at the root of what an agent sends (ACP-SCHEMA-002).
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { asArray, asObject, asString, isObject, type JsonObject } from "../../src/protocol/json.ts";

const require = createRequire(import.meta.url);
// The unstable schema holds all of the stable one, and what has been announced on top of it.
const document: unknown = JSON.parse(
  readFileSync(require.resolve("@agentclientprotocol/sdk/schema/v2/schema.unstable.json"), "utf8"),
);
const definitions = asObject(asObject(document)["$defs"]);

/** The unknown root keys of a call's params and of the update in them, each as `method: key`. */
export function unknownKeysOfCall(method: string, params: JsonObject): string[] {
  const definition = definitionOf("client", method, ["Request", "Notification"]);
  if (definition === undefined) return [];
  const update = params["update"];
  return [
    ...unknownKeys(definition, params).map((key) => `${method}: ${key}`),
    ...(isObject(update) ? unknownKeys("SessionUpdate", update) : []).map((key) => `${kindOf(update)}: ${key}`),
  ];
}

/** The unknown root keys of the result of a request, each as `method: key`. */
export function unknownKeysOfResult(method: string, result: JsonObject): string[] {
  const definition = definitionOf("agent", method, ["Response"]);
  return definition === undefined ? [] : unknownKeys(definition, result).map((key) => `${method} result: ${key}`);
}

const kindOf = (update: unknown) => asString(asObject(update)["sessionUpdate"]) ?? "update";

function unknownKeys(definition: string, value: JsonObject): string[] {
  const known = knownKeys(asObject(definitions[definition]), value);
  return known === "any" ? [] : Object.keys(value).filter((key) => !known.has(key));
}

/** The keys the schema has for this value; "any" when the value is a variant left open for extensions. */
function knownKeys(schema: JsonObject, value: JsonObject): Set<string> | "any" {
  const keys = new Set(Object.keys(asObject(schema["properties"])));
  const parts = [
    ...referred(schema),
    ...asArray(schema["allOf"]),
    ...[...asArray(schema["anyOf"]), ...asArray(schema["oneOf"])].filter((variant) => fits(asObject(variant), value)),
  ];
  for (const part of parts) {
    const more = knownKeys(asObject(part), value);
    if (more === "any") return "any";
    for (const key of more) keys.add(key);
  }
  return schema["title"] === "other" ? "any" : keys;
}

function referred(schema: JsonObject): unknown[] {
  const name = asString(schema["$ref"])?.slice("#/$defs/".length);
  return name === undefined ? [] : [definitions[name]];
}

/** True unless a discriminator says that the value is of another variant. */
function fits(variant: JsonObject, value: JsonObject): boolean {
  const { not } = variant;
  if (isObject(not) && asArray(not["anyOf"]).some((other) => fits(asObject(other), value))) return false;
  return Object.entries(asObject(variant["properties"])).every(
    ([key, property]) => !("const" in asObject(property)) || asObject(property)["const"] === value[key],
  );
}

function definitionOf(side: string, method: string, endings: readonly string[]): string | undefined {
  return Object.keys(definitions).find((name) => {
    const definition = asObject(definitions[name]);
    const right = definition["x-method"] === method && definition["x-side"] === side;
    return right && endings.some((ending) => name.endsWith(ending));
  });
}
