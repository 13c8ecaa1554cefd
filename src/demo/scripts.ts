/** What the demo agent does in a turn, chosen by the words of the prompt: its stand-in for a model and for tools. */
import { join } from "node:path";
import { JSONRPCErrorException } from "json-rpc-2.0";
import { ErrorCode } from "../protocol/errors.ts";
import type { PlanEntry, SessionUpdate, ToolCall, ToolCallUpdate } from "../protocol/v1.ts";

/** What a script can do. Everything that waits is broken off, by an exception, when the turn is cancelled. */
export interface Turn {
  /** The session's working directory. */
  readonly cwd: string;
  /** The session's mode when the turn began. */
  readonly modeId: string;
  /** Streams a thought, a few words at a time. */
  think(text: string): Promise<void>;
  /** Streams a message, a few words at a time. */
  say(text: string): Promise<void>;
  update(update: SessionUpdate): Promise<void>;
  /** Asks for permission: true only when the user chose to allow it. */
  allowed(toolCall: ToolCallUpdate): Promise<boolean>;
}

export type Script = (turn: Turn) => Promise<void>;

/** The script for a prompt. */
export function scriptFor(prompt: string): Script {
  return scripts.find(([words]) => words.test(prompt))?.[1] ?? apologise;
}

const scripts: [words: RegExp, script: Script][] = [
  [/how would you/i, explain],
  [/go ahead/i, edit],
  [/delete/i, remove],
  [/count/i, count],
  [/big model/i, fail],
];

async function apologise({ say }: Turn): Promise<void> {
  await say('I know five lines only. Try "How would you …", "Go ahead", "Delete …", "Count" or "Ask the big model".');
}

async function explain({ think, say, update }: Turn): Promise<void> {
  await think("The greeting is fixed text. The name has to come from the caller, and old callers pass none.");
  await update(plan("pending", "pending", "pending"));
  await say("greet() always greets the world. I would let it take a name, and keep the world as the default.");
}

async function edit({ cwd, modeId, say, update, allowed }: Turn): Promise<void> {
  if (modeId !== "code") return say("I only answer questions in this mode.");
  const path = join(cwd, "greet.js");
  const oldText = 'export function greet() {\n  return "Hello, world!";\n}\n';
  const newText = `export function greet(name = "world") {\n  return "Hello, " + name + "!";\n}\n`;

  await update(plan("in_progress", "pending", "pending"));
  await update(toolCall({ toolCallId: "read-1", title: "Read greet.js", kind: "read", locations: [{ path }] }));
  await update(toolCallUpdate({ toolCallId: "read-1", status: "in_progress" }));
  const content = { type: "text" as const, text: oldText };
  await update(toolCallUpdate({ toolCallId: "read-1", status: "completed", content: [{ type: "content", content }] }));

  await update(plan("completed", "in_progress", "pending"));
  const title = "Let greet() take a name";
  const locations = [{ path, line: 1 }];
  await update(
    toolCall({
      toolCallId: "edit-1",
      title,
      kind: "edit",
      locations,
      content: [{ type: "diff", path, oldText, newText }],
    }),
  );
  if (!(await allowed({ toolCallId: "edit-1", title, kind: "edit" }))) {
    await update(toolCallUpdate({ toolCallId: "edit-1", status: "failed" }));
    return say("Then greet.js stays as it is.");
  }
  await update(toolCallUpdate({ toolCallId: "edit-1", status: "in_progress" }));
  await update(toolCallUpdate({ toolCallId: "edit-1", status: "completed" }));

  await update(plan("completed", "completed", "in_progress"));
  await say("Done: greet() greets whom you name, and the world if you name nobody.");
  await update(plan("completed", "completed", "completed"));
}

async function remove({ cwd, say, update, allowed }: Turn): Promise<void> {
  const call = { toolCallId: "delete-1", title: "Delete hello.js", kind: "delete" as const };
  await update(toolCall({ ...call, locations: [{ path: join(cwd, "hello.js") }] }));
  if (await allowed(call)) {
    await update(toolCallUpdate({ toolCallId: "delete-1", status: "completed" }));
    return say("hello.js is gone.");
  }
  await update(toolCallUpdate({ toolCallId: "delete-1", status: "failed" }));
  await say("I left hello.js where it is.");
}

async function count({ say }: Turn): Promise<void> {
  const numbers = Array.from({ length: 300 }, (_, index) => index + 1);
  await say(`${numbers.join(", ")}.`);
}

async function fail({ think }: Turn): Promise<void> {
  await think("This one is for the big model.");
  throw new JSONRPCErrorException("The model is overloaded, try again later", ErrorCode.internalError, {
    status: 529,
    retryAfterSeconds: 30,
  });
}

function toolCall(call: ToolCall): SessionUpdate {
  return { sessionUpdate: "tool_call", status: "pending", ...call };
}

function toolCallUpdate(change: ToolCallUpdate): SessionUpdate {
  return { sessionUpdate: "tool_call_update", ...change };
}

/** The plan of the greeting, with the state of each of its three steps. */
function plan(
  ...[read, change, report]: [PlanEntry["status"], PlanEntry["status"], PlanEntry["status"]]
): SessionUpdate {
  return {
    sessionUpdate: "plan",
    entries: [
      { content: "Read greet.js", priority: "medium", status: read },
      { content: "Let greet() take a name", priority: "high", status: change },
      { content: "Say what changed", priority: "low", status: report },
    ],
  };
}
