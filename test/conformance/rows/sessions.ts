// Rows about sessions: opening, listing, resuming, closing, deleting, and their options.
import { expect } from "vitest";
import { asArray, asObject, asString, type JsonObject } from "../../../src/protocol/json.ts";
import { turn, turnFrom } from "../../support/conversation.ts";
import { validateV2 } from "../../support/schema.ts";
import { type Kit, ofKind, type Resumed, type Row } from "../kit.ts";

const session = "capabilities.session";

const HISTORY = [
  ...["user_message", "user_message_chunk", "agent_message", "agent_message_chunk", "agent_thought"],
  ...["agent_thought_chunk", "tool_call_update", "tool_call_content_chunk", "plan_update"],
];

const listed = async (kit: Kit, params: JsonObject = {}) =>
  asArray((await (await kit.main()).bridge.call("session/list", params))["sessions"]).map(asObject);

async function resume(kit: Kit, sessionId: unknown): Promise<JsonObject> {
  return (await kit.main()).bridge.request("session/resume", { sessionId, cwd: "/work" });
}

/** That a resume succeeded with a valid result. */
function succeeded({ result }: JsonObject): void {
  expect(validateV2("ResumeSessionResponse", result)).toBeUndefined();
}

/** That options have the shape the kit asks for. */
function wellFormed(options: unknown): void {
  for (const option of asArray(options).map(asObject)) {
    expect(option).toMatchObject({ configId: expect.stringMatching(/./), name: expect.stringMatching(/./) });
    if (option["type"] === "boolean") expect(typeof option["currentValue"]).toBe("boolean");
    if (option["type"] !== "select") continue;
    expect(typeof option["currentValue"]).toBe("string");
    const entries = asArray(option["options"]).map(asObject);
    expect(entries.length).toBeGreaterThan(0);
    expect(new Set(entries.map((entry) => "options" in entry)).size).toBe(1);
  }
}

/** The values a select can have, its groups opened. */
const valuesOf = (option: JsonObject) =>
  asArray(option["options"])
    .map(asObject)
    .flatMap((entry) => ("options" in entry ? asArray(entry["options"]).map(asObject) : [entry]))
    .map((entry) => entry["value"]);

const idsOf = (options: unknown) => asArray(options).map((option) => asObject(option)["configId"]);

async function optionsOfNewSession(kit: Kit): Promise<{ sessionId: string; options: JsonObject[] }> {
  const { sessionId, result } = await kit.session();
  return { sessionId, options: asArray(result["configOptions"]).map(asObject) };
}

const historyIn = ({ before }: Resumed) => ofKind(before, ...HISTORY);

