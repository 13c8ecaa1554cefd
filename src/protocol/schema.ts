import { asArray, isObject, type JsonObject } from "./json.ts";

/** The outcome of fitting a value to a schema definition. */
export type Conformed =
  /** The value is valid, perhaps after leaving out what was not; `dropped` lists the paths left out. */
  | { ok: true; value: unknown; dropped: string[] }
  /** The value cannot be made valid; `fault` says where and what was expected, never what was found. */
  | { ok: false; fault: string };

/** Where a value is not as the schema has it. */
export interface SchemaFault {
  /** From the value inwards. */
  path: (string | number)[];
  /** What was expected there, never what was found: "is required". */
  expected: string;
}

/** One of the protocol's JSON schemas, ready to be asked. */
export interface ProtocolSchema {
  /**
   * Fits a value to the named definition of the schema. Where the schema itself says that a bad value is read as its
   * default (`x-deserialize-default-on-error`, `-skip-invalid-items`, `-default-on-null`) the bad part is left out;
   * with `lenient` any optional part and any list item that is bad is left out too. The value itself is never
   * changed; when nothing had to be left out it is returned as it is.
   *
   * @throws Error when the schema has no such definition.
   */
  conform(definition: string, value: unknown, lenient: boolean): Conformed;
  /**
   * Everything that is not as the named definition has it, also where the schema says that a reader takes a bad value for
   * its default; empty when the value is valid. Of a value that cannot be read at all, the fault found deepest inside it.
   *
   * @throws Error when the schema has no such definition.
   */
  faults(definition: string, value: unknown): SchemaFault[];
  /** Whether the schema has the definition. */
  has(definition: string): boolean;
  /** The name of the definition of a method's params, or of its result; undefined for a method the schema lacks. */
  definitionOf(side: "agent" | "client", method: string, part: "params" | "result"): string | undefined;
}

const FAULT: unique symbol = Symbol("fault");

interface Run {
  definitions: JsonObject;
  lenient: boolean;
  path: (string | number)[];
  dropped: SchemaFault[];
  /** The one found deepest. */
  fault: SchemaFault | undefined;
}

/**
 * Reads a protocol schema (JSON Schema 2020-12 as the SDK ships it, `schema/v1` or `schema/v2`).
 * Only the keywords those files use are understood.
 */
export function readSchema(document: JsonObject): ProtocolSchema {
  const definitions = isObject(document["$defs"]) ? document["$defs"] : {};
  const methods = new Map<string, string>();
  for (const [name, node] of Object.entries(definitions)) {
    if (!isObject(node) || typeof node["x-method"] !== "string") continue;
    const part = name.endsWith("Response") ? "result" : "params";
    methods.set(`${node["x-side"]} ${node["x-method"]} ${part}`, name);
  }
  function judge(definition: string, value: unknown, lenient: boolean): { fitted: unknown; run: Run } {
    const node = definitions[definition];
    if (!isObject(node)) throw new Error(`the schema defines no ${definition}`);
    const run: Run = { definitions, lenient, path: [], dropped: [], fault: undefined };
    return { fitted: conform(node, value, run), run };
  }
  return {
    conform(definition, value, lenient) {
      const { fitted, run } = judge(definition, value, lenient);
      if (fitted === FAULT) return { ok: false, fault: run.fault ? faultText(run.fault) : `not a ${definition}` };
      return { ok: true, value: fitted, dropped: run.dropped.map(({ path }) => path.join(".")) };
    },
    faults(definition, value) {
      const { fitted, run } = judge(definition, value, false);
      if (fitted === FAULT) return [run.fault ?? { path: [], expected: `is no ${definition}` }];
      return run.dropped;
    },
    has: (definition) => isObject(definitions[definition]),
    definitionOf: (side, method, part) => methods.get(`${side} ${method} ${part}`),
  };
}

function conform(node: JsonObject, value: unknown, run: Run): unknown {
  if (typeof node["$ref"] === "string") {
    const target = run.definitions[node["$ref"].slice("#/$defs/".length)];
    return isObject(target) ? conform(target, value, run) : value;
  }
  // A failed const is how a union's other variants drop out: nothing worth reporting.
  if ("const" in node && node["const"] !== value) return FAULT;
  if (Array.isArray(node["enum"]) && !node["enum"].includes(value))
    return fault(run, "must be one of the defined values");
  if (node["type"] !== undefined && !hasType(node, value)) return fault(run, describeType(node["type"]));
  const minLength = node["minLength"];
  if (typeof value === "string" && typeof minLength === "number" && value.length < minLength)
    return fault(run, "must not be empty");
  if (isObject(node["not"]) && accepts(node["not"], value, run)) return FAULT;

  let fitted = value;
  if (isObject(fitted)) fitted = conformProperties(node, fitted, run);
  else if (Array.isArray(fitted)) fitted = conformItems(node, fitted, run);
  for (const part of asArray(node["allOf"])) {
    if (fitted === FAULT) return FAULT;
    if (isObject(part)) fitted = conform(part, fitted, run);
  }
  const variants = node["anyOf"] ?? node["oneOf"];
  if (fitted !== FAULT && Array.isArray(variants)) fitted = conformVariants(variants, fitted, run);
  if (fitted !== FAULT && Array.isArray(node["oneOf"]) && !isJustOne(node["oneOf"], fitted, run))
    return fault(run, "must be just one of the defined forms");
  return fitted;
}

