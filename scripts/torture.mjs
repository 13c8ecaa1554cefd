// `npm run torture`: everything that tries to break acp-shift (docs/hardening.md), and one table of what it found.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

const PARTS = ["turns", "fuzz", "programs", "faults", "soak"];

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Math.trunc(Math.random() * 2 ** 31)) },
    minutes: { type: "string", default: "5" },
    only: { type: "string", multiple: true },
    full: { type: "boolean", default: false },
  },
});
const parts = values.only ?? PARTS;
const unknown = parts.filter((part) => !PARTS.includes(part));
if (unknown.length > 0 || !(Number(values.minutes) > 0) || !Number.isInteger(Number(values.seed))) {
  process.stderr.write(
    `${`usage: npm run torture -- [--seed N] [--minutes M] [--only ${PARTS.join("|")}]… [--full]`}\n`,
  );
  process.exit(2);
}
process.stdout.write(`${`seed ${values.seed}: npm run torture -- --seed ${values.seed} tries the same again`}\n`);

const directory = mkdtempSync(join(tmpdir(), "acp-shift-torture-"));
const file = join(directory, "report.jsonl");
const { status } = spawnSync(
  process.execPath,
  [
    join("node_modules", "vitest", "vitest.mjs"),
    "run",
    "--config",
    "test/torture/vitest.config.ts",
    ...parts.map((part) => `test/torture/${part}.torture.ts`),
  ],
  {
    stdio: "inherit",
    env: {
      ...process.env,
      ACP_SHIFT_TORTURE_SEED: values.seed,
      ACP_SHIFT_TORTURE_MINUTES: values.minutes,
      ACP_SHIFT_TORTURE_FULL: values.full ? "1" : "0",
      ACP_SHIFT_TORTURE_REPORT: file,
    },
  },
);
process.stdout.write(`${table()}\n`);
rmSync(directory, { recursive: true });
process.stdout.write(`${`seed ${values.seed}: ${status === 0 ? "nothing broke" : "FAILED, see above"}`}\n`);
process.exit(status === 0 ? 0 : 1);

function table() {
  const rows = lines().map(({ part, figures }) => [
    part,
    Object.entries(figures)
      .map(([name, value]) => `${name} ${value}`)
      .join(", "),
  ]);
  const width = Math.max(4, ...rows.map(([part]) => part.length));
  return [["part", "figures"], ["-".repeat(width), "-------"], ...rows]
    .map(([part, figures]) => `| ${part.padEnd(width)} | ${figures} |`)
    .join("\n");
}

function lines() {
  try {
    return readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  } catch {
    return [];
  }
}
