// A state directory of a test's own, and what is in it.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { JsonObject } from "../../src/protocol/json.ts";
import { agentDirectory, sessionFileName } from "../../src/store/names.ts";
import { openStore, type Store, type StoreOptions } from "../../src/store/store.ts";

/** An empty directory, gone after the test. */
export function emptyDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "acp-shift-store-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Opens a store with room for everything; faults fail the test unless it collects them. */
export function open(directory: string, options: Partial<StoreOptions> = {}): Store {
  return openStore({
    directory,
    agent: "agent",
    limitBytes: 1e9,
    now: () => new Date("2026-01-01T00:00:00.000Z"),
    onFault: (error) => {
      throw error;
    },
    ...options,
  });
}

/** Where a session's records are. */
export function fileOf(directory: string, sessionId: string, agent = "agent"): string {
  return join(agentDirectory(directory, agent), sessionFileName(sessionId));
}

/** All files below a directory, by their paths from there. */
export function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .sort();
}

/** The records of a file, every line of which must be a whole JSON object or empty. */
export function linesOf(path: string): JsonObject[] {
  const lines = readFileSync(path, "utf8").split("\n");
  if (lines.at(-1) !== "") throw new Error("the last line is torn");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}
