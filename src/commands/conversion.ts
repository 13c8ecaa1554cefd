import { open } from "node:fs/promises";
import { UsageError } from "../config/usage-error.ts";

/**
 * Writes a converted trace: to the file (mode 0600, for it is as private as the trace), or to standard output.
 *
 * @throws UsageError when the file cannot be written
 */
export async function writeLines(lines: Iterable<unknown>, output: unknown): Promise<void> {
  const text = [...lines].map((line) => `${JSON.stringify(line)}\n`).join("");
  if (typeof output !== "string" || output === "-") {
    await new Promise<void>((resolve) => {
      process.stdout.once("error", () => resolve());
      process.stdout.write(text, () => resolve());
    });
    return;
  }
  try {
    const file = await open(output, "w", 0o600);
    await file.writeFile(text).finally(() => file.close());
  } catch (error) {
    throw new UsageError(`cannot write ${output}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Says on standard error what had no place in the other format. */
export function tellLosses(left: ReadonlyMap<string, number>): void {
  for (const [reason, count] of left) process.stderr.write(`acp-shift: left out: ${count} ${reason}\n`);
}
