import { spawn as nodeSpawn } from "node:child_process";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { resolve as resolvePath } from "node:path";

/**
 * Node's `spawn`. Only Windows needs its shims (`.cmd`, shebangs) resolved; elsewhere loading the library would only
 * delay the start.
 */
export const spawn = process.platform === "win32" ? (await import("cross-spawn")).default : nodeSpawn;

/** Why something could not be started: the system's code (`ENOENT`, `EACCES`, …) and what was wrong with what. */
export interface SpawnFault {
  code: string;
  message: string;
}

/** Says which of the command and the working directory was at fault: the system reports both alike. */
export function spawnFault(error: unknown, { command, cwd }: { command: string; cwd: string }): SpawnFault {
  const fault: NodeJS.ErrnoException = error instanceof Error ? error : new Error(String(error));
  const message = cwdFault(cwd) ?? commandFault(fault.code, command, cwd) ?? fault.message;
  return { code: fault.code ?? "UNKNOWN", message };
}

/** What keeps a process from being started in the directory, or undefined when nothing does. */
export function cwdFault(cwd: string): string | undefined {
  try {
    if (!statSync(cwd).isDirectory()) return `the working directory ${cwd} is not a directory`;
    accessSync(cwd, constants.X_OK);
    return undefined;
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === "ENOENT";
    return `the working directory ${cwd} ${missing ? "does not exist" : "cannot be entered"}`;
  }
}

function commandFault(code: string | undefined, command: string, cwd: string): string | undefined {
  if (code === "EACCES") return `the command ${command} may not be executed`;
  if (code !== "ENOENT") return undefined;
  const isPath = /[\\/]/.test(command);
  return isPath && existsSync(resolvePath(cwd, command))
    ? `the command ${command} names an interpreter that does not exist`
    : `the command ${command} was not found`;
}
