// Rows about turns: prompts, states, permissions, cancelling, and what an agent reports on the way.
import { expect } from "vitest";
import { asArray, asObject, type JsonObject } from "../../../src/protocol/json.ts";
import {
  newSession,
  stateOf,
  type Turn,
  text,
  turn,
  turnFrom,
  updateOf,
  updatesIn,
} from "../../support/conversation.ts";
import { type Kit, ofKind, type Row, received, statesIn, under } from "../kit.ts";

const session = "capabilities.session";

const STOP_REASON = /^(end_turn|max_tokens|max_turn_requests|refusal|cancelled|error|_.*)$/;
const STATE = /^(running|idle|requires_action|_.*)$/;
const KIND = new RegExp(
  "^(user_message|user_message_chunk|agent_message|agent_message_chunk|agent_thought|agent_thought_chunk|" +
    "state_update|tool_call_content_chunk|tool_call_update|terminal_update|terminal_output_chunk|plan_update|" +
    "available_commands_update|config_option_update|session_info_update|usage_update|notice|compaction_update|" +
    "compaction_summary_chunk|_.*)$",
);
const CONTENT_TYPE = /^(content|diff|terminal|_.*)$/;
const TOOL_KIND = /^(read|edit|delete|move|search|execute|think|fetch|switch_mode|other|_.*)$/;
const TOOL_STATUS = /^(pending|in_progress|paused|completed|failed|cancelled|_.*)$/;
const PLAN_PRIORITY = /^(high|medium|low|_.*)$/;
const PLAN_STATUS = /^(pending|in_progress|completed|cancelled|_.*)$/;
const MESSAGES = ["user_message", "agent_message", "agent_thought"].flatMap((kind) => [kind, `${kind}_chunk`]);

/** Turns of every kind. */
async function turns(kit: Kit): Promise<Turn[]> {
  return [await kit.everything(), await kit.permission(), await kit.cancelled()];
}

/** A prompt with this block, and how its turn ended. */
async function takes(kit: Kit, block: JsonObject): Promise<void> {
  const { idle, updates } = await kit.turn([text("#echo"), block]);
  expect(idle).toMatchObject({ stopReason: "end_turn" });
  const said = ofKind(updates, "agent_message_chunk").map((update) => asObject(update["content"])["text"]);
  expect(said.join("")).toBe(`text ${block["type"]}`);
}

/** The frames on the main connection after the one given, of the same session. */
async function afterTurn(kit: Kit, { frames, sessionId }: Turn): Promise<JsonObject[]> {
  const main = await kit.main();
  await main.bridge.call("_test/echo", {});
  const all = received(main);
  const last = frames.at(-1);
  return updatesIn(all.slice(last === undefined ? 0 : all.indexOf(last) + 1), sessionId);
}

/** A turn that waits for a permission, answered this way. */
async function asked(kit: Kit, answer: JsonObject): Promise<Turn> {
  const { bridge } = await kit.main();
  bridge.onRequest("session/request_permission", () => answer);
  try {
    return await kit.turn("#permission");
  } finally {
    bridge.onRequest("session/request_permission", () => ({ outcome: { outcome: "selected", optionId: "yes" } }));
  }
}

const permissionsIn = (frames: readonly JsonObject[]) =>
  frames.filter((frame) => frame["method"] === "session/request_permission").map((frame) => asObject(frame["params"]));

