// Runs the built `acp-shift serve` as a process, and speaks to it as clients of every transport do. Nothing sleeps: whatever
// is waited for has a deadline, and when it passes the error shows what was seen.
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createHttpStream } from "@agentclientprotocol/sdk/experimental/http-client";
import { expect, onTestFinished } from "vitest";
import { type ClientOptions, WebSocket } from "ws";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import { DEADLINE, type Exit, environmentIn } from "./bridge-process.ts";
import { processesWith } from "./processes.ts";

export { rawAgent, says } from "./raw-agent.ts";

const PROGRAM = join(import.meta.dirname, "../../dist/cli.js");

export interface ServeProcess {
  readonly pid: number;
  readonly directory: string;
  /** Where it listens, as it said: `tcp`, `ws` (for http too, and wss), `unix`. */
  readonly addresses: Record<string, string>;
  /** Its log, in order. */
  readonly records: JsonObject[];
  readonly stderr: string;
  readonly stdout: string;
  port(scheme: "tcp" | "ws"): number;
  /** The first `count` log records of this event, once there are as many. */
  logged(event: string, count?: number): Promise<JsonObject[]>;
  until<T>(what: string, read: () => T | undefined): Promise<T>;
  /** Waits until just so many processes descend from it: agents. */
  agents(count: number): Promise<unknown>;
  kill(signal: NodeJS.Signals): void;
  exited(): Promise<Exit>;
}

/** Starts `acp-shift serve` for the length of the running test; at its end it must end well and leave nothing behind. */
export async function serveForTest(
  listen: readonly string[],
  agent: readonly string[],
  options: readonly string[] = [],
): Promise<ServeProcess> {
  const server = startServe(listen, agent, options);
  onTestFinished(async () => {
    server.kill("SIGTERM");
    expect(await server.exited()).toEqual({ code: 143, signal: null });
    await server.until("end of every process", () => (server.descendants() === 0 ? true : undefined));
    expect(server.stdout).toBe("");
    expect(server.stderr).not.toMatch(/internal error|uncaught|unhandled/i);
    rmSync(server.directory, { recursive: true, force: true });
  });
  await server.until("listening", () =>
    Object.keys(server.addresses).length === listen.length || server.ended ? true : undefined,
  );
  return server;
}

/** As {@link serveForTest}; the caller sees to its end. */
export function startServe(listen: readonly string[], agent: readonly string[], options: readonly string[] = []) {
  const directory = mkdtempSync(join(tmpdir(), "acp-shift-serve-"));
  const mark = randomUUID();
  const words = listen.flatMap((address) => ["--listen", address.replace("$dir", directory)]);
  const child = spawn(
    process.execPath,
    [PROGRAM, "serve", ...words, "--log-level", "info", ...options, "--", ...agent],
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...environmentIn(directory), TEST_MARK: mark },
    },
  );
  const addresses: Record<string, string> = {};
  const records: JsonObject[] = [];
  let [stdout, stderr] = ["", ""];
  let exit: Exit | undefined;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  createInterface({ input: child.stderr }).on("line", (line) => {
    stderr += `${line}\n`;
    const [, address = "", scheme = ""] = /^acp-shift: listening on ((\w+):\S+)$/.exec(line) ?? [];
    if (address !== "") addresses[scheme.replace("wss", "ws")] = address;
    if (line.startsWith('{"level":')) records.push(JSON.parse(line));
  });
  child.on("close", (code, signal) => {
    exit = { code, signal };
  });

  const until = <T>(what: string, read: () => T | undefined) => poll(what, read, { account: () => stderr });
  const descendants = () => processesWith("TEST_MARK", mark).filter(({ pid }) => pid !== child.pid).length;
  return {
    pid: child.pid ?? 0,
    directory,
    addresses,
    records,
    get stderr() {
      return stderr;
    },
    get stdout() {
      return stdout;
    },
    get ended() {
      return exit !== undefined;
    },
    descendants,
    port: (scheme: "tcp" | "ws") => Number(/:(\d+)(?:\/|$)/.exec(addresses[scheme] ?? "")?.[1]),
    logged: (event: string, count = 1) =>
      until(`${count} × ${event}`, () => {
        const found = records.filter((record) => record["event"] === event);
        return found.length >= count ? found : undefined;
      }),
    until,
    agents: (count: number) =>
      poll(`${count} agents`, () => (descendants() === count ? true : undefined), {
        account: () => stderr,
        every: 100,
      }),
    kill: (signal: NodeJS.Signals) => void child.kill(signal),
    exited: () => until("end of serve", () => exit),
  };
}

/** A client: what came is kept. */
export interface TestClient {
  readonly frames: JsonObject[];
  /** Set once the connection is over: how, as far as the transport tells. */
  readonly over: string | undefined;
  send(frame: unknown): void;
  request(method: string, params?: unknown): Promise<JsonObject>;
  next(what: string, test: (frame: JsonObject) => boolean): Promise<JsonObject>;
  ended(): Promise<string>;
  leave(): void;
}

/** A client over a byte stream. */
export function lineClient(socket: Socket): TestClient & { socket: Socket } {
  const { client, received, finish } = testClient(
    (text) => void socket.write(`${text}\n`),
    () => void socket.end(),
  );
  // A line that was cut off is none.
  let rest = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    const end = rest.lastIndexOf("\n") + 1;
    for (const line of rest.toString("utf8", 0, end).split("\n").slice(0, -1)) received(line);
    rest = rest.subarray(end);
  });
  socket.on("error", (error) => finish(error.message));
  socket.on("close", () => finish("closed"));
  return Object.assign(client, { socket });
}

