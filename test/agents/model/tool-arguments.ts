// Arguments for tools nobody here wrote: filled in from the tool's own schema, by the names and types of its properties.
import { asArray, asObject, isObject, type JsonObject } from "../../../src/protocol/json.ts";

export type Purpose = "read" | "missing" | "run" | "write" | "edit" | "plan";

/** The names agents have for a tool that serves the purpose. */
export const PURPOSES: Readonly<Record<Purpose, RegExp>> = {
  read: /^(read_file|read|view)$/i,
  missing: /^(read_file|read|view)$/i,
  run: /^(run_shell_command|bash|shell|shell_command|exec_command|local_shell)$/i,
  write: /^(write_file|write|create|apply_patch)$/i,
  edit: /^(edit|replace|apply_patch)$/i,
  plan: /^(todowrite|todo_write|write_todos|update_plan|update_todo|taskcreate)$/i,
};

/** The files of the working directory the tools work on, and what is in them. */
export const FILES = {
  read: { name: "hello.txt", text: "hello world\n" },
  edited: "goodbye world\n",
  missing: { name: "does-not-exist.txt" },
  made: { name: "made.txt" },
  written: { name: "out.txt", text: "hello written\n" },
} as const;

export const PLAN = ["First step", "Second step", "Third step"] as const;

/** The command that serves a purpose through a shell. */
export function shellCommand(purpose: Exclude<Purpose, "plan">, directory: string): string {
  switch (purpose) {
    case "read":
      return `cat ${directory}/${FILES.read.name}`;
    case "missing":
      return `cat ${directory}/${FILES.missing.name}`;
    case "run":
      return `touch ${directory}/${FILES.made.name} && echo made it`;
    case "write":
      return `echo hello written > ${directory}/${FILES.written.name}`;
    case "edit":
      return `sed -i s/hello/goodbye/ ${directory}/${FILES.read.name}`;
  }
}

/** What a tool that takes a patch as text is called with. */
export function patchFor(purpose: Purpose, directory: string): string {
  const change =
    purpose === "edit"
      ? [`*** Update File: ${directory}/${FILES.read.name}`, "@@", "-hello world", "+goodbye world"]
      : [`*** Add File: ${directory}/${FILES.written.name}`, "+hello written"];
  return ["*** Begin Patch", ...change, "*** End Patch"].join("\n");
}

/** What arguments are filled in for. */
interface Aim {
  purpose: Purpose;
  directory: string;
  command: string;
  /** The whole schema, which parts of it refer to. */
  root: JsonObject;
}

/** Property names by meaning; the first that fits decides. */
const MEANINGS: readonly [RegExp, (aim: Aim) => unknown][] = [
  // Codex asks for permission only when the command is to leave its sandbox.
  [/^sandbox_permissions$/, () => "require_escalated"],
  [/^(command|cmd|commands|script)$/, ({ command }) => command],
  [/^(dir|directory|cwd|workdir|.*_dir|dir_path)$/, ({ directory }) => directory],
  [/^(file|path|filename|.*[pP]ath|.*_file)$/, (aim) => `${aim.directory}/${fileFor(aim.purpose)}`],
  [/^old_?(string|text|str)$/i, () => "hello"],
  [/^new_?(string|text|str)$/i, () => "goodbye"],
  [/^(input|patch|patchText)$/, ({ purpose, directory }) => patchFor(purpose, directory)],
  [/^(content|text|file_text|file_content)$/, () => FILES.written.text],
  [/^status$/, () => "pending"],
  [/^priority$/, () => "medium"],
];

/** Properties that are given even where the schema does not require them. */
const WANTED: Readonly<Record<Purpose, RegExp>> = {
  read: /^(path|file_?path|absolute_path)$/i,
  missing: /^(path|file_?path|absolute_path)$/i,
  run: /^(command|cmd|commands|description|sandbox_permissions|justification)$/,
  write: /^(path|file_?path|content|file_text|input|patch|patchText)$/i,
  edit: /^(path|file_?path|old_?(string|text|str)|new_?(string|text|str)|input|patch|patchText)$/i,
  plan: /^(todos|plan|items|query|description)$/,
};

