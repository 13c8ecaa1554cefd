// The OpenAI API of responses: `/responses`.
import { asArray, asObject, type JsonObject } from "../../../src/protocol/json.ts";
import { type Call, type Dialect, type Item, PAUSE, plainText, type StreamEvent, textOf } from "./reply.ts";

const usage = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 10,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 110,
};

let minted = 0;
const mint = (prefix: string) => `${prefix}_${++minted}`;

const response = (id: string, body: JsonObject, status: string, output: JsonObject[]) => ({
  id,
  object: "response",
  created_at: 1,
  model: body["model"],
  status,
  output,
  usage: status === "completed" ? usage : null,
  error: null,
  incomplete_details: null,
});

function itemOf({ id, name, arguments: args }: Call): JsonObject {
  if (typeof args === "string") {
    return { id: mint("ctc"), type: "custom_tool_call", call_id: id, name, input: args, status: "completed" };
  }
  return {
    id: mint("fc"),
    type: "function_call",
    call_id: id,
    name,
    arguments: JSON.stringify(args),
    status: "completed",
  };
}

const messageOf = (id: string, text: string) => ({
  id,
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
});

export const openaiResponses: Dialect = {
  name: "openai-responses",
  serves: (path) => path.endsWith("/responses"),
  streams: (_, body) => body["stream"] === true,
  read: (body) => {
    const { input } = body;
    return {
      items: (Array.isArray(input) ? input : [{ role: "user", content: input }])
        .map(asObject)
        .map(({ type, role, content }): Item => {
          if (String(type).endsWith("_call_output")) return { from: "tool", text: "" };
          return { from: role === "user" ? "user" : "model", text: plainText(content) };
        }),
      tools: asArray(body["tools"])
        .map(asObject)
        .filter(({ type }) => type !== "namespace")
        .map(({ name, type, parameters }) => ({
          name: String(name ?? type),
          schema: asObject(parameters),
          freeform: type === "custom",
        })),
    };
  },
  *stream(reply, body) {
    const id = mint("resp");
    const output: JsonObject[] = [];
    let sequence = 0;
    const event = (type: string, fields: JsonObject): StreamEvent => ({
      event: type,
      data: { type, sequence_number: sequence++, ...fields },
    });
    /** The whole life of an output item: it is added, `inner` happens to it, it is done. */
    function* item(added: JsonObject, inner: Iterable<StreamEvent | typeof PAUSE>, done: JsonObject) {
      const output_index = output.length;
      yield event("response.output_item.added", { output_index, item: added });
      yield* inner;
      yield event("response.output_item.done", { output_index, item: done });
      output.push(done);
    }
    function* thinking(item_id: string) {
      const place = { item_id, output_index: output.length, summary_index: 0 };
      yield event("response.reasoning_summary_part.added", { ...place, part: { type: "summary_text", text: "" } });
      for (const delta of reply.thoughts) yield event("response.reasoning_summary_text.delta", { ...place, delta });
      yield event("response.reasoning_summary_text.done", { ...place, text: reply.thoughts.join("") });
    }
    function* speaking(item_id: string) {
      const place = { item_id, output_index: output.length, content_index: 0 };
      yield event("response.content_part.added", {
        ...place,
        part: { type: "output_text", text: "", annotations: [] },
      });
      for (const word of reply.words) {
        yield word === PAUSE ? PAUSE : event("response.output_text.delta", { ...place, delta: word });
      }
      yield event("response.output_text.done", { ...place, text: textOf(reply) });
    }
    function* arguing(call: JsonObject) {
      const place = { item_id: call["id"], output_index: output.length };
      if (call["type"] !== "function_call") return;
      yield event("response.function_call_arguments.delta", { ...place, delta: call["arguments"] });
      yield event("response.function_call_arguments.done", { ...place, arguments: call["arguments"] });
    }

    yield event("response.created", { response: response(id, body, "in_progress", []) });
    if (reply.thoughts.length > 0) {
      const thought = { id: mint("rs"), type: "reasoning", summary: [] as JsonObject[] };
      const summary = [{ type: "summary_text", text: reply.thoughts.join("") }];
      yield* item(thought, thinking(thought.id), { ...thought, summary });
    }
    const message = messageOf(mint("msg"), textOf(reply));
    yield* item({ ...message, status: "in_progress", content: [] }, speaking(message.id), message);
    for (const call of reply.calls.map(itemOf)) {
      const empty = call["type"] === "function_call" ? { arguments: "", status: "in_progress" } : {};
      yield* item({ ...call, ...empty }, arguing(call), call);
    }
    yield event("response.completed", { response: response(id, body, "completed", output) });
  },
  whole: (reply, body) =>
    response(mint("resp"), body, "completed", [messageOf(mint("msg"), textOf(reply)), ...reply.calls.map(itemOf)]),
  failure: {
    error: { message: "The stand-in refuses", type: "invalid_request_error", param: null, code: "stand_in_refuses" },
  },
};
