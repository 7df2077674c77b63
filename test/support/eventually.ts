/** Bounded polling for what another process brings about. */
import { setTimeout } from "node:timers/promises";

const [firstPauseMs, longestPauseMs] = [10, 100];

/** Looks until `look` gives something other than undefined or false, and returns it; throws after `withinMs`. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = 45_000,
): Promise<T> {
  const end = Date.now() + withinMs;
  let pauseMs = firstPauseMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (Date.now() >= end) throw new Error(`Cannot see "${what}": it did not happen within ${withinMs} ms`);
    await setTimeout(pauseMs);
    // A look is often a question to a worker, which costs more than what it waits for.
    pauseMs = Math.min(pauseMs * 1.3, longestPauseMs);
  }
}