/** Some tools do several things; this is the one that is meant. */
const ACTIONS: Partial<Record<Purpose, string>> = { read: "view", missing: "view", write: "create" };

/**
 * Arguments for a tool with this JSON schema: what it requires, and what the purpose cannot do without.
 * @param command what a shell is to run
 */
export function argumentsOf(
  schema: JsonObject,
  purpose: Purpose,
  directory: string,
  command = purpose === "plan" ? "" : shellCommand(purpose, directory),
): JsonObject {
  return asObject(fill("", schema, { purpose, directory, command, root: schema }));
}

function fill(name: string, written: unknown, aim: Aim): unknown {
  const schema = resolved(written, aim);
  const choices = asArray(schema["enum"]);
  if (choices.length > 0) return choice(name, choices, aim);
  if ("const" in schema) return schema["const"];
  const meant = MEANINGS.find(([names]) => names.test(name))?.[1](aim);
  switch (typeOf(schema)) {
    case "object":
      return fillObject(schema, aim);
    case "array":
      if (meant !== undefined) return ["bash", "-lc", meant];
      return aim.purpose === "plan"
        ? PLAN.map((step, index) => planEntry(step, index, schema["items"], aim))
        : [fill(name.replace(/s$/, ""), schema["items"], aim)];
    case "boolean":
      return false;
    case "number":
    case "integer":
      return /timeout/.test(name) ? 30_000 : /limit|end/.test(name) ? 10 : 1;
    default:
      if (aim.purpose === "plan" && /^(todos|plan)$/.test(name)) return PLAN.map((step) => `- [ ] ${step}`).join("\n");
      if (aim.purpose === "plan" && meant === undefined) return PLAN[0];
      return meant ?? `made up for ${name}`;
  }
}

function fillObject(schema: JsonObject, aim: Aim): JsonObject {
  const required = asArray(schema["required"]);
  const given = Object.entries(asObject(schema["properties"])).filter(
    ([name]) => required.includes(name) || WANTED[aim.purpose].test(name),
  );
  return Object.fromEntries(given.map(([name, property]) => [name, fill(name, property, aim)]));
}

/** One entry of a plan: every text in it that is no status is the step. */
function planEntry(step: string, index: number, items: unknown, aim: Aim): unknown {
  const entry = fill("entry", items, aim);
  if (!isObject(entry)) return step;
  const statuses = asArray(asObject(asObject(resolved(items, aim)["properties"])["status"])["enum"]);
  return Object.fromEntries(
    Object.entries(entry).map(([name, value]) => {
      if (name === "id") return [name, typeof value === "number" ? index + 1 : String(index + 1)];
      if (name === "status") return [name, index === 0 && statuses.includes("in_progress") ? "in_progress" : value];
      return [name, typeof value === "string" && name !== "priority" ? step : value];
    }),
  );
}

function choice(name: string, choices: unknown[], aim: Aim): unknown {
  const wished = MEANINGS.find(([names]) => names.test(name))?.[1](aim) ?? ACTIONS[aim.purpose];
  return choices.includes(wished) ? wished : choices[0];
}

/** The schema itself, where it refers to another or offers several. */
function resolved(written: unknown, aim: Aim): JsonObject {
  const schema = asObject(written);
  if (typeof schema["$ref"] === "string") {
    const steps = schema["$ref"].split("/").slice(1);
    return resolved(
      steps.reduce<unknown>((part, step) => asObject(part)[step], aim.root),
      aim,
    );
  }
  const several = asArray(schema["anyOf"] ?? schema["oneOf"]);
  return several.length === 0
    ? schema
    : resolved(
        several.find((one) => asObject(one)["type"] !== "null"),
        aim,
      );
}

function typeOf(schema: JsonObject): string {
  const type = Array.isArray(schema["type"]) ? schema["type"].find((one) => one !== "null") : schema["type"];
  return String(type ?? ("properties" in schema ? "object" : "string")).toLowerCase();
}

function fileFor(purpose: Purpose): string {
  if (purpose === "missing") return FILES.missing.name;
  return purpose === "write" ? FILES.written.name : FILES.read.name;
}
