// What is mutated: recorded conversations of real agents, as the core under test hears them, in both directions.
import { readdirSync } from "node:fs";
import type { Side } from "../../src/bridge/events.ts";
import { asV1 } from "../roundtrip/as-v1.ts";
import type { Channel } from "../roundtrip/channel.ts";
import { play as playThrough } from "../roundtrip/play.ts";
import { createDialogue, type Dialogue, type Outcome } from "../support/dialogue.ts";
import { conversations, isNativeV2, play, readTrace, type TraceLine } from "../traces/replay.ts";

/** A line that one side writes, and when, in ms. */
export interface Moment {
  from: Side;
  at: number;
  bytes: Buffer;
  /** How the bytes are cut on their way, as positions; whether a line break follows them. */
  cuts: number[];
  ends: boolean;
}

/** All that both sides of the core say. */
export interface Conversation {
  name: string;
  /** A v2 client over a v1 agent, or a v1 client over a v2 agent. */
  pairing: "upgrade" | "downgrade";
  moments: Moment[];
}

/** Longer ones are cut: what comes late is much like what came before. */
const LONGEST = 120;

const directory = new URL("../fixtures/traces/", import.meta.url);

/** The recorded conversations whose file names match. */
export function corpus(names = /./): Conversation[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith(".jsonl") && names.test(name))
    .flatMap((name) =>
      conversations(readTrace(new URL(name, directory))).flatMap((lines, index) =>
        (isNativeV2(lines) ? [downgradeOfNative(lines)] : [upgrade(lines), downgradeOfV1(lines)]).map(
          (made): Conversation => ({ ...made, name: `${name} ${index}`, moments: made.moments.slice(0, LONGEST) }),
        ),
      ),
    );
}

type Made = Omit<Conversation, "name">;

function moment(from: Side, at: number, frame: unknown): Moment {
  return { from, at, bytes: Buffer.from(JSON.stringify(frame)), cuts: [], ends: true };
}

function upgrade(lines: TraceLine[]): Made {
  const moments = play(lines, "run").flatMap(({ from, frame, now }) =>
    from === "world" || frame === undefined ? [] : [moment(from, now, frame)],
  );
  return { pairing: "upgrade", moments };
}

/** What a v1 client and a native v2 agent say to a core between them. */
function downgradeOfNative(lines: TraceLine[]): Made {
  const moments: Moment[] = [];
  playThrough(
    lines,
    (ends) => tapped(moments, createDialogue({ agentProtocol: "2", runId: "run" }), undefined, ends),
    asV1,
  );
  return { pairing: "downgrade", moments };
}

/** The v2 agent is a v1 agent behind a core that upgrades it. */
function downgradeOfV1(lines: TraceLine[]): Made {
  const moments: Moment[] = [];
  playThrough(lines, (ends) =>
    tapped(
      moments,
      createDialogue({ agentProtocol: "2", runId: "run" }),
      createDialogue({ agentProtocol: "1", runId: "up" }),
      ends,
    ),
  );
  return { pairing: "downgrade", moments };
}

/** A channel of one or two cores that notes what the first of them hears. */
function tapped(
  moments: Moment[],
  first: Dialogue,
  second: Dialogue | undefined,
  ends: { toClient(frame: object): void; toAgent(frame: object): void },
): Channel {
  let now = 0;
  const hears = (from: Side, frame: object) => {
    moments.push(moment(from, now, frame));
    return from === "client" ? first.client(frame) : first.agent(frame);
  };
  function fromFirst({ sent }: Outcome): void {
    for (const [to, frame] of sent) {
      if (to === "client") ends.toClient(frame);
      else if (second === undefined) ends.toAgent(frame);
      else fromSecond(second.client(frame));
    }
  }
  function fromSecond({ sent }: Outcome): void {
    for (const [to, frame] of sent) {
      if (to === "client") fromFirst(hears("agent", frame));
      else ends.toAgent(frame);
    }
  }
  return {
    client: (frame) => fromFirst(hears("client", frame)),
    agent: (frame) => (second === undefined ? fromFirst(hears("agent", frame)) : fromSecond(second.agent(frame))),
    wait(ms) {
      now += ms;
      fromFirst(first.wait(ms));
      if (second !== undefined) fromSecond(second.wait(ms));
    },
  };
}
