// What runs on this machine, for tests that nothing is left behind and that memory stays bounded.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

export interface RunningProcess {
  pid: number;
  group: number;
}

const hasProc = existsSync("/proc/self/stat");

/** The processes of a group that have not ended; a dead one its parent has not collected counts as ended. */
export function groupMembers(group: number): RunningProcess[] {
  return runningProcesses().filter((candidate) => candidate.group === group);
}

/** True while the process has not ended. */
export function isRunning(pid: number): boolean {
  return runningProcesses().some((candidate) => candidate.pid === pid);
}

/**
 * The processes that have this variable in their environment with this value, and so descend from where it was set,
 * whatever group or parent they have now. Empty where the system does not show environments as files.
 */
export function processesWith(name: string, value: string): RunningProcess[] {
  return runningProcesses().filter(({ pid }) => environmentOf(pid).includes(`${name}=${value}`));
}

/** What a process was started as. */
export function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
  } catch {
    return "ended";
  }
}

function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  } catch {
    return [];
  }
}

/** The most memory a running process has had resident so far, in bytes; where only `ps` can say, what it has now. */
export function peakMemory(pid: number): number {
  const kibibytes = hasProc
    ? /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
    : spawnSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" }).stdout.trim();
  if (!Number(kibibytes)) throw new Error(`process ${pid} is not running`);
  return Number(kibibytes) * 1024;
}

function runningProcesses(): RunningProcess[] {
  return hasProc ? fromProc() : fromPs();
}

function fromProc(): RunningProcess[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      // "pid (name) state ppid pgrp …"; the name may hold spaces and brackets.
      const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return state === "Z" || state === "X" ? [] : [{ pid: Number(name), group: Number(group) }];
    } catch {
      return [];
    }
  });
}

function fromPs(): RunningProcess[] {
  const { stdout, error } = spawnSync("ps", ["-A", "-o", "pid=,pgid=,stat="], { encoding: "utf8" });
  if (error !== undefined) throw error;
  return stdout.split("\n").flatMap((line) => {
    const [, pid, group, state] = /^\s*(\d+)\s+(\d+)\s+(\S+)/.exec(line) ?? [];
    return pid === undefined || state?.startsWith("Z") ? [] : [{ pid: Number(pid), group: Number(group) }];
  });
}
