import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** How processes are ended: they get `termAfterMs` to end by themselves, then TERM, and `killAfterMs` later KILL. */
export interface Ladder {
  termAfterMs: number;
  killAfterMs: number;
}

/** A process and whatever it has started, as far as the platform can tell. */
export interface ProcessGroup {
  /** True while a process of the group runs. Once false it stays false, for the number may be given out anew. */
  alive(): boolean;
  /** Sends the signal to every process of the group. Does nothing when the group is gone. Never throws. */
  signal(signal: "SIGTERM" | "SIGKILL"): void;
}

/** The group led by process `pid`, which must have been spawned as a group leader (`detached`). */
export function processGroup(pid: number): ProcessGroup {
  return process.platform === "win32" ? windowsTree(pid) : posixGroup(pid);
}

/** How long killed processes get to disappear, in ms. */
export const KILL_GRACE_MS = 2000;
const POLL_MS = 10;

/**
 * Ends a group step by step, each step only while `isRunning` says so. Resolves when it no longer does, or when KILL did
 * not help within {@link KILL_GRACE_MS}. Never rejects.
 */
export async function endGroup(group: ProcessGroup, isRunning: () => boolean, ladder: Ladder): Promise<void> {
  if (await goneWithin(ladder.termAfterMs, isRunning)) return;
  group.signal("SIGTERM");
  if (await goneWithin(ladder.killAfterMs, isRunning)) return;
  group.signal("SIGKILL");
  await goneWithin(KILL_GRACE_MS, isRunning);
}

async function goneWithin(ms: number, isRunning: () => boolean): Promise<boolean> {
  const deadline = performance.now() + ms;
  while (isRunning()) {
    const left = deadline - performance.now();
    if (left <= 0) return false;
    await sleep(Math.min(POLL_MS, left));
  }
  return true;
}

function posixGroup(pgid: number): ProcessGroup {
  let gone = false;
  let witness: number | undefined;

  function send(signal: NodeJS.Signals | 0): void {
    if (gone) return;
    try {
      process.kill(-pgid, signal);
    } catch {
      // ESRCH: nobody is left. EPERM: nobody we may signal, on macOS also when only zombies are left.
      gone = true;
    }
  }

  return {
    alive() {
      send(0);
      if (gone || !existsSync("/proc/self/stat")) return !gone;
      // A dead process counts as a member until its parent collects it, and the first process of a container may never do.
      if (witness === undefined || !runsInGroup(witness, pgid)) witness = findMember(pgid);
      if (witness === undefined) {
        // Clears out a process that was forked while we looked.
        send("SIGKILL");
        gone = true;
      }
      return !gone;
    },
    signal: send,
  };
}

/** A running process of the group, or undefined when there is none. */
function findMember(pgid: number): number | undefined {
  return readdirSync("/proc")
    .map(Number)
    .find((pid) => Number.isInteger(pid) && runsInGroup(pid, pgid));
}

function runsInGroup(pid: number, pgid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // "pid (name) state ppid pgrp …"; the name may hold spaces and brackets.
    const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(group) === pgid && state !== "Z" && state !== "X";
  } catch {
    return false;
  }
}

/** Windows has no process groups: the tree below a process can be ended only while that process runs. */
function windowsTree(pid: number): ProcessGroup {
  return {
    alive: () => false,
    signal(signal) {
      const force = signal === "SIGKILL" ? ["/F"] : [];
      spawnSync("taskkill", ["/PID", String(pid), "/T", ...force], { stdio: "ignore", windowsHide: true });
    },
  };
}
