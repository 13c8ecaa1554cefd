/** How many may be served at once, and how long somebody may take to say what he wants. */
export interface Gate {
  /**
   * Somebody has connected who has not shown yet that he may come in. When he takes too long, or too many wait after him,
   * `drop` is called with the reason.
   * @returns to be called, as often as one likes, once he need not wait any more
   */
  wait(drop: (reason: string) => void): () => void;
  /**
   * Takes a place.
   * @returns gives it back; undefined when there is none left
   */
  enter(): (() => void) | undefined;
  /** What to say to whom there is no place for. */
  readonly full: string;
  /** From now on there is no place for anybody. */
  close(): void;
}

export interface GateLimits {
  /** Clients served at once, and as many again that have not come in yet. */
  maxConnections: number;
  /** How long somebody may wait to come in, in ms. */
  handshakeLimit: number;
}

/**
 * Keeps the door. When too many wait, the one that has waited longest has to go: whoever means to come in says so at once,
 * so a crowd that only stands there keeps nobody out.
 */
export function createGate({ maxConnections, handshakeLimit }: GateLimits): Gate {
  const waiting = new Set<(reason: string) => void>();
  let inside = 0;
  let closed = false;

  return {
    wait(drop) {
      const settle = () => {
        clearTimeout(timer);
        waiting.delete(dropNow);
      };
      const dropNow = (reason: string) => {
        settle();
        drop(reason);
      };
      const seconds = handshakeLimit / 1000;
      const timer = setTimeout(() => dropNow(`no initialize within ${seconds} s (--handshake-limit)`), handshakeLimit);
      waiting.add(dropNow);
      const [longest] = waiting;
      if (waiting.size > maxConnections) longest?.("too many connections wait to come in");
      return settle;
    },
    enter() {
      if (closed || inside >= maxConnections) return undefined;
      inside++;
      let left = false;
      return () => {
        if (!left) inside--;
        left = true;
      };
    },
    get full() {
      if (closed) return "no more connections are taken: acp-shift is ending";
      return `no place is left: ${maxConnections} connections are being served (--max-connections)`;
    },
    close() {
      closed = true;
      for (const drop of [...waiting]) drop(this.full);
    },
  };
}
