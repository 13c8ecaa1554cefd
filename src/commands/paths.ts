import type { Settings } from "../config/settings.ts";
import { UsageError } from "../config/usage-error.ts";
import { type PathMap, parsePathMap } from "../translate/path-map.ts";

/**
 * The directories that have other paths for the agent, from `--map`.
 * @throws UsageError when an entry cannot be used
 */
export function pathsOf(settings: Settings): PathMap | undefined {
  if (settings.map === undefined) return undefined;
  try {
    return parsePathMap(settings.map);
  } catch (error) {
    throw new UsageError(`--map: ${error instanceof Error ? error.message : String(error)}`);
  }
}
