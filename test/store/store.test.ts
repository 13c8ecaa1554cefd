// Guards the state directory (docs/mapping.md §4, §5): what is appended is read back, in this run and in a later one;
// torn lines, other processes, full disks and the size limit cost no more than the module says; nobody else can read it.

import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../src/protocol/json.ts";
import type { StoreRecord } from "../../src/store/records.ts";
import { appendLines } from "../../src/store/session-file.ts";
import type { Store } from "../../src/store/store.ts";
import { createTranscript } from "../../src/store/transcript.ts";
import { emptyDirectory, fileOf, filesIn, linesOf, open } from "./directories.ts";
import { record } from "./records.ts";

const NOW = "2026-01-01T00:00:00.000Z";
const session = (cwd = "/w", at = NOW): StoreRecord => ({ type: "session", cwd, at });
const message = (id: string, digest = "d"): StoreRecord => ({ type: "message", kind: "agent_message", id, digest });
const note = (title: string): JsonObject => ({ sessionUpdate: "notice", severity: "info", title });
const update = (title: string): StoreRecord => ({ type: "update", update: note(title) });

function append(store: Store, sessionId: string, ...records: StoreRecord[]): void {
  for (const each of records) store.append(sessionId, each);
}

describe("what is kept", () => {
  test("one file per session, in lines a person can read", async () => {
    const directory = emptyDirectory();
    const store = open(directory, { agent: "My Agent/2" });
    append(
      store,
      "Session #1",
      { type: "session", cwd: "/w", additionalDirectories: ["/x"], at: "2025-01-01T00:00:00Z" },
      { type: "info", title: "Ünïcode", at: "2025-01-02T00:00:00Z" },
      message("m"),
      update("hello"),
      { type: "closed", at: "2025-01-03T00:00:00Z" },
    );
    append(store, "///", session());
    await store.close();
    expect(filesIn(directory)).toEqual([
      "my-agent-2-a12d3f77c2445ce8/732c4e9711639ed1.jsonl",
      "my-agent-2-a12d3f77c2445ce8/session-1-c3e4f2a8015ed71d.jsonl",
    ]);
    expect(readFileSync(fileOf(directory, "Session #1", "My Agent/2"), "utf8").split("\n")).toEqual([
      '{"v":1,"agent":"My Agent/2","sessionId":"Session #1"}',
      '{"type":"session","at":"2025-01-01T00:00:00Z","cwd":"/w","additionalDirectories":["/x"]}',
      '{"type":"info","at":"2025-01-02T00:00:00Z","title":"Ünïcode"}',
      '{"type":"message","at":"2026-01-01T00:00:00.000Z","kind":"agent_message","id":"m","digest":"d"}',
      '{"type":"update","at":"2026-01-01T00:00:00.000Z","update":{"sessionUpdate":"notice","severity":"info","title":"hello"}}',
      '{"type":"closed","at":"2025-01-03T00:00:00Z"}',
      "",
    ]);
  });

  test("nothing is created before there is something to keep", async () => {
    const directory = join(emptyDirectory(), "state");
    const store = open(directory);
    expect(await store.list()).toEqual([]);
    expect(await store.read("s")).toBeUndefined();
    await store.forget("s");
    await store.close();
    expect(() => statSync(directory)).toThrow("ENOENT");
  });

  test("a session as it was told, in this run and in a later one", async () => {
    const directory = emptyDirectory();
    const store = open(directory);
    append(
      store,
      "s",
      { type: "session", cwd: "/old", additionalDirectories: ["/x"], at: NOW },
      { type: "info", title: "old", at: NOW },
      message("1", "a"),
      message("2", "b"),
      { type: "message", kind: "agent_thought", id: "1", digest: "c" },
      update("first"),
      session("/w"),
      { type: "info", at: NOW },
      message("1", "d"),
      update("second"),
      { type: "closed", at: "2026-02-02T00:00:00Z" },
    );
    const expected = {
      sessionId: "s",
      cwd: "/w",
      title: "old",
      updatedAt: "2026-02-02T00:00:00Z",
      messages: [
        { kind: "agent_message", id: "1", digest: "d" },
        { kind: "agent_message", id: "2", digest: "b" },
        { kind: "agent_thought", id: "1", digest: "c" },
      ],
      transcript: [note("first"), note("second")],
      transcriptComplete: true,
    };
    expect(await store.read("s")).toStrictEqual(expected);
    await store.close();
    const later = open(directory);
    expect(await later.read("s")).toStrictEqual(expected);
    append(later, "s", { type: "info", title: null, at: NOW });
    const { title: _, ...untitled } = expected;
    expect(await later.read("s")).toStrictEqual({ ...untitled, updatedAt: NOW });
  });

  test("the list: this agent's sessions, the one that changed last first", async () => {
    const directory = emptyDirectory();
    const store = open(directory);
    append(open(directory, { agent: "other" }), "theirs", session());
    append(store, "old", session("/a", "2025-01-01T00:00:00.000Z"), { type: "closed", at: "2025-01-02T00:00:00.000Z" });
    append(store, "new", { type: "session", cwd: "/b", additionalDirectories: ["/x"], at: "2025-01-01T00:00:00.000Z" });
    append(store, "new", { type: "info", title: "t", at: "2025-01-01T00:00:00.000Z" }, update("now"));
    append(store, "middle", session("/c", "2025-06-01T00:00:00.000Z"));
    append(store, "nowhere", message("1"));
    const expected = [
      { sessionId: "new", cwd: "/b", additionalDirectories: ["/x"], title: "t", updatedAt: NOW },
      { sessionId: "middle", cwd: "/c", updatedAt: "2025-06-01T00:00:00.000Z" },
      { sessionId: "old", cwd: "/a", updatedAt: "2025-01-02T00:00:00.000Z" },
    ];
    expect(await store.list()).toStrictEqual(expected);
    await store.close();
    expect(await open(directory).list()).toStrictEqual(expected);
    expect(await open(directory).read("theirs")).toBeUndefined();
    expect(await open(directory).read("nowhere")).toBeUndefined();
  });

  test("a forgotten session is gone, and its id can be used anew at once", async () => {
    const directory = emptyDirectory();
    const store = open(directory);
    append(store, "s", session("/old"), message("1"), update("old"));
    append(store, "t", session());
    await store.list();
    append(store, "s", message("2"));
    const forgotten = store.forget("s");
    append(store, "s", session("/new"), update("new"));
    await forgotten;
    expect(await store.read("s")).toStrictEqual({
      sessionId: "s",
      cwd: "/new",
      updatedAt: NOW,
      messages: [],
      transcript: [note("new")],
      transcriptComplete: true,
    });
    await store.forget("s");
    expect(await store.list()).toMatchObject([{ sessionId: "t" }]);
    expect(filesIn(directory)).toHaveLength(1);
  });

  test("nothing is kept after the end", async () => {
    const directory = emptyDirectory();
    const store = open(directory);
    append(store, "s", session());
    await store.close();
    append(store, "s", message("1"));
    await store.close();
    expect((await open(directory).read("s"))?.messages).toEqual([]);
  });

  test("a record is kept as it was when it was appended", async () => {
    const store = open(emptyDirectory());
    const changing = note("before");
    append(store, "s", session(), { type: "update", update: changing });
    changing["title"] = "after";
    expect((await store.read("s"))?.transcript).toEqual([note("before")]);
  });

  test("random records of several sessions are what a simple model says", async () => {
    const sessionId = fc.constantFrom("a", "b", "B");
    const step = fc.oneof(
      { weight: 30, arbitrary: fc.tuple(sessionId, record) },
      { weight: 1, arbitrary: fc.tuple(sessionId, fc.constantFrom("forget" as const, "reopen" as const)) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const directory = emptyDirectory();
        let store = open(directory);
        const kept = new Map<string, StoreRecord[]>();
        for (const [id, action] of steps) {
          if (action === "forget") {
            await store.forget(id);
            kept.delete(id);
          } else if (action === "reopen") {
            await store.close();
            store = open(directory);
          } else {
            append(store, id, action);
            kept.set(id, [...(kept.get(id) ?? []), action]);
          }
        }
        const models = new Map([...kept].map(([id, records]) => [id, model(id, records)]));
        for (const id of ["a", "b", "B"]) expect(await store.read(id)).toStrictEqual(models.get(id));
        const listed = await store.list();
        expect(new Set(listed)).toStrictEqual(
          new Set(
            [...models.values()].flatMap((each) => {
              if (each === undefined) return [];
              const { messages: _, transcript: __, transcriptComplete: ___, ...info } = each;
              return [info];
            }),
          ),
        );
        const times = listed.map(({ updatedAt }) => updatedAt);
        expect(times).toEqual(times.toSorted().reverse());
        await store.close();
        rmSync(directory, { recursive: true });
      }),
      { numRuns: 60 },
    );
  });
});

