// Guards docs/mapping.md §1 with agents an SDK would not make, and what people and clients are told when there is no
// agent to speak to: what was run, in which phase, what it said last, what to try.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { asArray, asObject, type JsonObject } from "../../src/protocol/json.ts";
import { type BridgeProcess, bridgeForTest, CLI, isOver } from "../support/bridge-process.ts";
import { HELLO, initialize, newSession, openSession, outline, turn } from "../support/conversation.ts";
import { isRunning } from "../support/processes.ts";
import { runProgram } from "../support/programs.ts";
import { rawAgent, type Step, says } from "../support/raw-agent.ts";

vi.setConfig({ testTimeout: 120_000 });

const V1_RESULT = { protocolVersion: 1, agentInfo: { name: "raw-agent", version: "1.0.0" }, agentCapabilities: {} };

/** The versions the agent was asked for. */
const askedFor = (bridge: BridgeProcess) =>
  bridge
    .agentSide()
    .toAgent.filter((frame) => frame["method"] === "initialize")
    .map((frame) => asObject(frame["params"])["protocolVersion"]);

/** The bridged conversation works: a session, a turn, one idle. */
async function worksOn(bridge: BridgeProcess): Promise<void> {
  const { updates, idle } = await turn(bridge, await newSession(bridge), "hello");
  expect(outline(updates)).toEqual(["user_message", "running", "agent_message_chunk", "idle"]);
  expect(idle).toMatchObject({ stopReason: "end_turn" });
}

const ONCE = "each connection begins with one initialize, by the transport's own rules";
const talks = { "session/prompt": [says("Hello"), { result: { stopReason: "end_turn" } }] };

describe("versions", () => {
  test("a client that asks for a version nobody knows gets 2 from a v1 agent", async () => {
    const bridge = bridgeForTest(rawAgent(talks));
    expect(await initialize(bridge, { ...HELLO, protocolVersion: 65535 })).toMatchObject({ protocolVersion: 2 });
    expect(askedFor(bridge)).toEqual([2]);
    await worksOn(bridge);
  });

  test("an agent that echoes the version but answers in v1 fields is v1", async () => {
    const bridge = bridgeForTest(
      rawAgent({
        ...talks,
        initialize: [{ result: { protocolVersion: 2, agentCapabilities: { loadSession: true } } }],
      }),
    );
    const result = await initialize(bridge);
    expect(result).toMatchObject({ protocolVersion: 2, info: { name: "node", version: "unknown" } });
    await worksOn(bridge);
  });

  test("an agent that refuses the v2 shape is asked once more in v1 shape", async () => {
    const refusal = { error: { code: -32602, message: "unknown field: info" } };
    const bridge = bridgeForTest(rawAgent({ ...talks, initialize: [[refusal], [{ result: V1_RESULT }]] }));
    expect(await initialize(bridge)).toMatchObject({ protocolVersion: 2, info: { name: "raw-agent" } });
    expect(askedFor(bridge)).toEqual([2, 1]);
    await worksOn(bridge);
  });

  test("an agent that refuses both is the client's error, and the client may try again", async ({ skip }) => {
    skip(isOver("http"), ONCE);
    skip(isOver("connect"), "the other half tries again by itself");
    const refusal = { error: { code: -32000, message: "Authentication required" } };
    const bridge = bridgeForTest(rawAgent({ ...talks, initialize: [[refusal], [refusal], [{ result: V1_RESULT }]] }));
    expect(await bridge.fault("initialize", HELLO)).toMatchObject({ code: -32000 });
    expect(await initialize(bridge)).toMatchObject({ protocolVersion: 2 });
    await worksOn(bridge);
  });

  test("--agent-protocol 1 speaks v1 from the start", async () => {
    const bridge = bridgeForTest(rawAgent(talks), { options: ["--agent-protocol", "1"] });
    await initialize(bridge);
    expect(askedFor(bridge)).toEqual([1]);
    expect(asObject(bridge.agentSide().toAgent[0]?.["params"])["info"]).toBeUndefined();
    await worksOn(bridge);
  });

  test("versions below 1, or that are no integers, and version 2 without info, are refused without the agent", async ({
    skip,
  }) => {
    skip(isOver("http"), ONCE);
    const bridge = bridgeForTest(rawAgent());
    expect(await bridge.fault("initialize", { ...HELLO, protocolVersion: 0 })).toMatchObject({
      code: -32022,
      data: { requested: 0, supported: [1, 2] },
    });
    expect(await bridge.fault("initialize", { ...HELLO, protocolVersion: "2" })).toMatchObject({ code: -32602 });
    const withoutInfo = await bridge.fault("initialize", { protocolVersion: 2, capabilities: {} });
    expect(withoutInfo).toMatchObject({ code: -32602, message: expect.stringContaining("info") });
    expect(await initialize(bridge)).toMatchObject({ protocolVersion: 2 });
    expect(askedFor(bridge)).toEqual([2]);
  });

  test("initialize may be repeated until another request, and the agent hears it once", async ({ skip }) => {
    skip(isOver("http"), ONCE);
    const bridge = bridgeForTest(rawAgent());
    const result = await initialize(bridge);
    expect(await initialize(bridge)).toEqual(result);
    await newSession(bridge);
    expect(await bridge.fault("initialize", HELLO)).toMatchObject({ code: -32600 });
    expect(askedFor(bridge)).toEqual([2]);
  });

  test("a request before initialize is refused; a notification is ignored", async ({ skip }) => {
    skip(isOver(), "nobody is let in who begins with anything else: test/remote/hostile.test.ts");
    const bridge = bridgeForTest(rawAgent());
    bridge.notify("session/cancel", { sessionId: "s1" });
    expect(await bridge.fault("session/new", { cwd: "/work" })).toMatchObject({ code: -32600 });
    await openSession(bridge);
    expect(bridge.agentSide().toAgent.map((frame) => frame["method"])).toEqual(["initialize", "session/new"]);
  });
});

