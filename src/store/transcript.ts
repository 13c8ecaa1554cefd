import { asString, isObject, type JsonObject } from "../protocol/json.ts";
import { CHUNKS, UPSERTS } from "../protocol/upserts.ts";

/** A session's updates, folded as they come in. */
export interface Transcript {
  add(update: JsonObject): void;
  updates(): JsonObject[];
}

interface Entity {
  update: JsonObject | undefined;
  chunks: JsonObject[];
}

/**
 * A transcript that keeps what a client needs to come to the same view, and no more (schema v2 `SessionUpdate`).
 *
 * Whatever has an id keeps the place where it first appeared, with one update there: fields that are present replace
 * those before, and a `_meta` object patches key by key. Chunks follow right behind in their order, but those that a
 * later whole content replaced are dropped. Of a plan the last update or removal is kept. Anything else stays as it
 * came.
 */
export function createTranscript(): Transcript {
  const timeline: Entity[] = [];
  const byId = new Map<string, Entity>();

  const entity = (kind: string, id: unknown): Entity => {
    const key = typeof id === "string" ? `${kind} ${id}` : undefined;
    const known = key === undefined ? undefined : byId.get(key);
    if (known !== undefined) return known;
    const added: Entity = { update: undefined, chunks: [] };
    timeline.push(added);
    if (key !== undefined) byId.set(key, added);
    return added;
  };

  return {
    add(update) {
      const kind = asString(update["sessionUpdate"]) ?? "";
      const upsert = UPSERTS.get(kind);
      const patched = CHUNKS.get(kind);
      if (upsert !== undefined) {
        const known = entity(kind, update[upsert.id]);
        known.update = known.update === undefined ? update : patch(known.update, update);
        if (upsert.content !== undefined && Object.hasOwn(update, upsert.content)) known.chunks = [];
      } else if (patched !== undefined) {
        entity(patched, update[UPSERTS.get(patched)?.id ?? ""]).chunks.push(update);
      } else {
        entity("plan_update", planIdOf(update)).update = update;
      }
    },
    updates: () => timeline.flatMap(({ update, chunks }) => (update === undefined ? chunks : [update, ...chunks])),
  };
}

/** The plan an update is about; undefined for everything that is about none. */
function planIdOf(update: JsonObject): unknown {
  if (update["sessionUpdate"] === "plan_removed") return update["planId"];
  if (update["sessionUpdate"] !== "plan_update") return undefined;
  return isObject(update["plan"]) ? update["plan"]["planId"] : undefined;
}

function patch(known: JsonObject, update: JsonObject): JsonObject {
  const { _meta: before } = known;
  const { _meta: change } = update;
  const merged = { ...known, ...update };
  return isObject(before) && isObject(change) ? { ...merged, _meta: { ...before, ...change } } : merged;
}
