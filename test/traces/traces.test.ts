// Guards docs/mapping.md §0 against what real agents do: every recorded conversation, played through the core, gives
// valid frames to both sides (I3; play() validates each), one running and one idle per turn (I7), every update (I2) in
// order (I1), message ids as §5 has them, announced tool calls (§6) and one answer to every request (I5). A native v2
// conversation passes through byte for byte (§1).
import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { step } from "../../src/bridge/bridge.ts";
import { createBridge } from "../../src/bridge/state.ts";
import { asArray, asObject, asString, type JsonObject } from "../../src/protocol/json.ts";
import { testOptions } from "../support/dialogue.ts";
import { type Fate, follow, type MessageKind } from "./follow.ts";
import { conversations, isNativeV2, play, readTrace, type Step, type TraceLine, textOfPrompt } from "./replay.ts";

const directory = new URL("../fixtures/traces/", import.meta.url);
const names = readdirSync(directory).filter((name) => name.endsWith(".jsonl"));

test("there are traces, one with a frame of more than 60 kB", () => {
  expect(names.length).toBeGreaterThan(100);
  const lengths = readTrace(new URL("qwen-concurrent.jsonl", directory)).map((line) => JSON.stringify(line).length);
  expect(Math.max(...lengths)).toBeGreaterThan(60_000);
});

const played = names.flatMap((name) =>
  conversations(readTrace(new URL(name, directory))).map((lines, index, all) => ({
    name: all.length > 1 ? `${name} (${index + 1})` : name,
    lines,
    runId: `run${index + 1}`,
  })),
);

describe.each(played.filter(({ lines }) => !isNativeV2(lines)))("$name", ({ lines, runId }) => {
  let steps: Step[] | undefined;
  const conversation = () => {
    steps ??= play(lines, runId);
    return steps;
  };

  test("gives valid frames to both sides", () => {
    expect(conversation().length).toBeGreaterThan(0);
  });
  test("has one running and one idle per accepted prompt, in order", () => oneIdlePerTurn(conversation()));
  test("loses no update", () => noUpdateLost(conversation()));
  test("reports no idle before an update the agent sent earlier", () => noIdleOvertakes(conversation()));
  test("keeps messages apart, and whole", () => messagesAsSent(conversation()));
  test("announces every tool call with a title", () => toolCallsAnnounced(conversation()));
  test("answers every request exactly once", () => answeredOnce(conversation()));
  test("logs no error", () => {
    const logs = conversation().flatMap(({ outcome }) => outcome.logs);
    expect(logs.filter(({ level, event }) => level === "error" || event === "update-dropped")).toEqual([]);
  });
});

describe.each(played.filter(({ lines }) => isNativeV2(lines)))("$name", ({ lines }) => {
  test("passes through byte for byte", () => passesThrough(lines));
});

/** The updates the client got in a step. */
function updatesIn(outcome: Step["outcome"]): { sessionId: unknown; update: JsonObject }[] {
  return outcome.toClient
    .filter((frame) => frame["method"] === "session/update")
    .map((frame) => ({
      sessionId: asObject(frame["params"])["sessionId"],
      update: asObject(asObject(frame["params"])["update"]),
    }));
}

