import type { FrameRecord } from "../format.ts";
import type { Connection, Role, Said, Version } from "./connection.ts";

/** `must`: the protocol forbids it. `should`: it advises against it, or what was seen may have another reason. */
export type Level = "must" | "should";

/** One place where a rule was broken. */
export interface Fault {
  /** JSON pointer into the frame; "" for the frame as a whole. */
  at?: string;
  /** What was expected, or what is the matter; never free text of the conversation. */
  text: string;
  /** In place of the rule's own. */
  level?: Level;
  /** The frame it is about, when it is not the one at hand. */
  record?: FrameRecord;
}

/** The conditions under which a run ended, for what was still open then. */
export interface Ending {
  /** The run has an end record: it was not cut off. */
  complete: boolean;
  /** When the client left, in ms; undefined when it stayed to the end. */
  clientLeft: number | undefined;
  agentExited: boolean;
}

/** One rule of the protocol. */
export interface Rule {
  /** In kebab-case; unique. */
  name: string;
  /** The rule in one sentence. */
  says: string;
  /** Where the protocol says so: a page of its documentation, or a definition of its schema. */
  page: string;
  level: Level;
  /** Which versions have it; both when left out. */
  version?: Version;
  /** Who can break it; either when left out. */
  by?: Role;
  /** Faults of a frame, told before the frame takes effect. */
  check?(heard: Said, connection: Connection): Fault[];
  /** Faults that show only at the end, of this role. */
  atEnd?(connection: Connection, role: Role, ending: Ending): Fault[];
}

/** A fault where a condition holds. */
export function when(broken: boolean, text: string, at = "", more: Partial<Fault> = {}): Fault[] {
  return broken ? [{ text, at, ...more }] : [];
}
