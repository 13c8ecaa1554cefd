// Guards that signals and uncaught errors are heard, every one of them, and that none ends the process by itself.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { built, hostFile, PATIENCE } from "./processes.ts";

let module = "";
beforeAll(() => {
  module = built("transport/signals");
});

async function startHost(fault = "nothing") {
  const child = spawn(process.execPath, [hostFile("shutdown.mjs"), module, fault], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exit = once(child, "exit");
  let text = "";
  child.stdout?.setEncoding("utf8").on("data", (chunk) => {
    text += chunk;
  });
  const lines = () =>
    text
      .split("\n")
      .slice(0, -1)
      .map((line) => line.trim());
  await vi.waitFor(() => expect(lines()).toContain("ready"), PATIENCE);
  return { child, exit, lines };
}

async function heard(lines: () => string[], count: number): Promise<string[]> {
  await vi.waitFor(() => expect(lines()).toHaveLength(count + 1), PATIENCE);
  return lines().slice(1);
}

test.runIf(process.platform !== "win32")("every signal is heard, also the second of a kind", async () => {
  const { exit, child, lines } = await startHost();
  const signals = ["SIGTERM", "SIGTERM", "SIGINT"] as const;
  for (const [i, signal] of signals.entries()) {
    child.kill(signal);
    await heard(lines, i + 1);
  }
  expect(await heard(lines, 3)).toEqual(signals);
  expect(await exit).toEqual([0, null]);
});

test.runIf(process.platform !== "win32")("the hang-up of a terminal is heard", async () => {
  const { child, lines } = await startHost();
  child.kill("SIGHUP");
  expect(await heard(lines, 1)).toEqual(["SIGHUP"]);
});

test("errors nobody caught are heard, and the process lives on", async () => {
  const { exit, lines } = await startHost("throw");
  expect(await heard(lines, 3)).toEqual(["uncaught thrown 0", "uncaught thrown 1", "uncaught thrown 2"]);
  expect(await exit).toEqual([0, null]);
});

test("rejections nobody handled are heard as errors", async () => {
  const { exit, lines } = await startHost("reject");
  expect(await heard(lines, 3)).toEqual(["uncaught rejected 0", "uncaught rejected 1", "uncaught rejected 2"]);
  expect(await exit).toEqual([0, null]);
});
