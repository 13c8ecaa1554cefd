// Guards docs/mapping.md §4 and §5 and `--state-dir` in the product as it is run: what one run of acp-shift knew of a
// session, the next one knows, whatever ended the first; and `--restart-after-login`.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { asArray, asObject, type JsonObject } from "../../src/protocol/json.ts";
import { type BridgeProcess, bridgeForTest, peer } from "../support/bridge-process.ts";
import { initialize, newSession, text, turn, updateOf, updatesIn } from "../support/conversation.ts";
import { rawAgent, type Script, type Step, says } from "../support/raw-agent.ts";

/** An agent's `initialize` with these capabilities. */
const offers = (agentCapabilities: JsonObject): Step[] => [
  { result: { protocolVersion: 1, agentInfo: { name: "raw-agent", version: "1.0.0" }, agentCapabilities } },
];
const onlyResume: Script = {
  initialize: offers({ sessionCapabilities: { resume: {} } }),
  "session/resume": [{ result: {} }],
};
const onlyLoad = (replayed: Step[]): Script => ({
  initialize: offers({ loadSession: true }),
  "session/load": [...replayed, { result: {} }],
});
const chunk = (sessionUpdate: string, words: string): Step => ({ update: { sessionUpdate, content: text(words) } });
const toolCall = (fields: JsonObject): JsonObject => ({ toolCallId: "t", ...fields });

/** A turn with two messages and a tool call between them. */
const conversation = (toolCallId = "t"): Step[] => [
  says("On"),
  says("e"),
  { update: { sessionUpdate: "tool_call", ...toolCall({ toolCallId, title: "Read", status: "completed" }) } },
  says("Two"),
  { result: { stopReason: "end_turn" } },
];

function stateDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "acp-shift-state-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, "state");
}

async function run(script: Script, directory?: string): Promise<BridgeProcess> {
  const options = directory === undefined ? [] : ["--state-dir", directory];
  const bridge = bridgeForTest(rawAgent(script), { options });
  await initialize(bridge);
  return bridge;
}

/** Resumes s1; the session's updates up to the result. */
async function resume(bridge: BridgeProcess, fields: JsonObject = {}, sessionId = "s1"): Promise<JsonObject[]> {
  const from = bridge.frames.length;
  await bridge.call("session/resume", { sessionId, cwd: "/work", ...fields });
  const frames = bridge.frames.slice(from).flatMap((entry) => (entry.from === "bridge" ? [entry.frame] : []));
  return updatesIn(frames, sessionId);
}

const replay = { replayFrom: { type: "start" } };
const IDLE = { sessionUpdate: "state_update", state: "idle" };

/** The kind and id of each message among updates, in the order they first appear. */
function messageIds(updates: readonly JsonObject[]): string[] {
  const ids = updates.flatMap(({ sessionUpdate, messageId }) =>
    messageId === undefined ? [] : [`${String(sessionUpdate).replace("_chunk", "")} ${messageId}`],
  );
  return [...new Set(ids)];
}

function filesIn(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );
}

/** Waits until something of that text was kept. */
const kept = (bridge: BridgeProcess, directory: string, words: string) =>
  bridge.until(`${words} in the state directory`, () =>
    filesIn(directory).some((file) => readFileSync(file, "utf8").includes(words)) ? true : undefined,
  );

const listed = async (bridge: BridgeProcess) => asArray((await bridge.call("session/list", {}))["sessions"]);

/** A first run, with one session and one turn; the ids of its messages. */
async function firstRun(script: Script, directory: string): Promise<string[]> {
  const bridge = await run({ ...script, "session/prompt": conversation() }, directory);
  const { updates } = await turn(bridge, await newSession(bridge), "hello");
  await bridge.end();
  return messageIds(updates);
}

