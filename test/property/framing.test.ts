// Guards docs/mapping.md §12: a conversation gives exactly the same frames however its bytes are cut, one at a time too,
// and whatever an agent writes between its frames. ACP_SHIFT_PROPERTY_RUNS sets how many ways are tried.
import assert from "node:assert/strict";
import fc from "fast-check";
import { describe, test } from "vitest";
import { step } from "../../src/bridge/bridge.ts";
import type { Event, Side } from "../../src/bridge/events.ts";
import { type Bridge, createBridge } from "../../src/bridge/state.ts";
import type { Frame } from "../../src/protocol/frames.ts";
import { decodeAgentLine, decodeClientLine } from "../../src/transport/decode.ts";
import { createLineSplitter, type Line } from "../../src/transport/lines.ts";
import { agentHello, clientHello, reply, request, testOptions, text, update } from "../support/dialogue.ts";

const runs = Number(process.env["ACP_SHIFT_PROPERTY_RUNS"] ?? 200);

/** One frame, and how it is written down: what stands before it on its line or on lines before it, and what ends it. */
interface Written {
  from: Side;
  frame: unknown;
  before: string;
  end: string;
}

/** What an agent may write where no frame is: banners, log lines, scalars, blanks, terminal control. */
const junk = fc.constantFrom(
  "",
  "",
  "Starting up…\n",
  '"ready"\n42\n',
  "[20:18:05] {not json}\r\n",
  '{"level":"info","id":1}\n',
  "\n \r\n\t\n",
  "\x1b]0;title\x07\x1b[?2004h",
  "\x1b[0m\x1b[?25l",
  "\u{feff}",
);
/** What may end a frame. A frame may also follow another at once, on one line. */
const agentEnds = fc.constantFrom("\n", "\n", "\r\n", "\n\n", "");
const clientEnds = fc.constantFrom("\n", "\r\n", "\n\n");

const words = fc.string({ unit: "grapheme", maxLength: 30 });

/** A conversation with all sorts of characters in it, one frame at a time. */
const conversations = fc
  .tuple(words, fc.array(words, { minLength: 1, maxLength: 8 }))
  .map(([prompt, said]): [Side, unknown][] => [
    ["client", request(0, "initialize", clientHello)],
    ["agent", reply(1, agentHello)],
    ["client", request("新", "session/new", { cwd: "/work" })],
    ["agent", reply(2, { sessionId: "s1" })],
    ["client", request(1, "session/prompt", { sessionId: "s1", prompt: [text(prompt)] })],
    ...said.map((one): [Side, unknown] => [
      "agent",
      update("s1", { sessionUpdate: "agent_message_chunk", content: text(one) }),
    ]),
    [
      "agent",
      request(0, "session/request_permission", {
        sessionId: "s1",
        toolCall: { toolCallId: "t", title: prompt },
        options: [{ optionId: "yes", name: "✓", kind: "allow_once" }],
      }),
    ],
    ["client", reply(1, { outcome: { outcome: "selected", optionId: "yes" } })],
    ["agent", reply(3, { stopReason: "end_turn", _meta: { said } })],
    ["client", request(2, "session/list", {})],
    ["agent", reply("4", { sessions: [] })],
  ]);

const written = conversations.chain((frames) =>
  fc.tuple(
    ...frames.map(([from, frame], index) =>
      fc.record({
        from: fc.constant(from),
        frame: fc.constant(frame),
        before: from === "agent" ? junk : fc.constantFrom("", "\n", "\r\n"),
        // The other side answers only what it has got: a frame that is followed by the other side's ends its line.
        end: from === "agent" ? (frames[index + 1]?.[0] === "agent" ? agentEnds : fc.constant("\n")) : clientEnds,
      }),
    ),
  ),
) as fc.Arbitrary<Written[]>;

/** Where the bytes of one side's turn to speak are cut: after so many bytes each, over and over. */
const cuts = fc.oneof(
  fc.constant([1]),
  fc.constant([Number.POSITIVE_INFINITY]),
  fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 20 }),
);

describe("the bytes of a conversation", () => {
  test("give the same frames however they are cut", () => {
    fc.assert(
      fc.property(written, cuts, (conversation, sizes) => {
        assert.deepEqual(overBytes(conversation, sizes), frameByFrame(conversation));
      }),
      { numRuns: runs },
    );
  });
});

type Sent = [Side, Frame];

function newCore(): { bridge: Bridge; give: (event: Event) => void; sent: Sent[] } {
  const bridge = createBridge({ ...testOptions, acceptWindow: 0 });
  const sent: Sent[] = [];
  const give = (event: Event) => {
    for (const effect of step(bridge, event, 0)) if (effect.type === "send") sent.push([effect.to, effect.frame]);
  };
  return { bridge, give, sent };
}

/** The frames the core sends when it is given each frame as a value. */
function frameByFrame(conversation: Written[]): Sent[] {
  const { give, sent } = newCore();
  for (const { from, frame } of conversation) {
    const json = JSON.stringify(frame);
    give({ type: "frame", from, value: JSON.parse(json), line: new TextEncoder().encode(json) });
  }
  return sent;
}

/** The frames the core sends when both sides' bytes come in pieces of these sizes. */
function overBytes(conversation: Written[], sizes: readonly number[]): Sent[] {
  const { give, sent } = newCore();
  const splitters = { client: createLineSplitter(1 << 20), agent: createLineSplitter(1 << 20) };
  const read = (from: Side, lines: Line[]) => {
    for (const line of lines) {
      if ("oversized" in line) throw new Error("no line is that long");
      for (const event of from === "client" ? clientEvents(line.bytes) : agentEvents(line.bytes)) give(event);
    }
  };
  for (const { from, bytes } of turnsToSpeak(conversation)) {
    let at = 0;
    for (let piece = 0; at < bytes.length; piece++) {
      const size = sizes[piece % sizes.length] ?? 1;
      read(from, splitters[from].push(bytes.subarray(at, at + size)));
      at += size;
    }
  }
  return sent;
}

function clientEvents(bytes: Buffer): Event[] {
  const decoded = decodeClientLine(bytes);
  if ("fault" in decoded) return [{ type: "not-json", line: bytes }];
  return [{ type: "frame", from: "client", value: decoded.value, line: bytes }];
}

function agentEvents(bytes: Buffer): Event[] {
  return decodeAgentLine(bytes).frames.map(({ value, line }) => ({ type: "frame", from: "agent", value, line }));
}

/** What each side writes until the other has its say, as bytes. */
function turnsToSpeak(conversation: Written[]): { from: Side; bytes: Buffer }[] {
  const turns: { from: Side; text: string }[] = [];
  for (const { from, frame, before, end } of conversation) {
    const text = `${before}${JSON.stringify(frame)}${end}`;
    const last = turns.at(-1);
    if (last?.from === from) last.text += text;
    else turns.push({ from, text });
  }
  return turns.map(({ from, text }) => ({ from, bytes: Buffer.from(text) }));
}
