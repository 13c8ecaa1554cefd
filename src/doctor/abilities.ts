import { asArray, asObject, isObject, type JsonObject } from "../protocol/json.ts";
import { type AgentOffers, agentOffers, type HostedServices } from "../translate/capabilities.ts";

/** A method or a capability of protocol version 2, and what becomes of it with this agent. */
export interface Ability {
  name: string;
  /** `native`: the agent's own. `bridge`: acp-shift stands in. `none`: there is none. `unknown`: nothing told. */
  how: "native" | "bridge" | "none" | "unknown";
  note: string | null;
}

/** What the bridge is set up to do for an agent. */
export interface BridgeServices extends HostedServices {
  /** Sessions and what was said in them are kept from run to run. */
  remembers: boolean;
}

/** What there is to go by. */
export interface Known {
  /** The agent's own `initialize` result, of its version. */
  result: JsonObject;
  /** The fields of the agent's `session/new` result that hold options; undefined when no session was opened. */
  optionsFrom: readonly string[] | undefined;
  services: BridgeServices;
}

type Answer = [how: Ability["how"], note?: string];
type Row<Subject> = [name: string, answer: (subject: Subject) => Answer];

const native: Answer = ["native"];
const refused: Answer = ["none", "not offered by the agent"];
const offered = (has: boolean): Answer => (has ? native : refused);

interface Version1 {
  offers: AgentOffers;
  authMethods: number;
  optionsFrom: readonly string[] | undefined;
  services: BridgeServices;
}

/** What a v1 agent's offers come to (docs/mapping.md §1 to §4, §8 to §10). */
const TRANSLATED: readonly Row<Version1>[] = [
  ["session/new", () => native],
  ["session/prompt", () => ["native", "acceptance, running and idle are acp-shift's"]],
  ["session/cancel", () => native],
  [
    "session/list",
    ({ offers, services }) => {
      if (offers.list) return native;
      return ["bridge", services.remembers ? "the sessions it remembers" : "the sessions of this run"];
    },
  ],
  [
    "session/resume",
    ({ offers }) => {
      if (offers.resume) return native;
      if (offers.load) return ["bridge", "session/load, its replay swallowed"];
      return ["bridge", "only sessions that are still open"];
    },
  ],
  [
    "session/resume replayFrom",
    ({ offers, services }) => {
      if (offers.load) return ["bridge", "session/load, its replay translated"];
      if (services.remembers) return ["bridge", `what it remembers${offers.resume ? "" : " of sessions still open"}`];
      return ["none", "a notice says that there is no history"];
    },
  ],
  ["session/close", ({ offers }) => (offers.close ? native : ["bridge", "ends running work, forgets the session"])],
  ["session/delete", ({ offers }) => offered(offers.delete)],
  [
    "session/set_config_option",
    ({ optionsFrom }) => {
      if (optionsFrom === undefined) return ["unknown", "no session was opened"];
      if (optionsFrom.includes("configOptions")) return native;
      const setters = { modes: "session/set_mode", models: "session/set_model" };
      const used = Object.entries(setters).flatMap(([field, setter]) => (optionsFrom.includes(field) ? [setter] : []));
      return used.length > 0 ? ["bridge", used.join(", ")] : ["none", "the session has no options"];
    },
  ],
  [
    "auth/login",
    ({ authMethods }) => (authMethods > 0 ? ["native", "authenticate"] : ["none", "the agent names no login method"]),
  ],
  ["auth/logout", ({ offers }) => (offers.logout ? ["native", "logout"] : ["none", "logging out fails with an error"])],
  ["prompt image", ({ offers }) => offered(offers.prompt.image)],
  ["prompt audio", ({ offers }) => offered(offers.prompt.audio)],
  ["prompt embeddedContext", ({ offers }) => offered(offers.prompt.embeddedContext)],
  ["mcp stdio", () => native],
  ["mcp http", ({ offers }) => offered(offers.mcp.http)],
  ["additionalDirectories", ({ offers }) => offered(offers.additionalDirectories)],
  ["terminals for the agent", ({ services }) => hosted(services.terminals, "terminal/*")],
  ["files for the agent", ({ services }) => hosted(services.files, "fs/*")],
];

/** v2 clients run no commands and read no files for an agent. */
function hosted(hosts: boolean, methods: string): Answer {
  return hosts ? ["bridge", methods] : ["none", `${methods} is refused`];
}

interface Version2 {
  session: JsonObject | undefined;
  authMethods: number;
}

const baseline = ({ session }: Version2): Answer => offered(session !== undefined);
const login = ({ authMethods }: Version2): Answer =>
  authMethods > 0 ? native : ["none", "the agent names no login method"];
const marker =
  (...path: string[]) =>
  ({ session }: Version2): Answer =>
    offered(isObject(path.reduce<unknown>((holder, key) => asObject(holder)[key], session)));

/** What a v2 agent offers itself (schema v2 `AgentCapabilities`): its frames are passed through. */
const PASSED_THROUGH: readonly Row<Version2>[] = [
  ["session/new", baseline],
  ["session/prompt", baseline],
  ["session/cancel", baseline],
  ["session/list", baseline],
  ["session/resume", baseline],
  ["session/resume replayFrom", baseline],
  ["session/close", baseline],
  ["session/delete", marker("delete")],
  ["session/set_config_option", baseline],
  ["auth/login", login],
  ["auth/logout", login],
  ["prompt image", marker("prompt", "image")],
  ["prompt audio", marker("prompt", "audio")],
  ["prompt embeddedContext", marker("prompt", "embeddedContext")],
  ["mcp stdio", marker("mcp", "stdio")],
  ["mcp http", marker("mcp", "http")],
  ["additionalDirectories", marker("additionalDirectories")],
];

/** What a version 2 client can do with an agent that is translated. */
export function translatedAbilities({ result, optionsFrom, services }: Known): Ability[] {
  const authMethods = asArray(result["authMethods"]).length;
  return fill(TRANSLATED, { offers: agentOffers(result), authMethods, optionsFrom, services });
}

/** What a version 2 client can do with an agent that speaks version 2 itself. */
export function nativeAbilities(result: JsonObject): Ability[] {
  const { session } = asObject(result["capabilities"]);
  const authMethods = asArray(result["authMethods"]).length;
  return fill(PASSED_THROUGH, { session: isObject(session) ? session : undefined, authMethods });
}

function fill<Subject>(rows: readonly Row<Subject>[], subject: Subject): Ability[] {
  return rows.map(([name, answer]) => {
    const [how, note] = answer(subject);
    return { name, how, note: note ?? null };
  });
}
