import { randomBytes } from "node:crypto";
import type { Readable, Writable } from "node:stream";
import { step } from "../bridge/bridge.ts";
import { takesChunks } from "../bridge/chunks.ts";
import type { Effect, Event, Side } from "../bridge/events.ts";
import { transcribes } from "../bridge/memory.ts";
import { type AgentBehaviour, createBridge } from "../bridge/state.ts";
import { applyProfile, findProfile, loadProfiles } from "../config/profiles.ts";
import type { Settings } from "../config/settings.ts";
import { UsageError } from "../config/usage-error.ts";
import type { Logger } from "../logging.ts";
import { ErrorCode, RequestFault, type RpcError, rpcError } from "../protocol/errors.ts";
import { type Frame, failure } from "../protocol/frames.ts";
import { asObject, type JsonObject } from "../protocol/json.ts";
import { readTextFile, writeTextFile } from "../services/files.ts";
import { createTerminals, type HostedTerminals, type TerminalHandlers } from "../services/terminals.ts";
import { openStore, type Store } from "../store/store.ts";
import type { Recorder } from "../trace/recorder.ts";
import { type PathMap, parsePathMap } from "../translate/path-map.ts";
import { unreadStrings } from "../translate/tool-calls.ts";
import { type Abridged, abridge } from "../transport/abridge.ts";
import { type AgentProcess, startAgent } from "../transport/agent-process.ts";
import { createChunkReader } from "../transport/chunk-reader.ts";
import { decodeAgentLine, decodeClientLine } from "../transport/decode.ts";
import { createLineSplitter, type Line, type LineReader, type LineSplitter } from "../transport/lines.ts";
import { createOutput, type Output } from "../transport/output.ts";
import { createTail } from "../transport/tail.ts";
import { within } from "../transport/within.ts";
import { loadSchema } from "./schemas.ts";

/** What a shell is made of: one agent to run, one client to speak with. */
export interface ShellOptions {
  settings: Settings;
  agent: { command: string; args: string[] };
  client: { input: Readable; output: Writable };
  log: Logger;
  /** Records all that passes; the caller ends it after the shell. */
  recorder?: Recorder | undefined;
  /** Where the agent's stderr and messages for the person go, line by line. */
  tell(text: string): void;
  /** Sees every frame of the agent's before it is handled. */
  onAgentFrame?(frame: JsonObject): void;
}

/** A running bridge. */
export interface Shell {
  /** The exit status, once the agent is gone and all output has been handed over. */
  readonly ended: Promise<number>;
  /** Ends the agent as if the client had left. */
  stop(): void;
  /** Kills the agent with everything it started. */
  kill(): void;
}

/** How much of a line that is no frame goes to the log, in characters; all of it goes to stderr. */
const LOGGED_NOISE = 1000;

/** From this length on a line may be worth being read without its long strings, in bytes. */
const LONG_LINE = 256 * 1024;

/** How much noise is kept to say what the agent said last, in bytes. */
const NOISE_TAIL = 64 * 1024;

/**
 * Runs an agent and bridges between it and one client: the world round the synchronous core. Bytes become lines, lines
 * become events; effects become bytes and timers. A reader that is slow pauses the other side.
 */
