/** The conversation of the demo: what the user does, and what a v2 client must then see. */
import { asArray, asObject, asString, isObject } from "../protocol/json.ts";
import type { Client } from "./client.ts";
import type { Message, Seen, Turn } from "./turn.ts";

/** Something that must be so. `holds` is false, or gives what was found instead, when it is not. */
export interface Expectation {
  label: string;
  holds(turn: Turn): boolean | string;
}

export interface Act {
  title: string;
  play(client: Client, cwd: string): Promise<void>;
  expectations: Expectation[];
}

/** A verdict on one expectation; `found` says what was there instead when it did not hold. */
export interface Verdict {
  label: string;
  held: boolean;
  found?: string;
}

/** Holds what a turn came to against what was expected of it. */
export function judge(expectations: readonly Expectation[], turn: Turn): Verdict[] {
  return expectations.map(({ label, holds }) => {
    const outcome = holds(turn);
    return typeof outcome === "string" ? { label, held: false, found: outcome } : { label, held: outcome === true };
  });
}

export const acts: Act[] = [
  {
    title: "Getting to know each other",
    async play(client, cwd) {
      await client.initialize();
      await client.newSession(cwd);
    },
    expectations: [
      expect("the agent speaks v1, and is met as v2", ({ results: [hello] }) => {
        const { protocolVersion, info } = asObject(hello);
        return (protocolVersion === 2 && asObject(info)["name"] === "demo-agent") || JSON.stringify(hello);
      }),
      expect("its modes are a config option", ({ configOptions: [mode] }) => {
        const { configId, type, currentValue } = asObject(mode);
        return (configId === "mode" && type === "select" && currentValue === "ask") || JSON.stringify(mode);
      }),
      expect("its slash commands say what they are", ({ commands }) => {
        return commands.length === 2 && commands.every(({ type }) => type === "command");
      }),
      inOrder("result", "result", "commands"),
    ],
  },
  {
    title: "Thoughts, a plan, and text",
    play: (client) => client.prompt({ prompt: "How would you make greet.js greet people by name?" }),
    expectations: [
      expect("the thought arrives in pieces, whole, under one id", ({ messages }) =>
        whole(messages, "thought", "The greeting is fixed", "pass none."),
      ),
      expect("the text likewise", ({ messages }) =>
        whole(messages, "agent", "greet() always greets", "as the default."),
      ),
      expect("the plan has an id and three steps, none done", ({ plans: [plan] }) => {
        return asString(plan?.["planId"]) !== undefined && planned(plan, "pending", "pending", "pending");
      }),
      inOrder("accepted", "user message", "running", "thought", "plan", "message", "idle end_turn"),
    ],
  },
  {
    title: "A tool call with a diff, allowed",
    async play(client) {
      await client.setConfigOption("mode", "code");
      await client.prompt({ prompt: "Go ahead.", answer: "allow_once" });
    },
    expectations: [
      expect("the mode is changed like any other option", ({ results: [result] }) => {
        const [mode] = asArray(asObject(result)["configOptions"]).map(asObject);
        return mode?.["currentValue"] === "code" || JSON.stringify(result);
      }),
      expect("the change comes as a git patch", ({ toolCalls }) => {
        const diff = asObject(asArray(toolCalls.get("edit-1")?.["content"])[0]);
        const { operation } = asObject(asArray(diff["changes"])[0]);
        const { format, text } = asObject(diff["patch"]);
        const lines = ["-export function greet() {", '+export function greet(name = "world") {'];
        const patched = lines.every((line) => asString(text)?.split("\n").includes(line));
        return (operation === "modify" && format === "git_patch" && patched) || JSON.stringify(diff);
      }),
      expect("permission is asked for that tool call, under its title", ({ permissions: [permission] }) => {
        const subject = asObject(permission?.["subject"]);
        const right = subject["type"] === "tool_call" && asObject(subject["toolCall"])["toolCallId"] === "edit-1";
        return (right && permission?.["title"] === "Let greet() take a name") || JSON.stringify(permission);
      }),
      expect("the plan is carried out under one id", ({ plans }) => {
        const ids = new Set(plans.map(({ planId }) => planId));
        return plans.length === 4 && ids.size === 1 && planned(plans.at(-1), "completed", "completed", "completed");
      }),
      inOrder(
        ...["result", "accepted", "user message", "running", "plan"],
        ...["read-1 pending", "read-1 in_progress", "read-1 completed", "plan", "edit-1 pending"],
        ...["permission", "requires_action", "running", "edit-1 in_progress", "edit-1 completed"],
        ...["plan", "message", "plan", "idle end_turn"],
      ),
    ],
  },
  {
    title: "A tool call, refused",
    play: (client) => client.prompt({ prompt: "Now delete hello.js.", answer: "reject_once" }),
    expectations: [
      expect("a refusal reaches the agent", ({ messages }) => whole(messages, "agent", "I left", "where it is.")),
      inOrder(
        ...["accepted", "user message", "running", "delete-1 pending", "permission", "requires_action", "running"],
        ...["delete-1 failed", "message", "idle end_turn"],
      ),
    ],
  },
  {
    title: "A turn, cancelled",
    play: (client) => client.prompt({ prompt: "Count to three hundred.", cancelAfterChunks: 5 }),
    expectations: [
      expect("the agent stops", ({ messages }) => {
        const text = messages.find(({ kind }) => kind === "agent")?.text ?? "";
        return (text.startsWith("1, 2, 3, ") && !text.includes("300")) || text;
      }),
      inOrder("accepted", "user message", "running", "message", "idle cancelled"),
    ],
  },
  {
    title: "The model fails",
    play: (client) => client.prompt({ prompt: "What does the big model say?" }),
    expectations: [
      expect("the turn ends with the agent's own error", ({ idle }) => {
        const { code, message, data } = asObject(idle["error"]);
        const same = code === -32603 && message === "The model is overloaded, try again later";
        return (same && asObject(data)["status"] === 529) || JSON.stringify(idle);
      }),
      inOrder("accepted", "user message", "running", "thought", "idle error"),
    ],
  },
];

