// Guards docs/remote.md, "A connection that breaks": whatever a network does, at whatever step of a turn, costs that one
// connection: its agent ends, nobody else notices.
import { describe, expect, test, vi } from "vitest";
import { asObject } from "../../src/protocol/json.ts";
import { type FaultProxy, faultProxy } from "../support/fault-proxy.ts";
import type { Script } from "../support/raw-agent.ts";
import {
  converse,
  HELLO,
  httpClient,
  openSession,
  rawAgent,
  type ServeProcess,
  says,
  serveForTest,
  type TestClient,
  tcpClient,
  webSocketClient,
} from "../support/serve-process.ts";

vi.setConfig({ testTimeout: 120_000 });

const prompt = (client: TestClient) =>
  client.request("session/prompt", { sessionId: "s1", prompt: [{ type: "text", text: "work" }] });

const asks = {
  send: {
    ...{ jsonrpc: "2.0", id: 7, method: "session/request_permission" },
    params: {
      sessionId: "s1",
      toolCall: { toolCallId: "t1", title: "Delete" },
      options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
    },
  },
};

/** The steps of a turn: how the agent behaves in it, and how a client gets there. */
const STEPS: Record<string, { script: Script; reach(client: TestClient): Promise<unknown>; agents: number }> = {
  "before initialize": { script: {}, reach: async () => {}, agents: 0 },
  "while initialize is not answered": {
    script: { initialize: [] },
    reach: async (client) => client.send({ jsonrpc: "2.0", id: "init", method: "initialize", params: HELLO }),
    agents: 1,
  },
  "while a session is opened": {
    script: { "session/new": [] },
    async reach(client) {
      await client.request("initialize", HELLO);
      client.send({ jsonrpc: "2.0", id: "new", method: "session/new", params: { cwd: "/work" } });
    },
    agents: 1,
  },
  "amid chunks": {
    script: { "session/prompt": [says("one "), says("two")] },
    async reach(client) {
      await openSession(client);
      await prompt(client);
      await client.next("chunk", (frame) => JSON.stringify(frame).includes("agent_message_chunk"));
    },
    agents: 1,
  },
  "while a permission is open": {
    script: { "session/prompt": [asks] },
    async reach(client) {
      await openSession(client);
      await prompt(client);
      await client.next("permission", (frame) => frame["method"] === "session/request_permission");
    },
    agents: 1,
  },
  "while a turn is cancelled": {
    script: { "session/prompt": [says("Working …")] },
    async reach(client) {
      await openSession(client);
      await prompt(client);
      client.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId: "s1" } });
    },
    agents: 1,
  },
};

const CLIENTS = {
  tcp: (_server: ServeProcess, port: number) => tcpClient(port),
  ws: (_server: ServeProcess, port: number) => webSocketClient(`ws://127.0.0.1:${port}/acp`),
  http: (_server: ServeProcess, port: number) => httpClient(`http://127.0.0.1:${port}/acp`),
};

describe.each(Object.entries(STEPS))("%s", (name, { script, reach, agents }) => {
  test("a cut or half-closed connection ends its agent, and nobody else's", async () => {
    const server = await serveForTest(["tcp:127.0.0.1:0", "ws://127.0.0.1:0"], rawAgent(script), [
      // How long a client over HTTP is waited for once its streams are cut, too.
      ...["--handshake-limit", agents > 0 ? "3s" : "1m"],
      ...["--term-after", "500ms", "--kill-after", "500ms"],
    ]);
    const bystander = tcpClient(server.port("tcp"));
    if (agents > 0) await reach(bystander);

    const faults: [keyof typeof CLIENTS, (proxy: FaultProxy) => void][] = [
      ["tcp", (proxy) => proxy.cut()],
      ["tcp", (proxy) => proxy.halfClose()],
      ["ws", (proxy) => proxy.cut()],
      ["http", (proxy) => proxy.cut()],
    ];
    const broken = await Promise.all(
      faults.map(async ([transport, fault]) => {
        const proxy = await faultProxy(server.port(transport === "tcp" ? "tcp" : "ws"));
        const client = CLIENTS[transport](server, proxy.port);
        await reach(client);
        return { client, strike: () => fault(proxy) };
      }),
    );
    if (agents > 0) await server.logged("connection", broken.length + 1);
    for (const { strike } of broken) strike();
    if (agents > 0) {
      const ends = await server.logged("connection-end", broken.length);
      expect(ends.map(({ status }) => status)).toEqual(broken.map(() => 0));
    }
    // What is left is the bystander's.
    await server.agents(agents);
    expect(bystander.over).toBeUndefined();
    const newcomer = tcpClient(server.port("tcp"));
    if (name === "while initialize is not answered") await reach(newcomer);
    else expect(await newcomer.request("initialize", HELLO)).toHaveProperty("result");
    await server.agents(agents + 1);
    bystander.leave();
    await bystander.ended();
    newcomer.leave();
    await newcomer.ended();
    await server.agents(0);
  });
});

test.each(["tcp", "ws", "http"] as const)("%s in pieces of two bytes is what it is whole", async (transport) => {
  const words = "é漢😀 and so on";
  const script: Script = {
    "session/prompt": [says(words), asks],
    answer: [{ result: { stopReason: "end_turn" }, of: "session/prompt" }],
  };
  const server = await serveForTest(["tcp:127.0.0.1:0", "ws://127.0.0.1:0"], rawAgent(script));
  const proxy = await faultProxy(server.port(transport === "tcp" ? "tcp" : "ws"));
  proxy.chop(2);
  const client = CLIENTS[transport](server, proxy.port);
  const sessionId = await openSession(client);
  const answered = client
    .next("permission", (frame) => frame["method"] === "session/request_permission")
    .then(({ id }) =>
      client.send({ jsonrpc: "2.0", id, result: { outcome: { outcome: "selected", optionId: "yes" } } }),
    );
  expect(await converse(client, sessionId)).toBe(words);
  await answered;
  client.leave();
  await client.ended();
  expect((await server.logged("connection-end"))[0]).toMatchObject({ connection: 1, status: 0 });
  expect(asObject(server.records.find(({ event }) => event === "connection"))).toMatchObject({ transport });
});
