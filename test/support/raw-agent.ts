// The script of the raw agent (test/fixtures/peers/raw-agent.mjs), typed.
import type { JsonObject } from "../../src/protocol/json.ts";
import { peer } from "./bridge-process.ts";

/** What the agent does next; described in the fixture. */
export type Step =
  | { result: unknown; of?: string }
  | { error: JsonObject; of?: string }
  | { update: JsonObject }
  | { send: unknown }
  | { write: unknown }
  | { stderr: string; times?: number }
  | { exit: number }
  | { kill: NodeJS.Signals }
  | { close: number }
  | { spawn: string[] };

export type Script = { [method: string]: Step[] | Step[][] | NodeJS.Signals[] };

/** The command of a raw agent that follows the script. */
export function rawAgent(script: Script = {}): string[] {
  return peer("raw-agent.mjs", JSON.stringify(script));
}

/** The step that says something. */
export const says = (words: unknown): Step => ({
  update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: words } },
});
