// Guards docs/mapping.md §6: tool calls and display terminals. Diffs have a file of their own.
import { describe, expect, test } from "vitest";
import { asArray, asObject } from "../../src/protocol/json.ts";
import {
  displayTerminalsToV2,
  type ShownTerminal,
  terminalsReferred,
  toBase64,
} from "../../src/translate/terminals.ts";
import { toolCallTitle, toolCallToV2 } from "../../src/translate/tool-calls.ts";
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
      null,
      { type: "terminal", terminalId: "b" },
    ];
    expect(terminalsReferred({ toolCallId: "t", content })).toStrictEqual(["a", "b"]);
    expect(terminalsReferred({ toolCallId: "t", content: null })).toStrictEqual([]);
  });

  test.each(["", "hi\n", "é漢😀", "\u0000\u001b[0m", "x".repeat(100_000)])("base64 of UTF-8 (%#)", (text) => {
    expect(Buffer.from(toBase64(text), "base64").toString("utf8")).toBe(text);
  });

  test("half a surrogate pair is still UTF-8", () => {
    expect(Buffer.from(toBase64("a\ud83d"), "base64").toString("utf8")).toBe("a\ufffd");
  });
});
