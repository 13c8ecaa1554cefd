import type { Case, Refusal } from "./case.ts";

const MODES = {
  currentModeId: "ask",
  availableModes: [
    { id: "ask", name: "Ask", description: "Asks first" },
    { id: "code", name: "Code", _meta: { m: 1 } },
  ],
};
const MODE_OPTION = {
  configId: "mode",
  name: "Mode",
  category: "mode",
  type: "select",
  currentValue: "ask",
  options: [
    { value: "ask", name: "Ask", description: "Asks first" },
    { value: "code", name: "Code", _meta: { m: 1 } },
  ],
};
const MODELS = {
  currentModelId: "big",
  availableModels: [
    { modelId: "big", name: "Big" },
    { modelId: "small", name: "Small", description: "Cheap" },
  ],
};
const MODEL_OPTION = {
  configId: "model",
  name: "Model",
  category: "model",
  type: "select",
  currentValue: "big",
  options: [
    { value: "big", name: "Big" },
    { value: "small", name: "Small", description: "Cheap" },
  ],
};
const EFFORT_V1 = {
  id: "effort",
  name: "Effort",
  category: "thought_level",
  type: "select",
  currentValue: "low",
  options: [
    { value: "low", name: "Low" },
    { value: "high", name: "High" },
  ],
};
const EFFORT = {
  configId: "effort",
  name: "Effort",
  category: "thought_level",
  type: "select",
  currentValue: "low",
  options: [
    { value: "low", name: "Low" },
    { value: "high", name: "High" },
  ],
};
const OWN_MODE_V1 = {
  id: "mode",
  name: "Mode",
  category: "mode",
  type: "select",
  currentValue: "ask",
  options: [
    { value: "ask", name: "Ask" },
    { value: "code", name: "Code" },
  ],
};
const OWN_MODE = { ...OWN_MODE_V1, configId: "mode", id: undefined };

function withoutUndefined<T extends object>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}

