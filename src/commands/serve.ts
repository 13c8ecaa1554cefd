import { statSync } from "node:fs";
import { constants } from "node:os";
import type { Settings } from "../config/settings.ts";
import { at, UsageError } from "../config/usage-error.ts";
import { childLogger, type Logger } from "../logging.ts";
import type { Watch } from "../ops/connection.ts";
import { ErrorCode, rpcError } from "../protocol/errors.ts";
import { failure } from "../protocol/frames.ts";
import { type Address, addressText, isLocal, parseAddress } from "../remote/address.ts";
import { type Client, type Reception, refuse } from "../remote/arrival.ts";
import { createGate } from "../remote/gate.ts";
import { lineOf } from "../remote/line.ts";
import { type Listener, listenOnTcp, listenOnUnix } from "../remote/listen-lines.ts";
import { onShutdown } from "../transport/signals.ts";
import { within } from "../transport/within.ts";
import { type AgentSource, tokenOf } from "./agent.ts";
import { openOps } from "./ops.ts";
import { pathsOf } from "./paths.ts";
import { recorderFor } from "./recording.ts";
import { type ClientEnd, type Shell, startShell } from "./shell.ts";

/** How much may wait for a reader of our stderr before what is said there is dropped, in bytes. */
const STDERR_BACKLOG = 1024 * 1024;

/** How long a client may take to read what was written to it last, in ms. */
const FAREWELL = 2000;

/**
 * `acp-shift serve`: takes clients where the settings say, each with a bridge and an agent of its own, until a signal ends
 * it. Says on stderr where it listens; writes nothing on stdout.
 *
 * @returns the exit status: 128 + signal, or 1 when something else went wrong
 * @throws UsageError when something cannot be listened on, or must not be (docs/remote.md)
 */
