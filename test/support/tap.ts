// Reads what the tap (test/fixtures/peers/tap.mjs) wrote down.
import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { isObject, type JsonObject } from "../../src/protocol/json.ts";
import type { Receiver } from "./schema.ts";

/** What passed through a tap, in order. */
export interface Tapped {
  /** The tap's own process group, when it was started as the leader of one. */
  group: number | undefined;
  lines: { to: Receiver; text: string }[];
  /** Frames to the agent, and from it; what it wrote beside frames is left out. */
  toAgent: JsonObject[];
  fromAgent: JsonObject[];
  inputEnded: boolean;
  exit: { code: number | null; signal: NodeJS.Signals | null } | undefined;
}

/** Follows a tap's file: each call gives all that the tap has written so far. */
export function followTap(file: string): () => Tapped {
  const tapped: Tapped = {
    group: undefined,
    lines: [],
    toAgent: [],
    fromAgent: [],
    inputEnded: false,
    exit: undefined,
  };
  let position = 0;
  let rest: Buffer = Buffer.alloc(0);
  return () => {
    if (!existsSync(file)) return tapped;
    const added = readFrom(file, position);
    position += added.length;
    // The last line may be half written.
    const whole = Buffer.concat([rest, added]);
    const end = whole.lastIndexOf("\n") + 1;
    rest = whole.subarray(end);
    for (const record of whole.toString("utf8", 0, end).split("\n").slice(0, -1)) add(tapped, JSON.parse(record));
    return tapped;
  };
}

function add(tapped: Tapped, { pid, to, text, eof, ...exit }: Record<string, never>): void {
  if (pid !== undefined) tapped.group = pid;
  else if (eof) tapped.inputEnded = true;
  else if (text === undefined || to === undefined) tapped.exit = exit as unknown as NonNullable<Tapped["exit"]>;
  else {
    tapped.lines.push({ to, text });
    const frame = parsed(text);
    if (isObject(frame)) (to === "agent" ? tapped.toAgent : tapped.fromAgent).push(frame);
  }
}

function readFrom(file: string, position: number): Buffer {
  const descriptor = openSync(file, "r");
  try {
    const pieces: Buffer[] = [];
    for (let at = position; ; at += pieces.at(-1)?.length ?? 0) {
      const piece = Buffer.alloc(1024 ** 2);
      const bytes = readSync(descriptor, piece, 0, piece.length, at);
      if (bytes === 0) return Buffer.concat(pieces);
      pieces.push(piece.subarray(0, bytes));
    }
  } finally {
    closeSync(descriptor);
  }
}

/** What a tap has written, all at once. */
export function readTap(file: string): Tapped {
  return followTap(file)();
}

/** The JSON value of a line; undefined when it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
