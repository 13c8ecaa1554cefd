// Guards docs/mapping.md §0 and §12 against the world: each fault at each step of a turn, with the built program. After each:
// valid frames, one answer to each request, one idle to each turn, the right exit status, no process left.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../src/protocol/json.ts";
import { type BridgeProcess, type BridgeSetup, environmentIn, startBridge } from "../support/bridge-process.ts";
import { HELLO, initialize, newSession, stateOf, text, updatesIn } from "../support/conversation.ts";
import { groupMembers } from "../support/processes.ts";
import { rawAgent, type Script, says } from "../support/raw-agent.ts";
import { full, report, seed } from "./campaign.ts";

/** A bridge at some step, and the answers the client waits for there. */
interface At {
  bridge: BridgeProcess;
  agent: number;
  waiting: Promise<JsonObject>[];
}

const quick = ["--term-after", "300ms", "--kill-after", "300ms", "--cancel-timeout", "2s"];
const toolCall = { update: { sessionUpdate: "tool_call", toolCallId: "t", title: "T", status: "pending" } };
const question = {
  send: {
    jsonrpc: "2.0",
    id: "q",
    method: "session/request_permission",
    params: {
      sessionId: "s1",
      toolCall: { toolCallId: "t" },
      options: [{ optionId: "y", name: "Y", kind: "allow_once" }],
    },
  },
};
const end = { "_test/end": [{ result: { stopReason: "end_turn" }, of: "session/prompt" }] };

/** Each step of a turn: what the agent does until then, and what the client does to get there. */
const STEPS: Record<string, { script: Script; reach(bridge: BridgeProcess): Promise<Promise<JsonObject>[]> }> = {
  "nothing said": { script: {}, reach: async () => [] },
  initializing: {
    script: { initialize: [] },
    reach: async (bridge) => [bridge.request("initialize", HELLO)],
  },
  "opening a session": {
    script: { "session/new": [] },
    async reach(bridge) {
      await initialize(bridge);
      return [bridge.request("session/new", { cwd: "/work" })];
    },
  },
  "prompt sent": {
    script: { "session/prompt": [] },
    async reach(bridge) {
      await prompted(bridge);
      return [];
    },
  },
  streaming: {
    script: { "session/prompt": [says("one"), toolCall, says("two")], ...end },
    async reach(bridge) {
      await await prompted(bridge);
      await bridge.next("text", (frame) => JSON.stringify(frame).includes("two"));
      return [];
    },
  },
  "a second prompt held": {
    script: { "session/prompt": [says("one"), toolCall, says("two")], ...end },
    async reach(bridge) {
      await await prompted(bridge);
      await bridge.next("text", (frame) => JSON.stringify(frame).includes("two"));
      return [bridge.request("session/prompt", { sessionId: "s1", prompt: [text("more")] })];
    },
  },
  "a question open": {
    script: { "session/prompt": [says("one"), question], ...end },
    async reach(bridge) {
      await await prompted(bridge);
      await bridge.next("question", (frame) => frame["method"] === "session/request_permission");
      return [];
    },
  },
  cancelling: {
    script: { "session/prompt": [says("one"), toolCall, says("two")], ...end },
    async reach(bridge) {
      await await prompted(bridge);
      await bridge.next("text", (frame) => JSON.stringify(frame).includes("two"));
      bridge.notify("session/cancel", { sessionId: "s1" });
      return [];
    },
  },
  closing: {
    script: { "session/prompt": [says("one"), toolCall, says("two")], ...end },
    async reach(bridge) {
      await await prompted(bridge);
      await bridge.next("text", (frame) => JSON.stringify(frame).includes("two"));
      return [bridge.request("session/close", { sessionId: "s1" })];
    },
  },
  "between turns": {
    script: {},
    async reach(bridge) {
      await await prompted(bridge);
      await bridge.next("idle", (frame) => updatesIn([frame], "s1").some((update) => stateOf(update) === "idle"));
      return [];
    },
  },
};

/** Resolves once the prompt is accepted. */
async function prompted(bridge: BridgeProcess): Promise<JsonObject> {
  await initialize(bridge);
  await newSession(bridge);
  return bridge.request("session/prompt", { sessionId: "s1", prompt: [text("go")] });
}