export function startShell(options: ShellOptions): Shell {
  const { settings, agent, client, recorder } = options;
  const log = recorder?.listening(options.log) ?? options.log;
  const timers = new Map<string, NodeJS.Timeout>();
  const ladder = { termAfterMs: settings.termAfter, killAfterMs: settings.killAfter };
  let resolve: (status: number) => void = () => {};
  const ended = new Promise<number>((settle) => {
    resolve = settle;
  });

  const noiseTail = createTail(NOISE_TAIL);
  let store: Store | undefined;
  let terminals: HostedTerminals | undefined;
  let abandonClient: () => void = () => {};
  const clientAbandoned = new Promise<void>((settle) => {
    abandonClient = settle;
  });

  const facts = {
    agentCommand: [agent.command, ...agent.args],
    agentProtocol: settings.agentProtocol,
    handshakeTimeout: settings.handshakeTimeout,
    acceptWindow: settings.acceptWindow,
    cancelTimeout: settings.cancelTimeout,
    promptQueue: settings.promptQueue,
    unprompted: settings.unprompted,
    stallNotice: settings.stallNotice,
    remembers: settings.stateDir !== undefined,
    hosts: { terminals: settings.host.includes("terminal"), files: settings.host.includes("fs") },
    paths: pathsOf(settings),
    settle: settings.settle,
    replaySettle: settings.replaySettle,
    restatedMessages: settings.restatedMessages,
    restartAfterLogin: settings.restartAfterLogin,
    runId: recorder?.run ?? randomBytes(5).toString("hex"),
    timeOrigin: recorder?.timeOrigin ?? performance.timeOrigin,
  };
  recorder?.begin({ ...facts, profile: settings.profile, setByUser: [...settings.setByUser] });
  const bridge = createBridge({
    ...facts,
    behaviourOf: (agentName) => behaviourOf(settings, agent.command, agentName, log),
    schemaV1: () => loadSchema("v1/schema.json"),
    schemaV2: () => loadSchema("v2/schema.json"),
    // A command that is no agent says so on stdout: that counts as its last words too.
    agentStderr: () => `${child.stderrTail()}\n${noiseTail.text()}`,
  });

  const clientOutput = createOutput(client.output, {
    onDrain: () => {
      child.resumeStdout();
      terminals?.resume();
    },
    onBroken: () => clientLeft(),
  });
  let child: AgentProcess;
  let agentSplitter: LineSplitter;
  let agentOutput: Output;
  runAgent();

  function runAgent(): void {
    const splitter = createLineSplitter(settings.maxFrame);
    agentSplitter = splitter;
    // What an agent that was replaced still says is nobody's business.
    const whileCurrent = (act: () => void) => {
      if (agentSplitter === splitter) act();
    };
    child = startAgent(
      { ...agent, env: process.env, cwd: process.cwd(), ladder },
      {
        onStdout: (chunk) => whileCurrent(() => agentBytes(splitter, chunk)),
        onStdoutEnd: () => whileCurrent(() => agentEnd(splitter)),
        onStderrLine: (line) => {
          recorder?.stderr(line);
          options.tell(line);
        },
        onExit: (exit) => whileCurrent(() => dispatch({ type: "agent-exit", ...exit })),
        onClosed: (stream) => {
          log.warn("agent-closed", { stream });
          options.tell(`acp-shift: the agent closed its ${stream} and is of no use any more; it is being ended`);
        },
      },
    );
    agentOutput = createOutput(child.stdin, {
      onDrain: () => client.input.resume(),
      onBroken: (error) => log.debug("agent-input-broken", { message: error.message }),
    });
  }

  async function restartAgent(): Promise<void> {
    const former = child;
    agentSplitter = createLineSplitter(settings.maxFrame);
    void agentOutput.flush();
    await former.stop(ladder);
    if (finishing) return;
    if (left) return dispatch({ type: "agent-exit", code: 0, signal: null });
    runAgent();
    dispatch({ type: "agent-restarted" });
  }

  /** @param source the record of the line a frame was found in, when it was not all of the line */
  function dispatch(event: Event, source?: number): void {
    const now = recorder?.now() ?? performance.now();
    recorder?.event(event, now, source);
    for (const effect of step(bridge, event, now)) perform(effect);
    recorder?.settled();
  }

  function outputOf(side: Side): Output {
    return side === "client" ? clientOutput : agentOutput;
  }

  /** A frame that can be read but not written, for it nests too deeply, costs no more than whoever waits for it. */
  function send(to: Side, frame: Frame): void {
    try {
      write(to, frame);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      log.error("frame-unwritable", { to, message });
      if (!("id" in frame)) return;
      const refusal = failure(frame.id, rpcError(ErrorCode.internalError, `a message cannot be written: ${message}`));
      if (!("method" in frame)) write(to, refusal);
      // The answer it will never get, once the effects it came with are done.
      else queueMicrotask(() => dispatch({ type: "frame", from: to, value: refusal, line: new Uint8Array() }));
    }
  }

  function write(to: Side, frame: Frame): void {
    const text = JSON.stringify(frame);
    if (abridged === undefined) outputOf(to).write(text);
    else outputOf(to).join(abridged.restore(text));
    recorder?.sent(to, frame, text);
  }

  function perform(effect: Effect): void {
    switch (effect.type) {
      case "send":
        send(effect.to, effect.frame);
        break;
      case "forward":
        outputOf(effect.to).write(effect.line);
        recorder?.forwarded(effect.to, effect.line);
        break;
      case "splice": {
        const { chunk, frame } = effect;
        clientOutput.splice(frame.before, chunk.source, chunk.textStart, chunk.textEnd, frame.after);
        recorder?.spliced(effect.to, chunk, frame);
        break;
      }
      case "timer":
        clearTimeout(timers.get(effect.name));
        timers.set(
          effect.name,
          setTimeout(() => {
            timers.delete(effect.name);
            dispatch({ type: "timer", name: effect.name });
          }, effect.ms),
        );
        break;
      case "clear-timer":
        clearTimeout(timers.get(effect.name));
        timers.delete(effect.name);
        break;
      case "log":
        log[effect.level](effect.event, effect.details);
        break;
      case "restart-agent":
        void restartAgent();
        break;
      case "keep":
        storeOf(effect.agent)?.append(effect.sessionId, effect.record);
        break;
      case "forget":
        void storeOf(effect.agent)?.forget(effect.sessionId);
        break;
      case "recall":
        void recall(effect);
        break;
      case "host":
        void serve(effect);
        break;
      case "end-terminals":
        terminals?.closeSession(effect.sessionId);
        break;
      case "say":
        options.tell(effect.text);
        break;
      case "done":
        void finish(effect.status);
        break;
    }
  }

  function storeOf(agentName: string): Store | undefined {
    if (settings.stateDir === undefined) return undefined;
    store ??= openStore({
      directory: settings.stateDir,
      agent: agentName,
      limitBytes: settings.stateLimit,
      now: () => new Date(),
      onFault: (error) => log.error("state-fault", { message: error.message }),
    });
    return store;
  }

  async function recall({ agent: agentName, sessionId, token }: Effect & { type: "recall" }): Promise<void> {
    const kept = storeOf(agentName);
    const value = sessionId === undefined ? await kept?.list() : await kept?.read(sessionId);
    dispatch({ type: "recalled", token, value });
  }

  async function serve({ call, method, params, roots, terminalId }: Effect & { type: "host" }): Promise<void> {
    const outcome = await hostedOutcome(() => {
      if (method === "fs/read_text_file") return readTextFile(params, roots);
      if (method === "fs/write_text_file") return writeTextFile(params, roots);
      terminals ??= createTerminals(terminalHandlers, ladder);
      switch (method) {
        case "terminal/create":
          terminals.create(terminalId ?? "", params, { cwd: roots[0] ?? process.cwd() });
          return {};
        case "terminal/output":
          return terminals.output(params);
        case "terminal/wait_for_exit":
          return terminals.waitForExit(params);
        case "terminal/kill":
          return terminals.kill(params);
        case "terminal/release":
          return terminals.release(params);
        default:
          throw new RequestFault(rpcError(ErrorCode.methodNotFound, `${method} is not known here`));
      }
    });
    dispatch({ type: "hosted", call, outcome });
  }

  const terminalHandlers: TerminalHandlers = {
    onOutput(sessionId, terminalId, bytes) {
      const data = Buffer.from(bytes).toString("base64");
      dispatch({ type: "terminal", sessionId, terminalId, change: { data } });
      if (clientOutput.full) terminals?.pause();
    },
    onExit(sessionId, terminalId, { exitCode, signal }) {
      dispatch({ type: "terminal", sessionId, terminalId, change: { exitStatus: { exitCode, signal } } });
    },
  };

  const clientSplitter = createLineSplitter(settings.maxFrame);

  function clientLines(lines: Line[]): void {
    for (const line of lines) {
      if ("oversized" in line) {
        dispatch({ type: "oversized", from: "client", bytes: line.oversized, head: line.head, tail: line.tail });
        continue;
      }
      const decoded = decodeClientLine(line.bytes);
      if ("fault" in decoded) dispatch({ type: "not-json", line: line.bytes });
      else dispatch({ type: "frame", from: "client", value: decoded.value, line: line.bytes });
    }
    if (agentOutput.full) client.input.pause();
  }

  const chunkReader = createChunkReader();
  // Who looks at every frame is to get every frame.
  const readsChunks = () => options.onAgentFrame === undefined && takesChunks(bridge);
  // Who keeps frames is to keep all of them.
  const abridges = () => readsChunks() && recorder === undefined && !transcribes(bridge);
  /** The frame being handled, when its long strings stand aside. */
  let abridged: Abridged | undefined;
  const agentReader: LineReader = {
    within(bytes, start, end) {
      const chunk = readsChunks() ? chunkReader.read(bytes, start, end) : undefined;
      if (chunk !== undefined) dispatch({ type: "chunk", chunk });
      return chunk !== undefined;
    },
    line: agentLine,
  };

  function agentBytes(splitter: LineSplitter, bytes: Buffer): void {
    splitter.read(bytes, agentReader);
    if (clientOutput.full) child.pauseStdout();
  }

  function agentEnd(splitter: LineSplitter): void {
    for (const line of splitter.end()) agentLine(line);
    if (clientOutput.full) child.pauseStdout();
  }

  function agentLine(line: Line): void {
    if ("oversized" in line)
      return dispatch({ type: "oversized", from: "agent", bytes: line.oversized, head: line.head, tail: line.tail });
    if (line.bytes.length >= LONG_LINE && abridges() && agentLineAbridged(line.bytes)) return;
    const { frames, noise, recovered } = decodeAgentLine(line.bytes);
    const isTidy = frames.length === 1 && noise.length === 0 && recovered === undefined;
    const source = isTidy ? undefined : recorder?.untidy(line.bytes);
    for (const text of noise) {
      options.tell(text);
      const line = text.slice(0, LOGGED_NOISE);
      log.warn("agent-noise", { text: line });
      noiseTail.push(Buffer.from(`${line}\n`));
    }
    if (recovered !== undefined) log.warn("agent-line-recovered", { form: recovered, frames: frames.length });
    for (const frame of frames) {
      options.onAgentFrame?.(frame.value);
      if (isTidy && readsChunks()) chunkReader.parsed(frame.line, frame.value);
      dispatch({ type: "frame", from: "agent", value: frame.value, line: frame.line }, source);
    }
  }

  /** @returns false when all of the line has to be read */
  function agentLineAbridged(line: Buffer): boolean {
    const short = abridge(line);
    const unread = new Set(unreadStrings(asObject(asObject(short?.value["params"])["update"])));
    if (short === undefined || short.standIns.some((standIn) => !unread.has(standIn))) return false;
    abridged = short;
    try {
      dispatch({ type: "frame", from: "agent", value: short.value, line });
    } finally {
      abridged = undefined;
    }
    return true;
  }

  let left = false;
  let finishing = false;

  function clientLeft(): void {
    left = true;
    // A client that left, or never reads, is owed only so much patience.
    setTimeout(abandonClient, settings.termAfter + settings.killAfter).unref();
    dispatch({ type: "client-left" });
    void agentOutput.flush();
    void child.stop(ladder);
  }

  client.input.on("data", (chunk: Buffer) => clientLines(clientSplitter.push(chunk)));
  client.input.on("end", () => {
    clientLines(clientSplitter.end());
    clientLeft();
  });
  client.input.on("error", () => clientLeft());

  async function finish(status: number): Promise<void> {
    finishing = true;
    for (const timer of timers.values()) clearTimeout(timer);
    client.input.removeAllListeners("data").pause().destroy();
    void agentOutput.flush();
    await Promise.all([child.stop(ladder), terminals?.closeAll()]);
    if (store !== undefined) await within(settings.killAfter, store.close());
    await Promise.race([clientOutput.flush(), clientAbandoned]);
    resolve(status);
  }

  return {
    ended,
    stop: clientLeft,
    kill() {
      child.killNow();
      terminals?.killNow();
    },
  };
}

/** What a hosted service did, or why it could not. */
async function hostedOutcome(
  act: () => JsonObject | Promise<JsonObject>,
): Promise<{ result: JsonObject } | { error: RpcError }> {
  try {
    return { result: await act() };
  } catch (fault) {
    if (fault instanceof RequestFault) return { error: fault.error };
    return { error: rpcError(ErrorCode.internalError, fault instanceof Error ? fault.message : String(fault)) };
  }
}

/** @throws UsageError when an entry of `--map` cannot be used */
function pathsOf(settings: Settings): PathMap | undefined {
  if (settings.map === undefined) return undefined;
  try {
    return parsePathMap(settings.map);
  } catch (error) {
    throw new UsageError(`--map: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** What the user chose, else what the profile for this agent says, else the defaults. */
function behaviourOf(
  settings: Settings,
  command: string,
  agentInfoName: string | undefined,
  log: Logger,
): AgentBehaviour {
  const profile = findProfile(loadProfiles(), { named: settings.profile, agentInfoName, command });
  if (profile === undefined) return settings;
  log.info("profile", { profile: profile.name, agent: agentInfoName });
  return applyProfile(settings, profile);
}
