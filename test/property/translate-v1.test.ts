// Guards docs/mapping.md §13 for the translations: whatever a v2 agent or a v1 client sends, nothing but a RequestFault
// is thrown and the input stays as it was; unknown fields and `_meta` survive (I2); valid v2 of the agent's gives valid
// v1 for the client, and valid v1 of the client's gives valid v2 for the agent (I3).
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RequestFault } from "../../src/protocol/errors.ts";
import { asArray, asObject, isObject, type JsonObject } from "../../src/protocol/json.ts";
import { authMethodsToV1 } from "../../src/translate/auth.ts";
import { clientAbilities, initializeParamsToV2, initializeResultToV1 } from "../../src/translate/capabilities.ts";
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
import { mcpServersToV2 } from "../../src/translate/mcp-servers.ts";
import { permissionRequestToV1, permissionResultToV2 } from "../../src/translate/permissions.ts";
import { plansToV1 } from "../../src/translate/plans.ts";
import { loadParamsToV2, newSessionParamsToV2, sessionResultToV1 } from "../../src/translate/sessions.ts";
import { promptResultToV1 } from "../../src/translate/stop-reasons.ts";
import { decodePiece, fromBase64, terminalAsText } from "../../src/translate/terminals.ts";
import { toolCallToV1 } from "../../src/translate/tool-calls.ts";
import { updateToV1 } from "../../src/translate/updates.ts";
import { anyJson, anyJsonObject, validV1, validV2 } from "../support/arbitrary.ts";
import { validateV1, validateV2 } from "../support/schema.ts";
import { frozen } from "../support/table.ts";

const EVERYTHING = { notices: true, compaction: true, booleans: true, displayTerminals: true, subagents: false };
const UNKNOWN = { name: "unknown", version: "unknown" };
const showTerminal = (terminalId: string) => terminalAsText({ command: terminalId, output: "" });

const toolCall = (update: JsonObject, announced: boolean) => toolCallToV1(update, { announced, showTerminal }, []);
const permission = (params: JsonObject) => permissionRequestToV1(params, { announced: true }, "made", []).params;
const sessionResult = (result: JsonObject) => sessionResultToV1(result, false, []);

