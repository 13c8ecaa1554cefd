// Runs `acp-shift trace view` of the built program.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { CLI } from "./bridge-process.ts";

export interface View {
  /** The page's address, token included. */
  url: string;
  /** Interrupts it; its exit status. */
  stop(): Promise<number | null>;
}

/** Starts a view without a browser; it is stopped when the test is over. */
export async function startView(...args: string[]): Promise<View> {
  const child = spawn(process.execPath, [CLI, "trace", "view", "--no-open", ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exit = once(child, "exit");
  const stop = async () => {
    child.kill("SIGINT");
    const [code] = await exit;
    return code as number | null;
  };
  onTestFinished(async () => {
    if (child.exitCode === null) await stop();
  });
  const [url] = await Promise.race([
    once(createInterface(child.stdout), "line"),
    exit.then(([code]) => Promise.reject(new Error(`trace view ended with ${code}`))),
  ]);
  return { url: String(url), stop };
}
