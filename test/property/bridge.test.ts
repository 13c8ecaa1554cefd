// Guards the invariants I1 to I7 of docs/mapping.md §0 under random interleavings of a random client, a random agent,
// the passing of time and the death of either. ACP_SHIFT_PROPERTY_RUNS sets how many are tried.

import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "vitest";
import { step } from "../../src/bridge/bridge.ts";
import { createBridge } from "../../src/bridge/state.ts";
import type { JsonObject } from "../../src/protocol/json.ts";
import {
  agentHello,
  clientHello,
  openDialogue,
  reply,
  request,
  startPrompt,
  testOptions,
  update,
} from "../support/dialogue.ts";
import { type Mutation, mutate, mutations } from "./frames.ts";
import { type Act, createWorld, type Move, type Setting, stateSize } from "./world.ts";

const runs = Number(process.env["ACP_SHIFT_PROPERTY_RUNS"] ?? 200);

const ACTS: [Act, number][] = [
  ["prompt", 8],
  ["cancel", 2],
  ["cancel-request", 1],
  ["client-answer", 4],
  ["set-config", 2],
  ["new", 3],
  ["close", 1],
  ["delete", 1],
  ["resume", 2],
  ["list", 1],
  ["ext", 1],
  ["client-junk", 1],
  ["update", 12],
  ["agent-request", 5],
  ["agent-answer", 9],
  ["agent-odd-answer", 2],
  ["agent-late-answer", 1],
  ["agent-cancel-request", 1],
  ["agent-notification", 1],
  ["agent-junk", 1],
  ["time", 5],
];
const acts = fc.oneof(...ACTS.map(([act, weight]) => ({ weight, arbitrary: fc.constant(act) })));

const moves = (spoil: fc.Arbitrary<Move["mutations"]>): fc.Arbitrary<Move[]> =>
  fc.array(fc.record({ act: acts, which: fc.nat(50), what: fc.nat(200), mutations: spoil }), {
    maxLength: 60,
    size: "max",
  });

const settings: fc.Arbitrary<Setting> = fc.record({
  settle: fc.constantFrom(0, 50),
  acceptWindow: fc.constantFrom(0, 50),
  cancelTimeout: fc.constantFrom(0, 30_000),
  restatedMessages: fc.constantFrom("keep" as const, "drop" as const),
  capable: fc.boolean(),
});

const clean = fc.constant<Move["mutations"]>([]);
const spoilt = fc.oneof({ weight: 2, arbitrary: clean }, { weight: 1, arbitrary: mutations });

describe("between random peers", () => {
  test("everything is answered once both have said all there is to say", () => {
    fc.assert(
      fc.property(settings, moves(clean), (setting, played) => {
        const world = createWorld(setting);
        for (const move of played) world.play(move);
        world.settleDown();
        world.end(false);
      }),
      { numRuns: runs },
    );
  });

  test("everything is answered when the agent dies, or the client leaves, at any point", () => {
    fc.assert(
      fc.property(settings, moves(clean), fc.boolean(), (setting, played, clientLeftFirst) => {
        const world = createWorld(setting);
        for (const move of played) world.play(move);
        world.end(clientLeftFirst);
      }),
      { numRuns: runs },
    );
  });

  test("frames spoilt in any way neither crash it nor make it send what is invalid", () => {
    fc.assert(
      fc.property(settings, moves(spoilt), (setting, played) => {
        const world = createWorld(setting);
        for (const move of played) world.play(move);
        world.end(false);
      }),
      { numRuns: runs },
    );
  });
});

