import { invalidParams } from "../protocol/errors.ts";
import { isObject, type JsonObject, without } from "../protocol/json.ts";
import type { AgentOffers } from "./capabilities.ts";

/**
 * The MCP servers of a v2 session request for a v1 agent (docs/mapping.md §3, schema v1 `McpServer`).
 *
 * Absent or null gives `[]`. A stdio server loses its `type` and gains `args` and `env`, an http server gains
 * `headers`, where they are absent.
 *
 * @throws RequestFault `-32602` for a list that is none, an entry without a type, a type the agent did not offer, and a
 *   name used twice.
 */
export function mcpServersToV1(v2Servers: unknown, offers: AgentOffers["mcp"]): JsonObject[] {
  if (v2Servers === undefined || v2Servers === null) return [];
  if (!Array.isArray(v2Servers)) throw invalidParams("mcpServers must be a list");
  const names = new Set<string>();
  return v2Servers.map((server: unknown, index) => {
    if (!isObject(server) || typeof server.type !== "string") {
      throw invalidParams(`mcpServers[${index}] has no type`, { index });
    }
    if (typeof server.name === "string") {
      if (names.has(server.name)) {
        throw invalidParams(`Duplicate MCP server name ${server.name}`, { name: server.name });
      }
      names.add(server.name);
    }
    return mcpServerToV1(server, server.type, offers);
  });
}

function mcpServerToV1(server: JsonObject, type: string, offers: AgentOffers["mcp"]): JsonObject {
  if (type === "stdio") return { ...without(server, "type"), args: server.args ?? [], env: server.env ?? [] };
  if (type === "http" && offers.http) return { ...server, headers: server.headers ?? [] };
  if (type === "sse" && offers.sse) return { ...server, headers: server.headers ?? [] };
  if (type === "acp" && offers.acp) return server;
  throw invalidParams(`The agent does not take MCP servers of type ${JSON.stringify(type)}`, {
    type,
    name: server.name,
  });
}

/**
 * The MCP servers of a v1 session request for a v2 agent (docs/mapping.md §13, schema v2 `McpServer`): a server without
 * a type is a stdio server.
 *
 * @throws RequestFault `-32602` for a list that is none, and for the transport `sse`, which v2 does not have
 */
export function mcpServersToV2(v1Servers: unknown): JsonObject[] {
  if (v1Servers === undefined || v1Servers === null) return [];
  if (!Array.isArray(v1Servers)) throw invalidParams("mcpServers must be a list");
  return v1Servers.map((server: unknown, index) => {
    if (!isObject(server)) throw invalidParams(`mcpServers[${index}] is no object`, { index });
    if (server.type === "sse") {
      throw invalidParams('The agent does not take MCP servers of type "sse"', { type: "sse", name: server.name });
    }
    return typeof server.type === "string" ? server : { ...server, type: "stdio" };
  });
}
