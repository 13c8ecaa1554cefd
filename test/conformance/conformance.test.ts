// Guards that acp-shift round a v1 agent is a conforming v2 agent: every row of the public conformance kit by its id,
// and the demands of the schema that no row checks. Rows about batches assert what the protocol says of them now.
import { readFileSync } from "node:fs";
import { afterAll, describe, expect, test, vi } from "vitest";
import { peer } from "../support/bridge-process.ts";
import { createKit, type Row } from "./kit.ts";
import { musts } from "./musts.ts";
import { rows } from "./rows.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** The kit's registry: ids and tiers of its rows, in its order. */
const registry: { id: string; tier: string; gate: string | null }[] = JSON.parse(
  readFileSync(new URL("./registry.json", import.meta.url), "utf8"),
);

test("there is exactly one check for each of the kit's 106 rows, with its tier and gate", () => {
  const byId = (one: { id: string }, other: { id: string }) => one.id.localeCompare(other.id);
  const covered = rows.map(({ id, tier, gate = null }) => ({ id, tier, gate }));
  expect(covered.toSorted(byId)).toEqual(registry.toSorted(byId));
  expect(new Set(registry.map(({ id }) => id)).size).toBe(106);
});

/** The gates of everything an agent may leave out. */
const OPTIONAL = [
  "capabilities.session.prompt.image",
  "capabilities.session.prompt.audio",
  "capabilities.session.prompt.embeddedContext",
  "capabilities.session.delete",
  "capabilities.session.additionalDirectories",
  "capabilities.session.mcp.http",
  "inferred:configOptions",
  "inferred:authMethods",
];

/** Agents, and the gates that stay closed with them. */
const agents: { name: string; command: string[]; closed: string[] }[] = [
  { name: "an agent that offers everything", command: peer("sdk-agent-v1.mjs"), closed: [] },
  { name: "an agent that offers nothing", command: peer("sdk-agent-v1.mjs", "--offer=nothing"), closed: OPTIONAL },
  { name: "an agent that only loads", command: peer("sdk-agent-v1.mjs", "--offer=load"), closed: OPTIONAL },
  { name: "an agent that only resumes", command: peer("sdk-agent-v1.mjs", "--offer=resume"), closed: OPTIONAL },
];

for (const { name, command, closed } of agents) {
  describe(name, () => {
    const kit = createKit(command);
    afterAll(() => kit.end());

    /** Runs a check if the agent offers what it needs; whether it does must be as expected. */
    const check = (title: string, { gate, check }: Pick<Row, "gate" | "check">) =>
      test(title, async ({ skip }) => {
        const open = await kit.isOpen(gate);
        expect(open, `${gate} is offered`).toBe(gate === undefined || !closed.includes(gate));
        if (open) await check(kit);
        else skip(`the agent does not offer ${gate}`);
      });

    for (const row of rows) check(`${row.id} [${row.tier}] ${row.title}`, row);
    for (const must of musts) check(`beyond the kit: ${must.title}`, must);
  });
}
