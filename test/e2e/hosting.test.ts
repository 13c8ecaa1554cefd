// Guards docs/mapping.md §10 in the product as it is run: terminals and files that acp-shift hosts for the agent are real,
// the client sees the terminals, and nothing of them is left behind.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { asArray, asObject, type JsonObject } from "../../src/protocol/json.ts";
import { type BridgeProcess, bridgeForTest, peer } from "../support/bridge-process.ts";
import { initialize, newSession, type Turn, turn, updateOf } from "../support/conversation.ts";
import { isRunning } from "../support/processes.ts";

/** A request the agent is told to make (test/fixtures/peers/asking-agent.mjs), or a list of them to be made beside. */
type Asked = { method: string; params?: JsonObject } | Asked[];

function workDirectory(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "acp-shift-work-")));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function open(cwd: string, ...options: string[]): Promise<{ bridge: BridgeProcess; sessionId: string }> {
  const bridge = bridgeForTest(peer("asking-agent.mjs"), { options });
  await initialize(bridge);
  return { bridge, sessionId: await newSession(bridge, { cwd }) };
}

/** What came of the requests, as the agent tells it in its only message. */
function outcomes({ updates }: Turn): JsonObject[] {
  const words = updates.flatMap(({ sessionUpdate, content }) =>
    sessionUpdate === "agent_message_chunk" ? [String(asObject(content)["text"])] : [],
  );
  return asArray(JSON.parse(words.join(""))).map(asObject);
}

const ask = (bridge: BridgeProcess, sessionId: string, requests: Asked[]) =>
  turn(bridge, sessionId, JSON.stringify(requests));

const node = (script: string, ...args: string[]) => ({ command: process.execPath, args: ["-e", script, ...args] });
const create = (params: object): Asked => ({ method: "terminal/create", params: { ...params } });
const ofTerminal = (method: string): Asked => ({
  method: `terminal/${method}`,
  params: { terminalId: "$terminal" },
});

/** The terminal's updates in a turn. */
const terminalUpdates = ({ updates }: Turn) =>
  updates.filter(({ sessionUpdate }) => String(sessionUpdate).startsWith("terminal_"));

/** What the client has seen of the terminal's output. */
const shownOutput = (seen: Turn) =>
  Buffer.concat(
    terminalUpdates(seen).map(({ data }) => Buffer.from(typeof data === "string" ? data : "", "base64")),
  ).toString();

