// One agent in its place: a home and a working directory of its own, the stand-in model, and acp-shift round it.
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { asObject, isObject, type JsonObject } from "../../src/protocol/json.ts";
import { type BridgeProcess, type BridgeSetup, type Recorded, startBridge } from "../support/bridge-process.ts";
import { HELLO, type Turn, turn } from "../support/conversation.ts";
import { commandOf, processesWith } from "../support/processes.ts";
import { validateFrame } from "../support/schema.ts";
import { parsed, type Tapped } from "../support/tap.ts";
import { install, ROOT } from "./install.ts";
import { type Model, startModel } from "./model/server.ts";
import { FILES } from "./model/tool-arguments.ts";
import type { Agent, Place } from "./registry.ts";

/** How long anything may take before it counts as failed, in ms: an agent on a busy machine is slow to start. */
const PATIENCE = 120_000;

/** The variable that marks every process of a connection. */
const MARK = "AGENT_TEST_RUN";

/** Refuses connections: an agent that wants to talk to anyone but the model gets nowhere. */
const DEAD_PROXY = "http://127.0.0.1:9";

export interface Session {
  id: string;
  /** The result that opened it. */
  result: JsonObject;
}

/** What the person at the client does when the agent asks for permission; `wait` leaves the question open. */
export type Answer = "allow_once" | "reject_once" | "wait";

/** acp-shift round the agent, from its start to its end. */
export interface Connection {
  bridge: BridgeProcess;
  /** Marks every process that descends from it, in {@link MARK}. */
  mark: string;
  /** The `initialize` result. */
  hello: JsonObject;
  /** What the agent asked permission for. */
  permissions: JsonObject[];
  /** How it is answered. */
  answer: Answer;
}

export interface Stage {
  readonly agent: Agent;
  readonly model: Model;
  readonly place: Place;
  readonly home: string;
  /** Frames of the agent that its version of the protocol does not allow, each kind once. */
  readonly violations: Set<string>;
  /**
   * Starts acp-shift with the agent, and initializes.
   * @param setup differences from translation to a v1 agent
   */
  connect(setup?: Connecting): Promise<Connection>;
  /** Waits until no process that descends from the connection is left. */
  nothingLeft(connection: Connection): Promise<void>;
  /** The client leaves: acp-shift ends, nothing is left, and every frame it wrote was valid. */
  leave(connection: Connection): Promise<void>;
  /** Ends a connection by force. */
  drop(connection: Connection): Promise<void>;
  /** Ends everything, and removes the directories. */
  strike(): Promise<void>;
}

export interface Connecting extends BridgeSetup {
  /** The params of `initialize`. */
  hello?: JsonObject;
}

/** Installs the agent if need be, and sets the stage for it. */
export async function setStage(agent: Agent): Promise<Stage> {
  const { program, path } = install(agent);
  // Not among temporary files: Codex makes no sandbox for a home there.
  const root = realpathSync(mkdtempSync(join(ROOT, `.run-${agent.name}-`)));
  const [home, work] = [join(root, "home"), join(root, "work")];
  for (const directory of [home, work]) mkdirSync(directory);
  writeFileSync(join(work, FILES.read.name), FILES.read.text);
  const model = await startModel({ directory: work, ...(agent.byShell && { byShell: agent.byShell }) });
  const place: Place = { model: model.url, work, program };
  for (const [file, content] of Object.entries(agent.files(place))) {
    mkdirSync(dirname(join(home, file)), { recursive: true });
    writeFileSync(join(home, file), isObject(content) ? JSON.stringify(content, null, 2) : content);
  }
  const env = environment(agent, place, home, path);
  const [command, ...args] = agent.command;
  const violations = new Set<string>();
  const connections = new Set<Connection>();

  const stage: Stage = {
    agent,
    model,
    place,
    home,
    violations,
    async connect({ hello = HELLO, options = [], ...setup } = {}) {
      const kept = [
        "--state-dir",
        join(root, "state"),
        "--log-file",
        join(root, "acp-shift.log"),
        "--log-level",
        "debug",
      ];
      const mark = randomUUID();
      const bridge = startBridge([program(command), ...args], {
        deadline: PATIENCE,
        env: { ...env, [MARK]: mark },
        options: [...kept, ...options],
        ...setup,
      });
      const connection: Connection = { bridge, mark, hello: {}, permissions: [], answer: "allow_once" };
      connections.add(connection);
      bridge.onRequest("session/request_permission", (params) => {
        connection.permissions.push(params);
        return chosen(params, connection.answer);
      });
      connection.hello = await bridge.call("initialize", hello);
      return connection;
    },
    async nothingLeft({ bridge, mark }) {
      const left = () => processesWith(MARK, mark);
      const ended = bridge.until("end of every process", () => left().length === 0 || undefined);
      await ended.catch((error: unknown) => {
        throw new Error(`left behind: ${left().map(({ pid }) => commandOf(pid))}`, { cause: error });
      });
    },
    async leave(connection) {
      connection.bridge.leave();
      await connection.bridge.exited();
      await stage.nothingLeft(connection);
      await endOf(connection);
    },
    async drop(connection) {
      for (const { pid } of processesWith(MARK, connection.mark)) process.kill(pid, "SIGKILL");
      await endOf(connection);
    },
    async strike() {
      try {
        for (const connection of [...connections]) await stage.drop(connection);
      } finally {
        await model.close();
        rmSync(root, { recursive: true, force: true, maxRetries: 5 });
      }
    },
  };

  async function endOf(connection: Connection): Promise<void> {
    connections.delete(connection);
    for (const violation of violationsIn(connection.bridge.agentSide())) violations.add(violation);
    await connection.bridge.end();
  }

  return stage;
}

