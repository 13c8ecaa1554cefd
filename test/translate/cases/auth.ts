import type { Case } from "./case.ts";

/** `authMethodsToV2`, result: list of v2 `AuthMethod`. */
export const authMethods: Case[] = [
  {
    rule: "2.1",
    title: "id becomes methodId, everything else stays",
    in: {
      methods: [{ id: "key", name: "API key", description: "d", _meta: { "api-key": { provider: "x" } }, later: 1 }],
      clientHasTerminalAuth: false,
    },
    out: [
      {
        name: "API key",
        description: "d",
        _meta: { "api-key": { provider: "x" } },
        later: 1,
        type: "agent",
        methodId: "key",
      },
    ],
  },
  {
    rule: "2.1",
    title: "entries without an id and repeated ids are left out",
    in: {
      methods: [{ name: "no id" }, { id: "" }, { id: 7 }, null, "x", { id: "a", name: "A" }, { id: "a", name: "B" }],
      clientHasTerminalAuth: false,
    },
    out: [{ type: "agent", methodId: "a", name: "A" }],
    notes: Array.from({ length: 6 }, () => "auth-method-dropped"),
  },
  {
    rule: "2.2",
    title: "no type, null type, explicit agent; a missing name is the id",
    in: { methods: [{ id: "a" }, { id: "b", name: "B", type: null }, { id: "c", name: "C", type: "agent" }] },
    out: [
      { type: "agent", methodId: "a", name: "a" },
      { type: "agent", methodId: "b", name: "B" },
      { type: "agent", methodId: "c", name: "C" },
    ],
  },
  {
    rule: "2.3",
    title: "terminal with args and env",
    in: {
      methods: [{ id: "t", name: "T", type: "terminal", args: ["login", "--now"], env: { A: "1", B: "" } }],
      clientHasTerminalAuth: true,
    },
    out: [
      {
        name: "T",
        type: "terminal",
        methodId: "t",
        args: ["login", "--now"],
        env: [
          { name: "A", value: "1" },
          { name: "B", value: "" },
        ],
      },
    ],
  },
  {
    rule: "2.3",
    title: "terminal with neither, or with what is none",
    in: {
      methods: [
        { id: "t", name: "T", type: "terminal", args: null, env: null },
        { id: "u", name: "U", type: "terminal", args: "a", env: "A=1" },
      ],
      clientHasTerminalAuth: true,
    },
    out: [
      { name: "T", type: "terminal", methodId: "t" },
      { name: "U", type: "terminal", methodId: "u" },
    ],
  },
  {
    rule: "2.3",
    title: "env that is a list already, with a repeated name; values and args that are no text",
    in: {
      methods: [
        {
          id: "t",
          name: "T",
          type: "terminal",
          args: ["a", 1],
          env: [
            { name: "A", value: "1" },
            { name: "A", value: "2" },
            { name: "B", value: 3 },
            { name: 3, value: "B" },
            null,
          ],
        },
      ],
      clientHasTerminalAuth: true,
    },
    out: [{ name: "T", type: "terminal", methodId: "t", args: ["a"], env: [{ name: "A", value: "2" }] }],
    notes: ["auth-env-dropped", "auth-env-dropped", "auth-env-dropped"],
  },
  {
    rule: "2.4",
    title: "an unknown type keeps its payload",
    in: {
      methods: [
        { id: "e", name: "E", type: "env_var", vars: [{ name: "KEY" }], args: [1], env: { A: 1 } },
        { id: "v", name: "V", type: "_vendor", data: 1 },
      ],
    },
    out: [
      { name: "E", type: "_env_var", methodId: "e", vars: [{ name: "KEY" }], args: [1], env: { A: 1 } },
      { name: "V", type: "_vendor", methodId: "v", data: 1 },
    ],
  },
  {
    rule: "2.5",
    title: "a client without terminal logins",
    in: {
      methods: [
        { id: "t", name: "T", type: "terminal" },
        { id: "a", name: "A" },
      ],
      clientHasTerminalAuth: false,
    },
    out: [{ type: "agent", methodId: "a", name: "A" }],
    notes: ["auth-method-terminal"],
  },
  { rule: "2.1", title: "no list", in: { methods: { id: "a" }, clientHasTerminalAuth: true }, out: [] },
];
