// What every agent is put through, step by step, and what a v2 client must see of it. A step fails by throwing; what it
// gives is what the compatibility table says.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { asArray, asObject, type JsonObject } from "../../src/protocol/json.ts";
import { stateOf, type Turn, turnFrom, updateOf, updatesIn } from "../support/conversation.ts";
import { marker } from "./model/script.ts";
import { FILES, PLAN, type Purpose } from "./model/tool-arguments.ts";
import { USUAL, type Ways } from "./registry.ts";
import { type Connection, framesFrom, openSession, type Session, type Stage, say } from "./stage.ts";
import { fold, type Item, type View } from "./view.ts";

/** Whether the agent itself has it, or acp-shift made it from something else; and a word on it. */
export interface Finding {
  how: "native" | "synthesised";
  note?: string;
}

/** What the steps of one agent share. */
export interface Course {
  stage: Stage;
  connection: Connection;
  session: Session;
  /** A second session, and what the client saw of it while it was open. */
  second?: { session: Session; shown: Item[]; ids: string[] };
}

type Step = (course: Course) => Promise<Finding>;

/** In the order they are taken. The first opens the connection, the last ends it. */
export const STEPS = {
  text: async (course) => {
    const turn = await prompt(course, "text");
    expect(timeline(turn)).toEqual(conversation("text", message("Hello from the stand-in model.")));
    return native(idsOf(course, turn));
  },

  thoughts: async (course) => {
    const shown = timeline(await prompt(course, "think"));
    expect(kinds(shown)).toEqual(["user_message", "state running", "agent_thought", "agent_message", "state idle"]);
    expect(shown[2]).toMatchObject({ text: expect.stringContaining("Thinking") });
    expect(shown[3]).toEqual(message("Thought it over."));
    return native();
  },

  "tool: read": (course) => tool(course, "read", "completed"),

  "tool: run": async (course) => {
    const finding = await tool(course, "run", "completed");
    expect(existsSync(inWork(course, FILES.made.name))).toBe(true);
    return finding;
  },

  "tool: write": async (course) => {
    const finding = await tool(course, "write", "completed");
    expect(readFileSync(inWork(course, FILES.written.name), "utf8")).toBe(FILES.written.text);
    return finding;
  },

  "tool: edit": async (course) => {
    const finding = await tool(course, "edit", "completed");
    expect(readFileSync(inWork(course, FILES.read.name), "utf8")).toBe(FILES.edited);
    return finding;
  },

  "tool: missing file": (course) => tool(course, "missing", ways(course).missing),

  "two tools at once": async (course) => {
    const { calls } = await callTools(course, "read+run");
    expect(calls.map(({ status }) => status)).toEqual(["completed", "completed"]);
    return native();
  },

  plan: async (course) => {
    const shown = timeline(await prompt(course, "plan"));
    const plans = shown.filter((item) => item.type === "plan");
    expect(plans).toHaveLength(1);
    expect(plans[0]?.entries.join("\n")).toContain(PLAN[0]);
    return native();
  },

  // Early: some agents take their time to keep what was said, and this session is resumed later.
  "two sessions at once": async (course) => {
    const { stage, connection } = course;
    const session = await openSession(stage, connection);
    expect(session.id).not.toBe(course.session.id);
    const { turn: held } = await hold(course);
    const turn = await say(connection, session, marker("text"));
    expect(timeline(turn)).toEqual(conversation("text", message("Hello from the stand-in model.")));
    stage.model.release();
    expect(timeline(await held)).toEqual(conversation("hold", message("Holding on no more.")));
    course.second = { session, shown: contents(timeline(turn)), ids: messageIds(turn.updates) };
    return native();
  },

  "permission allowed": async (course) => {
    const { turn } = await askPermission(course, "allow_once");
    expect(existsSync(inWork(course, FILES.made.name))).toBe(true);
    expect(turn.idle["stopReason"]).toBe("end_turn");
    return native();
  },

  "permission refused": async (course) => {
    const { turn, calls } = await askPermission(course, "reject_once");
    expect(existsSync(inWork(course, FILES.made.name))).toBe(false);
    expect(turn.idle["stopReason"]).toBe(ways(course).refusal);
    await stillWorks(course);
    return native(`the tool call ends as ${calls.at(-1)?.status}, the turn as ${turn.idle["stopReason"]}`);
  },

  "cancel while streaming": async (course) => {
    const { turn } = await hold(course);
    course.connection.bridge.notify("session/cancel", { sessionId: course.session.id });
    expect((await turn).idle).toMatchObject({ stopReason: "cancelled" });
    // Not every agent hangs up on its model.
    course.stage.model.release();
    await stillWorks(course);
    return native();
  },

  "cancel at a permission": async (course) => {
    const { connection, session } = course;
    const from = connection.bridge.frames.length;
    connection.answer = "wait";
    const turn = prompt(course, "run");
    const ends = (frame: JsonObject) => stateOf(updateOf(frame, session.id) ?? {}) === "idle";
    const asks = (frame: JsonObject) => isPermissionRequest(frame) || ends(frame);
    const asked = await connection.bridge.next("permission request", asks, from);
    expect(asked).toMatchObject({ method: "session/request_permission" });
    connection.bridge.notify("session/cancel", { sessionId: session.id });
    connection.bridge.reply(asked["id"], { outcome: { outcome: "cancelled" } });
    const { idle, updates } = await turn;
    connection.answer = "allow_once";
    expect(idle).toMatchObject({ stopReason: "cancelled" });
    expect(openToolCalls(updates)).toEqual([]);
    await stillWorks(course);
    return native();
  },

  "cancel right after the prompt": async (course) => {
    const { connection, session, stage } = course;
    const turn = prompt(course, "hold");
    connection.bridge.notify("session/cancel", { sessionId: session.id });
    expect((await turn).idle).toMatchObject({ stopReason: "cancelled" });
    stage.model.release();
    await stillWorks(course);
    return native();
  },

  "second prompt while one runs": async (course) => {
    const { stage, connection } = course;
    const { turn: first } = await hold(course);
    const second = prompt(course, "text");
    // acp-shift answers in order: after this it has the second prompt.
    await connection.bridge.request("session/list", {});
    stage.model.release();
    const [one, two] = await Promise.all([first, second]);
    expect(timeline(one)).toEqual(conversation("hold", message("Holding on no more.")));
    expect(timeline(two)).toEqual(conversation("text", message("Hello from the stand-in model.")));
    return { how: "synthesised", note: "held until the first has ended" };
  },

  "model error": async (course) => {
    const { connection, session } = course;
    const from = connection.bridge.frames.length;
    const response = await connection.bridge.request("session/prompt", promptParams(session, "fail"));
    const way = ways(course).modelError;
    // An error that comes before the prompt counts as accepted is the prompt's own.
    if ("error" in response) expect(way).toBe("error");
    else {
      const { idle } = await turnFrom(connection.bridge, session.id, from, response);
      expect(idle["stopReason"]).toBe(way);
      if (way === "error") expect(asObject(idle["error"])["message"]).toEqual(expect.any(String));
    }
    await stillWorks(course);
    return native(way === "error" ? undefined : `told as ${way}`);
  },

  "modes, models, options": async (course) => {
    const { connection, session } = course;
    const options = asArray(session.result["configOptions"]).map(asObject);
    expect(options.length).toBeGreaterThan(0);
    for (const option of options) {
      const other = otherValue(option);
      if (other === undefined || String(option["configId"]) in ways(course).fixedOptions) continue;
      for (const value of [other, option["currentValue"]]) await setOption(connection, session, option, value);
    }
    const offered = asObject(agentsAnswer(connection, "session/new"));
    const made = ["modes", "models"].filter((state) => state in offered && offered["configOptions"] === undefined);
    const ids = options.map(({ configId }) => configId).join(", ");
    return made.length > 0 ? { how: "synthesised", note: `${ids}, from ${made.join(" and ")}` } : native(ids);
  },

  "slash command": async (course) => {
    const { connection, session } = course;
    const { command } = ways(course);
    const view = await connection.bridge.until("list of commands", () => {
      const now = viewOf(framesFrom(connection, 0));
      return now.commands && now;
    });
    if (!view.commands?.includes(command)) throw new Error(`/${command} is not among ${view.commands?.join(", ")}`);
    const turn = await say(connection, session, `/${command}`);
    expect(turn.idle["stopReason"]).toBe("end_turn");
    expect(kinds(timeline(turn))).toContain("agent_message");
    return native(`${view.commands.length} commands`);
  },

  list: async ({ connection, session, stage }) => {
    const cwd = stage.place.work;
    const { sessions } = await connection.bridge.call("session/list", { cwd });
    expect(sessions).toContainEqual(expect.objectContaining({ sessionId: session.id, cwd }));
    const elsewhere = await connection.bridge.call("session/list", { cwd: join(cwd, "elsewhere") });
    expect(elsewhere["sessions"]).toEqual([]);
    return whereAgentAnswers(connection, "session/list");
  },

  close: async (course) => {
    const { connection, session } = course;
    expect(await connection.bridge.call("session/close", { sessionId: session.id })).toBeDefined();
    await connection.bridge.fault("session/prompt", promptParams(session, "text"));
    return whereAgentAnswers(connection, "session/close");
  },

  "stdin closed while idle": async ({ stage, connection }) => {
    await stage.leave(connection);
    expect(await connection.bridge.exited()).toEqual({ code: 0, signal: null });
    return native();
  },

  "resume without replay": async (course) => {
    const { stage } = course;
    const { ageing } = stage.agent;
    ageing?.age(stage.home);
    course.connection = await connectInV1(stage);
    const { bridge } = course.connection;
    const from = bridge.frames.length;
    const sessionId = course.session.id;
    await bridge.call("session/resume", { sessionId, cwd: stage.place.work });
    const shown = kinds(viewOf(framesFrom(course.connection, from)).timeline);
    expect(shown.filter((kind) => !kind.startsWith("state"))).toEqual([]);
    await stillWorks(course);
    return resumedBy(course.connection, ageing?.reason);
  },

  "resume with replay": async (course) => {
    const { stage, connection, second } = course;
    if (second === undefined) throw new Error("there is no second session to resume");
    const from = connection.bridge.frames.length;
    const sessionId = second.session.id;
    await connection.bridge.call("session/resume", { sessionId, cwd: stage.place.work, replayFrom: { type: "start" } });
    const frames = framesFrom(connection, from);
    const replayed = contents(viewOf(frames).timeline);
    expectWithin(replayed, second.shown);
    expectWithin(messageIds(updatesIn(frames, sessionId)), second.ids);
    course.session = second.session;
    await stillWorks(course);
    if (!hasAnswer(connection, "session/load", sessionId))
      return { how: "synthesised", note: "from the state directory" };
    const more = replayed.length - second.shown.length;
    return native(more > 0 ? `and what it had not shown before (${more})` : undefined);
  },

  "stdin closed in a turn": async (course) => {
    const { stage, connection } = course;
    const { turn } = await hold(course);
    // The turn has no end that anybody would see.
    turn.catch(() => {});
    await stage.leave(connection);
    expect(await connection.bridge.exited()).toEqual({ code: 0, signal: null });
    return native();
  },
} satisfies Record<string, Step>;

