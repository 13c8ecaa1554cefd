// Guards the folding of transcripts: a client that gets the folded updates comes to the same view as one that got them
// all (schema v2 `SessionUpdate`: upserts, metadata patches, chunks), and nothing superseded is left in them.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isObject, type JsonObject } from "../../src/protocol/json.ts";
import { createTranscript } from "../../src/store/transcript.ts";
import { anyJsonObject } from "../support/arbitrary.ts";
import { frozen } from "../support/table.ts";
import { updates } from "./records.ts";

function folded(list: readonly JsonObject[]): JsonObject[] {
  const transcript = createTranscript();
  for (const update of list) transcript.add(frozen(update));
  return transcript.updates();
}

const text = (words: string) => ({ type: "text", text: words });
const message = (messageId: string, words: string, more: JsonObject = {}) => ({
  sessionUpdate: "agent_message",
  messageId,
  content: [text(words)],
  ...more,
});
const chunk = (messageId: string, words: string) => ({
  sessionUpdate: "agent_message_chunk",
  messageId,
  content: text(words),
});
const tool = (fields: JsonObject) => ({ sessionUpdate: "tool_call_update", toolCallId: "t", ...fields });
const terminal = (fields: JsonObject) => ({ sessionUpdate: "terminal_update", terminalId: "x", ...fields });
const output = (data: string) => ({ sessionUpdate: "terminal_output_chunk", terminalId: "x", data });
const plan = (planId: string, content: string) => ({
  sessionUpdate: "plan_update",
  plan: { type: "markdown", planId, content },
});
const notice = (title: string) => ({ sessionUpdate: "notice", severity: "info", title });

const ROWS: { title: string; in: JsonObject[]; out: JsonObject[] }[] = [
  { title: "nothing", in: [], out: [] },
  {
    title: "what has no id stays as it came",
    in: [notice("a"), notice("a"), { sessionUpdate: "_vendor", x: 1 }, {}],
    out: [notice("a"), notice("a"), { sessionUpdate: "_vendor", x: 1 }, {}],
  },
  {
    title: "of repeated messages the last, where the first was",
    in: [message("1", "a"), message("2", "b"), notice("n"), message("1", "c")],
    out: [message("1", "c"), message("2", "b"), notice("n")],
  },
  {
    title: "the same id under another kind is another message",
    in: [message("1", "a"), message("1", "b", { sessionUpdate: "agent_thought" })],
    out: [message("1", "a"), message("1", "b", { sessionUpdate: "agent_thought" })],
  },
  {
    title: "a message's metadata is patched by key",
    in: [
      message("1", "a", { _meta: { a: 1, b: { x: 1 } } }),
      { sessionUpdate: "agent_message", messageId: "1", _meta: { b: { y: 2 }, c: null } },
    ],
    out: [message("1", "a", { _meta: { a: 1, b: { y: 2 }, c: null } })],
  },
  {
    title: "metadata that is cleared",
    in: [message("1", "a", { _meta: { a: 1 } }), message("1", "b", { _meta: null })],
    out: [message("1", "b", { _meta: null })],
  },
  {
    title: "chunks follow their message, and go when it is replaced",
    in: [chunk("1", "x"), message("1", "a"), notice("n"), chunk("1", "b"), chunk("2", "c"), chunk("1", "d")],
    out: [message("1", "a"), chunk("1", "b"), chunk("1", "d"), notice("n"), chunk("2", "c")],
  },
  {
    title: "a tool call's patches are one, where the first was",
    in: [
      tool({ title: "Run", status: "pending", rawInput: { a: 1, b: 2 } }),
      message("1", "a"),
      tool({ status: "in_progress", content: [{ type: "terminal", terminalId: "x" }] }),
      tool({ status: "completed", rawInput: { a: 3 }, content: null }),
    ],
    out: [tool({ title: "Run", status: "completed", rawInput: { a: 3 }, content: null }), message("1", "a")],
  },
  {
    title: "content chunks of a tool call go when its content is replaced, and only then",
    in: [
      tool({ title: "a" }),
      { sessionUpdate: "tool_call_content_chunk", toolCallId: "t", content: { type: "terminal", terminalId: "x" } },
      tool({ title: "b", content: [] }),
      { sessionUpdate: "tool_call_content_chunk", toolCallId: "t", content: { type: "terminal", terminalId: "y" } },
      tool({ title: "c" }),
    ],
    out: [
      tool({ title: "c", content: [] }),
      { sessionUpdate: "tool_call_content_chunk", toolCallId: "t", content: { type: "terminal", terminalId: "y" } },
    ],
  },
  {
    title: "a terminal is one, and its output follows",
    in: [
      terminal({ cwd: "/w", command: "make" }),
      output("YQ=="),
      tool({ title: "Run" }),
      output("Yg=="),
      terminal({ exitStatus: { exitCode: 0 } }),
    ],
    out: [
      terminal({ cwd: "/w", command: "make", exitStatus: { exitCode: 0 } }),
      output("YQ=="),
      output("Yg=="),
      tool({ title: "Run" }),
    ],
  },
  {
    title: "a terminal's output is replaced as a whole",
    in: [output("YQ=="), terminal({ output: { data: "Yg==" } }), output("Yw==")],
    out: [terminal({ output: { data: "Yg==" } }), output("Yw==")],
  },
  {
    title: "of a plan the last",
    in: [plan("p", "a"), plan("q", "b"), notice("n"), plan("p", "c")],
    out: [plan("p", "c"), plan("q", "b"), notice("n")],
  },
  {
    title: "a plan that was removed, and one that came again",
    in: [
      plan("p", "a"),
      { sessionUpdate: "plan_removed", planId: "p" },
      plan("q", "b"),
      { sessionUpdate: "plan_removed", planId: "q" },
      plan("q", "c"),
    ],
    out: [{ sessionUpdate: "plan_removed", planId: "p" }, plan("q", "c")],
  },
  {
    title: "a compaction and its summary",
    in: [
      { sessionUpdate: "compaction_update", compactionId: "c", status: "in_progress" },
      { sessionUpdate: "compaction_summary_chunk", compactionId: "c", content: text("s") },
      { sessionUpdate: "compaction_update", compactionId: "c", status: "completed" },
    ],
    out: [
      { sessionUpdate: "compaction_update", compactionId: "c", status: "completed" },
      { sessionUpdate: "compaction_summary_chunk", compactionId: "c", content: text("s") },
    ],
  },
];

