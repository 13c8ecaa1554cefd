// Guards docs/mapping.md §4 to §9 against a model: whatever a random v1 agent means and a random v2 client does, over
// resumes, replays, closes and later runs, the client's view is what the agent meant. ACP_SHIFT_PROPERTY_RUNS sets how many
// are tried. The same holds for a client that loses its connection at any point, with what was on its way to it
// (docs/linger.md).
import fc from "fast-check";
import { test } from "vitest";
import { createPlay, MOVES, type Move, type Setting } from "./intent.ts";

const runs = Number(process.env["ACP_SHIFT_PROPERTY_RUNS"] ?? 60);

const movesOf = (weights: Record<Move["move"], number>) =>
  fc.array(
    fc.record({
      move: fc.oneof(
        ...Object.entries(weights).map(([move, weight]) => ({
          weight,
          arbitrary: fc.constant(move as Move["move"]),
        })),
      ),
      which: fc.nat(20),
      what: fc.nat(20),
    }),
    { maxLength: 80, size: "max" },
  );

const settings: [string, Setting][] = (["load", "load, kept", "resume, kept", "nothing, kept"] as const).flatMap(
  (history) =>
    [true, false].map((ids): [string, Setting] => [
      `${history}; messages ${ids ? "with" : "without"} ids`,
      { history, ids },
    ]),
);

test.each(settings)("an agent that has %s", (_, setting) => {
  fc.assert(
    fc.property(movesOf(MOVES), (played) => {
      const world = createPlay(setting);
      for (const move of played) world.play(move);
      world.compare();
    }),
    { numRuns: runs },
  );
});

test.each(settings)("a client that loses its connection, over an agent that has %s", (_, setting) => {
  fc.assert(
    fc.property(movesOf({ ...MOVES, lose: 8, "come-back": 6 }), (played) => {
      const world = createPlay({ ...setting, lingers: true });
      for (const move of played) world.play(move);
      world.compare();
    }),
    { numRuns: Math.ceil(runs / 2) },
  );
});
