// Guards docs/mapping.md §10: permission requests, and that nothing but a chosen offer is an approval.
import { describe } from "vitest";
import { asObject, asString } from "../../src/protocol/json.ts";
import { readError } from "../../src/translate/errors.ts";
import { permissionRequestToV2, permissionResultToV1 } from "../../src/translate/permissions.ts";
import { validateV1, validateV2 } from "../support/schema.ts";
import { testCases } from "../support/table.ts";
import * as cases from "./cases/permissions.ts";

describe("requests", () => {
  testCases(
    cases.permissionRequests,
    (input, notes) => {
      const { title, announced } = asObject(input.known);
      const tracked = asString(title);
      const known = { announced: announced === true, ...(tracked === undefined ? {} : { title: tracked }) };
      return permissionRequestToV2(asObject(input.v1Params), known, { cwd: "/w", diffs: new Map() }, notes);
    },
    (result) => validateV2("RequestPermissionRequest", result),
  );
});

describe("results", () => {
  testCases(
    cases.permissionResults,
    (input) => {
      const { result, error } = asObject(input.response);
      return permissionResultToV1(error === undefined ? { result } : { result, error: readError(error) }, [
        "yes",
        "no",
      ]);
    },
    (result) => validateV1("RequestPermissionResponse", result),
  );
});
