// Guards the promise of the compatibility table (docs/agents.md): every real agent, driven through the built acp-shift by
// a v2 client, does in each step what the table says, with valid frames to both sides and no process left behind.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { marker } from "./model/script.ts";
import {
  chosenAgents,
  type Result,
  type Row,
  readResult,
  resultOf,
  tableOf,
  updating,
  writeResult,
} from "./results.ts";
import { openSession, say, setStage } from "./stage.ts";
import { type Course, connectInV1, type Finding, STEP_NAMES, STEPS, type StepName } from "./steps.ts";

const agents = chosenAgents();
const rows: Row[] = [];

afterAll(() => {
  process.stdout.write(`\n${tableOf(rows)}\n\n`);
});

describe.each(agents)("$name", (agent) => {
  let course: Course;
  const findings: Partial<Record<StepName, Finding>> = {};
  rows.push({ agent, findings });
  let broken = false;

  beforeAll(async () => {
    const stage = await setStage(agent);
    const connection = await connectInV1(stage);
    course = { stage, connection, session: await openSession(stage, connection) };
  });

  // A step that failed must not fail those after it.
  beforeEach(async () => {
    if (!broken) return;
    broken = false;
    course.stage.model.release();
    await course.stage.drop(course.connection).catch(() => {});
    course.connection = await connectInV1(course.stage);
    course.session = await openSession(course.stage, course.connection);
    await say(course.connection, course.session, marker("text"));
  });

  afterAll(() => course.stage.strike());

  test.each(STEP_NAMES.filter((name) => agent.impossible[name] === undefined))("%s", async (name) => {
    broken = true;
    findings[name] = await STEPS[name](course);
    expect(course.stage.model.faults.splice(0)).toEqual([]);
    broken = false;
  });

  test.each(Object.entries(agent.impossible))("%s: not possible: %s", (name, reason) => {
    expect(STEP_NAMES).toContain(name);
    expect(reason.length).toBeGreaterThan(20);
  });

  test("is what the table says", () => {
    const result: Result = resultOf(course, findings);
    if (updating) writeResult(result);
    // Which violations are seen may depend on how fast the machine is.
    expect({ ...result, violations: [] }).toEqual({ ...readResult(agent.name), violations: [] });
  });
});