export type StepName = keyof typeof STEPS;
export const STEP_NAMES = Object.keys(STEPS) as StepName[];

/** Connects to the agent in version 1, also when it speaks version 2. */
export function connectInV1(stage: Stage): Promise<Connection> {
  return stage.connect({ options: stage.agent.protocols.includes(2) ? ["--agent-protocol", "1"] : [] });
}

const native = (note?: string): Finding => ({ how: "native", ...(note !== undefined && { note }) });
const ways = ({ stage }: Course): Ways => ({ ...USUAL, ...stage.agent.ways });
const inWork = ({ stage }: Course, name: string) => join(stage.place.work, name);

function promptParams(session: Session, name: string): JsonObject {
  return { sessionId: session.id, prompt: [{ type: "text", text: marker(name) }] };
}

/** A turn with a marked prompt, of which everything holds that holds of every turn. */
async function prompt({ connection, session }: Course, name: string): Promise<Turn> {
  const { frames, ...said } = await say(connection, session, marker(name));
  // What came before belongs to the turn that ran when the prompt was sent.
  const begin = frames.findIndex((frame) => isUserMessage(frame, session, said.messageId));
  const turn = { ...said, frames: frames.slice(begin), updates: updatesIn(frames.slice(begin), session.id) };
  const states = turn.updates.map(stateOf).filter((state) => state !== undefined);
  expect(states.filter((state) => state === "idle")).toHaveLength(1);
  expect(
    turn.updates.filter(
      ({ sessionUpdate, messageId }) => sessionUpdate === "user_message" && messageId === turn.messageId,
    ),
  ).toHaveLength(1);
  const announced = new Set<unknown>();
  for (const update of turn.updates.filter(({ sessionUpdate }) => sessionUpdate === "tool_call_update")) {
    if (!announced.has(update["toolCallId"])) expect(update["title"]).toEqual(expect.any(String));
    announced.add(update["toolCallId"]);
  }
  expect(openToolCalls(turn.updates)).toEqual([]);
  return turn;
}

