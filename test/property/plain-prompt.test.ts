// Guards I3 where the schema is not asked: a prompt taken for plain text is one the schema passes as it is.
import fc from "fast-check";
import { expect, test } from "vitest";
import { isPlainPrompt } from "../../src/bridge/client-requests.ts";
import type { JsonObject } from "../../src/protocol/json.ts";
import { testOptions } from "../support/dialogue.ts";

const odd = fc.oneof(fc.constant(null), fc.integer(), fc.string(), fc.object({ maxDepth: 1 }));

/** Plain text, or the same with one member more, less or other than it was. */
function nearly(plain: fc.Arbitrary<JsonObject>, keys: string[]): fc.Arbitrary<JsonObject> {
  const change = fc.record({ key: fc.constantFrom(...keys), value: fc.option(odd, { nil: undefined }) });
  const changed = fc.tuple(plain, change).map(([object, { key, value }]) => {
    const { [key]: _, ...rest } = object;
    return value === undefined ? rest : { ...rest, [key]: value };
  });
  return fc.oneof({ weight: 3, arbitrary: plain }, changed);
}

const block = nearly(
  fc.string().map((text) => ({ type: "text", text })),
  ["type", "text", "annotations", "_meta", "other"],
);
const params = nearly(
  fc.array(block, { maxLength: 3 }).map((prompt) => ({ sessionId: "s", prompt })),
  ["sessionId", "prompt", "_meta", "other"],
);

test("plain prompts are valid, and go on untouched", () => {
  const schema = testOptions.schemaV2();
  const definition = schema.definitionOf("agent", "session/prompt", "params") ?? "";
  let plain = 0;
  fc.assert(
    fc.property(params, (value) => {
      if (!isPlainPrompt(value)) return;
      plain++;
      expect(schema.conform(definition, value, false)).toEqual({ ok: true, value, dropped: [] });
    }),
    { numRuns: 1000 },
  );
  expect(plain).toBeGreaterThan(100);
});
