// Guards docs/linger.md as far as it is about what is kept of a session (src/bridge/shown.ts): what of it is told once more, and
// as what; how much of it there is, what makes room first, and whether a client that was away may miss that.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createShown, lose, type Shown, show, showOnce, takeRetold, trim } from "../../src/bridge/shown.ts";
import type { JsonObject } from "../../src/protocol/json.ts";
import { text } from "../support/dialogue.ts";

/** Something that happens to what is kept. */
type Step = (shown: Shown) => void;

/** Updates that go to a client that is there, and such as come while it is away. */
const there = taking(false);
const away = taking(true);
const forgotten: Step = (shown) => trim(shown, 0);
/** What may be kept: not quite three updates of half a page. */
const LIMIT = 2000;
const lost: Step = (shown) => lose(shown, LIMIT);
const back: Step = (shown) => void takeRetold(shown, undefined);

function taking(isAway: boolean) {
  return (...updates: JsonObject[]): Step =>
    (shown) => {
      for (const update of updates) show(shown, { sessionId: "s1", update }, isAway);
    };
}

function kept(...steps: Step[]): Shown {
  const shown = createShown();
  for (const step of steps) step(shown);
  return shown;
}

/** The updates that a client which comes back is told: the state last. */
function told(shown: Shown, replayed?: number): unknown[] {
  const { frames, state } = takeRetold(shown, replayed);
  return [...frames, ...(state === undefined ? [] : [state])].map(({ params }) => (params as JsonObject)["update"]);
}

const halfPage = "x".repeat(600);
const base64 = (bytes: string) => ({ data: btoa(bytes) });
const tool = (fields: object, toolCallId = "t") => ({ sessionUpdate: "tool_call_update", toolCallId, ...fields });
const page = (toolCallId: string) => tool({ title: halfPage }, toolCallId);
const inTool = (words: string) => ({ type: "content", content: text(words) });
const toolChunk = (words: string) => ({
  sessionUpdate: "tool_call_content_chunk",
  toolCallId: "t",
  content: inTool(words),
});
const terminal = (fields: object) => ({ sessionUpdate: "terminal_update", terminalId: "x", ...fields });
const written = (bytes: string) => ({ sessionUpdate: "terminal_output_chunk", terminalId: "x", ...base64(bytes) });
const chunk = (content: object) => ({ sessionUpdate: "agent_message_chunk", messageId: "m", content });
const plan = (content: string) => ({ sessionUpdate: "plan_update", plan: { type: "markdown", planId: "p", content } });
const state = (name: string, fields: object = {}) => ({ sessionUpdate: "state_update", state: name, ...fields });
const notice = { sessionUpdate: "notice", severity: "info", title: "Look" };

describe("what is told", () => {
  test.each<[string, Step[], JsonObject[]]>([
    [
      "a terminal's output: what it was replaced by, and what was added to that",
      [there(written("a"), terminal({ output: base64("z") }), written("b"))],
      [terminal({ output: base64("zb") })],
    ],
    [
      "a terminal's output is left by a patch of something else",
      [there(written("a"), terminal({ exitStatus: { exitCode: 0 } }))],
      [terminal({ exitStatus: { exitCode: 0 }, output: base64("a") })],
    ],
    [
      "bytes that are no base64 are none",
      [there(written("a"), { ...written(""), data: "%" }, { ...written(""), data: 7 }, written("b"))],
      [terminal({ output: base64("ab") })],
    ],
    ["what an extension calls output stays", [there(tool({ output: "all" }))], [tool({ output: "all" })]],
    [
      "`_meta: null` takes away what was said before",
      [there(tool({ _meta: { x: 1 } }), tool({ _meta: null }))],
      [tool({ _meta: null })],
    ],
    ["the last state of one stretch of work", [there(state("running"), state("idle"))], [state("idle")]],
    ["an idle that is told twice, once", [away(state("idle"), state("idle", { x: 1 }))], [state("idle", { x: 1 })]],
    [
      "not how earlier work ended while the client was there",
      [there(state("idle"), state("running"))],
      [state("running")],
    ],
    [
      "how earlier work ended while it was away",
      [away(state("idle"), state("running"))],
      [state("idle"), state("running")],
    ],
    [
      "that too is told only once",
      [away(state("idle"), state("running"), state("idle")), back, there(state("running"))],
      [state("running")],
    ],
    ["a notice once", [away(notice, plan("a")), back], [plan("a")]],
  ])("%s", (_, steps, updates) => {
    expect(told(kept(...steps))).toEqual(updates);
  });

  test.each(["schema.json", "schema.unstable.json"])("every update of %s but notices", (name) => {
    const file = `../../node_modules/@agentclientprotocol/sdk/schema/v2/${name}`;
    const { $defs } = JSON.parse(readFileSync(new URL(file, import.meta.url), "utf8"));
    const { oneOf, anyOf = oneOf } = $defs.SessionUpdate;
    const kinds: string[] = anyOf.flatMap(
      (kind: { properties?: { sessionUpdate?: { const?: string } } }) => kind.properties?.sessionUpdate?.const ?? [],
    );
    expect(kinds).toContain("usage_update");
    const ids = { messageId: "m", toolCallId: "t", terminalId: "x", compactionId: "c", planId: "p", sessionId: "s2" };
    const isToldAgain = (sessionUpdate: string) =>
      told(kept(there({ ...ids, sessionUpdate, plan: ids, content: text("a") }))).length > 0;
    expect(kinds.filter((kind) => !isToldAgain(kind))).toEqual(["notice"]);
  });
});

