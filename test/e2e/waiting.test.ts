// Guards the waits of docs/mapping.md §9 where they meet a real clock: for a first sign of life, for the tail of a turn,
// and for an agent that never stops. What happens is asserted, never when.
import { expect, test, vi } from "vitest";
import { bridgeForTest } from "../support/bridge-process.ts";
import { openSession, outline, text, turn, turnFrom, updateOf } from "../support/conversation.ts";
import { rawAgent, says } from "../support/raw-agent.ts";

vi.setConfig({ testTimeout: 120_000 });

test("a prompt is accepted though the agent says nothing", async () => {
  const bridge = bridgeForTest(rawAgent({ "session/prompt": [] }));
  const sessionId = await openSession(bridge);
  const from = bridge.frames.length;
  await bridge.call("session/prompt", { sessionId, prompt: [text("hello")] });
  await bridge.next("running", (frame) => updateOf(frame, sessionId)?.["state"] === "running", from);
});

test("what an agent says right after its result still belongs to the turn", async () => {
  const bridge = bridgeForTest(
    rawAgent({ "session/prompt": [says("Hello "), { result: { stopReason: "end_turn" } }, says("again")] }),
    { options: ["--settle", "1s"] },
  );
  const { updates } = await turn(bridge, await openSession(bridge), "hello");
  expect(outline(updates)).toEqual(["user_message", "running", "agent_message_chunk", "idle"]);
  expect(updates.filter((update) => update["sessionUpdate"] === "agent_message_chunk")).toHaveLength(2);
});

test("an agent that does not answer a cancelled prompt is not waited for; its late answer settles nothing", async () => {
  const bridge = bridgeForTest(
    rawAgent({
      "session/prompt": [
        [says("Working …")],
        [
          { result: { stopReason: "refusal" }, of: "session/prompt" },
          says("Hello"),
          { result: { stopReason: "end_turn" } },
        ],
      ],
    }),
    { options: ["--cancel-timeout", "100ms"] },
  );
  const sessionId = await openSession(bridge);
  const from = bridge.frames.length;
  const response = await bridge.request("session/prompt", { sessionId, prompt: [text("work")] });
  bridge.notify("session/cancel", { sessionId });
  const { idle } = await turnFrom(bridge, sessionId, from, response);
  expect(idle).toMatchObject({ stopReason: "cancelled" });
  expect((await turn(bridge, sessionId, "and now?")).idle).toMatchObject({ stopReason: "end_turn" });
});
