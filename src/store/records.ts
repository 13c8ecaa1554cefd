import { isObject, type JsonObject } from "../protocol/json.ts";

const MESSAGE_KINDS = ["user_message", "agent_message", "agent_thought"] as const;

/** The three kinds of message; an id is unique within one kind (docs/mapping.md §5). */
export type MessageKind = (typeof MESSAGE_KINDS)[number];

export function isMessageKind(value: unknown): value is MessageKind {
  return MESSAGE_KINDS.some((kind) => kind === value);
}

/** One thing to remember of a session. Times are ISO 8601 in UTC. */
export type StoreRecord =
  /** The session was opened or resumed, with these directories. */
  | { type: "session"; cwd: string; additionalDirectories?: unknown; at: string }
  /** Its title changed: null takes it away, leaving it out changes nothing. */
  | { type: "info"; title?: string | null; at: string }
  /** An entry of the ledger. A later one of the same kind and id replaces the digest in place. */
  | { type: "message"; kind: MessageKind; id: string; digest: string }
  /** A v2 session update as the client got it. */
  | { type: "update"; update: JsonObject }
  /** Nothing more comes in this run. The session stays listed. */
  | { type: "closed"; at: string };

/** A record as a line of a session's file. */
export interface Line {
  type: string;
  /** The line with its line break, in UTF-8. */
  bytes: Buffer;
}

/** Says whose file it is. Every process begins its part of a file with one. */
export function headerLine(agent: string, sessionId: string): Line {
  return line("header", { v: 1, agent, sessionId });
}

/** Says that updates are missing from here on, or at this place. */
export function cutLine(at: string): Line {
  return line("transcript-cut", { type: "transcript-cut", at });
}

/**
 * A record as a line, with its time behind its type so that both can be read without the rest.
 *
 * @param at the time of a record that has none of its own
 * @throws RangeError when the line would be longer than a string can be
 */
export function recordLine(record: StoreRecord, at: string): Line {
  const { type, ...rest } = record;
  return line(type, { type, at, ...rest });
}

function line(type: string, value: JsonObject): Line {
  return { type, bytes: Buffer.from(`${JSON.stringify(value)}\n`) };
}

/** A line's object; undefined for a torn line and for one that is nothing of ours. */
export function parseLine(bytes: Buffer): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The type and time of a line, from its first bytes. */
export function peekLine(bytes: Buffer): { type: string; at: string } | undefined {
  const [, type, at] = /^\{"type":"([a-z-]+)","at":"([^"\\]+)"/.exec(bytes.toString("latin1", 0, 100)) ?? [];
  return type === undefined || at === undefined ? undefined : { type, at };
}
