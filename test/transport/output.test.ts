// Guards docs/mapping.md §0 I1 and I6 at the way out: exact order, back-pressure, and nothing pending at the end.
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createOutput } from "../../src/transport/output.ts";
import { built, runHost, start } from "./processes.ts";

/** A stream that holds on to what it is given until told to take it, and counts the writes. */
function slowStream(options: { highWaterMark?: number } = {}) {
  const taken: string[] = [];
  let writes = 0;
  let waiting: (() => void) | undefined;
  let open = false;
  const accept = (text: string, done: () => void) => {
    writes++;
    const take = () => {
      taken.push(text);
      done();
    };
    if (open) take();
    else waiting = take;
  };
  const stream = new Writable({
    ...options,
    write: (chunk: Buffer, _encoding, done) => accept(chunk.toString(), done),
    writev: (chunks, done) => accept(chunks.map(({ chunk }) => String(chunk)).join(""), done),
  });
  return {
    stream,
    text: () => taken.join(""),
    writes: () => writes,
    open() {
      open = true;
      waiting?.();
      waiting = undefined;
    },
  };
}

function quiet() {
  return { onDrain: vi.fn(), onBroken: vi.fn() };
}

describe("order", () => {
  test("is that of the calls, strings and bytes alike, and each line gets its line break", async () => {
    const target = slowStream();
    target.open();
    const output = createOutput(target.stream, quiet());
    const lines = Array.from({ length: 100 }, (_, i) => `${i} é${"漢".repeat((i * 997) % 3000)}`);
    for (const [i, line] of lines.entries()) {
      output.write(i % 3 === 0 ? Buffer.from(line) : line);
      if (i % 7 === 0) await nextTurn();
    }
    await output.flush();
    expect(target.text()).toBe(lines.map((line) => `${line}\n`).join(""));
  });

  test("holds for a line larger than a batch", async () => {
    const target = slowStream();
    target.open();
    const output = createOutput(target.stream, quiet());
    const large = "x".repeat(300_000);
    for (const line of ["a", large, Buffer.from(large), "b"]) output.write(line);
    await output.flush();
    expect(target.text()).toBe(`a\n${large}\n${large}\nb\n`);
  });
});

test("the text written last is known by its bytes, wherever it is", async () => {
  const target = slowStream();
  const output = createOutput(target.stream, quiet());
  for (const text of ["short", "", "é漢", "x".repeat(20_000), "again"]) {
    output.write(text);
    expect([text, `${text}.`, text.replace(/.$/u, "?")].map((one) => output.wrote(Buffer.from(one)))).toEqual([
      true,
      false,
      text === "",
    ]);
  }
  target.stream.destroy();
  await nextTurn();
  output.write("lost");
  expect(["again", "lost"].map((one) => output.wrote(Buffer.from(one)))).toEqual([false, false]);
});

test("what is written in one turn leaves in one write", async () => {
  const target = slowStream();
  target.open();
  const output = createOutput(target.stream, quiet());
  for (let i = 0; i < 100; i++) output.write(String(i));
  expect(target.writes()).toBe(0);
  await nextTurn();
  expect(target.writes()).toBe(1);
});

test("what is offered leaves at once; what is offered while that is under way waits", async () => {
  const target = slowStream();
  const output = createOutput(target.stream, quiet());
  output.offer();
  output.write("a");
  output.offer();
  expect(target.writes()).toBe(1);
  for (const line of ["b", "c"]) {
    output.write(line);
    output.offer();
  }
  target.open();
  await output.flush();
  expect(target.text()).toBe("a\nb\nc\n");
  expect(target.writes()).toBe(2);
});

test("a flood goes through a few blocks of memory, again and again", async () => {
  const blocks = new Set<ArrayBufferLike>();
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      blocks.add(chunk.buffer);
      setImmediate(done);
    },
  });
  const output = createOutput(stream, quiet());
  const line = Buffer.alloc(9000, "x");
  for (let i = 0; i < 500; i++) {
    output.write(line);
    // Some blocks are full just when all of them has been handed over.
    if (i % 7 === 6) await output.flush();
  }
  expect(blocks.size).toBeLessThan(4);
});

describe("back-pressure", () => {
  test("makes the output full until the stream has drained", async () => {
    const target = slowStream({ highWaterMark: 10 });
    const { onDrain, onBroken } = quiet();
    const output = createOutput(target.stream, { onDrain, onBroken });
    output.write("more than ten bytes");
    expect(output.full).toBe(false);
    await nextTurn();
    expect(output.full).toBe(true);
    output.write("and more");
    await nextTurn();
    expect(onDrain).not.toHaveBeenCalled();
    target.open();
    await nextTurn();
    expect(output.full).toBe(false);
    expect(onDrain).toHaveBeenCalledTimes(1);
    expect(target.text()).toBe("more than ten bytes\nand more\n");
    expect(onBroken).not.toHaveBeenCalled();
  });

  test("is not what a stream signals that takes a large batch at once", async () => {
    const target = slowStream({ highWaterMark: 10 });
    target.open();
    const { onDrain, onBroken } = quiet();
    const output = createOutput(target.stream, { onDrain, onBroken });
    output.write("x".repeat(100_000));
    expect(output.full).toBe(false);
    await nextTurn();
    expect(output.full).toBe(false);
    expect(onDrain).not.toHaveBeenCalled();
  });

  test("ends when the stream breaks", async () => {
    const target = slowStream({ highWaterMark: 10 });
    const { onDrain, onBroken } = quiet();
    const output = createOutput(target.stream, { onDrain, onBroken });
    output.write("more than ten bytes");
    await nextTurn();
    target.stream.destroy(new Error("gone"));
    await nextTurn();
    expect(output.full).toBe(false);
    expect(onDrain).toHaveBeenCalledTimes(1);
  });
});

