/** Rules that one frame can be held against: the envelope of JSON-RPC, and the schema of the version that is spoken. */
import { asObject, isObject } from "../../protocol/json.ts";
import { Method } from "../../protocol/methods.ts";
import type { ProtocolSchema, SchemaFault } from "../../protocol/schema.ts";
import {
  type Connection,
  idKey,
  isVersion1Shape,
  otherRole,
  type Role,
  type Said,
  type Version,
} from "./connection.ts";
import { type Fault, type Rule, when } from "./rule.ts";

/** The schemas of one version. What only the unstable one defines is judged by it. */
export interface Schemas {
  stable: ProtocolSchema;
  unstable: ProtocolSchema;
}

/** Gone from the version 1 schema, still served by many agents (docs/mapping.md §8). */
const RETIRED = ["session/set_model"];

/** The rules, judging by the schemas of each version. */
export function frameRules(schemasOf: (version: Version) => Schemas): Rule[] {
  const definitionOf = (version: Version, side: Role, method: string, part: "params" | "result") => {
    if (method === Method.cancelRequest && part === "params") return "CancelRequestNotification";
    const { stable, unstable } = schemasOf(version);
    return stable.definitionOf(side, method, part) ?? unstable.definitionOf(side, method, part);
  };
  const faultsOf = (version: Version, definition: string, value: unknown, at: string): Fault[] => {
    const { stable, unstable } = schemasOf(version);
    const faults = stable.has(definition) ? stable.faults(definition, value) : unstable.faults(definition, value);
    const isUnstable = faults.length > 0 && unstable.has(definition) && unstable.faults(definition, value).length === 0;
    return isUnstable ? [] : faults.map(({ path, expected }) => ({ at: at + pointer(path), text: expected }));
  };

  return [
    {
      name: "envelope",
      says: "A frame is one JSON-RPC 2.0 object: a request, a notification, or an answer with a result or an error",
      page: "JSON-RPC 2.0 §4, §5",
      level: "must",
      check({ record: { frame: value }, frame }) {
        if (!isObject(value)) return [{ text: Array.isArray(value) ? "is a batch" : "is no object" }];
        const isCall = "method" in frame;
        const answers = Number("result" in frame) + Number("error" in frame);
        return [
          ...when(frame["jsonrpc"] !== "2.0", 'must be "2.0"', "/jsonrpc"),
          ...when(isCall && typeof frame["method"] !== "string", "must be of type string", "/method"),
          ...when(isCall && answers > 0, "is a call and an answer at once"),
          ...when(!isCall && answers === 0, "has neither method nor result nor error"),
          ...when(answers === 2, "has both a result and an error"),
        ];
      },
    },
    {
      name: "id",
      says: "A request has an id, and an answer that of its request: a string or an integer",
      page: "schema RequestId",
      level: "must",
      check({ frame, kind }, { version }) {
        if (kind === "notification" || kind === "invalid") return [];
        if (!("id" in frame)) return [{ at: "/id", text: "is required: a notification gets no answer" }];
        // An answer to what could not be read has none to give back.
        if (kind === "error" && frame["id"] === null) return [];
        return faultsOf(version ?? 1, "RequestId", frame["id"], "/id").map((fault) => ({
          ...fault,
          text: "must be a string or an integer",
        }));
      },
    },
    {
      name: "id-reused",
      says: "An id is not used again while a request with it awaits its answer",
      page: "schema RequestId",
      level: "must",
      check: ({ kind, frame, from }, { open }) =>
        when(kind === "request" && open[from].has(idKey(frame["id"])), "is the id of a request that is open", "/id"),
    },
    {
      name: "answer",
      says: "An answer answers a request that was asked",
      page: "JSON-RPC 2.0 §5",
      level: "must",
      check({ kind, frame, from, request }, { answered }) {
        if ((kind !== "result" && kind !== "error") || request !== undefined) return [];
        if (!("id" in frame) || (kind === "error" && frame["id"] === null)) return [];
        const twice = answered[otherRole(from)].has(idKey(frame["id"]));
        return [
          { at: "/id", text: twice ? "answers a request that has its answer" : "answers nothing that was asked" },
        ];
      },
    },
    {
      name: "method",
      says: "A method is one that the receiver has in this version; others begin with _",
      page: "v1 extensibility, v2 extensibility",
      level: "must",
      check({ frame, from }, { version }) {
        const { method } = frame;
        if (typeof method !== "string" || version === undefined || isFree(method, version)) return [];
        const known = definitionOf(version, otherRole(from), method, "params") !== undefined;
        return when(!known, `${method} is no method of the ${otherRole(from)} in version ${version}`, "/method");
      },
    },
    {
      name: "request-or-notification",
      says: "A request has an id, a notification has none",
      page: "JSON-RPC 2.0 §4.1",
      level: "must",
      check({ frame, from, method }, { version }) {
        if (typeof frame["method"] !== "string" || method === undefined || version === undefined) return [];
        const definition = definitionOf(version, otherRole(from), method, "params");
        if (definition === undefined || isFree(method, version)) return [];
        const isRequest = definition.endsWith("Request");
        if (isRequest === "id" in frame) return [];
        return [
          { at: "/id", text: isRequest ? "is required: it is a request" : "must not be there: it is a notification" },
        ];
      },
    },
    {
      name: "schema",
      says: "Params, results and errors are as the schema of the version has them",
      page: "schema",
      level: "must",
      check(heard, connection) {
        const { frame, kind, from, method, request, params } = heard;
        const version = versionFor(heard, connection);
        if (version === undefined) return [];
        if (kind === "error") return faultsOf(version, "Error", frame["error"], "/error");
        if (kind === "result") {
          const definition = request && definitionOf(version, from, request.method, "result");
          return definition === undefined ? [] : faultsOf(version, definition, frame["result"], "/result");
        }
        if (method === undefined || isFree(method, version)) return [];
        const definition = definitionOf(version, otherRole(from), method, "params");
        return definition === undefined
          ? []
          : faultsOf(version, definition, "params" in frame ? frame["params"] : params, "/params");
      },
    },
  ];
}

/** The version a frame is judged by: the one agreed on; those that agree on it say it themselves. */
function versionFor({ method, frame, kind }: Said, { version }: Connection): Version | undefined {
  if (method !== Method.initialize) return version;
  const spoken = asObject(frame[kind === "result" ? "result" : "params"]);
  const isVersion2 = Number(spoken["protocolVersion"]) >= 2 && !(kind === "result" && isVersion1Shape(spoken));
  return isVersion2 ? 2 : 1;
}

function isFree(method: string, version: Version): boolean {
  return (
    method.startsWith("_") ||
    (method.startsWith("$/") && method !== Method.cancelRequest) ||
    (version === 1 && RETIRED.includes(method))
  );
}

function pointer(path: SchemaFault["path"]): string {
  return path.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
