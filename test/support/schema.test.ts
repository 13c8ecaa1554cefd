// Guards the test support itself: a frame that must not be sent is found, one that may be sent is not.
import { expect, test } from "vitest";
import { validateFrame, validateFrameToAgent, validateFrameToClient, validateV1, validateV2 } from "./schema.ts";

const call = (method: string, params: unknown, id?: unknown) =>
  id === undefined ? { jsonrpc: "2.0", method, params } : { jsonrpc: "2.0", id, method, params };
const result = (value: unknown, id: unknown = 1) => ({ jsonrpc: "2.0", id, result: value });
const failure = (error: unknown, id: unknown = 1) => ({ jsonrpc: "2.0", id, error });

test.each<[string, unknown, string | undefined]>([
  ["an update", call("session/update", { sessionId: "s", update: { sessionUpdate: "_x" } }), undefined],
  [
    "a request",
    call(
      "session/request_permission",
      { sessionId: "s", title: "T", options: [{ optionId: "a", name: "A", kind: "allow_once" }] },
      1,
    ),
    undefined,
  ],
  ["a cancellation", call("$/cancel_request", { requestId: 1 }), undefined],
  ["an extension", call("_vendor/x", null, "a"), undefined],
  ["an unstable method", call("mcp/message", { serverId: "a", requestId: "b", method: "m" }, 1), undefined],
  ["a result", result({ sessionId: "s" }), "session/new"],
  ["an extension's result", result(null), "_vendor/x"],
  ["an error", failure({ code: -1, message: "m" }, null), undefined],
])("may be sent to a client: %s", (_title, frame, method) => {
  expect(validateFrameToClient(frame, method)).toBeUndefined();
});

test.each<[string, unknown, string | undefined]>([
  ["no JSON-RPC", { id: 1, result: {} }, "session/new"],
  ["a v1 update", call("session/update", { sessionId: "s", update: { sessionUpdate: "plan_update" } }), undefined],
  ["an update without params", call("session/update", undefined), undefined],
  ["an update as a request", call("session/update", { sessionId: "s", update: { sessionUpdate: "_x" } }, 1), undefined],
  [
    "a request as a notification",
    call("session/request_permission", { sessionId: "s", title: "T", options: [] }),
    undefined,
  ],
  ["a method of the agent's", call("session/prompt", { sessionId: "s", prompt: [] }, 1), undefined],
  ["a method of v1", call("fs/read_text_file", { sessionId: "s", path: "/a" }, 1), undefined],
  ["a null id", call("_vendor/x", {}, null), undefined],
  ["a result of the wrong shape", result({}), "session/new"],
  ["a result nobody asked for", result({}), undefined],
  ["a result with a null id", result({ sessionId: "s" }, null), "session/new"],
  ["result and error", { ...result({}), error: { code: 1, message: "m" } }, "session/close"],
  ["an error without a message", failure({ code: 1 }), undefined],
])("must not be sent to a client: %s", (_title, frame, method) => {
  expect(validateFrameToClient(frame, method)).toBeTypeOf("string");
});

test("frames to an agent", () => {
  expect(validateFrameToAgent(call("session/new", { cwd: "/w", mcpServers: [] }, 1))).toBeUndefined();
  expect(validateFrameToAgent(call("session/new", { cwd: "/w" }, 1))).toBeTypeOf("string");
  expect(validateFrameToAgent(call("session/set_model", { sessionId: "s", modelId: "m" }, 1))).toBeUndefined();
  expect(validateFrameToAgent(call("auth/login", { methodId: "m" }, 1))).toBeTypeOf("string");
  expect(
    validateFrameToAgent(result({ outcome: { outcome: "cancelled" } }), "session/request_permission"),
  ).toBeUndefined();
});

test("the other two pairings", () => {
  expect(validateFrame("v1", "client", result({ stopReason: "end_turn" }), "session/prompt")).toBeUndefined();
  expect(validateFrame("v2", "agent", call("auth/login", { methodId: "m" }, 1))).toBeUndefined();
});

test("definitions", () => {
  expect(validateV1("StopReason", "end_turn")).toBeUndefined();
  expect(validateV1("StopReason", "max_turns")).toBeTypeOf("string");
  expect(validateV2("PlanItems", { planId: "p", entries: [] })).toBeUndefined();
  expect(() => validateV2("NoSuchThing", {})).toThrow(/NoSuchThing/);
});
