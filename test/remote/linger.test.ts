// Guards docs/linger.md in the product as it is run: a client whose connection is cut comes back over another and goes on
// where it was, over every kind of connection; who may have a session, and when an agent without a client ends.
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { client, methods, ndJsonStream } from "@agentclientprotocol/sdk/experimental/v2";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import { createView, fold, type View } from "../property/view.ts";
import { prompt, reply, request, text, update } from "../support/dialogue.ts";
import {
  HELLO,
  httpClient,
  openSession,
  poll,
  rawAgent,
  type ServeProcess,
  serveForTest,
  type TestClient,
  tcpClient,
  unixClient,
  webSocketClient,
} from "../support/serve-process.ts";
import { type SocketAgent, socketAgents } from "../support/socket-agent.ts";

interface Cuttable extends TestClient {
  cut(): void;
}

const line = (client: TestClient & { socket: Socket }): Cuttable =>
  Object.assign(client, { cut: () => void client.socket.destroy() });

const CONNECTIONS: [string, string, (server: ServeProcess) => Cuttable, string[]?][] = [
  ["unix", "unix:$dir/s", ({ directory }) => line(unixClient(`${directory}/s`))],
  ["tcp", "tcp:127.0.0.1:0", (server) => line(tcpClient(server.port("tcp")))],
  [
    "ws",
    "ws://127.0.0.1:0/acp",
    (server) => {
      const client = webSocketClient(server.addresses["ws"] ?? "");
      return Object.assign(client, { cut: () => void client.socket.terminate() });
    },
  ],
  [
    "http",
    "http://127.0.0.1:0/acp",
    (server) => {
      const broken = new AbortController();
      const client = httpClient(server.addresses["ws"] ?? "", {}, (input, init) =>
        fetch(input, { ...init, signal: broken.signal }),
      );
      return Object.assign(client, { cut: () => broken.abort() });
    },
    // It has had its chance when it has had no stream for so long.
    ["--handshake-limit", "3s"],
  ],
];
const [UNIX] = CONNECTIONS;

interface Scene {
  server: ServeProcess;
  all: SocketAgent[];
  connect(): Cuttable;
}

