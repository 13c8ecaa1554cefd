// A v1 agent in the test's own hands: it is reached over a Unix socket, by `--connect`, and says what the test has it say.
import { createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import { reply, request, update } from "./dialogue.ts";
import { poll } from "./serve-process.ts";

/** The agent's end of one bridge. */
export interface SocketAgent {
  readonly sessionId: string;
  readonly frames: JsonObject[];
  say(frame: unknown): void;
  next(what: string, test: (frame: JsonObject) => boolean): Promise<JsonObject>;
  /** Waits until the bridge has dealt with all it has said, and said all it has to say. */
  sync(): Promise<unknown>;
  die(): void;
  readonly gone: boolean;
}

export interface AgentPart {
  /** What it says when a session is loaded. */
  history?: readonly object[];
  /** What it does with a frame it does not answer by itself. */
  play?(agent: SocketAgent, frame: JsonObject): void;
}

const OFFERS = { loadSession: true, sessionCapabilities: { list: {}, close: {} } };

/** Serves one at the end of each connection, in the order of the connections, for the length of the running test. */
export async function socketAgents(path: string, part: AgentPart = {}): Promise<SocketAgent[]> {
  const all: SocketAgent[] = [];
  const server = createServer((socket) => all.push(agentOn(socket, `s${all.length + 1}`, part)));
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return all;
}

function agentOn(socket: Socket, sessionId: string, { history = [], play = () => {} }: AgentPart): SocketAgent {
  const frames: JsonObject[] = [];
  let gone = false;
  let syncs = 0;
  const say = (frame: unknown) => void socket.write(`${JSON.stringify(frame)}\n`);
  const next: SocketAgent["next"] = (what, test) =>
    poll(what, () => frames.find(test), { account: () => JSON.stringify(frames), hopeless: () => gone, every: 5 });
  const agent: SocketAgent = {
    sessionId,
    frames,
    say,
    next,
    sync() {
      const id = `sync-${++syncs}`;
      // Files are not served, which it hears at once.
      say(request(id, "fs/read_text_file", { sessionId, path: "/work/a" }));
      return next("answer to the last", (frame) => frame["id"] === id);
    },
    die: () => void socket.destroy(),
    get gone() {
      return gone;
    },
  };
  socket.on("close", () => {
    gone = true;
  });
  socket.on("error", () => {});
  createInterface({ input: socket }).on("line", (line) => {
    const frame = asObject(JSON.parse(line));
    frames.push(frame);
    const { id, method } = frame;
    if (method === "initialize")
      say(reply(id, { protocolVersion: 1, agentInfo: { name: "a", version: "1" }, agentCapabilities: OFFERS }));
    else if (method === "session/new") say(reply(id, { sessionId }));
    else if (method === "session/load") {
      for (const said of history) say(update(sessionId, said));
      say(reply(id, {}));
    } else if (method === "session/list") say(reply(id, { sessions: [] }));
    else if (method === "session/close") say(reply(id, {}));
    else play(agent, frame);
  });
  return agent;
}
