// Guards docs/operations.md, "Logs": what is logged about a session names it as `sessionId`, whatever was wrong with the frame.
import { describe, expect, test } from "vitest";
import {
  type Dialogue,
  notify,
  type Outcome,
  openDialogue,
  openDowngrade,
  request,
  runningDialogue,
  text,
  update,
} from "../support/dialogue.ts";

const here = { sessionId: "s1" };
const bad = { ...here, prompt: [{ ...text("x"), annotations: 1 }] };

const cases: [event: string, open: () => Dialogue, act: (dialogue: Dialogue) => Outcome][] = [
  ["params-repaired", openDialogue, ({ client }) => client(request("r", "session/prompt", bad))],
  ["params-repaired", openDowngrade, ({ client }) => client(request("r", "session/prompt", bad))],
  [
    "params-repaired",
    openDowngrade,
    ({ agent }) =>
      agent(request("p", "session/request_permission", { ...here, title: "?", options: [option], _meta: [] })),
  ],
  ["cancel-of-unknown-session", openDialogue, ({ client }) => client(notify("session/cancel", { sessionId: "other" }))],
  [
    "cancel-of-unknown-session",
    openDowngrade,
    ({ client }) => client(notify("session/cancel", { sessionId: "other" })),
  ],
  ["method-prefixed", openDialogue, ({ agent }) => agent(request("x", "new/method", here))],
  ["method-prefixed", openDowngrade, ({ agent }) => agent(request("x", "new/method", here))],
  ["update-of-unknown-session", openDialogue, ({ agent }) => agent(update("other", { sessionUpdate: "notice" }))],
  ["update-dropped", runningDialogue, ({ agent }) => agent(update("s1", { sessionUpdate: "notice", title: 1 }))],
  [
    "prompt-held",
    runningDialogue,
    ({ client }) => client(request("q", "session/prompt", { ...here, prompt: [text("more")] })),
  ],
];

const option = { optionId: "y", name: "Yes", kind: "allow_once" };

describe("the record names the session", () => {
  test.each(cases)("%s", (event, open, act) => {
    const { logs } = act(open());
    const details = logs.filter((log) => log.event === event).map((log) => log.details["sessionId"]);
    expect(details, JSON.stringify(logs)).toHaveLength(1);
    expect(["s1", "other"]).toContain(details[0]);
  });
});
