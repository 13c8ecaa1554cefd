// Guards docs/agents.md: what it says of the agents is what their runs found (test/agents/results).
// `npx vitest run test/agents/doc.test.ts --update` makes it anew.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { loadProfiles } from "../../src/config/profiles.ts";
import { type Findings, withFindings } from "./doc.ts";
import { EXPLAINED } from "./explained.ts";
import { AGENTS } from "./registry.ts";
import { type Result, readResult } from "./results.ts";

const DOCUMENT = new URL("../../docs/agents.md", import.meta.url);

test("the document says what the runs found", async () => {
  const results = AGENTS.map(({ name }) => readResult(name) as Result);
  const made = withFindings(readFileSync(DOCUMENT, "utf8"), {
    results,
    profiles: loadProfiles(),
    explained: EXPLAINED,
  });
  await expect(made).toMatchFileSnapshot(fileURLToPath(DOCUMENT));
});

test("every agent has been run, in the version that is installed", () => {
  for (const { name, packages } of AGENTS) expect(readResult(name)).toMatchObject({ name, packages });
});

test("each command for an editor is the agent's own behind acp-shift", () => {
  const blocks = [...readFileSync(DOCUMENT, "utf8").matchAll(/```json\n([\s\S]*?)```/g)].map(([, json]) =>
    JSON.parse(json ?? ""),
  );
  const commands = blocks.filter((block) => "args" in block).map(({ command, args }) => [command, ...args].join(" "));
  expect(commands).toEqual(AGENTS.map(({ command }) => `acp-shift -- ${command.join(" ")}`));
});

test("all three ways are told apart, with the reasons; what is written by hand stays", () => {
  const result = {
    name: "made-up",
    title: "Made up",
    packages: { "made-up": "1.2.3", other: "4.5.6" },
    node: "22.1.0",
    command: ["made-up", "--acp"],
    protocols: [1, 2],
    agentInfo: { name: "made.up", version: "1.2" },
    profile: "made-up",
    steps: {
      text: { how: "native" },
      list: { how: "synthesised", note: "from memory" },
      plan: { how: "not possible", note: "it has none" },
    },
    violations: ["tool_call: a title is missing"],
  } as unknown as Result;
  const findings: Findings = {
    results: [result],
    profiles: [
      {
        name: "made-up",
        title: "",
        match: { agentInfo: [], command: [] },
        settings: {},
        why: { settle: "It is slow." },
      },
    ],
    explained: { "made-up": [{ why: "It says less.", native: /a/g, bridged: "b" }] },
  };
  const once = withFindings("# By hand\n", findings);
  expect(once.startsWith("# By hand\n\n<!--")).toBe(true);
  for (const line of [
    "|  | made-up |",
    "| version | 1.2.3 |",
    "| protocol | 1, 2 |",
    "| profile | made-up |",
    "| text | ● |",
    "| list | ◐ |",
    "| plan | – |",
    "* plan: it has none",
    "* ◐ list: from memory",
    "* `settle`: It is slow.",
    "* It says less.",
    "* tool_call: a title is missing",
    '{ "command": "acp-shift", "args": ["--", "made-up", "--acp"] }',
    "Made up: `made-up@1.2.3` with `other@4.5.6`, on Node 22.1.0. Speaks version 1 and 2; calls itself",
  ])
    expect(once.split("\n")).toContain(line);
  expect(withFindings(once, findings)).toBe(once);
});