describe("two runs over one state directory", () => {
  test("an agent that has only resume: listed, resumed without replay, and with replay from the transcript", async () => {
    const directory = stateDirectory();
    const ids = await firstRun(onlyResume, directory);
    expect(ids).toHaveLength(3);

    const bridge = await run({ ...onlyResume, "session/prompt": conversation("t2") }, directory);
    expect(await listed(bridge)).toEqual([{ sessionId: "s1", cwd: "/work", updatedAt: expect.any(String) }]);
    expect(await resume(bridge)).toEqual([IDLE]);
    const replayed = await resume(bridge, replay);
    expect(messageIds(replayed)).toEqual(ids);
    expect(replayed).toEqual([
      { sessionUpdate: "user_message", messageId: expect.any(String), content: [text("hello")] },
      { sessionUpdate: "agent_message", messageId: expect.any(String), content: [text("One")] },
      { sessionUpdate: "tool_call_update", ...toolCall({ title: "Read", status: "completed" }) },
      { sessionUpdate: "agent_message", messageId: expect.any(String), content: [text("Two")] },
      IDLE,
    ]);

    // The second run's turn has ids of its own, and follows in a third.
    const more = messageIds((await turn(bridge, "s1", "hello")).updates);
    expect(new Set([...ids, ...more]).size).toBe(6);
    await bridge.end();
    const third = await run(onlyResume, directory);
    expect(messageIds(await resume(third, replay))).toEqual([...ids, ...more]);
  });

  test("an agent that has only load: its replay has the ids of the first run", async () => {
    const directory = stateDirectory();
    const script = onlyLoad([
      chunk("user_message_chunk", "hello"),
      says("One"),
      { update: { sessionUpdate: "tool_call", ...toolCall({ title: "Read", status: "completed" }) } },
      says("Tw"),
      says("o"),
    ]);
    const ids = await firstRun(script, directory);

    const bridge = await run(script, directory);
    expect(await listed(bridge)).toMatchObject([{ sessionId: "s1", cwd: "/work" }]);
    const replayed = await resume(bridge, replay);
    expect(messageIds(replayed)).toEqual(ids);
    expect(replayed.at(-1)).toEqual(IDLE);
    expect(await resume(bridge)).toEqual([IDLE]);
  });

  test("an agent that has neither: its sessions cannot come back, so none is listed", async () => {
    const directory = stateDirectory();
    await firstRun({}, directory);
    const bridge = await run({}, directory);
    expect(await listed(bridge)).toEqual([]);
    expect(await bridge.fault("session/resume", { sessionId: "s1", cwd: "/work" })).toMatchObject({ code: -32002 });
  });

  test("an agent that has neither, in one run: the live session is replayed", async () => {
    const bridge = await run({ "session/prompt": conversation() }, stateDirectory());
    const { updates } = await turn(bridge, await newSession(bridge), "hello");
    expect(messageIds(await resume(bridge, replay))).toEqual(messageIds(updates));
  });

  test("files are the owner's only", async () => {
    const directory = stateDirectory();
    await firstRun(onlyResume, directory);
    const files = filesIn(directory);
    expect(files).toHaveLength(1);
    for (const file of files) expect(statSync(file).mode & 0o777).toBe(0o600);
    for (const place of [directory, join(directory, readdirSync(directory)[0] ?? "")])
      expect(statSync(place).mode & 0o777).toBe(0o700);
  });

  test("without the option nothing is written", async () => {
    const bridge = await run({ ...onlyResume, "session/prompt": conversation() });
    await turn(bridge, await newSession(bridge), "hello");
    await bridge.call("session/close", { sessionId: "s1" });
    // The tap's own record is the test's.
    expect(filesIn(bridge.directory)).toEqual([join(bridge.directory, "agent.jsonl")]);
  });

  test("SIGKILL in the middle of a turn: what was said is listed and replayed", async () => {
    const directory = stateDirectory();
    const steps: Step[] = [
      chunk("agent_thought_chunk", "Hm"),
      says("One"),
      { update: { sessionUpdate: "tool_call", ...toolCall({ title: "Read", status: "in_progress" }) } },
    ];
    const first = await run({ ...onlyResume, "session/prompt": steps }, directory);
    const sessionId = await newSession(first);
    const from = first.frames.length;
    await first.call("session/prompt", { sessionId, prompt: [text("hello")] });
    await first.next("tool call", (frame) => updateOf(frame, sessionId)?.["toolCallId"] === "t", from);
    await kept(first, directory, "toolCallId");
    const said = first.frames.slice(from).flatMap(({ frame }) => {
      const update = updateOf(frame, sessionId);
      return update === undefined ? [] : [update];
    });
    first.kill("SIGKILL");
    expect(await first.exited()).toEqual({ code: null, signal: "SIGKILL" });
    await first.nothingLeft();

    const second = await run(onlyResume, directory);
    expect(await listed(second)).toMatchObject([{ sessionId, cwd: "/work" }]);
    const replayed = await resume(second, replay, sessionId);
    expect(messageIds(replayed)).toEqual(messageIds(said));
    expect(replayed.map(({ content }) => JSON.stringify(content ?? null))).toEqual([
      ...["hello", "Hm", "One"].map((words) => JSON.stringify([text(words)])),
      "null",
      "null",
      "null",
    ]);
    // Nobody works on it any more.
    expect(replayed.flatMap(({ status }) => status ?? [])).toEqual(["in_progress", "failed"]);
  });

  test("two at once: each keeps its own session, both add to a shared one, and a third knows all", async () => {
    const directory = stateDirectory();
    const named = (name: string): Script => ({
      ...onlyResume,
      "session/new": [{ result: { sessionId: name } }],
      "session/prompt": [says(`I am ${name}`), { result: { stopReason: "end_turn" } }],
    });
    const one = await run(named("one"), directory);
    const two = await run(named("two"), directory);
    await Promise.all([newSession(one), newSession(two)]);
    await Promise.all([turn(one, "one", "hello"), turn(two, "two", "hello")]);
    await kept(one, directory, "I am one");
    await resume(two, {}, "one");
    await Promise.all([turn(one, "one", "from one"), turn(two, "one", "from two")]);
    await Promise.all([one.end(), two.end()]);

    const third = await run(onlyResume, directory);
    expect((await listed(third)).map((entry) => asObject(entry)["sessionId"]).sort()).toEqual(["one", "two"]);
    const replayed = await resume(third, replay, "one");
    const words = replayed.map(({ content }) => asObject(asArray(content)[0])["text"]).filter(Boolean);
    expect(words.toSorted()).toEqual(["I am one", "I am one", "I am two", "from one", "from two", "hello"]);
    expect(new Set(messageIds(replayed)).size).toBe(6);
    expect(await resume(third, replay, "two")).toHaveLength(3);
  });
});

