import { createHash } from "node:crypto";
import { join } from "node:path";

const EXTENSION = ".jsonl";
const KEY = /^(?:[a-z0-9-]{1,40}-)?[0-9a-f]{16}$/;

/** The directory of one agent's sessions. */
export function agentDirectory(directory: string, agent: string): string {
  return join(directory, keyOf(agent));
}

/** The name of a session's file within its agent's directory. */
export function sessionFileName(sessionId: string): string {
  return keyOf(sessionId) + EXTENSION;
}

/** True for a name that only an agent's directory can have. */
export function isAgentDirectory(name: string): boolean {
  return KEY.test(name);
}

/** True for a name that only a session's file can have. */
export function isSessionFile(name: string): boolean {
  return name.endsWith(EXTENSION) && KEY.test(name.slice(0, -EXTENSION.length));
}

/** A file name for any text: what of it a person can read, and enough of its hash to be its own. */
function keyOf(text: string): string {
  const readable = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 40);
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 16);
  return readable === "" ? hash : `${readable}-${hash}`;
}
