// The files of config/examples, and the containers they describe, however their format writes them.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { asArray, asObject, type JsonObject } from "../../src/protocol/json.ts";

const folder = join(import.meta.dirname, "../../config/examples");

export interface Example {
  file: string;
  text: string;
  documents: JsonObject[];
}

/** A container that runs acp-shift. */
export interface ExampleContainer {
  file: string;
  name: string;
  image: string;
  /** The words after the program's name. */
  words: string[];
  env: Record<string, string>;
  spec: JsonObject;
}

/** The examples of a folder. Fails on what only looks like YAML. */
export function examplesIn(name: "compose" | "kubernetes"): Example[] {
  return readdirSync(join(folder, name)).map((file) => {
    const text = readFileSync(join(folder, name, file), "utf8");
    // kubectl reads numbers as YAML 1.1 does.
    const parsed = [parseAllDocuments(text, { version: name === "kubernetes" ? "1.1" : "1.2" })].flat();
    const faults = parsed.flatMap(({ errors, warnings }) => [...errors, ...warnings]);
    if (faults.length > 0) throw new Error(`${name}/${file}: ${faults.join("\n")}`);
    return { file: `${name}/${file}`, text, documents: parsed.map((document) => asObject(document.toJS())) };
  });
}

export const compose = examplesIn("compose");
export const kubernetes = examplesIn("kubernetes");

/** The description of a pod in a Pod, or in what makes pods. */
export function podOf(document: JsonObject): JsonObject | undefined {
  if (document["kind"] === "Pod") return asObject(document["spec"]);
  if (document["kind"] === "Deployment") return asObject(asObject(asObject(document["spec"])["template"])["spec"]);
  return undefined;
}

export const containersOf = (pod: JsonObject) =>
  [...asArray(pod["initContainers"]), ...asArray(pod["containers"])].map(asObject);

/** Every container of the examples; all of them run acp-shift. */
export const containers: ExampleContainer[] = [
  ...compose.flatMap(({ file, documents }) =>
    documents.flatMap((document) =>
      Object.entries(asObject(document["services"])).map(([name, service]) => {
        const spec = asObject(service);
        const env = Object.entries(asObject(spec["environment"])).map(([key, value]) => [key, String(value)]);
        return container(file, name, spec, spec["command"], Object.fromEntries(env));
      }),
    ),
  ),
  ...kubernetes.flatMap(({ file, documents }) =>
    documents.flatMap((document) =>
      containersOf(podOf(document) ?? {}).map((spec) => {
        const env = asArray(spec["env"])
          .map(asObject)
          .map(({ name, value }) => [String(name), String(value)]);
        return container(file, String(spec["name"]), spec, spec["args"], Object.fromEntries(env));
      }),
    ),
  ),
];

function container(file: string, name: string, spec: JsonObject, words: unknown, env: Record<string, string>) {
  return { file, name, image: String(spec["image"]), words: asArray(words).map(String), env, spec };
}