function oneIdlePerTurn(steps: Step[]): void {
  const state = new Map<unknown, unknown>();
  const prompts = new Map<unknown, JsonObject>();
  const resumes: unknown[] = [];
  /** What must come next in a session whose prompt was accepted. */
  const next = new Map<unknown, JsonObject[]>();
  let accepted = 0;
  let ended = 0;
  for (const { from, frame, outcome } of steps) {
    if (from === "client" && frame?.["method"] === "session/prompt")
      prompts.set(frame["id"], asObject(frame["params"]));
    if (from === "client" && frame?.["method"] === "session/resume")
      resumes.push(asObject(frame["params"])["sessionId"]);
    for (const sent of outcome.toClient) {
      const prompt = "method" in sent ? undefined : prompts.get(sent["id"]);
      if (prompt !== undefined) {
        prompts.delete(sent["id"]);
        if ("error" in sent) continue;
        accepted++;
        const { sessionId } = prompt;
        const { messageId } = asObject(sent["result"]);
        expect(state.get(sessionId) ?? "idle").toBe("idle");
        next.set(sessionId, [
          { sessionUpdate: "user_message", messageId, content: prompt["prompt"] },
          { sessionUpdate: "state_update", state: "running" },
        ]);
        continue;
      }
      if (sent["method"] !== "session/update") continue;
      const { sessionId, update: raw } = asObject(sent["params"]);
      const update = asObject(raw);
      const due = next.get(sessionId)?.shift();
      if (due !== undefined) {
        expect(update).toEqual(due);
        if (due["state"] === "running") state.set(sessionId, "running");
        continue;
      }
      if (update["sessionUpdate"] !== "state_update") continue;
      const before = state.get(sessionId) ?? "idle";
      if (before === "idle") {
        // Only a resume reports the state of a session that is idle.
        expect(update["state"]).toBe("idle");
        expect(resumes).toContain(sessionId);
        resumes.splice(resumes.indexOf(sessionId), 1);
        continue;
      }
      if (update["state"] === "running") expect(before).toBe("requires_action");
      if (update["state"] === "requires_action") expect(before).toBe("running");
      if (update["state"] === "idle") ended++;
      state.set(sessionId, update["state"]);
    }
  }
  expect([...state.values()].filter((last) => last !== "idle")).toEqual([]);
  expect(ended).toBe(accepted);
}

/** The v2 name of an update kind that the recorded agents use. */
const NAMES: Record<string, string> = {
  tool_call: "tool_call_update",
  plan: "plan_update",
  current_mode_update: "config_option_update",
};

function noUpdateLost(steps: Step[]): void {
  const { fates } = follow(steps);
  for (const fate of fates) {
    switch (fate.fate) {
      case "sent at once":
      case "held":
      case "behind":
        sameUpdate(fate);
        break;
      case "of no session":
        expect(fate.step.outcome.logs.map((log) => log.event)).toContain("update-of-unknown-session");
        break;
      case "gathered":
      case "swallowed":
      case "echo":
        break;
    }
  }
  const swallowed = fates.filter(({ fate }) => fate === "swallowed").length;
  const logged = steps.flatMap(({ outcome }) => outcome.logs).filter(({ event }) => event === "replay-swallowed");
  expect(logged.reduce((sum, { details }) => sum + Number(details["updates"]), 0)).toBe(swallowed);
}

function sameUpdate({ update, sent }: Fate): void {
  const kind = String(update["sessionUpdate"]);
  expect(sent?.["sessionUpdate"], JSON.stringify(update)).toBe(NAMES[kind] ?? kind);
  switch (kind) {
    case "user_message_chunk":
    case "agent_message_chunk":
    case "agent_thought_chunk":
      expect(sent).toEqual({ ...update, messageId: sent?.["messageId"] });
      break;
    case "usage_update":
    case "session_info_update":
      expect(sent).toEqual(update);
      break;
    case "plan":
      expect(sent?.["plan"]).toMatchObject({ entries: update["entries"] });
      break;
    case "tool_call":
    case "tool_call_update":
      for (const key of ["toolCallId", "title", "kind", "status", "rawInput", "rawOutput"])
        if (update[key] !== undefined && update[key] !== null) expect(sent?.[key]).toEqual(update[key]);
      break;
    case "available_commands_update":
      expect(asArray(sent?.["availableCommands"]).flatMap(commandsMeant)).toEqual(
        asArray(update["availableCommands"]).map(commandMeant),
      );
      break;
  }
  if (!kind.startsWith("tool_call")) expect(sent?.["_meta"]).toEqual(update["_meta"]);
}

/** The agent's commands behind one of the client's: several, where one stands for all that begin with its word. */
function commandsMeant(command: unknown): JsonObject[] {
  const several = asObject(asObject(command)["_meta"])["acp-shift/commands"];
  return (Array.isArray(several) ? several : [command]).map(commandMeant);
}

function commandMeant(command: unknown): JsonObject {
  const { name, description, input } = asObject(command);
  return { name, description, hint: asObject(input)["hint"] };
}

