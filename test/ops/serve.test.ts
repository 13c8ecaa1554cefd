// Guards docs/operations.md where many clients are served: connections, refusals and agents are counted, /readyz says whether
// one more is taken, the log names connection and session, and SIGTERM drains.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { sampleOf } from "../support/exposition.ts";
import { scrape } from "../support/operations.ts";
import { rawAgent, says } from "../support/raw-agent.ts";
import { type Service, serviceForTest, tellsState, until } from "../support/serving.ts";

const ASKS = {
  send: {
    jsonrpc: "2.0",
    id: "p",
    method: "session/request_permission",
    params: {
      sessionId: "s1",
      toolCall: { toolCallId: "t", title: "Do" },
      options: [{ optionId: "y", name: "Yes", kind: "allow_once" }],
    },
  },
};

/** Works until it is allowed to end, and says no more of a second prompt. */
const WORKS = rawAgent({
  "session/prompt": [[says("…"), ASKS], [{ result: { stopReason: "refusal" } }]],
  answer: [{ result: { stopReason: "end_turn" }, of: "session/prompt" }],
});
const ALLOWED = { outcome: { outcome: "selected", optionId: "y" } };

async function ready(service: Service): Promise<string> {
  const response = await fetch(`${service.ops}/readyz`);
  return `${response.status} ${(await response.text()).trim()}`;
}

test("connections, sessions and agents are counted, and /readyz says when there is no place", async () => {
  const dies = rawAgent({ "session/prompt": [says("…"), { kill: "SIGKILL" }] });
  const service = await serviceForTest(dies, "--max-connections", "2");
  const count = async (name: string, labels: Record<string, string> = {}) =>
    sampleOf(await scrape(service.ops), `acp_shift_${name}`, labels);
  expect(await ready(service)).toBe("200 ready");
  const one = service.connect();
  const sessionId = await one.open();
  const other = service.connect();
  await other.open();
  expect(await ready(service)).toBe("503 as many connections as --max-connections allows");
  expect(await service.connect().request("initialize", { protocolVersion: 2 })).toMatchObject({
    error: { code: -32603 },
  });
  expect(await count("connections")).toBe(2);
  expect(await count("sessions")).toBe(2);
  expect(await count("agent_starts_total")).toBe(2);
  expect(await count("connections_refused_total", { reason: "max-connections" })).toBe(1);

  other.leave();
  await until(async () => (await ready(service)) === "200 ready");
  const stranger = service.connect();
  stranger.send({ id: 1, method: "session/new", params: {} });
  await until(() => stranger.closed);
  await one.prompt(sessionId);
  await until(() => one.closed);
  await until(async () => (await count("connections")) === 0);
  expect(await count("connections_total")).toBe(2);
  expect(await count("connections_refused_total", { reason: "other" })).toBe(1);
  expect(await count("sessions")).toBe(0);
  expect(await count("turns_running")).toBe(0);
  expect(await count("turns_total", { stop_reason: "error" })).toBe(1);
  expect(await count("agent_exits_total", { status: "0" })).toBe(1);
  expect(await count("agent_exits_total", { status: "SIGKILL" })).toBe(1);
});

test("an agent that cannot be started is counted as such", async () => {
  const service = await serviceForTest(["/nowhere/agent"]);
  const answer = await service.connect().request("initialize", { protocolVersion: 2, capabilities: {} });
  expect(answer).toHaveProperty("error");
  const families = await scrape(service.ops);
  expect(sampleOf(families, "acp_shift_agent_exits_total", { status: "not_started" })).toBe(1);
});

