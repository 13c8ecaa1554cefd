import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { ErrorCode, rpcError } from "../protocol/errors.ts";
import { failure, type RequestId } from "../protocol/frames.ts";
import { isObject } from "../protocol/json.ts";
import { initializeId, peerOf, type Reception } from "./arrival.ts";
import type { Refusal } from "./guard.ts";
import { createHttpConnection, type HttpConnection, sessionIn } from "./http-connection.ts";
import { asLine, lineOf, parseJson } from "./line.ts";

export const CONNECTION_ID = "acp-connection-id";
export const SESSION_ID = "acp-session-id";

/** How many streams one client may have open at once. */
const MAX_STREAMS = 1024;

/**
 * Streamable HTTP: POST brings a message of the client's, of which the first is `initialize` and is answered in the response;
 * GET opens the stream of a connection or of one of its sessions; DELETE ends the connection. What is returned handles one
 * request, whose right to be here has been checked.
 *
 * @param onKnown told of a request that belongs to a connection, or has begun one: only then its sender is known
 */
export function createHttpEndpoint(
  reception: Reception,
  onKnown: (request: IncomingMessage) => void,
): (request: IncomingMessage, response: ServerResponse) => void {
  const { gate, log, maxFrame } = reception;
  const connections = new Map<string, HttpConnection>();

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    switch (request.method) {
      case "POST":
        return takeMessage(request, response);
      case "GET":
        return openStream(request, response);
      case "DELETE": {
        const connection = connectionOf(request, response);
        if (connection === undefined) return;
        // It may come back: clients delete a connection also when one of its streams broke.
        connection.leave();
        return void response.writeHead(202).end();
      }
      case "OPTIONS":
        return void response.writeHead(204).end();
      default:
        return answer(response, { status: 405, reason: "expected POST, GET or DELETE" });
    }
  }

  async function takeMessage(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!/^application\/json *(;|$)/i.test(request.headers["content-type"] ?? ""))
      return answer(response, { status: 415, reason: "expected application/json" });
    const body = await readBody(request, maxFrame);
    if (body === undefined) {
      log.warn("frame-too-large", { from: "client", peer: peerOf(request.socket) });
      const reason = `a message exceeds --max-frame (${maxFrame} bytes)`;
      return answer(response, { status: 413, reason });
    }
    const message = parseJson(body.toString());
    if (Array.isArray(message)) {
      const error = rpcError(ErrorCode.invalidRequest, "JSON-RPC batches are not supported");
      return answerJson(response, 400, lineOf(failure(null, error)));
    }
    if (!isObject(message)) return answer(response, { status: 400, reason: "expected a JSON-RPC message" });
    const id = initializeId(message);
    if (request.headers[CONNECTION_ID] === undefined && id !== undefined)
      return begin(id, asLine(body), request, response);
    const connection = connectionOf(request, response);
    if (connection === undefined) return;
    if (id !== undefined)
      return answer(response, { status: 400, reason: "this connection has had its initialize already" });
    const session = sessionIn(message["params"]);
    if (session !== undefined && request.headers[SESSION_ID] !== session)
      return answer(response, { status: 400, reason: "Acp-Session-Id has to be the message's own session" });
    await connection.take(asLine(body), message);
    response.writeHead(202).end();
  }

  /** A new connection: its first message is answered in the response itself. */
  async function begin(id: RequestId, line: Buffer, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const peer = peerOf(request.socket);
    const leave = gate.enter();
    if (leave === undefined) {
      log.warn("connection-refused", { transport: "http", peer, reason: gate.full });
      return answer(response.setHeader("retry-after", "5"), { status: 503, reason: gate.full });
    }
    onKnown(request);
    const name = randomUUID();
    const connection = createHttpConnection({
      initialize: {
        id,
        answer: (result) => answerJson(response.setHeader(CONNECTION_ID, name), 200, result),
      },
      patience: reception.handshakeLimit,
    });
    connections.set(name, connection);
    connection.stream.on("close", () => {
      connections.delete(name);
      if (response.headersSent) return;
      const error = rpcError(ErrorCode.internalError, "the connection ended before initialize was answered");
      answerJson(response, 500, lineOf(failure(id, error)));
    });
    response.on("close", () => {
      if (!response.writableEnded) connection.leave();
    });
    reception.welcome({ stream: connection.stream, transport: "http", peer }, leave);
    await connection.take(line, {});
  }

  function openStream(request: IncomingMessage, response: ServerResponse): void {
    if (!request.headers.accept?.toLowerCase().includes("text/event-stream"))
      return answer(response, { status: 406, reason: "expected Accept: text/event-stream" });
    const connection = connectionOf(request, response);
    if (connection === undefined) return;
    if (connection.streams >= MAX_STREAMS)
      return answer(response, { status: 429, reason: `there are ${MAX_STREAMS} streams already` });
    const session = request.headers[SESSION_ID];
    if (!connection.open(typeof session === "string" && session !== "" ? session : undefined, response))
      answer(response, { status: 409, reason: "this stream is open already" });
  }

  /** The connection a request names; when it names none that there is, it has been answered so. */
  function connectionOf(request: IncomingMessage, response: ServerResponse): HttpConnection | undefined {
    const name = request.headers[CONNECTION_ID];
    if (typeof name !== "string" || name === "") {
      answer(response, { status: 400, reason: `${CONNECTION_ID} is missing` });
      return undefined;
    }
    const connection = connections.get(name);
    if (connection !== undefined && !connection.over) return connection;
    answer(response, { status: 404, reason: `no such ${CONNECTION_ID}` });
    return undefined;
  }

  return (request, response) => {
    // Before its body, which may take long.
    if (connections.get(String(request.headers[CONNECTION_ID]))?.over === false) onKnown(request);
    handle(request, response).catch((error: unknown) => {
      log.warn("request-broken", { message: error instanceof Error ? error.message : String(error) });
      response.destroy();
    });
  };
}

/**
 * The body of a request; undefined when it is longer than allowed. What is too much is read, but not kept: who is still
 * sending when the answer comes and the connection ends may never see it.
 */
async function readBody(request: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request) {
    size += piece.length;
    if (size <= limit) pieces.push(piece);
    else pieces.length = 0;
  }
  return size > limit ? undefined : Buffer.concat(pieces);
}

/** Says no, and why. */
export function answer(response: ServerResponse, { status, reason }: Refusal): void {
  if (status === 401) response.setHeader("www-authenticate", "Bearer");
  response.writeHead(status, { "content-type": "text/plain" }).end(`${reason}\n`);
}

function answerJson(response: ServerResponse, status: number, body: string | Buffer): void {
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}
