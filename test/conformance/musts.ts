// What the schema of version 2 demands in its descriptions and no row of the kit checks.
import { expect } from "vitest";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import { stateOf, text, turn, turnFrom, updateOf, updatesIn } from "../support/conversation.ts";
import { type Kit, ofKind, received, statesIn } from "./kit.ts";

export interface Must {
  title: string;
  /** As a row's gate. */
  gate?: string;
  check(kit: Kit): Promise<void>;
}

/** That a request is refused with -32602 and the agent hears nothing of it. */
async function refusedUnheard(kit: Kit, method: string, params: JsonObject): Promise<void> {
  const { bridge } = await kit.main();
  const heard = bridge.agentSide().toAgent.length;
  expect(await bridge.fault(method, params), `${method} ${JSON.stringify(params)}`).toMatchObject({ code: -32602 });
  await bridge.call("_test/echo", {});
  expect(bridge.agentSide().toAgent.slice(heard)).toMatchObject([{ method: "_test/echo" }]);
}

/** What the agent was told when the client answered its permission request this way. */
async function told(kit: Kit, answer: JsonObject): Promise<unknown> {
  const { bridge } = await kit.main();
  bridge.onRequest("session/request_permission", () => answer);
  const { updates } = await kit.turn("#permission");
  bridge.onRequest("session/request_permission", () => ({ outcome: { outcome: "selected", optionId: "yes" } }));
  return ofKind(updates, "agent_message_chunk")
    .map((update) => asObject(update["content"])["text"])
    .join("");
}

