// Guards docs/mapping.md §12: what counts as a frame, from either side, and what becomes of everything else.
import { describe, expect, test, vi } from "vitest";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import { type BridgeProcess, bridgeForTest, isOver } from "../support/bridge-process.ts";
import { HELLO, initialize, newSession, openSession, outline, text, turn, updateOf } from "../support/conversation.ts";
import { rawAgent, type Step, says } from "../support/raw-agent.ts";

vi.setConfig({ testTimeout: 120_000 });

const END: Step = { result: { stopReason: "end_turn" } };
const chunk = (words: string): JsonObject => ({
  jsonrpc: "2.0",
  method: "session/update",
  params: { sessionId: "s1", update: { sessionUpdate: "agent_message_chunk", content: text(words) } },
});

/** What the agent says in the turn, as one text. */
const spoken = (updates: readonly JsonObject[]) =>
  updates.map(({ sessionUpdate, content }) =>
    sessionUpdate === "agent_message_chunk" ? asObject(content)["text"] : "",
  );

describe("from the agent", () => {
  test("banners, log lines and bare JSON are noise: to stderr, never to the client", async () => {
    const noise = [
      "Starting up…",
      '"ready"',
      "[20:18:05] hi",
      '{"level":"info","id":1}',
      "12",
      "\u001b[31mred\u001b[0m",
    ];
    const bridge = bridgeForTest(
      rawAgent({
        start: noise.map((line) => ({ write: `${line}\n` })),
        "session/prompt": [{ write: "thinking...\n" }, says("Hello"), { write: "\n\r\n" }, END],
      }),
    );
    const { updates } = await turn(bridge, await openSession(bridge), "hello");
    expect(outline(updates)).toEqual(["user_message", "running", "agent_message_chunk", "idle"]);
    for (const line of [...noise.slice(0, 5), "red", "thinking..."]) expect(bridge.stderr).toContain(line);
  });

  test("terminal escapes, a BOM or CRLF round a frame, and frames glued together, are read", async () => {
    const answer = '{"jsonrpc":"2.0","id":$id,"result":';
    const bridge = bridgeForTest(
      rawAgent({
        initialize: [{ write: `\u001b]0;title\u0007\u001b[?2004h${answer}{"protocolVersion":1}}\r\n` }],
        "session/new": [{ write: `\uFEFF${answer}{"sessionId":"s1"}}\n` }],
        "session/prompt": [
          { write: `[12:00:00] ${JSON.stringify(chunk("one "))}${JSON.stringify(chunk("two "))}\n` },
          { write: `${JSON.stringify(chunk("three"))} ${answer}{"stopReason":"end_turn"}}\n` },
        ],
      }),
    );
    const { updates, idle } = await turn(bridge, await openSession(bridge), "hello");
    expect(spoken(updates).join("")).toBe("one two three");
    expect(idle).toMatchObject({ stopReason: "end_turn" });
  });

  test("an array is unpacked in order", async () => {
    const batch = [chunk("one "), chunk("two"), { jsonrpc: "2.0", id: "$id", result: { stopReason: "refusal" } }];
    const bridge = bridgeForTest(rawAgent({ "session/prompt": [{ send: batch }] }));
    const { updates, idle } = await turn(bridge, await openSession(bridge), "hello");
    expect(spoken(updates).join("")).toBe("one two");
    expect(idle).toMatchObject({ stopReason: "refusal" });
    expect(bridge.stderr).toContain('"level":"warn"');
  });

  test("answers to nothing, and updates that are none, do no harm", async () => {
    const stray: Step[] = [
      { send: { jsonrpc: "2.0", error: { code: -32601, message: "Method not found" } } },
      { send: { jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } } },
      { send: { jsonrpc: "2.0", id: 999, result: {} } },
      { send: { jsonrpc: "2.0", method: "session/update" } },
      { send: { jsonrpc: "2.0", method: "session/update", params: { sessionId: "s1", update: null } } },
      { update: { sessionUpdate: "agent_message_chunk", content: 7 } },
      { update: { sessionUpdate: "tool_call", title: "without an id" } },
    ];
    const bridge = bridgeForTest(rawAgent({ "session/prompt": [...stray, says("Hello"), END] }));
    const { updates } = await turn(bridge, await openSession(bridge), "hello");
    expect(outline(updates)).toEqual(["user_message", "running", "agent_message_chunk", "idle"]);
  });
});

