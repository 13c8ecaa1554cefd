// Guards docs/mapping.md §13 with real processes: the SDK's v2 agent under the SDK's v1 client through the built program,
// and the ends of it: an agent that is killed, a client that leaves.
import { expect, test, vi } from "vitest";
import { asArray, asObject, type JsonObject } from "../../src/protocol/json.ts";
import { type BridgeProcess, bridgeForTest, CLI, peer } from "../support/bridge-process.ts";
import { runProgram } from "../support/programs.ts";

vi.setConfig({ testTimeout: 120_000 });

const HELLO = {
  protocolVersion: 1,
  clientInfo: { name: "test-client", version: "1.0.0" },
  clientCapabilities: {},
};

test("the SDK's v1 client and the SDK's v2 agent", async () => {
  const bridge = [process.execPath, CLI, "--", ...peer("sdk-agent-v2.mjs")];
  const ending = await runProgram([...peer("sdk-client-v1-tour.mjs"), "--", ...bridge]);
  expect(ending).toMatchObject({ code: 0, stderr: "" });
  const report = JSON.parse(ending.stdout) as JsonObject;
  expect(report["failure"]).toBeUndefined();
  expect(report).toMatchObject({
    initialize: { protocolVersion: 1, agentInfo: { name: "sdk-agent-v2" }, agentCapabilities: { loadSession: true } },
    opened: { modes: { currentModeId: "ask" }, configOptions: [{ id: "mode" }] },
    setMode: {},
    closed: {},
    exit: { code: 0, signal: null },
  });

  const turns = asObject(report["turns"]);
  const result = (name: string) => asObject(turns[name])["result"];
  const updates = (name: string) => asArray(asObject(turns[name])["updates"]).map(asObject);
  for (const name of ["talk", "tools", "plan", "allowed", "refused", "mode"])
    expect(result(name), name).toEqual({ stopReason: "end_turn" });
  expect(result("cancelled")).toEqual({ stopReason: "cancelled" });
  expect(result("error")).toEqual({
    error: { code: -32603, message: "The model is out of order", data: { status: 529 } },
  });

  expect(textsOf(updates("talk"))).toEqual([
    ["agent_thought_chunk", "Hm"],
    ["agent_message_chunk", "Hello "],
    ["agent_message_chunk", "from v2"],
    ["agent_message_chunk", "One, "],
    ["agent_message_chunk", "two"],
  ]);
  expect(updates("tools")).toMatchObject([
    { sessionUpdate: "tool_call", title: "Read", kind: "read", status: "in_progress" },
    { sessionUpdate: "tool_call_update", content: [{ content: { text: "one" } }] },
    { sessionUpdate: "tool_call_update", content: [{ content: { text: "one" } }, { content: { text: "two" } }] },
    { sessionUpdate: "tool_call_update", status: "failed" },
    { sessionUpdate: "tool_call", content: [{ type: "diff", path: "/work/a", oldText: "one\n", newText: "two\n" }] },
    { sessionUpdate: "tool_call", title: "ls", content: [{ content: { text: "$ ls" } }] },
    { sessionUpdate: "tool_call_update", content: [{ content: { text: "$ ls\na" } }] },
  ]);
  expect(updates("plan").at(-1)).toMatchObject({ entries: [{ content: "First" }, { content: "Second" }] });
  expect(textsOf(updates("allowed")).at(-1)).toEqual(["agent_message_chunk", "Answer: yes"]);
  expect(textsOf(updates("refused")).at(-1)).toEqual(["agent_message_chunk", "Answer: no"]);
  expect(report["permissions"]).toMatchObject([
    { toolCall: { title: "Remove a" }, options: [{ optionId: "yes" }, { optionId: "no" }] },
    {},
  ]);
  expect(updates("mode")).toMatchObject([
    { sessionUpdate: "current_mode_update", currentModeId: "code" },
    { sessionUpdate: "config_option_update", configOptions: [{ id: "mode", currentValue: "code" }] },
  ]);

  expect(report["list"]).toEqual({ sessions: [{ sessionId: report["sessionId"], cwd: "/work" }] });
  const loaded = asObject(report["loaded"]);
  expect(loaded["modes"]).toMatchObject({ currentModeId: "ask" });
  // The replay was there before the answer, the person's own messages with it.
  const replayed = textsOf(asArray(loaded["updates"]).map(asObject));
  expect(replayed[0]).toEqual(["user_message_chunk", "#thought #text #whole"]);
  expect(replayed.slice(1, 4)).toEqual(textsOf(updates("talk")).slice(0, 3));
  expect(replayed.at(-1)).toEqual(["user_message_chunk", "#error"]);
});

