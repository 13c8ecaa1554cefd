// Plays a recorded conversation between a v1 client and a v1 agent through the core: the agent says what it said, in
// the same order at the same times; in place of the v1 client a v2 client asks for the same things.
import { readFileSync } from "node:fs";
import { asArray, asObject, asString, isObject, type JsonObject, without } from "../../src/protocol/json.ts";
import { decodeAgentLine, decodeClientLine } from "../../src/transport/decode.ts";
import { clientHello, createDialogue, type Outcome, request } from "../support/dialogue.ts";

/** One line of a trace. */
export interface TraceLine {
  t: number;
  dir: "c2a" | "a2c" | "c2a-raw" | "stderr" | "note" | "exit";
  frame?: JsonObject;
  raw?: string;
  note?: string;
  code?: number | null;
  sig?: string | null;
}

/** One event given to the core, and what the core did. */
export interface Step {
  from: "client" | "agent" | "world";
  /** The frame given, as it was given: with the ids of the core, not of the recording. */
  frame: JsonObject | undefined;
  outcome: Outcome;
  /** When, in ms since the conversation began. */
  now: number;
  /** What happened, where it was no frame. */
  event: string;
}

export function readTrace(path: URL): TraceLine[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as TraceLine);
}

/** The trace cut where another agent process was started: each part is a conversation of its own. */
export function conversations(trace: TraceLine[]): TraceLine[][] {
  const parts: TraceLine[][] = [[]];
  for (const line of trace) {
    parts.at(-1)?.push(line);
    if (line.dir === "exit") parts.push([]);
  }
  return parts.filter((part) => part.some((line) => line.dir === "c2a"));
}

/** True when the recorded agent answered `initialize` in version 2, so that the core has nothing to translate. */
export function isNativeV2(conversation: TraceLine[]): boolean {
  const answer = conversation.find((line) => line.dir === "a2c" && line.frame?.["result"] !== undefined);
  return asObject(answer?.frame?.["result"])["protocolVersion"] === 2;
}

/** A recorded request of the client's whose counterpart the core has not sent to the agent yet. */
interface Awaited {
  recordedId: unknown;
  methods: string[];
  sessionId: unknown;
  text: unknown;
  /** The agent's recorded answer, when it came before the core had asked. */
  answer?: JsonObject;
}

/** The v1 methods by which the core may ask for what a recorded request asked for. */
function counterparts(method: string): string[] {
  if (method === "session/set_mode" || method === "session/set_model") return [method, "session/set_config_option"];
  return [withUnderscore(method)];
}

/** Bare names are reserved in v2: a method that neither version has is called by an extension's name. */
function withUnderscore(method: string): string {
  return method.startsWith("no/") ? `_${method}` : method;
}

