// Guards docs/trace.md, "Verify": whatever acp-shift did while it recorded, today's core does again, with all that reaches the core
// beside frames: timers, hosted terminals and files, the state directory, a restart, exits, broken lines.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { type BridgeProcess, bridgeForTest, CLI, peer } from "../support/bridge-process.ts";
import { initialize, newSession, openSession, turn } from "../support/conversation.ts";
import { runProgram } from "../support/programs.ts";
import { rawAgent, type Script, says } from "../support/raw-agent.ts";
import { traceDirectory } from "../support/trace-file.ts";

vi.setConfig({ testTimeout: 120_000 });

const END = { result: { stopReason: "end_turn" } };
const remembering: Script = {
  initialize: [{ result: { protocolVersion: 1, agentCapabilities: { sessionCapabilities: { resume: {} } } } }],
  "session/resume": [{ result: {} }],
  "session/prompt": [says("One"), END],
};

/** One way of running: what it needs of the record, and what is done; every run it starts is recorded and verified. */
interface Way {
  name: string;
  /** The event its record must hold, for the case to be what it says. */
  holds: RegExp;
  act(start: (agent: readonly string[], ...options: string[]) => BridgeProcess, directory: string): Promise<void>;
}

const ways: Way[] = [
  {
    name: "the settling of a turn and the notice of a stall",
    holds: /"event":"timer","details":\{"name":"stall s1"/,
    async act(start) {
      const bridge = start(rawAgent({ "session/prompt": [] }), "--stall-notice", "300ms", "--cancel-timeout", "200ms");
      const session = await openSession(bridge);
      void bridge.request("session/prompt", { sessionId: session, prompt: [{ type: "text", text: "hello" }] });
      await bridge.next("notice", (frame) => JSON.stringify(frame).includes('"notice"'));
      bridge.notify("session/cancel", { sessionId: session });
      await bridge.next("idle", (frame) => JSON.stringify(frame).includes('"state":"idle"'));
    },
  },
  {
    name: "hosted terminals and files",
    holds: /"event":"hosted".*"event":"terminal"/s,
    async act(start, directory) {
      const bridge = start(peer("asking-agent.mjs"), "--host", "terminal,fs");
      await initialize(bridge);
      const session = await newSession(bridge, { cwd: directory });
      const asked = [
        { method: "fs/write_text_file", params: { path: join(directory, "a.txt"), content: "a" } },
        { method: "fs/read_text_file", params: { path: join(directory, "a.txt") } },
        { method: "terminal/create", params: { command: process.execPath, args: ["-e", "console.log('hello')"] } },
        { method: "terminal/wait_for_exit", params: { terminalId: "$terminal" } },
        { method: "terminal/output", params: { terminalId: "$terminal" } },
      ];
      await turn(bridge, session, JSON.stringify(asked));
    },
  },
  {
    name: "what the state directory had kept",
    holds: /"event":"recalled"/,
    async act(start, directory) {
      const state = ["--state-dir", join(directory, "state")];
      const first = start(rawAgent(remembering), ...state);
      await turn(first, await openSession(first), "hello");
      await first.end();
      const second = start(rawAgent(remembering), ...state);
      await initialize(second);
      await second.call("session/list", {});
      await second.call("session/resume", { sessionId: "s1", cwd: "/work", replayFrom: { type: "start" } });
    },
  },
  {
    name: "a fresh agent after the login",
    holds: /"event":"agent-restarted"/,
    async act(start, directory) {
      const bridge = start(peer("login-agent.mjs", join(directory, "login")), "--restart-after-login");
      await initialize(bridge);
      await bridge.call("auth/login", { methodId: "key" });
      await newSession(bridge);
    },
  },
  {
    name: "an agent that dies at work, with noise and last words",
    holds: /"type":"bytes".*"event":"agent-exit"/s,
    async act(start) {
      const words = [{ write: "no frame\n" }, { stderr: "last words" }, says("One"), { exit: 3 }];
      const bridge = start(rawAgent({ "session/prompt": words }));
      const session = await openSession(bridge);
      void bridge.request("session/prompt", { sessionId: session, prompt: [{ type: "text", text: "hello" }] });
      await bridge.exited();
    },
  },
  {
    name: "broken and oversized lines of the client",
    holds: /"truncated":true/,
    async act(start) {
      const bridge = start(rawAgent({}), "--max-frame", "10KiB");
      await initialize(bridge);
      await bridge.write('{"jsonrpc":\n[1]\n');
      await bridge.fault("session/new", { cwd: "/work", _meta: { much: "x".repeat(20_000) } });
    },
  },
];

test.each(ways)("$name", async ({ act, holds }) => {
  const directory = traceDirectory();
  const traces: string[] = [];
  const bridges: BridgeProcess[] = [];
  await act((agent, ...options) => {
    const trace = join(directory, `${traces.length}.jsonl`);
    traces.push(trace);
    const bridge = bridgeForTest(agent, { options: ["--trace", trace, ...options], tap: false });
    bridges.push(bridge);
    return bridge;
  }, directory);
  for (const bridge of bridges) {
    bridge.leave();
    await bridge.exited();
  }
  expect(traces.map((trace) => readFileSync(trace, "utf8")).join("")).toMatch(holds);
  for (const trace of traces) {
    const { code, stdout } = await runProgram([process.execPath, CLI, "trace", "verify", trace]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^no difference/)]);
  }
});

test("a version 2 agent, whose frames pass through", async () => {
  const trace = join(traceDirectory(), "trace.jsonl");
  const command = [process.execPath, CLI, "--trace", trace, "--", ...peer("sdk-agent-v2.mjs")];
  await runProgram(peer("sdk-client-v2.mjs", "short", "--", ...command));
  const { code, stdout } = await runProgram([process.execPath, CLI, "trace", "verify", trace]);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^no difference: [1-9]\d+ frames/)]);
});

test("a version 1 client over a version 2 agent, which nobody breaks a rule in", async () => {
  const trace = join(traceDirectory(), "trace.jsonl");
  const command = [process.execPath, CLI, "--trace", trace, "--", ...peer("sdk-agent-v2.mjs")];
  await runProgram([...peer("sdk-client-v1-tour.mjs"), "--", ...command]);
  const verified = await runProgram([process.execPath, CLI, "trace", "verify", trace]);
  expect([verified.code, verified.stdout]).toEqual([0, expect.stringMatching(/^no difference: [1-9]\d+ frames/)]);
  const checked = await runProgram([process.execPath, CLI, "trace", "check", trace]);
  expect([checked.code, checked.stdout]).toEqual([0, expect.anything()]);
});