describe("folded", () => {
  test.each(ROWS)("$title", (row) => {
    expect(folded(row.in)).toStrictEqual(row.out);
  });
});

/** A v2 client's view: the timeline of everything with an id, its fields and what chunks added; and the rest in order. */
function view(list: readonly JsonObject[]) {
  const entities = new Map<string, { fields: JsonObject; appended: unknown[] }>();
  const plans = new Map<unknown, unknown>();
  const rest: JsonObject[] = [];
  const entity = (kind: string, id: unknown) => {
    const key = `${kind} ${id}`;
    const known = entities.get(key) ?? { fields: {}, appended: [] };
    entities.set(key, known);
    return known;
  };
  const upsert = (kind: string, id: unknown, content: string, update: JsonObject) => {
    const known = entity(kind, id);
    for (const [field, value] of Object.entries(update)) {
      if (field === "_meta") {
        if (value === null) delete known.fields["_meta"];
        const meta = { ...(isObject(known.fields["_meta"]) ? known.fields["_meta"] : {}) };
        for (const [key, entry] of Object.entries(isObject(value) ? value : {}))
          if (entry === null) delete meta[key];
          else meta[key] = entry;
        if (value !== null) known.fields["_meta"] = meta;
      } else if (value === null) delete known.fields[field];
      else known.fields[field] = value;
      if (field === content) known.appended = [];
    }
  };
  for (const update of list) {
    switch (update["sessionUpdate"]) {
      case "user_message":
      case "agent_message":
      case "agent_thought":
        upsert(update["sessionUpdate"], update["messageId"], "content", update);
        break;
      case "tool_call_update":
        upsert("tool", update["toolCallId"], "content", update);
        break;
      case "terminal_update":
        upsert("terminal", update["terminalId"], "output", update);
        break;
      case "agent_message_chunk":
        entity("agent_message", update["messageId"]).appended.push(update["content"]);
        break;
      case "tool_call_content_chunk":
        entity("tool", update["toolCallId"]).appended.push(update["content"]);
        break;
      case "terminal_output_chunk":
        entity("terminal", update["terminalId"]).appended.push(update["data"]);
        break;
      case "plan_update":
        plans.set(isObject(update["plan"]) && update["plan"]["planId"], update["plan"]);
        break;
      case "plan_removed":
        plans.delete(update["planId"]);
        break;
      default:
        rest.push(update);
    }
  }
  return { entities: [...entities].map(([key, { fields, appended }]) => ({ key, fields, appended })), plans, rest };
}

/** An upsert that only names its entity says what a chunk for it says too, so it leaves no trace of its own. */
function known(result: ReturnType<typeof view>) {
  const bare = ["sessionUpdate", "messageId", "toolCallId", "terminalId"];
  return {
    ...result,
    entities: result.entities.map(({ key, fields, appended }) => ({
      key,
      appended,
      fields: Object.fromEntries(Object.entries(fields).filter(([field]) => !bare.includes(field))),
    })),
  };
}

test("a client sees the same", () => {
  fc.assert(
    fc.property(updates, (list) => {
      const result = folded(list);
      expect(known(view(result))).toEqual(known(view(list)));
    }),
    { numRuns: 500 },
  );
});

test("nothing superseded is left, and folding again changes nothing", () => {
  fc.assert(
    fc.property(updates, (list) => {
      const result = folded(list);
      const whole = result.filter(({ sessionUpdate }) => !/chunk|notice/.test(String(sessionUpdate)));
      const ids = whole.map(({ sessionUpdate, messageId, toolCallId, terminalId, planId, plan }) =>
        [
          String(sessionUpdate).replace("plan_removed", "plan_update"),
          messageId ?? toolCallId ?? terminalId ?? planId ?? (isObject(plan) && plan["planId"]),
        ].join(" "),
      );
      expect(new Set(ids).size).toBe(ids.length);
      expect(folded(result)).toStrictEqual(result);
    }),
    { numRuns: 500 },
  );
});

test("whatever was kept, nothing is thrown, and what is no update of an entity stays in its order", () => {
  const kinds =
    /^(.*_chunk|(user|agent|session)_message|agent_thought|(tool_call|terminal|compaction|subagent|plan)_update|plan_removed)$/;
  const isOther = ({ sessionUpdate }: JsonObject) => typeof sessionUpdate !== "string" || !kinds.test(sessionUpdate);
  fc.assert(
    fc.property(fc.array(anyJsonObject), (list) => {
      const transcript = createTranscript();
      for (const update of list) transcript.add(update);
      const others = list.filter(isOther);
      const kept = transcript.updates().filter(isOther);
      expect(kept.length).toBe(others.length);
      expect(kept.every((update, index) => update === others[index])).toBe(true);
    }),
  );
});
