import type { ServerResponse } from "node:http";
import { Duplex } from "node:stream";
import { isObject, type JsonObject } from "../protocol/json.ts";
import { createLineSplitter } from "../transport/lines.ts";

/**
 * One connection over Streamable HTTP: the client's messages come as POST requests, ours go out as server-sent events on
 * the connection's stream or on the stream of the session they belong to. To the bridge it is one stream of lines.
 */
export interface HttpConnection {
  /** The lines of the client, and what is written to it. */
  readonly stream: Duplex;
  /** Takes a message of the client's, written on one line. Resolves once the bridge has room for more. */
  take(line: Buffer, message: JsonObject): Promise<void>;
  /** Opens the stream of a session, or the connection's own, on a response. False when it is open already. */
  open(sessionId: string | undefined, response: ServerResponse): boolean;
  /** How many streams there are. */
  readonly streams: number;
  /** True once the client has gone, or the bridge. */
  readonly over: boolean;
  /** The client has gone for good. */
  leave(): void;
}

export interface HttpConnectionOptions {
  /** Gets the answer to `initialize`, which has this id. */
  initialize: { id: unknown; answer(line: Buffer): void };
  /** How long the client may have no stream open before it counts as gone, in ms. */
  patience: number;
}

/** Messages that wait for their stream, as events. */
interface Mailbox {
  waiting: Buffer[];
  response: ServerResponse | undefined;
}

/** How much may wait for a client that is slow, or has a stream still to open, before the agent is held up; in bytes. */
const BACKLOG = 1024 * 1024;

/** How often something is said on a silent stream, so that a client that is gone is found out; in ms. */
const KEEP_ALIVE = 15_000;

const EVENT_HEAD = Buffer.from("data: ");
const EVENT_END = Buffer.from("\n\n");

/** An HTTP connection that waits for its first message, `initialize`. */
export function createHttpConnection({ initialize, patience }: HttpConnectionOptions): HttpConnection {
  const splitter = createLineSplitter(Number.MAX_SAFE_INTEGER);
  const mailboxes = new Map<string | undefined, Mailbox>();
  /** Whose stream the answer to a request of the client's goes to, by the request's id. */
  const routes = new Map<unknown, string | undefined>();
  let initialized = false;
  let left = false;
  let backlog = 0;
  /** True once nothing more will be written. */
  let ended = false;
  let onDelivered: (() => void) | undefined;
  let onRoom: (() => void) | undefined;
  const onWanted: (() => void)[] = [];
  let absence: NodeJS.Timeout | undefined;

  const stream = new Duplex({
    read() {
      for (const resume of onWanted.splice(0)) resume();
    },
    write(chunk: Buffer, _encoding, done) {
      for (const line of splitter.push(chunk)) if ("bytes" in line) route(line.bytes);
      if (backlog < BACKLOG) done();
      else onRoom = done;
    },
    final(done) {
      ended = true;
      onDelivered = done;
      for (const mailbox of mailboxes.values()) pump(mailbox);
      endIfDelivered();
    },
    destroy(error, done) {
      clearTimeout(absence);
      clearInterval(keepAlive);
      for (const { response } of mailboxes.values()) if (response?.writableEnded === false) response.destroy();
      mailboxes.clear();
      for (const resume of onWanted.splice(0)) resume();
      done(error);
    },
  });

  const keepAlive = setInterval(() => {
    for (const { response } of mailboxes.values()) if (response?.writableNeedDrain === false) response.write(":\n\n");
  }, KEEP_ALIVE).unref();

  /** Sends a line the way the transport draft has it: an answer where its request belongs, all else by its session. */
  function route(line: Buffer): void {
    const frame: unknown = JSON.parse(line.toString());
    if (!isObject(frame)) return;
    if (typeof frame["method"] === "string") return deliver(sessionIn(frame["params"]), line);
    const { id } = frame;
    if (!initialized && id === initialize.id) {
      initialized = true;
      awaitReturn();
      // The bytes are the writer's again once the write is done; the response may take longer.
      return initialize.answer(Buffer.from(line));
    }
    const session = routes.get(id);
    routes.delete(id);
    deliver(session, line);
  }

  function deliver(session: string | undefined, line: Buffer): void {
    const mailbox = mailboxOf(session);
    // A lone carriage return, which JSON may have between tokens, would end the line of the event.
    const data = line.includes(0x0d) ? Buffer.from(line.toString().replaceAll("\r", " ")) : line;
    mailbox.waiting.push(Buffer.concat([EVENT_HEAD, data, EVENT_END]));
    backlog += data.length;
    pump(mailbox);
  }

  function mailboxOf(session: string | undefined): Mailbox {
    const mailbox = mailboxes.get(session) ?? { waiting: [], response: undefined };
    mailboxes.set(session, mailbox);
    return mailbox;
  }

  function pump(mailbox: Mailbox): void {
    const { response, waiting } = mailbox;
    if (response === undefined) return;
    let taken = 0;
    while (taken < waiting.length && !response.writableNeedDrain) {
      const event = waiting[taken++] as Buffer;
      backlog -= event.length - EVENT_HEAD.length - EVENT_END.length;
      response.write(event);
    }
    waiting.splice(0, taken);
    if (backlog < BACKLOG) {
      const done = onRoom;
      onRoom = undefined;
      done?.();
    }
    if (!ended || waiting.length > 0) return;
    response.end();
    endIfDelivered();
  }

  /** Whoever has left will not come for what is still there. */
  function endIfDelivered(): void {
    if (backlog > 0 && !left) return;
    const done = onDelivered;
    onDelivered = undefined;
    done?.();
  }

  /** A client without any stream has lost its connection, or was never there. */
  function awaitReturn(): void {
    clearTimeout(absence);
    const isThere = [...mailboxes.values()].some(({ response }) => response !== undefined);
    if (!isThere && initialized) absence = setTimeout(leave, patience).unref();
  }

  function leave(): void {
    clearTimeout(absence);
    if (!left && !stream.destroyed) stream.push(null);
    left = true;
  }

  return {
    stream,
    async take(line, message) {
      const { id } = message;
      const isRequest = typeof message["method"] === "string" && id !== undefined;
      // The stream of a session that is still to be loaded need not be open yet.
      if (isRequest && message["method"] !== "session/load") routes.set(id, sessionIn(message["params"]));
      if (!stream.push(line)) await new Promise<void>((resolve) => onWanted.push(resolve));
    },
    open(session, response) {
      const mailbox = mailboxOf(session);
      if (mailbox.response !== undefined) return false;
      mailbox.response = response;
      clearTimeout(absence);
      response.on("drain", () => pump(mailbox));
      response.on("error", () => {});
      response.on("close", () => {
        mailbox.response = undefined;
        if (mailbox.waiting.length === 0) mailboxes.delete(session);
        awaitReturn();
      });
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
      response.flushHeaders();
      pump(mailbox);
      return true;
    },
    get over() {
      return left || stream.destroyed;
    },
    get streams() {
      return mailboxes.size;
    },
    leave,
  };
}

/** The session a message is about. */
export function sessionIn(params: unknown): string | undefined {
  const id = isObject(params) ? params["sessionId"] : undefined;
  return typeof id === "string" ? id : undefined;
}
