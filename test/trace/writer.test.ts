// Guards that a trace never holds anything up (docs/trace.md): on a disk that is full, slow or dead nothing waits and
// memory is bounded; what was dropped is counted where it is missing; parts and their removal.
import { describe, expect, test } from "vitest";
import type { Destination, Part } from "../../src/trace/files.ts";
import { createTraceWriter, PARTS_KEPT, type TraceWriter } from "../../src/trace/writer.ts";

type Outcome = { taken?: number; error?: NodeJS.ErrnoException };

/** A disk that answers when the test says so. */
function disk() {
  const files = new Map<number, string>();
  const closed: number[] = [];
  const removed: number[] = [];
  const waiting: (() => void)[] = [];
  let outcomes: Outcome[] = [];
  let stuck = false;

  const part = (number: number): Part => ({
    write(pieces, done) {
      const answer = () => {
        const bytes = Buffer.concat(pieces);
        const { error, taken = bytes.length } = outcomes.shift() ?? {};
        if (error !== undefined) return done(error, 0);
        files.set(number, (files.get(number) ?? "") + bytes.toString("latin1", 0, taken));
        done(null, taken);
      };
      if (stuck) waiting.push(answer);
      else setImmediate(answer);
    },
    close(done) {
      closed.push(number);
      done();
    },
  });
  const destination: Destination = {
    first: part(1),
    later: { open: (number, done) => setImmediate(() => done(null, part(number))), remove: (n) => removed.push(n) },
  };
  return {
    destination,
    files,
    closed,
    removed,
    /** The next writes end like this. */
    answers(...next: Outcome[]) {
      outcomes = next;
    },
    stick() {
      stuck = true;
    },
    release() {
      stuck = false;
      for (const answer of waiting.splice(0)) answer();
    },
    text: () => [...files.entries()].toSorted(([a], [b]) => a - b).map(([, text]) => text),
  };
}

function writerOn(destination: Destination, more: { limit?: number; bufferLimit?: number } = {}) {
  const faults: string[] = [];
  const writer = createTraceWriter({
    destination,
    limit: 1024 ** 2,
    header: (part) => `header ${part}`,
    onExpected() {},
    onFault: ({ message }) => faults.push(message),
    ...more,
  });
  return { writer, faults };
}

function append(writer: TraceWriter, text: string): boolean {
  if (!writer.begin(Buffer.byteLength(text))) return false;
  writer.record.text(text);
  writer.commit();
  return true;
}

const fault = (code: string): Outcome => ({ error: Object.assign(new Error(`${code}: it is`), { code }) });