describe("flush", () => {
  test("hands the batch to the stream at once and resolves when it was taken", async () => {
    const target = slowStream();
    const output = createOutput(target.stream, quiet());
    output.write("a");
    const flushed = vi.fn();
    const flushing = output.flush().then(flushed);
    expect(target.writes()).toBe(1);
    await nextTurn();
    expect(flushed).not.toHaveBeenCalled();
    target.open();
    await flushing;
    expect(target.text()).toBe("a\n");
  });

  test("resolves when there is nothing to do", async () => {
    await createOutput(slowStream().stream, quiet()).flush();
  });

  test("resolves when the stream breaks before it has taken everything", async () => {
    const target = slowStream();
    const output = createOutput(target.stream, quiet());
    output.write("a");
    const flushing = output.flush();
    target.stream.destroy();
    await flushing;
    await output.flush();
  });
});

describe("a broken stream", () => {
  test("is reported once, and later lines are discarded", async () => {
    const target = slowStream();
    const { onDrain, onBroken } = quiet();
    const output = createOutput(target.stream, { onDrain, onBroken });
    const error = new Error("EPIPE");
    target.stream.destroy(error);
    await nextTurn();
    output.write("a");
    await output.flush();
    await nextTurn();
    expect(onBroken).toHaveBeenCalledExactlyOnceWith(error);
    expect(target.writes()).toBe(0);
  });

  test("that was closed without an error is reported as well", async () => {
    const target = slowStream();
    const { onDrain, onBroken } = quiet();
    createOutput(target.stream, { onDrain, onBroken });
    target.stream.destroy();
    await nextTurn();
    expect(onBroken).toHaveBeenCalledTimes(1);
  });

  test("that throws from write is reported once, and not from within the call", async () => {
    const error = new Error("no space left");
    const stream = new Writable({
      write() {
        throw error;
      },
    });
    const { onDrain, onBroken } = quiet();
    const output = createOutput(stream, { onDrain, onBroken });
    output.write("x".repeat(100_000));
    expect(onBroken).not.toHaveBeenCalled();
    await output.flush();
    output.write("x".repeat(100_000));
    await nextTurn();
    expect(onBroken).toHaveBeenCalledExactlyOnceWith(error);
  });

  test("is what a process that has closed its stdin leaves", async () => {
    const agent = start("deaf.mjs");
    await agent.says("deaf");
    const { onDrain, onBroken } = quiet();
    const output = createOutput(agent.process.stdin, { onDrain, onBroken });
    output.write("anyone?");
    await vi.waitFor(() => expect(onBroken).toHaveBeenCalledTimes(1));
    expect(onBroken.mock.calls[0]?.[0]).toMatchObject({ code: "EPIPE" });
    await output.flush();
  });
});

test("lines written after the stream was ended are discarded without a word", async () => {
  const target = slowStream();
  target.open();
  const { onDrain, onBroken } = quiet();
  const output = createOutput(target.stream, { onDrain, onBroken });
  output.write("a");
  void output.flush();
  target.stream.end();
  output.write("b");
  await output.flush();
  await nextTurn();
  expect(target.text()).toBe("a\n");
  expect(onBroken).not.toHaveBeenCalled();
});

describe("a process that exits after flush has written everything", () => {
  const count = 200_000;
  const expected = Array.from({ length: count }, (_, i) => `${i} é\n`).join("");
  const directory = mkdtempSync(join(tmpdir(), "acp-shift-output-"));
  let module = "";
  beforeAll(() => {
    module = built("transport/output");
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test("to a pipe", async () => {
    const { stdout, stderr, code } = await runHost("output.mjs", [module, String(count)]);
    expect(stdout === expected).toBe(true);
    expect({ stderr, code }).toEqual({ stderr: "flushed\n", code: 0 });
  });

  test("to a file", async () => {
    const file = join(directory, "out");
    const { stderr, code } = await runHost("output.mjs", [module, String(count)], openSync(file, "w"));
    expect(readFileSync(file, "utf8") === expected).toBe(true);
    expect({ stderr, code }).toEqual({ stderr: "flushed\n", code: 0 });
  });

  test.runIf(process.platform === "linux")("or says that a full disk has broken it", async () => {
    const { stderr, code } = await runHost("output.mjs", [module, "10"], openSync("/dev/full", "w"));
    expect({ stderr, code }).toEqual({ stderr: "broken ENOSPC\nflushed\n", code: 0 });
  });
});
