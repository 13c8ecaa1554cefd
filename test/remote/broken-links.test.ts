// Guards docs/linger.md on a network that breaks: at whatever point of a conversation, and in whichever direction, a link is
// cut or closed, the client comes back and sees what it would have seen, and the agent what it would have got. Neither
// sees anything twice, nor is anything missing. The same over a link that is whole, but slow.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import { createView, fold } from "../property/view.ts";
import { notify, prompt, reply, request, text, update } from "../support/dialogue.ts";
import { type Direction, type Fault, type FaultProxy, faultProxy } from "../support/fault-proxy.ts";
import {
  HELLO,
  httpClient,
  poll,
  serveForTest,
  type TestClient,
  tcpClient,
  webSocketClient,
} from "../support/serve-process.ts";
import { type SocketAgent, socketAgents } from "../support/socket-agent.ts";

vi.setConfig({ testTimeout: 600_000 });

const TRANSPORTS: Record<string, { listen: string; connect(port: number): TestClient }> = {
  unix: { listen: "unix:$dir/socket", connect: tcpClient },
  tcp: { listen: "tcp:127.0.0.1:0", connect: tcpClient },
  ws: { listen: "ws://127.0.0.1:0", connect: (port) => webSocketClient(`ws://127.0.0.1:${port}/acp`) },
  http: { listen: "http://127.0.0.1:0", connect: (port) => httpClient(`http://127.0.0.1:${port}/acp`) },
};

const WORK = "Do the work.";
const MORE = "Do more than that.";

/** The agent's part: a turn with everything in it, and one that goes on until it is cancelled. */
function play(agent: SocketAgent, { id, method, params, result }: JsonObject): void {
  const tell = (kind: string, fields: object) => agent.say(update(agent.sessionId, { sessionUpdate: kind, ...fields }));
  const running = () => agent.frames.findLast((frame) => frame["method"] === "session/prompt")?.["id"];
  if (method === "session/prompt" && JSON.stringify(params).includes(WORK)) {
    tell("agent_thought_chunk", { content: text("Hm.") });
    tell("agent_message_chunk", { content: text("One ") });
    tell("plan", { entries: [{ content: "Write", priority: "high", status: "in_progress" }] });
    tell("tool_call", { toolCallId: "t1", title: "Write", kind: "edit", status: "pending" });
    agent.say(
      request("ask", "session/request_permission", {
        sessionId: agent.sessionId,
        toolCall: { toolCallId: "t1", title: "Write" },
        options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
      }),
    );
  } else if (method === "session/prompt") tell("agent_message_chunk", { content: text("Working …") });
  else if (method === "session/cancel") {
    tell("agent_message_chunk", { content: text(" stopped.") });
    agent.say(reply(running(), { stopReason: "cancelled" }));
  } else if (id === "ask") {
    const content = [{ type: "content", content: text(String(asObject(asObject(result)["outcome"])["optionId"])) }];
    tell("tool_call_update", { toolCallId: "t1", status: "in_progress", content });
    tell("tool_call_update", { toolCallId: "t1", status: "completed" });
    tell("agent_message_chunk", { content: text("two, ") });
    tell("agent_message_chunk", { content: text("three.") });
    tell("session_info_update", { title: "Work" });
    agent.say(reply(running(), { stopReason: "end_turn" }));
  }
}

/** What both sides make of a conversation. */
interface Outcome {
  view: object;
  agentGot: object;
}

const UNDISTURBED: Outcome = {
  view: {
    timeline: [
      { kind: "user_message", text: WORK },
      { kind: "agent_thought", text: "Hm." },
      { kind: "agent_message", text: "One " },
      { title: "Write", kind: "edit", status: "completed", content: [{ type: "content", content: text("yes") }] },
      { kind: "agent_message", text: "two, three." },
      { kind: "user_message", text: MORE },
      { kind: "agent_message", text: "Working … stopped." },
    ],
    plan: [{ content: "Write", priority: "high", status: "in_progress" }],
    state: "idle",
    notices: 0,
    title: "Work",
  },
  agentGot: ["session/prompt", { outcome: { outcome: "selected", optionId: "yes" } }, "session/prompt"],
};

interface Scene {
  proxy: FaultProxy;
  agents: SocketAgent[];
  connect(): TestClient;
}

