// Guards docs/mapping.md §10 and §11: updates that are the same in both versions, commands, names v2 reserves.
import { describe } from "vitest";
import { asObject } from "../../src/protocol/json.ts";
import { availableCommandsToV2 } from "../../src/translate/commands.ts";
import { methodToClientV2 } from "../../src/translate/methods.ts";
import { updateToV2 } from "../../src/translate/updates.ts";
import { validateV2 } from "../support/schema.ts";
import { firstFault, testCases } from "../support/table.ts";
import * as cases from "./cases/updates.ts";

describe("commands", () => {
  testCases(
    cases.commands,
    (input) => availableCommandsToV2(input.commands),
    (result) => firstFault(result, (command) => validateV2("AvailableCommand", command)),
  );
});

describe("updates", () => {
  testCases(
    cases.updates,
    (input) => updateToV2(asObject(input.update)),
    (result) => validateV2("SessionUpdate", result),
  );
});

describe("methods", () => {
  testCases(cases.methods, (input) =>
    methodToClientV2(String(input.method), input.kind === "request" ? "request" : "notification"),
  );
});