describe("ids", () => {
  test("an agent whose requests have 0, a UUID, null or a negative number for an id gets its answers under them", async () => {
    const ids = [0, "6f1c1c1e-98a5-4b4c-a26e-2d2f0a0a0001", null, -5];
    const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
    const params = { sessionId: "s1", toolCall: { toolCallId: "t1", title: "Delete" }, options };
    const bridge = bridgeForTest(
      rawAgent({
        "session/prompt": ids.map((id): Step[] => [
          { send: { jsonrpc: "2.0", id, method: "session/request_permission", params } },
        ]),
        answer: [{ result: { stopReason: "end_turn" }, of: "session/prompt" }],
      }),
    );
    const outcome = { outcome: "selected", optionId: "yes" };
    bridge.onRequest("session/request_permission", () => ({ outcome }));
    const sessionId = await openSession(bridge);
    for (const id of ids) {
      const { idle } = await turn(bridge, sessionId, "hello");
      expect(idle).toMatchObject({ stopReason: "end_turn" });
      expect(bridge.agentSide().toAgent.at(-1)).toEqual({ jsonrpc: "2.0", id, result: { outcome } });
    }
  });

  test("the client's ids come back as they are, whatever they are", async () => {
    const bridge = bridgeForTest(rawAgent());
    const ids = ["7", 0, -1, "", "é", 2 ** 40];
    for (const [index, id] of ids.entries()) {
      const answer =
        index === 0 ? await bridge.request("initialize", HELLO, id) : await bridge.request("session/list", {}, id);
      expect(answer["id"]).toBe(id);
    }
  });

  test("an agent may answer a number by the text of it", async () => {
    const bridge = bridgeForTest(
      rawAgent({
        "session/new": [{ write: '{"jsonrpc":"2.0","id":"$id","result":{"sessionId":"s1"}}\n' }],
        ...talks,
      }),
    );
    await initialize(bridge);
    await worksOn(bridge);
  });

  test("a second answer to the same request settles nothing", async () => {
    const twice = { send: { jsonrpc: "2.0", id: "$id", result: { sessionId: "s1" } } };
    const bridge = bridgeForTest(rawAgent({ "session/new": [twice, twice], ...talks }));
    await initialize(bridge);
    await worksOn(bridge);
    expect(bridge.frames.filter(({ from, frame }) => from === "bridge" && "result" in frame)).toHaveLength(3);
  });
});

