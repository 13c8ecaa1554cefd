// Guards docs/mapping.md §6: tool calls and display terminals. Diffs have a file of their own.
import { describe, expect, test } from "vitest";
import { asArray, asObject } from "../../src/protocol/json.ts";
import {
  decodePiece,
  displayTerminalsToV2,
  fromBase64,
  type ShownTerminal,
  terminalsReferred,
  toBase64,
} from "../../src/translate/terminals.ts";
import { editsFragments, toolCallTitle, toolCallToV2, unreadStrings } from "../../src/translate/tool-calls.ts";
import { validateV2 } from "../support/schema.ts";
import { firstFault, testCases } from "../support/table.ts";
import * as cases from "./cases/tool-calls.ts";

describe("tool calls", () => {
  testCases(
    cases.toolCalls,
    (input, notes) => toolCallToV2(asObject(input.update), { cwd: "/w", diffs: new Map() }, notes),
    (result) => validateV2("sessionUpdate" in asObject(result) ? "SessionUpdate" : "ToolCallUpdate", result),
  );
});

/** The value without members that are undefined. */
const defined = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test.each([
  [["a"], [], false],
  [[1, null, "", "x"], [{ oldText: null }, { oldText: "" }, { oldText: 1 }], false],
  [["x"], [null, { oldText: "y" }, { oldText: "x" }], true],
])("the arguments %j and the content %j: an edit of fragments is %j", (rawInput, content, expected) => {
  expect(editsFragments({ rawInput: { ...rawInput }, content })).toBe(expected);
});

test("the strings that are not looked at", () => {
  const block = (type: string, text: string) => ({ type, content: { type: "text", text } });
  const update = {
    content: [
      null,
      block("content", "a"),
      block("_x", "no"),
      { type: "content", content: { type: "image", text: "no" } },
    ],
    rawOutput: { list: ["b", 1, { text: "c" }], nothing: null },
  };
  for (const sessionUpdate of ["tool_call", "tool_call_update"])
    expect(unreadStrings({ ...update, sessionUpdate })).toEqual(["a", "b", "c"]);
  expect(unreadStrings({ ...update, sessionUpdate: "notice" })).toEqual([]);
});

describe("titles", () => {
  testCases(cases.titles, (input) => toolCallTitle(input));
});

describe("display terminals", () => {
  testCases(
    cases.displayTerminals,
    (input) => defined(displayTerminalsToV2(asObject(input.update), "/w", input.shown as ShownTerminal | undefined)),
    (result) => firstFault(asArray(asObject(result).updates), (update) => validateV2("SessionUpdate", update)),
  );

  test("the terminals a tool call shows", () => {
    const content = [
      { type: "terminal", terminalId: "a" },
      { type: "content", content: { type: "text", text: "x" } },
      { type: "terminal" },
      { type: "_link", terminalId: "c" },
      null,
      { type: "terminal", terminalId: "b" },
    ];
    expect(terminalsReferred({ toolCallId: "t", content })).toStrictEqual(["a", "b"]);
    expect(terminalsReferred({ toolCallId: "t", content: null })).toStrictEqual([]);
  });

  test.each(["", "hi\n", "é漢😀", "\u0000\u001b[0m", "x".repeat(100_000)])("base64 of UTF-8 (%#)", (text) => {
    expect(Buffer.from(toBase64(text), "base64").toString("utf8")).toBe(text);
  });

  test("bytes that come in pieces are the text they are as a whole, wherever they are cut", () => {
    const text = "a\ufeffé漢😀\ufeffz";
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at <= bytes.length; at++) {
      const first = decodePiece([], bytes.subarray(0, at));
      const second = decodePiece(first.pending, bytes.subarray(at));
      expect([first.text + second.text, second.pending]).toEqual([text, []]);
      expect(text.startsWith(first.text) && !first.text.includes("\ufffd")).toBe(true);
    }
    expect(decodePiece([], bytes.subarray(1)).text).toBe(text.slice(1));
    expect(decodePiece([], Uint8Array.of(0x80, 0x80)).text).toBe("\ufffd\ufffd");
  });

  test("what is no base64 is nothing", () => {
    expect([...fromBase64("?")]).toEqual([]);
  });

  test("half a surrogate pair is still UTF-8", () => {
    expect(Buffer.from(toBase64("a\ud83d"), "base64").toString("utf8")).toBe("a\ufffd");
  });
});
