// Rows about the connection itself: initialize, framing, JSON-RPC, and how it ends.
import { expect } from "vitest";
import { asArray, asObject, asString, isObject, type JsonObject } from "../../../src/protocol/json.ts";
import { text, turn } from "../../support/conversation.ts";
import { type Connection, type Kit, ofKind, type Row, received, under } from "../kit.ts";
import { unknownKeysOfCall, unknownKeysOfResult } from "../unknown-keys.ts";

const MARKERS = "capabilities hold objects where they hold anything, never a boolean";

/** Sends a line as it is; the error that answers it. */
async function refusal({ bridge }: Connection, line: string): Promise<JsonObject> {
  const from = bridge.frames.length;
  await bridge.write(`${line}\n`);
  return bridge.next(`answer to ${line}`, (frame) => "error" in frame, from);
}

const refused = (code: number) => ({
  jsonrpc: "2.0",
  id: null,
  error: { code, message: expect.stringMatching(/^.+$/) },
});

/** That the connection still works. */
async function livesOn({ bridge }: Connection): Promise<void> {
  expect(await bridge.call("session/list", {})).toHaveProperty("sessions");
}

const list = (id: number) => ({ jsonrpc: "2.0", id, method: "session/list", params: {} });
const cancel = { jsonrpc: "2.0", method: "session/cancel", params: { sessionId: "nobody's" } };

/** Sends an array and expects the one refusal there is. */
async function refusesBatch(kit: Kit, entries: readonly unknown[]): Promise<void> {
  const connection = await kit.main();
  const from = connection.bridge.frames.length;
  expect(await refusal(connection, JSON.stringify(entries))).toEqual(refused(-32600));
  await livesOn(connection);
  const answers = connection.bridge.frames.slice(from).filter(({ frame }) => "error" in frame || Array.isArray(frame));
  expect(answers).toHaveLength(1);
}

const NO_BATCHES = "instead of what the kit asks, for batches left the protocol";

