// Guards SECURITY.md, "No name is special": what a peer calls `__proto__`, `constructor` or `toString` is an id, a key or a method
// like any other, in both directions, and changes no object but the one it stands in.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseConfigFile } from "../../src/config/config-file.ts";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import { redact } from "../../src/redact.ts";
import {
  agentText,
  type Dialogue,
  idle,
  notify,
  type Outcome,
  openDialogue,
  openDowngrade,
  pairedDialogue,
  prompt,
  reply,
  request,
  update,
} from "../support/dialogue.ts";

const NAMES = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"];

/** A name of an extension's begins with `_`. */
const extension = (name: string) => (name.startsWith("_") ? name : `_${name}`);

/** As a parser makes it: a member of its own, whatever its name. */
const json = (text: string): JsonObject => JSON.parse(text) as JsonObject;
const EVIL = '{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}}}';

const members = () => Reflect.ownKeys(Object.prototype).map(String).sort();
let before: string[];
beforeEach(() => {
  before = members();
});
afterEach(() => {
  expect(members()).toEqual(before);
  expect(({} as JsonObject)["polluted"]).toBeUndefined();
  expect(([] as unknown as JsonObject)["polluted"]).toBeUndefined();
});

describe.each(NAMES)("%s", (name) => {
  test("as the id of a client's request", () => {
    const dialogue = openDialogue({ acceptWindow: 0 });
    const { toAgent, toClient } = dialogue.client(prompt(name, "hello"));
    expect(toClient[0]).toMatchObject({ id: name, result: {} });
    const { toClient: ended } = dialogue.agent(reply(toAgent[0]?.["id"], { stopReason: "end_turn" }));
    expect(ended).toEqual([idle({ stopReason: "end_turn" })]);
  });

  test("as the id of an agent's request", () => {
    const dialogue = openDialogue();
    const { toClient } = dialogue.agent(request(name, "_vendor/ask", {}));
    const { toAgent } = dialogue.client(reply(toClient[0]?.["id"], { yes: 1 }));
    expect(toAgent).toEqual([reply(name, { yes: 1 })]);
  });

  test("as a method", () => {
    const dialogue = openDialogue();
    const { toAgent } = dialogue.client(request(1, name, {}));
    const [asked] = toAgent;
    expect(asked).toMatchObject({ method: name });
    expect(dialogue.agent(reply(asked?.["id"], {})).toClient).toEqual([reply(1, {})]);
    expect(dialogue.agent(request(2, name, {})).toClient).toMatchObject([{ method: extension(name) }]);
    expect(dialogue.agent(notify(name, {})).toClient).toMatchObject([{ method: extension(name) }]);
  });

  test("as a session, a message, a tool call, and what they are asked by", () => {
    const dialogue = pairedDialogue({ acceptWindow: 0 });
    const { toAgent } = dialogue.client(request("new", "session/new", { cwd: "/work" }));
    dialogue.agent(reply(toAgent[0]?.["id"], { sessionId: name }));
    const [asked] = dialogue.client(prompt("p", "hello", name)).toAgent;
    const chunk = { sessionUpdate: "agent_message_chunk", messageId: name, content: { type: "text", text: "x" } };
    expect(dialogue.agent(update(name, chunk)).toClient).toEqual([update(name, chunk)]);
    const call = { toolCallId: name, title: name, status: "pending" };
    expect(dialogue.agent(update(name, { sessionUpdate: "tool_call", ...call })).toClient).toEqual([
      update(name, { sessionUpdate: "tool_call_update", ...call }),
    ]);
    dialogue.client(notify("session/cancel", { sessionId: name }));
    expect(dialogue.agent(reply(asked?.["id"], { stopReason: "cancelled" })).toClient).toEqual([
      update(name, { sessionUpdate: "tool_call_update", toolCallId: name, status: "cancelled" }),
      idle({ stopReason: "cancelled" }, name),
    ]);
    expect(dialogue.client(request("c", "session/close", { sessionId: name })).toAgent).toMatchObject([
      { method: "session/close", params: { sessionId: name } },
    ]);
  });

  test("as a session nobody opened", () => {
    const { toClient } = openDialogue().client(prompt("p", "hello", name));
    expect(toClient).toMatchObject([{ id: "p", error: { code: -32002 } }]);
  });

  test("as what kind of update it is", () => {
    const { toClient } = openDialogue().agent(update("s1", { sessionUpdate: name, a: 1 }));
    expect(toClient).toEqual([update("s1", { sessionUpdate: extension(name), a: 1 })]);
  });

  test("as a config option and its value", () => {
    const dialogue = openDialogue();
    const option = { id: name, type: "select", name, currentValue: name, options: [{ value: name, name }] };
    dialogue.agent(update("s1", { sessionUpdate: "config_option_update", configOptions: [option] }));
    const set = { sessionId: "s1", configId: name, type: "id", value: name };
    expect(dialogue.client(request("set", "session/set_config_option", set)).toAgent).toMatchObject([
      { params: { configId: name, value: name } },
    ]);
    const none = { ...set, configId: "other" };
    expect(dialogue.client(request("set2", "session/set_config_option", none)).toClient).toMatchObject([
      { id: "set2", error: { code: -32602 } },
    ]);
  });

  test("as a key of `_meta` that crosses", () => {
    const meta = json(`{"${name}":{"a":1}}`);
    const { toClient } = openDialogue().agent({
      ...agentText("x"),
      params: { ...asObject(agentText("x").params), _meta: meta },
    });
    expect(Object.entries(asObject(asObject(toClient[0]?.["params"])["_meta"]))).toEqual([[name, { a: 1 }]]);
  });

  test("likewise to a v1 client", () => {
    const dialogue = openDowngrade();
    const [asked] = dialogue.client(
      request(name, "session/prompt", { sessionId: "s1", prompt: [{ type: "text", text: "x" }] }),
    ).toAgent;
    dialogue.agent(reply(asked?.["id"], { messageId: name }));
    const call = { sessionUpdate: "tool_call_update", toolCallId: name, title: name, status: "completed" };
    expect(dialogue.agent(update("s1", call)).toClient).toMatchObject([update("s1", { toolCallId: name })]);
    dialogue.agent(update("s1", { sessionUpdate: "state_update", state: "running" }));
    expect(dialogue.agent(idle({ stopReason: "end_turn" })).toClient).toMatchObject([
      { id: name, result: { stopReason: "end_turn" } },
    ]);
    expect(dialogue.agent(request(name, "_vendor/ask", {})).toClient).toMatchObject([{ method: "_vendor/ask" }]);
  });
});

