// Guards docs/mapping.md §0 against peers that say anything at all, for as long as there is time: see fuzz.ts and judge.ts.
import { expect, test } from "vitest";
import { budget, report, seed } from "./campaign.ts";
import { fuzz } from "./fuzz.ts";

test("fuzzing in one process", async () => {
  const fuzzed = await fuzz(seed, /./, performance.now() + budget(0.25));
  report("fuzz, in process", { seed, ...fuzzed });
  expect(fuzzed.conversations).toBeGreaterThan(0);
});
