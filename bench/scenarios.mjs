/**
 * What is measured. A scenario runs one contender in a process of its own, once, and returns named figures; it throws
 * rather than return a figure of a run that was not as it should be.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "./client.mjs";
import { contenders } from "./contenders.mjs";

const MEBIBYTE = 1024 * 1024;
const CHUNK = { marker: '"agent_message_chunk"' };
const TOOL = { marker: '"toolCallId"' };
/** Enough for the optimising compiler to be done with the hot path. */
const WARM_UP = 20_000;
const STRETCHES = 5;
/** Longer than the bridge waits for the tail of a turn, so that every contender has been idle as long. */
const PROMPT_INTERVAL_MS = 80;
/** A reader slower than any contender writes. */
const SLOW_BYTES_PER_SECOND = 4 * MEBIBYTE;
const RESULT_BYTES = 64 * MEBIBYTE;
const SESSIONS = 100;

const { direct, bytes, json, glue, bridge, traced } = contenders;

/** The sizes of a whole and of a short run. */
export const sizes = {
  full: { starts: 10, prompts: 100, chunks: 200_000, pacedChunks: 6000, slowChunks: 100_000, soakChunks: 10_000_000 },
  quick: { starts: 3, prompts: 20, chunks: 40_000, pacedChunks: 1000, slowChunks: 30_000, soakChunks: 400_000 },
};

/**
 * `contenders`: who takes part. `long`: run in one round only, and not in a short run. `seconds`: after which a run has
 * hung.
 * `run(contender, size, signal)`: the figures of one run.
 */
export const scenarios = [
  { name: "start-up", contenders: [direct, bytes, json, glue, bridge], seconds: 60, run: startUp },
  { name: "latency", contenders: [direct, bytes, json, glue, bridge, traced], seconds: 60, run: latency },
  {
    name: "chunks",
    contenders: [direct, bytes, json, glue, bridge, traced],
    seconds: 120,
    run: stream({ ids: false }),
  },
  { name: "chunks with ids", contenders: [bytes, json, glue, bridge], seconds: 120, run: stream({ ids: true }) },
  { name: "paced chunks", contenders: [bytes, json, bridge, traced], seconds: 120, run: paced },
  { name: "tool calls", contenders: [bytes, json, glue, bridge, traced], seconds: 120, run: tools },
  { name: "64 MiB result", contenders: [direct, bytes, json, glue, bridge], seconds: 120, run: largeResult },
  { name: "100 sessions", contenders: [bytes, json, glue, bridge], seconds: 120, run: manySessions },
  { name: "slow reader", contenders: [bytes, json, bridge], seconds: 120, run: slowReader },
  { name: "soak", contenders: [bytes, json, bridge], seconds: 1200, long: true, run: soak },
];

async function startUp(contender, { starts }, signal) {
  const times = [];
  for (let start = 0; start < starts; start++) {
    const connection = await connect(contender, signal);
    times.push(connection.startup);
    await connection.close();
  }
  return { "to initialize result (ms)": quantile(times, 0.5) };
}

async function latency(contender, { prompts }, signal) {
  const { connection, sessionId } = await begin(contender, signal);
  const times = [];
  for (let prompt = 0; prompt < prompts; prompt++) {
    const next = sleep(PROMPT_INTERVAL_MS);
    const order = { send: "chunks", count: 1, bytes: 40 };
    const { toFirst } = await connection.run([sessionId], order, { ...CHUNK, count: 1 });
    times.push(toFirst);
    await next;
  }
  await connection.close();
  return { "to first chunk, p50 (ms)": quantile(times, 0.5), "to first chunk, p99 (ms)": quantile(times, 0.99) };
}

function stream({ ids }) {
  return async (contender, { chunks }, signal) => {
    const { connection, sessionId } = await begin(contender, signal);
    const idle = connection.residentMiB();
    await checkOrder(connection, sessionId, contender);
    await flood(connection, [sessionId], scaled(contender, WARM_UP), ids);
    const { rate, cpu } = await flood(connection, [sessionId], scaled(contender, chunks), ids);
    const peak = connection.peakMiB();
    await connection.close();
    return { "messages/s": rate, "CPU per message (µs)": cpu, "memory, idle (MiB)": idle, "memory, peak (MiB)": peak };
  };
}

/** Chunks as fast as the quickest models speak, each by itself: what waking up for it costs is in the figure. */
async function paced(contender, { pacedChunks }, signal) {
  const { connection, sessionId } = await begin(contender, signal);
  await flood(connection, [sessionId], scaled(contender, WARM_UP), false);
  const order = (count) => ({ send: "paced", count, bytes: 40, every: 2 });
  const { cpu } = await leastOf(connection, sessionId, order, CHUNK, pacedChunks / STRETCHES);
  await connection.close();
  return { "CPU per message (µs)": cpu };
}

async function tools(contender, { chunks }, signal) {
  const { connection, sessionId } = await begin(contender, signal);
  const order = (count) => ({ send: "tools", count });
  const count = scaled(contender, chunks / 4 / STRETCHES);
  const { rate, cpu } = await leastOf(connection, sessionId, order, TOOL, count);
  await connection.close();
  return { "messages/s": rate, "CPU per message (µs)": cpu };
}

