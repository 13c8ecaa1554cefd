import { Writable } from "node:stream";
import { step } from "../bridge/bridge.ts";
import type { Effect, Event, Side } from "../bridge/events.ts";
import { type BridgeOptions, createBridge } from "../bridge/state.ts";
import { printExact } from "../protocol/exact.ts";
import type { Frame } from "../protocol/frames.ts";
import type { JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import { createChunkReader } from "../transport/chunk-reader.ts";
import { decodeAgentLine, decodeClientLine } from "../transport/decode.ts";
import { createLineSplitter, type Line, type LineReader } from "../transport/lines.ts";
import { createOutput } from "../transport/output.ts";

/** After so many it is compiled; what hundreds more make of it fits what is played here too closely to be of use elsewhere. */
const TURNS = 20;

const SESSION = { sessionId: "rehearsal" };
const TEXT = { type: "text", text: "text" };

const UPDATES: JsonObject[] = [
  { sessionUpdate: "agent_message_chunk", content: TEXT },
  { sessionUpdate: "agent_message_chunk", content: TEXT },
  { sessionUpdate: "agent_message_chunk", content: TEXT },
  { sessionUpdate: "tool_call", toolCallId: "call", title: "Read", kind: "read", status: "pending" },
  { sessionUpdate: "tool_call_update", toolCallId: "call", status: "completed" },
];

const RESULTS: Record<string, JsonObject> = {
  [Method.initialize]: { protocolVersion: 1, agentCapabilities: {} },
  [Method.sessionNew]: SESSION,
  [Method.sessionPrompt]: { stopReason: "end_turn" },
};

/**
 * Plays some turns through a core, readers and outputs of their own, so that nobody waits for the engine to compile what a
 * prompt needs: the first took several times as long as any other, and each after a pause longer than it must. To be done
 * while the agent starts, a step at a time, so that nothing has to wait for it.
 *
 * @returns what a client would have got of it
 */
export function* rehearse(options: BridgeOptions): Generator<undefined, Frame[]> {
  const own = { ...options, remembers: false, settle: 0 };
  const bridge = createBridge({ ...own, behaviourOf: () => own });
  const chunks = createChunkReader();
  const splitter = createLineSplitter(Number.MAX_SAFE_INTEGER);
  const outputs = { client: openOutput(), agent: openOutput() };
  const told: Frame[] = [];
  const reader: LineReader = {
    within(source, start, end) {
      const chunk = chunks.read(source, start, end);
      if (chunk !== undefined) take({ type: "chunk", chunk });
      return chunk !== undefined;
    },
    line(line) {
      for (const { value } of decodeAgentLine(bytesOf(line)).frames) {
        chunks.parsed(bytesOf(line), value);
        take({ type: "frame", from: "agent", value, line: bytesOf(line) });
      }
    },
  };

  function say(from: Side, message: JsonObject): void {
    const bytes = Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    if (from === "agent") return splitter.read(bytes, reader);
    for (const line of splitter.push(bytes)) {
      const decoded = decodeClientLine(bytesOf(line));
      if ("value" in decoded) take({ type: "frame", from, value: decoded.value, line: bytesOf(line) });
    }
  }

  function take(event: Event): void {
    const effects = step(bridge, event, 0);
    for (const effect of effects) perform(effect);
    for (const output of [outputs.client, outputs.agent]) output.offer();
    for (const effect of effects) if (effect.type === "send" && effect.to === "agent") answer(effect.frame);
  }

  function perform(effect: Effect): void {
    if (effect.type === "send") {
      outputs[effect.to].write(printExact(effect.frame));
      if (effect.to === "client") told.push(effect.frame);
    } else if (effect.type === "splice") {
      const { chunk, frame } = effect;
      outputs.client.splice(frame.before, chunk.source, chunk.textStart, chunk.textEnd, frame.after);
    }
  }

  function answer(frame: Frame): void {
    if (!("method" in frame && "id" in frame)) return;
    if (frame.method === Method.sessionPrompt)
      for (const update of UPDATES) say("agent", { method: Method.sessionUpdate, params: { ...SESSION, update } });
    say("agent", { id: frame.id, result: RESULTS[frame.method] });
  }

  const ask = (id: number, method: string, params: JsonObject) => say("client", { id, method, params });
  ask(-2, Method.initialize, { protocolVersion: 2, info: { name: "rehearsal", version: "0" }, capabilities: {} });
  ask(-1, Method.sessionNew, { cwd: "/", mcpServers: [] });
  for (let turn = 0; turn < TURNS; turn++) {
    yield;
    ask(turn, Method.sessionPrompt, { ...SESSION, prompt: [TEXT] });
  }
  return told;
}

function openOutput() {
  const nowhere = new Writable({ write: (_bytes, _encoding, done) => done() });
  return createOutput(nowhere, { onDrain() {}, onBroken() {} });
}

function bytesOf(line: Line): Buffer {
  return "bytes" in line ? line.bytes : Buffer.of();
}
