// Guards docs/operations.md on a plain bridge: each metric has the value of what passed, probes tell its state, and spans
// of turns, tool calls and permissions reach a collector as children of the prompt's traceparent, without contents.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import { type BridgeProcess, bridgeForTest, CLI } from "../support/bridge-process.ts";
import { openSession, turn } from "../support/conversation.ts";
import { type Family, sampleOf } from "../support/exposition.ts";
import { type CollectedSpan, collectorForTest, OPS, opsUrl, scrape } from "../support/operations.ts";
import { runProgram } from "../support/programs.ts";
import { rawAgent, says } from "../support/raw-agent.ts";

const SECRET = "the contents of a private file";

/** So long that the bridge does not read all of it. */
const LONG = { type: "content", content: { type: "text", text: { $repeat: "é", times: 300_000 } } };

/** Three turns: one with a tool call and a permission, one that hits a limit, one that is refused. */
const AGENT = rawAgent({
  "session/prompt": [
    [
      // Alike, so that those after the first are known by their pattern.
      ...["", "ä", "\n"].map((end) => says(SECRET + end)),
      { update: { sessionUpdate: "tool_call", toolCallId: "t1", title: SECRET, kind: "edit", status: "pending" } },
      {
        send: {
          jsonrpc: "2.0",
          id: "p",
          method: "session/request_permission",
          params: {
            sessionId: "s1",
            toolCall: { toolCallId: "t1" },
            options: [
              { optionId: "no", name: SECRET, kind: "reject_once" },
              { optionId: "yes", name: SECRET, kind: "allow_always" },
            ],
          },
        },
      },
    ],
    [
      { send: { jsonrpc: "2.0", method: "session/update", params: { sessionId: "nobody", update: chunk("lost") } } },
      { update: { sessionUpdate: "tool_call", toolCallId: "t2", title: SECRET, kind: "read" } },
      { update: { sessionUpdate: "tool_call_update", toolCallId: "t2", status: "failed", content: [LONG] } },
      { result: { stopReason: "max_tokens" } },
    ],
    [{ error: { code: -32000, message: SECRET } }],
  ],
  answer: [
    { update: { sessionUpdate: "tool_call_update", toolCallId: "t1", status: "completed" } },
    { update: { sessionUpdate: "tool_call_update", toolCallId: "t1", title: SECRET } },
    { result: { stopReason: "end_turn" }, of: "session/prompt" },
  ],
});

