// Guards that a log tells no secret and is for its owner's eyes: with everything logged, no value of an MCP server's
// environment, of a header or of an authorization is in the file, and its mode is 0600.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { asObject } from "../../src/protocol/json.ts";
import { bridgeForTest } from "../support/bridge-process.ts";
import { HELLO, initialize, newSession, turn } from "../support/conversation.ts";
import { rawAgent } from "../support/raw-agent.ts";

vi.setConfig({ testTimeout: 120_000 });

test("--log-file at level trace", async () => {
  const directory = mkdtempSync(join(tmpdir(), "acp-shift-e2e-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, "acp-shift.log");
  // A file that others can read is made private too.
  writeFileSync(file, "", { mode: 0o644 });

  const secrets = Array.from({ length: 9 }, (_, index) => `hidden-${index}-value`);
  const [env, header, bearer, refusedEnv, refusedHeader, noise, error, meta, late] = secrets;
  const result = { protocolVersion: 1, agentInfo: { name: "raw-agent", version: "1.0.0" } };
  const agentCapabilities = { mcpCapabilities: { http: true } };
  const bridge = bridgeForTest(
    rawAgent({
      initialize: [
        [{ error: { code: -32602, message: "no", data: { headers: { Authorization: `Bearer ${error}` } } } }],
        [{ result: { ...result, agentCapabilities } }],
      ],
      "session/prompt": [
        { write: `{"level":"info","apiKey":"${noise}"}\n` },
        { write: `GET /v1 Authorization: Bearer ${noise}\n` },
        { send: { jsonrpc: "2.0", id: 9, result: { token: late } } },
        { update: { sessionUpdate: "tool_call", toolCallId: 7, rawInput: { env: { KEY: meta } } } },
        { update: { sessionUpdate: "agent_message_chunk", content: 7, _meta: { authorization: meta } } },
        { error: { code: -32603, message: `failed with token=${late}`, data: { password: late } } },
      ],
    }),
    { options: ["--log-level", "trace", "--log-file", file] },
  );
  await initialize(bridge, { ...HELLO, _meta: { authorization: bearer } });
  const sessionId = await newSession(bridge, {
    cwd: "/work",
    mcpServers: [
      { type: "stdio", name: "one", command: "/bin/true", env: [{ name: "API_TOKEN", value: env }] },
      { type: "http", name: "two", url: "http://localhost/", headers: [{ name: "X-Any", value: header }] },
    ],
  });
  await bridge.fault("session/new", {
    cwd: "/work",
    mcpServers: [
      {
        type: "_other",
        name: "three",
        env: [{ name: "ANY", value: refusedEnv }],
        headers: { Authorization: `Bearer ${refusedHeader}` },
      },
    ],
  });
  await turn(bridge, sessionId, "hello");
  const sent = JSON.stringify(bridge.agentSide().toAgent);
  for (const secret of [env, header, bearer]) expect(sent).toContain(secret);
  await bridge.end();

  const log = readFileSync(file, "utf8");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const events = log
    .trim()
    .split("\n")
    .map((line) => asObject(JSON.parse(line))["event"]);
  expect(events).toEqual(expect.arrayContaining(["paired", "agent-noise", "answer-to-no-request", "update-dropped"]));
  for (const secret of secrets) expect(log).not.toContain(secret);
});
