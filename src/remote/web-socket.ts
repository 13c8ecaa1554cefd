import { Duplex } from "node:stream";
import type { RawData, WebSocket } from "ws";
import { createLineSplitter } from "../transport/lines.ts";
import { asLine } from "./line.ts";

/** How often a peer has to show that it is still there, in ms. */
const PING_EVERY = 30_000;

/** How long it may take to show that when somebody doubts it, in ms. */
const ANSWER_WITHIN = 5000;

/**
 * A WebSocket as a stream of lines: each text message is a line, and each line a text message, byte for byte. Reading
 * slowly slows the peer down; a line counts as written once the system has taken it. The end of the stream closes the
 * socket; a peer that does not answer pings any more is gone. Before the end the stream's `goodbye` tells of one that the
 * peer meant (code 1000). Its `doubt`, emitted from outside, has the peer show within seconds that it is there.
 *
 * @param socket may still be connecting: what is written waits, and like a network socket's the stream's `connect` tells when
 *   it stands
 */
export function webSocketLines(socket: WebSocket): Duplex {
  const splitter = createLineSplitter(Number.MAX_SAFE_INTEGER);
  const opened = new Promise<void>((resolve) => {
    if (socket.readyState === socket.CONNECTING) socket.once("open", resolve);
    else resolve();
  });

  function send(chunk: Buffer, done: (error?: Error | null) => void): void {
    const lines = splitter.push(chunk).flatMap((line) => ("bytes" in line ? [line.bytes] : []));
    const last = lines.pop();
    if (last === undefined) return done();
    for (const line of lines) socket.send(line, { binary: false });
    socket.send(last, { binary: false }, done);
  }

  const stream = new Duplex({
    read: () => socket.resume(),
    write(chunk: Buffer, _encoding, done) {
      if (socket.readyState === socket.CONNECTING) void opened.then(() => send(chunk, done));
      else send(chunk, done);
    },
    final(done) {
      socket.close(1000);
      done();
    },
    destroy(error, done) {
      clearInterval(pings);
      socket.terminate();
      done(error);
    },
  });

  socket.once("open", () => stream.emit("connect"));
  // While we read nothing we hear no answer either.
  const isListening = () => !socket.isPaused && socket.readyState === socket.OPEN;
  const giveUp = () => void stream.destroy(new Error("the other end does not answer any more"));
  let answered = true;
  const pings = setInterval(() => {
    if (!isListening()) return;
    if (!answered) return giveUp();
    answered = false;
    socket.ping();
  }, PING_EVERY).unref();
  socket.on("pong", () => {
    answered = true;
  });
  stream.on("doubt", () => {
    if (!isListening()) return;
    const limit = setTimeout(() => isListening() && giveUp(), ANSWER_WITHIN).unref();
    socket.once("pong", () => clearTimeout(limit));
    socket.ping();
  });
  socket.on("message", (data: RawData, isBinary: boolean) => {
    if (isBinary) return socket.close(1003, "expected text messages");
    if (!stream.push(asLine(data as Buffer))) socket.pause();
  });
  // An error is always followed by the end, before which the peer gets to hear of it.
  let fault: Error | undefined;
  socket.on("error", (error) => {
    fault ??= error;
  });
  socket.on("close", (code) => {
    clearInterval(pings);
    if (code === 1000) stream.emit("goodbye");
    if (fault !== undefined) stream.destroy(fault);
    else if (!stream.destroyed) stream.push(null);
  });
  return stream;
}