function model(sessionId: string, records: StoreRecord[]) {
  const of = <T extends StoreRecord["type"]>(type: T) =>
    records.filter((each): each is Extract<StoreRecord, { type: T }> => each.type === type);
  const place = of("session").at(-1);
  if (place === undefined) return undefined;
  const title = of("info").findLast((each) => each.title !== undefined)?.title;
  const ids = [...new Set(of("message").map(({ kind, id }) => `${kind} ${id}`))];
  const transcript = createTranscript();
  for (const each of of("update")) transcript.add(JSON.parse(JSON.stringify(each.update)));
  const last = records.at(-1);
  return {
    sessionId,
    cwd: place.cwd,
    ...(place.additionalDirectories !== undefined && { additionalDirectories: place.additionalDirectories }),
    ...(typeof title === "string" && { title }),
    updatedAt: last !== undefined && "at" in last ? last.at : NOW,
    messages: ids.map((key) => {
      const { kind, id, digest } = of("message").findLast((each) => `${each.kind} ${each.id}` === key) ?? {};
      return { kind, id, digest };
    }),
    transcript: transcript.updates(),
    transcriptComplete: true,
  };
}

describe("damage", () => {
  const records = [session(), message("1", "ü€😀"), update("b"), message("2")];

  async function written(directory: string): Promise<Buffer> {
    const store = open(directory);
    append(store, "s", ...records);
    await store.close();
    return readFileSync(fileOf(directory, "s"));
  }

  test("a file cut at any byte reads as a prefix, and appending goes on", async () => {
    const directory = emptyDirectory();
    const whole = await written(directory);
    const ends = [...whole.keys()].filter((index) => whole[index] === 0x0a);
    for (let length = 0; length <= whole.length; length++) {
      writeFileSync(fileOf(directory, "s"), whole.subarray(0, length));
      // A line is whole without its line break, too.
      const count = Math.max(ends.filter((end) => end <= length).length - 1, 0);
      const expected = count === 0 ? undefined : model("s", records.slice(0, count));
      expect(await open(directory).read("s")).toStrictEqual(expected);
      const store = open(directory);
      append(store, "s", session("/again"), message("3"));
      const after = model("s", [...records.slice(0, count), session("/again"), message("3")]);
      expect(await store.read("s")).toStrictEqual(after);
    }
  });

  test("lines that are not ours are skipped", async () => {
    const directory = emptyDirectory();
    const store = open(directory);
    append(store, "s", session());
    await store.list();
    const lines = [
      "",
      "not JSON",
      "[]",
      "7",
      "null",
      '{"type":"unheard-of","at":7}',
      '{"type":"session","cwd":7}',
      '{"type":"info","title":7}',
      '{"type":"message","kind":"other","id":"1","digest":"d"}',
      '{"type":"message","kind":"agent_message","id":1,"digest":"d"}',
      '{"type":"update","update":[]}',
      '{"v":1,"agent":"other","sessionId":"other"}',
      '{"v":2,"agent":"agent","sessionId":"other"}',
    ];
    appendFileSync(fileOf(directory, "s"), `${lines.join("\n")}\n`);
    appendFileSync(fileOf(directory, "s"), Buffer.of(0xff, 0x00, 0x0a));
    append(store, "s", message("1"));
    expect(await store.read("s")).toStrictEqual(model("s", [session(), message("1")]));
    expect(await store.list()).toHaveLength(1);
  });

  test("a file of another session or agent is not taken for this one's", async () => {
    const directory = emptyDirectory();
    const bytes = await written(directory);
    writeFileSync(fileOf(directory, "t"), bytes);
    mkdirSync(dirname(fileOf(directory, "s", "other")));
    writeFileSync(fileOf(directory, "s", "other"), bytes);
    expect(await open(directory).read("t")).toBeUndefined();
    expect(await open(directory).list()).toHaveLength(1);
    expect(await open(directory, { agent: "other" }).read("s")).toBeUndefined();
    expect(await open(directory, { agent: "other" }).list()).toEqual([]);
  });

  test("a file that another process deleted begins anew, and says that its start is missing", async () => {
    const directory = emptyDirectory();
    const store = open(directory);
    append(store, "s", session(), { type: "info", title: "t", at: NOW }, message("1"), update("a"));
    await store.list();
    rmSync(directory, { recursive: true });
    append(store, "s", message("2"), update("b"));
    const expected = {
      ...model("s", [session(), { type: "info", title: "t", at: NOW }, message("2"), update("b")]),
      transcriptComplete: false,
    };
    expect(await store.read("s")).toStrictEqual(expected);
    await store.close();
    expect(await open(directory).read("s")).toStrictEqual(expected);
  });

  test("lines written to a file just as it is deleted are written again", async () => {
    const path = join(emptyDirectory(), "file");
    const sizes: number[] = [];
    await appendLines(path, () => Buffer.from("a\n"));
    await appendLines(path, (size) => {
      sizes.push(size);
      if (sizes.length === 1) rmSync(path);
      return Buffer.from(`${sizes.length}\n`);
    });
    expect(sizes).toEqual([2, 0]);
    expect(readFileSync(path, "utf8")).toBe("2\n");
  });

  test("lines of a file that is deleted again and again are gone with it", async () => {
    const path = join(emptyDirectory(), "file");
    let writes = 0;
    await appendLines(path, () => {
      writes++;
      rmSync(path);
      return Buffer.from("a\n");
    });
    expect(writes).toBe(3);
  });
});

