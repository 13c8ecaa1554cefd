// Guards docs/remote.md, "The other half": --connect reaches an agent over a socket, in whatever version it speaks, presents
// the token, and says clearly what became of the connection.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agent, methods } from "@agentclientprotocol/sdk";
import { createNodeWebSocketUpgradeHandler } from "@agentclientprotocol/sdk/experimental/node";
import { AcpServer } from "@agentclientprotocol/sdk/experimental/server";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { WebSocketServer } from "ws";
import { asObject } from "../../src/protocol/json.ts";
import {
  converse,
  HELLO,
  openSession,
  poll,
  rawAgent,
  says,
  serveForTest,
  stdioClient,
  unixClient,
} from "../support/serve-process.ts";

vi.setConfig({ testTimeout: 120_000 });

const directory = mkdtempSync(join(tmpdir(), "acp-shift-connect-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const talks = rawAgent({ "session/prompt": [says("Hello"), { result: { stopReason: "end_turn" } }] });
const tokenFile = (name: string, token: string) => {
  const path = join(directory, name);
  writeFileSync(path, token, { mode: 0o600 });
  return path;
};

/** An agent behind a socket that knows nothing of acp-shift: each connection is the stdio of a process of its own. */
async function agentBehind(where: string | number, agent: readonly string[]) {
  const agents: ChildProcess[] = [];
  const sockets: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const [command = "", ...args] = agent;
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] });
    socket.on("error", () => {}).pipe(child.stdin.on("error", () => {}));
    child.stdout.pipe(socket);
    agents.push(child);
    sockets.push(socket);
  });
  await once(server.listen(where), "listening");
  onTestFinished(() => {
    for (const child of agents) child.kill("SIGKILL");
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const bound = server.address();
  return {
    url: typeof bound === "string" ? `unix:${bound}` : `tcp:127.0.0.1:${bound?.port}`,
    agents,
    sockets,
    close: () => void server.close(),
  };
}

describe("a v1 agent behind a socket", () => {
  test.each([join(directory, "agent"), 0])("is bridged here: %s", async (where) => {
    const { url, agents } = await agentBehind(where, talks);
    const client = stdioClient(["--connect", url, "--log-level", "info"]);
    expect(await converse(client, await openSession(client))).toBe("Hello");
    expect(client.said()).toContain('"pairing":"upgrade"');
    client.leave();
    expect(await client.exited()).toEqual({ code: 0, signal: null });
    // It saw the end of its input.
    expect(await poll("end of the agent", () => agents[0]?.exitCode ?? undefined)).toBe(0);
  });

  test.each<[string, (socket: Socket) => void, string]>([
    ["is reset", (socket) => socket.resetAndDestroy(), "was lost: read ECONNRESET"],
    ["is closed", (socket) => socket.end(), "closed the connection"],
  ])("whose connection %s in the middle of a turn has failed", async (_, strike, message) => {
    const { url, sockets } = await agentBehind(0, rawAgent({ "session/prompt": [says("Working …")] }));
    const client = stdioClient(["--connect", url]);
    const sessionId = await openSession(client);
    await client.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "work" }] });
    for (const socket of sockets) strike(socket);
    const idle = await client.next("idle", (frame) => JSON.stringify(frame).includes('"state":"idle"'));
    expect(JSON.stringify(idle)).toContain('"stopReason":"error"');
    expect(JSON.stringify(idle)).toContain(message);
    expect(await client.exited()).toEqual({ code: 1, signal: null });
    expect(client.said()).toContain(message);
    expect(client.said()).toContain(url);
  });

  test("that closes the connection between turns has ended well", async () => {
    const { url, sockets } = await agentBehind(0, talks);
    const client = stdioClient(["--connect", url]);
    await openSession(client);
    for (const socket of sockets) socket.end();
    expect(await client.exited()).toEqual({ code: 0, signal: null });
  });

  test("can be served on: serve --connect", async () => {
    const { url } = await agentBehind(0, talks);
    const server = await serveForTest(["unix:$dir/socket"], [], ["--connect", url]);
    const client = unixClient(join(server.directory, "socket"));
    expect(await converse(client, await openSession(client))).toBe("Hello");
    client.leave();
    await server.logged("connection-end");
  });
});

