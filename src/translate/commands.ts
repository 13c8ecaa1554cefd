import { asArray, asString, isObject, type JsonObject, without } from "../protocol/json.ts";
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
