// Guards docs/mapping.md §5: which message a chunk belongs to, the ids messages go by, echoes of the user's prompt,
// restated messages, and that a replayed message keeps its id.
import { describe, expect, test } from "vitest";
import type { BridgeOptions } from "../../src/bridge/state.ts";
import { asObject, type JsonObject } from "../../src/protocol/json.ts";
import {
  accepted,
  agentHello,
  type Dialogue,
  idle,
  minted,
  openDialogue,
  pairedDialogue,
  play,
  prompt,
  type Row,
  RUNNING,
  reply,
  request,
  runningDialogue,
  text,
  update,
} from "../support/dialogue.ts";

type Kind = "agent" | "thought" | "user";
const CHUNKS = { agent: "agent_message_chunk", thought: "agent_thought_chunk", user: "user_message_chunk" };

const chunk = (kind: Kind, content: unknown, messageId?: string) =>
  update("s1", {
    sessionUpdate: CHUNKS[kind],
    content: typeof content === "string" ? text(content) : content,
    ...(messageId !== undefined && { messageId }),
  });

/** A chunk without an id of the agent's, and the id under which it reaches the client. */
const says = (kind: Kind, content: unknown, id: string): Row[] => [
  ["agent", chunk(kind, content)],
  ["to client", chunk(kind, content, id)],
];
/** A chunk with an id of the agent's, and the id under which it reaches the client. */
const saysAs = (kind: Kind, content: unknown, given: string, id = given): Row[] => [
  ["agent", chunk(kind, content, given)],
  ["to client", chunk(kind, content, id)],
];
/** A chunk that does not reach the client. */
const unheard = (kind: Kind, content: unknown, given?: string): Row[] => [["agent", chunk(kind, content, given)]];
/** An update that is no chunk, and what it is in v2. */
const other = (v1: JsonObject, v2: JsonObject = v1): Row[] => [
  ["agent", update("s1", v1)],
  ["to client", update("s1", v2)],
];

const toolCall = (toolCallId: string): Row[] =>
  other(
    { sessionUpdate: "tool_call", toolCallId, title: "T" },
    { sessionUpdate: "tool_call_update", toolCallId, title: "T" },
  );
const toolUpdate = (toolCallId: string): Row[] =>
  other({ sessionUpdate: "tool_call_update", toolCallId, status: "in_progress" });

/** In {@link runningDialogue} the first id is the user message's. */
const m2 = minted(2);
const m3 = minted(3);
const m4 = minted(4);

