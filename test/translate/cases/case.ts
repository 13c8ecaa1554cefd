import type { RpcError } from "../../../src/protocol/errors.ts";
import type { JsonObject } from "../../../src/protocol/json.ts";

/** One row of a mapping table: what comes in, exactly what comes out. */
export interface Case {
  /** A key of {@link RULES}. */
  rule: string;
  title: string;
  /** The function's arguments by name; the frame part is as the peer sends it. */
  in: JsonObject;
  /** The exact result. */
  out: unknown;
  /** The rules of the notes the translation leaves, in order; none when absent. */
  notes?: string[];
  /** True when the result cannot be valid, so that only its shape is checked. */
  invalid?: boolean;
  /** True when the peer breaks its own schema in `in`. */
  badInput?: boolean;
}

/** A case of a request that is refused: the exact JSON-RPC error. */
export interface Refusal {
  rule: string;
  title: string;
  in: JsonObject;
  error: RpcError;
}

/**
 * The rules of docs/mapping.md that the translation carries out, by section and place in it. Every rule has at least
 * one case.
 */
export const RULES: Readonly<Record<string, string>> = {
  "1.1": "an agent that echoes the version but answers in v1 fields is v1",
  "1.2": "one initialize that both generations can read",
  "1.3": "info → clientInfo, capabilities → clientCapabilities",
  "1.4": "fs, terminal as hosted by the bridge",
  "1.5": "session.configOptions.boolean, session.notices, session.compaction always on",
  "1.6": "auth.terminal: true iff the client has auth.terminal",
  "1.7": "elicitation as is",
  "1.8": "unstable plan, subagents as the client has them",
  "1.9": "_meta carried over, plus _meta.terminal_output: true",
  "1.10": "agentInfo → info; when missing, the name of the command and version unknown",
  "1.11": "capabilities.session always; markers are objects",
  "1.12": "promptCapabilities → session.prompt markers",
  "1.13": "mcpCapabilities.http → session.mcp.http; sse kept in _meta",
  "1.14": "session.mcp.stdio always",
  "1.15": "sessionCapabilities.delete, additionalDirectories → same under session",
  "1.16": "unstable markers → same-named v2 markers",
  "1.17": "list, resume, close, loadSession: baseline, no marker",
  "1.18": "auth.logout: no marker",
  "1.19": "_meta on any capability object is carried over",
  "1.20": "what the agent offers is read leniently",
  "2.1": "id → methodId, unique",
  "2.2": "no type → type agent",
  "2.3": "terminal: env object → list of name and value",
  "2.4": "unknown types keep their payload under a _ type",
  "2.5": "terminal methods left out for a client without auth.terminal",
  "2.6": "-32000 passes through",
  "3.1": "mcpServers omitted → []",
  "3.2": "stdio servers lose type, gain args and env",
  "3.3": "http servers gain headers",
  "3.4": "a server type the agent did not offer → -32602 naming it",
  "3.5": "cwd not absolute → -32602",
  "3.6": "additional directories: only if offered, only absolute",
  "3.7": "result: configOptions; modes and models become config options; null omitted",
  "3.8": "a command list held back rides in availableCommands",
  "4.1": "session/list entries mapped",
  "4.2": "session/list cwd filter",
  "4.3": "session/resume params for resume and load",
  "6.1": "tool_call and tool_call_update → tool_call_update, same fields",
  "6.2": "null fields dropped",
  "6.3": "title filled from name, else kind, else id",
  "6.4": "content items: content and unknown types",
  "6.5": "content items: diff",
  "6.6": "content items: terminal, same reference",
  "6.7": "relative locations resolved against cwd",
  "6.8": "status or kind v2 does not define gets a _ prefix",
  "6.9": "display-terminal _meta → terminal updates",
  "7.1": "plan → plan_update with one constant planId",
  "7.2": "empty entries stay an empty list",
  "7.3": "unstable plan_update and plan_removed keep their kind",
  "7.4": "unknown priority and status get a _ prefix",
  "8.1": "configOptions: id → configId, group → groupId",
  "8.2": "modes → a select option, first in the list",
  "8.3": "no option is made where the agent has one of that category or id",
  "8.4": "the id is taken by something else → _ id",
  "8.5": "models → a select option",
  "8.6": "set_config_option of a made option → set_mode, set_model",
  "8.7": "set_config_option of an agent's own option is forwarded, type id dropped",
  "8.8": "unknown configId or value → -32602 naming the allowed ones",
  "8.9": "current_mode_update changes the list",
  "9.1": "a prompt block of a type the agent did not offer → -32602 naming it",
  "9.2": "a stop reason v2 does not define gets a _ prefix; a missing one is omitted",
  "9.3": "content block types v2 does not define get a _ prefix",
  "9.4": "an agent's busy error is recognised",
  "10.1": "request_permission → title, subject, options",
  "10.2": "the title: the request's, else the tracked one, else Permission required",
  "10.3": "empty fields never overwrite known ones",
  "10.4": "result: selected with an offered option passes",
  "10.5": "result: anything else is cancelled",
  "10.6": "methods v2 does not define get a _ prefix",
  "10.7": "update kinds v2 does not define get a _ prefix",
  "10.8": "updates that are the same in both versions pass",
  "11.1": "a command gains type command",
  "11.2": "input gains type text",
  "11.3": "input: null is dropped",
  "11.4": "names of several words, or told twice → one command per first word",
  "12.1": "no such session → -32002 with sessionId and cause",
  "12.2": "every other error keeps its code and data, on one line",
  "12.3": "an error object that is none is repaired",
  "13.1": "initialize params: clientInfo → info, clientCapabilities → capabilities",
  "13.2": "initialize result: markers → what v1 has for them, baseline announced",
  "13.3": "methodId → id; a terminal method's env list → object; unknown types in _meta",
  "13.4": "session params: servers gain type stdio, sse → -32602; load → resume with replayFrom start",
  "13.5": "session results: config options and modes, no command list",
  "13.6": "config options: configId → id, groupId → group; booleans and unknown types",
  "13.7": "the option of category mode is also modes; set_mode → set_config_option",
  "13.8": "set_config_option gains type id",
  "13.9": "prompts and content: content v1 does not know → text that names it",
  "13.10": "tool_call_update → tool_call with a title, then tool_call_update",
  "13.11": "a null field of a tool call becomes its default",
  "13.12": "kinds and statuses v1 does not define → the nearest",
  "13.13": "tool-call content v1 does not know → text that names it",
  "13.14": "a structured diff → one diff per change, texts rebuilt from the patch",
  "13.15": "display terminals → the _meta extension of the tool call",
  "13.16": "display terminals → text",
  "13.17": "several plans → one list",
  "13.18": "commands lose type",
  "13.19": "a permission about no tool call gets one made for it",
  "13.20": "permission options of an unknown kind → the nearest that promises no more",
  "13.21": "permission results are read as carefully as v2's",
  "13.22": "a stop reason v1 does not define → end_turn, the original in _meta",
  "13.23": "notices, compaction, subagents only as announced; the rest as it is",
  "13.24": "no kind of update that v1 does not define",
  "13.25": "a method v1 does not define gets a _ prefix",
  "13.26": "errors keep code and data, on one line",
};
