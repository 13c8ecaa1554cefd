// What a v1 client says where a v2 client was recorded.
import { asObject, type JsonObject, without } from "../../src/protocol/json.ts";

/** The v1 form of a v2 client's frame: the same wish in v1's words. The client can show everything v1 has. */
export function asV1(frame: JsonObject): JsonObject {
  const params = asObject(frame["params"]);
  switch (frame["method"]) {
    case "initialize":
      return { ...frame, params: HELLO_V1 };
    case "session/resume":
      return "replayFrom" in params
        ? { ...frame, method: "session/load", params: without(params, "replayFrom") }
        : frame;
    case "session/set_config_option":
      return { ...frame, params: params["type"] === "id" ? without(params, "type") : params };
    case "auth/login":
      return { ...frame, method: "authenticate" };
    default:
      return frame;
  }
}

const HELLO_V1 = {
  protocolVersion: 1,
  clientInfo: { name: "client", version: "1" },
  clientCapabilities: {
    session: { notices: {}, compaction: {}, configOptions: { boolean: {} } },
    _meta: { terminal_output: true },
  },
};
