import { asArray, asObject, asString, type JsonObject } from "../protocol/json.ts";

/** Something of the agent's that does not reach a client as the agent has it: a loss, a guess or a repair. */
export interface Loss {
  /** The event of the log record that tells of it; null when the agent's capabilities do. */
  event: string | null;
  what: string;
  /** Where it was, as far as that is known. */
  where: string | null;
  count: number;
}

/** A log record of the bridge's. */
export interface LogRecord {
  level: string;
  event: string;
  details: JsonObject;
}

/**
 * What the records of a run mean to a person (docs/mapping.md, "What does not cross"). A record of level `info` or above
 * that is not here is shown by its event's name.
 */
const MEANING: Readonly<Record<string, string>> = {
  "agent-info-guessed": "The agent gives no name or no version; clients see one made up",
  "agent-line-recovered": "Frames had to be picked out of lines with something else on them",
  "answer-to-no-request": "Answers to nothing that was asked are dropped",
  "auth-env-dropped": "A login method's variable that is no text is left out",
  "auth-method-dropped": "A login method without an id, or with one used twice, is left out",
  "diff-without-patch": "A diff is shown without a patch",
  "elicitation-cancelled": "A question that cannot be shown is answered with cancelled",
  "elicitation-not-offered": "News of a question the client was not asked is not passed on",
  "frame-before-initialize": "What the agent sends before it has answered initialize is dropped",
  "frame-too-large": "Frames above --max-frame are dropped",
  "initialize-retried-in-v1": "The agent refused version 2 and was asked again in version 1",
  "internal-error": "acp-shift failed on a frame; please report it",
  "method-prefixed": "A method that version 2 does not define gets a _ before its name",
  "mode-without-modes": "A mode the agent switched to is not shown: it names no modes",
  "notification-ignored": "$/ notifications belong to one connection and are not passed on",
  "params-invalid": "A frame with a required part that is invalid is dropped",
  "params-repaired": "Invalid parts of a frame are left out",
  "paths-not-mapped": "Paths are not mapped between two sides of the same version",
  "permission-cancelled": "A request for permission that cannot be shown is answered with cancelled",
  "permission-option-dropped": "A permission option without an id, or with one used twice, is left out",
  "result-invalid": "An answer with a required part that is invalid becomes an error",
  "result-repaired": "Invalid parts of an answer are left out",
  "session-id-reused": "The agent gave a session the id of another",
  "session-list-entry-dropped": "A listed session without an id or an absolute cwd is left out",
  "state-update-renamed": "The agent's own state is passed on as _state_update",
  "update-dropped": "An update with a required part that is invalid is dropped",
  "update-malformed": "An update without a session or a kind is dropped",
  "update-of-unknown-session": "Updates of a session the client has not opened are dropped",
  "update-repaired": "Invalid parts of an update are left out",
};

/** Told elsewhere, or no loss. */
const ELSEWHERE = new Set(["paired", "profile", "agent-noise", "agent-exit", "handshake-timeout"]);

/** What was lost, guessed or repaired in this run, each kind of it once, in the order of the first. */
export function lossesIn(records: readonly LogRecord[]): Loss[] {
  const losses = new Map<string, Loss>();
  for (const { level, event, details } of records) {
    const meaning = MEANING[event];
    if (ELSEWHERE.has(event) || (meaning === undefined && (level === "debug" || level === "trace"))) continue;
    const where = whereOf(details);
    const key = `${event} ${where}`;
    const known = losses.get(key);
    if (known !== undefined) known.count++;
    else losses.set(key, { event, what: meaning ?? event, where, count: 1 });
  }
  return [...losses.values()];
}

function whereOf(details: JsonObject): string | null {
  const { method, kind, detail, fault, dropped, reason } = details;
  const error = asString(asObject(details["error"])["message"]);
  const parts = [method, kind, fault ?? detail ?? reason ?? error].filter((part) => typeof part === "string");
  const text = [...parts, ...asArray(dropped)].join(" ");
  return text === "" ? null : text;
}

/** Pairs of capability objects, v1's and the one v2 has for it. */
const CAPABILITIES: readonly [v1: string[], v2: string[]][] = [
  [[], []],
  [["sessionCapabilities"], ["session"]],
  [["promptCapabilities"], ["session", "prompt"]],
  [["mcpCapabilities"], ["session", "mcp"]],
  [["auth"], ["auth"]],
];

/**
 * What a v1 agent offers and no version 2 client will look for: capabilities that v2 has no field for stand under
 * `_meta` (docs/mapping.md §1), and a terminal login reaches only clients that can run one (§2).
 *
 * @param v1Result the agent's `initialize` result
 * @param v2Result the same as the client got it
 */
export function lossesOf(v1Result: JsonObject, v2Result: JsonObject): Loss[] {
  const loss = (what: string, where: string): Loss => ({ event: null, what, where, count: 1 });
  const offered = CAPABILITIES.flatMap(([v1Path, v2Path]) => {
    const v1 = at(v1Result["agentCapabilities"], v1Path);
    const meta = asObject(at(v2Result["capabilities"], v2Path)["_meta"]);
    return Object.keys(v1)
      .filter((name) => name !== "_meta" && name in meta && v1[name] !== false)
      .map((name) => loss("Version 2 has no field for it; kept under _meta", [...v1Path, name].join(".")));
  });
  const terminal = asArray(v2Result["authMethods"])
    .map(asObject)
    .filter(({ type }) => type === "terminal")
    .map(({ methodId }) => loss("A login on a terminal is left out for clients that run none", String(methodId)));
  return [...offered, ...terminal];
}

function at(capabilities: unknown, path: readonly string[]): JsonObject {
  return path.reduce((holder, key) => asObject(holder[key]), asObject(capabilities));
}
