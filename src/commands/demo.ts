import { type ChildProcessByStdio, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { acts, judge, judgeAgentSide, throughout, type Verdict } from "../demo/acts.ts";
import { type Client, connectClient } from "../demo/client.ts";
import { bothSides, legend } from "../demo/frames-view.ts";
import { readTurn, type Seen } from "../demo/turn.ts";
import { conversationView, heading, introduction, type Screen, verdictList } from "../demo/view.ts";

export interface DemoOptions {
  /** Show the frames of both protocol versions instead of the conversation. */
  both: boolean;
}

export interface PerformOptions extends DemoOptions {
  /** What speaks ACP v2 on its stdin and stdout: a program and its arguments. */
  command: readonly [program: string, ...args: string[]];
  screen: Screen;
  /** After this many milliseconds the conversation is broken off. */
  deadline: number;
}

type Bridge = ChildProcessByStdio<Writable, Readable, Readable>;

/** A part of the final list. */
interface Part {
  title: string;
  verdicts: Verdict[];
}

/** Milliseconds `acp-shift` has to end after its client left, before it is terminated; and again before it is killed. */
const patience = 6_000;

/**
 * `acp-shift demo`: a v2 client holds a conversation with a v1 agent through a real `acp-shift` process. Shows it on
 * stdout, and whether all of it was as it should be.
 *
 * @returns the exit status: 0 when everything was as expected, else 1
 */
export function demo({ both }: DemoOptions): Promise<number> {
  const inPackage = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
  const { columns = 80, isTTY } = process.stdout;
  return perform({
    both,
    command: [process.execPath, inPackage("../cli.js"), "--", process.execPath, inPackage("../demo/agent.js")],
    screen: {
      write: (text) => process.stdout.write(text),
      columns: Math.min(columns, both ? 200 : 100),
      colour: isTTY && !process.env["NO_COLOR"],
    },
    deadline: 20_000,
  });
}

/**
 * Holds the whole conversation with the command. However it goes, the command has ended when this returns.
 *
 * @returns 0 when everything was as expected, else 1
 */
export async function perform({ both, command, screen, deadline }: PerformOptions): Promise<number> {
  const started = Date.now();
  const directory = mkdtempSync(join(tmpdir(), "acp-shift-demo-"));
  const record = join(directory, "v1.jsonl");
  const env = both ? { ...process.env, ACP_DEMO_RECORD: record } : process.env;
  const [program, ...args] = command;
  const bridge = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], env });
  const ended = ending(bridge);
  const stderr = gathered(bridge.stderr);

  const v2: Seen[] = [];
  const show = both ? undefined : conversationView(screen);
  const client = connectClient(bridge.stdout, bridge.stdin, (direction, frame) => {
    v2.push({ at: process.hrtime.bigint(), direction, frame });
    show?.(direction, frame);
  });

  screen.write(introduction(both ? legend(screen) : "Shown is what the client sees.", screen));
  const parts: Part[] = [];
  const trouble = watch(bridge, client, deadline);
  let v1: Seen[] = [];
  try {
    for (const { title, play, expectations } of acts) {
      screen.write(heading(title, screen));
      const from = { v2: v2.length, v1: v1.length };
      const failure = await Promise.race([play(client, process.cwd()), trouble.found]).then(() => undefined, asVerdict);
      if (both) {
        // Between two turns nothing is under way: what either side has seen by now is all of it.
        v1 = readRecord(record);
        screen.write(bothSides(v2.slice(from.v2), v1.slice(from.v1), screen));
      }
      const verdicts = judge(expectations, readTurn(v2.slice(from.v2)));
      parts.push({ title, verdicts: failure ? [failure, ...verdicts] : verdicts });
      if (failure) break;
    }
  } finally {
    trouble.forget();
    await leave(bridge, ended);
    rmSync(directory, { recursive: true, force: true });
  }
  parts.push({
    title: "The conversation as a whole",
    verdicts: [...judge(throughout, readTurn(v2)), ...(both ? judgeAgentSide(v1) : []), judgeEnding(await ended)],
  });
  const allHeld = report(parts, Date.now() - started, stderr(), screen);
  if (allHeld && !both) screen.write("With --both it shows the frames of both versions, side by side.\n");
  return allHeld ? 0 : 1;
}

