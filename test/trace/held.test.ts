// Guards that a trace may be longer than memory: whatever goes through one from beginning to end lets go of its records. After
// each has been taken and the garbage collected, it is counted which are still there.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { loadSchema } from "../../src/commands/schemas.ts";
import { createChecker } from "../../src/trace/check/check.ts";
import type { FrameRecord, TraceRecord } from "../../src/trace/format.ts";
import { createScript } from "../../src/trace/replay/script.ts";
import { createCounter } from "../../src/trace/stats.ts";
import { createVerifier } from "../../src/trace/verify.ts";
import {
  agentHello,
  clientHello,
  notify,
  prompt,
  reply,
  request,
  testOptions,
  text,
  update,
} from "../support/dialogue.ts";
import { createRecorder, header } from "../support/recorded.ts";

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

/** How often each thing an agent can do is done, right and wrong. */
const TIMES = 500;
/** How many records may be in use at the end: of what opened the conversation, of the last event, of a few open requests. */
const IN_USE = 30;

/** A conversation on all four legs, as lines: every record of it is to be made anew. */
function conversation(): string[] {
  const recorder = createRecorder();
  const pass = (from: "client" | "agent", frame: unknown) => {
    const cause = recorder.frame(from === "client" ? "client-bridge" : "agent-bridge", frame);
    recorder.frame(from === "client" ? "bridge-agent" : "bridge-client", frame, cause);
  };
  pass("client", request("init", "initialize", { ...clientHello, protocolVersion: 1 }));
  pass("agent", reply("init", agentHello));
  pass("client", request("new", "session/new", { cwd: "/work", mcpServers: [] }));
  pass("agent", reply("new", { sessionId: "s1" }));
  for (let at = 0; at < TIMES; at++) {
    pass("client", prompt(at, "question"));
    const chunk = { sessionUpdate: "agent_message_chunk", content: text("word") };
    pass("agent", update("s1", chunk));
    pass("agent", update("s1", { ...chunk, content: 7 }));
    pass("agent", update("s1", { sessionUpdate: "tool_call", toolCallId: `c${at}`, title: "t", status: "completed" }));
    pass("agent", request(`a${at}`, "session/request_permission", { sessionId: "s1", toolCall: {}, options: [] }));
    pass("client", reply(`a${at}`, { outcome: { outcome: "cancelled" } }));
    pass("client", notify("session/cancel", { sessionId: "s1" }));
    pass("agent", reply(at, { stopReason: "end_turn" }));
    pass("agent", reply("never asked", {}));
    recorder.add({ type: "bytes", leg: "agent-bridge", bytes: 5, text: "noise" });
    recorder.add({ type: "stderr", text: "words" });
  }
  return recorder.end().map((record) => JSON.stringify(record));
}

const world = {
  schemaV1: testOptions.schemaV1,
  schemaV2: testOptions.schemaV2,
  behaviourOf: () => testOptions,
  noiseOf: () => ["noise"],
};
const schemasOf = (version: 1 | 2) => ({
  stable: loadSchema(`v${version}/schema.json`),
  unstable: loadSchema(`v${version}/schema.unstable.json`),
});

test.each<[string, () => { take(record: TraceRecord, place: number): void }]>([
  ["check", () => createChecker(schemasOf)],
  ["stats", () => createCounter()],
  ["verify", () => createVerifier(header, testOptions, world)],
  ["replay, the agent", () => createScript("agent", "agent")],
  ["replay, the client", () => createScript("client", "client")],
])("%s", async (_, make) => {
  const taker = make();
  const taken: WeakRef<object>[] = [];
  for (const [place, line] of conversation().entries()) {
    const record = JSON.parse(line) as FrameRecord;
    taker.take(record, place);
    taken.push(new WeakRef(record));
    if (record.type === "frame") taken.push(new WeakRef(record.frame as object));
  }
  // What was just looked at is kept until this turn of the event loop is over.
  await new Promise(setImmediate);
  collect();
  expect(taken.length).toBeGreaterThan(30 * TIMES);
  expect(taken.filter((one) => one.deref() !== undefined).length).toBeLessThan(IN_USE);
  expect(taker).toBeDefined();
});
