/** Bounded polling for what another process brings about. */
import { setTimeout } from "node:timers/promises";

/** Looks until `look` gives something other than undefined or false, and returns it; throws after `withinMs`. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = 45_000,
): Promise<T> {
  const end = Date.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (Date.now() >= end) throw new Error(`Cannot see "${what}": it did not happen within ${withinMs} ms`);
    await setTimeout(10);
  }
}
