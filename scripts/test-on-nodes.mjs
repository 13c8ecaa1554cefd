// Runs the end-to-end tests on the other Node versions we support, with the binaries of the npm package `node`.
import { join } from "node:path";
import { nodeBinary, root, run } from "./installed.mjs";

const VERSIONS = ["22.23.3", "24.9.0"];
// What looks at traces afterwards is the same everywhere, and takes its time.
const TESTS = ["test/e2e", "test/demo.test.ts", "--exclude", "test/e2e/trace-*"];

for (const version of VERSIONS) {
  if (process.versions.node.split(".")[0] === version.split(".")[0]) continue;
  const binary = nodeBinary(version);
  process.stdout.write(`\nend-to-end tests on Node ${version}\n`);
  run(binary, [join(root, "node_modules", "vitest", "vitest.mjs"), "run", ...TESTS], root);
}
