// Guards docs/trace.md with the built program: what is recorded on each leg is what was on the wire, byte for byte, in
// every pairing; noise, stderr, the agent's death and the bridge's own notes are there; nothing about the traffic changes
// when the disk is full, slow or not there; a trace is for its owner's eyes.
import { spawn, spawnSync } from "node:child_process";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { asArray, asObject, type JsonObject } from "../../src/protocol/json.ts";
import type { Leg } from "../../src/trace/format.ts";
import { type BridgeProcess, bridgeForTest, CLI, peer } from "../support/bridge-process.ts";
import { initialize, newSession, openSession, outline, turn } from "../support/conversation.ts";
import { rawAgent, type Step, says } from "../support/raw-agent.ts";
import { ofType, readTraceFile, type TraceLine, traceDirectory, wire } from "../support/trace-file.ts";

vi.setConfig({ testTimeout: 120_000 });

const END: Step = { result: { stopReason: "end_turn" } };

/** What was on the wire, as the test itself and the tap in front of the agent saw it. */
function seen(bridge: BridgeProcess): Record<Leg, string[]> {
  const ofClient = (from: string) => bridge.frames.flatMap((entry) => (entry.from === from ? [entry.line] : []));
  const ofAgent = (to: string) => bridge.agentSide().lines.flatMap((line) => (line.to === to ? [line.text] : []));
  return {
    "client-bridge": ofClient("client"),
    "bridge-client": ofClient("bridge"),
    "bridge-agent": ofAgent("agent"),
    "agent-bridge": ofAgent("client"),
  };
}

const legs = (trace: TraceLine[]) => ({
  "client-bridge": wire(trace, "client-bridge"),
  "bridge-client": wire(trace, "bridge-client"),
  "bridge-agent": wire(trace, "bridge-agent"),
  "agent-bridge": wire(trace, "agent-bridge"),
});

/** Each answer's record must name its request's, and bear its method. */
function expectPairs(trace: TraceLine[]): void {
  const records = new Map(trace.map(({ record }) => [record["seq"], record]));
  const answers = ofType(trace, "frame").filter(({ kind }) => kind === "result" || kind === "error");
  expect(answers.length).toBeGreaterThan(4);
  for (const answer of answers) {
    const request = asObject(records.get(answer["request"]));
    expect(request).toMatchObject({ kind: "request", method: answer["method"] });
    expect(asObject(request["frame"])["id"]).toEqual(asObject(answer["frame"])["id"]);
    expect([request["leg"], answer["leg"]].toSorted()).toEqual(
      String(answer["leg"]).includes("client") ? ["bridge-client", "client-bridge"] : ["agent-bridge", "bridge-agent"],
    );
  }
}

/** Each note on a frame the bridge wrote, with the kind or method of that frame. */
function notesOnFrames(trace: TraceLine[]): string[] {
  const records = new Map(trace.map(({ record }) => [record["seq"], record]));
  return ofType(trace, "note").flatMap(({ event, rule, cause }) => {
    const on = asObject(records.get(cause));
    if (!String(on["leg"]).startsWith("bridge-")) return [];
    const { sessionUpdate, state } = asObject(asObject(asObject(on["frame"])["params"])["update"]);
    const name = [sessionUpdate ?? on["method"], state].filter((part) => part !== undefined).join(" ");
    return [`${on["kind"]} ${name}: ${event} ${rule}`];
  });
}

