// Guards docs/mapping.md §7 (plans), §8 (config options, modes, models) and §11 (slash commands) where the bridge
// remembers. What one frame becomes is in test/translate.
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/protocol/json.ts";
import {
  type Dialogue,
  fail,
  openDialogue,
  pairedDialogue,
  play,
  type Row,
  reply,
  request,
  update,
} from "../support/dialogue.ts";

const says = (fields: JsonObject, sessionId = "s1"): Row => ["agent", update(sessionId, fields)];
const hears = (fields: JsonObject, sessionId = "s1"): Row => ["to client", update(sessionId, fields)];

describe("§7 plans", () => {
  const entry = (content: string, more: object = {}) => ({ content, priority: "high", status: "pending", ...more });
  const plan = (entries: object[]) => ({
    sessionUpdate: "plan_update",
    plan: { type: "items", planId: "plan", entries },
  });

  test("one plan per session: each `plan` replaces it under one id, an empty one empties it", () => {
    play(openDialogue(), [
      says({ sessionUpdate: "plan", entries: [entry("a"), entry("b")] }),
      hears(plan([entry("a"), entry("b")])),
      says({ sessionUpdate: "plan", entries: [entry("a", { status: "completed" })], _meta: { m: 1 } }),
      hears({ ...plan([entry("a", { status: "completed" })]), _meta: { m: 1 } }),
      says({ sessionUpdate: "plan", entries: [] }),
      hears(plan([])),
    ]);
  });

  test("an unknown priority or status gets a prefix", () => {
    play(openDialogue(), [
      says({ sessionUpdate: "plan", entries: [entry("a", { priority: "urgent", status: "blocked" })] }),
      hears(plan([entry("a", { priority: "_urgent", status: "_blocked" })])),
    ]);
  });

  test("the unstable plan_update and plan_removed keep their kind and the agent's id", () => {
    const items = { type: "items", planId: "p7", entries: [entry("a")] };
    play(openDialogue(), [
      says({ sessionUpdate: "plan_update", plan: items }),
      hears({ sessionUpdate: "plan_update", plan: items }),
      says({ sessionUpdate: "plan_update", plan: { type: "markdown", planId: "p8", content: "# A" } }),
      hears({ sessionUpdate: "plan_update", plan: { type: "markdown", planId: "p8", content: "# A" } }),
      says({ sessionUpdate: "plan_update", plan: { ...items, entries: [entry("a", { status: "blocked" })] } }),
      hears({ sessionUpdate: "plan_update", plan: { ...items, entries: [entry("a", { status: "_blocked" })] } }),
      says({ sessionUpdate: "plan_removed", planId: "p7" }),
      hears({ sessionUpdate: "plan_removed", planId: "p7" }),
    ]);
  });
});

const modes = {
  currentModeId: "ask",
  availableModes: [
    { id: "ask", name: "Ask" },
    { id: "code", name: "Code" },
  ],
};
const models = {
  currentModelId: "m1",
  availableModels: [
    { modelId: "m1", name: "M 1" },
    { modelId: "m2", name: "M 2" },
  ],
};
const mode = (currentValue: string, configId = "mode") => ({
  configId,
  name: "Mode",
  category: "mode",
  type: "select",
  currentValue,
  options: [
    { value: "ask", name: "Ask" },
    { value: "code", name: "Code" },
  ],
});
const model = (currentValue: string) => ({
  configId: "model",
  name: "Model",
  category: "model",
  type: "select",
  currentValue,
  options: [
    { value: "m1", name: "M 1" },
    { value: "m2", name: "M 2" },
  ],
});
/** Options of the agent's own, in v1 and in v2. */
const effort = (currentValue: string, key = "id") => ({
  [key]: "effort",
  name: "Effort",
  category: "thought_level",
  type: "select",
  currentValue,
  options: [
    { value: "low", name: "Low" },
    { value: "high", name: "High" },
  ],
});
const web = (currentValue: boolean, key = "id") => ({ [key]: "web", name: "Web", type: "boolean", currentValue });
const v2 = "configId";

/** A session whose `session/new` result carried this. */
function configured(config: object): Dialogue {
  const dialogue = pairedDialogue();
  dialogue.client(request("new", "session/new", { cwd: "/work" }));
  dialogue.agent(reply(2, { sessionId: "s1", ...config }));
  return dialogue;
}
const set = (configId: string, value: unknown, type = typeof value === "boolean" ? "boolean" : "id"): Row => [
  "client",
  request("set", "session/set_config_option", { sessionId: "s1", configId, type, value }),
];
const asks = (method: string, params: object): Row => ["to agent", request(3, method, { sessionId: "s1", ...params })];
const answers = (result: unknown): Row => ["agent", reply(3, result)];
const list = (...configOptions: object[]): Row => ["to client", reply("set", { configOptions })];
const changed = (...configOptions: object[]): Row => hears({ sessionUpdate: "config_option_update", configOptions });

