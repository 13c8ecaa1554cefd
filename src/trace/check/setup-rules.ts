/** Rules of a connection and its sessions: initialization, what was offered, opening, closing, options. */
import { asArray, asObject, asString, type JsonObject } from "../../protocol/json.ts";
import { Method } from "../../protocol/methods.ts";
import { type Asked, type Connection, isVersion1Shape, OPENING, otherRole, RESTORING, valuesOf } from "./connection.ts";
import { type Ending, type Fault, type Rule, when } from "./rule.ts";

/** The client's requests that need a session that is open. */
const IN_SESSION: readonly string[] = [
  Method.sessionPrompt,
  Method.sessionCancel,
  Method.sessionSetConfigOption,
  "session/set_mode",
  "session/set_model",
  Method.sessionFork,
];

/** By version and method: the capability that offers it, as a path into the result (or params) of `initialize`. */
const OFFERED: Record<1 | 2, Record<string, string[]>> = {
  1: {
    "session/load": ["agentCapabilities", "loadSession"],
    "session/list": ["agentCapabilities", "sessionCapabilities", "list"],
    "session/resume": ["agentCapabilities", "sessionCapabilities", "resume"],
    "session/close": ["agentCapabilities", "sessionCapabilities", "close"],
    "session/delete": ["agentCapabilities", "sessionCapabilities", "delete"],
    "session/fork": ["agentCapabilities", "sessionCapabilities", "fork"],
    logout: ["agentCapabilities", "auth", "logout"],
    "fs/read_text_file": ["clientCapabilities", "fs", "readTextFile"],
    "fs/write_text_file": ["clientCapabilities", "fs", "writeTextFile"],
    "terminal/create": ["clientCapabilities", "terminal"],
    "elicitation/create": ["clientCapabilities", "elicitation"],
    "notice update": ["clientCapabilities", "session", "notices"],
    "compaction_update update": ["clientCapabilities", "session", "compaction"],
    "compaction_summary_chunk update": ["clientCapabilities", "session", "compaction"],
  },
  2: {
    "session/new": ["capabilities", "session"],
    "session/delete": ["capabilities", "session", "delete"],
    "session/fork": ["capabilities", "session", "fork"],
    "elicitation/create": ["capabilities", "elicitation"],
  },
};

/** By type of prompt block: the prompt capability that allows it. */
const BLOCKS: Record<string, string> = { image: "image", audio: "audio", resource: "embeddedContext" };

/** Requests that take as long as a person or a command takes. */
const UNHURRIED: readonly string[] = [
  Method.sessionPrompt,
  Method.requestPermission,
  Method.elicitationCreate,
  Method.authenticate,
  Method.authLogin,
  "terminal/wait_for_exit",
];
/** How long any other request may take before it counts as never answered, in ms. */
const PATIENCE = 10_000;

