// Guards docs/mapping.md §13 and "What does not cross": through two bridges back to back, v2 → v1 → v2 and v1 → v2 → v1,
// a client's view of a conversation is the one it has without them, wherever neither version forces a loss. The losses
// are the two lists below: a difference that none of them covers fails, and so does a loss that no longer occurs. Every
// frame each bridge sends is validated against its side's schema (I3).
import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { asObject, isObject, type JsonObject } from "../../src/protocol/json.ts";
import { validateFrame } from "../support/schema.ts";
import { conversations, isNativeV2, readTrace, type TraceLine } from "../traces/replay.ts";
import { v1OverV2OverV1, v2OverV1OverV2 } from "./channel.ts";
import { type Difference, differences, type Loss, testLosses } from "./compare.ts";
import { CONVERSATIONS_V1, CONVERSATIONS_V2, type Conversation } from "./conversations.ts";
import { play, recorded } from "./play.ts";
import { viewsV1, viewsV2 } from "./views.ts";

/** Between a v2 client and a v2 agent, in version 1 on the way. */
const LOSSES_V2: Loss[] = [
  {
    what: "a message that is replaced: v1 can only add, so the new text is a message of its own",
    at: /^(timeline|messages)$/,
    in: /a replaced message/,
  },
  {
    what: "content of a type v1 does not define: text that names it",
    at: /^(messages\.\d+|toolCalls\.odd)\.content\.\d+\.(type|text|points|rows|content|_meta)$/,
    in: /v2 (messages|tool calls)/,
  },
  { what: "work that runs in the background: v1 has no states to list it in", at: /^ends\.\d+\.background$/ },
  {
    what: "an unknown stop reason, or none: end_turn",
    at: /^ends\.\d+\.(stopReason|_meta)$/,
    as: ({ path, direct, through }) =>
      path.endsWith("_meta")
        ? "acp-shift/stopReason" in asObject(through)
        : direct !== "error" && through === "end_turn",
  },
  {
    what: "_meta of an idle that ends with an error: an error of v1 has none",
    at: /^ends\.\d+\._meta$/,
    as: ({ through }) => through === undefined,
  },
  {
    what: "the tool-call statuses cancelled and paused: failed and in_progress",
    at: /^toolCalls\.[^.]+\.status$/,
    as: ({ direct, through }) => ["cancelled failed", "paused in_progress"].includes(`${direct} ${through}`),
  },
  { what: "an unknown kind of tool call: other", at: /\.kind$/, as: ({ through }) => through === "other" },
  { what: "a tool call's title or raw data that is taken back", at: /^toolCalls\.cleared\.(title|rawInput)$/ },
  {
    what: "a diff of several files, a mere move: a diff for each, a line of text",
    at: /^toolCalls\.edit\.content$/,
    in: /v2 tool calls/,
  },
  {
    what: "a patch as the agent wrote it: the bridge makes its own from the texts",
    at: /\.content\.\d+\.(patch\.text|changes\.\d+\.fileType)$/,
    as: ({ path, direct, through }) => path.endsWith("fileType") || samePatch(direct, through),
  },
  { what: "a terminal that no tool call shows", at: /^terminals\.hidden$/ },
  {
    what: "a plan entry's status cancelled: completed",
    at: /^plan\.\d+\.status$/,
    as: ({ direct }) => direct === "cancelled",
  },
  {
    what: "a plan that was done when a turn ended: not in v1's one list any more",
    at: /^plan$/,
    in: /plan that was done/,
  },
  { what: "a plan that is no list of entries: one entry", at: /^plan\.3\.(type|planId|content|priority|status)$/ },
  { what: "a config option of a type v1 does not define", at: /^config\.n$/ },
  { what: "kinds of update v1 does not define", at: /^others$/ },
  {
    what: "a question about a command: v1 asks about tool calls, so one is made",
    at: /^(timeline|toolCalls\.m_down_\d+)$/,
    in: /question about a command/,
  },
  {
    what: "an option that neither allows nor rejects",
    at: /^asked\.\d+\.options$/,
    as: ({ direct }) => JSON.stringify(direct).includes("_later"),
  },
];

