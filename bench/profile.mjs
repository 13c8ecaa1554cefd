/**
 * node bench/profile.mjs [chunks|ids|paced|tools|start] [--trace]
 *
 * Where acp-shift's time goes: runs it under a flood (or through a start only) with Node's sampling profiler, and prints
 * the functions by the time spent in themselves.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "./client.mjs";
import { bridge, traced } from "./contenders.mjs";

const SHOWN = 25;
const FLOODS = {
  chunks: { marker: '"agent_message_chunk"', order: { send: "chunks", count: 400_000, bytes: 40, ids: false } },
  ids: { marker: '"agent_message_chunk"', order: { send: "chunks", count: 400_000, bytes: 40, ids: true } },
  paced: { marker: '"agent_message_chunk"', order: { send: "paced", count: 5000, bytes: 40, every: 2 } },
  tools: { marker: '"toolCallId"', order: { send: "tools", count: 100_000 } },
};

const folder = mkdtempSync(join(tmpdir(), "acp-shift-profile-"));
try {
  const contender = (process.argv.includes("--trace") ? traced : bridge)([
    "--cpu-prof",
    `--cpu-prof-dir=${folder}`,
    "--cpu-prof-interval=200",
  ]);
  const connection = await connect(contender, AbortSignal.timeout(300_000));
  const flood = FLOODS[process.argv[2] ?? "chunks"];
  if (flood !== undefined) {
    const { marker, order } = flood;
    await connection.run([await connection.newSession()], order, { marker, count: order.count });
  }
  await connection.close();
  const [file] = readdirSync(folder);
  print(JSON.parse(readFileSync(join(folder, file), "utf8")));
} finally {
  rmSync(folder, { recursive: true });
}

function print({ nodes, samples, timeDeltas }) {
  const functionOf = new Map(nodes.map(({ id, callFrame }) => [id, describe(callFrame)]));
  const microseconds = new Map();
  samples.forEach((id, index) => {
    const name = functionOf.get(id);
    microseconds.set(name, (microseconds.get(name) ?? 0) + timeDeltas[index]);
  });
  microseconds.delete("(idle)");
  const total = [...microseconds.values()].reduce((sum, part) => sum + part, 0);
  process.stdout.write(`${Math.round(total / 1000)} ms at work\n`);
  const longest = [...microseconds].sort(([, a], [, b]) => b - a).slice(0, SHOWN);
  for (const [name, part] of longest)
    process.stdout.write(
      `${((part / total) * 100).toFixed(1).padStart(5)} %  ${(part / 1000).toFixed(0).padStart(6)} ms  ${name}\n`,
    );
}

function describe({ functionName, url, lineNumber }) {
  const file = url.replace(/^.*\/(?=dist\/|node_modules\/)/, "");
  return file === "" ? functionName || "(native)" : `${functionName || "(anonymous)"}  ${file}:${lineNumber + 1}`;
}
