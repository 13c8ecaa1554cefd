/**
 * `initialize`: which of the pairings applies, and what each side is told of the other (docs/mapping.md §1).
 */
import { ErrorCode, type RpcError, rpcError } from "../protocol/errors.ts";
import type { ErrorFrame, RequestId, ResultFrame } from "../protocol/frames.ts";
import { asObject, asString, isObject, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import {
  agentOffers,
  clientAbilities,
  initializeParamsForBoth,
  initializeParamsToV1,
  initializeParamsToV2,
  initializeResultToV1,
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
  bridge.refusal = undefined;
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
        if (isV1InitializeResult(frame.result)) return failed(bridge, clientId, speaksOnlyV1());
        passThrough(bridge, clientId, frame.result);
      });
    case "auto":
      return offer(bridge, initializeParamsForBoth(v2Params, bridge.options.hosts), (frame) => {
        if ("error" in frame) {
          bridge.refusal = frame.error;
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

/**
 * A v1 client: the agent is asked for what the client asked for. One that answers in version 2, or with an error, is
 * asked once more in version 2.
 */
function initializeV1(bridge: Bridge, clientId: RequestId, params: JsonObject): void {
  bridge.clientCapabilities = asObject(params["clientCapabilities"]);
  bridge.abilities = clientAbilities(bridge.clientCapabilities);
  if (bridge.options.agentProtocol === "2") return offerV2(bridge, clientId, params, undefined);
  offer(bridge, params, (frame) => {
    if ("result" in frame && isV1InitializeResult(frame.result)) return passThrough(bridge, clientId, frame.result);
    if (bridge.options.agentProtocol === "auto") return offerV2(bridge, clientId, params, frame);
    if ("error" in frame && frame.error.code !== ErrorCode.unsupportedProtocolVersion)
      return failed(bridge, clientId, frame.error);
    failed(
      bridge,
      clientId,
      rpcError(ErrorCode.unsupportedProtocolVersion, "the agent speaks only version 2; leave out --agent-protocol 1", {
        requested: 1,
        supported: [2],
      }),
    );
  });
}

/** Asks the agent in version 2 for a v1 client. `first` is what it said to version 1, if it was asked. */
function offerV2(
  bridge: Bridge,
  clientId: RequestId,
  params: JsonObject,
  first: ResultFrame | ErrorFrame | undefined,
): void {
  const refusal = first !== undefined && "error" in first ? first.error : undefined;
  bridge.refusal = refusal;
  if (refusal !== undefined) log(bridge, "info", "initialize-retried-in-v2", { error: refusal });
  const v2Params = initializeParamsToV2(params, UNKNOWN_CLIENT);
  const conformed = bridge.options.schemaV2().conform("InitializeRequest", v2Params, true);
  offer(bridge, conformed.ok ? asObject(conformed.value) : v2Params, (frame) => {
    if ("result" in frame && !isV1InitializeResult(frame.result)) return downgrade(bridge, clientId, frame.result);
    // It answered in version 2 before, and does not want to be asked again.
    if (first !== undefined && "result" in first) return downgrade(bridge, clientId, first.result);
    if (refusal !== undefined && refusal.code !== ErrorCode.unsupportedProtocolVersion)
      return failed(bridge, clientId, refusal);
    if ("error" in frame) return failed(bridge, clientId, frame.error);
    failed(bridge, clientId, speaksOnlyV1());
  });
}

function speaksOnlyV1(): RpcError {
  const message = "the agent speaks only protocol version 1; leave out --agent-protocol 2";
  return rpcError(ErrorCode.unsupportedProtocolVersion, message, { requested: 2, supported: [1] });
}

function upgrade(bridge: Bridge, clientId: RequestId, result: unknown): void {
  const v1Result = asObject(result);
  const commandName = agentCommandName(bridge.options.agentCommand);
  meetAgent(bridge, v1Result["agentInfo"]);
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
  paired(bridge, clientId, v2Result);
}

/** A v1 client over a v2 agent. */
function downgrade(bridge: Bridge, clientId: RequestId, result: unknown): void {
  const v2Result = asObject(result);
  meetAgent(bridge, v2Result["info"]);
  bridge.pairing = "downgrade";
  const notes: Notes = [];
  const clientAuth = asObject(bridge.clientCapabilities["auth"]);
  const v1Result = initializeResultToV1(v2Result, { clientHasTerminalAuth: clientAuth["terminal"] === true }, notes);
  logNotes(bridge, notes, { method: Method.initialize });
  paired(bridge, clientId, v1Result);
}

/** The agent has said its name: from here on it is treated as its profile says. */
function meetAgent(bridge: Bridge, info: unknown): void {
  const name = asString(asObject(info)["name"]);
  bridge.behaviour = bridge.options.behaviourOf(name);
  bridge.agentName = name || agentCommandName(bridge.options.agentCommand);
}

function paired(bridge: Bridge, clientId: RequestId, result: JsonObject): void {
  const conformed = conformResult(bridge, "agent", Method.initialize, result);
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
  log(bridge, "info", "paired", { pairing: bridge.pairing, clientVersion: asObject(result)["protocolVersion"] });
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
  for (const sessionId of bridge.downgraded.keys()) withdrawRequests(bridge, sessionId);
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
  bridge.downgraded.clear();
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
