import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { Server, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { UsageError } from "../config/usage-error.ts";
import type { Address } from "./address.ts";
import { admit } from "./admit.ts";
import { peerOf, type Reception } from "./arrival.ts";
import { type GuardPolicy, hostName, type Refusal, refusalOf } from "./guard.ts";
import { answer, CONNECTION_ID, createHttpEndpoint, SESSION_ID } from "./http-endpoint.ts";
import { type Listener, listening, portOf } from "./listen-lines.ts";
import { webSocketLines } from "./web-socket.ts";

export interface WebOptions {
  /** Names it may be called by, beside its own, IP addresses and `localhost`. */
  allowHost: readonly string[];
  /** Origins of web pages that may use it. */
  allowOrigin: readonly string[];
  /** Files of the certificate and its key, PEM; needed for a secure address. */
  tlsCert: string | undefined;
  tlsKey: string | undefined;
}

const BACKLOG = 1024;

/**
 * Takes clients over Streamable HTTP and WebSocket on one path, as the protocol's draft of remote transports has them.
 * @throws UsageError when the port cannot be had or the certificate cannot be used
 */
export async function listenOnWeb(
  address: Address & { scheme: "web" },
  options: WebOptions,
  reception: Reception,
): Promise<Listener> {
  const { gate, log, maxFrame } = reception;
  const policy: GuardPolicy = {
    path: address.path,
    token: reception.token,
    hosts: [address.host, ...options.allowHost].map((host) => host.toLowerCase()),
    origins: options.allowOrigin.map((origin) => origin.toLowerCase().replace(/\/$/, "")),
  };
  const inQueue = new Map<string, () => void>();
  const leaveQueue = ({ socket }: IncomingMessage) => inQueue.get(peerOf(socket))?.();
  const endpoint = createHttpEndpoint(reception, leaveQueue);
  const server: Server = address.secure ? secureServer(options, reception.handshakeLimit) : createServer();
  const webSockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxFrame,
  });

  server.on("connection", (socket: Socket) => {
    socket.setNoDelay(true);
    socket.setKeepAlive(true, 30_000);
    const key = peerOf(socket);
    const leave = gate.wait((reason) => {
      // Clients open connections to spare; whoever is refused anything hears of it in an answer.
      log.debug("connection-dropped", { peer: key, reason });
      socket.destroy();
    });
    inQueue.set(key, leave);
    socket.on("close", () => {
      leave();
      inQueue.delete(key);
    });
  });

  /** Why the request is refused, which is logged. */
  function judge(request: IncomingMessage): Refusal | undefined {
    const refusal = refusalOf(request, policy);
    if (refusal === undefined) return undefined;
    const [peer, host] = [peerOf(request.socket), hostName(request.headers.host)];
    log.warn("connection-refused", { transport: "http", peer, ...refusal, host });
    return refusal;
  }

  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    response.on("error", () => {});
    const refusal = judge(request);
    if (refusal !== undefined) return answer(response.setHeader("connection", "close"), refusal);
    allowPages(request, response);
    endpoint(request, response);
  });

  /** Lets a page whose origin is allowed read what it gets. */
  function allowPages(request: IncomingMessage, response: ServerResponse): void {
    const { origin } = request.headers;
    if (origin === undefined) return;
    response.setHeader("vary", "Origin");
    response.setHeader("access-control-allow-origin", origin);
    response.setHeader("access-control-allow-credentials", "true");
    response.setHeader("access-control-allow-methods", "POST, GET, DELETE");
    response.setHeader("access-control-allow-headers", `authorization, content-type, ${CONNECTION_ID}, ${SESSION_ID}`);
    response.setHeader("access-control-expose-headers", CONNECTION_ID);
  }

  webSockets.on("headers", (headers) => headers.push(`${CONNECTION_ID}: ${randomUUID()}`));
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on("error", () => {});
    const refusal = judge(request);
    if (refusal !== undefined) return refuseUpgrade(socket, refusal);
    // It waits again as a WebSocket, for its first message.
    leaveQueue(request);
    webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      const stream = webSocketLines(webSocket);
      admit({ stream, transport: "ws", peer: peerOf(request.socket) }, reception, undefined);
    });
  });

  await listening(server, { host: address.host, port: address.port, backlog: BACKLOG }, address);
  return { address: { ...address, port: portOf(server) }, close: () => void server.close() };
}

/** @throws UsageError when a file is missing or holds nothing of use */
function secureServer({ tlsCert, tlsKey }: WebOptions, handshakeTimeout: number): Server {
  if (tlsCert === undefined || tlsKey === undefined)
    throw new UsageError("--listen: wss: and https: need --tls-cert and --tls-key");
  const read = (option: string, file: string) => {
    try {
      return readFileSync(file);
    } catch (error) {
      throw new UsageError(`${option}: ${file} cannot be read: ${(error as Error).message}`);
    }
  };
  const [cert, key] = [read("--tls-cert", tlsCert), read("--tls-key", tlsKey)];
  try {
    return createSecureServer({ cert, key, handshakeTimeout });
  } catch (error) {
    throw new UsageError(`--tls-cert, --tls-key: the certificate cannot be used: ${(error as Error).message}`);
  }
}

function refuseUpgrade(socket: Duplex, { status, reason }: Refusal): void {
  const authenticate = status === 401 ? "www-authenticate: Bearer\r\n" : "";
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${authenticate}connection: close\r\ncontent-type: text/plain\r\n` +
      `content-length: ${reason.length + 1}\r\n\r\n${reason}\n`,
    () => socket.destroy(),
  );
}