describe("§5 ids and boundaries", () => {
  const cases: [string, Row[]][] = [
    [
      "each kind is kept, with the agent's own id",
      [...saysAs("thought", "hm", "a"), ...saysAs("agent", "hi", "b"), ...saysAs("user", "hidden", "c")],
    ],
    ["without an id one is made up", says("agent", "hi", m2)],
    [
      "an empty id is none",
      [
        ["agent", chunk("agent", "hi", "")],
        ["to client", chunk("agent", "hi", m2)],
      ],
    ],
    [
      "an id that is no text is none",
      [
        ["agent", update("s1", { sessionUpdate: CHUNKS.agent, content: text("hi"), messageId: null })],
        ["to client", chunk("agent", "hi", m2)],
      ],
    ],
    [
      "consecutive chunks of one kind are one message",
      [...says("agent", "a", m2), ...says("agent", "b", m2), ...says("agent", "c", m2)],
    ],
    [
      "a chunk of another kind ends it",
      [...says("thought", "a", m2), ...says("agent", "b", m3), ...says("thought", "c", m4)],
    ],
    ["a new tool call ends it", [...says("agent", "a", m2), ...toolCall("t"), ...says("agent", "b", m3)]],
    [
      "an update of a tool call never announced is a new tool call",
      [
        ...says("agent", "a", m2),
        ["agent", update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t", title: "T" })],
        ["to client", update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t", title: "T" })],
        ...says("agent", "b", m3),
      ],
    ],
    [
      "an update of a known tool call does not end it",
      [...toolCall("t"), ...says("agent", "a", m2), ...toolUpdate("t"), ...says("agent", "b", m2)],
    ],
    [
      "a tool call announced once more does not end it",
      [...toolCall("t"), ...says("agent", "a", m2), ...toolCall("t"), ...says("agent", "b", m2)],
    ],
    [
      "an id given by the agent ends it, and the chunks after that are a third message",
      [...says("agent", "a", m2), ...saysAs("agent", "b", "x"), ...says("agent", "c", m3), ...says("agent", "d", m3)],
    ],
    [
      "the agent may come back to an id of its own",
      [...saysAs("agent", "a", "x"), ...saysAs("agent", "b", "y"), ...toolCall("t"), ...saysAs("agent", "c", "x")],
    ],
    [
      "one id shared by a thought and a message: two entities",
      [...saysAs("thought", "hm", "x"), ...saysAs("agent", "hi", "x"), ...saysAs("thought", "hm?", "x")],
    ],
    [
      "a new turn ends it",
      [
        ...says("agent", "a", m2),
        ["agent", reply(RUNNING, { stopReason: "end_turn" })],
        ["to client", idle({ stopReason: "end_turn" })],
        ...says("agent", "between the turns", m3),
        ["client", prompt(2, "next")],
        ["to agent", request(4, "session/prompt", { sessionId: "s1", prompt: [text("next")] })],
        ["agent", chunk("agent", "b")],
        ...accepted(2, m4, "next"),
        ["to client", chunk("agent", "b", minted(5))],
      ],
    ],
  ];
  test.each(cases)("%s", (_, script) => {
    play(runningDialogue(), script);
  });

  const noBoundary: [string, JsonObject, JsonObject?][] = [
    [
      "a plan",
      { sessionUpdate: "plan", entries: [] },
      {
        sessionUpdate: "plan_update",
        plan: { type: "items", planId: "plan", entries: [] },
      },
    ],
    ["commands", { sessionUpdate: "available_commands_update", availableCommands: [] }],
    ["usage", { sessionUpdate: "usage_update", used: 1, size: 2 }],
    ["session info", { sessionUpdate: "session_info_update", title: "T" }],
    ["config", { sessionUpdate: "config_option_update", configOptions: [] }],
    ["an unknown update", { sessionUpdate: "weather", sky: "blue" }, { sessionUpdate: "_weather", sky: "blue" }],
    ["an extension's update", { sessionUpdate: "_weather", sky: "blue" }],
  ];
  test.each(noBoundary)("%s does not end a message", (_, v1, v2) => {
    play(runningDialogue(), [...says("agent", "a", m2), ...other(v1, v2), ...says("agent", "b", m2)]);
  });

  test("what a chunk carries besides its text is kept", () => {
    const image = { type: "image", data: "aGk=", mimeType: "image/png" };
    const odd = { type: "hologram", depth: 3 };
    play(runningDialogue(), [
      ...says("agent", image, m2),
      ["agent", chunk("agent", odd)],
      ["to client", chunk("agent", { type: "_hologram", depth: 3 }, m2)],
      [
        "agent",
        {
          jsonrpc: "2.0",
          method: "session/update",
          params: {
            sessionId: "s1",
            update: { sessionUpdate: CHUNKS.agent, content: text("hi"), _meta: { a: 1 }, extra: 2 },
            _meta: { b: 3 },
          },
        },
      ],
      [
        "to client",
        {
          jsonrpc: "2.0",
          method: "session/update",
          params: {
            sessionId: "s1",
            update: { sessionUpdate: CHUNKS.agent, messageId: m2, content: text("hi"), _meta: { a: 1 }, extra: 2 },
            _meta: { b: 3 },
          },
        },
      ],
    ]);
  });

  test.each([[undefined], [null], [7], [[]]])("a chunk whose content is %j is dropped and logged", (content) => {
    play(runningDialogue(), [
      ["agent", update("s1", { sessionUpdate: CHUNKS.agent, content })],
      ["log", "update-dropped"],
    ]);
  });

  const bad: [string, object, object?, object?][] = [
    ["params with bad `_meta`", {}, {}, { _meta: 1 }],
    ["bad `_meta`", { _meta: "x" }],
    ["content with bad `_meta`", {}, { _meta: 1 }],
    ["content with bad annotations", {}, { annotations: 1 }],
  ];
  test.each(bad)("a chunk of %s goes without them", (_, fields, inContent = {}, inParams = {}) => {
    const sent = (content: object, beside: object, params: object) => ({
      jsonrpc: "2.0",
      method: "session/update",
      params: { sessionId: "s1", update: { sessionUpdate: CHUNKS.agent, ...beside, content }, ...params },
    });
    play(runningDialogue(), [
      ["agent", sent({ ...text("hi"), ...inContent }, fields, inParams)],
      ["to client", sent(text("hi"), { messageId: m2 }, {})],
      ["log", "update-repaired"],
    ]);
  });

  test.each([[{ type: "text", text: 1 }], [{ type: "image", text: "x" }]])("a chunk of %j is dropped", (content) => {
    play(runningDialogue(), [
      ["agent", chunk("agent", content)],
      ["log", "update-dropped"],
    ]);
  });

  test("ids are unique in the session, and random per run", () => {
    const ids = (runId: string) => {
      const dialogue = runningDialogue({ runId: "run" });
      const other = openDialogue({ runId });
      const [first] = dialogue.agent(chunk("agent", "a")).toClient;
      const [second] = other.agent(chunk("agent", "a")).toClient;
      return [first, second].map((frame) => asObject(asObject(frame?.["params"])["update"])["messageId"]);
    };
    const [one, two] = ids("other");
    expect(one).not.toEqual(two);
  });
});

describe("§5 empty chunks say nothing and take nobody's place", () => {
  const usage = { sessionUpdate: CHUNKS.agent, content: text(""), _meta: { usage: { totalTokens: 3 } } };
  const cases: [string, Row[]][] = [
    ["within a message", [...says("agent", "a", m2), ...says("agent", "", m2), ...says("agent", "b", m2)]],
    ["first", [...says("agent", "", m2), ...says("agent", "a", m2)]],
    [
      "between two pieces of a thought",
      [...says("thought", "a", m2), ...says("agent", "", m3), ...says("thought", "b", m2)],
    ],
    [
      "before the first text of its message, after a thought",
      [...says("thought", "a", m2), ...says("agent", "", m3), ...says("agent", "b", m3)],
    ],
    [
      "after a new tool call: still the message before it",
      [
        ...says("agent", "a", m2),
        ...toolCall("t"),
        ["agent", update("s1", usage)],
        ["to client", update("s1", { ...usage, messageId: m2 })],
        ...says("agent", "b", m3),
      ],
    ],
    [
      "a message that never got a text is left behind by a new tool call",
      [...says("thought", "a", m2), ...says("agent", "", m3), ...toolCall("t"), ...says("agent", "b", m4)],
    ],
    [
      "with an id of the agent's",
      [...saysAs("thought", "a", "x"), ...saysAs("agent", "", "x"), ...saysAs("agent", "b", "x")],
    ],
    [
      "with an id of the agent's, and then a text without one",
      [...says("thought", "a", m2), ...saysAs("agent", "", "x"), ...says("agent", "b", m3)],
    ],
    ["first, and then a thought", [...says("agent", "", m2), ...says("thought", "a", m3), ...says("agent", "b", m4)]],
    [
      "after a thought, and then a text of another kind",
      [...says("thought", "a", m2), ...says("agent", "", m3), ...says("user", "hidden", m4)],
    ],
  ];
  test.each(cases)("%s", (_, script) => {
    play(runningDialogue(), script);
  });
});

describe("§5 the user's message and its echo", () => {
  /** A dialogue in which the prompt "Fix it now" runs. */
  function fixing(blocks: JsonObject[] = [text("Fix it now")], overrides: Partial<BridgeOptions> = {}): Dialogue {
    const dialogue = openDialogue({ ...overrides, acceptWindow: 0 });
    dialogue.client(request("p", "session/prompt", { sessionId: "s1", prompt: blocks }));
    return dialogue;
  }

  test("session/prompt becomes a user_message with the prompt's content, under the id of the prompt's result", () => {
    const content = [
      text("Look: "),
      { type: "image", data: "aGk=", mimeType: "image/png" },
      { type: "resource_link", name: "a", uri: "file:///a", _meta: { m: 1 } },
    ];
    play(openDialogue({ acceptWindow: 0 }), [
      ["client", request("p", "session/prompt", { sessionId: "s1", prompt: content })],
      ["to agent", request(3, "session/prompt", { sessionId: "s1", prompt: content })],
      ["to client", reply("p", { messageId: minted(1) })],
      ["to client", update("s1", { sessionUpdate: "user_message", messageId: minted(1), content })],
      ["to client", update("s1", { sessionUpdate: "state_update", state: "running" })],
    ]);
  });

  const cases: [string, Row[]][] = [
    ["whole: absorbed", unheard("user", "Fix it now")],
    ["in pieces: absorbed", [...unheard("user", "Fix "), ...unheard("user", "it "), ...unheard("user", "now")]],
    ["with an id of the agent's: absorbed", unheard("user", "Fix it now", "u1")],
    [
      "late, in the middle of the answer: absorbed, and the answer goes on",
      [...says("agent", "Do", m2), ...unheard("user", "Fix it now"), ...says("agent", "ne", m2)],
    ],
    ["in part: what was not echoed is not missed", [...unheard("user", "Fix "), ...says("agent", "Done", m2)]],
    ["different text: a new user message", [...says("user", "Fix that", m2), ...says("user", " now", m2)]],
    ["an echo, and then different text", [...unheard("user", "Fix it now"), ...says("user", "[hint]", m2)]],
    ["a second echo is no echo any more", [...unheard("user", "Fix it now"), ...says("user", "Fix it now", m2)]],
    ["different text with an id of the agent's", saysAs("user", "hidden", "u1")],
  ];
  test.each(cases)("an echo %s", (_, script) => {
    play(fixing(), script);
  });

  test("an echo of a prompt of several blocks, in any form, is absorbed block by block", () => {
    const image = { type: "image", data: "aGk=", mimeType: "image/png" };
    const resource = { type: "resource", resource: { uri: "file:///a", text: "A" } };
    const marked = { ...resource, annotations: { priority: 1 }, resource: { ...resource.resource, _meta: { m: 1 } } };
    play(fixing([text("See "), image, text("this"), resource, resource, image]), [
      ...unheard("user", "See this"),
      ...says("user", { ...resource, resource: { uri: "file:///b", text: "A" } }, m2),
      ...unheard("user", { ...image, _meta: { seen: true } }),
      ...unheard("user", resource),
      ...unheard("user", marked),
      ...unheard("user", { mimeType: "image/png", data: "aGk=", type: "image" }),
      ...says("user", image, m2),
    ]);
  });

  test("what the user said before any prompt is no echo", () => {
    play(openDialogue(), says("user", "hidden", minted(1)));
  });

  test("an echo after the end of the turn is absorbed", () => {
    play(fixing(), [
      ["agent", reply(3, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
      ...unheard("user", "Fix it now"),
    ]);
  });

  test("each prompt has its own echo", () => {
    play(fixing(), [
      ["agent", reply(3, { stopReason: "end_turn" })],
      ["to client", idle({ stopReason: "end_turn" })],
      ["client", prompt(2, "Again")],
      ["to agent", request(4, "session/prompt", { sessionId: "s1", prompt: [text("Again")] })],
      ...accepted(2, m2, "Again"),
      ...unheard("user", "Again"),
      ...says("user", "Fix it now", m3),
    ]);
  });

  test("the echo is logged", () => {
    play(fixing(), [...unheard("user", "Fix it now"), ["log", "echo-absorbed"]]);
  });
});

describe("§5 restated messages", () => {
  const streamed = [...saysAs("agent", "Hel", "a"), ...saysAs("agent", "lo", "a")];
  const cases: [string, Row[]][] = [
    [
      "the whole text once more under another id: dropped, and logged",
      [...streamed, ...unheard("agent", "Hello", "b"), ["log", "restated-message-dropped"]],
    ],
    [
      "a message without an id, restated",
      [...says("agent", "Hel", m2), ...says("agent", "lo", m2), ...unheard("agent", "Hello", "b")],
    ],
    ["a thought, restated", [...saysAs("thought", "Hm", "a"), ...unheard("thought", "Hm", "b")]],
    [
      "the alias is remembered: what follows under it belongs to the message it restated",
      [
        ...streamed,
        ...unheard("agent", "Hello", "b"),
        ...saysAs("agent", ", you", "b", "a"),
        ...saysAs("agent", "!", "a"),
      ],
    ],
    ["what is no whole restatement is a new message", [...streamed, ...saysAs("agent", "Hell", "b")]],
    ["another kind is another message", [...streamed, ...saysAs("thought", "Hello", "b")]],
    ["something in between: a new message", [...streamed, ...toolCall("t"), ...saysAs("agent", "Hello", "b")]],
    ["the same text under the same id is more text", [...streamed, ...saysAs("agent", "Hello", "a")]],
    [
      "what is no text is a new message",
      [...streamed, ...saysAs("agent", { type: "image", data: "aGk=", mimeType: "image/png" }, "b")],
    ],
    ["nothing is no restatement of nothing", [...saysAs("agent", "", "a"), ...saysAs("agent", "", "b")]],
  ];
  test.each(cases)("of an agent whose profile says so: %s", (_, script) => {
    play(runningDialogue({ restatedMessages: "drop" }), script);
  });

  test("of any other agent: a message like any other", () => {
    play(runningDialogue(), [...streamed, ...saysAs("agent", "Hello", "b")]);
  });
});

describe("§5 a replayed message keeps its id", () => {
  const onlyLoad = { ...agentHello, agentCapabilities: { loadSession: true } };
  const whole = (kind: Kind, id: unknown, ...content: JsonObject[]) =>
    update("s1", { sessionUpdate: CHUNKS[kind].replace("_chunk", ""), messageId: id, content });
  const resume = request("r", "session/resume", { sessionId: "s1", cwd: "/work", replayFrom: { type: "start" } });

  /** Resumes s1 with a replay of these chunks; returns the updates the client gets. */
  function replay(dialogue: Dialogue, chunks: readonly unknown[]): JsonObject[] {
    const [load] = dialogue.client(resume).toAgent;
    const heard = chunks.flatMap((frame) => dialogue.agent(frame).toClient);
    heard.push(...dialogue.agent(reply(load?.["id"], {})).toClient, ...dialogue.wait(1).toClient);
    // The state and the result come last.
    expect(heard.slice(-2)).toEqual([idle({}), reply("r", {})]);
    return heard.slice(0, -2);
  }

  /** One turn in s1: "hello", a thought, an answer in two chunks, a tool call, and the same answer once more. */
  const turn: Row[] = [
    ["client", prompt("p", "hello")],
    ["to agent", request(3, "session/prompt", { sessionId: "s1", prompt: [text("hello")] })],
    ["wait", 50],
    ...accepted("p", minted(1), "hello"),
    ...says("thought", "hm", m2),
    ...says("agent", "It ", m3),
    ...says("agent", "works", m3),
    ...toolCall("t"),
    ...says("agent", "It works", m4),
    ["agent", reply(3, { stopReason: "end_turn" })],
    ["to client", idle({ stopReason: "end_turn" })],
  ];
  const replayedToolCall = update("s1", { sessionUpdate: "tool_call", toolCallId: "t", title: "T" });
  const v2ToolCall = update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t", title: "T" });

  test("in this run: by the ledger, however the text is cut, twice the same content in order", () => {
    const dialogue = openDialogue({}, onlyLoad);
    play(dialogue, turn);
    const script = [
      chunk("user", "hel"),
      chunk("user", "lo"),
      chunk("thought", "hm"),
      chunk("agent", "It works"),
      replayedToolCall,
      chunk("agent", "It"),
      chunk("agent", " works"),
    ];
    const expected = [
      whole("user", minted(1), text("hello")),
      whole("thought", m2, text("hm")),
      whole("agent", m3, text("It works")),
      v2ToolCall,
      whole("agent", m4, text("It works")),
    ];
    expect(replay(dialogue, script)).toEqual(expected);
    // And again: the same ids once more, and no more to remember.
    expect(replay(dialogue, script)).toEqual(expected);
    expect(dialogue.bridge.sessions.get("s1")?.messages.ledger).toHaveLength(4);
  });

  test("in this run, after the session was closed", () => {
    const dialogue = openDialogue({}, onlyLoad);
    play(dialogue, [
      ...turn,
      ["client", request("c", "session/close", { sessionId: "s1" })],
      ["to client", reply("c", {})],
    ]);
    expect(replay(dialogue, [chunk("user", "hello"), chunk("thought", "hm"), chunk("agent", "It works")])).toEqual([
      whole("user", minted(1), text("hello")),
      whole("thought", m2, text("hm")),
      whole("agent", m3, text("It works")),
    ]);
  });

  test("a message of the agent's own before it, of the same kind and without an id, is another one", () => {
    const dialogue = openDialogue({}, onlyLoad);
    play(dialogue, turn);
    expect(replay(dialogue, [chunk("user", "<context>"), chunk("user", "hello"), chunk("thought", "hm")])).toEqual([
      whole("user", expect.stringMatching(/^r_/), text("<context>")),
      whole("user", minted(1), text("hello")),
      whole("thought", m2, text("hm")),
    ]);
  });

  test("the agent may leave messages out of the replay, and tell them in the next", () => {
    const dialogue = openDialogue({}, onlyLoad);
    play(dialogue, turn);
    expect(replay(dialogue, [chunk("user", "hello"), chunk("user", ""), chunk("agent", "It works")])).toEqual([
      whole("user", minted(1), text("hello")),
      whole("agent", m3, text("It works")),
    ]);
    expect(replay(dialogue, [chunk("thought", "hm")])).toEqual([whole("thought", m2, text("hm"))]);
  });

  /** A dialogue in which the agent answered the prompt "same" with these messages under ids of its own. */
  function answered(...said: [Kind, string, string][]): Dialogue {
    const dialogue = openDialogue({ acceptWindow: 0 }, onlyLoad);
    dialogue.client(request("p", "session/prompt", { sessionId: "s1", prompt: [text("same")] }));
    for (const [kind, words, id] of said) dialogue.agent(chunk(kind, words, id));
    dialogue.agent(reply(3, { stopReason: "end_turn" }));
    return dialogue;
  }
  const derived = expect.stringMatching(/^r_/);
  const replays: [string, [Kind, string, string][], [Kind, string, string?][], [Kind, unknown, string][]][] = [
    [
      "messages of one kind, without their ids: told apart by what the ledger knows",
      [
        ["agent", "one", "a"],
        ["agent", "two", "b"],
        ["agent", "three", "c"],
      ],
      [
        ["user", "same"],
        ["agent", "o"],
        ["agent", "ne"],
        ["agent", "two"],
        ["agent", "three"],
      ],
      [
        ["user", minted(1), "same"],
        ["agent", "a", "one"],
        ["agent", "b", "two"],
        ["agent", "c", "three"],
      ],
    ],
    [
      "the same words in another kind of message",
      [["agent", "same", "a"]],
      [["agent", "same"]],
      [["agent", "a", "same"]],
    ],
    [
      "chunks with one id are one message, whatever the ledger knows",
      [["agent", "ok", "a"]],
      [
        ["agent", "pre", "x"],
        ["agent", "ok", "x"],
      ],
      [["agent", "x", "preok"]],
    ],
    [
      "an id that a message of the ledger has is not given to another",
      [["agent", "ok", "x"]],
      [
        ["agent", "ok", "y"],
        ["agent", "other", "x"],
      ],
      [
        ["agent", "x", "ok"],
        ["agent", derived, "other"],
      ],
    ],
    [
      "a message that was told anew keeps its id, and no other gets it",
      [["agent", "ok", "x"]],
      [
        ["agent", "new", "x"],
        ["agent", "new"],
      ],
      [
        ["agent", "x", "new"],
        ["agent", derived, "new"],
      ],
    ],
  ];
  test.each(replays)("%s", (_, said, told, expected) => {
    const heard = replay(
      answered(...said),
      told.map(([kind, words, id]) => chunk(kind, words, id)),
    );
    expect(heard).toEqual(expected.map(([kind, id, words]) => whole(kind, id, text(words))));
  });

  test("what is said of a message after it was told anew is added to that", () => {
    const dialogue = answered(["agent", "first", "x0"], ["thought", "hm", "x1"], ["agent", "ok", "x1"]);
    expect(replay(dialogue, [chunk("agent", "okay", "x1")])).toEqual([whole("agent", "x1", text("okay"))]);
    play(dialogue, saysAs("agent", "!", "x1"));
    expect(replay(dialogue, [chunk("agent", "okay!"), chunk("thought", "hm")])).toEqual([
      whole("agent", "x1", text("okay!")),
      whole("thought", "x1", text("hm")),
    ]);
  });

  test("the ledger's id goes before one the agent gives in the replay only", () => {
    const dialogue = openDialogue({}, onlyLoad);
    play(dialogue, turn);
    expect(replay(dialogue, [chunk("user", "hello", "u1"), chunk("thought", "hm", "a1")])).toEqual([
      whole("user", minted(1), text("hello")),
      whole("thought", m2, text("hm")),
    ]);
  });

  test("a prompt of several blocks is known by its content", () => {
    const image = { type: "image", data: "aGk=", mimeType: "image/png" };
    const hello = { ...onlyLoad, agentCapabilities: { loadSession: true, promptCapabilities: { image: true } } };
    const dialogue = openDialogue({ acceptWindow: 0 }, hello);
    dialogue.client(request("p", "session/prompt", { sessionId: "s1", prompt: [text("a"), image, text("b")] }));
    dialogue.agent(reply(3, { stopReason: "end_turn" }));
    expect(
      replay(dialogue, [chunk("user", "a"), chunk("user", { ...image, _meta: { x: 1 } }), chunk("user", "b")]),
    ).toEqual([whole("user", minted(1), text("a"), { ...image, _meta: { x: 1 } }, text("b"))]);
  });

  /** What a replay gives in a run that knows nothing of the session. */
  function freshReplay(runId: string, chunks: readonly unknown[]): JsonObject[] {
    return replay(pairedDialogue({ runId }, onlyLoad), chunks);
  }
  const idsOf = (frames: JsonObject[]) =>
    frames.map((frame) => asObject(asObject(frame["params"])["update"])["messageId"]);

  test("of another run: the agent's own id when it gives one", () => {
    expect(
      freshReplay("x", [chunk("user", "hel", "u1"), chunk("user", "lo", "u1"), chunk("agent", "hi", "a1")]),
    ).toEqual([whole("user", "u1", text("hello")), whole("agent", "a1", text("hi"))]);
  });

  test("of another run: the ids of the first replay hold in the next, also without them", () => {
    const dialogue = pairedDialogue({}, onlyLoad);
    replay(dialogue, [chunk("agent", "a", "a1"), chunk("agent", "b", "a2")]);
    expect(replay(dialogue, [chunk("agent", "a"), chunk("agent", "b")])).toEqual([
      whole("agent", "a1", text("a")),
      whole("agent", "a2", text("b")),
    ]);
  });

  test("of another run: a message the agent comes back to is continued; `_meta` of all its chunks counts", () => {
    const thought = (n: number) =>
      update("s1", { ...asObject(asObject(chunk("thought", "m", "t2")["params"])["update"]), _meta: { [n]: n } });
    const script = [
      chunk("agent", "a", "x1"),
      chunk("thought", "hm", "t1"),
      chunk("agent", "b", "x1"),
      thought(1),
      thought(2),
    ];
    expect(freshReplay("x", script)).toEqual([
      whole("agent", "x1", text("a")),
      whole("thought", "t1", text("hm")),
      chunk("agent", "b", "x1"),
      update("s1", { sessionUpdate: "agent_thought", messageId: "t2", content: [text("mm")], _meta: { 1: 1, 2: 2 } }),
    ]);
  });

  test("of another run, without ids: what else there is does not matter", () => {
    const ids = idsOf(freshReplay("x", [chunk("user", "yes"), chunk("agent", "ok"), chunk("user", "no")]));
    expect(idsOf(freshReplay("y", [chunk("user", "no")]))).toEqual([ids[2]]);
  });

  test("of another run, without ids: derived, the same in every run, and unlike for unlike messages", () => {
    const script = [
      chunk("user", "yes"),
      chunk("agent", "ok"),
      chunk("user", "yes"),
      chunk("agent", "o"),
      chunk("agent", "k"),
      chunk("user", "no"),
    ];
    const first = freshReplay("x", script);
    const ids = idsOf(first);
    expect(first).toEqual([
      whole("user", ids[0], text("yes")),
      whole("agent", ids[1], text("ok")),
      whole("user", ids[2], text("yes")),
      whole("agent", ids[3], text("ok")),
      whole("user", ids[4], text("no")),
    ]);
    expect(idsOf(freshReplay("y", script))).toEqual(ids);
    expect(new Set([ids[0], ids[2], ids[4]]).size).toBe(3);
    expect(ids[1]).not.toEqual(ids[3]);
    for (const id of ids) expect(id).toMatch(/^\S{1,40}$/);
  });

  test("of another run, and then once more in this one: the same ids", () => {
    const dialogue = pairedDialogue({}, onlyLoad);
    const script = [chunk("user", "yes"), chunk("agent", "ok"), chunk("user", "yes")];
    const ids = idsOf(replay(dialogue, script));
    expect(idsOf(replay(dialogue, script))).toEqual(ids);
  });

  test("a live message after the replay is a new one, whatever it says", () => {
    const dialogue = pairedDialogue({}, onlyLoad);
    replay(dialogue, [chunk("agent", "ok")]);
    play(dialogue, says("agent", "ok", minted(1)));
  });

  test("updates of known tool calls and plans do not cut a replayed message in two", () => {
    const heard = freshReplay("x", [
      replayedToolCall,
      chunk("agent", "a"),
      update("s1", { sessionUpdate: "tool_call_update", toolCallId: "t", status: "completed" }),
      update("s1", { sessionUpdate: "plan", entries: [] }),
      chunk("agent", "b"),
    ]);
    const [id] = idsOf(heard).filter((given) => given !== undefined);
    expect(heard).toContainEqual(whole("agent", id, text("ab")));
  });

  test("a plan that comes in the middle of a replayed message follows it", () => {
    const plan = (...entries: string[]) => ({
      sessionUpdate: "plan",
      entries: entries.map((content) => ({ content, priority: "medium", status: "pending" })),
    });
    const shown = (...entries: string[]) =>
      update("s1", {
        sessionUpdate: "plan_update",
        plan: { type: "items", planId: "plan", entries: plan(...entries).entries },
      });
    const heard = freshReplay("x", [
      update("s1", plan("First")),
      chunk("agent", "a"),
      update("s1", plan("Second")),
      update("s1", plan("Third")),
      chunk("agent", "b"),
      replayedToolCall,
      chunk("agent", "c"),
      update("s1", { sessionUpdate: "plan_removed", planId: "p" }),
      update("s1", plan("Fourth")),
    ]);
    const [ab, c] = idsOf(heard).filter((id) => id !== undefined);
    expect(heard.filter((frame) => !JSON.stringify(frame).includes("toolCallId"))).toEqual([
      shown("First"),
      whole("agent", ab, text("ab")),
      shown("Second"),
      shown("Third"),
      whole("agent", c, text("c")),
      update("s1", { sessionUpdate: "plan_removed", planId: "p" }),
      shown("Fourth"),
    ]);
  });

  test("a compaction comes after the message before it", () => {
    const compaction = update("s1", { sessionUpdate: "compaction_update", compactionId: "c", status: "completed" });
    expect(freshReplay("x", [chunk("agent", "a", "a1"), compaction, chunk("agent", "b", "a2")])).toEqual([
      whole("agent", "a1", text("a")),
      compaction,
      whole("agent", "a2", text("b")),
    ]);
  });

  test("what is no plain text stays a block of its own", () => {
    const image = { type: "image", data: "aGk=", mimeType: "image/png" };
    const marked = { ...text("b"), annotations: { priority: 1 } };
    const resource = { type: "resource", resource: { uri: "file:///a", text: "A" } };
    const own = { type: "_note", text: "n" };
    const [message] = freshReplay("x", [
      chunk("agent", "a"),
      chunk("agent", marked),
      chunk("agent", image),
      ...[resource, resource, own, own].map((block) => chunk("agent", block)),
      chunk("agent", "c"),
      chunk("agent", "d"),
    ]);
    const content = [text("a"), marked, image, resource, resource, own, own, text("cd")];
    expect(message).toEqual(whole("agent", idsOf([message ?? {}])[0], ...content));
  });
});
