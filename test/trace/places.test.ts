// Guards that a record is found again by its place, in whatever order, part and length (src/trace/places.ts).
import { truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { TraceRecord } from "../../src/trace/format.ts";
import { createPlaces, type Places } from "../../src/trace/places.ts";
import { readPlaced } from "../../src/trace/read.ts";
import { createRecorder, header, traceFile } from "../support/recorded.ts";

async function placed(file: string): Promise<{ places: Places; found: { record: TraceRecord; place: number }[] }> {
  const places = createPlaces();
  onTestFinished(() => places.close());
  const found: { record: TraceRecord; place: number }[] = [];
  for await (const one of readPlaced([file], { report: () => {} }))
    found.push({ record: one.record, place: places.of(one) });
  return { places, found };
}

test("lines of every length, over two parts, forwards, backwards and mixed", async () => {
  const recorder = createRecorder();
  for (const length of [0, 1, 1000, 70_000, 3, 65_536, 1_500_000, 0, 200, 200_000])
    recorder.add({ type: "stderr", text: "é".repeat(length) });
  const file = traceFile(recorder.records.slice(0, 6));
  const rest = [{ ...header, part: 2 }, ...recorder.records.slice(6)].map((record) => JSON.stringify(record));
  writeFileSync(
    join(dirname(file), "trace.2.jsonl"),
    `${rest.slice(0, 3).join("\n")}\n\n\r\n${rest.slice(3).join("\r\n")}`,
  );
  const { places, found } = await placed(file);
  expect(found).toHaveLength(12);
  const mixed = found.map((_, index) => found[(index * 7) % found.length] ?? found[0]);
  for (const one of [...found, ...found.toReversed(), ...mixed])
    expect(places.read(one?.place ?? -1)).toEqual(one?.record);
});

test("a file that has become shorter is told", async () => {
  const file = traceFile(createRecorder().end());
  const { places, found } = await placed(file);
  truncateSync(file, 10);
  expect(() => places.read(found.at(-1)?.place ?? -1)).toThrow("has become shorter");
});