function chunk(text: string): JsonObject {
  return { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
}

function start(...options: string[]): BridgeProcess {
  // However slow the machine is: the third prompt is refused before it counts as accepted.
  const bridge = bridgeForTest(AGENT, { options: [...options, "--accept-window", "1m"] });
  bridge.onRequest("session/request_permission", () => ({ outcome: { outcome: "selected", optionId: "yes" } }));
  return bridge;
}

/** The three turns. */
async function converse(bridge: BridgeProcess, meta: JsonObject = {}): Promise<string> {
  const sessionId = await openSession(bridge);
  await turn(bridge, sessionId, SECRET, { _meta: meta });
  await turn(bridge, sessionId, SECRET);
  await bridge.fault("session/prompt", { sessionId, prompt: [{ type: "text", text: SECRET }] });
  return sessionId;
}

describe("/metrics", () => {
  test("counts what passed", async () => {
    const bridge = start(...OPS);
    const url = await bridge.until("address of --ops", () => opsUrl(bridge.stderr));
    await converse(bridge);
    const families = await scrape(url);
    const count = (name: string, labels: Record<string, string> = {}) =>
      sampleOf(families, `acp_shift_${name}`, labels);

    expect(count("connections")).toBe(1);
    expect(count("connections_total")).toBe(1);
    expect(count("sessions")).toBe(1);
    expect(count("sessions_opened_total", { method: "session/new" })).toBe(1);
    expect(count("turns_running")).toBe(0);
    expect(count("turns_total", { stop_reason: "end_turn" })).toBe(1);
    expect(count("turns_total", { stop_reason: "max_tokens" })).toBe(1);
    expect(count("turns_total", { stop_reason: "refused" })).toBe(1);
    expect(count("agent_starts_total")).toBe(1);
    expect(families.get("acp_shift_agent_exits_total")?.samples).toEqual([]);
    expect(families.get("acp_shift_losses_total")?.samples).toEqual([
      { name: "acp_shift_losses_total", labels: { event: "update-of-unknown-session" }, value: 1 },
    ]);

    const client = bridge.frames.filter(({ from }) => from === "client").map(({ line }) => line);
    const bridged = bridge.frames.filter(({ from }) => from === "bridge").map(({ line }) => line);
    const agent = (to: "agent" | "client") =>
      bridge
        .agentSide()
        .lines.filter((line) => line.to === to)
        .map(({ text }) => text);
    await bridge.until("record of the agent's last answer", () =>
      agent("client").find((line) => line.includes("-32000")),
    );
    for (const [leg, lines] of [
      ["client-bridge", client],
      ["bridge-client", bridged],
      ["bridge-agent", agent("agent")],
      ["agent-bridge", agent("client")],
    ] as const) {
      expect([leg, count("frames_total", { leg })]).toEqual([leg, lines.length]);
      const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line), 0);
      expect([leg, count("bytes_total", { leg })]).toEqual([leg, bytes]);
    }
    // Every frame of the client's led to one at once; of the agent's one was lost.
    expect(count("added_latency_seconds_count", { leg: "client-bridge" })).toBe(client.length);
    expect(count("added_latency_seconds_sum", { leg: "client-bridge" })).toBeGreaterThan(0);
    const fromAgent = count("added_latency_seconds_count", { leg: "agent-bridge" });
    expect(fromAgent).toBeGreaterThan(0);
    expect(fromAgent).toBeLessThan(agent("client").length);
    const own = [...families.values()].filter(({ name }) => name.startsWith("acp_shift_"));
    const isOdd = ({ name, type }: Family) => name.endsWith("_total") !== (type === "counter");
    expect(own.filter(isOdd)).toEqual([]);
    expect(sampleOf(families, "process_resident_memory_bytes")).toBeGreaterThan(1e6);
    expect(sampleOf(families, "process_cpu_seconds_total")).toBeGreaterThan(0);
  });

  test("tells of a turn while it runs", async () => {
    const bridge = bridgeForTest(rawAgent({ "session/prompt": [says("…")] }), { options: OPS });
    const url = await bridge.until("address of --ops", () => opsUrl(bridge.stderr));
    const sessionId = await openSession(bridge);
    await bridge.call("session/prompt", { sessionId, prompt: [{ type: "text", text: "go on" }] });
    expect(sampleOf(await scrape(url), "acp_shift_turns_running")).toBe(1);
  });
});

test("/readyz changes while the bridge ends, and /healthz does not", async () => {
  const agent = rawAgent({ eof: [], ignores: ["SIGTERM"] });
  const bridge = bridgeForTest(agent, { options: [...OPS, "--term-after", "30s"] });
  const url = await bridge.until("address of --ops", () => opsUrl(bridge.stderr));
  await openSession(bridge);
  expect([await status(`${url}/readyz`), await status(`${url}/healthz`)]).toEqual([200, 200]);
  bridge.kill("SIGTERM");
  await expect.poll(() => status(`${url}/readyz`)).toBe(503);
  expect(await status(`${url}/healthz`)).toBe(200);
  bridge.kill("SIGTERM");
  expect((await bridge.exited()).code).toBe(143);
});

async function status(url: string): Promise<number> {
  return (await fetch(url)).status;
}

