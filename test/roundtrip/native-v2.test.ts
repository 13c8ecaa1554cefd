// Guards docs/mapping.md §13 against what real v2 agents do: their recorded runs, played to a v1 client. Every frame is
// valid v1 (the core under test validates each); the view is the v2 client's, but for what v1 cannot show; and where the
// agent speaks both versions, what a v1 client sees through the bridge is what it sees of the agent's own v1 mode, turn
// by turn. Differences that have another reason than the bridge are listed, and have to occur.
import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { asArray, asObject } from "../../src/protocol/json.ts";
import { update } from "../support/dialogue.ts";
import { conversations, readTrace } from "../traces/replay.ts";
import { asV1 } from "./as-v1.ts";
import { v1OverV2 } from "./channel.ts";
import { differences, type Loss, testLosses } from "./compare.ts";
import { play, recorded } from "./play.ts";
import { type Crossed, turnsV1, type View, viewsV1, viewsV2 } from "./views.ts";

const AGENTS = ["claude", "codex"];
const directory = new URL("../fixtures/traces/", import.meta.url);
const traces = readdirSync(directory);

const runsOf = (name: string) => conversations(readTrace(new URL(name, directory)));

/** The native v2 run of an agent, as a v1 client has it through the bridge and as its v2 client had it. */
const native = Object.fromEntries(
  AGENTS.map((agent) => {
    const [lines = []] = runsOf(`${agent}-v2full.jsonl`);
    let through: Crossed[] | undefined;
    const played = () => {
      through ??= play(lines, v1OverV2, asV1);
      return through;
    };
    return [agent, { direct: recorded(lines), played }];
  }),
);

/** A v1 client shows its own prompts itself, as it sends them. */
function withOwnPrompts(crossed: readonly Crossed[]): Crossed[] {
  return crossed.flatMap((one): Crossed[] => {
    if (one.from !== "client" || one.frame["method"] !== "session/prompt") return [one];
    const { sessionId, prompt } = asObject(one.frame["params"]);
    const shown = asArray(prompt).map((content): Crossed => {
      const messageId = `own ${one.frame["id"]}`;
      return {
        from: "agent",
        frame: update(String(sessionId), { sessionUpdate: "user_message_chunk", messageId, content }),
      };
    });
    return [one, ...shown];
  });
}

describe("what v1 cannot show", () => {
  const LOSSES: Loss[] = [
    { what: "work that runs in the background", at: /^ends\.\d+\.background$/ },
    { what: "the title and the reason of a question", at: /^asked\.\d+\.(title|description)$/ },
    {
      what: "a structured diff: two texts",
      at: /^toolCalls\.[^.]+\.content\.\d+\.(path|oldText|newText|changes|patch)$/,
    },
    { what: "_meta of an idle that ends with an error", at: /^ends\.\d+\._meta$/, in: /codex/ },
  ];
  testLosses(
    AGENTS.map((name) => ({ name })),
    LOSSES,
    ({ name }) => {
      const run = native[name];
      const direct = viewsV2(run?.direct ?? []);
      const through = viewsV1(withOwnPrompts(run?.played() ?? []));
      expect(Object.keys(through)).toEqual(Object.keys(direct));
      return Object.keys(direct).flatMap((id) => differences(direct[id], through[id]));
    },
  );
});

test.each(AGENTS)("%s: every prompt is answered, in order", (agent) => {
  const crossed = native[agent]?.played() ?? [];
  const asked = crossed.filter(({ from, frame }) => from === "client" && frame["method"] === "session/prompt");
  const ids = asked.map(({ frame }) => frame["id"]);
  const isAnswer = ({ from, frame }: Crossed) => from === "agent" && !("method" in frame) && ids.includes(frame["id"]);
  expect(crossed.filter(isAnswer).map(({ frame }) => frame["id"])).toEqual(ids);
});

describe("an agent's own v1 mode as the reference", () => {
  const REASONS: Loss[] = [
    { what: "tokens and costs: each run has its own", at: /^(usage|ends\.\d+\.(usage|_meta))(\.|$)/ },
    { what: "titles and times: they come when they come", at: /^info\./ },
    {
      what: "commands: told with the first prompt of a session in one run, before it in the other",
      at: /^commands$/,
    },
    { what: "the tool's name: claude puts it in _meta for v1, in its field for v2", at: /^toolCalls\.[^.]+\._meta$/ },
    {
      what: "the recorded v1 client announced no display terminals: claude told them as text",
      at: /^(toolCalls\.[^.]+\.(rawOutput|content\.\d+\.(type|content|terminalId))|terminals\.[^.]+)$/,
      in: /^claude/,
    },
    {
      what: "the output of codex's reading commands: a terminal's that nothing shows in v1, content in v2",
      at: /^(toolCalls\.[^.]+\.content|terminals\.[^.]+)$/,
      in: /^codex/,
    },
    {
      what: "texts of a diff: recordings mask words, but not within a patch; claude's v1 gives a fragment's end no line break",
      at: /^toolCalls\.[^.]+\.content\.\d+\.(oldText|newText)$/,
    },
    {
      what: "a model's failure: codex ends the turn normally in v1 and with an error in v2",
      at: /^ends\.\d+\.(stopReason|error)$/,
      in: /^codex-fail/,
    },
  ];
  const runs = AGENTS.flatMap((agent) =>
    ["full", "nocaps", "nofs", "fail"]
      .map((run) => `${agent}-${run}.jsonl`)
      .filter((name) => traces.includes(name))
      .map((name) => ({ name, agent })),
  );

  testLosses(runs, REASONS, ({ name, agent }) => {
    const through = new Map<string, View>();
    // The first turn of each prompt: later ones with the same words are after a resume.
    for (const { prompt, view } of turnsV1(native[agent]?.played() ?? []))
      if (!through.has(prompt)) through.set(prompt, view);
    const compared = runsOf(name)
      .flatMap((lines) => turnsV1(recorded(lines)))
      .filter(({ prompt }) => through.has(prompt));
    expect(compared).not.toHaveLength(0);
    return compared.flatMap(({ prompt, view }) => differences(view, through.get(prompt)));
  });
});
