// Guards docs/mapping.md: its numbered rules are the rules of the test tables, no more and no fewer.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { RULES } from "./translate/cases/case.ts";

const text = readFileSync(new URL("../docs/mapping.md", import.meta.url), "utf8");
const written = [...text.matchAll(/^\| (\d+\.\d+) \|/gm)].map(([, rule]) => rule);

test("docs/mapping.md has every rule of the tables, once, in order", () => {
  expect(written).toEqual(Object.keys(RULES));
});

test("it says what does not cross", () => {
  expect(text).toContain("## What does not cross");
});

test("its sections are those of the bridge's tests", () => {
  const sections = [...text.matchAll(/^## (\d+)\. /gm)].map(([, section]) => Number(section));
  expect(sections).toEqual([...Array(14).keys()]);
});
