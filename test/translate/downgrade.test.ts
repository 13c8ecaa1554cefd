// Guards docs/mapping.md §13: a v1 client over a v2 agent, each concept's exact frames.
import { describe } from "vitest";
import { asArray, asObject, asString, isObject, type JsonObject } from "../../src/protocol/json.ts";
import { authMethodsToV1 } from "../../src/translate/auth.ts";
import {
  type ClientAbilities,
  clientAbilities,
  initializeParamsToV2,
  initializeResultToV1,
} from "../../src/translate/capabilities.ts";
import { availableCommandsToV1 } from "../../src/translate/commands.ts";
import {
  configOptionsToV1,
  currentModeOf,
  modesToV1,
  setConfigOptionToV2,
  setModeToV2,
} from "../../src/translate/config-options.ts";
import { contentBlockToV1, promptToV2 } from "../../src/translate/content.ts";
import { diffToV1 } from "../../src/translate/diffs.ts";
import { errorToV1 } from "../../src/translate/errors.ts";
import { methodToClientV1 } from "../../src/translate/methods.ts";
import { permissionRequestToV1, permissionResultToV2 } from "../../src/translate/permissions.ts";
import { plansToV1 } from "../../src/translate/plans.ts";
import { loadParamsToV2, newSessionParamsToV2, sessionResultToV1 } from "../../src/translate/sessions.ts";
import { promptResultToV1 } from "../../src/translate/stop-reasons.ts";
import { displayTerminalToV1, type TerminalStep, terminalAsText } from "../../src/translate/terminals.ts";
import { toolCallToV1 } from "../../src/translate/tool-calls.ts";
import { updateToV1 } from "../../src/translate/updates.ts";
import { validateV1, validateV2 } from "../support/schema.ts";
import { firstFault, testCases, testRefusals } from "../support/table.ts";
import * as cases from "./cases/downgrade.ts";

const v1 = (definition: string) => (value: unknown) =>
  value === undefined ? undefined : validateV1(definition, value);
const v2 = (definition: string) => (value: unknown) => validateV2(definition, value);
const each = (validate: (value: unknown) => string | undefined) => (list: unknown) => firstFault(list, validate);

describe("initialize params", () => {
  testCases(
    cases.initializeParams,
    (input) => initializeParamsToV2(asObject(input.v1Params), { name: "unknown", version: "0" }),
    v2("InitializeRequest"),
    (input) => v1("InitializeRequest")(input.v1Params),
  );
});

describe("what a client can show", () => {
  testCases(cases.abilities, (input) => clientAbilities(asObject(input.v1)));
});

describe("initialize results", () => {
  testCases(
    cases.initializeResults,
    (input, notes) => initializeResultToV1(asObject(input.v2Result), { clientHasTerminalAuth: true }, notes),
    v1("InitializeResponse"),
    (input) => v2("InitializeResponse")(input.v2Result),
  );
});

describe("logins", () => {
  testCases(
    cases.authMethods,
    (input, notes) => authMethodsToV1(input.methods, input.clientHasTerminalAuth === true, notes),
    each(v1("AuthMethod")),
    (input) => each(v2("AuthMethod"))(input.methods),
  );
});

describe("sessions", () => {
  const create = (input: JsonObject) => newSessionParamsToV2(asObject(input.v1Params));
  testCases(cases.newSessionParams, create, v2("NewSessionRequest"), (input) =>
    v1("NewSessionRequest")(input.v1Params),
  );
  testRefusals(cases.newSessionRefused, create);
  testCases(
    cases.loadParams,
    (input) => loadParamsToV2(asObject(input.v1Params)),
    v2("ResumeSessionRequest"),
    (input) => v1("LoadSessionRequest")(input.v1Params),
  );
  testCases(
    cases.sessionResults,
    (input, notes) => sessionResultToV1(asObject(input.v2Result), true, notes),
    v1("NewSessionResponse"),
    (input) => v2("NewSessionResponse")(input.v2Result),
  );
});

