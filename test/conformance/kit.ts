// The connections, sessions and turns that the rows of the conformance kit look at. Everything is made once, when the
// first row asks for it.
import { asArray, asObject, isObject, type JsonObject } from "../../src/protocol/json.ts";
import { type BridgeProcess, startBridge } from "../support/bridge-process.ts";
import {
  HELLO,
  initialize,
  newSession,
  stateOf,
  type Turn,
  text,
  turn,
  turnFrom,
  updateOf,
  updatesIn,
} from "../support/conversation.ts";

export type Tier = "MANDATORY" | "CAPABILITY" | "ADVISORY" | "INFORMATIONAL";

/** One row of the conformance kit. */
export interface Row {
  id: string;
  tier: Tier;
  /** A path in the `initialize` result, or `inferred:configOptions`, `inferred:authMethods`; undefined: none. */
  gate?: string;
  /** What is asserted; where it is not what the kit asks, why. */
  title: string;
  check(kit: Kit): Promise<void>;
}

/** A connection to acp-shift round the agent under test, initialized. */
export interface Connection {
  bridge: BridgeProcess;
  initialized: JsonObject;
}

/** A turn that was closed or cancelled while it ran. */
export interface Interrupted extends Turn {
  /** Where in the record it was interrupted. */
  at: number;
}

/** A `session/resume` as the client saw it. */
export interface Resumed {
  sessionId: string;
  response: JsonObject;
  /** The session's updates before the response, and those after it until the agent has answered another request. */
  before: JsonObject[];
  after: JsonObject[];
}

export interface Kit {
  /** The connection most rows share. Its client offers nothing. */
  main(): Promise<Connection>;
  /** A connection of a client that can run terminal logins. */
  terminalClient(): Promise<Connection>;
  /** A connection that asked for this version with params as version 2 has them. */
  asking(protocolVersion: number): Promise<Connection>;
  /** A connection whose client left in the middle of a turn; it has ended. */
  left(): Promise<Connection>;
  /** A turn in which the agent does everything it can but ask for permission. */
  everything(): Promise<Turn>;
  /** A turn with a permission that the client gives. */
  permission(): Promise<Turn>;
  /** A turn that `session/cancel` ends. */
  cancelled(): Promise<Interrupted>;
  /** A turn that `session/close` ends, and the answer to the close. */
  closed(): Promise<Interrupted & { close: JsonObject }>;
  /** The session of `everything`, resumed with its history. */
  replayed(): Promise<Resumed>;
  /** The session of `everything`, resumed without its history. */
  resumed(): Promise<Resumed>;
  /** A new session, and the whole result. */
  session(params?: JsonObject): Promise<{ sessionId: string; result: JsonObject }>;
  /** A turn in a new session. */
  turn(prompt: string | JsonObject[], extra?: JsonObject): Promise<Turn>;
  /** True when the agent under test offers what the row needs. */
  isOpen(gate: string | undefined): Promise<boolean>;
  end(): Promise<void>;
}

/** Words for the agent of the fixtures (sdk-agent-v1.mjs): all of its acts that end by themselves. */
const EVERYTHING =
  "#thought #text #plan #read #edit #two #terminal #usage #title #mode #config #commands #notice #more #host #vendor " +
  "#elicit #extension";

