import type { Event, Side } from "../bridge/events.ts";

/** How the agent's process ended; `spawnError` when it never ran. */
export interface AgentEnd {
  code: number | null;
  signal: string | null;
  spawnError?: unknown;
}

/**
 * Told by the shell of one connection of everything that passes, in order, as a trace's recorder is. None of its functions
 * throws or waits.
 */
export interface Observer {
  /** Bytes of a peer's have been read; the frames in them arrive now. */
  arrived(): void;
  /** An event, before the core takes it. All that is told until `settled` happens because of it. */
  event(event: Event): void;
  /** A frame of the bridge's has been handed to the output, as this text or these bytes. */
  sent(to: Side, frame: unknown, text: string | readonly Uint8Array[]): void;
  /** The text of the event's chunk has been handed to the output, in a frame of so many bytes. */
  spliced(to: Side, bytes: number): void;
  /** The line of the event's frame has been handed to the output as it came. */
  forwarded(to: Side, line: Uint8Array): void;
  /** The effects of the last event have been carried out. */
  settled(): void;
  agentStarted(): void;
  agentExited(end: AgentEnd): void;
}