describe("hosted terminals, the default", () => {
  test("a command runs in the session's directory with the environment it was given", async () => {
    const cwd = workDirectory();
    const { bridge, sessionId } = await open(cwd);
    const script = "process.stdout.write(process.cwd() + ' ' + process.env.WORD); process.exitCode = 3";
    const seen = await ask(bridge, sessionId, [
      create({ ...node(script), env: [{ name: "WORD", value: "wörd" }] }),
      ofTerminal("wait_for_exit"),
      ofTerminal("output"),
      ofTerminal("release"),
      ofTerminal("output"),
    ]);
    const exitStatus = { exitCode: 3, signal: null };
    expect(outcomes(seen)).toEqual([
      { result: { terminalId: expect.any(String) } },
      { result: exitStatus },
      { result: { output: `${cwd} wörd`, truncated: false, exitStatus } },
      { result: {} },
      { error: expect.objectContaining({ code: -32002 }) },
    ]);
    const terminalId = asObject(outcomes(seen)[0]?.["result"])["terminalId"];
    const updates = terminalUpdates(seen);
    expect(updates[0]).toEqual({
      sessionUpdate: "terminal_update",
      terminalId,
      command: [process.execPath, "-e", script].join(" "),
      cwd,
    });
    expect(updates.at(-1)).toMatchObject({ sessionUpdate: "terminal_update", terminalId, exitStatus: { exitCode: 3 } });
    expect(shownOutput(seen)).toBe(`${cwd} wörd`);
  });

  test("a command that does not exist: a terminal all the same, announced before what it says", async () => {
    const { bridge, sessionId } = await open(workDirectory());
    const seen = await ask(bridge, sessionId, [
      create({ command: "/no/such/command", args: ["x"] }),
      ofTerminal("wait_for_exit"),
    ]);
    expect(outcomes(seen).at(-1)).toMatchObject({ result: { exitCode: 127 } });
    expect(terminalUpdates(seen)).toMatchObject([
      { sessionUpdate: "terminal_update", command: "/no/such/command x" },
      { sessionUpdate: "terminal_output_chunk" },
      { sessionUpdate: "terminal_update", exitStatus: { exitCode: 127 } },
    ]);
  });

  test("a directory of its own, and output beyond the limit", async () => {
    const cwd = workDirectory();
    mkdirSync(join(cwd, "sub"));
    const { bridge, sessionId } = await open(cwd);
    const seen = await ask(bridge, sessionId, [
      create({ ...node("console.log('x'.repeat(100)); console.log(process.cwd())"), cwd: join(cwd, "sub") }),
      ofTerminal("wait_for_exit"),
      create({ ...node("process.stdout.write('abcdefé')"), outputByteLimit: 3 }),
      ofTerminal("wait_for_exit"),
      ofTerminal("output"),
    ]);
    expect(shownOutput(seen)).toContain(join(cwd, "sub"));
    // The client gets all of it; the agent what fits, cut between characters.
    expect(shownOutput(seen)).toContain("abcdefé");
    expect(outcomes(seen).at(-1)?.["result"]).toMatchObject({ output: "fé", truncated: true });
  });

  test("kill ends the command with all it started", async () => {
    const { bridge, sessionId } = await open(workDirectory());
    // The child writes its number and its own child's, and both stay.
    const inner = "setInterval(() => {}, 1000)";
    const outer = `const { spawn } = require("node:child_process");
      const child = spawn(process.execPath, ["-e", ${JSON.stringify(inner)}], { stdio: "ignore" });
      console.log(process.pid + " " + child.pid + " up"); ${inner}`;
    const from = bridge.frames.length;
    const first = await ask(bridge, sessionId, [create(node(outer))]);
    const { terminalId } = asObject(outcomes(first)[0]?.["result"]);
    const seen = await bridge.until("numbers of both processes", () => {
      const data = bridge.frames
        .slice(from)
        .map(({ frame }) => updateOf(frame, sessionId)?.["data"])
        .filter((part) => typeof part === "string");
      const words = Buffer.concat(data.map((part) => Buffer.from(part, "base64"))).toString();
      return /^(\d+) (\d+) up/.exec(words) ?? undefined;
    });
    const pids = [Number(seen[1]), Number(seen[2])];
    expect(pids.map(isRunning)).toEqual([true, true]);
    const second = await ask(bridge, sessionId, [
      { method: "terminal/kill", params: { terminalId } },
      { method: "terminal/wait_for_exit", params: { terminalId } },
    ]);
    expect(outcomes(second)).toEqual([{ result: {} }, { result: { exitCode: null, signal: "SIGTERM" } }]);
    await bridge.until("end of both", () => (pids.some(isRunning) ? undefined : true));
  });

  test("terminal/kill: the exit status says by what signal, and the terminal can still be read", async () => {
    const { bridge, sessionId } = await open(workDirectory());
    const seen = await ask(bridge, sessionId, [
      create(node("setInterval(() => {}, 1000)")),
      ofTerminal("kill"),
      ofTerminal("wait_for_exit"),
      ofTerminal("output"),
    ]);
    const exitStatus = { exitCode: null, signal: "SIGTERM" };
    expect(outcomes(seen).slice(1)).toEqual([
      { result: {} },
      { result: exitStatus },
      { result: { output: "", truncated: false, exitStatus } },
    ]);
    expect(terminalUpdates(seen).at(-1)).toMatchObject({ exitStatus: { signal: "SIGTERM" } });
  });

  test("many at once: each has its own output, and the client sees each", async () => {
    const { bridge, sessionId } = await open(workDirectory());
    const count = 12;
    const many = Array.from({ length: count }, (_, n): Asked[] => [
      create({ command: "/bin/sh", args: ["-c", `echo out ${n}; echo err ${n} >&2`] }),
      ofTerminal("wait_for_exit"),
      ofTerminal("output"),
      ofTerminal("release"),
    ]);
    const seen = await ask(bridge, sessionId, many);
    const outputs = outcomes(seen).flatMap(({ result }) => asObject(result)["output"] ?? []);
    expect(outputs.map((output) => String(output).split("\n").toSorted())).toEqual(
      Array.from({ length: count }, (_, n) => ["", `err ${n}`, `out ${n}`]),
    );
    const updates = terminalUpdates(seen);
    const ids = new Set(updates.map(({ terminalId }) => terminalId));
    expect(ids.size).toBe(count);
    expect(updates.filter(({ exitStatus }) => asObject(exitStatus)["exitCode"] === 0)).toHaveLength(count);
  });

  test("a terminal that outlives its turn is shown on, and no state lists it", async () => {
    const cwd = workDirectory();
    const { bridge, sessionId } = await open(cwd);
    const script = `const { existsSync } = require("node:fs");
      const wait = setInterval(() => { if (existsSync("go")) { console.log("gone"); clearInterval(wait); } }, 20)`;
    const seen = await ask(bridge, sessionId, [create(node(script))]);
    const { terminalId } = asObject(outcomes(seen)[0]?.["result"]);
    const from = bridge.frames.length;
    writeFileSync(join(cwd, "go"), "");
    const ended = await bridge.next(
      "end of the terminal",
      (frame) => updateOf(frame, sessionId)?.["exitStatus"] !== undefined,
      from,
    );
    expect(updateOf(ended, sessionId)).toMatchObject({ terminalId, exitStatus: { exitCode: 0 } });
    const states = bridge.frames.filter(
      ({ frame }) => updateOf(frame, sessionId)?.["sessionUpdate"] === "state_update",
    );
    expect(states.map(({ frame }) => updateOf(frame, sessionId)?.["state"])).toEqual(["running", "idle"]);
    expect(states.some(({ line }) => line.includes("background"))).toBe(false);
  });

  test("what still runs is ended with acp-shift", async () => {
    const cwd = workDirectory();
    const { bridge, sessionId } = await open(cwd, "--kill-after", "200ms");
    // It takes no notice of SIGTERM.
    const script = `process.on("SIGTERM", () => {});
      require("node:fs").writeFileSync("pid", String(process.pid)); console.log("up"); setInterval(() => {}, 1000)`;
    await ask(bridge, sessionId, [create(node(script))]);
    await bridge.next("its first words", (frame) => updateOf(frame, sessionId)?.["data"] !== undefined);
    const pid = Number(readFileSync(join(cwd, "pid"), "utf8"));
    expect(isRunning(pid)).toBe(true);
    await bridge.end();
    expect(isRunning(pid)).toBe(false);
  });
});

