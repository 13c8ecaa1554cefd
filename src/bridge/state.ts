/** What is remembered between frames, as plain data: the bridge, its sessions, turns and open requests. */
import type { ChunkPattern, SplicedFrame } from "../protocol/chunk-pattern.ts";
import type { RpcError } from "../protocol/errors.ts";
import type { ErrorFrame, RequestId, ResultFrame } from "../protocol/frames.ts";
import type { JsonObject } from "../protocol/json.ts";
import type { ProtocolSchema } from "../protocol/schema.ts";
import {
  type AgentOffers,
  type ClientAbilities,
  clientAbilities,
  type HostedServices,
} from "../translate/capabilities.ts";
import type { SessionConfig } from "../translate/config-options.ts";
import type { DiffMemo } from "../translate/diffs.ts";
import type { PathMap } from "../translate/path-map.ts";
import type { ShownTerminal } from "../translate/terminals.ts";
import type { DowngradedSession } from "./downgrade/state.ts";
import type { Effect, Event } from "./events.ts";
import type { HostedCall } from "./hosting.ts";
import { createMessages, type LedgerEntry, type Messages } from "./messages.ts";
import { createShown, type Shown } from "./shown.ts";

/** What a profile may change once the agent has said its name (docs/mapping.md §5, §9). */
export interface AgentBehaviour {
  /** Quiet time after a prompt's result before the session is reported idle, in ms. */
  settle: number;
  /** Quiet time after a load's result before its replay counts as over, in ms; never less than `settle`. */
  replaySettle: number;
  /** What to do with a whole message that repeats the one just streamed under another id. */
  restatedMessages: "keep" | "drop";
  /** Whether the agent needs a fresh process once it is logged in. */
  restartAfterLogin: boolean;
}

/** Everything the core is told when it is made; all times in ms. */
export interface BridgeOptions extends AgentBehaviour {
  /** The agent's command line, for messages to people. */
  agentCommand: readonly string[];
  agentProtocol: "auto" | "1" | "2";
  handshakeTimeout: number;
  acceptWindow: number;
  /** 0 = never give up on a cancelled prompt. */
  cancelTimeout: number;
  /** How many prompts of one session may wait for the running one. */
  promptQueue: number;
  /** Whether content that comes while no prompt runs is bracketed by `running` and `idle`. */
  unprompted: "pass" | "running";
  /** After how long a silence of a working agent the client gets a notice; 0 = never. */
  stallNotice: number;
  /** What the bridge does for the agent in the client's stead. */
  hosts: HostedServices;
  /** How the agent's paths differ from the client's; undefined when they do not. */
  paths: PathMap | undefined;
  /** Whether what is kept of sessions outlives this run. */
  remembers: boolean;
  /** How much is kept for a client that loses its connection and may come back, in UTF-16 units; 0 = nothing. */
  lingerLimit: number;
  /** Random text of this run: keeps minted ids from meeting those of another run. */
  runId: string;
  /** Wall-clock time, in ms since the epoch, at which `now` is 0. */
  timeOrigin: number;
  /** The behaviour for an agent of this name (`agentInfo.name`). */
  behaviourOf(agentName: string | undefined): AgentBehaviour;
  /** The schemas of the two protocol versions; called when they are first needed. */
  schemaV1(): ProtocolSchema;
  schemaV2(): ProtocolSchema;
  /** The end of what the agent wrote on stderr, for messages to people. */
  agentStderr(): string;
}

/** A request of the client's that has no answer yet. */
export interface ClientRequest {
  method: string;
  /** The session it is about, if it says so. */
  sessionId?: string | undefined;
  /** The id under which it was passed on to the agent, when it was. */
  agentId?: number;
}

/** A request of the bridge's to the agent that has no answer yet. */
export interface AgentCall {
  method: string;
  onAnswer(answer: ResultFrame | ErrorFrame): void;
}

/** A request of the bridge's to the client that has no answer yet: the agent's request, passed on. */
export interface ClientCall {
  method: string;
  params: unknown;
  /** The agent's own id. */
  agentId: RequestId | null;
  sessionId?: string | undefined;
  /** What the agent gets for an answer. */
  translate(answer: ResultFrame | ErrorFrame): ResultFrame | ErrorFrame;
  /** What the agent gets when the work it belongs to is cancelled; only for requests that wait for a person. */
  cancelled?: JsonObject;
  /** True once the agent has withdrawn it. */
  withdrawn?: true;
  /** True while the client, who is away, is to get it when it is back. */
  waits: boolean;
}

