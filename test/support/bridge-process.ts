// Runs the built acp-shift as a process round an agent and speaks to it as a client, for tests from end to end. Guards
// I3 (docs/mapping.md §0) on the way: every frame to the client is checked against the schema of the client's version,
// every frame to the agent against that of the agent's. Nothing sleeps: whatever is waited for has a deadline, and when
// it passes the error shows all that was seen.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { asArray, asObject, isObject, type JsonObject } from "../../src/protocol/json.ts";
import { groupMembers } from "./processes.ts";
import { type Version, validateFrame } from "./schema.ts";
import { followTap, parsed, type Tapped } from "./tap.ts";

/** The transport the program is reached over; undefined for stdio. */
const transport = process.env["TEST_TRANSPORT"];

/**
 * The program under test. With TEST_TRANSPORT it is a stand-in that takes the same words, behind which `acp-shift serve` is
 * reached over that transport (test/fixtures/peers/over.mjs).
 */
export const CLI = fileURLToPath(
  new URL(transport ? "../fixtures/peers/over.mjs" : "../../dist/cli.js", import.meta.url),
);

/** True when it is reached over one of these transports, or any: for tests of what cannot be there, which say why. */
export const isOver = (...transports: string[]) =>
  transport !== undefined && (transports.length === 0 || transports.includes(transport));

/** How long anything may take before a test gives up on it, in ms: far more than it needs on a slow machine. */
export const DEADLINE = 30_000;

/** The command that runs a fixture of `test/fixtures/peers`. */
export function peer(name: string, ...args: string[]): string[] {
  return [process.execPath, fileURLToPath(new URL(`../fixtures/peers/${name}`, import.meta.url)), ...args];
}

