// Guards docs/mapping.md §0 and §13 with random v2 agents: whatever one does, a v1 client gets valid v1 frames (the
// dialogue validates each), one answer to each of its requests, under its own id, and, from an agent by the book, each
// message once and each prompt's own ending.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import { anyJson, validV2 } from "../support/arbitrary.ts";
import "../support/seed.ts";
import {
  agentText,
  type Dialogue,
  fail,
  idle,
  notify,
  type Outcome,
  openDowngrade,
  reply,
  request,
  stateUpdate,
  text,
  update,
} from "../support/dialogue.ts";

const runs = Number(process.env["ACP_SHIFT_PROPERTY_RUNS"] ?? 60);

/** A world of one client, one agent, and what passes between them. */
interface World {
  dialogue: Dialogue;
  /** The client's requests that have no answer, and the answers to all of them. */
  asked: Set<unknown>;
  answers: Map<unknown, JsonObject[]>;
  /** The agent's requests that the client has not answered. */
  questions: JsonObject[];
  /** What the agent was asked and has not answered. */
  todo: JsonObject[];
  updates: JsonObject[];
  nextId: number;
}

function createWorld(capabilities: object): World {
  return {
    dialogue: openDowngrade(capabilities),
    asked: new Set(),
    answers: new Map(),
    questions: [],
    todo: [],
    updates: [],
    nextId: 1,
  };
}

function take(world: World, outcome: Outcome): void {
  for (const frame of outcome.toClient) {
    if (frame["method"] === "session/update") world.updates.push(asObject(asObject(frame["params"])["update"]));
    else if ("method" in frame && "id" in frame) world.questions.push(frame);
    else if (!("method" in frame)) world.answers.set(frame["id"], [...(world.answers.get(frame["id"]) ?? []), frame]);
  }
  for (const frame of outcome.toAgent) if ("method" in frame && "id" in frame) world.todo.push(frame);
}

function ask(world: World, method: string, params: JsonObject): void {
  const id = world.nextId++ % 2 === 0 ? world.nextId : `c${world.nextId}`;
  world.asked.add(id);
  take(world, world.dialogue.client(request(id, method, params)));
}

/** Every request has just one answer once all is over. */
function allAnswered(world: World): void {
  take(world, world.dialogue.event({ type: "agent-exit", code: 0, signal: null }));
  expect([...world.answers.keys()].sort()).toEqual([...world.asked].sort());
  for (const answers of world.answers.values()) expect(answers).toHaveLength(1);
}

const session = { sessionId: "s1" };
const setup = { ...session, cwd: "/work", mcpServers: [] };
const messageIds = fc.constantFrom("u1", "u2", "m1", "m2");
const blocks = fc.array(
  fc.constantFrom(text("a"), text("ab"), { type: "image", data: "AAAA", mimeType: "image/png" }),
  {
    maxLength: 3,
  },
);

type Move = (world: World) => void;

const fromAgent =
  (frame: unknown): Move =>
  (world) =>
    take(world, world.dialogue.agent(frame));

/** What a client may do, in its own time. */
const clientMoves: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constant((world: World) => ask(world, "session/prompt", { ...session, prompt: [text("hi")] })),
  },
  fc.constant((world: World) => take(world, world.dialogue.client(notify("session/cancel", session)))),
  fc.constantFrom<Move>(
    (world) => ask(world, "session/load", setup),
    (world) => ask(world, "session/resume", setup),
    (world) => ask(world, "session/close", session),
    (world) => ask(world, "session/set_mode", { ...session, modeId: "x" }),
    (world) => ask(world, "session/list", {}),
  ),
  fc.nat(5).map((which) => (world: World) => {
    const requestId = [...world.asked].at(-which);
    take(world, world.dialogue.client(notify("$/cancel_request", { requestId: requestId ?? "none" })));
  }),
  fc.tuple(fc.nat(3), anyJson).map(([which, result]) => (world: World) => {
    const [question] = world.questions.splice(which, 1);
    if (question !== undefined) take(world, world.dialogue.client(reply(question["id"], result ?? {})));
  }),
);

/** What an agent may do, sense or none. */
const agentMoves: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(fc.nat(2), messageIds).map(([which, messageId]) => (world: World) => {
      const [todo] = world.todo.splice(which, 1);
      if (todo === undefined) return;
      const results: Record<string, unknown> = {
        "session/prompt": { messageId },
        "session/new": session,
        "session/list": { sessions: [] },
        "session/set_config_option": { configOptions: [] },
      };
      take(world, world.dialogue.agent(reply(todo["id"], results[String(todo["method"])] ?? {})));
    }),
  },
  fc.nat(2).map((which) => (world: World) => {
    const [todo] = world.todo.splice(which, 1);
    if (todo !== undefined) take(world, world.dialogue.agent(fail(todo["id"], -32603)));
  }),
  {
    weight: 3,
    arbitrary: fc.constantFrom("running", "requires_action", "_odd").map((state) => fromAgent(stateUpdate(state))),
  },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom<object>({}, { stopReason: "end_turn" }, { stopReason: "cancelled" }, { stopReason: "error" })
      .map((fields) => fromAgent(idle(fields))),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom("user_message", "agent_message", "agent_thought"), messageIds, blocks)
      .map(([sessionUpdate, messageId, content]) => fromAgent(update("s1", { sessionUpdate, messageId, content }))),
  },
  { weight: 8, arbitrary: validV2("SessionUpdate").map((fields) => fromAgent(update("s1", fields))) },
  anyJson.map((fields) => fromAgent(update("s1", fields))),
  validV2("RequestPermissionRequest").map((params) =>
    fromAgent(request("session/request_permission", "session/request_permission", { ...asObject(params), ...session })),
  ),
  fc
    .tuple(fc.constantFrom("session/request_permission", "elicitation/create", "_x/y"), anyJson)
    .map(([method, params]) => fromAgent(request(method, method, params))),
  anyJson.map((params) => fromAgent(reply(99, params))),
);