test("what the bridge makes up is noted on the frame, once for each message", async () => {
  const file = join(traceDirectory(), "trace.jsonl");
  const plan = { sessionUpdate: "plan", entries: [] };
  const call = { sessionUpdate: "tool_call", toolCallId: "t", status: "pending", kind: "read" };
  const bridge = bridgeForTest(
    rawAgent({
      "session/prompt": [
        ...[says("One "), says("message"), { update: plan }, { update: call }, says("another")],
        { result: { stopReason: "cancelled" } },
      ],
    }),
    { options: ["--trace", file] },
  );
  await initialize(bridge);
  await turn(bridge, await newSession(bridge, { cwd: "/work" }), "hello");
  await bridge.end();
  expect(notesOnFrames(readTraceFile(file))).toEqual([
    "request initialize: initialize-for-both 1.2",
    "result initialize: initialize-translated §1",
    "result session/prompt: prompt-accepted §9",
    "notification user_message: message-told-whole §5",
    "notification state_update running: state-told §9",
    "notification agent_message_chunk: message-id-made §5",
    "notification plan_update: plan-named 7.1",
    "notification tool_call_update: tool-call-titled 6.3",
    "notification agent_message_chunk: message-id-made §5",
    "notification tool_call_update: tool-call-ended §6",
    "notification state_update idle: state-told §9",
  ]);
});

