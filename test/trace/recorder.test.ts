// Guards what a record says of its frame (docs/trace.md): the text as it was, its length in bytes whatever its characters,
// and the next record whole, also after one whose secrets were replaced.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { openRecorder } from "../../src/trace/recorder.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

test("texts around every length at which there is one digit more", async () => {
  const folder = mkdtempSync(join(tmpdir(), "acp-shift-recorder-"));
  folders.push(folder);
  const path = join(folder, "trace.jsonl");
  const recorder = openRecorder({
    target: path,
    limit: 2 ** 28,
    redact: true,
    onFault: (_, error) => expect.fail(error.message),
  });
  recorder.begin({ agentCommand: ["agent"] });
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

  const records = readFileSync(path, "utf8")
    .trimEnd()
    .split("\n")
    .slice(1, -1)
    .map((line) => JSON.parse(line));
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
