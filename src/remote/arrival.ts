import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Logger } from "../logging.ts";
import type { RpcError } from "../protocol/errors.ts";
import { failure, isRequestId, type RequestId } from "../protocol/frames.ts";
import { isObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import type { Gate } from "./gate.ts";
import { lineOf } from "./line.ts";
import type { Token } from "./token.ts";

/** A client that was let in: its lines, of which the first is its `initialize`. */
export interface Client {
  /**
   * Emits `goodbye` before its end when the client says that it is done, and has not only lost its connection. To emit
   * `doubt` on it has the transport find out, where it can, whether the client is still there.
   */
  stream: Duplex;
  transport: "unix" | "tcp" | "ws" | "http";
  /** Where it comes from. */
  peer: string;
}

/** What every listener needs. */
export interface Reception {
  gate: Gate;
  /** Undefined when everybody may come in. */
  token: Token | undefined;
  /** The longest line, in bytes. */
  maxFrame: number;
  /** How long a TLS handshake may take, and an HTTP client be without any stream before it counts as gone; in ms. */
  handshakeLimit: number;
  log: Logger;
  /** Takes over a client; `leave` has to be called when it is gone. */
  welcome(client: Client, leave: () => void): void;
}

/** Where a connection comes from. */
export function peerOf(socket: Socket): string {
  return `${socket.remoteAddress}:${socket.remotePort}`;
}

/** How long the refused may take to read why, in ms. */
const FAREWELL = 1000;

/** Says why on a line of its own, and hangs up. */
export function refuse(stream: Duplex, error: RpcError, id: RequestId | null = null): void {
  stream.on("error", () => {});
  stream.end(lineOf(failure(id, error)));
  stream.resume();
  setTimeout(() => stream.destroy(), FAREWELL).unref();
}

/** The id of an `initialize` request; undefined when the message is anything else. */
export function initializeId(message: unknown): RequestId | undefined {
  if (!isObject(message) || message["jsonrpc"] !== "2.0" || message["method"] !== Method.initialize) return undefined;
  return isRequestId(message["id"]) ? message["id"] : undefined;
}
