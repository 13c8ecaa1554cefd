/**
 * When the agent fails: what the person reads on stderr, what the client gets as an error, and the exit status.
 * Each says what was run, in which phase, how it ended, what the agent said last, and what to try.
 */
import { ErrorCode, type RpcError, rpcError } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import { printable } from "../protocol/printable.ts";
import { errorToV2, singleLine } from "../translate/errors.ts";
import { abandonPrompts } from "./downgrade/turns.ts";
import { clearTimer, log, setTimer } from "./effects.ts";
import { keepMessages } from "./memory.ts";
import { endMessage } from "./messages.ts";
import { answerEverything } from "./requests.ts";
import type { Bridge } from "./state.ts";
import { endTurn } from "./turns.ts";
import { endUnprompted } from "./unprompted.ts";

/** How long a client that has not asked anything yet is waited for, so that it gets to hear of the failure, in ms. */
const FAREWELL = 1000;

/** How many of the agent's last stderr lines an error carries, and how long each may be. */
const STDERR_LINES = 20;
const STDERR_LINE_LENGTH = 500;

const SIGNAL_NUMBERS: Record<string, number> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
};

interface Failure {
  /** One line. */
  message: string;
  /** What the person can do. */
  hint: string;
  phase: string;
  data: JsonObject;
}

/** The agent's process has ended, or could not be started. */
export function agentExited(bridge: Bridge, exit: NonNullable<Bridge["agentExit"]>): void {
  bridge.agentExit = exit;
  clearTimer(bridge, "handshake");
  const working = isWorking(bridge);
  const busy = working || bridge.clientRequests.size > 0;
  const failure = exitFailure(bridge, exit, working);
  const refusal = refusalBefore(bridge, exit);
  const error = refusal === undefined ? toRpcError(bridge, failure) : errorToV2(refusal, { method: Method.initialize });
  if (!bridge.clientLeft) {
    log(bridge, "error", "agent-exit", { ...failure.data, message: failure.message });
    if (busy || exit.code !== 0 || bridge.phase !== "ready") say(bridge, failure);
  }
  const waitsForClient = bridge.phase === "new" && !bridge.clientLeft;
  endEverything(bridge, error);
  // A client that comes back is to hear of it.
  if (bridge.clientAway && !bridge.clientLeft) return;
  if (waitsForClient) setTimer(bridge, "farewell", FAREWELL);
  else finish(bridge, exitStatus(bridge, exit, busy));
}

/** Whether a turn runs. In pass-through nobody can tell. */
export function isWorking(bridge: Bridge): boolean {
  return (
    [...bridge.sessions.values()].some(({ turn }) => turn !== undefined && turn.ending === undefined) ||
    [...bridge.downgraded.values()].some(({ turn }) => turn !== undefined)
  );
}

/** The agent's process is gone: all it was doing ends with this error, and every open request is answered (I5). */
export function endEverything(bridge: Bridge, error: RpcError): void {
  for (const session of bridge.sessions.values()) {
    // Held prompts are answered below, with what happened.
    session.held = [];
    session.closing = undefined;
    // So is a prompt the client was not yet told to be accepted.
    if (session.turn?.accepted === false) session.turn = undefined;
    // A turn the agent has ended already keeps its ending.
    endTurn(bridge, session, session.turn?.ending ?? { outcome: "failed", error: { ...error } });
    endUnprompted(bridge, session, { stopReason: "error", error: { ...error } });
    endMessage(session.messages);
    keepMessages(bridge, session);
  }
  for (const session of bridge.downgraded.values()) abandonPrompts(bridge, session);
  answerEverything(bridge, error);
}

/** A request that comes when the agent is already gone: the error says why, and the bridge ends. */
export function refuseWithoutAgent(bridge: Bridge): void {
  if (bridge.agentExit === undefined) return;
  answerEverything(bridge, toRpcError(bridge, exitFailure(bridge, bridge.agentExit, false)));
  farewell(bridge);
}

/** Nobody asked in time. */
export function farewell(bridge: Bridge): void {
  if (bridge.agentExit !== undefined) finish(bridge, exitStatus(bridge, bridge.agentExit, true));
}

