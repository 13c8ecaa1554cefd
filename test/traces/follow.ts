// Follows a played conversation from outside and says, for everything the agent sent, what the client should have got
// for it. Knows docs/mapping.md and the frames that crossed; nothing of the core.
import { asArray, asObject, asString, isObject, type JsonObject } from "../../src/protocol/json.ts";
import type { Step } from "./replay.ts";

export type MessageKind = "user_message" | "agent_message" | "agent_thought";

/** What became of one update of the agent's. */
export interface Fate {
  step: Step;
  sessionId: string;
  update: JsonObject;
  fate:
    | "sent at once"
    /** Held back until the result that names the session. */
    | "held"
    /** Part of a message that is sent whole, when its replay is complete. */
    | "gathered"
    /** A plan in the middle of such a message, sent after it. */
    | "behind"
    /** History, in a resume that asked for none. */
    | "swallowed"
    | "echo"
    | "of no session";
  /** The client's frame for it, for what was sent at once, held or behind. */
  sent?: JsonObject | undefined;
}

/** One thing that bears on message identity, in order (docs/mapping.md §5). */
export type Mark =
  | { type: "boundary"; sessionId: string }
  | { type: "chunk"; sessionId: string; kind: MessageKind; given: string | undefined; text: string; sentId: unknown }
  | { type: "replayed"; sessionId: string; kind: MessageKind; given: string | undefined; text: string }
  | { type: "replay over"; sessionId: string; sent: { kind: string; id: unknown; text: string }[] };

const CHUNKS: Record<string, MessageKind> = {
  user_message_chunk: "user_message",
  agent_message_chunk: "agent_message",
  agent_thought_chunk: "agent_thought",
};
const HISTORY = [...Object.keys(CHUNKS), "tool_call", "tool_call_update", "plan"];
const PLANS = ["plan", "plan_update", "plan_removed"];

interface Followed {
  open: boolean;
  restoring: "swallow" | "translate" | undefined;
  /** Whole messages the client got since the restoring began. */
  whole: { kind: string; id: unknown; text: string }[];
  toolCalls: Set<string>;
  /** In a replay: true in the middle of a message, and the tool calls it has come to. */
  gathering: boolean;
  replayed: Set<string>;
}

