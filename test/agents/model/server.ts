// A stand-in for a language model, on loopback: it speaks the model APIs the agents use, and says what its prompt's
// marker asks for (script.ts).
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { asObject, isObject, type JsonObject } from "../../../src/protocol/json.ts";
import { parsed } from "../../support/tap.ts";
import { anthropic } from "./anthropic.ts";
import { gemini } from "./gemini.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiResponses } from "./openai-responses.ts";
import { type Dialect, PAUSE } from "./reply.ts";
import { replyTo, type Work } from "./script.ts";

const DIALECTS: readonly Dialect[] = [gemini, openaiChat, openaiResponses, anthropic];

/** Models the server says it has, for agents that ask. */
const MODELS = ["stand-in", "stand-in-2", "gpt-5", "claude-sonnet-4-5"];

export interface Model {
  readonly url: string;
  /** What could not be answered as a model would. */
  readonly faults: string[];
  /** How many streams stand still now. */
  readonly held: number;
  /** Lets every stream that stands still go on. */
  release(): void;
  close(): Promise<void>;
}

/**
 * Starts the server on a port of the system's choice.
 * @param work what the model's tool calls are about
 */
export async function startModel(work: Work): Promise<Model> {
  const faults: string[] = [];
  const held = new Set<() => void>();
  let calls = 0;

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      faults.push(`${request.url}: ${error instanceof Error ? error.message : String(error)}`);
      // Not a status that invites another attempt.
      if (response.headersSent) response.destroy();
      else json(response, 400, { error: { message: String(error) } });
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", "http://loopback").pathname;
    const body = asObject(parsed(await text(request)));
    const dialect = request.method === "POST" ? DIALECTS.find((one) => one.serves(path)) : undefined;
    if (dialect !== undefined) return say(dialect, path, body, response);
    if (/\/models\b/.test(path) && request.method === "GET") return json(response, 200, listOfModels());
    if (/count_?tokens$/i.test(path)) return json(response, 200, { input_tokens: 100, totalTokens: 100 });
    return json(response, 404, { error: { message: `nothing is served at ${path}`, type: "not_found_error" } });
  }

  async function say(dialect: Dialect, path: string, body: JsonObject, response: ServerResponse): Promise<void> {
    const reply = replyTo(dialect.read(body), work, () => `call_${++calls}`);
    if (reply === "refusal") return json(response, 400, dialect.failure);
    if (!dialect.streams(path, body)) return json(response, 200, dialect.whole(reply, body));
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    for (const event of dialect.stream(reply, body)) {
      if (response.destroyed) return;
      if (event === PAUSE) await released(response);
      else {
        const data = isObject(event.data) ? JSON.stringify(event.data) : String(event.data);
        const name = event.event === undefined ? "" : `event: ${event.event}\n`;
        await new Promise((written) => response.write(`${name}data: ${data}\n\n`, written));
      }
    }
    response.end();
  }

  /** Resolves when the test lets the stream go on, or whoever reads it has hung up. */
  function released(response: ServerResponse): Promise<void> {
    return new Promise((resolve) => {
      const go = () => {
        held.delete(go);
        resolve();
      };
      held.add(go);
      response.once("close", go);
    });
  }

  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    faults,
    get held() {
      return held.size;
    },
    release() {
      for (const go of [...held]) go();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function json(response: ServerResponse, status: number, body: JsonObject): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function listOfModels(): JsonObject {
  const data = MODELS.map((id) => ({
    id,
    object: "model",
    type: "model",
    display_name: id,
    name: `models/${id}`,
    created: 1,
    created_at: "2025-01-01T00:00:00Z",
    owned_by: "stand-in",
  }));
  return { object: "list", data, models: data, has_more: false, first_id: MODELS[0], last_id: MODELS.at(-1) };
}
