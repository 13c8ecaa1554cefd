// Guards the log: one JSON record per event on stderr or in a private file, nothing on stdout, secrets masked, nothing
// lost at exit, nothing loaded for a log that stays empty, and no harm done when nobody reads it.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { UsageError } from "../src/config/usage-error.ts";
import { createLogger } from "../src/logging.ts";

let folder: string;
let logFile: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "acp-shift-log-"));
  logFile = join(folder, "log.jsonl");
});
afterEach(() => rmSync(folder, { recursive: true }));

const records = () =>
  readFileSync(logFile, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));

const built = new URL("../build/logging.js", import.meta.url).href;

/** Runs a script in a process of its own, with `log` at level warn writing to stderr. */
const script = (body: string) => [
  "--input-type=module",
  "--eval",
  `import { createLogger } from ${JSON.stringify(built)};
   const log = createLogger({ logLevel: "warn", logFile: undefined });
   ${body}`,
];

test("a record is level, time, event and the details", () => {
  const log = createLogger({ logLevel: "trace", logFile });
  log.info("lost", { what: "a field", count: 2 });
  log.trace("bare");
  expect(records()).toEqual([
    { level: "info", time: expect.any(String), event: "lost", what: "a field", count: 2 },
    { level: "trace", time: expect.any(String), event: "bare" },
  ]);
  expect(new Date(records()[0].time).toISOString()).toBe(records()[0].time);
});

test("details cannot take the place of the record's own fields", () => {
  createLogger({ logLevel: "info", logFile }).info("e", { level: "l", time: "t", event: "x" });
  expect(readFileSync(logFile, "utf8").match(/"(level|time|event)":/g)).toHaveLength(3);
  expect(records()).toMatchObject([{ level: "info", event: "e", level_: "l", time_: "t", event_: "x" }]);
});

test("secrets are masked", () => {
  createLogger({ logLevel: "info", logFile }).info("started", {
    env: [{ name: "A", value: "hunter2" }],
    apiKey: "hunter2",
  });
  expect(readFileSync(logFile, "utf8")).not.toContain("hunter2");
});

test.each([
  ["trace", ["trace", "debug", "info", "warn", "error"]],
  ["warn", ["warn", "error"]],
  ["error", ["error"]],
  ["fatal", []],
  ["silent", []],
] as const)("level %s writes %j", (logLevel, written) => {
  const log = createLogger({ logLevel, logFile });
  for (const level of ["trace", "debug", "info", "warn", "error"] as const) log[level]("e");
  expect(records().map(({ level }) => level)).toEqual(written);
});

test("what JSON cannot say does not stop it", () => {
  const loop: Record<string, unknown> = {};
  loop["loop"] = loop;
  createLogger({ logLevel: "info", logFile }).info("odd", { loop, big: 1n, call: () => 1, error: new Error("bad") });
  expect(records()).toMatchObject([{ event: "odd", big: "1", error: { message: "bad" } }]);
});

describe.skipIf(process.platform === "win32")("the log file", () => {
  test("is only for its owner", () => {
    createLogger({ logLevel: "info", logFile }).info("e");
    expect(statSync(logFile).mode & 0o777).toBe(0o600);
  });

  test("that was open to others is appended to, and no longer is", () => {
    writeFileSync(logFile, '{"old":1}\n');
    chmodSync(logFile, 0o644);
    createLogger({ logLevel: "info", logFile }).info("e");
    expect(statSync(logFile).mode & 0o777).toBe(0o600);
    expect(records()).toMatchObject([{ old: 1 }, { event: "e" }]);
  });

  test("may be a device", () => {
    const mode = statSync("/dev/null").mode;
    createLogger({ logLevel: "info", logFile: "/dev/null" }).info("e");
    expect(statSync("/dev/null").mode).toBe(mode);
  });

  test("in a folder that does not exist is an error, and none is made", () => {
    const lost = join(folder, "no", "log");
    const message = `cannot log to ${lost}: its folder does not exist`;
    expect(() => createLogger({ logLevel: "silent", logFile: lost })).toThrow(new UsageError(message));
    expect(existsSync(join(folder, "no"))).toBe(false);
  });

  test("that is a folder is an error", () => {
    expect(() => createLogger({ logLevel: "info", logFile: folder })).toThrow(
      `cannot log to ${folder}: it is a folder`,
    );
  });
});

describe("a process that logs to stderr", () => {
  const run = (body: string) => spawnSync(process.execPath, script(body), { encoding: "utf8" });

  test("loses nothing when it ends at once, and writes nothing to stdout", () => {
    const { stdout, stderr } = run(
      'for (let i = 0; i < 200; i++) log.warn("e", { i, text: "x".repeat(100) }); process.exit(0);',
    );
    const seen = stderr
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).i);
    expect(seen).toEqual(Array.from({ length: 200 }, (_, index) => index));
    expect(stdout).toBe("");
  });

  test("loads pino for the first record it writes, not before", () => {
    const { stdout, stderr } = run(`
      const { createRequire } = await import("node:module");
      const loaded = () => Object.keys(createRequire(${JSON.stringify(built)}).cache).some((file) => /[\\\\/]pino[\\\\/]/.test(file));
      log.info("below the level");
      const before = loaded();
      log.warn("e");
      console.log(before, loaded());`);
    expect({ stdout, stderr }).toMatchObject({
      stdout: "false true\n",
      stderr: expect.stringContaining('"event":"e"'),
    });
  });

  const goesOn = async (child: ChildProcess) => {
    const [code, signal] = await once(child, "exit");
    expect({ code, signal }).toEqual({ code: 7, signal: null });
  };
  const flood = 'for (let i = 0; i < 300; i++) log.warn("e", { text: "x".repeat(1000) }); process.exitCode = 7;';

  test("goes on when stderr was closed", async () => {
    const child = spawn(
      process.execPath,
      script(`process.stdin.once("data", () => { ${flood} process.stdin.destroy(); });`),
      {
        stdio: ["pipe", "ignore", "pipe"],
      },
    );
    child.stderr.destroy();
    child.stdin.end("go\n");
    await goesOn(child);
  });

  test("goes on when nobody reads stderr", async () => {
    const child = spawn(process.execPath, script(flood), { stdio: ["ignore", "ignore", "pipe"] });
    await goesOn(child);
  });
});

test("the built module is there", () => {
  expect(existsSync(fileURLToPath(built))).toBe(true);
});
