import { resolve } from "node:path";
import type { SettingName } from "./settings.ts";
import { parseDuration, parseSize, shown } from "./units.ts";
import { UsageError } from "./usage-error.ts";

/**
 * What a value means: `duration` resolves to milliseconds, `size` to bytes, `path` to an absolute path, `list` to texts
 * (given several times, or as a JSON list; commas between them in the environment).
 */
export type OptionKind = "duration" | "size" | "count" | "choice" | "boolean" | "path" | "string" | "list";

export interface Option {
  kind: OptionKind;
  /** One line for `--help`. */
  description: string;
  /** The values of a `choice`. */
  choices?: readonly string[];
  /** The least and the greatest value, in the unit the kind resolves to, each with how to write it. */
  min?: { value: number; written: string };
  max?: { value: number; written: string };
  /** A profile may set it (docs/mapping.md §5 and §9). */
  byProfile?: true;
  /** Means something to `acp-shift serve` only (docs/remote.md). Operators count in seconds: so does a duration without a unit. */
  only?: "serve";
}

/**
 * Every option, once: the command line, the environment, the configuration file, the profiles and `--help` are all read
 * from this table. Its order is that of `--help`. Defaults are in config/default.json.
 */
export const options: Readonly<Record<SettingName, Option>> = {
  agentProtocol: {
    kind: "choice",
    choices: ["auto", "1", "2"],
    description: "Protocol version to ask the agent for; auto: the client's where it speaks that",
  },
  handshakeTimeout: {
    kind: "duration",
    min: { value: 1, written: "1ms" },
    description: "How long the agent may take to answer initialize",
  },
  acceptWindow: {
    kind: "duration",
    description: "How long a prompt waits for the agent's first sign of life before it counts as accepted; 0: at once",
  },
  settle: {
    kind: "duration",
    byProfile: true,
    description: "How long the agent must be quiet after its prompt result before the session is idle; 0: at once",
  },
  replaySettle: {
    kind: "duration",
    byProfile: true,
    description: "How long the agent must be quiet after it loaded a session before its replay counts as over",
  },
  restatedMessages: {
    kind: "choice",
    choices: ["keep", "drop"],
    byProfile: true,
    description: "What to do with a message the agent streamed and then sends whole once more under another id",
  },
  restartAfterLogin: {
    kind: "boolean",
    byProfile: true,
    description: "Start the agent afresh after a login, for agents that take it up only then",
  },
  cancelTimeout: {
    kind: "duration",
    description: "How long a cancelled turn waits for the agent before it is reported as cancelled; 0: for ever",
  },
  promptQueue: { kind: "count", description: "How many prompts of one session are held while a turn runs" },
  unprompted: {
    kind: "choice",
    choices: ["pass", "running"],
    description: "How content that comes while no prompt runs is shown: as it is, or between running and idle",
  },
  stallNotice: {
    kind: "duration",
    description: "After how long a silence of a working agent the client gets a notice; 0: never",
  },
  host: {
    kind: "choice",
    choices: ["none", "terminal", "fs", "terminal,fs"],
    description: "What to do for the agent in the client's stead: run its terminals, read and write its files",
  },
  map: {
    kind: "list",
    description: "CLIENT=AGENT: a directory's path as the client and as the agent has it; may be given several times",
  },
  stateDir: {
    kind: "path",
    description: "Directory that keeps sessions and message ids beyond this run; not given: nothing is kept",
  },
  stateLimit: {
    kind: "size",
    min: { value: 1024 ** 2, written: "1MiB" },
    description: "How large the state directory may grow before the sessions longest unused are dropped",
  },
  maxFrame: {
    kind: "size",
    min: { value: 1024, written: "1KiB" },
    // The longest string Node can hold is a little under 512 MiB.
    max: { value: 511 * 1024 ** 2, written: "511MiB" },
    description: "Longest line either side may send; a longer one is skipped and reported",
  },
  termAfter: {
    kind: "duration",
    description: "How long the agent may take to leave once its input is closed, before SIGTERM",
  },
  killAfter: { kind: "duration", description: "How long it may then take before SIGKILL" },
  ttyPassthrough: {
    kind: "boolean",
    description: "On a terminal, hand it to the agent (for its login) instead of speaking the protocol",
  },
  profile: {
    kind: "string",
    description: "Profile of a known agent to use; none: no profile; not given: the one that matches the agent",
  },
  logLevel: {
    kind: "choice",
    choices: ["trace", "debug", "info", "warn", "error", "fatal", "silent"],
    description: "Least severe log records to write",
  },
  logFile: { kind: "path", description: "File to append log records to (mode 0600); not given: standard error" },
  trace: {
    kind: "path",
    description: "File to record all that passes in (docs/trace.md), or a directory that gets a file for each run",
  },
  traceLimit: {
    kind: "size",
    min: { value: 64 * 1024, written: "64KiB" },
    description: "How large the files of one trace may grow together before the oldest but the first are removed",
  },
  redact: { kind: "boolean", description: "Replace secrets in the trace; --no-redact keeps them" },
  connect: {
    kind: "string",
    description: "Reach an agent there in place of running a command: unix:/path, tcp:HOST:PORT, ws://… or wss://…",
  },
  tokenFile: {
    kind: "path",
    description: "File with the token that is presented with --connect, and asked of the clients of serve",
  },
  listen: {
    kind: "list",
    only: "serve",
    description:
      "Where clients are served: ws://HOST:PORT/PATH (or http:, wss:, https:), unix:/path, tcp:HOST:PORT; may be given several times",
  },
  allowHost: {
    kind: "list",
    only: "serve",
    description: "A name of this server that clients use (Host header); may be given several times",
  },
  allowOrigin: {
    kind: "list",
    only: "serve",
    description: "The origin of web pages that may connect, as https://example.org; may be given several times",
  },
  tlsCert: { kind: "path", only: "serve", description: "File with the certificate for wss: and https:, PEM" },
  tlsKey: { kind: "path", only: "serve", description: "File with its key, PEM" },
  maxConnections: {
    kind: "count",
    only: "serve",
    min: { value: 1, written: "1" },
    description: "How many clients are served at once; each has an agent of its own",
  },
  handshakeLimit: {
    kind: "duration",
    only: "serve",
    min: { value: 1, written: "1ms" },
    description: "How long a client may take to connect and to send initialize",
  },
  idleLimit: {
    kind: "duration",
    only: "serve",
    description: "After how long without a frame, and without a turn, a connection is ended; 0: never",
  },
  linger: {
    kind: "duration",
    only: "serve",
    description: "How long an agent and its sessions wait for a client that lost its connection; 0: not at all",
  },
  lingerLimit: {
    kind: "size",
    only: "serve",
    min: { value: 1024 ** 2, written: "1MiB" },
    description: "How much of what such a client may have missed is kept",
  },
  drain: {
    kind: "duration",
    only: "serve",
    description: "How long running turns may take after SIGTERM before they are ended too; 0: none",
  },
  ops: {
    kind: "string",
    description: "http://HOST:PORT where /healthz, /readyz and /metrics are served (docs/operations.md)",
  },
  opsTokenFile: {
    kind: "path",
    description: "File with the bearer token that /metrics asks for; not given: none on loopback, no metrics elsewhere",
  },
  otlp: {
    kind: "string",
    description: "OpenTelemetry collector (http://HOST:4318) that gets turns and tool calls as spans",
  },
};

