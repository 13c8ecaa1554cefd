// Guards what a record says of its frame (docs/trace.md): the text as it was, its length in bytes whatever its characters,
// and the next record whole, also after one whose secrets were replaced. Guards that what is recorded later, together with
// others, is told as it passed: in its order, due to what made it happen, at its time.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, expect, test } from "vitest";
import { loggerOf } from "../../src/logging.ts";
import { type ChunkLine, patternOf, takeApart } from "../../src/protocol/chunk-pattern.ts";
import { openRecorder } from "../../src/trace/recorder.ts";
import { agentText } from "../support/dialogue.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function openIn(redact: boolean) {
  const folder = mkdtempSync(join(tmpdir(), "acp-shift-recorder-"));
  folders.push(folder);
  const path = join(folder, "trace.jsonl");
  const onFault = (_: string, error: Error) => expect.fail(error.message);
  const recorder = openRecorder({ target: path, limit: 2 ** 28, redact, onFault });
  recorder.begin({ agentCommand: ["agent"] });
  /** All records but the first and the last. */
  const records = () =>
    readFileSync(path, "utf8")
      .trimEnd()
      .split("\n")
      .slice(1, -1)
      .map((line) => JSON.parse(line));
  return { recorder, records };
}

test("texts around every length at which there is one digit more", async () => {
  const { recorder, records: recorded } = openIn(true);
  const sizes = [20, 99, 100, 333, 334, 500, 997, 998, 999, 1000, 9_998, 30_000, 99_990, 100_000, 400_000];
  const texts = sizes.flatMap((size) =>
    ["x", "é", "漢", "😀", "token=abcdefgh "].flatMap((sign) =>
      [size, size - 40, size - 60].map((count) => ({ sign, count })),
    ),
  );
  const frames = texts.map(({ sign, count }) => ({
    jsonrpc: "2.0",
    method: "x",
    params: { sessionId: "s", text: sign.repeat(Math.max(1, Math.floor(count / sign.length))) },
  }));
  for (const frame of frames) {
    const text = JSON.stringify(frame);
    recorder.event({ type: "frame", from: "agent", value: frame, line: Buffer.from(text) }, recorder.now());
    recorder.sent("client", frame, text);
    recorder.settled();
  }
  await recorder.end(0);

  const records = recorded();
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_, index) => index + 1));
  expect(records.length).toBe(2 * frames.length);
  records.forEach((record, index) => {
    const text = JSON.stringify(frames[Math.floor(index / 2)]);
    const isRedacted = text.includes("token=");
    expect(record).toMatchObject({ bytes: Buffer.byteLength(text), leg: index % 2 ? "bridge-client" : "agent-bridge" });
    expect(record.redacted).toBe(isRedacted || undefined);
    expect(JSON.stringify(record.frame)).toBe(isRedacted ? text.replaceAll("=abcdefgh", "=[redacted]") : text);
  });
});

/** What differs between a chunk that was parsed and one whose pattern was known: when, and the note of a new message. */
const bare = ({ time: _, mono: __, ...record }: Record<string, unknown>) => record;

test.each([true, false])(
  "chunks whose pattern is known are recorded as those that are parsed (redact: %s)",
  async (redact) => {
    const texts = [
      "a",
      "b",
      "plain",
      'a "quote"\n',
      "é漢😀",
      "",
      "sk-",
      "ant-api03-abcdefghijklmnopqrstuvwxyz012345",
      "token=abcdefgh",
      "x@y",
    ];
    const whole = (text: string) => agentText(text, "m1", "s");
    const parsed = openIn(redact);
    for (const text of texts) {
      const line = JSON.stringify(agentText(text, undefined, "s"));
      const event = { type: "frame", from: "agent", value: JSON.parse(line), line: Buffer.from(line) } as const;
      parsed.recorder.event(event, parsed.recorder.now());
      parsed.recorder.sent("client", whole(text), JSON.stringify(whole(text)));
      parsed.recorder.settled();
    }
    const known = openIn(redact);
    const pattern = patternOf(
      Buffer.from(JSON.stringify(agentText("", undefined, "s"))),
      agentText("", undefined, "s"),
    );
    const frame = takeApart((id) => agentText("", id, "s"))?.("m1");
    if (pattern === undefined || frame === undefined) return expect.unreachable();
    // The reader of chunks has one of them, which holds until the next.
    const chunk: ChunkLine = {
      pattern,
      source: Buffer.of(),
      start: 0,
      end: 0,
      textStart: 0,
      textEnd: 0,
      simple: false,
    };
    for (const text of texts) {
      const source = Buffer.from(JSON.stringify(agentText(text, undefined, "s")));
      const textEnd = source.length - pattern.after.length;
      Object.assign(chunk, { source, end: source.length, textStart: pattern.before.length, textEnd });
      known.recorder.event({ type: "chunk", chunk }, known.recorder.now());
      known.recorder.spliced("client", chunk, frame);
      known.recorder.settled();
    }
    await Promise.all([parsed.recorder.end(0), known.recorder.end(0)]);
    expect(known.records().map(bare)).toEqual(parsed.records().map(bare));
    expect(known.records().some(({ redacted }) => redacted)).toBe(redact);
    expect(known.records().filter(({ type }) => type === "note").length).toBe(1);
  },
);

