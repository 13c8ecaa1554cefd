/**
 * Terminals for an agent whose client has none to offer (docs/mapping.md §10): the v1 `terminal/*` requests, answered by
 * processes of this machine.
 */
import { ErrorCode, invalidParams, RequestFault, rpcError } from "../protocol/errors.ts";
import { asString, type JsonObject } from "../protocol/json.ts";
import { atExit } from "../transport/at-exit.ts";
import type { Ladder } from "../transport/process-group.ts";
import { cwdFault } from "../transport/spawn.ts";
import { createTail, type Tail } from "../transport/tail.ts";
import { type CommandExit, type RunningCommand, runCommand } from "./command.ts";
import { commandLine } from "./command-line.ts";
import { countParam, pathParam, textParam, textsParam, variablesParam } from "./params.ts";

/**
 * The requests take the v1 params and give the v1 result. Each raises a {@link RequestFault}: `-32602` for params that are
 * wrong, `-32002` with `data: {terminalId}` for a terminal the session does not have or no longer has.
 */
export interface HostedTerminals {
  /**
   * `terminal/create` (schema v1 `CreateTerminalRequest`) under an id that was never given before, in any session.
   *
   * Without `cwd` the command runs in `defaults.cwd`. It has the bridge's environment, less the bridge's own
   * `ACP_SHIFT_*` variables, and the request's variables over it; its stdin is empty. Of its output the last
   * `outputByteLimit` bytes are kept: 1 MiB when there is no limit, never more than 16 MiB.
   *
   * A command that cannot be started is no fault: as in a shell, the terminal exits with 127 (not found) or 126, and the
   * reason is its output. That is what agents know how to show to the model; some give up the session over an error.
   *
   * @throws RequestFault also when the working directory cannot be used, or after {@link closeAll}
   */
  create(terminalId: string, params: JsonObject, defaults: { cwd: string }): void;
  /** `terminal/output`: what is kept of the output so far, and `exitStatus` once the command has ended. */
  output(params: JsonObject): JsonObject;
  /** `terminal/wait_for_exit`. Answered also when the terminal is released meanwhile. Rejects with the fault. */
  waitForExit(params: JsonObject): Promise<JsonObject>;
  /** `terminal/kill`: begins to end the command and all it has started. The terminal stays. */
  kill(params: JsonObject): JsonObject;
  /** `terminal/release`: the same, and the terminal is forgotten. */
  release(params: JsonObject): JsonObject;
  /** Stops reading what the commands write, so that they are held up; those created later as well. */
  pause(): void;
  resume(): void;
  /** Releases the terminals of a session. */
  closeSession(sessionId: string): void;
  /**
   * Releases all terminals; none can be created any more. Resolves when nothing that was started here runs, and each end
   * was reported. Never rejects.
   */
  closeAll(): Promise<void>;
  /** Kills all that runs at once. Happens by itself when this process exits. */
  killNow(): void;
}

/** None of them is called from within a function of {@link HostedTerminals}. */
export interface TerminalHandlers {
  /** The terminal's new output, stdout and stderr in the order of arrival, cut between characters. Not after a release. */
  onOutput(sessionId: string, terminalId: string, bytes: Uint8Array): void;
  /**
   * The command has ended. Called once for each terminal, also for a released one. All output came before, except that of
   * processes the command has left running.
   */
  onExit(sessionId: string, terminalId: string, exit: CommandExit): void;
}

interface Terminal {
  sessionId: string;
  command: RunningCommand;
  outputLimit: number;
  /** Undefined when the output was dropped. */
  output: Tail | undefined;
  exit: CommandExit | undefined;
  whenExited: Promise<CommandExit>;
}

const DEFAULT_OUTPUT_LIMIT = 1024 * 1024;
const MAX_OUTPUT_LIMIT = 16 * 1024 * 1024;
/** For agents that never release: of how many terminals that have ended the output is kept. */
const ENDED_OUTPUTS = 64;

