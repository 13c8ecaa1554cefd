import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { invalidParams } from "../protocol/errors.ts";

/**
 * Where an absolute path really leads, all symbolic links resolved; of a path that does not exist (yet) those of its
 * nearest existing parent. It must be one of `roots` or below one. Guards against mistakes, not against someone who
 * changes the links meanwhile: the agent could touch the files itself.
 *
 * @throws RequestFault `-32602` when it leads elsewhere, or through a link that leads nowhere
 * @throws Error of the system, for a path it cannot follow
 */
export async function pathWithin(roots: readonly string[], path: string): Promise<string> {
  const real = await resolveLinks(resolve(path), path);
  for (const root of roots) {
    if (isWithin(await realpath(root).catch(() => undefined), real)) return real;
  }
  throw invalidParams("path leads outside the session's directories", { path });
}

async function resolveLinks(path: string, asked: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!isMissing(error) || dirname(path) === path) throw error;
    if (await exists(path)) {
      throw invalidParams("path goes through a symbolic link that leads nowhere", { path: asked });
    }
    return join(await resolveLinks(dirname(path), asked), basename(path));
  }
}

/** True for the system's ways to say that there is no such file. */
export function isMissing(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

function isWithin(root: string | undefined, path: string): boolean {
  if (root === undefined) return false;
  const way = relative(root, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