const waits: fc.Arbitrary<Move> = fc
  .constantFrom(10, 1000, 2000, 40_000)
  .map((ms) => (world: World) => take(world, world.dialogue.wait(ms)));

const CLIENTS: [string, object][] = [
  ["a plain client", {}],
  [
    "a client that can show all there is",
    {
      session: { notices: {}, compaction: {}, configOptions: { boolean: {} } },
      elicitation: { form: {}, url: {} },
      _meta: { terminal_output: true },
    },
  ],
];

test.each(CLIENTS)("%s gets valid frames and one answer to each request from any agent", (_, capabilities) => {
  const moves = fc.array(fc.oneof({ weight: 2, arbitrary: clientMoves }, { weight: 5, arbitrary: agentMoves }, waits), {
    maxLength: 60,
    size: "max",
  });
  fc.assert(
    fc.property(moves, (played) => {
      const world = createWorld(capabilities);
      for (const move of played) move(world);
      expect(
        world.dialogue.bridge.effects.filter((effect) => effect.type === "log" && effect.level === "error"),
      ).toEqual([]);
      allAnswered(world);
    }),
    { numRuns: runs },
  );
});

/** A turn of an agent by the book: in what order it begins, what it says, and how it ends. */
interface BookTurn {
  order: readonly ("accept" | "echo" | "running")[];
  /** Where in its work it accepts the prompt at last, if not at the beginning. */
  late: boolean;
  parts: { id: number; words: string; whole: boolean }[];
  stop: "end_turn" | "max_tokens" | "refusal" | "error";
}

const bookTurn: fc.Arbitrary<BookTurn> = fc.record({
  order: fc.shuffledSubarray(["accept", "echo", "running"] as const, { minLength: 3 }),
  late: fc.boolean(),
  parts: fc.array(fc.record({ id: fc.nat(2), words: fc.constantFrom("a", "b ", "ab"), whole: fc.boolean() }), {
    maxLength: 8,
  }),
  stop: fc.constantFrom("end_turn", "max_tokens", "refusal", "error"),
});

describe("an agent by the book", () => {
  test("each prompt ends as its idle says, after all that was said, and each message is read once", () => {
    fc.assert(
      fc.property(fc.array(bookTurn, { minLength: 1, maxLength: 5 }), fc.boolean(), (turns, impatient) => {
        const world = createWorld({});
        if (impatient) for (const _ of turns) ask(world, "session/prompt", { ...session, prompt: [text("hi")] });
        const ids: unknown[] = [];
        for (const [index, turn] of turns.entries()) {
          if (!impatient) ask(world, "session/prompt", { ...session, prompt: [text("hi")] });
          ids.push([...world.asked][index]);
          playTurn(world, turn, index);
          // Answered, and by what was said before it.
          const [answer] = world.answers.get(ids[index]) ?? [];
          if (turn.stop === "error") expect(answer).toHaveProperty("error");
          else expect(answer).toMatchObject({ result: { stopReason: turn.stop } });
          expect(world.answers.size).toBe(index + 1);
        }
        allAnswered(world);
        expect(readBy(world.updates)).toEqual(saidIn(turns));
        expect(world.updates.map((update) => update["sessionUpdate"])).not.toContain("user_message_chunk");
      }),
      { numRuns: runs },
    );
  });
});

function playTurn(world: World, { order, late, parts, stop }: BookTurn, index: number): void {
  const send = (frame: unknown) => take(world, world.dialogue.agent(frame));
  const messageId = `u${index}`;
  const accept = () => {
    const todo = world.todo.shift();
    expect(todo).toMatchObject({ method: "session/prompt" });
    send(reply(todo?.["id"], { messageId }));
  };
  const steps = {
    accept: () => (late ? undefined : accept()),
    echo: () => send(update("s1", { sessionUpdate: "user_message", messageId, content: [text("hi")] })),
    running: () => send(stateUpdate("running")),
  };
  for (const step of order) steps[step]();
  const said = new Map<number, string>();
  for (const { id, words, whole } of parts) {
    said.set(id, (said.get(id) ?? "") + words);
    const name = `t${index}m${id}`;
    if (whole)
      send(update("s1", { sessionUpdate: "agent_message", messageId: name, content: [text(said.get(id) ?? "")] }));
    else send(agentText(words, name));
  }
  send(idle(stop === "error" ? { stopReason: stop, error: { code: 1, message: "no" } } : { stopReason: stop }));
  if (late) accept();
}

function saidIn(turns: readonly BookTurn[]): Map<string, string> {
  const said = new Map<string, string>();
  for (const [index, { parts }] of turns.entries())
    for (const { id, words } of parts) said.set(`t${index}m${id}`, (said.get(`t${index}m${id}`) ?? "") + words);
  return said;
}

function readBy(updates: readonly JsonObject[]): Map<string, string> {
  const read = new Map<string, string>();
  for (const { messageId, content } of updates)
    read.set(String(messageId), (read.get(String(messageId)) ?? "") + String(asObject(content)["text"]));
  return read;
}
