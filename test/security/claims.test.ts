// Guards SECURITY.md: every claim in its table names a test, and every test it names is there.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "./source.ts";

/** The rows of the table of claims. */
const rows = (readFileSync(join(ROOT, "SECURITY.md"), "utf8").split("## Claims")[1] ?? "")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| claim"))
  .map((line) => {
    const [claim = "", tests = ""] = line.slice(2, -2).split(" | ");
    return { claim, tests };
  });

test("there are claims", () => {
  expect(rows.length).toBeGreaterThan(15);
});

test.each(rows.map(({ claim, tests }) => [claim.slice(0, 80), tests]))("%s", (_, tests) => {
  const files = [...tests.matchAll(/`(test\/[^`]+)`: ((?:"[^"]+"(?:, )?)+)/g)];
  expect(files.length).toBeGreaterThan(0);
  for (const [, file = "", names = ""] of files) {
    expect(existsSync(join(ROOT, file)), file).toBe(true);
    const text = readFileSync(join(ROOT, file), "utf8");
    for (const [, name = ""] of names.matchAll(/"([^"]+)"/g))
      expect(text.includes(JSON.stringify(name)), `${file}: ${name}`).toBe(true);
  }
});