function environment(agent: Agent, place: Place, home: string, path: string): Record<string, string> {
  const proxied = agent.proxy ?? true;
  return {
    PATH: path,
    HOME: home,
    XDG_CONFIG_HOME: join(home, ".config"),
    XDG_DATA_HOME: join(home, ".local", "share"),
    XDG_CACHE_HOME: join(home, ".cache"),
    XDG_STATE_HOME: join(home, ".local", "state"),
    LANG: "C.UTF-8",
    TERM: "dumb",
    CI: "1",
    DO_NOT_TRACK: "1",
    NO_PROXY: "127.0.0.1,localhost",
    no_proxy: "127.0.0.1,localhost",
    ...(proxied && { HTTPS_PROXY: DEAD_PROXY, https_proxy: DEAD_PROXY }),
    ...agent.environment(place),
  };
}

function chosen(params: JsonObject, answer: Answer): JsonObject | undefined {
  if (answer === "wait") return undefined;
  const options = (params["options"] as JsonObject[]) ?? [];
  const option = options.find(({ kind }) => kind === answer);
  if (option === undefined) throw new Error(`no option to ${answer} in ${JSON.stringify(options)}`);
  return { outcome: { outcome: "selected", optionId: option["optionId"] } };
}

/** Opens a session in the stage's working directory. */
export async function openSession({ place }: Stage, { bridge }: Connection): Promise<Session> {
  const result = await bridge.call("session/new", { cwd: place.work });
  return { id: String(result["sessionId"]), result };
}

/** A whole turn. */
export function say({ bridge }: Connection, session: Session, prompt: string): Promise<Turn> {
  return turn(bridge, session.id, prompt);
}

/** Frames to the client since a position of the record. */
export function framesFrom({ bridge }: Connection, position: number): JsonObject[] {
  return bridge.frames.slice(position).flatMap(({ from, frame }: Recorded) => (from === "bridge" ? [frame] : []));
}

/** What the agent sent that version 1 does not allow, in words that do not depend on the run. */
function violationsIn({ lines }: Tapped): string[] {
  const asked = new Map<unknown, string>();
  return lines.flatMap(({ to, text }) => {
    const frame = asObject(parsed(text));
    const method = "method" in frame ? String(frame["method"]) : asked.get(frame["id"]);
    if (to === "agent") {
      if ("method" in frame && "id" in frame) asked.set(frame["id"], String(frame["method"]));
      return [];
    }
    const fault = validateFrame("v1", "client", frame, method);
    if (fault === undefined) return [];
    const update = asObject(asObject(frame["params"])["update"])["sessionUpdate"];
    return [`${update ?? method ?? "a line"}: ${fault.replace(/\/\d+\//g, "/n/")}`];
  });
}