describe("§8 session/set_config_option", () => {
  const cases: [string, object, Row[]][] = [
    [
      "an option made from modes: session/set_mode, and the full list with the new value",
      { modes, models, configOptions: [effort("low")] },
      [
        set("mode", "code"),
        asks("session/set_mode", { modeId: "code" }),
        answers({}),
        list(mode("code"), model("m1"), effort("low", v2)),
      ],
    ],
    [
      "an option made from models: session/set_model",
      { modes, models },
      [set("model", "m2"), asks("session/set_model", { modelId: "m2" }), answers(null), list(mode("ask"), model("m2"))],
    ],
    [
      "an option of the agent's own: forwarded without `type: id`; the agent's list is merged with the options made here",
      { modes, configOptions: [effort("low"), web(true)] },
      [
        set("effort", "high"),
        asks("session/set_config_option", { configId: "effort", value: "high" }),
        answers({ configOptions: [effort("high"), web(false)], _meta: { m: 1 } }),
        [
          "to client",
          reply("set", { configOptions: [mode("ask"), effort("high", v2), web(false, v2)], _meta: { m: 1 } }),
        ],
      ],
    ],
    [
      "an agent that answers without a list: the new value is entered in the known one",
      { configOptions: [effort("low"), web(true)] },
      [
        set("effort", "high"),
        asks("session/set_config_option", { configId: "effort", value: "high" }),
        answers({}),
        list(effort("high", v2), web(true, v2)),
      ],
    ],
    [
      "a boolean: `type: boolean` stays",
      { configOptions: [web(true)] },
      [
        set("web", false),
        asks("session/set_config_option", { configId: "web", type: "boolean", value: false }),
        answers({ configOptions: [web(false)] }),
        list(web(false, v2)),
      ],
    ],
    [
      "`_meta` and unknown fields go along",
      { modes },
      [
        [
          "client",
          request("set", "session/set_config_option", {
            sessionId: "s1",
            configId: "mode",
            type: "id",
            value: "code",
            _meta: { m: 1 },
            extra: 2,
          }),
        ],
        asks("session/set_mode", { modeId: "code", _meta: { m: 1 }, extra: 2 }),
        answers({}),
        list(mode("code")),
      ],
    ],
    [
      "an agent with an option of its own for the mode: that one is shown and set, `modes` is not",
      { modes, configOptions: [{ ...mode("ask"), id: "permissions", configId: undefined }] },
      [
        set("permissions", "code"),
        asks("session/set_config_option", { configId: "permissions", value: "code" }),
        answers({}),
        list(mode("code", "permissions")),
      ],
    ],
    [
      "the id `mode` taken by something else: `_mode`",
      { modes, configOptions: [{ ...effort("low"), id: "mode" }] },
      [
        set("_mode", "code"),
        asks("session/set_mode", { modeId: "code" }),
        answers({}),
        list(mode("code", "_mode"), { ...effort("low", v2), configId: "mode" }),
      ],
    ],
    [
      "an error of the agent's: passed on, nothing changed",
      { modes },
      [
        set("mode", "code"),
        asks("session/set_mode", { modeId: "code" }),
        ["agent", fail(3, -32603, "not now", { why: 1 })],
        ["to client", fail("set", -32603, "not now", { why: 1 })],
        says({ sessionUpdate: "config_option_update", configOptions: [] }),
        changed(mode("ask")),
      ],
    ],
    [
      "the value stays set for what comes later",
      { modes, configOptions: [effort("low")] },
      [
        set("mode", "code"),
        asks("session/set_mode", { modeId: "code" }),
        answers({}),
        list(mode("code"), effort("low", v2)),
        says({ sessionUpdate: "config_option_update", configOptions: [effort("high")] }),
        changed(mode("code"), effort("high", v2)),
      ],
    ],
  ];
  test.each(cases)("%s", (_, config, script) => {
    play(configured(config), script);
  });

  const faults: [string, Row, string][] = [
    ["an unknown option", set("speed", "high"), "effort"],
    ["an unknown value", set("effort", "huge"), "low, high"],
    ["an unknown mode", set("mode", "yolo"), "ask, code"],
    ["a value of another type", set("effort", true), "low, high"],
    ["text for a boolean", set("web", "true"), "true or false"],
  ];
  test.each(faults)("%s: -32602 naming the allowed ones, nothing sent", (_, row, named) => {
    const dialogue = configured({ modes, configOptions: [effort("low"), web(true)] });
    const { sent } = dialogue.client(row[1]);
    expect(sent).toEqual([
      [
        "client",
        {
          jsonrpc: "2.0",
          id: "set",
          error: expect.objectContaining({ code: -32602, message: expect.stringContaining(named) }),
        },
      ],
    ]);
  });

  test("of a session the agent has lost: -32002", () => {
    play(configured({ configOptions: [effort("low")] }), [
      [
        "client",
        request(1, "session/set_config_option", { sessionId: "s1", configId: "effort", type: "id", value: "high" }),
      ],
      ["to agent", request(3, "session/set_config_option", { sessionId: "s1", configId: "effort", value: "high" })],
      ["agent", fail(3, -32602, "Session not found")],
      ["to client", fail(1, -32002, "Session not found", expect.objectContaining({ sessionId: "s1" }))],
    ]);
  });

  test("an option that is gone by the time the agent answers is not set any more", () => {
    play(configured({ configOptions: [effort("low")] }), [
      [
        "client",
        request(1, "session/set_config_option", { sessionId: "s1", configId: "effort", type: "id", value: "high" }),
      ],
      ["to agent", request(3, "session/set_config_option", { sessionId: "s1", configId: "effort", value: "high" })],
      says({ sessionUpdate: "config_option_update", configOptions: [web(true)] }),
      hears({ sessionUpdate: "config_option_update", configOptions: [web(true, v2)] }),
      ["agent", reply(3, {})],
      ["to client", reply(1, { configOptions: [web(true, v2)] })],
    ]);
  });

  test("of a session the client has not opened: -32002, nothing sent", () => {
    play(pairedDialogue(), [
      set("mode", "code"),
      ["to client", fail("set", -32002, expect.any(String), { sessionId: "s1" })],
    ]);
  });
});

