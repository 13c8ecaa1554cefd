// Guards docs/mapping.md §0 with the built program between peers that say anything at all: what it writes is valid, no request
// is answered twice, nothing is thrown, and it ends, leaving nothing behind, when its client does.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { asObject, isObject } from "../../src/protocol/json.ts";
import { CLI, environmentIn, peer } from "../support/bridge-process.ts";
import { processesWith } from "../support/processes.ts";
import { validateFrame } from "../support/schema.ts";
import { budget, report, seed } from "./campaign.ts";
import { type Conversation, corpus, type Moment } from "./corpus.ts";
import { mutated } from "./mutate.ts";
import { createRandom } from "./random.ts";

/** How long the client waits for something to come before it says the next thing, in ms. */
const PATIENCE = 30;
const DEADLINE = 60_000;

test("fuzzing the program", async () => {
  const random = createRandom(seed);
  const pool = corpus(/-(smoke|cancel|full|load)\.jsonl$/);
  const until = performance.now() + budget(0.1);
  let conversations = 0;
  let lines = 0;
  while (performance.now() < until) {
    const original = random.pick(pool);
    const conversation = { ...original, moments: mutated(mutated(original.moments.slice(0, 60), random), random) };
    lines += await recite(conversation);
    conversations++;
  }
  report("fuzz, built program", { seed, conversations, lines });
  expect(conversations).toBeGreaterThan(0);
});

const written = ({ bytes, ends }: Moment) => (ends ? Buffer.concat([bytes, Buffer.from("\n")]) : bytes);

/** Plays the conversation; the number of lines that acp-shift wrote. */
async function recite({ name, pairing, moments }: Conversation): Promise<number> {
  const home = mkdtempSync(join(tmpdir(), "acp-shift-fuzz-"));
  const file = join(home, "agent.json");
  const agent = moments.filter(({ from }) => from === "agent").map((moment) => written(moment).toString("latin1"));
  writeFileSync(file, JSON.stringify(agent));
  const env = { ...environmentIn(home), FUZZED: home };
  const options = ["--agent-protocol", pairing === "upgrade" ? "1" : "2", "--term-after", "1s", "--kill-after", "1s"];
  const child = spawn(process.execPath, [CLI, ...options, "--", ...peer("recited-agent.mjs", file)], { env });
  let stderr = "";
  const output: Buffer[] = [];
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  child.stdin.on("error", () => {});

  const said = moments.filter(({ from }) => from === "client").map(written);
  let timer: NodeJS.Timeout | undefined;
  const next = () => {
    clearTimeout(timer);
    const bytes = said.shift();
    if (bytes === undefined) return void child.stdin.end();
    child.stdin.write(bytes);
    timer = setTimeout(next, PATIENCE);
  };
  child.stdout.on("data", (bytes: Buffer) => {
    output.push(bytes);
    next();
  });
  timer = setTimeout(next, 500);
  const ended = await new Promise<unknown>((resolve) => {
    const limit = setTimeout(() => resolve("never ended"), DEADLINE);
    child.on("close", (code) => {
      clearTimeout(limit);
      resolve(code);
    });
  });
  clearTimeout(timer);
  const left = processesWith("FUZZED", home);
  child.kill("SIGKILL");
  rmSync(home, { recursive: true });

  const account = `seed ${seed}, ${name}, ${pairing}\n${stderr.slice(-3000)}`;
  expect([ended, left], account).toEqual([expect.any(Number), []]);
  expect(stderr, account).not.toMatch(/internal[- ]error/);
  const lines = Buffer.concat(output)
    .toString()
    .split("\n")
    .filter((line) => line !== "");
  for (const line of lines) checkLine(line, pairing, account);
  return lines.length;
}

/** Results, and what passes between two sides that turned out to speak one version, are judged in judge.ts. */
function checkLine(line: string, pairing: Conversation["pairing"], account: string): void {
  const frame: unknown = JSON.parse(line);
  expect(isObject(frame) && frame["jsonrpc"], account).toBe("2.0");
  const { sessionUpdate } = asObject(asObject(asObject(frame)["params"])["update"]);
  if (pairing === "upgrade" && sessionUpdate === "state_update")
    expect(validateFrame("v2", "client", frame), account).toBeUndefined();
}