export const connectionRows: Row[] = [
  {
    id: "ACP-INIT-001",
    tier: "MANDATORY",
    title: "initialize has a result, whatever version is asked for",
    async check(kit) {
      const { initialized } = await kit.main();
      const results = [initialized];
      for (const version of [1, 65535]) results.push((await kit.asking(version)).initialized);
      for (const result of results) expect(result["protocolVersion"]).toEqual(expect.any(Number));
    },
  },
  {
    id: "ACP-INIT-003",
    tier: "MANDATORY",
    title: "a version from the far future is answered by a known one, not below that for a request of 2",
    async check(kit) {
      const version = (await kit.asking(65535)).initialized["protocolVersion"];
      expect(version).not.toBe(65535);
      expect(version).toBeGreaterThanOrEqual(Number((await kit.main()).initialized["protocolVersion"]));
    },
  },
  {
    id: "ACP-INIT-201",
    tier: "MANDATORY",
    title: "asked for 2, the version is the integer 2",
    async check(kit) {
      expect((await kit.main()).initialized["protocolVersion"]).toBe(2);
    },
  },
  {
    id: "ACP-INIT-202",
    tier: "MANDATORY",
    title: "asked for 1 with params of version 2, the version is 1 or 2",
    async check(kit) {
      expect([1, 2]).toContain((await kit.asking(1)).initialized["protocolVersion"]);
    },
  },
  {
    id: "ACP-INIT-203",
    tier: "MANDATORY",
    title: "the agent says its name and version",
    async check(kit) {
      expect((await kit.main()).initialized["info"]).toMatchObject({
        name: expect.stringMatching(/./),
        version: expect.stringMatching(/./),
      });
    },
  },
  {
    id: "ACP-INIT-204",
    tier: "MANDATORY",
    title: MARKERS,
    async check(kit) {
      const walk = (markers: JsonObject, path: string) => {
        for (const [name, marker] of Object.entries(markers)) {
          if (name === "_meta" || marker === null) continue;
          expect(isObject(marker), `${path}.${name}`).toBe(true);
          walk(asObject(marker), `${path}.${name}`);
        }
      };
      for (const { initialized } of [await kit.main(), await kit.terminalClient()]) {
        expect(isObject(initialized["capabilities"])).toBe(true);
        walk(asObject(initialized["capabilities"]), "capabilities");
      }
    },
  },
  {
    id: "ACP-SCHEMA-001",
    tier: "MANDATORY",
    title: "every message over initialize, session/new and a turn is valid version 2",
    async check(kit) {
      await kit.everything();
      await kit.permission();
      expect((await kit.main()).bridge.faults).toEqual([]);
    },
  },
  {
    id: "ACP-TRANSPORT-002",
    tier: "MANDATORY",
    title: "stdout is UTF-8",
    async check(kit) {
      const { bridge } = await kit.main();
      const { updates } = await kit.turn("#text é漢😀");
      expect(asObject(asArray(ofKind(updates, "user_message")[0]?.["content"])[0])["text"]).toBe("#text é漢😀");
      // Every line is decoded strictly.
      expect(bridge.faults.filter((fault) => fault.includes("UTF-8"))).toEqual([]);
    },
  },
  {
    id: "ACP-TRANSPORT-201",
    tier: "MANDATORY",
    title: "every line of stdout is one JSON-RPC object, also once shutdown has begun",
    async check(kit) {
      for (const connection of [await kit.main(), await kit.left()]) {
        expect(connection.bridge.faults).toEqual([]);
        for (const frame of received(connection)) expect(frame["jsonrpc"]).toBe("2.0");
      }
    },
  },
  {
    id: "ACP-TRANSPORT-203",
    tier: "MANDATORY",
    title: "line breaks inside a message are escaped",
    async check(kit) {
      const { bridge } = await kit.main();
      const words = "#text\none\r\ntwo\u2028three";
      const { updates } = await kit.turn(words);
      expect(ofKind(updates, "user_message")[0]?.["content"]).toEqual([text(words)]);
      for (const { line } of bridge.frames) expect(line).not.toMatch(/[\r\n]/);
    },
  },
  {
    id: "ACP-JSONRPC-001",
    tier: "MANDATORY",
    title: "an answer bears the id of its request, unchanged (outside batches, which are no more)",
    async check(kit) {
      const { bridge } = await kit.main();
      for (const id of [0, 4711, "0", "4711", "a b", ""]) {
        expect((await bridge.request("session/list", {}, id))["id"]).toBe(id);
        expect((await bridge.request("session/new", {}, id))["id"]).toBe(id);
      }
    },
  },
  {
    id: "ACP-JSONRPC-002",
    tier: "MANDATORY",
    title: "an answer has a result or an error, and an error an integer code and a text",
    async check(kit) {
      const main = await kit.main();
      const error = asObject((await main.bridge.request("session/new", {}))["error"]);
      expect(error).toMatchObject({ code: -32602, message: expect.any(String) });
      for (const frame of received(main)) {
        if ("method" in frame) continue;
        expect("result" in frame).not.toBe("error" in frame);
        if (!("error" in frame)) continue;
        const { code, message } = asObject(frame["error"]);
        expect(Number.isInteger(code)).toBe(true);
        expect(typeof message).toBe("string");
      }
    },
  },
  {
    id: "ACP-JSONRPC-003",
    tier: "MANDATORY",
    title: "a notification has no answer (outside batches, which are no more)",
    async check(kit) {
      const { sessionId } = await kit.session();
      const { bridge } = await kit.main();
      const from = bridge.frames.length;
      bridge.notify("session/cancel", { sessionId });
      bridge.notify("_test/unknown", {});
      const answer = await bridge.request("_test/echo", {});
      const answers = bridge.frames.slice(from).filter(({ from, frame }) => from === "bridge" && !("method" in frame));
      expect(answers.map(({ frame }) => frame)).toEqual([answer]);
    },
  },
  {
    id: "ACP-JSONRPC-004",
    tier: "ADVISORY",
    title: "a method nobody knows is answered with -32601",
    async check(kit) {
      const { bridge } = await kit.main();
      expect(await bridge.fault("does/not/exist", {})).toMatchObject({ code: -32601 });
    },
  },
  {
    id: "ACP-JSONRPC-005",
    tier: "ADVISORY",
    title: "the connection works on after a bad request",
    async check(kit) {
      const main = await kit.main();
      await main.bridge.fault("does/not/exist", {});
      await refusal(main, "[1]");
      await livesOn(main);
      expect((await kit.turn("#text")).idle).toMatchObject({ stopReason: "end_turn" });
    },
  },
  {
    id: "ACP-BATCH-201",
    tier: "MANDATORY",
    title: "an empty array is answered by one -32600 without an id",
    check: (kit) => refusesBatch(kit, []),
  },
  {
    id: "ACP-BATCH-202",
    tier: "MANDATORY",
    title: `an array of notifications is one -32600, ${NO_BATCHES} (no answer)`,
    check: (kit) => refusesBatch(kit, [cancel, cancel]),
  },
  {
    id: "ACP-BATCH-203",
    tier: "ADVISORY",
    title: `an array with entries that are nothing is one -32600, ${NO_BATCHES} (one for each)`,
    check: (kit) => refusesBatch(kit, [1, {}, list(9001)]),
  },
  {
    id: "ACP-BATCH-204",
    tier: "ADVISORY",
    title: `an array of requests is one -32600, ${NO_BATCHES} (an array of answers)`,
    check: (kit) => refusesBatch(kit, [list(9002), list(9003)]),
  },
  {
    id: "ACP-BATCH-205",
    tier: "ADVISORY",
    title: `no request of an array is answered, ${NO_BATCHES} (answers in any order)`,
    check: (kit) => refusesBatch(kit, [list(9004), cancel, list(9005)]),
  },
  {
    id: "ACP-BATCH-206",
    tier: "INFORMATIONAL",
    title: "no entry of an array is worked on (the kit only records: entries might run at the same time)",
    async check(kit) {
      const { bridge } = await kit.main();
      const before = bridge.agentSide().toAgent.length;
      await refusal(await kit.main(), JSON.stringify([{ ...list(9006), method: "session/new" }, cancel]));
      await bridge.call("_test/echo", {});
      expect(bridge.agentSide().toAgent.slice(before)).toMatchObject([{ method: "_test/echo" }]);
    },
  },
  {
    id: "ACP-BATCH-207",
    tier: "INFORMATIONAL",
    title: "the client never gets an array (the kit only records: an agent might send one)",
    async check(kit) {
      await kit.everything();
      for (const { line } of (await kit.main()).bridge.frames) expect(line.startsWith("{")).toBe(true);
    },
  },
  {
    id: "ACP-BATCH-208",
    tier: "INFORMATIONAL",
    title: "initialize in an array is refused like any other (the kit only records: a client should not)",
    check: (kit) => refusesBatch(kit, [{ jsonrpc: "2.0", id: 9007, method: "initialize", params: {} }]),
  },
  {
    id: "ACP-INFO-BATCH-201",
    tier: "INFORMATIONAL",
    title: "an array cut short is -32700 without an id",
    async check(kit) {
      expect(await refusal(await kit.main(), `[${JSON.stringify(list(9008))},{"jsonrpc"`)).toEqual(refused(-32700));
    },
  },
  {
    id: "ACP-INFO-BATCH-202",
    tier: "INFORMATIONAL",
    title: "an array of a call and a response is one -32600",
    check: (kit) => refusesBatch(kit, [list(9009), { jsonrpc: "2.0", id: 9010, result: {} }]),
  },
  {
    id: "ACP-INFO-PARSE-001",
    tier: "INFORMATIONAL",
    title: "a line that is no JSON is -32700 without an id",
    async check(kit) {
      expect(await refusal(await kit.main(), "hello?")).toEqual(refused(-32700));
    },
  },
  {
    id: "ACP-INFO-INVALIDREQ-001",
    tier: "INFORMATIONAL",
    title: "JSON that is no JSON-RPC message is -32600 without an id",
    async check(kit) {
      expect(await refusal(await kit.main(), '{"hello":"there"}')).toEqual(refused(-32600));
    },
  },
  {
    id: "ACP-EXT-001",
    tier: "MANDATORY",
    title: "a request with a name of someone's own is answered",
    async check(kit) {
      const { bridge } = await kit.main();
      expect(await bridge.call("_test/echo", { a: [1, null] })).toEqual({ echo: { a: [1, null] } });
      expect(await bridge.fault("_nobody/knows", {})).toMatchObject({ code: -32601 });
    },
  },
  {
    id: "ACP-EXT-201",
    tier: "ADVISORY",
    title: "a notification with a name of someone's own is no trouble",
    async check(kit) {
      const main = await kit.main();
      const before = received(main).length;
      main.bridge.notify("_nobody/knows", { a: 1 });
      await livesOn(main);
      expect(received(main).length).toBe(before + 1);
    },
  },
  {
    id: "ACP-EXT-202",
    tier: "ADVISORY",
    title: "capabilities have no root key the protocol does not define",
    async check(kit) {
      const { initialized } = await kit.main();
      const known = ["session", "auth", "providers", "_meta"];
      expect(Object.keys(asObject(initialized["capabilities"])).filter((key) => !known.includes(key))).toEqual([]);
    },
  },
  {
    id: "ACP-EXT-203",
    tier: "INFORMATIONAL",
    title: "a $/ notification nobody knows is ignored, and does not reach the agent",
    async check(kit) {
      const main = await kit.main();
      const before = received(main).length;
      main.bridge.notify("$/unknown", {});
      await livesOn(main);
      expect(received(main).length).toBe(before + 1);
      expect(main.bridge.agentSide().toAgent.filter((frame) => frame["method"] === "$/unknown")).toEqual([]);
    },
  },
  {
    id: "ACP-META-001",
    tier: "ADVISORY",
    title: "a prompt with _meta is taken, and the agent gets it",
    async check(kit) {
      const { bridge } = await kit.main();
      const { idle } = await kit.turn("#text", { _meta: { "example.com/trace": "abc" } });
      expect(idle).toMatchObject({ stopReason: "end_turn" });
      const prompts = bridge.agentSide().toAgent.filter((frame) => frame["method"] === "session/prompt");
      expect(prompts.map((frame) => asObject(frame["params"])["_meta"])).toContainEqual({ "example.com/trace": "abc" });
    },
  },
  {
    id: "ACP-META-201",
    tier: "ADVISORY",
    title: "_meta is an object or null wherever it is",
    async check(kit) {
      await kit.everything();
      for (const meta of under(received(await kit.main()), "_meta")) expect(meta === null || isObject(meta)).toBe(true);
    },
  },
  {
    id: "ACP-ERROR-001",
    tier: "ADVISORY",
    title: "the text of an error is one line, and says something",
    async check(kit) {
      const main = await kit.main();
      await main.bridge.fault("session/new", { cwd: "not/absolute" });
      await main.bridge.fault("session/prompt", { sessionId: "nobody's", prompt: [text("#text")] });
      await turn(main.bridge, (await kit.session()).sessionId, "#error");
      for (const error of under(received(main), "error"))
        expect(asString(asObject(error)["message"])).toMatch(/^[^\r\n]*\S[^\r\n]*$/);
    },
  },
  {
    id: "ACP-SCHEMA-002",
    tier: "ADVISORY",
    title: "params, results and updates have no root key the schema does not know",
    async check(kit) {
      await kit.everything();
      await kit.permission();
      const { bridge } = await kit.main();
      const asked = new Map<unknown, string>();
      const unknown = bridge.frames.flatMap(({ from, frame }) => {
        const method = asString(frame["method"]);
        if (from === "client") {
          if (method !== undefined) asked.set(frame["id"], method);
          return [];
        }
        if (method !== undefined) return unknownKeysOfCall(method, asObject(frame["params"]));
        return unknownKeysOfResult(asked.get(frame["id"]) ?? "", asObject(frame["result"]));
      });
      expect([...new Set(unknown)]).toEqual([]);
    },
  },
  {
    id: "ACP-SHUTDOWN-001",
    tier: "ADVISORY",
    title: "it ends when its input does, with status 0 and nothing left behind",
    async check(kit) {
      const { bridge } = await kit.left();
      expect(await bridge.exited()).toEqual({ code: 0, signal: null });
      await bridge.nothingLeft();
    },
  },
  {
    id: "ACP-STDERR-001",
    tier: "INFORMATIONAL",
    title: "stderr is empty while the agent's is and nothing is amiss",
    async check(kit) {
      const { bridge } = await kit.asking(65535);
      await bridge.call("session/new", { cwd: "/work" });
      expect(bridge.stderr).toBe("");
    },
  },
];
