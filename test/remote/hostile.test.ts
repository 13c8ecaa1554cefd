// Guards docs/remote.md, "Who is let in": whoever is not wanted is told so, costs no agent, and disturbs nobody.

import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { peer } from "../support/bridge-process.ts";
import { peakMemory } from "../support/processes.ts";
import type { Step } from "../support/raw-agent.ts";
import {
  converse,
  HELLO,
  httpClient,
  openSession,
  poll,
  rawAgent,
  type ServeProcess,
  says,
  serveForTest,
  tcpClient,
  unixClient,
  webSocketClient,
} from "../support/serve-process.ts";

vi.setConfig({ testTimeout: 120_000 });

const talks = rawAgent({ "session/prompt": [says("Hello"), { result: { stopReason: "end_turn" } }] });
const END: Step[] = [{ result: { stopReason: "end_turn" }, of: "session/prompt" }];
const TOKEN = "correct-horse-battery-staple";
const tokenFile = join(tmpdir(), `acp-shift-token-${process.pid}`);
const initialize = { jsonrpc: "2.0", id: "init", method: "initialize", params: HELLO };
const present = (token: string) => ({ jsonrpc: "2.0", method: "_acp-shift/token", params: { token } });
beforeAll(() => writeFileSync(tokenFile, `${TOKEN}\n`, { mode: 0o600 }));

