// What stands in the source, as the parser sees it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAst } from "rolldown/parseAst";
import { isObject, type JsonObject } from "../../src/protocol/json.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A node of a file's syntax tree (ESTree). */
export interface SyntaxNode {
  file: string;
  type: unknown;
  node: JsonObject;
  /** Its text. */
  text: string;
}

/** Every node of every TypeScript file in a directory. */
export function* syntaxOf(directory: string): Generator<SyntaxNode> {
  for (const file of filesIn(directory, ".ts")) {
    const text = readFileSync(join(ROOT, directory, file), "utf8");
    yield* nodesOf(parseAst(text, { lang: "ts" }), file, text);
  }
}

function* nodesOf(value: unknown, file: string, source: string): Generator<SyntaxNode> {
  if (Array.isArray(value)) for (const item of value) yield* nodesOf(item, file, source);
  if (!isObject(value)) return;
  if (typeof value["type"] === "string")
    yield { file, type: value["type"], node: value, text: source.slice(Number(value["start"]), Number(value["end"])) };
  for (const inner of Object.values(value)) yield* nodesOf(inner, file, source);
}

/** The files below a directory of the project with this ending. */
export function filesIn(directory: string, ending: string): string[] {
  return readdirSync(join(ROOT, directory), { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(ending),
  );
}
