import { randomBytes } from "node:crypto";
import type { Readable, Writable } from "node:stream";
import { step } from "../bridge/bridge.ts";
import { takesChunks } from "../bridge/chunks.ts";
import type { Effect, Event, Side } from "../bridge/events.ts";
import { isWorking } from "../bridge/failures.ts";
import { canLinger, canMove } from "../bridge/linger.ts";
import { transcribes } from "../bridge/memory.ts";
import { type AgentBehaviour, type BridgeOptions, createBridge } from "../bridge/state.ts";
import { applyProfile, findProfile, loadProfiles, type Profile } from "../config/profiles.ts";
import type { Settings } from "../config/settings.ts";
import type { Logger } from "../logging.ts";
import type { Observer } from "../ops/observer.ts";
import { ErrorCode, RequestFault, type RpcError, rpcError } from "../protocol/errors.ts";
import { printExact } from "../protocol/exact.ts";
import { type Frame, failure } from "../protocol/frames.ts";
import { asObject, asString, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import { printable } from "../protocol/printable.ts";
import { readTextFile, writeTextFile } from "../services/files.ts";
import { createTerminals, type HostedTerminals, type TerminalHandlers } from "../services/terminals.ts";
import { openStore, type Store } from "../store/store.ts";
import type { Recorder } from "../trace/recorder.ts";
import { unreadStrings } from "../translate/tool-calls.ts";
import { type Abridged, abridge } from "../transport/abridge.ts";
import type { AgentAhead } from "../transport/agent-ahead.ts";
import type { AgentHandlers, AgentProcess } from "../transport/agent-process.ts";
import { createChunkReader } from "../transport/chunk-reader.ts";
import { decodeAgentLine, decodeClientLine } from "../transport/decode.ts";
import { createLineSplitter, type Line, type LineReader, type LineSplitter } from "../transport/lines.ts";
import { createOutput, type Output } from "../transport/output.ts";
import { createTail } from "../transport/tail.ts";
import { within } from "../transport/within.ts";
import type { AgentSource } from "./agent.ts";
import { pathsOf } from "./paths.ts";
import { rehearse } from "./rehearsal.ts";
import { loadSchema } from "./schemas.ts";

/** Two streams, or the two ends of one; whoever opened them destroys that, or the output, once they are released. */
export interface ClientEnd {
  /** Emits `goodbye` before its end where the client can say that it will not come back. */
  input: Readable;
  output: Writable;
  /** Called once no shell needs them any more. */
  release?(): void;
}

/** A client that goes over from one shell to another. */
export interface MovingClient {
  end: ClientEnd;
  /** What it said of itself by `initialize`. */
  capabilities: JsonObject;
  /** What was read of it and is not dealt with: lines, and in the splitter the beginning of one. */
  lines: Line[];
  splitter: LineSplitter;
}

/** What a shell is made of: one agent to run, one client to speak with. */
export interface ShellOptions {
  settings: Settings;
  agent: AgentSource;
  client: ClientEnd;
  /** The agent, when it has been started already. */
  started?: AgentAhead | undefined;
  log: Logger;
  /** Records all that passes; the caller ends it after the shell. */
  recorder?: Recorder | undefined;
  /** Told of all that passes. */
  observer?: Observer | undefined;
  /** Where the agent's stderr and messages for the person go, line by line. */
  tell(text: string): void;
  /** Sees every frame of the agent's before it is handled. */
  onAgentFrame?(frame: JsonObject): void;
  /** The other shell that has this session, where a client that was lost may come back. */
  shellOf?(sessionId: string): Shell | undefined;
}

/** A running bridge. */
export interface Shell {
  /** The exit status, once the agent is gone and all output has been handed over. */
  readonly ended: Promise<number>;
  /** Whether a turn runs, or a request of the client's is open; in pass-through, as far as that can be told. */
  readonly busy: boolean;
  /** When the last frame came from either side, by `performance.now()`. */
  readonly lastFrame: number;
  /** Its client, while it has one. */
  readonly client: ClientEnd | undefined;
  /** Since when it waits for a client that it lost to come back (docs/linger.md), by `performance.now()`. */
  readonly waitsSince: number | undefined;
  /** True when the session is open here. */
  has(sessionId: string): boolean;
  /** Gives a shell that has lost its client one that resumes one of its sessions. */
  attach(client: MovingClient): void;
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
  const { settings, agent, recorder, observer } = options;
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
    agentCommand: agent.words,
    agentProtocol: settings.agentProtocol,
    handshakeTimeout: settings.handshakeTimeout,
    acceptWindow: settings.acceptWindow,
    cancelTimeout: settings.cancelTimeout,
    promptQueue: settings.promptQueue,
    unprompted: settings.unprompted,
    stallNotice: settings.stallNotice,
    remembers: settings.stateDir !== undefined,
    // Without a way back nobody is waited for.
    lingerLimit: options.shellOf !== undefined && settings.linger > 0 ? settings.lingerLimit : 0,
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
    behaviourOf: (agentName) => behaviourOf(settings, agent.words[0] ?? "", agentName, log),
    schemaV1: () => loadSchema("v1/schema.json"),
    schemaV2: () => loadSchema("v2/schema.json"),
    // A command that is no agent says so on stdout: that counts as its last words too.
    agentStderr: () => `${child.stderrTail()}\n${noiseTail.text()}`,
  });

  let client: ClientEnd | undefined;
  let clientOutput = NOBODY;
  let clientSplitter = createLineSplitter(settings.maxFrame);
  let forgetClient = (): void => {};
  let child: AgentProcess;
  let agentSplitter: LineSplitter;
  let agentOutput: Output;
  let ahead = options.started;
  runAgent();
  // An agent takes its time to start: enough to read what its first answer needs, and to be ready for the first prompt.
  setImmediate(readAhead);
  setImmediate(rehearseOnce, bridge.options);

  function runAgent(): void {
    const splitter = createLineSplitter(settings.maxFrame);
    agentSplitter = splitter;
    // What an agent that was replaced still says is nobody's business.
    const whileCurrent = (act: () => void) => {
      if (agentSplitter === splitter) act();
    };
    observer?.agentStarted();
    const handlers: AgentHandlers = {
      onStdout: (chunk) => {
        observer?.arrived();
        whileCurrent(() => agentBytes(splitter, chunk));
      },
      onStdoutEnd: () => whileCurrent(() => agentEnd(splitter)),
      onStderrLine: (line) => {
        recorder?.stderr(line);
        options.tell(line);
      },
      onExit: (exit) => {
        observer?.agentExited(exit);
        whileCurrent(() => dispatch({ type: "agent-exit", ...exit }));
      },
      onClosed: (stream) => {
        log.warn("agent-closed", { stream });
        options.tell(`acp-shift: the agent closed its ${stream} and is of no use any more; it is being ended`);
      },
    };
    child = agentProcess(handlers);
    agentOutput = createOutput(child.stdin, {
      onDrain: () => client?.input.resume(),
      onBroken: (error) => log.debug("agent-input-broken", { message: error.message }),
    });
  }

  /** The agent that has been started already, once; else a new one. */
  function agentProcess(handlers: AgentHandlers): AgentProcess {
    if (ahead === undefined) return agent.start(ladder, handlers);
    const { agent: started, handOver } = ahead;
    ahead = undefined;
    handOver(handlers);
    return started;
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

  /** The line of the frame being handled, in a recorded run. */
  let handled: Uint8Array | undefined;

  /** @param source the record of the line a frame was found in, when it was not all of the line */
  function dispatch(event: Event, source?: number): void {
    const time = performance.now();
    const now = recorder?.now() ?? time;
    if (event.type === "frame" || event.type === "chunk") lastFrame = time;
    recorder?.event(event, now, source);
    handled = recorder !== undefined && event.type === "frame" ? event.line : undefined;
    observer?.event(event);
    const effects = step(bridge, event, now);
    for (const effect of effects) perform(effect);
    clientOutput.offer();
    agentOutput.offer();
    // That takes its time, which nobody who waits for a frame should wait for.
    for (const effect of effects) if (!finishing) keepTime(effect);
    recorder?.settled();
    observer?.settled();
  }

  function keepTime(effect: Effect): void {
    if (effect.type !== "timer" && effect.type !== "clear-timer") return;
    clearTimeout(timers.get(effect.name));
    timers.delete(effect.name);
    if (effect.type === "clear-timer") return;
    const ring = () => {
      timers.delete(effect.name);
      dispatch({ type: "timer", name: effect.name });
    };
    timers.set(effect.name, setTimeout(ring, effect.ms));
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
    const text = printExact(frame);
    const pieces = abridged?.restore(text);
    if (pieces === undefined) outputOf(to).write(text);
    else outputOf(to).join(pieces);
    // Recorded as what passed it costs less.
    if (handled !== undefined && !("id" in frame) && outputOf(to).wrote(handled)) recorder?.forwarded(to, handled);
    else recorder?.sent(to, frame, text);
    observer?.sent(to, frame, pieces ?? text);
  }

  function perform(effect: Effect): void {
    switch (effect.type) {
      case "send":
        send(effect.to, effect.frame);
        break;
      case "forward":
        outputOf(effect.to).write(effect.line);
        recorder?.forwarded(effect.to, effect.line);
        observer?.forwarded(effect.to, effect.line);
        break;
      case "splice": {
        const { chunk, frame } = effect;
        clientOutput.splice(frame.before, chunk.source, chunk.textStart, chunk.textEnd, frame.after);
        recorder?.spliced(effect.to, chunk, frame);
        observer?.spliced(effect.to, frame.before.length + chunk.textEnd - chunk.textStart + frame.after.length);
        break;
      }
      case "timer":
      case "clear-timer":
        // The time of these comes later: see dispatch.
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

  function listenTo(next: ClientEnd): void {
    client = next;
    clientOutput = createOutput(next.output, { onDrain: resumeAgent, onBroken: gone });
    const { input } = next;
    const read = (chunk: Buffer) => {
      observer?.arrived();
      clientLines(clientSplitter.push(chunk));
    };
    let meansIt = false;
    const goodbye = () => {
      meansIt = true;
    };
    const end = () => {
      clientLines(clientSplitter.end());
      if (meansIt && client === next) clientLeft();
      else gone();
    };
    input.on("data", read).on("goodbye", goodbye).on("end", end).on("error", gone);
    if (input.readableEnded || input.destroyed) process.nextTick(gone);
    forgetClient = () => {
      client = undefined;
      clientOutput = NOBODY;
      input
        .off("data", read)
        .off("goodbye", goodbye)
        .off("end", end)
        .off("error", gone)
        .on("error", () => {});
    };
    function gone(): void {
      if (client === next) clientGone();
    }
  }

  function resumeAgent(): void {
    child.resumeStdout();
    terminals?.resume();
  }

  function clientLines(lines: Line[]): void {
    for (const [index, line] of lines.entries()) {
      if ("oversized" in line) {
        dispatch({ type: "oversized", from: "client", bytes: line.oversized, head: line.head, tail: line.tail });
        continue;
      }
      const decoded = decodeClientLine(line.bytes);
      if ("fault" in decoded) {
        dispatch({ type: "not-json", line: line.bytes });
        continue;
      }
      if (goesOver(decoded.value, () => lines.slice(index))) return;
      dispatch({ type: "frame", from: "client", value: decoded.value, line: line.bytes });
    }
    if (agentOutput.full) client?.input.pause();
  }

  /** @returns true when the client goes on, from this frame, in the shell that has the session it resumes */
  function goesOver(frame: unknown, rest: () => Line[]): boolean {
    if (options.shellOf === undefined) return false;
    const sessionId = sessionResumed(frame);
    if (sessionId === undefined || has(sessionId)) return false;
    const other = options.shellOf(sessionId);
    if (other === undefined) return false;
    if (client !== undefined && other.waitsSince !== undefined && canMove(bridge)) {
      const moving = { end: client, capabilities: bridge.clientCapabilities, lines: rest(), splitter: clientSplitter };
      log.info("client-moved", { sessionId });
      dispatch({ type: "client-moved" });
      void clientOutput.flush();
      forgetClient();
      leave();
      other.attach(moving);
      return true;
    }
    const message =
      other.waitsSince !== undefined
        ? "the session waits for its client, and this connection has sessions of its own: resume it over a new one"
        : "the session is open over another connection";
    // Who comes back may be faster than the news that the connection is dead.
    other.client?.input.emit("doubt");
    dispatch({ type: "session-elsewhere", message });
    return false;
  }

  function has(sessionId: string): boolean {
    return !left && !finishing && bridge.sessions.has(sessionId);
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
    else if (recorder?.isBehind) letLoopTurn();
  }

  /** While a pipe is always full, Node reads it 32 times before it looks at anything else. */
  function letLoopTurn(): void {
    child.pauseStdout();
    setImmediate(() => {
      if (!clientOutput.full) resumeAgent();
    });
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
      options.tell(printable(text));
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
  let lastFrame = performance.now();
  let waitsSince: number | undefined;
  let lingering: NodeJS.Timeout | undefined;

  /** The client's connection ended, or broke: it may come back, where there is something to come back to. */
  function clientGone(): void {
    const lost = client;
    if (left || !canLinger(bridge)) return clientLeft();
    forgetClient();
    dispatch({ type: "client-lost" });
    resumeAgent();
    waitsSince = performance.now();
    lingering = setTimeout(clientLeft, settings.linger);
    lost?.release?.();
  }

  function stopWaiting(): void {
    waitsSince = undefined;
    clearTimeout(lingering);
  }

  function attach({ end, capabilities, lines, splitter }: MovingClient): void {
    stopWaiting();
    clientSplitter = splitter;
    listenTo(end);
    dispatch({ type: "client-back", capabilities });
    end.input.resume();
    clientLines(lines);
  }

  function clientLeft(): void {
    dispatch({ type: "client-left" });
    leave();
  }

  function leave(): void {
    left = true;
    stopWaiting();
    // A client that left, or never reads, is owed only so much patience.
    setTimeout(abandonClient, settings.termAfter + settings.killAfter).unref();
    void agentOutput.flush();
    void child.stop(ladder);
  }

  listenTo(options.client);

  async function finish(status: number): Promise<void> {
    finishing = true;
    for (const timer of timers.values()) clearTimeout(timer);
    stopWaiting();
    const last = client;
    const output = clientOutput;
    forgetClient();
    last?.input.pause();
    if (!Object.is(last?.input, last?.output)) last?.input.destroy();
    void agentOutput.flush();
    await Promise.all([child.stop(ladder), terminals?.closeAll()]);
    if (store !== undefined) await within(settings.killAfter, store.close());
    await Promise.race([output.flush(), clientAbandoned]);
    last?.release?.();
    resolve(status);
  }

  return {
    ended,
    get busy() {
      return isWorking(bridge) || bridge.clientRequests.size > 0;
    },
    get lastFrame() {
      return lastFrame;
    },
    get client() {
      return client;
    },
    get waitsSince() {
      return waitsSince;
    },
    has,
    attach,
    stop: clientLeft,
    kill() {
      child.killNow();
      terminals?.killNow();
    },
  };
}

/** Stands in for the output to a client that is not there: the core sends it nothing. */
const NOBODY: Output = {
  write() {},
  join() {},
  splice() {},
  offer() {},
  wrote: () => false,
  full: false,
  flush: () => Promise.resolve(),
};

/** The session a client's frame asks to have, in either version; undefined for any other frame. */
function sessionResumed(frame: unknown): string | undefined {
  const { method, params } = asObject(frame);
  const isResume = method === Method.sessionResume || method === Method.sessionLoad;
  return isResume ? asString(asObject(params)["sessionId"]) : undefined;
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

function readAhead(): void {
  loadSchema("v1/schema.json");
  loadSchema("v2/schema.json");
  shippedProfiles();
}

let rehearsed = false;

function rehearseOnce(options: BridgeOptions): void {
  if (rehearsed) return;
  rehearsed = true;
  rehearseOn(rehearse(options));
}

function rehearseOn(steps: ReturnType<typeof rehearse>): void {
  if (!steps.next().done) setImmediate(rehearseOn, steps).unref();
}

let profiles: readonly Profile[] | undefined;

function shippedProfiles(): readonly Profile[] {
  profiles ??= loadProfiles();
  return profiles;
}

/** What the user chose, else what the profile for this agent says, else the defaults. */
function behaviourOf(
  settings: Settings,
  command: string,
  agentInfoName: string | undefined,
  log: Logger,
): AgentBehaviour {
  const profile = findProfile(shippedProfiles(), { named: settings.profile, agentInfoName, command });
  if (profile === undefined) return settings;
  log.info("profile", { profile: profile.name, agent: agentInfoName });
  return applyProfile(settings, profile);
}