/** A kit for acp-shift round this agent. */
export function createKit(agent: readonly string[]): Kit {
  const bridges: BridgeProcess[] = [];

  async function connect(hello: JsonObject, clientVersion: "v1" | "v2" = "v2"): Promise<Connection> {
    const bridge = startBridge(agent, { clientVersion });
    for (const method of ["does/not/exist", "$/unknown", "vendor/question"]) bridge.invented.add(method);
    bridges.push(bridge);
    return { bridge, initialized: await initialize(bridge, hello) };
  }

  async function interrupt(
    bridge: BridgeProcess,
    prompt: string,
    stop: (sessionId: string) => Promise<unknown>,
  ): Promise<Interrupted> {
    const sessionId = await newSession(bridge);
    const from = bridge.frames.length;
    const response = await bridge.request("session/prompt", { sessionId, prompt: [text(prompt)] });
    const works = (frame: JsonObject) => updateOf(frame, sessionId)?.["sessionUpdate"] === "agent_message_chunk";
    await bridge.next("work", works, from);
    const at = bridge.frames.length;
    await stop(sessionId);
    return { ...(await turnFrom(bridge, sessionId, from, response)), at };
  }

  async function resume(extra: JsonObject): Promise<Resumed> {
    const { bridge } = await kit.main();
    const { sessionId } = await kit.everything();
    const from = bridge.frames.length;
    const response = await bridge.request("session/resume", { ...extra, sessionId, cwd: "/work" });
    const answered = bridge.frames.findIndex(({ frame }) => frame === response);
    // Whatever the agent still had to say comes before its answer to a later request.
    await bridge.call("_test/echo", {});
    const updates = (start: number, end: number) =>
      updatesIn(
        bridge.frames.slice(start, end).flatMap(({ from, frame }) => (from === "bridge" ? [frame] : [])),
        sessionId,
      );
    return {
      ...{ sessionId, response },
      before: updates(from, answered),
      after: updates(answered, bridge.frames.length),
    };
  }

  const versions = new Map<number, Promise<Connection>>();
  const kit: Kit = {
    main: once(async () => {
      const connection = await connect(HELLO);
      connection.bridge.onRequest("session/request_permission", () => ({
        outcome: { outcome: "selected", optionId: "yes" },
      }));
      for (const method of ["_test/question", "_vendor/question"]) connection.bridge.onRequest(method, () => ({}));
      return connection;
    }),
    terminalClient: once(() => connect({ ...HELLO, capabilities: { auth: { terminal: {} } } })),
    asking(protocolVersion) {
      const made =
        versions.get(protocolVersion) ?? connect({ ...HELLO, protocolVersion }, protocolVersion === 1 ? "v1" : "v2");
      versions.set(protocolVersion, made);
      return made;
    },
    left: once(async () => {
      const connection = await connect(HELLO);
      const { bridge } = connection;
      await interrupt(bridge, "#stream", async () => bridge.leave());
      await bridge.exited();
      return connection;
    }),
    everything: once(() => kit.turn(EVERYTHING)),
    permission: once(() => kit.turn("#permission")),
    cancelled: once(async () => {
      const { bridge } = await kit.main();
      return interrupt(bridge, "#stream", async (sessionId) => bridge.notify("session/cancel", { sessionId }));
    }),
    closed: once(async () => {
      const { bridge } = await kit.main();
      let close: JsonObject = {};
      const interrupted = await interrupt(bridge, "#stream", async (sessionId) => {
        close = await bridge.request("session/close", { sessionId });
      });
      return { ...interrupted, close };
    }),
    replayed: once(() => resume({ replayFrom: { type: "start" } })),
    resumed: once(() => resume({})),
    async session(params = { cwd: "/work" }) {
      const { bridge } = await kit.main();
      const result = await bridge.call("session/new", params);
      return { sessionId: String(result["sessionId"]), result };
    },
    async turn(prompt, extra = {}) {
      const { bridge } = await kit.main();
      return turn(bridge, await newSession(bridge), prompt, extra);
    },
    async isOpen(gate) {
      if (gate === undefined) return true;
      const { initialized } = await kit.main();
      if (gate === "inferred:authMethods") return asArray(initialized["authMethods"]).length > 0;
      if (gate === "inferred:configOptions") return asArray((await kit.session()).result["configOptions"]).length > 0;
      let value: unknown = initialized;
      for (const key of gate.split(".")) value = asObject(value)[key];
      return value !== undefined && value !== null;
    },
    async end() {
      const endings = await Promise.allSettled(bridges.map((bridge) => bridge.end()));
      for (const ending of endings) if (ending.status === "rejected") throw ending.reason;
    },
  };
  return kit;
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** The states told in a turn, in order. */
export function statesIn(updates: readonly JsonObject[]): unknown[] {
  return updates.map(stateOf).filter((state) => state !== undefined);
}

/** The updates of one kind. */
export function ofKind(updates: readonly JsonObject[], ...kinds: string[]): JsonObject[] {
  return updates.filter((update) => kinds.includes(String(update["sessionUpdate"])));
}

/** Every object found inside a value under this key. */
export function under(value: unknown, key: string): unknown[] {
  if (Array.isArray(value)) return value.flatMap((item) => under(item, key));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, item]) => (name === key ? [item] : under(item, key)));
}

/** The frames from acp-shift on a connection, in order. */
export function received({ bridge }: Connection): JsonObject[] {
  return bridge.frames.flatMap(({ from, frame }) => (from === "bridge" ? [frame] : []));
}
