// Guards docs/mapping.md §12: errors of the agent.
import { describe } from "vitest";
import type { RpcError } from "../../src/protocol/errors.ts";
import { asObject, asString } from "../../src/protocol/json.ts";
import { errorToV2, isBusyError, readError } from "../../src/translate/errors.ts";
import { validateV2 } from "../support/schema.ts";
import { testCases } from "../support/table.ts";
import * as cases from "./cases/errors.ts";

/** The functions are typed for good errors and must bear with bad ones, so the cases go in as they are. */
const raw = (value: unknown) => value as RpcError;

describe("for the client", () => {
  testCases(
    cases.errors,
    (input) => {
      const { method, sessionId } = asObject(input.context);
      const session = asString(sessionId);
      return errorToV2(raw(input.error), {
        method: String(method),
        ...(session === undefined ? {} : { sessionId: session }),
      });
    },
    (result) => validateV2("Error", result),
  );
});

describe("read from a frame", () => {
  testCases(
    cases.readErrors,
    (input) => readError(input.value),
    (result) => validateV2("Error", result),
  );
});

describe("busy", () => {
  testCases(cases.busyErrors, (input) => isBusyError(raw(input.error)));
});
