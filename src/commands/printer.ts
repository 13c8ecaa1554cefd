import { once } from "node:events";
import type { Problem } from "../trace/read.ts";

export interface Printer {
  /** Writes the lines; resolves when more may be written. */
  print(lines: readonly string[]): Promise<void>;
  /** True when nobody reads any more, as after `| head`. */
  readonly closed: boolean;
}

/** Prints lines for a reader who may leave at any time; `onClosed` is called when he does. */
export function createPrinter(output: NodeJS.WritableStream, onClosed: () => void = () => {}): Printer {
  let closed = false;
  output.on("error", () => {
    closed = true;
    onClosed();
  });
  return {
    async print(lines) {
      if (closed || lines.length === 0) return;
      if (!output.write(`${lines.join("\n")}\n`))
        await Promise.race([once(output, "drain"), once(output, "close")]).catch(() => {});
    },
    get closed() {
      return closed;
    },
  };
}

/** Says on standard error which line of a trace could not be read. */
export function reportProblem({ file, line, text }: Problem): void {
  process.stderr.write(`acp-shift: ${file}, line ${line}: ${text}\n`);
}