export interface BridgeSetup {
  /** Options of acp-shift, before `--`. */
  options?: readonly string[];
  /** The version spoken on each side, whose schema frames are checked against. */
  clientVersion?: Version;
  agentVersion?: Version;
  /** False: the agent is run as it is, and what passes on its side is not recorded. */
  tap?: boolean;
  /** The environment acp-shift is started in; by default this one, without anything of a person's. */
  env?: NodeJS.ProcessEnv;
  /** As {@link DEADLINE}, for agents that take longer. */
  deadline?: number;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A frame and the line it was written in, without the line break. */
export interface Recorded {
  from: "client" | "bridge";
  frame: JsonObject;
  line: string;
}

export interface BridgeProcess {
  readonly pid: number;
  /** A directory of this run's own, gone after it. */
  readonly directory: string;
  readonly frames: readonly Recorded[];
  readonly stderr: string;
  /** What was wrong with lines from acp-shift so far. */
  readonly faults: readonly string[];
  /** Methods the test makes up, either side's: calls and answers of them are not checked against the agent's schema. */
  readonly invented: Set<string>;
  /** Sends a frame, written in the given pieces when they are given. */
  send(frame: unknown, pieces?: (line: string) => (string | Uint8Array)[]): void;
  /** Writes bytes as they are; resolves when the system has taken them. */
  write(bytes: string | Uint8Array): Promise<void>;
  notify(method: string, params?: unknown): void;
  /** Sends a request, under the next free number unless an id is given; the response frame. */
  request(method: string, params?: unknown, id?: number | string): Promise<JsonObject>;
  /** As `request`: the result; fails when the answer is an error. */
  call(method: string, params?: unknown): Promise<JsonObject>;
  /** As `request`: the error; fails when the answer is a result. */
  fault(method: string, params?: unknown): Promise<JsonObject>;
  /** Answers every request of this method from now on; without an answer, or while it gives none, it stays open. */
  onRequest(method: string, answer: (params: JsonObject) => JsonObject | undefined): void;
  reply(id: unknown, result: unknown): void;
  /** The first frame from acp-shift, at or after position `from`, that passes the test. */
  next(what: string, test: (frame: JsonObject) => boolean, from?: number): Promise<JsonObject>;
  /** Waits until `read` gives a value. */
  until<T>(what: string, read: () => T | undefined): Promise<T>;
  /** What passed on the agent's side; its process group is the tap's. */
  agentSide(): Tapped;
  /** The first frame to the agent that passes the test. */
  agentGot(what: string, test: (frame: JsonObject) => boolean): Promise<JsonObject>;
  /** Stops reading acp-shift's output, and reads on. */
  pause(): void;
  resume(): void;
  /** Ends acp-shift's input: the client leaves. */
  leave(): void;
  /** Stops reading acp-shift's output for good, with input still open. */
  breakOutput(): void;
  kill(signal: NodeJS.Signals): void;
  exited(): Promise<Exit>;
  /** Waits until no process of the agent's group is left. */
  nothingLeft(): Promise<void>;
  /** Leaves, waits until nothing is left, and checks every frame. */
  end(): Promise<void>;
}

/** As {@link startBridge}, for the length of the running test. */
export function bridgeForTest(agent: readonly string[], setup: BridgeSetup = {}): BridgeProcess {
  const bridge = startBridge(agent, setup);
  onTestFinished(() => bridge.end());
  return bridge;
}

/** Starts acp-shift round an agent command. The caller ends it with `end`. */
export function startBridge(agent: readonly string[], setup: BridgeSetup = {}): BridgeProcess {
  const { options = [], clientVersion = "v2", agentVersion = "v1", tap = true, deadline = DEADLINE } = setup;
  const directory = mkdtempSync(join(tmpdir(), "acp-shift-e2e-"));
  const tapFile = join(directory, "agent.jsonl");
  const command = tap ? [...peer("tap.mjs", tapFile, "--"), ...agent] : agent;
  const child = spawn(process.execPath, [CLI, ...options, "--", ...command], {
    stdio: ["pipe", "pipe", "pipe"],
    env: setup.env ?? environmentIn(directory),
  });

  const frames: Recorded[] = [];
  const faults: string[] = [];
  const asked = new Map<unknown, string>();
  const answers = new Map<string, (params: JsonObject) => JsonObject | undefined>();
  const invented = new Set<string>();
  const watchers = new Set<() => void>();
  let stderr = "";
  let exit: Exit | undefined;
  let closed = false;
  let nextId = 1;
  let ended: Promise<void> | undefined;

  const changed = () => {
    for (const watcher of [...watchers]) watcher();
  };
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const splitLines = lineReader((bytes) => {
    try {
      received(decoder.decode(bytes));
    } catch (error) {
      faults.push(`not UTF-8, or not JSON: ${String(error)}: ${bytes.subarray(0, 200).toString("latin1")}`);
    }
  });
  child.stdout.on("data", splitLines);
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    changed();
  });
  child.stdin.on("error", () => {});
  child.on("exit", (code, signal) => {
    exit = { code, signal };
    changed();
  });
  child.on("close", () => {
    closed = true;
    changed();
  });

  function received(line: string): void {
    const frame: unknown = JSON.parse(line);
    if (!isObject(frame)) {
      faults.push(`a line is no JSON object: ${line.slice(0, 200)}`);
      return;
    }
    frames.push({ from: "bridge", frame, line });
    const answersTo = "method" in frame ? undefined : asked.get(frame["id"]);
    const fault = validateFrame(clientVersion, "client", frame, answersTo);
    if (fault !== undefined) faults.push(`to the client: ${fault}: ${line.slice(0, 2000)}`);
    const reply = "id" in frame && answers.get(String(frame["method"]))?.(asObject(frame["params"]));
    if (reply) bridge.reply(frame["id"], reply);
    changed();
  }

  const agentSide = followTap(tapFile);

  /** Everything that was seen, for the message of an error. */
  function account(): string {
    const line = ({ from, line: text }: Recorded) => `${from === "client" ? "→" : "←"} ${shortened(text)}`;
    return [
      `command: ${[CLI, ...options, "--", ...command].join(" ")}`,
      `process: ${exit === undefined ? "running" : `ended with ${exit.code ?? exit.signal}`}`,
      "client's side:",
      ...frames.slice(-60).map(line),
      "agent's side:",
      ...agentSide()
        .lines.slice(-60)
        .map(({ to, text }) => `${to === "agent" ? "→" : "←"} ${shortened(text)}`),
      "stderr:",
      stderr.slice(-4000),
    ].join("\n");
  }

  function until<T>(what: string, read: () => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const watch = () => {
        let value: T | undefined;
        try {
          value = read();
        } catch (error) {
          done();
          reject(error);
          return;
        }
        if (value === undefined) return;
        done();
        resolve(value);
      };
      // Files and processes do not tell when they change.
      const poll = setInterval(watch, 20);
      const limit = setTimeout(() => {
        done();
        reject(new Error(`after ${deadline} ms still no ${what}\n${account()}`));
      }, deadline);
      const done = () => {
        watchers.delete(watch);
        clearInterval(poll);
        clearTimeout(limit);
      };
      watchers.add(watch);
      watch();
    });
  }

  /** What the agent was sent that its version does not allow. */
  function agentFaults(): string[] {
    const agentAsked = new Map<string, string>();
    return agentSide().lines.flatMap(({ to, text }) => {
      const value = parsed(text);
      if (to === "client") {
        // Batches and glued frames are the agent's own affair; only what it asks matters here.
        for (const frame of asArray(value).concat(value).filter(isObject))
          if ("method" in frame && "id" in frame) agentAsked.set(JSON.stringify(frame["id"]), String(frame["method"]));
        return [];
      }
      // A v1 agent may use null for an id; the answer then bears it too.
      const frame = isObject(value) && value["id"] === null && "result" in value ? { ...value, id: "null" } : value;
      const answersTo = isObject(value) ? agentAsked.get(JSON.stringify(value["id"])) : undefined;
      if (invented.has(String(asObject(value)["method"] ?? answersTo))) return [];
      // A v2 agent may be asked in version 1 first.
      const asksInV1 = asObject(asObject(frame)["params"])["protocolVersion"] === 1;
      const fault = validateFrame(asksInV1 ? "v1" : agentVersion, "agent", frame, answersTo);
      return fault === undefined ? [] : [`to the agent: ${fault}: ${text.slice(0, 2000)}`];
    });
  }

  const bridge: BridgeProcess = {
    pid: child.pid ?? 0,
    directory,
    frames,
    get stderr() {
      return stderr;
    },
    faults,
    invented,
    send(frame, pieces = (line) => [`${line}\n`]) {
      const line = JSON.stringify(frame);
      frames.push({ from: "client", frame: asObject(frame), line });
      if (isObject(frame) && "method" in frame && "id" in frame) asked.set(frame["id"], String(frame["method"]));
      for (const piece of pieces(line)) child.stdin.write(piece);
    },
    write: (bytes) => new Promise((resolve) => child.stdin.write(bytes, () => resolve())),
    notify: (method, params) => bridge.send({ jsonrpc: "2.0", method, params }),
    request(method, params, id = nextId++) {
      const from = frames.length;
      bridge.send({ jsonrpc: "2.0", id, method, params });
      return bridge.next(`answer to ${method}`, (frame) => !("method" in frame) && frame["id"] === id, from);
    },
    async call(method, params) {
      const answer = await bridge.request(method, params);
      if (!("result" in answer)) throw new Error(`${method} failed: ${JSON.stringify(answer["error"])}\n${account()}`);
      return asObject(answer["result"]);
    },
    async fault(method, params) {
      const answer = await bridge.request(method, params);
      if (!("error" in answer)) throw new Error(`${method} did not fail: ${JSON.stringify(answer)}\n${account()}`);
      return asObject(answer["error"]);
    },
    onRequest(method, answer) {
      answers.set(method, answer);
    },
    reply: (id, result) => bridge.send({ jsonrpc: "2.0", id, result }),
    next: (what, test, from = 0) => {
      let position = from;
      return until(what, () => {
        for (; position < frames.length; position++) {
          const recorded = frames[position];
          if (recorded?.from === "bridge" && test(recorded.frame)) return recorded.frame;
        }
        if (closed) throw new Error(`acp-shift has ended: there will be no ${what}\n${account()}`);
        return undefined;
      });
    },
    until,
    agentSide,
    agentGot: (what, test) => until(`${what} at the agent`, () => agentSide().toAgent.find(test)),
    pause: () => child.stdout.pause(),
    resume: () => child.stdout.resume(),
    leave: () => child.stdin.end(),
    breakOutput: () => child.stdout.destroy(),
    // The stand-in has to take the program with it.
    kill: (signal) => child.kill(transport && signal === "SIGKILL" ? "SIGUSR2" : signal),
    exited: () => until("end of acp-shift", () => (closed ? exit : undefined)),
    async nothingLeft() {
      const { group } = agentSide();
      if (group !== undefined)
        await until(`end of process group ${group}`, () => groupMembers(group).length === 0 || undefined);
    },
    end() {
      ended ??= endAndCheck();
      return ended;
    },
  };

  async function endAndCheck(): Promise<void> {
    try {
      bridge.leave();
      await bridge.exited();
      await bridge.nothingLeft();
      expect([...faults, ...agentFaults()]).toEqual([]);
    } finally {
      bridge.kill("SIGKILL");
      const { group } = agentSide();
      if (group !== undefined && groupMembers(group).length > 0) process.kill(-group, "SIGKILL");
      rmSync(directory, { recursive: true, force: true });
    }
  }

  return bridge;
}

/** This environment without anything of a person's that would set acp-shift's options; its home is the directory. */
export function environmentIn(directory: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("ACP_SHIFT_"));
  return { ...Object.fromEntries(kept), HOME: directory, XDG_CONFIG_HOME: directory, XDG_STATE_HOME: directory };
}

function lineReader(onLine: (bytes: Buffer) => void): (chunk: Buffer) => void {
  let pieces: Buffer[] = [];
  return (chunk) => {
    let rest = chunk;
    for (let end = rest.indexOf(0x0a); end !== -1; end = rest.indexOf(0x0a)) {
      onLine(Buffer.concat([...pieces, rest.subarray(0, end)]));
      pieces = [];
      rest = rest.subarray(end + 1);
    }
    if (rest.length > 0) pieces.push(rest);
  };
}

function shortened(text: string): string {
  return text.length <= 400 ? text : `${text.slice(0, 300)} … (${text.length} characters)`;
}