function noIdleOvertakes(steps: Step[]): void {
  const { fates } = follow(steps);
  const heldBack = new Set(fates.filter(({ fate }) => fate !== "sent at once").map(({ step }) => step));
  for (const step of steps) {
    if (step.from !== "agent" || step.frame?.["method"] !== "session/update" || heldBack.has(step)) continue;
    // The update itself is the last frame of its own step; so any idle comes in a later one.
    expect(updatesIn(step.outcome).map(({ update }) => update["state"])).not.toContain("idle");
    expect(step.outcome.toClient.at(-1)?.["method"]).toBe("session/update");
  }
  for (const { outcome } of steps) {
    const updates = updatesIn(outcome);
    for (const [index, { sessionId, update }] of updates.entries()) {
      if (update["state"] !== "idle") continue;
      const later = updates.slice(index + 1).filter((other) => other.sessionId === sessionId);
      expect(later.filter((other) => /chunk|tool_call|usage/.test(String(other.update["sessionUpdate"])))).toEqual([]);
    }
  }
}

interface Message {
  kind: MessageKind;
  given: string | undefined;
  id: unknown;
  text: string;
}

/** Works the messages out from the agent's chunks, by docs/mapping.md §5, and compares them with what the client has. */
function messagesAsSent(steps: Step[]): void {
  const { marks } = follow(steps);
  const messages = new Map<string, { all: Message[]; current: Message | undefined; replayed: Message[] }>();
  for (const mark of marks) {
    const session = messages.get(mark.sessionId) ?? { all: [], current: undefined, replayed: [] };
    messages.set(mark.sessionId, session);
    if (mark.type === "boundary") {
      session.current = undefined;
    } else if (mark.type === "replay over") {
      expect(mark.sent.map(({ kind, text }) => ({ kind, text }))).toEqual(
        session.replayed.map(({ kind, text }) => ({ kind, text })),
      );
      for (const [index, message] of session.replayed.entries()) message.id = mark.sent[index]?.id;
      for (const { given, id } of session.replayed) if (given !== undefined) expect(id).toBe(given);
      session.all.push(...session.replayed.splice(0));
      session.current = undefined;
    } else {
      const { kind, given, text } = mark;
      const list = mark.type === "replayed" ? session.replayed : session.all;
      let message: Message | undefined;
      if (given !== undefined) message = list.find((one) => one.kind === kind && one.given === given);
      else if (session.current?.kind === kind && session.current.given === undefined) message = session.current;
      // An empty chunk says nothing: it takes nobody's place and needs no message of its own.
      else if (text === "" && mark.type === "chunk") message = list.findLast((one) => one.kind === kind);
      const silent = text === "" && mark.type === "chunk" && given === undefined && message !== undefined;
      if (message === undefined) {
        message = { kind, given, id: mark.type === "chunk" ? mark.sentId : undefined, text: "" };
        list.push(message);
      }
      if (!silent) session.current = message;
      message.text += text;
      if (mark.type === "chunk") expect(mark.sentId, `${kind} ${JSON.stringify(text)}`).toBe(message.id);
    }
  }
  for (const [sessionId, { all, replayed }] of messages) {
    expect(replayed).toEqual([]);
    for (const { given, id } of all) expect(id).toEqual(given ?? expect.any(String));
    for (const kind of ["user_message", "agent_message", "agent_thought"]) {
      const sent = all.filter((message) => message.kind === kind);
      expect(new Set(sent.map(({ id }) => id)).size).toBe(sent.length);
      expect(textsSeen(steps, sessionId, kind)).toEqual(sent.map(({ id, text }) => [id, text]));
    }
  }
}

