/**
 * What each log event says about the traffic: whether the bridge made, changed, left out or guessed something, and by
 * which rule of docs/mapping.md (a number, or a section).
 */
import type { NoteRecord } from "./format.ts";

export interface NoteKind {
  what: NoteRecord["what"];
  rule?: string;
}

const synthesised = (rule: string): NoteKind => ({ what: "synthesised", rule });
const changed = (rule: string): NoteKind => ({ what: "changed", rule });
const dropped = (rule: string): NoteKind => ({ what: "dropped", rule });
const guessed = (rule: string): NoteKind => ({ what: "guessed", rule });
const other = (rule: string): NoteKind => ({ what: "other", rule });

const kinds: Readonly<Record<string, NoteKind>> = {
  "initialize-retried-in-v1": changed("§1"),
  "initialize-retried-in-v2": changed("§1"),
  paired: other("§1"),
  "paths-not-mapped": other("Paths"),
  "handshake-timeout": synthesised("§1"),
  "frame-before-initialize": dropped("§1"),
  "notification-before-initialize": dropped("§1"),
  "agent-info-guessed": guessed("1.10"),
  "auth-method-dropped": dropped("2.1"),
  "auth-method-terminal": dropped("2.5"),
  "auth-env-dropped": dropped("2.3"),
  "agent-restarted": other("§10"),
  "session-id-reused": changed("§3"),
  "update-of-unknown-session": dropped("§3"),
  "session-list-entry-dropped": dropped("4.1"),
  "resume-announced-but-missing": changed("§4"),
  "replay-swallowed": dropped("§4"),
  "echo-absorbed": dropped("§5"),
  "restated-message-dropped": dropped("§5"),
  "diff-without-patch": dropped("6.5"),
  "mode-without-modes": dropped("8.9"),
  "prompt-held": changed("§9"),
  "late-prompt-answer": dropped("§9"),
  "busy-agent-retried": synthesised("9.4"),
  "cancel-answered-by-error": changed("§9"),
  "cancel-answered-otherwise": changed("§9"),
  "cancel-without-work": dropped("§9"),
  "cancel-repeated": synthesised("§9"),
  "cancel-timeout": synthesised("§9"),
  "cancel-of-unknown-session": dropped("§9"),
  "cancel-of-unknown-request": dropped("§9"),
  "method-prefixed": changed("10.6"),
  "permission-cancelled": synthesised("10.5"),
  "permission-without-tool-call": guessed("10.1"),
  "permission-option-dropped": dropped("10.4"),
  "elicitation-cancelled": synthesised("§10"),
  "elicitation-not-offered": dropped("§10"),
  "state-update-renamed": changed("10.7"),
  "notification-ignored": dropped("§12"),
  "answer-to-no-request": dropped("§12"),
  "frame-too-large": dropped("§12"),
  "agent-line-recovered": changed("§12"),
  "frame-unwritable": dropped("§12"),
  "agent-exit": synthesised("§9"),
  "agent-closed": other("§9"),
  "idle-repaired": changed("§9"),
  "client-lost": other("Connections"),
  "client-back": other("Connections"),
  "client-moved": other("Connections"),
  "session-elsewhere": other("Connections"),
  "message-sent-anew": changed("§13"),
  "message-not-cleared": dropped("§13"),
  "message-without-content": dropped("§13"),
  "idle-in-doubt": guessed("§13"),
  "state-unknown": dropped("§13"),
  "auth-method-type": changed("13.3"),
  "config-option-type": dropped("13.6"),
  "tool-call-not-cleared": dropped("13.11"),
  "tool-call-capabilities": dropped("§13"),
  "diff-as-text": changed("13.14"),
  "diff-section-dropped": dropped("13.14"),
  "plan-as-entry": changed("13.17"),
  "command-type": changed("13.18"),
  "command-input": dropped("13.18"),
  "permission-option-kind": changed("13.20"),
  "update-not-shown": dropped("13.23"),
  "update-malformed": dropped("I3"),
  "update-dropped": dropped("I3"),
  "update-repaired": changed("I3"),
  "params-invalid": dropped("I3"),
  "params-repaired": changed("I3"),
  "result-invalid": dropped("I3"),
  "result-repaired": changed("I3"),
  "internal-error": synthesised("I5"),
  profile: { what: "other" },
  "agent-input-broken": { what: "other" },
  "state-fault": { what: "other" },
};

/** What a log event tells; `other` for one that is not in the table. */
export function noteKind(event: string): NoteKind {
  return Object.hasOwn(kinds, event) ? (kinds[event] as NoteKind) : { what: "other" };
}

/** Every event the table knows. */
export const noteEvents: readonly string[] = Object.keys(kinds);
