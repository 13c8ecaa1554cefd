// Guards I6 of docs/mapping.md §0 over a long life: many sessions, turns and messages through the built program, and neither
// memory nor descriptors nor timers grow. The sessions are deleted when they are done: of one that could be resumed, small
// records are kept (docs/mapping.md §0, I6).
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import { CLI, environmentIn, peer } from "../support/bridge-process.ts";
import { report } from "./campaign.ts";

const SESSIONS = Number(process.env["ACP_SHIFT_TORTURE_SESSIONS"] ?? 10_000);
const TURNS_EACH = 10;
const CHUNKS_EACH = 100;
/** How many sessions are at work at once. */
const AT_ONCE = 10;

interface Probe {
  heapUsed: number;
  rss: number;
  external: number;
  files: number;
  timers: number;
}

test("sessions, turns and messages without end", async () => {
  const home = mkdtempSync(join(tmpdir(), "acp-shift-soak-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const probeFile = join(home, "probe.jsonl");
  const child = spawn(
    process.execPath,
    [
      `--import=${fileURLToPath(new URL("probe.mjs", import.meta.url))}`,
      ...[CLI, "--settle", "0", "--accept-window", "0", "--", ...peer("soak-agent.mjs")],
    ],
    { stdio: ["pipe", "pipe", "inherit"], env: { ...environmentIn(home), PROBE_FILE: probeFile } },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  const client = createClient(child);
  await client.call("initialize", { protocolVersion: 2, info: { name: "soak", version: "1" }, capabilities: {} });

  const probes = () =>
    existsSync(probeFile)
      ? readFileSync(probeFile, "utf8")
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as Probe)
      : [];

  /** What the process holds while nothing is under way. */
  async function look(): Promise<Probe> {
    const known = probes().length;
    child.kill("SIGUSR2");
    for (;;) {
      // Any answer comes after the signal was handled, or is asked for once more.
      await client.call("session/list", {});
      const latest = probes()[known];
      if (latest !== undefined) return latest;
    }
  }

  async function life(): Promise<void> {
    const { sessionId } = await client.call("session/new", { cwd: "/work" });
    for (let turn = 0; turn < TURNS_EACH; turn++) {
      const over = client.idle(String(sessionId));
      await client.call("session/prompt", { sessionId, prompt: [{ type: "text", text: String(CHUNKS_EACH) }] });
      await over;
    }
    await client.call("session/delete", { sessionId });
  }

  const started = performance.now();
  const looks: Probe[] = [];
  for (let part = 0; part < 10; part++) {
    let left = SESSIONS / 10;
    const worker = async () => {
      while (left-- > 0) await life();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    looks.push(await look());
  }
  const seconds = (performance.now() - started) / 1000;
  child.stdin.end();
  const code = await new Promise((resolve) => child.on("close", resolve));

  const [warm, last] = [looks[2], looks.at(-1)];
  if (warm === undefined || last === undefined) throw new Error("no looks were taken");
  report("soak", {
    sessions: SESSIONS,
    turns: client.idles,
    messages: client.chunks,
    seconds: Math.round(seconds),
    "heap (MB)": looks.map(({ heapUsed }) => (heapUsed / 1e6).toFixed(1)).join(" "),
    "resident (MB)": looks.map(({ rss }) => Math.round(rss / 1e6)).join(" "),
    descriptors: looks.map(({ files }) => files).join(" "),
    timers: last.timers,
  });
  expect(code).toBe(0);
  expect([client.idles, client.chunks]).toEqual([SESSIONS * TURNS_EACH, SESSIONS * TURNS_EACH * CHUNKS_EACH]);
  expect(last.files).toBe(warm.files);
  expect(looks.map(({ timers }) => timers)).toEqual(looks.map(() => 0));
  // After the third tenth everything is compiled and every buffer has its size; then the heap may not grow by 2 MB.
  expect(last.heapUsed - warm.heapUsed).toBeLessThan(2e6);
});

interface Client {
  readonly chunks: number;
  readonly idles: number;
  call(method: string, params: JsonObject): Promise<JsonObject>;
  /** The next idle of a session. */
  idle(sessionId: string): Promise<void>;
}

/** A client that counts chunks without looking into them. */
function createClient(child: ChildProcessByStdio<Writable, Readable, null>): Client {
  const answers = new Map<number, (frame: JsonObject) => void>();
  const idles = new Map<string, () => void>();
  let nextId = 1;
  let rest = "";
  const client = {
    chunks: 0,
    idles: 0,
    async call(method: string, params: JsonObject) {
      const id = nextId++;
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      const frame = await new Promise<JsonObject>((resolve) => answers.set(id, resolve));
      if (!("result" in frame)) throw new Error(`${method}: ${JSON.stringify(frame)}`);
      return asObject(frame["result"]);
    },
    idle: (sessionId: string) => new Promise<void>((resolve) => idles.set(sessionId, resolve)),
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.includes('"agent_message_chunk"')) {
        client.chunks++;
        continue;
      }
      const frame = JSON.parse(line) as JsonObject;
      const { sessionId, update } = asObject(frame["params"]);
      if (asObject(update)["state"] === "idle") {
        client.idles++;
        idles.get(String(sessionId))?.();
      } else if (typeof frame["id"] === "number") {
        answers.get(frame["id"])?.(frame);
        answers.delete(frame["id"]);
      }
    }
  });
  return client;
}
