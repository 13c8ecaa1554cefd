import { defineConfig } from "vitest/config";

/** One part after the other: they measure, and each may take minutes. */
export default defineConfig({
  test: {
    include: ["test/torture/*.torture.ts"],
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 6 * 60 * 60_000,
    hookTimeout: 60_000,
  },
});
