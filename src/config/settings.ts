import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { nearest } from "./nearest.ts";
import { optionName, optionNames, options, readValue, settingNames, variableName } from "./options.ts";
import { at } from "./usage-error.ts";

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

/** Every option with its value: durations in milliseconds, sizes in bytes, paths absolute. What each means: options.ts. */
export interface SettingValues {
  agentProtocol: "auto" | "1" | "2";
  handshakeTimeout: number;
  /** 0: at once. */
  acceptWindow: number;
  /** 0: at once. */
  settle: number;
  replaySettle: number;
  restatedMessages: "keep" | "drop";
  restartAfterLogin: boolean;
  /** 0: never. */
  cancelTimeout: number;
  promptQueue: number;
  unprompted: "pass" | "running";
  /** 0: never. */
  stallNotice: number;
  host: "none" | "terminal" | "fs" | "terminal,fs";
  map: string[] | undefined;
  stateDir: string | undefined;
  stateLimit: number;
  /** 0: not at all. */
  linger: number;
  lingerLimit: number;
  maxFrame: number;
  termAfter: number;
  killAfter: number;
  ttyPassthrough: boolean;
  /** The profile a person named, `none` for no profile at all, undefined for the one that matches the agent. */
  profile: string | undefined;
  logLevel: LogLevel;
  logFile: string | undefined;
  trace: string | undefined;
  traceLimit: number;
  redact: boolean;
  connect: string | undefined;
  tokenFile: string | undefined;
  listen: string[] | undefined;
  allowHost: string[] | undefined;
  allowOrigin: string[] | undefined;
  tlsCert: string | undefined;
  tlsKey: string | undefined;
  maxConnections: number;
  handshakeLimit: number;
  /** 0: never. */
  idleLimit: number;
  drain: number;
  ops: string | undefined;
  opsTokenFile: string | undefined;
  otlp: string | undefined;
}

export type SettingName = keyof SettingValues;

export interface Settings extends SettingValues {
  /** The settings a person chose: a profile never overrides them. */
  setByUser: ReadonlySet<SettingName>;
}

/** One place where values are written, by option name (`handshake-timeout`). */
export interface Source {
  values: Readonly<Record<string, unknown>>;
  /** How a message names the place of one option: `--settle`, `ACP_SHIFT_SETTLE`, `/home/…/config.json: "settle"`. */
  place: (option: string) => string;
  /** What a relative path written here is relative to. */
  directory: string;
}

/** A variable with our prefix that means nothing, and the one that was probably meant. */
export type UnknownVariable = { name: string; meant?: string };

/** The values given on the command line. */
export function commandLineSource(values: Readonly<Record<string, unknown>>): Source {
  return { values, place: (option) => `--${option}`, directory: process.cwd() };
}

/** The values given as `ACP_SHIFT_*` variables; an empty variable counts as not given. */
export function environmentSource(environment: Readonly<Record<string, string | undefined>>): {
  source: Source;
  unknown: UnknownVariable[];
} {
  const optionOf = new Map(optionNames.map((option) => [variableName(option), option]));
  const values: Record<string, string> = {};
  const unknown: UnknownVariable[] = [];
  for (const [name, value = ""] of Object.entries(environment)) {
    if (!name.startsWith("ACP_SHIFT_") || name === "ACP_SHIFT_CONFIG") continue;
    const option = optionOf.get(name);
    if (option === undefined) {
      const meant = nearest(name, [...optionOf.keys()]);
      unknown.push(meant === undefined ? { name } : { name, meant });
    } else if (value !== "") values[option] = value;
  }
  return { source: { values, place: variableName, directory: process.cwd() }, unknown };
}

/** The defaults as config/default.json has them, by option name. */
export function readDefaults(): Record<string, unknown> {
  return JSON.parse(readFileSync(defaultsFile, "utf8"));
}

const defaultsFile = fileURLToPath(new URL("../../config/default.json", import.meta.url));

/**
 * Settles every option: the first source that has it wins, else its default. Every source is checked, also where a
 * stronger one wins.
 * @param sources what the user wrote, strongest first: command line, environment, configuration file
 * @throws UsageError that names the place, and says what is expected there
 */
export function resolveSettings(
  sources: readonly Source[],
  defaults: Readonly<Record<string, unknown>> = readDefaults(),
): Settings {
  const shipped: Source = { values: defaults, place: (option) => `${defaultsFile}: "${option}"`, directory: "/" };
  const setByUser = new Set<SettingName>();
  const resolved: Partial<Record<SettingName, unknown>> = {};
  for (const setting of settingNames) {
    const name = optionName(setting);
    const writers = [...sources, shipped].filter(({ values }) => values[name] !== undefined && values[name] !== null);
    const readings = writers.map(({ values, place, directory }) =>
      at(place(name), () => readValue(options[setting], values[name], directory)),
    );
    resolved[setting] = readings[0];
    if (writers[0] !== undefined && writers[0] !== shipped) setByUser.add(setting);
  }
  // readValue has checked each value against the table.
  return { ...(resolved as unknown as SettingValues), setByUser };
}
