// Guards docs/trace.md, "Replay", "Verify" and "Other formats", from end to end with the built program: a conversation of the SDK's
// peers is recorded, and what was recorded takes the place of each of them in turn.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { JsonObject } from "../../src/protocol/json.ts";
import { CLI, peer } from "../support/bridge-process.ts";
import { type Ending, runProgram } from "../support/programs.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const directory = mkdtempSync(join(tmpdir(), "acp-shift-replay-"));
const trace = join(directory, "trace.jsonl");
const own = (...words: string[]): string[] => [process.execPath, CLI, ...words];
const run = (...words: string[]): Promise<Ending> => runProgram(own(...words));
const agent = peer("sdk-agent-v1.mjs");
let report: JsonObject;

/** What the SDK's v2 client saw of the whole conversation with this command as its agent. */
async function seenWith(command: readonly string[]): Promise<JsonObject> {
  const { stdout } = await runProgram(peer("sdk-client-v2.mjs", "whole", "--", ...command));
  return JSON.parse(stdout);
}

/** A report without what differs from run to run: the ids acp-shift makes up hold the run's name. */
function comparable(seen: JsonObject): unknown {
  return JSON.parse(JSON.stringify(seen).replace(/m_[0-9a-f]{10}_/g, "m_"));
}

beforeAll(async () => {
  report = await seenWith(own("--no-redact", "--trace", trace, "--", ...agent));
  expect(report["failure"]).toBeUndefined();
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe("replay", () => {
  test.each([
    { name: "the agent, behind acp-shift", command: own("--", ...own("trace", "replay", "--fast", trace)) },
    { name: "the agent, at the recorded speed", command: own("--", ...own("trace", "replay", trace)) },
    {
      name: "acp-shift with the agent behind it",
      command: own("trace", "replay", "--fast", "--side", "client", trace),
    },
  ])("$name: the client sees what it saw", async ({ command }) => {
    expect(comparable(await seenWith(command))).toEqual(comparable(report));
  });

  test.each([
    { name: "the client, through acp-shift", words: ["--fast"], command: own("--", ...agent) },
    { name: "acp-shift's side towards the agent", words: ["--side", "agent"], command: agent },
  ])("$name, against the agent: all as recorded", async ({ words, command }) => {
    const { code, stdout, stderr } = await run("trace", "replay", "--as", "client", ...words, trace, "--", ...command);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^played the .*; all as recorded\n$/);
  });

  test("the client, against an agent that can do less: told what differs, status 1", async () => {
    const less = peer("sdk-agent-v1.mjs", "--without=list");
    const { code, stdout } = await run(
      "trace",
      "replay",
      "--as",
      "client",
      "--side",
      "agent",
      "--fast",
      trace,
      "--",
      ...less,
    );
    expect(code).toBe(1);
    expect(stdout).toMatch(/^record \d+: session\/list was answered with a result, now with error -32601$/m);
  });

  test("the client, against an agent that says nothing", async () => {
    const silent = [process.execPath, "-e", "process.stdin.resume()"];
    const { code, stdout } = await run("trace", "replay", "--as", "client", "--wait", "300ms", trace, "--", ...silent);
    expect(code).toBe(1);
    expect(stdout).toMatch(/the answer to initialize did not come\nnot played to its end: nothing came for 0\.3 s\n/);
  });

  test("an agent that died is played to its death", async () => {
    const died = join(directory, "died.jsonl");
    const dies = [process.execPath, "-e", 'console.error("oh"); console.log("{}"); process.exit(7)'];
    const seen = async (command: readonly string[]) => {
      const { stdout, stderr } = await runProgram(peer("sdk-client-v2.mjs", "short", "--", ...command));
      const { failure, exit } = JSON.parse(stdout);
      return { exit, words: /^oh$/m.test(stderr), failure: String(failure).replace(/ \(.*/s, "") };
    };
    const lived = await seen(own("--trace", died, "--", ...dies));
    expect(lived).toMatchObject({
      exit: { code: 7 },
      words: true,
      failure: expect.stringContaining("exited with status 7"),
    });
    expect(await seen(own("--", ...own("trace", "replay", died)))).toEqual(lived);
  });

  test("an unknown request is refused, and what did not come is told", async () => {
    const input = join(directory, "input.jsonl");
    writeFileSync(input, `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "no/such", params: {} })}\n`);
    const { stdout, stderr } = await runProgram([
      ...["sh", "-c", 'exec "$0" "$1" trace replay "$2" < "$3"'],
      ...[process.execPath, CLI, trace, input],
    ]);
    expect(JSON.parse(stdout)).toMatchObject({
      id: 1,
      error: { code: -32601, message: expect.stringContaining("no no/such") },
    });
    expect(stderr).toMatch(/not played to its end: record \d+: initialize did not come/);
  });

  test.each([
    { words: ["--as", "client", trace], message: "the agent's command is missing" },
    { words: [trace, "--", "agent"], message: "--as client plays the client" },
    { words: ["--wait", "soon", trace], message: "--wait" },
    { words: [join(directory, "none")], message: "no such file" },
  ])("what cannot be played: $message", async ({ words, message }) => {
    const { code, stderr } = await run("trace", "replay", ...words);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe("verify", () => {
  test("today's core does what it did", async () => {
    const { code, stdout } = await run("trace", "verify", trace);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^no difference: \d+ frames compared, \d+ events given\n$/),
    ]);
  });

  test("a record that was changed: where, and status 1", async () => {
    const changed = join(directory, "changed.jsonl");
    writeFileSync(
      changed,
      readFileSync(trace, "utf8").replace(/("leg":"bridge-client".*"state":)"idle"/, '$1"dozing"'),
    );
    const { code, stdout } = await run("trace", "verify", changed);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^\d+ bridge-client session\/update \(after \d+\) differs\n {2}\/params\/update\/state: recorded "dozing", now "idle"\n1 differ: /,
    );
  });

  test("what acp-shift did not record has no bridge to verify", async () => {
    const foreign = join(directory, "foreign.jsonl");
    await run("trace", "export", "--format", "ndjson", "-o", join(directory, "bare"), trace);
    await run("trace", "import", join(directory, "bare"), "-o", foreign);
    const { code, stderr } = await run("trace", "verify", foreign);
    expect([code, stderr]).toEqual([2, expect.stringContaining("there is no bridge in it")]);
  });
});

describe("export and import", () => {
  test.each(["acp-inspector", "conductor"])("%s: there, back, and played", async (format) => {
    const [there, back] = [join(directory, `${format}.export`), join(directory, `${format}.jsonl`)];
    expect(await run("trace", "export", "--format", format, "--side", "client", trace, "-o", there)).toMatchObject({
      code: 0,
      stderr: "",
    });
    expect(await run("trace", "import", there, "-o", back)).toMatchObject({ code: 0, stderr: "" });
    expect(comparable(await seenWith(own("trace", "replay", "--fast", back)))).toEqual(comparable(report));
    const { stdout } = await run("trace", "export", "--format", "ndjson", back);
    const bare = await run("trace", "export", "--format", "ndjson", trace);
    expect(stdout).toBe(bare.stdout);
  });

  test.each([
    { words: ["export", trace], message: "--format is missing" },
    { words: ["import", trace], message: "is an acp-shift trace already" },
    { words: ["import", CLI], message: "is in none of the formats" },
    { words: ["import", join(directory, "none")], message: "no such file" },
  ])("what cannot be converted: $message", async ({ words, message }) => {
    const { code, stderr } = await run("trace", ...words);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});
