/** What is to be remembered of one connection, between a client and an agent in their protocol's sense. */
import { asArray, asObject, asString, type JsonObject } from "../../protocol/json.ts";
import { Method } from "../../protocol/methods.ts";
import type { FrameRecord } from "../format.ts";

export type Version = 1 | 2;
/** The part a peer plays in the protocol: the bridge is the agent of its client and the client of its agent. */
export type Role = "client" | "agent";

/** A request that was sent. */
export interface Asked {
  record: FrameRecord;
  from: Role;
  method: string;
  params: JsonObject;
}

/** A frame with what is known of it before it takes effect. */
export interface Said {
  record: FrameRecord;
  from: Role;
  frame: JsonObject;
  kind: FrameRecord["kind"];
  /** The call's; of an answer, its request's. */
  method: string | undefined;
  /** The call's; empty for an answer. */
  params: JsonObject;
  /** The request that an answer answers, while it is open. */
  request: Asked | undefined;
  result: JsonObject;
  /** Of a `session/update`. */
  update: JsonObject;
  updateKind: string | undefined;
  /** The session that a call names, or an answer's request named. */
  sessionId: string | undefined;
  session: Session | undefined;
}

export interface ToolCall {
  status: string;
  /** The number of the record that named it first. */
  since: number;
  /** By a `tool_call`, or in version 2 by its first update. */
  announced: boolean;
}

export interface Session {
  id: string;
  /** `opening` while the request that names it is open. */
  life: "opening" | "open" | "closed";
  /** The open `session/load` or `session/resume`. */
  restoring: Asked | undefined;
  /** Open `session/prompt` requests. */
  prompts: Asked[];
  /** Version 2; undefined until the agent reports one. */
  state: "idle" | "running" | "requires_action" | undefined;
  stateRecord: FrameRecord | undefined;
  /** Version 2: the number of the record that ended the last idle. */
  began: number;
  /** A state was reported since the session was asked for last. */
  reported: boolean;
  stopReason: unknown;
  /** Version 2: ids of accepted prompts whose `user_message` or `running` has not come, with the result that accepted them. */
  unreported: Map<string, FrameRecord>;
  unstarted: FrameRecord | undefined;
  /** Kinds and ids of user messages. */
  userMessages: Set<string>;
  accepted: Set<string>;
  /** The last `session/cancel` that no end of a turn has followed. */
  cancelled: FrameRecord | undefined;
  toolCalls: Map<string, ToolCall>;
  /** Version 1: the message each kind of chunk is in, and those that are over. */
  messages: Map<string, { current: string; over: Set<string> }>;
  modes: Set<string> | undefined;
  /** By config id: the values of a `select`, undefined for one that takes any. */
  options: Map<string, Set<unknown> | undefined>;
  terminals: Set<string>;
}

export interface Connection {
  version: Version | undefined;
  /** By role: requests of that peer that have no answer yet, by id. */
  open: Record<Role, Map<string, Asked>>;
  /** By role: ids of that peer's requests that were answered. */
  answered: Record<Role, Set<string>>;
  /** The client's last `initialize`, and its result. */
  initialize: Asked | undefined;
  initialized: JsonObject | undefined;
  sessions: Map<string, Session>;
}

export function createConnection(): Connection {
  return {
    version: undefined,
    open: { client: new Map(), agent: new Map() },
    answered: { client: new Set(), agent: new Set() },
    initialize: undefined,
    initialized: undefined,
    sessions: new Map(),
  };
}

/** The connection broke and will be followed by another with the same sessions: what was asked over it gets no answer. */
export function breakConnection({ open, answered, sessions }: Connection): void {
  for (const asked of Object.values(open)) asked.clear();
  for (const ids of Object.values(answered)) ids.clear();
  for (const session of sessions.values()) {
    session.prompts = [];
    session.restoring = undefined;
    session.unreported.clear();
    session.unstarted = undefined;
  }
}

export const otherRole = (role: Role): Role => (role === "client" ? "agent" : "client");
export const idKey = (id: unknown): string => JSON.stringify(id) ?? "";

/** The frame, seen before it takes effect. */
export function said(connection: Connection, record: FrameRecord, from: Role): Said {
  const frame = asObject(record.frame);
  const isCall = typeof frame["method"] === "string";
  const request = isCall ? undefined : connection.open[otherRole(from)].get(idKey(frame["id"]));
  const params = isCall ? asObject(frame["params"]) : {};
  const result = asObject(frame["result"]);
  const update = frame["method"] === Method.sessionUpdate ? asObject(params["update"]) : {};
  const sessionId = asString((request?.params ?? params)["sessionId"]);
  return {
    record,
    from,
    frame,
    kind: record.kind,
    method: isCall ? String(frame["method"]) : request?.method,
    params,
    request,
    result,
    update,
    updateKind: asString(update["sessionUpdate"]),
    sessionId,
    session: sessionId === undefined ? undefined : connection.sessions.get(sessionId),
  };
}

