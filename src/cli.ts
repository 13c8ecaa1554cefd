#!/usr/bin/env node
import { isatty } from "node:tty";
import { agentOf } from "./commands/agent.ts";
import { run } from "./commands/run.ts";
import { type CommandLine, readCommandLine } from "./config/command-line.ts";
import { loadSettings } from "./config/load.ts";
import type { Settings } from "./config/settings.ts";
import { UsageError } from "./config/usage-error.ts";
import { createLogger, type Logger } from "./logging.ts";

/** Runs one command line. Returns the exit status; throws UsageError for what cannot be used (status 2). */
async function main(words: readonly string[]): Promise<number> {
  const line = await readCommandLine(words);
  switch (line.type) {
    case "print":
      process.stdout.write(line.text);
      return 0;
    case "demo": {
      const { demo } = await import("./commands/demo.ts");
      return demo({ both: line.both });
    }
    case "doctor": {
      const { settings, log } = await configure(line.options);
      const { doctor } = await import("./commands/doctor.ts");
      return doctor(settings, { command: line.command, args: line.args }, log, { json: line.json });
    }
    case "trace": {
      const { trace } = await import("./commands/trace.ts");
      return trace(line);
    }
    case "run":
      return runAgent(line);
    case "serve": {
      const { settings, log } = await configure(line.options);
      const { serve } = await import("./commands/serve.ts");
      return serve(settings, await agentOf(settings, line.command, line.usage), log);
    }
  }
}

/** The settings of a run and its log, with a record for each variable that means nothing. */
async function configure(options: Record<string, unknown>): Promise<{ settings: Settings; log: Logger }> {
  const { settings, unknownVariables } = await loadSettings(options, process.env);
  const log = createLogger(settings);
  for (const variable of unknownVariables) log.warn("unknown-variable", variable);
  return { settings, log };
}

async function runAgent(line: CommandLine & { type: "run" | "serve" }): Promise<number> {
  const { settings, log } = await configure(line.options);
  const [command, ...args] = line.command;
  if (command && settings.connect === undefined && settings.ttyPassthrough && isatty(0) && isatty(1)) {
    const { runOnTerminal } = await import("./commands/passthrough-tty.ts");
    return runOnTerminal(command, args);
  }
  return run(settings, await agentOf(settings, line.command, line.usage), log);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`acp-shift: ${error.message}\n`);
  process.exitCode = 2;
}
