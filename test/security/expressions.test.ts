// Guards SECURITY.md, "Nobody can keep it busy": every regular expression in src is finished with a long text made to be hard
// for it. One that needs the square of the length would take a minute here, and one that needs more would never end: each is
// stopped after a few seconds, in which a linear one does thousands of times this work.
import { createContext, Script } from "node:vm";
import { expect, test, vi } from "vitest";
import { isObject } from "../../src/protocol/json.ts";
import { errorToV1 } from "../../src/translate/errors.ts";
import { syntaxOf } from "./source.ts";

const LENGTH = 60_000;
const DEADLINE = 2000;

interface Expression {
  where: string;
  source: string;
  flags: string;
}

/** Patterns that are put together at run time; those of src/redact.ts are caught when they are. The rest, and why they may stay. */
const MADE: Record<string, string> = {
  "commands/trace-show.ts": "the person's own, given on the command line",
  "viewer/filter.ts": "alternatives of escaped words",
  "viewer/page/dom.ts": "the pattern of viewer/filter.ts once more",
  "demo/frames-view.ts": "over the demo's own text",
  "transport/abridge.ts": "digits between words of its own",
};

async function expressions(): Promise<Expression[]> {
  const written: Expression[] = [];
  const made = new Set<string>();
  for (const { file, type, node } of syntaxOf("src")) {
    const { regex, callee } = node;
    if (type === "Literal" && isObject(regex))
      written.push({ where: file, source: String(regex["pattern"]), flags: String(regex["flags"]) });
    if ((type === "NewExpression" || type === "CallExpression") && isObject(callee) && callee["name"] === "RegExp")
      made.add(file);
  }
  expect([...made].sort()).toEqual([...Object.keys(MADE), "redact.ts"].sort());
  return [...written, ...(await madeAtLoad())];
}

/** What src/redact.ts makes when it is loaded. */
async function madeAtLoad(): Promise<Expression[]> {
  const caught: Expression[] = [];
  class Caught extends RegExp {
    constructor(source: string, flags?: string) {
      super(source, flags);
      caught.push({ where: "redact.ts", source, flags: flags ?? "" });
    }
  }
  vi.resetModules();
  vi.stubGlobal("RegExp", Caught);
  await import("../../src/redact.ts");
  vi.unstubAllGlobals();
  expect(caught.length).toBeGreaterThan(5);
  return caught;
}

/** Pieces an expression may go far along with: its own words, and characters of every kind. */
function pieces(source: string): string[] {
  const words = source.match(/[a-z]{3,}/gi) ?? [];
  const marks = source.match(/[^\w\s]/g) ?? [];
  const kinds = [
    " ",
    "\t",
    "\n",
    "\r",
    "a",
    "A",
    "0",
    "9.",
    "-",
    "_",
    "é",
    '"',
    "\\",
    '\\"',
    "/",
    "{",
    "[",
    "\x1b[",
    "\x1b]",
  ];
  const own = [...new Set([...words, ...marks])];
  return [...kinds, ...own, ...own.map((word) => `${word} `)];
}

/** Long texts that begin well and end badly. */
function* hardTexts(source: string): Generator<string> {
  const words = source.match(/[a-z]{3,}/gi) ?? [];
  for (const piece of new Set(pieces(source))) {
    const many = piece.repeat(Math.ceil(LENGTH / piece.length));
    yield `${many}\x00`;
    yield `${many}\n!`;
    for (const word of words.slice(0, 1)) yield `${word}${many}\x00`;
  }
}

/** Expressions that are slow over long hard texts, and why they never get one. */
const SHELTERED: Record<string, string> = {
  "protocol/frames.ts": "reads the first and the last 4 KiB of a line",
  "viewer/page/json-view.ts": "reads what JSON.stringify wrote, in which every string is closed",
};

const all = new Script("for (const text of texts) text.replace(expression, '')");

test("every expression comes to its end", async () => {
  const found = await expressions();
  expect(found.length).toBeGreaterThan(100);
  const stuck = new Set<string>();
  for (const { where, source, flags } of found) {
    const world = createContext({ texts: [...hardTexts(source)], expression: new RegExp(source, flags) });
    try {
      all.runInContext(world, { timeout: DEADLINE });
    } catch {
      stuck.add(where);
    }
  }
  expect([...stuck].filter((where) => !Object.hasOwn(SHELTERED, where))).toEqual([]);
});

test("an error's message of a million blanks is put on one line", () => {
  const message = `a${"\t".repeat(1_000_000)}b\nc`;
  expect(errorToV1({ code: 1, message })).toEqual({ code: 1, message: `a${"\t".repeat(1_000_000)}b c` });
});
