/**
 * yes LINE | node bench/bare.mjs BYTES | cat >/dev/null
 *
 * What resident memory any Node process grows by in a flood: reads so many bytes of stdin into one buffer, writes them to
 * stdout, and nothing else. Tells on stderr, in MiB.
 */
import { readSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { residentMiB } from "./process-figures.mjs";

const buffer = Buffer.allocUnsafeSlow(64 * 1024);
residentMiB(process.pid);
await sleep(1000);
const idle = residentMiB(process.pid);
for (let left = Number(process.argv[2]); left > 0; ) {
  const bytes = readSync(0, buffer);
  if (bytes === 0) break;
  for (let written = 0; written < bytes; ) written += writeSync(1, buffer, written, bytes - written);
  left -= bytes;
}
await sleep(1000);
const growth = residentMiB(process.pid) - idle;
process.stderr.write(`Node ${process.version}: ${idle.toFixed(1)} idle, ${growth.toFixed(1)} more after it\n`);
process.exit(0);
