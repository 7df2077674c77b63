import type { Range } from "./script.ts";

/** Draws numbers in [0, 1). */
export type Random = () => number;

/** Opens the stream of draws that belongs to a seed and a name: equal arguments always give equal draws. */
export function randomStream(seed: number, name: string): Random {
  let state = hash(`${seed}/${name}`);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Draws a number of the range, both ends included as far as rounding allows. */
export function between(random: Random, range: Range): number {
  return range.min + random() * (range.max - range.min);
}

function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193);
  return value;
}