describe("no agent to speak to", () => {
  /** What the person reads on stderr and what the client gets, in one look. */
  async function failed(bridge: BridgeProcess): Promise<{ error: JsonObject; data: JsonObject; said: string }> {
    const error = await bridge.fault("initialize", HELLO);
    const data = asObject(error["data"]);
    await bridge.exited();
    for (const part of data["command"] as string[]) expect(bridge.stderr).toContain(part);
    expect(bridge.stderr).toContain(String(data["phase"]));
    expect(bridge.stderr).toContain(String(data["hint"]));
    return { error, data, said: bridge.stderr };
  }

  test("an agent that hangs on initialize", async () => {
    const hangs = ["sh", "-c", "echo waiting for the network >&2; echo $$ >&2; exec sleep 600"];
    // Without the tap, so that it has spoken long before the time is up.
    const bridge = bridgeForTest(hangs, {
      options: ["--handshake-timeout", "2s", "--term-after", "100ms"],
      tap: false,
    });
    const { error, data, said } = await failed(bridge);
    expect(error["message"]).toContain("did not answer initialize within 2 s");
    expect(data).toMatchObject({ phase: "initialize", stderr: ["waiting for the network", expect.any(String)] });
    expect(said).toContain("--handshake-timeout");
    expect(await bridge.exited()).toEqual({ code: 1, signal: null });
    const pid = Number(asArray(data["stderr"])[1]);
    await bridge.until("end of the agent", () => !isRunning(pid) || undefined);
  });

  test("a command that prints how to use it and exits", async () => {
    const bridge = bridgeForTest(["sh", "-c", "echo 'usage: tool [--acp]'; echo 'tool: no arguments' >&2; exit 64"]);
    const { error, data, said } = await failed(bridge);
    expect(error["message"]).toContain("exited with status 64");
    expect(data).toMatchObject({ phase: "initialize", exitCode: 64 });
    // What it printed on stdout is no frame, but it may be all it had to say.
    expect(data["stderr"]).toEqual(["tool: no arguments", "usage: tool [--acp]"]);
    expect(said).toContain("usage: tool [--acp]");
    expect(await bridge.exited()).toEqual({ code: 64, signal: null });
  });

  test("a command that does not exist", async () => {
    const bridge = bridgeForTest(["no-such-agent-anywhere", "--acp"], { tap: false });
    const { error, data } = await failed(bridge);
    expect(error["message"]).toContain("no-such-agent-anywhere was not found");
    expect(data).toMatchObject({ phase: "start", command: ["no-such-agent-anywhere", "--acp"], cause: "ENOENT" });
    expect(await bridge.exited()).toEqual({ code: 127, signal: null });
  });

  test.each<[string, string, number, JsonObject, number]>([
    ["a program whose interpreter is missing", "#!/no/such/interpreter\n", 0o755, { cause: "ENOENT" }, 127],
    ["a file that may not be run", "#!/bin/sh\n", 0o644, { cause: "EACCES" }, 126],
  ])("%s", async (_, content, mode, expected, code) => {
    const directory = mkdtempSync(join(tmpdir(), "acp-shift-e2e-"));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const file = join(directory, "agent");
    writeFileSync(file, content, { mode });
    const bridge = bridgeForTest([file], { tap: false });
    const { data } = await failed(bridge);
    expect(data).toMatchObject({ phase: "start", command: [file], ...expected });
    expect(await bridge.exited()).toEqual({ code, signal: null });
  });

  test.each<[string, string[]]>([
    ["no command", []],
    ["an option that does not exist", ["--no-such-option", "--", "agent"]],
    ["a value that cannot be", ["--settle", "soon", "--", "agent"]],
  ])("a command line with %s ends with 2", async (_, words) => {
    const ending = await runProgram([process.execPath, CLI, ...words]);
    expect(ending).toMatchObject({ code: 2, stdout: "" });
    expect(ending.stderr).toMatch(/^acp-shift: .+\n$/);
  });
});
