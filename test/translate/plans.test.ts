// Guards docs/mapping.md §7: plans.
import { asObject } from "../../src/protocol/json.ts";
import { planToV2 } from "../../src/translate/plans.ts";
import { validateV2 } from "../support/schema.ts";
import { testCases } from "../support/table.ts";
import { plans } from "./cases/plans.ts";

testCases(
  plans,
  (input) => planToV2(asObject(input.update), "p"),
  (result) => validateV2("SessionUpdate", result),
);