/** A bare HTTP request: its status and body. */
function http(
  port: number,
  options: { method?: string; path?: string; headers?: Record<string, string>; body?: string },
) {
  const { body, headers = {}, ...rest } = options;
  return new Promise<{ status: number | undefined; text: string; headers: object }>((resolve, reject) => {
    const asked = request(
      {
        host: "127.0.0.1",
        port,
        method: "POST",
        path: "/acp",
        ...rest,
        headers: { "content-type": "application/json", ...headers },
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (piece: string) => {
          text += piece;
        });
        response.on("end", () => resolve({ status: response.statusCode, text, headers: response.headers }));
        response.on("error", reject);
      },
    );
    asked.on("error", reject);
    asked.end(body ?? JSON.stringify(initialize));
  });
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe("with a token", () => {
  test("only whoever presents it is let in, over every transport", async () => {
    const server = await serveForTest(["tcp:127.0.0.1:0", "ws://127.0.0.1:0"], talks, [
      ...["--token-file", tokenFile, "--max-frame", "64KiB"],
      ...["--allow-host", "acp.example.org", "--allow-origin", "https://editor.example.org"],
    ]);
    const [tcp, web] = [server.port("tcp"), server.port("ws")];
    const { ws = "" } = server.addresses;
    const bystander = webSocketClient(ws, { headers: bearer(TOKEN) });
    const sessionId = await openSession(bystander);

    // TCP: the token is the first line.
    for (const first of [[], [present("wrong")], [present("")]]) {
      const client = tcpClient(tcp);
      for (const frame of [...first, initialize]) client.send(frame);
      expect(await client.next("refusal", (frame) => "error" in frame)).toMatchObject({
        id: "init",
        error: { code: -32000, message: expect.stringContaining("token") },
      });
      await client.ended();
    }
    // HTTP and WebSocket: the header.
    for (const headers of [{}, bearer("wrong"), bearer(`${TOKEN}x`), { authorization: TOKEN }] as Record<
      string,
      string
    >[]) {
      expect(await http(web, { headers })).toMatchObject({ status: 401, headers: { "www-authenticate": "Bearer" } });
      expect(await webSocketClient(ws, { headers }).ended()).toContain("401");
    }
    // By a name that is not ours, or from a page that is not let in: not even with the token.
    for (const [headers, says] of [
      [{ host: "evil.example.org" }, "--allow-host"],
      [{ host: "evil.example.org:80" }, "--allow-host"],
      [{ origin: "https://evil.example.org" }, "--allow-origin"],
      [{ origin: "null" }, "--allow-origin"],
    ] as [Record<string, string>, string][]) {
      const answer = await http(web, { headers: { ...bearer(TOKEN), ...headers } });
      expect(answer).toMatchObject({ status: 403, text: expect.stringContaining(says) });
      expect(await webSocketClient(ws, { headers: { ...bearer(TOKEN), ...headers } }).ended()).toContain("403");
    }
    expect(await http(web, { path: "/other", headers: bearer(TOKEN) })).toMatchObject({ status: 404 });
    expect(await http(web, { method: "PUT", headers: bearer(TOKEN) })).toMatchObject({ status: 405 });
    const large = JSON.stringify({ ...initialize, padding: "x".repeat(70_000) });
    expect(await http(web, { headers: bearer(TOKEN), body: large })).toMatchObject({ status: 413 });
    expect(await http(web, { headers: bearer(TOKEN), body: "{oops" })).toMatchObject({ status: 400 });
    expect(await http(web, { headers: bearer(TOKEN), body: `[${JSON.stringify(initialize)}]` })).toMatchObject({
      status: 400,
      text: expect.stringContaining("-32600"),
    });
    expect(await http(web, { headers: { ...bearer(TOKEN), "content-type": "text/plain" } })).toMatchObject({
      status: 415,
    });
    expect(
      await http(web, { headers: bearer(TOKEN), body: '{"jsonrpc":"2.0","id":1,"method":"session/list"}' }),
    ).toMatchObject({
      status: 400,
      text: expect.stringContaining("acp-connection-id is missing"),
    });
    expect(
      await http(web, { headers: { ...bearer(TOKEN), "acp-connection-id": "made-up" }, body: "{}" }),
    ).toMatchObject({
      status: 404,
    });
    // Oversized before anything else, and a beginning that is none.
    const fat = webSocketClient(ws, { headers: bearer(TOKEN) });
    fat.send({ ...initialize, padding: "x".repeat(70_000) });
    expect(await fat.ended()).toBe("1009");
    const fatTcp = tcpClient(tcp);
    fatTcp.socket.write("x".repeat(70_000));
    expect(await fatTcp.next("refusal", (frame) => "error" in frame)).toMatchObject({
      error: { message: "the first message exceeds 65536 bytes" },
    });
    for (const bytes of ["{oops\n", '{"jsonrpc":"2.0","id":1,"method":"session/list"}\n', "GET / HTTP/1.1\r\n\r\n"]) {
      const rude = tcpClient(tcp);
      rude.socket.write(bytes);
      expect(await rude.next("refusal", (frame) => "error" in frame)).toMatchObject({
        error: { code: -32600, message: expect.stringContaining("initialize") },
      });
      await rude.ended();
    }
    await server.agents(1);

    // Those who know it, by a name and from a page that are allowed.
    const friends = [
      webSocketClient(ws, {
        headers: { ...bearer(TOKEN), host: "ACP.example.org", origin: "https://editor.example.org" },
      }),
      httpClient(ws, bearer(TOKEN)),
      tcpClient(tcp),
    ];
    friends[2]?.send(present(TOKEN));
    for (const friend of friends) expect(await converse(friend, await openSession(friend))).toBe("Hello");
    const preflight = await http(web, {
      method: "OPTIONS",
      headers: { origin: "https://editor.example.org" },
      body: "",
    });
    expect(preflight).toMatchObject({
      status: 204,
      headers: { "access-control-allow-origin": "https://editor.example.org" },
    });

    expect(await converse(bystander, sessionId)).toBe("Hello");
    expect(server.stderr).not.toContain(TOKEN);
  });
});

test("who takes too long to begin, or comes when it is full, is told so", async () => {
  const server = await serveForTest(["tcp:127.0.0.1:0", "ws://127.0.0.1:0"], talks, [
    ...["--max-connections", "2", "--handshake-limit", "3s"],
  ]);
  const silent = tcpClient(server.port("tcp"));
  expect(await silent.next("farewell", (frame) => "error" in frame)).toMatchObject({
    id: null,
    error: { message: expect.stringContaining("--handshake-limit") },
  });
  await silent.ended();
  const guests = [tcpClient(server.port("tcp")), webSocketClient(server.addresses["ws"] ?? "")];
  for (const guest of guests) await guest.request("initialize", HELLO);
  expect(await tcpClient(server.port("tcp")).request("initialize", HELLO)).toMatchObject({
    error: { message: expect.stringContaining("--max-connections") },
  });
  expect(await http(server.port("ws"), {})).toMatchObject({
    status: 503,
    text: expect.stringContaining("--max-connections"),
  });
  guests[0]?.leave();
  await server.logged("connection-end");
  // There is room again, once it is gone altogether.
  await guests[0]?.ended();
  await server.agents(1);
  let answer: object = {};
  while (!("result" in answer)) answer = await tcpClient(server.port("tcp")).request("initialize", HELLO);
});

