// Guards docs/mapping.md §1: what `initialize` says, in both directions.
import { describe, expect, test } from "vitest";
import { asObject } from "../../src/protocol/json.ts";
import {
  agentOffers,
  clientCapabilitiesToV1,
  type HostedServices,
  initializeParamsForBoth,
  initializeParamsToV1,
  initializeResultToV2,
  isV1InitializeResult,
} from "../../src/translate/capabilities.ts";
import { validateV1, validateV2 } from "../support/schema.ts";
import { testCases } from "../support/table.ts";
import * as cases from "./cases/capabilities.ts";

function hosted(value: unknown): HostedServices {
  const { files, terminals } = asObject(value);
  return { files: files === true, terminals: terminals === true };
}

describe("client capabilities", () => {
  testCases(
    cases.clientCapabilities,
    (input) => clientCapabilitiesToV1(asObject(input.v2), hosted(input.hosted)),
    (result) => validateV1("ClientCapabilities", result),
  );
});

describe("initialize params for a v1 agent", () => {
  testCases(
    cases.initializeParams,
    (input) => initializeParamsToV1(asObject(input.v2Params), hosted(input.hosted)),
    (result) => validateV1("InitializeRequest", result),
  );
});

describe("initialize params for an agent of either version", () => {
  testCases(
    cases.initializeParamsBoth,
    (input) => initializeParamsForBoth(asObject(input.v2Params), hosted(input.hosted)),
    (result) => validateV1("InitializeRequest", result) ?? validateV2("InitializeRequest", result),
  );
  test("a client without info gets no clientInfo: the agent is asked as it was", () => {
    const params = initializeParamsForBoth({ protocolVersion: 2 }, { files: false, terminals: false });
    expect(params).not.toHaveProperty("info");
    expect(params).not.toHaveProperty("clientInfo");
  });
});

describe("which version an initialize result is of", () => {
  testCases(cases.v1Results, (input) => isV1InitializeResult(input.result));
});

describe("initialize result", () => {
  testCases(
    cases.initializeResults,
    (input, notes) => {
      const { agentCommandName, clientHasTerminalAuth } = asObject(input.context);
      const context = {
        agentCommandName: String(agentCommandName),
        clientHasTerminalAuth: clientHasTerminalAuth === true,
      };
      return initializeResultToV2(asObject(input.v1Result), context, notes);
    },
    (result) => validateV2("InitializeResponse", result),
  );
});

describe("what the agent offers", () => {
  testCases(cases.offers, (input) => agentOffers(asObject(input.v1Result)));
});
