import { asObject, asString } from "../protocol/json.ts";
import { type Entry, type FrameEntry, isFrame, updateOf } from "./trace.ts";

/** One turn of a session as the client saw it, from the prompt, or from `running` where there was none, to its end. */
export interface Turn {
  readonly session: string | undefined;
  readonly from: Entry;
  /** The `session/prompt` request, if the turn began with one. */
  readonly prompt: Entry | undefined;
  /** The first thing the agent said or did. */
  first: Entry | undefined;
  to: Entry | undefined;
  /** Why it ended, in the protocol's words; `error` when the prompt was answered with one. */
  stopReason: string | undefined;
  /** When it waited for the user, in ms; an end that has not come yet is missing. */
  readonly waits: { from: number; to?: number }[];
}

/** The turns of a trace, in order. */
export interface Turns {
  readonly turns: readonly Turn[];
  /** Takes in the next entry of the trace. */
  add(entry: Entry): void;
}

const SIGNS_OF_LIFE = /^(agent_|tool_call|plan|terminal_)/;
const QUESTIONS = new Set(["session/request_permission", "elicitation/create"]);

/**
 * Finds the turns in what the client sent and got. In v2 a turn ends with `idle`, in v1 with the answer to its prompt
 * (docs/mapping.md §9). A prompt that has to wait for the turn before it begins when that ends.
 */
export function createTurns(): Turns {
  const turns: Turn[] = [];
  const open = new Map<string | undefined, Turn>();
  const waiting = new Map<string | undefined, Entry[]>();

  function begin(session: string | undefined, from: Entry, prompt: Entry | undefined): void {
    const turn: Turn = { session, from, prompt, first: undefined, to: undefined, stopReason: undefined, waits: [] };
    turns.push(turn);
    open.set(session, turn);
  }

  function end(session: string | undefined, to: Entry, stopReason: string | undefined): void {
    const turn = open.get(session);
    if (turn === undefined) return;
    turn.to = to;
    turn.stopReason = stopReason;
    for (const wait of turn.waits) wait.to ??= to.record.mono;
    open.delete(session);
    const next = waiting.get(session)?.shift();
    if (next !== undefined) begin(session, to, next);
  }

  function asked(entry: FrameEntry): void {
    const { session } = entry;
    if (!open.has(session)) return begin(session, entry, entry);
    const queue = waiting.get(session) ?? [];
    waiting.set(session, queue);
    queue.push(entry);
  }

  function answered(entry: FrameEntry, prompt: Entry): void {
    const { session } = prompt;
    const refused = entry.record.kind === "error";
    const queue = waiting.get(session) ?? [];
    if (refused && queue.includes(prompt)) queue.splice(queue.indexOf(prompt), 1);
    else if (open.get(session)?.prompt !== prompt) return;
    else if (refused) end(session, entry, "error");
    else {
      const stopReason = asString(asObject(asObject(entry.record.frame)["result"])["stopReason"]);
      if (stopReason !== undefined) end(session, entry, stopReason);
    }
  }

  function fromClient(entry: FrameEntry): void {
    const { kind, method } = entry.record;
    if (method === "session/prompt" && kind === "request") return asked(entry);
    const { request } = entry;
    if (request === undefined || !QUESTIONS.has(method ?? "")) return;
    const wait = open.get(request.session)?.waits.find(({ from }) => from === request.record.mono);
    if (wait !== undefined) wait.to ??= entry.record.mono;
  }

  function toClient(entry: FrameEntry): void {
    const { session, record, request } = entry;
    if (request !== undefined && record.method === "session/prompt") return answered(entry, request);
    const turn = open.get(session);
    if (QUESTIONS.has(record.method ?? "") && record.kind === "request") turn?.waits.push({ from: record.mono });
    const update = updateOf(entry);
    if (update === undefined) return;
    const kind = asString(update["sessionUpdate"]) ?? "";
    if (turn !== undefined && SIGNS_OF_LIFE.test(kind)) turn.first ??= entry;
    if (kind !== "state_update") return;
    if (update["state"] === "idle") end(session, entry, asString(update["stopReason"]));
    else if (update["state"] === "running" && turn === undefined) begin(session, entry, undefined);
  }

  return {
    turns,
    add(entry) {
      if (!isFrame(entry)) return;
      if (entry.record.leg === "client-bridge") fromClient(entry);
      if (entry.record.leg === "bridge-client") toClient(entry);
    },
  };
}
