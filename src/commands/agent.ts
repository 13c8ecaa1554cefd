import type { Settings } from "../config/settings.ts";
import { at, UsageError } from "../config/usage-error.ts";
import type { Token } from "../remote/token.ts";
import { type AgentHandlers, type AgentProcess, startAgent } from "../transport/agent-process.ts";
import type { Ladder } from "../transport/process-group.ts";

/** Where the agent comes from. */
export interface AgentSource {
  /** Its command line, or its address, for messages to people. */
  words: readonly string[];
  /** Starts it, or connects to it. Never throws: whatever goes wrong arrives as `onExit`. */
  start(ladder: Ladder, handlers: AgentHandlers): AgentProcess;
}

/** An agent that is run. */
export function commandAgent({ command, args }: { command: string; args: string[] }): AgentSource {
  return {
    words: [command, ...args],
    start: (ladder, handlers) => startAgent({ command, args, env: process.env, cwd: process.cwd(), ladder }, handlers),
  };
}

/**
 * The agent of the command line, or the one at `--connect`.
 * @param command the words after `--`
 * @param usage how the command line has to look
 * @throws UsageError when there is not exactly one of the two, or the address or the token file cannot be used
 */
export async function agentOf(settings: Settings, command: readonly string[], usage: string): Promise<AgentSource> {
  const { connect } = settings;
  const [program, ...args] = command;
  if (connect === undefined) {
    if (program === undefined || program === "")
      throw new UsageError(`the agent's command is missing: ${usage} (see acp-shift --help)`);
    return commandAgent({ command: program, args });
  }
  if (command.length > 0)
    throw new UsageError(`--connect takes the place of the agent's command: leave out -- ${command.join(" ")}`);
  const { parseAddress, addressText } = await import("../remote/address.ts");
  const { dialler, startConnection } = await import("../remote/connect.ts");
  const address = at("--connect", () => parseAddress(connect));
  const dial = await dialler(address, { token: await tokenOf(settings), maxFrame: settings.maxFrame });
  const where = addressText(address);
  return { words: [where], start: (_ladder, handlers) => startConnection(dial, where, handlers) };
}

/** The token of `--token-file`. @throws UsageError when it cannot be used */
export async function tokenOf(settings: Settings): Promise<Token | undefined> {
  if (settings.tokenFile === undefined) return undefined;
  const { readToken } = await import("../remote/token.ts");
  return readToken(settings.tokenFile, (text) => process.stderr.write(`acp-shift: ${text}\n`));
}
