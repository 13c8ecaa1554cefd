// Packages the tests need beside the project's own: installed into .cache, each in a folder of its own.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The folder of an npm package in exactly this version, installed when it is not there yet. */
export function packageFolder(name, version) {
  const home = join(root, ".cache", `${name}-${version}`);
  const folder = join(home, "node_modules", name);
  if (!existsSync(join(home, "installed"))) {
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, "package.json"), '{ "private": true }\n');
    run("npm", ["install", "--no-audit", "--no-fund", `${name}@${version}`], home);
    writeFileSync(join(home, "installed"), "");
  }
  return folder;
}

/** The program of a Node version, from the npm package `node`. */
export function nodeBinary(version) {
  return join(packageFolder("node", version), "bin", process.platform === "win32" ? "node.exe" : "node");
}

/** Runs a command to its end; a failure of it is the end of this program too. */
export function run(command, args, cwd, env = process.env) {
  const { status, error } = spawnSync(command, args, { cwd, env, stdio: "inherit" });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
