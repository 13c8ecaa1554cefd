// Guards `--map`: paths are mapped both ways exactly where the v1 schema has paths and resource URIs, and nowhere else.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isObject, type JsonObject } from "../../src/protocol/json.ts";
import {
  type PathMap,
  paramsToAgent,
  paramsToClient,
  parsePathMap,
  resultToClient,
  toAgentPath,
  toClientPath,
} from "../../src/translate/path-map.ts";
import { anyJsonObject, validV1 } from "../support/arbitrary.ts";
import { validateV1 } from "../support/schema.ts";
import { frozen } from "../support/table.ts";

describe("the option", () => {
  test.each([
    [[], []],
    [["/home/me/work=/work"], [{ client: "/home/me/work", agent: "/work" }]],
    [["/home/me/work///=/work/"], [{ client: "/home/me/work", agent: "/work" }]],
    [["/=/host"], [{ client: "/", agent: "/host" }]],
    [["/a/./b/../c=/c"], [{ client: "/a/c", agent: "/c" }]],
    [["C:\\Users\\me\\=/work"], [{ client: "C:\\Users\\me", agent: "/work" }]],
    [["C:/Users/me=/work"], [{ client: "C:\\Users\\me", agent: "/work" }]],
    [["D:\\=/mnt/d"], [{ client: "D:\\", agent: "/mnt/d" }]],
    [["\\\\wsl$\\Ubuntu\\home=/home"], [{ client: "\\\\wsl$\\Ubuntu\\home", agent: "/home" }]],
    [["/a=b=/c"], [{ client: "/a=b", agent: "/c" }]],
    [["/a=/b=c"], [{ client: "/a", agent: "/b=c" }]],
    [
      ["/a=/x", "/a/b=/y"],
      [
        { client: "/a", agent: "/x" },
        { client: "/a/b", agent: "/y" },
      ],
    ],
  ])("%j", (entries, pairs) => {
    expect(parsePathMap(entries)).toStrictEqual({ pairs });
  });

  test.each([
    [[""], 'expected CLIENT=AGENT with an absolute path on both sides, found ""'],
    [["/a"], 'expected CLIENT=AGENT with an absolute path on both sides, found "/a"'],
    [["/a="], 'expected CLIENT=AGENT with an absolute path on both sides, found "/a="'],
    [["=/a"], 'expected CLIENT=AGENT with an absolute path on both sides, found "=/a"'],
    [["a=/b"], 'expected CLIENT=AGENT with an absolute path on both sides, found "a=/b"'],
    [["/a=./b"], 'expected CLIENT=AGENT with an absolute path on both sides, found "/a=./b"'],
    [["C:a=/b"], 'expected CLIENT=AGENT with an absolute path on both sides, found "C:a=/b"'],
    [["/a=/b=/c"], 'expected CLIENT=AGENT, but "/a=/b=/c" can be read in more than one way'],
    [["/a=/x", "/a/=/y"], `the client's path "/a" is mapped twice`],
    [["/a=/x", "/b=/x"], `the agent's path "/x" is mapped twice`],
    [["C:\\A=/x", "c:/a=/y"], `the client's path "c:\\\\a" is mapped twice`],
  ])("%j is refused", (entries, message) => {
    expect(() => parsePathMap(entries)).toThrow(new Error(message));
  });
});

