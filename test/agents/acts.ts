// What is done with an agent that speaks both versions, once in each, so that the two runs can be compared: nothing is
// expected here, everything is shown.
import { asArray, asObject, type JsonObject } from "../../src/protocol/json.ts";
import type { BridgeProcess } from "../support/bridge-process.ts";
import { turn, updateOf } from "../support/conversation.ts";
import { marker } from "./model/script.ts";
import { USUAL } from "./registry.ts";
import { type Connection, openSession, type Session, type Stage, say } from "./stage.ts";
import { abilities, inAnyOrder, lasting, neighboursInAnyOrder, transcript, untilCancelled } from "./transcript.ts";
import { type Frame, fold, type Item } from "./view.ts";

/** A picture of one pixel. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

interface Run {
  stage: Stage;
  connection: Connection;
  session: Session;
}

/** In the order they are taken; the first has opened the session. */
const ACTS: Readonly<Record<string, (run: Run) => Promise<unknown>>> = {
  text: (run) => prompt(run, "text"),
  thoughts: (run) => prompt(run, "think"),
  read: (run) => prompt(run, "read"),
  run: (run) => prompt(run, "run"),
  write: (run) => prompt(run, "write"),
  edit: (run) => prompt(run, "edit"),
  "missing file": (run) => prompt(run, "missing"),
  "two tools at once": (run) => prompt(run, "read+run"),
  // Claude makes a plan of it although it no longer offers the tool.
  plan: (run) => prompt(run, "todos"),
  "permission refused": async (run) => {
    run.connection.answer = "reject_once";
    await prompt(run, "run");
    run.connection.answer = "allow_once";
  },
  "model error": (run) => prompt(run, "fail"),
  "cancel while streaming": async (run) => {
    const { held } = await hold(run);
    run.connection.bridge.notify("session/cancel", { sessionId: run.session.id });
    await held;
  },
  "second prompt while one runs": async (run) => {
    const { bridge } = run.connection;
    const from = bridge.frames.length;
    const { held } = await hold(run);
    const second = ask(run.connection, "session/prompt", {
      sessionId: run.session.id,
      prompt: [{ type: "text", text: marker("text") }],
    });
    // Requests are taken in order: when this one is answered the second prompt has arrived.
    await ask(run.connection, "session/list", { cwd: "/nowhere" });
    run.stage.model.release();
    await Promise.all([held, second]);
    await bridge.until("end of the second turn", () => {
      const { timeline } = fold(framesOf(bridge, run.session, from));
      const answered = timeline.some((item) => item.type === "agent_message" && item.text.startsWith("Hello"));
      const last = timeline.at(-1);
      return (answered && last?.type === "state" && last.state.startsWith("idle")) || undefined;
    });
  },
  "after cancels": (run) => prompt(run, "text"),
  "a picture and a link": async ({ stage, connection, session }) => {
    await turn(connection.bridge, session.id, [
      { type: "text", text: marker("text") },
      { type: "image", mimeType: "image/png", data: PIXEL },
      { type: "resource_link", name: "hello.txt", uri: `file://${stage.place.work}/hello.txt` },
    ]);
  },
  options: async ({ stage, connection, session }) => {
    const { fixedOptions } = { ...USUAL, ...stage.agent.ways };
    for (const option of asArray(session.result["configOptions"]).map(asObject)) {
      const { configId, currentValue } = option;
      const other = otherValue(option);
      if (other === undefined || String(configId) in fixedOptions) continue;
      const type = option["type"] === "boolean" ? "boolean" : "id";
      for (const value of [other, currentValue])
        await ask(connection, "session/set_config_option", { sessionId: session.id, configId, type, value });
    }
  },
  "unknown option and session": async ({ stage, connection, session }) => {
    await ask(connection, "session/set_config_option", {
      sessionId: session.id,
      configId: "no-such-option",
      type: "id",
      value: "x",
    });
    const sessionId = "00000000-0000-4000-8000-000000000000";
    await ask(connection, "session/prompt", { sessionId, prompt: [{ type: "text", text: marker("text") }] });
    await ask(connection, "session/resume", { sessionId, cwd: stage.place.work });
  },
  "slash command": async ({ stage, connection, session }) => {
    await say(connection, session, `/${{ ...USUAL, ...stage.agent.ways }.command}`);
  },
  list: ({ stage, connection }) => ask(connection, "session/list", { cwd: stage.place.work }),
  close: ({ connection, session }) => ask(connection, "session/close", { sessionId: session.id }),
  "resume without replay": (run) => resume(run),
  "after resume": (run) => prompt(run, "text"),
  "resume with replay": async (run) => {
    await ask(run.connection, "session/close", { sessionId: run.session.id });
    await resume(run, { replayFrom: { type: "start" } });
  },
  "after replay": (run) => prompt(run, "text"),
  // In a session of its own: what of it would be replayed is a matter of timing.
  "cancel at a permission": async (run) => {
    run.session = await openSession(run.stage, run.connection);
    const { bridge } = run.connection;
    const from = bridge.frames.length;
    run.connection.answer = "wait";
    const asking = prompt(run, "run");
    const asked = await bridge.next(
      "permission request",
      ({ method }) => method === "session/request_permission",
      from,
    );
    bridge.notify("session/cancel", { sessionId: run.session.id });
    bridge.reply(asked["id"], { outcome: { outcome: "cancelled" } });
    await asking;
    run.connection.answer = "allow_once";
  },
  delete: async (run) => {
    await ask(run.connection, "session/delete", { sessionId: run.session.id });
    await ask(run.connection, "session/list", { cwd: run.stage.place.work });
  },
};