function textsOf(updates: readonly JsonObject[]): [unknown, unknown][] {
  return updates.map((update) => [update["sessionUpdate"], asObject(update["content"])["text"]]);
}

const CHOICES = [
  ["by itself", []],
  ["with --agent-protocol 2", ["--agent-protocol", "2"]],
] as const;

test.each(CHOICES)("the pairing is found %s, and every frame is valid on its side", async (_, options) => {
  const bridge = downgraded(options);
  const sessionId = await open(bridge);
  bridge.onRequest("session/request_permission", (params) => ({
    outcome: { outcome: "selected", optionId: String(asObject(asArray(params["options"])[0])["optionId"]) },
  }));
  // All at once: an unknown update among it, and a question about a command.
  expect(await bridge.call("session/prompt", prompt(sessionId, "hello"))).toEqual({
    stopReason: "end_turn",
    _meta: { outcome: { outcome: "selected", optionId: "yes" } },
  });
  expect(await bridge.call("session/prompt", prompt(sessionId, "#text #terminal #plan"))).toEqual({
    stopReason: "end_turn",
  });
});

test("an agent that dies in a turn: the prompt's error says how and what it said last", async () => {
  const bridge = downgraded();
  const error = await bridge.fault("session/prompt", prompt(await open(bridge), "#text #die"));
  expect(error).toMatchObject({ code: -32603, data: { phase: "turn", exitCode: 3, stderr: ["out of luck"] } });
  expect(await bridge.exited()).toEqual({ code: 3, signal: null });
});

test("an agent that is killed in a turn", async () => {
  const bridge = downgraded();
  const sessionId = await open(bridge);
  const ending = bridge.fault("session/prompt", prompt(sessionId, "#wait"));
  await bridge.next("sign of work", (frame) => frame["method"] === "session/update");
  const { group } = bridge.agentSide();
  if (group === undefined) throw new Error("no agent");
  process.kill(-group, "SIGKILL");
  expect(await ending).toMatchObject({ code: -32603, data: { phase: "turn" } });
  await bridge.exited();
});

test("a client that leaves in a turn leaves nothing behind", async () => {
  const bridge = downgraded();
  const sessionId = await open(bridge);
  bridge.send({ jsonrpc: "2.0", id: "p", method: "session/prompt", params: prompt(sessionId, "#wait") });
  await bridge.next("sign of work", (frame) => frame["method"] === "session/update");
  bridge.leave();
  expect(await bridge.exited()).toEqual({ code: 0, signal: null });
  await bridge.nothingLeft();
});

function downgraded(options: readonly string[] = []): BridgeProcess {
  return bridgeForTest(peer("sdk-agent-v2.mjs"), { options, clientVersion: "v1", agentVersion: "v2" });
}

async function open(bridge: BridgeProcess): Promise<string> {
  expect(await bridge.call("initialize", HELLO)).toMatchObject({ protocolVersion: 1 });
  return String((await bridge.call("session/new", { cwd: "/work", mcpServers: [] }))["sessionId"]);
}

function prompt(sessionId: string, words: string): JsonObject {
  return { sessionId, prompt: [{ type: "text", text: words }] };
}
