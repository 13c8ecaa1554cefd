import type { TraceLine } from "../config/trace-line.ts";
import { parseDuration } from "../config/units.ts";
import { at, UsageError } from "../config/usage-error.ts";
import type { TraceRecord } from "../trace/format.ts";
import { readTrace } from "../trace/read.ts";
import { type Act, createPlayer, type Player } from "../trace/replay/player.ts";
import { type Exit, type Hear, type Role, type Script, type Side, scriptOf, sidesOf } from "../trace/replay/script.ts";
import { startAgent } from "../transport/agent-process.ts";
import { decodeAgentLine, decodeClientLine } from "../transport/decode.ts";
import { createLineSplitter, type Line } from "../transport/lines.ts";
import { createOutput, type Output } from "../transport/output.ts";
import { reportProblem } from "./printer.ts";

/** Longest line taken from the live peer, in bytes. */
const MAX_FRAME = 256 * 1024 * 1024;
const LADDER = { termAfterMs: 2000, killAfterMs: 2000 };

/**
 * `acp-shift trace replay`: the recorded agent on stdin and stdout, or the recorded client against an agent it starts.
 * @returns the exit status: as the agent, the recorded one; as the client, whether all was as recorded
 * @throws UsageError for a file that is no trace, has nothing to play, or for options that do not fit together
 */
export async function traceReplay({ files, options, agent }: TraceLine): Promise<number> {
  const role: Role = options["as"] === "client" ? "client" : "agent";
  const patience = at("--wait", () => parseDuration(options["wait"]));
  const [command, ...args] = agent;
  if (role === "agent" && command !== undefined)
    throw new UsageError(
      "nothing may follow --: the recorded agent is played; --as client plays the client against a command",
    );
  const script = scriptFor(await allRecords(files), role, options["side"] as Side | undefined);
  tellLimits(script);
  const fast = options["fast"] === true;
  if (role === "agent") return playAgent(script, fast);
  if (command === undefined)
    throw new UsageError(
      "the agent's command is missing: acp-shift trace replay --as client FILE -- <command> [args…]",
    );
  return playClient(script, fast, { command, args }, patience);
}

async function allRecords(files: readonly string[]): Promise<TraceRecord[]> {
  const records: TraceRecord[] = [];
  for await (const record of readTrace(files, { report: reportProblem })) records.push(record);
  return records;
}

/** That of the role's own side; of a trace with one side only, that one. */
function scriptFor(records: readonly TraceRecord[], role: Role, wanted: Side | undefined): Script {
  const sides = sidesOf(records);
  const [only] = sides;
  if (only === undefined) throw new UsageError("there is no frame in the trace: nothing can be played");
  if (wanted !== undefined && !sides.has(wanted))
    throw new UsageError(`--side ${wanted}: the trace has only the ${only}'s side`);
  return scriptOf(records, role, wanted ?? (sides.has(role) ? role : only));
}

function tellLimits({ redacted, mark, truncated }: Script): void {
  const say = (text: string) => process.stderr.write(`acp-shift: replay: ${text}\n`);
  if (redacted > 0) say(`secrets were replaced in ${redacted} of the frames played: they say ${mark} in their place`);
  if (truncated > 0) say(`${truncated} lines were too long to be recorded and are left out`);
}

/** Has the player act whenever something came or is due; `waits` is called when only the live peer can bring more. */
function driver(player: Player, perform: (act: Act) => void, mayAct: () => boolean, waits: () => void = () => {}) {
  let timer: NodeJS.Timeout | undefined;
  function pump(): void {
    clearTimeout(timer);
    if (!mayAct()) return;
    const { acts, next } = player.due(performance.now());
    for (const act of acts) perform(act);
    if (next !== undefined) timer = setTimeout(pump, Math.max(1, Math.ceil(next - performance.now())));
    else waits();
  }
  return { pump, stop: () => clearTimeout(timer) };
}

function write(output: Output, act: Act): void {
  if (act.type === "frame") output.write(JSON.stringify(act.frame));
  if (act.type === "bytes") output.write(act.bytes);
  if (act.type === "stderr") process.stderr.write(`${act.text}\n`);
}

