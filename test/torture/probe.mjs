// Loaded with --import: on SIGUSR2, after a garbage collection, appends what the process holds to the file PROBE_FILE names.
import { appendFileSync, readdirSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");

process.on("SIGUSR2", () => {
  collect();
  const timers = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const { heapUsed, rss, external } = process.memoryUsage();
  const files = readdirSync("/proc/self/fd").length;
  appendFileSync(process.env.PROBE_FILE, `${JSON.stringify({ heapUsed, rss, external, files, timers })}\n`);
});
