import { setTimeout as pause } from "node:timers/promises";
import type { JSONRPCServerAndClient } from "json-rpc-2.0";
import { optionName } from "../config/options.ts";
import { applyProfile, findProfile, loadProfiles } from "../config/profiles.ts";
import type { SettingName, Settings } from "../config/settings.ts";
import { ErrorCode } from "../protocol/errors.ts";
import { asArray, asObject, asString, isObject, type JsonObject } from "../protocol/json.ts";
import { Method } from "../protocol/methods.ts";
import type { InitializeRequest, NewSessionRequest } from "../protocol/v2.ts";
import { redact } from "../redact.ts";
import { type Ability, type BridgeServices, nativeAbilities, translatedAbilities } from "./abilities.ts";
import type {
  AppliedProfile,
  AuthMethod,
  Facts,
  Failure,
  Lines,
  Protocol,
  SessionFacts,
  SessionOption,
} from "./facts.ts";
import { locate } from "./locate.ts";
import { lossesIn, lossesOf } from "./losses.ts";
import { createObserver, type Listeners, type Observer } from "./observer.ts";
import type { Schemas } from "./violations.ts";

/** A bridge round the agent, and the client's end of it. */
export interface RunningBridge {
  /** Speaks protocol version 2 with the bridge. */
  rpc: JSONRPCServerAndClient;
  leave(): void;
  /** Settles once the agent is gone. */
  ended: Promise<unknown>;
}

export interface Examination {
  agent: { command: string; args: string[] };
  cwd: string;
  env: NodeJS.ProcessEnv;
  settings: Settings;
  services: BridgeServices;
  schemas(version: "v1" | "v2"): Schemas;
  /** Starts the bridge; called once. */
  start(listeners: Listeners): RunningBridge;
}

/** How long the agent must send nothing before its first updates count as all there, in ms; and the longest wait. */
const SILENCE = 500;
const LONGEST_WAIT = 5000;

/** How much of a line is shown, in characters. */
const LINE_CHARS = 500;

/**
 * Starts the agent behind a bridge, plays a version 2 client to it (initialize, one session in `cwd`, its first updates,
 * close) and says what was seen. The agent is gone when this returns. Secrets are masked in everything returned. Never
 * rejects for anything the agent does.
 */
export async function examine(examination: Examination): Promise<Facts> {
  const { agent, cwd, env, settings, services } = examination;
  const observer = createObserver(examination.schemas);
  const visit = await visitAgent(examination, observer);

  const raw = observer.results.get(Method.initialize);
  const protocol = protocolOf(raw, observer);
  const failure = visit.failure;
  const needsLogin = failure === null && visit.session?.error?.code === ErrorCode.authRequired;
  const usable = failure === null && (needsLogin || visit.session?.opened === true);
  const { initialized } = visit;

  const facts: Facts = {
    format: "acp-shift-doctor",
    version: 1,
    verdict: { usable, needsLogin, exitStatus: usable ? 0 : exitStatus(failure) },
    command: { words: [agent.command, ...agent.args], cwd, ...locate(agent.command, cwd, env) },
    failure,
    agent: initialized === undefined ? null : agentOf(initialized),
    protocol,
    startupMs: visit.startupMs,
    profile: protocol.pairing === "passed-through" ? null : profileOf(settings, agent.command, raw),
    abilities: initialized === undefined ? [] : abilitiesOf(protocol, asObject(raw), visit.session, services),
    authMethods: asArray(initialized?.["authMethods"]).filter(isObject).map(authMethod),
    session: visit.session,
    losses: [
      ...(protocol.pairing === "translated" ? lossesOf(asObject(raw), asObject(initialized)) : []),
      ...lossesIn(observer.records),
    ],
    violations: [...observer.violations],
    noise: observer.noise,
    stderr: observer.stderr,
  };
  const masked = redact(facts) as Facts;
  return { ...masked, noise: shortened(masked.noise), stderr: shortened(masked.stderr) };
}

/** How far the client came. */
interface Visit {
  /** The bridge's answer to `initialize`. */
  initialized?: JsonObject;
  startupMs: number | null;
  session: SessionFacts | null;
  failure: Failure | null;
}

async function visitAgent(examination: Examination, observer: Observer): Promise<Visit> {
  const bridge = examination.start(observer);
  try {
    return await visitBridge(examination, bridge, observer);
  } finally {
    bridge.leave();
    await bridge.ended;
  }
}

