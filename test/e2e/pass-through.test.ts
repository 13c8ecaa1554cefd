// Guards docs/mapping.md §1, rows two and three: where both sides speak the same version, bytes go through untouched;
// only `initialize` is acp-shift's own. Peers of the SDK on both sides, a tap on either side of acp-shift.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import { bridgeForTest, CLI, isOver, peer } from "../support/bridge-process.ts";
import { runProgram } from "../support/programs.ts";
import { rawAgent } from "../support/raw-agent.ts";
import type { Receiver } from "../support/schema.ts";
import { parsed, readTap, type Tapped } from "../support/tap.ts";

vi.setConfig({ testTimeout: 120_000 });

interface Conversation {
  report: JsonObject;
  /** What passed between the client and acp-shift, and between acp-shift and the agent. */
  clientSide: Tapped;
  agentSide: Tapped;
}

async function converse(client: readonly string[], agent: readonly string[]): Promise<Conversation> {
  const directory = mkdtempSync(join(tmpdir(), "acp-shift-e2e-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const [clientFile, agentFile] = [join(directory, "client.jsonl"), join(directory, "agent.jsonl")];
  const bridge = [...peer("tap.mjs", clientFile, "--"), process.execPath, CLI];
  const ending = await runProgram([...client, "--", ...bridge, "--", ...peer("tap.mjs", agentFile, "--"), ...agent]);
  expect(ending).toMatchObject({ code: 0, stderr: "" });
  return { report: JSON.parse(ending.stdout), clientSide: readTap(clientFile), agentSide: readTap(agentFile) };
}

/** The lines that went one way, without the first: `initialize`, or its answer. */
const after = (side: Tapped, to: Receiver) =>
  side.lines.flatMap((line) => (line.to === to ? [line.text] : [])).slice(1);

/** The `initialize` call, or its answer. */
const first = (side: Tapped, to: Receiver) => asObject(parsed(side.lines.find((line) => line.to === to)?.text ?? ""));

const withoutId = ({ id: _, ...frame }: JsonObject) => frame;

test("a v1 client and a v1 agent", async () => {
  const { report, clientSide, agentSide } = await converse(peer("sdk-client-v1.mjs"), peer("sdk-agent-v1.mjs"));
  expect(report).toMatchObject({
    initialize: { protocolVersion: 1, agentCapabilities: { loadSession: true } },
    modes: { currentModeId: "ask" },
    stops: ["end_turn", "end_turn", "end_turn", "cancelled"],
    files: ["/work/a.txt"],
    error: { code: -32603, message: "The model is out of order", data: { status: 529 } },
    exit: { code: 0, signal: null },
  });
  expect(report["failure"]).toBeUndefined();

  expect(after(clientSide, "agent").length).toBeGreaterThan(8);
  expect(after(agentSide, "agent")).toEqual(after(clientSide, "agent"));
  expect(after(clientSide, "client").length).toBeGreaterThan(25);
  expect(after(clientSide, "client")).toEqual(after(agentSide, "client"));
  for (const to of ["agent", "client"] as const)
    expect(withoutId(first(agentSide, to))).toEqual(withoutId(first(clientSide, to)));
});

test("a v2 client and a v2 agent", async () => {
  const { report, clientSide, agentSide } = await converse(
    peer("sdk-client-v2.mjs", "short"),
    peer("sdk-agent-v2.mjs"),
  );
  expect(report).toMatchObject({
    initialize: { protocolVersion: 2, info: { name: "sdk-agent-v2" } },
    turns: [
      {
        states: [
          { state: "running" },
          { state: "requires_action" },
          { state: "running" },
          { state: "idle", stopReason: "end_turn" },
        ],
        others: [{ kind: "_vendor_update", anything: [1, "two", null] }],
      },
    ],
    permissions: [{ title: "May I?", options: ["yes"] }],
    close: {},
    exit: { code: 0, signal: null },
  });
  expect(report["failure"]).toBeUndefined();

  expect(after(clientSide, "agent").length).toBeGreaterThan(2);
  expect(after(agentSide, "agent")).toEqual(after(clientSide, "agent"));
  expect(after(clientSide, "client").length).toBeGreaterThan(10);
  expect(after(clientSide, "client")).toEqual(after(agentSide, "client"));
  // The agent was asked in a way both versions can read; what the client said is all there.
  expect(first(agentSide, "agent")["params"]).toMatchObject(asObject(first(clientSide, "agent")["params"]));
  expect(first(clientSide, "client")["result"]).toEqual(first(agentSide, "client")["result"]);
});

test("bytes are not written anew: spaces, escapes, numbers and unknown fields stay as they were", async ({ skip }) => {
  skip(isOver("sdk-ws", "http"), "the SDK's clients write messages anew");
  const update = (text: string) =>
    `{ "method":"session/update", "jsonrpc" : "2.0","params":{"sessionId":"s1","update":{"sessionUpdate":` +
    `"agent_message_chunk","content":{"text":"${text}","type":"text"},"extra":[1.0,1e2,-0]}}, "later" : null }`;
  const lines = [update("\\u00e9\\/"), update("é漢😀"), update("")];
  const bridge = bridgeForTest(
    rawAgent({
      "session/prompt": [
        { write: `${lines[0]}\n${lines[1]}\r\n${lines[2]}\n` },
        { write: '{"result":{"stopReason":"end_turn"},"id":"p","jsonrpc":"2.0"}\n' },
      ],
    }),
    { clientVersion: "v1" },
  );
  await bridge.call("initialize", { protocolVersion: 1, clientCapabilities: {} });
  await bridge.call("session/new", { cwd: "/work", mcpServers: [] });
  const params = { sessionId: "s1", prompt: [{ type: "text", text: "é" }] };
  const prompt = `{"params": ${JSON.stringify(params).replace("é", "\\u00e9")}, "id":"p","method":"session/prompt","jsonrpc":"2.0","x":1.50}`;
  bridge.send({ jsonrpc: "2.0", id: "p", method: "session/prompt", params }, () => [`${prompt}\n`]);
  await bridge.next("answer", (frame) => frame["id"] === "p");
  expect(bridge.frames.flatMap(({ from, line }) => (from === "bridge" ? [line] : [])).slice(-4)).toEqual([
    ...lines,
    '{"result":{"stopReason":"end_turn"},"id":"p","jsonrpc":"2.0"}',
  ]);
  expect(
    bridge
      .agentSide()
      .lines.filter(({ to }) => to === "agent")
      .at(-1)?.text,
  ).toBe(prompt);
});

test("an agent that dies leaves no request of a v1 client unanswered", async () => {
  const bridge = bridgeForTest(rawAgent({ "session/prompt": [{ exit: 3 }] }), { clientVersion: "v1" });
  await bridge.call("initialize", { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await bridge.call("session/new", { cwd: "/work", mcpServers: [] });
  const prompt = { sessionId, prompt: [{ type: "text", text: "hello" }] };
  expect(await bridge.fault("session/prompt", prompt)).toMatchObject({
    code: -32603,
    message: expect.stringContaining("exited with status 3"),
  });
  expect(await bridge.exited()).toEqual({ code: 3, signal: null });
});
