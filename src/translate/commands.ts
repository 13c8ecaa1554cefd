import { asArray, asString, isObject, type JsonObject, without } from "../protocol/json.ts";
import type { Notes } from "./notes.ts";
import { underscored } from "./open-enums.ts";

/**
 * v1 slash commands as v2 has them (docs/mapping.md §11, schema v2 `AvailableCommand`): each gains `type: "command"`,
 * its `input` gains `type: "text"`, `input: null` is dropped. Entries without a name are skipped. A list that is
 * already v2 comes out unchanged.
 */
export function availableCommandsToV2(v1Commands: unknown): JsonObject[] {
  return asArray(v1Commands).filter(isObject).filter(hasName).map(commandToV2);
}

function hasName(command: JsonObject): boolean {
  return typeof command.name === "string" && command.name !== "";
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
 * command of v1 has. An input that is not plain text is left out with a note; a command of a type v1 cannot know is
 * shown as a plain one, as v2 says of clients that do not understand it.
 */
export function availableCommandsToV1(v2Commands: unknown, notes: Notes): JsonObject[] {
  return asArray(v2Commands)
    .filter(isObject)
    .filter(hasName)
    .map((command) => {
      if (command.type !== "command") {
        notes.push({ rule: "command-type", detail: `${command.name} is shown as a plain command` });
      }
      const rest = without(command, "type", "input");
      const { input } = command;
      if (!isObject(input)) return rest;
      if (input.type === "text") return { ...rest, input: without(input, "type") };
      notes.push({ rule: "command-input", detail: `${command.name} takes an input that v1 cannot say` });
      return rest;
    });
}
