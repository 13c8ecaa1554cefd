import { randomBytes } from "node:crypto";
import {
  close,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  open,
  openSync,
  readdirSync,
  statSync,
  unlink,
  writev,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { UsageError } from "../config/usage-error.ts";

/** An open file of a trace. */
export interface Part {
  /** Writes the bytes of all of these, one after another, or as many as the system takes; tells how many. */
  write(pieces: readonly Uint8Array[], done: (error: Error | null, written: number) => void): void;
  close(done: () => void): void;
}

/** Where the parts of one trace go. */
export interface Destination {
  /** What part 1 is written to, open. */
  first: Part;
  /** The files of later parts; undefined for a pipe or a device, which is never too large. */
  later: LaterParts | undefined;
}

export interface LaterParts {
  open(part: number, done: (error: Error | null, opened?: Part) => void): void;
  /** That a file cannot be removed is of no account. */
  remove(part: number): void;
}

/** The path of a part: `trace.jsonl`, `trace.2.jsonl`, `trace.3.jsonl`… */
export function partPath(file: string, part: number): string {
  if (part === 1) return file;
  const [, stem = file, extension = ""] = /^(.*[^/\\])(\.[^./\\]*)$/s.exec(file) ?? [];
  return `${stem}.${part}${extension}`;
}

const { O_CREAT, O_EXCL, O_WRONLY } = constants;
/** Absent on Windows. Makes a pipe say that it is full, instead of holding up the write. */
const O_NONBLOCK = constants.O_NONBLOCK ?? 0;
const CREATE = O_WRONLY | O_CREAT | O_EXCL | O_NONBLOCK;
const MODE = 0o600;

/**
 * Opens the first file of a trace. In a directory a new one, named after time and run; a file is created (mode 0600). One
 * that exists is used only when it is empty, or no regular file (a pipe, a device): what was recorded before is never
 * overwritten.
 *
 * @throws UsageError when it cannot be opened, exists, or has later parts from another run
 */
export function openTraceFile(target: string, run: string, started: Date): { path: string; destination: Destination } {
  try {
    const path = isDirectory(target) ? join(target, fileName(run, started)) : target;
    const descriptor = openFirst(path);
    const later = fstatSync(descriptor).isFile() ? laterParts(path) : undefined;
    return { path, destination: { first: partOf(descriptor), later } };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`cannot record to ${target}: ${reason(error as NodeJS.ErrnoException)}`);
  }
}

/** A name of its own for each run, in the order of their beginnings. */
function fileName(run: string, started: Date): string {
  return `${started.toISOString().replace(/[:.]/g, "-")}-${run}.jsonl`;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function openFirst(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found !== undefined && !found.isFile()) return openSync(path, O_WRONLY | O_NONBLOCK);
  const other = existingParts(path)[0]?.path ?? (found !== undefined && found.size > 0 ? path : undefined);
  if (other !== undefined)
    throw new UsageError(
      `cannot record to ${path}: ${other} exists; move it away, or name a directory to get a file for each run`,
    );
  if (found === undefined) return openSync(path, CREATE, MODE);
  const descriptor = openSync(path, O_WRONLY | O_NONBLOCK);
  try {
    if ((fstatSync(descriptor).mode & 0o077) !== 0) fchmodSync(descriptor, MODE);
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** A file that is a later part of a trace. */
export interface PartFile {
  part: number;
  path: string;
}

/** The later parts of a trace at this path that are there now, in order. */
export function existingParts(path: string): PartFile[] {
  const folder = dirname(path);
  return readdirSync(folder)
    .map((name) => ({ name, part: Number(/\.(\d{1,9})(?:\.[^.]*)?$/.exec(name)?.[1] ?? 1) }))
    .filter(({ name, part }) => part > 1 && partPath(basename(path), part) === name)
    .map(({ name, part }) => ({ part, path: join(folder, name) }))
    .sort((one, other) => one.part - other.part);
}

/** The path of the first part, by that of another; undefined for a name no recorder gave. */
export function firstPath(path: string, part: number): string | undefined {
  if (part === 1) return path;
  const at = path.lastIndexOf(`.${part}`);
  const first = path.slice(0, at) + path.slice(at + `.${part}`.length);
  return at > 0 && partPath(first, part) === path ? first : undefined;
}

function laterParts(path: string): LaterParts {
  return {
    open(part, done) {
      open(partPath(path, part), CREATE, MODE, (error, opened) => {
        if (error) done(error);
        else done(null, partOf(opened));
      });
    },
    remove: (part) => unlink(partPath(path, part), () => {}),
  };
}

function partOf(descriptor: number): Part {
  return {
    write: (pieces, done) => writev(descriptor, pieces, done),
    close: (done) => close(descriptor, () => done()),
  };
}

/** Random text that names a run. */
export function newRunId(): string {
  return randomBytes(5).toString("hex");
}

function reason({ code, message }: NodeJS.ErrnoException): string {
  if (code === "ENOENT" || code === "ENOTDIR") return "its folder does not exist";
  if (code === "EACCES" || code === "EROFS") return "it may not be written";
  if (code === "EPERM") return "it is readable by others and belongs to another user";
  if (code === "ENXIO") return "it is a pipe nobody reads";
  return message;
}
