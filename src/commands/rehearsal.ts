import { step } from "../bridge/bridge.ts";
import type { Event, Side } from "../bridge/events.ts";
import { type BridgeOptions, createBridge } from "../bridge/state.ts";
import type { Frame } from "../protocol/frames.ts";
import type { JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import { createChunkReader } from "../transport/chunk-reader.ts";
import { decodeAgentLine, decodeClientLine } from "../transport/decode.ts";

const SESSION = { sessionId: "rehearsal" };
const TEXT = { type: "text", text: "text" };

/** What the client asks, one after the other. */
const REQUESTS: [method: string, params: JsonObject][] = [
  [Method.initialize, { protocolVersion: 2, info: { name: "rehearsal", version: "0" }, capabilities: {} }],
  [Method.sessionNew, { cwd: "/", mcpServers: [] }],
  [Method.sessionPrompt, { ...SESSION, prompt: [TEXT] }],
  [Method.sessionPrompt, { ...SESSION, prompt: [TEXT] }],
];

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
 * Plays two turns through a core of their own, so that nobody waits for the engine to compile what the first prompt of
 * the real conversation needs: that took it several times as long as any other. To be called while the agent starts.
 *
 * @returns what a client would have got of it
 */
export function rehearse(options: BridgeOptions): Frame[] {
  const own = { ...options, remembers: false, settle: 0 };
  const bridge = createBridge({ ...own, behaviourOf: () => own });
  const chunks = createChunkReader();
  const told: Frame[] = [];

  function say(from: Side, message: JsonObject): void {
    const line = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    if (from === "client") {
      const decoded = decodeClientLine(line);
      if ("value" in decoded) take({ type: "frame", from, value: decoded.value, line });
      return;
    }
    const chunk = chunks.read(line, 0, line.length);
    if (chunk !== undefined) return take({ type: "chunk", chunk });
    for (const { value } of decodeAgentLine(line).frames) {
      chunks.parsed(line, value);
      take({ type: "frame", from, value, line });
    }
  }

  function take(event: Event): void {
    for (const effect of step(bridge, event, 0)) {
      if (effect.type !== "send") continue;
      const { to, frame } = effect;
      JSON.stringify(frame);
      if (to === "client") told.push(frame);
      else if ("method" in frame && "id" in frame) answer(frame.id, frame.method);
    }
  }

  function answer(id: unknown, method: string): void {
    if (method === Method.sessionPrompt)
      for (const update of UPDATES) say("agent", { method: Method.sessionUpdate, params: { ...SESSION, update } });
    say("agent", { id, result: RESULTS[method] });
  }

  for (const [id, [method, params]] of REQUESTS.entries()) say("client", { id, method, params });
  return told;
}
