// Guards that whatever runs many agents, as serve does, adds one listener to the process: Node warns on stderr of more than ten.
import { expect, test } from "vitest";
import { atExit } from "../../src/transport/at-exit.ts";

test("however much is to be done, one listener does it, and what was taken back is not done", () => {
  const before = process.listeners("exit");
  const done: number[] = [];
  const takeBack = Array.from({ length: 20 }, (_, index) => atExit(() => done.push(index)));
  const added = process.listeners("exit").filter((listener) => !before.includes(listener));
  expect(added.length).toBe(1);
  for (const take of takeBack.slice(2)) take();
  added[0]?.(0);
  expect(done).toEqual([0, 1]);
  for (const take of takeBack) take();
  expect(process.listeners("exit")).toEqual(before);
});
