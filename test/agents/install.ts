// Installs an agent from npm into a directory outside the project: once, whole or not at all, and in exactly the version
// that was asked for.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import envPaths from "env-paths";
import { type Agent, NODE_22 } from "./registry.ts";

/** Where agents are installed and run: `TEST_AGENTS_DIR`, else the user's cache directory. */
export const ROOT = process.env["TEST_AGENTS_DIR"] ?? join(envPaths("acp-shift", { suffix: "" }).cache, "agents");

export interface Installed {
  /** The path of a program of the agent's packages. */
  program(name: string): string;
  /** The `PATH` under which it runs on the Node it needs. */
  path: string;
}

/**
 * Installs what the agent needs, unless it is there.
 * @throws Error that says what npm said, or which version it installed instead of the one asked for
 */
export function install(agent: Agent): Installed {
  const programs = join(installed(agent.name, agent.packages, agent.node22), "node_modules", ".bin");
  return { program: (name) => join(programs, name), path: pathFor(agent.node22) };
}

function pathFor(node22: boolean | undefined): string {
  const system = process.env["PATH"] ?? "";
  if (!node22) return system;
  return [join(installed("node", { node: NODE_22 }), "node_modules", "node", "bin"), system].join(delimiter);
}

/** The directory with exactly these packages. */
function installed(name: string, packages: Readonly<Record<string, string>>, node22?: boolean): string {
  const directory = join(ROOT, [name, ...Object.values(packages)].join("-"));
  if (existsSync(directory)) return directory;
  mkdirSync(ROOT, { recursive: true });
  const making = mkdtempSync(join(ROOT, ".installing-"));
  try {
    writeFileSync(join(making, "package.json"), JSON.stringify({ private: true, dependencies: packages }));
    // npm chooses dependencies that suit the Node it runs on: that must be the agent's.
    const env = { ...process.env, PATH: pathFor(node22) };
    const options = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];
    const { status, error, stderr } = spawnSync("npm", ["install", ...options], { cwd: making, env, encoding: "utf8" });
    if (error !== undefined) throw error;
    if (status !== 0) throw new Error(`npm could not install ${named(packages)}; is its registry in reach?\n${stderr}`);
    for (const [dependency, version] of Object.entries(packages)) {
      const file = join(making, "node_modules", dependency, "package.json");
      const got: unknown = JSON.parse(readFileSync(file, "utf8")).version;
      if (got !== version) throw new Error(`npm installed ${dependency}@${got} where ${version} was asked for`);
    }
    moveInto(making, directory);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
  return directory;
}

/** Another run may have come first: what is there is the same. */
function moveInto(making: string, directory: string): void {
  try {
    renameSync(making, directory);
  } catch (error) {
    if (!existsSync(directory)) throw error;
  }
}

function named(packages: Readonly<Record<string, string>>): string {
  return Object.entries(packages)
    .map(([name, version]) => `${name}@${version}`)
    .join(" and ");
}
