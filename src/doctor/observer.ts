import { isObject, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import { isV1InitializeResult } from "../translate/capabilities.ts";
import type { Lines } from "./facts.ts";
import type { LogRecord } from "./losses.ts";
import { judge, type Schemas, type Violation } from "./violations.ts";

/** What a running bridge tells of itself and of its agent. */
export interface Listeners {
  onRecord(record: LogRecord): void;
  /** The agent's stderr, its noise and the bridge's messages for the person, line by line. */
  onTell(text: string): void;
  /** Every frame of the agent's, before it is handled. */
  onAgentFrame(frame: JsonObject): void;
}

/** Everything that could be seen of one run, as plain data; only the agent's words grow with it, up to a limit. */
export interface Observer extends Listeners {
  readonly records: readonly LogRecord[];
  readonly violations: readonly Violation[];
  readonly noise: Lines;
  readonly stderr: Lines;
  /** The agent's last result for each method, of its own version. */
  readonly results: ReadonlyMap<string, JsonObject>;
  /** When the agent last sent a frame, by `performance.now()`. */
  readonly lastFrameAt: number;
  /** To be called before each request: one at a time, so that whatever answer comes is the answer to it. */
  asking(method: string): void;
}

const NOISE_LINES = 20;
const STDERR_LINES = 50;
/** Longest line kept, in characters. */
const LINE_CHARS = 16 * 1024;

/** Collects what a bridge tells. `schemas` are those of the protocol version the agent turns out to speak. */
export function createObserver(schemas: (version: "v1" | "v2") => Schemas): Observer {
  const records: LogRecord[] = [];
  const violations = new Map<string, Violation>();
  const noise: Lines = { count: 0, lines: [] };
  const stderr: Lines = { count: 0, lines: [] };
  const results = new Map<string, JsonObject>();
  const answered = new Set<unknown>();
  let version: "v1" | "v2" = "v1";
  let asked: string | undefined;
  let lastFrameAt = performance.now();

  function addNoise(text: string): void {
    // Noise is told the person as stderr is.
    if (stderr.lines.at(-1) === clipped(text)) {
      stderr.lines.pop();
      stderr.count--;
    }
    noise.count++;
    if (noise.lines.length < NOISE_LINES) noise.lines.push(clipped(text));
  }

  /** Remembers a result, and which version the agent speaks. Returns the method that was asked. */
  function answer(frame: JsonObject): string | undefined {
    if (asked === undefined || answered.has(frame["id"])) return undefined;
    answered.add(frame["id"]);
    const result = frame["result"];
    if (isObject(result)) results.set(asked, result);
    if (asked === Method.initialize && "result" in frame) version = isV1InitializeResult(result) ? "v1" : "v2";
    return asked;
  }

  return {
    records,
    noise,
    stderr,
    results,
    get violations() {
      return [...violations.values()];
    },
    get lastFrameAt() {
      return lastFrameAt;
    },
    asking(method) {
      asked = method;
    },
    onRecord(record) {
      if (record.event === "agent-noise") addNoise(String(record.details["text"]));
      else records.push(record);
    },
    onTell(text) {
      // What the bridge has to say is in the error the client gets.
      if (text.startsWith("acp-shift: ")) return;
      stderr.count++;
      stderr.lines.push(clipped(text));
      if (stderr.lines.length > STDERR_LINES) stderr.lines.shift();
    },
    onAgentFrame(frame) {
      lastFrameAt = performance.now();
      const answersTo = typeof frame["method"] === "string" ? undefined : answer(frame);
      const { frame: name, faults } = judge(frame, answersTo, schemas(version));
      for (const fault of new Set(faults)) {
        const known = violations.get(`${name}\n${fault}`);
        if (known === undefined) violations.set(`${name}\n${fault}`, { frame: name, fault, count: 1 });
        else known.count++;
      }
    },
  };
}

function clipped(text: string): string {
  return text.slice(0, LINE_CHARS);
}