/** What ends the conversation before its time. `found` is rejected with it, unless `forget` was called before. */
function watch(bridge: Bridge, client: Client, deadline: number): { found: Promise<never>; forget(): void } {
  let forget = (): void => {};
  const found = new Promise<never>((_, reject) => {
    const end = (reason: string) => (): void =>
      reject(new Error(`${reason}, while waiting for ${client.waitingFor()}`));
    const failed = (error: Error): void => reject(new Error(`could not be started: ${error.message}`));
    const closed = end("acp-shift ended");
    const interrupted = end("interrupted");
    const timer = setTimeout(end(`nothing more after ${deadline / 1000} s`), deadline);
    bridge.on("error", failed).on("close", closed);
    // Writing to a process that has ended fails; that it has ended is what matters, and `close` tells.
    bridge.stdin.on("error", () => {});
    for (const signal of signals) process.on(signal, interrupted);
    // Nobody watches any more, as after `| head`. The listener stays: more writes will fail.
    process.stdout.on("error", interrupted);
    forget = () => {
      clearTimeout(timer);
      bridge.off("close", closed);
      for (const signal of signals) process.off(signal, interrupted);
    };
  });
  return { found, forget };
}

const signals = ["SIGINT", "SIGTERM"] as const;

interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** How the process ended, once it has and all its output was read. */
function ending(bridge: Bridge): Promise<Ending> {
  return new Promise((resolve) => {
    bridge.once("close", (code, signal) => resolve({ code, signal }));
  });
}

/** The client leaves, and `acp-shift` should follow. */
async function leave(bridge: Bridge, ended: Promise<Ending>): Promise<void> {
  bridge.stdin.end();
  const timers = [
    setTimeout(() => bridge.kill("SIGTERM"), patience),
    setTimeout(() => bridge.kill("SIGKILL"), 2 * patience),
  ];
  await ended;
  timers.forEach(clearTimeout);
}

function judgeEnding({ code, signal }: Ending): Verdict {
  const label = "when the client leaves, acp-shift ends with status 0";
  return code === 0 ? { label, held: true } : { label, held: false, found: signal ?? `status ${code}` };
}

function asVerdict(error: unknown): Verdict {
  return {
    label: "nothing goes wrong on the way",
    held: false,
    found: error instanceof Error ? error.message : `${error}`,
  };
}

/** Reads a stream to its end; the function returned gives what has come so far. */
function gathered(stream: Readable): () => string {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString("utf8");
}

/** The frames the demo agent has recorded so far. */
function readRecord(file: string): Seen[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => {
    const { at, ...seen } = JSON.parse(line);
    return { ...seen, at: BigInt(at) };
  });
}

/** Shows what was expected and what of it held; true when all of it did. */
function report(parts: Part[], milliseconds: number, stderr: string, screen: Screen): boolean {
  screen.write(heading("As it should be?", screen));
  for (const { title, verdicts } of parts) screen.write(`${title}\n${verdictList(verdicts, screen)}`);
  const verdicts = parts.flatMap((part) => part.verdicts);
  const missed = verdicts.filter(({ held }) => !held).length;
  const seconds = (milliseconds / 1000).toFixed(1);
  if (missed === 0) {
    screen.write(`\nAll ${verdicts.length} as expected, in ${seconds} s.\n`);
    return true;
  }
  screen.write(`\n${missed} of ${verdicts.length} not as expected, in ${seconds} s.\n`);
  if (stderr !== "") screen.write(`\nOn stderr acp-shift said:\n${stderr}`);
  return false;
}
