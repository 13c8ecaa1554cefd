// Guards docs/mapping.md §4: list, resume and close are a v2 client's to rely on, whichever of load, list, resume and close
// its v1 agent has (all 16 combinations, with a state directory and without).
import { describe, expect, test } from "vitest";
import { asArray, asObject, asString, type JsonObject } from "../../src/protocol/json.ts";
import {
  agentHello,
  agentText,
  type Dialogue,
  fail,
  type Outcome,
  pairedDialogue,
  reply,
  request,
  text,
  update,
} from "../support/dialogue.ts";
import { remembered } from "../support/remembered.ts";

interface Offers {
  load: boolean;
  list: boolean;
  resume: boolean;
  close: boolean;
}

const combinations: Offers[] = Array.from({ length: 16 }, (_, bits) => ({
  load: (bits & 1) > 0,
  list: (bits & 2) > 0,
  resume: (bits & 4) > 0,
  close: (bits & 8) > 0,
}));

const nameOf = (offers: Offers) =>
  Object.entries(offers)
    .flatMap(([name, has]) => (has ? [name] : []))
    .join(", ") || "nothing";

const helloOf = ({ load, list, resume, close }: Offers) => ({
  ...agentHello,
  agentCapabilities: {
    ...(load && { loadSession: true }),
    sessionCapabilities: { ...(list && { list: {} }), ...(resume && { resume: {} }), ...(close && { close: {} }) },
  },
});

/** A v2 client's side of a core whose agent offers so much, and who speaks one sentence in a turn. */
function client(offers: Offers, remembers: boolean) {
  const dialogue: Dialogue = pairedDialogue({ remembers }, helloOf(offers));
  const methods: Record<string, boolean> = {
    "session/load": offers.load,
    "session/list": offers.list,
    "session/resume": offers.resume,
    "session/close": offers.close,
    "session/new": true,
    "session/prompt": true,
  };
  let nextId = 1;
  let turns = 0;

  /** The frames that the agent sends for one it got. */
  function agentDoes({ id, method, params }: JsonObject): unknown[] {
    if (id === undefined) return [];
    if (!methods[String(method)]) return [fail(id, -32601, "Method not found")];
    const chunk = (sessionUpdate: string, words: string) => update("s1", { sessionUpdate, content: text(words) });
    switch (method) {
      case "session/new":
        return [reply(id, { sessionId: "s1" })];
      case "session/list":
        return [reply(id, { sessions: [{ sessionId: "s1", cwd: "/work" }] })];
      case "session/prompt":
        turns++;
        return [
          agentText(`Answer to ${asString(asObject(asArray(asObject(params)["prompt"])[0])["text"])}`),
          reply(id, { stopReason: "end_turn" }),
        ];
      case "session/load":
        return [
          ...Array.from({ length: turns }, (_, n) => [
            chunk("user_message_chunk", `prompt ${n + 1}`),
            chunk("agent_message_chunk", `Answer to prompt ${n + 1}`),
          ]).flat(),
          reply(id, {}),
        ];
      default:
        return [reply(id, {})];
    }
  }

  /** Answers what the core asks of agent and world until it is at rest; what the client got. */
  function settle(outcome: Outcome): JsonObject[] {
    const got: JsonObject[] = [];
    const waiting = [outcome];
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      got.push(...next.toClient);
      for (const frame of next.toAgent) for (const said of agentDoes(frame)) waiting.push(dialogue.agent(said));
      for (const act of next.acts) {
        if (act.type !== "recall") continue;
        const kept = remembered(dialogue.acts);
        const index = [{ sessionId: "s1", cwd: "/work", updatedAt: "2026-01-01T00:00:00.000Z" }];
        const value = act.sessionId === undefined ? index : kept;
        waiting.push(dialogue.event({ type: "recalled", token: act.token, value }));
      }
      if (waiting.length === 0) {
        const later = dialogue.wait(1000);
        if (later.sent.length + later.acts.length > 0) waiting.push(later);
      }
    }
    return got;
  }

  return {
    /** Sends a request; its answer, which must be the only one, and the session's updates around it. */
    ask(method: string, params: object) {
      const id = `c${nextId++}`;
      const frames = settle(dialogue.client(request(id, method, params)));
      const answers = frames.filter((frame) => frame["id"] === id);
      expect(answers, `answers to ${method}`).toHaveLength(1);
      const answer = answers[0] ?? {};
      const updates = frames.map((frame) => asObject(asObject(frame["params"])["update"]));
      const before = updates.slice(0, frames.indexOf(answer));
      expect(asObject(answer["error"])["code"], `${method} is a baseline method`).not.toBe(-32601);
      return { result: answer["result"], error: asObject(answer["error"]), before, updates };
    },
  };
}