describe("what is told beside the agent's own history", () => {
  test.each<[string, Step, Step, JsonObject[]]>([
    ["what came last before it", there(tool({ title: "Read" })), there(), [tool({ title: "Read" })]],
    ["not what is in it", there(tool({ title: "Read" })), there(tool({ status: "completed" })), []],
    ["not a thing only the history has", there(), there(tool({ title: "Read" })), []],
    [
      "no messages: their ids may be others",
      there(
        ...["user_message", "agent_message", "agent_thought", "session_message"].map((sessionUpdate) => ({
          sessionUpdate,
          messageId: "m",
          content: [text("a")],
        })),
      ),
      there(),
      [],
    ],
    ["a notice", away(notice), there(tool({ title: "Read" })), [notice]],
  ])("%s", (_, before, history, updates) => {
    const shown = kept(before);
    const replayed = shown.clock;
    history(shown);
    expect(told(shown, replayed)).toEqual(updates);
  });
});

describe("what is added to something forgotten", () => {
  test.each<[string, Step[], JsonObject[]]>([
    ["to a message: as it came", [there(chunk(text("a"))), forgotten, away(chunk(text("b")))], [chunk(text("b"))]],
    ["to a terminal: as it came", [there(written("a")), forgotten, away(written("b"))], [written("b")]],
    [
      "to a terminal of which something else was told since: as it came",
      [there(written("a")), forgotten, away(terminal({ exitStatus: null }), written("b"))],
      [terminal({ exitStatus: null }), written("b")],
    ],
    [
      "to a terminal whose output was told whole since: whole",
      [there(written("a")), forgotten, away(terminal({ output: base64("z") }), written("b"))],
      [terminal({ output: base64("zb") })],
    ],
    [
      "to a tool call of which something else was told since: as it came",
      [there(toolChunk("a")), forgotten, away(tool({ title: "Read" }), toolChunk("b"))],
      [tool({ title: "Read" }), toolChunk("b")],
    ],
    [
      "to a tool call whose content was told whole since: whole",
      [there(toolChunk("a")), forgotten, away(tool({ content: [inTool("z")] }), toolChunk("b"))],
      [tool({ content: [inTool("z"), inTool("b")] })],
    ],
    ["to something told whole since: nothing of it", [there(chunk(text("a"))), forgotten, there(chunk(text("b")))], []],
  ])("%s", (_, steps, updates) => {
    expect(told(kept(...steps))).toEqual(updates);
  });

  // Nobody knows whether the client has what was added last, and it cannot be told.
  test.each<[string, Step[], boolean]>([
    ["nothing was added", [], false],
    ["and nothing else is kept", [there(chunk(text("b")))], true],
    ["later than all that is kept", [there(tool({})), there(chunk(text("b")))], true],
    ["later than some of what is kept", [there(tool({}), chunk(text("b")), plan(""))], true],
    ["long before all that is kept", [there(chunk(text("b")), tool({}))], false],
    ["before an earlier loss", [there(chunk(text("b"))), lost, back], false],
  ])("may be missing when the connection breaks: %s", (_, steps, isGap) => {
    expect(kept(there(chunk(text("a"))), forgotten, ...steps, lost).gap).toBe(isGap);
  });
});

describe("how much is kept", () => {
  const nested = JSON.parse("[".repeat(100_000) + "]".repeat(100_000));
  test.each<[string, Step[], number, number]>([
    ["text counts by what is added", [there(...Array<JsonObject>(900).fill(chunk(text("x"))))], 900, 1000],
    [
      "a block that is no text counts",
      [there(chunk({ type: "image", mimeType: "image/png", data: halfPage }))],
      600,
      800,
    ],
    [
      "a terminal's bytes count, told whole or added",
      [there(terminal({ output: base64(halfPage) }), written(halfPage))],
      1200,
      1300,
    ],
    ["what replaces something counts in its place", [there(plan(halfPage), plan(""))], 1, 150],
    ["what is told once counts until then", [there(plan("")), away({ ...notice, title: halfPage }), back], 1, 150],
    ["so does an earlier state", [there(state("idle", { x: halfPage }), state("running"))], 1, 100],
    ["what nests too deeply to be told does not count", [there(tool({ rawInput: nested }))], 0, 0],
  ])("%s", (_, steps, least, most) => {
    const { size } = kept(...steps);
    expect(size).toBeGreaterThanOrEqual(least);
    expect(size).toBeLessThanOrEqual(most);
  });

  const [one, two, three] = [page("1"), page("2"), page("3")];
  test("what has not changed for longest makes room first, and what is left keeps its order", () => {
    const shown = kept(there(one, two, three), there(tool({ status: "completed" }, "1")));
    trim(shown, LIMIT * 0.75);
    expect(told(shown)).toEqual([{ ...one, status: "completed" }, three]);
  });

  test("of what made room the newest is known, and no more of it than has use", () => {
    const { forgotten: known } = kept(
      there(...Array.from({ length: 10_001 }, (_, index) => page(`${index}`))),
      forgotten,
    );
    expect([known.size, [...known].at(-1)]).toEqual([10_000, "tool_call_update 10000"]);
  });

  test("when the connection breaks half is kept, and that it was more is no gap", () => {
    const shown = kept(there(one, two, three), lost);
    expect(shown.gap).toBe(false);
    expect(told(shown)).toEqual([three]);
  });

  test("what makes room while the client is away is a gap, until the client is back", () => {
    const shown = kept(
      away(one),
      (shown) => showOnce(shown, "_vendor/told", {}),
      (shown) => trim(shown, 0, true),
    );
    expect(shown.gap).toBe(true);
    back(shown);
    expect(shown.gap).toBe(false);
  });
});