const FINAL = ["completed", "failed", "cancelled"];
export const isFinal = (status: string): boolean => FINAL.includes(status);

/** True while the agent answers a prompt: in version 1 as long as one is open, in version 2 by its state. */
export function isWorking(session: Session): boolean {
  return session.prompts.length > 0 || session.state === "running" || session.state === "requires_action";
}

/** The method's requests that open a session whose id only their result names. */
export const OPENING: readonly string[] = [Method.sessionNew, Method.sessionFork];
export const RESTORING: readonly string[] = [Method.sessionLoad, Method.sessionResume];

/** Takes a frame into account. */
export function take(connection: Connection, heard: Said): void {
  const { frame, from, record, params, method } = heard;
  if (heard.kind === "request" && method !== undefined) {
    const asked: Asked = { record, from, method, params };
    connection.open[from].set(idKey(frame["id"]), asked);
    takeRequest(connection, asked, heard.sessionId);
  } else if (heard.kind === "notification") takeNotification(connection, heard);
  else if (heard.request !== undefined) {
    const key = idKey(frame["id"]);
    connection.open[heard.request.from].delete(key);
    connection.answered[heard.request.from].add(key);
    takeAnswer(connection, heard, heard.request);
  }
}

function takeRequest(connection: Connection, asked: Asked, sessionId: string | undefined): void {
  const { method, params } = asked;
  if (method === Method.initialize) connection.initialize = asked;
  if (sessionId === undefined) return;
  if (RESTORING.includes(method)) {
    const session = connection.sessions.get(sessionId) ?? createSession(sessionId);
    if (session.life !== "open") Object.assign(session, createSession(sessionId));
    session.restoring = asked;
    session.reported = false;
    connection.sessions.set(sessionId, session);
  }
  const session = connection.sessions.get(sessionId);
  if (session === undefined) return;
  if (method === Method.sessionPrompt) {
    session.prompts.push(asked);
    // A cancel that came while nothing ran ends nothing.
    if (session.prompts.length === 1 && session.state !== "running") session.cancelled = undefined;
  }
  if (method === Method.requestPermission) announce(session, permissionCall(params), asked.record, false);
}

/** The tool call that a permission request is about, in either version. */
export function permissionCall(params: JsonObject): JsonObject {
  return asObject(params["toolCall"] ?? asObject(params["subject"])["toolCall"]);
}

function takeNotification({ sessions }: Connection, { session, method, record, update, updateKind }: Said): void {
  if (session === undefined) return;
  if (method === Method.sessionCancel && isWorking(session)) session.cancelled ??= record;
  if (method !== Method.sessionUpdate) return;
  switch (updateKind) {
    case "tool_call":
    case "tool_call_update":
      return announce(session, update, record, true);
    case "state_update":
      return takeState(session, update, record);
    case "user_message":
    case "user_message_chunk":
      session.userMessages.add(String(update["messageId"]));
      session.unreported.delete(String(update["messageId"]));
      return takeChunk(session, update, updateKind);
    case "agent_message_chunk":
    case "agent_thought_chunk":
      return takeChunk(session, update, updateKind);
    case "config_option_update":
      return takeOptions(session, update);
    // An unstable update: the child session it names has updates of its own.
    case "subagent_update": {
      const id = asString(update["sessionId"]);
      if (id !== undefined && !sessions.has(id)) sessions.set(id, { ...createSession(id), life: "open" });
    }
  }
}

function takeChunk(session: Session, { messageId }: JsonObject, kind: string): void {
  if (typeof messageId !== "string") return;
  const known = session.messages.get(kind) ?? { current: messageId, over: new Set<string>() };
  if (known.current !== messageId) known.over.add(known.current);
  known.over.delete(messageId);
  session.messages.set(kind, { ...known, current: messageId });
}

function announce(session: Session, call: JsonObject, { seq }: FrameRecord, byUpdate: boolean): void {
  const id = asString(call["toolCallId"]);
  if (id === undefined) return;
  const known = session.toolCalls.get(id) ?? { status: "pending", since: seq, announced: false };
  session.toolCalls.set(id, {
    since: known.since,
    status: byUpdate ? (asString(call["status"]) ?? known.status) : known.status,
    announced: known.announced || call["sessionUpdate"] === "tool_call",
  });
}

