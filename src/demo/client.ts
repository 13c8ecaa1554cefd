import type { Readable, Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { asArray, asObject, asString, isObject, type JsonObject } from "../protocol/json.ts";
import type {
  InitializeRequest,
  NewSessionRequest,
  PromptRequest,
  RequestPermissionResponse,
  SetSessionConfigOptionRequest,
} from "../protocol/v2.ts";
import { connect, type Tap } from "./peer.ts";

/** How the demo's user answers when asked for permission. */
export type Answer = "allow_once" | "reject_once";

/** What the user does in a turn. */
export interface Wish {
  prompt: string;
  answer?: Answer;
  /** The turn is cancelled as soon as this many message chunks have been seen. */
  cancelAfterChunks?: number;
}

/** A small ACP v2 client, for the demo. Every promise is rejected when the agent answers with an error. */
export interface Client {
  initialize(): Promise<void>;
  /** Starts the session that the other calls are about, and waits for its slash commands. `cwd` is absolute. */
  newSession(cwd: string): Promise<void>;
  setConfigOption(configId: string, value: string): Promise<void>;
  /** Sends a prompt and sees the turn through to its end. */
  prompt(wish: Wish): Promise<void>;
  /** What the client is waiting for at the moment, for a person. */
  waitingFor(): string;
}

/** Milliseconds the user takes to read a question. */
const readingTime = 150;

/** Speaks ACP v2 to whatever reads `output` and writes `input`. `tap` sees every frame, in the order of the wire. */
export function connectClient(input: Readable, output: Writable, tap: Tap): Client {
  let sessionId = "";
  let answer: Answer = "reject_once";
  let state = "idle";
  let waiting = "nothing";
  const listeners = new Set<(update: JsonObject) => void>();

  const rpc = connect(input, output, tap);

  rpc.addMethod("session/update", (params: unknown): void => {
    const update = asObject(asObject(params)["update"]);
    if (update["sessionUpdate"] === "state_update") state = asString(update["state"]) ?? state;
    for (const listener of listeners) listener(update);
  });

  rpc.addMethod("session/request_permission", async (params: unknown): Promise<RequestPermissionResponse> => {
    if (state !== "requires_action") await seen("the state requires_action", isState("requires_action"));
    await pause(readingTime);
    const chosen = asArray(asObject(params)["options"])
      .filter(isObject)
      .find((option) => option["kind"] === answer);
    const optionId = asString(chosen?.["optionId"]);
    return { outcome: optionId === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId } };
  });

  /** Resolves at the first update from now on that passes the test. */
  function seen(what: string, test: (update: JsonObject) => boolean): Promise<void> {
    waiting = what;
    return new Promise((resolve) => {
      const listener = (update: JsonObject): void => {
        if (!test(update)) return;
        listeners.delete(listener);
        resolve();
      };
      listeners.add(listener);
    });
  }

  async function call(method: string, params: unknown): Promise<JsonObject> {
    waiting = `the answer to ${method}`;
    return asObject(await rpc.request(method, params));
  }

  return {
    waitingFor: () => waiting,

    async initialize() {
      const params: InitializeRequest = {
        protocolVersion: 2,
        info: { name: "demo-client", title: "Demo client", version: "1.0.0" },
        capabilities: {},
      };
      await call("initialize", params);
    },

    async newSession(cwd) {
      const params: NewSessionRequest = { cwd };
      const commands = seen("the slash commands", (update) => update["sessionUpdate"] === "available_commands_update");
      sessionId = asString((await call("session/new", params))["sessionId"]) ?? "";
      await commands;
    },

    async setConfigOption(configId, value) {
      const params: SetSessionConfigOptionRequest = { sessionId, configId, type: "id", value };
      await call("session/set_config_option", params);
    },

    async prompt(wish) {
      answer = wish.answer ?? "reject_once";
      let chunks = 0;
      const stop = (update: JsonObject): void => {
        if (update["sessionUpdate"] !== "agent_message_chunk") return;
        chunks += 1;
        if (chunks === wish.cancelAfterChunks) rpc.notify("session/cancel", { sessionId });
      };
      listeners.add(stop);
      // The prompt's result only says that it was accepted; the turn ends with the state idle.
      const idle = seen("the state idle", isState("idle"));
      const params: PromptRequest = { sessionId, prompt: [{ type: "text", text: wish.prompt }] };
      await call("session/prompt", params);
      waiting = "the state idle";
      await idle;
      listeners.delete(stop);
    },
  };
}

function isState(state: string): (update: JsonObject) => boolean {
  return (update) => update["sessionUpdate"] === "state_update" && update["state"] === state;
}
