/** The heights of the rows of a list, in pixels, and where each begins. */
export interface Heights {
  readonly count: number;
  /** The height of all rows together. */
  readonly total: number;
  get(index: number): number;
  set(index: number, height: number): void;
  /** Where a row begins. */
  top(index: number): number;
  /** The row at an offset: the last for one below all, 0 for one above. */
  at(offset: number): number;
}

/** Rows that are all of one height. */
export function equalHeights(count: number, height: number): Heights {
  return {
    count,
    total: count * height,
    get: () => height,
    set: () => {},
    top: (index) => index * height,
    at: (offset) => Math.max(0, Math.min(count - 1, Math.floor(offset / height))),
  };
}

/** Rows each of its own height, as a Fenwick tree: every operation takes logarithmic time. */
export function ownHeights(heights: readonly number[]): Heights {
  const count = heights.length;
  const own = Float64Array.from(heights);
  const tree = new Float64Array(count + 1);
  let total = 0;
  for (let at = 1; at <= count; at++) {
    const height = own[at - 1] ?? 0;
    total += height;
    tree[at] = (tree[at] ?? 0) + height;
    const parent = at + (at & -at);
    if (parent <= count) tree[parent] = (tree[parent] ?? 0) + (tree[at] ?? 0);
  }
  const top2 = 2 ** Math.floor(Math.log2(Math.max(count, 1)));
  return {
    count,
    get total() {
      return total;
    },
    get: (index) => own[index] ?? 0,
    set(index, height) {
      const change = height - (own[index] ?? height);
      if (change === 0) return;
      own[index] = height;
      total += change;
      for (let at = index + 1; at <= count; at += at & -at) tree[at] = (tree[at] ?? 0) + change;
    },
    top(index) {
      let sum = 0;
      for (let at = index; at > 0; at -= at & -at) sum += tree[at] ?? 0;
      return sum;
    },
    at(offset) {
      let [at, rest] = [0, offset];
      for (let step = top2; step >= 1; step /= 2) {
        const height = tree[at + step] ?? Number.POSITIVE_INFINITY;
        if (at + step > count || height > rest) continue;
        at += step;
        rest -= height;
      }
      return Math.max(0, Math.min(count - 1, at));
    },
  };
}