/** `configOptionsToV2`, result: list of v2 `SessionConfigOption`. */
export const configOptions: Case[] = [
  { rule: "8.1", title: "nothing", in: { config: {} }, out: [] },
  {
    rule: "8.1",
    title: "a flat select and a boolean, everything else kept",
    in: {
      config: {
        configOptions: [
          { ...EFFORT_V1, description: "How hard", _meta: { m: 1 }, later: 1 },
          { id: "fast", name: "Fast", type: "boolean", currentValue: false, category: "vendor" },
        ],
      },
    },
    out: [
      { ...EFFORT, description: "How hard", _meta: { m: 1 }, later: 1 },
      { configId: "fast", name: "Fast", type: "boolean", currentValue: false, category: "vendor" },
    ],
  },
  {
    rule: "8.1",
    title: "groups",
    in: {
      config: {
        configOptions: [
          {
            id: "m",
            name: "M",
            type: "select",
            currentValue: "a",
            options: [
              { group: "g1", name: "One", options: [{ value: "a", name: "A" }], _meta: { m: 1 } },
              { group: "g2", name: "Two", options: [{ value: "b", name: "B" }] },
              { group: "g3", name: "Empty", options: [] },
              { options: [{ value: "z", name: "Z" }] },
            ],
          },
        ],
      },
    },
    out: [
      {
        configId: "m",
        name: "M",
        type: "select",
        currentValue: "a",
        options: [
          { groupId: "g1", name: "One", options: [{ value: "a", name: "A" }], _meta: { m: 1 } },
          { groupId: "g2", name: "Two", options: [{ value: "b", name: "B" }] },
        ],
      },
    ],
  },
  {
    rule: "8.1",
    title: "groups mixed with choices become flat, a value counts once",
    in: {
      config: {
        configOptions: [
          {
            id: "m",
            name: "M",
            type: "select",
            currentValue: "a",
            options: [
              { value: "a", name: "A", options: [] },
              {
                group: "g",
                name: "G",
                options: [
                  { value: "b", name: "B" },
                  { value: "a", name: "A again" },
                ],
              },
              { name: "no value" },
              null,
              { value: "c" },
            ],
          },
        ],
      },
    },
    out: [
      {
        configId: "m",
        name: "M",
        type: "select",
        currentValue: "a",
        options: [
          { value: "a", name: "A", options: [] },
          { value: "b", name: "B" },
          { value: "c", name: "c" },
        ],
      },
    ],
  },
  {
    rule: "8.1",
    title: "the current value is always among the choices",
    in: {
      config: {
        configOptions: [
          { ...EFFORT_V1, currentValue: "xhigh" },
          {
            id: "m",
            name: "M",
            type: "select",
            currentValue: "z",
            options: [{ group: "g", name: "G", options: [{ value: "b", name: "B" }] }],
          },
        ],
      },
    },
    out: [
      {
        ...EFFORT,
        currentValue: "xhigh",
        options: [
          { value: "low", name: "Low" },
          { value: "high", name: "High" },
          { value: "xhigh", name: "xhigh" },
        ],
      },
      {
        configId: "m",
        name: "M",
        type: "select",
        currentValue: "z",
        options: [
          { groupId: "g", name: "G", options: [{ value: "b", name: "B" }] },
          { groupId: "_current", name: "Current", options: [{ value: "z", name: "z" }] },
        ],
      },
    ],
  },
  {
    rule: "8.1",
    title: "options that cannot be shown are skipped, unknown types get a prefix",
    in: {
      config: {
        configOptions: [
          null,
          { name: "no id", type: "boolean", currentValue: true },
          { id: "", type: "boolean", currentValue: true },
          { id: "a", type: "boolean", currentValue: "yes" },
          { id: "b", type: "select", currentValue: "x", options: [] },
          { id: "c", type: "select", options: [{ value: "x", name: "X" }] },
          { id: "d" },
          { id: "e", type: "slider", min: 0 },
          { id: "f", type: "boolean", currentValue: true },
          { id: "f", type: "boolean", currentValue: false },
        ],
      },
    },
    out: [
      { configId: "e", type: "_slider", name: "e", min: 0 },
      { configId: "f", type: "boolean", name: "f", currentValue: true },
    ],
  },
  {
    rule: "8.2",
    title: "modes come first",
    in: { config: { modes: MODES, configOptions: [EFFORT_V1] } },
    out: [MODE_OPTION, EFFORT],
  },
  {
    rule: "8.2",
    title: "an option without a category is not the mode; what is no mode is skipped",
    in: {
      config: {
        modes: { ...MODES, availableModes: [null, ...MODES.availableModes] },
        configOptions: [{ ...EFFORT_V1, category: null }],
      },
    },
    out: [MODE_OPTION, { ...EFFORT, category: null }],
  },
  {
    rule: "8.2",
    title: "a current mode that is not in the list, _meta of the modes",
    in: {
      config: {
        modes: { currentModeId: "plan", availableModes: [{ id: "ask", name: "Ask" }], _meta: { m: 1 } },
      },
    },
    out: [
      {
        _meta: { m: 1 },
        configId: "mode",
        name: "Mode",
        category: "mode",
        type: "select",
        currentValue: "plan",
        options: [
          { value: "ask", name: "Ask" },
          { value: "plan", name: "plan" },
        ],
      },
    ],
  },
  {
    rule: "8.2",
    title: "modes without a current one, or with none to choose, give no option",
    in: {
      config: {
        modes: { availableModes: [{ id: "ask", name: "Ask" }] },
        models: { currentModelId: "x", availableModels: [] },
      },
    },
    out: [],
  },
  {
    rule: "8.3",
    title: "the agent's own option of category mode, whatever its id",
    in: { config: { modes: MODES, configOptions: [{ ...OWN_MODE_V1, id: "approval" }] } },
    out: [withoutUndefined({ ...OWN_MODE, configId: "approval" })],
  },
  {
    rule: "8.3",
    title: "the agent's own option with the id mode and no category",
    in: { config: { modes: MODES, configOptions: [{ ...OWN_MODE_V1, category: null }] } },
    out: [withoutUndefined({ ...OWN_MODE, category: null })],
  },
  {
    rule: "8.4",
    title: "the id mode is another thing",
    in: {
      config: {
        modes: MODES,
        configOptions: [{ id: "mode", name: "Dark", category: "_theme", type: "boolean", currentValue: true }],
      },
    },
    out: [
      { ...MODE_OPTION, configId: "_mode" },
      { configId: "mode", name: "Dark", category: "_theme", type: "boolean", currentValue: true },
    ],
  },
  {
    rule: "8.5",
    title: "models after modes, before the agent's own",
    in: { config: { modes: MODES, models: MODELS, configOptions: [EFFORT_V1] } },
    out: [MODE_OPTION, MODEL_OPTION, EFFORT],
  },
  {
    rule: "8.3",
    title: "the agent's own option of category model",
    in: { config: { models: MODELS, configOptions: [{ ...EFFORT_V1, category: "model" }] } },
    out: [{ ...EFFORT, category: "model" }],
  },
];

