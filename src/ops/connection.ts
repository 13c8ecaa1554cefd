import { follow, type Happenings } from "./follow.ts";
import type { Observer } from "./observer.ts";

/** What watches one connection. */
export interface Watch {
  readonly observer: Observer;
  /**
   * Calls back once no turn runs on the connection and no prompt waits for one: at once, or when that comes; then never
   * from within what the observer is told.
   *
   * @param isFree says so too, where that cannot be seen from what passes
   */
  whenFree(act: () => void, isFree: () => boolean): void;
  /** The connection is over. */
  ended(): void;
}

/** One of those who want to know of a connection: of what passes, of what it means, or both. */
export type Watcher = Partial<Observer> & Partial<Happenings>;

/** Watches one connection for any number of watchers. */
export function watch(watchers: readonly Watcher[]): Watch {
  const follower = follow(watchers);
  /** The frame of the event that is being handled. */
  let current: unknown;
  let whenFree: { act: () => void; isFree: () => boolean } | undefined;

  const observer: Observer = {
    arrived() {
      for (const watcher of watchers) watcher.arrived?.();
    },
    event(event) {
      for (const watcher of watchers) watcher.event?.(event);
      if (event.type !== "frame") return;
      current = event.value;
      if (event.from === "client") follower.fromClient(current);
    },
    sent(to, frame, text) {
      for (const watcher of watchers) watcher.sent?.(to, frame, text);
      if (to === "client") follower.toClient(frame);
    },
    spliced(to, bytes) {
      for (const watcher of watchers) watcher.spliced?.(to, bytes);
    },
    forwarded(to, line) {
      for (const watcher of watchers) watcher.forwarded?.(to, line);
      if (to === "client") follower.toClient(current);
    },
    settled() {
      for (const watcher of watchers) watcher.settled?.();
      current = undefined;
      if (whenFree === undefined || (follower.busy && !whenFree.isFree())) return;
      setImmediate(whenFree.act);
      whenFree = undefined;
    },
    agentStarted() {
      for (const watcher of watchers) watcher.agentStarted?.();
    },
    agentExited(end) {
      for (const watcher of watchers) watcher.agentExited?.(end);
    },
  };
  return {
    observer,
    whenFree(act, isFree) {
      if (follower.busy && !isFree()) whenFree = { act, isFree };
      else act();
    },
    ended: follower.ended,
  };
}