/** Between a v1 client and a v1 agent, in version 2 on the way. */
const LOSSES_V1: Loss[] = [
  {
    what: "the agent's echo of the prompt: the client has it already",
    at: /^(timeline|messages)$/,
    in: /an echo/,
    as: ({ direct, through }) => JSON.stringify(direct).length > JSON.stringify(through).length,
  },
  {
    what: "tool calls left open by a turn that was cancelled or failed: ended with it",
    at: /^toolCalls\.[^.]+\.status$/,
    as: ({ direct, through }) => ["pending", "in_progress"].includes(String(direct)) && through === "failed",
  },
  {
    what: "a part of a file in a diff: whole lines, since a patch marks only the end of a file as without a line break",
    at: /^toolCalls\.[^.]+\.content\.\d+\.(oldText|newText)$/,
    as: ({ direct, through }) => through === `${direct}\n`,
  },
  {
    what: "relative paths: absolute",
    at: /\.path$/,
    as: ({ direct, through }) => String(through).endsWith(`/${direct}`),
  },
  {
    what: 'the old text of a new file, "" or absent: null',
    at: /\.oldText$/,
    as: ({ direct, through }) => (direct === undefined || direct === "") && through === null,
  },
  {
    what: "the unchanged text of a diff beyond three lines around a change",
    at: /\.(oldText|newText)$/,
    as: ({ direct, through }) => typeof through === "string" && String(direct).includes(through),
  },
  {
    what: "modes and models, which v2 has as options: they are options too",
    at: /^config\.(mode|model|_mode|_model)$/,
    as: ({ direct }) => direct === undefined,
  },
  {
    what: "the mode or model an agent says it changed without saying so as an option",
    at: /^(config\.(mode|model)\.currentValue|mode)$/,
  },
  {
    what: "the stop reason an agent gives for a turn that the client cancelled: cancelled",
    at: /^ends\.\d+\.stopReason$/,
    as: ({ through }) => through === "cancelled",
  },
  { what: "a terminal that no tool call shows", at: /^terminals\./, as: ({ through }) => through === undefined },
  {
    what: "an error about a session or a prompt that the bridge refuses itself",
    at: /^ends\.\d+(\.|$)/,
    in: /-fail\.jsonl/,
  },
  { what: "a session whose cwd is relative: not opened", at: /^$/, in: /-fail\.jsonl/ },
  {
    what: "where a message is cut by a prompt sent while it was written: that prompt waits",
    at: /^messages\.\d+\.content\.\d+\.text$/,
    in: /-concurrent\.jsonl/,
  },
];

