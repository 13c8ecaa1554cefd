/** A JSON object whose fields are not yet known: what a peer sent, before it is narrowed. */
export type JsonObject = { [key: string]: unknown };

/** True for a JSON object: not null, not an array, not a scalar. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value when it is a JSON object, else an empty one: for reading optional parts of a peer's frame. */
export function asObject(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** The value when it is an array, else an empty one. */
export function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value when it is a string, else undefined. */
export function asString(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A copy of the object without the named keys. */
export function without(object: JsonObject, ...keys: string[]): JsonObject {
  const copy = { ...object };
  for (const key of keys) delete copy[key];
  return copy;
}

/** A copy of the object without the fields that are null or undefined. */
export function withoutNulls(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null && value !== undefined));
}

/** How deep a value may nest and still be written anywhere: what can be read may nest too deeply for `JSON.stringify`. */
const DEEPEST = 1000;

/** True for a JSON value that nests no deeper than what can be written. */
export function isWritable(value: unknown, left = DEEPEST): boolean {
  if (typeof value !== "object" || value === null) return true;
  return left > 0 && Object.values(value).every((inner) => isWritable(inner, left - 1));
}
