/**
 * What outlives a run, where a state directory is configured (docs/mapping.md §4, §5): the session index, the ledger of
 * message ids, and the transcript of sessions whose agent cannot replay them. The core only says what to keep and asks
 * for what was kept; where it is kept is the shell's business.
 */
import { asString, type JsonObject, without } from "../protocol/json.ts";
import { contentUpdates, digestText, type LedgerEntry, readDigest, takeFinished } from "./messages.ts";
import type { Bridge, IndexEntry, Session } from "./state.ts";

/** One thing to keep of a session, in the order it happened. */
export type SessionRecord =
  | { type: "session"; cwd: string; additionalDirectories?: unknown; at: string }
  | { type: "info"; title?: string | null; at: string }
  | { type: "message"; kind: LedgerEntry["kind"]; id: string; digest: string }
  | { type: "update"; update: JsonObject }
  | { type: "closed"; at: string };

/** What was kept of a session. */
export interface RememberedSession {
  sessionId: string;
  messages: { kind: LedgerEntry["kind"]; id: string; digest: string }[];
  /** The updates of its history, superseded ones folded. */
  transcript: JsonObject[];
  transcriptComplete: boolean;
}

/** Updates that are a session's history, as the client got them; its messages are kept whole when they end. */
const TRANSCRIBED = new Set<unknown>([
  "user_message",
  "tool_call_update",
  "tool_call_content_chunk",
  "plan_update",
  "plan_removed",
  "terminal_update",
  "terminal_output_chunk",
  "compaction_update",
  "compaction_summary_chunk",
]);

/** Keeps one thing of a session. */
export function keep(bridge: Bridge, sessionId: string, record: SessionRecord): void {
  if (bridge.options.remembers) bridge.effects.push({ type: "keep", agent: bridge.agentName, sessionId, record });
}

/** A time as the protocol writes it; what is text already stays. */
export function timeText(bridge: Bridge, time: string | number): string {
  return typeof time === "string" ? time : new Date(bridge.options.timeOrigin + time).toISOString();
}

/** Drops everything kept of a session. */
export function forget(bridge: Bridge, sessionId: string): void {
  if (bridge.options.remembers) bridge.effects.push({ type: "forget", agent: bridge.agentName, sessionId });
}

/** True when the session's history has to be kept here because its agent cannot tell it again. */
export function transcribes(bridge: Bridge): boolean {
  return bridge.options.remembers && bridge.offers?.load === false;
}

/** An update of the session's history went to the client. */
export function keepUpdate(bridge: Bridge, session: Session, update: JsonObject): void {
  if (transcribes(bridge) && session.restoring === undefined && TRANSCRIBED.has(update["sessionUpdate"]))
    keep(bridge, session.id, { type: "update", update });
}

/** Messages that ended since the last call: their ids and digests, and their content where nobody else keeps it. */
export function keepMessages(bridge: Bridge, session: Session): void {
  for (const message of takeFinished(session.messages)) {
    if (!bridge.options.remembers) continue;
    const { kind, id, digest } = message;
    keep(bridge, session.id, { type: "message", kind, id, digest: digestText(digest) });
    for (const update of contentUpdates(message)) keep(bridge, session.id, { type: "update", update });
  }
}

/** Asks for what was kept of a session. */
export function recall(bridge: Bridge, sessionId: string, then: (kept: RememberedSession | undefined) => void): void {
  if (!bridge.options.remembers) return then(undefined);
  const token = ask(bridge, (value) => then(value as RememberedSession | undefined));
  bridge.effects.push({ type: "recall", agent: bridge.agentName, token, sessionId });
}

/** Asks for the sessions of this agent that were kept, newest first. */
export function recallIndex(bridge: Bridge, then: (entries: IndexEntry[]) => void): void {
  if (!bridge.options.remembers) return then([]);
  const token = ask(bridge, (value) => then(value as IndexEntry[]));
  bridge.effects.push({ type: "recall", agent: bridge.agentName, token });
}

function ask(bridge: Bridge, then: (value: unknown) => void): number {
  const token = bridge.nextRecall++;
  bridge.recalls.set(token, then);
  return token;
}

/** What was asked for has been found, or not. */
export function recalled(bridge: Bridge, token: number, value: unknown): void {
  const then = bridge.recalls.get(token);
  bridge.recalls.delete(token);
  then?.(value);
}

/** The ledger that was kept. */
export function rememberedLedger(kept: RememberedSession): LedgerEntry[] {
  return kept.messages.map(({ kind, id, digest }) => ({ kind, id, digest: readDigest(digest) }));
}

/**
 * The updates that tell a kept history again, whole and in order: what a terminal wrote becomes its `output`, which
 * replaces what a client already shows.
 */
export function replayOf(transcript: readonly JsonObject[]): JsonObject[] {
  const replay: JsonObject[] = [];
  const terminals = new Map<string, { index: number; bytes: string }>();
  for (const update of transcript) {
    const terminalId = asString(update["terminalId"]) ?? "";
    if (update["sessionUpdate"] === "terminal_update") {
      terminals.set(terminalId, { index: replay.length, bytes: "" });
      replay.push(update);
    } else if (update["sessionUpdate"] === "terminal_output_chunk") {
      const terminal = terminals.get(terminalId);
      if (terminal !== undefined) terminal.bytes += atob(asString(update["data"]) ?? "");
    } else {
      replay.push(update);
    }
  }
  for (const { index, bytes } of terminals.values()) {
    const update = replay[index];
    if (update !== undefined) replay[index] = { ...without(update, "output"), output: { data: btoa(bytes) } };
  }
  return replay;
}
