import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    setupFiles: ["test/support/seed.ts"],
    // Deadlines, not expectations: a slow machine must not turn a passing test red.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
