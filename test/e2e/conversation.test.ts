// Guards the product as a whole: a client built with the SDK's draft of version 2 and an agent built with its version 1,
// each a process of its own, hold a whole conversation through the built acp-shift (docs/mapping.md, all sections).
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { asObject, isObject, type JsonObject } from "../../src/protocol/json.ts";
import { CLI, peer } from "../support/bridge-process.ts";
import { runProgram } from "../support/programs.ts";
import { validateFrameToAgent } from "../support/schema.ts";
import { parsed, readTap, type Tapped } from "../support/tap.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

interface Timeline {
  messageId: string;
  entities: JsonObject[];
  states: JsonObject[];
  others: JsonObject[];
}

const directory = mkdtempSync(join(tmpdir(), "acp-shift-e2e-"));
const tapFile = join(directory, "agent.jsonl");
let report: JsonObject;
let agentSide: Tapped;
let turns: Timeline[];

beforeAll(async () => {
  const agent = [...peer("tap.mjs", tapFile, "--"), ...peer("sdk-agent-v1.mjs")];
  const ending = await runProgram(peer("sdk-client-v2.mjs", "whole", "--", process.execPath, CLI, "--", ...agent));
  expect(ending).toMatchObject({ code: 0, stderr: "" });
  report = JSON.parse(ending.stdout);
  agentSide = readTap(tapFile);
  turns = report["turns"] as Timeline[];
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const RUNNING = { state: "running" };
const END = { state: "idle", stopReason: "end_turn" };

/** The entities of a turn without their ids, which are opaque. */
const withoutIds = (timeline: Timeline | undefined) => (timeline?.entities ?? []).map(({ id: _, ...rest }) => rest);

/** The current value of each option in a list. */
const values = (options: unknown) =>
  Object.fromEntries((options as JsonObject[]).map((option) => [option["configId"], option["currentValue"]]));

/** The agent's frames for calls of a method, in order. */
const callsOf = (method: string) =>
  agentSide.toAgent.filter((frame) => frame["method"] === method).map((frame) => frame["params"]);

describe("a v2 client of the SDK and a v1 agent of the SDK", () => {
  test("come to the end, and acp-shift with them", () => {
    expect(report["failure"]).toBeUndefined();
    expect(report["exit"]).toEqual({ code: 0, signal: null });
    expect(agentSide.exit).toEqual({ code: 0, signal: null });
  });

  test("the agent gets nothing that version 1 does not allow", () => {
    const asked = new Map<unknown, string>();
    const faults = agentSide.lines.map(({ to, text }) => {
      const frame = parsed(text);
      if (to === "agent") return validateFrameToAgent(frame, asked.get(asObject(frame)["id"]));
      if (isObject(frame) && "method" in frame) asked.set(frame["id"], String(frame["method"]));
      return undefined;
    });
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
  });

  test("initialize", () => {
    expect(report["initialize"]).toEqual({
      protocolVersion: 2,
      info: { name: "sdk-agent-v1", title: "SDK agent", version: "1.2.3" },
      capabilities: {
        session: {
          prompt: { image: {}, audio: {}, embeddedContext: {} },
          mcp: { stdio: {}, http: {} },
          delete: {},
          additionalDirectories: {},
        },
      },
      authMethods: [
        { type: "agent", methodId: "account", name: "Account", description: "Log in with an account" },
        {
          type: "terminal",
          methodId: "terminal",
          name: "Terminal",
          args: ["--login"],
          env: [
            { name: "SDK_AGENT_LOGIN", value: "1" },
            { name: "SDK_AGENT_COLOUR", value: "never" },
          ],
        },
      ],
    });
  });

  test("login and logout", () => {
    expect([report["login"], report["logout"]]).toEqual([{}, {}]);
    expect(callsOf("authenticate")).toEqual([{ methodId: "account" }]);
    expect(callsOf("logout")).toHaveLength(1);
  });

  test("session setup reaches the agent as version 1 has it", () => {
    expect(callsOf("session/new")).toEqual([
      {
        cwd: "/work",
        additionalDirectories: ["/more"],
        mcpServers: [{ name: "tools", command: "/bin/true", args: [], env: [] }],
      },
    ]);
  });

  test("modes and options are one list of options, and each is set the way it must be", () => {
    expect(values(report["configOptions"])).toEqual({ mode: "ask", model: "small", effort: "medium", thinking: true });
    expect(values(report["mode"])).toEqual({ mode: "code", model: "small", effort: "medium", thinking: true });
    expect(values(report["model"])).toMatchObject({ mode: "code", model: "large" });
    expect(values(report["thinking"])).toMatchObject({ mode: "code", model: "large", thinking: false });
    expect(callsOf("session/set_mode")).toMatchObject([{ modeId: "code" }]);
    expect(callsOf("session/set_config_option")).toMatchObject([
      { configId: "model", value: "large" },
      { configId: "thinking", type: "boolean", value: false },
    ]);
  });

  test("thought, text, plan and tool call", () => {
    expect(withoutIds(turns[0])).toEqual([
      { type: "user_message", text: "#thought #text #plan #read #more" },
      { type: "agent_thought", text: "Let me think." },
      { type: "agent_message", text: "Hello from the agent." },
      {
        type: "plan",
        planId: expect.any(String),
        entries: [
          { content: "Read", priority: "high", status: "completed" },
          { content: "Write", priority: "medium", status: "completed" },
        ],
      },
      {
        type: "tool_call",
        toolCallId: "read-1",
        title: "Read a.txt",
        name: "read_file",
        kind: "read",
        status: "completed",
        rawInput: { path: "a.txt" },
        rawOutput: { lines: 1 },
        locations: [{ path: "/work/a.txt", line: 3 }],
        content: [{ type: "content", content: { type: "text", text: "one line" } }],
      },
      { type: "agent_message", text: "Another message." },
    ]);
    expect(turns[0]?.states).toEqual([RUNNING, END]);
    expect(turns[0]?.entities[0]?.["id"]).toBe(turns[0]?.messageId);
  });

  test("a diff is a git patch; a display terminal is a terminal", () => {
    expect(withoutIds(turns[1])).toMatchObject([
      { type: "user_message" },
      {
        toolCallId: "edit-2",
        status: "completed",
        content: [
          {
            type: "diff",
            changes: [{ operation: "modify", path: "/work/src/a.txt", fileType: "text" }],
            patch: {
              format: "git_patch",
              text:
                "diff --git /work/src/a.txt /work/src/a.txt\n--- /work/src/a.txt\n+++ /work/src/a.txt\n" +
                "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
            },
          },
        ],
      },
      { toolCallId: "two-a-2", status: "completed" },
      { toolCallId: "two-b-2", status: "completed" },
      { type: "terminal", cwd: "/work", command: "echo é", text: "é\n", exitStatus: { exitCode: 0 } },
      { toolCallId: "terminal-2", status: "completed", content: [{ type: "terminal" }] },
    ]);
  });

  test("a permission given, refused, and withdrawn by a cancel", () => {
    const asks = [RUNNING, { state: "requires_action" }];
    expect(turns[2]?.states).toEqual([...asks, RUNNING, END]);
    expect(withoutIds(turns[2])).toMatchObject([{}, { status: "completed" }, { text: "permission: yes" }]);
    expect(turns[3]?.states).toEqual([...asks, RUNNING, END]);
    expect(withoutIds(turns[3])).toMatchObject([{}, { status: "failed" }, { text: "permission: no" }]);
    expect(turns[4]?.states).toEqual([...asks, { state: "idle", stopReason: "cancelled" }]);
    expect(withoutIds(turns[4])).toMatchObject([{}, { status: "cancelled" }, { text: "permission: cancelled" }]);
    expect(report["permissions"]).toEqual([
      { title: "Delete a.txt", toolCall: "permission-3", options: ["yes", "no"] },
      { title: "Delete a.txt", toolCall: "permission-4", options: ["yes", "no"] },
      { title: "Delete a.txt", toolCall: "permission-5", options: ["yes", "no"], withdrawn: true },
    ]);
  });

  test("a cancelled turn ends as cancelled, after everything the agent still said", () => {
    expect(turns[5]?.states).toEqual([RUNNING, { state: "idle", stopReason: "cancelled" }]);
    expect(withoutIds(turns[5])).toMatchObject([
      { type: "user_message" },
      { text: "Working …" },
      { toolCallId: "stream-6", status: "cancelled" },
      { text: "stopped." },
    ]);
  });

  test("a failed turn ends as an error, with the agent's own", () => {
    const error = { code: -32603, message: "The model is out of order", data: { status: 529 } };
    expect(turns[6]?.states).toEqual([RUNNING, { state: "idle", stopReason: "error", error }]);
    expect(withoutIds(turns[6])).toMatchObject([{ type: "user_message" }, { status: "failed" }]);
  });

  test("usage, title, mode and options", () => {
    expect(turns[7]?.others).toMatchObject([
      { kind: "usage_update", used: 1200, size: 200_000 },
      { kind: "session_info_update", title: "A conversation" },
      { kind: "config_option_update" },
      { kind: "config_option_update" },
    ]);
    expect(turns[7]?.others.slice(2).map((update) => values(update["configOptions"]))).toMatchObject([
      { mode: "ask", model: "large" },
      { mode: "ask", model: "small" },
    ]);
  });

  test("extensions go both ways as they are", () => {
    expect(report["extensions"]).toEqual(["a note", "question"]);
    expect(withoutIds(turns[8])[1]?.["text"]).toMatch(/^answer: \{"sessionId":".+"\}$/);
  });

  test("every kind of content the agent offers to take", () => {
    expect(withoutIds(turns[9])).toEqual([
      { type: "user_message", text: "#echo[image][audio][resource_link][resource]" },
      { type: "agent_message", text: "text image audio resource_link resource" },
    ]);
  });

  test("two prompts at once are two turns, one after the other", () => {
    const queued = report["queued"] as Timeline & { messageIds: string[] };
    expect(queued.states).toEqual([RUNNING, END, RUNNING, END]);
    expect(withoutIds(queued)).toEqual([
      { type: "user_message", text: "#text #more" },
      { type: "agent_message", text: "Hello from the agent.Another message." },
      { type: "user_message", text: "#thought #text" },
      { type: "agent_thought", text: "Let me think." },
      { type: "agent_message", text: "Hello from the agent." },
    ]);
    expect([queued.entities[0]?.["id"], queued.entities[2]?.["id"]]).toEqual(queued.messageIds);
  });

  test("an error before anything happened is the error of the prompt", () => {
    expect(report["earlyError"]).toEqual({ code: -32000, message: "Authentication required" });
  });

  test("a session nobody knows", () => {
    expect(report["unknownSession"]).toMatchObject({ code: -32002, data: { sessionId: "no-such-session" } });
  });

  test("the session is listed, with its title", () => {
    expect(report["list"]).toMatchObject({
      sessions: [{ cwd: "/work", title: "A conversation", additionalDirectories: ["/more"] }],
    });
  });

  test("a replay gives every message the id it had", () => {
    const replay = report["replay"] as Timeline;
    expect(replay.states).toEqual([{ state: "idle" }]);
    const queued = report["queued"] as Timeline;
    const lived = [...turns, queued].flatMap(({ entities }) => entities);
    const told = ({ type, id, text }: JsonObject) => ({ type, id, text });
    const messages = (entities: JsonObject[]) => entities.filter(({ text }) => text !== undefined).map(told);
    // The last message replayed is that of the prompt that failed early: the client has never seen it.
    const [last, ...before] = messages(replay.entities).reverse();
    expect(last).toMatchObject({ type: "user_message", text: "#early-error" });
    expect(before.reverse()).toEqual(messages(lived));
  });

  test("close and delete", () => {
    expect([report["close"], report["delete"], report["listAfterDelete"]]).toEqual([{}, {}, { sessions: [] }]);
  });
});