export const setupRules: Rule[] = [
  {
    name: "initialize-first",
    says: "Nothing is asked before initialize is answered",
    page: "v1 initialization, v2 initialization",
    level: "must",
    by: "client",
    check({ kind, frame, method }, { initialized }) {
      if (kind !== "request" && kind !== "notification") return [];
      const isEarly = initialized === undefined && method !== Method.initialize && !String(method).startsWith("$/");
      return when(isEarly, `${String(frame["method"])} comes before initialize is answered`);
    },
  },
  {
    name: "initialize-once",
    says: "A connection is initialized once",
    page: "v1 initialization, v2 initialization",
    level: "should",
    by: "client",
    check: ({ kind, method }, { initialized }) =>
      when(kind === "request" && method === Method.initialize && initialized !== undefined, "comes again"),
  },
  {
    name: "version",
    says: "An agent answers with a version that is not above the one it was asked for",
    page: "schema InitializeResponse.protocolVersion",
    level: "must",
    by: "agent",
    check({ kind, request, result }) {
      if (kind !== "result" || request?.method !== Method.initialize) return [];
      const above = Number(result["protocolVersion"]) > Number(request.params["protocolVersion"]);
      return when(above, "is above the version that was asked for", "/result/protocolVersion");
    },
  },
  {
    name: "version-spoken",
    says: "An agent speaks the version it answers with",
    page: "schema InitializeResponse",
    level: "must",
    by: "agent",
    check({ kind, request, result }) {
      if (kind !== "result" || request?.method !== Method.initialize) return [];
      const echoes = Number(result["protocolVersion"]) >= 2 && isVersion1Shape(result);
      return when(
        echoes,
        "names a version whose fields the result has not: it is in version 1's",
        "/result/protocolVersion",
      );
    },
  },
  {
    name: "not-offered",
    says: "What the other side did not offer in initialize is not asked of it",
    page: "v1 initialization, v2 initialization",
    level: "must",
    check(heard, connection) {
      const { kind, method, updateKind, params, from } = heard;
      if ((kind !== "request" && kind !== "notification") || connection.version === undefined) return [];
      const key = updateKind === undefined ? String(method) : `${updateKind} update`;
      const path = OFFERED[connection.version][key];
      const where = updateKind === undefined ? "/method" : "/params/update/sessionUpdate";
      return [
        ...when(path !== undefined && !isOffered(connection, path), `needs ${path?.join(".")}`, where),
        ...(from === "client" ? notOfferedBy(connection, String(method), params) : []),
      ];
    },
  },
  {
    name: "login-method",
    says: "A login uses one of the methods the agent named in initialize",
    page: "schema AuthenticateRequest, LoginAuthRequest",
    level: "must",
    by: "client",
    check({ kind, method, params }, { initialized }) {
      if (kind !== "request" || (method !== Method.authenticate && method !== Method.authLogin)) return [];
      const named = asArray(initialized?.["authMethods"]).map(asObject);
      const known = named.some((one) => (one["methodId"] ?? one["id"]) === params["methodId"]);
      return when(!known, "is none of the methods the agent named", "/params/methodId");
    },
  },
  {
    name: "absolute-path",
    says: "Working directories and paths of files are absolute",
    page: "schema NewSessionRequest.cwd, ReadTextFileRequest.path, Diff.path, ToolCallLocation.path",
    level: "must",
    check({ params, update, frame }) {
      if (typeof frame["method"] !== "string") return [];
      const paths: [unknown, string][] = [
        [params["cwd"], "/params/cwd"],
        [String(frame["method"]).startsWith("fs/") ? params["path"] : undefined, "/params/path"],
        ...listed(params["additionalDirectories"], "/params/additionalDirectories", (item) => item, ""),
        ...listed(update["locations"], "/params/update/locations", (item) => asObject(item)["path"], "/path"),
        ...listed(update["content"], "/params/update/content", diffPath, "/path"),
      ];
      return paths.flatMap(([path, at]) => when(typeof path === "string" && !isAbsolute(path), "is not absolute", at));
    },
  },
  {
    name: "session-unknown",
    says: "A session is named only once it was opened on this connection",
    page: "v1 session setup, v2 session setup",
    level: "must",
    check(heard, connection) {
      const { sessionId, session, from, method, kind } = heard;
      if (sessionId === undefined || session !== undefined || (kind !== "request" && kind !== "notification"))
        return [];
      if (from === "client")
        return when(IN_SESSION.includes(String(method)), "is no session of this connection", "/params/sessionId");
      if (String(method).startsWith("_")) return [];
      const opening = [...connection.open.client.values()].some((asked) => OPENING.includes(asked.method));
      if (!opening) return [{ at: "/params/sessionId", text: "is no session of this connection" }];
      const early = "comes before the result that opens the session";
      // Version 2 allows it: schema NewSessionResponse.
      return when(connection.version === 1, early, "/params/sessionId", { level: "should" });
    },
  },
  {
    name: "session-closed",
    says: "Nothing is sent for a session after its close was answered",
    page: "schema CloseSessionRequest",
    level: "must",
    check({ session, method, kind }, { version }) {
      if (session?.life !== "closed" || (kind !== "request" && kind !== "notification")) return [];
      const reopens = [...RESTORING, Method.sessionClose, Method.sessionDelete, Method.sessionList].some(
        (name) => name === method,
      );
      return when(!reopens, "is closed", "/params/sessionId", version === 1 ? { level: "should" } : {});
    },
  },
  {
    name: "session-id-reused",
    says: "A new session has an id of its own",
    page: "schema SessionId",
    level: "must",
    by: "agent",
    check({ kind, request, result }, { sessions }) {
      if (kind !== "result" || !OPENING.includes(request?.method ?? "")) return [];
      const known = sessions.get(String(result["sessionId"]));
      return when(known?.life === "open", "is the id of a session that is open", "/result/sessionId");
    },
  },
  {
    name: "resume-replays",
    says: "A session resumed without replay comes without its history",
    page: "schema ResumeSessionRequest",
    level: "must",
    by: "agent",
    check({ session, updateKind }) {
      const { restoring } = session ?? {};
      if (session === undefined || restoring?.method !== Method.sessionResume || session.life === "open") return [];
      if (restoring.params["replayFrom"] !== undefined && restoring.params["replayFrom"] !== null) return [];
      return when(HISTORY.has(updateKind ?? ""), "is history that was not asked for", "/params/update/sessionUpdate");
    },
  },
  {
    name: "resume-state",
    says: "An agent reports the session's state before it answers session/resume",
    page: "schema ResumeSessionResponse",
    level: "must",
    version: 2,
    by: "agent",
    check({ kind, request, session }) {
      if (kind !== "result" || request?.method !== Method.sessionResume || session === undefined) return [];
      return when(!session.reported, "comes before any state_update of the session");
    },
  },
  {
    name: "close-in-turn",
    says: "Closing a session that works ends in idle before it is answered",
    page: "schema CloseSessionRequest",
    level: "must",
    version: 2,
    by: "agent",
    check({ kind, request, session }) {
      if (kind !== "result" || request?.method !== Method.sessionClose) return [];
      const works = session?.state === "running" || session?.state === "requires_action";
      return when(works, `comes while the session is ${session?.state}`);
    },
  },
  {
    name: "mode-unknown",
    says: "A mode is one of those the session has",
    page: "schema SessionModeState",
    level: "must",
    version: 1,
    check({ session, method, kind, params, update, updateKind }) {
      if (session?.modes === undefined) return [];
      if (kind === "request" && method === "session/set_mode")
        return when(!session.modes.has(String(params["modeId"])), "is none of the session's modes", "/params/modeId");
      if (updateKind !== "current_mode_update") return [];
      const known = session.modes.has(String(update["currentModeId"]));
      return when(!known, "is none of the session's modes", "/params/update/currentModeId");
    },
  },
  {
    name: "option-unknown",
    says: "An option that is set is one of the session's, and its value one the option has",
    page: "schema SetSessionConfigOptionRequest",
    level: "must",
    by: "client",
    check({ session, method, kind, params }) {
      if (kind !== "request" || method !== Method.sessionSetConfigOption || session === undefined) return [];
      const id = String(params["configId"]);
      if (!session.options.has(id)) return [{ at: "/params/configId", text: "is none of the session's options" }];
      const values = session.options.get(id);
      return when(
        values !== undefined && !values.has(params["value"]),
        "is none of the option's values",
        "/params/value",
      );
    },
  },
  {
    name: "option-value",
    says: "An option's current value is one of its values",
    page: "schema SessionConfigSelect.currentValue",
    level: "must",
    by: "agent",
    check({ result, update, updateKind }) {
      const isUpdate = updateKind === "config_option_update";
      const options = asArray((isUpdate ? update : result)["configOptions"]).map(asObject);
      return options.flatMap((option, index) => {
        const values = valuesOf(option);
        const at = `${isUpdate ? "/params/update" : "/result"}/configOptions/${index}/currentValue`;
        return when(values !== undefined && !values.has(option["currentValue"]), "is none of the option's values", at);
      });
    },
  },
  {
    name: "command-name",
    says: "A command's name has no white space and is unique",
    page: "schema Command.name",
    level: "must",
    version: 2,
    by: "agent",
    check({ update, result, updateKind }) {
      const isUpdate = updateKind === "available_commands_update";
      const names = asArray((isUpdate ? update : result)["availableCommands"]).map(
        (command) => asObject(command)["name"],
      );
      return names.flatMap((name, index) => {
        const at = `${isUpdate ? "/params/update" : "/result"}/availableCommands/${index}/name`;
        return [
          ...when(typeof name === "string" && /\s/.test(name), "has white space", at),
          ...when(names.indexOf(name) < index, "is the name of another command", at),
        ];
      });
    },
  },
  {
    name: "unanswered",
    says: "Every request is answered",
    page: "JSON-RPC 2.0 §5",
    level: "must",
    atEnd(connection, role, ending) {
      return [...connection.open[otherRole(role)].values()].flatMap((asked) => unanswered(asked, ending));
    },
  },
];