/** What a `state_update` tells of a session (schema v2 `StateUpdate`). */
export type SessionState = "idle" | "running" | "requires_action";

/** A `session/prompt` of the client's that has not been sent to the agent. */
export interface HeldPrompt {
  clientId: RequestId;
  content: JsonObject[];
  params: JsonObject;
}

/** How a turn ended, known once the agent answered its prompt. */
export type TurnEnding =
  | { outcome: "stopped"; fields: JsonObject }
  | { outcome: "cancelled"; fields: JsonObject }
  | { outcome: "failed"; error: JsonObject };

/** The prompt the agent is working on, from the moment it was sent until its idle. */
export interface Turn extends HeldPrompt {
  /** True once the client has its answer, the user message and `running`. */
  accepted: boolean;
  /** True once `session/cancel` was passed on for it. */
  cancelled: boolean;
  /** True once the agent sent content for it. */
  working: boolean;
  /** True while a v1 prompt is open at the agent (false while waiting to try a busy agent again). */
  open: boolean;
  attempts: number;
  /** The agent's last sign before the silence the client was told of. */
  stalledSince?: number;
  ending?: TurnEnding;
  /** When the agent answered the prompt. */
  answeredAt?: number;
}

/** What is remembered of a tool call: enough to patch, to end it, and to name it in a permission. */
export interface ToolCallRecord {
  status: string | undefined;
  /** True when the status is the bridge's, given at the end of a turn: any of the agent's goes before it. */
  guessed: boolean;
  title: string | undefined;
  /** True when the client did not allow it, and the agent has said nothing of its status since. */
  refused?: boolean;
  /** The display terminal it shows. */
  terminal?: ShownTerminal | undefined;
  /** True when its diffs are of fragments of files. */
  fragments?: boolean;
}

/** One session, as the bridge follows it. */
export interface Session {
  id: string;
  cwd: string;
  additionalDirectories: string[];
  /** What the client was told last. */
  state: SessionState;
  turn: Turn | undefined;
  held: HeldPrompt[];
  messages: Messages;
  toolCalls: Map<string, ToolCallRecord>;
  /** Terminals the client has been told of. */
  terminals: Set<string>;
  config: SessionConfig;
  /** Diffs of the running turn, so that a repeated one is not worked out again. */
  diffs: DiffMemo;
  planId: string;
  /** True while work nobody asked for is shown as `running`. */
  unprompted: boolean;
  /** When the agent last sent something for this session. */
  lastSign: number;
  /** Set while the agent's answers to a resume or load are being read (docs/mapping.md §4). */
  restoring: Restoring | undefined;
  /** Set while a close or delete waits for the running turn to end. */
  closing: (() => void) | undefined;
  /** The number of the client's connection over which the session was opened or resumed last. */
  connection: number;
  /** True while that is not the present one: what the client is to be told is kept. */
  away: boolean;
  /** What the client was shown lately; only where it may come back. */
  shown: Shown | undefined;
  /** A resume over the present connection that waits for one over a connection that was lost. */
  resumesNext: { clientId: RequestId; params: JsonObject } | undefined;
}

/** What to do with history the agent sends while a session is restored. */
export interface Restoring {
  replay: "swallow" | "translate";
  swallowed: number;
  /** Tool calls the replay has come to, known to the client from before or not. */
  toolCalls: Set<string>;
  /** Plans that came in the middle of a message, to follow it; each with the params it came in. */
  plans: [update: JsonObject, params: JsonObject][];
  /** When the agent answered. */
  answeredAt?: number;
  /** Called once the agent has been quiet for the settle window after its result. */
  onQuiet?: () => void;
}

/** What the bridge knows of a session for `session/list`, also after it was closed. */
export interface IndexEntry {
  sessionId: string;
  cwd: string;
  additionalDirectories?: unknown;
  title?: string;
  /** As it was told, or the bridge's own time in ms, of which nobody has asked for the text yet. */
  updatedAt: string | number;
}

/** What the client gets round the text of a chunk; nothing where its frame has to be made. */
export interface SplicedChunk {
  /** The id under which chunks of the pattern are sent now, and what that makes of them. */
  messageId: string | undefined;
  frame: SplicedFrame | undefined;
  frameUnder: ((messageId: string) => SplicedFrame) | undefined;
}

/** How far the connection has come; in `over` nothing has an effect any more. */
export type Phase = "new" | "initializing" | "ready" | "over";

