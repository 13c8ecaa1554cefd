// A TCP proxy that can do to a connection what networks do: cut it, close one direction, chop it into tiny pieces.
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { onTestFinished } from "vitest";

export interface FaultProxy {
  readonly port: number;
  /** Ends all connections at once, without goodbye. */
  cut(): void;
  /** Closes the direction from the clients to the server; what the server says still arrives. */
  halfClose(): void;
  /** Passes on at most so many bytes at a time from now on, each piece on its own. */
  chop(bytes: number): void;
}

/** A proxy before a port of this machine, for the length of the running test. */
export async function faultProxy(target: number): Promise<FaultProxy> {
  const pairs = new Set<[client: Socket, server: Socket]>();
  let size = Number.POSITIVE_INFINITY;

  async function pump(from: Socket, to: Socket): Promise<void> {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      for (let at = 0; at < chunk.length; at += size) {
        const piece = chunk.subarray(at, Math.min(chunk.length, at + size));
        if (!to.write(piece)) await once(to, "drain");
        if (size < chunk.length) await nextTurn();
      }
    }
    to.end();
  }

  const proxy = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const server = connect({ port: target, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
    const pair: [Socket, Socket] = [client, server];
    pairs.add(pair);
    for (const socket of pair) socket.on("error", () => {});
    for (const [one, other] of [pair, pair.toReversed() as [Socket, Socket]]) {
      one.on("close", () => {
        pairs.delete(pair);
        other.destroy();
      });
      pump(one, other).catch(() => {});
    }
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
    proxy.close();
  });
  return {
    port: (proxy.address() as { port: number }).port,
    cut: () => {
      for (const pair of pairs) for (const socket of pair) socket.resetAndDestroy();
    },
    halfClose: () => {
      for (const [, server] of pairs) server.end();
    },
    chop: (bytes) => {
      size = bytes;
    },
  };
}