/** The same patch, but for the prefixes of its file names and the lines git adds to a header. */
function samePatch(one: unknown, other: unknown): boolean {
  const plain = (patch: unknown) => String(patch).replaceAll(/ [ab]\//g, " /");
  return plain(one) === plain(other);
}

const directory = new URL("../fixtures/traces/", import.meta.url);
// A client that asks a v1 agent for version 2 has no view of its own without a bridge.
const askedForAnother = (name: string) => name.endsWith("-v2init.jsonl");
const traces = readdirSync(directory)
  .filter((name) => name.endsWith(".jsonl") && !askedForAnother(name))
  .flatMap((name) =>
    conversations(readTrace(new URL(name, directory))).map(
      (lines, index): Conversation => ({ name: index === 0 ? name : `${name} (${index + 1})`, lines }),
    ),
  );

/** Differences between what a client sees without and with two bridges in between, session by session. */
function lostIn(
  { lines }: Conversation,
  makeChannel: Parameters<typeof play>[1],
  views: typeof viewsV1,
  asClient?: (frame: JsonObject) => JsonObject,
): Difference[] {
  const direct = views(recorded(lines));
  const through = views(play(lines, makeChannel, asClient));
  const ids = new Set([...Object.keys(direct), ...Object.keys(through)]);
  return [...ids].flatMap((id) => differences(direct[id], through[id]));
}

/** A v1 client that can show everything v1 has. */
function showsEverything(frame: JsonObject): JsonObject {
  const params = asObject(frame["params"]);
  if (frame["method"] !== "initialize") return frame;
  const session = { notices: {}, compaction: {}, configOptions: { boolean: {} } };
  const shows = { session, _meta: { terminal_output: true } };
  return {
    ...frame,
    params: { ...params, clientCapabilities: { ...asObject(params["clientCapabilities"]), ...shows } },
  };
}

describe("v2 → v1 → v2", () => {
  const all = [...CONVERSATIONS_V2, ...traces.filter(({ lines }) => isNativeV2(lines))];
  testLosses(all, LOSSES_V2, (one) => lostIn(one, v2OverV1OverV2, viewsV2));
});

describe("v1 → v2 → v1", () => {
  const all = [...CONVERSATIONS_V1, ...traces.filter(({ lines }) => !isNativeV2(lines))];
  testLosses(all, LOSSES_V1, (one) => lostIn(one, v1OverV2OverV1, viewsV1, showsEverything));
});

describe("the conversations written by hand", () => {
  const KINDS_V2 =
    "user_message user_message_chunk agent_message agent_message_chunk agent_thought agent_thought_chunk state_update tool_call_content_chunk tool_call_update terminal_update terminal_output_chunk plan_update available_commands_update config_option_update session_info_update usage_update notice compaction_update compaction_summary_chunk";
  const KINDS_V1 =
    "user_message_chunk agent_message_chunk agent_thought_chunk tool_call tool_call_update plan available_commands_update current_mode_update config_option_update session_info_update usage_update notice compaction_update compaction_summary_chunk";

  test.each([
    ["v1", KINDS_V1, CONVERSATIONS_V1],
    ["v2", KINDS_V2, CONVERSATIONS_V2],
  ] as const)("%s: hold every kind of update", (_version, kinds, all) => {
    const told = all.flatMap(({ lines }) => lines.map(({ frame }) => asObject(asObject(frame?.["params"])["update"])));
    const missing = kinds.split(" ").filter((kind) => !told.some(({ sessionUpdate }) => sessionUpdate === kind));
    expect(missing).toEqual([]);
  });

  test.each([
    ...CONVERSATIONS_V1.map(({ name, lines }) => ["v1", name, lines] as const),
    ...CONVERSATIONS_V2.map(({ name, lines }) => ["v2", name, lines] as const),
  ])("%s: are valid: %s", (version, _name, lines) => {
    const methods = new Map<string, string>();
    const key = (from: TraceLine["dir"], frame: JsonObject) => `${from} ${JSON.stringify(frame["id"])}`;
    for (const { dir, frame } of lines) {
      if (frame === undefined) continue;
      const other = dir === "c2a" ? "a2c" : "c2a";
      if (typeof frame["method"] === "string" && "id" in frame) methods.set(key(dir, frame), frame["method"]);
      const asked = "method" in frame ? undefined : methods.get(key(other, frame));
      expect(validateFrame(version, dir === "c2a" ? "agent" : "client", frame, asked)).toBeUndefined();
    }
  });
});

test("a view that differs is told", () => {
  const [conversation] = CONVERSATIONS_V1;
  const lines = conversation?.lines ?? [];
  const isMessage = ({ frame }: TraceLine) =>
    isObject(frame) && JSON.stringify(frame).includes("agent_message_chunk") && JSON.stringify(frame).includes("two.");
  const direct = viewsV1(recorded(lines));
  const shortened = viewsV1(recorded(lines.filter((line) => !isMessage(line))));
  expect(differences(direct, shortened).map(({ path }) => path)).toEqual(["s.messages.1.content.0.text"]);
});
