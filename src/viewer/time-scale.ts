/** A stretch of time, in ms. */
export interface Span {
  from: number;
  to: number;
}

/** Maps times to places on a line on which long stretches of nothing may be folded. */
export interface TimeScale {
  /** The length of the line; a place on it lies between 0 and this. In ms, folded ones counted as they are drawn. */
  readonly length: number;
  /** The stretches that are folded, in order. */
  readonly folds: readonly Span[];
  /** The place of a time. */
  place(time: number): number;
  /** The time at a place. */
  time(place: number): number;
}

/** A stretch of nothing from this length on is folded, in ms. */
const FOLD_FROM = 2_000;

/**
 * Makes the scale of a time line. Folded is only what lies between turns, while nothing is going on: silence within a
 * turn is what one wants to see at its full length.
 *
 * @param times the times of all records, in ms, in order
 * @param turns when something was going on
 * @param fold false to draw everything to scale
 */
export function createTimeScale(times: readonly number[], turns: readonly Span[], fold: boolean): TimeScale {
  const start = times[0] ?? 0;
  const end = Math.max(times.at(-1) ?? 0, start + 1);
  const folds = fold ? quietStretches(times, turns) : [];
  const drawn = end - start - folds.reduce((sum, { from, to }) => sum + (to - from), 0);
  // All folds together take at most a third of the line, and one at most a twentieth.
  const width = Math.max(drawn, 1) * Math.min(0.05, 0.33 / Math.max(folds.length, 1));
  const knots = [{ time: start, place: 0 }];
  for (const { from, to } of folds) {
    const place = last(knots).place + from - last(knots).time;
    knots.push({ time: from, place }, { time: to, place: place + width });
  }
  knots.push({ time: end, place: last(knots).place + end - last(knots).time });

  const between = (key: "time" | "place", other: "time" | "place") => (value: number) => {
    const after = Math.max(
      1,
      firstFrom(knots, (knot) => knot[key] >= value),
    );
    const [a, b] = [knots[Math.min(after, knots.length - 1) - 1], knots[Math.min(after, knots.length - 1)]];
    if (a === undefined || b === undefined) return 0;
    const share = b[key] === a[key] ? 0 : (value - a[key]) / (b[key] - a[key]);
    return a[other] + Math.min(1, Math.max(0, share)) * (b[other] - a[other]);
  };
  return { length: last(knots).place, folds, place: between("time", "place"), time: between("place", "time") };
}

/** Where nothing happened for long, outside all turns. */
function quietStretches(times: readonly number[], turns: readonly Span[]): Span[] {
  const sorted = turns.toSorted((one, other) => one.from - other.from);
  const quiet: Span[] = [];
  let turn = 0;
  let busyUntil = Number.NEGATIVE_INFINITY;
  for (let at = 1; at < times.length; at++) {
    const [from, to] = [times[at - 1] ?? 0, times[at] ?? 0];
    if (to - from < FOLD_FROM) continue;
    for (; (sorted[turn]?.from ?? Number.POSITIVE_INFINITY) < to; turn++) {
      busyUntil = Math.max(busyUntil, sorted[turn]?.to ?? 0);
    }
    if (busyUntil <= from) quiet.push({ from, to });
  }
  return quiet;
}

function last<T>(list: readonly [T, ...T[]] | readonly T[]): T {
  return list[list.length - 1] as T;
}

/** The index of the first element of an ordered list for which the test holds; its length when there is none. */
export function firstFrom<T>(list: readonly T[], test: (element: T) => boolean): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(list[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}
