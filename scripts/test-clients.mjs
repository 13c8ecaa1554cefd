// Runs the tests with real clients, in the versions named here. acpx needs Node 22, whose own runner runs its tests.
import { join } from "node:path";
import { nodeBinary, packageFolder, root, run } from "./installed.mjs";

const NODE = "22.23.3";
const ACPX = "0.19.1";

process.stdout.write(`\na conversation with acpx ${ACPX} on Node ${NODE}\n`);
const acpx = join(packageFolder("acpx", ACPX), "dist", "cli.js");
run(nodeBinary(NODE), ["--test", join("test", "clients", "acpx.ts")], root, { ...process.env, ACPX: acpx });
