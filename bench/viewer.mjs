/**
 * node bench/viewer.mjs [--records 100000] [--screenshots DIR]
 *
 * Opens a long trace in the viewer, in a Chromium (ACP_SHIFT_TEST_CHROMIUM, else Debian's), does what a person does to it, and tells for
 * each thing how long the frames took that were drawn meanwhile, how long the page could not answer, and how much CPU time its thread
 * took for each frame, which does not depend on what else the machine does. A frame takes 16.7 ms at best.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chromium } from "playwright-core";

const { values: options } = parseArgs({
  options: { records: { type: "string", default: "100000" }, screenshots: { type: "string" } },
});
const CLI = fileURLToPath(new URL("../dist/cli.js", import.meta.url));
const directory = mkdtempSync(join(tmpdir(), "acp-shift-bench-"));
const loadBefore = loadavg()[0];

try {
  const file = join(directory, "trace.jsonl");
  const written = await writeTrace(file, Number(options.records));
  const view = spawn(process.execPath, [CLI, "trace", "view", "--no-open", file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [url] = await once(createInterface(view.stdout), "line");
  const browser = await chromium.launch({
    executablePath: process.env.ACP_SHIFT_TEST_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"],
  });
  try {
    await measure(browser, url, written);
  } finally {
    await browser.close();
    view.kill("SIGINT");
    await once(view, "exit");
  }
} finally {
  rmSync(directory, { recursive: true });
}

async function measure(browser, url, { records, bytes }) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.addInitScript(watch);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  const cpu = async () => {
    const { metrics } = await devtools.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration").value * 1000;
  };
  const rows = [];
  let spent = 0;
  const end = async (what) => {
    const watched = await page.evaluate("watched.stop()");
    rows.push({ what, ...figures(watched), cpu: (await cpu()) - spent });
  };
  const during = async (what, act) => {
    spent = await cpu();
    await page.evaluate("watched.start()");
    await act();
    // What the last thing set off belongs to it.
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    await end(what);
  };
  const wheel = async (selector, by, times) => {
    await page.locator(selector).hover();
    for (let at = 0; at < times; at++) {
      await page.mouse.wheel(0, by);
      await page.evaluate("new Promise(requestAnimationFrame)");
    }
  };
  const press = async (selector, keys) => {
    await page.locator(selector).focus();
    for (const key of keys) {
      await page.keyboard.press(key);
      await page.evaluate("new Promise(requestAnimationFrame)");
    }
  };
  const times = (count, key) => Array(count).fill(key);

  const before = performance.now();
  await page.goto(url);
  await page.evaluate("watched.start()");
  while ((await page.locator("#reading").textContent()) !== "") await sleep(20);
  const load = performance.now() - before;
  await end("reading it");
  await during("wheel down the diagram", () => wheel("#sequence", 400, 60));
  await during("wheel down the conversation", () => wheel("#conversation", 400, 60));
  await during("page down the diagram", () => press("#sequence", times(40, "PageDown")));
  await during("arrow down the conversation", () => press("#conversation", times(40, "ArrowDown")));
  await during("its end and its beginning", () => press("#conversation", ["End", "Home", "End", "Home", "End"]));
  await during("type a search", async () => {
    await page.keyboard.press("/");
    await page.keyboard.type("number 123", { delay: 60 });
  });
  await during("its next hits", () => press("#search", times(10, "Enter")));
  await during("clear it", () => press("#search", ["Escape"]));
  await during("filter by method", () => page.getByLabel("Method").selectOption("session/prompt"));
  await during("filter by kind", () => page.getByLabel("Kind of record").selectOption("result"));
  await during("clear the filter", () => page.getByRole("button", { name: "Clear filters" }).click());
  await during("zoom the time line", () => wheel("#time-line", -200, 20));
  await during("true scale", () => page.getByRole("button", { name: "True scale" }).click());
  if (options.screenshots !== undefined) await page.screenshot({ path: join(options.screenshots, "viewer.png") });

  const cells = [["", "frames", "p50 ms", "p99 ms", "longest ms", "blocked ms", "CPU ms", "CPU ms/frame"]];
  for (const { what, frames, p50, p99, longest, blocked, cpu: used } of rows)
    cells.push(
      [
        what,
        frames,
        p50.toFixed(1),
        p99.toFixed(1),
        longest.toFixed(0),
        blocked.toFixed(0),
        used.toFixed(0),
        (used / frames).toFixed(1),
      ].map(String),
    );
  const widths = cells[0].map((_, at) => Math.max(...cells.map((row) => row[at].length)));
  const lines = cells.map((row) => row.map((cell, at) => aligned(cell, at, widths[at])).join("  "));
  process.stdout.write(`${records} records (${(bytes / 1e6).toFixed(0)} MB) read in ${(load / 1000).toFixed(2)} s\n`);
  process.stdout.write(
    `Chromium ${browser.version()}, Node ${process.version}, load ${loadBefore.toFixed(1)} when it began\n\n`,
  );
  process.stdout.write(`${lines.join("\n")}\n`);
}

function aligned(cell, column, width) {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}

/** Runs in the page: times between frames, and the time of long tasks beyond the 50 ms that nobody notices. */
function watch() {
  let frames = [];
  let tasks = [];
  let last;
  let running = false;
  const observer = new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration)));
  const tick = (now) => {
    if (!running) return;
    if (last !== undefined) frames.push(now - last);
    last = now;
    requestAnimationFrame(tick);
  };
  window.watched = {
    start() {
      [frames, tasks, last, running] = [[], [], undefined, true];
      observer.observe({ type: "longtask" });
      requestAnimationFrame(tick);
    },
    stop() {
      running = false;
      tasks.push(...observer.takeRecords().map(({ duration }) => duration));
      observer.disconnect();
      return { frames, tasks };
    },
  };
}