describe("faults", () => {
  function collect(directory: string, limitBytes = 1e9) {
    const faults: string[] = [];
    const store = open(directory, {
      limitBytes,
      onFault: (error) => faults.push(error.message.replace(directory, "DIR")),
    });
    return { faults, store };
  }

  test.runIf(process.platform === "linux")("a full disk loses records, with one fault, and nothing else", async () => {
    const directory = emptyDirectory();
    const { faults, store } = collect(directory);
    append(store, "t", session());
    await store.list();
    symlinkSync("/dev/full", fileOf(directory, "s"));
    const mode = statSync("/dev/full").mode;
    for (let i = 0; i < 20; i++) {
      append(store, "s", session(), message(`${i}`), update("lost"));
      append(store, "t", message(`${i}`));
      expect((await store.read("t"))?.messages).toHaveLength(i + 1);
    }
    expect(faults).toEqual(["cannot keep sessions in DIR: ENOSPC: no space left on device, write"]);
    expect(statSync("/dev/full").mode).toBe(mode);

    rmSync(fileOf(directory, "s"));
    append(store, "s", message("kept"), update("kept"));
    const expected = { ...model("s", [session(), message("kept"), update("kept")]), transcriptComplete: false };
    expect(await store.read("s")).toStrictEqual(expected);
    await store.close();
    expect(await open(directory).read("s")).toStrictEqual(expected);
    expect(faults).toHaveLength(1);
  });

  test.runIf(process.platform === "linux" && process.getuid?.() === 0)(
    "a disk that gets full in the middle of a write tears no line but the last",
    async (context) => {
      const directory = emptyDirectory();
      const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", directory]).status === 0;
      if (!mounted) return context.skip();
      onTestFinished(() => void spawnSync("umount", ["-l", directory]));
      const { faults, store } = collect(directory);
      append(store, "s", session());
      for (let i = 0; i < 200; i++) {
        append(store, "s", message(`${i}`, "x".repeat(1000)));
        if (i % 7 === 0) await store.list();
      }
      const full = (await store.read("s"))?.messages.map(({ id }) => Number(id)) ?? [];
      expect(full.length).toBeGreaterThan(20);
      expect(full).toEqual(full.map((_, index) => index));
      expect(faults).toEqual([expect.stringContaining("cannot keep sessions in DIR: ")]);

      await store.forget("s");
      append(store, "s", session(), message("after"));
      expect(await store.read("s")).toStrictEqual(model("s", [session(), message("after")]));
    },
  );

  test("a directory that is none is one fault for writing and one for each kind of reading", async () => {
    const directory = join(emptyDirectory(), "state");
    writeFileSync(directory, "");
    const { faults, store } = collect(directory);
    for (let i = 0; i < 5; i++) {
      append(store, "s", session());
      expect(await store.read("s")).toBeUndefined();
      expect(await store.list()).toEqual([]);
    }
    await store.close();
    expect(faults.map((fault) => fault.split(" in DIR: ")[0]).sort()).toEqual([
      "cannot delete old sessions",
      "cannot keep sessions",
      "cannot list sessions",
      "cannot read sessions",
    ]);
  });

  test("more than may wait is lost, with one fault, and then it goes on", async () => {
    const directory = emptyDirectory();
    const { faults, store } = collect(directory);
    append(store, "s", session(), { type: "info", title: "earlier", at: NOW });
    // Nothing is written before the first await.
    const large = "x".repeat(1024 * 1024);
    for (let i = 0; i < 20; i++) append(store, "s", message(`${i}`, large), update(`${i}`));
    append(store, "s", { type: "info", title: "later", at: NOW });
    const read = await store.read("s");
    expect(faults).toEqual(["cannot keep sessions in DIR: the disk is slower than what comes in"]);
    expect(read?.messages).toHaveLength(16);
    expect(read?.transcript).toHaveLength(15);
    expect(read?.transcriptComplete).toBe(false);

    append(store, "s", message("after"));
    await store.close();
    const later = await open(directory).read("s");
    expect(later?.messages.at(-1)?.id).toBe("after");
    expect(later).toMatchObject({ title: "later", transcriptComplete: false });
    expect(faults).toHaveLength(1);
  });
});

