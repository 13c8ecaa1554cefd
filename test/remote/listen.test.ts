// Guards docs/remote.md: where serve listens and what it refuses to, its socket file, TLS, its end, and what it records.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import { commandAgent } from "../../src/commands/agent.ts";
import { serve } from "../../src/commands/serve.ts";
import { readCommandLine } from "../../src/config/command-line.ts";
import { commandLineSource, resolveSettings } from "../../src/config/settings.ts";
import { UsageError } from "../../src/config/usage-error.ts";
import { createLogger } from "../../src/logging.ts";
import { CLI, peer } from "../support/bridge-process.ts";
import { runProgram } from "../support/programs.ts";
import {
  converse,
  HELLO,
  openSession,
  rawAgent,
  says,
  serveForTest,
  startServe,
  tcpClient,
  unixClient,
  webSocketClient,
} from "../support/serve-process.ts";

vi.setConfig({ testTimeout: 120_000 });

const directory = mkdtempSync(join(tmpdir(), "acp-shift-listen-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const file = (name: string, text: string, mode = 0o600) => {
  const path = join(directory, name);
  writeFileSync(path, text, { mode });
  return path;
};
const tls = (name: string) => join(import.meta.dirname, "../fixtures/tls", name);
const talks = rawAgent({ "session/prompt": [says("Hello"), { result: { stopReason: "end_turn" } }] });

test.each<[string, string[], string]>([
  ["nowhere", [], "serve needs at least one --listen URL"],
  ["no address", ["--listen", "localhost:7000"], '--listen: "localhost:7000" cannot be used'],
  ["the network, over TCP", ["--listen", "tcp:0.0.0.0:0"], "by --token-file, or listen on 127.0.0.1"],
  ["the network, over HTTP", ["--listen", "ws://[::]:0/acp"], "by --token-file, or listen on 127.0.0.1"],
  ["a name of a network", ["--listen", "http://acp.example.org:80"], "by --token-file, or listen on 127.0.0.1"],
  ["the network, with an empty token", ["--listen", "tcp:0.0.0.0:0", "--token-file", file("empty", " \n")], "is empty"],
  ["with a token that is not there", ["--listen", "tcp:localhost:0", "--token-file", "/no/such"], "cannot be read"],
  ["TLS without a certificate", ["--listen", "wss://127.0.0.1:0"], "--tls-cert and --tls-key"],
  [
    "TLS with a bad certificate",
    ["--listen", "wss://127.0.0.1:0", "--tls-cert", tls("key.pem"), "--tls-key", tls("key.pem")],
    "--tls-cert",
  ],
  ["a file that is no socket", ["--listen", `unix:${file("plain", "")}`], "is no socket"],
  [
    "a folder that is not there",
    ["--listen", "unix:/no/such/folder/socket"],
    "--listen: cannot listen on unix:/no/such",
  ],
  ["one trace for all", ["--listen", "tcp:localhost:0", "--trace", join(directory, "t.jsonl")], "is no directory"],
  ["a secret in a URL", ["--listen", "ws://me:secret@localhost:1"], "use --token-file"],
])("serve refuses to listen: %s", async (_, words, message) => {
  const line = await readCommandLine(["serve", ...words, "--", "no-such-agent"]);
  if (line.type !== "serve") throw new Error(line.type);
  const settings = resolveSettings([commandLineSource(line.options)]);
  const refusal = serve(settings, commandAgent({ command: "no-such-agent", args: [] }), createLogger(settings));
  await expect(refusal).rejects.toThrow(message);
  await expect(refusal).rejects.toThrow(UsageError);
});

test("a port that is taken is refused, and what was listened on already is given back", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => taken.once("listening", resolve));
  const { port } = taken.address() as { port: number };
  const socket = join(directory, "given-back");
  const words = ["serve", "--listen", `unix:${socket}`, "--listen", `tcp:127.0.0.1:${port}`, "--", "x"];
  const ending = await runProgram([process.execPath, CLI, ...words]);
  taken.close();
  expect(ending).toMatchObject({ code: 2, stderr: expect.stringContaining("EADDRINUSE") });
  expect(statSync(socket, { throwIfNoEntry: false })).toBeUndefined();
});

