// Guards docs/mapping.md §0 for the translations: whatever JSON a peer sends, nothing but a RequestFault is thrown and
// the input stays as it was (I3); unknown fields and `_meta` survive (I2); valid v1 gives valid v2 (I3).
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RequestFault, type RpcError } from "../../src/protocol/errors.ts";
import { asArray, asObject, asString, isObject, type JsonObject } from "../../src/protocol/json.ts";
import { authMethodsToV2 } from "../../src/translate/auth.ts";
import {
  agentOffers,
  clientCapabilitiesToV1,
  initializeParamsForBoth,
  initializeParamsToV1,
  initializeResultToV2,
  isV1InitializeResult,
} from "../../src/translate/capabilities.ts";
import { availableCommandsToV2 } from "../../src/translate/commands.ts";
import {
  configOptionsToV2,
  hasConfig,
  setConfigOptionToV1,
  withCurrentMode,
} from "../../src/translate/config-options.ts";
import { contentBlockToV1, contentBlockToV2, promptToV1 } from "../../src/translate/content.ts";
import { diffToV2 } from "../../src/translate/diffs.ts";
import { errorToV2, isBusyError, readError } from "../../src/translate/errors.ts";
import { mcpServersToV1 } from "../../src/translate/mcp-servers.ts";
import { permissionRequestToV2, permissionResultToV1 } from "../../src/translate/permissions.ts";
import { planToV2 } from "../../src/translate/plans.ts";
import {
  newSessionParamsToV1,
  resumeParamsToV1,
  sessionListToV2,
  sessionResultToV2,
} from "../../src/translate/sessions.ts";
import { stopReasonToV2 } from "../../src/translate/stop-reasons.ts";
import { displayTerminalsToV2, terminalsReferred } from "../../src/translate/terminals.ts";
import { toolCallTitle, toolCallToV2 } from "../../src/translate/tool-calls.ts";
import { updateToV2 } from "../../src/translate/updates.ts";
import { anyJson, anyJsonObject, validV1, validV2 } from "../support/arbitrary.ts";
import { validateV1, validateV2 } from "../support/schema.ts";
import { frozen } from "../support/table.ts";

const HOSTED = { files: true, terminals: false };
const INITIALIZE = { agentCommandName: "agent", clientHasTerminalAuth: true };
const EVERYTHING = agentOffers({
  agentCapabilities: {
    loadSession: true,
    promptCapabilities: { image: true, audio: true, embeddedContext: true },
    mcpCapabilities: { http: true, sse: true, acp: true },
    sessionCapabilities: { additionalDirectories: true },
  },
});
const toolCall = (update: JsonObject) => toolCallToV2(update, { cwd: "/w", diffs: new Map() }, []);
const diff = (value: JsonObject, locations: unknown) => diffToV2(value, { cwd: "/w", locations }, new Map(), []);
const permission = (params: JsonObject, announced: boolean) =>
  permissionRequestToV2(params, { announced }, { cwd: "/w", diffs: new Map() }, []);
// The types promise a good error; what a peer sends is none before readError has seen it.
const error = (value: JsonObject) => value as unknown as RpcError;

