/** Rules of a turn: prompts, states, messages, tool calls, permissions, cancellation, terminals. */
import { asArray, asObject, asString } from "../../protocol/json.ts";
import { Method } from "../../protocol/methods.ts";
import type { FrameRecord } from "../format.ts";
import { isFinal, isWorking, permissionCall, type Said, type Session } from "./connection.ts";
import { type Fault, type Level, type Rule, when } from "./rule.ts";

/** How long a cancel and the end of a turn may have crossed on their ways, in ms. */
const CROSSING = 1000;

const FOREGROUND = [
  "agent_message_chunk",
  "agent_thought_chunk",
  "agent_message",
  "agent_thought",
  "plan",
  "tool_call",
];
const CHUNKS = ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk"];
const KIND = "/params/update/sessionUpdate";
const STATE = "/params/update/state";

export const turnRules: Rule[] = [
  {
    name: "prompt-in-turn",
    says: "The next prompt of a session waits for the end of its turn",
    page: "v1 prompt turn",
    level: "should",
    version: 1,
    by: "client",
    check: ({ kind, method, session }) =>
      when(
        kind === "request" && method === Method.sessionPrompt && (session?.prompts.length ?? 0) > 0,
        "comes while a prompt is open",
      ),
  },
  {
    name: "outside-turn",
    says: "Messages, plans and new tool calls belong to a turn or to a replay",
    page: "v1 prompt turn, v2 prompt lifecycle: foreground and background work",
    level: "should",
    by: "agent",
    check({ session, updateKind = "" }) {
      if (session === undefined || session.life !== "open" || session.restoring !== undefined) return [];
      return when(FOREGROUND.includes(updateKind) && !isWorking(session), "comes while the session is idle", KIND);
    },
  },
  {
    name: "one-idle",
    says: "A turn ends in one idle; one told again says the same",
    page: "schema IdleStateUpdate",
    level: "must",
    version: 2,
    by: "agent",
    check({ session, updateKind, update }) {
      if (session === undefined || updateKind !== "state_update" || update["state"] !== "idle") return [];
      if (session.restoring !== undefined || session.state !== "idle") return [];
      const { stopReason } = update;
      const isRepeated = stopReason === undefined || stopReason === null || stopReason === session.stopReason;
      return when(!isRepeated, "ends a turn that has ended", STATE);
    },
  },
  {
    name: "idle-without-running",
    says: "Work that is reported as ended was reported as running",
    page: "schema StateUpdate",
    level: "must",
    version: 2,
    by: "agent",
    check({ session, updateKind, update }) {
      if (session === undefined || updateKind !== "state_update" || update["state"] !== "idle") return [];
      if (session.restoring !== undefined || session.state === "running" || session.state === "requires_action")
        return [];
      return when(session.unstarted !== undefined, "ends the work of a prompt that never was running", STATE);
    },
  },
  {
    name: "turn-unfinished",
    says: "Work that is running ends in idle",
    page: "schema StateUpdate",
    level: "must",
    version: 2,
    by: "agent",
    atEnd({ sessions }, _role, { complete, clientLeft }) {
      if (!complete || clientLeft !== undefined) return [];
      return open(sessions).flatMap(({ state, stateRecord }) =>
        state === "running" || state === "requires_action"
          ? atRecord(stateRecord, `${state} was never followed by idle`)
          : [],
      );
    },
  },
  {
    name: "prompt-not-run",
    says: "The work of an accepted prompt is reported as running",
    page: "schema StateUpdate",
    level: "must",
    version: 2,
    by: "agent",
    atEnd({ sessions }, _role, { complete, clientLeft }) {
      const level: Level = complete && clientLeft === undefined ? "must" : "should";
      return open(sessions).flatMap(({ unstarted }) => atRecord(unstarted, "was never followed by running", level));
    },
  },
  {
    name: "user-message",
    says: "An accepted prompt's message is reported under the id in the result",
    page: "schema PromptResponse.messageId",
    level: "must",
    version: 2,
    by: "agent",
    atEnd({ sessions }, _role, { complete, clientLeft }) {
      const level: Level = complete && clientLeft === undefined ? "must" : "should";
      return open(sessions).flatMap(({ unreported }) =>
        [...unreported.values()].flatMap((record) =>
          atRecord(record, "names a message that was never reported", level, "/result/messageId"),
        ),
      );
    },
  },
  {
    name: "message-id-reused",
    says: "Each accepted prompt has a message id of its own",
    page: "schema MessageId",
    level: "must",
    version: 2,
    by: "agent",
    check({ kind, request, session, result }) {
      if (kind !== "result" || request?.method !== Method.sessionPrompt) return [];
      const used = session?.accepted.has(String(result["messageId"])) ?? false;
      return when(used, "is the id of an earlier prompt's message", "/result/messageId");
    },
  },
  {
    name: "message-resumed",
    says: "A change of message id begins a new message",
    page: "schema ContentChunk.messageId",
    level: "should",
    version: 1,
    by: "agent",
    check({ session, updateKind = "", update }) {
      if (session === undefined || session.restoring !== undefined || !CHUNKS.includes(updateKind)) return [];
      const over = session.messages.get(updateKind)?.over.has(String(update["messageId"])) ?? false;
      return when(over, "goes on with a message that another has followed", "/params/update/messageId");
    },
  },
  {
    name: "tool-call-new",
    says: "A tool call is announced by a tool_call before it is updated",
    page: "v1 tool calls: creating, updating",
    level: "must",
    version: 1,
    by: "agent",
    check({ session, updateKind, update }) {
      if (session === undefined || updateKind !== "tool_call_update") return [];
      const known = session.toolCalls.get(String(update["toolCallId"]));
      return when(known === undefined, "is the id of no tool call", "/params/update/toolCallId");
    },
  },
  {
    name: "tool-call-again",
    says: "A tool call is announced once",
    page: "schema ToolCall.toolCallId",
    level: "should",
    version: 1,
    by: "agent",
    check({ session, updateKind, update }) {
      if (session === undefined || updateKind !== "tool_call" || session.restoring !== undefined) return [];
      const known = session.toolCalls.get(String(update["toolCallId"]));
      return when(known?.announced === true, "was announced before", "/params/update/toolCallId");
    },
  },
  {
    name: "tool-call-final",
    says: "A tool call that is completed, failed or cancelled stays so",
    page: "schema ToolCallStatus",
    level: "should",
    by: "agent",
    check({ session, updateKind, update }) {
      if (session?.restoring !== undefined || !updateKind?.startsWith("tool_call")) return [];
      const known = session?.toolCalls.get(String(update["toolCallId"]));
      const status = asString(update["status"]);
      const reopened = known !== undefined && isFinal(known.status) && status !== undefined && !isFinal(status);
      return when(reopened, `follows ${known?.status}`, "/params/update/status");
    },
  },
  {
    name: "tool-call-open",
    says: "When a turn ends, its tool calls have ended",
    page: "v1 prompt turn: check for completion; v2 prompt lifecycle: failures",
    level: "should",
    by: "agent",
    check(heard) {
      const reason = endOfTurn(heard);
      const { session, request } = heard;
      // In version 2 a tool may go on in the background of a session whose turn ended well.
      const mustEnd = request !== undefined ? reason !== "cancelled" : reason === "error";
      if (reason === undefined || session === undefined || !mustEnd || session.prompts.length > 1) return [];
      const began = request?.record.seq ?? session.began;
      const own = [...session.toolCalls.values()].filter(({ since }) => since > began);
      const unfinished = own.filter(({ status }) => !isFinal(status)).length;
      return when(unfinished > 0, `leaves ${unfinished === 1 ? "a tool call" : `${unfinished} tool calls`} open`);
    },
  },
  {
    name: "cancelled-reason",
    says: "Work that was cancelled ends as cancelled, and not in an error",
    page: "v1 prompt turn: cancellation, v2 prompt lifecycle: cancellation",
    level: "must",
    by: "agent",
    check(heard) {
      const { session, record, kind } = heard;
      const reason = endOfTurn(heard);
      if (reason === undefined || reason === "cancelled" || session?.cancelled === undefined) return [];
      const at = kind === "error" ? "/error" : kind === "result" ? "/result/stopReason" : "/params/update/stopReason";
      // What ended just before the cancel came in is no fault.
      const crossed = kind !== "error" && reason !== "error" && record.mono - session.cancelled.mono < CROSSING;
      return [{ at, text: `is ${reason} after session/cancel`, ...(crossed && { level: "should" as const }) }];
    },
  },
  {
    name: "permission-cancelled",
    says: "When a turn is cancelled, the client answers its open permission requests with cancelled",
    page: "v1 prompt turn: cancellation, v2 prompt lifecycle: cancellation",
    level: "must",
    by: "client",
    check({ kind, request, session, result }) {
      if (kind !== "result" || request?.method !== Method.requestPermission) return [];
      const { cancelled } = session ?? {};
      const { outcome } = asObject(result["outcome"]);
      const wasOpen = cancelled !== undefined && cancelled.seq > request.record.seq;
      return when(
        wasOpen && outcome !== "cancelled",
        "must be cancelled after session/cancel",
        "/result/outcome/outcome",
      );
    },
  },
  {
    name: "permission-option",
    says: "The option a permission is answered with is one that was offered",
    page: "schema SelectedPermissionOutcome",
    level: "must",
    by: "client",
    check({ kind, request, result }) {
      if (kind !== "result" || request?.method !== Method.requestPermission) return [];
      const { outcome, optionId } = asObject(result["outcome"]);
      const known = asArray(request.params["options"]).some((option) => asObject(option)["optionId"] === optionId);
      return when(outcome === "selected" && !known, "is none of the options offered", "/result/outcome/optionId");
    },
  },
  {
    name: "permission-options",
    says: "A permission request offers options, each with an id of its own",
    page: "schema PermissionOption.optionId",
    level: "must",
    by: "agent",
    check({ kind, method, params }) {
      if (kind !== "request" || method !== Method.requestPermission) return [];
      const ids = asArray(params["options"]).map((option) => asObject(option)["optionId"]);
      return [
        ...when(ids.length === 0, "offers nothing to choose", "/params/options"),
        ...ids.flatMap((id, index) =>
          when(ids.indexOf(id) < index, "is the id of another option", `/params/options/${index}/optionId`),
        ),
      ];
    },
  },
  {
    name: "permission-call",
    says: "A permission is about a tool call that was announced",
    page: "v1 tool calls: requesting permission, v2 tool calls: requesting permission",
    level: "should",
    by: "agent",
    check({ kind, method, params, session }) {
      if (kind !== "request" || method !== Method.requestPermission || session === undefined) return [];
      const id = asString(permissionCall(params)["toolCallId"]);
      return when(id !== undefined && !session.toolCalls.has(id), "names a tool call that was not announced");
    },
  },
  {
    name: "terminal-unknown",
    says: "A terminal is used between its creation and its release",
    page: "v1 terminals",
    level: "must",
    version: 1,
    by: "agent",
    check({ kind, frame, params, session }) {
      const method = String(frame["method"]);
      if (kind !== "request" || !method.startsWith("terminal/") || method === "terminal/create") return [];
      const known = session?.terminals.has(String(params["terminalId"])) ?? false;
      return when(!known, "is no terminal of the session", "/params/terminalId");
    },
  },
  {
    name: "terminal-id-reused",
    says: "A new terminal has an id of its own",
    page: "schema CreateTerminalResponse.terminalId",
    level: "must",
    version: 1,
    by: "client",
    check({ kind, request, session, result }) {
      if (kind !== "result" || request?.method !== "terminal/create") return [];
      const used = session?.terminals.has(String(result["terminalId"])) ?? false;
      return when(used, "is the id of another terminal", "/result/terminalId");
    },
  },
];

/** Why the turn ends with this frame; undefined when none does. */
function endOfTurn({ kind, request, result, session, updateKind, update, frame }: Said): string | undefined {
  if (request?.method === Method.sessionPrompt && "stopReason" in result) return String(result["stopReason"]);
  // A version 2 prompt that is refused begins no turn.
  if (request?.method === Method.sessionPrompt && kind === "error" && session?.state === undefined)
    return asObject(frame["error"])["code"] === -32800 ? "cancelled" : "an error";
  const ends =
    updateKind === "state_update" && update["state"] === "idle" && session !== undefined && isWorking(session);
  // Without a stop reason nothing is said of how it ended.
  return ends ? (asString(update["stopReason"]) ?? undefined) : undefined;
}

function open(sessions: ReadonlyMap<string, Session>): Session[] {
  return [...sessions.values()].filter(({ life }) => life === "open");
}

function atRecord(record: FrameRecord | undefined, text: string, level?: Level, at = ""): Fault[] {
  return record === undefined ? [] : [{ record, text, at, ...(level !== undefined && { level }) }];
}
