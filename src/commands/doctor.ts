import { constants } from "node:os";
import { PassThrough } from "node:stream";
import type { Settings } from "../config/settings.ts";
import { connect } from "../demo/peer.ts";
import { examine } from "../doctor/examine.ts";
import { report } from "../doctor/report.ts";
import type { Schemas } from "../doctor/violations.ts";
import type { Log, Logger } from "../logging.ts";
import { onShutdown } from "../transport/signals.ts";
import { commandAgent } from "./agent.ts";
import { recorderFor } from "./recording.ts";
import { loadSchema } from "./schemas.ts";
import { type Shell, startShell } from "./shell.ts";

/**
 * `acp-shift doctor`: says on stdout what the agent is and offers, what becomes of it behind the bridge, and whether it
 * can be used; as JSON (docs/doctor.md) when asked. The log records go into the report, and to a log as well when the
 * person set one up.
 *
 * @returns the exit status: 0 usable, 1 not usable, 127 or 126 when the agent could not be started, 128 + signal when a
 *   signal ended it
 */
export async function doctor(
  settings: Settings,
  agent: { command: string; args: string[] },
  log: Logger,
  { json }: { json: boolean },
): Promise<number> {
  const recorder = await recorderFor(settings, (text) => process.stderr.write(`${text}\n`));
  const wantsLog = settings.setByUser.has("logLevel") || settings.setByUser.has("logFile");
  let shell: Shell | undefined;
  let cause: number | undefined;
  const removeSignals = onShutdown((signal, error) => {
    if (error !== undefined) process.stderr.write(`acp-shift: internal error: ${error.stack ?? error.message}\n`);
    if (cause !== undefined) return shell?.kill();
    cause = signal === "uncaught" ? 1 : 128 + constants.signals[signal];
    shell?.stop();
  });

  const facts = await examine({
    agent,
    cwd: process.cwd(),
    env: process.env,
    settings,
    services: {
      terminals: settings.host.includes("terminal"),
      files: settings.host.includes("fs"),
      remembers: settings.stateDir !== undefined,
    },
    schemas: schemasOf,
    start(listeners) {
      const toBridge = new PassThrough();
      const fromBridge = new PassThrough();
      const record = (level: keyof Logger): Log => {
        return (event, details = {}) => {
          listeners.onRecord({ level, event, details });
          if (wantsLog) log[level](event, details);
        };
      };
      shell = startShell({
        // The session of an examination is not one to remember.
        settings: { ...settings, stateDir: undefined },
        agent: commandAgent(agent),
        client: { input: toBridge, output: fromBridge },
        log: {
          trace: record("trace"),
          debug: record("debug"),
          info: record("info"),
          warn: record("warn"),
          error: record("error"),
        },
        tell: listeners.onTell,
        onAgentFrame: listeners.onAgentFrame,
        recorder,
      });
      return {
        rpc: connect(fromBridge, toBridge, () => {}),
        leave: () => toBridge.end(),
        ended: shell.ended,
      };
    },
  });
  await recorder?.end(cause ?? facts.verdict.exitStatus);
  removeSignals();
  if (cause !== undefined) return cause;

  const { columns, isTTY } = process.stdout;
  // A terminal that does not know its size says 0.
  const page = { columns: Math.min(columns || 80, 100), colour: isTTY === true && !process.env["NO_COLOR"] };
  // Nobody may be reading to the end, as after `| head`.
  process.stdout.on("error", () => {});
  process.stdout.write(json ? `${JSON.stringify(facts, null, 2)}\n` : report(facts, page));
  return facts.verdict.exitStatus;
}

function schemasOf(version: "v1" | "v2"): Schemas {
  return {
    stable: loadSchema(`${version}/schema.json`),
    unstable: () => loadSchema(`${version}/schema.unstable.json`),
  };
}
