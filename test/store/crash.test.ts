// Guards that the state directory survives a kill at any moment and is safe for several processes at once: what was
// acknowledged is there, what is there is a prefix of what was appended, and no line of one process harms another's.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import type { StoredSession } from "../../src/store/session-file.ts";
import { emptyDirectory, fileOf, linesOf, open } from "./directories.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const out = `${root}.cache/test-store`;

// A process of its own needs the store as JavaScript.
beforeAll(() => {
  const options = ["--ignoreConfig", "--target", "es2023", "--module", "nodenext", "--types", "node", "--skipLibCheck"];
  const directories = ["--rewriteRelativeImportExtensions", "--rootDir", `${root}src`, "--outDir", out];
  const compiler = `${root}node_modules/typescript/bin/tsc`;
  execFileSync(process.execPath, [compiler, ...options, ...directories, `${root}src/store/store.ts`], { cwd: root });
});

/** A process that appends records `first`, `first + 1`, … to each of the sessions. */
function startWriter(directory: string, name: string, sessions: string[], first: number, count: number) {
  const module = new URL(`file://${out}/store/store.js`).href;
  const host = `${root}test/fixtures/hosts/store-writer.mjs`;
  const child = spawn(process.execPath, [host, module, directory, name, sessions.join(","), `${first}`, `${count}`], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exit = once(child, "exit");
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const said = async (): Promise<string | undefined> => (await lines.next()).value;
  return { child, exit, said, go: () => child.stdin.write("go\n") };
}

/** The numbers of a writer's records, as the ledger and as the transcript have them. */
function numbersOf(session: StoredSession | undefined, name: string) {
  const numbers = (names: unknown[]) =>
    names
      .map((each) => String(each).split(" "))
      .filter(([writer]) => writer === name)
      .map(([, number]) => Number(number));
  return {
    ledger: numbers((session?.messages ?? []).map(({ id }) => id)),
    transcript: numbers((session?.transcript ?? []).map(({ title }) => title)),
  };
}

const upTo = (end: number) => Array.from({ length: end }, (_, index) => index);

test.runIf(process.platform !== "win32")(
  "a writer killed at any moment leaves a prefix, and the next goes on",
  async () => {
    const directory = emptyDirectory();
    const moments = fc.sample(fc.record({ acknowledgements: fc.nat(6), ticks: fc.nat(100) }), 24);
    let next = 0;
    for (const [index, { acknowledgements, ticks }] of moments.entries()) {
      // Eight kills in the life of each session.
      const sessionId = `s${Math.floor(index / 8)}`;
      if (index % 8 === 0) next = 0;
      const writer = startWriter(directory, "w", [sessionId], next, 1_000_000);
      expect(await writer.said()).toBe("ready");
      writer.go();
      let acknowledged = next - 1;
      for (let i = 0; i < acknowledgements; i++) acknowledged = Number(await writer.said());
      for (let i = 0; i < ticks; i++) await new Promise((resolve) => setImmediate(resolve));
      writer.child.kill("SIGKILL");
      expect(await writer.exit).toEqual([null, "SIGKILL"]);

      const session = await open(directory).read(sessionId);
      const { ledger, transcript } = numbersOf(session, "w");
      // Each number is appended to the ledger first and then to the transcript.
      expect(transcript).toEqual(upTo(transcript.length));
      expect(ledger).toEqual(upTo(ledger.length));
      expect([0, 1]).toContain(ledger.length - transcript.length);
      expect(transcript.length).toBeGreaterThan(acknowledged);
      expect(session?.transcriptComplete ?? true).toBe(true);
      next = transcript.length;
    }
  },
  180_000,
);

test("two writers of the same session and of their own lose and tear nothing", async () => {
  const directory = emptyDirectory();
  const count = 1500;
  const writers = ["a", "b"].map((name) => startWriter(directory, name, ["shared", `own-${name}`], 0, count));
  for (const writer of writers) expect(await writer.said()).toBe("ready");
  for (const writer of writers) writer.go();
  const exits = await Promise.all(
    writers.map(async (writer) => {
      while ((await writer.said()) !== undefined);
      return writer.exit;
    }),
  );
  expect(exits).toEqual([
    [0, null],
    [0, null],
  ]);

  const store = open(directory);
  const shared = await store.read("shared");
  for (const name of ["a", "b"]) {
    const whole = { ledger: upTo(count), transcript: upTo(count) };
    expect(numbersOf(shared, name)).toEqual(whole);
    expect(numbersOf(await store.read(`own-${name}`), name)).toEqual(whole);
    expect(linesOf(fileOf(directory, `own-${name}`))).toHaveLength(2 * count + 2);
  }
  // Every line is whole, and the two really took turns.
  const writersInOrder = linesOf(fileOf(directory, "shared")).flatMap(({ id }) =>
    id === undefined ? [] : String(id)[0],
  );
  expect(writersInOrder).toHaveLength(2 * count);
  const turns = writersInOrder.filter((writer, index) => writer !== writersInOrder[index - 1]).length;
  expect(turns).toBeGreaterThan(2);
  expect((await store.list()).map(({ sessionId }) => sessionId).sort()).toEqual(["own-a", "own-b", "shared"]);
});

test("a writer goes on while another process deletes its file over and over", async () => {
  const directory = emptyDirectory();
  const writer = startWriter(directory, "w", ["s"], 0, 2000);
  expect(await writer.said()).toBe("ready");
  writer.go();
  const store = open(directory);
  let deleted = 0;
  for (let said = await writer.said(); said !== undefined; said = await writer.said()) {
    await store.forget("s");
    deleted++;
  }
  expect(await writer.exit).toEqual([0, null]);
  expect(deleted).toBe(100);

  const session = await store.read("s");
  if (session === undefined) return; // deleted after the last record
  const { ledger, transcript } = numbersOf(session, "w");
  expect(ledger).toEqual(upTo(2000).slice(2000 - ledger.length));
  expect(transcript).toEqual(ledger);
  expect(session.transcriptComplete).toBe(false);
});
