/**
 * The core: one event in, the effects of it out. Synchronous, so that what leaves towards one peer keeps the order in
 * which its causes came (docs/mapping.md §0, I1). No I/O, no clock, no randomness of its own.
 */

import { frameOf, lineOf } from "../protocol/chunk-pattern.ts";
import { ErrorCode, rpcError } from "../protocol/errors.ts";
import { failure, isRequestId, notification, type RequestId, readFrameEnds, result } from "../protocol/frames.ts";
import { asObject, asString, isObject, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import { readError } from "../translate/errors.ts";
import { paramsToClient, resultToClient } from "../translate/path-map.ts";
import { personAnswered } from "./agent-requests.ts";
import { agentChunk } from "./chunks.ts";
import { ownId, withOwnIds } from "./connection.ts";
import { log, toAgent, toClient } from "./effects.ts";
import type { Effect, Event, Side } from "./events.ts";
import { agentExited, farewell, refuseWithoutAgent } from "./failures.ts";
import { hosted, terminalChanged } from "./hosting.ts";
import { clientBack, clientLost, clientMoved, tellOnceMore } from "./linger.ts";
import { recalled } from "./memory.ts";
import { handshakeTimer, initialize } from "./negotiate.ts";
import { rulesOf } from "./pairings.ts";
import {
  answerAgent,
  answerForClient,
  cancelFromAgent,
  clientIdOf,
  conformParams,
  FAULT,
  pathsOfAgent,
  refuse,
  settled,
} from "./requests.ts";
import { attempt } from "./sessions.ts";
import type { Bridge } from "./state.ts";

/**
 * Takes one event and returns what is to be done about it, in order.
 *
 * @param now monotonic time of the event, in ms
 */
export function step(bridge: Bridge, received: Event, now: number): Effect[] {
  bridge.now = now;
  bridge.effects = [];
  if (bridge.phase === "over") return bridge.effects;
  const event = withOwnIds(bridge, received);
  try {
    handle(bridge, event);
  } catch (error) {
    failInternally(bridge, event, error);
  }
  return bridge.effects;
}

function handle(bridge: Bridge, event: Event): void {
  switch (event.type) {
    case "frame":
      if (event.from === "client") fromClient(bridge, event);
      else fromAgent(bridge, event.value, event.line);
      break;
    case "chunk":
      if (!agentChunk(bridge, event.chunk)) fromAgent(bridge, frameOf(event.chunk), lineOf(event.chunk));
      break;
    case "not-json":
      if (bridge.pairing === "pass-through") forwardLine(bridge, "agent", event.line);
      else toClient(bridge, failure(null, rpcError(ErrorCode.parseError, "a line is no JSON")));
      break;
    case "oversized":
      oversized(bridge, event);
      break;
    case "timer":
      timer(bridge, event.name);
      break;
    case "agent-restarted":
      bridge.restarting?.();
      break;
    case "hosted":
      hosted(bridge, event.call, event.outcome);
      break;
    case "terminal":
      terminalChanged(bridge, event.sessionId, event.terminalId, event.change);
      break;
    case "recalled":
      recalled(bridge, event.token, event.value);
      break;
    case "agent-exit":
      agentExited(bridge, event);
      break;
    case "client-left":
      bridge.clientLeft = true;
      answerForClient(bridge);
      farewell(bridge);
      break;
    case "client-lost":
      clientLost(bridge);
      break;
    case "client-back":
      clientBack(bridge, event.capabilities);
      break;
    case "client-moved":
      clientMoved(bridge);
      break;
    case "session-elsewhere":
      bridge.elsewhere = event.message;
      break;
  }
}

/** A fault of the bridge's own must not end the conversation: it costs one frame, and whoever asked is told. */
function failInternally(bridge: Bridge, event: Event, error: unknown): void {
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  log(bridge, "error", "internal-error", { event: event.type, message });
  if (event.type !== "frame") return;
  const { id, method } = asObject(event.value);
  if (!isRequestId(id)) return;
  const isRequest = typeof method === "string";
  if (event.from === "client") {
    if (isRequest) refuse(bridge, id, FAULT);
  } else if (isRequest) {
    // One that was passed on gets the client's answer.
    if (![...bridge.clientCalls.values()].some(({ agentId }) => agentId === id)) toAgent(bridge, failure(id, FAULT));
  } else {
    const clientId = clientIdOf(bridge, id);
    if (clientId !== undefined) refuse(bridge, clientId, FAULT);
  }
}

function timer(bridge: Bridge, timerName: string): void {
  if (timerName === "handshake") return handshakeTimer(bridge);
  if (timerName === "farewell") return farewell(bridge);
  const [name = "", ...rest] = timerName.split(" ");
  rulesOf(bridge).timer(bridge, rest.join(" "), name);
}

function fromClient(bridge: Bridge, event: Event & { type: "frame" }): void {
  const { value, line } = event;
  const { elsewhere } = bridge;
  bridge.elsewhere = undefined;
  if (elsewhere !== undefined) return sessionElsewhere(bridge, asObject(value)["id"], elsewhere);
  if (bridge.pairing === "pass-through" && !isRepeatedInitialize(bridge, value)) {
    if (isObject(value) && isRequestId(value["id"]) && typeof value["method"] === "string") {
      bridge.otherRequestSeen = true;
      bridge.clientRequests.set(value["id"], { method: value["method"] });
    }
    return forwardLine(bridge, "agent", line);
  }
  if (!isObject(value) || value["jsonrpc"] !== "2.0") {
    const message = Array.isArray(value) ? "batches are not part of ACP" : "not a JSON-RPC 2.0 message";
    return invalid(bridge, message);
  }
  const { method, id } = value;
  if (typeof method !== "string") return clientResponse(bridge, value);
  if (!("id" in value)) return clientNotification(bridge, method, value["params"]);
  if (!isRequestId(id)) return invalid(bridge, "a request id must be a string or an integer");
  if (bridge.clientRequests.has(id)) return invalid(bridge, "the request id is still in use");
  bridge.clientRequests.set(id, { method, sessionId: asString(asObject(value["params"])["sessionId"]) });
  request(bridge, id, method, value["params"], event);
}

function sessionElsewhere(bridge: Bridge, id: unknown, message: string): void {
  log(bridge, "warn", "session-elsewhere", { message });
  toClient(bridge, failure(isRequestId(id) ? id : null, rpcError(ErrorCode.invalidRequest, message)));
}

function request(bridge: Bridge, id: RequestId, method: string, params: unknown, event: Event): void {
  if (bridge.agentExit !== undefined) {
    if (method === Method.sessionResume) tellOnceMore(bridge, id);
    return refuseWithoutAgent(bridge);
  }
  if (method === Method.initialize) return initialize(bridge, id, asObject(params));
  if ((bridge.phase === "initializing" && bridge.clientAsksV1) || bridge.restarting !== undefined) {
    bridge.pipelined.push({ id, event });
    return;
  }
  if (bridge.phase !== "ready")
    return refuse(bridge, id, rpcError(ErrorCode.invalidRequest, `initialize must be answered before ${method}`));
  bridge.otherRequestSeen = true;
  attempt(bridge, id, () => rulesOf(bridge).clientRequest(bridge, id, method, params));
}

/** A repeated `initialize` is the bridge's to answer, whatever the pairing. */
function isRepeatedInitialize(bridge: Bridge, value: unknown): boolean {
  return (
    !bridge.otherRequestSeen && isObject(value) && value["method"] === Method.initialize && isRequestId(value["id"])
  );
}

function clientNotification(bridge: Bridge, method: string, params: unknown): void {
  if (bridge.phase !== "ready") return log(bridge, "debug", "notification-before-initialize", { method });
  if (method === Method.sessionCancel) return rulesOf(bridge).cancelSession(bridge, params);
  if (method === Method.cancelRequest) return rulesOf(bridge).cancelRequest(bridge, asObject(params));
  if (method.startsWith("$/")) return log(bridge, "debug", "notification-ignored", { method });
  toAgent(bridge, notification(method, params));
}

function clientResponse(bridge: Bridge, value: JsonObject): void {
  if (!("result" in value || "error" in value)) return invalid(bridge, "neither a request nor a response");
  const call = settled(bridge.clientCalls, value["id"]);
  if (call === undefined) return log(bridge, "debug", "answer-to-no-request", { from: "client", id: value["id"] });
  answerAgent(
    bridge,
    call,
    "error" in value ? failure(null, readError(value["error"])) : result(null, value["result"]),
  );
  personAnswered(bridge, call.sessionId);
}

function invalid(bridge: Bridge, message: string): void {
  toClient(bridge, failure(null, rpcError(ErrorCode.invalidRequest, message)));
}

function fromAgent(bridge: Bridge, value: unknown, line: Uint8Array): void {
  const frame = asObject(value);
  const { method, id } = frame;
  if (typeof method !== "string") return agentResponse(bridge, frame, line);
  if (bridge.pairing === "pass-through") return forwardLine(bridge, "client", line);
  if (bridge.phase !== "ready") {
    log(bridge, "info", "frame-before-initialize", { from: "agent", method });
    if ("id" in frame)
      toAgent(
        bridge,
        failure(
          isRequestId(id) ? id : null,
          rpcError(ErrorCode.invalidRequest, "initialize has not been answered yet"),
        ),
      );
    return;
  }
  const paths = pathsOfAgent(bridge);
  const received = frame["params"];
  const params = paths !== undefined && isObject(received) ? paramsToClient(paths, method, received) : received;
  if ("id" in frame) return rulesOf(bridge).agentRequest(bridge, isRequestId(id) ? id : null, method, params);
  if (method === Method.sessionUpdate) return rulesOf(bridge).agentUpdate(bridge, params);
  if (method === Method.cancelRequest) return personAnswered(bridge, cancelFromAgent(bridge, asObject(params)));
  if (method.startsWith("$/")) return log(bridge, "debug", "notification-ignored", { method });
  if (method === Method.elicitationComplete && !isObject(bridge.clientCapabilities["elicitation"]))
    return log(bridge, "info", "elicitation-not-offered", { method });
  notifyClient(bridge, rulesOf(bridge).methodToClient(method, "notification"), params);
}

function notifyClient(bridge: Bridge, method: string, params: unknown): void {
  const conformed = conformParams(bridge, method, params);
  if (conformed.ok) toClient(bridge, notification(method, conformed.value));
}

function agentResponse(bridge: Bridge, frame: JsonObject, line: Uint8Array): void {
  const { id } = frame;
  const call = settled(bridge.agentCalls, id);
  if (call !== undefined) {
    const paths = pathsOfAgent(bridge);
    const value = frame["result"];
    const ownPaths = paths !== undefined && isObject(value) ? resultToClient(paths, call.method, value) : value;
    call.onAnswer("error" in frame ? failure(null, readError(frame["error"])) : result(null, ownPaths));
    resumePipelined(bridge);
    return;
  }
  if (bridge.pairing === "pass-through") {
    if (isRequestId(id)) bridge.clientRequests.delete(id);
    return forwardLine(bridge, "client", line);
  }
  log(bridge, "warn", "answer-to-no-request", { from: "agent", id });
}

/** Once the agent can take it, what the client sent ahead goes through in the order it came. */
function resumePipelined(bridge: Bridge): void {
  if (bridge.phase === "initializing" || bridge.restarting !== undefined) return;
  for (const { id, event } of bridge.pipelined.splice(0)) {
    bridge.clientRequests.delete(id);
    handle(bridge, event);
  }
}

function forwardLine(bridge: Bridge, to: Side, line: Uint8Array): void {
  bridge.effects.push({ type: "forward", to, line });
}

/**
 * A line above the limit was drained. Whoever waits for it gets an error; a loss nobody would notice otherwise is told
 * in a notice. The session lives on (docs/mapping.md §12).
 */
function oversized(bridge: Bridge, event: Event & { type: "oversized" }): void {
  const { from, bytes, head } = event;
  const error = rpcError(ErrorCode.internalError, `a message of ${bytes} bytes exceeds --max-frame`, { bytes });
  log(bridge, "error", "frame-too-large", { from, bytes });
  const { id, isRequest } = readFrameEnds(head, event.tail);
  if (isRequest) {
    if (id !== undefined && from === "client") toClient(bridge, failure(ownId(bridge, id), error));
    if (id !== undefined && from === "agent") toAgent(bridge, failure(id, error));
    if (from === "agent") rulesOf(bridge).noticeLoss(bridge, head, bytes);
  } else if (from === "client") {
    const call = settled(bridge.clientCalls, id);
    if (call !== undefined) {
      answerAgent(bridge, call, failure(null, error));
      personAnswered(bridge, call.sessionId);
    } else if (bridge.pairing === "pass-through" && id !== undefined) toAgent(bridge, failure(id, error));
  } else {
    const call = settled(bridge.agentCalls, id);
    if (call !== undefined) call.onAnswer(failure(null, error));
    else if (id !== undefined) refuse(bridge, id, error);
  }
}
