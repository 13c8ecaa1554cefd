// Guards SECURITY.md, "What it says steers no terminal": the bridge's own words hold no control characters, whatever an agent
// put into what they quote.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createLogger } from "../../src/logging.ts";
import { asObject } from "../../src/protocol/json.ts";
import { emptyDirectory } from "../store/directories.ts";
import { bridgeForTest } from "../support/bridge-process.ts";
import { openSession } from "../support/conversation.ts";
import { runningDialogue } from "../support/dialogue.ts";
import { rawAgent } from "../support/raw-agent.ts";

/** Clears the screen, names the window, colours, goes back to the line's start, turns the writing direction; also in one byte. */
const EVIL = "before\x1b[2J\x1b]0;owned\x07\x1b[31m\rover\u009b31m\u009d0;owned\u009c\u202eback\x7f\x00after";
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const CONTROL = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]/;

test("the last words of an agent, told to the person and to the client", () => {
  const { says, toClient } = runningDialogue({ agentStderr: () => `${EVIL}\n${EVIL}` }).event({
    type: "agent-exit",
    code: 3,
    signal: null,
  });
  expect(says.join("\n")).toContain("after");
  expect(says.join("\n")).not.toMatch(CONTROL);
  expect(JSON.stringify(toClient)).toContain("after");
  const told = JSON.stringify(toClient, (_, value) => (typeof value === "string" ? value.replace(/\n/g, "") : value));
  expect(JSON.parse(told)).toEqual(toClient);
  for (const frame of toClient) expect(textsIn(frame).filter((text) => CONTROL.test(text))).toEqual([]);
});

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

test("what an agent writes to stdout that is no message", async () => {
  const bridge = bridgeForTest(rawAgent({ "session/new": [{ write: `${EVIL}\n` }, { result: { sessionId: "s1" } }] }));
  await openSession(bridge);
  await bridge.until("noise", () => (bridge.stderr.includes("after") ? true : undefined));
  await bridge.end();
  expect(bridge.stderr).not.toMatch(CONTROL);
});

test("log records", () => {
  const logFile = join(emptyDirectory(), "log.jsonl");
  createLogger({ logLevel: "info", logFile }).info("noise", { text: EVIL });
  const line = readFileSync(logFile, "utf8");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  expect(line.trimEnd()).not.toMatch(/[\x00-\x1f\x7f-\x9f]/);
  expect(asObject(JSON.parse(line))["text"]).toBe(EVIL);
});
