/**
 * The measuring client: starts a contender, speaks the protocol version it expects, and counts what comes back. Lines
 * that belong to a flood are recognised by a marker in their bytes and counted without being parsed, so that the client
 * is never what is measured.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpuMicroseconds, peakMiB, residentMiB } from "./process-figures.mjs";

const LINE_FEED = 0x0a;
const EXIT_MS = 10_000;

/**
 * Starts a contender and initializes it.
 *
 * @param signal kills it
 * @param options.bytesPerSecond reads no faster than this; not given: as fast as it comes
 * @returns a connection; its promises reject when the contender errs, ends before it was asked to, or is killed
 */
export async function connect({ command, protocol }, signal, { bytesPerSecond } = {}) {
  const started = performance.now();
  const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "pipe"], signal, killSignal: "SIGKILL" });
  const { pid } = child;

  const answers = new Map();
  const turns = new Map();
  let failed = () => {};
  const failure = new Promise((_, reject) => {
    failed = reject;
  });
  failure.catch(() => {});
  let closing = false;
  let nextId = 1;
  let complaint = "";
  child.on("error", (error) => failed(error.cause ?? error));
  child.on("exit", (code, killedBy) => {
    if (!closing) failed(new Error(`ended with ${killedBy ?? code}: ${complaint.trim()}`));
  });
  child.stdin.on("error", () => {});
  child.stderr.setEncoding("utf8").on("data", (text) => {
    complaint = (complaint + text).slice(-500);
  });

  /** The flood being counted: `{ marker, count, seen, sample, onFirst, onLast }`. */
  let flood;
  let held = [];

  /** When the bytes being read came: what this client takes to read its version's frames is not the contender's. */
  let arrived = 0;

  child.stdout.on("data", (chunk) => {
    arrived = performance.now();
    readLines(chunk);
    if (bytesPerSecond === undefined) return;
    child.stdout.pause();
    setTimeout(() => child.stdout.resume(), (chunk.length / bytesPerSecond) * 1000);
  });

  function readLines(chunk) {
    let start = 0;
    let end = chunk.indexOf(LINE_FEED);
    if (held.length > 0 && end !== -1) {
      const line = Buffer.concat([...held, chunk.subarray(0, end)]);
      held = [];
      if (flood !== undefined && line.includes(flood.marker)) count(line);
      else control(line);
      start = end + 1;
      end = chunk.indexOf(LINE_FEED, start);
    }
    let marked = -1;
    for (; end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      if (flood !== undefined && marked < start) {
        marked = chunk.indexOf(flood.marker, start);
        if (marked === -1) marked = chunk.length;
      }
      if (flood !== undefined && marked < end) count(flood.sample && chunk.subarray(start, end));
      else control(chunk.subarray(start, end));
      start = end + 1;
    }
    if (start < chunk.length) held.push(chunk.subarray(start));
  }

  function count(line) {
    flood.seen++;
    if (flood.seen === 1) flood.first = arrived;
    if (flood.seen === flood.count) flood.last = arrived;
    flood.sample?.push(Buffer.from(line));
  }

  /** Anything that is not counted: answers, and the end of a turn. */
  function control(line) {
    const frame = JSON.parse(line.toString());
    if (frame.method === undefined) {
      const answer = answers.get(frame.id);
      answers.delete(frame.id);
      if (answer === undefined || frame.error !== undefined) failed(new Error(`answered ${line}`));
      else answer(frame.result);
      return;
    }
    const { sessionId, update } = frame.params ?? {};
    if (update?.sessionUpdate === "state_update" && update.state === "idle") turns.get(sessionId)?.(update.stopReason);
  }

  function send(method, params) {
    const id = nextId++;
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return Promise.race([failure, new Promise((resolve) => answers.set(id, resolve))]);
  }

  /** One prompt, to the end of its turn: v1 answers it then, v2 reports the session idle. */
  async function turn(sessionId, order) {
    const idle = new Promise((resolve) => turns.set(sessionId, resolve));
    const result = await send("session/prompt", { sessionId, prompt: [{ type: "text", text: JSON.stringify(order) }] });
    const stopReason = protocol === 1 ? result.stopReason : await Promise.race([failure, idle]);
    if (stopReason !== "end_turn") throw new Error(`a turn ended with ${stopReason}`);
  }

  /**
   * Gives the same order to every session at once and counts what comes of it.
   *
   * @param marker what every counted line holds, and no other line
   * @returns milliseconds from the prompt to the first and to the last counted line, µs of processor time used, and
   *   with `keep` the lines; throws unless exactly `count` lines came from each session
   */
  async function run(sessions, order, { marker, count, keep = false }) {
    const expected = count * sessions.length;
    const counted = { marker: Buffer.from(marker), count: expected, seen: 0, sample: keep ? [] : undefined };
    flood = counted;
    const cpuBefore = cpuMicroseconds(pid);
    const began = performance.now();
    await Promise.all(sessions.map((sessionId) => turn(sessionId, order)));
    const cpu = cpuMicroseconds(pid) - cpuBefore;
    flood = undefined;
    if (counted.seen !== expected) throw new Error(`${counted.seen} of ${expected} messages came through`);
    return { toFirst: counted.first - began, toLast: counted.last - began, cpu, lines: counted.sample };
  }

  async function close() {
    closing = true;
    child.stdin.end();
    const timer = setTimeout(() => child.kill("SIGKILL"), EXIT_MS);
    const [code, killedBy] = child.exitCode === null ? await once(child, "exit") : [child.exitCode];
    clearTimeout(timer);
    if (code !== 0) throw new Error(`ended with ${killedBy ?? code} after its input: ${complaint.trim()}`);
  }

  const description = { name: "bench", version: "0" };
  await send("initialize", {
    protocolVersion: protocol,
    ...(protocol === 1 ? { clientInfo: description, clientCapabilities: {} } : { info: description, capabilities: {} }),
  });
  return {
    startup: performance.now() - started,
    newSession: async () => (await send("session/new", { cwd: process.cwd(), mcpServers: [] })).sessionId,
    turn,
    run,
    residentMiB: () => residentMiB(pid),
    peakMiB: () => peakMiB(pid),
    close,
  };
}