describe("--host", () => {
  const read = (path: string, more: object = {}): Asked => ({
    method: "fs/read_text_file",
    params: { path, ...more },
  });
  const write = (path: string, content: string): Asked => ({ method: "fs/write_text_file", params: { path, content } });

  const capabilities = async (bridge: BridgeProcess) => {
    const hello = await bridge.agentGot("initialize", (frame) => frame["method"] === "initialize");
    const { fs, terminal } = asObject(asObject(hello["params"])["clientCapabilities"]);
    return { fs, terminal };
  };

  test("none: nothing is offered, and each request is refused with -32601", async () => {
    const { bridge, sessionId } = await open(workDirectory(), "--host", "none");
    expect(await capabilities(bridge)).toEqual({ fs: { readTextFile: false, writeTextFile: false }, terminal: false });
    const seen = await ask(bridge, sessionId, [create({ command: "ls" }), read("/etc/hosts"), write("/tmp/x", "")]);
    expect(outcomes(seen).map(({ error }) => asObject(error)["code"])).toEqual([-32601, -32601, -32601]);
  });

  test("by default files are not hosted", async () => {
    const { bridge, sessionId } = await open(workDirectory());
    expect(await capabilities(bridge)).toEqual({ fs: { readTextFile: false, writeTextFile: false }, terminal: true });
    expect(outcomes(await ask(bridge, sessionId, [read("/etc/hosts")]))).toEqual([
      { error: expect.objectContaining({ code: -32601 }) },
    ]);
  });

  test("fs: files within the session's directories, and no others", async () => {
    const cwd = workDirectory();
    const outside = workDirectory();
    writeFileSync(join(cwd, "a"), "one\ntwo\nthree\n");
    writeFileSync(join(outside, "secret"), "secret");
    const { bridge, sessionId } = await open(cwd, "--host", "fs");
    expect(await capabilities(bridge)).toEqual({ fs: { readTextFile: true, writeTextFile: true }, terminal: false });
    const seen = await ask(bridge, sessionId, [
      read(join(cwd, "a"), { line: 2, limit: 1 }),
      write(join(cwd, "new/b"), "written"),
      read(join(cwd, "missing")),
      read(join(outside, "secret")),
      write(join(outside, "c"), "no"),
      create({ command: "ls" }),
    ]);
    expect(outcomes(seen)).toEqual([
      { result: { content: "two\n" } },
      { result: {} },
      ...[-32002, -32602, -32602, -32601].map((code) => ({ error: expect.objectContaining({ code }) })),
    ]);
    expect(readFileSync(join(cwd, "new/b"), "utf8")).toBe("written");
    expect(JSON.stringify(outcomes(seen))).not.toContain('"secret"}');
  });

  test("terminal,fs: both", async () => {
    const { bridge } = await open(workDirectory(), "--host", "terminal,fs");
    expect(await capabilities(bridge)).toEqual({ fs: { readTextFile: true, writeTextFile: true }, terminal: true });
  });
});
