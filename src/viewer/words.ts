/** What protocol values are in a few words, for a line of a list. All of it is plain text. */
import { asArray, asObject, asString, isObject, type JsonObject } from "../protocol/json.ts";

/** A text of one line, cut after so many characters. */
export function oneLine(text: string, most = 160): string {
  const flat = text.slice(0, most + 1).replace(/\s+/g, " ");
  return text.length > most ? `${flat.slice(0, most)}…` : flat;
}

/** The text of content blocks; what is no text is named. */
export function blocksText(blocks: readonly JsonObject[]): string {
  return blocks.map(blockText).join("\n");
}

export function blockText(block: JsonObject): string {
  const text = asString(block["text"]);
  if (text !== undefined) return text;
  const resource = asObject(block["resource"]);
  const name = asString(block["name"]) ?? asString(block["uri"]) ?? asString(resource["uri"]);
  const type = asString(block["mimeType"]) ?? asString(resource["mimeType"]);
  return `[${[block["type"] ?? "content", name, type].filter(Boolean).join(" ")}]`;
}

/** The text of an update's `content`, if it has any. */
export function contentText(update: JsonObject): string | undefined {
  const content = update["content"];
  if (isObject(content)) return blockText(content);
  return Array.isArray(content) && content.length > 0 ? blocksText(content.map(asObject)) : undefined;
}

export function errorText(error: unknown): string {
  const { code, message } = asObject(error);
  return `${message ?? "error"} (${code ?? "no code"})`;
}

/** What a request or notification asks for. */
export function paramsText(method: string, params: JsonObject): string {
  switch (method) {
    case "initialize": {
      const { name, version } = asObject(params["info"] ?? params["clientInfo"]);
      return `version ${params["protocolVersion"]}${name === undefined ? "" : `, ${name} ${version ?? ""}`}`.trim();
    }
    case "session/set_mode":
      return `${params["modeId"]}`;
    case "session/set_model":
      return `${params["modelId"]}`;
    case "session/set_config_option":
      return `${params["configId"] ?? params["id"]}: ${params["value"]}`;
    case "session/prompt":
      return blocksText(asArray(params["prompt"]).map(asObject));
    case "session/request_permission":
      return asString(params["title"]) ?? asString(asObject(params["toolCall"])["title"]) ?? "";
    case "terminal/create":
      return [params["command"], ...asArray(params["args"])].join(" ");
    default:
      return scalarText(params);
  }
}

/** What a result says. */
export function resultText(result: unknown): string {
  const fields = asObject(result);
  if ("protocolVersion" in fields) {
    const { name, title, version } = asObject(fields["info"] ?? fields["agentInfo"]);
    const agent = [title ?? name, version].filter(Boolean).join(" ");
    return `version ${fields["protocolVersion"]}${agent === "" ? "" : `, ${agent}`}`;
  }
  if (isObject(fields["outcome"])) return scalarText(fields["outcome"]);
  return scalarText(fields);
}

/** The scalar fields of an object, but for the session's id, which stands elsewhere. */
function scalarText(fields: JsonObject): string {
  const shown = Object.entries(fields).filter(
    ([key, value]) => key !== "sessionId" && ["string", "number", "boolean"].includes(typeof value),
  );
  if (shown.length === 1 && typeof shown[0]?.[1] === "string") return shown[0][1];
  return shown.map(([key, value]) => `${key}: ${value}`).join(", ");
}

/** What an update of options, commands, usage, mode or the session's facts says. */
export function configText(kind: string, update: JsonObject): string {
  switch (kind) {
    case "available_commands_update":
      return asArray(update["availableCommands"])
        .map((command) => `/${asObject(command)["name"]}`)
        .join(" ");
    case "config_option_update":
      return asArray(update["configOptions"])
        .map(asObject)
        .map((option) => `${option["name"] ?? option["configId"] ?? option["id"]}: ${option["currentValue"]}`)
        .join(", ");
    case "usage_update": {
      const { used, size, cost } = update;
      const { amount, currency } = asObject(cost);
      return `${used} of ${size} tokens${amount === undefined ? "" : `, ${amount} ${currency}`}`;
    }
    default: {
      const { sessionUpdate: _, ...fields } = update;
      return scalarText(fields);
    }
  }
}
