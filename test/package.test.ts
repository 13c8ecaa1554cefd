// Guards what is published: the package holds what it needs to run, and nothing else, and a plain run loads little of it.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

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
    "dist/third-party-licenses.txt",
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

/** The files that are loaded with one of dist, itself among them, and the packages that come with them. */
function loadedWith(file: string, loaded = new Set<string>()): Set<string> {
  loaded.add(file);
  for (const [, target = ""] of readFileSync(join(root, file), "utf8").matchAll(
    /^(?:import|export)[^;]*?"([^"]+)";$/gm,
  )) {
    if (target.startsWith("node:")) continue;
    const found = target.startsWith(".") ? resolve("/", dirname(file), target).slice(1) : target;
    if (!loaded.has(found)) target.startsWith(".") ? loadedWith(found, loaded) : loaded.add(found);
  }
  return loaded;
}

test("a plain run loads two parts, the second while the agent starts, and no package", () => {
  expect([...loadedWith("dist/cli.js")]).toEqual(["dist/cli.js", "dist/parts/start.js"]);
  expect([...loadedWith("dist/parts/shell.js")].sort()).toEqual(
    ["core", "shell", "start"].map((part) => `dist/parts/${part}.js`),
  );
});

test.each(["v1", "v2"])("the schema of %s that is beside the bundle lacks nothing but prose", (version) => {
  const whole = createRequire(import.meta.url)(`@agentclientprotocol/sdk/schema/${version}/schema.json`);
  const withoutProse = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(withoutProse);
    if (typeof node !== "object" || node === null) return node;
    const kept = Object.entries(node).filter(
      ([key, value]) =>
        typeof value === "object" || !(key === "description" || key === "title" || key.startsWith("x-docs-")),
    );
    return Object.fromEntries(kept.map(([key, value]) => [key, withoutProse(value)]));
  };
  const beside = JSON.parse(readFileSync(`${root}/dist/schema/${version}/schema.json`, "utf8"));
  expect(beside).toEqual(withoutProse(whole));
});

test("an installation that lacks a part says so and ends with status 1, the agent with it", () => {
  const folder = mkdtempSync(join(tmpdir(), "acp-shift-damaged-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const part of ["dist", "config", "package.json"])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  rmSync(join(folder, "dist/parts/core.js"));
  // An agent that stays, whatever becomes of its input: while it runs, so do we.
  const agent = [process.execPath, "-e", "setInterval(() => {}, 1000)"];
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, "dist/cli.js"), "--", ...agent], {
    encoding: "utf8",
    env: { ...process.env, ACP_SHIFT_LOG_LEVEL: "silent" },
  });
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toContain("core.js");
});
