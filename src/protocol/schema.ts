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
  lenient: boolean;
  path: (string | number)[];
  dropped: SchemaFault[];
  /** The one found deepest. */
  fault: SchemaFault | undefined;
}

/** One part of the schema, ready to be asked: gives back the value, what is left of it, or FAULT. */
type Check = (value: unknown, run: Run) => unknown;

/** The check of a definition, made when it is first asked for; undefined when there is none. */
type Definitions = (name: string) => Check | undefined;

/**
 * Reads a protocol schema (JSON Schema 2020-12 as the SDK ships it, `schema/v1` or `schema/v2`).
 * Only the keywords those files use are understood.
 */
export function readSchema(document: JsonObject): ProtocolSchema {
  const nodes = isObject(document["$defs"]) ? document["$defs"] : {};
  const methods = new Map<string, string>();
  for (const [name, node] of Object.entries(nodes)) {
    if (!isObject(node) || typeof node["x-method"] !== "string") continue;
    const part = name.endsWith("Response") ? "result" : "params";
    methods.set(`${node["x-side"]} ${node["x-method"]} ${part}`, name);
  }
  const checks = new Map<string, Check>();
  function definition(name: string): Check | undefined {
    let check = checks.get(name);
    if (check !== undefined) return check;
    const node = nodes[name];
    if (!isObject(node)) return undefined;
    check = checkOf(node, definition);
    checks.set(name, check);
    return check;
  }
  function judge(name: string, value: unknown, lenient: boolean): { fitted: unknown; run: Run } {
    const check = definition(name);
    if (check === undefined) throw new Error(`the schema defines no ${name}`);
    const run: Run = { lenient, path: [], dropped: [], fault: undefined };
    return { fitted: check(value, run), run };
  }
  return {
    conform(name, value, lenient) {
      const { fitted, run } = judge(name, value, lenient);
      if (fitted === FAULT) return { ok: false, fault: run.fault ? faultText(run.fault) : `not a ${name}` };
      return { ok: true, value: fitted, dropped: run.dropped.map(({ path }) => path.join(".")) };
    },
    faults(name, value) {
      const { fitted, run } = judge(name, value, false);
      if (fitted === FAULT) return [run.fault ?? { path: [], expected: `is no ${name}` }];
      return run.dropped;
    },
    has: (name) => isObject(nodes[name]),
    definitionOf: (side, method, part) => methods.get(`${side} ${method} ${part}`),
  };
}

/** Reads a part of the schema once, so that no value that is asked about has to find its way through it again. */
function checkOf(node: JsonObject, definitions: Definitions): Check {
  if (typeof node["$ref"] === "string") return referenceCheck(node["$ref"].slice("#/$defs/".length), definitions);
  const steps: Check[] = [];
  // A failed const is how a union's other variants drop out: nothing worth reporting.
  if ("const" in node) {
    const expected = node["const"];
    steps.push((value) => (value === expected ? value : FAULT));
  }
  if (Array.isArray(node["enum"])) {
    const values = new Set(node["enum"]);
    steps.push((value, run) => (values.has(value) ? value : fault(run, "must be one of the defined values")));
  }
  if (node["type"] !== undefined) steps.push(typeCheck(node));
  const minLength = node["minLength"];
  if (typeof minLength === "number")
    steps.push((value, run) =>
      typeof value === "string" && value.length < minLength ? fault(run, "must not be empty") : value,
    );
  if (isObject(node["not"])) {
    const excluded = checkOf(node["not"], definitions);
    steps.push((value) => (accepts(excluded, value) ? FAULT : value));
  }
  if (isObject(node["properties"]) || asArray(node["required"]).length > 0 || isObject(node["additionalProperties"]))
    steps.push(propertiesCheck(node, definitions));
  if (isObject(node["items"]) || typeof node["minItems"] === "number") steps.push(itemsCheck(node, definitions));
  for (const part of asArray(node["allOf"])) if (isObject(part)) steps.push(checkOf(part, definitions));
  const variants = node["anyOf"] ?? node["oneOf"];
  if (Array.isArray(variants)) steps.push(variantsCheck(candidatesOf(variants, definitions)));
  if (Array.isArray(node["oneOf"])) steps.push(justOneCheck(candidatesOf(node["oneOf"], definitions)));
  return inTurn(steps);
}

