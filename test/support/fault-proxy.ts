// A proxy that can do to a connection what networks do: cut it, close one direction, chop it into tiny late pieces.
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { onTestFinished } from "vitest";

export type Direction = "to the server" | "to the client";

/** What happens to a link: all its connections end without goodbye, or a direction is closed while the other stays open. */
export type Fault = "cut" | `closed ${Direction}`;

export interface FaultProxy {
  readonly port: number;
  /** Does it to all connections at once. */
  strike(fault: Fault): void;
  /** Does it in the middle of the n-th piece from now that goes in this direction, to all or, closing, only to that connection. */
  strikeAt(direction: Direction, n: number, fault: Fault): void;
  /** Whether that has happened. */
  readonly struck: boolean;
  /** Passes on at most so many bytes at a time from now on, each piece on its own, so many ms after the one before. */
  chop(bytes: number, ms?: number): void;
}

type Pair = Record<Direction, Socket>;

/** A proxy before a port of this machine, or a Unix socket, for the length of the running test. */
export async function faultProxy(target: number | string): Promise<FaultProxy> {
  const pairs = new Set<Pair>();
  let size = Number.POSITIVE_INFINITY;
  let pause: number | undefined;
  let plan: { direction: Direction; left: number; fault: Fault } | undefined;

  async function pump(from: Socket, pair: Pair, direction: Direction): Promise<void> {
    const to = pair[direction];
    for await (const chunk of from.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      for (let at = 0; at < chunk.length && !to.writableEnded; at += size) {
        let piece = chunk.subarray(at, Math.min(chunk.length, at + size));
        if (plan?.direction === direction && --plan.left === 0) {
          const { fault } = plan;
          await new Promise((resolve) => to.write(piece.subarray(0, piece.length / 2), resolve));
          apply(fault, fault === "cut" ? pairs : [pair]);
          if (to.destroyed || to.writableEnded) break;
          piece = piece.subarray(piece.length / 2);
        }
        if (!to.write(piece)) await once(to, "drain");
        if (pause !== undefined) await delay(pause);
        else if (size < chunk.length) await nextTurn();
      }
    }
    to.end();
  }

  function apply(fault: Fault, struck: Iterable<Pair>): void {
    for (const pair of struck) {
      if (fault === "cut") {
        pair["to the client"].resetAndDestroy();
        // A Unix socket cannot be reset.
        if (typeof target === "string") pair["to the server"].destroy();
        else pair["to the server"].resetAndDestroy();
      } else pair[fault.slice("closed ".length) as Direction].end();
    }
  }

  const proxy = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const server = connect({
      ...(typeof target === "string" ? { path: target } : { port: target, host: "127.0.0.1", noDelay: true }),
      allowHalfOpen: true,
    });
    const pair: Pair = { "to the server": server, "to the client": client };
    pairs.add(pair);
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on("error", () => {});
      one.on("close", () => {
        pairs.delete(pair);
        other.destroy();
      });
    }
    pump(client, pair, "to the server").catch(() => {});
    pump(server, pair, "to the client").catch(() => {});
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    for (const pair of pairs) for (const socket of Object.values(pair)) socket.destroy();
    proxy.close();
  });
  return {
    port: (proxy.address() as { port: number }).port,
    strike: (fault) => apply(fault, pairs),
    strikeAt(direction, n, fault) {
      plan = { direction, left: n, fault };
    },
    get struck() {
      return plan !== undefined && plan.left <= 0;
    },
    chop(bytes, ms) {
      size = bytes;
      pause = ms;
    },
  };
}
