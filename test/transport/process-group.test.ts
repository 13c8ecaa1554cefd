// Guards that a process group counts as gone when nothing of it runs any more: neither sooner, nor only when the dead were
// collected.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test, vi } from "vitest";
import { processGroup } from "../../src/transport/process-group.ts";
import { agentFile, gone, isRunning, PATIENCE } from "./processes.ts";

test.runIf(process.platform !== "win32")(
  "a group lives until its last process ends, also after its leader",
  async () => {
    const leader = spawn(process.execPath, [agentFile("exits-before-its-child.mjs")], {
      stdio: ["ignore", "pipe", "ignore"],
      detached: true,
    });
    const group = processGroup(leader.pid ?? 0);
    const exit = once(leader, "exit");
    let text = "";
    leader.stdout.on("data", (chunk) => {
      text += chunk;
    });
    await vi.waitFor(() => expect(text).toMatch(/^running \d+\n/), PATIENCE);
    await exit;
    const child = Number.parseInt(text.slice("running ".length), 10);
    expect(isRunning(child)).toBe(true);
    expect(group.alive()).toBe(true);
    group.signal("SIGKILL");
    await gone(child);
    if (process.platform === "linux") expect(group.alive()).toBe(false);
    await vi.waitFor(() => expect(group.alive()).toBe(false), PATIENCE);
    group.signal("SIGKILL");
  },
);
