import { accessSync, constants, statSync } from "node:fs";
import { delimiter, resolve } from "node:path";

/** Where a command is, as the system finds it. */
export interface Located {
  /** The program's absolute path; null when there is none. */
  path: string | null;
  /** False for a file that is there and may not be executed. */
  executable: boolean;
  /** The absolute paths that were looked at: directories for a bare name, else the one file. */
  searched: string[];
}

/**
 * Looks for a command as starting it does: a name with a separator is a path, relative to `cwd`; any other is searched for
 * in the directories of `PATH`, where a file that may not be executed is passed over as long as there is another.
 */
export function locate(command: string, cwd: string, env: NodeJS.ProcessEnv): Located {
  const onWindows = process.platform === "win32";
  const isPath = command.includes("/") || (onWindows && command.includes("\\"));
  const endings = onWindows ? ["", ...(env["PATHEXT"] ?? "").split(delimiter)] : [""];
  const path = (env["PATH"] ?? env["Path"] ?? "").split(delimiter);
  const directories = [...new Set((onWindows ? [".", ...path] : path).map((directory) => resolve(cwd, directory)))];
  const places = isPath ? [resolve(cwd, command)] : directories.map((directory) => resolve(directory, command));
  const files = places.flatMap((place) => endings.map((ending) => place + ending)).filter(isFile);
  const program = files.find(mayExecute);
  return {
    path: program ?? files[0] ?? null,
    executable: program !== undefined,
    searched: isPath ? places : directories,
  };
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function mayExecute(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
