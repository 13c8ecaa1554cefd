/** The border of the core: every event that can come in, every effect that can go out. */
import type { ChunkLine, SplicedFrame } from "../protocol/chunk-pattern.ts";
import type { RpcError } from "../protocol/errors.ts";
import type { Frame } from "../protocol/frames.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { SessionRecord } from "./memory.ts";

/** The two peers. */
export type Side = "client" | "agent";

/** What happened outside: the only input of the core. */
export type Event =
  /** A line that parsed as JSON. `line` holds its bytes without the line break, for pass-through. */
  | { type: "frame"; from: Side; value: unknown; line: Uint8Array }
  /** A line of the agent's that was not parsed, for its pattern is known. It is good for this step only. */
  | { type: "chunk"; chunk: ChunkLine }
  /** A line of the client's that is no JSON. (An agent's is noise and stays in the shell.) */
  | { type: "not-json"; line: Uint8Array }
  /** A line above the frame limit, drained without being held; `head` and `tail` are its ends, as text. */
  | { type: "oversized"; from: Side; bytes: number; head: string; tail: string }
  /** A timer asked for by a `timer` effect has run out. */
  | { type: "timer"; name: string }
  /** The agent's process ended, or could not be started (`spawnError`), or the connection to it ended (`connection`). */
  | {
      type: "agent-exit";
      code: number | null;
      signal: string | null;
      spawnError?: { code: string; message: string };
      connection?: string;
    }
  /** The answer to a `host` effect. */
  | { type: "hosted"; call: number; outcome: { result: JsonObject } | { error: RpcError } }
  /** Output of a hosted terminal, as base64; or its end. */
  | {
      type: "terminal";
      sessionId: string;
      terminalId: string;
      change: { data: string } | { exitStatus: JsonObject };
    }
  /** The answer to a `recall` effect: a kept session, or the index. */
  | { type: "recalled"; token: number; value: unknown }
  /** The agent has been started afresh, as a `restart-agent` effect asked. */
  | { type: "agent-restarted" }
  /** The client closed its end. */
  | { type: "client-left" }
  /** The client's connection broke, or ended; the client may come back over another. */
  | { type: "client-lost" }
  /** The client's connection has been handed to another bridge, whose session it resumes. */
  | { type: "client-moved" }
  /** The client's next frame asks for a session that another bridge has and will not give up; why, for the client. */
  | { type: "session-elsewhere"; message: string }
  /** The client is back, over a connection on which it said by `initialize` that it can do this. Its `session/resume` follows. */
  | { type: "client-back"; capabilities: JsonObject };

/** What the core wants done: its only output. Effects are carried out in order. */
export type Effect =
  | { type: "send"; to: Side; frame: Frame }
  /** Bytes of a received line, sent on untouched. */
  | { type: "forward"; to: Side; line: Uint8Array }
  /** Sends the client the text of this step's chunk, between other bytes than the agent's. */
  | { type: "splice"; to: "client"; chunk: ChunkLine; frame: SplicedFrame }
  /** Sets the named timer, replacing one of the same name. */
  | { type: "timer"; name: string; ms: number }
  | { type: "clear-timer"; name: string }
  /** One structured log record; `event` names the rule. */
  | { type: "log"; level: "debug" | "info" | "warn" | "error"; event: string; details: JsonObject }
  /** Ends the agent and starts it afresh. Answered by an `agent-restarted` event. */
  | { type: "restart-agent" }
  /** Something of a session to be kept beyond this run; only where the core was told that it can be. */
  | { type: "keep"; agent: string; sessionId: string; record: SessionRecord }
  | { type: "forget"; agent: string; sessionId: string }
  /** Asks for what was kept of a session, or, without one, for the index. Answered by a `recalled` event. */
  | { type: "recall"; agent: string; token: number; sessionId?: string }
  /**
   * Serves a `terminal/*` or `fs/*` request of the agent's. `roots` are the session's directories, its `cwd` first.
   * Answered by a `hosted` event.
   */
  | { type: "host"; call: number; method: string; params: JsonObject; roots: string[]; terminalId?: string }
  | { type: "end-terminals"; sessionId: string }
  /** A message for the person, on stderr. */
  | { type: "say"; text: string }
  /** The bridge is done: end the agent and exit with this status. */
  | { type: "done"; status: number };
