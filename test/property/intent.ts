// A random v1 agent that knows what it means, a v2 client that folds what it is told, and a core between them. Whatever
// the agent lacks, the client's view is to be what the agent meant (docs/mapping.md §4–§9).
import assert from "node:assert/strict";
import { asArray, asObject, type JsonObject } from "../../src/protocol/json.ts";
import {
  type Act,
  agentHello,
  type Dialogue,
  fail,
  notify,
  type Outcome,
  pairedDialogue,
  reply,
  request,
  text,
  update,
} from "../support/dialogue.ts";
import { remembered } from "../support/remembered.ts";
import { pick } from "./frames.ts";
import { createView, fold, takeConfig, type View } from "./view.ts";

/** What the agent can do with sessions of before, and whether the bridge has a state directory. */
export interface Setting {
  history: "load" | "load, kept" | "resume, kept" | "nothing, kept";
  /** Whether the agent gives messages ids. */
  ids: boolean;
  /** Whether the client may lose its connection. */
  lingers?: boolean;
}

export const MOVES = {
  prompt: 6,
  cancel: 1,
  say: 10,
  tool: 4,
  "tool-update": 6,
  plan: 2,
  "set-config": 2,
  "change-config": 2,
  permission: 2,
  "answer-permission": 3,
  echo: 2,
  "end-turn": 6,
  quiet: 4,
  resume: 2,
  reopen: 1,
  restart: 1,
  lose: 0,
  "come-back": 0,
} as const;

export interface Move {
  move: keyof typeof MOVES;
  which: number;
  what: number;
}

interface Said {
  kind: "user_message" | "agent_message" | "agent_thought";
  text: string;
  id: string | undefined;
  /** How often the session was opened when it was said: nobody goes on with a message of before. */
  opening: number;
}

interface Tool {
  id: string;
  title: string;
  kind: string;
  /** What the agent takes it for. */
  status: string;
  /** What the bridge had to conclude from the end of a turn. */
  shown: string;
  content: unknown[];
}

const STATUSES = ["pending", "in_progress", "completed", "failed"];
const KINDS = ["read", "edit", "execute", "other"];
const WORDS = ["One", "two ", "three\n", "Ünï", "One", "—"];
const FINAL = ["completed", "failed", "cancelled"];

export interface Play {
  play(move: Move): void;
  /** Lets everything come to rest, and compares. */
  compare(): void;
}