/** @param ladder how commands are ended: TERM at once, KILL after `killAfterMs` */
export function createTerminals(handlers: TerminalHandlers, ladder: Ladder): HostedTerminals {
  const terminals = new Map<string, Terminal>();
  // What may still run, released or not.
  const running = new Set<RunningCommand>();
  let paused = false;
  let closed = false;

  function killNow(): void {
    for (const command of running) command.killNow();
  }
  const letGo = atExit(killNow);

  function create(terminalId: string, params: JsonObject, defaults: { cwd: string }): void {
    if (closed) throw new RequestFault(rpcError(ErrorCode.internalError, "terminals are closed: acp-shift is ending"));
    const sessionId = textParam(params, "sessionId");
    const program = textParam(params, "command");
    if (program === "") throw invalidParams("command must not be empty");
    const args = textsParam(params, "args");
    const env = { ...inheritedVariables(), ...variablesParam(params, "env") };
    const cwd = (params["cwd"] ?? undefined) === undefined ? defaults.cwd : pathParam(params, "cwd");
    const outputLimit = Math.min(countParam(params, "outputByteLimit") ?? DEFAULT_OUTPUT_LIMIT, MAX_OUTPUT_LIMIT);
    const fault = cwdFault(cwd);
    if (fault !== undefined) throw invalidParams(fault);

    let reportExit: (exit: CommandExit) => void = () => {};
    const whenExited = new Promise<CommandExit>((resolve) => {
      reportExit = resolve;
    });
    const command = runCommand(commandLine(program, args, cwd, env), { cwd, env }, ladder, {
      onOutput(bytes) {
        terminal.output?.push(bytes);
        handlers.onOutput(sessionId, terminalId, bytes);
      },
      onExit(exit) {
        terminal.exit = exit;
        reportExit(exit);
        dropOldOutputs();
        handlers.onExit(sessionId, terminalId, exit);
      },
      onGone: () => void running.delete(command),
    });
    const output = createTail(outputLimit);
    const terminal: Terminal = { sessionId, command, outputLimit, output, exit: undefined, whenExited };
    if (paused) command.pause();
    running.add(command);
    terminals.set(terminalId, terminal);
  }

  function dropOldOutputs(): void {
    const ended = [...terminals.values()].filter(({ exit, output }) => exit && output);
    for (const terminal of ended.slice(0, -ENDED_OUTPUTS)) terminal.output = undefined;
  }

  function find(params: JsonObject): Terminal {
    const terminalId = textParam(params, "terminalId");
    const terminal = terminals.get(terminalId);
    if (terminal !== undefined && terminal.sessionId === asString(params["sessionId"])) return terminal;
    throw new RequestFault(rpcError(ErrorCode.resourceNotFound, "the session has no such terminal", { terminalId }));
  }

  function forget(terminalId: string, terminal: Terminal): void {
    terminals.delete(terminalId);
    void terminal.command.release();
  }

  return {
    create,
    output(params) {
      const { output, outputLimit, exit } = find(params);
      return { ...outputResult(output, outputLimit), ...(exit && { exitStatus: { ...exit } }) };
    },
    async waitForExit(params) {
      return { ...(await find(params).whenExited) };
    },
    kill(params) {
      void find(params).command.kill();
      return {};
    },
    release(params) {
      forget(textParam(params, "terminalId"), find(params));
      return {};
    },
    pause() {
      paused = true;
      for (const { command } of terminals.values()) command.pause();
    },
    resume() {
      paused = false;
      for (const { command } of terminals.values()) command.resume();
    },
    closeSession(sessionId) {
      for (const [terminalId, terminal] of terminals) {
        if (terminal.sessionId === sessionId) forget(terminalId, terminal);
      }
    },
    async closeAll() {
      closed = true;
      const open = [...terminals.values()].map(({ command }) => command);
      terminals.clear();
      await Promise.all([...open, ...running].map((command) => command.release()));
      letGo();
    },
    killNow,
  };
}

/** The bridge's environment less its own settings. */
function inheritedVariables(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("ACP_SHIFT_")));
}

/** What is kept, as text of at most `limit` bytes: bytes that are no UTF-8 grow when they become U+FFFD. */
function outputResult(output: Tail | undefined, limit: number): { output: string; truncated: boolean } {
  if (output === undefined) return { output: "", truncated: true };
  const text = output.text();
  if (Buffer.byteLength(text) <= limit) return { output: text, truncated: output.truncated };
  const shorter = createTail(limit);
  shorter.push(Buffer.from(text));
  return { output: shorter.text(), truncated: true };
}
