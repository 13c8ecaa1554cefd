// Guards that config/examples work as they are written: the command lines of each are run as processes, with paths and ports of
// the test's own, the demo's agent in place of the agent; a client holds the whole demo conversation through them, the health
// check says what it should, and a SIGTERM ends all.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { perform } from "../../src/commands/demo.ts";
import { CLI, environmentIn } from "../support/bridge-process.ts";
import { runProgram } from "../support/programs.ts";
import { containers, type ExampleContainer } from "./examples.ts";

const root = join(import.meta.dirname, "../..");
const AGENT = [process.execPath, join(root, "dist/demo/agent.js")];
const HEALTHCHECK = join(root, "scripts/healthcheck.mjs");

/** Who is started first comes first. */
const examples = [...new Set(containers.map(({ file }) => file))].map((file) => ({
  file,
  parts: containers.filter((one) => one.file === file).toSorted((one, other) => connects(one) - connects(other)),
}));

function connects({ words }: ExampleContainer): number {
  return Number(words.includes("--connect"));
}

interface Part {
  process: ChildProcess;
  /** Where it listens, as it said. */
  address: string;
  ops: string | undefined;
}

/** Starts what a container would run. `reached` is where the part before it listens. */
async function startPart(
  { words, env }: ExampleContainer,
  { folder, reached, atEnd }: { folder: string; reached: string | undefined; atEnd: (act: () => void) => void },
): Promise<Part> {
  const written = words.includes("--ops") ? words[words.indexOf("--ops") + 1] : env["ACP_SHIFT_OPS"];
  const ops = written && `http://127.0.0.1:${await freePort()}`;
  const mine = (word: string) =>
    word
      .replace("/run/acp/", `${folder}/socket/`)
      .replace(/^\/run\/secrets\/.*token$/, join(folder, "token"))
      .replace("/var/lib/acp-shift", join(folder, "state"))
      .replace(/^(ws:\/\/|tcp:)0\.0\.0\.0:\d+/, "$1127.0.0.1:0");
  const given = words.map((word, index) => {
    if (words[index - 1] === "--connect") return reached ?? "";
    return word === written ? String(ops) : mine(word);
  });
  const args = given.flatMap((word) => (word === "my-agent" ? AGENT : [word]));
  const variables = words.includes("--ops") || !ops ? {} : { ACP_SHIFT_OPS: ops };
  const child = spawn(process.execPath, [CLI, ...args], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...environmentIn(folder), ...variables },
  });
  atEnd(() => void child.kill("SIGKILL"));
  let said = "";
  const address = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      const [, found] = /^acp-shift: listening on ((?:ws|tcp|unix):\S+)$/m.exec(said) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.once("close", (code) => reject(new Error(`${args.join(" ")} has ended with ${code}: ${said}`)));
  });
  return { process: child, address, ops };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** What the health check says of an address. */
async function health(ops: string, path?: string): Promise<number | null> {
  const given = `ACP_SHIFT_OPS=${ops}`;
  return (await runProgram(["env", given, process.execPath, HEALTHCHECK, ...(path ? [path] : [])])).code;
}

describe.concurrent("config/examples", { timeout: 180_000 }, () => {
  test.for(examples)("$file", async ({ parts }, { expect, onTestFinished }) => {
    const folder = mkdtempSync(join(tmpdir(), "acp-shift-example-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, "token"), "open-sesame\n", { mode: 0o600 });
    mkdirSync(join(folder, "socket"));

    const started: Part[] = [];
    for (const part of parts)
      started.push(await startPart(part, { folder, reached: started.at(-1)?.address, atEnd: onTestFinished }));
    const entry = started.at(-1);
    expect(entry?.address).toMatch(/^ws:/);

    let shown = "";
    const client = [CLI, "--connect", entry?.address ?? "", "--token-file", join(folder, "token")];
    const status = await perform({
      both: false,
      command: [process.execPath, ...client],
      screen: { write: (text) => (shown += text), columns: 100, colour: false },
      deadline: 60_000,
    });
    expect(status, shown).toBe(0);

    const { ops } = entry ?? {};
    expect(await Promise.all([health(ops ?? ""), health(ops ?? "", "/readyz"), health(ops ?? "", "/nothing")])).toEqual(
      [0, 0, 1],
    );
    for (const part of started.toReversed()) {
      part.process.kill("SIGTERM");
      expect(await once(part.process, "exit")).toEqual([143, null]);
    }
    expect(await health(ops ?? "")).toBe(1);
  });

  test("a container on stdio is healthy as long as it runs", async ({ expect }) => {
    expect(await health("")).toBe(0);
  });
});