/** The whole state of the core. */
export interface Bridge {
  readonly options: BridgeOptions;
  behaviour: AgentBehaviour;
  now: number;
  effects: Effect[];
  phase: Phase;
  /** How the two sides were paired; undefined until both have agreed. */
  pairing: "upgrade" | "downgrade" | "pass-through" | undefined;
  /** The result that answered the first `initialize`, for a repeated one. */
  initializeResult: unknown;
  /** What the agent calls itself, else the name of its command. */
  agentName: string;
  hostedCalls: Map<number, HostedCall>;
  nextHostedCall: number;
  recalls: Map<number, (value: unknown) => void>;
  nextRecall: number;
  /** True once the client has sent a request other than `initialize`. */
  otherRequestSeen: boolean;
  clientCapabilities: JsonObject;
  /** What a v1 client said it can show. */
  abilities: ClientAbilities;
  offers: AgentOffers | undefined;
  clientRequests: Map<RequestId, ClientRequest>;
  agentCalls: Map<number, AgentCall>;
  clientCalls: Map<number, ClientCall>;
  nextAgentId: number;
  nextClientId: number;
  nextMessage: number;
  sessions: Map<string, Session>;
  /** What became of the last chunk of each pattern. */
  spliced: WeakMap<ChunkPattern, SplicedChunk>;
  /** The sessions of the downgrade pairing. */
  downgraded: Map<string, DowngradedSession>;
  index: Map<string, IndexEntry>;
  /** The message ledgers of closed sessions: when one is resumed, its messages keep their ids. */
  ledgers: Map<string, LedgerEntry[]>;
  /** How many requests that will create a session are open; while there are any, updates of unknown sessions wait. */
  sessionsOpening: number;
  /** Updates that came before the result naming their session. */
  early: Map<string, JsonObject[]>;
  /** What the agent was told by `initialize`, to tell it again after a restart. */
  initializeParams: unknown;
  /** What the agent said to `initialize` while it is asked once more, in another version. */
  refusal: RpcError | undefined;
  /** Set while the agent is started afresh: called when it is there again. */
  restarting: (() => void) | undefined;
  /** Set when the agent is gone. */
  agentExit: Omit<Event & { type: "agent-exit" }, "type"> | undefined;
  clientLeft: boolean;
  /** How many connections the client has lost: the number of the present one. */
  connection: number;
  /** True from the loss of a connection until the client is back. */
  clientAway: boolean;
  /** Notifications of no session that came meanwhile. */
  missed: Shown;
  /** Set when the client's next frame asks for what another bridge has: why it cannot have it. */
  elsewhere: string | undefined;
  /** True when the client asked for protocol version 1. */
  clientAsksV1: boolean;
  /** What the client sent while the agent could not take it: a v1 client's haste, or a restart. */
  pipelined: { id: RequestId; event: Event }[];
}

/** A new core, before the first event. */
export function createBridge(options: BridgeOptions): Bridge {
  return {
    options,
    behaviour: options,
    now: 0,
    effects: [],
    phase: "new",
    pairing: undefined,
    initializeResult: undefined,
    agentName: "agent",
    hostedCalls: new Map(),
    nextHostedCall: 1,
    recalls: new Map(),
    nextRecall: 1,
    otherRequestSeen: false,
    clientCapabilities: {},
    abilities: clientAbilities({}),
    offers: undefined,
    clientRequests: new Map(),
    agentCalls: new Map(),
    clientCalls: new Map(),
    nextAgentId: 1,
    nextClientId: 1,
    nextMessage: 1,
    sessions: new Map(),
    spliced: new WeakMap(),
    downgraded: new Map(),
    index: new Map(),
    ledgers: new Map(),
    sessionsOpening: 0,
    early: new Map(),
    initializeParams: undefined,
    refusal: undefined,
    restarting: undefined,
    agentExit: undefined,
    clientLeft: false,
    connection: 0,
    clientAway: false,
    missed: createShown(),
    elsewhere: undefined,
    clientAsksV1: false,
    pipelined: [],
  };
}

/** A session with nothing in it yet. */
export function createSession(id: string, cwd: string, config: SessionConfig): Session {
  return {
    id,
    cwd,
    additionalDirectories: [],
    state: "idle",
    turn: undefined,
    held: [],
    messages: createMessages(),
    toolCalls: new Map(),
    terminals: new Set(),
    config,
    diffs: new Map(),
    planId: "plan",
    unprompted: false,
    lastSign: 0,
    restoring: undefined,
    closing: undefined,
    connection: 0,
    away: false,
    shown: undefined,
    resumesNext: undefined,
  };
}
