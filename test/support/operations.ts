// What an operator's tools do with a running acp-shift: scrape it, probe it, collect its spans.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { asArray, asObject, type JsonObject } from "../../src/protocol/json.ts";
import { type Family, readExposition } from "./exposition.ts";

/** Options that make acp-shift listen for probes, and log where. */
export const OPS = ["--ops", "http://127.0.0.1:0", "--log-level", "info"];

/** Where it listens, by its log; undefined when it has not said so yet. */
export function opsUrl(log: string): string | undefined {
  return /"event":"ops-listening","url":"([^"]+)"/.exec(log)?.[1];
}

/** What `/metrics` says now. */
export async function scrape(url: string, token = ""): Promise<Map<string, Family>> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  if (response.status !== 200) throw new Error(`/metrics answered ${response.status}`);
  return readExposition(await response.text());
}

/** One span as a collector gets it, flattened. */
export interface CollectedSpan {
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  failed: boolean;
  attributes: Record<string, unknown>;
  resource: Record<string, unknown>;
}

export interface Collector {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** Everything it was sent, as it came. */
  readonly bodies: readonly string[];
}

/** A collector of OTLP over HTTP as JSON, for the length of the running test. `silent`: it takes requests and never answers. */
export async function collectorForTest({ silent = false } = {}): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    bodies.push(body);
    if (silent) return;
    if (request.url !== "/v1/traces" || request.headers["content-type"] !== "application/json") {
      response.writeHead(400).end();
      return;
    }
    spans.push(...spansIn(JSON.parse(body)));
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, bodies };
}

function spansIn(message: JsonObject): CollectedSpan[] {
  return asArray(message["resourceSpans"])
    .map(asObject)
    .flatMap(({ resource, scopeSpans }) =>
      asArray(scopeSpans)
        .map(asObject)
        .flatMap(({ spans }) => asArray(spans).map(asObject))
        .map((span) => ({
          name: String(span["name"]),
          traceId: String(span["traceId"]),
          spanId: String(span["spanId"]),
          parentSpanId: typeof span["parentSpanId"] === "string" ? span["parentSpanId"] : undefined,
          failed: asObject(span["status"])["code"] === 2,
          attributes: attributesIn(span["attributes"]),
          resource: attributesIn(asObject(resource)["attributes"]),
        })),
    );
}

function attributesIn(list: unknown): Record<string, unknown> {
  return Object.fromEntries(
    asArray(list)
      .map(asObject)
      .map(({ key, value }) => [String(key), Object.values(asObject(value))[0]]),
  );
}
