// `npm run mutants [-- files]`: changes the translations and the core in small ways and sees whether a test notices
// (docs/hardening.md). Works in a copy of the project, .cache/mutants, into which it installs Stryker: it is no dependency, since
// its current version does not run on Node 20 and this one is only needed here.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const PACKAGES = ["@stryker-mutator/core@9.6.1", "@stryker-mutator/mocha-runner@9.6.1", "mocha@10.8.2"];
const COPIED = ["package.json", "package-lock.json", "src", "test", "config", "scripts/mutants"];
/** Slow ones, and such as tell nothing of the rest: run only for the files they are about. */
const TESTS_OF_FEW_FILES = {
  "test/bridge/chunks.test.ts": ["src/bridge/chunks.ts", "src/bridge/messages.ts"],
  "test/translate/diffs.test.ts": ["src/translate/diffs.ts"],
};
const copy = join(".cache", "mutants");
const named = process.argv.slice(2);

for (const name of COPIED) {
  rmSync(join(copy, name), { recursive: true, force: true });
  cpSync(name, join(copy, name), { recursive: true });
}
if (!existsSync(join(copy, "node_modules", "@stryker-mutator", "mocha-runner"))) {
  run("npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", ...PACKAGES);
}
mkdirSync(join(copy, "reports"), { recursive: true });
for (const file of named.length > 0 ? named : [...sources("src/translate"), ...sources("src/bridge")]) {
  const report = join("reports", `${file.replaceAll("/", ".")}.json`);
  if (named.length === 0 && existsSync(join(copy, report))) continue;
  writeFileSync(join(copy, "stryker.config.json"), JSON.stringify(settings(file, report)));
  run(process.execPath, join("node_modules", "@stryker-mutator", "core", "bin", "stryker.js"), "run");
}

function settings(file, report) {
  const spec = [...tests("test/translate"), ...tests("test/bridge")].filter(
    (test) => TESTS_OF_FEW_FILES[test]?.includes(file) ?? true,
  );
  return {
    mutate: [file],
    ignorers: ["texts"],
    plugins: ["@stryker-mutator/*", "./scripts/mutants/texts.mjs"],
    testRunner: "mocha",
    // One process for all mutants: what a test takes is mostly the loading of the schemas.
    mochaOptions: { spec: ["test/support/seed.ts", "scripts/mutants/warm.mjs", ...spec] },
    testRunnerNodeArgs: ["--import", "./scripts/mutants/load.mjs"],
    coverageAnalysis: "perTest",
    ignoreStatic: true,
    inPlace: true,
    concurrency: 1,
    reporters: ["clear-text", "json"],
    clearTextReporter: { logTests: false, reportTests: false },
    jsonReporter: { fileName: report },
  };
}

function sources(folder) {
  return filesIn(folder).filter((file) => file.endsWith(".ts"));
}

function tests(folder) {
  return filesIn(folder).filter((file) => file.endsWith(".test.ts"));
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true })
    .map((name) => `${folder}/${name}`)
    .sort();
}

function run(command, ...args) {
  const { status } = spawnSync(command, args, { cwd: copy, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
