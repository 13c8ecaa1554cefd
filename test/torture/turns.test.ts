// Guards I1 to I7 of docs/mapping.md §0 in every state of a turn that can be reached in a few steps, by all orders of
// prompts, cancels, results, chunks, questions, closes, deaths and timers. `npm run torture` goes deeper.
import { expect, test } from "vitest";
import { downgradeWorld } from "./downgrade-world.ts";
import { explore } from "./explore.ts";
import { upgradeWorld } from "./upgrade-world.ts";

const limits = { prompts: 2, cancels: 1, chunks: 1, questions: 1 };

test.each([
  ["a v2 client over a v1 agent", upgradeWorld],
  ["a v1 client over a v2 agent", downgradeWorld],
])("%s", (_, world) => {
  const covered = explore(() => world(limits), 4);
  expect(covered).toMatchObject({ depth: 4, complete: true });
  expect(covered.states).toBeGreaterThan(1000);
});
