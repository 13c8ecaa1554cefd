/**
 * Terminals and files the agent asks the client for. v2 clients have neither, so the bridge hosts them where it is told
 * to (docs/mapping.md §10): the core asks the shell to act, and shows the client what terminals do.
 */
import { ErrorCode, type RpcError, rpcError } from "../protocol/errors.ts";
import { failure, type RequestId, result } from "../protocol/frames.ts";
import { asArray, asString, type JsonObject } from "../protocol/json.ts";
import { resolvePath } from "../translate/paths.ts";
import { toAgent, updateClient } from "./effects.ts";
import type { Bridge, Session } from "./state.ts";

/** A request of the agent's that the shell is serving. */
export interface HostedCall {
  agentId: RequestId | null;
  sessionId: string;
  /** The terminal a `terminal/create` will have made. */
  terminal?: { terminalId: string; command: string; cwd: string };
}

/** True when the bridge does this for the agent. */
export function isHosted(bridge: Bridge, method: string): boolean {
  const { files, terminals } = bridge.options.hosts;
  return (terminals && method.startsWith("terminal/")) || (files && method.startsWith("fs/"));
}

/** Has the shell serve a request of the agent's. */
export function host(
  bridge: Bridge,
  agentId: RequestId | null,
  method: string,
  params: JsonObject,
  session: Session | undefined,
): void {
  if (session === undefined) {
    const { sessionId } = params;
    toAgent(bridge, failure(agentId, rpcError(ErrorCode.resourceNotFound, "session not found", { sessionId })));
    return;
  }
  const call = bridge.nextHostedCall++;
  const hosted: HostedCall = { agentId, sessionId: session.id };
  if (method === "terminal/create") {
    hosted.terminal = {
      terminalId: `t_${bridge.options.runId}_${call}`,
      command: [params["command"], ...asArray(params["args"])].map(String).join(" "),
      cwd: resolvePath(session.cwd, asString(params["cwd"]) ?? session.cwd),
    };
  }
  bridge.hostedCalls.set(call, hosted);
  bridge.effects.push({
    type: "host",
    call,
    method,
    // In a child session's stead the work is its parent's, and so is the terminal.
    params: { ...params, sessionId: session.id },
    roots: [session.cwd, ...session.additionalDirectories],
    ...(hosted.terminal && { terminalId: hosted.terminal.terminalId }),
  });
}

/** The shell has served a request: the agent gets its answer, the client sees a new terminal. */
export function hosted(bridge: Bridge, call: number, outcome: { result: JsonObject } | { error: RpcError }): void {
  const { agentId, sessionId, terminal } = bridge.hostedCalls.get(call) ?? { agentId: null, sessionId: "" };
  if (!bridge.hostedCalls.delete(call)) return;
  if ("error" in outcome) return toAgent(bridge, failure(agentId, outcome.error));
  const session = bridge.sessions.get(sessionId);
  if (terminal !== undefined && session !== undefined) {
    session.terminals.add(terminal.terminalId);
    updateClient(bridge, session, { sessionUpdate: "terminal_update", ...terminal });
  }
  toAgent(bridge, result(agentId, terminal === undefined ? outcome.result : { terminalId: terminal.terminalId }));
}

/** A hosted terminal has new output, as base64, or has ended. */
export function terminalChanged(
  bridge: Bridge,
  sessionId: string,
  terminalId: string,
  change: { data: string } | { exitStatus: JsonObject },
): void {
  const session = bridge.sessions.get(sessionId);
  if (session === undefined) return;
  const sessionUpdate = "data" in change ? "terminal_output_chunk" : "terminal_update";
  updateClient(bridge, session, { sessionUpdate, terminalId, ...change });
}

/** The session is over: so are its terminals. */
export function endTerminals(bridge: Bridge, sessionId: string): void {
  if (bridge.options.hosts.terminals) bridge.effects.push({ type: "end-terminals", sessionId });
}
