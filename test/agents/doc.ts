// Makes the part of docs/agents.md that says what the runs of real agents found.
import type { Profile } from "../../src/config/profiles.ts";
import type { Explanation } from "./explained.ts";
import type { Result } from "./results.ts";

const START = "<!-- Made from test/agents/results by: npx vitest run test/agents/doc.test.ts --update -->";

/** What the part is made from. */
export interface Findings {
  results: readonly Result[];
  profiles: readonly Profile[];
  explained: Readonly<Record<string, readonly Explanation[]>>;
}

type Step = keyof Result["steps"];

const SIGNS = { native: "●", synthesised: "◐", "not possible": "–" } as const;

/** The document with its second part made anew; what stands before it is written by hand and stays. */
export function withFindings(document: string, findings: Findings): string {
  const [written] = document.split(START);
  return `${[`${written?.trimEnd()}\n`, START, "", ...table(findings), ...agents(findings)].join("\n").trimEnd()}\n`;
}

function table({ results }: Findings): string[] {
  const steps = Object.keys(results[0]?.steps ?? {}) as Step[];
  return [
    "## What works",
    "",
    `${SIGNS.native} the agent's own, translated; ${SIGNS.synthesised} made by acp-shift, because the agent's version 1 has no such thing;`,
    `${SIGNS["not possible"]} not possible, with the reason [below](#agent-by-agent).`,
    "",
    row(["", ...results.map(({ name }) => name)]),
    row(["---", ...results.map(() => ":-:")]),
    row(["version", ...results.map(({ packages }) => Object.values(packages)[0] ?? "")]),
    row(["protocol", ...results.map(({ protocols }) => protocols.join(", "))]),
    row(["profile", ...results.map(({ profile }) => profile ?? "none")]),
    ...steps.map((step) => row([step, ...results.map((result) => SIGNS[result.steps[step].how])])),
    "",
  ];
}

function agents({ results, profiles, explained }: Findings): string[] {
  return [
    "## Agent by agent",
    "",
    ...results.flatMap((result) => [
      ...agent(result),
      ...profileLines(profiles.find(({ name }) => name === result.profile)),
      ...limits(result),
      ...violations(result),
      ...versions(result, explained[result.name]),
    ]),
  ];
}

function agent({ name, title, packages, node, command, protocols, agentInfo }: Result): string[] {
  const installed = Object.entries(packages).map(([dependency, version]) => `\`${dependency}@${version}\``);
  const args = ["--", ...command].map((argument) => JSON.stringify(argument)).join(", ");
  return [
    `### ${name}`,
    "",
    `${title}: ${installed.join(" with ")}${node === null ? "" : `, on Node ${node}`}. Speaks version ${protocols.join(" and ")}; calls itself`,
    `\`${agentInfo.name}\` ${agentInfo.version}.`,
    "",
    "```json",
    `{ "command": "acp-shift", "args": [${args}] }`,
    "```",
    "",
  ];
}

function profileLines(profile: Profile | undefined): string[] {
  if (profile === undefined) return ["No profile: the defaults apply.", ""];
  const reasons = Object.entries(profile.why).map(([setting, why]) => `* \`${setting}\`: ${why}`);
  return [`Profile \`${profile.name}\` (\`config/agents/${profile.name}.json\`):`, "", ...reasons, ""];
}

/** What is worth knowing of single steps: limits first. */
function limits({ steps }: Result): string[] {
  const entries = Object.entries(steps);
  const impossible = entries.filter(([, { how }]) => how === "not possible");
  const noted = entries.filter(([, { how, note }]) => how !== "not possible" && note !== undefined);
  return [
    ...(impossible.length === 0
      ? ["No known limits in what was tried.", ""]
      : ["Limits:", "", ...impossible.map(([step, { note }]) => `* ${step}: ${note}`), ""]),
    ...(noted.length === 0
      ? []
      : ["Seen:", "", ...noted.map(([step, { how, note }]) => `* ${SIGNS[how]} ${step}: ${note}`), ""]),
  ];
}

function violations({ violations }: Result): string[] {
  if (violations.length === 0) return [];
  return [
    "Sent against its own version of the protocol, and mended or left out by acp-shift:",
    "",
    ...violations.map((violation) => `* ${violation}`),
    "",
  ];
}

function versions({ protocols }: Result, explanations: readonly Explanation[] = []): string[] {
  if (!protocols.includes(2)) return [];
  return [
    "It speaks version 2 itself, and is then passed through untouched. In version 1 (`--agent-protocol 1`) a client sees the same but",
    "for these differences:",
    "",
    ...explanations.map(({ why }) => `* ${why}`),
    "",
  ];
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