/** Every translation, as a function of one or two things a peer may have sent. */
const TRANSLATIONS: Record<string, (object: JsonObject, value: unknown) => unknown> = {
  agentOffers: (object) => agentOffers(object),
  authMethodsToV2: (_, value) => authMethodsToV2(value, true, []),
  availableCommandsToV2: (_, value) => availableCommandsToV2(value),
  clientCapabilitiesToV1: (object) => clientCapabilitiesToV1(object, HOSTED),
  configOptionsToV2: (object, value) => [configOptionsToV2(object), configOptionsToV2({ configOptions: value })],
  configStates: (_, value) => configOptionsToV2({ modes: value, models: value }),
  contentBlockToV1: (object) => contentBlockToV1(object),
  contentBlockToV2: (_, value) => contentBlockToV2(value),
  diffToV2: (object, value) => diff(object, value),
  displayTerminalsToV2: (object, value) => [
    displayTerminalsToV2(object, "/w"),
    displayTerminalsToV2({ ...object, _meta: value }, "/w"),
  ],
  errorToV2: (object) => errorToV2(error(object), { method: "session/prompt", sessionId: "s" }),
  hasConfig: (object) => hasConfig(object),
  initializeParamsForBoth: (object) => initializeParamsForBoth(object, HOSTED),
  initializeParamsToV1: (object) => initializeParamsToV1(object, HOSTED),
  initializeResultToV2: (object, value) => [
    initializeResultToV2(object, INITIALIZE, []),
    initializeResultToV2({ agentCapabilities: value, agentInfo: object }, INITIALIZE, []),
  ],
  isBusyError: (object) => isBusyError(error(object)),
  isV1InitializeResult: (_, value) => isV1InitializeResult(value),
  mcpServersToV1: (_, value) => mcpServersToV1(value, EVERYTHING.mcp),
  newSessionParamsToV1: (object) => newSessionParamsToV1({ ...object, cwd: "/w" }, EVERYTHING),
  permissionRequestToV2: (object, value) => permission({ ...object, toolCall: value, options: [value] }, true),
  permissionResultToV1: (_, value) => permissionResultToV1({ result: value }, ["a"]),
  planToV2: (object, value) => [planToV2(object, "p"), planToV2({ sessionUpdate: "plan", entries: value }, "p")],
  promptToV1: (_, value) => promptToV1(asArray(value).filter(isObject), EVERYTHING.prompt),
  readError: (_, value) => readError(value),
  resumeParamsToV1: (object) => resumeParamsToV1(object, EVERYTHING),
  sessionListToV2: (object, value) => [
    sessionListToV2(object, "/w", []),
    sessionListToV2({ sessions: value }, undefined, []),
  ],
  sessionResultToV2: (object, value) => sessionResultToV2(object, object, Array.isArray(value) ? value : undefined),
  setConfigOptionToV1: (object, value) => {
    const config = asObject(value);
    return setConfigOptionToV1(object, config).apply(config);
  },
  stopReasonToV2: (_, value) => stopReasonToV2(value),
  terminalsReferred: (object) => terminalsReferred(object),
  toolCallTitle: (object) => toolCallTitle(object),
  toolCallToV2: (object, value) => [toolCall(object), toolCall({ ...object, content: [value], locations: [value] })],
  updateToV2: (object) => updateToV2(object),
  withCurrentMode: (object, value) => withCurrentMode(object, String(asString(value))),
};

describe("any JSON: nothing is thrown but a RequestFault, nothing is written to", () => {
  test.each(Object.entries(TRANSLATIONS))("%s", (_name, translate) => {
    fc.assert(
      fc.property(anyJsonObject, anyJson, (object, value) => {
        try {
          translate(frozen(object), frozen(value));
        } catch (thrown) {
          if (!(thrown instanceof RequestFault)) throw thrown;
        }
      }),
    );
  });
});