function inTurn(steps: readonly Check[]): Check {
  const [first, second] = steps;
  if (first === undefined) return (value) => value;
  if (second === undefined) return first;
  return (value, run) => {
    let fitted = value;
    for (const step of steps) {
      fitted = step(fitted, run);
      if (fitted === FAULT) return FAULT;
    }
    return fitted;
  };
}

/** Definitions refer to themselves: each is looked up when a value first gets there. */
function referenceCheck(name: string, definitions: Definitions): Check {
  let target: Check | undefined;
  return (value, run) => {
    target ??= definitions(name) ?? inTurn([]);
    return target(value, run);
  };
}

function propertiesCheck(node: JsonObject, definitions: Definitions): Check {
  const required = asArray(node["required"]).filter((key) => typeof key === "string");
  const properties = isObject(node["properties"]) ? node["properties"] : {};
  const partOf = (key: string, property: unknown) =>
    isObject(property)
      ? {
          check: checkOf(property, definitions),
          isRequired: required.includes(key),
          defaultsOnError: property["x-deserialize-default-on-error"] === true,
          defaultsOnNull: property["x-deserialize-default-on-null"] === true,
        }
      : undefined;
  const others = node["additionalProperties"];
  const parts = new Map(
    [...required, ...Object.keys(properties)].map((key) => [
      key,
      partOf(key, Object.hasOwn(properties, key) ? properties[key] : others),
    ]),
  );
  const otherPart = partOf("", others);

  return (object, run) => {
    if (!isObject(object)) return object;
    for (const key of required) {
      if (Object.hasOwn(object, key)) continue;
      run.path.push(key);
      const outcome = fault(run, "is required");
      run.path.pop();
      return outcome;
    }
    let fitted = object;
    for (const key of Object.keys(object)) {
      const part = parts.has(key) ? parts.get(key) : otherPart;
      if (part === undefined) continue;
      const before = object[key];
      run.path.push(key);
      const after = part.check(before, run);
      const mayDefault = run.lenient || part.defaultsOnError || (before === null && part.defaultsOnNull);
      const isDropped = after === FAULT && mayDefault && !part.isRequired;
      if (isDropped) run.dropped.push(dropping(run));
      run.path.pop();
      if (after === before) continue;
      if (after === FAULT && !isDropped) return FAULT;
      if (fitted === object) fitted = { ...object };
      if (isDropped) delete fitted[key];
      else fitted[key] = after;
    }
    return fitted;
  };
}

function itemsCheck(node: JsonObject, definitions: Definitions): Check {
  const checkItem = isObject(node["items"]) ? checkOf(node["items"], definitions) : inTurn([]);
  const skips = node["x-deserialize-skip-invalid-items"] === true;
  const minItems = typeof node["minItems"] === "number" ? node["minItems"] : 0;

  return (list, run) => {
    if (!Array.isArray(list)) return list;
    let fitted = list;
    for (let index = 0; index < list.length; index++) {
      run.path.push(index);
      const after = checkItem(list[index], run);
      const isSkipped = after === FAULT && (skips || run.lenient);
      if (isSkipped) run.dropped.push(dropping(run));
      run.path.pop();
      if (after === FAULT && !isSkipped) return FAULT;
      if (fitted === list && after !== list[index]) fitted = list.slice(0, index);
      if (fitted !== list && !isSkipped) fitted.push(after);
    }
    return fitted.length < minItems ? fault(run, `must hold at least ${minItems} item`) : fitted;
  };
}

/** The variants of a union that a value may be one of, in their order. */
type Candidates = (value: unknown) => readonly Check[];

