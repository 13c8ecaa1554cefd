import { UsageError } from "./usage-error.ts";

const millisecondsIn: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

const bytesIn: Record<string, number> = {
  b: 1,
  kb: 1000,
  mb: 1000 ** 2,
  gb: 1000 ** 3,
  kib: 1024,
  mib: 1024 ** 2,
  gib: 1024 ** 3,
};

/** A timer set to more than this fires at once. */
const longestTimer = 2 ** 31 - 1;

/**
 * Reads a length of time: a whole number with `ms`, `s`, `m` or `h`, or plain.
 * @param plain what a number without a unit counts
 * @returns milliseconds
 * @throws UsageError when it is anything else, or longer than a timer can run (24 days)
 */
export function parseDuration(value: unknown, plain: "milliseconds" | "seconds" = "milliseconds"): number {
  const milliseconds = parseQuantity(value, millisecondsIn, plain === "seconds" ? 1000 : 1);
  if (milliseconds === undefined) {
    throw new UsageError(`expected a duration (250ms, 30s, 5m, 1h or plain ${plain}), found ${shown(value)}`);
  }
  if (milliseconds > longestTimer)
    throw new UsageError(`expected a duration of at most 24 days, found ${shown(value)}`);
  return milliseconds;
}

/**
 * Reads an amount of data: a whole number with `KiB`, `MiB`, `GiB`, `KB`, `MB`, `GB` or `B`, or plain bytes.
 * @returns bytes
 * @throws UsageError when it is anything else
 */
export function parseSize(value: unknown): number {
  const bytes = parseQuantity(value, bytesIn);
  if (bytes === undefined) {
    throw new UsageError(`expected a size (10KiB, 64MiB, 1GiB, 10MB or plain bytes), found ${shown(value)}`);
  }
  return bytes;
}

/** A value as it appears in a message: as JSON, cut short. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function parseQuantity(value: unknown, units: Record<string, number>, plain = 1): number | undefined {
  const match = /^(\d+) ?([a-z]*)$/i.exec(
    typeof value === "number" ? String(value) : typeof value === "string" ? value : "",
  );
  const unit = match?.[2]?.toLowerCase() ?? "";
  const factor = unit === "" ? plain : units[unit];
  if (match === null || factor === undefined) return undefined;
  const amount = Number(match[1]) * factor;
  return Number.isSafeInteger(amount) ? amount : undefined;
}
