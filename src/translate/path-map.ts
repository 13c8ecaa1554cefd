/**
 * Path mapping, `--map CLIENT=AGENT`: an agent in a container sees its own paths, the client its own.
 *
 * Paths are mapped only where the v1 schema says that a field holds a path or a resource's URI, never inside text, raw
 * tool input and output, titles or commands. Everything here works on v1 shapes, on the agent's side of the
 * translations. No input is ever changed, and an object in which nothing was mapped is returned as it is.
 */
import { isObject, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import { isAbsolutePath, normalisePath } from "./paths.ts";

/** Directories that have one path on the client's side and another on the agent's; normalised, none named twice. */
export interface PathMap {
  readonly pairs: readonly { readonly client: string; readonly agent: string }[];
}

type Side = "client" | "agent";

/**
 * Reads the values of `--map`. Each is CLIENT=AGENT with an absolute path on both sides, in POSIX or Windows syntax;
 * trailing separators do not matter. A path may hold `=` as long as only one way to cut the entry gives two absolute
 * paths.
 *
 * @throws Error for an entry that is no such pair or can be cut in more than one way, and for a path mapped twice
 */
export function parsePathMap(entries: readonly string[]): PathMap {
  const pairs: { client: string; agent: string }[] = [];
  for (const entry of entries) {
    const pair = parsePair(entry);
    for (const side of ["client", "agent"] as const)
      if (pairs.some((other) => isSame(other[side], pair[side], isWindows(pair[side]))))
        throw new Error(`the ${side}'s path ${JSON.stringify(pair[side])} is mapped twice`);
    pairs.push(pair);
  }
  return { pairs };
}

function parsePair(entry: string): { client: string; agent: string } {
  const pairs = [...entry.matchAll(/=/g)]
    .map(({ index }) => ({ client: entry.slice(0, index), agent: entry.slice(index + 1) }))
    .filter(({ client, agent }) => isAbsolutePath(client) && isAbsolutePath(agent));
  const [pair, another] = pairs;
  if (pair === undefined)
    throw new Error(`expected CLIENT=AGENT with an absolute path on both sides, found ${JSON.stringify(entry)}`);
  if (another !== undefined)
    throw new Error(`expected CLIENT=AGENT, but ${JSON.stringify(entry)} can be read in more than one way`);
  return { client: normalisePath(pair.client), agent: normalisePath(pair.agent) };
}

/**
 * The agent's path for one of the client's. The longest mapped directory that holds it decides; a path in none, and a
 * relative one, is returned as it is. Windows paths are compared without regard to case and to the kind of separator.
 * A POSIX name with a backslash in it has no Windows form, so such a path stays as it is too.
 */
export function toAgentPath(map: PathMap, path: string): string {
  return mapPath(map, "client", "agent", path);
}

/** The client's path for one of the agent's; the inverse of {@link toAgentPath}. */
export function toClientPath(map: PathMap, path: string): string {
  return mapPath(map, "agent", "client", path);
}

/** The params of a request or notification of that v1 method, as the agent is to get them. */
export function paramsToAgent(map: PathMap, method: string, params: JsonObject): JsonObject {
  return applyTo(PARAMS_TO_AGENT, method, params, (path) => toAgentPath(map, path));
}

/** The agent's result of that v1 method, still in v1 shape, with the client's paths. */
export function resultToClient(map: PathMap, method: string, result: JsonObject): JsonObject {
  return applyTo(RESULTS_TO_CLIENT, method, result, (path) => toClientPath(map, path));
}

/**
 * The params of a request or notification the agent sent under that v1 method, still in v1 shape, with the client's
 * paths. That holds for `terminal/*` and `fs/*` too: whoever serves them does so on the client's side.
 */
export function paramsToClient(map: PathMap, method: string, params: JsonObject): JsonObject {
  return applyTo(PARAMS_TO_CLIENT, method, params, (path) => toClientPath(map, path));
}

const DOT_SEGMENT = /(?:^|[\\/])\.\.?(?:[\\/]|$)/;

function mapPath(map: PathMap, from: Side, to: Side, path: string): string {
  if (!isAbsolutePath(path)) return path;
  // "/work/../etc" is not in /work.
  const plain = DOT_SEGMENT.test(path) ? normalisePath(path) : path;
  let nearest: { root: string; rest: string } | undefined;
  for (const pair of map.pairs) {
    const rest = restBelow(pair[from], plain);
    if (rest !== undefined && (nearest === undefined || rest.length < nearest.rest.length))
      nearest = { root: pair[to], rest };
  }
  return nearest === undefined ? path : (join(nearest.root, nearest.rest, isWindows(plain)) ?? path);
}

/** What follows the directory in the path, from the separator on; undefined for a path that is not in it. */
function restBelow(directory: string, path: string): string | undefined {
  const windows = isWindows(directory);
  if (windows !== isWindows(path)) return undefined;
  if (isSame(path, directory, windows)) return "";
  const stem = withoutSeparator(directory);
  const rest = path.slice(stem.length);
  const isBelow = rest.startsWith("/") || (windows && rest.startsWith("\\"));
  return isBelow && isSame(path.slice(0, stem.length), stem, windows) ? rest : undefined;
}

function join(directory: string, rest: string, restIsWindows: boolean): string | undefined {
  if (rest === "") return directory;
  const stem = withoutSeparator(directory);
  if (isWindows(directory) === restIsWindows) return stem + rest;
  if (restIsWindows) return stem + rest.replaceAll("\\", "/");
  return rest.includes("\\") ? undefined : stem + rest.replaceAll("/", "\\");
}

function isWindows(absolutePath: string): boolean {
  return !absolutePath.startsWith("/");
}

function isSame(one: string, other: string, windows: boolean): boolean {
  return windows ? folded(one) === folded(other) : one === other;
}

function folded(windowsPath: string): string {
  return windowsPath.replaceAll("/", "\\").toLowerCase();
}

/** Only the root of a file system ends in a separator. */
function withoutSeparator(directory: string): string {
  return directory.replace(/[\\/]$/, "");
}

const FILE_URI = /^file:(?:\/\/([^/?#]*))?(\/[^?#]*)(.*)$/is;
const DRIVE = /^\/[A-Za-z]:(?:\/|$)/;

/** A resource's URI with its path mapped, when it is a `file:` URI (RFC 8089) or, as some agents have it, a bare path. */
function mapUri(uri: string, mapText: MapText): string {
  if (isAbsolutePath(uri)) return mapText(uri);
  const [, host = "", encoded, suffix = ""] = FILE_URI.exec(uri) ?? [];
  if (encoded === undefined) return uri;
  try {
    const path = pathOfUri(decodeURIComponent(host), decodeURIComponent(encoded));
    const mapped = mapText(path);
    return mapped === path ? uri : uriOfPath(mapped) + suffix;
  } catch (error) {
    // Bytes that are no UTF-8 cannot be a mapped path.
    if (error instanceof URIError) return uri;
    throw error;
  }
}

function pathOfUri(host: string, path: string): string {
  if (host !== "" && host.toLowerCase() !== "localhost") return `//${host}${path}`.replaceAll("/", "\\");
  return DRIVE.test(path) ? path.slice(1) : path;
}

function uriOfPath(path: string): string {
  const encoded = (text: string) => encodeURI(text).replace(/[?#]/g, encodeURIComponent);
  if (!isWindows(path)) return `file://${encoded(path)}`;
  const slashed = encoded(path.replaceAll("\\", "/"));
  return slashed.startsWith("//") ? `file:${slashed}` : `file:///${slashed}`;
}

type MapText = (path: string) => string;

/** What becomes of one place of a frame; a value that is not what the place should hold is left alone. */
type Change = (value: unknown, mapText: MapText) => unknown;

const path: Change = (value, mapText) => (typeof value === "string" ? mapText(value) : value);
const uri: Change = (value, mapText) => (typeof value === "string" ? mapUri(value, mapText) : value);

/** Changes fields of an object. */
function fields(changes: Record<string, Change>): Change {
  const entries = Object.entries(changes);
  return (value, mapText) => {
    if (!isObject(value)) return value;
    let changed = value;
    for (const [key, change] of entries) {
      const after = change(value[key], mapText);
      if (after !== value[key]) changed = { ...changed, [key]: after };
    }
    return changed;
  };
}

/** Changes every item of a list. */
function each(change: Change): Change {
  return (value, mapText) => {
    if (!Array.isArray(value)) return value;
    const items = value.map((item) => change(item, mapText));
    return items.some((item, index) => item !== value[index]) ? items : value;
  };
}

/** Changes an object of a tagged union: `tag` names the field that says which variant it is. */
function variants(tag: string, changes: Record<string, Change>): Change {
  const known = new Map<unknown, Change>(Object.entries(changes));
  return (value, mapText) => {
    const change = isObject(value) ? known.get(value[tag]) : undefined;
    return change === undefined ? value : change(value, mapText);
  };
}

const contentBlocks = {
  image: fields({ uri }),
  resource_link: fields({ uri }),
  resource: fields({ resource: fields({ uri }) }),
};
const contentBlock = variants("type", contentBlocks);
const directories = fields({ cwd: path, additionalDirectories: each(path) });
const sessionSetup = fields({
  cwd: path,
  additionalDirectories: each(path),
  systemPrompt: fields({ content: each(contentBlock) }),
});

const toolCall = fields({
  locations: each(fields({ path })),
  content: each(
    variants("type", {
      ...contentBlocks, // some agents put a content block where an item should be
      content: fields({ content: contentBlock }),
      diff: fields({ path }),
    }),
  ),
  _meta: fields({ terminal_info: fields({ cwd: path }) }),
});

const message = fields({ content: contentBlock });
const sessionUpdate = variants("sessionUpdate", {
  user_message_chunk: message,
  agent_message_chunk: message,
  agent_thought_chunk: message,
  tool_call: toolCall,
  tool_call_update: toolCall,
  plan_update: fields({ plan: variants("type", { file: fields({ uri }) }) }),
  compaction_update: fields({ summary: each(contentBlock) }),
  compaction_summary_chunk: message,
  subagent_update: directories,
  session_message: fields({ content: each(contentBlock) }),
  session_message_chunk: message,
});

const PARAMS_TO_AGENT = new Map<string, Change>([
  [Method.sessionNew, sessionSetup],
  [Method.sessionLoad, sessionSetup],
  [Method.sessionResume, sessionSetup],
  [Method.sessionFork, sessionSetup],
  [Method.sessionList, fields({ cwd: path })],
  [Method.sessionPrompt, fields({ prompt: each(contentBlock) })],
]);

const RESULTS_TO_CLIENT = new Map<string, Change>([[Method.sessionList, fields({ sessions: each(directories) })]]);

const PARAMS_TO_CLIENT = new Map<string, Change>([
  [Method.sessionUpdate, fields({ update: sessionUpdate })],
  [Method.requestPermission, fields({ toolCall })],
  ["terminal/create", fields({ cwd: path })],
  ["fs/read_text_file", fields({ path })],
  ["fs/write_text_file", fields({ path })],
]);

function applyTo(
  changes: ReadonlyMap<string, Change>,
  method: string,
  object: JsonObject,
  mapText: MapText,
): JsonObject {
  const changed = changes.get(method)?.(object, mapText);
  return isObject(changed) ? changed : object;
}
