// Guards `--map CLIENT=AGENT` in the bridge: each side sees its own paths in every place the protocol has for them, and
// free text is nobody's to change.
import { describe, expect, test } from "vitest";
import { parsePathMap } from "../../src/translate/path-map.ts";
import {
  type Act,
  agentHello,
  type Dialogue,
  downgradeDialogue,
  openDialogue,
  pairedDialogue,
  play,
  reply,
  request,
  stateUpdate,
  text,
  update,
} from "../support/dialogue.ts";

const paths = { paths: parsePathMap(["/home/me/work=/work", "/home/me/lib=/opt/lib"]) };
const hosts = { files: true, terminals: true };

/** Text in which a path is only text. */
const free = "see /work/a.ts and /home/me/work/a.ts";

/** A dialogue with session s1 open in the client's /home/me/work. */
function mapped(hello: unknown = agentHello): Dialogue {
  const dialogue = pairedDialogue({ ...paths, hosts }, hello);
  dialogue.client(request("n", "session/new", { cwd: "/home/me/work" }));
  dialogue.agent(reply(2, { sessionId: "s1" }));
  return dialogue;
}

describe("to the agent", () => {
  const setup = { cwd: "/home/me/work/app", additionalDirectories: ["/home/me/lib/x", "/elsewhere"] };
  const v1Setup = { cwd: "/work/app", additionalDirectories: ["/opt/lib/x", "/elsewhere"], mcpServers: [] };
  const onlyLoad = { ...agentHello.agentCapabilities, sessionCapabilities: { additionalDirectories: {} } };

  test.each<[string, object, string, object, unknown?]>([
    ["session/new", setup, "session/new", v1Setup],
    ["session/fork", { sessionId: "s1", ...setup }, "session/fork", { sessionId: "s1", ...v1Setup }],
    ["session/resume", { sessionId: "s9", ...setup }, "session/resume", { sessionId: "s9", ...v1Setup }],
    [
      "session/resume",
      { sessionId: "s9", ...setup },
      "session/load",
      { sessionId: "s9", ...v1Setup },
      { ...agentHello, agentCapabilities: onlyLoad },
    ],
    ["session/list", { cwd: "/home/me/work" }, "session/list", { cwd: "/work" }],
    // An extension's params are its own.
    ["_vendor/do", { cwd: "/home/me/work" }, "_vendor/do", { cwd: "/home/me/work" }],
  ])("%s", (method, params, v1Method, v1Params, hello) => {
    play(mapped(hello), [
      ["client", request("r", method, params)],
      ["to agent", request(3, v1Method, v1Params)],
    ]);
  });

  test("once, whatever pairing", () => {
    const swapped = { paths: parsePathMap(["/a=/b", "/b=/a"]) };
    for (const dialogue of [pairedDialogue(swapped), downgradeDialogue({}, swapped)])
      play(dialogue, [
        ["client", request("l", "session/list", { cwd: "/a" })],
        ["to agent", request(2, "session/list", { cwd: "/b" })],
      ]);
  });

  test("MCP servers are started as they are", () => {
    const server = { name: "m", command: "/home/me/work/serve", args: ["/home/me/work"], env: [] };
    play(mapped(), [
      ["client", request("r", "session/new", { cwd: "/x", mcpServers: [{ type: "stdio", ...server }] })],
      ["to agent", request(3, "session/new", { cwd: "/x", mcpServers: [server] })],
    ]);
  });

  test("a prompt's resources, not its text; the client's own message keeps the client's paths", () => {
    const link = (uri: string) => ({ type: "resource_link", name: "a", uri });
    const resource = (uri: string) => ({ type: "resource", resource: { uri, text: free } });
    const prompt = [text(free), link("file:///home/me/work/a%20b.ts"), resource("/home/me/lib/b")];
    const v1Prompt = [text(free), link("file:///work/a%20b.ts"), resource("/opt/lib/b")];
    play(mapped(), [
      ["client", request("p", "session/prompt", { sessionId: "s1", prompt })],
      ["to agent", request(3, "session/prompt", { sessionId: "s1", prompt: v1Prompt })],
      // The echo comes in the agent's paths, and is known all the same.
      ["agent", update("s1", { sessionUpdate: "user_message_chunk", content: v1Prompt[1] })],
      ["to client", reply("p", { messageId: "m_run_1" })],
      ["to client", update("s1", { sessionUpdate: "user_message", messageId: "m_run_1", content: prompt })],
      ["to client", stateUpdate("running")],
    ]);
  });
});

