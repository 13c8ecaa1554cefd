// Guards process life: a client that stops reading our stderr loses what we say there, and nothing else.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const cli = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

test("with stderr closed a noisy agent is bridged, and the end of input ends everything", async () => {
  const agent = `
    const { createInterface } = require("node:readline");
    const noise = setInterval(() => console.error("noise"), 5);
    createInterface({ input: process.stdin }).on("line", (line) => {
      const { id } = JSON.parse(line);
      for (let i = 0; i < 1000; i++) console.error("noise");
      console.log(JSON.stringify({ jsonrpc: "2.0", id, result: { protocolVersion: 1, agentCapabilities: {} } }));
    }).on("close", () => clearInterval(noise));`;
  const shift = spawn(process.execPath, [cli, "--", process.execPath, "-e", agent], { stdio: "pipe" });
  shift.stderr.destroy();
  const exited = once(shift, "exit");
  const hello = { protocolVersion: 2, info: { name: "test", version: "1" }, capabilities: {} };
  shift.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: hello })}\n`);
  const [answer] = (await once(shift.stdout, "data")) as [Buffer];
  expect(JSON.parse(answer.toString())).toMatchObject({ id: 1, result: { protocolVersion: 2 } });
  shift.stdin.end();
  expect(await exited).toEqual([0, null]);
});