export const sessionRows: Row[] = [
  {
    id: "ACP-SESSION-001",
    tier: "CAPABILITY",
    gate: session,
    title: "session/new with nothing but a cwd gives an id, in a valid result",
    async check(kit) {
      const { sessionId, result } = await kit.session({ cwd: "/work" });
      expect(sessionId).toMatch(/./);
      expect(validateV2("NewSessionResponse", result)).toBeUndefined();
    },
  },
  {
    id: "ACP-SESSION-002",
    tier: "CAPABILITY",
    gate: session,
    title: "two sessions have two ids",
    async check(kit) {
      expect((await kit.session()).sessionId).not.toBe((await kit.session()).sessionId);
    },
  },
  {
    id: "ACP-SESSION-203",
    tier: "CAPABILITY",
    gate: session,
    title: "MCP servers may be left out or be none",
    async check(kit) {
      expect((await kit.session({ cwd: "/work" })).sessionId).toMatch(/./);
      expect((await kit.session({ cwd: "/work", mcpServers: [] })).sessionId).toMatch(/./);
    },
  },
  {
    id: "ACP-RESUME-201",
    tier: "CAPABILITY",
    gate: session,
    title: "a session just opened, listed or closed is resumed (a closed one if the agent can), never -32601",
    async check(kit) {
      const { bridge } = await kit.main();
      const { sessionId } = await kit.session();
      succeeded(await resume(kit, sessionId));
      const [first] = await listed(kit);
      succeeded(await resume(kit, first?.["sessionId"]));
      await bridge.call("session/close", { sessionId });
      const answer = await resume(kit, sessionId);
      if ("error" in answer) expect(answer["error"]).toMatchObject({ code: -32002, data: { sessionId } });
      else succeeded(answer);
    },
  },
  {
    id: "ACP-RESUME-202",
    tier: "CAPABILITY",
    gate: session,
    title: "with replayFrom, the history comes before the result and nothing of it after",
    async check(kit) {
      const replayed = await kit.replayed();
      succeeded(replayed.response);
      expect(replayed.after.filter((update) => update["sessionUpdate"] !== "notice")).toEqual([]);
    },
  },
  {
    id: "ACP-RESUME-203",
    tier: "CAPABILITY",
    gate: session,
    title: "without replayFrom, no history comes",
    async check(kit) {
      const resumed = await kit.resumed();
      succeeded(resumed.response);
      expect(historyIn(resumed)).toEqual([]);
    },
  },
  {
    id: "ACP-RESUME-204",
    tier: "CAPABILITY",
    gate: session,
    title: "a replayed user message has the id its prompt was answered with",
    async check(kit) {
      const { messageId } = await kit.everything();
      const ids = ofKind((await kit.replayed()).before, "user_message").map((update) => update["messageId"]);
      if (ids.length > 0) expect(ids).toEqual([messageId]);
    },
  },
  {
    id: "ACP-RESUME-205",
    tier: "CAPABILITY",
    gate: session,
    title: "in a replay a chunk follows a whole message without content",
    async check(kit) {
      const begun = new Set<string>();
      for (const update of historyIn(await kit.replayed())) {
        const kind = String(update["sessionUpdate"]);
        const key = `${kind.replace("_chunk", "")} ${update["messageId"]}`;
        if (/_(message|thought)$/.test(kind)) begun.add(key);
        if (/_(message|thought)_chunk$/.test(kind)) expect(begun).toContain(key);
      }
    },
  },
  {
    id: "ACP-LIST-201",
    tier: "CAPABILITY",
    gate: session,
    title: "session/list gives a valid list",
    async check(kit) {
      await kit.session();
      const result = await (await kit.main()).bridge.call("session/list", {});
      expect(asArray(result["sessions"]).length).toBeGreaterThan(0);
      expect(validateV2("ListSessionsResponse", result)).toBeUndefined();
    },
  },
  {
    id: "ACP-LIST-202",
    tier: "CAPABILITY",
    gate: session,
    title: "the list for a cwd without sessions is empty",
    async check(kit) {
      expect(await listed(kit, { cwd: "/nobody/works/here" })).toEqual([]);
    },
  },
  {
    id: "ACP-LIST-203",
    tier: "CAPABILITY",
    gate: session,
    title: "the list for a cwd has only sessions of that cwd",
    async check(kit) {
      await kit.session({ cwd: "/elsewhere" });
      await kit.session({ cwd: "/work" });
      const sessions = await listed(kit, { cwd: "/elsewhere" });
      expect(sessions.length).toBeGreaterThan(0);
      for (const entry of sessions) expect(entry["cwd"]).toBe("/elsewhere");
    },
  },
  {
    id: "ACP-LIST-204",
    tier: "CAPABILITY",
    gate: session,
    title: "every listed cwd is absolute",
    async check(kit) {
      for (const entry of await listed(kit)) expect(entry["cwd"]).toMatch(/^\//);
    },
  },
  {
    id: "ACP-CLOSE-201",
    tier: "CAPABILITY",
    gate: session,
    title: "closing a session at rest has an empty, valid result",
    async check(kit) {
      const { sessionId } = await kit.session();
      const result = await (await kit.main()).bridge.call("session/close", { sessionId });
      expect(result).toEqual({});
    },
  },
  {
    id: "ACP-CLOSE-202",
    tier: "CAPABILITY",
    gate: session,
    title: "closing a session at work cancels the work first (as ACP-CANCEL-208)",
    async check(kit) {
      const { idle, close } = await kit.closed();
      expect(idle).toMatchObject({ stopReason: "cancelled" });
      expect(close["result"]).toEqual({});
    },
  },
  {
    id: "ACP-DELETE-201",
    tier: "CAPABILITY",
    gate: "capabilities.session.delete",
    title: "deleting a session has an object for a result",
    async check(kit) {
      const { sessionId } = await kit.session();
      expect(await (await kit.main()).bridge.call("session/delete", { sessionId })).toEqual({});
    },
  },
  {
    id: "ACP-DELETE-202",
    tier: "CAPABILITY",
    gate: "capabilities.session.delete",
    title: "a deleted session is listed no more",
    async check(kit) {
      const { sessionId } = await kit.session();
      const ids = async () => (await listed(kit)).map((entry) => entry["sessionId"]);
      expect(await ids()).toContain(sessionId);
      await (await kit.main()).bridge.call("session/delete", { sessionId });
      expect(await ids()).not.toContain(sessionId);
    },
  },
  {
    id: "ACP-DELETE-203",
    tier: "ADVISORY",
    title: "deleting a session nobody knows succeeds, where sessions can be deleted; else it is -32601",
    async check(kit) {
      const answer = await (await kit.main()).bridge.request("session/delete", { sessionId: "nobody's" });
      if (await kit.isOpen("capabilities.session.delete")) expect(answer["result"]).toEqual({});
      else expect(answer["error"]).toMatchObject({ code: -32601 });
    },
  },
  {
    id: "ACP-ADDDIRS-201",
    tier: "CAPABILITY",
    gate: "capabilities.session.additionalDirectories",
    title: "session/new takes another directory",
    async check(kit) {
      expect((await kit.session({ cwd: "/work", additionalDirectories: ["/more"] })).sessionId).toMatch(/./);
    },
  },
  {
    id: "ACP-ADDDIRS-202",
    tier: "CAPABILITY",
    gate: "capabilities.session.additionalDirectories",
    title: "session/resume takes another directory",
    async check(kit) {
      const { sessionId } = await kit.session();
      const params = { sessionId, cwd: "/work", additionalDirectories: ["/more"] };
      succeeded(await (await kit.main()).bridge.request("session/resume", params));
    },
  },
  {
    id: "ACP-CONFIG-201",
    tier: "CAPABILITY",
    gate: "inferred:configOptions",
    title: "options are well formed",
    async check(kit) {
      wellFormed((await kit.session()).result["configOptions"]);
    },
  },
  {
    id: "ACP-CONFIG-202",
    tier: "CAPABILITY",
    gate: "inferred:configOptions",
    title: "setting an option gives the whole list, with the new value",
    async check(kit) {
      const { bridge } = await kit.main();
      const { sessionId, options } = await optionsOfNewSession(kit);
      for (const { type, configId, currentValue, ...option } of options) {
        const value = type === "boolean" ? !currentValue : valuesOf(option).find((other) => other !== currentValue);
        const set = { sessionId, configId, type: type === "boolean" ? "boolean" : "id", value };
        const { configOptions } = await bridge.call("session/set_config_option", set);
        expect(idsOf(configOptions)).toEqual(idsOf(options));
        const now = asArray(configOptions).map(asObject);
        expect(now.find((other) => other["configId"] === configId)?.["currentValue"]).toBe(value);
      }
    },
  },
  {
    id: "ACP-CONFIG-203",
    tier: "CAPABILITY",
    gate: "inferred:configOptions",
    title: "options of a resumed session are well formed",
    async check(kit) {
      const { configOptions } = asObject((await kit.resumed()).response["result"]);
      expect(asArray(configOptions).length).toBeGreaterThan(0);
      wellFormed(configOptions);
    },
  },
  {
    id: "ACP-CONFIG-204",
    tier: "CAPABILITY",
    gate: "inferred:configOptions",
    title: "a select's value is one it can have",
    async check(kit) {
      for (const option of (await optionsOfNewSession(kit)).options)
        if (option["type"] === "select") expect(valuesOf(option)).toContain(option["currentValue"]);
    },
  },
  {
    id: "ACP-CONFIG-206",
    tier: "CAPABILITY",
    gate: "inferred:configOptions",
    title: "an announced change carries the whole list",
    async check(kit) {
      const { options } = await optionsOfNewSession(kit);
      const changes = ofKind((await kit.everything()).updates, "config_option_update");
      expect(changes.length).toBeGreaterThan(0);
      for (const { configOptions } of changes) {
        expect(idsOf(configOptions)).toEqual(idsOf(options));
        wellFormed(configOptions);
      }
    },
  },
  {
    id: "ACP-MCP-201",
    tier: "INFORMATIONAL",
    gate: "capabilities.session.mcp.stdio",
    title: "session/new takes an MCP server on stdio, and the agent gets it",
    async check(kit) {
      const server = { name: "tools", command: "/bin/true", args: ["-v"], env: [{ name: "A", value: "b" }] };
      await kit.session({ cwd: "/work", mcpServers: [{ type: "stdio", ...server }] });
      expect(await serversAtAgent(kit)).toEqual([server]);
    },
  },
  {
    id: "ACP-MCP-202",
    tier: "INFORMATIONAL",
    gate: "capabilities.session.mcp.http",
    title: "session/new takes an MCP server over http, and the agent gets it",
    async check(kit) {
      const server = { type: "http", name: "tools", url: "http://localhost:1/", headers: [{ name: "A", value: "b" }] };
      await kit.session({ cwd: "/work", mcpServers: [server] });
      expect(await serversAtAgent(kit)).toEqual([server]);
    },
  },
  {
    id: "ACP-INFO-UNKNOWNSESSION-001",
    tier: "INFORMATIONAL",
    title: "a prompt for a session nobody knows is -32002, with its id",
    async check(kit) {
      const { bridge } = await kit.main();
      const prompt = { sessionId: "nobody's", prompt: [{ type: "text", text: "#text" }] };
      expect(await bridge.fault("session/prompt", prompt)).toMatchObject({
        code: -32002,
        data: { sessionId: "nobody's" },
      });
    },
  },
  {
    id: "ACP-INFO-CONCURRENT-201",
    tier: "INFORMATIONAL",
    title: "a second prompt is held, and answered when the first turn is over",
    async check(kit) {
      const { bridge } = await kit.main();
      const { sessionId } = await kit.session();
      const from = bridge.frames.length;
      const [first, second] = await Promise.all([
        turn(bridge, sessionId, "#thought #text"),
        bridge.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "#text" }] }),
      ]);
      const frames = bridge.frames.slice(from).map(({ frame }) => frame);
      const last = first.frames.at(-1);
      expect(last && frames.indexOf(last)).toBeLessThan(frames.indexOf(second));
      expect(asString(asObject(second["result"])["messageId"])).toMatch(/./);
      await turnFrom(
        bridge,
        sessionId,
        bridge.frames.findIndex(({ frame }) => frame === second),
        second,
      );
    },
  },
];

async function serversAtAgent(kit: Kit): Promise<unknown> {
  const { bridge } = await kit.main();
  const calls = bridge.agentSide().toAgent.filter((frame) => frame["method"] === "session/new");
  return asObject(calls.at(-1)?.["params"])["mcpServers"];
}
