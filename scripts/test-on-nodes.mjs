// Runs the end-to-end tests on the other Node versions we support, with the binaries of the npm package `node`.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const VERSIONS = ["22.23.3", "24.9.0"];
const TESTS = ["test/e2e", "test/demo.test.ts"];

for (const version of VERSIONS) {
  if (process.versions.node.split(".")[0] === version.split(".")[0]) continue;
  const home = join(root, ".cache", `node-${version}`);
  const binary = join(home, "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node");
  if (!existsSync(binary)) {
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, "package.json"), '{ "private": true }\n');
    run("npm", ["install", "--no-audit", "--no-fund", `node@${version}`], home);
  }
  process.stdout.write(`\nend-to-end tests on Node ${version}\n`);
  run(binary, [join(root, "node_modules", "vitest", "vitest.mjs"), "run", ...TESTS], root);
}

function run(command, args, cwd) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: "inherit" });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
