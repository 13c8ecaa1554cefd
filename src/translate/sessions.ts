import { invalidParams } from "../protocol/errors.ts";
import { asArray, asString, isObject, type JsonObject, without } from "../protocol/json.ts";
import type { AgentOffers } from "./capabilities.ts";
import { availableCommandsToV2 } from "./commands.ts";
import { configOptionsToV1, configOptionsToV2, modesToV1, type SessionConfig } from "./config-options.ts";
import { mcpServersToV1, mcpServersToV2 } from "./mcp-servers.ts";
import type { Notes } from "./notes.ts";
import { isAbsolutePath, normalisePath } from "./paths.ts";

/**
 * The params of a v2 `session/new` for a v1 agent (docs/mapping.md §3).
 *
 * @throws RequestFault `-32602` for a `cwd` that is missing or relative, for additional directories that the agent did
 *   not offer or that are relative, and for MCP servers as `mcpServersToV1` has it.
 */
export function newSessionParamsToV1(v2Params: JsonObject, offers: AgentOffers): JsonObject {
  const cwd = asString(v2Params.cwd);
  if (cwd === undefined || !isAbsolutePath(cwd)) throw invalidParams("cwd must be an absolute path");
  return {
    ...without(v2Params, "additionalDirectories"),
    cwd,
    ...additionalDirectoriesToV1(v2Params.additionalDirectories, offers.additionalDirectories),
    mcpServers: mcpServersToV1(v2Params.mcpServers, offers.mcp),
  };
}

/**
 * The params of a v2 `session/resume` for v1's `session/resume` and `session/load` alike (docs/mapping.md §3, §4): as
 * {@link newSessionParamsToV1}, without `replayFrom`.
 *
 * @throws RequestFault as {@link newSessionParamsToV1}
 */
export function resumeParamsToV1(v2Params: JsonObject, offers: AgentOffers): JsonObject {
  return newSessionParamsToV1(without(v2Params, "replayFrom"), offers);
}

function additionalDirectoriesToV1(directories: unknown, offered: boolean): { additionalDirectories?: string[] } {
  if (directories === undefined || directories === null) return {};
  if (!Array.isArray(directories) || !directories.every((directory) => typeof directory === "string")) {
    throw invalidParams("additionalDirectories must be a list of absolute paths");
  }
  const relative = directories.findIndex((directory) => !isAbsolutePath(directory));
  if (relative >= 0) throw invalidParams(`additionalDirectories[${relative}] must be an absolute path`);
  if (directories.length > 0 && !offered) throw invalidParams("The agent does not take additionalDirectories");
  return offered ? { additionalDirectories: directories } : {};
}

/**
 * The result of a v1 `session/new`, `session/load` or `session/resume` as v2 has it (docs/mapping.md §3, §8): `modes`
 * and `models` become config options, lists are present or absent but never null.
 *
 * @param config the session's state, from which `configOptions` is made
 * @param availableCommands the commands the agent announced before its result, in v1 or v2 form, if it did
 */
export function sessionResultToV2(
  v1Result: JsonObject,
  config: SessionConfig,
  availableCommands: unknown[] | undefined,
): JsonObject {
  const configOptions = configOptionsToV2(config);
  const commands = availableCommands ?? v1Result.availableCommands;
  return {
    ...without(v1Result, "modes", "models", "configOptions", "availableCommands"),
    ...(configOptions.length > 0 ? { configOptions } : {}),
    ...(Array.isArray(commands) ? { availableCommands: availableCommandsToV2(commands) } : {}),
  };
}

/**
 * The result of a v1 `session/list` as v2 has it (docs/mapping.md §4). Entries without a session id or an absolute
 * `cwd` are left out with a note. With a `cwdFilter` only the sessions of that directory stay, spelled as the filter
 * spells it.
 */
export function sessionListToV2(v1Result: JsonObject, cwdFilter: string | undefined, notes: Notes): JsonObject {
  const sessions = asArray(v1Result.sessions).flatMap((entry): JsonObject[] => {
    const session = isObject(entry) ? sessionInfoToV2(entry) : undefined;
    if (session === undefined) {
      notes.push({ rule: "session-list-entry-dropped", detail: "an entry has no session id or no absolute cwd" });
      return [];
    }
    if (cwdFilter === undefined) return [session];
    return normalisePath(session.cwd) === normalisePath(cwdFilter) ? [{ ...session, cwd: cwdFilter }] : [];
  });
  const rest = v1Result.nextCursor === null ? without(v1Result, "nextCursor") : v1Result;
  return { ...rest, sessions };
}

function sessionInfoToV2(entry: JsonObject): (JsonObject & { cwd: string }) | undefined {
  const { sessionId, cwd } = entry;
  if (typeof sessionId !== "string" || sessionId === "") return undefined;
  if (typeof cwd !== "string" || !isAbsolutePath(cwd)) return undefined;
  const rest = entry.additionalDirectories === null ? without(entry, "additionalDirectories") : entry;
  return { ...rest, cwd };
}

/**
 * The params of a v1 `session/new` or `session/resume` for a v2 agent (docs/mapping.md §13): the servers as
 * `mcpServersToV2` has them, everything else as it is.
 *
 * @throws RequestFault `-32602` for a `cwd` that is missing or relative, and as `mcpServersToV2`
 */
export function newSessionParamsToV2(v1Params: JsonObject): JsonObject {
  const cwd = asString(v1Params.cwd);
  if (cwd === undefined || !isAbsolutePath(cwd)) throw invalidParams("cwd must be an absolute path");
  const rest = v1Params.additionalDirectories === null ? without(v1Params, "additionalDirectories") : v1Params;
  return { ...rest, mcpServers: mcpServersToV2(v1Params.mcpServers) };
}

/**
 * The params of a v1 `session/load` as those of v2's `session/resume` with the whole history (docs/mapping.md §13).
 *
 * @throws RequestFault as {@link newSessionParamsToV2}
 */
export function loadParamsToV2(v1Params: JsonObject): JsonObject {
  return { ...newSessionParamsToV2(v1Params), replayFrom: { type: "start" } };
}

/**
 * The result of a v2 `session/new`, `session/resume` or `session/fork` as v1 has it (docs/mapping.md §13): the config
 * options, and `modes` where one of them is the mode. `availableCommands` is left out: v1 has them as an update only.
 *
 * @param booleans true when the client can show boolean options
 */
export function sessionResultToV1(v2Result: JsonObject, booleans: boolean, notes: Notes): JsonObject {
  const { configOptions } = v2Result;
  const modes = modesToV1(configOptions);
  return {
    ...without(v2Result, "configOptions", "availableCommands"),
    ...(Array.isArray(configOptions) ? { configOptions: configOptionsToV1(configOptions, booleans, notes) } : {}),
    ...(modes === undefined ? {} : { modes }),
  };
}