describe("paths", () => {
  const rows: [map: string[], client: string, agent: string][] = [
    [["/home/me=/work"], "/home/me", "/work"],
    [["/home/me=/work"], "/home/me/", "/work/"],
    [["/home/me=/work"], "/home/me/a b/ü.ts", "/work/a b/ü.ts"],
    [["/home/me=/work"], "/home/me/back\\slash", "/work/back\\slash"],
    [["/home/me=/work"], "/home/me/..hidden", "/work/..hidden"],
    [["/home/me=/work"], "/home/mex", "/home/mex"],
    [["/home/me=/work"], "/home", "/home"],
    [["/home/me=/work"], "/HOME/ME/a", "/HOME/ME/a"],
    [["/home/me=/work"], "home/me/a", "home/me/a"],
    [["/home/me=/work"], "", ""],
    [["/a=/x", "/a/b=/y"], "/a/c", "/x/c"],
    [["/a=/x", "/a/b=/y"], "/a/b/c", "/y/c"],
    [["/a=/x", "/a/b=/y"], "/a/bc", "/x/bc"],
    [["/a/b=/y", "/a=/x"], "/a/b/c", "/y/c"],
    [["/=/host"], "/", "/host"],
    [["/=/host"], "/etc", "/host/etc"],
    [["/host=/"], "/host", "/"],
    [["/host=/"], "/host/etc", "/etc"],
    [["/a=/b", "/b=/a"], "/a/x", "/b/x"],
    [["C:\\Users\\me=/work"], "C:\\Users\\me\\src\\a.ts", "/work/src/a.ts"],
    [["C:\\Users\\me=/work"], "C:\\Users\\mex", "C:\\Users\\mex"],
    [["C:\\Users\\me=/work"], "D:\\Users\\me", "D:\\Users\\me"],
    [["C:\\=/mnt/c"], "C:\\", "/mnt/c"],
    [["C:\\=/mnt/c"], "C:\\a", "/mnt/c/a"],
    [["/work=C:\\w"], "/work/a/b", "C:\\w\\a\\b"],
    [["C:\\a=D:\\b"], "C:\\a\\x", "D:\\b\\x"],
    [["\\\\server\\share=/share"], "\\\\server\\share\\x", "/share/x"],
  ];

  test.each(rows)("%j: the client's %j is the agent's %j", (entries, client, agent) => {
    const map = parsePathMap(entries);
    expect(toAgentPath(map, client)).toBe(agent);
    expect(toClientPath(map, agent)).toBe(client);
  });

  const oneWay: [map: string[], client: string, agent: string][] = [
    [["/home/me=/work"], "/home/me/../you/a", "/home/me/../you/a"],
    [["/home/me=/work"], "/home/you/../me/./a", "/work/a"],
    [["/home/me=/work"], "/home/me/..", "/home/me/.."],
    [["C:\\Users\\me=/work"], "c:/users/ME/Src", "/work/Src"],
    [["C:\\a=D:\\b"], "c:/A/x/y", "D:\\b/x/y"],
    [["/work=C:\\w"], "/work/back\\slash", "/work/back\\slash"],
    [["/İ=/x"], "/i̇/a", "/i̇/a"],
    [["/home/me=/work"], "x/../home/me/a", "x/../home/me/a"],
    [["\\\\server\\share=/share"], "//server/share/a", "//server/share/a"],
  ];

  test.each(oneWay)("%j: the client's %j goes to the agent as %j", (entries, client, agent) => {
    expect(toAgentPath(parsePathMap(entries), client)).toBe(agent);
  });

  const segment = fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => !/[\\/\0]|^\.\.?$/.test(text));
  const rest = fc.array(segment, { maxLength: 4 });
  const posix = fc.array(segment, { maxLength: 3 });
  const windows = fc.tuple(fc.constantFrom("C", "D"), posix);
  const root = (index: number) =>
    fc.oneof(
      posix.map((parts) => ({ separator: "/", path: `/${[`root${index}`, ...parts].join("/")}` })),
      windows.map(([drive, parts]) => ({
        separator: "\\",
        path: `${drive}:\\${[`root${index}`, ...parts].join("\\")}`,
      })),
    );
  const pair = (index: number) => fc.record({ client: root(index), agent: root(index) });
  const pairs = fc.tuple(pair(0), pair(1), pair(2));

  test("the directions are inverse for every path in a mapped directory", () => {
    fc.assert(
      fc.property(pairs, fc.nat(2), rest, (made, which, names) => {
        const map: PathMap = {
          pairs: made.map(({ client, agent }) => ({ client: client.path, agent: agent.path })),
        };
        const at = (side: "client" | "agent") => {
          const { path, separator } = made[which]?.[side] ?? { path: "/", separator: "/" };
          return [path, ...names].join(separator);
        };
        expect(toAgentPath(map, at("client"))).toBe(at("agent"));
        expect(toClientPath(map, at("agent"))).toBe(at("client"));
        const link = (side: "client" | "agent") => ({ type: "resource_link", uri: fileUri(at(side)) });
        const chunk = (content: unknown) => ({ update: { sessionUpdate: "agent_message_chunk", content } });
        expect(paramsToAgent(map, "session/prompt", { prompt: [link("client")] })).toEqual({ prompt: [link("agent")] });
        expect(paramsToClient(map, "session/update", chunk(link("agent")))).toEqual(chunk(link("client")));
      }),
    );
  });
});

