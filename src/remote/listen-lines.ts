import { once } from "node:events";
import { lstatSync, unlinkSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { UsageError } from "../config/usage-error.ts";
import { type Address, addressText } from "./address.ts";
import { admit } from "./admit.ts";
import { peerOf, type Reception } from "./arrival.ts";

/** Something that takes connections. */
export interface Listener {
  /** Where, with the real port. */
  readonly address: Address;
  /** Takes no more connections; those there are stay. What it left on disk is gone then. */
  close(): void;
}

/** How often the other end of a silent connection is asked whether it is there, in ms. */
const KEEP_ALIVE = 30_000;

/** A queue of the system's for those who have not been accepted yet. */
const BACKLOG = 1024;

/**
 * Takes clients that speak in lines, on a TCP port.
 * @throws UsageError when the port cannot be had
 */
export async function listenOnTcp(address: Address & { scheme: "tcp" }, reception: Reception): Promise<Listener> {
  const server = lineServer(reception, "tcp");
  await listening(server, { host: address.host, port: address.port, backlog: BACKLOG }, address);
  return { address: { ...address, port: portOf(server) }, close: () => void server.close() };
}

/**
 * Takes clients that speak in lines, on a socket in the file system that only its owner can open (mode 0600). A socket
 * file nobody listens on any more is replaced.
 * @throws UsageError when something else is there, or somebody listens on it
 */
export async function listenOnUnix(address: Address & { scheme: "unix" }, reception: Reception): Promise<Listener> {
  const { path } = address;
  await removeStale(address);
  const server = lineServer(reception, "unix");
  // The file, which is there as soon as this returns, must not be open to others even for a moment.
  const mask = process.umask(0o177);
  const ready = listening(server, { path, backlog: BACKLOG }, address);
  process.umask(mask);
  await ready;
  return { address, close: () => void server.close() };
}

/** The port a server has got. */
export function portOf(server: Server): number {
  const bound = server.address();
  return typeof bound === "object" && bound !== null ? bound.port : 0;
}

/** @throws UsageError when the address cannot be had */
export async function listening(
  server: Server,
  options: { host: string; port: number; backlog: number } | { path: string; backlog: number },
  address: Address,
): Promise<void> {
  server.listen(options);
  try {
    await once(server, "listening");
  } catch (error) {
    throw new UsageError(`--listen: cannot listen on ${addressText(address)}: ${(error as Error).message}`);
  }
  // From here on an error concerns one connection, which could not be accepted.
  server.on("error", () => {});
}

function lineServer(reception: Reception, transport: "tcp" | "unix"): Server {
  // A client that has closed its end still gets what is left to say.
  return createServer({ allowHalfOpen: true, noDelay: true }, (socket: Socket) => {
    if (transport === "tcp") socket.setKeepAlive(true, KEEP_ALIVE);
    const peer = transport === "tcp" ? peerOf(socket) : "this machine";
    admit({ stream: socket, transport, peer }, reception, transport === "tcp" ? reception.token : undefined);
  });
}

async function removeStale(address: Address & { scheme: "unix" }): Promise<void> {
  const { path } = address;
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new UsageError(`--listen: ${path} exists and is no socket`);
  if (await answers(path)) throw new UsageError(`--listen: somebody listens on ${addressText(address)} already`);
  unlinkSync(path);
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path);
    probe.once("connect", () => {
      probe.destroy();
      resolve(true);
    });
    // A socket that may not be opened, or is too busy to answer, is in use as far as we can tell.
    probe.once("error", (error: NodeJS.ErrnoException) => resolve(error.code !== "ECONNREFUSED"));
  });
}
