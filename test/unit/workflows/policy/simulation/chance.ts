/** Reproducible random numbers: a generator from a seed, or constant numbers. */

/** Returns an integer from `least` to `most`, both included. */
export type Chance = (least: number, most: number) => number;

/** Returns the generator Mulberry32 by Tommy Ettinger. */
export function chanceFrom(seed: number): Chance {
  let state = seed >>> 0;
  return (least, most) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return least + ((bits ^ (bits >>> 14)) >>> 0) % (most - least + 1);
  };
}

/** Returns the middle of the range instead of a random number. */
export const noChance: Chance = (least, most) => Math.floor((least + most) / 2);