export async function serve(settings: Settings, agent: AgentSource, log: Logger): Promise<number> {
  // Nobody reads our stderr: the service goes on without it.
  process.stderr.on("error", () => {});
  const tell = (text: string) => {
    if (process.stderr.writableLength < STDERR_BACKLOG) process.stderr.write(`${text}\n`);
  };
  const addresses = addressesOf(settings);
  checkTrace(settings);
  pathsOf(settings);

  const running = new Map<Shell, Watch>();
  const listeners: Listener[] = [];
  /** The exit status, once something has asked for the end. */
  let cause: number | undefined;
  let draining = false;
  let starting = true;
  let empty = (): void => {};
  let count = 0;
  let inside = 0;
  const ops = await openOps(settings, log, () => {
    if (cause !== undefined) return draining ? "draining" : "ending";
    if (starting) return "starting";
    return inside < settings.maxConnections ? undefined : "as many connections as --max-connections allows";
  });
  const gate = createGate(settings);
  const reception: Reception = {
    gate,
    token: await tokenOf(settings),
    maxFrame: settings.maxFrame,
    handshakeLimit: settings.handshakeLimit,
    log: ops.listening(log),
    welcome(client, leave) {
      const number = ++count;
      inside++;
      void runConnection(client, number).finally(() => {
        inside--;
        leave();
        log.info("connection-left", { connection: number });
      });
    },
  };

  /** One client, from its first message until nothing more is to be said to it. */
  async function runConnection(client: Client, number: number): Promise<void> {
    const { stream, transport, peer } = client;
    const connectionLog = childLogger(reception.log, { connection: number });
    connectionLog.info("connection", { transport, peer });
    await new Promise<void>((release) => {
      void runBridge({ input: stream, output: stream, release }, number, connectionLog).catch((error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        connectionLog.error("connection-failed", { message });
        refuse(stream, rpcError(ErrorCode.internalError, message));
        release();
      });
    });
    stream.end();
    stream.resume();
    boundLost();
    if (!stream.closed) await within(FAREWELL, new Promise<void>((resolve) => stream.once("close", resolve)));
    stream.destroy();
  }

  /** The bridge of a new client, from its start until its agent is gone, whoever the client is by then. */
  async function runBridge(client: ClientEnd, number: number, connectionLog: Logger): Promise<void> {
    const tellOf = (text: string) => tell(text.replace(/^/gm, `[${number}] `));
    const watch = ops.connected(number);
    try {
      const recorder = await recorderFor(settings, tellOf);
      const shell = startShell({
        settings,
        agent,
        client,
        log: connectionLog,
        tell: tellOf,
        recorder,
        observer: watch.observer,
        ...(settings.linger > 0 && { shellOf: otherShellOf }),
      });
      function otherShellOf(sessionId: string): Shell | undefined {
        return [...running.keys()].find((other) => other !== shell && other.has(sessionId));
      }
      // It was held from the moment the client was let in.
      client.input.resume();
      running.set(shell, watch);
      if (cause !== undefined) shell.stop();
      const stopWatching = watchIdle(shell, connectionLog);
      const status = await shell.ended;
      stopWatching();
      running.delete(shell);
      await recorder?.end(status);
      connectionLog.info("connection-end", { status });
    } finally {
      watch.ended();
      if (running.size === 0) empty();
    }
  }

  /** As many agents may wait for a client as there may be clients. */
  function boundLost(): void {
    const lost = [...running.keys()].flatMap((shell) =>
      shell.waitsSince === undefined ? [] : { shell, since: shell.waitsSince },
    );
    lost.sort((one, other) => one.since - other.since);
    for (const { shell } of lost.slice(0, -settings.maxConnections)) shell.stop();
  }

  /** Ends a connection on which nothing has happened for too long. */
  function watchIdle(shell: Shell, connectionLog: Logger): () => void {
    const { idleLimit } = settings;
    if (idleLimit === 0) return () => {};
    let timer = setTimeout(check, idleLimit);
    function check(): void {
      const isWaiting = shell.busy || shell.waitsSince !== undefined;
      const left = isWaiting ? idleLimit : shell.lastFrame + idleLimit - performance.now();
      if (left > 0) {
        timer = setTimeout(check, left);
        return;
      }
      const reason = `ended: nothing was said for ${idleLimit / 1000} s (--idle-limit)`;
      connectionLog.warn("connection-idle", { idleLimit });
      shell.client?.output.write(lineOf(failure(null, rpcError(ErrorCode.internalError, reason))));
      shell.stop();
    }
    return () => clearTimeout(timer);
  }

  /** Ends each connection once no turn runs on it, and in any case when the time is up. */
  function drain(): void {
    draining = true;
    log.info("draining", { connections: running.size, ms: settings.drain });
    for (const [shell, watch] of running) {
      // Who waits for its client tells nobody that its turn has ended.
      const isFree = () => shell.waitsSince !== undefined && !shell.busy;
      watch.whenFree(() => shell.stop(), isFree);
    }
    setTimeout(() => {
      if (running.size > 0) log.warn("drain-limit", { connections: running.size, ms: settings.drain });
      stop();
    }, settings.drain).unref();
  }

  function stop(): void {
    draining = false;
    for (const shell of running.keys()) shell.stop();
  }

  const stopped = new Promise<void>((resolve) => {
    empty = () => cause !== undefined && resolve();
  });
  const removeSignals = onShutdown((signal, error) => {
    if (error !== undefined) {
      log.error("uncaught", { message: error.message, stack: error.stack });
      tell(`acp-shift: internal error: ${error.stack ?? error.message}`);
    }
    if (cause !== undefined) {
      for (const shell of running.keys()) shell.kill();
      return;
    }
    cause = signal === "uncaught" ? 1 : 128 + constants.signals[signal];
    // Clients over HTTP connect anew for what they say: the listeners stay until the last of them is gone.
    gate.close();
    if (signal === "SIGTERM") drain();
    else stop();
    if (running.size === 0) empty();
  });

  try {
    for (const address of addresses) {
      const listener = await listen(address, settings, reception);
      listeners.push(listener);
      const where = addressText(listener.address);
      log.info("listening", { address: where });
      tell(`acp-shift: listening on ${where}`);
      if (!isLocal(address) && !(address.scheme === "web" && address.secure))
        tell(`acp-shift: what is said on ${where}, the token too, is not encrypted: see docs/remote.md`);
    }
    starting = false;
    await stopped;
  } finally {
    for (const listener of listeners) listener.close();
    for (const shell of running.keys()) shell.stop();
    await ops.close();
    removeSignals();
  }
  setTimeout(() => process.exit(), FAREWELL).unref();
  return cause ?? 1;
}

async function listen(address: Address, settings: Settings, reception: Reception): Promise<Listener> {
  if (address.scheme === "unix") return listenOnUnix(address, reception);
  if (address.scheme === "tcp") return listenOnTcp(address, reception);
  const { listenOnWeb } = await import("../remote/listen-web.ts");
  const { allowHost = [], allowOrigin = [], tlsCert, tlsKey } = settings;
  return listenOnWeb(address, { allowHost, allowOrigin, tlsCert, tlsKey }, reception);
}

/** @throws UsageError when there is no address, one cannot be read, or one must not be listened on without a token */
function addressesOf({ listen: written, tokenFile }: Settings): Address[] {
  if (written === undefined || written.length === 0)
    throw new UsageError("serve needs at least one --listen URL, such as --listen ws://127.0.0.1:7000");
  const addresses = written.map((text) => at("--listen", () => parseAddress(text)));
  const open = addresses.find((address) => !isLocal(address));
  if (open !== undefined && tokenFile === undefined)
    throw new UsageError(
      `--listen: ${addressText(open)} can be reached from other machines, and whoever reaches it can run the agent: ` +
        "name a file with a secret by --token-file, or listen on 127.0.0.1",
    );
  return addresses;
}

/** @throws UsageError when the traces of all connections would go to one file */
function checkTrace({ trace }: Settings): void {
  if (trace !== undefined && !statSync(trace, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(`--trace: ${trace} is no directory; serve records each connection in a file of its own`);
}
