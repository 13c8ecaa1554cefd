// Guards docs/mapping.md §8: config options, modes, models.
import { describe, expect, test } from "vitest";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import {
  configOptionsToV2,
  hasConfig,
  type SessionConfig,
  setConfigOptionToV1,
  withCurrentMode,
} from "../../src/translate/config-options.ts";
import { validateFrameToAgent, validateV2 } from "../support/schema.ts";
import { firstFault, testCases, testRefusals } from "../support/table.ts";
import * as cases from "./cases/config-options.ts";

describe("the v2 list", () => {
  testCases(
    cases.configOptions,
    (input) => configOptionsToV2(asObject(input.config)),
    (result) => firstFault(result, (option) => validateV2("SessionConfigOption", option)),
  );
});

describe("current_mode_update", () => {
  testCases(cases.currentModes, (input) => withCurrentMode(asObject(input.config), String(input.modeId)));

  test("nothing changes: the same configuration", () => {
    const config: SessionConfig = { modes: { currentModeId: "ask", availableModes: [{ id: "ask", name: "Ask" }] } };
    expect(withCurrentMode(config, "ask")).toBe(config);
  });
});

describe("session/set_config_option", () => {
  testCases(
    cases.configCalls,
    (input) => {
      const { apply, ...call } = setConfigOptionToV1(asObject(input.v2Params), asObject(input.config));
      return { ...call, after: apply(asObject(input.config)) };
    },
    (result) => {
      const { method, params } = asObject(result);
      return validateFrameToAgent({ jsonrpc: "2.0", id: 1, method, params });
    },
  );
  testRefusals(cases.configCallsRefused, (input: JsonObject) =>
    setConfigOptionToV1(asObject(input.v2Params), asObject(input.config)),
  );

  test("the new value shows in the list", () => {
    const config: SessionConfig = { modes: { currentModeId: "ask", availableModes: [{ id: "ask" }, { id: "code" }] } };
    const call = setConfigOptionToV1({ sessionId: "s", configId: "mode", type: "id", value: "code" }, config);
    expect(configOptionsToV2(call.apply(config))).toMatchObject([{ configId: "mode", currentValue: "code" }]);
  });
});

test.each([
  [{}, false],
  [{ configOptions: null, modes: null, models: undefined }, false],
  [{ configOptions: [] }, true],
  [{ modes: {} }, true],
  [{ models: {} }, true],
])("whether the agent configures anything: %j", (config, expected) => {
  expect(hasConfig(config)).toBe(expected);
});
