// Guards `--map` in the product as it is run: a client and an agent that see the same files under other paths.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import { bridgeForTest, CLI, peer } from "../support/bridge-process.ts";
import { initialize, newSession, text, turn } from "../support/conversation.ts";
import { runProgram } from "../support/programs.ts";
import { rawAgent } from "../support/raw-agent.ts";

const map = ["--map", "/home/me/work=/work", "--map", "/home/me/lib=/opt/lib"];

test("a turn: each side sees its own paths, and text stays as it is", async () => {
  const free = "see /work/a.ts and /home/me/work/a.ts";
  const link = (uri: string): JsonObject => ({ type: "resource_link", name: "a", uri });
  const diff = { type: "diff", path: "/work/a.ts", oldText: "a\n", newText: "b\n" };
  const agent = rawAgent({
    "session/prompt": [
      { update: { sessionUpdate: "agent_message_chunk", content: text(free) } },
      {
        update: {
          sessionUpdate: "tool_call",
          toolCallId: "t",
          title: free,
          locations: [{ path: "/opt/lib/b" }, { path: "/etc/hosts" }],
          content: [diff],
        },
      },
      { result: { stopReason: "end_turn" } },
    ],
  });
  const bridge = bridgeForTest(agent, { options: map });
  await initialize(bridge);
  const sessionId = await newSession(bridge, { cwd: "/home/me/work/app" });
  const { updates } = await turn(bridge, sessionId, [text(free), link("file:///home/me/lib/b%20c")]);

  const params = (method: string) =>
    asObject(bridge.agentSide().toAgent.find((frame) => frame["method"] === method)?.["params"]);
  expect(params("session/new")).toEqual({ cwd: "/work/app", mcpServers: [] });
  expect(params("session/prompt")["prompt"]).toEqual([text(free), link("file:///opt/lib/b%20c")]);
  expect(updates).toMatchObject([
    { sessionUpdate: "user_message", content: [text(free), link("file:///home/me/lib/b%20c")] },
    { state: "running" },
    { sessionUpdate: "agent_message_chunk", content: text(free) },
    {
      title: free,
      locations: [{ path: "/home/me/lib/b" }, { path: "/etc/hosts" }],
      content: [{ changes: [{ path: "/home/me/work/a.ts" }] }],
    },
    { state: "idle" },
  ]);
});

test("what acp-shift hosts is on the client's side", async () => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "acp-shift-map-")));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  mkdirSync(join(directory, "app"));
  const options = ["--host", "terminal,fs", "--map", `${directory}=/agent`];
  const bridge = bridgeForTest(peer("asking-agent.mjs"), { options });
  await initialize(bridge);
  const sessionId = await newSession(bridge, { cwd: directory });
  const { updates } = await turn(
    bridge,
    sessionId,
    JSON.stringify([
      { method: "fs/write_text_file", params: { path: "/agent/app/file", content: "/agent" } },
      { method: "terminal/create", params: { command: "/bin/sh", args: ["-c", "pwd; cat file"], cwd: "/agent/app" } },
      { method: "terminal/wait_for_exit", params: { terminalId: "$terminal" } },
      { method: "terminal/output", params: { terminalId: "$terminal" } },
    ]),
  );
  expect(readFileSync(join(directory, "app/file"), "utf8")).toBe("/agent");
  const terminal = updates.find(({ sessionUpdate }) => sessionUpdate === "terminal_update");
  expect(terminal).toMatchObject({ cwd: join(directory, "app"), command: "/bin/sh -c pwd; cat file" });
  const message = updates.find(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk");
  expect(JSON.stringify(message)).toContain("/app\\\\n/agent");
});

test("a map that is none: status 2 and a word on stderr, before the agent is started", async () => {
  const ending = await runProgram([process.execPath, CLI, "--map", "work=/work", "--", ...rawAgent()]);
  expect(ending).toMatchObject({ code: 2, stdout: "" });
  expect(ending.stderr).toContain("--map");
});