describe("config options", () => {
  testCases(
    cases.configOptions,
    (input, notes) => configOptionsToV1(input.options, input.booleans === true, notes),
    each(v1("SessionConfigOption")),
    (input) => each(v2("SessionConfigOption"))(input.options),
  );
  testCases(
    cases.modes,
    (input) => ({ modes: modesToV1(input.options), current: currentModeOf(input.options) }),
    (result) => v1("SessionModeState")(asObject(result).modes),
    (input) => each(v2("SessionConfigOption"))(input.options),
  );
  const setMode = (input: JsonObject) => setModeToV2(asObject(input.v1Params), input.options);
  testCases(cases.setMode, setMode, v2("SetSessionConfigOptionRequest"), (input) =>
    v1("SetSessionModeRequest")(input.v1Params),
  );
  testRefusals(cases.setModeRefused, setMode);
  testCases(
    cases.setConfigOption,
    (input) => setConfigOptionToV2(asObject(input.v1Params), input.options),
    v2("SetSessionConfigOptionRequest"),
    (input) => v1("SetSessionConfigOptionRequest")(input.v1Params),
  );
});

describe("content", () => {
  const prompt = (input: JsonObject) => promptToV2(asObject(input.v1Params));
  testCases(cases.prompts, prompt, v2("PromptRequest"), (input) => v1("PromptRequest")(input.v1Params));
  testRefusals(cases.promptsRefused, prompt);
  testCases(
    cases.blocks,
    (input) => contentBlockToV1(asObject(input.block)),
    v1("ContentBlock"),
    (input) => v2("ContentBlock")(input.block),
  );
});

/** A terminal of a case, as the function takes it. */
function terminal(value: JsonObject): Parameters<typeof terminalAsText>[0] {
  const command = asString(value.command);
  return {
    output: asString(value.output) ?? "",
    ...(command === undefined ? {} : { command }),
    ...(isObject(value.exitStatus) ? { exitStatus: value.exitStatus } : {}),
  };
}

describe("tool calls", () => {
  testCases(
    cases.toolCalls,
    (input, notes) => {
      const { announced, title, terminals } = asObject(input.context);
      const known = asString(title);
      const showTerminal = (terminalId: string) => {
        const shown = asObject(terminals)[terminalId];
        return isObject(shown) ? terminalAsText(terminal(shown)) : undefined;
      };
      const context = {
        announced: announced === true,
        ...(known === undefined ? {} : { title: known }),
        ...(terminals === undefined ? {} : { showTerminal }),
      };
      return toolCallToV1(asObject(input.update), context, notes);
    },
    v1("SessionUpdate"),
    (input) => v2("SessionUpdate")(input.update),
  );
  testCases(
    cases.diffs,
    (input, notes) => diffToV1(asObject(input.diff), notes),
    each(v1("ToolCallContent")),
    (input) => v2("ToolCallContent")(input.diff),
  );
  testCases(cases.terminalSteps, (input) => displayTerminalToV1("t", asObject(input.step) as TerminalStep));
  testCases(cases.terminalTexts, (input) => terminalAsText(terminal(asObject(input.terminal))), v1("ToolCallContent"));
});

describe("plans", () => {
  testCases(
    cases.plans,
    (input, notes) => plansToV1(asArray(input.plans).filter(isObject), notes),
    v1("SessionUpdate"),
    (input) => each((plan) => v2("SessionUpdate")({ sessionUpdate: "plan_update", plan }))(input.plans),
  );
});

describe("commands", () => {
  testCases(
    cases.commands,
    (input, notes) => availableCommandsToV1(input.commands, notes),
    each(v1("AvailableCommand")),
    (input) => each(v2("AvailableCommand"))(input.commands),
  );
});

describe("permissions", () => {
  testCases(
    cases.permissionRequests,
    (input, notes) => permissionRequestToV1(asObject(input.v2Params), { announced: true }, "made", notes),
    (result) => v1("RequestPermissionRequest")(asObject(result).params),
    (input) => v2("RequestPermissionRequest")(input.v2Params),
  );
  testCases(
    cases.permissionResults,
    (input) => permissionResultToV2({ result: input.result }, ["yes"]),
    v2("RequestPermissionResponse"),
  );
});

describe("prompt results", () => {
  testCases(cases.promptResults, (input) => promptResultToV1(asObject(input.idle)), v1("PromptResponse"));
});

describe("updates", () => {
  testCases(
    cases.updates,
    (input, notes) => updateToV1(asObject(input.update), input.client as ClientAbilities, notes),
    v1("SessionUpdate"),
  );
});

describe("methods", () => {
  testCases(cases.methods, (input) => methodToClientV1(String(input.method), "request"));
});

describe("errors", () => {
  testCases(cases.errors, (input) => errorToV1(input.error), v1("Error"));
});