function takeState(session: Session, update: JsonObject, record: FrameRecord): void {
  const { state, stopReason } = update;
  if (state !== "idle" && state !== "running" && state !== "requires_action") return;
  if (state !== "idle") session.unstarted = undefined;
  else if (session.restoring === undefined) session.cancelled = undefined;
  if (state === "idle") session.stopReason = stopReason;
  if (state !== session.state) session.stateRecord = record;
  if (state !== "idle" && (session.state ?? "idle") === "idle") session.began = record.seq;
  session.state = state;
  session.reported = true;
}

function takeAnswer(connection: Connection, heard: Said, { method, params, record: asked }: Asked): void {
  const { kind, result, record } = heard;
  const isResult = kind === "result";
  if (method === Method.initialize && isResult) {
    connection.initialized = result;
    connection.version = versionOf(result);
  }
  if (OPENING.includes(method) && isResult && typeof result["sessionId"] === "string") {
    const session = connection.sessions.get(result["sessionId"]) ?? createSession(result["sessionId"]);
    takeSetup(session, result);
    connection.sessions.set(session.id, session);
  }
  if (method === "terminal/create" && heard.session !== undefined && typeof result["terminalId"] === "string")
    heard.session.terminals.add(result["terminalId"]);
  if (method === "terminal/release" && isResult) heard.session?.terminals.delete(String(params["terminalId"]));
  const { session } = heard;
  if (session === undefined) return;
  if (RESTORING.includes(method)) {
    session.restoring = undefined;
    if (isResult) takeSetup(session, result);
    else if (session.life === "opening") connection.sessions.delete(session.id);
  }
  if ((method === Method.sessionClose || method === Method.sessionDelete) && isResult) session.life = "closed";
  if (method === Method.sessionSetConfigOption && isResult) takeOptions(session, result);
  if (method === Method.sessionPrompt) {
    session.prompts = session.prompts.filter((prompt) => prompt.record !== asked);
    if (connection.version === 1 && session.prompts.length === 0) session.cancelled = undefined;
    if (connection.version === 2 && isResult && typeof result["messageId"] === "string") {
      const id = result["messageId"];
      session.accepted.add(id);
      if (!session.userMessages.has(id)) session.unreported.set(id, record);
      const begun = session.stateRecord;
      if (begun === undefined || begun.seq < asked.seq) {
        if (session.state !== "running" && session.state !== "requires_action") session.unstarted ??= record;
      }
    }
  }
}

/** The version a result of `initialize` speaks: some agents echo the number they were asked for, in version 1's fields. */
function versionOf(result: JsonObject): Version {
  const { protocolVersion } = result;
  return typeof protocolVersion === "number" && protocolVersion >= 2 && !isVersion1Shape(result) ? 2 : 1;
}

export function isVersion1Shape(result: JsonObject): boolean {
  return "agentCapabilities" in result && !("info" in result) && !("capabilities" in result);
}

function takeSetup(session: Session, result: JsonObject): void {
  session.life = "open";
  const modes = asArray(asObject(result["modes"])["availableModes"]).map((mode) => String(asObject(mode)["id"]));
  session.modes = "modes" in result ? new Set(modes) : undefined;
  takeOptions(session, result);
}

function takeOptions(session: Session, holder: JsonObject): void {
  if (!Array.isArray(holder["configOptions"])) return;
  session.options = new Map(
    holder["configOptions"]
      .map(asObject)
      .map((option) => [String(option["configId"] ?? option["id"]), valuesOf(option)]),
  );
}

/** The values of a select option, those of its groups among them; undefined for an option of another kind. */
export function valuesOf(option: JsonObject): Set<unknown> | undefined {
  if (option["type"] !== "select") return undefined;
  const items = asArray(option["options"]).map(asObject);
  return new Set(
    items
      .flatMap((item) => ("options" in item ? asArray(item["options"]).map(asObject) : [item]))
      .map((item) => item["value"]),
  );
}

function createSession(id: string): Session {
  return {
    id,
    life: "opening",
    restoring: undefined,
    prompts: [],
    state: undefined,
    stateRecord: undefined,
    began: 0,
    reported: false,
    stopReason: undefined,
    unreported: new Map(),
    unstarted: undefined,
    userMessages: new Set(),
    accepted: new Set(),
    cancelled: undefined,
    toolCalls: new Map(),
    messages: new Map(),
    modes: undefined,
    options: new Map(),
    terminals: new Set(),
  };
}
