import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Most of the time goes into waiting for processes, so one worker more than a small machine has cores pays.
    maxWorkers: 3,
    setupFiles: ["test/support/seed.ts"],
    // Deadlines, not expectations: a slow machine must not turn a passing test red.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
