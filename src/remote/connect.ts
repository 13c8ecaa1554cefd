import { connect as connectSocket } from "node:net";
import type { Duplex } from "node:stream";
import type { AgentHandlers, AgentProcess } from "../transport/agent-process.ts";
import type { Ladder } from "../transport/process-group.ts";
import { within } from "../transport/within.ts";
import { type Address, addressText } from "./address.ts";
import type { Token } from "./token.ts";
import { webSocketLines } from "./web-socket.ts";

export interface ConnectOptions {
  /** Presented to the other end when there is one. */
  token: Token | undefined;
  /** The longest message, in bytes. */
  maxFrame: number;
}

/** Opens a stream of lines to an address; what is written before it stands waits. Errors come from the stream. */
export type Dial = () => Duplex;

/** How an address is dialled. What is needed for it is loaded here. */
export async function dialler(address: Address, { token, maxFrame }: ConnectOptions): Promise<Dial> {
  if (address.scheme === "web") {
    const { WebSocket } = await import("ws");
    const headers = token === undefined ? {} : { authorization: token.bearer };
    return () => {
      const socket = new WebSocket(addressText(address), { headers, perMessageDeflate: false, maxPayload: maxFrame });
      return webSocketLines(socket);
    };
  }
  const target = address.scheme === "unix" ? { path: address.path } : { host: address.host, port: address.port };
  return () => {
    const socket = connectSocket({ ...target, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 });
    // Nobody asks for it on a unix: socket; who is at the other end there must not learn what clients on other ways present.
    if (token !== undefined && address.scheme === "tcp") socket.write(token.line);
    return socket;
  };
}

/**
 * An agent that is reached over a connection in place of being run. Losing the connection is its exit: status 0 when the
 * other end closed it, else 1, with a message that says what became of it.
 *
 * @param where how messages name the other end
 */
export function startConnection(dial: Dial, where: string, handlers: AgentHandlers): AgentProcess {
  const stream = dial();
  let fault: Error | undefined;
  let reached = false;
  let ended = false;
  let report = (): void => {};
  const whenClosed = new Promise<void>((resolve) => {
    report = resolve;
  });

  function endOutput(): void {
    if (!ended) handlers.onStdoutEnd();
    ended = true;
    stream.end();
  }

  stream.on("connect", () => {
    reached = true;
  });
  stream.on("data", (chunk: Buffer) => {
    reached = true;
    handlers.onStdout(chunk);
  });
  stream.on("end", endOutput);
  stream.on("error", (error) => {
    fault ??= error;
  });
  stream.on("close", () => {
    endOutput();
    handlers.onExit({ code: fault === undefined ? 0 : 1, signal: null, connection: message() });
    report();
  });

  function message(): string {
    if (fault === undefined) return `the agent at ${where} closed the connection`;
    if (reached) return `the connection to the agent at ${where} was lost: ${fault.message}`;
    return `the agent at ${where} cannot be reached: ${fault.message || (fault as NodeJS.ErrnoException).code}`;
  }

  return {
    pid: undefined,
    stdin: stream,
    pauseStdout: () => void stream.pause(),
    resumeStdout: () => void stream.resume(),
    stderrTail: () => "",
    async stop(ladder: Ladder) {
      stream.end();
      await within(ladder.termAfterMs, whenClosed);
      stream.destroy();
      await whenClosed;
    },
    killNow: () => void stream.destroy(),
  };
}
