// The results of the runs, kept in test/agents/results: what docs/agents.md is made from.
import { readFileSync, writeFileSync } from "node:fs";
import { findProfile, loadProfiles } from "../../src/config/profiles.ts";
import { asObject } from "../../src/protocol/json.ts";
import { AGENTS, type Agent, NODE_22 } from "./registry.ts";
import { type Course, type Finding, STEP_NAMES, type StepName } from "./steps.ts";

export interface Result {
  name: string;
  title: string;
  packages: Readonly<Record<string, string>>;
  /** The version of Node that had to be installed for it; null: whatever runs acp-shift. */
  node: string | null;
  command: readonly string[];
  protocols: readonly number[];
  /** What it calls itself. */
  agentInfo: { name: string; version: string };
  /** The profile that applied; null: none. */
  profile: string | null;
  steps: Record<StepName, Finding | { how: "not possible"; note: string }>;
  /** What it sent that its version of the protocol does not allow, and acp-shift mended or left out; each kind once. */
  violations: string[];
}

/** True: this run writes the results instead of comparing with them. */
export const updating = process.env["TEST_AGENTS_UPDATE"] === "1";

/** The agents named in `TEST_AGENTS`, else all. */
export function chosenAgents(): Agent[] {
  const names = process.env["TEST_AGENTS"]?.split(" ").filter((name) => name !== "") ?? [];
  const unknown = names.filter((name) => !AGENTS.some((agent) => agent.name === name));
  if (unknown.length > 0) {
    throw new Error(`there is no agent ${unknown.join(", ")}; there are ${AGENTS.map(({ name }) => name).join(", ")}`);
  }
  return AGENTS.filter(({ name }) => names.length === 0 || names.includes(name));
}

/** @throws Error naming the steps that have neither a finding nor a reason why they are not possible */
export function resultOf({ stage, connection }: Course, findings: Partial<Record<StepName, Finding>>): Result {
  const { agent } = stage;
  const { name, version } = asObject(connection.hello["info"]);
  const steps = STEP_NAMES.map((step) => {
    const reason = agent.impossible[step];
    const finding = reason === undefined ? findings[step] : { how: "not possible", note: reason };
    if (finding === undefined) throw new Error(`"${step}" did not pass`);
    return [step, finding];
  });
  const agentInfo = { name: String(name), version: String(version) };
  return {
    name: agent.name,
    title: agent.title,
    packages: agent.packages,
    node: agent.node22 ? NODE_22 : null,
    command: agent.command,
    protocols: agent.protocols,
    agentInfo,
    profile: findProfile(loadProfiles(), { agentInfoName: agentInfo.name })?.name ?? null,
    steps: Object.fromEntries(steps),
    violations: [...stage.violations].sort(),
  };
}

/** One agent's run so far. */
export interface Row {
  agent: Agent;
  findings: Partial<Record<StepName, Finding>>;
}

/** The runs as text: a line for each step, a column for each agent. */
export function tableOf(rows: readonly Row[]): string {
  const width = Math.max(...STEP_NAMES.map(({ length }) => length)) + 2;
  const line = (title: string, cells: string[]) => [title.padEnd(width), ...cells].join("");
  const column = 14;
  return [
    line(
      "",
      rows.map(({ agent }) => agent.name.padEnd(column)),
    ),
    ...STEP_NAMES.map((step) => {
      const how = ({ agent, findings }: Row) =>
        agent.impossible[step] === undefined ? (findings[step]?.how ?? "FAILED") : "not possible";
      return line(
        step,
        rows.map((row) => how(row).padEnd(column)),
      );
    }),
  ]
    .map((text) => text.trimEnd())
    .join("\n");
}

export function readResult(name: string): Result {
  return JSON.parse(readFileSync(fileOf(name), "utf8"));
}

export function writeResult(result: Result): void {
  writeFileSync(fileOf(result.name), `${JSON.stringify(result, null, 2)}\n`);
}

function fileOf(name: string): URL {
  return new URL(`results/${name}.json`, import.meta.url);
}
