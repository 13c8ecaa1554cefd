// Guards `acp-shift trace show`, `stats` and `check` as a person meets them: the built program on files that were recorded,
// with pipes, standard input, colour, a file that still grows, and the exit statuses of docs/trace.md.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { existingParts } from "../../src/trace/files.ts";
import { bridgeForTest, CLI, peer } from "../support/bridge-process.ts";
import { openSession, turn } from "../support/conversation.ts";
import { runProgram } from "../support/programs.ts";
import { rawAgent, type Step, says } from "../support/raw-agent.ts";
import { passedThroughRuns, traceFile, translatedRuns } from "../support/recorded.ts";
import { readTraceFile, traceDirectory } from "../support/trace-file.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const END: Step = { result: { stopReason: "end_turn" } };

function trace(words: string[], { input = "", variables = {} }: { input?: string; variables?: object } = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, "trace", ...words], {
    encoding: "utf8",
    input,
    env: { ...process.env, ...variables },
    maxBuffer: 64 * 1024 * 1024,
  });
  return { status, stdout, stderr };
}

const full = () => traceFile(translatedRuns("claude-full.jsonl")[0] ?? []);

describe("show", () => {
  test("shows every record, from a file and from standard input alike", () => {
    const file = full();
    const { status, stdout, stderr } = trace(["show", file]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout.split("\n").length).toBe(readFileSync(file, "utf8").split("\n").length);
    expect(trace(["show", "-"], { input: readFileSync(file, "utf8") }).stdout).toBe(stdout);
  });

  test("filters by what is given", () => {
    const { stdout } = trace(["show", full(), "--method", "prompt", "--leg=client-bridge", "--leg", "bridge-client"]);
    expect(stdout).toMatch(/^( +part 1.*\n)(.*C→B .*\?session\/prompt.*\n.*C←B .*=session\/prompt.*\n)+.* end .*\n$/);
  });

  test("shows one frame beside its other form", () => {
    const { stdout } = trace(["show", full(), "--frame", "2"]);
    expect(stdout).toMatch(/"id": 0 +\| +"id": 1/);
    expect(trace(["show", full(), "--pairs"]).stdout).toContain(" > ");
  });

  test.each<[string[], object, boolean]>([
    [[], {}, false],
    [["--color"], { NO_COLOR: "1" }, true],
    [["--no-color"], {}, false],
  ])("in colour with %j %j: %s", (words, variables, colour) => {
    expect(trace(["show", full(), ...words], { variables }).stdout.includes("\u001b[")).toBe(colour);
  });

  test("ends quietly when nobody reads to the end", async () => {
    const child = spawn(process.execPath, [CLI, "trace", "show", "--pairs", full()], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stderr = "";
    child.stderr.on("data", (bytes) => {
      stderr += bytes;
    });
    child.stdout.once("data", () => child.stdout.destroy());
    expect(await once(child, "close")).toEqual([0, null]);
    expect(stderr).toBe("");
  });

  test("does not wait for the rest of standard input when nobody reads", async () => {
    const child = spawn(process.execPath, [CLI, "trace", "show", "-"], { stdio: ["pipe", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    child.stdin.on("error", () => {});
    child.stdout.once("data", () => child.stdout.destroy());
    const lines = readFileSync(full(), "utf8");
    const more = () => child.stdin.write(lines.slice(lines.indexOf("\n") + 1));
    child.stdin.write(lines);
    child.stdin.on("drain", more);
    child.stdout.once("close", more);
    expect(await once(child, "exit")).toEqual([0, null]);
  });

  test.each(["end", "interrupt"])("follows a file that grows, until its %s", async (how) => {
    const [first, ...rest] = translatedRuns("claude-cancel.jsonl")[0] ?? [];
    const file = traceFile([first]);
    const child = spawn(process.execPath, [CLI, "trace", "show", "--follow", file], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    let shown = 0;
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      shown += text.split("\n").length - 1;
      if (shown === 1) for (const record of rest.slice(0, -1)) appendFileSync(file, `${JSON.stringify(record)}\n`);
      if (shown !== rest.length) return;
      if (how === "end") appendFileSync(file, `${JSON.stringify(rest.at(-1))}\n`);
      else child.kill("SIGINT");
    });
    expect(await once(child, "close")).toEqual([0, null]);
    expect(shown).toBe(how === "end" ? rest.length + 1 : rest.length);
  });

  test("follows a run from before its first record into the parts it is written on in", async () => {
    const file = join(traceDirectory(), "trace.jsonl");
    writeFileSync(file, "");
    const agent = rawAgent({ "session/prompt": [says({ $repeat: "word ", times: 1200 }), END] });
    const bridge = bridgeForTest(agent, { options: ["--trace", file, "--trace-limit", "64KiB"] });
    const child = spawn(process.execPath, [CLI, "trace", "show", "--follow", file], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const closed = once(child, "close");
    let shown = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      shown += text;
    });
    const session = await openSession(bridge);
    for (let number = 1; number <= 7; number++) {
      await turn(bridge, session, `question ${number}.`);
      await bridge.until("the turn to be shown", () => shown.includes(`question ${number}.`) || undefined);
    }
    await bridge.end();
    expect(await closed).toEqual([0, null]);
    const numbers = shown.split("\n").flatMap((line) => /^ *(\d+) +\d/.exec(line)?.[1] ?? []);
    const newest = existingParts(file).at(-1);
    expect(newest?.part).toBeGreaterThan(5);
    const last = Number(readTraceFile(newest?.path ?? "", { gaps: true }).at(-1)?.record["seq"]);
    expect(shown.match(/ are missing here/g)).toBe(null);
    expect(Number(numbers.at(-1))).toBe(last);
  });

  test("says which line could not be read, and goes on", () => {
    const file = full();
    appendFileSync(file, '{"type":"fra');
    const { status, stderr } = trace(["show", file]);
    expect(status).toBe(0);
    expect(stderr).toMatch(/^acp-shift: .*trace\.jsonl, line \d+: cut off: the run was killed, or still writes\n$/);
  });
});

describe("stats", () => {
  test("as tables and as JSON", () => {
    const file = full();
    const { stdout } = trace(["stats", file]);
    for (const title of ["Legs", "Added by the bridge", "Requests", "Turns", "Tool calls", "Permissions", "Messages"])
      expect(stdout).toMatch(new RegExp(`^${title}$`, "m"));
    const stats = JSON.parse(trace(["stats", "--json", file]).stdout);
    expect(stats.turns).toHaveLength(9);
    expect(stats.added).toMatchObject([{ to: "agent" }, { to: "client" }]);
  });
});

describe("check", () => {
  test("status 0 where nobody broke a rule, 1 where somebody did, by the side that is asked for", () => {
    const clean = traceFile(passedThroughRuns("claude-v2full.jsonl")[0] ?? []);
    expect(trace(["check", clean])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("Nobody broke a rule"),
    });
    const bad = traceFile(passedThroughRuns("qwen-0.15-full.jsonl")[0] ?? []);
    const { status, stdout } = trace(["check", bad]);
    expect(status).toBe(1);
    expect(stdout).toContain("✘ agent   tool_call_update /params/update/content/0/path is not absolute");
    expect(trace(["check", "--side", "client", bad]).status).toBe(0);
    const { findings } = JSON.parse(trace(["check", "--json", "--side", "agent", bad]).stdout);
    expect(findings).toMatchObject([
      { rule: "permission-call", level: "should", by: "agent", leg: "agent-bridge" },
      { rule: "absolute-path", level: "must", by: "agent", at: "/params/update/content/0/path", seqs: [121, 157] },
    ]);
  });
});

test.each([
  [["show", "/no/such"], "acp-shift: /no/such: no such file\n"],
  [["stats", CLI], `acp-shift: ${CLI} is no acp-shift trace: its first line is no header. `],
  [
    ["show", "x", "--since", "soon"],
    "acp-shift: --since: expected a time after the start (90s, 5m) or an ISO 8601 time",
  ],
  [["show", "x", "--grep", "("], "acp-shift: --grep: Invalid regular expression"],
  [["show", "x", "--frame", "one"], "acp-shift: --frame: expected a record's number, found one\n"],
  [["replay", "-"], "acp-shift: trace replay needs a file: it is read where it is played\n"],
  [["show", "-", "--follow"], "acp-shift: --follow needs a file: standard input ends by itself\n"],
])("%j cannot be used", (words, message) => {
  const { status, stdout, stderr } = trace(words);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr.startsWith(message), stderr).toBe(true);
});

