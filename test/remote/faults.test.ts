// Guards docs/remote.md, "A connection that breaks": whatever a network does, at whatever step of a turn, costs that one
// connection: its agent ends, nobody else notices.
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import { type Fault, faultProxy } from "../support/fault-proxy.ts";
import type { Script, Step } from "../support/raw-agent.ts";
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

const words = { sessionId: "s1", prompt: [{ type: "text", text: "work" }] };
const prompt = (client: TestClient) => client.request("session/prompt", words);
const isUpdate = (fields: object) => (frame: JsonObject) => {
  const update = asObject(asObject(frame["params"])["update"]);
  return Object.entries(fields).every(([key, value]) => update[key] === value);
};
const END: Step = { result: { stopReason: "end_turn" }, of: "session/prompt" };

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
  "while a prompt is on its way": {
    script: { "session/prompt": [] },
    async reach(client) {
      await openSession(client);
      client.send({ jsonrpc: "2.0", id: "p", method: "session/prompt", params: words });
    },
    agents: 1,
  },
  "once a turn runs": {
    script: { "session/prompt": [] },
    async reach(client) {
      await openSession(client);
      await prompt(client);
      await client.next("running", isUpdate({ state: "running" }));
    },
    agents: 1,
  },
  "amid chunks": {
    script: { "session/prompt": [says("one "), says("two")] },
    async reach(client) {
      await openSession(client);
      await prompt(client);
      await client.next("chunk", isUpdate({ sessionUpdate: "agent_message_chunk" }));
    },
    agents: 1,
  },
  "while a tool call runs": {
    script: {
      "session/prompt": [
        { update: { sessionUpdate: "tool_call", toolCallId: "t1", title: "Run", status: "in_progress" } },
      ],
    },
    async reach(client) {
      await openSession(client);
      await prompt(client);
      await client.next("tool call", isUpdate({ sessionUpdate: "tool_call_update" }));
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
  "once a permission is given": {
    script: { "session/prompt": [asks], answer: [says("Thanks.")] },
    async reach(client) {
      await openSession(client);
      await prompt(client);
      const { id } = await client.next("permission", (frame) => frame["method"] === "session/request_permission");
      client.send({ jsonrpc: "2.0", id, result: { outcome: { outcome: "selected", optionId: "yes" } } });
      await client.next("chunk", isUpdate({ sessionUpdate: "agent_message_chunk" }));
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
  "once a turn is over": {
    script: { "session/prompt": [says("Done."), END] },
    async reach(client) {
      await converse(client, await openSession(client));
    },
    agents: 1,
  },
};

const TRANSPORTS = {
  unix: {
    client: tcpClient,
    behind: ({ directory }: ServeProcess): number | string => join(directory, "socket"),
  },
  tcp: { client: tcpClient, behind: (server: ServeProcess) => server.port("tcp") },
  ws: {
    client: (port: number) => webSocketClient(`ws://127.0.0.1:${port}/acp`),
    behind: (server: ServeProcess) => server.port("ws"),
  },
  http: {
    client: (port: number) => httpClient(`http://127.0.0.1:${port}/acp`),
    behind: (server: ServeProcess) => server.port("ws"),
  },
};
const LISTEN = ["unix:$dir/socket", "tcp:127.0.0.1:0", "ws://127.0.0.1:0"];
const HALVES: Fault[] = ["closed to the server", "closed to the client"];

/** Every connection is cut and one direction of it closed: by turns, or with TEST_ALL_FAULTS each. */
const faultsAt = (step: number, transport: number): Fault[] => [
  "cut",
  ...HALVES.filter((_, half) => process.env["TEST_ALL_FAULTS"] || (step + transport + half) % HALVES.length === 0),
];

describe.each(Object.entries(STEPS))("%s", (name, { script, reach, agents }) => {
  test("a cut or half-closed connection ends its agent, and nobody else's", async () => {
    const server = await serveForTest(LISTEN, rawAgent(script), [
      // How long a client over HTTP is waited for once its streams are cut, too.
      ...["--handshake-limit", agents > 0 ? "3s" : "1m"],
      ...["--term-after", "500ms", "--kill-after", "500ms"],
    ]);
    const bystander = tcpClient(server.port("tcp"));
    if (agents > 0) await reach(bystander);

    const broken = await Promise.all(
      Object.values(TRANSPORTS).flatMap(({ client, behind }, transport) =>
        faultsAt(Object.keys(STEPS).indexOf(name), transport).map(async (fault) => {
          const proxy = await faultProxy(behind(server));
          await reach(client(proxy.port));
          return { strike: () => proxy.strike(fault) };
        }),
      ),
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

test.each(["unix", "tcp", "ws", "http"] as const)(
  "%s in pieces of two bytes is what it is whole",
  async (transport) => {
    const said = "é漢😀 and so on";
    const script: Script = {
      "session/prompt": [says(said), asks],
      answer: [END],
    };
    const server = await serveForTest(LISTEN, rawAgent(script));
    const proxy = await faultProxy(TRANSPORTS[transport].behind(server));
    proxy.chop(2);
    const client = TRANSPORTS[transport].client(proxy.port);
    const sessionId = await openSession(client);
    const answered = client
      .next("permission", (frame) => frame["method"] === "session/request_permission")
      .then(({ id }) =>
        client.send({ jsonrpc: "2.0", id, result: { outcome: { outcome: "selected", optionId: "yes" } } }),
      );
    expect(await converse(client, sessionId)).toBe(said);
    await answered;
    client.leave();
    await client.ended();
    expect((await server.logged("connection-end"))[0]).toMatchObject({ connection: 1, status: 0 });
    expect(asObject(server.records.find(({ event }) => event === "connection"))).toMatchObject({ transport });
  },
);
