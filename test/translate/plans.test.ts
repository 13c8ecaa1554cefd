// Guards docs/mapping.md §7: plans.
import { expect, test } from "vitest";
import { asObject } from "../../src/protocol/json.ts";
import { plansToV1, planToV2 } from "../../src/translate/plans.ts";
import { validateV2 } from "../support/schema.ts";
import { testCases } from "../support/table.ts";
import { plans } from "./cases/plans.ts";

testCases(
  plans,
  (input) => planToV2(asObject(input.update), "p"),
  (result) => validateV2("SessionUpdate", result),
);

test("what is no entry, and a plan without a text, on the way to v1's one plan", () => {
  const plans = [
    { type: "items", entries: [null, { content: 1 }, { content: "a" }] },
    { type: "_chart" },
    { type: "markdown", content: "" },
  ];
  expect(plansToV1(plans, []).entries).toEqual([
    { content: "a", priority: "medium", status: "pending" },
    { content: "[_chart]", priority: "medium", status: "pending" },
  ]);
});