describe("--otlp", () => {
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const parentSpanId = "b7ad6b7169203331";
  const traceparent = `00-${traceId}-${parentSpanId}-01`;

  test("exports turns, tool calls and permissions, without what was said", async () => {
    const collector = await collectorForTest();
    const bridge = start("--otlp", collector.url);
    const sessionId = await converse(bridge, { traceparent, tracestate: "v=1" });
    await bridge.end();

    const { spans } = collector;
    const turns = spans.filter(({ name }) => name === "turn");
    expect(turns.map(({ attributes, failed }) => ({ ...attributes, failed }))).toEqual([
      { "acp.session.id": sessionId, "acp.stop_reason": "end_turn", failed: false },
      { "acp.session.id": sessionId, "acp.stop_reason": "max_tokens", failed: false },
      { "acp.session.id": sessionId, "acp.stop_reason": "refused", failed: true },
    ]);
    const [first, second] = turns;
    expect(first).toMatchObject({ traceId, parentSpanId });
    expect(second?.traceId).not.toBe(traceId);
    expect(second?.parentSpanId).toBeUndefined();
    expect(spans.filter(({ name }) => name === "tool_call").map(inTurn)).toEqual([
      {
        turn: first?.spanId,
        failed: false,
        attributes: { "acp.tool_call.id": "t1", "acp.tool_call.kind": "edit", "acp.tool_call.status": "completed" },
      },
      {
        turn: second?.spanId,
        failed: true,
        attributes: { "acp.tool_call.id": "t2", "acp.tool_call.kind": "read", "acp.tool_call.status": "failed" },
      },
    ]);
    expect(spans.filter(({ name }) => name === "permission").map(inTurn)).toEqual([
      { turn: first?.spanId, failed: false, attributes: { "acp.permission.outcome": "allow_always" } },
    ]);
    expect(first?.resource).toMatchObject({ "service.name": "acp-shift" });
    expect(collector.bodies.join("")).not.toContain(SECRET);
  });

  const inTurn = ({ parentSpanId: turn, failed, attributes }: CollectedSpan) => ({
    turn,
    failed,
    attributes,
  });

  test("a prompt that is not to be sampled is not exported", async () => {
    const collector = await collectorForTest();
    const bridge = start("--otlp", collector.url);
    await converse(bridge, { traceparent: `00-${traceId}-${parentSpanId}-00` });
    await bridge.end();
    expect(collector.spans.filter((span) => span.traceId === traceId)).toEqual([]);
    expect(collector.spans.length).toBeGreaterThan(0);
  });

  test("a turn that the client leaves is exported; the usual variables name the service", async () => {
    const collector = await collectorForTest();
    const env = { ...process.env, OTEL_SERVICE_NAME: "my-agent", OTEL_RESOURCE_ATTRIBUTES: "team=x" };
    const bridge = bridgeForTest(rawAgent({ "session/prompt": [says("…")] }), {
      options: ["--otlp", collector.url],
      env,
    });
    const sessionId = await openSession(bridge);
    await bridge.call("session/prompt", { sessionId, prompt: [{ type: "text", text: "go" }] });
    await bridge.end();
    expect(collector.spans.map(({ attributes }) => attributes["acp.stop_reason"])).toEqual(["error"]);
    expect(collector.spans[0]?.resource).toMatchObject({ "service.name": "my-agent", team: "x" });
  });

  const STRANGE = { traceparent: { a: 1 }, tracestate: 5, baggage: [] };

  test("a collector that is not there costs one record in the log, strange values in `_meta` nothing", async () => {
    const bridge = start("--otlp", "http://127.0.0.1:9");
    await converse(bridge, STRANGE);
    const prompt = bridge.agentSide().toAgent.find(({ method }) => method === "session/prompt");
    expect(asObject(prompt?.["params"])["_meta"]).toEqual(STRANGE);
    await bridge.end();
    expect((await bridge.exited()).code).toBe(0);
    expect(bridge.stderr.match(/"otlp-fault"/g)).toHaveLength(1);
  });

  test("a collector that never answers keeps nobody", async () => {
    const collector = await collectorForTest({ silent: true });
    const bridge = start("--otlp", collector.url);
    await converse(bridge);
    await bridge.end();
    expect((await bridge.exited()).code).toBe(0);
    expect(collector.bodies).toHaveLength(1);
  });
});

describe("an address that cannot be used ends acp-shift with status 2", () => {
  test.each([
    ["--ops", "9464"],
    ["--ops", "http://nowhere.invalid:1"],
    ["--otlp", "collector"],
  ])("%s %s", async (option, value) => {
    const bridge = bridgeForTest(AGENT, { options: [option, value], tap: false });
    expect((await bridge.exited()).code).toBe(2);
    expect(bridge.stderr).toMatch(new RegExp(`^acp-shift: ${option}: `));
  });
});

describe("what is not asked for is not loaded", () => {
  const directory = mkdtempSync(join(tmpdir(), "acp-shift-loaded-"));
  afterAll(() => rmSync(directory, { recursive: true }));
  const listing = join(directory, "listing.cjs");
  writeFileSync(
    listing,
    `process.on("exit", () => {
      for (const name of ["prom-client", "@opentelemetry/sdk-trace"])
        if (Object.keys(require.cache).some((file) => file.includes("/node_modules/" + name + "/"))) console.error("loaded", name);
    })`,
  );

  test.each([
    [[], []],
    [["--ops", "http://127.0.0.1:0"], ["prom-client"]],
    [["--otlp", "http://127.0.0.1:9"], ["@opentelemetry/sdk-trace"]],
  ])("%j", async (options, loaded) => {
    const command = [process.execPath, "--require", listing, CLI, ...options, "--", ...rawAgent()];
    const { stderr } = await runProgram(command);
    expect([...stderr.matchAll(/^loaded (.*)$/gm)].map(([, name]) => name)).toEqual(loaded);
  });
});