/** Follows a whole conversation. */
export function follow(steps: readonly Step[]): { fates: Fate[]; marks: Mark[] } {
  const sessions = new Map<string, Followed>();
  const opening = new Set<unknown>();
  const resuming = new Map<unknown, string>();
  const held: Fate[] = [];
  const fates: Fate[] = [];
  const marks: Mark[] = [];

  function session(id: string): Followed {
    const known = sessions.get(id);
    if (known !== undefined) return known;
    const made: Followed = {
      open: false,
      restoring: undefined,
      whole: [],
      toolCalls: new Set(),
      gathering: false,
      replayed: new Set(),
    };
    sessions.set(id, made);
    return made;
  }

  function clientAsked(step: Step, frame: JsonObject): void {
    const sessionId = asString(asObject(frame["params"])["sessionId"]) ?? "";
    const passedOn = step.outcome.toAgent.some((sent) => "method" in sent && "id" in sent);
    if (!passedOn) return;
    if (frame["method"] === "session/new" || frame["method"] === "session/fork") opening.add(frame["id"]);
    if (frame["method"] === "session/close" || frame["method"] === "session/delete") sessions.delete(sessionId);
    if (frame["method"] === "session/resume") {
      resuming.set(frame["id"], sessionId);
      const wantsReplay = isObject(asObject(frame["params"])["replayFrom"]);
      session(sessionId).restoring = wantsReplay ? "translate" : "swallow";
      Object.assign(session(sessionId), { whole: [], gathering: false, replayed: new Set() });
    }
  }

  /** Decides an update's fate and marks it, all but what was sent for it. */
  function agentUpdated(step: Step, params: JsonObject): Fate {
    const sessionId = asString(params["sessionId"]) ?? "";
    const update = asObject(params["update"]);
    const kind = String(update["sessionUpdate"]);
    const known = sessions.get(sessionId);
    const made = { step, sessionId, update };
    if (known?.restoring === "swallow" && HISTORY.includes(kind)) return { ...made, fate: "swallowed" };
    if (known?.restoring === "translate") {
      if (kind in CHUNKS) {
        known.gathering = true;
        return { ...made, fate: "gathered" };
      }
      if (known.gathering && PLANS.includes(kind)) return { ...made, fate: "behind" };
      const toolCallId = asString(update["toolCallId"]);
      if (toolCallId !== undefined && !known.replayed.has(toolCallId)) known.gathering = false;
      if (toolCallId !== undefined) known.replayed.add(toolCallId);
    }
    if (known?.open || known?.restoring !== undefined) {
      const absorbed = step.outcome.logs.some((log) => log.event === "echo-absorbed");
      return { ...made, fate: absorbed ? "echo" : "sent at once" };
    }
    return { ...made, fate: opening.size > 0 ? "held" : "of no session" };
  }

  function mark(fate: Fate): void {
    const { sessionId, update } = fate;
    const kind = CHUNKS[String(update["sessionUpdate"])];
    const chunk = { sessionId, given: asString(update["messageId"]), text: textOf(update["content"]) };
    if (kind !== undefined && fate.fate === "gathered") marks.push({ type: "replayed", kind, ...chunk });
    else if (kind !== undefined) marks.push({ type: "chunk", kind, ...chunk, sentId: fate.sent?.["messageId"] });
    else toolCallSeen(sessionId, update);
  }

  /** A tool call nobody has heard of takes its place on the timeline. */
  function toolCallSeen(sessionId: string, toolCall: JsonObject): void {
    const id = asString(toolCall["toolCallId"]);
    const known = sessions.get(sessionId);
    if (id === undefined || known === undefined || known.toolCalls.has(id)) return;
    known.toolCalls.add(id);
    marks.push({ type: "boundary", sessionId });
  }

  function clientGot(frame: JsonObject, step: Step): void {
    const params = asObject(frame["params"]);
    const update = asObject(params["update"]);
    const sessionId = asString(params["sessionId"]) ?? "";
    const { sessionUpdate } = update;
    if (sessionUpdate === "state_update" && update["state"] === "idle") marks.push({ type: "boundary", sessionId });
    if (sessionUpdate === "user_message" || sessionUpdate === "agent_message" || sessionUpdate === "agent_thought") {
      const text = asArray(update["content"]).map(textOf).join("");
      sessions.get(sessionId)?.whole.push({ kind: sessionUpdate, id: update["messageId"], text });
    }
    if (sessionUpdate === "plan_update" || sessionUpdate === "plan_removed") {
      const first = fates.find((one) => one.fate === "behind" && one.sessionId === sessionId && one.sent === undefined);
      if (first !== undefined) first.sent = update;
    }
    if ("method" in frame) return;
    const opened = asString(asObject(frame["result"])["sessionId"]);
    if (opening.delete(frame["id"]) && opened !== undefined) {
      sessions.delete(opened);
      session(opened).open = true;
      flush(opened, step);
    }
    const resumed = resuming.get(frame["id"]);
    if (resumed !== undefined) {
      resuming.delete(frame["id"]);
      const followed = session(resumed);
      if (followed.restoring === "translate")
        marks.push({ type: "replay over", sessionId: resumed, sent: [...followed.whole] });
      followed.restoring = undefined;
      if ("result" in frame) followed.open = true;
      else if (!followed.open) sessions.delete(resumed);
    }
  }

  /** The session's result has come: what was held for it follows in the same step, in order. */
  function flush(sessionId: string, step: Step): void {
    const sent = step.outcome.toClient.filter((frame) => asObject(frame["params"])["sessionId"] === sessionId);
    for (const fate of held.filter((one) => one.sessionId === sessionId)) {
      held.splice(held.indexOf(fate), 1);
      fate.sent = asObject(asObject(sent.shift()?.["params"])["update"]);
      mark(fate);
    }
  }

  for (const step of steps) {
    const { from, frame, outcome } = step;
    if (from === "client" && frame !== undefined && "method" in frame && "id" in frame) clientAsked(step, frame);
    let fate: Fate | undefined;
    if (from === "agent" && frame?.["method"] === "session/update") {
      fate = agentUpdated(step, asObject(frame["params"]));
      fates.push(fate);
      if (fate.fate === "held") held.push(fate);
    }
    if (from === "agent" && frame?.["method"] === "session/request_permission") {
      const params = asObject(frame["params"]);
      toolCallSeen(asString(params["sessionId"]) ?? "", asObject(params["toolCall"]));
    }
    for (const [to, sent] of outcome.sent) {
      if (to === "client") clientGot(sent, step);
      else if (sent["method"] === "session/prompt")
        marks.push({ type: "boundary", sessionId: String(asObject(sent["params"])["sessionId"]) });
    }
    if (fate?.fate === "sent at once") fate.sent = asObject(asObject(outcome.toClient.at(-1)?.["params"])["update"]);
    if (fate?.fate === "sent at once" || fate?.fate === "gathered") mark(fate);
  }
  return { fates, marks };
}

function textOf(block: unknown): string {
  return asString(asObject(block)["text"]) ?? "";
}