async function visitBridge(examination: Examination, bridge: RunningBridge, observer: Observer): Promise<Visit> {
  const { cwd, settings } = examination;
  const { rpc } = bridge;
  const command = [examination.agent.command, ...examination.agent.args].join(" ");
  const updates: JsonObject[] = [];
  rpc.addMethod("session/update", (params: unknown) => void updates.push(asObject(asObject(params)["update"])));
  rpc.addMethod("session/request_permission", () => ({ outcome: { outcome: "cancelled" } }));
  rpc.addMethod("elicitation/create", () => ({ action: "cancel" }));

  async function ask(method: string, params: unknown, limit?: number): Promise<Answer> {
    observer.asking(method);
    const from = performance.now();
    const answer = rpc.request(method, params);
    try {
      const result = await (limit === undefined ? answer : within(limit, answer));
      return { result: asObject(result), ms: since(from) };
    } catch (error) {
      return { failure: readFailure(error, method, command), ms: since(from) };
    }
  }

  const initialized = await ask(Method.initialize, INITIALIZE);
  if ("failure" in initialized) return { startupMs: null, session: null, failure: initialized.failure };
  const visit = { initialized: initialized.result, startupMs: initialized.ms };

  const params: NewSessionRequest = { cwd, mcpServers: [] };
  const opened = await ask(Method.sessionNew, params, settings.handshakeTimeout);
  if ("failure" in opened) {
    const { failure, ms } = opened;
    const session = { ...NO_SESSION, ms, error: { code: failure.code, message: failure.message } };
    return { ...visit, session, failure: failure.code === ErrorCode.authRequired ? null : failure };
  }

  await silence(bridge, observer, settings.settle);
  const exit = observer.records.find(({ event }) => event === "agent-exit");
  const sessionId = opened.result["sessionId"];
  const closed = exit ? undefined : await ask(Method.sessionClose, { sessionId }, settings.handshakeTimeout);
  return {
    ...visit,
    session: {
      ...sessionOf(opened.result, updates),
      optionsFrom: optionsFrom(asObject(observer.results.get(Method.sessionNew))),
      ms: opened.ms,
      closeError: closed !== undefined && "failure" in closed ? closed.failure.message : null,
    },
    failure: exit === undefined ? null : failureOf(exit.details, "session", asString(exit.details["message"]) ?? ""),
  };
}

type Answer = { ms: number } & ({ result: JsonObject } | { failure: Failure });

/** A version 2 client that can do everything. */
const INITIALIZE: InitializeRequest = {
  protocolVersion: 2,
  info: { name: "acp-shift-doctor", title: "acp-shift doctor", version: "1" },
  capabilities: { auth: { terminal: {} }, elicitation: { form: {}, url: {} } },
};

const NO_SESSION: SessionFacts = {
  opened: false,
  ms: 0,
  error: null,
  optionsFrom: [],
  options: [],
  commands: [],
  closeError: null,
};

/** Resolves once the agent has sent nothing for a while, at the latest after {@link LONGEST_WAIT}. */
async function silence(bridge: RunningBridge, observer: Observer, settle: number): Promise<void> {
  const enough = Math.max(settle, SILENCE);
  const latest = performance.now() + LONGEST_WAIT;
  let gone = false;
  const ended = bridge.ended.then(() => {
    gone = true;
  });
  while (!gone) {
    const now = performance.now();
    const rest = Math.min(observer.lastFrameAt + enough, latest) - now;
    if (rest <= 0) return;
    await Promise.race([pause(Math.ceil(rest)), ended]);
  }
}

/** The agent said nothing for too long. */
class Unanswered extends Error {}

async function within<Result>(ms: number, answer: PromiseLike<Result>): Promise<Result> {
  const timer = new AbortController();
  const silence = pause(ms, undefined, { signal: timer.signal }).then(() => {
    throw new Unanswered(`it did not come within ${ms / 1000} s`);
  });
  try {
    return await Promise.race([answer, silence]);
  } finally {
    timer.abort();
  }
}

/** What became of a request, in the words of the bridge's error or of the agent's. */
function readFailure(error: unknown, method: string, command: string): Failure {
  const { code, data } = asObject({ ...(error instanceof Error ? error : {}) });
  const said = (error instanceof Error ? error.message : String(error)).replace(` (${command})`, "");
  const phase = method === Method.initialize ? "initialize" : "session";
  if (error instanceof Unanswered) return failureOf({}, phase, `no answer to ${method}: ${said}`);
  const isOurs = asString(asObject(data)["phase"]) !== undefined;
  const message = isOurs ? said : `${method} failed: ${said}`;
  return { ...failureOf(asObject(data), phase, message), code: Number.isInteger(code) ? Number(code) : null };
}

