import { spawn } from "node:child_process";

/** Starts the command after `--` and ends with its status: what every baseline has in common. */
export function startAgent() {
  const [command, ...args] = process.argv.slice(process.argv.indexOf("--") + 1);
  const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  agent.on("close", (code) => {
    process.exitCode = code ?? 1;
  });
  return agent;
}