describe("writing", () => {
  test("a header first, then the records in order, whole", async () => {
    const { destination, text, closed } = disk();
    const { writer } = writerOn(destination);
    for (const record of ["one", "é漢😀", ""]) append(writer, record);
    writer.begin(10);
    writer.record.bytes(Buffer.from("x"));
    writer.record.text("y");
    writer.commit();
    await writer.end(1000);
    expect(Buffer.from(text()[0] ?? "", "latin1").toString()).toBe("header 1\none\né漢😀\n\nxy\n");
    expect(closed).toEqual([1]);
  });

  test("a record larger than a block, and a write that takes only a part of it", async () => {
    const { destination, text, answers } = disk();
    answers({}, { taken: 5 }, {}, { taken: 100_000 });
    const { writer } = writerOn(destination, { limit: 64 * 1024 ** 2 });
    const large = "0123456789".repeat(60_000);
    append(writer, "small");
    append(writer, large);
    append(writer, "small");
    await writer.end(1000);
    expect(text()).toEqual([`header 1\nsmall\n${large}\nsmall\n`]);
  });

  test("blocks are used again without harm", async () => {
    const { destination, text } = disk();
    const { writer } = writerOn(destination, { limit: 64 * 1024 ** 2 });
    const records = Array.from({ length: 4000 }, (_, index) => `${index} ${"x".repeat(index % 700)}`);
    for (const [index, record] of records.entries()) {
      append(writer, record);
      if (index % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await writer.end(10_000);
    expect(text()[0]).toBe(`header 1\n${records.join("\n")}\n`);
  });

  test("nothing more is taken after the end", async () => {
    const { destination, text } = disk();
    const { writer } = writerOn(destination);
    append(writer, "one");
    const ended = writer.end(1000);
    expect(append(writer, "late")).toBe(false);
    await ended;
    expect(append(writer, "later")).toBe(false);
    expect(text()).toEqual(["header 1\none\n"]);
  });
});

describe("parts", () => {
  test("of a quarter of the limit; the first and the newest are kept, each with a header", async () => {
    const { destination, files, removed, closed } = disk();
    const { writer } = writerOn(destination, { limit: 4000 });
    for (let index = 0; index < 40; index++) append(writer, `${index} `.padEnd(200, "."));
    await writer.end(1000);
    const parts = [...files.keys()];
    expect(parts.length).toBeGreaterThan(PARTS_KEPT + 2);
    for (const [part, text] of files) {
      expect(text.startsWith(`header ${part}\n`)).toBe(true);
      expect(text.length).toBeLessThanOrEqual(1000);
    }
    expect(parts.filter((part) => !removed.includes(part))).toEqual([1, ...parts.slice(-PARTS_KEPT + 1)]);
    expect(closed).toEqual(parts);
    const numbers = [...files.values()].flatMap((text) => [...text.matchAll(/^(\d+) /gm)].map(([, n]) => Number(n)));
    expect(numbers).toEqual(Array.from({ length: 40 }, (_, index) => index));
  });

  test("a record larger than a part gets one of its own", async () => {
    const { destination, files } = disk();
    const { writer } = writerOn(destination, { limit: 4000 });
    append(writer, "a");
    append(writer, "b".repeat(3000));
    append(writer, "c");
    await writer.end(1000);
    expect([...files.values()].map((text) => text.replace(/b+/, "b"))).toEqual([
      "header 1\na\n",
      "header 2\nb\n",
      "header 3\nc\n",
    ]);
  });

  test("a pipe or a device has none", async () => {
    const { destination, files } = disk();
    const { writer } = writerOn({ ...destination, later: undefined }, { limit: 4000 });
    for (let index = 0; index < 40; index++) append(writer, "x".repeat(200));
    await writer.end(1000);
    expect([...files.keys()]).toEqual([1]);
  });
});

describe("a disk that does not answer", () => {
  test("takes no more than the buffer's limit; what is dropped is counted, and told once there is room", async () => {
    const { destination, text, stick, release } = disk();
    const { writer } = writerOn(destination, { bufferLimit: 1000 });
    stick();
    let taken = 0;
    for (let index = 0; index < 50; index++) if (append(writer, "x".repeat(99))) taken++;
    expect(taken).toBe(10);
    expect(writer.takeLoss()).toBeUndefined();
    release();
    await expect.poll(() => writer.takeLoss()).toEqual({ records: 40, bytes: 40 * 99, reason: "the disk is too slow" });
    expect(writer.takeLoss()).toBeUndefined();
    append(writer, "on again");
    await writer.end(1000);
    expect(text()[0]).toBe(`header 1\n${`${"x".repeat(99)}\n`.repeat(10)}on again\n`);
  });

  test("does not keep the end waiting for longer than told", async () => {
    const { destination, stick, closed } = disk();
    const { writer } = writerOn(destination);
    stick();
    append(writer, "one");
    await writer.end(10);
    expect(closed).toEqual([]);
  });
});

describe("a disk that is full", () => {
  test("is told once, tried again, and nothing is lost while there is room to wait", async () => {
    const { destination, text, answers } = disk();
    answers({ taken: "header 1\non".length }, fault("ENOSPC"), fault("ENOSPC"));
    const { writer, faults } = writerOn(destination);
    append(writer, "one");
    await expect.poll(() => faults, { timeout: 10_000 }).toEqual(["ENOSPC: it is"]);
    append(writer, "two");
    await expect.poll(() => text()[0], { timeout: 10_000 }).toBe("header 1\none\ntwo\n");
    expect(faults).toHaveLength(1);
    await writer.end(1000);
  });

  test("names the fault as the reason for what is dropped", async () => {
    const { destination, answers } = disk();
    answers(fault("ENOSPC"), fault("ENOSPC"));
    const { writer, faults } = writerOn(destination, { bufferLimit: 100 });
    append(writer, "x".repeat(200));
    await expect.poll(() => faults.length).toBe(1);
    append(writer, "y");
    await expect
      .poll(() => writer.takeLoss(), { timeout: 20_000 })
      .toEqual({
        records: 1,
        bytes: 1,
        reason: "ENOSPC: it is",
      });
    await writer.end(1000);
  });

  test("is not waited for at the end", async () => {
    const { destination, answers, closed } = disk();
    answers(fault("ENOSPC"), fault("ENOSPC"));
    const { writer } = writerOn(destination);
    append(writer, "one");
    await writer.end(60_000);
    expect(closed).toEqual([1]);
  });
});
