// Guards docs/mapping.md §2: authentication methods.
import { authMethodsToV2 } from "../../src/translate/auth.ts";
import { validateV2 } from "../support/schema.ts";
import { firstFault, testCases } from "../support/table.ts";
import { authMethods } from "./cases/auth.ts";

testCases(
  authMethods,
  (input, notes) => authMethodsToV2(input.methods, input.clientHasTerminalAuth === true, notes),
  (result) => firstFault(result, (method) => validateV2("AuthMethod", method)),
);
