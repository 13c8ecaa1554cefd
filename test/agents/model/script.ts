// What the stand-in model says: the prompt holds a marker, `[[text]]`, and the reply follows from it alone.

import { type Asked, type Call, PAUSE, type Reply, type Tool } from "./reply.ts";
import { argumentsOf, PLAN, PURPOSES, type Purpose, patchFor, shellCommand } from "./tool-arguments.ts";

/**
 * Markers: `text`, `think`, `hold` (some words, then silence until the test releases it), `fail` (the API refuses),
 * `todos` (a tool for plans is called, whether it is offered or not), and the purposes of tools, `+` between those called
 * at once.
 */
const MARKER = /\[\[([a-z+]+)\]\]/g;

const TODOS = PLAN.map((step, index) => ({
  content: step,
  activeForm: `Doing: ${step}`,
  status: index === 0 ? "in_progress" : "pending",
}));

/** What the model's tool calls are about. */
export interface Work {
  /** Where the files are. */
  directory: string;
  /** What it does with the shell although there is a tool for it. */
  byShell?: readonly Purpose[];
}

/** The marker for a prompt. */
export function marker(name: string): string {
  return `[[${name}]]`;
}

/**
 * The model's reply, or that it refuses. A request without marker or tools is an agent's own affair, such as a
 * title for the session.
 */
export function replyTo({ items, tools }: Asked, work: Work, nextId: () => string): Reply | "refusal" {
  const asked = items.findLastIndex(({ from, text }) => from === "user" && text.match(MARKER));
  const name = [...(items[asked]?.text.matchAll(MARKER) ?? [])].at(-1)?.[1];
  if (name === undefined || tools.length === 0) return saying("Stand-in title");
  const results = items.slice(asked + 1).filter(({ from }) => from === "tool").length;
  switch (name) {
    case "fail":
      return "refusal";
    case "text":
      return saying("Hello ", "from ", "the ", "stand-in ", "model.");
    case "think":
      return { ...saying("Thought ", "it ", "over."), thoughts: ["Thinking ", "it ", "over."] };
    case "hold":
      return saying("Holding ", "on ", PAUSE, "no ", "more.");
    case "todos":
      if (results > 0) return saying("Done ", "with todos.");
      return {
        ...saying("Calling ", "todos. "),
        calls: [{ id: nextId(), name: "TodoWrite", arguments: { todos: TODOS } }],
      };
    default: {
      if (results > 0) return saying("Done ", `with ${name}.`);
      const calls = name.split("+").map((purpose) => callFor(purpose as Purpose, tools, work, nextId()));
      return { ...saying("Calling ", `${name}. `), calls };
    }
  }
}

function saying(...words: Reply["words"]): Reply {
  return { thoughts: [], words, calls: [] };
}

/** @throws Error when no tool will do: the agent's tools are listed, so that the names can be added */
function callFor(purpose: Purpose, tools: readonly Tool[], { directory, byShell = [] }: Work, id: string): Call {
  const names = PURPOSES[purpose];
  const tool = byShell.includes(purpose) ? undefined : tools.find(({ name }) => names.test(name));
  if (tool !== undefined) {
    const { name, schema, freeform } = tool;
    return { id, name, arguments: freeform ? patchFor(purpose, directory) : argumentsOf(schema, purpose, directory) };
  }
  // An agent without tools for files has its shell for them.
  const shell = tools.find(({ name }) => PURPOSES.run.test(name));
  if (shell === undefined || purpose === "plan") {
    throw new Error(`no tool to ${purpose} among ${tools.map(({ name }) => name).join(" ")}`);
  }
  return {
    id,
    name: shell.name,
    arguments: argumentsOf(shell.schema, "run", directory, shellCommand(purpose, directory)),
  };
}
