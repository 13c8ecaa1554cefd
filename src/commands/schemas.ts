import { createRequire } from "node:module";
import { type ProtocolSchema, readSchema } from "../protocol/schema.ts";

const loaded = new Map<string, ProtocolSchema>();

/**
 * A schema of the pinned SDK, read when it is first asked for.
 *
 * @param file its path below the package's `schema`, such as `v2/schema.json`
 */
export function loadSchema(file: string): ProtocolSchema {
  const schema =
    loaded.get(file) ?? readSchema(createRequire(import.meta.url)(`@agentclientprotocol/sdk/schema/${file}`));
  loaded.set(file, schema);
  return schema;
}
