// Lets mocha load the tests as they are: sources are TypeScript, and `vitest` is the stand-in beside this file.
import { readFileSync } from "node:fs";
import { register } from "node:module";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";
import { transformSync } from "rolldown/utils";

if (isMainThread) register(import.meta.url);

export function resolve(specifier, context, next) {
  if (specifier !== "vitest") return next(specifier, context);
  return { url: new URL("./vitest.mjs", import.meta.url).href, shortCircuit: true };
}

export function load(url, context, next) {
  if (!url.endsWith(".ts")) return next(url, context);
  const path = fileURLToPath(url);
  const { code, errors } = transformSync(path, readFileSync(path, "utf8"));
  if (errors.length > 0) throw new Error(`${path}: ${errors[0].message}`);
  return { format: "module", source: code, shortCircuit: true };
}
