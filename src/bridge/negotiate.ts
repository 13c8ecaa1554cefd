/**
 * `initialize`: which of the pairings applies, and what each side is told of the other (docs/mapping.md §1).
 */
import { ErrorCode, type RpcError, rpcError } from "../protocol/errors.ts";
import type { ErrorFrame, RequestId, ResultFrame } from "../protocol/frames.ts";
import { asObject, asString, isObject, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import {
  agentOffers,
  initializeParamsForBoth,
  initializeParamsToV1,
  initializeResultToV2,
  isV1InitializeResult,
} from "../translate/capabilities.ts";
import { errorToV2 } from "../translate/errors.ts";
import type { Notes } from "../translate/notes.ts";
import { clearTimer, log, logNotes, setTimer } from "./effects.ts";
import { endEverything, handshakeTimedOut } from "./failures.ts";
import { endTerminals } from "./hosting.ts";
import { answer, answerAsIs, callAgent, conformResult, refuse, withdrawRequests } from "./requests.ts";
import type { Bridge } from "./state.ts";

/** The protocol versions the bridge speaks with a client. */
const SUPPORTED_VERSIONS = [1, 2] as const;

/** The client's `initialize`: the first, or one repeated before any other request. */
export function initialize(bridge: Bridge, clientId: RequestId, params: JsonObject): void {
  const fault = faultOf(params);
  if (fault !== undefined) return refuse(bridge, clientId, fault);
  if (bridge.phase === "initializing")
    return refuse(bridge, clientId, rpcError(ErrorCode.invalidRequest, "initialize is already in progress"));
  if (bridge.phase === "ready") {
    if (!bridge.otherRequestSeen) return answerAsIs(bridge, clientId, bridge.initializeResult);
    return refuse(bridge, clientId, rpcError(ErrorCode.invalidRequest, "initialize must not follow other requests"));
  }

  bridge.phase = "initializing";
  setTimer(bridge, "handshake", bridge.options.handshakeTimeout);
  const requested = params["protocolVersion"] as number;
  bridge.clientAsksV1 = requested === 1;
  if (bridge.clientAsksV1) return initializeV1(bridge, clientId, params);
  bridge.clientCapabilities = asObject(params["capabilities"]);
  const v2Params = { ...params, info: isObject(params["info"]) ? params["info"] : UNKNOWN_CLIENT };
  switch (bridge.options.agentProtocol) {
    case "1":
      return offerV1(bridge, clientId, v2Params);
    case "2":
      return offer(bridge, { ...v2Params, protocolVersion: 2 }, (frame) => {
        if ("error" in frame) return failed(bridge, clientId, frame.error);
        if (isV1InitializeResult(frame.result))
          return failed(
            bridge,
            clientId,
            rpcError(
              ErrorCode.unsupportedProtocolVersion,
              "the agent speaks only protocol version 1; leave out --agent-protocol 2",
              { requested: 2, supported: [1] },
            ),
          );
        passThrough(bridge, clientId, frame.result);
      });
    case "auto":
      return offer(bridge, initializeParamsForBoth(v2Params, bridge.options.hosts), (frame) => {
        if ("error" in frame) {
          log(bridge, "info", "initialize-retried-in-v1", { error: frame.error });
          return offerV1(bridge, clientId, v2Params);
        }
        if (isV1InitializeResult(frame.result)) upgrade(bridge, clientId, frame.result);
        else passThrough(bridge, clientId, frame.result);
      });
  }
}

/** Stands in for a client that asks for a newer version than 2 and describes itself in a way version 2 does not know. */
const UNKNOWN_CLIENT = { name: "unknown", version: "unknown" };

function faultOf(params: JsonObject): RpcError | undefined {
  const version = params["protocolVersion"];
  if (!Number.isInteger(version))
    return rpcError(ErrorCode.invalidParams, "protocolVersion must be an integer, for example 2");
  const requested = version as number;
  if (requested < 1)
    return rpcError(ErrorCode.unsupportedProtocolVersion, `protocol version ${requested} is not supported`, {
      requested,
      supported: [...SUPPORTED_VERSIONS],
    });
  const info = params["info"];
  if (requested === 2 && !(isObject(info) && asString(info["name"]) && asString(info["version"])))
    return rpcError(ErrorCode.invalidParams, "info is missing: protocol version 2 needs the client's name and version");
  return undefined;
}

function offer(bridge: Bridge, params: JsonObject, onAnswer: (frame: ResultFrame | ErrorFrame) => void): void {
  bridge.initializeParams = params;
  callAgent(bridge, params, { method: Method.initialize, onAnswer });
}

function offerV1(bridge: Bridge, clientId: RequestId, params: JsonObject): void {
  offer(bridge, initializeParamsToV1(params, bridge.options.hosts), (frame) => {
    if ("error" in frame) return failed(bridge, clientId, frame.error);
    if (isV1InitializeResult(frame.result)) return upgrade(bridge, clientId, frame.result);
    failed(
      bridge,
      clientId,
      rpcError(ErrorCode.unsupportedProtocolVersion, "the agent was asked for protocol version 1 and answered in 2", {
        requested: 1,
        supported: [2],
      }),
    );
  });
}

/** A v1 client: the agent is asked for what the client asked for. */
function initializeV1(bridge: Bridge, clientId: RequestId, params: JsonObject): void {
  offer(bridge, params, (frame) => {
    const refused = "error" in frame && frame.error.code === ErrorCode.unsupportedProtocolVersion;
    if (refused || ("result" in frame && !isV1InitializeResult(frame.result)))
      return failed(
        bridge,
        clientId,
        rpcError(
          ErrorCode.unsupportedProtocolVersion,
          "the agent speaks only protocol version 2 and the client asked for 1; use a client that speaks 2",
          { requested: 1, supported: [2] },
        ),
      );
    if ("error" in frame) return failed(bridge, clientId, frame.error);
    passThrough(bridge, clientId, frame.result);
  });
}

function upgrade(bridge: Bridge, clientId: RequestId, result: unknown): void {
  const v1Result = asObject(result);
  const agentName = asString(asObject(v1Result["agentInfo"])["name"]);
  const commandName = agentCommandName(bridge.options.agentCommand);
  bridge.behaviour = bridge.options.behaviourOf(agentName);
  bridge.agentName = agentName || commandName;
  bridge.offers = agentOffers(v1Result);
  bridge.pairing = "upgrade";
  const notes: Notes = [];
  const clientAuth = asObject(bridge.clientCapabilities["auth"]);
  const v2Result = initializeResultToV2(
    v1Result,
    { agentCommandName: commandName, clientHasTerminalAuth: isObject(clientAuth["terminal"]) },
    notes,
  );
  logNotes(bridge, notes, { method: Method.initialize });
  const conformed = conformResult(bridge, "agent", Method.initialize, v2Result);
  if (conformed.ok) return ready(bridge, clientId, conformed.value);
  failed(bridge, clientId, rpcError(ErrorCode.internalError, `the agent's result is invalid: ${conformed.fault}`));
}

/** The last part of the agent's command, without directories and extension: its name when it gives none (rule 1.10). */
function agentCommandName(command: readonly string[]): string {
  const name = (command[0] ?? "").split(/[\\/]/).at(-1) ?? "";
  return name.replace(/\.(exe|cmd|bat|ps1|mjs|cjs|js)$/i, "") || "agent";
}

/** Both sides speak the same version: from here on bytes go through. */
function passThrough(bridge: Bridge, clientId: RequestId, result: unknown): void {
  bridge.pairing = "pass-through";
  if (bridge.options.paths !== undefined) log(bridge, "warn", "paths-not-mapped", { pairing: "pass-through" });
  ready(bridge, clientId, result);
}

function ready(bridge: Bridge, clientId: RequestId, result: unknown): void {
  clearTimer(bridge, "handshake");
  bridge.phase = "ready";
  log(bridge, "info", "paired", { pairing: bridge.pairing, agentVersion: asObject(result)["protocolVersion"] });
  answerAsIs(bridge, clientId, result);
  bridge.initializeResult = result;
}

/** The attempt failed: the client may try again. */
function failed(bridge: Bridge, clientId: RequestId, error: RpcError): void {
  clearTimer(bridge, "handshake");
  bridge.phase = "new";
  refuse(bridge, clientId, errorToV2(error, { method: Method.initialize }));
}

/** The agent has not answered `initialize` in time: nothing more is to be expected of it. */
export function handshakeTimer(bridge: Bridge): void {
  if (bridge.phase === "initializing" || bridge.restarting !== undefined) handshakeTimedOut(bridge);
}

/**
 * Starts the agent afresh, because it takes up its login only then, and introduces the same client to it. Its sessions
 * are gone with the first process.
 */
export function restartAgent(bridge: Bridge, clientId: RequestId, result: unknown): void {
  log(bridge, "info", "agent-restarted", { reason: "login" });
  for (const session of bridge.sessions.values()) {
    bridge.ledgers.set(session.id, session.messages.ledger);
    withdrawRequests(bridge, session.id);
    endTerminals(bridge, session.id);
  }
  // All but the login itself, whose answer comes from the new process.
  const login = bridge.clientRequests.get(clientId);
  bridge.clientRequests.delete(clientId);
  endEverything(bridge, rpcError(ErrorCode.internalError, "the agent restarted after the login; try again"));
  if (login !== undefined) bridge.clientRequests.set(clientId, login);
  bridge.sessions.clear();
  bridge.hostedCalls.clear();
  bridge.sessionsOpening = 0;
  bridge.early.clear();
  bridge.effects.push({ type: "restart-agent" });
  setTimer(bridge, "handshake", bridge.options.handshakeTimeout);
  bridge.restarting = () =>
    offer(bridge, asObject(bridge.initializeParams), (frame) => {
      bridge.restarting = undefined;
      clearTimer(bridge, "handshake");
      if ("error" in frame) {
        refuse(bridge, clientId, errorToV2(frame.error, { method: Method.authLogin }));
        return;
      }
      bridge.offers = agentOffers(asObject(frame.result));
      answer(bridge, clientId, result);
    });
}
