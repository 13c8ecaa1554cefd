// Guards SECURITY.md, "Nothing outside its directories": whatever an agent calls itself and its sessions, the state directory's
// files stay in it, one for each session, and nothing else is written, read or deleted.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";
import { agentDirectory, isAgentDirectory, isSessionFile, sessionFileName } from "../../src/store/names.ts";
import { emptyDirectory, filesIn, open } from "../store/directories.ts";

const NAMES = [
  "../victim",
  "../../victim",
  "..",
  ".",
  "",
  "/etc/passwd",
  "C:\\Windows\\system.ini",
  "\\\\server\\share",
  "a/b/c",
  "victim\0.txt",
  "%2e%2e%2fvictim",
  "..\u2215victim",
  "con",
  "nul.jsonl",
  "-rf",
  "~",
  "$HOME",
  "x".repeat(10_000),
  "\ud800",
  "A",
  "a",
  "__proto__",
];

test.each(NAMES.map((name) => [name.slice(0, 40), name]))("%j", async (_, name) => {
  const around = emptyDirectory();
  const directory = join(around, "state");
  writeFileSync(join(around, "victim"), "keep me");
  for (const agent of ["agent", name]) {
    const store = open(directory, { agent });
    store.append(name, { type: "session", cwd: "/work", at: "2026-01-01T00:00:00.000Z" });
    expect((await store.list()).map(({ sessionId }) => sessionId)).toEqual([name]);
    await store.forget(name);
    store.append(name, { type: "session", cwd: "/work", at: "2026-01-01T00:00:00.000Z" });
    await store.close();
  }
  expect(readdirSync(around).sort()).toEqual(["state", "victim"]);
  expect(readFileSync(join(around, "victim"), "utf8")).toBe("keep me");
  for (const file of filesIn(directory)) {
    const [agent = "", session = "", ...more] = file.split("/");
    expect([isAgentDirectory(agent), isSessionFile(session), more]).toEqual([true, true, []]);
  }
});

test("names are short, plain, and each its own", () => {
  const names = NAMES.map(sessionFileName);
  expect(new Set(names).size).toBe(NAMES.length);
  for (const name of names) expect(name).toMatch(/^[a-z0-9-]{16,60}\.jsonl$/);
  for (const name of NAMES) expect(dirname(agentDirectory(resolve("/state"), name))).toBe(resolve("/state"));
});

test("files that are not its own are left alone", async () => {
  const directory = emptyDirectory();
  const own = agentDirectory(directory, "agent");
  mkdirSync(own, { recursive: true });
  const others = [join(directory, "notes.txt"), join(own, "notes.jsonl"), join(own, "..jsonl")];
  for (const file of others) writeFileSync(file, "x".repeat(5000));
  const store = open(directory, { limitBytes: 100 });
  for (const id of ["a", "b", "c"]) {
    store.append(id, { type: "session", cwd: "/work", at: "2026-01-01T00:00:00.000Z" });
    store.append(id, { type: "closed", at: "2026-01-01T00:00:00.000Z" });
  }
  await store.close();
  expect(others.map((file) => existsSync(file))).toEqual([true, true, true]);
});