describe("from the client", () => {
  test("whatever is no request is answered, with no id; the connection lives on", async ({ skip }) => {
    skip(isOver("sdk-ws", "http"), "the SDK's clients send nothing but messages");
    const bridge = bridgeForTest(rawAgent());
    await openSession(bridge);
    const line = async (bytes: string): Promise<JsonObject> => {
      const from = bridge.frames.length;
      await bridge.write(`${bytes}\n`);
      return bridge.next(`answer to ${bytes}`, (frame) => "error" in frame, from);
    };
    const refused = (code: number) => ({ jsonrpc: "2.0", id: null, error: { code, message: expect.any(String) } });
    expect(await line("{oops")).toEqual(refused(-32700));
    expect(await line('{"jsonrpc":"2.0","id":5,"method":"session/list","params":{}')).toEqual(refused(-32700));
    for (const bytes of [
      "[]",
      '[{"jsonrpc":"2.0","id":50,"method":"session/list"},{"jsonrpc":"2.0","method":"session/cancel"}]',
      "7",
      '"text"',
      "null",
      "{}",
      '{"jsonrpc":"2.0","id":51}',
      '{"id":52,"method":"session/list"}',
      '{"jsonrpc":"2.0","id":null,"method":"session/list"}',
      '{"jsonrpc":"2.0","id":1.5,"method":"session/list"}',
      '{"jsonrpc":"2.0","id":{},"method":"session/list"}',
    ])
      expect(await line(bytes), bytes).toEqual(refused(-32600));
    expect(await bridge.call("session/list", {})).toHaveProperty("sessions");
  });

  test("an id that is still in use is refused, and the first request keeps its answer", async () => {
    const bridge = bridgeForTest(
      rawAgent({ "_test/wait": [], "_test/go": [{ result: { gone: true }, of: "_test/wait" }, { result: {} }] }),
    );
    await initialize(bridge);
    const first = bridge.request("_test/wait", {}, "twice");
    await bridge.agentGot("the first request", (frame) => frame["method"] === "_test/wait");
    await bridge.write('{"jsonrpc":"2.0","id":"twice","method":"_test/wait"}\n');
    await bridge.next("refusal", (frame) => frame["id"] === null && "error" in frame);
    await bridge.call("_test/go");
    expect(await first).toEqual({ jsonrpc: "2.0", id: "twice", result: { gone: true } });
  });

  test("a BOM, CRLF, blank lines, and characters cut at every byte", async ({ skip }) => {
    skip(isOver("sdk-ws", "http"), "the SDK's clients write messages in their own way");
    const bridge = bridgeForTest(rawAgent());
    bridge.send({ jsonrpc: "2.0", id: "init", method: "initialize", params: HELLO }, (line) => [`\uFEFF${line}\r\n`]);
    await bridge.next("answer to initialize", (frame) => "error" in frame || frame["id"] === "init");
    const sessionId = await newSession(bridge);
    const words = "é漢😀 ";
    const prompt = { sessionId, prompt: [text(words)] };
    bridge.send({ jsonrpc: "2.0", id: "cut", method: "session/prompt", params: prompt }, (line) =>
      [...Buffer.from(`\n\r\n  \n${line}\r\n`)].map((byte) => Buffer.from([byte])),
    );
    const message = await bridge.next(
      "user message",
      (frame) => updateOf(frame, sessionId)?.["sessionUpdate"] === "user_message",
    );
    expect(updateOf(message, sessionId)?.["content"]).toEqual([text(words)]);
    const sent = await bridge.agentGot("prompt", (frame) => frame["method"] === "session/prompt");
    expect(asObject(sent["params"])["prompt"]).toEqual([text(words)]);
  });
});

test("what nests too deeply to be written costs its own frame, and who waits for it an error", async ({ skip }) => {
  skip(isOver("sdk-ws", "http"), "the SDK's clients cannot write it either");
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const line = (rest: string) => ({ write: `{"jsonrpc":"2.0",${rest}}\n` });
  const bridge = bridgeForTest(
    rawAgent({
      "session/prompt": [
        line(`"method":"_test/told","params":{"deep":${deep}}`),
        line(`"id":9,"method":"_test/asked","params":{"deep":${deep}}`),
      ],
      answer: [says("Hello"), { result: { stopReason: "end_turn" }, of: "session/prompt" }],
      "_test/ask": [line(`"id":$id,"result":{"deep":${deep}}`)],
    }),
    { tap: false },
  );
  const sessionId = await openSession(bridge);
  const { updates } = await turn(bridge, sessionId, "hello");
  expect(outline(updates)).toEqual(["user_message", "running", "agent_message_chunk", "idle"]);
  expect(await bridge.fault("_test/ask", {})).toMatchObject({ code: -32603 });
  await bridge.write(`{"jsonrpc":"2.0","id":"deep","method":"_test/tell","params":{"deep":${deep}}}\n`);
  const answer = await bridge.next("answer", (frame) => frame["id"] === "deep");
  expect(answer).toMatchObject({ error: { code: -32603 } });
});

