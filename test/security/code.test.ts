// Guards SECURITY.md, "Nothing of a peer's is run": the source, what is built from it and the packages it loads make no code
// out of text, and start nothing through a shell but a hosted terminal's command line.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAst } from "rolldown/parseAst";
import { expect, test } from "vitest";
import { isObject } from "../../src/protocol/json.ts";
import { filesIn, ROOT, syntaxOf } from "./source.ts";

/** Files that may start processes, and what. */
const STARTS: Record<string, string> = {
  "commands/browser.ts": "the browser, for trace view",
  "commands/demo.ts": "the demo's own programs",
  "commands/passthrough-tty.ts": "the agent, on the person's terminal",
  "services/command.ts": "hosted terminals",
  "transport/agent-process.ts": "the agent (types only)",
  "transport/process-group.ts": "taskkill, on Windows",
  "transport/spawn.ts": "the one way to start a program",
};

/** What makes code out of text, by name. */
const CODE_FROM_TEXT = new Set(["eval", "Function", "execScript"]);

test("no eval, no Function, no timer with text, no vm, in the source", () => {
  const found: string[] = [];
  for (const { file, type, node, text } of syntaxOf("src")) {
    const { callee, source, arguments: given } = node;
    const name = isObject(callee) ? callee["name"] : undefined;
    if ((type === "CallExpression" || type === "NewExpression") && CODE_FROM_TEXT.has(String(name)))
      found.push(`${file}: ${text}`);
    if (/^set(Timeout|Interval|Immediate)$/.test(String(name)) && Array.isArray(given) && given[0]?.type === "Literal")
      found.push(`${file}: ${text}`);
    if (type === "ImportDeclaration" && isObject(source) && /^(node:)?vm$/.test(String(source["value"])))
      found.push(`${file}: ${text}`);
  }
  expect(found).toEqual([]);
});

test("nor in what is built", () => {
  const files = filesIn("dist", ".js");
  expect(files.length).toBeGreaterThan(40);
  const found = files.filter((file) => {
    const text = readFileSync(join(ROOT, "dist", file), "utf8");
    // By the parser, for words in comments and texts do not count.
    return /\beval\b|\bFunction\s*\(/.test(JSON.stringify(parseAst(text), callsOnly));
  });
  expect(found).toEqual([]);
});

/** Leaves of a syntax tree only what is called. */
function callsOnly(key: string, value: unknown): unknown {
  if (key === "callee" && isObject(value) && CODE_FROM_TEXT.has(String(value["name"]))) return `${value["name"]}(`;
  return key === "value" || key === "raw" || key === "comments" ? undefined : value;
}

test("processes are started in few places, and never with `shell`", () => {
  const starts = new Set<string>();
  const shells: string[] = [];
  for (const { file, type, node, text } of syntaxOf("src")) {
    const source = isObject(node["source"]) ? node["source"]["value"] : undefined;
    if (
      (type === "ImportDeclaration" || type === "ImportExpression") &&
      /^(node:child_process|cross-spawn)$/.test(String(source))
    )
      starts.add(file);
    const key = isObject(node["key"]) ? node["key"]["name"] : undefined;
    if (type === "Property" && key === "shell" && node["shorthand"] !== true) shells.push(`${file}: ${text}`);
    const imported = isObject(node["imported"]) ? node["imported"]["name"] : undefined;
    if (type === "ImportSpecifier" && /^exec(Sync)?$/.test(String(imported))) shells.push(`${file}: ${text}`);
  }
  expect([...starts].sort()).toEqual(Object.keys(STARTS).sort());
  expect(shells).toEqual([]);
});

test("a shell's name stands in one file: for the command lines of hosted terminals", () => {
  const files = new Set<string>();
  for (const { file, type, node } of syntaxOf("src"))
    if (type === "Literal" && /^(\/bin\/)?(ba|z|da)?sh$|^cmd(\.exe)?$|powershell/.test(String(node["value"])))
      files.add(file);
  expect([...files]).toEqual(["services/command-line.ts"]);
});

test("no package that is installed with it runs a script when it is installed", () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
  const runs = Object.entries<{ dev?: boolean; hasInstallScript?: boolean }>(packages)
    .filter(([name, { dev, hasInstallScript }]) => name !== "" && dev !== true && hasInstallScript === true)
    .map(([name]) => name);
  expect(runs).toEqual([]);
});

test("every package comes from the registry, with its checksum", () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
  const wrong = Object.entries<{ resolved?: string; integrity?: string; link?: boolean }>(packages)
    .filter(([name, { integrity }]) => name !== "" && integrity === undefined)
    .map(([name]) => name);
  expect(wrong).toEqual([]);
});
