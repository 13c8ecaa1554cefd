#!/usr/bin/env node
import { isatty } from "node:tty";
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
  }
}

/** The settings of a run and its log, with a record for each variable that means nothing. */
async function configure(options: Record<string, unknown>): Promise<{ settings: Settings; log: Logger }> {
  const { settings, unknownVariables } = await loadSettings(options, process.env);
  const log = createLogger(settings);
  for (const variable of unknownVariables) log.warn("unknown-variable", variable);
  return { settings, log };
}

async function runAgent(line: CommandLine & { type: "run" }): Promise<number> {
  const { settings, log } = await configure(line.options);
  if (settings.ttyPassthrough && isatty(0) && isatty(1)) {
    const { runOnTerminal } = await import("./commands/passthrough-tty.ts");
    return runOnTerminal(line.command, line.args);
  }
  const { run } = await import("./commands/run.ts");
  return run(settings, { command: line.command, args: line.args }, log);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`acp-shift: ${error.message}\n`);
  process.exitCode = 2;
}