/** The tool calls that were not brought to an end. */
function openToolCalls(updates: readonly JsonObject[]): unknown[] {
  const statuses = new Map<unknown, unknown>();
  for (const { sessionUpdate, toolCallId, status } of updates)
    if (sessionUpdate === "tool_call_update") statuses.set(toolCallId, status ?? statuses.get(toolCallId) ?? "pending");
  return [...statuses].filter(([, status]) => status === "pending" || status === "in_progress").map(([id]) => id);
}

/** The agent takes part in a turn as if nothing had been. */
async function stillWorks(course: Course): Promise<void> {
  expect(timeline(await prompt(course, "text"))).toEqual(
    conversation("text", message("Hello from the stand-in model.")),
  );
}

/** A turn that stands still in the middle of the model's answer. */
async function hold(course: Course): Promise<{ turn: Promise<Turn> }> {
  const { connection, session } = course;
  const from = connection.bridge.frames.length;
  const turn = prompt(course, "hold");
  turn.catch(() => {});
  await connection.bridge.next(
    "first words of the answer",
    (frame) => updateOf(frame, session.id)?.["sessionUpdate"] === "agent_message_chunk",
    from,
  );
  return { turn };
}

type ToolCall = Extract<Item, { type: "tool_call" }>;

async function callTools(course: Course, name: string): Promise<{ turn: Turn; calls: ToolCall[] }> {
  rmSync(inWork(course, FILES.made.name), { force: true });
  const turn = await prompt(course, name);
  const shown = timeline(turn);
  const calls = shown.filter((item) => item.type === "tool_call");
  expect(calls).toHaveLength(name.split("+").length);
  for (const { title } of calls) expect(title).toEqual(expect.any(String));
  return { turn, calls };
}