function conformProperties(node: JsonObject, object: JsonObject, run: Run): unknown {
  const properties = isObject(node["properties"]) ? node["properties"] : {};
  const required = asArray(node["required"]);
  let fitted = object;
  for (const key of required) {
    if (typeof key === "string" && !Object.hasOwn(object, key)) {
      run.path.push(key);
      const outcome = fault(run, "is required");
      run.path.pop();
      return outcome;
    }
  }
  for (const key of Object.keys(object)) {
    const property = Object.hasOwn(properties, key) ? properties[key] : node["additionalProperties"];
    if (!isObject(property)) continue;
    run.path.push(key);
    const before = object[key];
    const after = conform(property, before, run);
    if (after === FAULT) {
      const droppable = !required.includes(key) && (run.lenient || mayDefault(property, before));
      if (droppable) run.dropped.push(dropping(run));
      run.path.pop();
      if (!droppable) return FAULT;
      if (fitted === object) fitted = { ...object };
      delete fitted[key];
      continue;
    }
    run.path.pop();
    if (after !== before) {
      if (fitted === object) fitted = { ...object };
      fitted[key] = after;
    }
  }
  return fitted;
}

function conformItems(node: JsonObject, list: unknown[], run: Run): unknown {
  const items = node["items"];
  let fitted = list;
  if (isObject(items)) {
    const skip = run.lenient || node["x-deserialize-skip-invalid-items"] === true;
    for (let index = 0; index < list.length; index++) {
      run.path.push(index);
      const after = conform(items, list[index], run);
      if (after === FAULT) {
        if (skip) run.dropped.push(dropping(run));
        run.path.pop();
        if (!skip) return FAULT;
        if (fitted === list) fitted = list.slice(0, index);
        continue;
      }
      run.path.pop();
      if (fitted !== list) fitted.push(after);
      else if (after !== list[index]) fitted = [...list.slice(0, index), after];
    }
  }
  const minItems = node["minItems"];
  if (typeof minItems === "number" && fitted.length < minItems)
    return fault(run, `must hold at least ${minItems} item`);
  return fitted;
}

function conformVariants(variants: unknown[], value: unknown, run: Run): unknown {
  let best: { value: unknown; dropped: SchemaFault[] } | undefined;
  const dropped = run.dropped;
  for (const variant of variants) {
    if (!isObject(variant)) continue;
    run.dropped = [];
    const fitted = conform(variant, value, run);
    if (fitted !== FAULT && (best === undefined || run.dropped.length < best.dropped.length)) {
      best = { value: fitted, dropped: run.dropped };
      if (best.dropped.length === 0) break;
    }
  }
  run.dropped = dropped;
  if (best === undefined) return fault(run, "must be one of the defined forms");
  if (best.dropped.length > 0) dropped.push(...best.dropped);
  return best.value;
}

function isJustOne(variants: unknown[], value: unknown, run: Run): boolean {
  return variants.filter((variant) => isObject(variant) && accepts(variant, value, run)).length === 1;
}

/** Strict check without leaving anything out, for `not` and `oneOf`. */
function accepts(node: JsonObject, value: unknown, run: Run): boolean {
  const probe: Run = { definitions: run.definitions, lenient: false, path: [], dropped: [], fault: undefined };
  return conform(node, value, probe) !== FAULT && probe.dropped.length === 0;
}

function mayDefault(property: JsonObject, value: unknown): boolean {
  return (
    property["x-deserialize-default-on-error"] === true ||
    (value === null && property["x-deserialize-default-on-null"] === true)
  );
}

function hasType(node: JsonObject, value: unknown): boolean {
  const type = node["type"];
  const types = Array.isArray(type) ? type : [type];
  return types.some((name) => isOfType(name, value, node));
}

function isOfType(name: unknown, value: unknown, node: JsonObject): boolean {
  switch (name) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return Number.isInteger(value) && inRange(value as number, node);
    case "number":
      return typeof value === "number" && inRange(value, node);
    default:
      return typeof value === name;
  }
}

function inRange(value: number, node: JsonObject): boolean {
  const { minimum, maximum } = node;
  return !(typeof minimum === "number" && value < minimum) && !(typeof maximum === "number" && value > maximum);
}

function describeType(type: unknown): string {
  return `must be of type ${(Array.isArray(type) ? type : [type]).join(" or ")}`;
}

/** Keeps the fault found deepest inside the value: the most telling one. */
function fault(run: Run, expected: string): typeof FAULT {
  if (run.fault === undefined || run.path.length > run.fault.path.length) run.fault = { path: [...run.path], expected };
  return FAULT;
}

/** The part at the path, left out for the fault found in it. */
function dropping({ path, fault: found }: Run): SchemaFault {
  const isInside = found !== undefined && path.every((step, index) => found.path[index] === step);
  return { path: [...path], expected: isInside && found.path.length === path.length ? found.expected : "is invalid" };
}

function faultText({ path, expected }: SchemaFault): string {
  return `${path.length === 0 ? "the value" : path.join(".")} ${expected}`;
}
