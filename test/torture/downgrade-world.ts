// The turn engine of a v1 client over a v2 agent as a closed world, for the model checker: the other way round
// (docs/mapping.md §13).
import assert from "node:assert/strict";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import {
  agentHelloV2,
  agentText,
  clientHelloV1,
  fail,
  idle,
  notify,
  prompt,
  reply,
  request,
  stateUpdate,
  text,
  update,
} from "../support/dialogue.ts";
import type { World } from "./explore.ts";
import type { Limits } from "./upgrade-world.ts";
import { checkSettled, createWire, type Outcome, updateIn } from "./wire.ts";

/** A prompt of the client's, from the moment the agent was asked. */
interface Turn {
  cancelled: boolean;
  /** The stop reasons of what the agent said since. */
  idles: unknown[];
}

export function downgradeWorld(limits: Limits): World {
  const wire = createWire({ agentProtocol: "2" }, { client: "v1", agent: "v2" });
  const left = { ...limits, close: 1, withdraw: 1, late: 1, works: 2, idles: 2, echo: 1 };
  /** The prompts that have been sent to the agent, by the client's id for them. */
  const turns = new Map<string, Turn>();
  /** The client's prompts without an answer, in the order they came: the first is the one that runs. */
  const waiting: string[] = [];
  /** The client's id of the prompt that each call of the agent's is for. */
  const prompts = new Map<number, string>();
  const questions: number[] = [];
  const settledIds: number[] = [];
  let clientGone = false;
  let exited = false;
  /** Whether a close is under way, and done. */
  let closing = false;
  let closed = false;
  let accepted = 0;
  let lastChunk = 0;

  // ---- What must hold.

  function check(outcome: Outcome): Outcome {
    for (const [to, frame] of outcome.sent) (to === "client" ? clientGets : agentGets)(frame);
    return outcome;
  }

  function agentGets(frame: JsonObject): void {
    if (frame["method"] === "session/prompt") {
      const [id] = waiting;
      assert.ok(id !== undefined && !turns.has(id), "the prompt that is next, and once");
      assert.deepEqual(asObject(frame["params"])["prompt"], [text(id)], "I1: prompts keep their order");
      turns.set(id, { cancelled: false, idles: [] });
      prompts.set(Number(frame["id"]), id);
    } else if (frame["method"] === "session/cancel") {
      const turn = turns.get(waiting[0] ?? "");
      if (turn !== undefined) turn.cancelled = true;
    }
  }

  function clientGets(frame: JsonObject): void {
    const { id } = frame;
    if ("method" in frame) {
      if ("id" in frame) questions.push(Number(id));
      assert.ok(!closed || updateIn(frame) === undefined, "an update of a closed session");
      return;
    }
    if (id === "close") {
      closed = "result" in frame;
      closing = false;
    }
    const position = waiting.indexOf(String(id));
    if (position < 0) return;
    waiting.splice(position, 1);
    const turn = turns.get(String(id));
    if (exited) return;
    if (turn === undefined) return checkUnsent(frame);
    assert.equal(position, 0, "I1: prompts end in their order");
    const { stopReason } = asObject(frame["result"]);
    if (turn.cancelled) assert.equal(stopReason, "cancelled", "I7: a cancelled prompt ends as cancelled");
    else if ("error" in frame) assert.ok(turn.idles.includes("error") || refused === id, "I7: an error of the agent's");
    else assert.ok(turn.idles.includes(stopReason) || closing || closed, "I7: it ended as the agent said");
  }

  /** A prompt the agent never had ends because the client gave it up, or the session is gone. */
  function checkUnsent(frame: JsonObject): void {
    if ("error" in frame) return;
    assert.equal(asObject(frame["result"])["stopReason"], "cancelled");
    assert.ok(left.cancels < limits.cancels || closing || closed, "I7: nobody cancelled it");
  }

  // ---- What can happen.

  function choices(): string[] {
    if (wire.over) return [];
    const open = [...wire.asked.client].filter(([, method]) => method === "session/prompt").map(([id]) => String(id));
    const client = clientGone
      ? []
      : [
          ...(left.prompts > 0 ? ["prompt"] : []),
          ...(left.cancels > 0 ? ["cancel"] : []),
          ...(left.close > 0 ? ["close"] : []),
          ...(left.withdraw > 0 ? open.map((id) => `withdraw ${id}`) : []),
          ...questions.map((id) => `allow ${id}`),
          "leave",
        ];
    const calls = [...wire.calls.agent.keys()].flatMap((id) =>
      prompts.has(id) ? [`accept ${id}`, `refuse ${id}`] : [`done ${id}`],
    );
    const agent = [
      ...calls,
      ...(left.works > 0 ? ["works"] : []),
      ...(left.idles > 0 ? ["idle end_turn", "idle cancelled", "idle error"] : []),
      ...(left.echo > 0 ? ["echo"] : []),
      ...(left.chunks > 0 ? ["chunk"] : []),
      ...(left.questions > 0 ? ["ask"] : []),
      ...(left.late > 0 && settledIds.length > 0 ? ["late"] : []),
      "exit",
    ];
    return [...client, ...agent, ...(wire.timers.size > 0 ? ["timer"] : [])];
  }

  let refused: string | undefined;

  function take(choice: string): void {
    const [what = "", ...rest] = choice.split(" ");
    const name = rest.join(" ");
    switch (what) {
      case "prompt": {
        const id = `prompt ${left.prompts--}`;
        waiting.push(id);
        check(wire.frame("client", prompt(id, id)));
        break;
      }
      case "cancel":
        left.cancels--;
        check(wire.frame("client", notify("session/cancel", { sessionId: "s1" })));
        break;
      case "close":
        left.close--;
        closing = true;
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
      case "accept":
        settledIds.push(Number(name));
        check(wire.frame("agent", reply(Number(name), { messageId: `u${++accepted}` })));
        break;
      case "refuse":
        settledIds.push(Number(name));
        refused = prompts.get(Number(name));
        check(wire.frame("agent", fail(Number(name), -32603)));
        break;
      case "done":
        settledIds.push(Number(name));
        check(wire.frame("agent", reply(Number(name), {})));
        break;
      case "works":
        left.works--;
        check(wire.frame("agent", stateUpdate("running")));
        break;
      case "idle":
        left.idles--;
        turns.get(waiting[0] ?? "")?.idles.push(name);
        check(wire.frame("agent", idle({ stopReason: name, ...(name === "error" && { error: ERROR }) })));
        break;
      case "echo":
        left.echo--;
        check(
          wire.frame(
            "agent",
            update("s1", { sessionUpdate: "user_message", messageId: `u${accepted + 1}`, content: [text("prompt")] }),
          ),
        );
        break;
      case "chunk":
        chunk();
        break;
      case "ask":
        check(wire.frame("agent", request(`ask ${left.questions--}`, "session/request_permission", QUESTION)));
        break;
      case "late": {
        left.late--;
        const outcome = check(wire.frame("agent", reply(settledIds.at(-1), { messageId: "late" })));
        assert.deepEqual(outcome.sent, [], "I4: a settled id is settled");
        break;
      }
      case "exit":
        exited = true;
        check(wire.event({ type: "agent-exit", code: 1, signal: null }));
        assert.ok(wire.over, "the bridge ends when the agent is gone");
        checkEnded();
        break;
      default: {
        const [next] = [...wire.timers].sort(([, one], [, other]) => one - other);
        if (next?.[0].startsWith("cancel ")) for (const turn of turns.values()) turn.idles.push("cancelled");
        const outcome = wire.nextTimer();
        if (outcome !== undefined) check(outcome);
      }
    }
  }

  function chunk(): void {
    const n = ++lastChunk;
    left.chunks--;
    const { toClient, logs } = check(wire.frame("agent", agentText(`<${n}>`, "m1")));
    const chunks = toClient
      .flatMap((frame): JsonObject[] => [updateIn(frame) ?? []].flat())
      .filter((update) => update["sessionUpdate"] === "agent_message_chunk");
    if (chunks.length === 0) assert.ok(closed && logs.length > 0, "I2: a chunk is lost without a record");
    else assert.deepEqual(chunks[0]?.["content"], text(`<${n}>`));
    assert.ok(chunks.length <= 1);
  }

  // ---- The end.

  function checkEnded(): void {
    checkSettled(wire);
    assert.deepEqual(waiting, [], "I5: a prompt without an answer");
  }

  function drain(): void {
    if (clientGone && !wire.over) take("exit");
    for (let round = 0; round < 60 && !wire.over; round++) {
      const [call] = wire.calls.agent.keys();
      const [question] = questions;
      if (question !== undefined) take(`allow ${question}`);
      else if (call !== undefined) {
        take(`${prompts.has(call) ? "accept" : "done"} ${call}`);
      } else if (waiting.length > 0 && turns.has(waiting[0] ?? "")) {
        take("works");
        take("idle end_turn");
      } else if (wire.timers.size > 0) take("timer");
      else break;
    }
    checkEnded();
  }

  check(wire.frame("client", request("hello", "initialize", clientHelloV1)));
  check(wire.frame("agent", reply(1, agentHelloV2)));
  check(wire.frame("client", request("new", "session/new", { cwd: "/work", mcpServers: [] })));
  check(wire.frame("agent", reply(2, { sessionId: "s1" })));

  return {
    choices,
    take,
    drain,
    key: () =>
      JSON.stringify([
        [wire.key(), [...turns], left, waiting, [...prompts], questions, settledIds.at(-1)],
        [clientGone, closing, closed, accepted, lastChunk, refused],
      ]),
  };
}

const ERROR = { code: -32603, message: "failed" };

const QUESTION = {
  sessionId: "s1",
  title: "May I?",
  subject: { type: "tool_call", toolCall: { toolCallId: "t", title: "T" } },
  options: [
    { optionId: "yes", name: "Yes", kind: "allow_once" },
    { optionId: "no", name: "No", kind: "reject_once" },
  ],
};