describe("what passes is recorded as it was on the wire", () => {
  test("a v2 client and a v1 agent", async () => {
    const file = join(traceDirectory(), "trace.jsonl");
    const bridge = bridgeForTest(
      rawAgent({
        start: [{ write: "Starting up…\n" }, { stderr: "warming up\n" }],
        "session/prompt": [
          { write: '\u001b]0;title\u0007{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1",' },
          { write: '"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"é 漢 😀"}}}}\n' },
          { write: '"ready"\n\u001b[31m\n' },
          { send: { jsonrpc: "2.0", id: "p1", method: "session/request_permission", params: PERMISSION } },
        ],
        answer: [says("done"), { result: { stopReason: "end_turn" }, of: "session/prompt" }],
      }),
      { options: ["--trace", file] },
    );
    bridge.onRequest("session/request_permission", () => ({ outcome: { outcome: "selected", optionId: "yes" } }));
    const sessionId = await openSession(bridge);
    const { updates } = await turn(bridge, sessionId, "hello");
    expect(outline(updates)).toContain("agent_message_chunk");
    await bridge.end();

    const trace = readTraceFile(file);
    expect(legs(trace)).toEqual(seen(bridge));
    expectPairs(trace);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(ofType(trace, "stderr").map(({ text }) => text)).toEqual(["warming up"]);
    expect(ofType(trace, "bytes").map(({ leg }) => leg)).toEqual(Array(4).fill("agent-bridge"));
    expect(ofType(trace, "note").map(({ event }) => event)).toContain("agent-line-recovered");
    expect(ofType(trace, "event").map(({ event }) => event)).toEqual(
      expect.arrayContaining(["timer", "client-left", "agent-exit"]),
    );
    expect(trace.at(-1)?.record).toMatchObject({ type: "end", status: 0, records: trace.length - 1, dropped: 0 });

    // What the bridge wrote names what made it write; a chunk its chunk.
    const frames = ofType(trace, "frame");
    const chunk = frames.find(({ leg, frame }) => leg === "bridge-client" && JSON.stringify(frame).includes("漢"));
    const cause = frames.find(({ seq }) => seq === chunk?.["cause"]);
    expect(cause).toMatchObject({ leg: "agent-bridge", session: "s1", method: "session/update" });
    for (const { leg, cause } of frames)
      if (String(leg).startsWith("bridge")) expect(cause, `${leg}`).toBeGreaterThan(0);

    const header = asObject(trace[0]?.record);
    expect(header["redaction"]).toMatchObject({ on: true, mark: "[redacted]" });
    expect(asArray(asObject(header["agent"])["command"])).toContain(process.execPath);
    expect(header["bridge"]).toMatchObject({ agentProtocol: "auto", settle: 50, runId: header["run"] });
  });

  test("a v1 client and a v1 agent: a pure tap, what is no JSON included", async () => {
    const file = join(traceDirectory(), "trace.jsonl");
    const bridge = bridgeForTest(rawAgent({ "session/prompt": [{ stderr: "hm\n" }, says("Hello"), END] }), {
      clientVersion: "v1",
      options: ["--trace", file],
    });
    await bridge.call("initialize", { protocolVersion: 1, clientCapabilities: {} });
    const { sessionId } = await bridge.call("session/new", { cwd: "/work", mcpServers: [] });
    await bridge.call("session/prompt", { sessionId, prompt: [{ type: "text", text: "hi" }] });
    await bridge.end();
    const trace = readTraceFile(file);
    expect(legs(trace)).toEqual(seen(bridge));
    expectPairs(trace);
    expect(notesOnFrames(trace)).toEqual([]);
    expect(ofType(trace, "stderr").map(({ text }) => text)).toEqual(["hm"]);
    expect(ofType(trace, "note").map(({ event, details }) => [event, asObject(details)["pairing"]])).toContainEqual([
      "paired",
      "pass-through",
    ]);
  });

  test("a v2 client and a v2 agent", async () => {
    const file = join(traceDirectory(), "trace.jsonl");
    const bridge = bridgeForTest(peer("sdk-agent-v2.mjs"), { agentVersion: "v2", options: ["--trace", file] });
    bridge.onRequest("session/request_permission", () => ({ outcome: { outcome: "selected", optionId: "yes" } }));
    await initialize(bridge);
    const sessionId = await newSession(bridge, { cwd: "/work" });
    await turn(bridge, sessionId, "hello");
    await bridge.end();
    const trace = readTraceFile(file);
    expect(legs(trace)).toEqual(seen(bridge));
    expectPairs(trace);
  });

  test("a client's line that is no JSON, one that is no message, and one beyond --max-frame", async () => {
    const file = join(traceDirectory(), "trace.jsonl");
    const bridge = bridgeForTest(rawAgent(), { options: ["--trace", file, "--max-frame", "1KiB"] });
    await initialize(bridge);
    await bridge.write(`no JSON\n[1]\n${Buffer.from([0xff, 0xfe]).toString("latin1")}\n`);
    await bridge.write(Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("\n")]));
    const tooLong = `{"jsonrpc":"2.0","id":9,"method":"x","params":"${"y".repeat(9000)}"}`;
    await bridge.write(`${tooLong}\n`);
    await bridge.next("refusal of what is too long", (frame) => frame["id"] === 9);
    await bridge.end();
    const trace = readTraceFile(file);
    const [text, latin, bytes, long] = ofType(trace, "bytes");
    expect(text).toMatchObject({ leg: "client-bridge", text: "no JSON", bytes: 7 });
    expect(latin).toMatchObject({ text: "ÿþ", bytes: 4 });
    expect(bytes).toMatchObject({ base64: "//4=", bytes: 2 });
    expect(long).toMatchObject({ truncated: true, bytes: tooLong.length, tail: expect.stringMatching(/y"}$/) });
    expect(ofType(trace, "frame").find(({ kind }) => kind === "invalid")).toMatchObject({ frame: [1] });
  });
});

const PERMISSION = {
  sessionId: "$session",
  toolCall: { toolCallId: "t1", title: "Write" },
  options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
};

test("an agent that dies in the middle of a turn: its exit, what it said last, and the bridge's own status", async () => {
  const file = join(traceDirectory(), "trace.jsonl");
  const bridge = bridgeForTest(
    rawAgent({ "session/prompt": [says("I will"), { stderr: "out of memory\n" }, { exit: 3 }] }),
    { options: ["--trace", file] },
  );
  await turn(bridge, await openSession(bridge), "hello");
  expect(await bridge.exited()).toEqual({ code: 3, signal: null });
  const trace = readTraceFile(file);
  const { seq } = asObject(ofType(trace, "event").find(({ event }) => event === "agent-exit"));
  const idle = ofType(trace, "frame").findLast(({ leg }) => leg === "bridge-client");
  expect(idle).toMatchObject({ cause: seq, frame: { params: { update: { state: "idle" } } } });
  expect(ofType(trace, "stderr").map(({ text }) => text)).toEqual(["out of memory"]);
  expect(trace.at(-1)?.record).toMatchObject({ type: "end", status: 3 });
});

test("a signal that ends acp-shift still ends the trace", async () => {
  const file = join(traceDirectory(), "trace.jsonl");
  const bridge = bridgeForTest(rawAgent(), { options: ["--trace", file] });
  await openSession(bridge);
  bridge.kill("SIGTERM");
  expect(await bridge.exited()).toEqual({ code: 143, signal: null });
  expect(readTraceFile(file).at(-1)?.record).toMatchObject({ type: "end", status: 143 });
});

test("doctor records its examination too", () => {
  const file = join(traceDirectory(), "trace.jsonl");
  const { status } = spawnSync(process.execPath, [CLI, "doctor", "--trace", file, "--", ...rawAgent()]);
  expect(status).toBe(0);
  const trace = readTraceFile(file);
  expect(ofType(trace, "frame").map(({ method }) => method)).toContain("session/new");
  expect(trace.at(-1)?.record).toMatchObject({ type: "end", status: 0 });
});

describe("the file", () => {
  test("in a directory each run gets its own, named by time and run", async () => {
    const directory = traceDirectory();
    for (let run = 0; run < 2; run++) {
      const bridge = bridgeForTest(rawAgent(), { options: ["--trace", directory] });
      await openSession(bridge);
      await bridge.end();
    }
    const files = readdirSync(directory);
    expect(files).toHaveLength(2);
    const headers = files.toSorted().map((file) => asObject(readTraceFile(join(directory, file))[0]?.record));
    expect(headers.map(({ started, run }) => `${String(started).replace(/[:.]/g, "-")}-${run}.jsonl`)).toEqual(
      files.toSorted(),
    );
  });

  test("grows no larger than --trace-limit: the first part and the newest are kept", async () => {
    const file = join(traceDirectory(), "trace.jsonl");
    const chunks = Array.from({ length: 20 }, (_, index) => says({ $repeat: String(index % 10), times: 3000 }));
    const bridge = bridgeForTest(rawAgent({ "session/prompt": [...chunks, END] }), {
      options: ["--trace", file, "--trace-limit", "64KiB"],
    });
    await turn(bridge, await openSession(bridge), "hello");
    await bridge.end();
    const parts = readdirSync(join(file, ".."))
      .map((name) => ({ name, part: Number(/^trace(?:\.(\d+))?\.jsonl$/.exec(name)?.[1] ?? 1) }))
      .toSorted((a, b) => a.part - b.part);
    const newest = Number(parts.at(-1)?.part);
    expect(newest).toBeGreaterThan(8);
    expect(parts.map(({ part }) => part)).toEqual([1, newest - 2, newest - 1, newest]);
    let last = 0;
    for (const { name, part } of parts) {
      const path = join(file, "..", name);
      expect(statSync(path).size).toBeLessThanOrEqual(16 * 1024);
      expect(statSync(path).mode & 0o777).toBe(0o600);
      const trace = readTraceFile(path, { gaps: true });
      expect(trace[0]?.record).toMatchObject({ type: "header", part });
      if (part > newest - 2) expect(trace[1]?.record["seq"]).toBe(last + 1);
      last = Number(trace.at(-1)?.record["seq"]);
    }
    expect(readTraceFile(join(file, "..", parts.at(-1)?.name ?? ""), { gaps: true }).at(-1)?.record).toMatchObject({
      type: "end",
      records: last,
    });
  });

  test.each<[string, (directory: string) => string, RegExp]>([
    ["in no directory", (directory) => join(directory, "none", "t.jsonl"), /its folder does not exist/],
    ["that holds something", (directory) => written(join(directory, "t.jsonl")), /exists; move it away/],
    [
      "with a later part of another run",
      (directory) => written(join(directory, "t.3.jsonl")).replace(".3", ""),
      /t\.3\.jsonl exists; move it away/,
    ],
    ["under a file", (directory) => join(written(join(directory, "f")), "t.jsonl"), /its folder does not exist/],
    ["that is a pipe nobody reads", (directory) => pipe(join(directory, "p")), /a pipe nobody reads/],
  ])("%s cannot be used: the agent is not started", (_, make, message) => {
    const directory = traceDirectory();
    const { status, stderr, stdout } = spawnSync(
      process.execPath,
      [CLI, "--trace", make(directory), "--", ...rawAgent({ start: [{ stderr: "started\n" }] })],
      { encoding: "utf8", input: "" },
    );
    expect(stderr).toMatch(message);
    expect(stderr).not.toContain("started");
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  });

  test("that is empty is used, and made private", async () => {
    const file = join(traceDirectory(), "t.jsonl");
    writeFileSync(file, "", { mode: 0o644 });
    const bridge = bridgeForTest(rawAgent(), { options: ["--trace", file] });
    await openSession(bridge);
    await bridge.end();
    readTraceFile(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });
});

function written(path: string): string {
  writeFileSync(path, "something\n");
  return path;
}

function pipe(path: string): string {
  expect(spawnSync("mkfifo", [path]).status).toBe(0);
  return path;
}

describe("the traffic does not mind", () => {
  const talk = async (bridge: BridgeProcess, sizes: number): Promise<void> => {
    const { updates } = await turn(bridge, await openSession(bridge), "hello");
    expect(outline(updates)).toEqual(["user_message", "running", "agent_message_chunk", "idle"]);
    const characters = updates.map(({ content }) => String(asObject(content)["text"] ?? "").length);
    expect(characters.reduce((sum, length) => sum + length)).toBe(sizes);
    await bridge.end();
    expect(await bridge.exited()).toEqual({ code: 0, signal: null });
  };

  test.skipIf(process.platform !== "linux")("a full disk", async () => {
    const bridge = bridgeForTest(rawAgent({ "session/prompt": [says({ $repeat: "a", times: 300_000 }), END] }), {
      options: ["--trace", "/dev/full"],
    });
    await talk(bridge, 300_000);
    expect(bridge.stderr.match(/the trace cannot be written to \/dev\/full/g)).toHaveLength(1);
    expect(bridge.stderr).toContain("no space left on device");
  });

  test.skipIf(process.platform === "win32")("a pipe that is not read", async () => {
    const path = pipe(join(traceDirectory(), "p"));
    // Keeps the pipe open without reading it.
    const holder = spawn("sh", ["-c", 'exec 3<>"$1"; echo; read line', "sh", path], { stdio: "pipe" });
    await new Promise((resolve) => holder.stdout.once("data", resolve));
    const bridge = bridgeForTest(rawAgent({ "session/prompt": [says({ $repeat: "a", times: 300_000 }), END] }), {
      options: ["--trace", path],
    });
    await talk(bridge, 300_000);
    holder.stdin.end();
  });
});

test("secrets are left out unless asked for, and the traffic keeps them", async () => {
  const directory = traceDirectory();
  const servers: JsonObject[] = [
    { type: "stdio", name: "one", command: "/bin/true", env: [{ name: "API_TOKEN", value: "hidden-1" }] },
  ];
  for (const [name, options] of [
    ["on.jsonl", []],
    ["off.jsonl", ["--no-redact"]],
  ] as const) {
    const agent = rawAgent({
      start: [
        { stderr: "GET / Authorization: Bearer hidden-2\n" },
        { write: '{"level":"info","apiKey":"hidden-3"}\n' },
      ],
    });
    const file = join(directory, name);
    const bridge = bridgeForTest([...agent, "--token", "hidden-4"], { options: ["--trace", file, ...options] });
    await initialize(bridge);
    await newSession(bridge, { cwd: "/work", mcpServers: servers });
    await bridge.end();
    expect(JSON.stringify(bridge.agentSide().toAgent)).toContain("hidden-1");
    const trace = readTraceFile(file);
    const text = trace.map((line) => line.text).join("\n");
    for (const secret of ["hidden-1", "hidden-2", "hidden-3", "hidden-4"])
      expect(text.includes(secret), `${secret} in ${name}`).toBe(name === "off.jsonl");
    expect(asObject(trace[0]?.record["redaction"])["on"]).toBe(name === "on.jsonl");
    if (name === "off.jsonl") expect(legs(trace)).toEqual(seen(bridge));
  }
});
