// Guards docs/mapping.md §0 I3 at its root: what the schema reader of the core lets through is what the schema allows, as
// an independent validator sees it, and what is valid goes through untouched.
import { createRequire } from "node:module";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { asArray, isObject, type JsonObject } from "../../src/protocol/json.ts";
import { readSchema } from "../../src/protocol/schema.ts";
import { validateV1, validateV2 } from "../support/schema.ts";

const require = createRequire(import.meta.url);
const documents = {
  v1: require("@agentclientprotocol/sdk/schema/v1/schema.json") as JsonObject,
  v2: require("@agentclientprotocol/sdk/schema/v2/schema.json") as JsonObject,
};
const v2 = readSchema(documents.v2);

const update = (fields: JsonObject) => ({ sessionId: "s", update: fields });
const chunk = (content: unknown) => update({ sessionUpdate: "agent_message_chunk", messageId: "m", content });
const call = (fields: JsonObject) => update({ sessionUpdate: "tool_call_update", toolCallId: "t", ...fields });

describe("what is valid comes back as it is", () => {
  const cases: [string, unknown][] = [
    ["NewSessionRequest", { cwd: "/a" }],
    ["NewSessionRequest", { cwd: "/a", unknown: { deep: [1] }, _meta: { a: null } }],
    ["UpdateSessionNotification", chunk({ type: "text", text: "hi" })],
    ["UpdateSessionNotification", chunk({ type: "_own", anything: 1 })],
    ["UpdateSessionNotification", update({ sessionUpdate: "_own", anything: 1 })],
    [
      "UpdateSessionNotification",
      update({ sessionUpdate: "state_update", state: "idle", stopReason: "_own", usage: {} }),
    ],
    ["UpdateSessionNotification", call({ title: null, rawInput: 7 })],
    ["PromptResponse", { messageId: "m" }],
  ];
  test.each(cases)("%s %j", (definition, value) => {
    for (const lenient of [false, true]) {
      const conformed = v2.conform(definition, value, lenient);
      expect(conformed).toEqual({ ok: true, value, dropped: [] });
      expect(conformed.ok && conformed.value).toBe(value);
    }
  });
});

describe("what is not valid", () => {
  const faults: [string, unknown, string][] = [
    ["NewSessionRequest", {}, "cwd is required"],
    ["NewSessionRequest", { cwd: 3 }, "cwd must be of type string"],
    ["NewSessionRequest", [], "the value must be of type object"],
    ["NewSessionRequest", null, "the value must be of type object"],
    ["PromptResponse", { messageId: null }, "messageId must be of type string"],
    ["UpdateSessionNotification", chunk({ type: "text" }), "update.content.text is required"],
    ["UpdateSessionNotification", update({}), "update.sessionUpdate is required"],
  ];
  test.each(faults)("%s %j is a fault, strictly and leniently: %s", (definition, value, fault) => {
    for (const lenient of [false, true]) expect(v2.conform(definition, value, lenient)).toEqual({ ok: false, fault });
  });

  const repaired: [string, string, unknown, unknown, string[]][] = [
    [
      "an optional field that the schema reads as its default",
      "UpdateSessionNotification",
      call({ title: 3, status: "completed" }),
      call({ status: "completed" }),
      ["update.title"],
    ],
    ["`_meta` that is no object", "NewSessionRequest", { cwd: "/a", _meta: "x" }, { cwd: "/a" }, ["_meta"]],
    [
      "a list that may not be null",
      "NewSessionRequest",
      { cwd: "/a", mcpServers: null },
      { cwd: "/a" },
      ["mcpServers"],
    ],
    [
      "bad items of a list that skips them",
      "UpdateSessionNotification",
      call({
        content: [
          { type: "text" },
          { type: "content", content: { type: "text" } },
          { type: "terminal", terminalId: "x" },
        ],
      }),
      call({ content: [{ type: "text" }, { type: "terminal", terminalId: "x" }] }),
      ["update.content.1"],
    ],
    [
      "a bad part deep inside",
      "UpdateSessionNotification",
      chunk({ type: "text", text: "hi", annotations: { priority: "high", audience: ["user"] } }),
      chunk({ type: "text", text: "hi", annotations: { audience: ["user"] } }),
      ["update.content.annotations.priority"],
    ],
  ];
  test.each(repaired)("%s is left out, strictly too", (_, definition, value, expected, dropped) => {
    const before = structuredClone(value);
    for (const lenient of [false, true])
      expect(v2.conform(definition, value, lenient)).toEqual({ ok: true, value: expected, dropped });
    expect(value).toEqual(before);
  });

  const lenientOnly: [string, string, unknown, unknown, string[]][] = [
    [
      "an optional field that the schema does not forgive",
      "RequestPermissionRequest",
      { sessionId: "s", title: "T", subject: 7, options: [{ optionId: "a", name: "A", kind: "allow_once" }] },
      { sessionId: "s", title: "T", options: [{ optionId: "a", name: "A", kind: "allow_once" }] },
      ["subject"],
    ],
    [
      "a bad item of a list that does not skip it",
      "PromptRequest",
      { sessionId: "s", prompt: [{ type: "text" }, { type: "text", text: "hi" }] },
      { sessionId: "s", prompt: [{ type: "text", text: "hi" }] },
      ["prompt.0"],
    ],
  ];
  test.each(lenientOnly)(
    "%s is left out leniently, and a fault strictly",
    (_, definition, value, expected, dropped) => {
      expect(v2.conform(definition, value, true)).toEqual({ ok: true, value: expected, dropped });
      const strict = v2.conform(definition, value, false);
      // It says where, and what was expected.
      expect(strict).toEqual({ ok: false, fault: expect.stringContaining(dropped[0] ?? "") });
    },
  );

  test("a list that would become too short is a fault", () => {
    const request = { sessionId: "s", title: "T", options: [{ name: "A" }] };
    expect(v2.conform("RequestPermissionRequest", request, true)).toEqual({ ok: false, fault: expect.any(String) });
  });

  test("a definition the schema does not have is a mistake of the caller's", () => {
    expect(() => v2.conform("Nonsense", {}, true)).toThrow("Nonsense");
  });
});

