import { asArray, asObject, asString, isObject, type JsonObject, without } from "../protocol/json.ts";
import { authMethodsToV1, authMethodsToV2 } from "./auth.ts";
import type { Notes } from "./notes.ts";

/** What the bridge does for the agent in the client's stead, since v2 clients no longer do it (docs/mapping.md §10). */
export interface HostedServices {
  files: boolean;
  terminals: boolean;
}

/** What a v1 agent said it can do: `initialize` read leniently (docs/mapping.md §1). */
export interface AgentOffers {
  list: boolean;
  resume: boolean;
  close: boolean;
  load: boolean;
  delete: boolean;
  logout: boolean;
  additionalDirectories: boolean;
  prompt: { image: boolean; audio: boolean; embeddedContext: boolean };
  mcp: { http: boolean; sse: boolean; acp: boolean };
}

/** A capability as an object: `true` counts as `{}`; null, `false` and anything else as absent. */
function marker(value: unknown): JsonObject | undefined {
  return value === true ? {} : isObject(value) ? value : undefined;
}

function offered(value: unknown): boolean {
  return marker(value) !== undefined;
}

/**
 * A v2 client's capabilities as v1 has them (docs/mapping.md §1, schema v1 `ClientCapabilities`). What is baseline in
 * v2 is always on; file and terminal services are what the bridge hosts; everything else is carried over.
 */
export function clientCapabilitiesToV1(v2: JsonObject, hosted: HostedServices): JsonObject {
  const session = asObject(v2.session);
  return {
    ...v2,
    fs: { readTextFile: hosted.files, writeTextFile: hosted.files },
    terminal: hosted.terminals,
    session: {
      ...session,
      configOptions: { ...asObject(session.configOptions), boolean: {} },
      notices: {},
      compaction: {},
    },
    plan: { ...asObject(v2.plan) },
    auth: { ...asObject(v2.auth), terminal: offered(asObject(v2.auth).terminal) },
    _meta: { ...asObject(v2._meta), terminal_output: true },
  };
}

/** The params of a v2 `initialize` for an agent that is spoken to in v1 only (docs/mapping.md §1). */
export function initializeParamsToV1(v2Params: JsonObject, hosted: HostedServices): JsonObject {
  return {
    ...without(v2Params, "info", "capabilities"),
    protocolVersion: 1,
    ...(isObject(v2Params.info) ? { clientInfo: v2Params.info } : {}),
    clientCapabilities: clientCapabilitiesToV1(asObject(v2Params.capabilities), hosted),
  };
}

/**
 * The params of a v2 `initialize` for an agent of either generation (docs/mapping.md §1): version 2 with the fields of
 * both. A v2 agent answers in v2 and never looks at v1's; a v1 agent answers version 1.
 */
export function initializeParamsForBoth(v2Params: JsonObject, hosted: HostedServices): JsonObject {
  return {
    ...initializeParamsToV1(v2Params, hosted),
    protocolVersion: 2,
    ...(isObject(v2Params.info) ? { info: v2Params.info } : {}),
    capabilities: asObject(v2Params.capabilities),
  };
}

/**
 * True when an `initialize` result is a v1 agent's (docs/mapping.md §1): its version is below 2, or it echoes the
 * version it was asked for but answers in v1 fields.
 */
export function isV1InitializeResult(result: unknown): boolean {
  const { protocolVersion, agentCapabilities, agentInfo, info } = asObject(result);
  if (typeof protocolVersion !== "number" || protocolVersion < 2) return true;
  return (agentCapabilities !== undefined || agentInfo !== undefined) && !isObject(info);
}

/** What the agent offers, read leniently: `true` or an object counts, null and `false` do not (docs/mapping.md §1). */
export function agentOffers(v1Result: JsonObject): AgentOffers {
  const capabilities = asObject(v1Result.agentCapabilities);
  const session = asObject(capabilities.sessionCapabilities);
  const prompt = asObject(capabilities.promptCapabilities);
  const mcp = asObject(capabilities.mcpCapabilities);
  return {
    list: offered(session.list),
    resume: offered(session.resume),
    close: offered(session.close),
    load: offered(capabilities.loadSession),
    delete: offered(session.delete),
    logout: offered(asObject(capabilities.auth).logout),
    additionalDirectories: offered(session.additionalDirectories),
    prompt: {
      image: offered(prompt.image),
      audio: offered(prompt.audio),
      embeddedContext: offered(prompt.embeddedContext),
    },
    mcp: { http: offered(mcp.http), sse: offered(mcp.sse), acp: offered(mcp.acp) },
  };
}