/** Translations of one object into one object that stands for it. */
const CARRIERS: Record<string, (object: JsonObject) => unknown> = {
  authMethod: (object) => authMethodsToV2([{ ...object, id: "a", type: "agent" }], true, [])[0],
  command: (object) => availableCommandsToV2([{ ...object, name: "a" }])[0],
  configOption: (object) => configOptionsToV2({ configOptions: [{ ...object, id: "a", type: "_x" }] })[0],
  contentBlockToV1: (object) => contentBlockToV1(object),
  contentBlockToV2: (object) => contentBlockToV2(object),
  diff: (object) => diff({ ...object, path: "/a", oldText: "x", newText: "y" }, []),
  initializeParamsToV1: (object) => initializeParamsToV1(object, HOSTED),
  initializeResultToV2: (object) => initializeResultToV2(object, INITIALIZE, []),
  mcpServer: (object) => mcpServersToV1([{ ...object, type: "stdio" }], EVERYTHING.mcp)[0],
  mode: (object) => {
    const modes = { currentModeId: "m", availableModes: [{ ...object, id: "m" }] };
    return asArray(configOptionsToV2({ modes })[0]?.options)[0];
  },
  newSessionParamsToV1: (object) =>
    newSessionParamsToV1({ ...object, cwd: "/w", mcpServers: [], additionalDirectories: [] }, EVERYTHING),
  permissionRequestToV2: (object) => permission(object, false),
  permissionResultToV1: (object) => permissionResultToV1({ result: object }, []),
  planEntry: (object) => {
    const plan = planToV2({ sessionUpdate: "plan", entries: [{ ...object, content: "c" }] }, "p").plan;
    return asArray(asObject(plan).entries)[0];
  },
  planToV2: (object) => planToV2(object, "p"),
  session: (object) =>
    asArray(sessionListToV2({ sessions: [{ ...object, sessionId: "s", cwd: "/w" }] }, "/w", []).sessions)[0],
  sessionResultToV2: (object) => sessionResultToV2(object, {}, undefined),
  toolCallContent: (object) => asArray(toolCall({ content: [{ ...object, type: "content" }] }).content)[0],
  toolCallLocation: (object) => asArray(toolCall({ locations: [{ ...object, path: "a" }] }).locations)[0],
  toolCallToV2: (object) => toolCall(object),
  updateToV2: (object) => updateToV2(object),
};

describe("unknown fields and _meta survive", () => {
  test.each(Object.entries(CARRIERS))("%s", (_name, translate) => {
    const present = anyJson.filter((value) => value !== null);
    fc.assert(
      fc.property(anyJsonObject, present, anyJsonObject, (object, unknown, meta) => {
        const result = translate(frozen({ ...object, "x-unknown": unknown, _meta: meta }));
        expect(result).toMatchObject({ "x-unknown": unknown, _meta: meta });
      }),
    );
  });

  test("capabilities: what has no v2 form is in _meta", () => {
    fc.assert(
      fc.property(
        anyJson.filter((value) => value !== null),
        anyJsonObject,
        (unknown, meta) => {
          const capabilities = { "x-unknown": unknown, _meta: { "x-meta": meta } };
          const parts = { auth: capabilities, sessionCapabilities: capabilities, mcpCapabilities: capabilities };
          const agentCapabilities = { ...capabilities, ...parts, promptCapabilities: capabilities };
          const result = initializeResultToV2({ agentCapabilities }, INITIALIZE, []);
          const kept = { _meta: { "x-unknown": unknown, "x-meta": meta } };
          expect(result.capabilities).toMatchObject({
            ...kept,
            auth: kept,
            session: { ...kept, mcp: kept, prompt: kept },
          });
        },
      ),
    );
  });
});

/** The translation of a v1 update as the bridge picks it; undefined for kinds that need a session's state. */
function updateOf(update: JsonObject): unknown {
  switch (update.sessionUpdate) {
    case "tool_call":
    case "tool_call_update":
      return toolCall(update);
    case "plan":
      return planToV2(update, "p");
    case "config_option_update":
      return { ...update, configOptions: configOptionsToV2(update) };
    case "current_mode_update":
      return undefined;
    case "user_message_chunk":
    case "agent_message_chunk":
    case "agent_thought_chunk":
      return { ...update, messageId: "m", content: contentBlockToV2(update.content) };
    default:
      return updateToV2(update);
  }
}

