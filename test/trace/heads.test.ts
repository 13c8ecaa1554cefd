// Guards that the beginning of a record, written over the last one's, is what it would be if it were written anew.
import fc from "fast-check";
import { expect, test } from "vitest";
import { createHeads, type HeadFields } from "../../src/trace/heads.ts";

const clocks = [0, 9, 10, 12_345].map((millis) => Buffer.from(`,"time":"2026-01-01T00:00:00.000Z","mono":${millis}.`));
const abouts = ['"leg":"a"', '"leg":"bridge-agent","session":"é"'].map((text) => Buffer.from(`,${text}`));

const plain = ({ seq, clock, thousandths, cause, about, bytes }: HeadFields): string =>
  `{"type":"frame","seq":${seq}${clock}${String(thousandths).padStart(3, "0")}` +
  `${cause === undefined ? "" : `,"cause":${cause}`}${about},"bytes":${bytes},"frame":`;

const number = fc.oneof(fc.constantFrom(0, 9, 10, 99, 100, 999_999, 1_000_000, 2 ** 40), fc.nat());
const fields: fc.Arbitrary<HeadFields> = fc.record({
  seq: number,
  clock: fc.constantFrom(...clocks),
  thousandths: fc.nat({ max: 999 }),
  cause: fc.option(number, { nil: undefined }),
  about: fc.constantFrom(...abouts),
  bytes: number,
});

test("any sequence of records", () => {
  fc.assert(
    fc.property(fc.array(fields, { minLength: 1, maxLength: 20 }), (sequence) => {
      const head = createHeads();
      for (const each of sequence) expect(head(each).toString()).toBe(plain(each));
    }),
    { numRuns: 300 },
  );
});