describe.runIf(process.platform !== "win32")("privacy", () => {
  const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

  test("files are 0600 and directories 0700, whatever the umask", async () => {
    const before = process.umask(0);
    onTestFinished(() => void process.umask(before));
    const directory = join(emptyDirectory(), "above", "state");
    const store = open(directory);
    append(store, "s", session());
    await store.close();
    expect(mode(fileOf(directory, "s"))).toBe("600");
    expect(mode(dirname(fileOf(directory, "s")))).toBe("700");
    expect(mode(directory)).toBe("700");
  });

  test("wider ones of ours are tightened", async () => {
    const directory = emptyDirectory();
    const first = open(directory);
    append(first, "s", session());
    await first.close();
    const paths = [directory, dirname(fileOf(directory, "s")), fileOf(directory, "s")];
    for (const path of paths) chmodSync(path, 0o777);
    const store = open(directory);
    append(store, "s", message("1"));
    await store.close();
    expect(paths.map(mode)).toEqual(["700", "700", "600"]);
  });

  test("a directory that holds other things keeps its mode", async () => {
    const directory = emptyDirectory();
    writeFileSync(join(directory, "notes.txt"), "");
    chmodSync(directory, 0o755);
    const store = open(directory);
    append(store, "s", session());
    await store.close();
    expect(mode(directory)).toBe("755");
    expect(mode(dirname(fileOf(directory, "s")))).toBe("700");
  });
});