/** The way a reader of RFC 8089 writes it: every segment encoded, a drive's colon kept. */
function fileUri(path: string): string {
  const keep = (text: string) => encodeURIComponent(text).replace(/%(24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent);
  const slashed = path.startsWith("/") ? path : `/${path.replaceAll("\\", "/")}`;
  return `file://${slashed.split("/").map(keep).join("/")}`;
}

describe("resource URIs", () => {
  const map = parsePathMap(["/home/me/my work=/work/100%", "C:\\w=/c", "\\\\wsl$\\u=/u"]);
  const link = (uri: unknown) => ({ prompt: [{ type: "resource_link", name: "n", uri }] });

  test.each([
    ["file:///home/me/my%20work/a.ts", "file:///work/100%25/a.ts"],
    ["file:///home/me/my%20work", "file:///work/100%25"],
    ["file:///home/me/my%20work/%C3%BC%23%3F%5B.ts", "file:///work/100%25/%C3%BC%23%3F%5B.ts"],
    ["file:///home/me/my%20work/a.ts?x=1#L3", "file:///work/100%25/a.ts?x=1#L3"],
    ["file:///home/me/my work/ü.ts", "file:///work/100%25/%C3%BC.ts"],
    ["file://localhost/home/me/my%20work/a", "file:///work/100%25/a"],
    ["FILE:/home/me/my%20work/a", "file:///work/100%25/a"],
    ["/home/me/my work/a%20b.ts", "/work/100%/a%20b.ts"],
    ["file:///C:/w/a.ts", "file:///c/a.ts"],
    ["file:///c%3A/w/a.ts", "file:///c/a.ts"],
    ["C:\\w\\a.ts", "/c/a.ts"],
    ["file://wsl%24/u/a", "file:///u/a"],
    // not in a mapped directory, or no file
    ["file:///home/me/my%20workshop", "file:///home/me/my%20workshop"],
    ["file:///elsewhere/%41", "file:///elsewhere/%41"],
    ["file:///home/me/my%20work/../x", "file:///home/me/my%20work/../x"],
    ["file://server/home/me/my%20work/a", "file://server/home/me/my%20work/a"],
    ["file:///home/me/my%20work/%FF", "file:///home/me/my%20work/%FF"],
    ["file:///home/me/my%20work/%zz", "file:///home/me/my%20work/%zz"],
    ["file:home/me/my%20work/a", "file:home/me/my%20work/a"],
    ["https://x/home/me/my%20work", "https://x/home/me/my%20work"],
    ["vscode:///home/me/my%20work", "vscode:///home/me/my%20work"],
    ["home/me/my work", "home/me/my work"],
    ["", ""],
    [7, 7],
    [null, null],
  ])("%j goes to the agent as %j", (client, agent) => {
    expect(paramsToAgent(map, "session/prompt", frozen(link(client)))).toStrictEqual(link(agent));
  });

  test.each([
    ["file:///work/100%25/a.ts", "file:///home/me/my%20work/a.ts"],
    ["file:///c/a%20b.ts", "file:///C:/w/a%20b.ts"],
    ["/c/a b.ts", "C:\\w\\a b.ts"],
    ["file:///u/a", "file://wsl$/u/a"],
  ])("the agent's %j goes to the client as %j", (agent, client) => {
    const chunk = (uri: string) => ({
      update: { sessionUpdate: "agent_message_chunk", content: { type: "resource_link", name: "n", uri } },
    });
    expect(paramsToClient(map, "session/update", frozen(chunk(agent)))).toStrictEqual(chunk(client));
  });
});

interface Row {
  title: string;
  method: string;
  in: JsonObject;
  /** Left out when the frame is to stay the same object. */
  out?: JsonObject;
}

const map = parsePathMap(["/home/me=/work"]);
const update = (fields: JsonObject): JsonObject => ({ sessionId: "s", update: fields });

const TO_AGENT: Row[] = [
  ...["session/new", "session/load", "session/resume", "session/fork"].map((method) => ({
    title: "directories, not the MCP servers",
    method,
    in: {
      sessionId: "/home/me",
      cwd: "/home/me/a",
      additionalDirectories: ["/home/me/b", "/elsewhere", 7],
      mcpServers: [{ name: "m", command: "/home/me/bin/m", args: ["/home/me"], env: [] }],
      _meta: { cwd: "/home/me" },
    },
    out: {
      sessionId: "/home/me",
      cwd: "/work/a",
      additionalDirectories: ["/work/b", "/elsewhere", 7],
      mcpServers: [{ name: "m", command: "/home/me/bin/m", args: ["/home/me"], env: [] }],
      _meta: { cwd: "/home/me" },
    },
  })),
  {
    title: "resources of a system prompt",
    method: "session/new",
    in: { systemPrompt: { mode: "append", content: [{ type: "resource_link", name: "n", uri: "/home/me/rules" }] } },
    out: { systemPrompt: { mode: "append", content: [{ type: "resource_link", name: "n", uri: "/work/rules" }] } },
  },
  { title: "nothing mapped", method: "session/new", in: { cwd: "/elsewhere", additionalDirectories: ["/x"] } },
  { title: "a relative cwd", method: "session/new", in: { cwd: "home/me", additionalDirectories: null } },
  {
    title: "the filter",
    method: "session/list",
    in: { cwd: "/home/me", cursor: "/home/me" },
    out: { cwd: "/work", cursor: "/home/me" },
  },
  { title: "no filter", method: "session/list", in: { cwd: null } },
  {
    title: "resources, not text",
    method: "session/prompt",
    in: {
      sessionId: "s",
      prompt: [
        { type: "text", text: "look at /home/me/a", uri: "/home/me/a" },
        { type: "resource_link", name: "/home/me/a", title: "/home/me/a", uri: "file:///home/me/a" },
        { type: "resource", resource: { uri: "/home/me/b", text: "/home/me" } },
        { type: "image", data: "", mimeType: "image/png", uri: "file:///home/me/c.png" },
        { type: "_other", uri: "/home/me/d" },
      ],
    },
    out: {
      sessionId: "s",
      prompt: [
        { type: "text", text: "look at /home/me/a", uri: "/home/me/a" },
        { type: "resource_link", name: "/home/me/a", title: "/home/me/a", uri: "file:///work/a" },
        { type: "resource", resource: { uri: "/work/b", text: "/home/me" } },
        { type: "image", data: "", mimeType: "image/png", uri: "file:///work/c.png" },
        { type: "_other", uri: "/home/me/d" },
      ],
    },
  },
  { title: "another method", method: "session/set_mode", in: { modeId: "/home/me", cwd: "/home/me" } },
  { title: "a method named like a property of every object", method: "constructor", in: { cwd: "/home/me" } },
];

const TOOL_CALL_IN: JsonObject = {
  toolCallId: "/work/id",
  title: "Edit /work/a",
  kind: "edit",
  rawInput: { path: "/work/a", cwd: "/work", command: ["cat", "/work/a"] },
  rawOutput: "/work/a",
  locations: [{ path: "/work/a", line: 3 }, { path: "a" }, { path: "/usr/a" }, "/work"],
  content: [
    { type: "diff", path: "/work/a", oldText: "/work", newText: "/work" },
    { type: "content", content: { type: "text", text: "/work" } },
    { type: "content", content: { type: "resource", resource: { uri: "file:///work/b", blob: "" } } },
    { type: "resource_link", name: "c", uri: "/work/c" },
    { type: "terminal", terminalId: "/work" },
    { type: "_other", path: "/work" },
  ],
  _meta: { cwd: "/work", terminal_info: { terminal_id: "/work", cwd: "/work/sub", command: "/work/run" } },
};
const TOOL_CALL_OUT: JsonObject = {
  toolCallId: "/work/id",
  title: "Edit /work/a",
  kind: "edit",
  rawInput: { path: "/work/a", cwd: "/work", command: ["cat", "/work/a"] },
  rawOutput: "/work/a",
  locations: [{ path: "/home/me/a", line: 3 }, { path: "a" }, { path: "/usr/a" }, "/work"],
  content: [
    { type: "diff", path: "/home/me/a", oldText: "/work", newText: "/work" },
    { type: "content", content: { type: "text", text: "/work" } },
    { type: "content", content: { type: "resource", resource: { uri: "file:///home/me/b", blob: "" } } },
    { type: "resource_link", name: "c", uri: "/home/me/c" },
    { type: "terminal", terminalId: "/work" },
    { type: "_other", path: "/work" },
  ],
  _meta: { cwd: "/work", terminal_info: { terminal_id: "/work", cwd: "/home/me/sub", command: "/work/run" } },
};
const LINK_IN = { type: "resource_link", name: "/work", uri: "file:///work/a" };
const LINK_OUT = { type: "resource_link", name: "/work", uri: "file:///home/me/a" };

const TO_CLIENT: Row[] = [
  ...["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "compaction_summary_chunk"].map(
    (sessionUpdate) => ({
      title: `a resource in ${sessionUpdate}`,
      method: "session/update",
      in: update({ sessionUpdate, content: LINK_IN }),
      out: update({ sessionUpdate, content: LINK_OUT }),
    }),
  ),
  {
    title: "text",
    method: "session/update",
    in: update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "/work/a" } }),
  },
  ...["tool_call", "tool_call_update"].map((sessionUpdate) => ({
    title: `a ${sessionUpdate}`,
    method: "session/update",
    in: update({ sessionUpdate, ...TOOL_CALL_IN }),
    out: update({ sessionUpdate, ...TOOL_CALL_OUT }),
  })),
  {
    title: "a tool call with nothing to map",
    method: "session/update",
    in: update({ sessionUpdate: "tool_call_update", toolCallId: "t", locations: [{ path: "/usr/a" }], content: null }),
  },
  {
    title: "a relative terminal directory",
    method: "session/update",
    in: update({ sessionUpdate: "tool_call", toolCallId: "t", _meta: { terminal_info: { cwd: "sub" } } }),
  },
  {
    title: "a plan in a file",
    method: "session/update",
    in: update({ sessionUpdate: "plan_update", plan: { type: "file", planId: "/work", uri: "file:///work/plan.md" } }),
    out: update({
      sessionUpdate: "plan_update",
      plan: { type: "file", planId: "/work", uri: "file:///home/me/plan.md" },
    }),
  },
  {
    title: "plan entries",
    method: "session/update",
    in: update({ sessionUpdate: "plan", entries: [{ content: "/work", priority: "high", status: "pending" }] }),
  },
  {
    title: "a subagent's directories",
    method: "session/update",
    in: update({ sessionUpdate: "subagent_update", title: "/work", cwd: "/work/a", additionalDirectories: ["/work"] }),
    out: update({
      sessionUpdate: "subagent_update",
      title: "/work",
      cwd: "/home/me/a",
      additionalDirectories: ["/home/me"],
    }),
  },
  {
    title: "a compaction's summary",
    method: "session/update",
    in: update({ sessionUpdate: "compaction_update", summary: [LINK_IN] }),
    out: update({ sessionUpdate: "compaction_update", summary: [LINK_OUT] }),
  },
  {
    title: "a session's title",
    method: "session/update",
    in: update({ sessionUpdate: "session_info_update", title: "/work/a", cwd: "/work" }),
  },
  {
    title: "a kind v1 does not define",
    method: "session/update",
    in: update({ sessionUpdate: "_vendor", cwd: "/work", path: "/work", content: LINK_IN }),
  },
  {
    title: "the tool call, not the options",
    method: "session/request_permission",
    in: { sessionId: "s", toolCall: TOOL_CALL_IN, options: [{ optionId: "/work", name: "/work", kind: "allow_once" }] },
    out: {
      sessionId: "s",
      toolCall: TOOL_CALL_OUT,
      options: [{ optionId: "/work", name: "/work", kind: "allow_once" }],
    },
  },
  {
    title: "the directory, not the command",
    method: "terminal/create",
    in: { sessionId: "s", command: "/work/run", args: ["/work"], env: [{ name: "P", value: "/work" }], cwd: "/work/a" },
    out: {
      sessionId: "s",
      command: "/work/run",
      args: ["/work"],
      env: [{ name: "P", value: "/work" }],
      cwd: "/home/me/a",
    },
  },
  { title: "no directory", method: "terminal/create", in: { sessionId: "s", command: "x", cwd: null } },
  {
    title: "the path",
    method: "fs/read_text_file",
    in: { sessionId: "s", path: "/work/a", line: 1 },
    out: { sessionId: "s", path: "/home/me/a", line: 1 },
  },
  {
    title: "the path, not the content",
    method: "fs/write_text_file",
    in: { sessionId: "s", path: "/work/a", content: "/work/a" },
    out: { sessionId: "s", path: "/home/me/a", content: "/work/a" },
  },
  { title: "an extension", method: "_vendor/open", in: { path: "/work/a", cwd: "/work" } },
];