describe("§8 changes the agent announces", () => {
  const cases: [string, object, Row[]][] = [
    [
      "current_mode_update: the full list",
      { modes, models, configOptions: [effort("low")] },
      [
        says({ sessionUpdate: "current_mode_update", currentModeId: "code", _meta: { m: 1 } }),
        hears({
          sessionUpdate: "config_option_update",
          configOptions: [mode("code"), model("m1"), effort("low", v2)],
          _meta: { m: 1 },
        }),
      ],
    ],
    [
      "config_option_update: a full replacement, with the options made here merged back in",
      { modes, configOptions: [effort("low"), web(true)] },
      [
        says({ sessionUpdate: "config_option_update", configOptions: [web(false)] }),
        changed(mode("ask"), web(false, v2)),
        says({ sessionUpdate: "current_mode_update", currentModeId: "code" }),
        changed(mode("code"), web(false, v2)),
      ],
    ],
    [
      "current_mode_update of an agent with an option of its own for the mode: that option follows",
      { modes, configOptions: [{ ...mode("ask"), id: "mode", configId: undefined }] },
      [says({ sessionUpdate: "current_mode_update", currentModeId: "code" }), changed(mode("code"))],
    ],
    [
      "a mode that is not in the list is shown all the same",
      { modes },
      [
        says({ sessionUpdate: "current_mode_update", currentModeId: "plan" }),
        changed({ ...mode("plan"), options: [...mode("ask").options, { value: "plan", name: "plan" }] }),
      ],
    ],
    [
      "current_mode_update of an agent that named no modes: nothing to show, logged",
      {},
      [says({ sessionUpdate: "current_mode_update", currentModeId: "code" }), ["log", "mode-without-modes"]],
    ],
    [
      "config_option_update of an agent that has no options left: an empty list",
      { configOptions: [web(true)] },
      [says({ sessionUpdate: "config_option_update", configOptions: [] }), changed()],
    ],
    [
      "groups: `group` is `groupId`",
      {},
      [
        says({
          sessionUpdate: "config_option_update",
          configOptions: [
            {
              ...effort("low"),
              options: [{ group: "all", name: "All", options: [{ value: "low", name: "Low" }], _meta: { m: 1 } }],
            },
          ],
        }),
        changed({
          ...effort("low", v2),
          options: [{ groupId: "all", name: "All", options: [{ value: "low", name: "Low" }], _meta: { m: 1 } }],
        }),
      ],
    ],
  ];
  test.each(cases)("%s", (_, config, script) => {
    play(configured(config), script);
  });

  test("each session has its own", () => {
    const dialogue = configured({ modes });
    dialogue.client(request("new2", "session/new", { cwd: "/work" }));
    dialogue.agent(reply(3, { sessionId: "s2", modes }));
    play(dialogue, [
      says({ sessionUpdate: "current_mode_update", currentModeId: "code" }, "s2"),
      hears({ sessionUpdate: "config_option_update", configOptions: [mode("code")] }, "s2"),
      says({ sessionUpdate: "config_option_update", configOptions: [] }),
      changed(mode("ask")),
    ]);
  });
});

describe("§11 slash commands", () => {
  test("each command gains `type: command`, its input `type: text`; `input: null` is dropped", () => {
    play(openDialogue(), [
      says({
        sessionUpdate: "available_commands_update",
        availableCommands: [
          { name: "plan", description: "Plans", input: { hint: "what" }, _meta: { m: 1 } },
          { name: "go", description: "Goes", input: null },
        ],
        _meta: { n: 1 },
      }),
      hears({
        sessionUpdate: "available_commands_update",
        availableCommands: [
          {
            type: "command",
            name: "plan",
            description: "Plans",
            input: { type: "text", hint: "what" },
            _meta: { m: 1 },
          },
          { type: "command", name: "go", description: "Goes" },
        ],
        _meta: { n: 1 },
      }),
    ]);
  });
});
