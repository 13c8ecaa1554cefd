// Drives real agents through the built acp-shift: `npm run test:agents [-- --update] [name…]`, all of them by default.
// `--update` writes what they did to test/agents/results instead of comparing with it.
import { spawnSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const names = process.argv.slice(2).filter((argument) => argument !== "--update");

const { status, error } = spawnSync(
  process.execPath,
  [
    join(root, "node_modules", "vitest", "vitest.mjs"),
    "run",
    "--config",
    "test/agents/vitest.config.ts",
    "--root",
    root,
  ],
  {
    cwd: root,
    stdio: "inherit",
    env: {
      ...process.env,
      TEST_AGENTS: names.join(" "),
      TEST_AGENTS_UPDATE: process.argv.includes("--update") ? "1" : "",
    },
  },
);
if (error !== undefined) throw error;
process.exitCode = status ?? 1;