async function begin(
  [, address, connect, options = []] = UNIX as (typeof CONNECTIONS)[0],
  history: object[] = [],
): Promise<Scene> {
  const directory = mkdtempSync(join(tmpdir(), "acp-shift-agent-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const all = await socketAgents(join(directory, "agent"), { history });
  const connectTo = ["--connect", `unix:${join(directory, "agent")}`];
  const server = await serveForTest(
    [address],
    [],
    ["--linger", "1h", "--drain", "0", "--settle", "0", ...connectTo, ...options],
  );
  return { server, all, connect: () => connect(server) };
}

async function come(scene: Scene): Promise<Cuttable> {
  const client = scene.connect();
  expect(await client.request("initialize", HELLO)).toHaveProperty("result");
  return client;
}

const resume = (client: TestClient, more: object = {}) =>
  client.request("session/resume", { sessionId: "s1", cwd: "/work", ...more });

const says = (words: string, messageId?: string) =>
  update("s1", { sessionUpdate: "agent_message_chunk", ...(messageId && { messageId }), content: text(words) });

/** What clients make of all they got, one after the other. */
function viewOf(...clients: TestClient[]): View {
  const view = createView();
  for (const frame of clients.flatMap(({ frames }) => frames))
    if (frame["method"] === "session/update") fold(view, asObject(asObject(frame["params"])["update"]));
  return view;
}
const messages = (view: View) => [...view.messages.values()].map(({ kind, text }) => [kind, text]);

const isUpdate =
  (kind: string, fields: object = {}) =>
  (frame: JsonObject) => {
    const said = asObject(asObject(frame["params"])["update"]);
    return said["sessionUpdate"] === kind && Object.entries(fields).every(([key, value]) => said[key] === value);
  };
const isIdle = isUpdate("state_update", { state: "idle" });
const asksPermission = (frame: JsonObject) => frame["method"] === "session/request_permission";
const isPrompt = (n: number) => {
  let seen = 0;
  const known = new Set<JsonObject>();
  return (frame: JsonObject) => {
    if (frame["method"] === "session/prompt" && !known.has(frame)) {
      known.add(frame);
      seen++;
    }
    return known.has(frame) && seen === n && [...known].at(-1) === frame;
  };
};

const permissionOf = (toolCallId: string) =>
  request("ask", "session/request_permission", {
    sessionId: "s1",
    toolCall: { toolCallId, title: "Write" },
    options: [{ optionId: "y", name: "Yes", kind: "allow_once" }],
  });
const YES = { outcome: { outcome: "selected", optionId: "y" } };

describe.each(CONNECTIONS)("over %s", (...connection) => {
  test("cut in the middle of a message, a tool call, a question and with a prompt held, all goes on", async () => {
    const scene = await begin(connection);
    const first = scene.connect();
    await openSession(first);
    first.send(prompt("p1", "first"));
    const [agent] = scene.all;
    if (agent === undefined) throw new Error("no agent");
    const { id } = await agent.next("prompt", isPrompt(1));
    agent.say(says("One "));
    agent.say(update("s1", { sessionUpdate: "tool_call", toolCallId: "t", title: "Write", status: "in_progress" }));
    first.send(prompt("p2", "second"));
    agent.say(permissionOf("t"));
    await first.next("question", asksPermission);
    first.cut();
    await scene.server.logged("client-lost");
    agent.say(update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t", rawOutput: "written" }));
    agent.say(says("two "));

    const second = await come(scene);
    expect(await resume(second)).toHaveProperty("result");
    const question = await second.next("question once more", asksPermission);
    second.send(reply(question["id"], YES));
    expect(await agent.next("answer", (frame) => frame["id"] === "ask")).toEqual(reply("ask", YES));
    agent.say(says("three"));
    agent.say(update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed" }));
    agent.say(reply(id, { stopReason: "end_turn" }));
    const held = await agent.next("held prompt", isPrompt(2));
    agent.say(says("Four"));
    agent.say(reply(held["id"], { stopReason: "end_turn" }));
    await second.next("second idle", (frame) => isIdle(frame) && second.frames.filter(isIdle).length === 2);

    const told = [
      ["user_message", "first"],
      ["agent_message", "One "],
      ["agent_message", "two three"],
      ["user_message", "second"],
      ["agent_message", "Four"],
    ];
    // Whether or not what came last before the cut had arrived.
    for (const view of [viewOf(first, second), viewOf(second)]) {
      expect(messages(view)).toEqual(told);
      expect(view.toolCalls.get("t")).toMatchObject({ title: "Write", status: "completed" });
      expect(view.timeline).toHaveLength(told.length + 1);
    }
    // The returning connection's own agent is not needed, and the other was not bothered.
    const [, own] = scene.all;
    await scene.server.until("end of the second agent", () => own?.gone || undefined);
    expect(agent.gone).toBe(false);
    expect(agent.frames.map(({ method }) => method).filter((method) => method === "session/resume")).toEqual([]);
    expect(agent.frames.filter((frame) => frame["id"] === "ask")).toHaveLength(1);
  });
});

describe("the SDK's client", () => {
  interface Opened {
    stream: ReturnType<typeof ndJsonStream>;
    cut(): void;
  }
  const streams: [string, string, (server: ServeProcess) => Opened][] = [
    [
      "unix",
      "unix:$dir/s",
      ({ directory }) => {
        const socket = connect(join(directory, "s"));
        socket.on("error", () => {});
        return {
          stream: ndJsonStream(Writable.toWeb(socket), Readable.toWeb(socket) as ReadableStream<Uint8Array>),
          cut: () => void socket.destroy(),
        };
      },
    ],
    [
      "ws",
      "ws://127.0.0.1:0/acp",
      (server) => {
        let cut = () => {};
        class Cuttable extends WebSocket {
          constructor(url: string) {
            super(url);
            cut = () => this.terminate();
          }
        }
        const stream = createWebSocketStream(server.addresses["ws"] ?? "", { WebSocket: Cuttable as never });
        return { stream, cut: () => cut() };
      },
    ],
  ];

  test.each(streams)(
    "over %s: it resumes, answers what is open, and sees the end of the turn",
    async (_, address, open) => {
      const scene = await begin([_, address, () => line(unixClient(""))]);
      const view = createView();
      const permissions: unknown[] = [];
      let allows = false;
      const app = client({ name: "sdk-client" });
      app.onNotification(methods.client.session.update, ({ params }) => fold(view, asObject(params.update)));
      app.onRequest(methods.client.session.requestPermission, async ({ params }) => {
        permissions.push(params);
        if (!allows) await new Promise(() => {});
        return { outcome: { outcome: "selected" as const, optionId: "y" } };
      });
      const hello = { protocolVersion: 2, info: { name: "sdk-client", version: "1.0.0" }, capabilities: {} };

      const first = open(scene.server);
      const over = app
        .connectWith(first.stream, async (agent) => {
          await agent.request(methods.agent.initialize, hello);
          const { sessionId } = await agent.request(methods.agent.session.new, { cwd: "/work" });
          await agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text: "go" }] });
          await new Promise(() => {});
        })
        .catch(() => {});
      await poll("agent", () => scene.all[0]);
      const [agent] = scene.all as [SocketAgent];
      const { id } = await agent.next("prompt", isPrompt(1));
      agent.say(says("One "));
      agent.say(permissionOf("t"));
      await poll("question", () => permissions[0]);
      first.cut();
      await scene.server.logged("client-lost");
      agent.say(update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t", status: "in_progress" }));

      allows = true;
      const second = open(scene.server);
      await app.connectWith(second.stream, async (peer) => {
        await peer.request(methods.agent.initialize, hello);
        await peer.request(methods.agent.session.resume, { sessionId: "s1", cwd: "/work" });
        expect(await agent.next("answer", (frame) => frame["id"] === "ask")).toEqual(reply("ask", YES));
        agent.say(says("two"));
        agent.say(reply(id, { stopReason: "end_turn" }));
        await poll("idle", () => (view.state === "idle" ? true : undefined));
      });
      second.cut();
      await over;
      expect(permissions).toHaveLength(2);
      expect(messages(view)).toEqual([
        ["user_message", "go"],
        ["agent_message", "One "],
        ["agent_message", "two"],
      ]);
      expect(view.timeline).toHaveLength(4);
    },
  );
});

test("with its history, the agent tells it", async () => {
  const history = [
    { sessionUpdate: "user_message_chunk", content: text("hi") },
    { sessionUpdate: "agent_message_chunk", content: text("Hello.") },
  ];
  const scene = await begin(UNIX, history);
  const first = scene.connect();
  await openSession(first);
  first.send(prompt("p", "hi"));
  const [agent] = scene.all;
  const { id } = (await agent?.next("prompt", isPrompt(1))) ?? {};
  first.cut();
  await scene.server.logged("client-lost");
  agent?.say(says("Hel"));
  agent?.say(says("lo."));
  agent?.say(reply(id, { stopReason: "end_turn" }));
  const second = await come(scene);
  // An agent at work is not asked for its history.
  await agent?.sync();
  expect(await resume(second, { replayFrom: { type: "start" } })).toHaveProperty("result");
  expect(messages(viewOf(second))).toEqual([
    ["user_message", "hi"],
    ["agent_message", "Hello."],
  ]);
});

test("a client that does not read, then is cut, holds up nobody, and gets all there was", async () => {
  const scene = await begin();
  const first = scene.connect() as Cuttable & { socket: Socket };
  await openSession(first);
  first.send(prompt("p", "hi"));
  const [agent] = scene.all;
  const { id } = (await agent?.next("prompt", isPrompt(1))) ?? {};
  await first.next("running", isUpdate("state_update", { state: "running" }));
  first.socket.pause();
  const words = Array.from({ length: 6000 }, (_, n) => `${n} ${"x".repeat(100)}\n`);
  for (const word of words) agent?.say(says(word, "a"));
  first.cut();
  await scene.server.logged("client-lost");
  agent?.say(reply(id, { stopReason: "end_turn" }));
  const second = await come(scene);
  expect(await resume(second)).toHaveProperty("result");
  await second.next("idle", isIdle);
  expect(messages(viewOf(second))).toEqual([
    ["user_message", "hi"],
    ["agent_message", words.join("")],
  ]);
});

test("what follows the resume in one write is dealt with by the bridge it goes to", async () => {
  const scene = await begin();
  const first = scene.connect();
  await openSession(first);
  first.cut();
  await scene.server.logged("client-lost");
  const second = (await come(scene)) as Cuttable & { socket: Socket };
  const frames = [request("r", "session/resume", { sessionId: "s1", cwd: "/work" }), prompt("p", "at once")];
  const whole = frames.map((frame) => `${JSON.stringify(frame)}\n`).join("");
  second.socket.write(whole.slice(0, -20));
  await second.next("resumed", (frame) => frame["id"] === "r");
  second.socket.write(whole.slice(-20));
  const [agent] = scene.all;
  expect(await agent?.next("prompt", isPrompt(1))).toMatchObject({ params: { prompt: [text("at once")] } });
  await second.next("message", isUpdate("user_message"));
});

test("a connection that is dead and nobody knows it is found out when its session is wanted", async () => {
  const scene = await begin(CONNECTIONS[2]);
  const first = scene.connect() as Cuttable & { socket: WebSocket };
  await openSession(first);
  first.socket.pause();
  const second = await come(scene);
  expect(await resume(second)).toMatchObject({ error: { code: -32600 } });
  await scene.server.logged("client-lost");
  expect(await resume(second)).toHaveProperty("result");
  first.socket.resume();
});

test("a session is given to the connection that resumes it, unless another has it or that one has its own", async () => {
  const scene = await begin();
  const first = scene.connect();
  await openSession(first);
  const second = await come(scene);
  expect(await resume(second)).toMatchObject({
    error: { code: -32600, message: expect.stringContaining("open over") },
  });
  // What no bridge has is the connection's own agent's to bring back; from then on the connection has a session.
  expect(await second.request("session/resume", { sessionId: "s9", cwd: "/work" })).toHaveProperty("result");
  first.send(prompt("p", "still mine"));
  await scene.all[0]?.next("prompt", isPrompt(1));
  first.cut();
  await scene.server.logged("client-lost");
  expect(await resume(second)).toMatchObject({
    error: { code: -32600, message: expect.stringContaining("a new one") },
  });
  const third = await come(scene);
  expect(await resume(third)).toHaveProperty("result");
  expect(scene.all.map(({ gone }) => gone).slice(0, 2)).toEqual([false, false]);
});

describe("an agent without a client", () => {
  test("ends once --linger has passed", async () => {
    const server = await serveForTest(["unix:$dir/s"], rawAgent(), ["--linger", "100ms"]);
    const client = line(unixClient(`${server.directory}/s`));
    await openSession(client);
    await server.agents(1);
    client.cut();
    await server.logged("client-lost");
    await server.agents(0);
    await server.logged("connection-end");
  });

  test("ends at once when there is no session to come back to", async () => {
    const server = await serveForTest(["unix:$dir/s"], rawAgent(), ["--linger", "1h"]);
    const client = line(unixClient(`${server.directory}/s`));
    await client.request("initialize", HELLO);
    await server.agents(1);
    client.cut();
    await server.agents(0);
    const other = line(unixClient(`${server.directory}/s`));
    const sessionId = await openSession(other);
    await other.request("session/close", { sessionId });
    other.cut();
    await server.agents(0);
    expect(server.records.filter(({ event }) => event === "client-lost")).toEqual([]);
  });

  test("ends at once when the client says that it is done", async () => {
    const scene = await begin(CONNECTIONS[2]);
    const byWebSocket = scene.connect() as Cuttable & { socket: WebSocket };
    await openSession(byWebSocket);
    byWebSocket.socket.close(1000);
    await scene.server.until("end of the agent", () => scene.all[0]?.gone || undefined);
  });

  test("stays when the client deletes an HTTP connection, as it also does when a stream of it broke", async () => {
    const scene = await begin(CONNECTIONS[3]);
    const first = scene.connect();
    await openSession(first);
    first.leave();
    await scene.server.logged("client-lost");
    expect(await resume(await come(scene))).toHaveProperty("result");
    expect(scene.all[0]?.gone).toBe(false);
  });

  test("makes room for others: the one that has waited longest goes", async () => {
    const server = await serveForTest(["unix:$dir/s"], rawAgent(), ["--linger", "1h", "--max-connections", "1"]);
    for (let n = 1; n <= 3; n++) {
      const client = line(unixClient(`${server.directory}/s`));
      await openSession(client);
      client.cut();
      await server.logged("client-lost", n);
      await server.logged("connection-left", n);
      await server.agents(1);
    }
  });

  test("that dies is told of, when the client comes back", async () => {
    const scene = await begin();
    const first = scene.connect();
    await openSession(first);
    first.send(prompt("p", "die"));
    await scene.all[0]?.next("prompt", isPrompt(1));
    first.cut();
    await scene.server.logged("client-lost");
    scene.all[0]?.say(says("Ah", "a"));
    scene.all[0]?.die();
    await scene.server.logged("agent-exit");
    const second = await come(scene);
    expect(await resume(second)).toMatchObject({
      error: { message: expect.stringContaining("closed the connection") },
    });
    expect(second.frames.filter(isIdle)).toHaveLength(1);
    expect(messages(viewOf(second))).toEqual([
      ["user_message", "die"],
      ["agent_message", "Ah"],
    ]);
    await second.ended();
  });
});
