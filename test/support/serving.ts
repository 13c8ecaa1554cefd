// `acp-shift serve` on a Unix socket, and clients that speak to it in lines.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished } from "vitest";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import { CLI, DEADLINE, environmentIn } from "./bridge-process.ts";
import { HELLO, text } from "./conversation.ts";
import { opsUrl } from "./operations.ts";

export interface Service {
  readonly pid: number;
  /** Where operators look. */
  readonly ops: string;
  /** What it logged so far. */
  readonly log: JsonObject[];
  /** The addresses it listens on. */
  readonly addresses: string[];
  /** A new client, before its first message. */
  connect(): Client;
  signal(signal: NodeJS.Signals): void;
  /** Its exit status, once it has ended. */
  ended(): Promise<number | null>;
}

export interface Client {
  /** Frames it was sent. */
  readonly frames: JsonObject[];
  readonly closed: boolean;
  send(frame: JsonObject): void;
  /** The answer to a request. */
  request(method: string, params: JsonObject): Promise<JsonObject>;
  /** Says hello and opens a session; its id. */
  open(): Promise<string>;
  prompt(sessionId: string): Promise<JsonObject>;
  /** The first frame that passes the test. */
  next(test: (frame: JsonObject) => boolean): Promise<JsonObject>;
  leave(): void;
}

/** True for the update that says so of a session. */
export const tellsState = (state: string) => (frame: JsonObject) =>
  asObject(asObject(frame["params"])["update"])["state"] === state;

/** Starts it for the length of the running test; it listens on a Unix socket and wherever else the options say. */
export async function serviceForTest(agent: readonly string[], ...options: string[]): Promise<Service> {
  const directory = mkdtempSync(join(tmpdir(), "acp-shift-serve-"));
  const path = join(directory, "socket");
  const own = ["serve", "--listen", `unix:${path}`, "--ops", "http://127.0.0.1:0", "--log-level", "debug"];
  const child = spawn(process.execPath, [CLI, ...own, ...options, "--", ...agent], {
    stdio: ["ignore", "inherit", "pipe"],
    env: environmentIn(directory),
  });
  const exited = once(child, "exit");
  const log: JsonObject[] = [];
  const told: string[] = [];
  createInterface({ input: child.stderr }).on("line", (line) => {
    if (line.startsWith("{")) log.push(JSON.parse(line));
    else told.push(line);
  });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
    rmSync(directory, { recursive: true, force: true });
  });
  const addresses = () => told.flatMap((line) => /listening on (.*)$/.exec(line)?.[1] ?? []);
  const expected = options.filter((option) => option === "--listen").length + 1;
  await until(
    () => addresses().length === expected || child.exitCode !== null,
    () => told.join("\n"),
  );
  return {
    pid: child.pid ?? 0,
    ops: opsUrl(log.map((record) => JSON.stringify(record)).join("\n")) ?? "",
    log,
    addresses: addresses(),
    connect: () => clientOf(path),
    signal: (signal) => child.kill(signal),
    ended: async () => (await exited)[0],
  };
}

function clientOf(path: string): Client {
  const socket = connect(path);
  const frames: JsonObject[] = [];
  let closed = false;
  let nextId = 1;
  socket.on("error", () => {});
  socket.on("close", () => {
    closed = true;
  });
  createInterface({ input: socket }).on("line", (line) => frames.push(JSON.parse(line)));
  onTestFinished(() => void socket.destroy());

  const client: Client = {
    frames,
    get closed() {
      return closed;
    },
    send: (frame) => void socket.write(`${JSON.stringify({ jsonrpc: "2.0", ...frame })}\n`),
    request(method, params) {
      const id = nextId++;
      client.send({ id, method, params });
      return client.next((frame) => frame["id"] === id && !("method" in frame));
    },
    async open() {
      await client.request("initialize", HELLO);
      const { result } = await client.request("session/new", { cwd: "/work" });
      return String(asObject(result)["sessionId"]);
    },
    prompt: (sessionId) => client.request("session/prompt", { sessionId, prompt: [text("go")] }),
    async next(test) {
      await until(
        () => frames.some(test) || closed,
        () => JSON.stringify(frames),
      );
      const found = frames.find(test);
      if (found === undefined) throw new Error(`the connection was closed: ${JSON.stringify(frames)}`);
      return found;
    },
    leave: () => void socket.end(),
  };
  return client;
}

/** Waits for a condition. */
export async function until(test: () => boolean | Promise<boolean>, account = () => ""): Promise<void> {
  await expect.poll(async () => (await test()) || account(), { timeout: DEADLINE, interval: 20 }).toBe(true);
}
