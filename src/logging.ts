import { closeSync, fchmodSync, fstatSync, openSync } from "node:fs";
import { createRequire } from "node:module";
import type { Level, Logger as Pino, pino as PinoFactory } from "pino";
import type { SettingValues } from "./config/settings.ts";
import { UsageError } from "./config/usage-error.ts";
import type { JsonObject } from "./protocol/json.ts";
import { redact } from "./redact.ts";

/** Writes one record: `event` names what happened, `details` are its facts; secrets in them are masked. */
export type Log = (event: string, details?: JsonObject) => void;

/**
 * Structured logs: one JSON line `{level, time, event, …details}` per record, handed to the operating system as it comes.
 * Never throws, never writes to stdout.
 */
export interface Logger {
  trace: Log;
  debug: Log;
  info: Log;
  warn: Log;
  error: Log;
}

const stderr = 2;

/** How often a full pipe is tried again, every 100 ms, before logging stops. */
const patience = 10;

const severity = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60, silent: Number.POSITIVE_INFINITY };

/**
 * A logger that writes to stderr, or appends to the file named in the settings; the file is only for its owner (0600),
 * also when it was there before.
 * @throws UsageError when the file cannot be opened
 */
export function createLogger(settings: Pick<SettingValues, "logLevel" | "logFile">): Logger {
  const descriptor = settings.logFile === undefined ? stderr : openPrivately(settings.logFile);
  let sink: Sink | undefined;

  const log =
    (level: Level): Log =>
    (event, details = {}) => {
      if (severity[level] < severity[settings.logLevel]) return;
      sink ??= openSink(descriptor);
      sink(level, { event, ...withoutReserved(redact(details) as JsonObject) });
    };

  return loggerOf(log);
}

/** A logger whose every level is made by this. */
export function loggerOf(log: (level: keyof Logger) => Log): Logger {
  return { trace: log("trace"), debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };
}

/** A logger whose every record bears these details too. */
export function childLogger(parent: Logger, common: JsonObject): Logger {
  return loggerOf(
    (level) =>
      (event, details = {}) =>
        parent[level](event, { ...common, ...details }),
  );
}

type Sink = (level: Level, record: JsonObject) => void;

/** Loads pino: costs more than the rest of a start, so only once there is something to write. */
function openSink(descriptor: number): Sink {
  const { pino } = createRequire(import.meta.url)("pino") as { pino: typeof PinoFactory };
  // Makes a pipe answer "full" instead of holding us up when nobody reads it.
  if (descriptor === stderr) void process.stderr;
  let attempts = 0;
  const destination = pino.destination({
    dest: descriptor,
    sync: true,
    retryEAGAIN: () => ++attempts <= patience,
  });
  destination.on("write", (bytes) => {
    if (bytes > 0) attempts = 0;
  });
  // Nobody reads our stderr, or the disk is full: the conversation goes on without a log.
  destination.on("error", () => {
    logger.level = "silent";
  });
  const logger: Pino = pino(
    {
      level: "trace",
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    // JSON leaves the upper half's control characters, and those of direction, as they are; a terminal may obey them.
    { write: (line) => destination.write(line.replace(/[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, inJson)) },
  );
  return (level, record) => logger[level](record);
}

function inJson(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Details whose name the record itself uses are kept under that name with a `_`. */
function withoutReserved(details: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(details).map(([key, value]) => [/^(?:level|time|event)$/.test(key) ? `${key}_` : key, value]),
  );
}

function openPrivately(file: string): number {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, "a", 0o600);
    const found = fstatSync(descriptor);
    if (found.isFile() && (found.mode & 0o077) !== 0) fchmodSync(descriptor, 0o600);
    return descriptor;
  } catch (error) {
    if (descriptor !== undefined) closeSync(descriptor);
    throw new UsageError(`cannot log to ${file}: ${reason(error as NodeJS.ErrnoException)}`);
  }
}

function reason({ code, message }: NodeJS.ErrnoException): string {
  if (code === "ENOENT" || code === "ENOTDIR") return "its folder does not exist";
  if (code === "EISDIR") return "it is a folder";
  if (code === "EACCES" || code === "EROFS") return "it may not be written";
  if (code === "EPERM") return "it is readable by others and belongs to another user";
  return message;
}
