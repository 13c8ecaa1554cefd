// Guards the rehearsal that makes the first prompt as quick as the others (docs/performance.md): it goes through all that a turn
// goes through.
import { expect, test } from "vitest";
import { rehearse } from "../../src/commands/rehearsal.ts";
import { asObject } from "../../src/protocol/json.ts";
import { testOptions } from "../support/dialogue.ts";

test("whole turns are played", () => {
  const rehearsal = rehearse({ ...testOptions, settle: 50, remembers: true });
  let played = rehearsal.next();
  while (!played.done) played = rehearsal.next();
  const told = played.value;
  const steps = told.map((frame) => {
    if (!("method" in frame)) return Object.keys(frame).at(-1);
    const { sessionUpdate, state, status } = asObject(asObject(frame.params)["update"]);
    return [sessionUpdate, state ?? status].filter((part) => part !== undefined).join(" ");
  });
  const chunk = "agent_message_chunk";
  const turn = (...work: string[]) => [
    ...["result", "user_message", "state_update running"],
    ...work,
    ...["tool_call_update completed", "state_update idle"],
  ];
  // A chunk whose pattern is known is spliced, and not among them; nor does a tool call that has ended begin again.
  expect(steps).toEqual([
    ...["result", "result"],
    ...turn(chunk, chunk, "tool_call_update pending"),
    ...Array.from({ length: 19 }, () => turn("tool_call_update")).flat(),
  ]);
});
