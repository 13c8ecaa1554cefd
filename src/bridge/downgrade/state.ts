/** What is remembered of the sessions of a v1 client over a v2 agent, as plain data. */
import type { RequestId } from "../../protocol/frames.ts";
import type { JsonObject } from "../../protocol/json.ts";
import type { Digest, MessageKind } from "../messages.ts";

/** One session, as the v1 client has it and the v2 agent reports it. */
export interface DowngradedSession {
  id: string;
  /** The agent's own path. */
  cwd: string;
  /** True while the agent reports foreground work (`running`, `requires_action`). */
  works: boolean;
  turn: OpenPrompt | undefined;
  /** Prompts that wait for the open one to end, or for the session to be restored. */
  held: HeldV1Prompt[];
  /** What was sent of each message, by kind and the agent's id. */
  messages: Map<string, SentMessage>;
  toolCalls: Map<string, ShownToolCall>;
  /** Tool calls made for questions that are open. */
  questions: Set<string>;
  terminals: Map<string, DisplayTerminal>;
  /** True while new output of terminals waits to be shown as text. */
  terminalsWait: boolean;
  /** Entries of each plan, by its id. */
  plans: Map<string, JsonObject>;
  /** The agent's config options, as it last told them. */
  configOptions: unknown;
  /** True while the agent restores the session: what comes is history, and not to be mixed with a prompt. */
  restoring: boolean;
  /** Set once a close or delete is on its way: nothing begins any more. */
  closing: boolean;
}

/** A `session/prompt` of the client's, as the agent is to get it. */
export interface HeldV1Prompt {
  clientId: RequestId;
  params: JsonObject;
}

/** The prompt the client waits for. */
export interface OpenPrompt {
  clientId: RequestId;
  cancelled: boolean;
  /** Where the prompt stands in the agent's work; undefined until the agent has accepted it. */
  inserted: Insertion | undefined;
  /** What came since the prompt was sent, as far as it tells what ended before the agent accepted it. */
  sinceSent: Insertion;
  /** An `idle` of which it is not clear yet whether it ended the prompt's work. */
  doubted?: JsonObject;
  /** User messages that came before the acceptance, which will say which of them is the prompt's own echo. */
  echoes: Map<string, Insertion & { frames: JsonObject[] }>;
}

/** A point in the agent's work, and what became of that work. */
export interface Insertion {
  /** True once foreground work was reported at or after this point. */
  worked: boolean;
  /** The `idle` that ended that work, when it came before the acceptance. */
  idle?: JsonObject;
}

/** What was sent of a message: enough to tell what an upsert adds to it. */
export interface SentMessage {
  kind: MessageKind;
  /** The id under which the client has it. */
  id: string;
  /** The length of its content, in UTF-16 units of text. */
  length: number;
  digest: Digest;
  /** True for the echo of a prompt: the client has it already. */
  absorbed: boolean;
}

/** What is remembered of a tool call the client has been told of. */
export interface ShownToolCall {
  title: string;
  status: string;
  /** The agent's content so far, for what is added to it; dropped when the call is over. */
  content: unknown[];
}

/** A terminal of the agent's. A v1 client sees it within the tool calls that show it. */
export interface DisplayTerminal {
  id: string;
  command: string | undefined;
  cwd: string | undefined;
  /** The end of its output. */
  text: string;
  /** What of that the client has not been sent. */
  unsent: string;
  /** The bytes of a character that is not complete yet. */
  pending: number[];
  exitStatus: JsonObject | undefined;
  /** The tool calls that show it; the first is told of its output. */
  shownBy: Set<string>;
  /** True once the client was told that it ended. */
  ended: boolean;
}

/** A session with nothing in it yet. */
export function createDowngradedSession(id: string, cwd: string): DowngradedSession {
  return {
    id,
    cwd,
    works: false,
    turn: undefined,
    held: [],
    messages: new Map(),
    toolCalls: new Map(),
    questions: new Set(),
    terminals: new Map(),
    terminalsWait: false,
    plans: new Map(),
    configOptions: undefined,
    restoring: false,
    closing: false,
  };
}