/** The messages of one kind as a client that shows them has them at the end, but for its own prompts. */
function textsSeen(steps: Step[], sessionId: string, kind: string): [unknown, string][] {
  const seen = new Map<unknown, string>();
  for (const { outcome } of steps) {
    const own = outcome.toClient.map((frame) => asObject(frame["result"])["messageId"]);
    for (const { sessionId: of, update } of updatesIn(outcome)) {
      const { messageId: id } = update;
      if (of !== sessionId || own.includes(id)) continue;
      const text = textOfPrompt({ prompt: [update["content"]].flat() });
      if (update["sessionUpdate"] === kind) seen.set(id, text);
      if (update["sessionUpdate"] === `${kind}_chunk`) seen.set(id, (seen.get(id) ?? "") + text);
    }
  }
  return [...seen];
}

function toolCallsAnnounced(steps: Step[]): void {
  const announced = new Set<string>();
  for (const { outcome } of steps) {
    for (const frame of outcome.toClient) {
      const params = asObject(frame["params"]);
      const update = asObject(params["update"]);
      if (update["sessionUpdate"] === "tool_call_update") {
        const key = `${params["sessionId"]} ${update["toolCallId"]}`;
        if (!announced.has(key)) expect(asString(update["title"]), key).toMatch(/./);
        announced.add(key);
      }
      if (frame["method"] === "session/request_permission") {
        const { toolCallId } = asObject(asObject(params["subject"])["toolCall"]);
        expect(announced).toContain(`${params["sessionId"]} ${toolCallId}`);
      }
    }
  }
}

function answeredOnce(steps: Step[]): void {
  const ids = (frames: (JsonObject | undefined)[], isRequest: boolean) =>
    frames
      .filter((frame) => frame !== undefined)
      .filter((frame) => frame["id"] !== undefined && frame["id"] !== null && "method" in frame === isRequest)
      .map((frame) => JSON.stringify(frame["id"]))
      .sort();
  const said = (side: Step["from"]) => steps.filter(({ from }) => from === side).map(({ frame }) => frame);
  const heard = (side: "toClient" | "toAgent") => steps.flatMap(({ outcome }) => outcome[side]);
  expect(ids(heard("toClient"), false)).toEqual(ids(said("client"), true));
  expect(ids(heard("toAgent"), false)).toEqual(ids(said("agent"), true));
}

function passesThrough(lines: TraceLine[]): void {
  const repeated = new Set<unknown>();
  const bridge = createBridge(testOptions);
  let agentId: unknown;
  let clientId: unknown;
  let exited = false;
  for (const { dir, frame, code, sig } of lines) {
    if (dir === "exit") {
      const effects = step(bridge, { type: "agent-exit", code: code ?? null, signal: sig ?? null }, 0);
      exited = effects.some((effect) => effect.type === "done");
    }
    if (frame === undefined || (dir === "a2c" && repeated.delete(frame["id"]))) continue;
    const from = dir === "c2a" ? "client" : "agent";
    const isInitialize = frame["method"] === "initialize";
    const isItsAnswer = from === "agent" && clientId !== undefined && frame["id"] === clientId;
    const value = isItsAnswer ? { ...frame, id: agentId } : frame;
    const line = Buffer.from(JSON.stringify(value));
    const effects = step(bridge, { type: "frame", from, value, line }, 0);
    const sent = effects.filter((effect) => effect.type === "send");
    const forwarded = effects.filter((effect) => effect.type === "forward");
    if (isInitialize && bridge.initializeResult === undefined) {
      clientId = frame["id"];
      agentId = (sent[0]?.frame as JsonObject | undefined)?.["id"];
    } else if (isInitialize) {
      // A repeated one is answered as the first was, and the agent not asked again: its recorded answer is left out.
      expect(sent.map((effect) => effect.frame)).toEqual([
        { jsonrpc: "2.0", id: frame["id"], result: bridge.initializeResult },
      ]);
      expect(forwarded).toEqual([]);
      repeated.add(frame["id"]);
    } else if (isItsAnswer) {
      expect(sent.map((effect) => effect.frame)).toEqual([frame]);
      expect(forwarded).toEqual([]);
      clientId = undefined;
    } else {
      expect(sent).toEqual([]);
      expect(forwarded.map((effect) => effect.to)).toEqual([from === "client" ? "agent" : "client"]);
      expect(forwarded[0]?.line).toBe(line);
    }
  }
  expect(exited).toBe(true);
}