test("refusals over the web are counted by the option they are due to, for who has the scrapers' token", async () => {
  const directory = mkdtempSync(join(tmpdir(), "acp-shift-token-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, "token");
  const token = "0123456789abcdef0123456789abcdef";
  writeFileSync(file, token, { mode: 0o600 });
  const scraperFile = join(directory, "scraper");
  writeFileSync(scraperFile, "for-scrapers-only\n", { mode: 0o600 });
  const service = await serviceForTest(
    WORKS,
    ...["--listen", "ws://127.0.0.1:0", "--token-file", file, "--ops-token-file", scraperFile],
  );
  expect((await fetch(`${service.ops}/metrics`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(401);
  const url = new URL(service.addresses.find((address) => address.startsWith("ws:"))?.replace("ws:", "http:") ?? "");
  const ask = (headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      request(url, { method: "POST", headers }, (response) => resolve(response.resume().statusCode))
        .on("error", reject)
        .end("{}");
    });
  expect(await ask({})).toBe(401);
  expect(await ask({ host: "elsewhere.example" })).toBe(403);
  expect(await ask({ origin: "https://elsewhere.example", authorization: `Bearer ${token}` })).toBe(403);
  const families = await scrape(service.ops, "for-scrapers-only");
  const samples = families.get("acp_shift_connections_refused_total")?.samples ?? [];
  expect(Object.fromEntries(samples.map(({ labels, value }) => [labels["reason"], value]))).toEqual({
    "token-file": 1,
    "allow-host": 1,
    "allow-origin": 1,
  });
});

test("the log names the connection, and the session where there is one", async () => {
  const service = await serviceForTest(WORKS);
  for (const number of [1, 2]) {
    const client = service.connect();
    const sessionId = await client.open();
    await client.prompt(sessionId);
    void client.prompt(sessionId).catch(() => {});
    await until(() =>
      service.log.some(
        (record) =>
          record["event"] === "prompt-held" && record["connection"] === number && record["sessionId"] === sessionId,
      ),
    );
  }
  const without = service.log.filter((record) => !("connection" in record)).map(({ event }) => event);
  expect([...new Set(without)].sort()).toEqual(["listening", "ops-listening"]);
});

describe("SIGTERM", () => {
  test("ends what is idle at once, lets what runs and what waits finish, and takes nobody in", async () => {
    const service = await serviceForTest(WORKS, "--drain", "10m");
    const [idle, working] = [service.connect(), service.connect()];
    await idle.open();
    const sessionId = await working.open();
    await working.prompt(sessionId);
    const asked = await working.next((frame) => frame["method"] === "session/request_permission");
    const held = working.prompt(sessionId);
    await until(() => service.log.some(({ event }) => event === "prompt-held"));
    service.signal("SIGTERM");
    await until(() => idle.closed);
    expect(await ready(service)).toBe("503 draining");
    const late = await service.connect().request("initialize", { protocolVersion: 2 });
    expect(late).toMatchObject({ error: { message: expect.stringContaining("no more connections") } });
    expect(working.closed).toBe(false);
    working.send({ id: asked["id"], result: ALLOWED });
    expect(await held).toHaveProperty("result");
    expect(await service.ended()).toBe(143);
    await until(() => working.closed);
    expect(working.frames.filter(tellsState("idle")).map(stopReason)).toEqual(["end_turn", "refusal"]);
    expect(service.log.some(({ event }) => event === "drain-limit")).toBe(false);
  });

  test("ends what still runs when the time is up", async () => {
    const service = await serviceForTest(WORKS, "--drain", "200ms");
    const client = service.connect();
    await client.prompt(await client.open());
    service.signal("SIGTERM");
    expect(await service.ended()).toBe(143);
    expect(service.log.find(({ event }) => event === "drain-limit")).toMatchObject({ connections: 1 });
  });

  test("a second signal ends what still runs", async () => {
    const service = await serviceForTest(WORKS, "--drain", "10m");
    const client = service.connect();
    await client.prompt(await client.open());
    service.signal("SIGTERM");
    await until(async () => (await ready(service)) === "503 draining");
    service.signal("SIGTERM");
    expect(await service.ended()).toBe(143);
  });

  test("ends a service without clients", async () => {
    const service = await serviceForTest(WORKS);
    service.signal("SIGTERM");
    expect(await service.ended()).toBe(143);
  });
});

function stopReason(frame: Record<string, unknown>): unknown {
  return (frame as { params: { update: { stopReason: unknown } } }).params.update.stopReason;
}