let runs = 0;
afterAll(() => report("faults", { seed, steps: steps.length, runs }));

async function at(step: string, setup: BridgeSetup = {}, script: Script = {}): Promise<At> {
  const { script: own, reach } = STEPS[step] ?? { script: {}, reach: async () => [] };
  const agentCommand = rawAgent({ ...own, ...script });
  const bridge = startBridge(agentCommand, { ...setup, tap: false, options: [...quick, ...(setup.options ?? [])] });
  onTestFinished(() => bridge.kill("SIGKILL"));
  const agent = await bridge.until("agent", () => childOf(bridge.pid));
  const waiting = await reach(bridge);
  // A request that is never answered rejects when the program ends; it is looked at below.
  for (const answer of waiting) answer.catch(() => {});
  runs++;
  return { bridge, agent, waiting };
}

/**
 * The agent, once it is one: a child that is stopped before it runs its own program keeps whoever starts it in the system call, with
 * which no program can do anything.
 */
function childOf(pid: number): number | undefined {
  const file = `/proc/${pid}/task/${pid}/children`;
  const [first] = existsSync(file) ? readFileSync(file, "utf8").trim().split(" ") : [];
  if (first === undefined || first === "") return undefined;
  const programOf = (process: number | string) => readFileSync(`/proc/${process}/cmdline`, "utf8");
  return programOf(first) === programOf(pid) ? undefined : Number(first);
}

/** What must hold once all is over, whatever happened. */
async function checkOver({ bridge, agent, waiting }: At, code: number, clientHears = true): Promise<void> {
  expect(await bridge.exited()).toEqual({ code, signal: null });
  await bridge.until("end of the agent's processes", () => groupMembers(agent).length === 0 || undefined);
  expect(bridge.faults).toEqual([]);
  if (!clientHears) return;
  for (const answer of waiting) expect(await answer).toHaveProperty("jsonrpc", "2.0");
  const frames = bridge.frames.flatMap(({ from, frame }) => (from === "bridge" ? [frame] : []));
  const states = updatesIn(frames, "s1")
    .map(stateOf)
    .filter((state) => state !== undefined);
  const begun = states.filter((state, index) => state === "running" && (states[index - 1] ?? "idle") === "idle").length;
  const ended = states.filter((state) => state === "idle").length;
  expect([begun, states]).toEqual([ended, states]);
  await bridge.end();
}

const signal = (pid: number, name: NodeJS.Signals) => process.kill(pid, name);

/** All of them with --full; else a few, others with another seed. */
const steps = Object.keys(STEPS).filter((_, index) => full || index % 5 === seed % 5);

