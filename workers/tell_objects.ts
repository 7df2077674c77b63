/**
 * Signals a run for each object of a kind: when the object is created or changes, and again periodically, so that a
 * terminated run is started anew. An open run ignores the repetition.
 */
import type { Logger } from "@temporalio/common";
import { setTimeout } from "node:timers/promises";

const defaults = { lookEvery: 1_000, retellAfter: 300_000 };
/** Number of runs that are signalled concurrently. */
const width = 10;

export interface ObjectNews {
  /** The kind of the objects in messages. */
  what: string;
  /** Returns all existing objects by name, each with a digest of everything its run depends on. */
  seen: () => Iterable<[name: string, identity: string]>;
  tell: (name: string) => Promise<void>;
  log: Pick<Logger, "warn">;
  /** Milliseconds between checks (`lookEvery`), and until a signal is repeated (`retellAfter`). */
  every?: Partial<typeof defaults>;
}

/**
 * Calls `tell` for each new or changed object, and again after `retellAfter`, until `signal` aborts. If a call fails,
 * the next check repeats it.
 */
export async function tellObjects({ what, seen, tell, log, every }: ObjectNews, signal: AbortSignal): Promise<void> {
  const { lookEvery, retellAfter } = { ...defaults, ...every };
  let told = new Map<string, { identity: string; at: number }>();
  while (!signal.aborted) {
    // Not a wall clock, because one that is set back would delay repeated signals until it has caught up.
    const now = performance.now();
    const there = new Map(seen());
    // Objects that no longer exist are forgotten.
    told = new Map([...told].filter(([name]) => there.has(name)));
    const news = [...there].filter(([name, identity]) => {
      const known = told.get(name);
      return known?.identity !== identity || now - known.at > retellAfter;
    });
    for (let at = 0; at < news.length && !signal.aborted; at += width) {
      await Promise.all(
        news.slice(at, at + width).map(async ([name, identity]) => {
          await tell(name).then(
            () => told.set(name, { identity, at: now }),
            (error: unknown) => log.warn(`Failed to signal workflow for ${what} "${name}"; retrying`, { error }),
          );
        }),
      );
    }
    await setTimeout(lookEvery, undefined, { signal }).catch(() => undefined); // aborting ends the pause early
  }
}
