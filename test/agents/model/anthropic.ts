// The Anthropic API of messages: `/v1/messages`.
import { asArray, asObject, type JsonObject } from "../../../src/protocol/json.ts";
import { type Dialect, halves, type Item, PAUSE, plainText, type Reply, type StreamEvent, textOf } from "./reply.ts";

const SIGNATURE = Buffer.from("stand-in").toString("base64");
const usage = { input_tokens: 100, output_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };

const stopOf = ({ calls }: Reply) => (calls.length > 0 ? "tool_use" : "end_turn");
const base = (body: JsonObject) => ({
  id: `msg_${++messages}`,
  type: "message",
  role: "assistant",
  model: body["model"],
});
let messages = 0;

const event = (type: string, fields: JsonObject = {}): StreamEvent => ({ event: type, data: { type, ...fields } });

export const anthropic: Dialect = {
  name: "anthropic",
  serves: (path) => path.endsWith("/messages"),
  streams: (_, body) => body["stream"] === true,
  read: (body) => ({
    items: asArray(body["messages"])
      .map(asObject)
      .flatMap(({ role, content }) =>
        (Array.isArray(content) ? content : [content]).map((part): Item => {
          if (asObject(part)["type"] === "tool_result") return { from: "tool", text: "" };
          return { from: role === "user" ? "user" : "model", text: plainText(part) };
        }),
      ),
    tools: asArray(body["tools"])
      .map(asObject)
      .map(({ name, input_schema }) => ({ name: String(name), schema: asObject(input_schema), freeform: false })),
  }),
  *stream(reply, body) {
    const message = { ...base(body), content: [], stop_reason: null, stop_sequence: null, usage };
    yield event("message_start", { message });
    let index = 0;
    if (reply.thoughts.length > 0) {
      yield event("content_block_start", { index, content_block: { type: "thinking", thinking: "", signature: "" } });
      for (const thinking of reply.thoughts) {
        yield event("content_block_delta", { index, delta: { type: "thinking_delta", thinking } });
      }
      yield event("content_block_delta", { index, delta: { type: "signature_delta", signature: SIGNATURE } });
      yield event("content_block_stop", { index: index++ });
    }
    yield event("content_block_start", { index, content_block: { type: "text", text: "" } });
    for (const text of reply.words) {
      yield text === PAUSE ? PAUSE : event("content_block_delta", { index, delta: { type: "text_delta", text } });
    }
    yield event("content_block_stop", { index: index++ });
    for (const { id, name, arguments: args } of reply.calls) {
      yield event("content_block_start", { index, content_block: { type: "tool_use", id, name, input: {} } });
      for (const partial_json of halves(JSON.stringify(args))) {
        yield event("content_block_delta", { index, delta: { type: "input_json_delta", partial_json } });
      }
      yield event("content_block_stop", { index: index++ });
    }
    yield event("message_delta", { delta: { stop_reason: stopOf(reply), stop_sequence: null }, usage });
    yield event("message_stop");
  },
  whole: (reply, body) => ({
    ...base(body),
    content: [
      { type: "text", text: textOf(reply) },
      ...reply.calls.map(({ id, name, arguments: input }) => ({ type: "tool_use", id, name, input })),
    ],
    stop_reason: stopOf(reply),
    stop_sequence: null,
    usage,
  }),
  failure: { type: "error", error: { type: "invalid_request_error", message: "The stand-in refuses" } },
};
