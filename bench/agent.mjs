/**
 * A v1 agent that costs as little as it can, so that what is measured is whatever stands in front of it: no SDK, no
 * validation, lines made once and repeated.
 *
 * A prompt's text is a JSON order:
 *   {"send": "chunks", "count": N, "bytes": B, "ids": bool}   N text chunks of B bytes; with ids, a new message every 200
 *   {"send": "paced", "count": N, "bytes": B, "every": MS}    the same, one at a time
 *   {"send": "numbered", "count": N, "bytes": B}              the same, each text beginning with its number
 *   {"send": "tools", "count": N}                             N frames of tool calls, three for each
 *   {"send": "nothing", "prepare": B}                         makes a tool result of B bytes ready
 *   {"send": "result"}                                        a tool call with that result
 * Prompts of several sessions are answered at the same time, one line of each in turn.
 */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setImmediate as nextTurn, setInterval } from "node:timers/promises";

const BATCH_CHARS = 64 * 1024;
const LINES_AT_ONCE = 200;

const line = (frame) => `${JSON.stringify({ jsonrpc: "2.0", ...frame })}\n`;
const updateLine = (sessionId, update) => line({ method: "session/update", params: { sessionId, update } });

const chunk = (text, messageId) => ({
  sessionUpdate: "agent_message_chunk",
  ...(messageId && { messageId }),
  content: { type: "text", text },
});

/** Text as agents send it: source code, with quotes and line breaks to be escaped. */
function sourceText(bytes) {
  const row = '  if (name === "session/update") return translate(update, { cwd, seen: true });\n';
  return row.repeat(Math.ceil(bytes / row.length)).slice(0, bytes);
}

/** For each kind of answer: a function (first line, how many) -> text. */
const answers = {
  chunks(sessionId, { bytes, ids }) {
    const text = sourceText(bytes);
    if (!ids) {
      const same = updateLine(sessionId, chunk(text));
      return (_first, lines) => same.repeat(lines);
    }
    return (first, lines) =>
      updateLine(sessionId, chunk(text, `message-${Math.floor(first / LINES_AT_ONCE)}`)).repeat(lines);
  },
  numbered:
    (sessionId, { bytes }) =>
    (first, lines) => {
      let text = "";
      for (let index = first; index < first + lines; index++)
        text += updateLine(sessionId, chunk(`${index} `.padEnd(bytes, ".")));
      return text;
    },
  tools: (sessionId) => (first, lines) => {
    let text = "";
    for (let index = first; index < first + lines; index++) text += updateLine(sessionId, toolUpdate(index));
    return text;
  },
  result: () => (first, lines) => prepared.slice(first, first + lines).join(""),
  nothing: () => () => "",
};

function toolUpdate(index) {
  const toolCallId = `tool-${Math.floor(index / 3)}`;
  const content = [{ type: "content", content: { type: "text", text: sourceText(200) } }];
  switch (index % 3) {
    case 0:
      return { sessionUpdate: "tool_call", toolCallId, title: "Read a file", kind: "read", status: "pending" };
    case 1:
      return { sessionUpdate: "tool_call_update", toolCallId, status: "in_progress", content };
    default:
      return { sessionUpdate: "tool_call_update", toolCallId, status: "completed", content };
  }
}

let prepared = [];

function prepareResult(sessionId, bytes) {
  const toolCallId = "large";
  const text = sourceText(bytes);
  prepared = [
    updateLine(sessionId, { sessionUpdate: "tool_call", toolCallId, title: "Read a large file", status: "pending" }),
    updateLine(sessionId, {
      sessionUpdate: "tool_call_update",
      toolCallId,
      status: "completed",
      content: [{ type: "content", content: { type: "text", text } }],
    }),
  ];
}

/** The prompts being answered: `{ id, next, sent, count }`. */
const open = new Set();
let pumping = false;

async function pump() {
  if (pumping) return;
  pumping = true;
  while (open.size > 0) {
    let batch = "";
    while (open.size > 0 && batch.length < BATCH_CHARS) {
      const share = open.size === 1 ? LINES_AT_ONCE : 1;
      for (const prompt of open) {
        const lines = Math.min(share, prompt.count - prompt.sent);
        batch += prompt.next(prompt.sent, lines);
        prompt.sent += lines;
        if (prompt.sent < prompt.count) continue;
        batch += line({ id: prompt.id, result: { stopReason: "end_turn" } });
        open.delete(prompt);
      }
    }
    if (!process.stdout.write(batch)) await once(process.stdout, "drain");
    else await nextTurn();
  }
  pumping = false;
}

/** One chunk after another, as a model speaks. */
async function pace(id, sessionId, { count, bytes, every }) {
  const said = updateLine(sessionId, chunk(sourceText(bytes)));
  for await (const _ of setInterval(every)) {
    process.stdout.write(said);
    if (--count <= 0) break;
  }
  process.stdout.write(line({ id, result: { stopReason: "end_turn" } }));
}

function prompted(id, { sessionId, prompt }) {
  const order = JSON.parse(prompt[0].text);
  if (order.prepare) prepareResult(sessionId, order.prepare);
  if (order.send === "paced") return pace(id, sessionId, order);
  const count = order.send === "result" ? prepared.length : (order.count ?? 0);
  open.add({ id, next: answers[order.send](sessionId, order), sent: 0, count });
  pump();
}

createInterface({ input: process.stdin })
  .on("line", (text) => {
    const { id, method, params } = JSON.parse(text);
    if (method === "initialize")
      process.stdout.write(line({ id, result: { protocolVersion: 1, agentCapabilities: {}, authMethods: [] } }));
    else if (method === "session/new") process.stdout.write(line({ id, result: { sessionId: randomUUID() } }));
    else if (method === "session/prompt") prompted(id, params);
    else if (id !== undefined && method !== undefined)
      process.stdout.write(line({ id, error: { code: -32601, message: `no method ${method}` } }));
  })
  .on("close", () => process.exit(0));
