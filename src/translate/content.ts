import { invalidParams } from "../protocol/errors.ts";
import { asString, isObject, type JsonObject, without } from "../protocol/json.ts";
import type { AgentOffers } from "./capabilities.ts";
import { underscored } from "./open-enums.ts";

/** The content block types both versions define (schema `ContentBlock`). */
export const CONTENT_BLOCK_TYPES: readonly string[] = ["text", "image", "audio", "resource_link", "resource"];

const V1_ROLES: readonly unknown[] = ["assistant", "user"];

/**
 * A v1 content block as v2 has it (docs/mapping.md §9). A type v2 does not define gets a `_` prefix and keeps its
 * payload. An annotation's priority, which v1 does not bound, is brought into v2's range of 0 to 1. A bare string, or
 * an object with `text` and no type, is read as a text block. Anything else is returned as it is.
 */
export function contentBlockToV2(block: JsonObject): JsonObject;
export function contentBlockToV2(block: unknown): unknown;
export function contentBlockToV2(block: unknown): unknown {
  if (typeof block === "string") return { type: "text", text: block };
  if (!isObject(block)) return block;
  const type = asString(block.type);
  if (type === undefined) return typeof block.text === "string" ? { ...block, type: "text" } : block;
  return { ...withBoundedPriority(block), type: underscored(type, CONTENT_BLOCK_TYPES) };
}

function withBoundedPriority(block: JsonObject): JsonObject {
  const annotations = block.annotations;
  if (!isObject(annotations) || typeof annotations.priority !== "number") return block;
  const priority = Math.min(1, Math.max(0, annotations.priority));
  return { ...block, annotations: { ...annotations, priority } };
}

/** A v1 chunk of a message as v2 has it, under the id of its message (docs/mapping.md §5). */
export function chunkToV2(update: JsonObject, messageId: string): JsonObject {
  // `{ ...update, messageId }` is no substitute: V8 takes longer to add a member to such a copy than to parse the frame.
  const { sessionUpdate, messageId: _, content, ...rest } = update;
  return { sessionUpdate, messageId, content: contentBlockToV2(content), ...rest };
}

/** A v1 object that holds one content block or a list of them in `content`, with those as v2 has them. */
export function withContentToV2(holder: JsonObject): JsonObject {
  const { content } = holder;
  if (content === undefined) return holder;
  return {
    ...holder,
    content: Array.isArray(content) ? content.map((block) => contentBlockToV2(block)) : contentBlockToV2(content),
  };
}

/**
 * A v2 content block as v1 has it (docs/mapping.md §9, §13). A type v1 does not define becomes a text block that names
 * it and keeps the block in `_meta`. Every other block stays as it is, but for audience roles v1 does not define: its
 * `Role` is a closed enumeration.
 */
export function contentBlockToV1(block: JsonObject): JsonObject {
  if (typeof block.type === "string" && !CONTENT_BLOCK_TYPES.includes(block.type)) return placeholder(block);
  const annotations = block.annotations;
  if (!isObject(annotations) || !Array.isArray(annotations.audience)) return block;
  const audience = annotations.audience.filter((role) => V1_ROLES.includes(role));
  if (audience.length === annotations.audience.length) return block;
  const kept = audience.length > 0 ? { ...annotations, audience } : without(annotations, "audience");
  return { ...block, annotations: kept };
}

/** The `_meta` key under which a v1 text block carries what it stands for. */
const ORIGINAL_CONTENT = "acp-shift/content";

/** A text block in place of something v1 cannot show, which it names and carries (docs/mapping.md §13). */
export function placeholder(original: JsonObject): JsonObject {
  return { type: "text", text: `[${original.type}]`, _meta: { [ORIGINAL_CONTENT]: original } };
}

/** A v2 object that holds one content block or a list of them in `content`, with those as v1 has them. */
export function withContentToV1(holder: JsonObject): JsonObject {
  const { content } = holder;
  if (Array.isArray(content)) return { ...holder, content: content.filter(isObject).map(contentBlockToV1) };
  return isObject(content) ? { ...holder, content: contentBlockToV1(content) } : holder;
}

/**
 * The content of a v2 `session/prompt` for a v1 agent (docs/mapping.md §9).
 *
 * @throws RequestFault `-32602` naming the first block whose type the agent did not offer (image, audio, resource) or
 *   v1 does not define.
 */
export function promptToV1(prompt: JsonObject[], offers: AgentOffers["prompt"]): JsonObject[] {
  const taken: readonly unknown[] = [
    "text",
    "resource_link",
    ...(offers.image ? ["image"] : []),
    ...(offers.audio ? ["audio"] : []),
    ...(offers.embeddedContext ? ["resource"] : []),
  ];
  return prompt.map((block, index) => {
    if (!isObject(block) || typeof block.type !== "string") {
      throw invalidParams(`prompt[${index}] is no content block: it has no type`, { index });
    }
    if (!taken.includes(block.type)) {
      throw invalidParams(`The agent does not take prompt content of type ${JSON.stringify(block.type)}`, {
        index,
        type: block.type,
      });
    }
    return contentBlockToV1(block);
  });
}

/**
 * The params of a v1 `session/prompt` for a v2 agent: the content blocks as v2 has them (docs/mapping.md §9, §13).
 *
 * @throws RequestFault `-32602` for a prompt without content, which v2 does not allow
 */
export function promptToV2(v1Params: JsonObject): JsonObject {
  const { prompt } = v1Params;
  if (!Array.isArray(prompt) || prompt.length === 0) throw invalidParams("prompt must be a list with content");
  return { ...v1Params, prompt: prompt.map((block) => contentBlockToV2(block)) };
}