const HISTORY = new Set([
  "user_message_chunk",
  "agent_message_chunk",
  "agent_thought_chunk",
  "user_message",
  "agent_message",
  "agent_thought",
  "tool_call",
  "tool_call_update",
  "plan",
  "plan_update",
]);

/** A request that had no answer when the run ended. Who asked may have left, or may not have waited long. */
function unanswered({ method, record }: Asked, { complete, clientLeft }: Ending): Fault[] {
  const fault = { record, text: `${method} was not answered` };
  if (!complete) return [{ ...fault, text: `${fault.text} before the trace ends`, level: "should" }];
  if (clientLeft === undefined) return [fault];
  const waited = clientLeft - record.mono;
  const patient = waited >= PATIENCE && !UNHURRIED.includes(method);
  return [{ ...fault, text: `${fault.text} before the client left`, ...(!patient && { level: "should" as const }) }];
}

/** True for an object or `true` at the path: real agents write either. */
function isOffered({ initialize, initialized }: Connection, path: readonly string[]): boolean {
  const isClients = path[0] === "clientCapabilities" || path[1] === "elicitation";
  let value: unknown = isClients ? initialize?.params : initialized;
  for (const key of path) value = asObject(value)[key];
  return value !== undefined && value !== null && value !== false;
}

/** What a client sends to an agent that cannot take it: prompt blocks, MCP servers. */
function notOfferedBy(connection: Connection, method: string, params: JsonObject): Fault[] {
  const { initialized = {}, version } = connection;
  const ofV1 = asObject(initialized["agentCapabilities"]);
  const ofV2 = asObject(asObject(initialized["capabilities"])["session"]);
  const prompts = asObject(version === 1 ? ofV1["promptCapabilities"] : ofV2["prompt"]);
  const servers = asObject(version === 1 ? ofV1["mcpCapabilities"] : ofV2["mcp"]);
  const has = (capabilities: JsonObject, name: string) =>
    capabilities[name] !== undefined && capabilities[name] !== null && capabilities[name] !== false;
  const blocks = method === Method.sessionPrompt ? asArray(params["prompt"]) : [];
  return [
    ...blocks.flatMap((block, index) => {
      const capability = BLOCKS[String(asObject(block)["type"])];
      const missing = capability !== undefined && !has(prompts, capability);
      return when(missing, `needs the prompt capability ${capability}`, `/params/prompt/${index}/type`);
    }),
    ...asArray(params["mcpServers"]).flatMap((server, index) => {
      const type = asString(asObject(server)["type"]) ?? "stdio";
      const baseline = version === 1 && type === "stdio";
      const missing = !baseline && ["stdio", "http", "sse"].includes(type) && !has(servers, type);
      return when(missing, `needs the MCP capability ${type}`, `/params/mcpServers/${index}/type`);
    }),
  ];
}

function listed(list: unknown, at: string, pathOf: (item: unknown) => unknown, end: string): [unknown, string][] {
  return asArray(list).map((item, index) => [pathOf(item), `${at}/${index}${end}`]);
}

function diffPath(item: unknown): unknown {
  const { type, path } = asObject(item);
  return type === "diff" ? path : undefined;
}

/** On either kind of system. */
function isAbsolute(path: string): boolean {
  return /^([/\\]|[a-z]:[\\/])/i.test(path);
}