describe.each(steps)("%s:", (step) => {
  test("the agent is killed", async () => {
    const state = await at(step);
    signal(state.agent, "SIGKILL");
    await checkOver(state, 137);
  });

  test("the agent closes its stdout", async () => {
    const state = await at(step, {}, { "_test/close": [{ close: 1 }] });
    if (step === "nothing said" || step === "initializing") return void state.bridge.leave();
    state.bridge.notify("_test/close");
    // With nothing left undone, it is the end of an agent that exits with 0.
    if (step !== "between turns") expect((await state.bridge.exited()).code).toBeGreaterThan(0);
    await checkOver(state, (await state.bridge.exited()).code ?? 0);
  });

  test("the agent closes its stdin", async () => {
    const state = await at(step, {}, { "_test/close": [{ close: 0 }] });
    if (step === "nothing said" || step === "initializing") return void state.bridge.leave();
    state.bridge.notify("_test/close");
    state.bridge.leave();
    await checkOver(state, 0, false);
  });

  test("the agent is stopped, and goes on", async () => {
    const state = await at(step);
    for (let turn = 0; turn < 3; turn++) {
      signal(state.agent, "SIGSTOP");
      state.bridge.notify("session/cancel", { sessionId: "s1" });
      signal(state.agent, "SIGCONT");
    }
    signal(state.agent, "SIGKILL");
    await checkOver(state, 137);
  });

  test("the agent is stopped for good, and the client leaves", async () => {
    const state = await at(step);
    signal(state.agent, "SIGSTOP");
    state.bridge.leave();
    await checkOver(state, 0, false);
  });

  test("the client leaves", async () => {
    const state = await at(step);
    state.bridge.leave();
    await checkOver(state, 0, false);
  });

  test("the client stops reading for good", async () => {
    const state = await at(step);
    state.bridge.breakOutput();
    // It is noticed with the next thing there is to write.
    state.bridge.send({ jsonrpc: "2.0", id: "x", method: "x" });
    state.bridge.send(1);
    await checkOver(state, 0, false);
  });

  test("acp-shift is stopped, meanwhile the agent dies, and it goes on", async () => {
    const state = await at(step);
    state.bridge.kill("SIGSTOP");
    signal(state.agent, "SIGKILL");
    state.bridge.kill("SIGCONT");
    await checkOver(state, 137);
  });

  test("acp-shift is stopped, and goes on", async () => {
    const state = await at(step);
    for (let turn = 0; turn < 3; turn++) {
      state.bridge.kill("SIGSTOP");
      state.bridge.send(1);
      state.bridge.kill("SIGCONT");
    }
    await state.bridge.until("an answer to each", () => {
      const answers = state.bridge.frames.filter(({ from, frame }) => from === "bridge" && frame["id"] === null);
      return answers.length === 3 || undefined;
    });
    state.bridge.leave();
    await checkOver(state, 0, false);
  });

  test("acp-shift is told to end", async () => {
    const state = await at(step);
    state.bridge.kill("SIGTERM");
    await checkOver(state, 143, false);
  });

  test("the wall clock jumps at every look at it", async () => {
    const home = mkdtempSync(join(tmpdir(), "acp-shift-clock-"));
    onTestFinished(() => rmSync(home, { recursive: true }));
    const stub = fileURLToPath(new URL("clock-jumps.mjs", import.meta.url));
    const env = { ...environmentIn(home), NODE_OPTIONS: `--import=${stub}` };
    const options = ["--log-file", join(home, "log"), "--log-level", "trace", "--trace", join(home, "trace.jsonl")];
    const state = await at(step, { env, options: [...options, "--state-dir", join(home, "state")] });
    signal(state.agent, "SIGKILL");
    await checkOver(state, 137);
  });

  test("the disk is full for log, trace and state", async () => {
    const home = mkdtempSync(join(tmpdir(), "acp-shift-disk-"));
    onTestFinished(() => rmSync(home, { recursive: true }));
    const options = ["--log-file", join(home, "log"), "--log-level", "trace", "--trace", join(home, "trace.jsonl")];
    const state = await at(step, { options: [...options, "--state-dir", join(home, "state")] });
    const limit = spawnSync("prlimit", ["--pid", String(state.bridge.pid), "--fsize=10:10"], { encoding: "utf8" });
    expect([limit.status, limit.stderr]).toEqual([0, ""]);
    signal(state.agent, "SIGKILL");
    await checkOver(state, 137);
  });
});

test.each(["streaming", "a question open", "cancelling"])("%s: the pipe is full when the agent dies", async (step) => {
  const flood = {
    update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: { $repeat: "x", times: 1e6 } } },
  };
  const state = await at(step, {}, { "_test/flood": [...Array.from({ length: 20 }, () => flood), { exit: 9 }] });
  state.bridge.pause();
  state.bridge.notify("_test/flood");
  await state.bridge.until("a full pipe", () =>
    readFileSync(`/proc/${state.bridge.pid}/stat`).length > 0 ? true : undefined,
  );
  state.bridge.resume();
  await checkOver(state, 9);
  const chunks = updatesIn(
    state.bridge.frames.map(({ frame }) => frame),
    "s1",
  ).filter((update) => JSON.stringify(update).length > 1e6);
  expect(chunks.length).toBe(20);
});

test("/dev/full for log and trace: a whole turn", async () => {
  const options = ["--log-file", "/dev/full", "--log-level", "trace", "--trace", "/dev/full"];
  const state = await at("between turns", { options });
  state.bridge.leave();
  await checkOver(state, 0);
});
