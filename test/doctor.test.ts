// Guards `acp-shift doctor`: what it says of an agent is so, in words and as the JSON that docs/doctor.md describes; its
// exit status says whether the agent can be used; secrets are masked, and no process is left behind.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Facts } from "../src/doctor/facts.ts";
import { report } from "../src/doctor/report.ts";
import { isObject } from "../src/protocol/json.ts";
import { CLI, DEADLINE, environmentIn, peer } from "./support/bridge-process.ts";
import { isRunning } from "./support/processes.ts";
import { runProgram } from "./support/programs.ts";
import { rawAgent, type Script } from "./support/raw-agent.ts";

const folder = mkdtempSync(join(tmpdir(), "acp-shift-doctor-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const fixture = (path: string): string => fileURLToPath(new URL(`fixtures/${path}`, import.meta.url));

interface Run {
  command: readonly string[];
  options?: string[];
  /** Where programs are searched for, when not where they are for this test. */
  path?: string[];
}

function doctor({ command, options = [], path }: Run) {
  const environment = path === undefined ? [] : ["env", `PATH=${path.join(":")}`];
  return runProgram([...environment, process.execPath, CLI, "doctor", ...options, "--", ...command]);
}

/** Every run that was asked for JSON, for the test of its description. */
const seen: Facts[] = [];

/** What the doctor finds, once it is clear that its words and its exit status agree with it. */
async function facts(run: Run): Promise<Facts> {
  const { code, stdout, stderr } = await doctor({ ...run, options: ["--json", ...(run.options ?? [])] });
  expect(stderr).toBe("");
  const found: Facts = JSON.parse(stdout);
  expect(code).toBe(found.verdict.exitStatus);
  for (const columns of [60, 80, 100]) {
    const lines = report(found, { columns, colour: false }).split("\n");
    expect(lines.filter((line) => line.length > columns && line.trim().includes(" ", 30))).toEqual([]);
  }
  seen.push(found);
  return found;
}

const raw = (script: Script, options: string[] = []): Promise<Facts> => facts({ command: rawAgent(script), options });

const initialized = (fields: object): Script => ({
  initialize: [
    {
      result: {
        protocolVersion: 1,
        agentInfo: { name: "raw-agent", version: "1.0.0" },
        agentCapabilities: {},
        ...fields,
      },
    },
  ],
});

const howOf = ({ abilities }: Facts) => Object.fromEntries(abilities.map(({ name, how }) => [name, how]));
const notesOf = ({ abilities }: Facts) => Object.fromEntries(abilities.map(({ name, note }) => [name, note]));
const words = (found: Facts) => report(found, { columns: 80, colour: false });

describe.concurrent("an agent that can be used", () => {
  test("that offers everything", async () => {
    const found = await facts({ command: peer("sdk-agent-v1.mjs") });
    expect(found).toMatchObject({
      verdict: { usable: true, needsLogin: false, exitStatus: 0 },
      command: { words: peer("sdk-agent-v1.mjs"), cwd: process.cwd(), path: process.execPath, executable: true },
      failure: null,
      agent: { name: "sdk-agent-v1", title: "SDK agent", version: "1.2.3" },
      protocol: { agentVersion: 1, pairing: "translated" },
      startupMs: expect.any(Number),
      profile: null,
      authMethods: [
        { id: "account", name: "Account", type: "agent", description: "Log in with an account" },
        { id: "terminal", name: "Terminal", type: "terminal", description: null },
      ],
      session: { opened: true, error: null, optionsFrom: ["configOptions", "modes"], closeError: null },
      violations: [],
      noise: { count: 0, lines: [] },
      stderr: { count: 0, lines: [] },
    });
    expect(found.session?.options.find(({ id }) => id === "model")).toMatchObject({
      name: "Model",
      type: "select",
      value: "small",
      values: ["small", "large"],
    });
    expect(found.session?.commands.map(({ name }) => name)).toContain("explain");
    const {
      "session/resume replayFrom": replay,
      "terminals for the agent": _,
      "files for the agent": __,
      ...others
    } = howOf(found);
    expect(replay).toBe("bridge");
    expect(new Set(Object.values(others))).toEqual(new Set(["native"]));
  });

  test("that offers nothing", async () => {
    const found = await facts({ command: peer("sdk-agent-v1.mjs", "--offer=nothing") });
    expect(found.verdict).toEqual({ usable: true, needsLogin: false, exitStatus: 0 });
    expect(howOf(found)).toMatchObject({
      "session/new": "native",
      "session/prompt": "native",
      "session/cancel": "native",
      "session/list": "bridge",
      "session/close": "bridge",
      "session/delete": "none",
      "session/set_config_option": "none",
      "auth/login": "none",
      "auth/logout": "none",
      "prompt image": "none",
      "prompt audio": "none",
      "prompt embeddedContext": "none",
      "mcp stdio": "native",
      "mcp http": "none",
      additionalDirectories: "none",
    });
  });

  test.each([
    ["load", "bridge", "session/load, its replay swallowed", "bridge"],
    ["resume", "native", null, "none"],
    ["load,resume", "native", null, "bridge"],
  ])("that offers %s: resume is there", async (offer, resume, note, replay) => {
    const found = await facts({ command: peer("sdk-agent-v1.mjs", `--offer=${offer}`) });
    expect(howOf(found)).toMatchObject({ "session/resume": resume, "session/resume replayFrom": replay });
    expect(notesOf(found)).toMatchObject({ "session/resume": note });
  });

  test("what acp-shift does for it follows the options; the session of the examination is not remembered", async () => {
    const directory = join(folder, "state");
    const command = peer("sdk-agent-v1.mjs", "--offer=nothing");
    const little = await facts({ command, options: ["--host", "none"] });
    expect(howOf(little)).toMatchObject({
      "session/resume replayFrom": "none",
      "terminals for the agent": "none",
      "files for the agent": "none",
    });
    const much = await facts({ command, options: ["--host", "terminal,fs", "--state-dir", directory] });
    expect(howOf(much)).toMatchObject({
      "session/resume replayFrom": "bridge",
      "terminals for the agent": "bridge",
      "files for the agent": "bridge",
    });
    expect(existsSync(directory)).toBe(false);
  });

  test("whose options are modes and models", async () => {
    const modes = {
      currentModeId: "ask",
      availableModes: [
        { id: "ask", name: "Ask" },
        { id: "code", name: "Code" },
      ],
    };
    const models = { currentModelId: "m", availableModels: [{ modelId: "m", name: "M" }] };
    const found = await raw({ "session/new": [{ result: { sessionId: "s1", modes, models } }] });
    expect(found.session).toMatchObject({
      optionsFrom: ["modes", "models"],
      options: [
        { id: "mode", name: "Mode", type: "select", value: "ask", values: ["ask", "code"] },
        { id: "model", name: "Model", type: "select", value: "m", values: ["m"] },
      ],
    });
    expect(howOf(found)).toMatchObject({ "session/set_config_option": "bridge" });
    expect(notesOf(found)).toMatchObject({ "session/set_config_option": "session/set_mode, session/set_model" });
    expect(words(found)).toMatch(/Mode +ask; or code\n/);
  });

  test("that speaks version 2", async () => {
    const found = await facts({ command: peer("sdk-agent-v2.mjs") });
    expect(found).toMatchObject({
      verdict: { usable: true },
      agent: { name: "sdk-agent-v2" },
      protocol: { agentVersion: 2, pairing: "passed-through" },
      profile: null,
      session: { opened: true, closeError: null },
      losses: [],
      violations: [],
    });
    expect(howOf(found)).toMatchObject({
      "session/list": "native",
      "session/delete": "none",
      "prompt image": "native",
      "prompt audio": "none",
      "mcp stdio": "native",
      "mcp http": "none",
    });
    expect(words(found)).toMatch(/Protocol +version 2, passed through; translated for v1 clients\n/);
  });

  test("after logging in", async () => {
    const found = await raw({
      ...initialized({ authMethods: [{ id: "key", name: "API key" }] }),
      "session/new": [{ error: { code: -32000, message: "Authentication required" } }],
    });
    expect(found).toMatchObject({
      verdict: { usable: true, needsLogin: true, exitStatus: 0 },
      failure: null,
      session: { opened: false, error: { code: -32000 } },
    });
    expect(howOf(found)).toMatchObject({ "auth/login": "native", "session/set_config_option": "unknown" });
    expect(words(found)).toContain("✔ usable     After logging in with one of its login methods.");
  });

  test("to which a profile applies; what the person set stands", async () => {
    const command = rawAgent(initialized({ agentInfo: { name: "OpenCode", version: "1" } }));
    const profile = { name: "opencode", settings: { settle: 300 }, why: { settle: expect.stringContaining("") } };
    expect((await facts({ command })).profile).toMatchObject({ ...profile, overridden: [] });
    const overridden = await facts({ command, options: ["--settle", "1s"] });
    expect(overridden.profile).toMatchObject({ ...profile, overridden: ["settle"] });
    expect(words(overridden)).toContain("opencode: --settle 300ms (yours stands)");
    expect((await facts({ command, options: ["--profile", "none"] })).profile).toBeNull();
  });
});

describe.concurrent("an agent that cannot be used", () => {
  test("because there is no such command: says where it was searched for", async () => {
    const directories = [join(folder, "one"), join(folder, "two")];
    const found = await facts({ command: ["no-such-agent", "--acp"], path: directories });
    expect(found).toMatchObject({
      verdict: { usable: false, exitStatus: 127 },
      command: { path: null, executable: false, searched: directories },
      failure: { phase: "start", cause: "ENOENT", hint: expect.stringContaining("spelling") },
      agent: null,
      startupMs: null,
      abilities: [],
      session: null,
    });
    expect(words(found)).toMatch(new RegExp(`Searched in +${directories[0]}\n +${directories[1]}\n`));
  });

  test("because there is no such file", async () => {
    const found = await facts({ command: ["./no/such/agent"] });
    expect(found.verdict.exitStatus).toBe(127);
    expect(found.command.searched).toEqual([join(process.cwd(), "no/such/agent")]);
  });

  test("because the file may not be executed; a program further along PATH is found", async () => {
    const [first, second] = [join(folder, "first"), join(folder, "second")];
    for (const directory of [first, second]) mkdirSync(directory);
    writeFileSync(join(first, "agent"), "no program", { mode: 0o600 });
    const found = await facts({ command: ["agent"], path: [first] });
    expect(found).toMatchObject({
      verdict: { usable: false, exitStatus: 126 },
      command: { path: join(first, "agent"), executable: false },
      failure: { phase: "start", cause: "EACCES" },
    });
    symlinkSync(process.execPath, join(second, "agent"));
    const both = await facts({ command: ["agent", "-e", ""], path: [first, second] });
    expect(both.command).toMatchObject({ path: join(second, "agent"), executable: true });
  });

  test("because it ends before it answers: says how, and what it said last", async () => {
    const found = await facts({ command: [process.execPath, fixture("agents/exits-with.mjs"), "7"] });
    expect(found).toMatchObject({
      verdict: { usable: false, exitStatus: 1 },
      failure: { phase: "initialize", exitCode: 7, signal: null, hint: expect.stringContaining("--acp") },
      noise: { count: 1, lines: ["last frame"] },
      stderr: { count: 1, lines: ["last words"] },
    });
    expect(words(found)).toContain("last words");
  });

  test("because a signal ends it", async () => {
    const found = await facts({ command: [process.execPath, fixture("agents/dies-by.mjs"), "SIGKILL"] });
    expect(found).toMatchObject({ verdict: { exitStatus: 1 }, failure: { signal: "SIGKILL", exitCode: null } });
  });

  test("because it never answers initialize", async () => {
    const mark = join(folder, "silent");
    const command = [process.execPath, fixture("doctor/waits.mjs"), mark];
    const found = await facts({ command, options: ["--handshake-timeout", "8s"] });
    expect(found).toMatchObject({
      verdict: { usable: false, exitStatus: 1 },
      failure: { phase: "initialize", message: "the agent did not answer initialize within 8 s" },
    });
    expect(isRunning(Number(readFileSync(mark, "utf8")))).toBe(false);
  });

  test("because it refuses initialize", async () => {
    const found = await raw({ initialize: [{ error: { code: -32603, message: "not today" } }] });
    expect(found).toMatchObject({
      verdict: { usable: false, exitStatus: 1 },
      failure: { phase: "initialize", code: -32603, message: "initialize failed: not today" },
      losses: [{ event: "initialize-retried-in-v1", count: 1 }],
    });
  });

  test("because it opens no session", async () => {
    const found = await raw({ "session/new": [{ error: { code: -32603, message: "no model" } }] });
    expect(found).toMatchObject({
      verdict: { usable: false, needsLogin: false, exitStatus: 1 },
      failure: { phase: "session", code: -32603 },
      session: { opened: false, error: { code: -32603, message: "session/new failed: no model" } },
    });
    expect(words(found)).toContain("✘ unusable   session/new failed: no model");
  });

  test("because it never answers session/new", async () => {
    const found = await raw({ "session/new": [] }, ["--handshake-timeout", "15s"]);
    expect(found).toMatchObject({
      verdict: { usable: false, exitStatus: 1 },
      failure: { phase: "session", code: null, message: "no answer to session/new: it did not come within 15 s" },
    });
  });

  test("because it ends once the session is open", async () => {
    const found = await raw({ "session/new": [{ result: { sessionId: "s1" } }, { stderr: "oh\n" }, { exit: 3 }] });
    expect(found).toMatchObject({
      verdict: { usable: false, exitStatus: 1 },
      failure: { phase: "session", exitCode: 3, message: "the agent exited with status 3" },
      session: { opened: true },
      stderr: { lines: ["oh"] },
    });
  });
});

describe.concurrent("what an agent does wrong is a warning", () => {
  test("frames that its version does not allow, by name and fault, never by value", async () => {
    const update = (fields: object) => ({ update: { ...fields } });
    const bad = { sessionUpdate: "tool_call", toolCallId: 12, title: "sesame" };
    const found = await raw({
      ...initialized({ agentInfo: { name: "raw-agent", version: 7, title: "sesame" } }),
      "session/new": [
        { result: { sessionId: "s1" } },
        update(bad),
        update(bad),
        update({ sessionUpdate: "sesame_seed" }),
        { send: { jsonrpc: "2.0", method: "vendor/progress", params: { open: "sesame" } } },
        { send: { jsonrpc: "2.0", method: "_vendor/progress", params: { open: "sesame" } } },
        { send: { jsonrpc: "2.0", method: "session/request_permission", params: {} } },
        { send: { jsonrpc: "2.0", error: { code: "x", message: "sesame" } } },
        { send: { jsonrpc: "2.0", id: 77, result: "sesame" } },
      ],
    });
    expect(found.verdict).toEqual({ usable: true, needsLogin: false, exitStatus: 0 });
    expect(found.violations).toEqual([
      { frame: "initialize result", fault: "agentInfo is invalid", count: 1 },
      { frame: "session/update tool_call", fault: "update.toolCallId must be of type string", count: 2 },
      { frame: "session/update sesame_seed", fault: "update must be one of the defined forms", count: 1 },
      { frame: "vendor/progress", fault: "is no method of the protocol, and does not begin with _", count: 1 },
      { frame: "session/request_permission", fault: "is a request and has no id", count: 1 },
      { frame: "session/request_permission", fault: expect.stringMatching(/is required$/), count: 1 },
      { frame: "session/new error", fault: "has no id", count: 1 },
      { frame: "session/new error", fault: expect.stringMatching(/^code must be/), count: 1 },
      { frame: "session/new result", fault: "the value must be of type object", count: 1 },
    ]);
    expect(JSON.stringify(found.violations).replaceAll("sesame_seed", "")).not.toContain("sesame");
    expect(words(found)).toContain("The agent can be used, but it breaks the schema; acp-shift copes.");
  });

  test("an answer given twice", async () => {
    const twice = { jsonrpc: "2.0", id: "$id", result: { sessionId: "s1" } };
    const found = await raw({ "session/new": [{ result: { sessionId: "s1" } }, { send: twice }] });
    expect(found.violations).toEqual([
      { frame: "an answer: result", fault: "answers nothing that was asked", count: 1 },
    ]);
    expect(found.losses).toMatchObject([{ event: "answer-to-no-request" }]);
  });

  test("noise on stdout, told apart from stderr", async () => {
    const found = await raw({ start: [{ write: "Welcome!\n" }, { stderr: "starting\n" }, { write: '{"level":1}\n' }] });
    expect(found).toMatchObject({
      verdict: { usable: true },
      noise: { count: 2, lines: ["Welcome!", '{"level":1}'] },
      stderr: { count: 1, lines: ["starting"] },
    });
    expect(words(found)).toContain("it writes noise on stdout");
  });

  test("a flood on stderr: the last of it is kept", async () => {
    const found = await raw({ start: [{ stderr: `${"x".repeat(2000)}\n`, times: 500 }, { stderr: "the end\n" }] });
    expect(found.stderr.count).toBe(501);
    expect(found.stderr.lines).toHaveLength(50);
    expect(found.stderr.lines.at(-1)).toBe("the end");
    expect(found.stderr.lines[0]).toHaveLength(501);
    expect(words(found)).toContain("496 before …");
  });
});

test("what does not cross: capabilities without a place in version 2, and what this run lost, guessed or repaired", async () => {
  const found = await raw({
    ...initialized({
      agentInfo: null,
      agentCapabilities: { mcpCapabilities: { http: true, sse: true }, sessionCapabilities: { teleport: {} } },
      authMethods: [{ id: "term", name: "Term", type: "terminal" }, { name: "nameless" }],
    }),
    "session/new": [
      { result: { sessionId: "s1" } },
      { update: { sessionUpdate: "agent_message_chunk", content: "text" } },
      { send: { jsonrpc: "2.0", method: "vendor/progress", params: {} } },
      {
        send: {
          jsonrpc: "2.0",
          method: "session/update",
          params: { sessionId: "child", update: { sessionUpdate: "x" } },
        },
      },
    ],
  });
  expect(found.losses.map(({ event, where }) => ({ event, where }))).toEqual([
    { event: null, where: "sessionCapabilities.teleport" },
    { event: null, where: "mcpCapabilities.sse" },
    { event: null, where: "term" },
    { event: "auth-method-dropped", where: expect.any(String) },
    { event: "agent-info-guessed", where: expect.any(String) },
    { event: "update-dropped", where: "agent_message_chunk content must be an object" },
    { event: "update-of-unknown-session", where: null },
  ]);
});

describe.concurrent("on the page", () => {
  test("secrets are masked, in words and in JSON", async () => {
    const key = "sk-abcdefghijklmnop";
    const script: Script = {
      start: [{ stderr: `Authorization: Bearer ${key}\n` }, { write: `the key is ${key}\n` }],
      ...initialized({ agentInfo: { name: "raw-agent", version: "1", title: `with ${key}` } }),
      "session/new": [{ error: { code: -32603, message: `bad key ${key}` } }],
    };
    const command = [...rawAgent(script), "--api-key", "hunter2hunter2", "--token=hunter2hunter2"];
    for (const options of [[], ["--json"]]) {
      const { stdout, stderr } = await doctor({ command, options });
      expect(stdout).toContain("[redacted]");
      expect(stdout).toContain("bad key");
      expect(`${stdout}${stderr}`).not.toMatch(/abcdefghijklmnop|hunter2/);
    }
  });

  test("an agent's words do not steer the terminal", async () => {
    const command = rawAgent({
      start: [{ stderr: "\u001b[2Jgone\u0007\n" }],
      ...initialized({ agentInfo: { name: "raw-agent", version: "1\u001b]0;title\u0007", title: "two\nlines" } }),
    });
    const { code, stdout } = await doctor({ command });
    expect(code).toBe(0);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
    expect(stdout.replaceAll("\n", "")).not.toMatch(/[\x00-\x1f\x7f]/);
    expect(stdout).toContain("two lines (raw-agent)");
  });

  test("is coloured only when the page says so", async () => {
    const found = await facts({ command: peer("sdk-agent-v1.mjs", "--offer=nothing") });
    expect(report(found, { columns: 80, colour: true })).toContain("\u001b[32m");
    expect(words(found)).not.toContain("\u001b");
  });

  test("the parts stand in order, with headings", async () => {
    const { code, stdout, stderr } = await doctor({ command: peer("sdk-agent-v1.mjs") });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.split("\n").flatMap((line) => /^── (.*?) ─/.exec(line)?.[1] ?? [])).toEqual([
      "Agent",
      "What a version 2 client gets",
      "Logging in",
      "Session",
      "What does not cross",
      "Verdict",
    ]);
    expect(stdout).toMatch(/\n {2}✔ session\/list\n/);
    expect(stdout.trimEnd().split("\n").at(-1)).toMatch(/✔ usable +The agent can be used\.$/);
  });

  test("log records go to a log only when one is asked for", async () => {
    const file = join(folder, "doctor.log");
    await facts({ command: rawAgent(), options: ["--log-level", "debug", "--log-file", file] });
    expect(readFileSync(file, "utf8")).toContain('"event":"paired"');
    const { stderr } = await doctor({ command: rawAgent({ start: [{ write: "noise\n" }] }) });
    expect(stderr).toBe("");
  });
});

test("a command line that cannot be used ends with status 2 and one message", async () => {
  const run = (...line: string[]) => runProgram([process.execPath, CLI, ...line]);
  expect(await run("doctor", "gemini")).toMatchObject({
    code: 2,
    stdout: "",
    stderr: "acp-shift: put -- before the agent's command: acp-shift doctor [options] -- gemini\n",
  });
  expect(await run("doctor", "--settle", "soon", "--", "x")).toMatchObject({ code: 2, stdout: "" });
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("%s ends it, and the agent with it", async (signal, status) => {
  const mark = join(folder, signal);
  const words = [CLI, "doctor", "--", process.execPath, fixture("doctor/waits.mjs"), mark];
  const child = spawn(process.execPath, words, { env: environmentIn(folder), stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exit = once(child, "exit");
  await vi.waitUntil(() => existsSync(mark), DEADLINE);
  child.kill(signal);
  expect(await exit).toEqual([status, null]);
  expect(isRunning(Number(readFileSync(mark, "utf8")))).toBe(false);
});

test("docs/doctor.md describes the fields that were seen, and no others", () => {
  const text = readFileSync(new URL("../docs/doctor.md", import.meta.url), "utf8");
  const cells = text.split("\n").flatMap((line) => /^\| (`[^|]*) \|/.exec(line)?.[1] ?? []);
  const described = cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, path]) => path ?? ""));
  const found = new Set(seen.flatMap((one) => fieldsOf(one, "")));
  expect(seen.length).toBeGreaterThan(10);
  expect(described.toSorted()).toEqual([...new Set(described)].toSorted());
  const parents = new Set([...found].map((path) => path.slice(0, path.lastIndexOf("."))));
  expect([...found].filter((path) => !parents.has(path) && !described.includes(path))).toEqual([]);
  expect(described.filter((path) => !found.has(path))).toEqual([]);
});

/** The paths of all fields; those under the names of options are nobody's to describe. */
function paths(value: unknown, path: string): string[] {
  if (path === "profile.settings" || path === "profile.why") return [path];
  if (Array.isArray(value)) {
    return [path, ...value.filter(isObject).flatMap((item) => fieldsOf(item, `${path}[].`))];
  }
  return isObject(value) ? [path, ...fieldsOf(value, `${path}.`)] : [path];
}

function fieldsOf(object: object, prefix: string): string[] {
  return Object.entries(object).flatMap(([key, field]) => paths(field, `${prefix}${key}`));
}