/** A turn in which the model calls one tool, and says something before and after. */
async function tool(course: Course, purpose: Purpose, status: string): Promise<Finding> {
  const { turn, calls } = await callTools(course, purpose);
  const [call] = calls;
  expect(call?.status).toBe(status);
  expect(turn.idle["stopReason"]).toBe("end_turn");
  const texts = timeline(turn).filter((item) => item.type === "agent_message" || item.type === "tool_call");
  // Some agents say a word of their own between the model's.
  const done = { ...message(""), text: expect.stringMatching(new RegExp(`Done with ${purpose}\\.$`)) };
  expect(texts).toEqual([message(`Calling ${purpose}. `), call, done]);
  const shows = (call?.content ?? []).map((item) => Object.keys(asObject(item))[0]);
  return native([call?.kind, ...new Set(shows), ...(call?.locations.length ? ["location"] : [])].join(", "));
}

/** A turn in which the agent asks before it runs a command. */
async function askPermission(course: Course, answer: "allow_once" | "reject_once") {
  const { connection } = course;
  const from = connection.permissions.length;
  connection.answer = answer;
  const { turn, calls } = await callTools(course, "run");
  connection.answer = "allow_once";
  expect(connection.permissions.length).toBe(from + 1);
  const { title, subject } = connection.permissions[from] ?? {};
  expect(title).toEqual(expect.any(String));
  expect(asObject(subject)["type"]).toBe("tool_call");
  const states = turn.updates.map(stateOf).filter((state) => state !== undefined);
  expect(states).toEqual(["running", "requires_action", "running", "idle"]);
  return { turn, calls };
}

const isPermissionRequest = (frame: JsonObject) => frame["method"] === "session/request_permission";

function isUserMessage(frame: JsonObject, session: Session, messageId: string): boolean {
  const update = updateOf(frame, session.id);
  return update?.["sessionUpdate"] === "user_message" && update["messageId"] === messageId;
}