async function begin(transport: string): Promise<Scene> {
  const directory = mkdtempSync(join(tmpdir(), "acp-shift-agent-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const agents = await socketAgents(join(directory, "agent"), { play });
  const { listen, connect } = TRANSPORTS[transport] as (typeof TRANSPORTS)[string];
  const server = await serveForTest(
    [listen],
    [],
    ["--connect", `unix:${join(directory, "agent")}`, "--linger", "1h", "--settle", "0", "--handshake-limit", "2s"],
  );
  const target =
    transport === "unix" ? join(server.directory, "socket") : server.port(transport === "tcp" ? "tcp" : "ws");
  const proxy = await faultProxy(target);
  return { proxy, agents, connect: () => connect(proxy.port) };
}

const isQuestion = (frame: JsonObject) => frame["method"] === "session/request_permission";
const updateIn = (frame: JsonObject) => asObject(asObject(frame["params"])["update"]);

/** A request that failed on its way, which over HTTP need not be the end of the connection. */
class RequestBroken extends Error {}

function result(answer: JsonObject): JsonObject {
  if ("error" in answer) throw new RequestBroken(JSON.stringify(answer["error"]));
  return asObject(answer["result"]);
}

/** A whole conversation, by a client that comes back whenever its connection is over. */
async function converse({ agents, connect }: Scene): Promise<Outcome> {
  const before = agents.length;
  const clients: TestClient[] = [];
  const frames = () => clients.flatMap((client) => client.frames);
  let sessionId: string | undefined;
  const agent = () => {
    const found = agents.slice(before).find((candidate) => candidate.sessionId === sessionId);
    if (found === undefined) throw new Error(`no agent has ${sessionId}`);
    return found;
  };

  for (let over = false; !over; ) {
    const client = connect();
    clients.push(client);
    try {
      await goOn(client);
      over = true;
    } catch (error) {
      const isBroken = client.over !== undefined || error instanceof RequestBroken;
      if (!isBroken || clients.length > 10) throw error;
      client.leave();
    }
  }

  async function goOn(client: TestClient): Promise<void> {
    result(await client.request("initialize", HELLO));
    if (sessionId === undefined) {
      sessionId = String(result(await client.request("session/new", { cwd: "/work" }))["sessionId"]);
    } else await resume(client, sessionId);
    await seeTurn(client, WORK);
    await seeTurn(client, MORE);
    client.leave();
  }

  /** Who comes back may be faster than the news that the connection is lost. */
  async function resume(client: TestClient, session: string): Promise<void> {
    for (;;) {
      const answer = await client.request("session/resume", { sessionId: session, cwd: "/work" });
      if ("result" in answer) return;
      expect(answer).toMatchObject({ error: { code: -32600, message: expect.stringContaining("another connection") } });
    }
  }

  /** Prompts, if the agent has not got that yet, and does what is to be done until the turn is over. */
  async function seeTurn(client: TestClient, words: string): Promise<void> {
    const session = String(sessionId);
    if (isOver(words)) return;
    await agent().sync();
    if (promptsAt(agent(), words) === 0) client.send(prompt(`p ${words}`, words, session));
    const answered = new Set<JsonObject>();
    let cancelled = false;
    const act = () => {
      for (const question of client.frames.filter((frame) => isQuestion(frame) && !answered.has(frame))) {
        answered.add(question);
        client.send(reply(question["id"], { outcome: { outcome: "selected", optionId: "yes" } }));
      }
      if (words === MORE && !cancelled && JSON.stringify(frames()).includes("Working")) {
        cancelled = true;
        client.send(notify("session/cancel", { sessionId: session }));
      }
      const failed = client.frames.find((frame) => frame["id"] === `p ${words}` && "error" in frame);
      return failed ?? (isOver(words) ? {} : undefined);
    };
    const outcome = await poll(`the end of "${words}"`, act, {
      account: () => JSON.stringify([client.over, frames(), agent().frames]),
      hopeless: () => client.over !== undefined,
      every: 2,
    });
    result(outcome);
  }

  function isOver(words: string): boolean {
    const updates = frames().map(updateIn);
    const begin = updates.findIndex(
      ({ sessionUpdate, content }) => sessionUpdate === "user_message" && JSON.stringify(content).includes(words),
    );
    return begin !== -1 && updates.slice(begin).some(({ state, stopReason }) => state === "idle" && stopReason);
  }

  return { view: whatIsSeen(frames()), agentGot: whatWasGot(agent().frames) };
}

const promptsAt = ({ frames }: SocketAgent, words: string) =>
  frames.filter((frame) => frame["method"] === "session/prompt" && JSON.stringify(frame).includes(words)).length;

/** What a client makes of all it was told, without ids that differ from one conversation to the next. */
function whatIsSeen(frames: readonly JsonObject[]): object {
  const view = createView();
  let title: unknown;
  for (const { method, params } of frames) {
    if (method !== "session/update") continue;
    const update = asObject(asObject(params)["update"]);
    fold(view, update);
    if (update["sessionUpdate"] === "session_info_update") title = update["title"];
  }
  const { messages, toolCalls, timeline, plan, state, notices } = view;
  return { timeline: timeline.map((key) => messages.get(key) ?? toolCalls.get(key)), plan, state, notices, title };
}

/** The agent's prompts, and the answers to its question; that its client was lost it need not know. */
function whatWasGot(frames: readonly JsonObject[]): object {
  return frames
    .filter(({ id, method }) => method === "session/prompt" || method === "session/resume" || id === "ask")
    .map(({ method, result }) => method ?? result);
}

const FAULTS: Fault[] = ["cut", "closed to the server", "closed to the client"];
const DIRECTIONS: Direction[] = ["to the server", "to the client"];

/** About a message: every step of a conversation is broken off in its middle. */
const PIECE = 200;

/** Each piece is hit by one of the faults, and with TEST_ALL_FAULTS by each of them. */
const STRIDE = process.env["TEST_ALL_FAULTS"] ? 1 : FAULTS.length;

describe.each(Object.keys(TRANSPORTS))("over %s", (transport) => {
  test("broken anywhere, all goes on", async () => {
    const scene = await begin(transport);
    const whole = await converse(scene);
    expect(whole).toEqual(UNDISTURBED);
    scene.proxy.chop(PIECE);
    const broken = new Map(DIRECTIONS.map((direction) => [direction, 0]));
    for (const [index, fault] of FAULTS.entries())
      for (const direction of DIRECTIONS)
        for (let n = 1 + (index % STRIDE); ; n += STRIDE) {
          scene.proxy.strikeAt(direction, n, fault);
          expect(await converse(scene), `${fault} in piece ${n} ${direction}`).toEqual(whole);
          if (!scene.proxy.struck) break;
          broken.set(direction, (broken.get(direction) ?? 0) + 1);
        }
    // The client says at least six things, and is told more than twenty.
    expect(broken.get("to the server")).toBeGreaterThanOrEqual(6);
    expect(broken.get("to the client")).toBeGreaterThanOrEqual(15);
  });

  test("slow, in pieces of a few bytes, it is what it is at any speed", async () => {
    const scene = await begin(transport);
    scene.proxy.chop(11, 1);
    expect(await converse(scene)).toEqual(UNDISTURBED);
  });
});