/** The agent did not answer `initialize` in time. */
export function handshakeTimedOut(bridge: Bridge): void {
  const seconds = bridge.options.handshakeTimeout / 1000;
  const failure: Failure = {
    phase: "initialize",
    message: `the agent did not answer initialize within ${seconds} s`,
    hint: "Check that the command starts an ACP agent on stdio (many need a flag such as --acp). If it is only slow to start, raise --handshake-timeout.",
    data: { timeoutMs: bridge.options.handshakeTimeout },
  };
  log(bridge, "error", "handshake-timeout", failure.data);
  say(bridge, failure);
  answerEverything(bridge, toRpcError(bridge, failure));
  finish(bridge, 1);
}

/** Ends the core: nothing that comes after this has an effect. */
export function finish(bridge: Bridge, status: number): void {
  bridge.phase = "over";
  bridge.effects.push({ type: "done", status });
}

function exitFailure(bridge: Bridge, exit: NonNullable<Bridge["agentExit"]>, working: boolean): Failure {
  const { code, signal, spawnError, connection } = exit;
  if (spawnError !== undefined)
    return {
      phase: "start",
      message: `the agent could not be started: ${singleLine(spawnError.message)}`,
      hint:
        spawnError.code === "ENOENT"
          ? "Check the spelling, install the agent, or give its full path; the command after -- is run as it stands, without a shell."
          : "Check that the file is a program you may execute.",
      data: { cause: spawnError.code },
    };
  if (connection !== undefined)
    return {
      phase: bridge.phase !== "ready" ? "connect" : working ? "turn" : "session",
      message: [connection, refusalBefore(bridge, exit)?.message ?? ""].map(singleLine).filter(Boolean).join(": "),
      hint: "Check that the agent runs and listens there, and, where it asks for a token, that --token-file holds the right one.",
      data: {},
    };
  const ending = signal === null ? `exited with status ${code}` : `was ended by ${signal}`;
  const data = { exitCode: code, signal };
  if (bridge.phase !== "ready")
    return {
      phase: bridge.phase === "initializing" ? "initialize" : "start",
      message: `the agent ${ending} before it answered initialize`,
      hint: "Run the command by itself to see what it says: it may not be an ACP agent, may need a flag such as --acp, or may need to be logged in.",
      data,
    };
  return {
    phase: working ? "turn" : "session",
    message: `the agent ${ending}${working ? " while it was working" : ""}`,
    hint: "What it said last is above; start it again to go on.",
    data,
  };
}

/** Why a connection was ended at once: whoever says no to `initialize` may not wait to be asked once more. */
function refusalBefore({ phase, refusal }: Bridge, { connection }: NonNullable<Bridge["agentExit"]>) {
  return phase === "initializing" && connection !== undefined ? refusal : undefined;
}

function exitStatus(bridge: Bridge, exit: NonNullable<Bridge["agentExit"]>, busy: boolean): number {
  if (exit.spawnError !== undefined) return exit.spawnError.code === "ENOENT" ? 127 : 126;
  if (bridge.clientLeft) return 0;
  if (exit.signal !== null) return 128 + (SIGNAL_NUMBERS[exit.signal] ?? 0);
  if (exit.code !== 0 && exit.code !== null) return exit.code;
  // An agent that leaves work undone has failed, whatever it says.
  return busy ? 1 : 0;
}

function toRpcError(bridge: Bridge, failure: Failure): RpcError {
  const { message, hint, phase, data } = failure;
  const command = bridge.options.agentCommand.join(" ");
  return rpcError(ErrorCode.internalError, `${message} (${command})`, {
    command: bridge.options.agentCommand,
    phase,
    ...data,
    stderr: lastStderrLines(bridge),
    hint,
  });
}

function say(bridge: Bridge, failure: Failure): void {
  const stderr = lastStderrLines(bridge);
  const lines = [
    `acp-shift: ${failure.message}`,
    `  command: ${bridge.options.agentCommand.join(" ")}`,
    `  phase:   ${failure.phase}`,
    ...(stderr.length > 0 ? ["  its last words:", ...stderr.map((line) => `    ${line}`)] : []),
    `  ${failure.hint}`,
  ];
  bridge.effects.push({ type: "say", text: lines.join("\n") });
}

function lastStderrLines(bridge: Bridge): string[] {
  return bridge.options
    .agentStderr()
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "")
    .slice(-STDERR_LINES)
    .map((line) => printable(line.slice(0, STDERR_LINE_LENGTH)));
}