/** What valid v1 becomes, and the v2 definition that must take it. */
const VALID_TO_V2: Record<string, { from: string; to: string; translate: (value: JsonObject) => unknown }> = {
  SessionUpdate: { from: "SessionUpdate", to: "SessionUpdate", translate: updateOf },
  InitializeResponse: {
    from: "InitializeResponse",
    to: "InitializeResponse",
    translate: (value) => initializeResultToV2(value, INITIALIZE, []),
  },
  NewSessionResponse: {
    from: "NewSessionResponse",
    to: "NewSessionResponse",
    translate: (value) => sessionResultToV2(value, value, undefined),
  },
  ListSessionsResponse: {
    from: "ListSessionsResponse",
    to: "ListSessionsResponse",
    translate: (value) => sessionListToV2(value, undefined, []),
  },
  RequestPermissionRequest: {
    from: "RequestPermissionRequest",
    to: "RequestPermissionRequest",
    // Without options nobody is asked.
    translate: (value) => (asArray(value.options).length > 0 ? permission(value, true) : undefined),
  },
  Error: { from: "Error", to: "Error", translate: (value) => errorToV2(error(value), { method: "session/prompt" }) },
};

describe("valid v1 gives valid v2", () => {
  test.each(Object.entries(VALID_TO_V2))("%s", (_name, { from, to, translate }) => {
    fc.assert(
      fc.property(validV1(from), (value) => {
        expect(validateV1(from, value)).toBeUndefined();
        const result = translate(frozen(asObject(value)));
        if (result !== undefined) expect(validateV2(to, result)).toBeUndefined();
      }),
      { numRuns: 300 },
    );
  });
});

/** What valid v2 becomes for the agent, and the v1 definition that must take it. */
const VALID_TO_V1: Record<string, { from: string; to: string; translate: (value: JsonObject) => unknown }> = {
  InitializeRequest: {
    from: "InitializeRequest",
    to: "InitializeRequest",
    translate: (value) => initializeParamsToV1(value, HOSTED),
  },
  NewSessionRequest: {
    from: "NewSessionRequest",
    to: "NewSessionRequest",
    translate: (value) => newSessionParamsToV1(value, EVERYTHING),
  },
  ResumeSessionRequest: {
    from: "ResumeSessionRequest",
    to: "LoadSessionRequest",
    translate: (value) => resumeParamsToV1(value, EVERYTHING),
  },
  PromptRequest: {
    from: "PromptRequest",
    to: "PromptRequest",
    translate: (value) => ({ ...value, prompt: promptToV1(asArray(value.prompt).filter(isObject), EVERYTHING.prompt) }),
  },
  RequestPermissionResponse: {
    from: "RequestPermissionResponse",
    to: "RequestPermissionResponse",
    translate: (value) => permissionResultToV1({ result: value }, ["select", "id"]),
  },
};

describe("valid v2 gives valid v1, or a RequestFault", () => {
  test.each(Object.entries(VALID_TO_V1))("%s", (_name, { from, to, translate }) => {
    fc.assert(
      fc.property(validV2(from), (value) => {
        expect(validateV2(from, value)).toBeUndefined();
        try {
          expect(validateV1(to, translate(frozen(asObject(value))))).toBeUndefined();
        } catch (thrown) {
          if (!(thrown instanceof RequestFault)) throw thrown;
        }
      }),
      { numRuns: 300 },
    );
  });
});

test("any JSON as an answer to a permission request is a valid v1 result, and an approval only as offered", () => {
  fc.assert(
    fc.property(anyJson, fc.array(fc.string()), (value, offered) => {
      const result = permissionResultToV1({ result: value }, offered);
      expect(validateV1("RequestPermissionResponse", result)).toBeUndefined();
      const { outcome, optionId } = asObject(result.outcome);
      if (outcome === "selected") expect(offered).toContain(optionId);
      else expect(outcome).toBe("cancelled");
    }),
  );
});

test("any JSON as an error is a valid v2 error on one line", () => {
  fc.assert(
    fc.property(anyJson, (value) => {
      const result = errorToV2(readError(value), { method: "session/prompt", sessionId: "s" });
      expect(validateV2("Error", result)).toBeUndefined();
      expect(result.message).toMatch(/^[^\r\n]+$/);
    }),
  );
});
