import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { isAgentDirectory, isSessionFile } from "./names.ts";
import { isMissing } from "./session-file.ts";

interface SessionFile {
  path: string;
  size: number;
  modified: number;
}

/**
 * Deletes session files, those longest unused first, until all that are left take no more than the limit in bytes.
 * Files of every agent count; nothing but session files is looked at or deleted.
 *
 * A file that was appended to since the others were weighed against it stays. Of several processes that prune at once
 * each picks the same files, and one that is gone already counts as deleted.
 *
 * @param isOpen true for a file that this process appends to, which is never deleted
 * @throws the system's error when the directory cannot be read or a file cannot be deleted
 */
export async function prune(directory: string, limitBytes: number, isOpen: (path: string) => boolean): Promise<void> {
  const files = await sessionFiles(directory);
  let total = files.reduce((sum, { size }) => sum + size, 0);
  files.sort((one, other) => one.modified - other.modified);
  for (const file of files) {
    if (total <= limitBytes) return;
    if (isOpen(file.path)) continue;
    const now = await weigh(file.path);
    if (now !== undefined && now.modified !== file.modified) continue;
    await rm(file.path, { force: true });
    total -= file.size;
  }
}

async function sessionFiles(directory: string): Promise<SessionFile[]> {
  const files: SessionFile[] = [];
  for (const agent of (await namesIn(directory)).filter(isAgentDirectory)) {
    for (const name of (await namesIn(join(directory, agent))).filter(isSessionFile)) {
      const file = await weigh(join(directory, agent, name));
      if (file !== undefined) files.push(file);
    }
  }
  return files;
}

async function weigh(path: string): Promise<SessionFile | undefined> {
  try {
    const { size, mtimeMs } = await stat(path);
    return { path, size, modified: mtimeMs };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** The names in a directory, none when it is not there. */
export async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}