describe("negotiation", () => {
  const hello = fc.record({
    from: fc.constantFrom("client" as const, "agent" as const, "timer" as const),
    what: fc.nat(5),
    mutations: fc.oneof(clean, mutations),
  });

  test("however it goes wrong, every request gets one answer and nothing crashes", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("auto", "1", "2"),
        fc.array(hello, { maxLength: 12, size: "max" }),
        (agentProtocol, moves) => {
          const bridge = createBridge({ ...testOptions, agentProtocol });
          const open = new Set<unknown>();
          const calls: unknown[] = [];
          let id = 0;
          let over = false;
          const give = (event: Parameters<typeof step>[1]) => {
            for (const effect of step(bridge, event, 0)) {
              if (effect.type === "done") over = true;
              if (effect.type !== "send") continue;
              const frame = effect.frame as unknown as JsonObject;
              if (effect.to === "agent" && "method" in frame && "id" in frame) calls.push(frame["id"]);
              if (effect.to === "client" && !("method" in frame) && frame["id"] !== null)
                assert.ok(open.delete(frame["id"]), "I5: answered twice");
            }
          };
          for (const { from, what, mutations } of moves) {
            if (over) break;
            if (from === "timer") {
              if (what === 0) give({ type: "timer", name: "handshake" });
              continue;
            }
            const value =
              from === "client" ? clientSays(++id, what, mutations) : agentSays(calls.shift() ?? 999, what, mutations);
            if (from === "client") open.add(value["id"]);
            give({ type: "frame", from, value, line: new TextEncoder().encode(JSON.stringify(value)) });
            // What passes through is the agent's to answer.
            if (bridge.pairing === "pass-through") return;
          }
          if (!over) give({ type: "agent-exit", code: 0, signal: null });
          assert.deepEqual([...open], [], "I5: a request without an answer");
        },
      ),
      { numRuns: runs },
    );
  });

  function clientSays(id: number, what: number, changes: Mutation[]): JsonObject {
    if (what === 5) return request(id, "session/list", {});
    const params = { ...clientHello, protocolVersion: [2, 2, 3, 1, 0][what] };
    return { ...request(id, "initialize"), params: mutate(params, changes) };
  }

  function agentSays(id: unknown, what: number, changes: Mutation[]): JsonObject {
    if (what === 5) return { jsonrpc: "2.0", id, error: { code: -32602, message: "no" } };
    const v2 = { protocolVersion: 2, info: { name: "agent", version: "1" }, capabilities: { session: {} } };
    return { ...reply(id, undefined), result: mutate(what === 4 ? v2 : agentHello, changes) };
  }
});

describe("memory", () => {
  const part = fc.record({
    kind: fc.constantFrom("agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "tool_call"),
    given: fc.boolean(),
  });
  const turns = fc.array(fc.array(part, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 6 });
  const restated = fc.constantFrom("keep" as const, "drop" as const);

  test("does not grow with the length of messages or the number of updates", () => {
    fc.assert(
      fc.property(turns, restated, fc.boolean(), (played, restatedMessages, replayed) => {
        const entities = played.flat().length + played.length;
        const [short, long] = [2, 40].map((chunks) => sizeAfter(played, chunks, restatedMessages, replayed));
        // Counters may gain digits; the texts differ by thousands of characters.
        assert.ok(Math.abs(Number(long) - Number(short)) < 40 * entities, `I6: ${short} bytes, then ${long}`);
      }),
      { numRuns: Math.ceil(runs / 4) },
    );
  });

  /** The size of the state after turns in which each part comes in so many pieces of 100 characters. */
  function sizeAfter(
    played: { kind: string; given: boolean }[][],
    chunks: number,
    restatedMessages: "keep" | "drop",
    replayed: boolean,
  ): number {
    const dialogue = openDialogue({ acceptWindow: 0, restatedMessages });
    let n = 0;
    const resume = replayed
      ? dialogue.client(
          request("resume", "session/resume", { sessionId: "s1", cwd: "/work", replayFrom: { type: "start" } }),
        )
      : undefined;
    for (const parts of played) {
      const prompt = replayed ? undefined : startPrompt(dialogue, ++n, "x".repeat(50));
      for (const { kind, given } of parts) {
        n++;
        for (let piece = 0; piece < chunks; piece++) dialogue.agent(update("s1", pieceOf(kind, given, n, piece)));
      }
      if (prompt !== undefined) dialogue.agent(reply(prompt, { stopReason: "end_turn" }));
    }
    if (resume !== undefined) {
      dialogue.agent(reply(resume.toAgent[0]?.["id"], {}));
      dialogue.fire("quiet s1");
    }
    return stateSize(dialogue.bridge);
  }

  function pieceOf(kind: string, given: boolean, n: number, piece: number): JsonObject {
    const words = `${String(n * 1000 + piece).padStart(6, "0")} `.repeat(14);
    if (kind !== "tool_call")
      return { sessionUpdate: kind, content: { type: "text", text: words }, ...(given && { messageId: `given${n}` }) };
    const content = [{ type: "diff", path: "/work/a.txt", oldText: null, newText: words }];
    return {
      sessionUpdate: kind,
      toolCallId: `tool${n}`,
      title: "Write",
      status: "in_progress",
      rawInput: words,
      content,
    };
  }
});