test("a connection on which nothing is said for too long is ended, but not while a turn runs", async () => {
  const script = { "session/prompt": [], "_test/end": END };
  const server = await serveForTest(["ws://127.0.0.1:0"], rawAgent(script), ["--idle-limit", "3s"]);
  const { ws = "" } = server.addresses;
  const [working, idle] = [webSocketClient(ws), webSocketClient(ws)];
  const prompt = { sessionId: await openSession(working), prompt: [{ type: "text", text: "work" }] };
  expect(await working.request("session/prompt", prompt)).toHaveProperty("result");
  await idle.request("initialize", HELLO);
  const farewell = { error: { message: expect.stringContaining("--idle-limit") } };
  expect(await idle.next("farewell", (frame) => "error" in frame)).toMatchObject(farewell);
  await idle.ended();
  // Where nothing has been said for even longer.
  expect(working.over).toBeUndefined();
  working.send({ jsonrpc: "2.0", method: "_test/end", params: {} });
  expect(await working.next("farewell", (frame) => "error" in frame)).toMatchObject(farewell);
  await server.agents(0);
});

/** What begins a request and does not end it. */
const HALF = "POST /acp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{";

test("10000 connects that say nothing, or half of something, keep nobody out", async () => {
  const server = await serveForTest(["unix:$dir/socket", "tcp:127.0.0.1:0", "ws://127.0.0.1:0"], talks);
  const path = join(server.directory, "socket");
  const bystander = unixClient(path);
  const sessionId = await openSession(bystander);
  const before = peakMemory(server.pid);
  const [tcp, ws] = [server.port("tcp"), server.port("ws")];
  const arrive = [
    () => connect(path),
    () => connect(tcp, "127.0.0.1"),
    () => connect(ws, "127.0.0.1"),
    () =>
      connect(ws, "127.0.0.1").on("connect", function (this: Socket) {
        this.write(HALF);
      }),
  ];
  let crowd: Socket[] = [];
  for (let batch = 0; batch < 50; batch++) {
    const next = Array.from({ length: 50 }, () => arrive.map((come) => come())).flat();
    for (const socket of next) socket.on("error", () => {});
    // One that the system has no room for either has been turned away too.
    await Promise.all(next.map((socket) => once(socket, "connect").catch(() => {})));
    for (const socket of crowd) socket.destroy();
    crowd = next;
    if (batch % 10 === 0) expect(await converse(bystander, sessionId)).toBe("Hello");
  }
  const newcomer = webSocketClient(server.addresses["ws"] ?? "");
  expect(await converse(newcomer, await openSession(newcomer))).toBe("Hello");
  for (const socket of crowd) socket.destroy();
  await server.agents(2);
  expect(peakMemory(server.pid) - before).toBeLessThan(100 * 1024 ** 2);
});

test("who begins requests and ends none has to go when more of that kind come", async () => {
  const server = await serveForTest(["ws://127.0.0.1:0"], talks, ["--max-connections", "20"]);
  const crowd = Array.from({ length: 300 }, () => {
    const socket = connect(server.port("ws"), "127.0.0.1");
    socket.on("error", () => {}).write(HALF);
    return socket.resume();
  });
  await server.until("room", () => (crowd.filter(({ closed }) => !closed).length <= 20 ? true : undefined));
  const client = httpClient(server.addresses["ws"] ?? "");
  expect(await converse(client, await openSession(client))).toBe("Hello");
  for (const socket of crowd) socket.destroy();
});

test("a message that is too long costs the one who sends it, and nobody else", async () => {
  const listen = ["unix:$dir/socket", "tcp:127.0.0.1:0", "ws://127.0.0.1:0"];
  const server = await serveForTest(listen, talks, ["--max-frame", "64KiB"]);
  const { ws = "" } = server.addresses;
  const path = join(server.directory, "socket");
  const bystander = unixClient(path);
  const sessionId = await openSession(bystander);
  const before = peakMemory(server.pid);
  const padding = "x".repeat(16 * 1024 ** 2);
  const long = { jsonrpc: "2.0", id: "long", method: "session/list", params: { padding } };
  const senders = {
    unix: () => unixClient(path),
    tcp: () => tcpClient(server.port("tcp")),
    ws: () => webSocketClient(ws),
    http: () => httpClient(ws),
  };
  for (const [name, come] of Object.entries(senders)) {
    const sender = come();
    await openSession(sender);
    sender.send(long);
    expect(await converse(bystander, sessionId)).toBe("Hello");
    // By lines and over HTTP it is the one request that fails; a WebSocket is closed.
    if (name === "ws") expect(await sender.ended()).toBe("1009");
    else {
      const answer = await sender.next("refusal", ({ id }) => id === "long");
      expect(JSON.stringify(answer["error"]), name).toMatch(/--max-frame|413/);
      expect(await converse(sender, "s1")).toBe("Hello");
    }
  }
  await server.agents(4);
  expect(peakMemory(server.pid) - before).toBeLessThan(64 * 1024 ** 2);
});

