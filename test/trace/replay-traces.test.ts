// Guards docs/trace.md, "Replay": the recorded agent and the recorded client, played against each other, say what they said in
// the record, in its order, for every recorded conversation.
import { describe, expect, test, vi } from "vitest";
import { asObject } from "../../src/protocol/json.ts";
import type { FrameRecord, Leg, TraceRecord } from "../../src/trace/format.ts";
import { createPlayer } from "../../src/trace/replay/player.ts";
import { passedThroughRuns, recordedNames, scriptOf, translatedRuns } from "../support/recorded.ts";

vi.setConfig({ testTimeout: 60_000 });

const ALL = Number.POSITIVE_INFINITY;

/** The frames on one leg. */
function framesOn(records: readonly TraceRecord[], leg: Leg): FrameRecord[] {
  return records.filter((record): record is FrameRecord => record.type === "frame" && record.leg === leg);
}

interface Played {
  agent: unknown[];
  client: unknown[];
  findings: string[];
  over: boolean;
}

/** Both sides of a conversation against each other; time passes as they have it. */
function playBoth(records: readonly TraceRecord[], side: "agent" | "client", fast: boolean): Played {
  const start = { start: 0, fast };
  const agent = createPlayer(scriptOf(records, "agent", side), start);
  const client = createPlayer(scriptOf(records, "client", side), start);
  const said = { agent: [] as unknown[], client: [] as unknown[] };
  let now = 0;
  for (;;) {
    const turns = [
      { name: "client" as const, from: client.due(now, ALL), to: agent },
      { name: "agent" as const, from: agent.due(now, ALL), to: client },
    ];
    let acted = false;
    for (const { name, from, to } of turns)
      for (const act of from.acts) {
        if (act.type !== "frame") continue;
        acted = true;
        said[name].push(act.frame);
        to.hear(act.frame, now);
      }
    if (acted) continue;
    const next = Math.min(...turns.map(({ from }) => from.next ?? Number.POSITIVE_INFINITY));
    if (next === Number.POSITIVE_INFINITY) break;
    now = next;
  }
  const findings = [...agent.findings, ...client.findings].map(({ text }) => text);
  return { ...said, findings, over: agent.over() && client.over() };
}

/** The frames of each session by themselves, for sessions go on side by side: an answer is of its request's. */
function bySession(frames: readonly unknown[], requests: readonly FrameRecord[]): unknown {
  const sessions = new Map<string, unknown[]>();
  for (const frame of frames) {
    const { method, id } = asObject(frame);
    const asked =
      method === undefined ? requests.find((request) => asObject(request.frame)["id"] === id)?.frame : frame;
    const session = String(asObject(asObject(asked)["params"])["sessionId"] ?? "");
    sessions.set(session, [...(sessions.get(session) ?? []), frame]);
  }
  return Object.fromEntries(sessions);
}

/** Plays a run at both speeds and holds what was said to the record. */
function holdToRecord(records: readonly TraceRecord[], side: "agent" | "client"): void {
  const legs: Record<"agent" | "client", Leg> =
    side === "agent"
      ? { agent: "agent-bridge", client: "bridge-agent" }
      : { agent: "bridge-client", client: "client-bridge" };
  for (const fast of [true, false]) {
    const played = playBoth(records, side, fast);
    expect(played.findings).toEqual([]);
    for (const [who, other] of [
      ["agent", "client"],
      ["client", "agent"],
    ] as const) {
      const recorded = framesOn(records, legs[who]).map(({ frame }) => frame);
      const requests = framesOn(records, legs[other]).filter(({ kind }) => kind === "request");
      expect(bySession(played[who], requests)).toEqual(bySession(recorded, requests));
    }
    expect(played.over).toBe(true);
  }
}

describe("the recorded peers against each other, fast and at the recorded speed", () => {
  test.each(recordedNames())("%s", (name) => {
    for (const records of passedThroughRuns(name)) holdToRecord(records, "agent");
    for (const records of translatedRuns(name)) holdToRecord(records, "client");
  });
});
