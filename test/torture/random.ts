// Random numbers from a seed, the same on every machine.

/** A source of random numbers. */
export interface Random {
  /** An integer from 0 to below `below`. */
  upTo(below: number): number;
  /** True once in so many times. */
  oneIn(times: number): boolean;
  pick<T>(from: readonly T[]): T;
}

/** Marsaglia's xorshift, of 32 bits. */
export function createRandom(seed: number): Random {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) | 1;
  const random: Random = {
    upTo(below) {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return (state >>> 0) % below;
    },
    oneIn: (times) => random.upTo(times) === 0,
    pick(from) {
      if (from.length === 0) throw new Error("nothing to pick from");
      return from[random.upTo(from.length)] as (typeof from)[number];
    },
  };
  return random;
}
