// Runs a table of mapping cases: the exact result, the notes, an untouched input, and a result that is valid in the
// version it is for.
import { expect, test } from "vitest";
import { RequestFault } from "../../src/protocol/errors.ts";
import type { JsonObject } from "../../src/protocol/json.ts";
import type { Note, Notes } from "../../src/translate/notes.ts";
import { type Case, type Refusal, RULES } from "../translate/cases/case.ts";

/**
 * Declares one test per case. `validate` gives the error text of a result that is no valid protocol value,
 * `validateInput` that of an input.
 */
export function testCases(
  cases: readonly Case[],
  translate: (input: JsonObject, notes: Notes) => unknown,
  validate: (result: unknown) => string | undefined = () => undefined,
  validateInput: (input: JsonObject) => string | undefined = () => undefined,
): void {
  test.each(cases)("$rule $title", (row) => {
    expect(RULES).toHaveProperty([row.rule]);
    if (!row.badInput) expect(validateInput(row.in)).toBeUndefined();
    const notes: Note[] = [];
    const result = translate(frozen(row.in), notes);
    expect(result).toStrictEqual(row.out);
    expect(notes.map((note) => note.rule)).toStrictEqual(row.notes ?? []);
    if (!row.invalid) expect(validate(result)).toBeUndefined();
  });
}

/** Declares one test per refusal: the translation raises exactly that error. */
export function testRefusals(cases: readonly Refusal[], translate: (input: JsonObject) => unknown): void {
  test.each(cases)("$rule $title", (row) => {
    expect(RULES).toHaveProperty([row.rule]);
    expect(refusal(() => translate(frozen(row.in)))).toStrictEqual(row.error);
  });
}

/** The first error text among the items of a list, with its place. */
export function firstFault(list: unknown, validate: (item: unknown) => string | undefined): string | undefined {
  if (!Array.isArray(list)) return "not a list";
  const faults = list.map((item: unknown, index) => [index, validate(item)] as const);
  const fault = faults.find(([, text]) => text !== undefined);
  return fault && `[${fault[0]}] ${fault[1]}`;
}

function refusal(run: () => unknown): unknown {
  try {
    return { accepted: run() };
  } catch (error) {
    if (error instanceof RequestFault) return error.error;
    throw error;
  }
}

/** A deep copy that throws when it is written to. */
export function frozen<T>(value: T): T {
  const copy = structuredClone(value);
  freeze(copy);
  return copy;
}

function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  Object.freeze(value);
  for (const inner of Object.values(value)) freeze(inner);
}
