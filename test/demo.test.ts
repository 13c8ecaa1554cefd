// Guards `npm run demo`: it shows a whole conversation through a real acp-shift, exits 0 only when all of it was as it
// should be, leaves no process behind, and both of its peers send only what their version of the protocol allows.
import { type ChildProcessWithoutNullStreams, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { perform } from "../src/commands/demo.ts";
import { acts } from "../src/demo/acts.ts";
import { connectClient } from "../src/demo/client.ts";
import { bothSides } from "../src/demo/frames-view.ts";
import type { Direction } from "../src/demo/peer.ts";
import type { Seen } from "../src/demo/turn.ts";
import { conversationView } from "../src/demo/view.ts";
import { asObject, type JsonObject } from "../src/protocol/json.ts";
import { type Receiver, type Version, validateFrame } from "./support/schema.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const cli = join(root, "dist/cli.js");
const agent = join(root, "dist/demo/agent.js");
const silentAgent = join(root, "test/fixtures/agents/silent.mjs");

const directory = mkdtempSync(join(tmpdir(), "acp-shift-test-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

interface Outcome {
  status: number;
  stdout: string;
  stderr: string;
}

function runDemo(args: string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = { env: { ...process.env, ...env } };
    execFile(process.execPath, [cli, "demo", ...args], options, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

describe("acp-shift demo", { timeout: 60_000 }, () => {
  it("shows every kind of thing, exits 0 and leaves no process behind", async () => {
    const { status, stdout, stderr } = await runDemo([], { ACP_TEST_MARK: directory });
    expect(processesWith(`ACP_TEST_MARK=${directory}`)).toEqual([]);
    expect(stdout).toMatch(/All \d+ as expected/);
    expect(stderr).toBe("");
    expect(status).toBe(0);
    for (const shown of [
      /Demo agent .* ACP v2/,
      /Mode: \(Ask\) Code/,
      /\/explain <path>/,
      /you +m_\S+ +│ How would you/,
      /● running/,
      /thinking +m_\S+ +│ The greeting is fixed/,
      /agent +m_\S+ +│ greet\(\) always greets/,
      /plan +\S+ +│ ○ Read greet\.js/,
      /│ ▶ Let greet\(\) take a name/,
      /│ ✔ Say what changed/,
      /edit-1 +│ Let greet\(\) take a name: pending/,
      /│ @@ -1,3 \+1,3 @@/,
      /│ \+export function greet\(name = "world"\) {/,
      /asks +edit-1 +│ .*\[Allow\] \[Reject\]/,
      /◆ requires_action/,
      /you +│ Allow/,
      /edit-1 +│ .*: completed/,
      /you +│ Reject/,
      /delete-1 +│ Delete hello\.js: failed/,
      /you +│ stop!/,
      /■ idle: end_turn/,
      /■ idle: cancelled/,
      /■ idle: error/,
      /The model is overloaded.*\(-32603\)/,
    ]) {
      expect(stdout).toMatch(shown);
    }
    expect(stdout).not.toContain("\u001b");
  });

  it("with --both shows the frames of both versions, causes first", async () => {
    const { status, stdout } = await runDemo(["--both"]);
    expect(stdout).toMatch(/All \d+ as expected/);
    expect(status).toBe(0);
    const titles = stdout.split("\n").filter((line) => /^v[12]│ [←→]/.test(line));
    expect(titles.slice(0, 4)).toEqual([
      "v2│ → initialize #1",
      "v1│ → initialize #1",
      "v1│ ← initialize result #1",
      "v2│ ← initialize result #1",
    ]);
    const at = (title: string): number => titles.findIndex((line) => line.startsWith(title));
    expect(at("v2│ → session/cancel")).toBeGreaterThan(0);
    expect(at("v1│ → session/cancel")).toBeGreaterThan(at("v2│ → session/cancel"));
    expect(at("v1│ ← session/prompt error")).toBeGreaterThan(at("v1│ → session/cancel"));
    expect(titles).toContain("v1│ → session/set_mode #4");
    expect(titles).toContain("v2│ → session/set_config_option #4");
  });

  it.each(["plan", "agent_thought_chunk", "tool_call_update"])(
    "exits 1 and says what is missing when the agent forgets its %s",
    async (kind) => {
      const { status, stdout } = await runDemo([], { ACP_DEMO_OMIT: kind });
      expect(stdout).toMatch(/✘ all \d+ steps are there, in order, and nothing else\n +after ".*": expected ".*", got/);
      expect(stdout).toMatch(/\d+ of \d+ not as expected/);
      expect(status).toBe(1);
    },
  );
});

/** Ids of the running processes that have this in their environment; none are found where there is no /proc. */
function processesWith(variable: string): string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && environmentOf(pid).includes(variable));
}

function environmentOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8");
  } catch {
    return "";
  }
}

describe("when the conversation cannot be held", { timeout: 60_000 }, () => {
  async function failing(deadline: number, ...command: [string, ...string[]]): Promise<string> {
    let text = "";
    const screen = { write: (piece: string) => (text += piece), columns: 80, colour: false };
    const status = await perform({ both: false, command, screen, deadline });
    expect(status).toBe(1);
    return text;
  }

  it("says after a while what it was waiting for, and ends the process", async () => {
    const text = await failing(3_000, process.execPath, silentAgent);
    expect(text).toContain("nothing more after 3 s, while waiting for the answer to initialize");
    const pid = Number(/running (\d+)/.exec(text)?.[1]);
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });

  it("says when the process ended early, with what it wrote to stderr", async () => {
    const text = await failing(60_000, process.execPath, "-e", "console.error('out of order'); process.exit(3)");
    expect(text).toContain("acp-shift ended, while waiting for the answer to initialize");
    expect(text).toContain("status 3");
    expect(text).toContain("out of order");
  });

  it("says when the process could not be started", async () => {
    expect(await failing(60_000, join(directory, "no-such-program"))).toContain("ENOENT");
  });
});

describe("the demo's peers", () => {
  it("send only frames their version allows, and the agent stops when it is cancelled", {
    timeout: 60_000,
  }, async () => {
    const record = join(directory, "peers.jsonl");
    const bridge = spawn(process.execPath, [cli, "--", process.execPath, agent], {
      env: { ...process.env, ACP_DEMO_RECORD: record },
    });
    bridge.stderr.resume();
    const v2: { direction: Direction; frame: JsonObject }[] = [];
    const client = connectClient(bridge.stdout, bridge.stdin, (direction, frame) => v2.push({ direction, frame }));
    for (const { play } of acts) await play(client, root);
    bridge.stdin.end();
    await once(bridge, "close");

    const v1 = readFileSync(record, "utf8")
      .trimEnd()
      .split("\n")
      .map((line): (typeof v2)[number] => JSON.parse(line));
    expect(faults("v2", "client", v2)).toEqual([]);
    expect(faults("v1", "agent", v1)).toEqual([]);

    const cancelled = v1.findIndex(({ frame }) => frame["method"] === "session/cancel");
    const [next] = v1.slice(cancelled + 1);
    expect(next?.frame["result"]).toEqual({ stopReason: "cancelled" });
  });

  /** What is wrong with the frames a peer has exchanged, in either direction. */
  function faults(version: Version, peer: Receiver, frames: { direction: Direction; frame: JsonObject }[]): string[] {
    const other = peer === "client" ? "agent" : "client";
    const asked = new Map<string, string>();
    return frames.flatMap(({ direction, frame }) => {
      if (typeof frame["method"] === "string") asked.set(`${direction} ${frame["id"]}`, frame["method"]);
      const method = asked.get(`${direction === "sent" ? "received" : "sent"} ${frame["id"]}`);
      const fault = validateFrame(version, direction === "sent" ? other : peer, frame, method);
      return fault === undefined ? [] : [`${direction} ${JSON.stringify(frame)}: ${fault}`];
    });
  }
});

describe("the demo agent, by itself", { timeout: 60_000 }, () => {
  it("answers what it cannot do with the right errors, and ends with its input", async () => {
    const child = spawn(process.execPath, [agent]);
    const ended = once(child, "exit");
    const answers = answersOf(child);
    const ask = async (line: string): Promise<JsonObject> => {
      child.stdin.write(`${line}\n`);
      return JSON.parse((await answers.next()).value ?? "{}");
    };
    const call = (id: number, method: string, params: unknown): Promise<JsonObject> =>
      ask(JSON.stringify({ jsonrpc: "2.0", id, method, params }));

    expect(await ask("{")).toMatchObject({ id: null, error: { code: -32700 } });
    expect(await ask("[]")).toMatchObject({ id: null, error: { code: -32600 } });
    expect(await call(1, "no/such/method", {})).toMatchObject({ id: 1, error: { code: -32601 } });
    expect(await call(2, "session/new", {})).toMatchObject({ id: 2, error: { code: -32602 } });
    expect(await call(3, "session/prompt", { sessionId: "x" })).toMatchObject({ id: 3, error: { code: -32002 } });

    const { sessionId } = asObject((await call(4, "session/new", { cwd: root, mcpServers: [] }))["result"]);
    await answers.next();
    expect(await call(5, "session/set_mode", { sessionId, modeId: "x" })).toMatchObject({ error: { code: -32602 } });
    child.stdin.end(`${JSON.stringify({ jsonrpc: "2.0", id: 6, method: "session/prompt", params: { sessionId } })}\n`);
    expect(await ended).toEqual([0, null]);
  });

  function answersOf({ stdout }: ChildProcessWithoutNullStreams): AsyncIterator<string> {
    return createInterface({ input: stdout })[Symbol.asyncIterator]();
  }
});

describe("the views", () => {
  const update = (fields: JsonObject): JsonObject => ({
    jsonrpc: "2.0",
    method: "session/update",
    params: { sessionId: "s", update: fields },
  });
  const seen = (at: number, direction: Direction, frame: JsonObject): Seen => ({ at: BigInt(at), direction, frame });
  const screen = (columns: number) => ({ write: () => {}, columns, colour: false });

  const prompt = { jsonrpc: "2.0", id: 1, method: "session/prompt", params: { sessionId: "s", prompt: [] } };
  const content = { type: "text", text: "Hello" };
  const v2 = [
    seen(1, "sent", prompt),
    seen(5, "received", { jsonrpc: "2.0", id: 1, result: { messageId: "u" } }),
    seen(6, "received", update({ sessionUpdate: "agent_message_chunk", content, messageId: "m" })),
    seen(8, "received", update({ sessionUpdate: "state_update", state: "idle", stopReason: "end_turn" })),
  ];
  const v1 = [
    seen(2, "received", { ...prompt, id: 7 }),
    seen(3, "sent", update({ sessionUpdate: "plan", entries: [] })),
    seen(4, "sent", update({ sessionUpdate: "agent_message_chunk", content })),
    seen(7, "sent", { jsonrpc: "2.0", id: 7, result: { stopReason: "end_turn" } }),
  ];

  it("put a frame beside the one it was translated to, and never before its cause", () => {
    const rows = bothSides(v2, v1, screen(121))
      .split("\n")
      .map((line) => line.split("│").map((cell) => cell.trim()));
    expect(rows.filter((cells) => cells.some((cell) => /^[←→]/.test(cell)))).toEqual([
      ["→ session/prompt #1", "→ session/prompt #7"],
      ["", "← session/update plan"],
      ["", "← session/update agent_message_chunk"],
      ["← session/prompt result #1", ""],
      ["← session/update agent_message_chunk", ""],
      ["← session/update state_update", "← session/prompt result #7"],
    ]);
  });

  it("keep within the columns of the screen", () => {
    const long = update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "x y".repeat(99) } });
    for (const columns of [60, 80, 100, 121]) {
      const text = bothSides([...v2, seen(9, "received", long)], v1, screen(columns));
      expect(Math.max(...text.split("\n").map(({ length }) => length))).toBeLessThanOrEqual(columns);
    }
  });

  it("show streamed chunks as one growing message, wrapped at spaces", () => {
    let text = "";
    const show = conversationView({ write: (piece) => (text += piece), columns: 60, colour: false });
    for (const piece of ["one two ", "three four five six seven ", "eight"]) {
      show(
        "received",
        update({ sessionUpdate: "agent_message_chunk", messageId: "m", content: { type: "text", text: piece } }),
      );
    }
    show("received", update({ sessionUpdate: "state_update", state: "running" }));
    expect(text.split("\n").map((line) => line.trimEnd())).toEqual([
      "  agent    m            │ one two three four five six seven",
      "                        │ eight",
      "  state                 │ ● running",
      "",
    ]);
  });
});
