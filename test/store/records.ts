// Random records of a session, and updates as a v2 client gets them, with few ids so that they meet.
import fc from "fast-check";
import type { JsonObject } from "../../src/protocol/json.ts";
import type { StoreRecord } from "../../src/store/records.ts";

const id = fc.constantFrom("1", "2", "3");
const word = fc.string({ unit: "grapheme", maxLength: 8 });
const text = fc.record({ type: fc.constant("text"), text: word });
const meta = fc.option(fc.dictionary(fc.constantFrom("a", "b", "c"), fc.option(fc.jsonValue()), { maxKeys: 3 }));

function patch(kind: string, key: string, fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<JsonObject> {
  const model: Record<string, fc.Arbitrary<unknown>> = { [key]: id, ...fields, _meta: meta };
  return fc.record(model, { requiredKeys: [key] }).map((update) => ({ sessionUpdate: kind, ...update }));
}

function whole(kind: string, fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<JsonObject> {
  return fc.record(fields).map((update) => ({ sessionUpdate: kind, ...update }));
}

const blocks = fc.option(fc.array(text, { maxLength: 3 }));
const item = fc.record({ type: fc.constant("content"), content: text });

/** One v2 session update. */
export const update: fc.Arbitrary<JsonObject> = fc.oneof(
  patch("user_message", "messageId", { content: blocks }),
  patch("agent_message", "messageId", { content: blocks }),
  patch("agent_thought", "messageId", { content: blocks }),
  whole("agent_message_chunk", { messageId: id, content: text }),
  patch("tool_call_update", "toolCallId", {
    title: fc.option(word),
    status: fc.constantFrom("pending", "completed"),
    rawInput: fc.jsonValue(),
    content: fc.option(fc.array(item, { maxLength: 2 })),
  }),
  whole("tool_call_content_chunk", { toolCallId: id, content: item }),
  patch("terminal_update", "terminalId", {
    command: fc.option(word),
    output: fc.option(fc.record({ data: fc.base64String({ maxLength: 8 }) })),
    exitStatus: fc.option(fc.record({ exitCode: fc.nat(3) })),
  }),
  whole("terminal_output_chunk", { terminalId: id, data: fc.base64String({ maxLength: 8 }) }),
  whole("plan_update", { plan: fc.record({ type: fc.constant("markdown"), planId: id, content: word }) }),
  whole("plan_removed", { planId: id }),
  whole("notice", { severity: fc.constant("info"), title: word }),
);

/** The updates of a session. */
export const updates = fc.array(update, { maxLength: 40 });

const at = fc
  .date({ noInvalidDate: true, min: new Date(0), max: new Date("2100-01-01") })
  .map((date) => date.toISOString());

/** Anything that is kept of a session. */
export const record: fc.Arbitrary<StoreRecord> = fc.oneof(
  fc
    .record({ cwd: word, additionalDirectories: fc.array(word, { minLength: 1 }), at }, { requiredKeys: ["cwd", "at"] })
    .map((fields): StoreRecord => ({ type: "session", ...fields })),
  fc
    .record({ title: fc.option(word), at }, { requiredKeys: ["at"] })
    .map((fields): StoreRecord => ({ type: "info", ...fields })),
  fc.record({
    type: fc.constant("message" as const),
    kind: fc.constantFrom("user_message" as const, "agent_message" as const, "agent_thought" as const),
    id,
    digest: word,
  }),
  update.map((update): StoreRecord => ({ type: "update", update })),
  at.map((at): StoreRecord => ({ type: "closed", at })),
);