describe("a serve at the other end", () => {
  test("passes through what that one bridges, over every transport", async () => {
    const server = await serveForTest(["unix:$dir/socket", "tcp:127.0.0.1:0", "ws://127.0.0.1:0/some/path"], talks);
    for (const [index, url] of ["unix", "tcp", "ws"].map((scheme) => server.addresses[scheme] ?? "").entries()) {
      const client = stdioClient(["--connect", url, "--log-level", "info"]);
      expect(await converse(client, await openSession(client))).toBe("Hello");
      expect(client.said()).toContain('"pairing":"pass-through"');
      client.leave();
      expect(await client.exited()).toEqual({ code: 0, signal: null });
      await server.logged("connection-end", index + 1);
    }
    expect(server.stderr.match(/"pairing":"upgrade"/g)).toHaveLength(3);
    await server.agents(0);
  });

  test("says itself why there is no agent", async () => {
    const server = await serveForTest(["tcp:127.0.0.1:0", "ws://127.0.0.1:0"], ["no-such-agent-anywhere"]);
    for (const url of Object.values(server.addresses)) {
      const client = stdioClient(["--connect", url]);
      expect(await client.request("initialize", HELLO)).toMatchObject({
        error: {
          message: expect.stringContaining("no-such-agent-anywhere was not found"),
          data: { command: ["no-such-agent-anywhere"], hint: expect.stringContaining("spelling") },
        },
      });
      expect(await client.exited()).toEqual({ code: 1, signal: null });
      expect(client.said()).toContain("no-such-agent-anywhere was not found");
    }
  });

  test("is shown the token it asks for, and no other will do", async () => {
    const [right, wrong] = [tokenFile("right", "open-sesame\n"), tokenFile("wrong", "open-barley")];
    const server = await serveForTest(["tcp:127.0.0.1:0", "ws://127.0.0.1:0"], talks, ["--token-file", right]);
    for (const url of [server.addresses["tcp"], server.addresses["ws"]] as string[]) {
      const client = stdioClient(["--connect", url, "--token-file", right]);
      expect(await converse(client, await openSession(client))).toBe("Hello");
      client.leave();
      expect(await client.exited()).toEqual({ code: 0, signal: null });
      const stranger = stdioClient(["--connect", url, "--token-file", wrong]);
      const answer = await stranger.request("initialize", HELLO);
      expect(JSON.stringify(answer["error"])).toMatch(/a token is needed|401/);
      stranger.leave();
      await stranger.exited();
    }
    expect(server.stderr).not.toContain("open-");
  });
});

test("a v1 agent in a server of the SDK's is bridged here", async () => {
  const app = agent({ name: "remote" })
    .onRequest(methods.agent.initialize, () => ({ protocolVersion: 1, agentCapabilities: {} }))
    .onRequest(methods.agent.session.new, () => ({ sessionId: "remote-1" }))
    .onRequest(methods.agent.session.prompt, async ({ client, params: { sessionId } }) => {
      const content = { type: "text" as const, text: "Hello from afar" };
      await client.notify(methods.client.session.update, {
        sessionId,
        update: { sessionUpdate: "agent_message_chunk", content },
      });
      return { stopReason: "end_turn" };
    });
  const acp = new AcpServer({ agent: app });
  const web = createHttpServer().on(
    "upgrade",
    createNodeWebSocketUpgradeHandler(acp, new WebSocketServer({ noServer: true })),
  );
  await once(web.listen(0, "127.0.0.1"), "listening");
  onTestFinished(async () => {
    await acp.close();
    web.closeAllConnections();
    web.close();
  });
  const client = stdioClient(["--connect", `ws://127.0.0.1:${(web.address() as { port: number }).port}`]);
  expect(await converse(client, await openSession(client))).toBe("Hello from afar");
  client.leave();
  expect(await client.exited()).toEqual({ code: 0, signal: null });
});

test.each([
  ["unix:/no/such/socket", "ENOENT"],
  ["tcp:127.0.0.1:1", "ECONNREFUSED"],
  ["ws://127.0.0.1:1", "ECONNREFUSED"],
])("what cannot be reached is the client's error: %s", async (url, code) => {
  const client = stdioClient(["--connect", url]);
  const answer = await client.request("initialize", HELLO);
  const error = asObject(answer["error"]);
  expect(error).toMatchObject({ code: -32603, data: { command: [expect.stringContaining(url)], phase: "connect" } });
  expect(error["message"]).toContain("cannot be reached");
  expect(error["message"]).toContain(code);
  expect(await client.exited()).toEqual({ code: 1, signal: null });
  expect(client.said()).toContain("Check that the agent runs and listens there");
});

test("a WebSocket server that says no is told about, with its status", async () => {
  const server = await serveForTest(["ws://127.0.0.1:0/here"], talks);
  const client = stdioClient(["--connect", (server.addresses["ws"] ?? "").replace("/here", "/there")]);
  expect(JSON.stringify(await client.request("initialize", HELLO))).toContain("404");
  expect(await client.exited()).toEqual({ code: 1, signal: null });
});
