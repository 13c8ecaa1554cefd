// Guards how acp-shift and its agent end: whoever goes first, every request has one answer and every turn one idle
// (docs/mapping.md §0 I5 and I7, §9), the exit status says who ended it, and no process is left behind.
import { fileURLToPath } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { asArray, asObject, type JsonObject } from "../../src/protocol/json.ts";
import { type BridgeProcess, bridgeForTest, isOver } from "../support/bridge-process.ts";
import {
  initialize,
  newSession,
  openSession,
  outline,
  text,
  turn,
  turnFrom,
  updateOf,
} from "../support/conversation.ts";
import { isRunning } from "../support/processes.ts";
import { rawAgent, type Script, type Step, says } from "../support/raw-agent.ts";

vi.setConfig({ testTimeout: 120_000 });

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/agents/${name}`, import.meta.url));

/** Short steps down the ladder, so that tests of stubborn agents do not wait for nothing. */
const quick = { options: ["--term-after", "200ms", "--kill-after", "200ms"] };

/** Opens a tool call and answers neither the prompt nor anything else. */
const works: Step[] = [
  says("Working …"),
  { update: { sessionUpdate: "tool_call", toolCallId: "t1", title: "Run", status: "in_progress" } },
];
const busy: Script = { "session/prompt": works, "_test/wait": [] };

/** A turn that runs, seen as far as its tool call, and a request that stays open. */
async function midTurn(bridge: BridgeProcess): Promise<{ sessionId: string; from: number; response: JsonObject }> {
  const sessionId = await openSession(bridge);
  const from = bridge.frames.length;
  bridge.send({ jsonrpc: "2.0", id: "open", method: "_test/wait", params: {} });
  const response = await bridge.request("session/prompt", { sessionId, prompt: [text("work")] });
  const isToolCall = (frame: JsonObject) => updateOf(frame, sessionId)?.["sessionUpdate"] === "tool_call_update";
  await bridge.next("tool call", isToolCall, from);
  return { sessionId, from, response };
}

/** How the client sees work end that somebody broke off: open tool call, turn and request, each once. */
async function endsInFailure(
  bridge: BridgeProcess,
  { sessionId, from, response }: Awaited<ReturnType<typeof midTurn>>,
): Promise<JsonObject> {
  const { updates, idle } = await turnFrom(bridge, sessionId, from, response);
  expect(updates.slice(-2)).toMatchObject([
    { sessionUpdate: "tool_call_update", toolCallId: "t1", status: "failed" },
    { sessionUpdate: "state_update", state: "idle", stopReason: "error" },
  ]);
  await bridge.exited();
  const answers = bridge.frames.filter(({ from, frame }) => from === "bridge" && frame["id"] === "open");
  expect(answers.map(({ frame }) => "error" in frame)).toEqual([true]);
  const idles = bridge.frames.filter(({ frame }) => updateOf(frame, sessionId)?.["state"] === "idle");
  expect(idles).toHaveLength(1);
  return asObject(idle["error"]);
}

describe("the agent ends", () => {
  test.each<[string, Step, number, string]>([
    ["with 3", { exit: 3 }, 3, "exited with status 3"],
    ["with 0, its work undone", { exit: 0 }, 1, "exited with status 0"],
    ["by SIGKILL", { kill: "SIGKILL" }, 137, "was ended by SIGKILL"],
    ["by SIGTERM", { kill: "SIGTERM" }, 143, "was ended by SIGTERM"],
  ])("%s in the middle of a turn", async (_, step, code, how) => {
    const bridge = bridgeForTest(rawAgent({ ...busy, "_test/die": [{ stderr: "these are my last words\n" }, step] }));
    const running = await midTurn(bridge);
    bridge.notify("_test/die");
    const error = await endsInFailure(bridge, running);
    expect(error).toMatchObject({ code: -32603, message: expect.stringContaining(how) });
    expect(asArray(asObject(error["data"])["stderr"]).at(-1)).toBe("these are my last words");
    expect(bridge.stderr).toContain(how);
    expect(bridge.stderr).toContain("these are my last words");
    expect(await bridge.exited()).toEqual({ code, signal: null });
  });

  test("with 4 while a session is opened", async () => {
    const bridge = bridgeForTest(rawAgent({ "session/new": [{ exit: 4 }] }));
    await initialize(bridge);
    const error = await bridge.fault("session/new", { cwd: "/work" });
    expect(error).toMatchObject({ code: -32603, message: expect.stringContaining("exited with status 4") });
    expect(await bridge.exited()).toEqual({ code: 4, signal: null });
  });

  test.each([0, 5])("with %i between turns", async (code) => {
    const bridge = bridgeForTest(rawAgent({ "_test/die": [{ exit: code }] }));
    await openSession(bridge);
    bridge.notify("_test/die");
    expect(await bridge.exited()).toEqual({ code, signal: null });
  });

  test("and leaves a child that ends on nothing but SIGKILL", async () => {
    const child: Step = { spawn: [process.execPath, fixture("ignores-everything.mjs")] };
    const script: Script = { "session/new": [child, { result: { sessionId: "s1" } }], "_test/die": [{ exit: 5 }] };
    // Without the tap, which would live as long as the child.
    const bridge = bridgeForTest(rawAgent(script), { ...quick, tap: false });
    await openSession(bridge);
    const pid = await bridge.until("child", () => /^running (\d+)$/m.exec(bridge.stderr)?.[1]);
    bridge.notify("_test/die");
    expect(await bridge.exited()).toEqual({ code: 5, signal: null });
    await bridge.until("end of the child", () => !isRunning(Number(pid)) || undefined);
  });
});

describe("the client leaves", () => {
  test("between turns", async () => {
    const bridge = bridgeForTest(rawAgent());
    await openSession(bridge);
    bridge.leave();
    expect(await bridge.exited()).toEqual({ code: 0, signal: null });
    expect(bridge.agentSide()).toMatchObject({ inputEnded: true, exit: { code: 0, signal: null } });
  });

  test("in the middle of a turn", async ({ skip }) => {
    skip(isOver("ws", "sdk-ws", "http"), "who leaves there hears nothing more");
    const bridge = bridgeForTest(rawAgent(busy));
    const running = await midTurn(bridge);
    bridge.leave();
    await endsInFailure(bridge, running);
    expect(await bridge.exited()).toEqual({ code: 0, signal: null });
    expect(bridge.agentSide().exit).toEqual({ code: 0, signal: null });
  });

  test("while the agent waits for a permission and for an answer: it gets both before its input ends", async () => {
    const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
    const params = { sessionId: "s1", toolCall: { toolCallId: "t1", title: "Delete" }, options };
    const bridge = bridgeForTest(
      rawAgent({
        "session/prompt": [
          { send: { jsonrpc: "2.0", id: 7, method: "session/request_permission", params } },
          { send: { jsonrpc: "2.0", id: 8, method: "_test/question", params: {} } },
        ],
      }),
    );
    const sessionId = await openSession(bridge);
    bridge.send({ jsonrpc: "2.0", id: "p", method: "session/prompt", params: { sessionId, prompt: [text("ask")] } });
    await bridge.next("question", (frame) => frame["method"] === "_test/question");
    bridge.leave();
    expect(await bridge.exited()).toEqual({ code: 0, signal: null });
    expect(bridge.agentSide().toAgent.slice(-2)).toMatchObject([
      { id: 7, result: { outcome: { outcome: "cancelled" } } },
      { id: 8, error: { code: expect.any(Number) } },
    ]);
  });

  test.each<[string, Script]>([
    ["the end of its input", { eof: [] }],
    ["the end of its input and SIGTERM", { eof: [], ignores: ["SIGTERM", "SIGINT", "SIGHUP"] }],
  ])("and the agent ignores %s", async (_, script) => {
    const bridge = bridgeForTest(rawAgent({ ...busy, ...script }), quick);
    await midTurn(bridge);
    bridge.leave();
    expect(await bridge.exited()).toEqual({ code: 0, signal: null });
    await bridge.nothingLeft();
  });

  test("and the agent has a child that ends on nothing but SIGKILL", async () => {
    const child: Step = { spawn: [process.execPath, fixture("ignores-everything.mjs")] };
    const bridge = bridgeForTest(rawAgent({ ...busy, "session/new": [child, { result: { sessionId: "s1" } }] }), quick);
    await midTurn(bridge);
    await bridge.until("child", () => (bridge.stderr.includes("running ") ? true : undefined));
    bridge.leave();
    expect(await bridge.exited()).toEqual({ code: 0, signal: null });
    await bridge.nothingLeft();
  });

  test("and the agent is run by a shell that waits for it", async () => {
    const [node = "", ...args] = rawAgent({ ...busy, eof: [] });
    const quoted = [node, ...args].map((word) => `'${word}'`).join(" ");
    const bridge = bridgeForTest(["sh", "-c", `exec 3<&0; ${quoted} <&3 & wait`], quick);
    await midTurn(bridge);
    bridge.leave();
    expect(await bridge.exited()).toEqual({ code: 0, signal: null });
    await bridge.nothingLeft();
  });

  test("by closing only its reading end", async () => {
    const bridge = bridgeForTest(rawAgent(busy));
    const sessionId = await openSession(bridge);
    bridge.breakOutput();
    bridge.send({ jsonrpc: "2.0", id: "p", method: "session/prompt", params: { sessionId, prompt: [text("work")] } });
    expect(await bridge.exited()).toEqual({ code: 0, signal: null });
    expect(bridge.agentSide().inputEnded).toBe(true);
    expect(bridge.stderr).not.toContain("EPIPE");
  });
});

describe("a signal ends acp-shift", () => {
  test.each<[NodeJS.Signals, number]>([
    ["SIGTERM", 143],
    ["SIGINT", 130],
    ["SIGHUP", 129],
  ])("%s in the middle of a turn", async (signal, code) => {
    const bridge = bridgeForTest(rawAgent(busy));
    const running = await midTurn(bridge);
    bridge.kill(signal);
    await endsInFailure(bridge, running);
    expect(await bridge.exited()).toEqual({ code, signal: null });
    await bridge.nothingLeft();
  });

  test("a second signal does not wait for a stubborn agent", async () => {
    const stubborn: Script = { ...busy, eof: [], ignores: ["SIGTERM", "SIGINT"] };
    const bridge = bridgeForTest(rawAgent(stubborn), { options: ["--term-after", "10m", "--kill-after", "10m"] });
    await midTurn(bridge);
    bridge.kill("SIGINT");
    await bridge.until("end of the agent's input", () => bridge.agentSide().inputEnded || undefined);
    bridge.kill("SIGINT");
    expect(await bridge.exited()).toEqual({ code: 130, signal: null });
    await bridge.nothingLeft();
  });
});

test("an agent that writes 1 MB on stderr before its first answer is heard, and its last lines are kept", async () => {
  const line = `${"x".repeat(99)}\n`;
  const result = { protocolVersion: 1, agentInfo: { name: "raw-agent", version: "1.0.0" }, agentCapabilities: {} };
  const bridge = bridgeForTest(
    rawAgent({
      initialize: [{ stderr: line, times: 10_000 }, { stderr: "the end of it\n" }, { result }],
      "session/prompt": [says("Hello"), { result: { stopReason: "end_turn" } }],
      "_test/die": [{ exit: 9 }],
      "_test/wait": [],
    }),
  );
  const sessionId = await openSession(bridge);
  expect(outline((await turn(bridge, sessionId, "hello")).updates)).toContain("agent_message_chunk");
  const open = bridge.request("_test/wait");
  bridge.notify("_test/die");
  const { error } = await open;
  expect(asArray(asObject(asObject(error)["data"])["stderr"]).at(-1)).toBe("the end of it");
  expect(await bridge.exited()).toEqual({ code: 9, signal: null });
  expect(bridge.stderr.split("the end of it")[0]?.length).toBeGreaterThanOrEqual(line.length * 10_000);
});

test("several sessions at work are all told when the agent dies", async () => {
  const script: Script = { ...busy, "session/new": ["a", "b"].map((sessionId): Step[] => [{ result: { sessionId } }]) };
  const bridge = bridgeForTest(rawAgent({ ...script, "_test/die": [{ exit: 3 }] }));
  const first = await openSession(bridge);
  const second = await newSession(bridge);
  const from = bridge.frames.length;
  const responses = await Promise.all(
    [first, second].map((sessionId) => bridge.request("session/prompt", { sessionId, prompt: [text("work")] })),
  );
  bridge.notify("_test/die");
  for (const [index, sessionId] of [first, second].entries()) {
    const { idle } = await turnFrom(bridge, sessionId, from, responses[index] ?? {});
    expect(idle).toMatchObject({ stopReason: "error" });
  }
});
