// Hosted terminals under test: what they report is collected, and nothing of them is left when a test ends.
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, vi } from "vitest";
import { RequestFault, type RpcError } from "../../src/protocol/errors.ts";
import type { JsonObject } from "../../src/protocol/json.ts";
import type { CommandExit } from "../../src/services/command.ts";
import { createTerminals, type HostedTerminals } from "../../src/services/terminals.ts";
import { SHORT } from "../transport/processes.ts";

const PATIENCE = { timeout: 20_000, interval: 10 };

export interface Hosted {
  terminals: HostedTerminals;
  directory: string;
  /** Creates a terminal of session "s1", unless the params say otherwise; returns the params that name it. */
  create(command: string, args?: string[], params?: JsonObject): Named;
  /** Runs a script for `sh`. `go NAME` in it waits for {@link Hosted.go} to be called with the name, or for the test to end. */
  script(text: string, params?: JsonObject): Named;
  go(name: string): void;
  /** What was reported, in order: the text of each output, and each exit. */
  reports(terminal: Named): (string | CommandExit)[];
  /** Everything reported as output so far. */
  written(terminal: Named): Buffer;
  /** Waits until the output holds the text; returns the number that follows it, or NaN. */
  says(terminal: Named, text: string): Promise<number>;
  /** Waits for the end, and returns all there is to know then. */
  result(terminal: Named): Promise<JsonObject>;
}

export type Named = { sessionId: string; terminalId: string };

export function host(options: { ladder?: typeof SHORT; onOutput?: (terminals: HostedTerminals) => void } = {}): Hosted {
  const directory = temporaryDirectory();
  const reported = new Map<string, (Uint8Array | CommandExit)[]>();
  const report = (sessionId: string, terminalId: string, what: Uint8Array | CommandExit) => {
    const name = `${sessionId} ${terminalId}`;
    reported.set(name, [...(reported.get(name) ?? []), what]);
  };
  const terminals: HostedTerminals = createTerminals(
    {
      onOutput(sessionId, terminalId, bytes) {
        report(sessionId, terminalId, bytes);
        options.onOutput?.(terminals);
      },
      onExit: report,
    },
    options.ladder ?? SHORT,
  );
  onTestFinished(() => {
    const closed = terminals.closeAll();
    terminals.killNow();
    return closed;
  });
  let count = 0;

  function create(command: string, args: string[] = [], params: JsonObject = {}): Named {
    const terminalId = `t${++count}`;
    const all = { sessionId: "s1", command, args, ...params };
    terminals.create(terminalId, all, { cwd: directory });
    return { sessionId: all.sessionId, terminalId };
  }

  const reportsOf = ({ sessionId, terminalId }: Named) => reported.get(`${sessionId} ${terminalId}`) ?? [];
  const written = (terminal: Named) => Buffer.concat(reportsOf(terminal).filter((what) => what instanceof Uint8Array));

  return {
    terminals,
    directory,
    create,
    script: (text, params) =>
      create("sh", ["-c", `go() { while [ -e "$PWD" ] && [ ! -e go-$1 ]; do sleep 0.01; done; }; ${text}`], params),
    go: (name) => writeFileSync(join(directory, `go-${name}`), ""),
    reports: (terminal) =>
      reportsOf(terminal).map((what) => (what instanceof Uint8Array ? Buffer.from(what).toString() : what)),
    written,
    async says(terminal, text) {
      await vi.waitFor(() => expect(written(terminal).toString()).toContain(text), PATIENCE);
      const said = written(terminal).toString();
      return Number.parseInt(said.slice(said.indexOf(text) + text.length), 10);
    },
    async result(terminal) {
      const exit = await terminals.waitForExit(terminal);
      const output = terminals.output(terminal);
      expect(output["exitStatus"]).toEqual(exit);
      return output;
    },
  };
}

/** A directory by its real name, removed at the end of the test. */
export function temporaryDirectory(): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "acp-shift-services-")));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The fault that is raised, or what was returned in its stead. */
export async function faultOf(run: () => unknown): Promise<RpcError | { returned: unknown }> {
  try {
    return { returned: await run() };
  } catch (error) {
    if (error instanceof RequestFault) return error.error;
    throw error;
  }
}
