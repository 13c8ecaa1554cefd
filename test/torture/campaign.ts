// What `npm run torture` asked for, and where its parts tell what they found (scripts/torture.mjs).
import { appendFileSync } from "node:fs";

/** The seed of the run: the same seed, the same random choices. */
export const seed = Number(process.env["ACP_SHIFT_TORTURE_SEED"] ?? 1);

/** How long a part may take that can go on for ever, in ms; `share` of the whole. */
export const budget = (share: number): number => share * Number(process.env["ACP_SHIFT_TORTURE_MINUTES"] ?? 5) * 60_000;

/** Whether each fault is tried at every step. */
export const full = process.env["ACP_SHIFT_TORTURE_FULL"] === "1";

/** Adds a row to the table at the end. */
export function report(part: string, figures: Record<string, string | number | bigint | boolean>): void {
  const file = process.env["ACP_SHIFT_TORTURE_REPORT"];
  const row = JSON.stringify({ part, figures }, (_, value) => (typeof value === "bigint" ? String(value) : value));
  if (file !== undefined) appendFileSync(file, `${row}\n`);
}
