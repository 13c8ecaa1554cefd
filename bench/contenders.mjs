/** What is measured against each other: a name, the protocol version its client speaks, and the command for an agent. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const pathOf = (file) => fileURLToPath(new URL(file, import.meta.url));
const node = (file, flags = []) => [process.execPath, ...flags, pathOf(file)];

/** The command of the benchmark's agent. */
export const agentCommand = node("agent.mjs");

const behind = (command) => [...command, "--", ...agentCommand];

/** The product; `nodeFlags` are Node's own. */
export const bridge = (nodeFlags = [], options = []) => ({
  name: ["acp-shift", ...options.slice(0, 1)].join(" "),
  protocol: 2,
  command: behind([...node("../dist/cli.js", nodeFlags), ...options]),
});

/** The product recording every run into a file of its own, of at most 64 MiB; all are gone when this process ends. */
export function traced(nodeFlags = []) {
  const folder = mkdtempSync(join(tmpdir(), "acp-shift-bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true }));
  return bridge(nodeFlags, ["--trace", folder, "--trace-limit", "64MiB"]);
}

export const contenders = {
  direct: { name: "direct", protocol: 1, command: agentCommand },
  bytes: { name: "byte relay", protocol: 1, command: behind(node("baselines/relay-bytes.mjs")) },
  json: { name: "JSON relay", protocol: 1, command: behind(node("baselines/relay-json.mjs")) },
  /** So slow that it gets a tenth of the messages. */
  glue: { name: "SDK glue", protocol: 2, share: 0.1, command: behind(node("baselines/sdk-glue.mjs")) },
  bridge: bridge(),
  traced: traced(),
};
