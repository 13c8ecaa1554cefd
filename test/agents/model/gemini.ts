// The Gemini API: `models/<model>:generateContent` and `:streamGenerateContent`.
import { asArray, asObject, type JsonObject } from "../../../src/protocol/json.ts";
import { type Dialect, type Item, PAUSE, plainText, type Reply, textOf } from "./reply.ts";

const usageMetadata = { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110 };

const chunk = (parts: JsonObject[], extra: JsonObject = {}) => ({
  candidates: [{ index: 0, content: { role: "model", parts }, ...extra }],
  usageMetadata,
  modelVersion: "stand-in",
});

const callsOf = ({ calls }: Reply) =>
  calls.map(({ id, name, arguments: args }) => ({ functionCall: { id, name, args } }));

/** What Gemini CLI asks its models about the conversation itself, in JSON. */
const VERDICT = JSON.stringify({
  reasoning: "none",
  model_choice: "flash",
  next_speaker: "user",
  complexity_reasoning: "none",
  complexity_score: 1,
});

const wantsJson = (body: JsonObject) => {
  const { responseMimeType, responseJsonSchema } = asObject(body["generationConfig"]);
  return responseMimeType === "application/json" || responseJsonSchema !== undefined;
};

export const gemini: Dialect = {
  name: "gemini",
  serves: (path) => /:(stream)?generateContent$/i.test(path),
  streams: (path) => /:stream/i.test(path),
  read: (body) => ({
    items: asArray(body["contents"]).flatMap((content): Item[] => {
      const { role, parts } = asObject(content);
      return asArray(parts).map((part) => {
        if ("functionResponse" in asObject(part)) return { from: "tool", text: "" };
        return { from: role === "model" ? "model" : "user", text: plainText(part) };
      });
    }),
    tools: asArray(body["tools"])
      .flatMap((tool) => asArray(asObject(tool)["functionDeclarations"]))
      .map(asObject)
      .map(({ name, parametersJsonSchema, parameters }) => ({
        name: String(name),
        schema: asObject(parametersJsonSchema ?? parameters),
        freeform: false,
      })),
  }),
  *stream(reply, body) {
    if (wantsJson(body)) {
      yield { data: chunk([{ text: VERDICT }], { finishReason: "STOP" }) };
      return;
    }
    for (const thought of reply.thoughts) yield { data: chunk([{ text: thought, thought: true }]) };
    for (const word of reply.words) yield word === PAUSE ? PAUSE : { data: chunk([{ text: word }]) };
    const calls = callsOf(reply);
    if (calls.length > 0) yield { data: chunk(calls) };
    yield { data: chunk([{ text: "" }], { finishReason: "STOP" }) };
  },
  whole: (reply, body) =>
    chunk(wantsJson(body) ? [{ text: VERDICT }] : [{ text: textOf(reply) }, ...callsOf(reply)], {
      finishReason: "STOP",
    }),
  failure: { error: { code: 400, message: "The stand-in refuses", status: "INVALID_ARGUMENT" } },
};
