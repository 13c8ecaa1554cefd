// Guards what is published: the package holds what it needs to run, and nothing else.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const manifest = JSON.parse(readFileSync(`${root}/package.json`, "utf8"));

test("npm pack takes the program, its configuration and its documents", () => {
  const { stdout, stderr } = spawnSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: root,
    encoding: "utf8",
  });
  expect(stdout, stderr).not.toBe("");
  const report = JSON.parse(stdout);
  const [{ files }] = Array.isArray(report) ? report : (Object.values(report) as [{ files: { path: string }[] }]);
  const paths: string[] = files.map(({ path }: { path: string }) => path);
  for (const needed of [
    "package.json",
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    "dist/cli.js",
    "dist/demo/agent.js",
    "dist/viewer/page.html",
    "config/default.json",
    "config/trace.schema.json",
    "docs/trace.md",
  ])
    expect(paths).toContain(needed);
  expect(
    paths.filter((path) => !/^(dist|config|docs)\/|^(package\.json|LICENSE|README\.md|CHANGELOG\.md)$/.test(path)),
  ).toEqual([]);
  expect(paths.filter((path) => /\.(ts|map)$/.test(path))).toEqual([]);
});

test("every dependency is justified in docs/dependencies.md, and nothing else is", () => {
  const text = readFileSync(`${root}/docs/dependencies.md`, "utf8");
  const rows = text.split("\n").filter((line) => line.startsWith("| `"));
  const listed = rows.flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, name]) => name));
  const used = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.devDependencies)];
  expect(listed.toSorted()).toEqual(used.toSorted());
});

test("the protocol package is pinned to one version", () => {
  expect(manifest.dependencies["@agentclientprotocol/sdk"]).toMatch(/^\d+\.\d+\.\d+$/);
});

test("the command is executable as it is installed", () => {
  expect(readFileSync(`${root}/dist/cli.js`, "utf8").startsWith("#!/usr/bin/env node\n")).toBe(true);
  expect(manifest.bin).toEqual({ "acp-shift": "dist/cli.js" });
});