export const musts: Must[] = [
  {
    title: "session/resume tells the state after any replay and before its result, also without replay",
    async check(kit) {
      for (const { before } of [await kit.replayed(), await kit.resumed()]) {
        expect(before.at(-1)).toEqual({ sessionUpdate: "state_update", state: "idle" });
        expect(statesIn(before)).toEqual(["idle"]);
      }
    },
  },
  {
    title: "session/close in the middle of a turn: last updates, idle, result, and nothing of the session after it",
    async check(kit) {
      const main = await kit.main();
      const { close, frames, sessionId } = await kit.closed();
      await main.bridge.call("_test/echo", {});
      const all = received(main);
      const idle = frames.at(-1);
      expect(idle && all.indexOf(idle)).toBeLessThan(all.indexOf(close));
      const later = all.slice(all.indexOf(close) + 1);
      expect(later.filter((frame) => asObject(frame["params"])["sessionId"] === sessionId)).toEqual([]);
    },
  },
  {
    title: "session/close refuses a held prompt with -32800, and the one that was taken keeps its id",
    async check(kit) {
      const { bridge } = await kit.main();
      const { sessionId } = await kit.session();
      const from = bridge.frames.length;
      const first = await bridge.request("session/prompt", { sessionId, prompt: [text("#stream")] });
      const second = bridge.request("session/prompt", { sessionId, prompt: [text("#text")] });
      await bridge.call("session/close", { sessionId });
      expect((await second)["error"]).toMatchObject({ code: -32800 });
      const { updates, messageId } = await turnFrom(bridge, sessionId, from, first);
      expect(ofKind(updates, "user_message").map((update) => update["messageId"])).toEqual([messageId]);
    },
  },
  {
    title: "content, MCP servers and replay cursors of unknown types are -32602, and the agent hears nothing",
    async check(kit) {
      const { sessionId } = await kit.session();
      await refusedUnheard(kit, "session/prompt", { sessionId, prompt: [text("#text"), { type: "_hologram" }] });
      await refusedUnheard(kit, "session/new", { cwd: "/work", mcpServers: [{ type: "_pigeon", name: "coo" }] });
      const replayFrom = { type: "_yesterday" };
      await refusedUnheard(kit, "session/resume", { sessionId, cwd: "/work", replayFrom });
    },
  },
  {
    title: "options and values nobody offered are -32602, and the agent hears nothing",
    gate: "inferred:configOptions",
    async check(kit) {
      const { sessionId, result } = await kit.session();
      const set = (option: JsonObject) =>
        refusedUnheard(kit, "session/set_config_option", { sessionId, type: "id", ...option });
      await set({ configId: "no-such-option", value: "small" });
      await set({ configId: "mode", value: "no-such-mode" });
      await set({ configId: "model", value: "no-such-model" });
      await set({ configId: "thinking", value: "small" });
      const after = await (await kit.main()).bridge.call("session/resume", { sessionId, cwd: "/work" });
      expect(after["configOptions"]).toEqual(result["configOptions"]);
    },
  },
  {
    title: "after requires_action comes running when work goes on, and idle when it ends",
    async check(kit) {
      expect(statesIn((await kit.permission()).updates)).toEqual(["running", "requires_action", "running", "idle"]);
      const { bridge } = await kit.asking(2);
      const { sessionId } = await bridge.call("session/new", { cwd: "/work" });
      const from = bridge.frames.length;
      const response = await bridge.request("session/prompt", { sessionId, prompt: [text("#permission")] });
      const blocked = (frame: JsonObject) => stateOf(updateOf(frame, String(sessionId)) ?? {}) === "requires_action";
      await bridge.next("requires_action", blocked, from);
      bridge.notify("session/cancel", { sessionId });
      const { updates } = await turnFrom(bridge, String(sessionId), from, response);
      expect(statesIn(updates)).toEqual(["running", "requires_action", "idle"]);
    },
  },
  {
    title:
      "what a v1 agent says outside a turn passes as background activity: version 1 has no word for work of its own",
    async check(kit) {
      const main = await kit.main();
      const { sessionId, frames } = await kit.turn("#text");
      await main.bridge.call("_test/speak", { sessionId });
      const all = received(main);
      const last = frames.at(-1);
      const later = all.slice(last === undefined ? 0 : all.indexOf(last) + 1);
      const updates = updatesIn(later, sessionId);
      expect(updates.map((update) => update["sessionUpdate"])).toEqual(["agent_message_chunk", "tool_call_update"]);
    },
  },
  {
    title: "background work is never named in a state, so none can be missing in a later one",
    async check(kit) {
      await kit.everything();
      await kit.permission();
      const states = received(await kit.main()).map((frame) => asObject(asObject(frame["params"])["update"]));
      for (const update of ofKind(states, "state_update")) expect(update).not.toHaveProperty("background");
    },
  },
  {
    title: "an unknown outcome, an option nobody offered, or an answer without an outcome is no approval",
    async check(kit) {
      const selected = { outcome: "selected" };
      for (const answer of [
        { outcome: { outcome: "_approved" } },
        { outcome: { outcome: "approved", optionId: "yes" } },
        { outcome: { ...selected, optionId: "always" } },
        { outcome: selected },
        { outcome: { ...selected, optionId: 1 } },
        {},
      ])
        expect(await told(kit, answer), JSON.stringify(answer)).toBe("permission: cancelled");
      expect(await told(kit, { outcome: { ...selected, optionId: "yes" } })).toBe("permission: yes");
    },
  },
  {
    title: "where methods to log in are offered, both auth/login and auth/logout are there",
    gate: "inferred:authMethods",
    async check(kit) {
      const { bridge } = await kit.main();
      expect(await bridge.call("auth/login", { methodId: "account" })).toEqual({});
      expect(await bridge.call("auth/logout", {})).toEqual({});
      const methods = bridge.agentSide().toAgent.map((frame) => frame["method"]);
      expect(methods).toEqual(expect.arrayContaining(["authenticate", "logout"]));
    },
  },
  {
    title: "cancelled work ends as cancelled though the agent reports an error for it",
    async check(kit) {
      const { bridge } = await kit.main();
      const { sessionId } = await kit.session();
      const from = bridge.frames.length;
      const response = await bridge.request("session/prompt", { sessionId, prompt: [text("#throws")] });
      bridge.notify("session/cancel", { sessionId });
      const { idle } = await turnFrom(bridge, sessionId, from, response);
      expect(idle).toMatchObject({ state: "idle", stopReason: "cancelled" });
      expect(idle).not.toHaveProperty("error");
      expect((await turn(bridge, sessionId, "#text")).idle).toMatchObject({ stopReason: "end_turn" });
    },
  },
];
