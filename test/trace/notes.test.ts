// Guards that a trace names the rule of everything the bridge made, changed, left out or guessed: each log event the core,
// the translations and the shell can write is in the table, and each rule it names stands in docs/mapping.md.
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { noteEvents, noteKind } from "../../src/trace/notes.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

const PART = /\$\{part\}/;
const OF_THE_CORE = /\blog\(\s*bridge,\s*"\w+",\s*["`]([^"`]+)["`]/g;

/** Every name a log event is given in these files; `part` in it stands for each of the two values it can have. */
function eventsIn(folder: string, pattern: RegExp): string[] {
  return sourcesIn(folder).flatMap((source) =>
    [...source.matchAll(pattern)].flatMap(([, name = ""]) =>
      PART.test(name) ? ["params", "result"].map((part) => name.replace(PART, part)) : [name],
    ),
  );
}

function sourcesIn(folder: string): string[] {
  const files = readdirSync(`${root}/src/${folder}`, { recursive: true, encoding: "utf8" });
  return files
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(`${root}/src/${folder}/${name}`, "utf8"));
}

const emitted = [
  ...eventsIn("bridge", OF_THE_CORE),
  ...eventsIn("translate", /\brule:\s*"([^"]+)"/g),
  ...eventsIn("commands", /\blog\.(?:debug|info|warn|error)\("([^"]+)"/g),
];

/** Told by the shell but recorded as what they are, or no concern of a run's traffic. */
const elsewhere = [
  "agent-noise",
  "connection-left",
  "drain-limit",
  "draining",
  "listening",
  "ops-listening",
  "otlp-fault",
  "uncaught",
];

test("the search finds the calls there are", () => {
  expect(emitted.length).toBeGreaterThan(50);
  const bridge = sourcesIn("bridge");
  const calls = bridge.flatMap((source) => [...source.matchAll(/\blog\(\s*bridge,/g)]);
  const named = bridge.flatMap((source) => [...source.matchAll(OF_THE_CORE)]);
  // All but that of logNotes, which passes on the names the translations give.
  expect(named.length).toBe(calls.length - 1);
});

test("every log event is in the table, and nothing else is", () => {
  expect([...noteEvents].toSorted()).toEqual(
    [...new Set(emitted)].filter((event) => !elsewhere.includes(event)).toSorted(),
  );
});

test("every rule stands in docs/mapping.md", () => {
  const mapping = readFileSync(`${root}/docs/mapping.md`, "utf8");
  const missing = noteEvents.filter((event) => {
    const { rule } = noteKind(event);
    if (rule === undefined) return false;
    if (rule.startsWith("§")) return !mapping.includes(`\n## ${rule.slice(1)}. `);
    return !mapping.includes(`\n| ${rule} |`) && !mapping.includes(`\n## ${rule}\n`);
  });
  expect(missing).toEqual([]);
});

test("an unknown event is no claim", () => {
  expect(noteKind("toString")).toEqual({ what: "other" });
});
