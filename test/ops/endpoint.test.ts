// Guards docs/operations.md, "Probes and metrics": who gets what, and what is asked of them.
import { request } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { type EndpointOptions, openEndpoint, parseAddress } from "../../src/ops/endpoint.ts";

const meter = { text: async () => "metrics\n", contentType: "text/plain; version=0.0.4" };

interface Asked {
  method?: string;
  path?: string;
  headers?: Record<string, string>;
}

/** Opens an endpoint and asks it, on loopback whatever it listens on. */
async function ask(options: Partial<EndpointOptions>, { method = "GET", path = "/metrics", headers = {} }: Asked) {
  const address = { host: "127.0.0.1", port: 0 };
  const endpoint = await openEndpoint({ address, meter, mayScrape: undefined, closedTo: () => undefined, ...options });
  onTestFinished(() => endpoint.close());
  const { port } = new URL(endpoint.url);
  return new Promise<{ status: number | undefined; text: string }>((resolve, reject) => {
    request({ host: "127.0.0.1", port, method, path, headers }, async (response) => {
      let text = "";
      for await (const chunk of response.setEncoding("utf8")) text += chunk;
      resolve({ status: response.statusCode, text });
    })
      .on("error", reject)
      .end();
  });
}

const everywhere = { address: { host: "0.0.0.0", port: 0 } };
const mayScrape = (authorization: string | undefined) => authorization === "Bearer s3cret";
const bearer = (value: string) => ({ headers: { authorization: `Bearer ${value}` } });

describe("an answer", () => {
  test.each<[string, Partial<EndpointOptions>, Asked, number, string?]>([
    ["metrics on loopback", {}, {}, 200, "metrics\n"],
    ["metrics with a query", {}, { path: "/metrics?x=1" }, 200, "metrics\n"],
    ["alive", {}, { path: "/healthz" }, 200, "ok\n"],
    ["ready", {}, { path: "/readyz" }, 200, "ready\n"],
    ["not ready", { closedTo: () => "draining" }, { path: "/readyz" }, 503, "draining\n"],
    ["alive though not ready", { closedTo: () => "draining" }, { path: "/healthz" }, 200],
    ["HEAD has no body", {}, { method: "HEAD" }, 200, ""],
    ["nothing is changed by it", {}, { method: "POST" }, 405],
    ["a scrape that fails", { meter: { ...meter, text: () => Promise.reject(new Error("no")) } }, {}, 500, "no\n"],
    ["nothing else is there", {}, { path: "/" }, 404],
    ["a page under a name of its own", {}, { headers: { host: "rebound.example:9464" } }, 403],
    ["by the usual names of loopback", {}, { headers: { host: "localhost:9464" } }, 200],
    ["IPv6 too", {}, { headers: { host: "[::1]:9464" } }, 200],
    ["beyond loopback metrics need a token", everywhere, {}, 403],
    ["beyond loopback probes do not", everywhere, { path: "/readyz", headers: { host: "10.0.0.1:9464" } }, 200],
    ["with the token", { ...everywhere, mayScrape }, bearer("s3cret"), 200, "metrics\n"],
    ["on loopback the token is asked for as well", { mayScrape }, {}, 401],
    ["a wrong token", { mayScrape }, bearer("s3cre7"), 401],
    ["probes need no token", { mayScrape }, { path: "/healthz" }, 200],
  ])("%s", async (_what, options, asked, status, text) => {
    const answer = await ask(options, asked);
    expect(answer.status).toBe(status);
    if (text !== undefined) expect(answer.text).toBe(text);
  });
});

test.each([
  ["http://127.0.0.1:9464", { host: "127.0.0.1", port: 9464 }],
  ["http://[::1]:9464/", { host: "::1", port: 9464 }],
  ["http://localhost", { host: "localhost", port: 80 }],
])("%s is an address", (text, address) => {
  expect(parseAddress(text)).toEqual(address);
});

test.each([
  "127.0.0.1:9464",
  "https://127.0.0.1:9464",
  "http://127.0.0.1:1/x",
  "http://u:p@127.0.0.1:1",
  "http://",
  "x",
])("%s is none", (text) => {
  expect(() => parseAddress(text)).toThrow("--ops: expected http://HOST:PORT");
});