test("a frame sent on in the bytes it came in: no secret is left in either record, and nothing is said to be made", async () => {
  const { recorder, records } = openIn(true);
  const frame = (text: string, messageId?: string) => agentText(text, messageId, "s");
  const pass = (text: string, toText = text, messageId?: string) => {
    const line = Buffer.from(JSON.stringify(frame(text)));
    recorder.event({ type: "frame", from: "agent", value: frame(text), line }, recorder.now());
    const sent = frame(toText, messageId);
    recorder.sent("client", sent, JSON.stringify(sent));
    recorder.settled();
  };
  pass("plain");
  pass("token=abcdefgh");
  pass("as long as a secret", "token=abcdefgh12345");
  pass("a tokenised harmless text");
  pass("plain", "plain", "made");
  await recorder.end(0);

  const texts = records().map(({ frame, event }) => event ?? frame.params.update.content.text);
  expect(texts).toEqual([
    ...["plain", "plain"],
    ...["token=[redacted]", "token=[redacted]"],
    ...["as long as a secret", "token=[redacted]"],
    ...["a tokenised harmless text", "a tokenised harmless text"],
    ...["plain", "plain", "message-id-made"],
  ]);
});

test("what is rare stands where it passed, due to what it is due to", async () => {
  const { recorder, records } = openIn(true);
  const log = recorder.listening(loggerOf(() => () => {}));
  const frame = (text: string) => agentText(text, "m1", "s");
  const pass = (text: string, meanwhile?: () => void) => {
    const line = Buffer.from(JSON.stringify(frame(text)));
    recorder.event({ type: "frame", from: "agent", value: frame(text), line }, recorder.now());
    meanwhile?.();
    recorder.sent("client", frame(text), JSON.stringify(frame(text)));
    recorder.settled();
  };
  pass("a");
  recorder.stderr("between");
  pass("b", () => log.info("noticed"));
  pass("c");
  recorder.event({ type: "timer", name: "t" }, recorder.now());
  recorder.sent("client", frame("d"), JSON.stringify(frame("d")));
  recorder.settled();
  log.info("later");
  const source = recorder.untidy(Buffer.from("x {} y"));
  recorder.event({ type: "frame", from: "agent", value: frame("e"), line: Buffer.from("{}") }, recorder.now(), source);
  recorder.settled();
  await recorder.end(0);

  const told = records();
  expect(told.map(({ seq }) => seq)).toEqual(told.map((_, index) => index + 1));
  expect(told.map(({ mono }) => mono)).toEqual(told.map(({ mono }) => mono).toSorted((a, b) => a - b));
  expect(told.map(({ type, cause, leg, event }) => `${cause ?? "-"} ${leg ?? event ?? type}`)).toEqual([
    ...["- agent-bridge", "1 bridge-client", "- stderr"],
    ...["- agent-bridge", "4 noticed", "4 bridge-client"],
    ...["- agent-bridge", "7 bridge-client"],
    ...["- timer", "9 bridge-client", "- later"],
    ...["- agent-bridge", "12 agent-bridge"],
  ]);
});

test("what passed is written in a while, with nothing more to record", async () => {
  const { recorder, records } = openIn(true);
  const line = Buffer.from(JSON.stringify(agentText("a", "m1", "s")));
  recorder.event({ type: "frame", from: "agent", value: agentText("a", "m1", "s"), line }, recorder.now());
  recorder.forwarded("client", line);
  recorder.settled();
  // Until the run has ended the last record written is left out.
  await expect.poll(() => records().length, { timeout: 10_000 }).toBe(1);
  await recorder.end(0);
  expect(records().map(({ frame }) => frame)).toEqual([agentText("a", "m1", "s"), agentText("a", "m1", "s")]);
});

test("a large frame is let go once it is recorded", async () => {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const { recorder } = openIn(true);
  const pass = () => {
    const value = agentText("x".repeat(100_000), "m1", "s");
    recorder.event({ type: "frame", from: "agent", value, line: Buffer.from(JSON.stringify(value)) }, recorder.now());
    recorder.sent("client", value, JSON.stringify(value));
    recorder.settled();
    return new WeakRef(value);
  };
  const passed = pass();
  await new Promise(setImmediate);
  collect();
  expect(passed.deref()).toBeUndefined();
  await recorder.end(0);
});
