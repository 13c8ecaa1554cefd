const WINDOWS_ABSOLUTE = /^(?:[A-Za-z]:[\\/]|\\\\)/;
const URI = /^[A-Za-z][A-Za-z0-9+.-]+:\/\//;

/** True for an absolute path in POSIX or Windows syntax (schema v2 `AbsolutePath`): `/a`, `C:\a`, `C:/a`, `\\server\a`. */
export function isAbsolutePath(path: string): boolean {
  return path.startsWith("/") || WINDOWS_ABSOLUTE.test(path);
}

/**
 * The absolute form of a path an agent named, relative to the session's `cwd` (docs/mapping.md §6).
 *
 * An absolute path and a URI are returned as they are; a relative path is joined with `cwd`, in the syntax of `cwd`,
 * and `.` and `..` are resolved. `..` never climbs above the root.
 */
export function resolvePath(cwd: string, path: string): string {
  if (isAbsolutePath(path) || URI.test(path)) return path;
  return normalisePath(WINDOWS_ABSOLUTE.test(cwd) ? `${cwd}\\${path}` : `${cwd}/${path}`);
}

/** An absolute path without `.`, `..`, repeated or trailing separators: for joining and for comparing. */
export function normalisePath(path: string): string {
  const windows = WINDOWS_ABSOLUTE.test(path);
  const separator = windows ? "\\" : "/";
  const root = windows ? (path.startsWith("\\\\") ? "\\\\" : `${path.slice(0, 2)}\\`) : "/";
  const parts: string[] = [];
  for (const part of path.slice(windows ? 2 : 0).split(windows ? /[\\/]/ : "/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return root + parts.join(separator);
}