export const tcpClient = (port: number) => lineClient(connect({ port, host: "127.0.0.1", noDelay: true }));
export const unixClient = (path: string) => lineClient(connect(path));

/** A client over a WebSocket; a refused upgrade is its end, by the status. */
export function webSocketClient(url: string, options: ClientOptions = {}): TestClient & { socket: WebSocket } {
  const socket = new WebSocket(url, options);
  const opened = new Promise((resolve) => socket.once("open", resolve));
  const { client, received, finish } = testClient(
    (text) => void opened.then(() => socket.send(text)),
    () => socket.close(),
  );
  socket.on("message", (data) => received(String(data)));
  socket.on("error", (error) => finish(error.message));
  socket.on("close", (code) => finish(String(code)));
  return Object.assign(client, { socket });
}

/** A client over Streamable HTTP: the SDK's. */
export function httpClient(
  url: string,
  headers: Record<string, string> = {},
  fetch: typeof globalThis.fetch = globalThis.fetch,
): TestClient {
  const { readable, writable } = createHttpStream(url.replace(/^ws/, "http"), { headers, fetch });
  const writer = writable.getWriter();
  const { client, received, finish } = testClient(
    (text) => void writer.write(JSON.parse(text)).catch((error: unknown) => finish(String(error))),
    () => void writer.close().catch(() => {}),
  );
  void (async () => {
    for await (const frame of readable) received(JSON.stringify(frame));
  })().then(
    () => finish("closed"),
    (error: unknown) => finish(String(error)),
  );
  return client;
}

/** A client of acp-shift on stdio, with these words on its command line. */
export function stdioClient(words: readonly string[]) {
  const directory = mkdtempSync(join(tmpdir(), "acp-shift-connect-"));
  const child = spawn(process.execPath, [PROGRAM, ...words], { env: environmentIn(directory) });
  let stderr = "";
  let exit: Exit | undefined;
  const { client, received, finish } = testClient(
    (text) => void child.stdin.write(`${text}\n`),
    () => void child.stdin.end(),
  );
  child.stdin.on("error", () => {});
  createInterface({ input: child.stdout }).on("line", received);
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.on("close", (code, signal) => {
    exit = { code, signal };
    finish("closed");
  });
  onTestFinished(() => {
    child.kill("SIGKILL");
    rmSync(directory, { recursive: true, force: true });
  });
  return Object.assign(client, {
    said: () => stderr,
    exited: () => poll("end of acp-shift", () => exit, { account: () => stderr }),
  });
}

function testClient(write: (text: string) => void, leave: () => void) {
  const frames: JsonObject[] = [];
  let over: string | undefined;
  let nextId = 1;
  const seen = () => `over: ${over}; seen: ${JSON.stringify(frames)}`;
  const client: TestClient = {
    frames,
    get over() {
      return over;
    },
    send: (frame) => write(JSON.stringify(frame)),
    request(method, params) {
      const id = `c${nextId++}`;
      client.send({ jsonrpc: "2.0", id, method, params });
      return client.next(`answer to ${method}`, (frame) => frame["id"] === id && !("method" in frame));
    },
    next: (what, test) =>
      poll(what, () => frames.find(test), { account: seen, hopeless: () => over !== undefined && !frames.some(test) }),
    ended: () => poll("end of the connection", () => over, { account: seen }),
    leave,
  };
  return {
    client,
    received: (line: string) => void frames.push(asObject(JSON.parse(line))),
    finish: (how: string) => {
      over ??= how;
    },
  };
}

export interface Patience {
  /** What was seen, for the message of the error. */
  account?(): string;
  /** Whether it makes no sense to wait any longer. */
  hopeless?(): boolean;
  /** How often to look, in ms. */
  every?: number;
}

/** Waits for a value. */
export function poll<T>(what: string, read: () => T | undefined, patience: Patience = {}): Promise<T> {
  const { account = () => "", hopeless = () => false, every = 25 } = patience;
  return new Promise((resolve, reject) => {
    const end = (act: () => void) => {
      clearInterval(timer);
      clearTimeout(limit);
      act();
    };
    const fail = (how: string) => end(() => reject(new Error(`${how} ${what}\n${account().slice(-6000)}`)));
    const look = () => {
      const value = read();
      if (value !== undefined) end(() => resolve(value));
      else if (hopeless()) fail("there will be no");
    };
    const timer = setInterval(look, every);
    const limit = setTimeout(() => fail("still no"), DEADLINE);
    look();
  });
}

export const HELLO = { protocolVersion: 2, info: { name: "test-client", version: "1.0.0" }, capabilities: {} };

/** `initialize` and a session; its id. */
export async function openSession(client: TestClient): Promise<string> {
  const hello = await client.request("initialize", HELLO);
  expect(hello).toHaveProperty("result");
  const session = await client.request("session/new", { cwd: "/work" });
  return String(asObject(session["result"])["sessionId"]);
}

/** One prompt, up to the idle that ends it; what the agent said. */
export async function converse(client: TestClient, sessionId: string, words = "hello"): Promise<string> {
  const from = client.frames.length;
  expect(await client.request("session/prompt", { sessionId, prompt: [{ type: "text", text: words }] })).toHaveProperty(
    "result",
  );
  const updates = () => client.frames.slice(from).map((frame) => asObject(asObject(frame["params"])["update"]));
  await poll("idle", () => updates().find(({ state }) => state === "idle"), {
    account: () => JSON.stringify(client.frames.slice(from)),
    hopeless: () => client.over !== undefined,
  });
  return updates()
    .filter(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk")
    .map(({ content }) => String(asObject(content)["text"]))
    .join("");
}