test("the socket file is its owner's, taken over when it is stale, never from a living server, and gone at the end", async () => {
  const path = join(directory, "socket");
  const first = startServe([`unix:${path}`], talks);
  await first.until("listening", () => first.addresses["unix"]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const second = await runProgram([process.execPath, CLI, "serve", "--listen", `unix:${path}`, "--", "x"]);
  expect(second).toMatchObject({ code: 2, stderr: expect.stringContaining("somebody listens") });
  first.kill("SIGKILL");
  await first.exited();
  expect(statSync(path).isSocket()).toBe(true);

  const third = startServe([`unix:${path}`], talks);
  await third.until("listening", () => third.addresses["unix"]);
  const client = unixClient(path);
  expect(await converse(client, await openSession(client))).toBe("Hello");
  third.kill("SIGTERM");
  expect(await third.exited()).toEqual({ code: 143, signal: null });
  expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
  for (const server of [first, third]) rmSync(server.directory, { recursive: true, force: true });
});

test("TLS, and a token file others can read, which is told", async () => {
  const tokenFile = file("token", "open-sesame");
  chmodSync(tokenFile, 0o644);
  const server = await serveForTest(["wss://127.0.0.1:0"], talks, [
    ...["--tls-cert", tls("cert.pem"), "--tls-key", tls("key.pem"), "--token-file", tokenFile],
  ]);
  expect(server.addresses["ws"]).toMatch(/^wss:/);
  expect(server.stderr).toContain("chmod 600");
  const client = webSocketClient(server.addresses["ws"] ?? "", {
    rejectUnauthorized: false,
    headers: { authorization: "Bearer open-sesame" },
  });
  expect(await converse(client, await openSession(client))).toBe("Hello");
  // What speaks no TLS gets nowhere.
  expect(await webSocketClient((server.addresses["ws"] ?? "").replace("wss", "ws")).ended()).not.toBe("1000");
});

describe("the end", () => {
  test.each<[NodeJS.Signals, number]>([
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ])("%s ends every connection properly, in the middle of a turn", async (signal, code) => {
    const works = rawAgent({ "session/prompt": [says("Working …")] });
    const server = startServe(["tcp:127.0.0.1:0"], works, ["--drain", "0"]);
    await server.until("listening", () => server.addresses["tcp"]);
    const clients = [tcpClient(server.port("tcp")), tcpClient(server.port("tcp"))];
    for (const client of clients) {
      const sessionId = await openSession(client);
      await client.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "work" }] });
    }
    await server.agents(2);
    server.kill(signal);
    for (const client of clients) {
      const idle = (frame: object) => JSON.stringify(frame).includes('"state":"idle"');
      expect(JSON.stringify(await client.next("idle", idle))).toContain('"stopReason":"error"');
      await client.ended();
    }
    expect(await server.exited()).toEqual({ code, signal: null });
    expect(server.descendants()).toBe(0);
    expect(server.stdout).toBe("");
    rmSync(server.directory, { recursive: true, force: true });
  });

  test("a second signal does not wait for a stubborn agent", async () => {
    const stubborn = rawAgent({ eof: [], ignores: ["SIGTERM", "SIGINT"] });
    const server = startServe(["tcp:127.0.0.1:0"], stubborn, ["--term-after", "10m", "--kill-after", "10m"]);
    await server.until("listening", () => server.addresses["tcp"]);
    const client = tcpClient(server.port("tcp"));
    await openSession(client);
    server.kill("SIGTERM");
    // No new clients from here on.
    const answers = (frame: object) => "error" in frame || "result" in frame;
    let answer: object = {};
    while (!("error" in answer)) {
      const probe = tcpClient(server.port("tcp"));
      probe.send({ jsonrpc: "2.0", id: 1, method: "initialize", params: HELLO });
      answer = await probe.next("answer", answers);
    }
    expect(JSON.stringify(answer)).toContain("acp-shift is ending");
    server.kill("SIGTERM");
    expect(await server.exited()).toEqual({ code: 143, signal: null });
    expect(server.descendants()).toBe(0);
    rmSync(server.directory, { recursive: true, force: true });
  });
});

test("log records, the agents' words and traces can be told apart by connection", async () => {
  const traces = join(directory, "traces");
  mkdirSync(traces);
  const agent = rawAgent({ start: [{ stderr: "I am here\n" }] });
  const server = await serveForTest(["tcp:127.0.0.1:0"], agent, ["--trace", traces]);
  const clients = [tcpClient(server.port("tcp")), tcpClient(server.port("tcp"))];
  for (const client of clients) await client.request("initialize", HELLO);
  for (const client of clients) client.leave();
  const ends = await server.logged("connection-end", 2);
  expect(ends.map(({ connection }) => connection).sort()).toEqual([1, 2]);
  expect(server.records.filter(({ event }) => event === "paired").map(({ connection }) => connection)).toEqual([1, 2]);
  for (const number of [1, 2]) expect(server.stderr).toMatch(new RegExp(`^\\[${number}\\] I am here$`, "m"));
  expect(readdirSync(traces)).toHaveLength(2);
});

test("an agent that cannot be started is the client's error; the next client is served all the same", async () => {
  const server = await serveForTest(["tcp:127.0.0.1:0"], ["/no/such/agent"]);
  for (let times = 0; times < 2; times++) {
    const client = tcpClient(server.port("tcp"));
    expect(await client.request("initialize", HELLO)).toMatchObject({
      error: { message: expect.stringContaining("could not be started") },
    });
    await client.ended();
  }
});

test("an ordinary run, without a socket anywhere, loads no WebSocket library", async () => {
  const listing = `process.on("exit", () => { for (const name of ["ws"]) if (Object.keys(require.cache).some((file) => file.includes("/node_modules/" + name + "/"))) console.error("LOADED", name); })`;
  const loader = file("listing.cjs", listing);
  const ending = await runProgram([process.execPath, "--require", loader, CLI, "--", ...peer("raw-agent.mjs", "{}")]);
  expect(ending.stderr).not.toContain("LOADED");
});
