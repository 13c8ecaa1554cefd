// Guards docs/architecture.md: which room may import which, derived anew from the source at every run.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const src = fileURLToPath(new URL("../src", import.meta.url));

interface Room {
  /** Other rooms it may import from. */
  rooms: string[];
  /** Packages it may load; types are free. */
  packages: string[];
  /** Whether it may touch the platform. */
  node: boolean;
}

/** One direction only: cli → commands → (transport, config, bridge) → translate → protocol. */
const ROOMS: Record<string, Room> = {
  protocol: { rooms: [], packages: [], node: false },
  translate: { rooms: ["protocol"], packages: ["diff"], node: false },
  bridge: { rooms: ["translate", "protocol"], packages: [], node: false },
  transport: { rooms: ["protocol"], packages: ["cross-spawn"], node: true },
  config: { rooms: ["protocol"], packages: ["yargs", "env-paths"], node: true },
  store: { rooms: ["protocol"], packages: [], node: true },
  logging: { rooms: ["protocol", "config", "redact"], packages: ["pino"], node: true },
  redact: { rooms: ["protocol"], packages: [], node: false },
  demo: { rooms: ["protocol", "transport"], packages: ["json-rpc-2.0"], node: true },
  doctor: { rooms: ["translate", "protocol", "config", "redact"], packages: ["json-rpc-2.0"], node: true },
  trace: { rooms: ["bridge", "protocol", "config", "logging", "redact"], packages: ["diff"], node: true },
  ops: {
    rooms: ["bridge", "trace", "transport", "config", "protocol"],
    packages: [
      "prom-client",
      "@opentelemetry/api",
      "@opentelemetry/core",
      "@opentelemetry/resources",
      "@opentelemetry/sdk-trace",
      "@opentelemetry/exporter-trace-otlp-http",
    ],
    node: true,
  },
  viewer: { rooms: ["trace", "protocol"], packages: ["diff"], node: false },
  remote: { rooms: ["transport", "config", "logging", "protocol"], packages: ["ws"], node: true },
  services: { rooms: ["protocol", "transport"], packages: [], node: true },
  commands: {
    rooms: [
      "services",
      "store",
      "translate",
      "bridge",
      "transport",
      "config",
      "logging",
      "demo",
      "doctor",
      "trace",
      "remote",
      "ops",
      "protocol",
    ],
    packages: ["cross-spawn"],
    node: true,
  },
  cli: { rooms: ["commands", "config", "logging"], packages: [], node: true },
};

interface Import {
  file: string;
  target: string;
  typeOnly: boolean;
}

const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
const imports = files.flatMap(importsOf);

function importsOf(file: string): Import[] {
  const text = readFileSync(join(src, file), "utf8").replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
  const statements = text.matchAll(
    /(?:import|export)\s+(type\b)?[^"';]*?from\s*"([^"]+)"|import\s*\(\s*"([^"]+)"\s*\)|import\s+"([^"]+)"/g,
  );
  return [...statements].map(([, type, from, dynamic, bare]) => ({
    file,
    target: from ?? dynamic ?? bare ?? "",
    typeOnly: type !== undefined,
  }));
}

function roomOf(file: string): string {
  return file.split(/[\\/]/)[0]?.replace(/\.ts$/, "") ?? "";
}

const rulesOf = (file: string): Room => ROOMS[roomOf(file)] ?? { rooms: [], packages: [], node: false };
const packageOf = (target: string) =>
  target
    .split("/")
    .slice(0, target.startsWith("@") ? 2 : 1)
    .join("/");

describe("rooms", () => {
  test("every file stands in a room, and the imports are found", () => {
    expect(files.filter((file) => !(roomOf(file) in ROOMS))).toEqual([]);
    expect(files.length).toBeGreaterThan(30);
    expect(imports.length).toBeGreaterThan(200);
  });

  test("a room imports only from the rooms below it", () => {
    const wrong = imports.filter(({ file, target }) => {
      if (!target.startsWith(".")) return false;
      const imported = roomOf(relative(src, join(src, dirname(file), target)));
      return imported !== roomOf(file) && !rulesOf(file).rooms.includes(imported);
    });
    expect(wrong).toEqual([]);
  });

  test("the core and the translations touch no platform", () => {
    expect(imports.filter(({ file, target }) => target.startsWith("node:") && !rulesOf(file).node)).toEqual([]);
  });

  test("a room loads only its own packages", () => {
    const wrong = imports.filter(
      ({ file, target, typeOnly }) =>
        !typeOnly && !/^(\.|node:)/.test(target) && !rulesOf(file).packages.includes(packageOf(target)),
    );
    expect(wrong).toEqual([]);
  });

  test("protocol types come from the SDK as types only", () => {
    expect(
      imports.filter(({ target, typeOnly }) => !typeOnly && packageOf(target) === "@agentclientprotocol/sdk"),
    ).toEqual([]);
  });
});

describe("cycles", () => {
  test("translate and protocol have none", () => {
    const edges = new Map<string, string[]>();
    for (const { file, target, typeOnly } of imports)
      if (target.startsWith(".") && !typeOnly && ["translate", "protocol"].includes(roomOf(file)))
        edges.set(file, [...(edges.get(file) ?? []), relative(src, join(src, dirname(file), target))]);
    const reach = (from: string, seen: Set<string>): Set<string> => {
      for (const next of edges.get(from) ?? []) if (!seen.has(next)) reach(next, seen.add(next));
      return seen;
    };
    expect([...edges.keys()].filter((file) => reach(file, new Set()).has(file))).toEqual([]);
  });
});