export const turnRows: Row[] = [
  {
    id: "ACP-PROMPT-201",
    tier: "CAPABILITY",
    gate: session,
    title: "a prompt is answered with the id of its message, not with how the turn ended",
    async check(kit) {
      for (const { response } of await turns(kit)) {
        expect(response["result"]).toMatchObject({ messageId: expect.stringMatching(/./) });
        expect(response["result"]).not.toHaveProperty("stopReason");
      }
    },
  },
  {
    id: "ACP-PROMPT-203",
    tier: "CAPABILITY",
    gate: session,
    title: "the user's message comes back under that id, once, before the turn ends",
    async check(kit) {
      for (const { updates, messageId } of await turns(kit)) {
        const own = ofKind(updates, "user_message", "user_message_chunk");
        expect(own.map((update) => update["messageId"])).toEqual([messageId]);
      }
    },
  },
  {
    id: "ACP-PROMPT-205",
    tier: "CAPABILITY",
    gate: session,
    title: "every update of a turn is valid and bears the session's id",
    async check(kit) {
      // A connection with one session, so that nothing else goes on.
      const { bridge } = await kit.terminalClient();
      const { frames, sessionId } = await turn(
        bridge,
        await newSession(bridge),
        "#thought #text #plan #read #terminal",
      );
      const updates = frames.filter((frame) => frame["method"] === "session/update");
      expect(updates.length).toBeGreaterThan(10);
      for (const update of updates) expect(asObject(update["params"])["sessionId"]).toBe(sessionId);
      expect(bridge.faults).toEqual([]);
    },
  },
  {
    id: "ACP-PROMPT-003",
    tier: "ADVISORY",
    title: "a prompt of text and a link to a resource is taken",
    check: (kit) => takes(kit, { type: "resource_link", name: "a.txt", uri: "file:///work/a.txt" }),
  },
  {
    id: "ACP-PROMPTCAP-001",
    tier: "CAPABILITY",
    gate: "capabilities.session.prompt.image",
    title: "a prompt with an image is taken",
    check: (kit) => takes(kit, { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" }),
  },
  {
    id: "ACP-PROMPTCAP-002",
    tier: "CAPABILITY",
    gate: "capabilities.session.prompt.audio",
    title: "a prompt with audio is taken",
    check: (kit) => takes(kit, { type: "audio", mimeType: "audio/wav", data: "UklGRg==" }),
  },
  {
    id: "ACP-PROMPTCAP-003",
    tier: "CAPABILITY",
    gate: "capabilities.session.prompt.embeddedContext",
    title: "a prompt with a resource inside is taken",
    check: (kit) => takes(kit, { type: "resource", resource: { uri: "file:///work/a.txt", text: "a" } }),
  },
  {
    id: "ACP-STATE-201",
    tier: "CAPABILITY",
    gate: session,
    title: "an idle that ends a turn follows a running",
    async check(kit) {
      for (const { updates } of await turns(kit)) expect(statesIn(updates)[0]).toBe("running");
    },
  },
  {
    id: "ACP-STATE-202",
    tier: "CAPABILITY",
    gate: session,
    title: "what runs becomes idle, once",
    async check(kit) {
      for (const { updates } of await turns(kit))
        expect(statesIn(updates).filter((state) => state === "idle")).toHaveLength(1);
    },
  },
  {
    id: "ACP-STATE-203",
    tier: "CAPABILITY",
    gate: session,
    title: "the idle says why, in a defined word or one that begins with _",
    async check(kit) {
      const endings = [...(await turns(kit)), await kit.turn("#refusal"), await kit.turn("#error")];
      for (const { idle } of endings) expect(idle["stopReason"]).toMatch(STOP_REASON);
    },
  },
  {
    id: "ACP-PERM-201",
    tier: "CAPABILITY",
    gate: session,
    title: "a permission request has session, title and options; answered, the turn comes to its end",
    async check(kit) {
      const { frames, sessionId, idle } = await kit.permission();
      const requests = permissionsIn(frames);
      expect(requests).toHaveLength(1);
      for (const request of requests) {
        expect(request).toMatchObject({ sessionId, title: expect.stringMatching(/./) });
        const options = asArray(request["options"]);
        expect(options.length).toBeGreaterThan(0);
        for (const option of options)
          expect(option).toMatchObject({
            optionId: expect.any(String),
            name: expect.any(String),
            kind: expect.any(String),
          });
      }
      expect(idle).toMatchObject({ stopReason: "end_turn" });
    },
  },
  {
    id: "ACP-CLIENTCAP-201",
    tier: "CAPABILITY",
    gate: session,
    title: "a client that announced no elicitation is asked nothing, though the agent tries",
    async check(kit) {
      await kit.everything();
      const main = await kit.main();
      expect(main.bridge.agentSide().fromAgent.map((frame) => frame["method"])).toContain("elicitation/create");
      expect(received(main).map((frame) => frame["method"])).not.toContain("elicitation/create");
    },
  },
  {
    id: "ACP-CLIENTCAP-202",
    tier: "CAPABILITY",
    gate: session,
    title: "only methods of version 2, or with _, are called, whatever the agent calls",
    async check(kit) {
      await kit.everything();
      const main = await kit.main();
      const tried = main.bridge.agentSide().fromAgent.map((frame) => frame["method"]);
      expect(tried).toEqual(expect.arrayContaining(["fs/read_text_file", "terminal/create", "vendor/question"]));
      const known = /^(session\/update|session\/request_permission|elicitation\/(create|complete)|\$\/.*|_.*)$/;
      for (const frame of received(main)) if ("method" in frame) expect(frame["method"]).toMatch(known);
    },
  },
  {
    id: "ACP-CANCEL-201",
    tier: "CAPABILITY",
    gate: session,
    title: "a cancelled turn ends in an idle that says cancelled",
    async check(kit) {
      expect((await kit.cancelled()).idle).toMatchObject({ state: "idle", stopReason: "cancelled" });
    },
  },
  {
    id: "ACP-CANCEL-202",
    tier: "CAPABILITY",
    gate: session,
    title: "no state follows that idle",
    async check(kit) {
      expect(statesIn(await afterTurn(kit, await kit.cancelled()))).toEqual([]);
    },
  },
  {
    id: "ACP-CANCEL-203",
    tier: "CAPABILITY",
    gate: session,
    title: "to cancel is no error of the prompt, and no other reason to stop",
    async check(kit) {
      const { response, updates } = await kit.cancelled();
      expect(response).toHaveProperty("result");
      expect(updates.map((update) => update["stopReason"]).filter((reason) => reason !== undefined)).toEqual([
        "cancelled",
      ]);
    },
  },
  {
    id: "ACP-CANCEL-204",
    tier: "INFORMATIONAL",
    title: "the agent is told at once (the kit only records: stop as soon as possible)",
    async check(kit) {
      const { sessionId } = await kit.cancelled();
      const { bridge } = await kit.main();
      const cancels = bridge.agentSide().toAgent.filter((frame) => frame["method"] === "session/cancel");
      expect(cancels.map((frame) => frame["params"])).toContainEqual({ sessionId });
    },
  },
  {
    id: "ACP-CANCEL-205",
    tier: "CAPABILITY",
    gate: session,
    title: "session/cancel itself is not answered",
    async check(kit) {
      const { at } = await kit.cancelled();
      await afterTurn(kit, await kit.cancelled());
      const { bridge } = await kit.main();
      const asked = new Set(bridge.frames.flatMap(({ from, frame }) => (from === "client" ? [frame["id"]] : [])));
      for (const { from, frame } of bridge.frames.slice(at))
        if (from === "bridge" && !("method" in frame))
          expect(frame["id"] === null || asked.has(frame["id"])).toBe(true);
    },
  },
  {
    id: "ACP-CANCEL-206",
    tier: "CAPABILITY",
    gate: session,
    title: "session/cancel is heard with _meta as without",
    async check(kit) {
      const { bridge } = await kit.main();
      const { sessionId } = await kit.session();
      const from = bridge.frames.length;
      const response = await bridge.request("session/prompt", { sessionId, prompt: [text("#stream")] });
      const params = { sessionId, _meta: { "example.com/why": "bored" } };
      bridge.notify("session/cancel", params);
      expect((await turnFrom(bridge, sessionId, from, response)).idle).toMatchObject({ stopReason: "cancelled" });
      const cancels = bridge.agentSide().toAgent.filter((frame) => frame["method"] === "session/cancel");
      expect(cancels.map((frame) => frame["params"])).toContainEqual(params);
    },
  },
  {
    id: "ACP-CANCEL-207",
    tier: "CAPABILITY",
    gate: session,
    title: "cancelled is the word for it, no other",
    async check(kit) {
      for (const { idle } of [await kit.cancelled(), await kit.closed()])
        expect(idle["stopReason"]).toMatch(/^(cancelled|_.*)$/);
    },
  },
  {
    id: "ACP-CANCEL-208",
    tier: "CAPABILITY",
    gate: session,
    title: "session/close in the middle of a turn ends it as cancelled",
    async check(kit) {
      expect((await kit.closed()).idle).toMatchObject({ state: "idle", stopReason: "cancelled" });
    },
  },
  {
    id: "ACP-INFO-CANCEL-201",
    tier: "INFORMATIONAL",
    title: "session/cancel with nothing at work changes nothing and does not reach the agent",
    async check(kit) {
      const main = await kit.main();
      const turn = await kit.turn("#text");
      main.bridge.notify("session/cancel", { sessionId: turn.sessionId });
      expect(statesIn(await afterTurn(kit, turn))).toEqual([]);
      const cancels = main.bridge.agentSide().toAgent.filter((frame) => frame["method"] === "session/cancel");
      expect(cancels.map((frame) => frame["params"])).not.toContainEqual({ sessionId: turn.sessionId });
    },
  },
  {
    id: "ACP-INFO-CANCEL-202",
    tier: "INFORMATIONAL",
    title: "a cancel withdraws an open permission from the client and answers it for the agent",
    async check(kit) {
      const connection = await kit.asking(2);
      const { bridge } = connection;
      const { sessionId } = await bridge.call("session/new", { cwd: "/work" });
      const from = bridge.frames.length;
      const response = await bridge.request("session/prompt", { sessionId, prompt: [text("#permission")] });
      const asks = (frame: JsonObject) => frame["method"] === "session/request_permission";
      const { id } = await bridge.next("permission", asks, from);
      bridge.notify("session/cancel", { sessionId });
      const { idle, updates } = await turnFrom(bridge, String(sessionId), from, response);
      expect(idle).toMatchObject({ stopReason: "cancelled" });
      const withdrawn = received(connection).filter((frame) => frame["method"] === "$/cancel_request");
      expect(withdrawn.map((frame) => frame["params"])).toEqual([{ requestId: id }]);
      const said = ofKind(updates, "agent_message_chunk").map((update) => asObject(update["content"])["text"]);
      expect(said).toEqual(["permission: cancelled"]);
    },
  },
  {
    id: "ACP-PATCH-201",
    tier: "CAPABILITY",
    gate: session,
    title: "every message and chunk has an id",
    async check(kit) {
      for (const { updates } of await turns(kit))
        for (const update of ofKind(updates, ...MESSAGES)) expect(update["messageId"]).toMatch(/./);
    },
  },
  {
    id: "ACP-PATCH-203",
    tier: "CAPABILITY",
    gate: session,
    title: "two prompts in one session have two ids, though their words are the same",
    async check(kit) {
      const { bridge } = await kit.main();
      const { sessionId } = await kit.session();
      const ids = [];
      for (const words of ["#text", "#text"]) {
        const from = bridge.frames.length;
        const response = await bridge.request("session/prompt", { sessionId, prompt: [text(words)] });
        ids.push((await turnFrom(bridge, sessionId, from, response)).messageId);
      }
      expect(new Set(ids).size).toBe(2);
    },
  },
  {
    id: "ACP-PATCH-204",
    tier: "CAPABILITY",
    gate: session,
    title: "tool-call updates name their tool call, and chunks have content",
    async check(kit) {
      const updates = ofKind((await kit.everything()).updates, "tool_call_update", "tool_call_content_chunk");
      expect(updates.length).toBeGreaterThan(0);
      for (const update of updates) {
        expect(update["toolCallId"]).toMatch(/./);
        if (update["sessionUpdate"] === "tool_call_content_chunk") expect(update).toHaveProperty("content");
      }
    },
  },
  {
    id: "ACP-PATCH-205",
    tier: "CAPABILITY",
    gate: session,
    title: "a plan has an id, the same for every update of it",
    async check(kit) {
      const plans = ofKind((await kit.everything()).updates, "plan_update").map((update) => asObject(update["plan"]));
      expect(plans.length).toBeGreaterThan(1);
      for (const plan of plans) expect(plan["planId"]).toMatch(/./);
      expect(new Set(plans.map((plan) => plan["planId"])).size).toBe(1);
    },
  },
  {
    id: "ACP-PATCH-206",
    tier: "CAPABILITY",
    gate: session,
    title: "a terminal's cwd is absolute and stays the same",
    async check(kit) {
      const terminals = ofKind((await kit.everything()).updates, "terminal_update");
      expect(terminals.length).toBeGreaterThan(0);
      const known = new Map<unknown, unknown>();
      for (const { terminalId, cwd } of terminals) {
        if (cwd === undefined) continue;
        expect(cwd).toMatch(/^\//);
        expect(known.get(terminalId) ?? cwd).toBe(cwd);
        known.set(terminalId, cwd);
      }
    },
  },
  {
    id: "ACP-PATCH-207",
    tier: "CAPABILITY",
    gate: session,
    title: "each chunk of a terminal's output is base64 by itself",
    async check(kit) {
      const chunks = ofKind((await kit.everything()).updates, "terminal_output_chunk");
      expect(chunks.length).toBeGreaterThan(0);
      for (const { data } of chunks) {
        expect(data).toMatch(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/);
        expect(Buffer.from(String(data), "base64").length).toBeGreaterThan(0);
      }
    },
  },
  {
    id: "ACP-PATCH-208",
    tier: "ADVISORY",
    title: "the first update of a tool call has a title, and its name never changes",
    async check(kit) {
      for (const { updates } of await turns(kit)) {
        const names = new Map<unknown, unknown>();
        for (const { toolCallId, title, name } of ofKind(updates, "tool_call_update")) {
          if (!names.has(toolCallId)) expect(title).toMatch(/./);
          expect(name ?? names.get(toolCallId)).toBe(names.get(toolCallId) ?? name);
          names.set(toolCallId, name ?? names.get(toolCallId));
        }
      }
    },
  },
  {
    id: "ACP-PATCH-209",
    tier: "ADVISORY",
    title: "while a permission is awaited the state is requires_action, then running again",
    async check(kit) {
      const { frames, sessionId, updates } = await kit.permission();
      expect(statesIn(updates)).toEqual(["running", "requires_action", "running", "idle"]);
      const asks = frames.findIndex((frame) => frame["method"] === "session/request_permission");
      const blocked = frames.findIndex((frame) => stateOf(updateOf(frame, sessionId) ?? {}) === "requires_action");
      expect(Math.abs(blocked - asks)).toBe(1);
    },
  },
  {
    id: "ACP-ENUM-201",
    tier: "CAPABILITY",
    gate: session,
    title: "kinds, statuses and priorities of tool calls and plans are defined words, or begin with _",
    async check(kit) {
      for (const { updates } of await turns(kit)) {
        for (const { kind, status } of ofKind(updates, "tool_call_update")) {
          if (kind !== undefined) expect(kind).toMatch(TOOL_KIND);
          if (status !== undefined) expect(status).toMatch(TOOL_STATUS);
        }
        for (const entry of under(ofKind(updates, "plan_update"), "entries").flatMap(asArray).map(asObject)) {
          expect(entry["priority"]).toMatch(PLAN_PRIORITY);
          expect(entry["status"]).toMatch(PLAN_STATUS);
        }
      }
    },
  },
  {
    id: "ACP-ENUM-202",
    tier: "ADVISORY",
    title: "kinds of updates, states and types of content are defined words, or begin with _",
    async check(kit) {
      for (const { updates } of await turns(kit)) {
        for (const update of updates) expect(update["sessionUpdate"]).toMatch(KIND);
        for (const state of statesIn(updates)) expect(state).toMatch(STATE);
        const contents = ofKind(updates, "tool_call_update").flatMap((update) => asArray(update["content"]));
        for (const content of contents) expect(asObject(content)["type"]).toMatch(CONTENT_TYPE);
      }
    },
  },
  {
    id: "ACP-ENUM-203",
    tier: "ADVISORY",
    title: "an outcome with _ is no trouble: the turn comes to its end, and nothing was approved",
    async check(kit) {
      const { response, idle, updates } = await asked(kit, { outcome: { outcome: "_postponed", until: "tomorrow" } });
      expect(response).toHaveProperty("result");
      expect(idle).toMatchObject({ state: "idle" });
      const said = ofKind(updates, "agent_message_chunk").map((update) => asObject(update["content"])["text"]);
      expect(said).toEqual(["permission: cancelled"]);
    },
  },
];
