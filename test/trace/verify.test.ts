// Guards docs/trace.md, "Verify": what was recorded of the core gives the same again, and whatever differs is found where it is.
import { describe, expect, test } from "vitest";
import type { Event } from "../../src/bridge/events.ts";
import type { Header, TraceRecord } from "../../src/trace/format.ts";
import { createVerifier, type Difference, type Verified } from "../../src/trace/verify.ts";
import {
  agentHello,
  clientHello,
  createDialogue,
  reply,
  request,
  testOptions,
  text,
  update,
} from "../support/dialogue.ts";
import { header } from "../support/recorded.ts";

/** A core at work whose events and frames are recorded as `--trace` does. */
function createRecorded() {
  const dialogue = createDialogue({ agentStderr: () => "last words\nnoise!" });
  const records: TraceRecord[] = [header];
  const add = (fields: object, mono = dialogue.now) => {
    const seq = records.length;
    const time = new Date(Date.parse(header.started) + mono).toISOString();
    records.push({ ...fields, seq, time, mono } as unknown as TraceRecord);
    return seq;
  };
  const frame = (leg: string, value: unknown, cause?: number) =>
    add({ type: "frame", leg, kind: "invalid", bytes: 0, frame: value, ...(cause !== undefined && { cause }) });
  function take(event: Event): void {
    const { type, ...details } = event;
    const cause =
      event.type === "frame"
        ? frame(event.from === "client" ? "client-bridge" : "agent-bridge", event.value)
        : event.type === "not-json"
          ? add({
              type: "bytes",
              leg: "client-bridge",
              bytes: event.line.length,
              text: Buffer.from(event.line).toString(),
            })
          : event.type === "oversized"
            ? add({
                type: "bytes",
                leg: `${event.from}-bridge`,
                bytes: event.bytes,
                text: event.head,
                tail: event.tail,
                truncated: true,
              })
            : add({ type: "event", event: type, details });
    for (const [to, sent] of dialogue.event(event).sent)
      frame(to === "client" ? "bridge-client" : "bridge-agent", sent, cause);
  }
  const said = (from: "client" | "agent") => (value: unknown) =>
    take({ type: "frame", from, value, line: Buffer.from(JSON.stringify(value)) });
  return {
    records,
    add,
    take,
    client: said("client"),
    agent: said("agent"),
    wait(ms: number) {
      dialogue.now += ms;
    },
  };
}

/** A turn with a timer, a permission and an exit; the bytes of both peers that were no frame. */
function conversation(): TraceRecord[] {
  const { records, add, take, client, agent, wait } = createRecorded();
  client(request("init", "initialize", clientHello));
  wait(3.25);
  agent(reply(1, agentHello));
  client(request("new", "session/new", { cwd: "/work" }));
  agent(reply(2, { sessionId: "s1" }));
  take({ type: "not-json", line: Buffer.from("{oops") });
  client(request("p", "session/prompt", { sessionId: "s1", prompt: [text("hello")] }));
  wait(50.125);
  take({ type: "timer", name: "accept s1" });
  add({ type: "bytes", leg: "agent-bridge", bytes: 6, text: "noise!" });
  add({ type: "stderr", text: "last words" });
  agent(update("s1", { sessionUpdate: "agent_message_chunk", content: text("a token=abcdefgh") }));
  take({
    type: "oversized",
    from: "agent",
    bytes: 999,
    head: '{"jsonrpc":"2.0","id":7,"method":"fs/x","params":{"a":"',
    tail: '"}}',
  });
  take({ type: "agent-exit", code: 3, signal: null });
  return records;
}

function verify(records: readonly TraceRecord[], mark?: string): { found: Difference[]; verified: Verified } {
  const used: Header = mark === undefined ? header : { ...header, redaction: { on: true, replaced: [], mark } };
  const verifier = createVerifier(used, testOptions, {
    schemaV1: testOptions.schemaV1,
    schemaV2: testOptions.schemaV2,
    behaviourOf: () => testOptions,
    noiseOf: (line) => [Buffer.from(line).toString()],
  });
  const found = records.flatMap((record) => verifier.take(record));
  return { found: [...found, ...verifier.end()], verified: verifier.verified };
}

/** The records with the frames that pass the test changed. */
function changed(match: (text: string) => boolean, change: (text: string) => string): TraceRecord[] {
  return conversation().map((record) => {
    const written = JSON.stringify(record);
    return record.type === "frame" && match(written) ? JSON.parse(change(written)) : record;
  });
}

describe("verify", () => {
  test("what was recorded gives the same again; stderr and noise count as the agent's last words", () => {
    const records = conversation();
    const { found, verified } = verify(records);
    expect(found).toEqual([]);
    expect(verified.frames).toBeGreaterThan(8);
    expect(verified.events).toBe(10);
    // What the client was told when the agent died.
    expect(JSON.stringify(records)).toMatch(/"exitCode":3/);
  });

  test("a frame that is another now: its record, its leg, and where", () => {
    const isChunk = (text: string) => text.includes('"bridge-client"') && text.includes("agent_message_chunk");
    const { found } = verify(changed(isChunk, (text) => text.replace('"m_run_2"', '"m_run_9"')));
    expect(found).toMatchObject([
      {
        what: "changed",
        leg: "bridge-client",
        places: [{ pointer: "/params/update/messageId", expected: "m_run_9", actual: "m_run_2" }],
      },
    ]);
  });

  test("a frame less and a frame more", () => {
    const records = conversation();
    const index = records.findIndex((record) => JSON.stringify(record).includes('"state":"running"'));
    const [record] = records.slice(index, index + 1);
    const note = { ...record, type: "note", what: "other", event: "x" } as unknown as TraceRecord;
    expect(verify(records.with(index, note)).found).toMatchObject([
      { what: "extra", leg: "bridge-client", method: "session/update" },
    ]);
    const twice = [...records.slice(0, index + 1), ...records.slice(index)].map((one, seq) =>
      one.type === "header"
        ? one
        : {
            ...one,
            seq,
            cause: "cause" in one && one.cause !== undefined && one.cause > index ? one.cause + 1 : one.cause,
          },
    ) as TraceRecord[];
    expect(verify(twice).found).toMatchObject([{ what: "missing", leg: "bridge-client" }]);
  });

  test("a redacted trace: the mark may stand for anything, and nothing else may", () => {
    const isInput = (text: string) => text.includes('"agent-bridge"') && text.includes("token=");
    const redact = (text: string) => text.replace("abcdefgh", "[redacted]");
    const redacted = changed((text) => text.includes("token="), redact);
    expect(verify(redacted, "[redacted]").found).toEqual([]);
    expect(verify(changed(isInput, redact), "[redacted]").found).toEqual([]);
    expect(verify(changed(isInput, redact)).found).toHaveLength(1);
    expect(
      verify(
        changed(isInput, (text) => text.replace("abcdefgh", "[redacted]?")),
        "[redacted]",
      ).found,
    ).toHaveLength(1);
  });

  test("after a gap nothing is verified, and it says so", () => {
    const records = conversation();
    const { found, verified } = verify([...records.slice(0, 5), ...records.slice(6)]);
    expect(found).toEqual([]);
    expect(verified.incomplete).toEqual({ after: 4, reason: "records 5 to 5 are missing" });
  });
});