/** Every frame that a side can put something into, with something evil in every object of it. */
const FRAMES: JsonObject[] = [
  request("e1", "session/prompt", { sessionId: "s1", prompt: [{ type: "text", text: "x" }] }),
  request("e2", "session/new", {
    cwd: "/work",
    mcpServers: [{ type: "stdio", name: "m", command: "/bin/m", env: [] }],
  }),
  request("e3", "session/list", { cwd: "/work" }),
  update("s1", {
    sessionUpdate: "tool_call",
    toolCallId: "t",
    title: "T",
    content: [{ type: "content", content: { type: "text", text: "x" } }],
  }),
  update("s1", { sessionUpdate: "plan", entries: [{ content: "c", priority: "high", status: "pending" }] }),
  update("s1", {
    sessionUpdate: "available_commands_update",
    availableCommands: [{ name: "n", description: "d", input: { hint: "h" } }],
  }),
  request("e4", "session/request_permission", {
    sessionId: "s1",
    toolCall: { toolCallId: "t" },
    options: [{ optionId: "y", name: "Y", kind: "allow_once" }],
  }),
];

/** The frame with members of its own called `__proto__` and `constructor` in every object of it. */
function spiked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(spiked);
  if (typeof value !== "object" || value === null) return value;
  const inner = JSON.stringify(Object.fromEntries(Object.entries(value).map(([key, item]) => [key, spiked(item)])));
  return json(inner === "{}" ? EVIL : `${inner.slice(0, -1)},${EVIL.slice(1)}`);
}

describe("members called __proto__ and constructor in every object", () => {
  const sides: [string, () => Dialogue][] = [
    ["a v1 agent", () => openDialogue({ acceptWindow: 0 })],
    ["a v2 agent", () => openDowngrade()],
  ];
  test.each(sides)("of a client's and of %s's frames", (_, start) => {
    for (const frame of FRAMES) {
      const dialogue = start();
      const said: Outcome[] = [dialogue.client(spiked(frame)), dialogue.agent(spiked(frame))];
      expect(said.flatMap(({ logs }) => logs).filter(({ event }) => event === "internal-error")).toEqual([]);
    }
  });

  test("of what is logged: they are copied as they are", () => {
    const copy = asObject(redact(json(`{"a":${EVIL}}`)));
    expect(JSON.stringify(copy["a"])).toBe(EVIL);
  });

  test("of a configuration file: they are unknown options", () => {
    expect(() => parseConfigFile("config.json", EVIL)).toThrow(/unknown option "__proto__"/);
  });
});