const messages = (updates: readonly JsonObject[]) =>
  updates.flatMap(({ sessionUpdate, messageId }) =>
    messageId === undefined ? [] : [`${String(sessionUpdate).replace("_chunk", "")} ${messageId}`],
  );
const inState = (updates: readonly JsonObject[]) =>
  updates.flatMap(({ sessionUpdate, state }) => (sessionUpdate === "state_update" ? [state] : []));
const notices = (updates: readonly JsonObject[]) =>
  updates.filter(({ sessionUpdate }) => sessionUpdate === "notice").length;

const replay = { replayFrom: { type: "start" } };
const s1 = { sessionId: "s1", cwd: "/work" };

for (const remembers of [false, true]) {
  describe(remembers ? "with a state directory" : "without a state directory", () => {
    test.each(combinations.map((offers) => [nameOf(offers), offers] as const))("an agent that has %s", (_, offers) => {
      const { ask } = client(offers, remembers);
      const comesBack = offers.load || offers.resume;
      const said: string[] = [];
      const prompt = (words: string) => {
        const { result, updates } = ask("session/prompt", { sessionId: "s1", prompt: [text(words)] });
        expect(result).toEqual({ messageId: expect.any(String) });
        expect(inState(updates)).toEqual(["running", "idle"]);
        said.push(...messages(updates));
      };
      const listed = () =>
        asArray(asObject(ask("session/list", {}).result)["sessions"]).map((entry) => asObject(entry)["sessionId"]);
      /** The state always; the history as far as anybody has it, with its ids, else a notice. */
      const resumes = (historyIsKept: boolean) => {
        const quiet = ask("session/resume", s1);
        expect(quiet.result).toEqual({});
        expect(quiet.before).toEqual([{ sessionUpdate: "state_update", state: "idle" }]);
        const told = ask("session/resume", { ...s1, ...replay });
        expect(told.result).toEqual({});
        expect(inState(told.before)).toEqual(["idle"]);
        expect(told.before.at(-1)).toEqual({ sessionUpdate: "state_update", state: "idle" });
        expect(messages(told.before)).toEqual(historyIsKept ? said : []);
        expect(notices(told.before)).toBe(historyIsKept ? 0 : 1);
      };

      expect(ask("session/new", { cwd: "/work" }).result).toEqual({ sessionId: "s1" });
      prompt("prompt 1");
      expect(listed()).toEqual(["s1"]);

      resumes(offers.load || remembers);
      prompt("prompt 2");

      expect(ask("session/close", { sessionId: "s1" }).result).toEqual({});
      expect(ask("session/close", { sessionId: "s1" }).result).toEqual({});
      expect(ask("session/prompt", { sessionId: "s1", prompt: [text("closed")] }).error).toMatchObject({
        code: -32002,
      });
      expect(listed()).toEqual(comesBack || offers.list ? ["s1"] : []);

      if (comesBack) {
        resumes(offers.load || remembers);
        prompt("prompt 3");
        expect(ask("session/close", { sessionId: "s1" }).result).toEqual({});
      } else {
        expect(ask("session/resume", s1).error).toEqual({
          code: -32002,
          message: expect.any(String),
          data: { sessionId: "s1" },
        });
      }
      expect(ask("session/resume", { ...s1, replayFrom: { type: "_elsewhere" } }).error).toMatchObject({
        code: -32602,
      });
    });
  });
}
