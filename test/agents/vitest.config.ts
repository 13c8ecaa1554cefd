import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/agents/**/*.agents.ts"],
    // One agent at a time: each is a heavy program.
    fileParallelism: false,
    testTimeout: 300_000,
    // The first agent's installation is among the hooks.
    hookTimeout: 600_000,
  },
});
