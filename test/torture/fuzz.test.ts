// Guards docs/mapping.md §0 against peers that say anything at all: recorded conversations, spoilt in every way, end in
// valid frames, clean errors or logged drops. `npm run torture` goes on for longer.
import { expect, test } from "vitest";
import { fuzz } from "./fuzz.ts";

test("spoilt conversations", async () => {
  const fuzzed = await fuzz(8, /^(codex|gemini)-(cancel|load|reject)/, Number.POSITIVE_INFINITY, 150);
  expect(fuzzed.conversations).toBe(150);
  expect(fuzzed.records).toBeGreaterThan(100);
  expect(fuzzed.errors).toBeGreaterThan(100);
});
