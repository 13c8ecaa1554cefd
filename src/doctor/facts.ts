import type { Ability } from "./abilities.ts";
import type { Located } from "./locate.ts";
import type { Loss } from "./losses.ts";
import type { Violation } from "./violations.ts";

/**
 * What `acp-shift doctor` found out about an agent, and what `--json` prints: described, field by field, in
 * docs/doctor.md. Fields are added under the same `version`; a field that goes or changes its meaning raises it.
 */
export interface Facts {
  format: "acp-shift-doctor";
  version: 1;
  verdict: Verdict;
  command: { words: string[]; cwd: string } & Located;
  /** What keeps the agent from being used; null when nothing does. */
  failure: Failure | null;
  /** As the client sees it; null when the agent did not get that far. */
  agent: { name: string; title: string | null; version: string } | null;
  protocol: Protocol;
  /** From the start to the answer to `initialize`, in ms. */
  startupMs: number | null;
  profile: AppliedProfile | null;
  abilities: Ability[];
  authMethods: AuthMethod[];
  session: SessionFacts | null;
  losses: Loss[];
  violations: Violation[];
  /** Lines on the agent's stdout that are no frames: the first of them, and how many there were. */
  noise: Lines;
  /** The last lines of the agent's stderr, and how many there were. */
  stderr: Lines;
}

export interface Verdict {
  usable: boolean;
  /** The agent can be used once the person has logged in. */
  needsLogin: boolean;
  exitStatus: number;
}

export interface Failure {
  /** `start`, `initialize` or `session`. */
  phase: string;
  message: string;
  /** The JSON-RPC error code; null when the failure is no answer. */
  code: number | null;
  /** The system's code (`ENOENT`, …) when the agent could not be started. */
  cause: string | null;
  /** How the agent's process ended, when it did. */
  exitCode: number | null;
  signal: string | null;
  /** What the person can do. */
  hint: string | null;
}

export interface Protocol {
  /** The version the agent answered; null when it answered none. */
  agentVersion: number | null;
  pairing: "translated" | "passed-through" | null;
}

export interface AppliedProfile {
  name: string;
  title: string;
  /** What it sets, by option name: durations in ms. */
  settings: Record<string, unknown>;
  /** Options among these that the person has set otherwise: that stands. */
  overridden: string[];
  why: Record<string, string>;
}

export interface AuthMethod {
  id: string;
  name: string;
  type: string;
  description: string | null;
}

export interface SessionFacts {
  opened: boolean;
  /** How long the agent took to answer `session/new`, in ms. */
  ms: number;
  error: { code: number | null; message: string } | null;
  /** The fields of the agent's own result that its options come from: `configOptions`, `modes`, `models`. */
  optionsFrom: string[];
  options: SessionOption[];
  commands: { name: string; description: string | null }[];
  /** Why `session/close` failed; null when it did not, or was not reached. */
  closeError: string | null;
}

export interface SessionOption {
  id: string;
  name: string;
  type: string;
  /** What is chosen. */
  value: unknown;
  /** The values to choose from, for a `select`. */
  values: string[];
}

export interface Lines {
  count: number;
  lines: string[];
}