/** Plays one conversation; every frame the core sends is validated on the way. */
export function play(conversation: TraceLine[], runId: string): Step[] {
  const dialogue = createDialogue({ runId });
  const steps: Step[] = [];
  const due = new Map<string, number>();
  let ready = false;
  /** What the client asked before it had an answer to `initialize`, to be asked again after it. */
  const early: JsonObject[] = [];
  const awaited: Awaited[] = [];
  /** By recorded id: the id under which the core asked the agent. */
  const agentIds = new Map<unknown, unknown>();
  /** By the agent's id: the id under which the core asked the client. */
  const clientIds = new Map<unknown, unknown>();
  /** By session: the options the client was shown last. */
  const options = new Map<unknown, JsonObject[]>();

  function take(from: Step["from"], frame: JsonObject | undefined, act: () => Outcome, event = "timer"): Outcome {
    const outcome = act();
    steps.push({ from, frame, outcome, now: dialogue.now, event });
    for (const [name] of due) if (!dialogue.timers.has(name)) due.delete(name);
    for (const [name, ms] of dialogue.timers) if (!due.has(name)) due.set(name, dialogue.now + ms);
    for (const sent of outcome.toClient) clientReceives(sent);
    for (const sent of outcome.toAgent) if ("method" in sent && "id" in sent) agentReceives(sent);
    return outcome;
  }

  function passTime(until: number): void {
    for (;;) {
      const next = [...due].sort(([, one], [, other]) => one - other)[0];
      if (next === undefined || next[1] > until) break;
      const [name, at] = next;
      dialogue.now = at;
      due.delete(name);
      take("world", undefined, () => dialogue.fire(name));
    }
    dialogue.now = until;
  }

  function agentReceives(frame: JsonObject): void {
    const params = asObject(frame["params"]);
    const index = awaited.findIndex(
      (candidate) =>
        candidate.methods.includes(String(frame["method"])) &&
        candidate.sessionId === params["sessionId"] &&
        (candidate.text === undefined || candidate.text === textOfPrompt(params)),
    );
    const [match] = index < 0 ? [] : awaited.splice(index, 1);
    if (match === undefined) return;
    agentIds.set(match.recordedId, frame["id"]);
    if (match.answer !== undefined) agentSays(match.answer);
  }

  function clientReceives(frame: JsonObject): void {
    const params = asObject(frame["params"]);
    const result = asObject(frame["result"]);
    const shown = asObject(params["update"])["configOptions"] ?? result["configOptions"];
    const sessionId = params["sessionId"] ?? result["sessionId"] ?? sessionOf(frame["id"]);
    if (Array.isArray(shown)) options.set(sessionId, shown.filter(isObject));
    if (result["protocolVersion"] === 2 && !ready) {
      ready = true;
      for (const again of early.splice(0)) clientAsks(again);
    }
  }

  function sessionOf(clientId: unknown): unknown {
    const asked = steps.findLast((step) => step.from === "client" && step.frame?.["id"] === clientId);
    return asObject(asked?.frame?.["params"])["sessionId"];
  }

  function clientAsks(recorded: JsonObject): void {
    const method = String(recorded["method"]);
    if (!ready && method !== "initialize") early.push(recorded);
    else
      awaited.push({
        recordedId: recorded["id"],
        methods: counterparts(method),
        sessionId: asObject(recorded["params"])["sessionId"],
        text: method === "session/prompt" ? textOfPrompt(asObject(recorded["params"])) : undefined,
      });
    const frame = requestInV2(recorded);
    take("client", frame, () => dialogue.client(frame));
  }

  function requestInV2(recorded: JsonObject): JsonObject {
    const { id, method } = recorded;
    const params = asObject(recorded["params"]);
    switch (method) {
      case "initialize":
        return request(id, "initialize", clientHello);
      case "authenticate":
        return request(id, "auth/login", params);
      case "session/load":
        return request(id, "session/resume", { ...params, replayFrom: { type: "start" } });
      case "session/set_mode":
        return request(id, "session/set_config_option", selection(params, "mode", params["modeId"]));
      case "session/set_model":
        return request(id, "session/set_config_option", selection(params, "model", params["modelId"]));
      case "session/set_config_option":
        return request(id, method, { type: "id", ...params });
      default:
        return request(id, withUnderscore(String(method)), params);
    }
  }

  function selection(params: JsonObject, category: string, value: unknown): JsonObject {
    const option = asArray(options.get(params["sessionId"])).find((one) => asObject(one)["category"] === category);
    const configId = asObject(option)["configId"] ?? category;
    return { ...without(params, "modeId", "modelId"), configId, type: "id", value };
  }

  function clientSays(frame: JsonObject): void {
    if ("method" in frame && "id" in frame) return clientAsks(frame);
    if ("method" in frame) {
      const notification = { ...frame, method: withUnderscore(String(frame["method"])) };
      take("client", notification, () => dialogue.client(notification));
      return;
    }
    // What the core answers by itself, the client was never asked.
    if (!clientIds.has(frame["id"])) return;
    const answer = { ...frame, id: clientIds.get(frame["id"]) };
    take("client", answer, () => dialogue.client(answer));
  }

  function agentSays(recorded: JsonObject): void {
    let frame = recorded;
    if (!("method" in recorded) && recorded["id"] !== undefined && recorded["id"] !== null) {
      const { id } = recorded;
      if (!agentIds.has(id)) {
        const held = awaited.find((candidate) => candidate.recordedId === id);
        if (held !== undefined) held.answer = recorded;
        return;
      }
      frame = { ...recorded, id: agentIds.get(id) };
      agentIds.delete(id);
    }
    const decoded = decodeAgentLine(Buffer.from(JSON.stringify(frame))).frames;
    for (const { value, line } of decoded) {
      const outcome = take("agent", value, () => dialogue.event({ type: "frame", from: "agent", value, line }));
      const asked = outcome.toClient.find((sent) => "method" in sent && "id" in sent);
      if ("method" in value && "id" in value && asked !== undefined) clientIds.set(value["id"], asked["id"]);
    }
  }

  const start = conversation[0]?.t ?? 0;
  for (const line of conversation) {
    passTime(line.t - start);
    switch (line.dir) {
      case "c2a":
        if (line.frame !== undefined) clientSays(line.frame);
        break;
      case "a2c":
        if (line.frame !== undefined) agentSays(line.frame);
        break;
      case "c2a-raw": {
        const bytes = Buffer.from(line.raw ?? "");
        if ("fault" in decodeClientLine(bytes))
          take("client", undefined, () => dialogue.event({ type: "not-json", line: bytes }));
        break;
      }
      case "note":
        if (line.note?.startsWith("stdin close"))
          take("world", undefined, () => dialogue.event({ type: "client-left" }), "client-left");
        break;
      case "exit":
        take(
          "world",
          undefined,
          () => dialogue.event({ type: "agent-exit", code: line.code ?? null, signal: line.sig ?? null }),
          "agent-exit",
        );
        break;
      case "stderr":
        break;
    }
  }
  return steps;
}

/** All text of a prompt. */
export function textOfPrompt(params: JsonObject): string {
  return asArray(params["prompt"])
    .map((block) => asString(asObject(block)["text"]) ?? "")
    .join("");
}