/** Acts in which something depends on who is faster: what of their timeline is shown. */
const UNTIMED: Readonly<Record<string, (items: readonly Item[]) => Item[]>> = {
  "two tools at once": inAnyOrder,
  "resume with replay": neighboursInAnyOrder,
  "cancel at a permission": untilCancelled,
};

/**
 * Goes through all acts with the agent in one version.
 * @returns the transcript: what the client saw in each act, and what the session has in the end
 */
export async function perform(stage: Stage, protocol: 1 | 2): Promise<string> {
  const connection = await stage.connect({
    options: ["--agent-protocol", String(protocol)],
    agentVersion: protocol === 1 ? "v1" : "v2",
  });
  const { bridge } = connection;
  const main = await openSession(stage, connection);
  const readable = (text: string) => text.replaceAll(stage.place.work, "/work").replaceAll(main.id, "the session");
  const run: Run = { stage, connection, session: main };
  const commands = await bridge.until("commands", () => fold(framesOf(bridge, main, 0)).commands);
  const opened = transcript(fold(framesOf(bridge, main, 0), readable));
  const lines = ["# open", ...abilities(connection.hello), ...opened, ...commands.map((name) => `command ${name}`)];
  for (const [name, act] of Object.entries(ACTS)) {
    const from = bridge.frames.length;
    await act(run);
    const view = fold(framesOf(bridge, run.session, from), readable);
    const timeline = UNTIMED[name]?.(view.timeline) ?? view.timeline;
    lines.push("", `# ${name}`, ...transcript({ ...view, timeline }));
  }
  lines.push("", "# in the end", ...lasting(fold(framesOf(bridge, main, 0), readable)));
  await stage.leave(connection);
  return `${lines.join("\n")}\n`;
}

/** The client's frames, and the agent's of this session and of none, from a position of the record. */
function framesOf(bridge: BridgeProcess, session: Session, from: number): Frame[] {
  return bridge.frames
    .slice(from)
    .map(({ from: side, frame }): Frame => ({ from: side === "client" ? "client" : "agent", frame }))
    .filter(({ from: side, frame }) => side === "client" || isOf(session, asObject(frame["params"])["sessionId"]));
}

const isOf = (session: Session, sessionId: unknown) => sessionId === undefined || sessionId === session.id;

function prompt({ connection, session }: Run, name: string): Promise<unknown> {
  return say(connection, session, marker(name));
}

function ask({ bridge }: Connection, method: string, params: JsonObject): Promise<JsonObject> {
  return bridge.request(method, params);
}

function resume({ stage, connection, session }: Run, extra: JsonObject = {}): Promise<JsonObject> {
  return ask(connection, "session/resume", { sessionId: session.id, cwd: stage.place.work, ...extra });
}

/** A turn that stands still in the middle of the model's answer. */
async function hold(run: Run): Promise<{ held: Promise<unknown> }> {
  const { bridge } = run.connection;
  const from = bridge.frames.length;
  const held = prompt(run, "hold");
  held.catch(() => {});
  let text = "";
  await bridge.next(
    "the answer's first words",
    (frame) => {
      const { sessionUpdate, content } = updateOf(frame, run.session.id) ?? {};
      if (sessionUpdate === "agent_message_chunk") text += asObject(content)["text"];
      return text === "Holding on ";
    },
    from,
  );
  return { held };
}

/** A value that the option has not now; undefined when there is no other. */
function otherValue(option: JsonObject): unknown {
  if (option["type"] === "boolean") return option["currentValue"] !== true;
  const values = asArray(option["options"]).flatMap((entry) => asArray(asObject(entry)["options"] ?? [entry]));
  return values.map((entry) => asObject(entry)["value"]).find((value) => value !== option["currentValue"]);
}