describe("a client that does not read", () => {
  const [updates, bytes] = [4000, 64 * 1024];

  test.each(["unix", "tcp", "ws", "http"])("holds up its own agent and no other: %s", async (transport) => {
    const server = await serveForTest(
      ["unix:$dir/socket", "tcp:127.0.0.1:0", "ws://127.0.0.1:0"],
      peer("flooding-agent.mjs", String(updates), String(bytes)),
      ["--drain", "0"],
    );
    const file = join(server.directory, "progress.jsonl");
    const path = join(server.directory, "socket");
    const { ws = "" } = server.addresses;
    const bystander = unixClient(path);
    const sessionId = await openSession(bystander);
    const before = peakMemory(server.pid);
    const send = await stuck(transport, server);
    send({
      jsonrpc: "2.0",
      id: "p",
      method: "session/prompt",
      params: { sessionId: "s1", prompt: [{ type: "text", text: "go" }] },
    });

    // The agent says itself that it is held up: asked again and again, it has written nothing more in between.
    const reports = () => (existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : []);
    const standstill = () => {
      send({ jsonrpc: "2.0", method: "_test/progress", params: { file } });
      const last = reports().slice(-10);
      return last.length === 10 && new Set(last).size === 1 ? last[0] : undefined;
    };
    const { written, heldUp } = JSON.parse(await server.until("standstill", standstill));
    expect(heldUp).toBe(true);
    expect(written * bytes).toBeLessThan(32 * 1024 ** 2);
    expect(peakMemory(server.pid) - before).toBeLessThan(128 * 1024 ** 2);

    expect(await converse(bystander, sessionId)).toBe("Hello");
    const newcomer = transport === "ws" ? unixClient(path) : webSocketClient(ws);
    expect(await converse(newcomer, await openSession(newcomer))).toBe("Hello");
    await server.agents(3);
  });

  /** A client with a session that reads nothing any more; what sends its messages. */
  async function stuck(transport: string, server: ServeProcess): Promise<(frame: object) => void> {
    if (transport === "http") return stuckOverHttp(server.port("ws"));
    const client =
      transport === "ws"
        ? webSocketClient(server.addresses["ws"] ?? "")
        : transport === "tcp"
          ? tcpClient(server.port("tcp"))
          : unixClient(join(server.directory, "socket"));
    await openSession(client);
    (client.socket as { pause(): void }).pause();
    return client.send;
  }

  /** The same with the stream of its session open. */
  async function stuckOverHttp(port: number): Promise<(frame: object) => void> {
    const { headers: given } = await http(port, {});
    const headers = { "acp-connection-id": (given as Record<string, string>)["acp-connection-id"] ?? "" };
    const stream = (session: Record<string, string>) => {
      const socket = connect(port, "127.0.0.1");
      const lines = Object.entries({ host: "localhost", accept: "text/event-stream", ...headers, ...session });
      socket.write(`GET /acp HTTP/1.1\r\n${lines.map(([key, value]) => `${key}: ${value}\r\n`).join("")}\r\n`);
      return socket.on("error", () => {});
    };
    let text = "";
    stream({})
      .setEncoding("utf8")
      .on("data", (piece: string) => {
        text += piece;
      });
    await http(port, {
      headers,
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "session/new", params: { cwd: "/work" } }),
    });
    await poll("session", () => /"sessionId":"s1"/.exec(text)?.[0]);
    stream({ "acp-session-id": "s1" }).pause();
    return (frame) => {
      const session = "id" in frame ? { "acp-session-id": "s1" } : {};
      void http(port, { headers: { ...headers, ...session }, body: JSON.stringify(frame) }).catch(() => {});
    };
  }
});