/** What must be so of the conversation as a whole. */
export const throughout: Expectation[] = [
  expect(
    "every prompt comes back as the user's message, under the id it was accepted with",
    ({ accepted, messages }) => {
      const user = messages.filter(({ kind }) => kind === "user").map(({ id }) => id);
      const same = accepted.length === 5 && user.join() === accepted.join();
      return same || `accepted as ${accepted.join(", ")}; came back as ${user.join(", ")}`;
    },
  ),
  expect("its eleven messages are kept apart by their ids", ({ messages }) => {
    return (messages.length === 11 && messages.every(({ id }) => id !== "")) || JSON.stringify(messages);
  }),
];

/** Holds what the agent saw and said against protocol version 1. */
export function judgeAgentSide(frames: readonly Seen[]): Verdict[] {
  const hello = frames.find(({ direction }) => direction === "sent")?.frame;
  const version = asObject(hello?.["result"])["protocolVersion"];
  const text = JSON.stringify(frames.map(({ frame }) => frame));
  return [
    { label: "on its own side, the agent was met in v1", held: version === 1 },
    { label: "it never heard of message ids or state updates", held: !/"messageId"|"state_update"/.test(text) },
  ];
}

function expect(label: string, holds: Expectation["holds"]): Expectation {
  return { label, holds };
}

function inOrder(...expected: string[]): Expectation {
  return expect(`all ${expected.length} steps are there, in order, and nothing else`, ({ steps }) => {
    const index = Array.from({ length: Math.max(steps.length, expected.length) }).findIndex(
      (_, at) => steps[at] !== expected[at],
    );
    if (index < 0) return true;
    const after = index === 0 ? "first of all" : `after "${expected[index - 1]}"`;
    return `${after}: expected ${quoted(expected[index])}, got ${quoted(steps[index])}`;
  });
}

function quoted(step: string | undefined): string {
  return step === undefined ? "nothing more" : `"${step}"`;
}

function whole(messages: Message[], wanted: Message["kind"], start: string, end: string): boolean | string {
  const found = messages.filter(({ kind }) => kind === wanted);
  const [message] = found;
  const good = found.length === 1 && message !== undefined && message.chunks > 1;
  return (good && message.text.startsWith(start) && message.text.endsWith(end)) || JSON.stringify(found);
}

function planned(plan: unknown, ...statuses: string[]): boolean | string {
  const found = asArray(asObject(plan)["entries"])
    .filter(isObject)
    .map(({ status }) => status);
  return found.join() === statuses.join() || JSON.stringify(plan);
}