/** @param data the `data` of the bridge's own errors: phase, cause, how the process ended, what to try */
function failureOf(data: JsonObject, phase: string, message: string): Failure {
  return {
    phase: asString(data["phase"]) ?? phase,
    message,
    code: null,
    cause: asString(data["cause"]) ?? null,
    exitCode: typeof data["exitCode"] === "number" ? data["exitCode"] : null,
    signal: asString(data["signal"]) ?? null,
    hint: asString(data["hint"]) ?? null,
  };
}

/** 127 and 126 as shells have them, for an agent that could not be started. */
function exitStatus(failure: Failure | null): number {
  if (failure?.phase !== "start" || failure.cause === null) return 1;
  return failure.cause === "ENOENT" ? 127 : 126;
}

function protocolOf(result: JsonObject | undefined, observer: Observer): Protocol {
  const version = result?.["protocolVersion"];
  const pairing = observer.records.find(({ event }) => event === "paired")?.details["pairing"];
  return {
    agentVersion: typeof version === "number" ? version : null,
    pairing: pairing === "upgrade" ? "translated" : pairing === "pass-through" ? "passed-through" : null,
  };
}

function agentOf(initialized: JsonObject): Facts["agent"] {
  const { name, title, version } = asObject(initialized["info"]);
  return {
    name: asString(name) ?? "unknown",
    title: asString(title) ?? null,
    version: asString(version) ?? "unknown",
  };
}

function profileOf(settings: Settings, command: string, result: JsonObject | undefined): AppliedProfile | null {
  const agentInfoName = asString(asObject(result?.["agentInfo"])["name"]);
  const profile = findProfile(loadProfiles(), { named: settings.profile, agentInfoName, command });
  if (profile === undefined) return null;
  const applied = applyProfile(settings, profile);
  const written = (setting: string) => optionName(setting as SettingName);
  const names = Object.keys(profile.settings) as (keyof typeof profile.settings)[];
  return {
    name: profile.name,
    title: profile.title,
    settings: Object.fromEntries(names.map((setting) => [written(setting), profile.settings[setting]])),
    overridden: names.filter((setting) => applied[setting] !== profile.settings[setting]).map(written),
    why: profile.why,
  };
}

function abilitiesOf(
  { pairing }: Protocol,
  result: JsonObject,
  session: SessionFacts | null,
  services: BridgeServices,
): Ability[] {
  if (pairing === "passed-through") return nativeAbilities(result);
  return translatedAbilities({ result, optionsFrom: session?.opened ? session.optionsFrom : undefined, services });
}

function authMethod({ methodId, name, type, description }: JsonObject): AuthMethod {
  const id = asString(methodId) ?? "";
  return {
    id,
    name: asString(name) ?? id,
    type: asString(type) ?? "agent",
    description: asString(description) ?? null,
  };
}

/** The fields of a v1 `session/new` result that say what can be set. */
function optionsFrom(result: JsonObject): string[] {
  const has = (value: unknown) => (Array.isArray(value) ? value.length > 0 : isObject(value));
  return ["configOptions", "modes", "models"].filter((field) => has(result[field]));
}

/** A session as its client has it after its first updates. */
function sessionOf(result: JsonObject, updates: readonly JsonObject[]): SessionFacts {
  const last = (kind: string, field: string): unknown =>
    updates.findLast((update) => update["sessionUpdate"] === kind)?.[field] ?? result[field];
  return {
    ...NO_SESSION,
    opened: true,
    options: asArray(last("config_option_update", "configOptions")).map(asObject).map(sessionOption),
    commands: asArray(last("available_commands_update", "availableCommands"))
      .map(asObject)
      .map(({ name, description }) => ({ name: String(name), description: asString(description) ?? null })),
  };
}

function sessionOption({ configId, name, type, currentValue, options }: JsonObject): SessionOption {
  return {
    id: String(configId),
    name: asString(name) ?? String(configId),
    type: String(type),
    value: currentValue ?? null,
    values: asArray(options).map(asObject).flatMap(valuesOf),
  };
}

/** The value of a choice, or those of a group of choices. */
function valuesOf(choice: JsonObject): string[] {
  if (Array.isArray(choice["options"])) return choice["options"].map(asObject).flatMap(valuesOf);
  return typeof choice["value"] === "string" ? [choice["value"]] : [];
}

function since(from: number): number {
  return Math.round(performance.now() - from);
}

function shortened({ count, lines }: Lines): Lines {
  return { count, lines: lines.map((line) => (line.length > LINE_CHARS ? `${line.slice(0, LINE_CHARS)}…` : line)) };
}
