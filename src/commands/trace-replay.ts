import type { TraceLine } from "../config/trace-line.ts";
import { parseDuration } from "../config/units.ts";
import { at, UsageError } from "../config/usage-error.ts";
import { createPlaces, type Places } from "../trace/places.ts";
import { readPlaced, readTrace } from "../trace/read.ts";
import { type Act, createPlayer, type Finding, type Player } from "../trace/replay/player.ts";
import { createScript, type Exit, type Role, type Script, type Side, sidesOf } from "../trace/replay/script.ts";
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
  if (role === "client" && command === undefined)
    throw new UsageError(
      "the agent's command is missing: acp-shift trace replay --as client FILE -- <command> [args…]",
    );
  if (files.includes("-")) throw new UsageError("trace replay needs a file: it is read where it is played");
  const places = createPlaces();
  try {
    const script = await scriptFor(files, role, options["side"] as Side | undefined, places);
    tellLimits(script);
    const fast = options["fast"] === true;
    return await (command === undefined
      ? playAgent(script, fast)
      : playClient(script, fast, { command, args }, patience));
  } finally {
    places.close();
  }
}

/** That of the role's own side; of a trace with one side only, that one. */
async function scriptFor(
  files: readonly string[],
  role: Role,
  wanted: Side | undefined,
  places: Places,
): Promise<Script> {
  const sides = await sidesOf(readTrace(files, { report: () => {} }));
  const [only] = sides;
  if (only === undefined) throw new UsageError("there is no frame in the trace: nothing can be played");
  if (wanted !== undefined && !sides.has(wanted))
    throw new UsageError(`--side ${wanted}: the trace has only the ${only}'s side`);
  const script = createScript(role, wanted ?? (sides.has(role) ? role : only));
  for await (const placed of readPlaced(files, { report: reportProblem }))
    script.take(placed.record, places.of(placed));
  return script.end(places.read);
}

function tellLimits({ redacted, mark, truncated, missing }: Script): void {
  const say = (text: string) => process.stderr.write(`acp-shift: replay: ${text}\n`);
  if (redacted > 0) say(`secrets were replaced in ${redacted} of the frames played: they say ${mark} in their place`);
  if (missing > 0) say(`${missing} records are missing from the trace, and with them what was said`);
  if (truncated > 0) say(`${truncated} lines were too long to be recorded and are left out`);
}

/** How much is done before the peer is listened to again. */
const AT_ONCE = 64;

/** Has the player act whenever something came or is due; `waits` is called when only the live peer can bring more. */
function driver(player: Player, perform: (act: Act) => void, mayAct: () => boolean, waits: () => void = () => {}) {
  let timer: NodeJS.Timeout | undefined;
  let soon: NodeJS.Immediate | undefined;
  function stop(): void {
    clearTimeout(timer);
    clearImmediate(soon);
  }
  function pump(): void {
    stop();
    if (!mayAct()) return;
    const { acts, next } = player.due(performance.now(), AT_ONCE);
    for (const act of acts) perform(act);
    if (next === undefined) return waits();
    const rest = Math.ceil(next - performance.now());
    if (rest > 0) timer = setTimeout(pump, rest);
    else soon = setImmediate(pump);
  }
  return { pump, stop };
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
      for (const finding of player.awaited())
        process.stderr.write(`acp-shift: replay: not played to its end: ${findingText(finding)}\n`);
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
  const lines = [...player.findings, ...player.awaited()].map(findingText);
  if (ending !== "" && !player.over()) lines.push(`not played to its end: ${ending}`);
  const { said, heard } = player.counts();
  const summary = `played the ${side === "client" ? "client" : "bridge's side towards the agent"}: ${said} frames said, ${heard} awaited ones came`;
  process.stdout.write(
    [...lines, `${summary}; ${lines.length === 0 ? "all as recorded" : `${lines.length} differ`}`, ""].join("\n"),
  );
  return lines.length === 0 ? 0 : 1;
}

function findingText({ seq, text }: Finding): string {
  return seq === undefined ? text : `record ${seq}: ${text}`;
}
