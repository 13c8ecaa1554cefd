import { asArray, asObject, asString, isObject, type JsonObject, without } from "../protocol/json.ts";
import type { Notes } from "./notes.ts";
import { underscored } from "./open-enums.ts";

/** The `_meta` key under which a v2 command carries the v1 commands that it stands for. */
const ORIGINAL_COMMANDS = "acp-shift/commands";

/**
 * v1 slash commands as v2 has them (docs/mapping.md §11, schema v2 `AvailableCommand`): each gains `type: "command"`,
 * its `input` gains `type: "text"`, `input: null` is dropped. A name of v2's is one word and unique: `memory show` is
 * something to type after `memory`, so it goes into the hint of that command, and the agent gets the same text either
 * way. Entries without a name are skipped. A list that is already v2 comes out unchanged.
 */
export function availableCommandsToV2(v1Commands: unknown): JsonObject[] {
  const groups = new Map<string, JsonObject[]>();
  for (const command of asArray(v1Commands).filter(isObject).filter(hasName)) {
    const [name = ""] = wordsOf(command);
    groups.set(name, [...(groups.get(name) ?? []), command]);
  }
  return [...groups].map(([name, commands]) => groupToV2(name, commands));
}

function hasName(command: JsonObject): boolean {
  return wordsOf(command).length > 0;
}

function wordsOf({ name }: JsonObject): string[] {
  return asString(name)?.match(/\S+/g) ?? [];
}

/** The one command of v2 that stands for all of an agent's whose names begin with the same word. */
function groupToV2(name: string, commands: readonly JsonObject[]): JsonObject {
  const own = commands.find((command) => wordsOf(command).length === 1);
  if (own?.name === name && commands.length === 1) return commandToV2(own);
  const hint = commands.flatMap((command) => wordsOf(command).slice(1).join(" ") || []).join(" | ");
  const input = isObject(own?.input) || hint === "" ? {} : { input: { hint } };
  const _meta = { ...asObject(own?._meta), [ORIGINAL_COMMANDS]: commands };
  return commandToV2({ description: hint, ...own, name, ...input, _meta });
}

function commandToV2(command: JsonObject): JsonObject {
  const type = asString(command.type);
  const description = asString(command.description) ?? "";
  const rest = without(command, "input");
  const input = isObject(command.input) ? { input: commandInputToV2(command.input) } : {};
  return { ...rest, type: type?.startsWith("_") ? type : "command", description, ...input };
}

function commandInputToV2(input: JsonObject): JsonObject {
  const type = underscored(asString(input.type) ?? "text", ["text"]);
  return type === "text" ? { ...input, type, hint: asString(input.hint) ?? "" } : { ...input, type };
}

/**
 * v2 slash commands as v1 has them (docs/mapping.md §13, schema v1 `AvailableCommand`): without `type`, which every
 * command of v1 has; one that stands for v1 commands is those. An input that is not plain text is left out with a note; a command of a type v1 cannot know is
 * shown as a plain one, as v2 says of clients that do not understand it.
 */
export function availableCommandsToV1(v2Commands: unknown, notes: Notes): JsonObject[] {
  return asArray(v2Commands)
    .filter(isObject)
    .filter(hasName)
    .flatMap((command) => commandToV1(command, notes));
}

function commandToV1(command: JsonObject, notes: Notes): JsonObject[] {
  const originals = asObject(command._meta)[ORIGINAL_COMMANDS];
  if (Array.isArray(originals)) return originals.filter(isObject);
  if (command.type !== "command") {
    notes.push({ rule: "command-type", detail: `${command.name} is shown as a plain command` });
  }
  const rest = without(command, "type", "input");
  const { input } = command;
  if (!isObject(input)) return [rest];
  if (input.type === "text") return [{ ...rest, input: without(input, "type") }];
  notes.push({ rule: "command-input", detail: `${command.name} takes an input that v1 cannot say` });
  return [rest];
}
