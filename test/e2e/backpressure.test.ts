// Guards docs/mapping.md §0, I6: a slow client slows the agent down, and acp-shift's memory stays what it was.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { asObject } from "../../src/protocol/json.ts";
import { bridgeForTest, isOver, peer } from "../support/bridge-process.ts";
import { initialize, newSession, text, turnFrom } from "../support/conversation.ts";
import { peakMemory } from "../support/processes.ts";

vi.setConfig({ testTimeout: 120_000 });

const UPDATES = 2000;
const UPDATE_BYTES = 64 * 1024;
const MIB = 1024 ** 2;

test("a client that does not read holds the agent up; when it reads on, it gets everything in order", async ({
  skip,
}) => {
  skip(isOver("sdk-ws", "http"), "the SDK's clients read on for whoever does not: test/remote/hostile.test.ts");
  const bridge = bridgeForTest(peer("flooding-agent.mjs", String(UPDATES), String(UPDATE_BYTES)), { tap: false });
  await initialize(bridge);
  const sessionId = await newSession(bridge);
  const before = peakMemory(bridge.pid);

  bridge.pause();
  const from = bridge.frames.length;
  bridge.send({ jsonrpc: "2.0", id: "flood", method: "session/prompt", params: { sessionId, prompt: [text("go")] } });

  // The agent says itself that it is held up: asked again and again, it has written nothing more in between.
  const file = join(bridge.directory, "progress.jsonl");
  const reports = () => (existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : []);
  const standstill = async () => {
    for (let asked = reports().length; ; asked++) {
      bridge.notify("_test/progress", { file });
      await bridge.until("report", () => reports().length > asked || undefined);
      const last = reports().slice(-20);
      if (last.length === 20 && new Set(last).size === 1) return JSON.parse(last[0] ?? "");
    }
  };
  const { written, heldUp } = await standstill();
  expect(heldUp).toBe(true);
  expect(written * UPDATE_BYTES).toBeLessThan(16 * MIB);

  bridge.resume();
  const response = await bridge.next("answer", (frame) => frame["id"] === "flood", from);
  const { updates, idle } = await turnFrom(bridge, sessionId, from, response);
  expect(idle).toMatchObject({ stopReason: "end_turn" });
  const numbers = updates
    .filter((update) => update["sessionUpdate"] === "agent_message_chunk")
    .map((update) => Number.parseInt(String(asObject(update["content"])["text"]), 10));
  expect(numbers).toEqual(Array.from({ length: UPDATES }, (_, index) => index));
  expect(peakMemory(bridge.pid) - before).toBeLessThan(UPDATES * UPDATE_BYTES * 0.75);
});
