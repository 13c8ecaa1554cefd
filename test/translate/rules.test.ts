// Guards the tables themselves: every rule of docs/mapping.md that the translation carries out has a case.
import { expect, test } from "vitest";
import * as auth from "./cases/auth.ts";
import * as capabilities from "./cases/capabilities.ts";
import { type Case, type Refusal, RULES } from "./cases/case.ts";
import * as configOptions from "./cases/config-options.ts";
import * as content from "./cases/content.ts";
import * as diffs from "./cases/diffs.ts";
import * as downgrade from "./cases/downgrade.ts";
import * as errors from "./cases/errors.ts";
import * as permissions from "./cases/permissions.ts";
import * as plans from "./cases/plans.ts";
import * as sessions from "./cases/sessions.ts";
import * as toolCalls from "./cases/tool-calls.ts";
import * as updates from "./cases/updates.ts";

const tables = [
  auth,
  capabilities,
  configOptions,
  content,
  diffs,
  downgrade,
  errors,
  permissions,
  plans,
  sessions,
  toolCalls,
  updates,
];
const cases: readonly (Case | Refusal)[] = tables.flatMap((table) => Object.values(table)).flat();

test.each(Object.entries(RULES))("%s %s", (rule) => {
  expect(cases.filter((row) => row.rule === rule)).not.toHaveLength(0);
});