export const settingNames = Object.keys(options) as SettingName[];

/** `handshakeTimeout` → `handshake-timeout`: the name on the command line and in every JSON file. */
export function optionName(setting: SettingName): string {
  return setting.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

export const optionNames = settingNames.map(optionName);

/** The options of every command that runs an agent. */
export const commonNames = settingNames.filter((setting) => options[setting].only === undefined).map(optionName);

/** `handshake-timeout` → `ACP_SHIFT_HANDSHAKE_TIMEOUT`. */
export function variableName(option: string): string {
  return `ACP_SHIFT_${option.replaceAll("-", "_").toUpperCase()}`;
}

/**
 * Reads a value as a person wrote it: text from the command line or the environment, a JSON value from a file.
 * @param directory what a relative path is relative to
 * @returns milliseconds, bytes, a number, a boolean, an absolute path or text, by the option's kind
 * @throws UsageError that says what is expected, without saying where it was written
 */
export function readValue(option: Option, written: unknown, directory: string): number | boolean | string | string[] {
  switch (option.kind) {
    case "duration":
      return within(option, parseDuration(written, option.only === "serve" ? "seconds" : "milliseconds"), written);
    case "size":
      return within(option, parseSize(written), written);
    case "count":
      if (!/^\d{1,9}$/.test(textOf(written) ?? "")) throw unexpected("a whole number", written);
      return within(option, Number(written), written);
    case "choice": {
      const choice = textOf(written) ?? "";
      if (!option.choices?.includes(choice)) throw unexpected(`one of ${option.choices?.join(", ")}`, written);
      return choice;
    }
    case "boolean":
      if (written === true || written === "true" || written === "1") return true;
      if (written === false || written === "false" || written === "0") return false;
      throw unexpected("true or false", written);
    case "path":
      if (typeof written !== "string" || written === "") throw unexpected("a path", written);
      return resolve(directory, written);
    case "string":
      if (typeof written !== "string" || written === "") throw unexpected("a name", written);
      return written;
    case "list": {
      const entries = typeof written === "string" ? written.split(",") : written;
      if (!Array.isArray(entries) || !entries.every((entry) => typeof entry === "string" && entry !== ""))
        throw unexpected("a list of texts", written);
      return entries;
    }
  }
}

function textOf(written: unknown): string | undefined {
  return typeof written === "string" || typeof written === "number" ? String(written) : undefined;
}

function within(option: Option, value: number, written: unknown): number {
  if (option.min && value < option.min.value) throw unexpected(`at least ${option.min.written}`, written);
  if (option.max && value > option.max.value) throw unexpected(`at most ${option.max.written}`, written);
  return value;
}

function unexpected(expectation: string, written: unknown): UsageError {
  return new UsageError(`expected ${expectation}, found ${shown(written)}`);
}
