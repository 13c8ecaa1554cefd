// Guards I1 to I7 of docs/mapping.md §0 in every state of a turn that can be reached within the time: see explore.ts.
import { expect, test } from "vitest";
import { budget, report } from "./campaign.ts";
import { downgradeWorld } from "./downgrade-world.ts";
import { explore } from "./explore.ts";
import { upgradeWorld } from "./upgrade-world.ts";

const limits = { prompts: 3, cancels: 2, chunks: 2, questions: 2 };

test.each([
  ["turns, v2 client over v1 agent", upgradeWorld],
  ["turns, v1 client over v2 agent", downgradeWorld],
])("%s", (name, world) => {
  const { complete: _, ...covered } = explore(() => world(limits), 12, performance.now() + budget(0.15));
  report(name, { ...covered });
  expect(covered.depth).toBeGreaterThan(2);
});