/** `withCurrentMode`. */
export const currentModes: Case[] = [
  {
    rule: "8.9",
    title: "in modes",
    in: { config: { modes: MODES }, modeId: "code" },
    out: { modes: { ...MODES, currentModeId: "code" } },
  },
  {
    rule: "8.9",
    title: "in modes and in the agent's own option",
    in: { config: { modes: MODES, configOptions: [EFFORT_V1, OWN_MODE_V1] }, modeId: "code" },
    out: {
      modes: { ...MODES, currentModeId: "code" },
      configOptions: [EFFORT_V1, { ...OWN_MODE_V1, currentValue: "code" }],
    },
  },
  {
    rule: "8.9",
    title: "the agent's own option has no such value",
    in: { config: { modes: MODES, configOptions: [OWN_MODE_V1] }, modeId: "secret" },
    out: { modes: { ...MODES, currentModeId: "secret" }, configOptions: [OWN_MODE_V1] },
  },
  {
    rule: "8.9",
    title: "a session without modes",
    in: { config: { configOptions: [EFFORT_V1] }, modeId: "code" },
    out: { configOptions: [EFFORT_V1] },
  },
];

/** `setConfigOptionToV1`, result: the call, and the configuration after it. */
export const configCalls: Case[] = [
  {
    rule: "8.6",
    title: "a made mode option",
    in: {
      v2Params: { sessionId: "s", configId: "mode", type: "id", value: "code", _meta: { m: 1 } },
      config: { modes: MODES },
    },
    out: {
      method: "session/set_mode",
      params: { sessionId: "s", _meta: { m: 1 }, modeId: "code" },
      after: { modes: { ...MODES, currentModeId: "code" } },
    },
  },
  {
    rule: "8.6",
    title: "a made model option",
    in: { v2Params: { sessionId: "s", configId: "model", type: "id", value: "small" }, config: { models: MODELS } },
    out: {
      method: "session/set_model",
      params: { sessionId: "s", modelId: "small" },
      after: { models: { ...MODELS, currentModelId: "small" } },
    },
  },
  {
    rule: "8.6",
    title: "a made mode option under its other id",
    in: {
      v2Params: { sessionId: "s", configId: "_mode", type: "id", value: "code" },
      config: { modes: MODES, configOptions: [{ id: "mode", name: "D", type: "boolean", currentValue: true }] },
    },
    out: {
      method: "session/set_mode",
      params: { sessionId: "s", modeId: "code" },
      after: {
        modes: { ...MODES, currentModeId: "code" },
        configOptions: [{ id: "mode", name: "D", type: "boolean", currentValue: true }],
      },
    },
  },
  {
    rule: "8.7",
    title: "a select of the agent's own, type id dropped",
    in: {
      v2Params: { sessionId: "s", configId: "effort", type: "id", value: "high", later: 1 },
      config: { configOptions: [EFFORT_V1] },
    },
    out: {
      method: "session/set_config_option",
      params: { sessionId: "s", later: 1, configId: "effort", value: "high" },
      after: { configOptions: [{ ...EFFORT_V1, currentValue: "high" }] },
    },
  },
  {
    rule: "8.7",
    title: "a boolean of the agent's own keeps its type",
    in: {
      v2Params: { sessionId: "s", configId: "fast", type: "boolean", value: true },
      config: { configOptions: [{ id: "fast", name: "Fast", type: "boolean", currentValue: false }] },
    },
    out: {
      method: "session/set_config_option",
      params: { sessionId: "s", configId: "fast", type: "boolean", value: true },
      after: { configOptions: [{ id: "fast", name: "Fast", type: "boolean", currentValue: true }] },
    },
  },
  {
    rule: "8.7",
    title: "the agent's own mode option sets the mode too",
    in: {
      v2Params: { sessionId: "s", configId: "mode", type: "id", value: "code" },
      config: { modes: MODES, configOptions: [OWN_MODE_V1] },
    },
    out: {
      method: "session/set_config_option",
      params: { sessionId: "s", configId: "mode", value: "code" },
      after: {
        modes: { ...MODES, currentModeId: "code" },
        configOptions: [{ ...OWN_MODE_V1, currentValue: "code" }],
      },
    },
  },
  {
    rule: "8.7",
    title: "a value inside a group",
    in: {
      v2Params: { sessionId: "s", configId: "m", type: "id", value: "b" },
      config: {
        configOptions: [
          {
            id: "m",
            name: "M",
            type: "select",
            currentValue: "b",
            options: [{ group: "g", name: "G", options: [{ value: "b", name: "B" }] }],
          },
        ],
      },
    },
    out: {
      method: "session/set_config_option",
      params: { sessionId: "s", configId: "m", value: "b" },
      after: {
        configOptions: [
          {
            id: "m",
            name: "M",
            type: "select",
            currentValue: "b",
            options: [{ group: "g", name: "G", options: [{ value: "b", name: "B" }] }],
          },
        ],
      },
    },
  },
];