function figures({ frames, tasks }) {
  const sorted = frames.toSorted((one, other) => one - other);
  const at = (share) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  const blocked = tasks.reduce((sum, duration) => sum + Math.max(0, duration - 50), 0);
  return { frames: sorted.length, p50: at(0.5), p99: at(0.99), longest: at(1), blocked };
}

/** A v2 client over a v1 agent: turns of a thought, a message, a tool call and a permission, in small pieces, as they come in life. */
async function writeTrace(file, wanted) {
  const out = createWriteStream(file);
  let [seq, mono, bytes] = [0, 0, 0];
  const put = async (fields, cause, mine = {}) => {
    seq++;
    const time = new Date(Date.UTC(2026, 0) + mono).toISOString();
    const stamp = { seq, time, mono: Math.round(mono * 1000) / 1000, ...(cause !== undefined && { cause }) };
    const line = `${JSON.stringify({ type: fields.type, ...stamp, ...fields, ...mine })}\n`;
    bytes += line.length;
    if (!out.write(line)) await once(out, "drain");
    return seq;
  };
  const frame = (leg, kind, method, message, cause, request) =>
    put(
      {
        ...{ type: "frame", leg, kind, method, session: "s1", ...(request !== undefined && { request }) },
        ...{ bytes: JSON.stringify(message).length, frame: { jsonrpc: "2.0", ...message } },
      },
      cause,
    );
  const update = async (agentForm, clientForm = agentForm) => {
    mono += 15;
    const message = (form) => ({ method: "session/update", params: { sessionId: "s1", update: form } });
    const cause = agentForm && (await frame("agent-bridge", "notification", "session/update", message(agentForm)));
    mono += 0.2;
    await frame("bridge-client", "notification", "session/update", message(clientForm), cause);
  };
  const call = async (from, method, id, params) => {
    const [into, on] = from === "client" ? ["client-bridge", "bridge-agent"] : ["agent-bridge", "bridge-client"];
    const message = { id, method, params: { sessionId: "s1", ...params } };
    const cause = await frame(into, "request", method, message);
    return { method, id, asked: [cause, await frame(on, "request", method, message, cause)] };
  };
  const answer = async (from, { method, id, asked: [first, second] }, result) => {
    const [into, on] = from === "client" ? ["client-bridge", "bridge-agent"] : ["agent-bridge", "bridge-client"];
    const cause = await frame(into, "result", method, { id, result }, undefined, second);
    return frame(on, "result", method, { id, result }, cause, first);
  };
  const text = (words) => ({ type: "text", text: words });
  await put({
    ...{
      type: "header",
      format: "acp-shift-trace",
      version: 1,
      run: "bench",
      part: 1,
      acpShift: "bench",
      sdk: "bench",
    },
    ...{ node: process.version, started: new Date(Date.UTC(2026, 0)).toISOString(), agent: { command: ["agent"] } },
    ...{ redaction: { on: true, replaced: [], mark: "[redacted]" }, bridge: {} },
  });
  seq = 0;
  await answer("agent", await call("client", "initialize", 0, { protocolVersion: 2 }), { protocolVersion: 2 });
  await answer("agent", await call("client", "session/new", 1, { cwd: "/work" }), { sessionId: "s1" });
  for (let turn = 2; seq < wanted; turn++) {
    const prompt = await call("client", "session/prompt", turn, { prompt: [text(`Prompt number ${turn}, please.`)] });
    await frame(
      "bridge-client",
      "result",
      "session/prompt",
      { id: turn, result: { messageId: `u${turn}` } },
      undefined,
      prompt.asked[0],
    );
    await update(undefined, { sessionUpdate: "state_update", state: "running" });
    for (const kind of ["agent_thought", "agent_message"])
      for (let piece = 0; piece < 30; piece++) {
        const chunk = { sessionUpdate: `${kind}_chunk`, content: text(`piece ${piece} of number ${turn}, `) };
        await update(chunk, { ...chunk, messageId: `${kind}${turn}` });
      }
    const tool = { toolCallId: `c${turn}`, title: `Edit file number ${turn}`, kind: "edit", status: "pending" };
    await update({ sessionUpdate: "tool_call", ...tool }, { sessionUpdate: "tool_call_update", ...tool });
    const question = await call("agent", "session/request_permission", `p${turn}`, {
      toolCall: { toolCallId: `c${turn}` },
      options: [{ optionId: "yes", name: "Allow", kind: "allow_once" }],
    });
    mono += 900;
    await answer("client", question, { outcome: { outcome: "selected", optionId: "yes" } });
    const lines = Array.from({ length: 20 }, (_, line) => `line ${line} of file ${turn}`);
    const diff = {
      type: "diff",
      path: `/work/${turn}.txt`,
      oldText: lines.join("\n"),
      newText: lines.with(7, "changed").join("\n"),
    };
    await update({ sessionUpdate: "tool_call_update", toolCallId: `c${turn}`, status: "completed", content: [diff] });
    const cause = await frame(
      "agent-bridge",
      "result",
      "session/prompt",
      { id: turn, result: { stopReason: "end_turn" } },
      undefined,
      prompt.asked[1],
    );
    const idle = { sessionUpdate: "state_update", state: "idle", stopReason: "end_turn" };
    await frame(
      "bridge-client",
      "notification",
      "session/update",
      { method: "session/update", params: { sessionId: "s1", update: idle } },
      cause,
    );
    mono += 4000;
  }
  await put({ type: "end", status: 0, records: seq + 1, dropped: 0 });
  out.end();
  await once(out, "finish");
  return { records: seq, bytes };
}
