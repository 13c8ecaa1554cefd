// Guards docs/mapping.md §2: authentication methods, login, logout, and the error that asks for them.
import { describe, expect, test } from "vitest";
import { asObject } from "../../src/protocol/json.ts";
import {
  agentHello,
  clientHello,
  createDialogue,
  fail,
  openDialogue,
  pairedDialogue,
  play,
  prompt,
  type Row,
  RUNNING,
  reply,
  request,
  runningDialogue,
} from "../support/dialogue.ts";

const authMethods = [
  { id: "key", name: "API key", description: "From the environment" },
  { id: "tty", type: "terminal", name: "Sign in", args: ["login"], env: { TERM: "dumb" }, _meta: { a: 1 } },
  { id: "saml", type: "saml", name: "Company", realm: "corp" },
  { id: "own", type: "_own", name: "Own" },
];

/** The methods the client is shown, by what it says of itself. */
function methodsFor(capabilities: unknown, methods: unknown): unknown {
  const dialogue = createDialogue();
  dialogue.client(request("init", "initialize", { ...clientHello, capabilities }));
  const { toClient } = dialogue.agent(reply(1, { ...agentHello, authMethods: methods }));
  return asObject(toClient[0]?.["result"])["authMethods"];
}

const keyMethod = { methodId: "key", type: "agent", name: "API key", description: "From the environment" };
const ttyMethod = {
  methodId: "tty",
  type: "terminal",
  name: "Sign in",
  args: ["login"],
  env: [{ name: "TERM", value: "dumb" }],
  _meta: { a: 1 },
};
const samlMethod = { methodId: "saml", type: "_saml", name: "Company", realm: "corp" };
const ownMethod = { methodId: "own", type: "_own", name: "Own" };

describe("§2 authMethods", () => {
  test("for a client with auth.terminal: all, in v2 form", () => {
    expect(methodsFor({ auth: { terminal: {} } }, authMethods)).toEqual([keyMethod, ttyMethod, samlMethod, ownMethod]);
  });

  test.each([[{}], [{ auth: {} }], [{ auth: { terminal: null } }]])(
    "for a client with %j: no terminal methods",
    (capabilities) => {
      expect(methodsFor(capabilities, authMethods)).toEqual([keyMethod, samlMethod, ownMethod]);
    },
  );

  test.each([
    [[], []],
    [undefined, undefined],
    [null, undefined],
  ])("%j becomes %j", (methods, expected) => {
    expect(methodsFor({}, methods)).toEqual(expected);
  });
});

const withoutLogout = { ...agentHello, agentCapabilities: { ...agentHello.agentCapabilities, auth: {} } };

describe("§2 login and logout", () => {
  test.each<[string, Row[]]>([
    [
      "`auth/login` is `authenticate`",
      [
        ["client", request(1, "auth/login", { methodId: "key", _meta: { a: 1 } })],
        ["to agent", request(2, "authenticate", { methodId: "key", _meta: { a: 1 } })],
        ["agent", reply(2, { _meta: { b: 2 } })],
        ["to client", reply(1, { _meta: { b: 2 } })],
      ],
    ],
    [
      "a result of null is an empty one",
      [
        ["client", request(1, "auth/login", { methodId: "key" })],
        ["to agent", request(2, "authenticate", { methodId: "key" })],
        ["agent", reply(2, null)],
        ["to client", reply(1, {})],
      ],
    ],
    [
      "a bad optional part of the result is left out",
      [
        ["client", request(1, "auth/login", { methodId: "key" })],
        ["to agent", request(2, "authenticate", { methodId: "key" })],
        ["agent", reply(2, { _meta: 1 })],
        ["to client", reply(1, {})],
      ],
    ],
    [
      "a result that is none",
      [
        ["client", request(1, "auth/login", { methodId: "key" })],
        ["to agent", request(2, "authenticate", { methodId: "key" })],
        ["agent", reply(2, 7)],
        ["to client", fail(1, -32603, expect.stringContaining("the agent's result is invalid"))],
      ],
    ],
    [
      "a failed login keeps its code, message and data",
      [
        ["client", request(1, "auth/login", { methodId: "key" })],
        ["to agent", request(2, "authenticate", { methodId: "key" })],
        ["agent", fail(2, -32603, "wrong key", { tries: 3 })],
        ["to client", fail(1, -32603, "wrong key", { tries: 3 })],
      ],
    ],
    [
      "`auth/login` without a method: -32602, nothing sent",
      [
        ["client", request(1, "auth/login", {})],
        ["to client", fail(1, -32602, expect.stringContaining("methodId"))],
      ],
    ],
    [
      "`auth/logout` is `logout`",
      [
        ["client", request(1, "auth/logout", { _meta: { a: 1 } })],
        ["to agent", request(2, "logout", { _meta: { a: 1 } })],
        ["agent", reply(2, {})],
        ["to client", reply(1, {})],
      ],
    ],
  ])("%s", (_, script) => {
    play(pairedDialogue(), script);
  });

  test("`auth/logout` at an agent that has none: -32603 that says the agent cannot log out, nothing sent", () => {
    play(pairedDialogue({}, withoutLogout), [
      ["client", request(1, "auth/logout", {})],
      ["to client", fail(1, -32603, expect.stringContaining("cannot log out"))],
    ]);
  });
});

const authRequired = { code: -32000, message: "Authentication required", data: { authMethods: ["key"] } };
const refused = (id: unknown) => fail(id, authRequired.code, authRequired.message, authRequired.data);

describe("§2 -32000 passes through on every request", () => {
  test.each<[string, unknown, string?]>([
    ["session/new", { cwd: "/" }],
    ["session/list", {}],
    ["session/resume", { sessionId: "s9", cwd: "/" }],
    ["session/delete", { sessionId: "s9" }],
    ["session/prompt", { sessionId: "s1", prompt: [{ type: "text", text: "hi" }] }],
    ["session/close", { sessionId: "s1" }],
    ["_vendor/method", {}],
  ])("%s", (method, params) => {
    const dialogue = openDialogue();
    const { toAgent } = dialogue.client(request("r", method, params));
    play(dialogue, [
      ["agent", refused(toAgent[0]?.["id"])],
      ["to client", refused("r")],
    ]);
  });

  test("a prompt that was accepted ends with it", () => {
    play(runningDialogue(), [
      ["agent", refused(RUNNING)],
      [
        "to client",
        {
          jsonrpc: "2.0",
          method: "session/update",
          params: {
            sessionId: "s1",
            update: { sessionUpdate: "state_update", state: "idle", stopReason: "error", error: authRequired },
          },
        },
      ],
      // The session is free for the prompt that follows the login.
      ["client", prompt(2, "again")],
      ["to agent", request(4, "session/prompt", { sessionId: "s1", prompt: [{ type: "text", text: "again" }] })],
    ]);
  });
});