export function createPlay(setting: Setting): Play {
  const loads = setting.history.startsWith("load");
  const resumes = setting.history.startsWith("resume");
  const keeps = setting.history.endsWith("kept");
  const hello = {
    ...agentHello,
    agentCapabilities: { loadSession: loads, sessionCapabilities: resumes ? { resume: {} } : {} },
  };

  let dialogue: Dialogue;
  let run = 0;
  const acts: Act[] = [];
  const view = createView();
  let fresh: View | undefined;

  // ---- What the agent means.

  const timeline: (Said | Tool)[] = [];
  let plan: unknown;
  const config = { mode: "ask", effort: "low", fast: false };
  let prompt:
    | { id: unknown; words: string; accepted: boolean; cancelled: boolean; echoed: boolean; over: number }
    | undefined;
  const permissions = new Set<unknown>();
  let opening = 0;
  /** True when the next text of the last message's kind would be another message. */
  let boundary = false;
  let count = 0;

  const tools = () => timeline.filter((item) => "status" in item);

  // ---- The client.

  const questions: unknown[] = [];
  const answers = new Map<unknown, JsonObject>();
  /** Frames on their way to the client: what it does, it does after it has got them; when it loses its connection, some never come. */
  const inFlight: JsonObject[] = [];
  let away = false;
  let asked = 0;
  let connection = 0;
  /** The connections of prompts that the agent has not got yet. */
  let waiting: number[] = [];
  /** Prompts that were refused while the client was not there to hear of it. */
  let excused = 0;

  function arriveAll(): void {
    assert.ok(!away || inFlight.length === 0, "nothing is sent to a client who is not there");
    for (const frame of inFlight.splice(0)) clientGets(frame);
  }

  function clientGets(frame: JsonObject): void {
    const params = asObject(frame["params"]);
    if (frame["method"] === "session/update") {
      fold(view, asObject(params["update"]));
      if (fresh !== undefined) fold(fresh, asObject(params["update"]));
    } else if (frame["method"] === "session/request_permission") questions.push(frame["id"]);
    else if (frame["method"] === "$/cancel_request") questions.splice(questions.indexOf(params["requestId"]), 1);
    else answers.set(frame["id"], frame);
  }

  /** Sends a request; an id to look its answer up by. */
  function ask(method: string, params: object): string {
    const id = `c${++asked}`;
    arriveAll();
    answers.delete(id);
    deliver(dialogue.client(request(id, method, params)));
    arriveAll();
    return id;
  }

  function resultOf(id: string): JsonObject {
    arriveAll();
    const answer = answers.get(id);
    assert.ok(answer !== undefined && "result" in answer, `no result: ${JSON.stringify(answer)}`);
    takeConfig(view, asObject(answer["result"])["configOptions"]);
    return asObject(answer["result"]);
  }

  // ---- Between the two.

  function deliver(outcome: Outcome): void {
    inFlight.push(...outcome.toClient);
    acts.push(...outcome.acts);
    for (const frame of outcome.toAgent) agentGets(frame);
    for (const act of outcome.acts)
      if (act.type === "recall")
        deliver(dialogue.event({ type: "recalled", token: act.token, value: remembered(acts) }));
  }

  function agentSends(change: object): void {
    accept();
    deliver(dialogue.agent(update("s1", change)));
  }

  function accept(): void {
    if (prompt === undefined || prompt.accepted) return;
    prompt.accepted = true;
    timeline.push({ kind: "user_message", text: prompt.words, id: `u${++count}`, opening: -1 });
    boundary = true;
  }

  function options(): object {
    const select = (id: string, currentValue: string, values: string[]) => ({
      id,
      name: id,
      type: "select",
      currentValue,
      options: values.map((value) => ({ value, name: value })),
    });
    return {
      configOptions: [
        select("effort", config.effort, ["low", "high"]),
        { id: "fast", name: "fast", type: "boolean", currentValue: config.fast },
      ],
    };
  }

  function setup(): object {
    const availableModes = ["ask", "code"].map((id) => ({ id, name: id }));
    return { modes: { currentModeId: config.mode, availableModes }, ...options() };
  }

  function agentGets(frame: JsonObject): void {
    const { id, method } = frame;
    const params = asObject(frame["params"]);
    const answer = (result: object) => deliver(dialogue.agent(reply(id, result)));
    switch (method) {
      case "session/new":
        return answer({ sessionId: "s1", ...setup() });
      case "session/prompt": {
        const words = String(asObject(asArray(params["prompt"])[0])["text"]);
        prompt = { id, words, accepted: false, cancelled: false, echoed: false, over: waiting.shift() ?? 0 };
        boundary = true;
        return;
      }
      case "session/cancel":
        accept();
        if (prompt !== undefined) prompt.cancelled = true;
        return;
      case "session/load":
        replayAll();
        return answer(setup());
      case "session/resume":
        return answer(setup());
      case "session/set_mode":
        config.mode = String(params["modeId"]);
        return answer({});
      case "session/set_config_option":
        Object.assign(config, { [String(params["configId"])]: params["value"] });
        return answer(options());
      case undefined:
        permissions.delete(id);
        return;
      default:
        assert.fail(`the agent does not know ${method}`);
    }
  }

  function replayAll(): void {
    for (const item of timeline) {
      if ("status" in item) {
        const { id: toolCallId, shown: _, ...fields } = item;
        deliver(dialogue.agent(update("s1", { sessionUpdate: "tool_call", toolCallId, ...fields })));
        // A replay the client did not ask for is not shown.
        if (fresh !== undefined) item.shown = item.status;
        continue;
      }
      const half = Math.floor(item.text.length / 2);
      for (const part of half === 0 ? [item.text] : [item.text.slice(0, half), item.text.slice(half)])
        deliver(dialogue.agent(update("s1", chunkOf(item, part))));
    }
    if (plan !== undefined) deliver(dialogue.agent(update("s1", { sessionUpdate: "plan", entries: plan })));
  }

  function chunkOf(item: Said, words: string): object {
    return {
      sessionUpdate: `${item.kind}_chunk`,
      content: text(words),
      ...(setting.ids && { messageId: item.id }),
    };
  }

  // ---- Moves of the agent.

  function say(kind: "agent_message" | "agent_thought", words: string, which: number): void {
    accept();
    const last = timeline.at(-1);
    let item: Said | undefined;
    if (setting.ids) {
      const mine = timeline.filter(
        (candidate): candidate is Said =>
          "text" in candidate && candidate.kind === kind && candidate.opening === opening,
      );
      item = which % 3 === 0 ? undefined : mine.at(-1 - (which % 2));
    } else if (last !== undefined && "text" in last && last.kind === kind) {
      // Without ids nobody could tell them apart in a replay.
      if (boundary) return;
      item = last;
    }
    if (item === undefined) {
      item = { kind, text: "", id: `a${++count}`, opening };
      timeline.push(item);
      boundary = false;
    }
    item.text += words;
    agentSends(chunkOf(item, words));
  }

  function newTool(which: number, what: number): Tool {
    const tool = {
      id: `t${++count}`,
      title: `Tool ${count}`,
      kind: pick(KINDS, which),
      status: pick(STATUSES, what),
      content: [],
    };
    const added: Tool = { ...tool, shown: tool.status };
    accept();
    timeline.push(added);
    boundary = false;
    return added;
  }

  function updateTool(tool: Tool, which: number, what: number): void {
    const content = [{ type: "content", content: text(`${pick(WORDS, what)}${what}`) }];
    const change: JsonObject = pick<JsonObject>(
      [{ status: pick(STATUSES, what) }, { title: `Title ${what}` }, { content }, { status: "completed", content }],
      which,
    );
    Object.assign(tool, change);
    if (change["status"] !== undefined) tool.shown = tool.status;
    // null means "unchanged" in version 1.
    const nulls = what % 3 === 0 ? { kind: null } : {};
    agentSends({ sessionUpdate: "tool_call_update", toolCallId: tool.id, ...nulls, ...change });
  }

  function endTurn(what: number): void {
    // Nobody is there to answer first.
    if (prompt === undefined || (away && permissions.size > 0)) return;
    const fails = what % 4 === 0;
    answerQuestions();
    if (fails && !prompt.accepted) {
      // The client's prompt fails; there was no message.
      const { id, over } = prompt;
      prompt = undefined;
      if (over !== connection) excused++;
      deliver(dialogue.agent(fail(id, -32603, "boom")));
      return;
    }
    // Without ids, two prompts with nothing between them would be one message in a replay.
    accept();
    const last = timeline.at(-1);
    if (last !== undefined && "text" in last && last.kind === "user_message") say("agent_message", "Well.", 0);
    const { id, cancelled } = prompt;
    prompt = undefined;
    boundary = true;
    const stopReason = pick(["end_turn", "max_tokens", "cancelled", "end_turn"], what);
    for (const tool of tools()) {
      if (FINAL.includes(tool.shown)) continue;
      if (cancelled || (!fails && stopReason === "cancelled")) tool.shown = "cancelled";
      else if (fails) tool.shown = "failed";
    }
    deliver(dialogue.agent(fails ? fail(id, -32603, "boom") : reply(id, { stopReason })));
  }

  function answerQuestions(): void {
    if (away) return;
    arriveAll();
    for (const id of questions.splice(0))
      deliver(dialogue.client(reply(id, { outcome: { outcome: "selected", optionId: "y" } })));
    assert.equal(permissions.size, 0, "each permission has its answer");
  }

  /** Prompts that the agent never got are refused; of those that came over another connection there is a notice. */
  function refuseWaiting(): void {
    excused += waiting.filter((over) => over !== connection).length;
    waiting = [];
  }

  // ---- Coming back.

  function lose(which: number): void {
    if (away) return;
    const lost = inFlight.splice(which % (inFlight.length + 1));
    excused -= lost.filter(
      (frame) => asObject(asObject(frame["params"])["update"])["sessionUpdate"] === "notice",
    ).length;
    arriveAll();
    deliver(dialogue.event({ type: "client-lost" }));
    away = true;
    connection++;
    questions.length = 0;
  }

  function comeBack(replay: boolean): void {
    if (!away) return;
    away = false;
    asked = 0;
    deliver(dialogue.event({ type: "client-back", capabilities: {} }));
    const atOnce = boundary;
    resume(replay);
    // An agent that was not asked for anything goes on with what it was saying.
    if (!(replay && loads)) boundary = atOnce;
  }

  function resume(replay: boolean): void {
    quiet();
    const tellsAll = !loads || prompt === undefined;
    if (replay && tellsAll) fresh = createView();
    const id = ask("session/resume", {
      sessionId: "s1",
      cwd: "/work",
      ...(replay && { replayFrom: { type: "start" } }),
    });
    deliver(dialogue.wait(10));
    resultOf(id);
    boundary = true;
    if (fresh !== undefined) compareHistory(fresh, "a client that knew nothing");
    fresh = undefined;
  }

  function reopen(): void {
    if (!loads && !resumes) return;
    quiet();
    refuseWaiting();
    const close = ask("session/close", { sessionId: "s1" });
    if (prompt !== undefined) endTurn(1);
    resultOf(close);
    opening++;
    abandonTools();
    resume(true);
  }

  /** What is open in a history the agent cannot tell is worked on by nobody. */
  function abandonTools(): void {
    if (loads) return;
    for (const tool of tools()) if (!FINAL.includes(tool.shown)) tool.shown = "failed";
  }

  function restart(): void {
    if (!keeps || !(loads || resumes) || prompt !== undefined) return;
    deliver(dialogue.event({ type: "client-left" }));
    deliver(dialogue.event({ type: "agent-exit", code: 0, signal: null }));
    begin();
    opening++;
    abandonTools();
    resume(true);
  }

  function begin(): void {
    const lingerLimit = setting.lingers ? 1024 ** 2 : 0;
    dialogue = pairedDialogue({ remembers: keeps, lingerLimit, runId: `run${++run}` }, hello);
    connection = 0;
  }

  // ---- Both.

  /** What a client does that is there. */
  const CLIENTS = new Set<Move["move"]>([
    "prompt",
    "cancel",
    "set-config",
    "answer-permission",
    "resume",
    "reopen",
    "restart",
  ]);

  function play({ move, which, what }: Move): void {
    if (away && CLIENTS.has(move)) return;
    switch (move) {
      case "prompt":
        waiting.push(connection);
        ask("session/prompt", { sessionId: "s1", prompt: [text(pick(["hi", "hello", `words ${what}`], which))] });
        break;
      case "cancel":
        arriveAll();
        refuseWaiting();
        deliver(dialogue.client(notify("session/cancel", { sessionId: "s1" })));
        break;
      case "say":
        say(which % 4 === 0 ? "agent_thought" : "agent_message", pick(WORDS, what), which);
        break;
      case "tool": {
        const { id: toolCallId, shown: _, content: __, ...fields } = newTool(which, what);
        agentSends({ sessionUpdate: "tool_call", toolCallId, ...fields });
        break;
      }
      case "tool-update": {
        const known = tools();
        if (known.length > 0) updateTool(pick(known, which), what, which);
        break;
      }
      case "plan":
        plan = Array.from({ length: what % 3 }, (_, n) => ({
          content: `Step ${n} of ${which}`,
          priority: "high",
          status: "pending",
        }));
        agentSends({ sessionUpdate: "plan", entries: plan });
        break;
      case "set-config":
        resultOf(
          ask("session/set_config_option", {
            sessionId: "s1",
            ...pick<JsonObject>(
              [
                { configId: "mode", type: "id", value: pick(["ask", "code"], which) },
                { configId: "effort", type: "id", value: pick(["low", "high"], which) },
                { configId: "fast", type: "boolean", value: which % 2 === 0 },
              ],
              what,
            ),
          }),
        );
        break;
      case "change-config":
        if (what % 2 === 0) {
          config.mode = pick(["ask", "code"], which);
          agentSends({ sessionUpdate: "current_mode_update", currentModeId: config.mode });
        } else {
          config.effort = pick(["low", "high"], which);
          agentSends({ sessionUpdate: "config_option_update", ...options() });
        }
        break;
      case "permission": {
        if (prompt === undefined || prompt.cancelled) break;
        const tool = which % 2 === 0 ? (tools().at(-1) ?? newTool(which, what)) : newTool(which, what);
        accept();
        const id = `p${++count}`;
        permissions.add(id);
        const { id: toolCallId, title, kind, status } = tool;
        const toolCall = { toolCallId, title, kind, status };
        const choices = [{ optionId: "y", name: "Yes", kind: "allow_once" }];
        deliver(
          dialogue.agent(request(id, "session/request_permission", { sessionId: "s1", toolCall, options: choices })),
        );
        break;
      }
      case "answer-permission":
        answerQuestions();
        break;
      case "echo":
        if (prompt === undefined || prompt.echoed) break;
        prompt.echoed = true;
        for (const part of [prompt.words.slice(0, 2), prompt.words.slice(2)])
          if (part !== "") agentSends({ sessionUpdate: "user_message_chunk", content: text(part) });
        break;
      case "end-turn":
        endTurn(what);
        break;
      case "quiet":
        if (away) quiet();
        else compare();
        break;
      case "resume":
        // An agent at work is not asked to load: the replay would be the transcript's, and there is none.
        resume(which % 2 === 0 && !(loads && prompt !== undefined));
        break;
      case "reopen":
        reopen();
        break;
      case "restart":
        restart();
        break;
      case "lose":
        lose(what);
        break;
      case "come-back":
        comeBack(which % 2 === 0 && !(loads && prompt !== undefined));
        break;
    }
  }

  function quiet(): void {
    deliver(dialogue.wait(60));
    accept();
    if (!away) arriveAll();
  }

  function compareHistory(seen: View, whose: string): void {
    assert.deepEqual(
      seen.timeline.map((key) => seen.messages.get(key) ?? { ...seen.toolCalls.get(key), id: key }),
      timeline.map((item) => {
        if ("text" in item) return { kind: item.kind, text: item.text };
        const { id, title, kind, shown: status, content } = item;
        return { title, kind, status, content, id };
      }),
      `the messages and tool calls of ${whose}`,
    );
    assert.deepEqual(seen.plan, plan, `the plan of ${whose}`);
  }

  function compare(): void {
    comeBack(false);
    quiet();
    arriveAll();
    assert.equal(view.notices, excused, "nothing else to excuse");
    compareHistory(view, "the client");
    assert.deepEqual(view.config, config);
    if (prompt === undefined) assert.equal(view.state ?? "idle", "idle");
    else if (!prompt.cancelled) assert.equal(view.state, questions.length > 0 ? "requires_action" : "running");
  }

  begin();
  resultOf(ask("session/new", { cwd: "/work" }));
  return { play, compare };
}
