// Where two views differ, path by path, and which differences have a reason.
import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import { isObject } from "../../src/protocol/json.ts";

/** One difference between two views. */
export interface Difference {
  /** Where, as keys joined by dots. */
  path: string;
  /** What the one has there, and what the other; undefined for nothing. */
  direct: unknown;
  through: unknown;
}

/** Every difference between two values, as deep as both are objects, or lists of one length. */
export function differences(direct: unknown, through: unknown, path: readonly string[] = []): Difference[] {
  if (isDeepStrictEqual(direct, through)) return [];
  const bothObjects = isObject(direct) && isObject(through);
  const bothLists = Array.isArray(direct) && Array.isArray(through) && direct.length === through.length;
  if (!bothObjects && !bothLists) return [{ path: path.join("."), direct, through }];
  const keys = new Set([...Object.keys(direct), ...Object.keys(through)]);
  const at = (value: object, key: string): unknown => (value as Record<string, unknown>)[key];
  return [...keys].flatMap((key) => differences(at(direct, key), at(through, key), [...path, key]));
}

/** A difference that has a reason. */
export interface Loss {
  what: string;
  /** Where in a view. */
  at: RegExp;
  /** The conversations it is confined to, by name. */
  in?: RegExp;
  as?: (difference: Difference) => boolean;
}

/** A difference found in a conversation. */
export interface Found extends Difference {
  name: string;
}

/** Whether a loss covers a difference. */
function covers(loss: Loss, found: Found): boolean {
  return loss.at.test(found.path) && (loss.in?.test(found.name) ?? true) && (loss.as?.(found) ?? true);
}

/**
 * Declares the tests of a list of losses: in each case nothing differs but what a loss covers, and every loss occurs.
 *
 * @param differencesOf the differences of a case; asked once for each
 */
export function testLosses<Case extends { name: string }>(
  cases: readonly Case[],
  losses: readonly Loss[],
  differencesOf: (one: Case) => Difference[],
): void {
  const known = new Map<string, Found[]>();
  const found = (one: Case) => {
    const list = known.get(one.name) ?? differencesOf(one).map((difference) => ({ ...difference, name: one.name }));
    known.set(one.name, list);
    return list;
  };
  test.each(cases)("$name", (one) => {
    expect(found(one).filter((difference) => !losses.some((loss) => covers(loss, difference)))).toEqual([]);
  });
  test.each(losses)("differs: $what", (loss) => {
    expect(cases.flatMap(found).filter((difference) => covers(loss, difference))).not.toHaveLength(0);
  });
}