describe("a run that was recorded", () => {
  const directory = mkdtempSync(join(tmpdir(), "acp-shift-trace-"));
  const file = join(directory, "run.jsonl");
  beforeAll(async () => {
    const bridge = [process.execPath, CLI, "--trace", file, "--", ...peer("sdk-agent-v1.mjs")];
    expect(await runProgram(peer("sdk-client-v2.mjs", "whole", "--", ...bridge))).toMatchObject({ code: 0 });
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  test("is read without a word, whole", () => {
    const { status, stdout, stderr } = trace(["show", file]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/ end +status 0, \d+ records, 0 dropped\n$/);
  });

  test("shows that bridge and client broke nothing, and what the agent does on purpose", () => {
    expect(trace(["check", "--side", "bridge", "--side", "client", file])).toMatchObject({ status: 0 });
    const { findings } = JSON.parse(trace(["check", "--json", file]).stdout);
    const rules = new Set(findings.map(({ rule, by }: { rule: string; by: string }) => `${by} ${rule}`));
    expect([...rules].sort()).toEqual(["agent absolute-path", "agent tool-call-open"]);
  });

  test("has a time for every turn, and an answer to every request", () => {
    const stats = JSON.parse(trace(["stats", "--json", file]).stdout);
    expect(stats.turns.length).toBeGreaterThan(3);
    for (const turn of stats.turns) expect(turn.end ?? turn).toBeGreaterThan(0);
    for (const request of stats.requests) expect(request).toMatchObject({ unanswered: 0 });
  });
});
