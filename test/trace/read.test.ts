// Guards the reading of a trace (docs/trace.md): parts in order, a torn end and broken lines told and passed over, a
// growing file followed to its end, and a plain word for what is no trace.
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { UsageError } from "../../src/config/usage-error.ts";
import type {
  DroppedRecord,
  EndRecord,
  FrameRecord,
  Header,
  StderrRecord,
  TraceRecord,
} from "../../src/trace/format.ts";
import { type Problem, readTrace } from "../../src/trace/read.ts";
import { createRecorder, header, traceFile } from "../support/recorded.ts";

function sample(): TraceRecord[] {
  const recorder = createRecorder();
  recorder.frame("client-bridge", { jsonrpc: "2.0", id: 1, method: "_x", params: { text: "é\u2028 line\r\n" } });
  recorder.add({ type: "stderr", text: "hello" });
  return recorder.end();
}

async function read(...files: string[]): Promise<{ records: TraceRecord[]; problems: Problem[] }> {
  const problems: Problem[] = [];
  const records: TraceRecord[] = [];
  for await (const record of readTrace(files, { report: (problem) => problems.push(problem) })) records.push(record);
  return { records, problems };
}

const lines = (records: readonly unknown[]) => records.map((record) => `${JSON.stringify(record)}\n`).join("");

test("the records of a file, in order, unchanged", async () => {
  expect(await read(traceFile(sample()))).toEqual({ records: sample(), problems: [] });
});

test("parts in any order of names", async () => {
  const [first, ...rest] = sample();
  const file = traceFile([first, rest[0]], "b");
  const second = join(dirname(file), "a");
  writeFileSync(second, lines([{ ...header, part: 2 }, ...rest.slice(1)]));
  const { records } = await read(second, file);
  expect(records).toEqual([first, rest[0], { ...header, part: 2 }, ...rest.slice(1)]);
});

test("the later parts beside a file", async () => {
  const [first, ...rest] = sample();
  const file = traceFile([first, rest[0]]);
  const second = { ...header, part: 2 };
  writeFileSync(join(dirname(file), "trace.2.jsonl"), lines([second, ...rest.slice(1)]));
  writeFileSync(join(dirname(file), "trace.old.jsonl"), "");
  expect((await read(file)).records).toEqual([first, rest[0], second, ...rest.slice(1)]);
});

/** What stands for records that are not there, before this one. */
const missingBefore = ({ seq, time, mono }: Exclude<TraceRecord, Header>, records: number) => ({
  ...{ type: "dropped", seq: seq - 1, time, mono, records, bytes: 0 },
  reason: "they are not in what was read",
});

test("what is not there, because a part is gone or a line cannot be read, is told in its place, once", async () => {
  const [first, ...rest] = sample() as [Header, ...Exclude<TraceRecord, Header>[]];
  const [frame, stderr, end] = rest as [FrameRecord, StderrRecord, EndRecord];
  const file = traceFile([{ ...first, part: 4 }, { ...frame, seq: 7 }, "?", { ...stderr, seq: 9 }], "trace.4.jsonl");
  const lost: DroppedRecord = {
    ...end,
    type: "dropped",
    seq: 20,
    records: 10,
    bytes: 10,
    reason: "the disk is too slow",
  };
  appendFileSync(file, lines([lost, { ...end, seq: 21 }]));
  expect((await read(file)).records).toEqual([
    { ...first, part: 4 },
    missingBefore({ ...frame, seq: 7 }, 6),
    { ...frame, seq: 7 },
    missingBefore({ ...stderr, seq: 9 }, 1),
    { ...stderr, seq: 9 },
    lost,
    { ...end, seq: 21 },
  ]);
});

test.each([
  ["a torn last line", '{"type":"fra', "cut off: the run was killed, or still writes"],
  ["a line that is no JSON", "what\n", "not a JSON object"],
  ["a line that is no record", '{"type":"frame","seq":1}\n', "frame record whose time is not as docs/trace.md has it"],
  ["a record of a type that is not known", '{"type":"song"}\n', "its type is none of the format's"],
])("%s is told, and the rest read", async (_what, line, text) => {
  const file = traceFile(sample());
  appendFileSync(file, line);
  expect(await read(file)).toEqual({ records: sample(), problems: [{ file, line: 5, text }] });
});

test("a last line without its line break is whole", async () => {
  const file = traceFile([]);
  writeFileSync(file, lines(sample()).trimEnd());
  expect(await read(file)).toEqual({ records: sample(), problems: [] });
});

test("a line of several megabytes, and blank lines", async () => {
  const recorder = createRecorder();
  recorder.add({ type: "stderr", text: "ü".repeat(3_000_000) });
  const file = traceFile(recorder.records);
  appendFileSync(file, "\n\n");
  expect(await read(file)).toEqual({ records: recorder.records, problems: [] });
});

test("a file that grows is followed until the run ends", async () => {
  const [first, ...rest] = sample();
  const file = traceFile([first]);
  const seen: string[] = [];
  const records = readTrace([file], { report: () => {}, follow: new AbortController().signal });
  for await (const record of records) {
    seen.push(record.type);
    const next = JSON.stringify(rest.shift());
    if (next === undefined) continue;
    // A record may be seen when only a part of it is written.
    appendFileSync(file, next.slice(0, 9));
    setImmediate(() => appendFileSync(file, `${next.slice(9)}\n`));
  }
  expect(seen).toEqual(["header", "frame", "stderr", "end"]);
});

