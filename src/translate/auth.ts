import { asArray, asObject, asString, isObject, type JsonObject, without } from "../protocol/json.ts";
import type { Notes } from "./notes.ts";
import { underscored } from "./open-enums.ts";

const AUTH_TYPES = ["agent", "terminal"];

/** The `_meta` key under which a v1 method carries a type that v1 does not define. */
const ORIGINAL_TYPE = "acp-shift/type";

/**
 * v1 `authMethods` as v2 has them (docs/mapping.md §2, schema v2 `AuthMethod`): `id` becomes `methodId`, no type means
 * `agent`, a terminal method's `env` object becomes a list, an unknown type gets a `_` prefix and keeps its payload.
 *
 * Left out, each with a note: entries without an id, ids used twice, and terminal methods when the client cannot run
 * them.
 */
export function authMethodsToV2(v1Methods: unknown, clientHasTerminalAuth: boolean, notes: Notes): JsonObject[] {
  const ids = new Set<string>();
  return asArray(v1Methods).flatMap((method): JsonObject[] => {
    const methodId = isObject(method) ? asString(method.id) : undefined;
    if (!isObject(method) || methodId === undefined || methodId === "" || ids.has(methodId)) {
      notes.push({ rule: "auth-method-dropped", detail: "a method has no id, or one that is already taken" });
      return [];
    }
    const type = underscored(asString(method.type) ?? "agent", AUTH_TYPES);
    if (type === "terminal" && !clientHasTerminalAuth) {
      notes.push({ rule: "auth-method-terminal", detail: `the client runs no terminal logins: ${methodId} left out` });
      return [];
    }
    ids.add(methodId);
    const common = { ...without(method, "id"), type, methodId, name: asString(method.name) ?? methodId };
    return [type === "terminal" ? terminalMethodToV2(common, notes) : common];
  });
}

function terminalMethodToV2(method: JsonObject, notes: Notes): JsonObject {
  const args = Array.isArray(method.args) ? { args: method.args.filter((arg) => typeof arg === "string") } : {};
  const env = typeof method.env === "object" && method.env !== null ? { env: envToV2(method.env, notes) } : {};
  return { ...without(method, "args", "env"), ...args, ...env };
}

/** v1's `{NAME: value}`, or v2's own `[{name, value}]` from agents ahead of their version. Names stay unique. */
function envToV2(env: object, notes: Notes): JsonObject[] {
  const entries: unknown[] = Array.isArray(env) ? env : Object.entries(env).map(([name, value]) => ({ name, value }));
  const variables = new Map<string, JsonObject>();
  for (const entry of entries) {
    if (isObject(entry) && typeof entry.name === "string" && typeof entry.value === "string") {
      variables.set(entry.name, entry);
    } else {
      notes.push({ rule: "auth-env-dropped", detail: "an environment variable has no text for a name or value" });
    }
  }
  return [...variables.values()];
}

/**
 * v2 `authMethods` as v1 has them (docs/mapping.md §13, schema v1 `AuthMethod`): `methodId` becomes `id`, the type
 * `agent` is v1's default, a terminal method's `env` list becomes an object. A method of another type is shown without
 * one; the type stays in `_meta`. Left out, with a note: terminal methods when the client cannot run them.
 */
export function authMethodsToV1(v2Methods: unknown, clientHasTerminalAuth: boolean, notes: Notes): JsonObject[] {
  return asArray(v2Methods)
    .filter(isObject)
    .flatMap((method): JsonObject[] => {
      const { type, methodId } = method;
      const common = { ...without(method, "methodId", "type", "env"), id: methodId };
      if (type === "agent") return [common];
      if (type !== "terminal") {
        notes.push({ rule: "auth-method-type", detail: `the method ${methodId} has a type that v1 does not know` });
        return [
          {
            ...without(method, "methodId", "type"),
            id: methodId,
            _meta: { ...asObject(method._meta), [ORIGINAL_TYPE]: type },
          },
        ];
      }
      if (!clientHasTerminalAuth) {
        notes.push({
          rule: "auth-method-terminal",
          detail: `the client runs no terminal logins: ${methodId} left out`,
        });
        return [];
      }
      const env = Array.isArray(method.env) ? { env: envToV1(method.env) } : {};
      return [{ ...common, type, ...env }];
    });
}

function envToV1(env: unknown[]): JsonObject {
  return Object.fromEntries(env.filter(isObject).map(({ name, value }) => [name, value]));
}
