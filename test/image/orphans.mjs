// An agent for the image's tests. It leaves a process behind that is nobody's child any more and ends at once; says on
// stderr `orphan PID` when that has happened. Then it waits for the end of its input.
import { spawn } from "node:child_process";

const orphan = `process.stderr.write("orphan " + process.pid + "\\n")`;
const parent = `require("node:child_process")
  .spawn(process.execPath, ["-e", ${JSON.stringify(`setTimeout(() => { ${orphan} }, 200)`)}], { detached: true, stdio: ["ignore", "ignore", "inherit"] })
  .unref()`;
spawn(process.execPath, ["-e", parent], { stdio: ["ignore", "ignore", "inherit"] });
process.stdin.resume().on("end", () => process.exit(0));