describe("large frames", () => {
  test("10 MB go through, both ways", async () => {
    const times = 10 * 1024 ** 2;
    const bridge = bridgeForTest(rawAgent({ "session/prompt": [says({ $repeat: "x", times }), END] }));
    const { updates, idle } = await turn(bridge, await openSession(bridge), "y".repeat(times));
    expect(spoken(updates).join("")).toHaveLength(times);
    expect(idle).toMatchObject({ stopReason: "end_turn" });
    const sent = await bridge.agentGot("prompt", (frame) => frame["method"] === "session/prompt");
    expect(JSON.stringify(sent)).toContain("y".repeat(1000));
    expect(JSON.stringify(sent).length).toBeGreaterThan(times);
  });

  test("a tool call's long strings come as they were, wherever they stand and whatever is in them", async () => {
    const part = 'é\n"漢"\\\u0000😀x';
    const call = { sessionUpdate: "tool_call_update", toolCallId: "t1", title: "Read" };
    const saidWith = (long: unknown) => [
      {
        ...call,
        content: [{ type: "content", content: { type: "text", text: long } }],
        rawOutput: { a: [long, { b: long }] },
      },
      { ...call, content: [{ type: "content", content: { type: "text", text: long } }], _meta: { long } },
      { ...call, content: [], rawInput: { long }, rawOutput: "short" },
    ];
    const steps = saidWith({ $repeat: part, times: 40_000 }).map((update) => ({
      send: { ...chunk(""), params: { sessionId: "s1", update } },
    }));
    const bridge = bridgeForTest(rawAgent({ "session/prompt": [...steps, END] }));
    const { updates } = await turn(bridge, await openSession(bridge), "hello");
    const calls = updates.filter(({ sessionUpdate }) => sessionUpdate === "tool_call_update");
    expect(calls).toEqual(saidWith(part.repeat(40_000)));
  });

  /** Just above the limit of these tests. */
  const big = { $repeat: "x", times: 40_000 };
  const limited = { options: ["--max-frame", "32KiB"] };

  async function livesOn(bridge: BridgeProcess, sessionId: string): Promise<void> {
    const { updates } = await turn(bridge, sessionId, "and now?");
    expect(outline(updates)).toEqual(["user_message", "running", "agent_message_chunk", "idle"]);
  }

  test("the client's beyond --max-frame: a request gets an error, an answer counts as none", async ({ skip }) => {
    skip(isOver("ws", "sdk-ws", "http"), "refused by the transport: test/remote/hostile.test.ts");
    const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
    const params = { sessionId: "s1", toolCall: { toolCallId: "t1", title: "Delete" }, options };
    const asks = { send: { jsonrpc: "2.0", id: 8, method: "session/request_permission", params } };
    const bridge = bridgeForTest(
      rawAgent({
        "session/prompt": [[says("Hello"), END], [asks], [says("Hello"), END]],
        answer: [{ result: { stopReason: "end_turn" }, of: "session/prompt" }],
      }),
      limited,
    );
    const sessionId = await openSession(bridge);
    const error = await bridge.fault("session/prompt", { sessionId, prompt: [text("x".repeat(40_000))] });
    expect(error).toMatchObject({ code: -32603, message: expect.stringContaining("--max-frame") });
    await livesOn(bridge, sessionId);

    const outcome = { outcome: "selected", optionId: "yes" };
    bridge.onRequest("session/request_permission", () => ({ outcome, _meta: { padding: "x".repeat(40_000) } }));
    await turn(bridge, sessionId, "ask me");
    expect(await bridge.agentGot("answer", (frame) => frame["id"] === 8)).toMatchObject({
      result: { outcome: { outcome: "cancelled" } },
    });
    await livesOn(bridge, sessionId);
  });

  test("the agent's beyond --max-frame: an update is a notice, a request an error to it, an answer one to the client", async () => {
    const bridge = bridgeForTest(
      rawAgent({
        "session/prompt": [
          [says(big), { send: { jsonrpc: "2.0", id: 9, method: "_test/big", params: { big } } }],
          [says("Hello"), { result: { stopReason: "end_turn", _meta: { big } } }],
          [says("Hello"), END],
        ],
        answer: [{ result: { stopReason: "end_turn" }, of: "session/prompt" }],
        "_test/ask": [{ result: { big } }],
      }),
      limited,
    );
    const sessionId = await openSession(bridge);
    const { updates } = await turn(bridge, sessionId, "hello");
    expect(outline(updates)).toContain("notice");
    expect(outline(updates)).not.toContain("agent_message_chunk");
    const refusal = await bridge.agentGot("answer", (frame) => frame["id"] === 9);
    expect(refusal).toMatchObject({ error: { code: -32603, message: expect.stringContaining("--max-frame") } });

    const { idle } = await turn(bridge, sessionId, "and the turn's result?");
    expect(idle).toMatchObject({ stopReason: "error", error: { code: -32603 } });
    expect(await bridge.fault("_test/ask", {})).toMatchObject({ code: -32603 });
    await livesOn(bridge, sessionId);
  });
});