/** Every translation, as a function of one or two things a peer may have sent. */
const TRANSLATIONS: Record<string, (object: JsonObject, value: unknown) => unknown> = {
  authMethodsToV1: (_, value) => authMethodsToV1(value, true, []),
  availableCommandsToV1: (_, value) => availableCommandsToV1(value, []),
  clientAbilities: (object) => clientAbilities(object),
  configOptionsToV1: (_, value) => [configOptionsToV1(value, true, []), configOptionsToV1(value, false, [])],
  contentBlockToV1: (object) => contentBlockToV1(object),
  currentModeOf: (_, value) => currentModeOf(value),
  diffToV1: (object, value) => [diffToV1(object, []), diffToV1({ changes: value, patch: object }, [])],
  errorToV1: (_, value) => errorToV1(value),
  initializeParamsToV2: (object, value) => [
    initializeParamsToV2(object, UNKNOWN),
    initializeParamsToV2({ clientCapabilities: object, clientInfo: value }, UNKNOWN),
  ],
  initializeResultToV1: (object, value) => [
    initializeResultToV1(object, { clientHasTerminalAuth: true }, []),
    initializeResultToV1({ capabilities: object, authMethods: value }, { clientHasTerminalAuth: true }, []),
  ],
  loadParamsToV2: (object) => loadParamsToV2({ ...object, cwd: "/w" }),
  mcpServersToV2: (_, value) => mcpServersToV2(value),
  modesToV1: (_, value) => modesToV1(value),
  newSessionParamsToV2: (object) => newSessionParamsToV2(object),
  permissionRequestToV1: (object, value) => [permission(object), permission({ ...object, subject: value })],
  permissionResultToV2: (_, value) => permissionResultToV2({ result: value }, ["a"]),
  plansToV1: (object) => plansToV1([object, { ...object, type: "items" }], []),
  promptResultToV1: (object) => promptResultToV1(object),
  promptToV2: (object, value) => [promptToV2(object), promptToV2({ prompt: value })],
  sessionResultToV1: (object, value) => [sessionResult(object), sessionResult({ configOptions: value })],
  setConfigOptionToV2: (object, value) => setConfigOptionToV2(object, value),
  setModeToV2: (object, value) => setModeToV2(object, value),
  toolCallToV1: (object, value) => [
    toolCall(object, true),
    toolCall({ ...object, content: [value], locations: [value] }, false),
  ],
  updateToV1: (object) => updateToV1(object, EVERYTHING, []),
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
  authMethod: (object) => authMethodsToV1([{ ...object, methodId: "a", type: "agent" }], true, [])[0],
  command: (object) => availableCommandsToV1([{ ...object, name: "a" }], [])[0],
  configOption: (object) => configOptionsToV1([{ ...object, configId: "a", type: "select" }], true, [])[0],
  contentBlock: (object) => contentBlockToV1({ ...object, type: "text" }),
  diff: (object) => diffToV1({ ...object, changes: [{ operation: "move", path: "/b", oldPath: "/a" }] }, [])[0],
  initializeParams: (object) => initializeParamsToV2(object, UNKNOWN),
  initializeResult: (object) => initializeResultToV1(object, { clientHasTerminalAuth: true }, []),
  agentCapabilities: (object) =>
    initializeResultToV1({ capabilities: object }, { clientHasTerminalAuth: true }, []).agentCapabilities,
  mcpServer: (object) => mcpServersToV2([{ ...object, type: undefined }])[0],
  mode: (object) => {
    const option = { type: "select", category: "mode", currentValue: "m", options: [{ ...object, value: "m" }] };
    return asArray(modesToV1([{ ...option, configId: "mode" }])?.availableModes)[0];
  },
  newSessionParams: (object) => newSessionParamsToV2({ ...object, cwd: "/w", mcpServers: [] }),
  permissionRequest: (object) => permission(object),
  planEntry: (object) => asArray(plansToV1([{ type: "items", entries: [{ ...object, content: "c" }] }], []).entries)[0],
  promptResult: (object) => promptResultToV1(object),
  sessionResult: (object) => sessionResult(object),
  setConfigOption: (object) => setConfigOptionToV2(object, []),
  setMode: (object) => setModeToV2(object, [{ type: "select", category: "mode", configId: "mode" }]),
  toolCall: (object) => toolCall(object, true),
  toolCallContent: (object) => asArray(toolCall({ content: [{ ...object, type: "content" }] }, true).content)[0],
  toolCallLocation: (object) => asArray(toolCall({ locations: [{ ...object, path: "/a" }] }, true).locations)[0],
  update: (object) => updateToV1({ ...object, sessionUpdate: "usage_update" }, EVERYTHING, []),
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
});

/** The translation of a v2 update as the bridge picks it; undefined for kinds that need a session's state. */
function updateOf(update: JsonObject): unknown {
  switch (update.sessionUpdate) {
    case "tool_call_update":
      return toolCall(update, "content" in update);
    case "plan_update":
      return plansToV1([asObject(update.plan)], []);
    case "config_option_update":
      return { ...update, configOptions: configOptionsToV1(update.configOptions, false, []) };
    default:
      return updateToV1(update, EVERYTHING, []);
  }
}

interface Crossing {
  from: string;
  to: string;
  translate: (value: JsonObject) => unknown;
}

/** What valid v2 of the agent's becomes, and the v1 definition that must take it. */
const TO_CLIENT: Record<string, Crossing> = {
  SessionUpdate: { from: "SessionUpdate", to: "SessionUpdate", translate: updateOf },
  InitializeResponse: {
    from: "InitializeResponse",
    to: "InitializeResponse",
    translate: (value) => initializeResultToV1(value, { clientHasTerminalAuth: true }, []),
  },
  NewSessionResponse: { from: "NewSessionResponse", to: "NewSessionResponse", translate: sessionResult },
  "ResumeSessionResponse, loading": {
    from: "ResumeSessionResponse",
    to: "LoadSessionResponse",
    translate: sessionResult,
  },
  "ResumeSessionResponse, resuming": {
    from: "ResumeSessionResponse",
    to: "ResumeSessionResponse",
    translate: sessionResult,
  },
  ListSessionsResponse: { from: "ListSessionsResponse", to: "ListSessionsResponse", translate: (value) => value },
  SetSessionConfigOptionResponse: {
    from: "SetSessionConfigOptionResponse",
    to: "SetSessionConfigOptionResponse",
    translate: (value) => ({ ...value, configOptions: configOptionsToV1(value.configOptions, true, []) }),
  },
  RequestPermissionRequest: {
    from: "RequestPermissionRequest",
    to: "RequestPermissionRequest",
    translate: permission,
  },
  IdleStateUpdate: { from: "IdleStateUpdate", to: "PromptResponse", translate: promptResultToV1 },
  Error: { from: "Error", to: "Error", translate: errorToV1 },
};

