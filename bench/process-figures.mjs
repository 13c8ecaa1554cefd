/** What the system says of a running process. Known on Linux only: elsewhere every figure is undefined. */
import { readdirSync, readFileSync } from "node:fs";

/** Processor time the process has used so far, in µs. */
export function cpuMicroseconds(pid) {
  return onLinux(() => {
    let nanoseconds = 0;
    for (const thread of readdirSync(`/proc/${pid}/task`))
      nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ")[0]);
    return nanoseconds / 1000;
  });
}

/** Resident memory now, in MiB. */
export const residentMiB = (pid) => statusMiB(pid, "VmRSS");

/** The most resident memory the process ever had, in MiB. */
export const peakMiB = (pid) => statusMiB(pid, "VmHWM");

function statusMiB(pid, field) {
  return onLinux(() => {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)[1]) / 1024;
  });
}

function onLinux(read) {
  return process.platform === "linux" ? read() : undefined;
}
