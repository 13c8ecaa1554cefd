// The OpenAI API of chat completions: `/chat/completions`.
import { asArray, asObject, type JsonObject } from "../../../src/protocol/json.ts";
import { type Dialect, halves, PAUSE, plainText, type Reply, textOf } from "./reply.ts";

const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };

const callsOf = ({ calls }: Reply) =>
  calls.map(({ id, name, arguments: args }, index) => ({
    index,
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  }));

const finishOf = ({ calls }: Reply) => (calls.length > 0 ? "tool_calls" : "stop");

const base = (object: string, body: JsonObject) => ({ id: "completion", object, created: 1, model: body["model"] });

export const openaiChat: Dialect = {
  name: "openai-chat",
  serves: (path) => path.endsWith("/chat/completions"),
  streams: (_, body) => body["stream"] === true,
  read: (body) => ({
    items: asArray(body["messages"])
      .map(asObject)
      .map(({ role, content }) => ({
        from: role === "tool" ? "tool" : role === "user" ? "user" : "model",
        text: plainText(content),
      })),
    tools: asArray(body["tools"])
      .map((tool) => asObject(asObject(tool)["function"]))
      .map(({ name, parameters }) => ({ name: String(name), schema: asObject(parameters), freeform: false })),
  }),
  *stream(reply, body) {
    const chunk = (delta: JsonObject, finish: string | null = null, extra: JsonObject = {}) => ({
      data: { ...base("chat.completion.chunk", body), choices: [{ index: 0, delta, finish_reason: finish }], ...extra },
    });
    yield chunk({ role: "assistant", content: "" });
    for (const thought of reply.thoughts) yield chunk({ reasoning_content: thought });
    for (const word of reply.words) yield word === PAUSE ? PAUSE : chunk({ content: word });
    for (const call of callsOf(reply)) {
      const { name, arguments: text } = call.function;
      yield chunk({ tool_calls: [{ ...call, function: { name, arguments: "" } }] });
      for (const half of halves(text))
        yield chunk({ tool_calls: [{ index: call.index, function: { arguments: half } }] });
    }
    yield chunk({}, finishOf(reply), { usage });
    if (asObject(body["stream_options"])["include_usage"] === true) {
      yield { data: { ...base("chat.completion.chunk", body), choices: [], usage } };
    }
    yield { data: "[DONE]" };
  },
  whole: (reply, body) => {
    const calls = callsOf(reply);
    const message = { role: "assistant", content: textOf(reply), ...(calls.length > 0 && { tool_calls: calls }) };
    return {
      ...base("chat.completion", body),
      choices: [{ index: 0, message, finish_reason: finishOf(reply) }],
      usage,
    };
  },
  failure: {
    error: { message: "The stand-in refuses", type: "invalid_request_error", param: null, code: "stand_in_refuses" },
  },
};
