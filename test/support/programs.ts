// Runs a program to its end.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEADLINE, environmentIn } from "./bridge-process.ts";

export interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/**
 * Runs a command with nothing on its stdin and a home of its own. Fails, with all it wrote, when it has not ended in time.
 */
export function runProgram(command: readonly string[]): Promise<Ending> {
  const [file = "", ...args] = command;
  const home = mkdtempSync(join(tmpdir(), "acp-shift-home-"));
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"], env: environmentIn(home) });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    const deadline = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new Error(`${command.join(" ")} has not ended\nstdout: ${stdout}\nstderr: ${stderr}`));
    }, 2 * DEADLINE);
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(deadline);
      rmSync(home, { recursive: true, force: true });
      resolve({ code, signal, stdout, stderr });
    });
  });
}
