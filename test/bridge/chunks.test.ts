// Guards bridge/chunks.ts: chunks known by their pattern lead to the very frames, records and questions, in the very order,
// that they lead to when each is parsed.
import fc from "fast-check";
import { expect, test } from "vitest";
import { takesChunks } from "../../src/bridge/chunks.ts";
import type { BridgeOptions } from "../../src/bridge/state.ts";
import type { JsonObject } from "../../src/protocol/json.ts";
import { parsePathMap } from "../../src/translate/path-map.ts";
import {
  agentHello,
  agentText,
  createDialogue,
  type Dialogue,
  minted,
  openDialogue,
  openDowngrade,
  prompt,
  RUNNING,
  reply,
  request,
  runningDialogue,
  text,
  update,
} from "../support/dialogue.ts";

test("the third chunk of a message is not parsed, and the client gets what it got of the others", () => {
  const dialogue = runningDialogue();
  const texts = ["one", 'two "\\n', 'three "\\n'];
  const outcomes = texts.map((words) => dialogue.agentLine(JSON.stringify(agentText(words))));
  expect(outcomes.map(({ toClient }) => toClient)).toEqual(texts.map((words) => [agentText(words, minted(2))]));
  expect(outcomes.map(({ spliced }) => spliced)).toEqual([0, 0, 1]);
});

/** A dialogue that knows the pattern of the chunks of s1. */
function knowing(options: Partial<BridgeOptions> = {}): Dialogue {
  const dialogue = runningDialogue(options);
  for (const words of ["one", "two", "three"]) dialogue.agentLine(JSON.stringify(agentText(words)));
  dialogue.agent(reply(RUNNING, { stopReason: "end_turn" }));
  return dialogue;
}

test.each([
  [
    "being resumed: it may be history",
    request("r", "session/resume", { sessionId: "s1", cwd: "/work", replayFrom: { type: "start" } }),
  ],
  ["that is closed", request("c", "session/close", { sessionId: "s1" })],
])("a chunk of a session %s", (_, frame) => {
  const dialogue = knowing();
  dialogue.client(frame);
  expect(dialogue.agentLine(JSON.stringify(agentText("four"))).toClient).toEqual([]);
});

test("what was said in chunks as such counts where the whole is said once more", () => {
  const dialogue = knowing({ restatedMessages: "drop" });
  dialogue.agentLine(JSON.stringify(agentText("a ")));
  dialogue.agentLine(JSON.stringify(agentText("\\n")));
  dialogue.agentLine(JSON.stringify(agentText("é")));
  expect(dialogue.agentLine(JSON.stringify(agentText("a \\né", "again"))).toClient).toEqual([]);
});

test.each([
  ["in an upgrade", openDialogue(), true],
  ["before it", createDialogue(), false],
  ["for a client of version 1", openDowngrade(), false],
  ["with paths that differ", openDialogue({ paths: parsePathMap(["/a=/b"]) }), false],
  ["for a client that may be lost", openDialogue({ lingerLimit: 1000 }), false],
])("chunks as such %s: %j", (_, { bridge }, expected) => {
  expect(takesChunks(bridge)).toBe(expected);
});

/** One thing that happens; `words`, `id` and `meta` are what is said, where anything is. */
const moves = fc.record({
  act: fc.constantFrom(
    ...Array<string>(20).fill("message"),
    ...["thought", "thought", "thought", "echo", "image", "tool", "plan"],
    ...["prompt", "prompt", "cancel", "answer", "resume", "wait"],
  ),
  words: fc.constantFrom("", "a", "ab", 'some "words"\n', "é漢😀", "hello", "\ud800"),
  id: fc.constantFrom(...Array<undefined>(9).fill(undefined), "m1", "m1", "m2", ""),
  meta: fc.constantFrom<(object | string | undefined)[]>(...Array<undefined>(9).fill(undefined), { text: "b" }, "none"),
});
type Move = typeof moves extends fc.Arbitrary<infer T> ? T : never;

const KINDS: Record<string, string> = {
  message: "agent_message_chunk",
  image: "agent_message_chunk",
  thought: "agent_thought_chunk",
  echo: "user_message_chunk",
};

function agentUpdate({ act, words, id, meta }: Move): JsonObject {
  const fields = { ...(id !== undefined && { messageId: id }), ...(meta !== undefined && { _meta: meta }) };
  if (act === "tool") return update("s1", { sessionUpdate: "tool_call", toolCallId: words, title: "t", ...fields });
  if (act === "plan") return update("s1", { sessionUpdate: "plan", entries: [], ...fields });
  const content = act === "image" ? { type: "image", data: "", mimeType: "image/png" } : text(words);
  return update("s1", { sessionUpdate: KINDS[act], content, ...fields });
}

/** Lets all that happen, and tells everything that came of it. */
function story(dialogue: Dialogue, happens: readonly Move[], say: (frame: JsonObject) => unknown): unknown[] {
  const told: unknown[] = [];
  const open: unknown[] = [];
  const hear = (outcome: ReturnType<Dialogue["event"]>) => {
    for (const frame of outcome.toAgent) if ("method" in frame && "id" in frame) open.push(frame["id"]);
    const { spliced: _, ...rest } = outcome;
    told.push(rest);
  };
  for (const [index, move] of happens.entries()) {
    if (move.act === "prompt") hear(dialogue.client(prompt(index, move.words)));
    else if (move.act === "cancel")
      hear(dialogue.client({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId: "s1" } }));
    else if (move.act === "resume")
      hear(dialogue.client(request(index, "session/resume", { sessionId: "s1", cwd: "/work", replayFrom: "start" })));
    else if (move.act === "wait") hear(dialogue.wait(move.words.length * 30));
    else if (move.act !== "answer") hear(say(agentUpdate(move)) as ReturnType<Dialogue["event"]>);
    else if (open.length > 0) hear(dialogue.agent(reply(open.shift(), { stopReason: "end_turn" })));
  }
  return told;
}

const settings: Partial<BridgeOptions>[] = [
  {},
  { restatedMessages: "drop", settle: 50, replaySettle: 20 },
  { unprompted: "running" },
  { remembers: true },
];
const forgetful = { ...agentHello, agentCapabilities: { ...agentHello.agentCapabilities, loadSession: false } };

test.each([
  ["an agent that can load", agentHello],
  ["an agent that cannot", forgetful],
])("whatever happens, with %s", (_, hello) => {
  let spliced = 0;
  fc.assert(
    fc.property(fc.array(moves, { size: "large", maxLength: 40 }), fc.constantFrom(...settings), (happens, options) => {
      const parsed = openDialogue(options, hello);
      const known = openDialogue(options, hello);
      const inKnown = story(known, happens, (frame) => {
        const outcome = known.agentLine(JSON.stringify(frame));
        spliced += outcome.spliced;
        return outcome;
      });
      expect(inKnown).toEqual(story(parsed, happens, (frame) => parsed.agent(frame)));
    }),
    { numRuns: 200 },
  );
  expect(spliced).toBeGreaterThan(100);
});
