/**
 * What the two translating pairings do differently: each is a set of handlers, and everything else of the core is shared.
 * In pass-through nothing gets here.
 */
import type { RequestId } from "../protocol/frames.ts";
import { isRequestId } from "../protocol/frames.ts";
import type { JsonObject } from "../protocol/json.ts";
import { methodToClientV1, methodToClientV2 } from "../translate/methods.ts";
import { agentRequest } from "./agent-requests.ts";
import { cancelSession, clientRequest } from "./client-requests.ts";
import { agentRequest as agentRequestOfV2 } from "./downgrade/agent-requests.ts";
import * as v1Client from "./downgrade/client-requests.ts";
import { updateV1Client } from "./downgrade/effects.ts";
import { showTerminalTexts } from "./downgrade/terminals.ts";
import { promptTimer } from "./downgrade/turns.ts";
import { agentUpdate as agentUpdateOfV2 } from "./downgrade/updates.ts";
import { updateClient } from "./effects.ts";
import { cancelFromClient } from "./requests.ts";
import { quietTimer } from "./sessions.ts";
import type { Bridge } from "./state.ts";
import { cancelHeld, turnTimer } from "./turns.ts";
import { unpromptedTimer } from "./unprompted.ts";
import { agentUpdate } from "./updates.ts";

/** The handlers of one pairing. */
export interface Rules {
  /**
   * A request of the client's other than `initialize`.
   *
   * @throws RequestFault when the request is at fault; nothing has been sent then
   */
  clientRequest(bridge: Bridge, clientId: RequestId, method: string, params: unknown): void;
  /** The client's `session/cancel`. */
  cancelSession(bridge: Bridge, params: unknown): void;
  /** The client's `$/cancel_request`. */
  cancelRequest(bridge: Bridge, params: JsonObject): void;
  /** A request of the agent's. */
  agentRequest(bridge: Bridge, id: RequestId | null, method: string, params: unknown): void;
  /** The agent's `session/update`. */
  agentUpdate(bridge: Bridge, params: unknown): void;
  /** The name under which the client gets a method of the agent's. */
  methodToClient(method: string, kind: "request" | "notification"): string;
  /** A timer of a session has run out. */
  timer(bridge: Bridge, sessionId: string, name: string): void;
  /** Tells the client that a call of the agent's, of which only the beginning was kept, was too large and is lost. */
  noticeLoss(bridge: Bridge, head: string, bytes: number): void;
}

/** A v2 client over a v1 agent. */
const UPGRADE: Rules = {
  clientRequest,
  cancelSession,
  cancelRequest(bridge, params) {
    const { requestId } = params;
    for (const session of bridge.sessions.values())
      if (isRequestId(requestId) && cancelHeld(bridge, session, requestId)) return;
    cancelFromClient(bridge, params);
  },
  agentRequest,
  agentUpdate,
  methodToClient: methodToClientV2,
  timer(bridge, sessionId, name) {
    const session = bridge.sessions.get(sessionId);
    if (session === undefined) return;
    if (name === "quiet") quietTimer(bridge, session);
    else if (name === "unprompted") unpromptedTimer(bridge, session);
    else turnTimer(bridge, session, name);
  },
  noticeLoss(bridge, head, bytes) {
    for (const session of bridge.sessions.values())
      if (head.includes(JSON.stringify(session.id))) updateClient(bridge, session, lossNotice(bytes));
  },
};

/** A v1 client over a v2 agent. */
const DOWNGRADE: Rules = {
  clientRequest: v1Client.clientRequest,
  cancelSession: v1Client.cancelSession,
  cancelRequest: v1Client.cancelRequest,
  agentRequest: agentRequestOfV2,
  agentUpdate: agentUpdateOfV2,
  methodToClient: methodToClientV1,
  timer(bridge, sessionId, name) {
    const session = bridge.downgraded.get(sessionId);
    if (session === undefined) return;
    if (name === "terminals") showTerminalTexts(bridge, session);
    else promptTimer(bridge, session, name);
  },
  noticeLoss(bridge, head, bytes) {
    for (const session of bridge.downgraded.values())
      if (bridge.abilities.notices && head.includes(JSON.stringify(session.id)))
        updateV1Client(bridge, session, lossNotice(bytes));
  },
};

/** The handlers that apply. */
export function rulesOf(bridge: Bridge): Rules {
  return bridge.pairing === "downgrade" ? DOWNGRADE : UPGRADE;
}

function lossNotice(bytes: number): JsonObject {
  return {
    sessionUpdate: "notice",
    severity: "warning",
    title: "A message of the agent was too large and is lost",
    description: `It had ${bytes} bytes; --max-frame sets the limit.`,
  };
}
