/**
 * A v1 agent that does next to nothing, for many at once. A prompt's text is a JSON order, {"chunks": N, "everyMs": M}: N text
 * chunks of 40 bytes, one every M ms, then the end of the turn.
 */
let rest = "";
process.stdin.setEncoding("utf8").on("data", (text) => {
  const lines = (rest + text).split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) receive(JSON.parse(line));
});
process.stdin.on("end", () => process.exit(0));

const print = (frame) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...frame })}\n`);
const content = { type: "text", text: "and so it goes on, word by word by word " };

function receive({ id, method, params }) {
  if (method === "initialize") print({ id, result: { protocolVersion: 1, agentCapabilities: {}, authMethods: [] } });
  else if (method === "session/new") print({ id, result: { sessionId: "s" } });
  else if (method === "session/prompt") stream(id, params.sessionId, JSON.parse(params.prompt[0].text));
  else if (id !== undefined) print({ id, error: { code: -32601, message: "Method not found" } });
}

function stream(id, sessionId, { chunks, everyMs }) {
  let sent = 0;
  const timer = setInterval(() => {
    print({
      method: "session/update",
      params: { sessionId, update: { sessionUpdate: "agent_message_chunk", content } },
    });
    if (++sent < chunks) return;
    clearInterval(timer);
    print({ id, result: { stopReason: "end_turn" } });
  }, everyMs);
}