async function playAgent(script: Script, fast: boolean): Promise<number> {
  const player = createPlayer(script, { start: performance.now(), fast });
  const exit = await new Promise<Exit | undefined>((resolve) => {
    const output = createOutput(process.stdout, { onDrain: () => play.pump(), onBroken: () => finish(script.exit) });
    const play = driver(
      player,
      (act) => (act.type === "exit" ? finish(act.exit) : write(output, act)),
      () => !output.full,
    );
    const finish = (how: Exit | undefined) => {
      play.stop();
      process.stdin.removeAllListeners("data").pause().destroy();
      void output.flush().then(() => resolve(how));
    };
    const splitter = createLineSplitter(MAX_FRAME);
    const take = (lines: Line[]) => {
      for (const line of lines) hearClient(player, line);
      play.pump();
    };
    process.stdin.on("data", (chunk: Buffer) => take(splitter.push(chunk)));
    process.stdin.on("error", () => finish(script.exit));
    process.stdin.on("end", () => {
      take(splitter.end());
      for (const hear of player.awaited())
        process.stderr.write(`acp-shift: replay: not played to its end: ${waitText(hear)}\n`);
      finish(script.exit);
    });
    play.pump();
  });
  if (exit?.signal != null) process.kill(process.pid, exit.signal);
  return exit?.code ?? 0;
}

function hearClient(player: Player, line: Line): void {
  if ("oversized" in line) return;
  const decoded = decodeClientLine(line.bytes);
  if ("value" in decoded) player.hear(decoded.value, performance.now());
}

async function playClient(
  script: Script,
  fast: boolean,
  agent: { command: string; args: string[] },
  patience: number,
): Promise<number> {
  const player = createPlayer(script, { start: performance.now(), fast });
  let ending: string | undefined;
  const status = await new Promise<number | undefined>((resolve) => {
    const splitter = createLineSplitter(MAX_FRAME);
    let silence: NodeJS.Timeout | undefined;
    const take = (lines: Line[]) => {
      for (const line of lines) {
        if ("oversized" in line) continue;
        for (const { value } of decodeAgentLine(line.bytes).frames) player.hear(value, performance.now());
      }
      clearTimeout(silence);
      play.pump();
    };
    const child = startAgent(
      { ...agent, env: process.env, cwd: process.cwd(), ladder: LADDER },
      {
        onStdout: (chunk) => take(splitter.push(chunk)),
        onStdoutEnd: () => take(splitter.end()),
        onStderrLine: (line) => process.stderr.write(`${line}\n`),
        onExit: ({ code, signal, spawnError }) => {
          ending ??= spawnError?.message ?? `the agent ended (${signal ?? `status ${code}`})`;
          play.stop();
          clearTimeout(silence);
          resolve(spawnError === undefined ? undefined : spawnError.code === "ENOENT" ? 127 : 126);
        },
      },
    );
    const output = createOutput(child.stdin, { onDrain: () => play.pump(), onBroken: () => {} });
    const play = driver(
      player,
      (act) => write(output, act),
      () => !output.full && ending === undefined,
      () => {
        if (player.over()) leave("");
        else silence = setTimeout(() => leave(`nothing came for ${patience / 1000} s`), patience);
      },
    );
    const leave = (why: string) => {
      ending ??= why;
      play.stop();
      clearTimeout(silence);
      void output.flush().then(() => child.stop(LADDER));
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => leave("interrupted"));
    play.pump();
  });
  if (status !== undefined) {
    process.stderr.write(`acp-shift: the agent could not be started: ${ending}\n`);
    return status;
  }
  return report(script, player, ending ?? "");
}

/** Says on stdout what was not as recorded. */
function report({ side }: Script, player: Player, ending: string): number {
  const lines = [
    ...player.findings.map(({ seq, text }) => (seq === undefined ? text : `record ${seq}: ${text}`)),
    ...(player.over() ? [] : player.awaited().map((hear) => waitText(hear))),
  ];
  if (ending !== "" && !player.over()) lines.push(`not played to its end: ${ending}`);
  const { said, heard } = player.counts();
  const summary = `played the ${side === "client" ? "client" : "bridge's side towards the agent"}: ${said} frames said, ${heard} awaited ones came`;
  process.stdout.write(
    [...lines, `${summary}; ${lines.length === 0 ? "all as recorded" : `${lines.length} differ`}`, ""].join("\n"),
  );
  return lines.length === 0 ? 0 : 1;
}

function waitText({ seq, kind, frame, answers }: Hear): string {
  if (kind === "answer") return `record ${seq}: the answer to ${String(answers?.frame["method"])} did not come`;
  return `record ${seq}: ${String(frame["method"])} did not come`;
}