describe("valid v2 gives valid v1", () => {
  test.each(Object.entries(TO_CLIENT))("%s", (_name, { from, to, translate }) => {
    fc.assert(
      fc.property(validV2(from), (value) => {
        expect(validateV2(from, value)).toBeUndefined();
        const result = translate(frozen(asObject(value)));
        if (result !== undefined) expect(validateV1(to, result)).toBeUndefined();
      }),
      { numRuns: 500 },
    );
  });
});

/** What valid v1 of the client's becomes, and the v2 definition that must take it. */
const TO_AGENT: Record<string, Crossing> = {
  InitializeRequest: {
    from: "InitializeRequest",
    to: "InitializeRequest",
    translate: (value) => initializeParamsToV2(value, UNKNOWN),
  },
  NewSessionRequest: { from: "NewSessionRequest", to: "NewSessionRequest", translate: newSessionParamsToV2 },
  LoadSessionRequest: { from: "LoadSessionRequest", to: "ResumeSessionRequest", translate: loadParamsToV2 },
  ResumeSessionRequest: { from: "ResumeSessionRequest", to: "ResumeSessionRequest", translate: newSessionParamsToV2 },
  PromptRequest: { from: "PromptRequest", to: "PromptRequest", translate: promptToV2 },
  SetSessionModeRequest: {
    from: "SetSessionModeRequest",
    to: "SetSessionConfigOptionRequest",
    translate: (value) => setModeToV2(value, [{ type: "select", category: "mode", configId: "mode" }]),
  },
  SetSessionConfigOptionRequest: {
    from: "SetSessionConfigOptionRequest",
    to: "SetSessionConfigOptionRequest",
    translate: (value) => setConfigOptionToV2(value, []),
  },
  RequestPermissionResponse: {
    from: "RequestPermissionResponse",
    to: "RequestPermissionResponse",
    translate: (value) => permissionResultToV2({ result: value }, ["select", "id"]),
  },
};

describe("valid v1 gives valid v2, or a RequestFault", () => {
  test.each(Object.entries(TO_AGENT))("%s", (_name, { from, to, translate }) => {
    fc.assert(
      fc.property(validV1(from), (value) => {
        expect(validateV1(from, value)).toBeUndefined();
        try {
          expect(validateV2(to, translate(frozen(asObject(value))))).toBeUndefined();
        } catch (thrown) {
          if (!(thrown instanceof RequestFault)) throw thrown;
        }
      }),
      { numRuns: 300 },
    );
  });
});

test("a kind of update v1 does not define never reaches the client", () => {
  fc.assert(
    fc.property(anyJsonObject, fc.string(), (object, kind) => {
      const result = updateToV1({ ...object, sessionUpdate: `_${kind}` }, EVERYTHING, []);
      expect(result).toBeUndefined();
    }),
  );
});

test("any content of a tool call of any type is valid v1", () => {
  const valid = validV2("ToolCallContent").filter(isObject);
  const items = fc.oneof(
    valid,
    fc.tuple(valid, fc.string()).map(([item, type]) => ({ ...item, type: `_${type}` })),
    anyJsonObject.map((block) => ({ type: "content", content: { ...block, type: "_x" } })),
  );
  fc.assert(
    fc.property(fc.array(items), (content) => {
      const result = toolCall({ toolCallId: "t", content }, true);
      expect(validateV1("ToolCallUpdate", result)).toBeUndefined();
    }),
  );
});

test("bytes in pieces of any size give the text they give as a whole", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.string({ unit: "binary" }), fc.nat(7), (noise, text, size) => {
      const bytes = Uint8Array.from([...noise, ...new TextEncoder().encode(text)]);
      let shown = "";
      let pending: number[] = [];
      for (let at = 0; at < bytes.length; at += size + 1) {
        const piece = decodePiece(pending, bytes.subarray(at, at + size + 1));
        shown += piece.text;
        pending = piece.pending;
      }
      shown += new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(pending));
      expect(shown).toBe(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
      expect([...fromBase64(Buffer.from(bytes).toString("base64"))]).toEqual([...bytes]);
    }),
  );
});
