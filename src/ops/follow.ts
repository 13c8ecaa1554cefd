/** Follows sessions, turns, tool calls and permissions by the frames on the client's side, in both versions of the protocol. */
import { asObject, asString, isObject, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";

/** What a follower tells. */
export interface Happenings {
  sessionOpened(sessionId: string, method: string): void;
  sessionClosed(sessionId: string): void;
  /**
   * Work began in a session: a prompt that is not held, or work nobody asked for.
   *
   * @param params the prompt's; undefined when there was none
   */
  turnBegan(sessionId: string, params: JsonObject | undefined): void;
  /**
   * @param stopReason as the agent gave it; `refused` when a prompt was answered by an error before it was accepted, `error`
   *   when work failed, `unfinished` when the session or the connection ended first, undefined when nothing was said
   */
  turnEnded(sessionId: string, stopReason: string | undefined): void;
  /** A tool call was announced or changed. */
  toolCall(sessionId: string, update: JsonObject): void;
  /** The agent asks for a permission. `key` names the question until it is answered. */
  permissionAsked(sessionId: string, key: unknown, params: JsonObject): void;
  /** @param outcome the answer's; empty when it was an error, or the question was withdrawn */
  permissionAnswered(sessionId: string, key: unknown, outcome: JsonObject): void;
}

export interface Follower {
  /** A frame of the client's, before anything is made of it. */
  fromClient(frame: unknown): void;
  /** A frame the client is sent. */
  toClient(frame: unknown): void;
  /** True while a turn runs, or a prompt waits for one. */
  readonly busy: boolean;
  /** The connection is over: what is still going on is told to be unfinished. */
  ended(): void;
}

interface Prompt {
  sessionId: string;
  params: JsonObject;
}

/** The work of a session; there is one only while there is work. */
interface Work {
  /** The prompt it began with. */
  prompt: Prompt | undefined;
  /** True once an `idle` can be its end. */
  began: boolean;
  waiting: Prompt[];
}

/** A request that changes which sessions are open. */
interface Opening {
  method: string;
  sessionId: string | undefined;
}

const OPENING = new Set<string>([Method.sessionNew, Method.sessionLoad, Method.sessionResume, Method.sessionFork]);
const CLOSING = new Set<string>([Method.sessionClose, Method.sessionDelete]);

/** A follower of one connection that tells each listener. */
export function follow(listeners: readonly Partial<Happenings>[]): Follower {
  const tell: Happenings = {
    sessionOpened: (...told) => each((listener) => listener.sessionOpened?.(...told)),
    sessionClosed: (...told) => each((listener) => listener.sessionClosed?.(...told)),
    turnBegan: (...told) => each((listener) => listener.turnBegan?.(...told)),
    turnEnded: (...told) => each((listener) => listener.turnEnded?.(...told)),
    toolCall: (...told) => each((listener) => listener.toolCall?.(...told)),
    permissionAsked: (...told) => each((listener) => listener.permissionAsked?.(...told)),
    permissionAnswered: (...told) => each((listener) => listener.permissionAnswered?.(...told)),
  };
  function each(act: (listener: Partial<Happenings>) => void): void {
    for (const listener of listeners) act(listener);
  }

  let clientSpeaksV1 = false;
  const open = new Set<string>();
  const works = new Map<string, Work>();
  const initializing = new Set<unknown>();
  const openings = new Map<unknown, Opening>();
  const prompts = new Map<unknown, Prompt>();
  const permissions = new Map<unknown, string>();

  function fromClient(value: unknown): void {
    if (!isObject(value)) return;
    const { id, method } = value;
    if (typeof method !== "string") return permissionAnswered(value);
    if (id === undefined) return;
    const params = asObject(value["params"]);
    const sessionId = asString(params["sessionId"]);
    if (method === Method.sessionPrompt) {
      if (sessionId !== undefined) prompted(id, { sessionId, params });
    } else if (method === Method.initialize) initializing.add(id);
    else if (OPENING.has(method) || CLOSING.has(method)) openings.set(id, { method, sessionId });
  }

  function toClient(value: unknown): void {
    if (!isObject(value)) return;
    const { method } = value;
    if (typeof method !== "string") return answered(value);
    if (method === Method.sessionUpdate) return updated(asObject(value["params"]));
    if (method === Method.cancelRequest) return withdrawn(asObject(value["params"])["requestId"]);
    if (method !== Method.requestPermission) return;
    const params = asObject(value["params"]);
    const sessionId = asString(params["sessionId"]);
    if (sessionId === undefined) return;
    permissions.set(value["id"], sessionId);
    tell.permissionAsked(sessionId, value["id"], params);
  }

  function updated(params: JsonObject): void {
    const { sessionId, update } = params;
    if (typeof sessionId !== "string" || !isObject(update)) return;
    switch (update["sessionUpdate"]) {
      case "tool_call":
      case "tool_call_update":
        return tell.toolCall(sessionId, update);
      case "state_update":
        return stateTold(sessionId, update);
    }
  }

  function answered(frame: JsonObject): void {
    const { id } = frame;
    const prompt = prompts.get(id);
    if (prompt !== undefined) {
      prompts.delete(id);
      return promptAnswered(prompt, frame);
    }
    const result = asObject(frame["result"]);
    if (initializing.delete(id)) {
      clientSpeaksV1 = result["protocolVersion"] === 1;
      return;
    }
    const opening = openings.get(id);
    if (opening === undefined) return;
    openings.delete(id);
    if ("error" in frame) return;
    if (CLOSING.has(opening.method)) closed(opening.sessionId);
    else opened(asString(result["sessionId"]) ?? opening.sessionId, opening.method);
  }

  function opened(sessionId: string | undefined, method: string): void {
    if (sessionId === undefined || open.has(sessionId)) return;
    open.add(sessionId);
    tell.sessionOpened(sessionId, method);
  }

  function closed(sessionId: string | undefined): void {
    if (sessionId === undefined) return;
    if (works.delete(sessionId)) tell.turnEnded(sessionId, "unfinished");
    if (open.delete(sessionId)) tell.sessionClosed(sessionId);
  }

  function prompted(id: unknown, prompt: Prompt): void {
    prompts.set(id, prompt);
    const work = works.get(prompt.sessionId);
    if (work === undefined) begin(prompt, []);
    else work.waiting.push(prompt);
  }

  function begin(prompt: Prompt, waiting: Prompt[]): void {
    works.set(prompt.sessionId, { prompt, began: false, waiting });
    tell.turnBegan(prompt.sessionId, prompt.params);
  }

  function end(sessionId: string, work: Work, stopReason: string | undefined): void {
    works.delete(sessionId);
    tell.turnEnded(sessionId, stopReason);
    const [next, ...waiting] = work.waiting;
    if (next !== undefined) begin(next, waiting);
  }

  /** To a v1 client the end of the turn, to a v2 client its beginning. */
  function promptAnswered(prompt: Prompt, frame: JsonObject): void {
    const work = works.get(prompt.sessionId);
    if (work === undefined) return;
    if (work.prompt !== prompt) {
      // Refused, or taken up by the work that runs.
      work.waiting = work.waiting.filter((other) => other !== prompt);
    } else if ("error" in frame) end(prompt.sessionId, work, clientSpeaksV1 ? "error" : "refused");
    else if (clientSpeaksV1) end(prompt.sessionId, work, asString(asObject(frame["result"])["stopReason"]));
    else work.began = true;
  }

  function stateTold(sessionId: string, { state, stopReason }: JsonObject): void {
    const work = works.get(sessionId);
    if (state === "idle") {
      if (work?.began) end(sessionId, work, asString(stopReason));
    } else if (work !== undefined) work.began = true;
    else {
      works.set(sessionId, { prompt: undefined, began: true, waiting: [] });
      tell.turnBegan(sessionId, undefined);
    }
  }

  function permissionAnswered({ id, result }: JsonObject): void {
    settlePermission(id, asObject(asObject(result)["outcome"]));
  }

  function withdrawn(id: unknown): void {
    settlePermission(id, {});
  }

  function settlePermission(id: unknown, outcome: JsonObject): void {
    const sessionId = permissions.get(id);
    if (sessionId === undefined) return;
    permissions.delete(id);
    tell.permissionAnswered(sessionId, id, outcome);
  }

  return {
    fromClient,
    toClient,
    get busy() {
      return works.size > 0;
    },
    ended() {
      for (const id of permissions.keys()) settlePermission(id, {});
      for (const sessionId of works.keys()) tell.turnEnded(sessionId, "unfinished");
      works.clear();
      for (const sessionId of open) tell.sessionClosed(sessionId);
      open.clear();
    },
  };
}