/** Values of which the type is not said, and one that only the agent can judge. */
const SLIDER = { id: "size", name: "Size", type: "slider", currentValue: 1 };
const FAST_V1 = { id: "fast", name: "Fast", type: "boolean", currentValue: false };
configCalls.push(
  ...[EFFORT_V1, FAST_V1].map(
    (option): Case => ({
      rule: "8.7",
      title: `no type, for a ${option.type}, and another option stands before it`,
      in: {
        v2Params: { sessionId: "s", configId: option.id, value: option === FAST_V1 ? true : "high" },
        config: { modes: MODES, configOptions: [OWN_MODE_V1, option] },
      },
      out: {
        method: "session/set_config_option",
        params: {
          sessionId: "s",
          configId: option.id,
          ...(option === FAST_V1 ? { type: "boolean", value: true } : { value: "high" }),
        },
        after: {
          modes: MODES,
          configOptions: [OWN_MODE_V1, { ...option, currentValue: option === FAST_V1 ? true : "high" }],
        },
      },
    }),
  ),
  {
    rule: "8.7",
    title: "an option of the agent's own type",
    in: {
      v2Params: { sessionId: "s", configId: "size", type: "_slider", value: 2 },
      config: { configOptions: [SLIDER] },
    },
    out: {
      method: "session/set_config_option",
      params: { sessionId: "s", configId: "size", value: 2 },
      after: { configOptions: [{ ...SLIDER, currentValue: 2 }] },
    },
    invalid: true,
  },
);

/** `setConfigOptionToV1`, refused. */
export const configCallsRefused: Refusal[] = [
  {
    rule: "8.8",
    title: "an unknown configId",
    in: {
      v2Params: { sessionId: "s", configId: "colour", type: "id", value: "red" },
      config: { modes: MODES, configOptions: [EFFORT_V1] },
    },
    error: {
      code: -32602,
      message: "Unknown configId; this session has: mode, effort",
      data: { configIds: ["mode", "effort"] },
    },
  },
  {
    rule: "8.8",
    title: "a session without options",
    in: { v2Params: { sessionId: "s", configId: "mode", value: "x" }, config: {} },
    error: { code: -32602, message: "Unknown configId; this session has: none", data: { configIds: [] } },
  },
  {
    rule: "8.8",
    title: "a value that is not offered",
    in: {
      v2Params: { sessionId: "s", configId: "mode", type: "id", value: "yolo" },
      config: { modes: MODES },
    },
    error: {
      code: -32602,
      message: "mode takes one of: ask, code",
      data: { configId: "mode", values: ["ask", "code"] },
    },
  },
  {
    rule: "8.8",
    title: "a boolean for a select",
    in: {
      v2Params: { sessionId: "s", configId: "effort", type: "boolean", value: true },
      config: { configOptions: [EFFORT_V1] },
    },
    error: {
      code: -32602,
      message: "effort takes one of: low, high",
      data: { configId: "effort", values: ["low", "high"] },
    },
  },
  {
    rule: "8.8",
    title: "a text for a boolean",
    in: {
      v2Params: { sessionId: "s", configId: "fast", type: "id", value: "true" },
      config: { configOptions: [{ id: "fast", name: "Fast", type: "boolean", currentValue: false }] },
    },
    error: {
      code: -32602,
      message: "fast takes true or false",
      data: { configId: "fast", values: [true, false] },
    },
  },
];
for (const [title, type, value] of [
  ["a boolean as a text", "boolean", "true"],
  ["a boolean that is called an id", "id", true],
] as const) {
  configCallsRefused.push({
    rule: "8.8",
    title,
    in: { v2Params: { sessionId: "s", configId: "fast", type, value }, config: { configOptions: [FAST_V1] } },
    error: {
      code: -32602,
      message: "fast takes true or false",
      data: { configId: "fast", values: [true, false] },
    },
  });
}
configCallsRefused.push({
  rule: "8.8",
  title: "a choice that is called a boolean",
  in: {
    v2Params: { sessionId: "s", configId: "effort", type: "boolean", value: "low" },
    config: { configOptions: [EFFORT_V1] },
  },
  error: {
    code: -32602,
    message: "effort takes one of: low, high",
    data: { configId: "effort", values: ["low", "high"] },
  },
});
