// Plays a conversation, recorded or written by hand, through a channel: the client asks and the agent says what they
// did there, at the same times, each under the ids that the channel gives them.
import { asArray, asObject, asString, type JsonObject } from "../../src/protocol/json.ts";
import { type TraceLine, textOfPrompt } from "../traces/replay.ts";
import type { Channel } from "./channel.ts";
import type { Crossed } from "./views.ts";

type MakeChannel = (ends: { toClient(frame: JsonObject): void; toAgent(frame: JsonObject): void }) => Channel;

/** A request that one side has sent and the other not yet received. */
interface OnItsWay {
  recordedId: unknown;
  key: string;
  /** The answer, when it was recorded before the request arrived. */
  answer?: JsonObject;
}

/** Requests on their way from one side to the other, and by recorded id the id under which each arrived. */
interface Way {
  waiting: OnItsWay[];
  ids: Map<unknown, unknown>;
}

/** The methods that stand for each other on the two sides of a bridge. */
const SAME: Readonly<Record<string, string>> = {
  "session/set_mode": "session/set_config_option",
  "session/set_model": "session/set_config_option",
};

function keyOf(frame: JsonObject): string {
  const method = asString(frame["method"]) ?? "";
  const params = asObject(frame["params"]);
  const text = method === "session/prompt" ? textOfPrompt(params) : "";
  const value = params["value"] ?? params["modeId"] ?? params["modelId"];
  return [SAME[method] ?? method, params["sessionId"], text, value].join(" ");
}

/** The frames of a conversation as its client had them, up to the end of its stdin. */
export function recorded(lines: readonly TraceLine[]): Crossed[] {
  return alive(lines).flatMap(({ dir, frame }): Crossed[] =>
    frame === undefined ? [] : [{ from: dir === "c2a" ? "client" : "agent", frame }],
  );
}

function alive(lines: readonly TraceLine[]): readonly TraceLine[] {
  const end = lines.findIndex(({ dir, note }) => dir === "exit" || note?.startsWith("stdin close"));
  return end < 0 ? lines : lines.slice(0, end);
}

/**
 * Plays the conversation.
 *
 * @param asClient the client's frame as the channel's client would send it; undefined when it would not
 * @returns the frames as the channel's client had them
 */
export function play(
  lines: readonly TraceLine[],
  makeChannel: MakeChannel,
  asClient: (frame: JsonObject) => JsonObject | undefined = (frame) => frame,
): Crossed[] {
  const crossed: Crossed[] = [];
  const toAgent: Way = { waiting: [], ids: new Map() };
  const toClient: Way = { waiting: [], ids: new Map() };
  /** Answers that can be given once the frame at hand has been dealt with. */
  const due: (() => void)[] = [];

  function arrive(way: Way, frame: JsonObject, answer: (frame: JsonObject) => void): void {
    if (!("method" in frame) || !("id" in frame)) return;
    const index = way.waiting.findIndex(({ key }) => key === keyOf(frame));
    const [found] = index < 0 ? [] : way.waiting.splice(index, 1);
    if (found === undefined) return;
    way.ids.set(found.recordedId, frame["id"]);
    const known = found.answer;
    if (known !== undefined) due.push(() => answer(known));
  }

  const channel = makeChannel({
    toClient(frame) {
      crossed.push({ from: "agent", frame });
      arrive(toClient, frame, clientSays);
    },
    toAgent: (frame) => arrive(toAgent, frame, agentSays),
  });

  function settle(): void {
    for (let next = due.shift(); next !== undefined; next = due.shift()) next();
  }

  /** The frame with the id its receiver knows; undefined for an answer to what has not arrived yet, or never will. */
  function addressed(frame: JsonObject, answers: Way, asks: Way): JsonObject | undefined {
    if ("method" in frame) {
      if ("id" in frame) asks.waiting.push({ recordedId: frame["id"], key: keyOf(frame) });
      return frame;
    }
    if (answers.ids.has(frame["id"])) {
      const id = answers.ids.get(frame["id"]);
      answers.ids.delete(frame["id"]);
      return { ...frame, id };
    }
    const waiting = answers.waiting.find(({ recordedId }) => recordedId === frame["id"]);
    if (waiting !== undefined) waiting.answer = frame;
    return undefined;
  }

  function clientSays(frame: JsonObject): void {
    const sent = asClient(frame);
    const known = sent && addressed(sent, toClient, toAgent);
    if (known === undefined) return;
    // What the agent is asked is what was recorded, whatever the client calls it.
    const asked = toAgent.waiting.at(-1);
    if ("method" in frame && "id" in frame && asked !== undefined) asked.key = keyOf(frame);
    crossed.push({ from: "client", frame: known });
    channel.client(known);
  }

  function agentSays(frame: JsonObject): void {
    const known = addressed(frame, toAgent, toClient);
    if (known !== undefined) channel.agent(known);
  }

  let now = alive(lines)[0]?.t ?? 0;
  for (const { t, dir, frame } of alive(lines)) {
    channel.wait(t - now);
    settle();
    now = Math.max(t, now);
    if (frame === undefined) continue;
    if (dir === "c2a") clientSays(frame);
    else if (dir === "a2c") for (const one of asArray([frame].flat())) agentSays(asObject(one));
    settle();
  }
  channel.wait(3000);
  settle();
  return crossed;
}
