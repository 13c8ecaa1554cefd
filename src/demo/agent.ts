/**
 * A small ACP v1 agent, for the demo: it speaks protocol version 1 and nothing else, over its own stdin and stdout.
 *
 * There is no model behind it and it touches no file: what it does in a turn is scripted (scripts.ts). To try it by
 * hand, give `node dist/demo/agent.js` to any v1 client.
 *
 * Environment: `ACP_DEMO_RECORD` names a file that every frame read or written is appended to, one JSON object per
 * line: `{at, direction, frame}`, `at` in nanoseconds of the machine's monotonic clock. `ACP_DEMO_OMIT` names one kind
 * of update that the agent then forgets to send, to see that the demo notices.
 */
import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { JSONRPCErrorException } from "json-rpc-2.0";
import { ErrorCode } from "../protocol/errors.ts";
import { asArray, asObject, asString } from "../protocol/json.ts";
import type {
  InitializeResponse,
  NewSessionResponse,
  PromptResponse,
  RequestPermissionRequest,
  SessionModeState,
  SessionNotification,
  SessionUpdate,
  SetSessionModeResponse,
} from "../protocol/v1.ts";
import { connect, type Tap } from "./peer.ts";
import { scriptFor, type Turn } from "./scripts.ts";

interface Session {
  readonly cwd: string;
  modeId: string;
  /** There while a prompt is worked on; `session/cancel` aborts it. */
  work?: AbortController;
}

/** Milliseconds until a turn's first update and between two of them: the speed of a quick model. */
const latency = 80;
const pace = 20;

const modes: SessionModeState = {
  currentModeId: "ask",
  availableModes: [
    { id: "ask", name: "Ask", description: "Answers questions, changes nothing" },
    { id: "code", name: "Code", description: "Changes files, after asking" },
  ],
};

const sessions = new Map<string, Session>();
const rpc = connect(process.stdin, process.stdout, recorder(process.env["ACP_DEMO_RECORD"]));

rpc.addMethod("initialize", (): InitializeResponse => {
  return {
    // Whatever version the client asked for, this is the one spoken here; the client decides whether it can.
    protocolVersion: 1,
    agentInfo: { name: "demo-agent", title: "Demo agent", version: "1.0.0" },
    agentCapabilities: {},
    authMethods: [],
  };
});

rpc.addMethod("session/new", (params: unknown): NewSessionResponse => {
  const cwd = asString(asObject(params)["cwd"]);
  if (cwd === undefined) throw new JSONRPCErrorException("cwd is missing", ErrorCode.invalidParams);
  const sessionId = randomUUID();
  sessions.set(sessionId, { cwd, modeId: modes.currentModeId });
  // The client learns of the session by the result, so an update about it has to wait until that is written.
  setImmediate(() =>
    update(sessionId, {
      sessionUpdate: "available_commands_update",
      availableCommands: [
        { name: "explain", description: "Explain a file", input: { hint: "path" } },
        { name: "test", description: "Run the tests" },
      ],
    }),
  );
  return { sessionId, modes };
});

rpc.addMethod("session/set_mode", (params: unknown): SetSessionModeResponse => {
  const { session } = sessionOf(params);
  const modeId = asString(asObject(params)["modeId"]);
  const mode = modes.availableModes.find(({ id }) => id === modeId);
  if (!mode) throw new JSONRPCErrorException(`No such mode: ${modeId}`, ErrorCode.invalidParams);
  session.modeId = mode.id;
  return {};
});

rpc.addMethod("session/prompt", async (params: unknown): Promise<PromptResponse> => {
  const { sessionId, session } = sessionOf(params);
  if (session.work) throw new JSONRPCErrorException("A prompt is being worked on", ErrorCode.invalidRequest);
  const work = new AbortController();
  session.work = work;
  try {
    await pause(latency, undefined, { signal: work.signal });
    await scriptFor(textOf(params))(turn(sessionId, session, work.signal));
    return { stopReason: "end_turn" };
  } catch (error) {
    if (work.signal.aborted) return { stopReason: "cancelled" };
    throw error;
  } finally {
    delete session.work;
  }
});

rpc.addMethod("session/cancel", (params: unknown): void => {
  sessionOf(params).session.work?.abort();
});

// Nobody is left to work for: with the turns broken off there is nothing to keep the process alive.
process.stdin.on("end", () => {
  for (const { work } of sessions.values()) work?.abort();
});
process.stdout.on("error", () => process.exit(1));

function sessionOf(params: unknown): { sessionId: string; session: Session } {
  const sessionId = asString(asObject(params)["sessionId"]) ?? "";
  const session = sessions.get(sessionId);
  if (!session) throw new JSONRPCErrorException(`No such session: ${sessionId}`, ErrorCode.resourceNotFound);
  return { sessionId, session };
}

function textOf(params: unknown): string {
  const blocks = asArray(asObject(params)["prompt"]);
  return blocks.map((block) => asString(asObject(block)["text"]) ?? "").join("\n");
}

function update(sessionId: string, update: SessionUpdate): void {
  if (update.sessionUpdate === process.env["ACP_DEMO_OMIT"]) return;
  const notification: SessionNotification = { sessionId, update };
  rpc.notify("session/update", notification);
}

function turn(sessionId: string, { cwd, modeId }: Session, signal: AbortSignal): Turn {
  const paced = async (change: SessionUpdate): Promise<void> => {
    await pause(pace, undefined, { signal });
    update(sessionId, change);
  };
  // No messageId: in v1 a message is the chunks that follow each other.
  const stream = async (sessionUpdate: "agent_message_chunk" | "agent_thought_chunk", text: string): Promise<void> => {
    for (const words of text.match(/(\S+\s*){1,3}/g) ?? []) {
      await paced({ sessionUpdate, content: { type: "text", text: words } });
    }
  };
  return {
    cwd,
    modeId,
    think: (text) => stream("agent_thought_chunk", text),
    say: (text) => stream("agent_message_chunk", text),
    update: paced,
    async allowed(toolCall) {
      const request: RequestPermissionRequest = {
        sessionId,
        toolCall,
        options: [
          { optionId: "allow", name: "Allow", kind: "allow_once" },
          { optionId: "reject", name: "Reject", kind: "reject_once" },
        ],
      };
      const response = asObject(await rpc.request("session/request_permission", request));
      signal.throwIfAborted();
      const outcome = asObject(response["outcome"]);
      return outcome["outcome"] === "selected" && outcome["optionId"] === "allow";
    },
  };
}

function recorder(file: string | undefined): Tap {
  if (file === undefined) return () => {};
  return (direction, frame) => {
    appendFileSync(file, `${JSON.stringify({ at: String(process.hrtime.bigint()), direction, frame })}\n`);
  };
}
