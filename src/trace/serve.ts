/** A server for one trace: the page, and the records as they are read. For this machine and this token only. */
import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { UsageError } from "../config/usage-error.ts";
import type { TraceRecord } from "./format.ts";
import { type Page, readPage } from "./page.ts";
import { NothingRecorded, type Problem, readTrace } from "./read.ts";

export interface ServeOptions {
  /** The parts of one run. */
  files: readonly string[];
  /** Go on as the file grows, until the run ends. */
  live: boolean;
  /** 0 for any that is free. */
  port: number;
  report(problem: Problem): void;
}

export interface TraceServer {
  /** Where the page is, token included. */
  readonly url: string;
  close(): Promise<void>;
}

const HEADERS = {
  "cache-control": "no-store",
  // The page has the rest of its policy in itself.
  "content-security-policy": "frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/**
 * Serves the page at `/TOKEN/` and, as server-sent events, the records at `/TOKEN/events`, on the loopback interface.
 * Whoever has not the token, or comes by another name than the machine's own (DNS rebinding), gets 403.
 *
 * @throws UsageError when the port cannot be had or a file is no trace
 */
export async function serveTrace(options: ServeOptions): Promise<TraceServer> {
  await checkReadable(options);
  const page = readPage();
  const token = randomBytes(24).toString("base64url");
  const closed = new AbortController();
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    const { port } = server.address() as AddressInfo;
    const [target = ""] = (request.url ?? "").split("?");
    const [, given = "", ...rest] = target.split("/");
    if (!isOwnName(request.headers.host, port) || !isSame(given, token)) return refuse(response, 403);
    if (request.method !== "GET") return refuse(response, 405);
    const path = rest.join("/");
    if (path === "" && rest.length === 1) return sendPage(response, page);
    if (path === "events") return sendRecords(response, options, closed.signal);
    return refuse(response, 404);
  }

  await listen(server, options.port);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/${token}/`,
    async close() {
      closed.abort();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** A run that is followed may have nothing on record yet. */
async function checkReadable({ files, report, live }: ServeOptions): Promise<void> {
  const records = readTrace(files, { report });
  try {
    await records.next();
  } catch (error) {
    if (!live || !(error instanceof NothingRecorded)) throw error;
  }
  await records.return(undefined);
}

/** @throws UsageError when the port is taken or not allowed */
async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (error) {
    throw new UsageError(`--port ${port}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function isOwnName(host: string | undefined, port: number): boolean {
  return host === `127.0.0.1:${port}` || host === `localhost:${port}`;
}

function isSame(given: string, token: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function refuse(response: ServerResponse, status: number): void {
  response.writeHead(status, { "content-type": "text/plain" }).end(`${status}\n`);
}

function sendPage(response: ServerResponse, { head, tail }: Page): void {
  response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(head + tail);
}

/** So much is sent as one event, in characters, unless it is all there is for the moment. */
const EVENT = 256 * 1024;
/** How long a record waits for others to go with it, in ms. */
const PATIENCE = 20;

/** Events: records, one a line; `ready` when more may come later; `end` after the last; `fault` when reading failed. */
async function sendRecords(response: ServerResponse, options: ServeOptions, closed: AbortSignal): Promise<void> {
  const left = new AbortController();
  response.on("close", () => left.abort());
  const gone = AbortSignal.any([closed, left.signal]);
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  const send = async (event: string, lines: readonly string[]): Promise<void> => {
    const text = `event: ${event}\n${lines.map((line) => `data: ${line}\n`).join("")}\n`;
    if (!response.write(text)) await once(response, "drain", { signal: gone });
  };
  const { files, report, live } = options;
  try {
    if (live) await send("ready", [""]);
    const records = readTrace(files, { report, ...(live && { follow: gone }) });
    for await (const lines of gathered(records)) await send("message", lines);
    await send("end", [""]);
  } catch (error) {
    if (gone.aborted) return;
    await send("fault", [error instanceof Error ? error.message : String(error)]);
  }
  response.end();
}

/** The records as lines, as many at a time as there are. */
async function* gathered(records: AsyncGenerator<TraceRecord>): AsyncGenerator<string[]> {
  let lines: string[] = [];
  let size = 0;
  let patience: Promise<undefined> | undefined;
  const read = () => {
    const next = records.next();
    // What it fails with is told where it is waited for, which may be later.
    next.catch(() => {});
    return next;
  };
  let next = read();
  try {
    for (;;) {
      const taken = await (patience === undefined ? next : Promise.race([next, patience]));
      if (taken?.done) break;
      if (taken !== undefined) {
        const line = JSON.stringify(taken.value);
        lines.push(line);
        size += line.length;
        next = read();
        patience ??= sleep(PATIENCE, undefined);
        if (size < EVENT) continue;
      }
      yield lines;
      lines = [];
      size = 0;
      patience = undefined;
    }
    if (lines.length > 0) yield lines;
  } finally {
    await records.return(undefined);
  }
}