/**
 * A v1 `initialize` result as v2 has it (docs/mapping.md §1, §2, schema v2 `InitializeResponse`).
 *
 * Capability data that v2 has no field for goes to the `_meta` of the capability object it was in, under its v1 name;
 * unknown fields of the result itself stay where they are. A missing name or version is filled in, with a note.
 *
 * @param context `agentCommandName`: the base name of the agent's command, which names an agent that does not
 */
export function initializeResultToV2(
  v1Result: JsonObject,
  context: { agentCommandName: string; clientHasTerminalAuth: boolean },
  notes: Notes,
): JsonObject {
  const authMethods = Array.isArray(v1Result.authMethods)
    ? { authMethods: authMethodsToV2(asArray(v1Result.authMethods), context.clientHasTerminalAuth, notes) }
    : {};
  return {
    ...without(v1Result, "agentInfo", "agentCapabilities", "authMethods"),
    protocolVersion: 2,
    info: infoToV2(asObject(v1Result.agentInfo), context.agentCommandName, notes),
    capabilities: agentCapabilitiesToV2(asObject(v1Result.agentCapabilities)),
    ...authMethods,
  };
}

function infoToV2(agentInfo: JsonObject, agentCommandName: string, notes: Notes): JsonObject {
  const name = asString(agentInfo.name);
  const version = asString(agentInfo.version);
  if (!name || !version) {
    notes.push({ rule: "agent-info-guessed", detail: "the agent gave no name or no version" });
  }
  return { ...agentInfo, name: name || agentCommandName || "agent", version: version || "unknown" };
}

function agentCapabilitiesToV2(v1: JsonObject): JsonObject {
  const auth = authCapabilitiesToV2(asObject(v1.auth));
  return {
    session: sessionCapabilitiesToV2(v1),
    ...(Object.keys(auth).length > 0 ? { auth } : {}),
    ...markers({ providers: v1.providers }),
    ...leftovers(v1, [
      "loadSession",
      "promptCapabilities",
      "mcpCapabilities",
      "sessionCapabilities",
      "auth",
      "providers",
    ]),
  };
}

function sessionCapabilitiesToV2(v1: JsonObject): JsonObject {
  const session = asObject(v1.sessionCapabilities);
  const prompt = promptCapabilitiesToV2(asObject(v1.promptCapabilities));
  const { fork, archive, status, title, additionalDirectories } = session;
  return {
    ...(Object.keys(prompt).length > 0 ? { prompt } : {}),
    mcp: mcpCapabilitiesToV2(asObject(v1.mcpCapabilities)),
    ...markers({ delete: session.delete, additionalDirectories, fork, archive, status, title }),
    ...systemPromptToV2(session.systemPrompt),
    ...leftovers(session, [
      "delete",
      "additionalDirectories",
      "fork",
      "archive",
      "status",
      "title",
      "systemPrompt",
      ...baselineMarkers(session, ["list", "resume", "close"]),
    ]),
  };
}

function promptCapabilitiesToV2(v1: JsonObject): JsonObject {
  const { image, audio, embeddedContext } = v1;
  return { ...markers({ image, audio, embeddedContext }), ...leftovers(v1, ["image", "audio", "embeddedContext"]) };
}

function mcpCapabilitiesToV2(v1: JsonObject): JsonObject {
  const { http, acp } = v1;
  const translated = offered(v1.sse) ? ["http", "acp"] : ["http", "acp", "sse"];
  return { stdio: {}, ...markers({ http, acp }), ...leftovers(v1, translated) };
}

function authCapabilitiesToV2(v1: JsonObject): JsonObject {
  return {
    ...markers({ status: v1.status }),
    ...leftovers(v1, ["status", ...baselineMarkers(v1, ["logout"])]),
  };
}

/** v1 `systemPrompt` has markers inside a marker; v2 wants every one of them to be an object. */
function systemPromptToV2(value: unknown): JsonObject {
  const systemPrompt = marker(value);
  if (systemPrompt === undefined) return {};
  const mode = marker(systemPrompt.mode);
  if (mode === undefined) return { systemPrompt: without(systemPrompt, "mode") };
  return {
    systemPrompt: { ...systemPrompt, mode: { ...without(mode, "override"), ...markers({ override: mode.override }) } },
  };
}

function markers(values: JsonObject): JsonObject {
  const present = Object.entries(values).flatMap(([name, value]) => {
    const object = marker(value);
    return object === undefined ? [] : [[name, object] as const];
  });
  return Object.fromEntries(present);
}

/** Of markers that v2 takes for granted, those that say nothing more than that they are there. */
function baselineMarkers(v1: JsonObject, names: string[]): string[] {
  return names.filter((name) => Object.keys(asObject(v1[name])).length === 0);
}

/** The `_meta` of a capability object, with the fields that have no v2 form added under their own names. */
function leftovers(v1: JsonObject, translated: string[]): { _meta?: JsonObject } {
  const unknown = Object.entries(without(v1, "_meta", ...translated)).filter(([, value]) => value !== null);
  const meta = { ...Object.fromEntries(unknown), ...asObject(v1._meta) };
  return Object.keys(meta).length > 0 ? { _meta: meta } : {};
}

