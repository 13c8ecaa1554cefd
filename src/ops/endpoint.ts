import { createServer, type IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { UsageError } from "../config/usage-error.ts";
import type { Meter } from "./meter.ts";

/** Where probes and scrapers are answered: an address to listen on, without a path. */
export interface Address {
  host: string;
  port: number;
}

export interface EndpointOptions {
  address: Address;
  meter: Pick<Meter, "text" | "contentType">;
  /** Whether somebody with this `Authorization` header gets `/metrics`; undefined: anybody, on loopback only. */
  mayScrape: ((authorization: string | undefined) => boolean) | undefined;
  /** Why no client is let in now; undefined when one is. */
  closedTo(): string | undefined;
}

export interface Endpoint {
  /** Where it listens. */
  readonly url: string;
  close(): Promise<void>;
}

/** More than scrapers and probes need. */
const MOST_CONNECTIONS = 64;
/** How long a request may take to arrive, in ms. */
const REQUEST_LIMIT = 5000;
const MOST_HEADER_BYTES = 8 * 1024;

/**
 * The address in the value of `--ops`.
 *
 * @throws UsageError when it is not `http://HOST:PORT`
 */
export function parseAddress(text: string): Address {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isBare = url?.pathname === "/" && url.search === "" && url.hash === "" && url.username === "";
  if (url?.protocol !== "http:" || !isBare)
    throw new UsageError(
      `--ops: expected http://HOST:PORT, such as http://127.0.0.1:9464, found ${JSON.stringify(text)}`,
    );
  return { host: url.hostname.replace(/^\[|\]$/g, ""), port: url.port === "" ? 80 : Number(url.port) };
}

/**
 * Answers `/healthz`, `/readyz` and `/metrics` (docs/operations.md).
 *
 * @throws UsageError when the address cannot be listened on
 */
export async function openEndpoint(options: EndpointOptions): Promise<Endpoint> {
  const { address } = options;
  const server = createServer(
    {
      maxHeaderSize: MOST_HEADER_BYTES,
      requestTimeout: REQUEST_LIMIT,
      headersTimeout: REQUEST_LIMIT,
      connectionsCheckingInterval: REQUEST_LIMIT,
    },
    async (request, response) => {
      const { status, text, headers } = await answer(request, options).catch(failed);
      response.writeHead(status, {
        "content-type": "text/plain; charset=utf-8",
        "cache-control": "no-store",
        ...headers,
      });
      response.end(request.method === "HEAD" ? undefined : text);
    },
  );
  server.maxConnections = MOST_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(new UsageError(`--ops: cannot listen on ${written(address)}: ${error.code ?? error.message}`)),
    );
    server.listen(address.port, address.host, resolve);
  });
  server.on("error", () => {});
  // Being looked at is no reason to stay.
  server.unref();
  const bound = server.address();
  const port = typeof bound === "object" && bound !== null ? bound.port : address.port;
  return {
    url: `http://${written({ host: address.host, port })}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Answer {
  status: number;
  text: string;
  headers?: Record<string, string>;
}

async function answer(request: IncomingMessage, options: EndpointOptions): Promise<Answer> {
  if (request.method !== "GET" && request.method !== "HEAD")
    return { status: 405, text: "only GET and HEAD\n", headers: { allow: "GET, HEAD" } };
  const onLoopback = isLoopback(options.address.host);
  // A page in a browser on this machine reaches loopback by a name of its own.
  if (onLoopback && !isLoopback(hostOf(request.headers.host ?? "")))
    return { status: 403, text: "this is not the host asked for\n" };
  switch (request.url?.split("?")[0]) {
    case "/healthz":
      return { status: 200, text: "ok\n" };
    case "/readyz": {
      const reason = options.closedTo();
      return reason === undefined ? { status: 200, text: "ready\n" } : { status: 503, text: `${reason}\n` };
    }
    case "/metrics":
      if (options.mayScrape === undefined && !onLoopback)
        return { status: 403, text: "beyond loopback, metrics need --ops-token-file\n" };
      if (options.mayScrape?.(request.headers.authorization) === false)
        return { status: 401, text: "the token is missing or wrong\n", headers: { "www-authenticate": "Bearer" } };
      return { status: 200, text: await options.meter.text(), headers: { "content-type": options.meter.contentType } };
    default:
      return { status: 404, text: "/healthz, /readyz, /metrics\n" };
  }
}

function failed(error: unknown): Answer {
  return { status: 500, text: `${error instanceof Error ? error.message : String(error)}\n` };
}

/** True for addresses and names that only this machine reaches. */
function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

function hostOf(header: string): string {
  const url = `http://${header}`;
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, "") : "";
}

function written({ host, port }: Address): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}
