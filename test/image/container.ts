// Runs an image's entry point as an engine would: as PID 1 of its own PID namespace, as the image's user, with the image's
// environment, on a read-only root file system that has its own /proc and /tmp. What may hold nothing of the sort is
// the network: it is this machine's, so that ports can be reached.
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";

/** An image: where its files are, and what it says of how it is run. */
export interface Image {
  root: string;
  config: { User: string; Env: string[]; Entrypoint: string[]; Cmd?: string[] };
}

export interface ContainerOptions {
  /** What the image's own words (CMD) are replaced by. */
  args?: readonly string[] | undefined;
  /** What is run in place of the image's entry point. */
  entrypoint?: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Folders of this machine, by where the container has them. */
  volumes?: Readonly<Record<string, string>>;
  /** Leaves the image's shells usable; else there are none. */
  shell?: boolean;
}

/** How long anything may take, in ms: far more than it needs on a slow machine. */
const DEADLINE = 60_000;

/** What prepares the container, run by a shell of this machine that then becomes PID 1: root, volumes, `--`, the command. */
const PREPARE = `set -e
root=$1; shift
mount --bind "$root" "$root"
while [ "$1" != -- ]; do mount --bind "$1" "$root$2"; shift 2; done; shift
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/tmp"
mount --rbind /dev "$root/dev"
mount -o remount,bind,ro "$root"
exec "$@"`;

const SHELLS = ["/usr/bin/dash", "/usr/bin/bash"];

/** The command, for this machine, that runs a container with its input and output. */
export function containerCommand(image: Image, options: ContainerOptions = {}): [string, ...string[]] {
  const { config, root } = image;
  const environment = { HOME: "/home/node", ...fromLines(config.Env), ...options.env };
  const hidden = options.shell ? [] : SHELLS.flatMap((shell) => ["/dev/null", shell]);
  const volumes = Object.entries(options.volumes ?? {}).flatMap(([inside, folder]) => [folder, inside]);
  return [
    "unshare",
    ...["--mount", "--pid", "--fork", "sh", "-c", PREPARE, "sh", root, ...hidden, ...volumes, "--"],
    ...["env", "-i", ...Object.entries(environment).map(([name, value]) => `${name}=${value}`)],
    ...["chroot", `--userspec=${config.User}`, root],
    ...(options.entrypoint ?? config.Entrypoint),
    ...(options.args ?? config.Cmd ?? []),
  ];
}

function fromLines(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
}

/** A running container. */
export interface Container {
  readonly input: Writable;
  readonly output: Readable;
  /** What it wrote to stderr so far. */
  readonly stderr: string;
  /** The process that holds the container, as an engine's own does. */
  readonly outer: number;
  /** This machine's number of its PID 1. */
  pid1(): Promise<number>;
  /** What runs in it or is left there as a zombie, by this machine's numbers, with the one-letter state. */
  processes(): Promise<ProcessState[]>;
  /** The status it ended with, as an engine tells it: 128 + signal for a signal. */
  readonly ended: Promise<number>;
}

export interface ProcessState {
  pid: number;
  name: string;
  state: string;
}

/** Starts a container. The caller ends it. */
export function startContainer(image: Image, options: ContainerOptions = {}): Container {
  const [program, ...args] = containerCommand(image, options);
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  child.stdin.on("error", () => {});
  const outer = child.pid;
  if (outer === undefined) throw new Error(`${program} could not be started`);
  const pid1 = firstOf(child, outer, () => stderr);
  const namespace = pid1.then(namespaceOf);
  namespace.catch(() => {});
  return {
    input: child.stdin,
    output: child.stdout,
    get stderr() {
      return stderr;
    },
    outer,
    pid1: () => pid1,
    processes: async () => processesIn(await namespace),
    ended: new Promise((resolve) => {
      child.on("close", (code, signal) => resolve(code ?? 128 + (signal === "SIGKILL" ? 9 : 15)));
    }),
  };
}

/** A container run to its end, with nothing on its input. */
export async function runContainer(
  image: Image,
  options: ContainerOptions = {},
): Promise<{ status: number; stdout: string; stderr: string }> {
  const container = startContainer(image, options);
  let stdout = "";
  container.output.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  container.input.end();
  const status = await container.ended;
  return { status, stdout, stderr: container.stderr };
}

/** Waits until `read` gives something. */
export async function until<T>(what: string, read: () => T | undefined | Promise<T | undefined>): Promise<T> {
  const limit = Date.now() + DEADLINE;
  for (;;) {
    const value = await read();
    if (value !== undefined) return value;
    if (Date.now() > limit) throw new Error(`after ${DEADLINE} ms still no ${what}`);
    await pause(20);
  }
}

/** The number of the process that runs the image's entry point, once the shell that prepares it has become it. */
async function firstOf(child: ChildProcess, outer: number, stderr: () => string): Promise<number> {
  return until("entry point", () => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the container has ended: ${stderr()}`);
    const pid = Number(readOr(`/proc/${outer}/task/${outer}/children`, "").trim());
    const [name = "sh"] = readOr(`/proc/${pid}/comm`, "sh").split("\n");
    return ["sh", "env", "chroot", "unshare"].includes(name) ? undefined : pid;
  });
}

function namespaceOf(pid: number): string {
  return readlinkSync(`/proc/${pid}/ns/pid`);
}

function processesIn(namespace: string): ProcessState[] {
  return readdirSync("/proc").flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      if (readlinkSync(`/proc/${entry}/ns/pid`) !== namespace) return [];
      const [, name = "", state = ""] = /^\d+ \((.*)\) (\S)/s.exec(readFileSync(`/proc/${entry}/stat`, "latin1")) ?? [];
      return [{ pid: Number(entry), name, state }];
    } catch {
      return [];
    }
  });
}

function readOr(file: string, otherwise: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return otherwise;
  }
}
