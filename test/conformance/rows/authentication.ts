// Rows about logging in and out.
import { expect } from "vitest";
import { asArray, asObject, type JsonObject } from "../../../src/protocol/json.ts";
import type { Connection, Row } from "../kit.ts";

const methodsOf = ({ initialized }: Connection) => asArray(initialized["authMethods"]).map(asObject);

export const authenticationRows: Row[] = [
  {
    id: "ACP-AUTH-201",
    tier: "ADVISORY",
    title: "no two methods have the same id",
    async check(kit) {
      const ids = methodsOf(await kit.terminalClient()).map((method) => method["methodId"]);
      expect(new Set(ids).size).toBe(ids.length);
    },
  },
  {
    id: "ACP-AUTH-202",
    tier: "MANDATORY",
    title: "a client that runs no terminal logins is offered none",
    async check(kit) {
      expect(methodsOf(await kit.main()).filter((method) => method["type"] === "terminal")).toEqual([]);
    },
  },
  {
    id: "ACP-AUTH-203",
    tier: "CAPABILITY",
    gate: "inferred:authMethods",
    title: "auth/logout has an object for a result",
    async check(kit) {
      const { bridge } = await kit.main();
      expect(await bridge.call("auth/logout", {})).toEqual({});
    },
  },
  {
    id: "ACP-AUTH-204",
    tier: "CAPABILITY",
    gate: "inferred:authMethods",
    title: "after auth/login a session opens",
    async check(kit) {
      const main = await kit.main();
      const [first] = methodsOf(main);
      expect(await main.bridge.call("auth/login", { methodId: first?.["methodId"] })).toEqual({});
      expect((await kit.session()).sessionId).toMatch(/./);
    },
  },
  {
    id: "ACP-AUTH-205",
    tier: "ADVISORY",
    title: "where no method is offered, a session opens without a login",
    async check(kit) {
      const answer: JsonObject = await (await kit.main()).bridge.request("session/new", { cwd: "/work" });
      expect(asObject(answer["error"])["code"]).not.toBe(-32000);
    },
  },
  {
    id: "ACP-AUTH-206",
    tier: "MANDATORY",
    title: "a method's type is a defined one or begins with _",
    async check(kit) {
      for (const method of methodsOf(await kit.terminalClient()))
        expect(method["type"]).toMatch(/^(agent|terminal|_.*)$/);
    },
  },
  {
    id: "ACP-AUTH-207",
    tier: "MANDATORY",
    title: "terminal methods have texts for arguments, and variables with names of their own and texts for values",
    async check(kit) {
      for (const method of methodsOf(await kit.terminalClient())) {
        if (method["type"] !== "terminal") continue;
        for (const argument of asArray(method["args"])) expect(typeof argument).toBe("string");
        const env = asArray(method["env"]).map(asObject);
        expect(new Set(env.map((variable) => variable["name"])).size).toBe(env.length);
        for (const variable of env) expect(typeof variable["value"]).toBe("string");
      }
    },
  },
];