const RESULTS: Row[] = [
  {
    title: "the sessions' directories",
    method: "session/list",
    in: {
      sessions: [
        { sessionId: "/work", cwd: "/work/a", additionalDirectories: ["/work/b", "/usr"], title: "/work" },
        { sessionId: "t", cwd: "/usr" },
        7,
      ],
      nextCursor: "/work",
    },
    out: {
      sessions: [
        { sessionId: "/work", cwd: "/home/me/a", additionalDirectories: ["/home/me/b", "/usr"], title: "/work" },
        { sessionId: "t", cwd: "/usr" },
        7,
      ],
      nextCursor: "/work",
    },
  },
  { title: "no sessions", method: "session/list", in: { sessions: [] } },
  { title: "another result", method: "session/new", in: { sessionId: "/work", cwd: "/work" } },
];

type Direction = (map: PathMap, method: string, object: JsonObject) => JsonObject;

describe.each<[string, Row[], Direction]>([
  ["params to the agent", TO_AGENT, paramsToAgent],
  ["params to the client", TO_CLIENT, paramsToClient],
  ["results to the client", RESULTS, resultToClient],
])("%s", (_, rows, direction) => {
  test.each(rows)("$method: $title", (row) => {
    const input = frozen(row.in);
    const result = direction(map, row.method, input);
    if (row.out === undefined) expect(result).toBe(input);
    else expect(result).toStrictEqual(row.out);
  });

  test.each(rows)("$method: $title, without a map", (row) => {
    expect(direction({ pairs: [] }, row.method, row.in)).toBe(row.in);
  });

  test("whatever a peer sends, nothing is thrown and the input stays as it was", () => {
    const wide = parsePathMap(["/=/elsewhere", "C:\\w=/c"]);
    const methods = fc.constantFrom(...new Set(rows.map(({ method }) => method)));
    fc.assert(
      fc.property(methods, anyJsonObject, (method, object) => {
        direction(wide, method, frozen(object));
        direction(wide, method, frozen({ update: object, toolCall: object, sessions: [object], prompt: [object] }));
      }),
    );
  });
});

test.each(["SessionNotification", "RequestPermissionRequest", "CreateTerminalRequest", "WriteTextFileRequest"])(
  "a valid v1 %s stays valid",
  (definition) => {
    const wide = parsePathMap(["/=C:\\w"]);
    const methods: Record<string, string> = {
      SessionNotification: "session/update",
      RequestPermissionRequest: "session/request_permission",
      CreateTerminalRequest: "terminal/create",
      WriteTextFileRequest: "fs/write_text_file",
    };
    fc.assert(
      fc.property(validV1(definition), (params) => {
        if (!isObject(params)) return;
        expect(validateV1(definition, paramsToClient(wide, methods[definition] ?? "", params))).toBeUndefined();
      }),
    );
  },
);