describe("definitionOf", () => {
  const cases: ["agent" | "client", string, "params" | "result", string | undefined][] = [
    ["agent", "session/new", "params", "NewSessionRequest"],
    ["agent", "session/new", "result", "NewSessionResponse"],
    ["agent", "session/cancel", "params", "CancelSessionNotification"],
    ["agent", "session/cancel", "result", undefined],
    ["client", "session/update", "params", "UpdateSessionNotification"],
    ["client", "session/new", "params", undefined],
    ["agent", "session/fork", "params", undefined],
    ["agent", "constructor", "params", undefined],
  ];
  test.each(cases)("%s %s %s: %s", (side, method, part, definition) => {
    expect(v2.definitionOf(side, method, part)).toBe(definition);
  });
});

/** Text that no schema contains: it must not come up in what is said about a fault. */
const SECRET = "hunter2";

/** A value that mostly follows the definition, with mistakes here and there, decided by `random` (0 to 1). */
function sample(node: JsonObject, definitions: JsonObject, random: () => number, depth = 0): unknown {
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
  const next = (inner: unknown) => sample(isObject(inner) ? inner : {}, definitions, random, depth + 1);
  if (random() < 0.04 || depth > 12) return pick([null, true, 0, -1.5, 7, "", SECRET, [], {}, [SECRET], { a: SECRET }]);
  if (typeof node["$ref"] === "string") return next(definitions[node["$ref"].slice("#/$defs/".length)]);
  if ("const" in node) return node["const"];
  if (Array.isArray(node["enum"])) return pick(node["enum"]);
  const variants = asArray(node["anyOf"] ?? node["oneOf"]);
  // Now and then a value has the marks of two variants.
  const chosen = variants.length > 0 ? [pick(variants), ...(random() < 0.1 ? [pick(variants)] : [])] : [];
  const parts = [...asArray(node["allOf"]), ...chosen];
  const type = pick(asArray(node["type"]).length > 0 ? asArray(node["type"]) : [node["type"]]);
  if (type === "object" || isObject(node["properties"])) {
    const required = asArray(node["required"]);
    const object: JsonObject = {};
    for (const [key, property] of Object.entries(isObject(node["properties"]) ? node["properties"] : {}))
      if (required.includes(key) ? random() > 0.02 : random() < 3 / (depth + 6)) object[key] = next(property);
    if (random() < 0.1) object["unknown"] = SECRET;
    for (const part of parts) {
      const more = next(part);
      if (isObject(more)) Object.assign(object, more, { ...object });
    }
    return object;
  }
  if (parts.length > 0) return next(pick(parts));
  switch (type) {
    case "array":
      return Array.from({ length: Math.floor(random() * 4) }, () => next(node["items"]));
    case "string":
      return pick(["a", "/a", "_a", "", "2026-01-01T00:00:00Z"]);
    case "integer":
      return pick([0, 1, 2, 65535]);
    case "number":
      return pick([0, 0.5, 1]);
    case "boolean":
      return random() < 0.5;
    case "null":
      return null;
    default:
      return pick([1, "a", { a: 1 }, [null]]);
  }
}

/** Pseudo-random numbers from 0 to 1 (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe.each([
  ["v1", documents.v1, validateV1],
  ["v2", documents.v2, validateV2],
] as const)("the reader of %s agrees with an independent validator", (_, document, validate) => {
  const schema = readSchema(document);
  const definitions = isObject(document["$defs"]) ? document["$defs"] : {};
  const names = Object.entries(definitions)
    .filter(([, node]) => isObject(node) && typeof node["x-method"] === "string")
    .map(([name]) => name);
  const counts = { valid: 0, repaired: 0, refused: 0 };

  test("on any value", () => {
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.integer(), (name, seed) => {
        const value = sample({ $ref: `#/$defs/${name}` }, definitions, randomFrom(seed));
        const before = JSON.stringify(value);
        const isValid = validate(name, value) === undefined;
        const strict = schema.conform(name, value, false);
        const lenient = schema.conform(name, value, true);
        const about = `${name} ${before}`;

        if (isValid) {
          counts.valid++;
          for (const conformed of [strict, lenient]) {
            expect(conformed, about).toMatchObject({ ok: true, dropped: [] });
            expect(conformed.ok && conformed.value === value, `${about} comes back as it is`).toBe(true);
          }
        }
        for (const conformed of [strict, lenient]) {
          if (conformed.ok) {
            if (!isValid) counts.repaired++;
            expect(validate(name, conformed.value), `${about} as ${JSON.stringify(conformed.value)}`).toBeUndefined();
            expect(conformed.dropped.length > 0, about).toBe(conformed.value !== value);
          } else {
            counts.refused++;
            expect(isValid, `${about}: ${conformed.fault}`).toBe(false);
            expect(conformed.fault).toMatch(/^\S.*$/);
            expect(conformed.fault).not.toContain(SECRET);
          }
        }
        if (strict.ok) expect(lenient.ok, about).toBe(true);
        expect(JSON.stringify(value), "the value itself is never changed").toBe(before);
      }),
      { numRuns: 4000 },
    );
    // The samples are worth something: each outcome came up often.
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(300);
  });
});