test("a run is followed into its next part", async () => {
  const [first, ...rest] = sample();
  const file = traceFile([first]);
  const seen: string[] = [];
  for await (const record of readTrace([file], { report: () => {}, follow: new AbortController().signal })) {
    seen.push(record.type);
    if (seen.length === 1)
      setImmediate(() => {
        appendFileSync(file, lines(rest.slice(0, 1)));
        writeFileSync(join(dirname(file), "trace.2.jsonl"), lines([{ ...header, part: 2 }, ...rest.slice(1)]));
      });
  }
  expect(seen).toEqual(["header", "frame", "header", "stderr", "end"]);
});

/** Reads a trace that is followed; `at` has what happens once so many records were seen. */
async function follow(file: string, at: Record<number, () => void>): Promise<number[]> {
  const seen: number[] = [];
  for await (const record of readTrace([file], { report: () => {}, follow: new AbortController().signal })) {
    seen.push(record.type === "header" ? -record.part : record.seq);
    at[seen.length]?.();
  }
  return seen;
}

test("the oldest parts may be gone before they are read: it goes on with the next that is there", async () => {
  const [first, frame, stderr, end] = sample();
  const file = traceFile([first, frame]);
  const part = (number: number) => join(dirname(file), `trace.${number}.jsonl`);
  writeFileSync(part(2), lines([{ ...header, part: 2 }, stderr]));
  const seen = await follow(file, {
    3: () => {
      for (const number of [4, 5, 6]) writeFileSync(part(number), lines([{ ...header, part: number }]));
      appendFileSync(part(6), lines([end]));
      rmSync(part(4));
    },
  });
  expect(seen).toEqual([-1, 1, -2, 2, -5, -6, 3]);
});

test("a part that has just begun is waited for, and left out where nothing is followed", async () => {
  const [first, frame, ...rest] = sample();
  const file = traceFile([first, frame]);
  const next = join(dirname(file), "trace.2.jsonl");
  const text = lines([{ ...header, part: 2 }, ...rest]);
  for (const begun of ["", text.slice(0, 40)]) {
    writeFileSync(next, begun);
    expect((await read(file)).records).toEqual([first, frame]);
    expect(await follow(file, { 2: () => setTimeout(() => writeFileSync(next, text)) })).toEqual([-1, 1, -2, 2, 3]);
  }
});

test("a file in which nothing is yet is waited for", async () => {
  const file = traceFile([]);
  setTimeout(() => writeFileSync(file, lines(sample())));
  expect(await follow(file, {})).toEqual([-1, 1, 2, 3]);
});

test("the newest part alone is followed into those after it", async () => {
  const [, frame, ...rest] = sample();
  const file = traceFile([{ ...header, part: 3 }, frame], "trace.3.jsonl");
  const next = () => writeFileSync(join(dirname(file), "trace.4.jsonl"), lines([{ ...header, part: 4 }, ...rest]));
  expect(await follow(file, { 2: next })).toEqual([-3, 1, -4, 2, 3]);
});

test("following ends with its signal", async () => {
  const stop = new AbortController();
  const seen: string[] = [];
  for await (const record of readTrace([traceFile([header])], { report: () => {}, follow: stop.signal })) {
    seen.push(record.type);
    setImmediate(() => stop.abort());
  }
  expect(seen).toEqual(["header"]);
});

describe("what is no trace is refused with what to do", () => {
  const other = { ...header, run: "run-2" };
  test.each<[string, unknown[] | string, string]>([
    ["an empty file", "", "is empty: nothing was recorded"],
    [
      "text",
      "hello\n",
      "is no acp-shift trace: its first line is no header. acp-shift --trace FILE -- <command> records one",
    ],
    ["frames", [{ jsonrpc: "2.0", id: 1, method: "initialize" }], "is no acp-shift trace"],
    ["a header without an end", JSON.stringify(header), "ends with its header: nothing was recorded"],
    [
      "another version",
      [{ ...header, version: 2 }],
      "is a trace in version 2 of the format, and this acp-shift reads version 1",
    ],
    ["a bad header", [{ ...header, run: 1 }], "its header cannot be read: header record whose run is not"],
  ])("%s", async (_what, content, message) => {
    const file = traceFile(Array.isArray(content) ? content : []);
    if (typeof content === "string") writeFileSync(file, content);
    await expect(read(file)).rejects.toThrow(UsageError);
    await expect(read(file)).rejects.toThrow(`${file}${message.startsWith("its") ? ": " : " "}${message}`);
  });

  test("no file, a directory", async () => {
    const file = traceFile(sample());
    await expect(read(`${file}.not`)).rejects.toThrow(`${file}.not: no such file`);
    await expect(read(dirname(file))).rejects.toThrow("is a directory; name a file in it, such as trace.jsonl");
    const empty = join(dirname(file), "empty");
    mkdirSync(empty);
    await expect(read(empty)).rejects.toThrow(`${empty} is a directory; name a file in it`);
    rmSync(empty, { recursive: true });
  });

  test("parts of two runs, and one part twice", async () => {
    await expect(read(traceFile([header]), traceFile([other]))).rejects.toThrow("is of another run than");
    await expect(read(traceFile([header]), traceFile([header]))).rejects.toThrow("are the same part of the run");
  });
});