describe("the limit", () => {
  /** A closed session whose file is that large and was last used that many days ago. */
  async function stored(directory: string, sessionId: string, size: number, daysAgo: number, agent = "agent") {
    const store = open(directory, { agent });
    append(store, sessionId, session());
    await store.close();
    const path = fileOf(directory, sessionId, agent);
    appendFileSync(path, `${" ".repeat(size - statSync(path).size - 1)}\n`);
    const time = Date.now() / 1000 - daysAgo * 86_400;
    utimesSync(path, time, time);
  }
  const ids = async (store: Store) => (await store.list()).map(({ sessionId }) => sessionId).sort();

  test("the sessions longest unused go first, those of other agents too, until the rest fits", async () => {
    const directory = emptyDirectory();
    await stored(directory, "a", 1000, 5);
    await stored(directory, "b", 1000, 4, "other");
    await stored(directory, "c", 1000, 3);
    await stored(directory, "d", 1000, 2);
    await stored(directory, "e", 1000, 1, "other");
    expect(await ids(open(directory, { limitBytes: 5000 }))).toEqual(["a", "c", "d"]);
    expect(await ids(open(directory, { limitBytes: 3000 }))).toEqual(["c", "d"]);
    expect(await ids(open(directory, { agent: "other" }))).toEqual(["e"]);
    expect(await ids(open(directory, { limitBytes: 999 }))).toEqual([]);
    expect(filesIn(directory)).toEqual([]);
  });

  test("nothing but session files counts or is deleted", async () => {
    const directory = emptyDirectory();
    await stored(directory, "a", 1000, 5);
    const agent = dirname(fileOf(directory, "a"));
    const others = [
      join(directory, "big.jsonl"),
      join(agent, "notes.jsonl"),
      join(agent, "a-0123456789abcdef.json"),
      join(directory, "mine", "a-0123456789abcdef.jsonl"),
    ];
    mkdirSync(join(directory, "mine"));
    for (const path of others) writeFileSync(path, " ".repeat(5000));
    expect(await ids(open(directory, { limitBytes: 2000 }))).toEqual(["a"]);
    expect(await ids(open(directory, { limitBytes: 10 }))).toEqual([]);
    for (const path of others) expect(statSync(path).size).toBe(5000);
  });

  test("it is looked after again after another eighth, and open sessions are spared", async () => {
    const directory = emptyDirectory();
    await stored(directory, "old", 1500, 5);
    await stored(directory, "new", 1500, 1);
    const store = open(directory, { limitBytes: 4000 });
    append(store, "open", session(), message("1", "x".repeat(300)));
    utimesSync(dirname(fileOf(directory, "open")), 0, 0);
    expect(await ids(store)).toEqual(["new", "old", "open"]);
    utimesSync(fileOf(directory, "open"), 0, 0);
    append(store, "open", message("2", "x".repeat(700)));
    await store.list();
    expect(await ids(store)).toEqual(["new", "open"]);
    append(store, "open", message("3", "x".repeat(9000)));
    await store.list();
    expect(await ids(store)).toEqual(["open"]);

    append(store, "open", { type: "closed", at: NOW });
    append(store, "other", session(), message("1", "x".repeat(600)));
    await store.list();
    expect(await ids(store)).toEqual(["other"]);
  });

  test("a transcript takes a quarter of it; then the ledger and the index go on alone", async () => {
    const directory = emptyDirectory();
    const store = open(directory, { limitBytes: 20_000 });
    append(store, "s", session());
    for (let i = 0; i < 100; i++) {
      append(store, "s", message(`${i}`), update(`${i} ${"x".repeat(400)}`));
      if (i % 9 === 0) await store.list();
    }
    append(store, "s", { type: "info", title: "end", at: NOW });
    await store.close();
    const read = await open(directory).read("s");
    expect(read?.messages).toHaveLength(100);
    expect(read?.title).toBe("end");
    expect(read?.transcriptComplete).toBe(false);
    const titles = read?.transcript.map(({ title }) => Number(String(title).split(" ")[0])) ?? [];
    expect(titles).toEqual(titles.map((_, index) => index));
    const types = linesOf(fileOf(directory, "s")).map(({ type }) => type);
    expect(types.filter((type) => type === "transcript-cut")).toHaveLength(1);
    const kept = Buffer.byteLength(
      readFileSync(fileOf(directory, "s"), "utf8").split('{"type":"transcript-cut"')[0] ?? "",
    );
    expect(kept).toBeLessThanOrEqual(5000);
    expect(kept).toBeGreaterThan(4000);
  });

  test("an update larger than that is left out, and the transcript ends there", async () => {
    const store = open(emptyDirectory(), { limitBytes: 20_000 });
    append(store, "s", session(), update("a"), update("x".repeat(5000)), update("b"));
    expect(await store.read("s")).toStrictEqual({
      ...model("s", [session(), update("a")]),
      transcriptComplete: false,
    });
  });
});
