// Guards docs/mapping.md §3 and §4: session setup, MCP servers, session lists.
import { describe } from "vitest";
import { asObject, asString, type JsonObject } from "../../src/protocol/json.ts";
import { type AgentOffers, agentOffers } from "../../src/translate/capabilities.ts";
import { mcpServersToV1 } from "../../src/translate/mcp-servers.ts";
import {
  newSessionParamsToV1,
  resumeParamsToV1,
  sessionListToV2,
  sessionResultToV2,
} from "../../src/translate/sessions.ts";
import { validateV1, validateV2 } from "../support/schema.ts";
import { firstFault, testCases, testRefusals } from "../support/table.ts";
import * as cases from "./cases/sessions.ts";

function mcp(value: unknown): AgentOffers["mcp"] {
  const { http, sse, acp } = asObject(value);
  return { http: http === true, sse: sse === true, acp: acp === true };
}

function offers(value: unknown): AgentOffers {
  const { additionalDirectories, mcp: servers } = asObject(value);
  return { ...agentOffers({}), additionalDirectories: additionalDirectories === true, mcp: mcp(servers) };
}

describe("MCP servers", () => {
  const translate = (input: JsonObject) => mcpServersToV1(input.servers, mcp(input.mcp));
  testCases(cases.mcpServers, translate, (result) =>
    firstFault(result, (server) =>
      // The acp transport is in the unstable schema only.
      asObject(server).type === "acp" ? undefined : validateV1("McpServer", server),
    ),
  );
  testRefusals(cases.mcpServersRefused, translate);
});

describe("session/new params", () => {
  const translate = (input: JsonObject) => newSessionParamsToV1(asObject(input.v2Params), offers(input.offers));
  testCases(cases.newSessionParams, translate, (result) => validateV1("NewSessionRequest", result));
  testRefusals(cases.newSessionRefused, translate);
});

describe("session/resume params", () => {
  testCases(
    cases.resumeParams,
    (input) => resumeParamsToV1(asObject(input.v2Params), offers(input.offers)),
    (result) => validateV1("ResumeSessionRequest", result) ?? validateV1("LoadSessionRequest", result),
  );
});

describe("session results", () => {
  testCases(
    cases.sessionResults,
    (input) => {
      const commands = Array.isArray(input.availableCommands) ? input.availableCommands : undefined;
      return sessionResultToV2(asObject(input.v1Result), asObject(input.config), commands);
    },
    (result) => validateV2("NewSessionResponse", result),
  );
});

describe("session/list results", () => {
  testCases(
    cases.sessionLists,
    (input, notes) => sessionListToV2(asObject(input.v1Result), asString(input.cwdFilter), notes),
    (result) => validateV2("ListSessionsResponse", result),
  );
});
