// Guards the translation by its strictest reference: an agent that speaks both versions looks the same to a v2 client
// in its own version 2 and in its version 1 through acp-shift, but for the differences that are explained.
import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { perform } from "./acts.ts";
import { EXPLAINED, explain } from "./explained.ts";
import { chosenAgents } from "./results.ts";
import { setStage } from "./stage.ts";

/** Each run takes a minute; a busy machine several, in ms. */
const TWO_RUNS = 900_000;

const both = chosenAgents().filter(({ protocols }) => protocols.includes(2));

test.skipIf(both.length > 0)("none of the chosen agents speaks both versions", () => {
  expect(both).toEqual([]);
});

describe.each(both)("$name", (agent) => {
  test("in its own version 2, and in version 1 through acp-shift", { timeout: TWO_RUNS }, async () => {
    const [native, bridged] = [await transcriptIn(2), await transcriptIn(1)];
    const { explained, stale } = explain(native, EXPLAINED[agent.name] ?? []);
    expect(bridged).toBe(explained);
    expect(stale).toEqual([]);
  });

  async function transcriptIn(protocol: 1 | 2): Promise<string> {
    const stage = await setStage(agent);
    try {
      const transcript = await perform(stage, protocol);
      expect(stage.model.faults).toEqual([]);
      const folder = process.env["TEST_AGENTS_TRANSCRIPTS"];
      if (folder !== undefined) writeFileSync(`${folder}/${agent.name}-v${protocol}.txt`, transcript);
      return transcript;
    } finally {
      await stage.strike();
    }
  }
});
