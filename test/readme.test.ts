// Guards the README: every command in it is run, and what it says of files and options is so.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const readme = readFileSync(`${root}/README.md`, "utf8");
const commands = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) => (block ?? "").trim().split("\n"));
const ciScript = readFileSync(`${root}/.ci/run`, "utf8");

/** How each command of the README is run; `npm install` has brought this test about. */
const RUN: Record<string, (command: string) => void> = {
  "npm install && npm run demo": () => succeeds("npm", ["run", "demo"]),
  // This very run; that CI calls it is what can be checked.
  "npm install && npm test": (command) => expect(ciScript.split("\n")).toContain(command),
  "node dist/cli.js doctor -- node dist/demo/agent.js": () =>
    succeeds("node", ["dist/cli.js", "doctor", "--", "node", "dist/demo/agent.js"]),
  "node dist/cli.js --help": () => succeeds("node", ["dist/cli.js", "--help"]),
};

function succeeds(command: string, args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: "utf8" });
  expect(status, stderr).toBe(0);
  return stdout;
}

describe("README", () => {
  test.each(commands)("%s", (command) => {
    expect(Object.keys(RUN)).toContain(command);
    RUN[command]?.(command);
  });

  test("`npm run demo -- --both` works", () => {
    expect(readme).toContain("npm run demo -- --both");
    succeeds("npm", ["run", "demo", "--", "--both"]);
  });

  test("the files it links to exist", () => {
    const links = [...readme.matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, path]) => path ?? "");
    expect(links.filter((path) => !existsSync(`${root}/${path}`))).toEqual([]);
    expect(links.length).toBeGreaterThan(5);
  });

  test("the options it names are options", () => {
    const help = succeeds("node", ["dist/cli.js", "--help"]);
    const options = new Set([...readme.matchAll(/`[^`]*?(--[a-z][a-z-]+)/g)].map(([, option]) => option ?? ""));
    for (const option of ["--acp", "--both"]) options.delete(option);
    expect([...options].filter((option) => !help.includes(option))).toEqual([]);
  });

  test("the editor's settings are JSON", () => {
    const [, json] = /```json\n([\s\S]*?)```/.exec(readme) ?? [];
    expect(JSON.parse(json ?? "")).toHaveProperty("agent_servers");
  });
});