/** What a v1 client said it can show, beyond what every v1 client can. */
export interface ClientAbilities {
  notices: boolean;
  compaction: boolean;
  /** Boolean config options. */
  booleans: boolean;
  /** Terminals of the agent's, by the display-terminal extension (docs/mapping.md §6). */
  displayTerminals: boolean;
  /** Subagent sessions (unstable in v1). */
  subagents: boolean;
}

/** What a v1 client's `clientCapabilities` announce, read leniently (docs/mapping.md §13). */
export function clientAbilities(v1Capabilities: JsonObject): ClientAbilities {
  const session = asObject(v1Capabilities.session);
  return {
    notices: offered(session.notices),
    compaction: offered(session.compaction),
    booleans: offered(asObject(session.configOptions).boolean),
    displayTerminals: offered(asObject(v1Capabilities._meta).terminal_output),
    subagents: offered(v1Capabilities.subagents),
  };
}

/**
 * The params of a v1 `initialize` for a v2 agent (docs/mapping.md §13, schema v2 `InitializeRequest`). What v2 takes for
 * granted or has no use for goes: file and terminal services, what the client can show, and the display-terminal key.
 *
 * @param unknownClient the `info` of a client that does not say its name or version
 */
export function initializeParamsToV2(
  v1Params: JsonObject,
  unknownClient: { name: string; version: string },
): JsonObject {
  const clientInfo = asObject(v1Params.clientInfo);
  return {
    ...without(v1Params, "clientInfo", "clientCapabilities"),
    protocolVersion: 2,
    info: {
      ...clientInfo,
      name: asString(clientInfo.name) || unknownClient.name,
      version: asString(clientInfo.version) || unknownClient.version,
    },
    capabilities: clientCapabilitiesToV2(asObject(v1Params.clientCapabilities)),
  };
}

function clientCapabilitiesToV2(v1: JsonObject): JsonObject {
  const v1Auth = asObject(v1.auth);
  const auth = { ...without(v1Auth, "terminal"), ...markers({ terminal: v1Auth.terminal }) };
  const meta = without(asObject(v1._meta), "terminal_output");
  const { form, url } = asObject(v1.elicitation);
  const elicitation = { ...without(asObject(v1.elicitation), "form", "url"), ...markers({ form, url }) };
  return {
    ...without(v1, "fs", "terminal", "session", "plan", "subagents", "auth", "elicitation", "_meta"),
    ...(Object.keys(auth).length > 0 ? { auth } : {}),
    ...(offered(v1.elicitation) ? { elicitation } : {}),
    ...(Object.keys(meta).length > 0 ? { _meta: meta } : {}),
  };
}

/**
 * A v2 `initialize` result as v1 has it (docs/mapping.md §13, schema v1 `InitializeResponse`): markers become what v1
 * has for them, and what is baseline in v2 is announced. Capability data that v1 has no field for stays where it is.
 */
export function initializeResultToV1(
  v2Result: JsonObject,
  context: { clientHasTerminalAuth: boolean },
  notes: Notes,
): JsonObject {
  const methods = asArray(v2Result.authMethods);
  return {
    ...without(v2Result, "info", "capabilities"),
    protocolVersion: 1,
    ...(isObject(v2Result.info) ? { agentInfo: v2Result.info } : {}),
    agentCapabilities: agentCapabilitiesToV1(asObject(v2Result.capabilities), methods.length > 0),
    authMethods: authMethodsToV1(methods, context.clientHasTerminalAuth, notes),
  };
}

/** @param logsIn true when the agent has a way to log in, which in v2 means that it can log out as well */
function agentCapabilitiesToV1(v2: JsonObject, logsIn: boolean): JsonObject {
  const session = asObject(v2.session);
  const prompt = asObject(session.prompt);
  const mcp = asObject(session.mcp);
  const hasSessions = offered(v2.session);
  return {
    ...without(v2, "session"),
    loadSession: hasSessions,
    promptCapabilities: {
      ...prompt,
      image: offered(prompt.image),
      audio: offered(prompt.audio),
      embeddedContext: offered(prompt.embeddedContext),
    },
    mcpCapabilities: {
      ...without(mcp, "stdio", "acp"),
      http: offered(mcp.http),
      sse: false,
      ...(offered(mcp.acp) ? { acp: true } : {}),
    },
    sessionCapabilities: {
      ...without(session, "prompt", "mcp"),
      ...(hasSessions ? { list: {}, resume: {}, close: {} } : {}),
    },
    auth: { ...asObject(v2.auth), ...(logsIn ? { logout: {} } : {}) },
  };
}
