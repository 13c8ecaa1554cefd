import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type ProtocolSchema, readSchema } from "../protocol/schema.ts";

const loaded = new Map<string, ProtocolSchema>();

/**
 * A schema of the pinned SDK, read when it is first asked for.
 *
 * @param file its path below the package's `schema`, such as `v2/schema.json`
 */
export function loadSchema(file: string): ProtocolSchema {
  const schema = loaded.get(file) ?? readSchema(read(file));
  loaded.set(file, schema);
  return schema;
}

/** Beside the bundle are those of a plain run without their descriptions, which are most of them. */
function read(file: string) {
  const bundled = new URL(`../schema/${file}`, import.meta.url);
  return existsSync(bundled)
    ? JSON.parse(readFileSync(bundled, "utf8"))
    : createRequire(import.meta.url)(`@agentclientprotocol/sdk/schema/${file}`);
}