/** Most variants are told apart by the constant of one property: all but one need not even be tried. */
function candidatesOf(variants: readonly unknown[], definitions: Definitions): Candidates {
  const all = variants.filter(isObject).map((node) => ({ check: checkOf(node, definitions), mark: markOf(node) }));
  const key = all.find(({ mark }) => mark !== undefined)?.mark?.key;
  const checks = (marked: (constant: unknown) => boolean) =>
    all.filter(({ mark }) => mark?.key !== key || marked(mark?.constant)).map(({ check }) => check);
  const any = checks(() => true);
  if (key === undefined) return () => any;
  const unmarked = checks(() => false);
  const marked = new Map(all.map(({ mark }) => [mark?.constant, checks((constant) => constant === mark?.constant)]));
  return (value) => {
    if (!isObject(value) || !Object.hasOwn(value, key)) return any;
    return marked.get(value[key]) ?? unmarked;
  };
}

/** The constant without which an object is not of this variant, whatever else is in it. */
function markOf(node: JsonObject): { key: string; constant: unknown } | undefined {
  const { type, required, properties, additionalProperties } = node;
  if (type !== "object" || "const" in node || "enum" in node || isObject(additionalProperties)) return undefined;
  const [[key, property] = [], ...others] = Object.entries(isObject(properties) ? properties : {});
  if (key === undefined || !isObject(property) || !("const" in property) || others.length > 0) return undefined;
  const isRequired = Array.isArray(required) && required.length === 1 && required[0] === key;
  return isRequired ? { key, constant: property["const"] } : undefined;
}

/** The best of the variants: the first that leaves nothing out, else the first of those that leave out least. */
function variantsCheck(candidates: Candidates): Check {
  return (value, run) => {
    const dropped = run.dropped;
    let best: { value: unknown; dropped: SchemaFault[] } | undefined;
    for (const check of candidates(value)) {
      run.dropped = [];
      const fitted = check(value, run);
      if (fitted === FAULT || (best !== undefined && run.dropped.length >= best.dropped.length)) continue;
      best = { value: fitted, dropped: run.dropped };
      if (best.dropped.length === 0) break;
    }
    run.dropped = dropped;
    if (best === undefined) return fault(run, "must be one of the defined forms");
    dropped.push(...best.dropped);
    return best.value;
  };
}

function justOneCheck(candidates: Candidates): Check {
  return (value, run) => {
    const accepting = candidates(value).filter((check) => accepts(check, value));
    return accepting.length === 1 ? value : fault(run, "must be just one of the defined forms");
  };
}

/** Strict check without leaving anything out, for `not` and `oneOf`. */
function accepts(check: Check, value: unknown): boolean {
  const probe: Run = { lenient: false, path: [], dropped: [], fault: undefined };
  return check(value, probe) !== FAULT && probe.dropped.length === 0;
}

function typeCheck(node: JsonObject): Check {
  const types = Array.isArray(node["type"]) ? node["type"] : [node["type"]];
  const tests = types.map((type) => typeTest(type, node));
  const [only = () => false, ...others] = tests;
  const isOfType = others.length === 0 ? only : (value: unknown) => tests.some((test) => test(value));
  const expected = `must be of type ${types.join(" or ")}`;
  return (value, run) => (isOfType(value) ? value : fault(run, expected));
}

function typeTest(type: unknown, { minimum, maximum }: JsonObject): (value: unknown) => boolean {
  const least = typeof minimum === "number" ? minimum : Number.NEGATIVE_INFINITY;
  const most = typeof maximum === "number" ? maximum : Number.POSITIVE_INFINITY;
  switch (type) {
    case "null":
      return (value) => value === null;
    case "array":
      return Array.isArray;
    case "object":
      return isObject;
    case "integer":
      return (value) => typeof value === "number" && Number.isInteger(value) && value >= least && value <= most;
    case "number":
      return (value) => typeof value === "number" && value >= least && value <= most;
    default:
      return (value) => typeof value === type;
  }
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
