/**
 * npm run bench [-- --quick] [-- --rounds N] [-- --only NAME,…] [-- --json FILE]
 *
 * Measures acp-shift against a direct connection, a byte relay, a JSON relay and the SDK's two ends glued together.
 * Everyone's runs alternate, round by round. docs/performance.md says how to read the tables. Ends with 1 when a run of
 * acp-shift failed.
 */
import { existsSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { compare, comparisonTable, figureTables, summarize } from "./report.mjs";
import { scenarios, sizes } from "./scenarios.mjs";

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    rounds: { type: "string" },
    only: { type: "string" },
    json: { type: "string" },
  },
});
const rounds = Number(options.rounds ?? (options.quick ? 2 : 5));
const size = options.quick ? sizes.quick : sizes.full;
const names = options.only?.split(",");
const chosen = scenarios.filter((scenario) => names?.includes(scenario.name) ?? !(scenario.long && options.quick));

if (!(Number.isInteger(rounds) && rounds > 0)) stop(`--rounds ${options.rounds} is no number of rounds`);
if (chosen.length === 0) stop(`--only takes ${scenarios.map(({ name }) => name).join(", ")}`);
if (!existsSync(new URL("../dist/cli.js", import.meta.url))) stop("build first: npm run build");

const machine = `Node ${process.version}, ${process.platform}, ${availableParallelism()} cores`;
const loadBefore = loadavg()[0];
const runs = [];
for (let round = 0; round < rounds; round++) {
  for (const scenario of chosen) {
    if (scenario.long && round > 0) continue;
    for (const contender of rotated(scenario.contenders, round)) runs.push(await measure(scenario, contender, round));
  }
}
progress("");
// The order of a table does not depend on whose turn came first.
runs.sort((a, b) => place(a) - place(b));

const comparison = compare(runs).filter(({ scenario }) => chosen.some(({ name }) => name === scenario));
const rows = summarize(runs);
process.stdout.write(`${machine}, ${rounds} rounds, load when it began ${loadBefore.toFixed(1)}\n`);
if (process.platform !== "linux") process.stdout.write("Memory and CPU per message are known on Linux only.\n");
process.stdout.write(`\n${comparisonTable(comparison)}\n${figureTables(rows)}`);
if (options.json !== undefined) {
  const report = { date: new Date().toISOString(), machine, rounds, quick: options.quick, loadBefore };
  writeFileSync(options.json, `${JSON.stringify({ ...report, comparison, rows, runs }, null, 2)}\n`);
}
if (runs.some(({ contender, failed }) => contender.startsWith("acp-shift") && failed !== undefined))
  process.exitCode = 1;

async function measure(scenario, contender, round) {
  progress(`round ${round + 1} of ${rounds}: ${scenario.name}, ${contender.name} `);
  const run = { scenario: scenario.name, contender: contender.name, round };
  const hung = new AbortController();
  const timer = setTimeout(() => {
    hung.abort(new Error(`not done after ${scenario.seconds} s`));
  }, scenario.seconds * 1000);
  try {
    return { ...run, figures: await scenario.run(contender, size, hung.signal) };
  } catch (error) {
    return { ...run, failed: error.message };
  } finally {
    clearTimeout(timer);
    hung.abort();
  }
}

function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

function rotated(list, by) {
  const first = by % list.length;
  return [...list.slice(first), ...list.slice(0, first)];
}

function place({ scenario, contender }) {
  const index = scenarios.findIndex(({ name }) => name === scenario);
  return index * 100 + scenarios[index].contenders.findIndex(({ name }) => name === contender);
}

function stop(message) {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
