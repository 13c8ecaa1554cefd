// What one would write instead: the official SDK's v2 agent and its v1 client, glued together. Only what the benchmark
// needs: no permissions, no held prompts, no cancel.
import { randomUUID } from "node:crypto";
import { Readable, Writable } from "node:stream";
import * as v1 from "@agentclientprotocol/sdk";
import * as v2 from "@agentclientprotocol/sdk/experimental/v2";
import { startAgent } from "./start-agent.mjs";

const limits = { maxMessageBytes: 256 * 1024 * 1024 };
const agentProcess = startAgent();
/** The id of the message each session is in the middle of. */
const messageIds = new Map();

let toClient;
const toAgent = v1
  .client({ name: "glue" })
  .onNotification(v1.methods.client.session.update, ({ params }) =>
    toClient.notify(v2.methods.client.session.update, {
      ...params,
      update: updateToV2(params.sessionId, params.update),
    }),
  )
  .connect(v1.ndJsonStream(Writable.toWeb(agentProcess.stdin), Readable.toWeb(agentProcess.stdout), limits)).agent;

function updateToV2(sessionId, update) {
  switch (update.sessionUpdate) {
    case "agent_message_chunk":
      return { ...update, messageId: update.messageId ?? messageIds.get(sessionId) };
    case "tool_call":
      return { ...update, sessionUpdate: "tool_call_update" };
    default:
      return update;
  }
}

const updateClient = (sessionId, update) => toClient.notify(v2.methods.client.session.update, { sessionId, update });

async function runTurn({ sessionId, prompt }, messageId) {
  messageIds.set(sessionId, randomUUID());
  await updateClient(sessionId, { sessionUpdate: "user_message", messageId, content: prompt });
  await updateClient(sessionId, { sessionUpdate: "state_update", state: "running" });
  const { stopReason } = await toAgent.request(v1.methods.agent.session.prompt, { sessionId, prompt });
  await updateClient(sessionId, { sessionUpdate: "state_update", state: "idle", stopReason });
}

v2.agent({ name: "glue" })
  .onRequest(v2.methods.agent.initialize, async () => {
    await toAgent.request(v1.methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
    return { protocolVersion: 2, info: { name: "glue", version: "0" }, capabilities: { session: {} } };
  })
  .onRequest(v2.methods.agent.session.new, ({ params }) =>
    toAgent.request(v1.methods.agent.session.new, { cwd: params.cwd, mcpServers: [] }),
  )
  .onRequest(v2.methods.agent.session.prompt, ({ params, client }) => {
    toClient = client;
    const messageId = randomUUID();
    runTurn(params, messageId);
    return { messageId };
  })
  .onRequest(v2.methods.agent.session.list, () => ({ sessions: [] }))
  .onRequest(v2.methods.agent.session.resume, () => ({}))
  .onRequest(v2.methods.agent.session.close, () => ({}))
  .onNotification(v2.methods.agent.session.cancel, ({ params }) =>
    toAgent.notify(v1.methods.agent.session.cancel, params),
  )
  .connect(v2.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin), limits));

process.stdin.on("end", () => agentProcess.stdin.end());
