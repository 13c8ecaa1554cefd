import type { Readable, Writable } from "node:stream";
import { JSONRPCClient, JSONRPCErrorException, JSONRPCServer, JSONRPCServerAndClient } from "json-rpc-2.0";
import { ErrorCode, rpcError } from "../protocol/errors.ts";
import { failure } from "../protocol/frames.ts";
import { isObject, type JsonObject } from "../protocol/json.ts";
import { createLineSplitter } from "../transport/lines.ts";

export type Direction = "sent" | "received";

/** Called with every frame a peer writes, just before it is written, and every frame it reads, just before it acts on it. */
export type Tap = (direction: Direction, frame: JsonObject) => void;

/**
 * A JSON-RPC 2.0 peer on newline-delimited JSON: what both ends of the demo are built on.
 *
 * Notifications and requests reach their handlers in the order they were read. A handler that throws a
 * `JSONRPCErrorException` answers with that error, any other exception answers `-32603`; a line that is no JSON is
 * answered `-32700`.
 */
export function connect(input: Readable, output: Writable, tap: Tap): JSONRPCServerAndClient {
  const send = (frame: JsonObject): void => {
    tap("sent", frame);
    output.write(`${JSON.stringify(frame)}\n`);
  };
  // The library's own listener would print what it answers anyway.
  const quiet = { errorListener: () => {} };
  const server = new JSONRPCServer(quiet);
  server.mapErrorToJSONRPCErrorResponse = (id, error) =>
    failure(
      id,
      error instanceof JSONRPCErrorException
        ? rpcError(error.code, error.message, error.data)
        : rpcError(ErrorCode.internalError, error instanceof Error ? error.message : "Internal error"),
    );
  const rpc = new JSONRPCServerAndClient(server, new JSONRPCClient(send), quiet);

  const receive = (line: Buffer): void => {
    let frame: unknown;
    try {
      frame = JSON.parse(line.toString("utf8"));
    } catch {
      return send({ ...failure(null, rpcError(ErrorCode.parseError, "Parse error")) });
    }
    if (!isObject(frame)) return send({ ...failure(null, rpcError(ErrorCode.invalidRequest, "Invalid request")) });
    tap("received", frame);
    rpc.receiveAndSend(frame).catch(() => {});
  };

  const lines = createLineSplitter(Number.POSITIVE_INFINITY);
  input.on("data", (chunk: Buffer) => {
    for (const line of lines.push(chunk)) if ("bytes" in line) receive(line.bytes);
  });
  return rpc;
}
