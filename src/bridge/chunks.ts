/**
 * Chunks of text whose line is known by its pattern: what becomes of them is decided as for any other update, but the frame
 * is neither read nor made anew. The client gets the agent's own bytes of the text between what stands round it in v2.
 */
import { type ChunkLine, type ChunkPattern, frameOf, takeApart, textOf } from "../protocol/chunk-pattern.ts";
import { notification } from "../protocol/frames.ts";
import { asObject, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import { chunkToV2 } from "../translate/content.ts";
import { isPlainChunk, updateClient } from "./effects.ts";
import { continueMessage } from "./messages.ts";
import type { Bridge, SplicedChunk } from "./state.ts";
import { heard, showsWork } from "./turns.ts";
import { unpromptedUpdate } from "./unprompted.ts";
import { messageOf } from "./updates.ts";

/** Whether chunks known by their pattern are of any use: everywhere else each has to come as a frame. */
export function takesChunks(bridge: Bridge): boolean {
  const { options, phase, pairing } = bridge;
  // What a client that may be lost has been shown is kept, frame by frame.
  return phase === "ready" && pairing === "upgrade" && options.paths === undefined && options.lingerLimit === 0;
}

/**
 * A chunk of the agent's.
 *
 * @returns false, with nothing done, when it has to come as a frame
 */
export function agentChunk(bridge: Bridge, chunk: ChunkLine): boolean {
  const { pattern } = chunk;
  const session = bridge.sessions.get(pattern.sessionId);
  if (!takesChunks(bridge) || session === undefined || session.restoring !== undefined) return false;

  heard(bridge, session);
  unpromptedUpdate(bridge, session, pattern.kind, {});
  showsWork(bridge, session);
  const kind = pattern.kind === "agent_message_chunk" ? "agent_message" : "agent_thought";
  const messageId =
    continueMessage(session.messages, kind, pattern.messageId, chunk) ??
    messageOf(bridge, session, kind, pattern.messageId, { type: "text", text: textOf(chunk) });
  if (messageId === undefined) return true;

  let spliced = bridge.spliced.get(pattern);
  if (spliced === undefined) {
    spliced = { messageId: undefined, frame: undefined, frameUnder: frameUnder(pattern) };
    bridge.spliced.set(pattern, spliced);
  }
  if (spliced.messageId !== messageId) {
    spliced.messageId = messageId;
    spliced.frame = spliced.frameUnder?.(messageId);
  }
  const { frame } = spliced;
  if (frame !== undefined) {
    bridge.effects.push({ type: "splice", to: "client", chunk, frame });
    return true;
  }
  const { params, update } = partsOf(frameOf(chunk));
  updateClient(bridge, session, chunkToV2(update, messageId), params);
  return true;
}

/** What the client gets round the text of such chunks; nothing where each has to be held against the schema. */
function frameUnder(pattern: ChunkPattern): SplicedChunk["frameUnder"] {
  const { params, update } = partsOf(pattern.frame);
  const paramsUnder = (messageId: string) => ({ ...params, update: chunkToV2(update, messageId) });
  if (!isPlainChunk(paramsUnder(""))) return undefined;
  return takeApart((messageId) => notification(Method.sessionUpdate, paramsUnder(messageId)));
}

function partsOf(frame: JsonObject): { params: JsonObject; update: JsonObject } {
  const params = asObject(frame["params"]);
  return { params, update: asObject(params["update"]) };
}
