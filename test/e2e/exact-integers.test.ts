// Guards I2 and I5 of docs/mapping.md §0 for integers beyond 2^53, which JavaScript's own JSON rounds: the answer to a request
// bears its id, and what nobody here reads arrives as it was sent.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { bridgeForTest, isOver } from "../support/bridge-process.ts";
import { openSession, text, turnFrom } from "../support/conversation.ts";
import { rawAgent, type Step } from "../support/raw-agent.ts";

vi.setConfig({ testTimeout: 120_000 });

const LARGE = "9223372036854775807";
const line = (written: string): Step => ({ write: `${written.replaceAll("LARGE", LARGE)}\n` });
const update = (members: string) =>
  line(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{${members}}}}`);
const chunk = update(
  '"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hello"},"_meta":{"at":LARGE}',
);

test("ids and unknown numbers come through digit by digit", async ({ skip }) => {
  skip(isOver("sdk-ws", "http"), "the SDK's clients round them");
  const folder = mkdtempSync(join(tmpdir(), "acp-shift-exact-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const bridge = bridgeForTest(
    rawAgent({
      "session/prompt": [
        ...[chunk, chunk, chunk],
        update('"sessionUpdate":"tool_call","toolCallId":"t","title":"Look","rawInput":{"tweet":LARGE}'),
        line(
          '{"jsonrpc":"2.0","id":LARGE,"method":"session/request_permission","params":{"sessionId":"s1",' +
            '"toolCall":{"toolCallId":"t"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]}}',
        ),
      ],
      answer: [{ result: { stopReason: "end_turn" }, of: "session/prompt" }],
    }),
    { options: ["--trace", folder] },
  );
  bridge.onRequest("session/request_permission", () => ({ outcome: { outcome: "selected", optionId: "yes" } }));
  const sessionId = await openSession(bridge);
  const from = bridge.frames.length;
  const prompt = {
    jsonrpc: "2.0",
    id: Number(LARGE),
    method: "session/prompt",
    params: { sessionId, prompt: [text("go")] },
  };
  bridge.send(prompt, (written) => [`${written.replace(String(Number(LARGE)), LARGE)}\n`]);
  await turnFrom(bridge, sessionId, from, {});

  const toClient = bridge.frames.slice(from).filter((entry) => entry.from === "bridge");
  const bearing = (part: string) => toClient.filter((entry) => entry.line.includes(part.replace("LARGE", LARGE)));
  expect(bearing('"id":LARGE,"result":{"messageId"')).toHaveLength(1);
  expect(bearing('"_meta":{"at":LARGE}')).toHaveLength(3);
  expect(bearing('"rawInput":{"tweet":LARGE}')).toHaveLength(1);
  const toAgent = bridge.agentSide().lines.filter(({ to, text: sent }) => to === "agent" && sent.includes('"outcome"'));
  expect(toAgent.map(({ text: sent }) => sent)).toEqual([expect.stringContaining(`"id":${LARGE}`)]);

  await bridge.end();
  const recorded = readdirSync(folder).flatMap((file) => readFileSync(join(folder, file), "utf8").split("\n"));
  const answers = recorded.filter((record) => record.includes(`"id":${LARGE},"result":`));
  expect(answers.map((record) => JSON.parse(record).method)).toEqual(["session/prompt", "session/request_permission"]);
  expect(recorded.filter((record) => record.includes(LARGE))).toHaveLength(13);
});
