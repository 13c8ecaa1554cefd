import type { Side } from "../bridge/events.ts";
import { LEGS, type Leg } from "../trace/format.ts";
import { noteKind } from "../trace/notes.ts";
import type { Watcher } from "./connection.ts";
import type { AgentEnd } from "./observer.ts";

/** The numbers of this process, for Prometheus (docs/operations.md lists them). */
export interface Meter {
  /** A connection was accepted; the watcher counts what passes on it. */
  connected(): Watcher;
  disconnected(): void;
  /** A client was not let in. */
  refused(reason: string): void;
  /** Something was logged under this name. */
  noted(event: string): void;
  /** Everything, in Prometheus's text format. */
  text(): Promise<string>;
  readonly contentType: string;
}

/** Upper ends of the histogram of added latency, in seconds. */
const LATENCIES = [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];

/** How often the event loop's delay is sampled, in ms: seldom enough to cost an idle process nothing. */
const EVENT_LOOP_SAMPLE = 100;

/** Stop reasons that get a value of their own: an agent may make up any. */
const STOP_REASONS = new Set([
  "end_turn",
  "max_tokens",
  "max_turn_requests",
  "refusal",
  "cancelled",
  "error",
  "refused",
  "unfinished",
]);

/** A meter with everything at zero. Loads the metrics library. */
export async function createMeter(version: string): Promise<Meter> {
  const { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } = await import("prom-client");
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE });

  const gauge = (name: string, help: string) => new Gauge({ name: `acp_shift_${name}`, help, registers });
  const counter = <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name: `acp_shift_${name}_total`, help, labelNames, registers });

  new Gauge({ name: "acp_shift_build_info", help: "1, for the version that runs", labelNames: ["version"], registers })
    .labels(version)
    .set(1);
  const connections = gauge(
    "connections",
    "Connections that are open, or whose agent waits for its client to come back",
  );
  const connectionsTotal = counter("connections", "Connections accepted");
  const connectionsRefused = counter("connections_refused", "Clients that were not let in", "reason");
  const sessions = gauge("sessions", "Sessions that are open");
  const sessionsTotal = counter("sessions_opened", "Sessions opened, by the method that did", "method");
  const turnsRunning = gauge("turns_running", "Turns that run");
  const turns = counter("turns", "Turns that have ended", "stop_reason");
  const agentStarts = counter("agent_starts", "Times an agent was started");
  const agentExits = counter("agent_exits", "Agents that have ended, by exit code or signal", "status");
  const losses = counter("losses", "What was left out of the conversation, by the name in the log", "event");
  const latency = new Histogram({
    name: "acp_shift_added_latency_seconds",
    help: "Time between the arrival of a frame and the handing over of all it caused at once",
    labelNames: ["leg"],
    buckets: LATENCIES,
    registers,
  });

  // What changes with every frame is counted by hand, and shown when it is asked for.
  const passed = Object.fromEntries(LEGS.map((leg) => [leg, { frames: 0, bytes: 0 }])) as Record<Leg, Passed>;
  const shown = (name: keyof Passed, help: string) =>
    new Counter({
      name: `acp_shift_${name}_total`,
      help,
      labelNames: ["leg"],
      registers,
      collect() {
        this.reset();
        for (const leg of LEGS) this.inc({ leg }, passed[leg][name]);
      },
    });
  shown("frames", "Frames that passed, by leg");
  shown("bytes", "Bytes of the frames that passed, without their line breaks, by leg");

  function countTo(to: Side, bytes: number): void {
    const leg = passed[to === "client" ? "bridge-client" : "bridge-agent"];
    leg.frames++;
    leg.bytes += bytes;
  }

  return {
    connected() {
      connections.inc();
      connectionsTotal.inc();
      let arrived = 0;
      /** Where the event's frame came from; undefined for any other event. */
      let cause: "client-bridge" | "agent-bridge" | undefined;
      let caused = false;
      function arrivedOn(side: Side, bytes: number): void {
        cause = side === "client" ? "client-bridge" : "agent-bridge";
        passed[cause].frames++;
        passed[cause].bytes += bytes;
      }
      return {
        arrived() {
          arrived = performance.now();
        },
        event(event) {
          // A frame without a line was never on the wire.
          if (event.type === "frame" && event.line.length > 0) arrivedOn(event.from, event.line.length);
          else if (event.type === "chunk") arrivedOn("agent", event.chunk.end - event.chunk.start);
        },
        sent(to, _frame, text) {
          caused = true;
          countTo(to, typeof text === "string" ? Buffer.byteLength(text) : lengthOf(text));
        },
        spliced(to, bytes) {
          caused = true;
          countTo(to, bytes);
        },
        forwarded(to, line) {
          caused = true;
          countTo(to, line.length);
        },
        settled() {
          if (caused && cause !== undefined) latency.observe({ leg: cause }, (performance.now() - arrived) / 1000);
          cause = undefined;
          caused = false;
        },
        agentStarted: () => agentStarts.inc(),
        agentExited: (end) => agentExits.inc({ status: statusOf(end) }),
        sessionOpened(_sessionId, method) {
          sessions.inc();
          sessionsTotal.inc({ method });
        },
        sessionClosed: () => sessions.dec(),
        turnBegan: () => turnsRunning.inc(),
        turnEnded(_sessionId, stopReason) {
          turnsRunning.dec();
          turns.inc({ stop_reason: stopReason !== undefined && STOP_REASONS.has(stopReason) ? stopReason : "other" });
        },
      };
    },
    disconnected: () => connections.dec(),
    refused: (reason) => connectionsRefused.inc({ reason }),
    noted(event) {
      if (noteKind(event).what === "dropped") losses.inc({ event });
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

interface Passed {
  frames: number;
  bytes: number;
}

function statusOf({ code, signal, spawnError }: AgentEnd): string {
  return spawnError === undefined ? String(code ?? signal) : "not_started";
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}
