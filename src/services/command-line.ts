import { statSync } from "node:fs";
import { delimiter, resolve } from "node:path";

/** What is to be started. */
export interface CommandLine {
  command: string;
  args: string[];
  /** On Windows: the arguments are passed as they are, for they are quoted already. */
  verbatim: boolean;
}

/**
 * What a `terminal/create` asks to be started (docs/mapping.md §10): the command with its arguments, without a shell.
 * Some agents send a whole command line as `command`. A command that contains white space, has no arguments and names no
 * existing program is taken for one, and goes to the platform's shell.
 *
 * @param cwd where the command runs
 * @param env its environment; `PATH` (and `PATHEXT` on Windows) say where programs are
 */
export function commandLine(command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv): CommandLine {
  const isLine = args.length === 0 && /\s/.test(command) && !programExists(command, cwd, env);
  return isLine ? shellFor(command, process.platform, env) : { command, args, verbatim: false };
}

/** The platform's shell, told to run the line. */
export function shellFor(line: string, platform: NodeJS.Platform, env: NodeJS.ProcessEnv): CommandLine {
  if (platform !== "win32") return { command: "/bin/sh", args: ["-c", line], verbatim: false };
  return { command: env["ComSpec"] ?? "cmd.exe", args: ["/d", "/s", "/c", `"${line}"`], verbatim: true };
}

function programExists(command: string, cwd: string, env: NodeJS.ProcessEnv): boolean {
  const onWindows = process.platform === "win32";
  const isPath = command.includes("/") || (onWindows && command.includes("\\"));
  const directories = isPath ? [""] : (env["PATH"] ?? env["Path"] ?? "").split(delimiter);
  const endings = onWindows ? ["", ...(env["PATHEXT"] ?? "").split(delimiter)] : [""];
  return directories.some((directory) => endings.some((ending) => isFile(resolve(cwd, directory, command + ending))));
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
