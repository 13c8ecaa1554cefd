// Builds the image and runs test/image in and against it, without a container engine: Debian's buildah builds, on a base
// made by debootstrap; unshare and chroot run. Needs Linux, root and those programs. The base stays in .cache/image,
// everything else is removed again.
import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { nodeBinary, packageFolder, root, run } from "./installed.mjs";

const NODE = "22.23.3";
const NPM = "11.19.1";
const SUITE = "bookworm";
const MIRROR = "http://deb.debian.org/debian";
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";

const missing = [
  ...(process.platform === "linux" ? [] : ["Linux"]),
  ...(process.getuid?.() === 0 ? [] : ["root's rights"]),
  ...["buildah", "debootstrap", "unshare", "mount", "chroot"].filter((program) => !isInstalled(program)),
];
if (missing.length > 0) {
  process.stderr.write(`npm run test:image cannot run here, there is no: ${missing.join(", ")}\n`);
  process.stderr.write("On Debian: apt-get install buildah debootstrap\n");
  process.exit(1);
}

function isInstalled(program) {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));
}

const home = join(root, ".cache", "image");
const context = join(home, "context");
const storage = ["--storage-driver", "vfs", "--root", join(home, "storage"), "--runroot", join(home, "run")];
const env = { ...process.env, STORAGE_DRIVER: "vfs", BUILDAH_ISOLATION: "chroot" };
const base = `localhost/acp-shift-test-base:${SUITE}-node-${NODE}`;

const buildah = (...args) => run("buildah", [...storage, ...args], root, env);
const attempt = (...args) => spawnSync("buildah", [...storage, ...args], { env, encoding: "utf8" });
const step = (text) => process.stdout.write(`\n${text}\n`);

/** What a command of buildah's prints. */
function said(...args) {
  const { status, stdout, stderr } = attempt(...args);
  if (status === 0) return stdout.trim();
  process.stderr.write(stderr);
  process.exit(1);
}

/** The programs a base image has: a small Debian, Node with npm, the user `node`, and what this machine trusts. */
function makeBase() {
  step(`debootstrap of ${SUITE}, with Node ${NODE}`);
  const container = said("from", "scratch");
  const folder = said("mount", container);
  run("nice", ["-n", "19", "debootstrap", "--variant=minbase", SUITE, folder, MIRROR], root);
  const inBase = (path) => join(folder, path);
  for (const bulk of ["var/cache/apt/archives", "var/lib/apt/lists", "usr/share/man", "usr/share/locale"]) {
    rmSync(inBase(bulk), { recursive: true, force: true });
  }
  mkdirSync(inBase("var/lib/apt/lists/partial"), { recursive: true });
  mkdirSync(inBase("var/cache/apt/archives/partial"), { recursive: true });

  copyFileSync(nodeBinary(NODE), inBase("usr/local/bin/node"));
  cpSync(packageFolder("npm", NPM), inBase("usr/local/lib/node_modules/npm"), { recursive: true });
  symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", inBase("usr/local/bin/npm"));
  run("chroot", [folder, "useradd", "--create-home", "--uid", "1000", "node"], root);
  if (existsSync(CERTIFICATES)) {
    mkdirSync(dirname(inBase(CERTIFICATES)), { recursive: true });
    copyFileSync(CERTIFICATES, inBase(CERTIFICATES));
    writeFileSync(inBase("usr/local/etc/npmrc"), `cafile=${CERTIFICATES}\n`);
  }
  buildah("commit", "--quiet", "--rm", container, base);
}

/** The image of some agent: no Node in it, and a program `my-agent` that is the demo's agent. */
function makeAgentImage() {
  const container = said("from", "--pull=never", base);
  const folder = said("mount", container);
  for (const part of ["bin/node", "bin/npm", "lib/node_modules"])
    rmSync(join(folder, "usr/local", part), { recursive: true });
  const program = '#!/usr/bin/env node\nimport("/opt/acp-shift/dist/demo/agent.js");\n';
  writeFileSync(join(folder, "usr/local/bin/my-agent"), program, { mode: 0o755 });
  buildah("commit", "--quiet", "--rm", container, "localhost/my-agent");
}

function build(name, ...args) {
  step(`building ${name}`);
  const options = [
    "--format",
    "docker",
    "--pull=never",
    "--build-arg",
    `BASE_IMAGE=${base}`,
    "--tag",
    `localhost/${name}`,
  ];
  run("nice", ["-n", "19", "buildah", ...storage, "build", ...options, ...args], root, env);
}

/** The Dockerfiles that docs/container.md shows, in order. */
function documented() {
  const text = readFileSync(join(root, "docs", "container.md"), "utf8");
  return [...text.matchAll(/```dockerfile\n([\s\S]*?)```/g)].map(([, file]) => file);
}

/** Where the files of an image are, and how it says it is run. */
function opened(name) {
  const container = said("from", "--pull=never", `localhost/${name}`);
  const { config } = JSON.parse(JSON.parse(said("inspect", container)).Config);
  return { root: said("mount", container), config };
}

function megabytes(name) {
  const { layers } = JSON.parse(JSON.parse(said("inspect", "--type", "image", name)).Manifest);
  return layers.map(({ size }) => (size / 1e6).toFixed(1));
}

const idsOf = (...args) =>
  attempt("images", "--quiet", "--no-trunc", ...args)
    .stdout.split("\n")
    .filter(Boolean);

/** Removes all but the base. */
function tidy() {
  attempt("rm", "--all");
  const kept = idsOf(base);
  for (const image of idsOf().filter((id) => !kept.includes(id))) attempt("rmi", "--force", image);
  rmSync(context, { recursive: true, force: true });
}

mkdirSync(home, { recursive: true });
tidy();
process.on("exit", tidy);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

if (idsOf(base).length === 0) makeBase();
build("acp-shift", root);
makeAgentImage();
mkdirSync(context);
for (const [index, name] of ["acp-shift-gemini", "my-agent-acp"].entries()) {
  writeFileSync(join(context, "Dockerfile"), documented()[index]);
  build(name, context);
}
step(`the layers of the image, the base first: ${megabytes("localhost/acp-shift").join(" + ")} MB`);

step("the demo, run by buildah");
const container = said("from", "--pull=never", "localhost/acp-shift");
buildah("run", container, "--", "node", "/opt/acp-shift/dist/cli.js", "demo");

step("the tests, run by the entry points as PID 1");
const images = { bridge: opened("acp-shift"), base: opened("acp-shift-gemini"), copied: opened("my-agent-acp") };
const environment = { ...process.env, IMAGES: JSON.stringify(images) };
run(nodeBinary(NODE), ["--test", "--test-reporter=spec", join("test", "image", "image.ts")], root, environment);
