// A model checker: every order in which things can happen, up to a depth. A world cannot be copied (the core keeps functions
// among its data), so each state is reached anew by its shortest path; states that are the same but for how they were
// reached are looked at once.
import { createHash } from "node:crypto";

/** A closed system: the core, and peers that do what they are told. */
export interface World {
  /** What can happen now; the same for two worlds with the same key. */
  choices(): string[];
  /** Lets one of them happen. Throws when what came of it breaks an invariant. */
  take(choice: string): void;
  /** All that the future and its checks depend on, as text. */
  key(): string;
  /** Lets everything that is under way come to its end, and checks that nothing is left. */
  drain(): void;
}

/** What an exploration covered. */
export interface Covered {
  depth: number;
  /** Different states reached within the depth. */
  states: number;
  /** Steps taken from them. */
  steps: number;
  /** Interleavings of just this depth (or shorter ones after which nothing can happen) that these steps make up. */
  paths: bigint;
  /** False when time ran out before the depth was reached. */
  complete: boolean;
}

interface Node {
  parent: Node | undefined;
  choice: string;
  /** What can happen in it. */
  choices: string[];
  next: Node[];
}

/**
 * Explores breadth first. A broken invariant is thrown with the shortest way to it.
 *
 * @param until when to stop, by `performance.now()`; what was covered is then of the last depth that was finished
 */
export function explore(start: () => World, depth: number, until = Number.POSITIVE_INFINITY): Covered {
  const first = start();
  const root: Node = { parent: undefined, choice: "", choices: first.choices(), next: [] };
  const known = new Map<string, Node>([[digest(first), root]]);
  let level = [root];
  let steps = 0;
  let finished = 0;
  let states = 1;
  for (; finished < depth && level.length > 0; finished++) {
    const deeper: Node[] = [];
    for (const node of level) {
      if (performance.now() > until)
        return { depth: finished, states, steps, paths: paths(root, finished), complete: false };
      const way = wayTo(node);
      for (const choice of node.choices) {
        const world = replay(start, way);
        const reached = attempt(() => {
          world.take(choice);
          const key = digest(world);
          const same = known.get(key);
          if (same !== undefined) return same;
          const made: Node = { parent: node, choice, choices: world.choices(), next: [] };
          known.set(key, made);
          deeper.push(made);
          world.drain();
          return made;
        }, [...way, choice]);
        node.next.push(reached);
        steps++;
      }
    }
    level = deeper;
    states = known.size;
  }
  return { depth: finished, states, steps, paths: paths(root, finished), complete: true };
}

function digest(world: World): string {
  return createHash("sha1").update(world.key()).digest("base64");
}

function wayTo(node: Node): string[] {
  const way: string[] = [];
  for (let at: Node | undefined = node; at?.parent !== undefined; at = at.parent) way.unshift(at.choice);
  return way;
}

function replay(start: () => World, way: readonly string[]): World {
  const world = start();
  for (const choice of way) world.take(choice);
  return world;
}

function attempt<T>(act: () => T, way: readonly string[]): T {
  try {
    return act();
  } catch (error) {
    throw new Error(`after ${way.join(", ")}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** How many ways of this length lead from a state through those that were found. */
function paths(root: Node, length: number): bigint {
  const counted = new Map<Node, Map<number, bigint>>();
  const count = (node: Node, left: number): bigint => {
    if (left === 0 || node.next.length === 0) return 1n;
    const of = counted.get(node) ?? new Map<number, bigint>();
    counted.set(node, of);
    const before = of.get(left);
    if (before !== undefined) return before;
    let sum = 0n;
    for (const next of node.next) sum += count(next, left - 1);
    of.set(left, sum);
    return sum;
  };
  return count(root, length);
}