function viewOf(frames: readonly JsonObject[]): View {
  return fold(frames.map((frame) => ({ from: "agent", frame })));
}

function timeline({ frames, sessionId }: Turn): Item[] {
  return viewOf(frames.filter((frame) => asObject(frame["params"])["sessionId"] === sessionId)).timeline;
}

/** Everything of a plain turn, in order. */
function conversation(name: string, ...items: Item[]): Item[] {
  return [
    { type: "user_message", text: marker(name) },
    { type: "state", state: "running" },
    ...items,
    { type: "state", state: "idle end_turn" },
  ];
}

const message = (text: string): Item => ({ type: "agent_message", text });

/** What kind each item is; states with their name. */
function kinds(items: readonly Item[]): string[] {
  return items.map((item) => (item.type === "state" ? `state ${item.state.split(" ")[0]}` : item.type));
}

/** The ids of messages in the order they appear. */
function messageIds(updates: readonly JsonObject[]): string[] {
  return [...new Set(updates.flatMap(({ messageId }) => (typeof messageId === "string" ? [messageId] : [])))];
}

/** What a conversation consists of, without how far it is. */
function contents(items: readonly Item[]): Item[] {
  return items.filter(({ type }) => type !== "state" && type !== "notice");
}

/** Everything expected is there, in its order, whatever else is among it. */
function expectWithin<T>(found: readonly T[], expected: readonly T[]): void {
  const texts = new Set(expected.map((item) => JSON.stringify(item)));
  const within = found.filter((item) => texts.has(JSON.stringify(item)));
  if (JSON.stringify(within) !== JSON.stringify(expected)) expect(found).toEqual(expected);
}

function idsOf({ connection }: Course, { updates }: Turn): string {
  const sent = JSON.stringify(connection.bridge.agentSide().fromAgent);
  const own = messageIds(updates.filter(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk"));
  return own.every((id) => sent.includes(JSON.stringify(id))) ? "message ids of the agent" : "message ids of acp-shift";
}

/** A value that the option has not now; undefined when there is no other. */
function otherValue(option: JsonObject): unknown {
  if (option["type"] === "boolean") return option["currentValue"] !== true;
  const values = asArray(option["options"]).flatMap((entry) => asArray(asObject(entry)["options"] ?? [entry]));
  return values.map((entry) => asObject(entry)["value"]).find((value) => value !== option["currentValue"]);
}

async function setOption({ bridge }: Connection, session: Session, option: JsonObject, value: unknown): Promise<void> {
  const { configId } = option;
  const type = option["type"] === "boolean" ? "boolean" : "id";
  const result = await bridge.call("session/set_config_option", { sessionId: session.id, configId, type, value });
  const now = asArray(result["configOptions"]).map(asObject);
  expect(now.find((one) => one["configId"] === configId)).toMatchObject({ currentValue: value });
}

/** The result the agent gave to the last request with this method, of this session if one is named. */
function agentsAnswer({ bridge }: Connection, method: string, sessionId?: string): unknown {
  const { toAgent, fromAgent } = bridge.agentSide();
  const request = toAgent.findLast(
    (frame) =>
      frame["method"] === method && (sessionId === undefined || asObject(frame["params"])["sessionId"] === sessionId),
  );
  if (request === undefined) return undefined;
  return fromAgent.find((frame) => !("method" in frame) && frame["id"] === request["id"])?.["result"];
}

function hasAnswer(connection: Connection, method: string, sessionId?: string): boolean {
  return agentsAnswer(connection, method, sessionId) !== undefined;
}

function whereAgentAnswers(connection: Connection, method: string): Finding {
  return hasAnswer(connection, method) ? native() : { how: "synthesised" };
}

function resumedBy(connection: Connection, limit?: string): Finding {
  const note = (...words: (string | undefined)[]) => {
    const known = words.filter((word) => word !== undefined);
    return known.length === 0 ? {} : { note: known.join("; ") };
  };
  if (hasAnswer(connection, "session/resume")) return { how: "native", ...note(limit) };
  if (hasAnswer(connection, "session/load"))
    return { how: "synthesised", ...note("session/load, its replay swallowed", limit) };
  return { how: "synthesised", ...note(limit) };
}