/**
 * What a message takes at the least, in stretches of so many after two to get warm: whatever else the machine does comes in
 * bursts, and only adds to it.
 */
async function leastOf(connection, sessionId, order, expected, count) {
  const stretches = [];
  for (let stretch = -2; stretch < STRETCHES; stretch++) {
    const { toLast, cpu } = await connection.run([sessionId], order(count), { ...expected, count });
    if (stretch >= 0) stretches.push({ rate: (count / toLast) * 1000, cpu: cpu / count });
  }
  return {
    rate: Math.max(...stretches.map(({ rate }) => rate)),
    cpu: Math.min(...stretches.map(({ cpu }) => cpu)),
  };
}

async function largeResult(contender, _size, signal) {
  const { connection, sessionId } = await begin(contender, signal);
  const idle = connection.residentMiB();
  await connection.turn(sessionId, { send: "nothing", prepare: RESULT_BYTES });
  const expected = { ...TOOL, count: 2, keep: true };
  const { toLast, lines } = await connection.run([sessionId], { send: "result" }, expected);
  const peak = connection.peakMiB();
  await connection.close();
  const { text } = JSON.parse(lines[1].toString()).params.update.content[0].content;
  if (text.length !== RESULT_BYTES) throw new Error(`${text.length} of ${RESULT_BYTES} bytes came through`);
  return { "time (ms)": toLast, "memory for it ÷ its size": ((peak - idle) * MEBIBYTE) / RESULT_BYTES };
}

async function manySessions(contender, { chunks }, signal) {
  const { connection, sessionId } = await begin(contender, signal);
  // So many that a session's own turn does not weigh in.
  const count = scaled(contender, chunks * 5);
  await flood(connection, [sessionId], scaled(contender, WARM_UP), false);
  const one = await flood(connection, [sessionId], count, false);
  const sessions = [];
  for (let session = 0; session < SESSIONS; session++) sessions.push(await connection.newSession());
  const many = await flood(connection, sessions, Math.round(count / SESSIONS), false);
  await connection.close();
  return {
    "messages/s": many.rate,
    "CPU per message (µs)": many.cpu,
    "CPU per message ÷ that of one session": many.cpu / one.cpu,
  };
}

async function slowReader(contender, { slowChunks }, signal) {
  const { connection, sessionId } = await begin(contender, signal, { bytesPerSecond: SLOW_BYTES_PER_SECOND });
  const { rate } = await flood(connection, [sessionId], scaled(contender, slowChunks), false);
  const peak = connection.peakMiB();
  await connection.close();
  return { "messages/s": rate, "memory, peak (MiB)": peak };
}

async function soak(contender, { soakChunks }, signal) {
  const { connection, sessionId } = await begin(contender, signal);
  const tenth = soakChunks / 10;
  const idle = await settled(connection);
  await flood(connection, [sessionId], tenth, false);
  const early = await settled(connection);
  for (let turn = 1; turn < 10; turn++) await flood(connection, [sessionId], tenth, false);
  const late = await settled(connection);
  await connection.close();
  return {
    chunks: soakChunks,
    "memory, idle (MiB)": idle,
    "memory, growth over idle (MiB)": late - idle,
    "memory, growth after the first tenth (MiB)": late - early,
  };
}

/** The resident memory once there has been nothing to do for a while, in MiB. */
async function settled(connection) {
  await sleep(1000);
  return connection.residentMiB();
}

async function begin(contender, signal, options) {
  const connection = await connect(contender, signal, options);
  const sessionId = await connection.newSession();
  return { connection, sessionId };
}

async function flood(connection, sessions, count, ids) {
  const order = { send: "chunks", count, bytes: 40, ids };
  const { toLast, cpu } = await connection.run(sessions, order, { ...CHUNK, count });
  const messages = count * sessions.length;
  return { rate: (messages / toLast) * 1000, cpu: cpu / messages };
}

/** A flood is only counted; this one is read: what is measured must also be right. */
async function checkOrder(connection, sessionId, { protocol }) {
  const count = 2000;
  const order = { send: "numbered", count, bytes: 40 };
  const { lines } = await connection.run([sessionId], order, { ...CHUNK, count, keep: true });
  const messageIds = new Set();
  for (const [index, line] of lines.entries()) {
    const { params } = JSON.parse(line.toString());
    const { content, messageId } = params.update;
    if (params.sessionId !== sessionId || content.text !== `${index} `.padEnd(40, "."))
      throw new Error(`chunk ${index} came through as ${line}`);
    messageIds.add(messageId);
  }
  if (protocol === 2 && (messageIds.size !== 1 || messageIds.has(undefined)))
    throw new Error(`one message came through under the ids ${[...messageIds]}`);
}

function scaled({ share = 1 }, count) {
  return Math.round(count * share);
}

/** The value below which the given part of the values lies. */
function quantile(values, part) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
}
