// One core, or two back to back, seen as what lies between a client and an agent.
import type { JsonObject } from "../../src/protocol/json.ts";
import { createDialogue, type Dialogue, type Outcome } from "../support/dialogue.ts";

/** What lies between a client and an agent. */
export interface Channel {
  client(frame: JsonObject): void;
  agent(frame: JsonObject): void;
  /** Lets time pass, in ms. */
  wait(ms: number): void;
}

interface Ends {
  toClient(frame: JsonObject): void;
  toAgent(frame: JsonObject): void;
}

/** How finely time passes in two cores at once, in ms. */
const TICK = 10;

/** The cores in order, the client's first; every frame each of them sends is validated. */
function connect(cores: readonly Dialogue[], ends: Ends): Channel {
  function deliver(index: number, outcome: Outcome): void {
    for (const [to, frame] of outcome.sent) {
      const next = to === "client" ? index - 1 : index + 1;
      const core = cores[next];
      if (core !== undefined) deliver(next, to === "client" ? core.agent(frame) : core.client(frame));
      else if (to === "client") ends.toClient(frame);
      else ends.toAgent(frame);
    }
  }
  const at = (index: number) => {
    const core = cores[index];
    if (core === undefined) throw new Error("no such core");
    return core;
  };
  return {
    client: (frame) => deliver(0, at(0).client(frame)),
    agent: (frame) => deliver(cores.length - 1, at(cores.length - 1).agent(frame)),
    wait(ms) {
      for (let left = ms; left > 0; ) {
        // Without a timer nothing happens meanwhile.
        const step = cores.some(({ timers }) => timers.size > 0) ? Math.min(TICK, left) : left;
        left -= step;
        for (const index of cores.keys()) deliver(index, at(index).wait(step));
      }
    },
  };
}

const upgrade = () => createDialogue({ agentProtocol: "1", runId: "up" });
const downgrade = () => createDialogue({ agentProtocol: "2", runId: "down" });

/** A v1 client over a v2 agent. */
export const v1OverV2 = (ends: Ends): Channel => connect([downgrade()], ends);
/** A v2 client over a v2 agent, in version 1 between the two cores. */
export const v2OverV1OverV2 = (ends: Ends): Channel => connect([upgrade(), downgrade()], ends);
/** A v1 client over a v1 agent, in version 2 between the two cores. */
export const v1OverV2OverV1 = (ends: Ends): Channel => connect([downgrade(), upgrade()], ends);
