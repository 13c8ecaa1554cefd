// The turn engine of a v2 client over a v1 agent as a closed world, for the model checker: one session, and every kind of
// thing that can happen to a turn. What each frame must be follows from the frames before it (docs/mapping.md §0, §9).
import assert from "node:assert/strict";
import { asArray, asObject, type JsonObject } from "../../src/protocol/json.ts";
import {
  agentHello,
  agentText,
  clientHello,
  fail,
  notify,
  prompt,
  reply,
  request,
  update,
} from "../support/dialogue.ts";
import type { World } from "./explore.ts";
import { checkSettled, createWire, type Outcome, updateIn } from "./wire.ts";

/** How often each thing may happen on one way. */
export interface Limits {
  prompts: number;
  cancels: number;
  chunks: number;
  questions: number;
}

/** One prompt of the client's. */
interface Turn {
  /** Set once the client was told that it was accepted. */
  accepted: boolean;
  /** Set once the client, or the timeout, gave it up. */
  cancelled: boolean;
  /** How the agent answered it, last. */
  answer: JsonObject | undefined;
  ended: boolean;
}

export function upgradeWorld(limits: Limits): World {
  const wire = createWire({ settle: 50 }, { client: "v2", agent: "v1" });
  const turns: Turn[] = [];
  const left = { ...limits, close: 1, withdraw: 1, late: 1, tool: 1, busy: 1 };
  let state: unknown = "idle";
  /** What the client must be told next, after an acceptance. */
  let due: JsonObject[] = [];
  /** The turn at the client, from its acceptance to its idle. */
  let running: Turn | undefined;
  let clientGone = false;
  let exited = false;
  /** Whether the agent was told of the close, and the client of its result. */
  let closing = false;
  let closed = false;
  /** The prompt that each call of the agent's is for. */
  const prompts = new Map<number, Turn>();
  const settledIds: number[] = [];
  /** Questions the client has not answered, withdrawn ones too. */
  const questions: number[] = [];
  let lastChunk = 0;

  // ---- What must hold.

  function check(outcome: Outcome): Outcome {
    for (const [to, frame] of outcome.sent) (to === "client" ? clientGets : agentGets)(frame);
    assert.deepEqual(due, [], "§9: answer, message and running come together");
    return outcome;
  }

  function agentGets(frame: JsonObject): void {
    if (frame["method"] === "session/prompt") {
      const turn = turnOf(frame);
      prompts.set(Number(frame["id"]), turn);
      assert.equal(worked().length, 1, "§9: one prompt at a time at the agent");
      turn.answer = undefined;
    }
    if (frame["method"] === "session/close") closing = true;
    if (frame["method"] === "session/cancel") assert.equal(worked().length, 1, "§9: a cancel with no prompt open");
  }

  /** The turns whose prompts are open at the agent, but for those that were given up. */
  function worked(): Turn[] {
    return [...wire.calls.agent.keys()].flatMap((id) => prompts.get(id) ?? []).filter(({ ended }) => !ended);
  }

  /** The words of a prompt name its turn. */
  function turnOf(frame: JsonObject): Turn {
    const [block] = asArray(asObject(frame["params"])["prompt"]);
    const turn = turns[Number(asObject(block)["text"])];
    assert.ok(turn !== undefined, "a prompt of the client's");
    return turn;
  }

  function clientGets(frame: JsonObject): void {
    const update = updateIn(frame);
    if (update !== undefined) return clientUpdated(update);
    if ("method" in frame && "id" in frame) {
      questions.push(Number(frame["id"]));
    } else if ("result" in frame && String(frame["id"]).startsWith("prompt ")) {
      const n = Number(String(frame["id"]).split(" ")[1]);
      assert.equal(state, "idle", "I7: a prompt is accepted while a turn runs");
      running = turns[n];
      assert.ok(running !== undefined && !running.accepted);
      running.accepted = true;
      const { messageId } = asObject(frame["result"]);
      due = [
        { sessionUpdate: "user_message", messageId, content: [{ type: "text", text: String(n) }] },
        { sessionUpdate: "state_update", state: "running" },
      ];
    } else if ("error" in frame && String(frame["id"]).startsWith("prompt ")) {
      const turn = turns[Number(String(frame["id"]).split(" ")[1])];
      assert.ok(turn !== undefined && !turn.accepted, "a prompt is refused only before it was accepted");
      turn.ended = true;
    } else if (frame["id"] === "close") {
      closed = !("error" in frame) || exited;
    }
  }

  function clientUpdated(update: JsonObject): void {
    assert.ok(!closed, "an update of a closed session");
    const expected = due.shift();
    if (expected !== undefined) assert.deepEqual(update, expected, "§9: answer, message, running");
    if (update["sessionUpdate"] !== "state_update") return;
    const before = state;
    state = update["state"];
    if (expected !== undefined) return;
    if (state === "requires_action") assert.equal(before, "running");
    else if (state === "running") assert.equal(before, "requires_action");
    else {
      assert.ok(before !== "idle" && running !== undefined, "I7: an idle without a turn");
      assert.equal(update["stopReason"], stopReasonOf(running), "I7: the right stop reason");
      running.ended = true;
      running = undefined;
    }
  }

  function stopReasonOf({ cancelled, answer }: Turn): unknown {
    // An agent that dies without an answer has failed, also when it was told to stop.
    if (exited && answer === undefined) return "error";
    if (cancelled) return "cancelled";
    assert.ok(answer !== undefined, "I7: an idle while the prompt is open");
    return "error" in answer ? "error" : asObject(answer["result"])["stopReason"];
  }

  // ---- What can happen.

  function choices(): string[] {
    if (wire.over) return [];
    const client = clientGone ? [] : clientChoices();
    const agent = [
      ...(left.chunks > 0 ? ["chunk"] : []),
      ...(left.tool > 0 ? ["tool"] : []),
      ...(left.questions > 0 ? ["ask"] : []),
      ...[...wire.calls.agent.keys()].flatMap((id) => agentAnswers(id)),
      ...(left.late > 0 && settledIds.length > 0 ? ["late"] : []),
      "exit",
    ];
    return [...client, ...agent, ...(wire.timers.size > 0 ? ["timer"] : [])];
  }

  function clientChoices(): string[] {
    return [
      ...(left.prompts > 0 ? ["prompt"] : []),
      ...(left.cancels > 0 ? ["cancel"] : []),
      ...(left.close > 0 ? ["close"] : []),
      ...(left.withdraw > 0
        ? [...wire.asked.client].filter(([, method]) => method === "session/prompt").map(([id]) => `withdraw ${id}`)
        : []),
      ...questions.map((id) => `allow ${id}`),
      "leave",
    ];
  }

  function agentAnswers(id: number): string[] {
    if (!prompts.has(id)) return [`done ${id}`];
    return ["end_turn", "cancelled", "error", ...(left.busy > 0 ? ["busy"] : [])].map((how) => `${how} ${id}`);
  }

  function take(choice: string): void {
    const [what = "", ...rest] = choice.split(" ");
    const name = rest.join(" ");
    switch (what) {
      case "prompt": {
        const n = limits.prompts - left.prompts--;
        turns.push({ accepted: false, cancelled: false, answer: undefined, ended: false });
        check(wire.frame("client", prompt(`prompt ${n}`, String(n))));
        break;
      }
      case "cancel":
        left.cancels--;
        cancelled();
        check(wire.frame("client", notify("session/cancel", { sessionId: "s1" })));
        break;
      case "close":
        left.close--;
        cancelled();
        check(wire.frame("client", request("close", "session/close", { sessionId: "s1" })));
        break;
      case "withdraw":
        left.withdraw--;
        check(wire.frame("client", notify("$/cancel_request", { requestId: name })));
        break;
      case "allow":
        questions.splice(questions.indexOf(Number(name)), 1);
        check(wire.frame("client", reply(Number(name), { outcome: { outcome: "selected", optionId: "yes" } })));
        break;
      case "leave":
        clientGone = true;
        check(wire.event({ type: "client-left" }));
        break;
      case "chunk":
        chunk();
        break;
      case "tool":
        left.tool--;
        check(
          wire.frame(
            "agent",
            update("s1", { sessionUpdate: "tool_call", toolCallId: "t", title: "T", status: "pending" }),
          ),
        );
        break;
      case "ask":
        check(wire.frame("agent", request(`ask ${left.questions--}`, "session/request_permission", QUESTION)));
        break;
      case "late": {
        left.late--;
        const outcome = check(wire.frame("agent", reply(settledIds.at(-1), { stopReason: "end_turn" })));
        assert.deepEqual([outcome.toAgent, outcome.toClient], [[], []], "I4: a settled id is settled");
        break;
      }
      case "exit":
        exited = true;
        check(wire.event({ type: "agent-exit", code: 1, signal: null }));
        assert.ok(wire.over, "the bridge ends when the agent is gone");
        checkEnded();
        break;
      case "timer": {
        const [next] = [...wire.timers].sort(([, one], [, other]) => one - other);
        if (next?.[0].startsWith("cancel ") && running !== undefined) running.cancelled = true;
        const outcome = wire.nextTimer();
        if (outcome !== undefined) check(outcome);
        break;
      }
      default:
        agentAnswersCall(what, Number(name));
    }
  }

  /** The client gives up what runs: from here on only `cancelled` is right, unless the agent has answered already. */
  function cancelled(): void {
    const atAgent = running ?? [...prompts.values()].findLast((turn) => !turn.ended);
    if (atAgent !== undefined && !atAgent.ended && (atAgent.answer === undefined || wasBusy(atAgent)))
      atAgent.cancelled = true;
  }

  function chunk(): void {
    const n = ++lastChunk;
    left.chunks--;
    const { toClient, logs } = check(wire.frame("agent", agentText(`<${n}>`)));
    const told = toClient
      .flatMap((frame): JsonObject[] => [updateIn(frame) ?? []].flat())
      .filter((update) => update["content"] !== undefined);
    const chunks = told.filter((update) => update["sessionUpdate"] === "agent_message_chunk");
    // One frame in, one out in the same step: nothing can overtake it (I1), and it is not lost (I2).
    if (chunks.length === 0) assert.ok(closing && logs.length > 0, "I2: a chunk is lost without a record");
    else assert.deepEqual(asObject(chunks[0])["content"], { type: "text", text: `<${n}>` });
    assert.ok(chunks.length <= 1);
  }

  function agentAnswersCall(how: string, id: number): void {
    const turn = prompts.get(id);
    settledIds.push(id);
    const answer =
      how === "error"
        ? fail(id, -32603)
        : how === "busy"
          ? fail(id, -32603, "session is busy with another prompt")
          : reply(id, how === "done" ? {} : { stopReason: how });
    if (turn !== undefined) {
      if (how === "busy") left.busy--;
      if (!turn.ended) {
        turn.answer = answer as JsonObject;
        if (how === "cancelled") turn.cancelled = true;
      }
    }
    check(wire.frame("agent", answer as JsonObject));
  }

  // ---- The end.

  function checkEnded(): void {
    checkSettled(wire);
    assert.equal(state, "idle", "I7: the client is told that all is over");
    for (const turn of turns) assert.ok(turn.ended, "I7: each turn has its end");
  }

  function drain(): void {
    if (clientGone && !wire.over) take("exit");
    for (let round = 0; round < 60 && !wire.over; round++) {
      const [call] = wire.calls.agent.keys();
      const [question] = questions;
      if (question !== undefined) take(`allow ${question}`);
      else if (call !== undefined) take(`${prompts.has(call) ? "end_turn" : "done"} ${call}`);
      else if (wire.timers.size > 0) take("timer");
      else break;
    }
    checkEnded();
  }

  check(wire.frame("client", request("hello", "initialize", clientHello)));
  check(wire.frame("agent", reply(1, agentHello)));
  check(wire.frame("client", request("new", "session/new", { cwd: "/work" })));
  check(wire.frame("agent", reply(2, { sessionId: "s1" })));

  return {
    choices,
    take,
    drain,
    key: () =>
      JSON.stringify([
        wire.key(),
        turns,
        left,
        state,
        clientGone,
        closing,
        closed,
        [...prompts.keys()],
        questions,
        lastChunk,
      ]) + settledIds.at(-1),
  };
}

/** A busy agent is asked again: that was no answer. */
function wasBusy({ answer }: Turn): boolean {
  return String(asObject(answer?.["error"])["message"]).includes("busy");
}

const QUESTION = {
  sessionId: "s1",
  toolCall: { toolCallId: "t", title: "T" },
  options: [
    { optionId: "yes", name: "Yes", kind: "allow_once" },
    { optionId: "no", name: "No", kind: "reject_once" },
  ],
};
