/**
 * node bench/connections.mjs [--connections 100] [--seconds 10] [--rate 20] [-- serve options]
 *
 * What connections cost: opens so many at once on one `acp-shift serve` (a Unix socket; each with a session and an agent of
 * its own, bench/paced-agent.mjs), lets them be idle, then streams on all of them at once, each at so many messages a second,
 * as fast models do. Prints memory and processor time of the server and of the agents. Linux only. Fails rather than print
 * figures of a run in which a message was lost.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { cpuMicroseconds, residentMiB } from "./process-figures.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    connections: { type: "string", default: "100" },
    seconds: { type: "string", default: "10" },
    rate: { type: "string", default: "20" },
  },
});
const [count, seconds, rate] = [values.connections, values.seconds, values.rate].map(Number);

const pathOf = (file) => fileURLToPath(new URL(file, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "acp-shift-connections-"));
const socketPath = join(folder, "socket");
const options = [
  "--listen",
  `unix:${socketPath}`,
  "--max-connections",
  String(count),
  "--handshake-limit",
  "5m",
  ...positionals,
];
const server = spawn(
  process.execPath,
  [pathOf("../dist/cli.js"), "serve", ...options, "--", process.execPath, pathOf("paced-agent.mjs")],
  {
    stdio: ["ignore", "ignore", "pipe"],
  },
);
const ended = once(server, "exit");
process.on("exit", () => {
  server.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

const loadBefore = loadavg()[0];
await until(server.stderr, "listening on");
await sleep(1000);
const alone = residentMiB(server.pid);

const began = performance.now();
const clients = await Promise.all(Array.from({ length: count }, open));
const opening = (performance.now() - began) / 1000;
const openingCpu = cpuMicroseconds(server.pid);

await sleep(3000);
const idle = await measure(() => sleep(seconds * 1000));
const streaming = await measure(() => Promise.all(clients.map(stream)));
const messages = count * seconds * rate;
const agents = agentsOf(server.pid);
for (const client of clients) client.socket.destroy();
server.kill("SIGTERM");
await ended;

print([
  ["Node, cores, load when it began", `${process.version}, ${availableParallelism()}, ${loadBefore.toFixed(1)}`],
  ["connections", count],
  [
    "all open, with a session each, after",
    `${opening.toFixed(1)} s (server's processor time ${(openingCpu / 1e6).toFixed(1)} s)`,
  ],
  ["server's memory without connections", `${alone.toFixed(1)} MiB`],
  [
    "the same with all of them, idle and streaming",
    `${idle.memory.toFixed(1)} MiB, ${streaming.memory.toFixed(1)} MiB`,
  ],
  ["its memory per connection, idle", `${((idle.memory - alone) / count).toFixed(2)} MiB`],
  ["its memory per connection, streaming", `${((streaming.memory - alone) / count).toFixed(2)} MiB`],
  ["its processor time, idle", `${idle.share.toFixed(2)} % of a core`],
  [`its processor time at ${rate} messages/s on each`, `${streaming.share.toFixed(1)} % of a core`],
  ["the same per connection", `${(streaming.share / count).toFixed(3)} % of a core`],
  ["the same per message", `${(streaming.cpu / messages).toFixed(0)} µs`],
  ["an agent's memory (PSS)", `${agents.toFixed(1)} MiB`],
]);

/** What the server used meanwhile; `memory`: what was resident at the end. */
async function measure(act) {
  const before = cpuMicroseconds(server.pid);
  const from = performance.now();
  await act();
  const cpu = cpuMicroseconds(server.pid) - before;
  return { cpu, share: cpu / (performance.now() - from) / 10, memory: residentMiB(server.pid) };
}

async function open() {
  const socket = connect(socketPath);
  const waiting = new Map();
  let rest = "";
  const client = { socket, chunks: 0, sessionId: "", onIdle: () => {}, request };
  socket.setEncoding("utf8").on("data", (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) receive(line);
  });
  function receive(line) {
    if (line.includes('"agent_message_chunk"')) return void client.chunks++;
    const frame = JSON.parse(line);
    if (frame.error !== undefined) throw new Error(line);
    if (frame.method === undefined) waiting.get(frame.id)?.(frame.result);
    else if (frame.params?.update?.state === "idle") client.onIdle();
  }
  function request(id, method, params) {
    socket.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return new Promise((resolve) => waiting.set(id, resolve));
  }
  const info = { name: "bench", version: "0" };
  await request(1, "initialize", { protocolVersion: 2, info, capabilities: {} });
  client.sessionId = (await request(2, "session/new", { cwd: process.cwd() })).sessionId;
  return client;
}

async function stream(client) {
  const order = { chunks: seconds * rate, everyMs: 1000 / rate };
  const idle = new Promise((resolve) => {
    client.onIdle = resolve;
  });
  const prompt = [{ type: "text", text: JSON.stringify(order) }];
  await client.request(3, "session/prompt", { sessionId: client.sessionId, prompt });
  await idle;
  if (client.chunks !== order.chunks) throw new Error(`${client.chunks} of ${order.chunks} messages came through`);
}

/** The memory of the server's children, on average: each page shared out among those that have it. */
function agentsOf(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").trim().split(" ");
  const sizes = children.map((child) => {
    const rollup = readFileSync(`/proc/${child}/smaps_rollup`, "latin1");
    return Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)[1]) / 1024;
  });
  return sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
}

function until(stream, words) {
  let text = "";
  return new Promise((resolve, reject) => {
    stream.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
      if (text.includes(words)) resolve();
    });
    stream.on("end", () => reject(new Error(`the server has ended: ${text}`)));
  });
}

function print(rows) {
  const width = Math.max(...rows.map(([name]) => name.length));
  for (const [name, value] of rows) process.stdout.write(`${name.padEnd(width)}  ${value}\n`);
}
