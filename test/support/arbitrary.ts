// Random values for property tests: any JSON, JSON that looks like the protocol, and valid values of a v1 definition.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import fc from "fast-check";
import { asArray, asObject, isObject, type JsonObject } from "../../src/protocol/json.ts";

const require = createRequire(import.meta.url);
const schemas = new Map<string, JsonObject>();

/** Valid `$defs/<definition>` values of the SDK's stable v1 schema. */
export function validV1(definition: string): fc.Arbitrary<unknown> {
  return arbitraryOf(definitionsOf("v1"), { $ref: `#/$defs/${definition}` }, 0);
}

/** Valid `$defs/<definition>` values of the SDK's stable v2 schema. */
export function validV2(definition: string): fc.Arbitrary<unknown> {
  return arbitraryOf(definitionsOf("v2"), { $ref: `#/$defs/${definition}` }, 0);
}

function definitionsOf(version: string): JsonObject {
  const known = schemas.get(version);
  if (known !== undefined) return known;
  const file = require.resolve(`@agentclientprotocol/sdk/schema/${version}/schema.json`);
  const definitions = asObject(asObject(JSON.parse(readFileSync(file, "utf8"))).$defs);
  schemas.set(version, definitions);
  return definitions;
}

/** Deeper than this, optional fields and list items are left out. */
const MAX_DEPTH = 8;

function arbitraryOf(definitions: JsonObject, schema: JsonObject, depth: number): fc.Arbitrary<unknown> {
  if (typeof schema.$ref === "string") {
    return arbitraryOf(definitions, asObject(definitions[schema.$ref.replace("#/$defs/", "")]), depth);
  }
  if ("const" in schema) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  const variants = asArray(schema.anyOf ?? schema.oneOf).filter(isObject);
  const parts = asArray(schema.allOf).filter(isObject);
  if (variants.length === 0 && parts.length === 0) return plain(definitions, schema, depth);
  const all = parts.map((part) => arbitraryOf(definitions, part, depth));
  // The discriminator is in the schema itself or in the variant, so these win over what they are combined with.
  if (variants.length > 0) {
    // A catch-all variant says what it is not; leaving it out keeps every value valid.
    const definite = variants.filter((variant) => variant.not === undefined);
    all.push(fc.oneof(...definite.map((variant) => arbitraryOf(definitions, variant, depth))));
  }
  if (isObject(schema.properties)) all.push(plain(definitions, schema, depth));
  return fc.tuple(...all).map((values) => (values.every(isObject) ? Object.assign({}, ...values) : values.at(-1)));
}

function plain(definitions: JsonObject, schema: JsonObject, depth: number): fc.Arbitrary<unknown> {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  return fc.oneof(...types.map((type) => ofType(definitions, schema, type, depth)));
}

function ofType(definitions: JsonObject, schema: JsonObject, type: unknown, depth: number): fc.Arbitrary<unknown> {
  switch (type) {
    case "null":
      return fc.constant(null);
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.integer({ min: Number(schema.minimum ?? 0), max: Number(schema.maximum ?? 1_000_000) });
    case "number":
      return fc.double({ noNaN: true, min: Number(schema.minimum ?? -1e6), max: Number(schema.maximum ?? 1e6) });
    case "string":
      return schema.minLength === undefined ? text : text.filter((value) => value !== "");
    case "array": {
      const minLength = Number(schema.minItems ?? 0);
      const items = isObject(schema.items) ? arbitraryOf(definitions, schema.items, depth + 1) : fc.jsonValue();
      return fc.array(items, { minLength, maxLength: depth > MAX_DEPTH ? minLength : minLength + 3 });
    }
    case "object":
      return object(definitions, schema, depth);
    default:
      return anyJson;
  }
}

function object(definitions: JsonObject, schema: JsonObject, depth: number): fc.Arbitrary<unknown> {
  const required = asArray(schema.required).map(String);
  const names = Object.keys(asObject(schema.properties)).filter(
    (name) => depth <= MAX_DEPTH || required.includes(name),
  );
  const fields = names.map((name) => {
    const value = arbitraryOf(definitions, asObject(asObject(schema.properties)[name]), depth + 1);
    return [name, value] as const;
  });
  if (fields.length === 0 && schema.additionalProperties !== undefined) {
    const inner = isObject(schema.additionalProperties)
      ? arbitraryOf(definitions, schema.additionalProperties, depth + 1)
      : anyJson;
    return fc.dictionary(fc.string({ maxLength: 5 }), inner, { maxKeys: 3 });
  }
  return fc.record(Object.fromEntries(fields), { requiredKeys: required.filter((name) => names.includes(name)) });
}

/** Words the protocol knows, so that random JSON meets the code's branches. */
const WORDS = [
  ..."text image audio resource_link resource content diff terminal items file markdown select boolean id".split(" "),
  ..."tool_call tool_call_update plan plan_update plan_removed available_commands_update notice".split(" "),
  ..."compaction_update session_message mode model selected cancelled delete add stdio http agent".split(" "),
  ..."/w a/b C:\\w file:///w ../x -32002".split(" "),
];
const KEYS = [
  ..."sessionUpdate type content contents toolCallId title name kind status locations path line rawInput".split(" "),
  ..."oldText newText entries priority plan planId configOptions modes models currentModeId availableModes".split(" "),
  ..."currentModelId availableModels modelId options option value currentValue group category optionId".split(" "),
  ..."outcome toolCall id env args command input hint availableCommands description url headers".split(" "),
  ..."agentInfo agentCapabilities info capabilities authMethods protocolVersion version sessionCapabilities".split(" "),
  ..."promptCapabilities mcpCapabilities auth terminal list delete http sse session cwd sessionId sessions".split(" "),
  ..."additionalDirectories mcpServers replayFrom nextCursor code message data uri annotations audience".split(" "),
  ..."terminal_info terminal_output terminal_output_delta terminal_exit terminal_id exit_code signal".split(" "),
  ..."_meta summary severity configId _vendor __proto__ constructor".split(" "),
];

const text = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...WORDS) }, { weight: 1, arbitrary: fc.string() });

/** Any JSON value, with the protocol's field names and words in it more often than chance would have it. */
export const anyJson: fc.Arbitrary<unknown> = fc
  .letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthSize: "small" },
      text,
      fc.oneof(fc.constant(null), fc.boolean(), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })),
      fc.array(tie("value"), { maxLength: 4 }),
      objectOf(tie("value")),
    ),
  }))
  .value.map((value: unknown): unknown => JSON.parse(JSON.stringify(value)));

/** Likewise, but an object. */
export const anyJsonObject: fc.Arbitrary<JsonObject> = objectOf(anyJson).map((value) =>
  asObject(JSON.parse(JSON.stringify(value))),
);

function objectOf(value: fc.Arbitrary<unknown>): fc.Arbitrary<JsonObject> {
  const key = fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...KEYS) }, { weight: 1, arbitrary: fc.string() });
  // Own properties as JSON.parse makes them, `__proto__` included.
  return fc.array(fc.tuple(key, value), { maxLength: 6 }).map((entries) => Object.fromEntries(entries));
}
