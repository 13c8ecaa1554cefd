/** Where one JSON value differs from another, as JSON pointers (RFC 6901). */
import { asArray, asObject, isObject, type JsonObject } from "../protocol/json.ts";

/** One place; a side that has nothing there lacks its field. */
export interface ValueDifference {
  pointer: string;
  expected?: unknown;
  actual?: unknown;
}

/**
 * Every place where `actual` is not as `expected`, outermost first.
 *
 * @param mask what stands for a secret that was replaced on either side: it may stand for anything
 */
export function differencesOf(expected: unknown, actual: unknown, mask?: string, pointer = ""): ValueDifference[] {
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const length = Math.max(expected.length, actual.length);
    return Array.from({ length }, (_, index) => index).flatMap((index) =>
      ofMember(expected, actual, index, mask, `${pointer}/${index}`),
    );
  }
  if (isObject(expected) && isObject(actual)) {
    const keys = new Set([...Object.keys(expected), ...Object.keys(actual)]);
    return [...keys].flatMap((key) => ofMember(expected, actual, key, mask, `${pointer}/${escaped(key)}`));
  }
  if (expected === actual || (mask !== undefined && isSameUnder(mask, expected, actual))) return [];
  return [{ pointer, expected, actual }];
}

function ofMember(
  expected: JsonObject | unknown[],
  actual: JsonObject | unknown[],
  key: string | number,
  mask: string | undefined,
  pointer: string,
): ValueDifference[] {
  const [one, other] = [(expected as JsonObject)[key], (actual as JsonObject)[key]];
  if (!Object.hasOwn(actual, key)) return [{ pointer, expected: one }];
  if (!Object.hasOwn(expected, key)) return [{ pointer, actual: other }];
  return differencesOf(one, other, mask, pointer);
}

function escaped(key: string): string {
  return key.replace(/~/g, "~0").replace(/\//g, "~1");
}

function isSameUnder(mask: string, one: unknown, other: unknown): boolean {
  return one === mask || other === mask || fits(mask, one, other) || fits(mask, other, one);
}

/** True when the text is the pattern with something in place of each mask. */
function fits(mask: string, pattern: unknown, text: unknown): boolean {
  if (typeof pattern !== "string" || typeof text !== "string" || !pattern.includes(mask)) return false;
  const [first = "", ...rest] = pattern.split(mask);
  const last = rest.pop() ?? "";
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) return false;
  let from = first.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, from);
    if (found < 0) return false;
    from = found + piece.length;
  }
  return from <= text.length - last.length;
}

/** The value with its fields in the order of the model's: order means nothing in JSON, and would hide what differs. */
export function inOrderOf(value: unknown, model: unknown): unknown {
  if (Array.isArray(value)) return value.map((element, at) => inOrderOf(element, asArray(model)[at]));
  if (!isObject(value)) return value;
  const like = asObject(model);
  const keys = [...Object.keys(like).filter((key) => Object.hasOwn(value, key)), ...Object.keys(value)];
  return Object.fromEntries([...new Set(keys)].map((key) => [key, inOrderOf(value[key], like[key])]));
}