describe("to the client", () => {
  test("session/list, filtered by the client's directory", () => {
    const session = (cwd: string) => ({ sessionId: "s", cwd, additionalDirectories: [`${cwd}/x`], title: free });
    play(mapped(), [
      ["client", request("l", "session/list", { cwd: "/home/me/work" })],
      ["to agent", request(3, "session/list", { cwd: "/work" })],
      ["agent", reply(3, { sessions: [session("/work"), session("/opt/lib")] })],
      ["to client", reply("l", { sessions: [session("/home/me/work")] })],
    ]);
  });

  const chunk = (sessionUpdate: string, content: object, rest: object = {}) => ({ sessionUpdate, content, ...rest });
  const messageId = { messageId: "a" };
  test.each<[string, object, object]>([
    [
      "a resource in a message",
      chunk("agent_message_chunk", { type: "resource_link", name: "a", uri: "file:///work/a" }, messageId),
      chunk("agent_message_chunk", { type: "resource_link", name: "a", uri: "file:///home/me/work/a" }, messageId),
    ],
    [
      "no free text of a message",
      chunk("agent_message_chunk", text(free), messageId),
      chunk("agent_message_chunk", text(free), messageId),
    ],
    [
      "no free text of a thought",
      chunk("agent_thought_chunk", text(free), messageId),
      chunk("agent_thought_chunk", text(free), messageId),
    ],
    [
      "a tool call's locations, also relative ones, but not its title or raw input",
      {
        sessionUpdate: "tool_call",
        toolCallId: "t",
        title: free,
        rawInput: { path: "/work/a" },
        rawOutput: { path: "/work/a" },
        locations: [{ path: "/work/a", line: 3 }, { path: "src/b" }, { path: "/etc/hosts" }],
        content: [
          { type: "content", content: text(free) },
          { type: "content", content: { type: "resource_link", name: "a", uri: "/opt/lib/a" } },
        ],
      },
      {
        sessionUpdate: "tool_call_update",
        toolCallId: "t",
        title: free,
        rawInput: { path: "/work/a" },
        rawOutput: { path: "/work/a" },
        locations: [{ path: "/home/me/work/a", line: 3 }, { path: "/home/me/work/src/b" }, { path: "/etc/hosts" }],
        content: [
          { type: "content", content: text(free) },
          { type: "content", content: { type: "resource_link", name: "a", uri: "/home/me/lib/a" } },
        ],
      },
    ],
    [
      "no free text of a plan",
      { sessionUpdate: "plan", entries: [{ content: free, priority: "high", status: "pending" }] },
      {
        sessionUpdate: "plan_update",
        plan: { type: "items", planId: "plan", entries: [{ content: free, priority: "high", status: "pending" }] },
      },
    ],
  ])("%s", (_, v1, v2) => {
    expect(mapped().agent(update("s1", v1)).toClient).toEqual([update("s1", v2)]);
  });

  test("a diff: its path in the change and in the patch, not its text", () => {
    const diff = { type: "diff", path: "/work/a.ts", oldText: `${free}\n`, newText: `${free}!\n` };
    const { toClient } = mapped().agent(
      update("s1", { sessionUpdate: "tool_call", toolCallId: "t", title: "Edit", content: [diff] }),
    );
    expect(toClient).toMatchObject([
      {
        params: {
          update: {
            content: [
              {
                type: "diff",
                changes: [{ operation: "modify", path: "/home/me/work/a.ts" }],
                patch: { text: expect.stringContaining("/home/me/work/a.ts\n@@ -1 +1 @@\n") as string },
              },
            ],
          },
        },
      },
    ]);
    const patch = JSON.stringify(toClient);
    expect(patch).toContain(`-${free}`);
    expect(patch).toContain(`+${free}!`);
    expect(patch.replaceAll(free, "").replaceAll("/home/me/work/a.ts", "")).not.toContain("/work/a.ts");
  });

  test("a display terminal's directory", () => {
    const info = { terminal_info: { terminal_id: "x", cwd: "/work/app" } };
    const { toClient } = mapped().agent(
      update("s1", { sessionUpdate: "tool_call", toolCallId: "t", title: "ls", _meta: info }),
    );
    expect(toClient[0]).toEqual(
      update("s1", { sessionUpdate: "terminal_update", terminalId: "x", cwd: "/home/me/work/app", command: "ls" }),
    );
  });

  test("what a permission is asked for", () => {
    const dialogue = mapped();
    const { toClient } = dialogue.agent(
      request(9, "session/request_permission", {
        sessionId: "s1",
        toolCall: { toolCallId: "t", title: free, locations: [{ path: "/work/a" }] },
        options: [{ optionId: "y", name: free, kind: "allow_once" }],
      }),
    );
    expect(toClient[0]).toMatchObject({ params: { update: { locations: [{ path: "/home/me/work/a" }] } } });
    expect(toClient[1]).toMatchObject({
      params: {
        title: free,
        subject: { toolCall: { locations: [{ path: "/home/me/work/a" }] } },
        options: [{ name: free }],
      },
    });
  });
});

describe("what the bridge hosts works on the client's side", () => {
  const host = (method: string, params: object, terminal: object = {}) =>
    ["does", { type: "host", call: 1, method, params, roots: ["/home/me/work"], ...terminal } as Act] as const;

  test("a terminal's directory; its command is its own", () => {
    const params = { sessionId: "s1", command: "cat", args: ["/work/a"] };
    play(mapped(), [
      ["agent", request(9, "terminal/create", { ...params, cwd: "/work/app" })],
      host("terminal/create", { ...params, cwd: "/home/me/work/app" }, { terminalId: "t_run_1" }),
    ]);
  });

  test.each(["fs/read_text_file", "fs/write_text_file"])("%s", (method) => {
    play(mapped(), [
      ["agent", request(9, method, { sessionId: "s1", path: "/work/a", content: free })],
      host(method, { sessionId: "s1", path: "/home/me/work/a", content: free }),
    ]);
  });
});

test("without `--map` nothing is changed", () => {
  play(openDialogue(), [
    ["client", request("r", "session/new", { cwd: "/home/me/work" })],
    ["to agent", request(3, "session/new", { cwd: "/home/me/work", mcpServers: [] })],
  ]);
});
