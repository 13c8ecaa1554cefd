// Makes dist/: few files in place of many, for each one costs a start of the program half a millisecond. What a plain run
// needs is in two: parts/start.js until the agent is started, parts/core.js while it starts. Every other command is a
// part of its own. All of them lie as deep below the package's root as their sources do below it, so that a path
// relative to `import.meta.url` means the same in both.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = fileURLToPath(new URL("..", import.meta.url));
const { dependencies, optionalDependencies } = JSON.parse(readFileSync(`${root}/package.json`, "utf8"));

/** Packages that are part of the bundle, with what they need. All others are loaded by whoever needs them. */
const BUNDLED = ["diff", "env-paths", "yargs"];
const separate = Object.keys({ ...dependencies, ...optionalDependencies }).filter((name) => !BUNDLED.includes(name));
const isSeparate = (specifier) => separate.some((name) => specifier === name || specifier.startsWith(`${name}/`));

rmSync(`${root}/dist`, { recursive: true, force: true });
const bundle = await rolldown({
  cwd: root,
  input: { cli: "src/cli.ts", "demo/agent": "src/demo/agent.ts" },
  platform: "node",
  external: (specifier) => specifier.startsWith("node:") || isSeparate(specifier),
});
const { output } = await bundle.write({
  dir: "dist",
  format: "esm",
  chunkFileNames: "parts/[name].js",
  comments: false,
  codeSplitting: {
    groups: [
      {
        name: "start",
        test: /[\\/]src[\\/](config[\\/](command-line|load)|logging|commands[\\/](run|agent))\./,
        priority: 2,
      },
      { name: "core", test: /[\\/]src[\\/]commands[\\/]shell\./, priority: 1 },
    ],
  },
});
await bundle.close();

for (const version of ["v1", "v2"]) {
  const schema = readFileSync(`${root}/node_modules/@agentclientprotocol/sdk/schema/${version}/schema.json`, "utf8");
  const isProse = (key, value) => /^(description|title|x-docs-.*)$/.test(key) && typeof value !== "object";
  mkdirSync(`${root}/dist/schema/${version}`, { recursive: true });
  writeFileSync(
    `${root}/dist/schema/${version}/schema.json`,
    JSON.stringify(JSON.parse(schema, (key, value) => (isProse(key, value) ? undefined : value))),
  );
}

const folders = output.flatMap(({ moduleIds = [] }) =>
  moduleIds.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0]),
);
const licenses = [...new Set(folders.filter((folder) => folder !== undefined))].sort().map((folder) => {
  const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  return `${name} ${version}\n\n${readFileSync(`${folder}/${file}`, "utf8")}`;
});
writeFileSync(`${root}/dist/third-party-licenses.txt`, licenses.join("\n\n"));
