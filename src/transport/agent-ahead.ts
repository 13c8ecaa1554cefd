import type { AgentHandlers, AgentProcess } from "./agent-process.ts";

/** An agent that was started before anybody can handle what it says. */
export interface AgentAhead {
  readonly agent: AgentProcess;
  /** Hands over all that was kept, in its order and never from within this call, and what comes from now on. */
  handOver(to: AgentHandlers): void;
}

/**
 * Starts the agent and keeps what it says and what becomes of it until that is handed over,
 * which is to be soon: it is kept in memory.
 */
export function startAgentAhead(start: (handlers: AgentHandlers) => AgentProcess): AgentAhead {
  let handlers: AgentHandlers | undefined;
  const kept: ((to: AgentHandlers) => void)[] = [];
  const tell = (act: (to: AgentHandlers) => void) => {
    if (handlers === undefined) kept.push(act);
    else act(handlers);
  };
  const agent = start({
    onStdout: (chunk) => tell((to) => to.onStdout(chunk)),
    onStdoutEnd: () => tell((to) => to.onStdoutEnd()),
    onStderrLine: (line) => tell((to) => to.onStderrLine(line)),
    onExit: (exit) => tell((to) => to.onExit(exit)),
    onClosed: (stream) => tell((to) => to.onClosed?.(stream)),
  });
  return {
    agent,
    handOver(to) {
      process.nextTick(() => {
        handlers = to;
        for (const act of kept.splice(0)) act(to);
      });
    },
  };
}
