// `npm run mutants [-- paths]`: changes the translations and the core in small ways and sees whether a test notices
// (docs/hardening.md). Works in a copy of the project, .cache/mutants, into which it installs Stryker: it is no dependency, since
// its current version does not run on Node 20 and this one is only needed here.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const STRYKER = "9.6.1";
const COPIED = [
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "tsconfig.build.json",
  "src",
  "test",
  "config",
  "docs",
];
const copy = join(".cache", "mutants");
const paths = process.argv.slice(2);

/** The tests of one part of the source: those of the translations, those of the core, and what plays both. */
const TESTS = ["test/translate/**/*.test.ts", "test/bridge/**/*.test.ts"];

for (const name of COPIED) {
  rmSync(join(copy, name), { recursive: true, force: true });
  cpSync(name, join(copy, name), { recursive: true });
}
writeFileSync(
  join(copy, "vitest.config.ts"),
  `export default { test: { include: ${JSON.stringify(TESTS)}, setupFiles: ["test/support/seed.ts"], maxWorkers: 1, testTimeout: 60_000 } };\n`,
);
writeFileSync(
  join(copy, "stryker.config.json"),
  JSON.stringify({
    mutate: paths.length > 0 ? paths : ["src/translate/**/*.ts", "src/bridge/**/*.ts"],
    testRunner: "vitest",
    coverageAnalysis: "perTest",
    ignoreStatic: true,
    inPlace: true,
    concurrency: 1,
    timeoutMS: 20_000,
    reporters: ["clear-text", "progress-append-only", "json"],
    clearTextReporter: { logTests: false, reportTests: false },
  }),
);
if (!existsSync(join(copy, "node_modules", "@stryker-mutator", "core"))) {
  run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund");
  const packages = ["core", "vitest-runner"].map((name) => `@stryker-mutator/${name}@${STRYKER}`);
  run("npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", ...packages);
}
run(process.execPath, join("node_modules", "@stryker-mutator", "core", "bin", "stryker.js"), "run");

function run(command, ...args) {
  const { status } = spawnSync(command, args, { cwd: copy, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
