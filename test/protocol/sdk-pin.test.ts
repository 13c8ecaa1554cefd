// Guards docs/mapping.md, "Sources of truth": the bridge is written to one release of the protocol's SDK. When another is
// installed, or its schemas change, somebody has to look.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, test } from "vitest";

const require = createRequire(import.meta.url);

const VERSION = "2.4.0";
const SHA256 = {
  "v1/schema.json": "0d0b1ca83c4872e5473f68926a894c7a8203b59b118e2a79bfe43dd76fbcbc1a",
  "v1/schema.unstable.json": "ce7881d10c854bcac4f0e7d3a9ce4fb0f612ec0a09e64b572940beec4668c189",
  "v2/schema.json": "b6c91055df549d6f1db1d76d692d0561dad433e03d8ed114ea9b5baed9da72c5",
  "v2/schema.unstable.json": "49e10f8c1935854363ed5b176cc6560d856642ba5020c97d264d34de4b6f1b31",
};

const WHAT_TO_DO = `The installed @agentclientprotocol/sdk is not the one the bridge was written to. Compare its schemas with those of ${VERSION} (schema/v1 and schema/v2: definitions, enumerations, and every "description"), bring src/, test/ and docs/mapping.md up to date, then enter the new version and hashes in this file and pin the version in package.json.`;

function readPackage(path: string): { version?: string; dependencies?: Record<string, string> } {
  return JSON.parse(readFileSync(path, "utf8"));
}

test("the installed SDK is the pinned one", () => {
  const sdk = readPackage(
    require.resolve("@agentclientprotocol/sdk/schema/v2/schema.json").replace(/schema[\\/]v2[\\/].*$/, "package.json"),
  );
  expect(sdk.version, WHAT_TO_DO).toBe(VERSION);
});

test("package.json pins that version exactly", () => {
  const own = readPackage(require.resolve("../../package.json"));
  expect(own.dependencies?.["@agentclientprotocol/sdk"], WHAT_TO_DO).toBe(VERSION);
});

test.each(Object.entries(SHA256))("schema/%s has not changed", (file, expected) => {
  // As text: a checkout may have changed the line breaks.
  const text = readFileSync(require.resolve(`@agentclientprotocol/sdk/schema/${file}`), "utf8").replaceAll(
    "\r\n",
    "\n",
  );
  expect(createHash("sha256").update(text).digest("hex"), WHAT_TO_DO).toBe(expected);
});