describe("--restart-after-login", () => {
  const agent = (directory: string) => peer("login-agent.mjs", join(directory, "login"));

  test("an agent that takes up its login only when it starts works after it", async () => {
    const directory = mkdtempSync(join(tmpdir(), "acp-shift-login-"));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const bridge = bridgeForTest(agent(directory), { options: ["--restart-after-login"], tap: false });
    await initialize(bridge);
    expect(await bridge.fault("session/new", { cwd: "/work" })).toMatchObject({ code: -32000 });
    expect(await bridge.call("auth/login", { methodId: "key" })).toEqual({});
    expect(await newSession(bridge)).toMatch(/^of-\d+$/);
    expect(readFileSync(join(directory, "login"), "utf8")).toBe("logged in\n");
    bridge.leave();
    expect(await bridge.exited()).toEqual({ code: 0, signal: null });
  });

  test("an agent that ends too slowly for the handshake: the bridge ends, and starts no other", async () => {
    const script: Script = { authenticate: [{ result: {} }], eof: [] };
    const options = ["--restart-after-login", "--handshake-timeout", "3s", "--term-after", "4s"];
    const bridge = bridgeForTest(rawAgent(script), { options, tap: false });
    await initialize(bridge);
    expect(await bridge.fault("auth/login", { methodId: "key" })).toMatchObject({ code: -32603 });
    expect(await bridge.exited()).toEqual({ code: 1, signal: null });
  });

  test("without it the agent stays as it is", async () => {
    const directory = mkdtempSync(join(tmpdir(), "acp-shift-login-"));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const bridge = bridgeForTest(agent(directory));
    await initialize(bridge);
    await bridge.call("auth/login", { methodId: "key" });
    expect(await bridge.fault("session/new", { cwd: "/work" })).toMatchObject({ code: -32000 });
  });
});
