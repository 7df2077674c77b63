/**
 * Has each object of a kind looked after by a run of its own: told when it comes or changes, and again from time to time, so
 * that a run which somebody terminated is started anew. A run that is there takes no harm.
 */
import type { Logger } from "@temporalio/common";
import { setTimeout } from "node:timers/promises";

const defaults = { lookEvery: 1_000, retellAfter: 300_000 };
/** Runs that are told at a time. */
const width = 10;

export interface ObjectNews {
  /** What the objects are called in messages. */
  what: string;
  /** All that are there by name, each with an identity of what its run depends on. */
  seen: () => Iterable<[name: string, identity: string]>;
  tell: (name: string) => Promise<void>;
  log: Pick<Logger, "warn">;
  /** Milliseconds. */
  every?: Partial<typeof defaults>;
}

/** Tells until `signal` aborts; what could not be told is tried at the next look. */
export async function tellObjects({ what, seen, tell, log, every }: ObjectNews, signal: AbortSignal): Promise<void> {
  const { lookEvery, retellAfter } = { ...defaults, ...every };
  let told = new Map<string, { identity: string; at: number }>();
  while (!signal.aborted) {
    const now = Date.now();
    const there = new Map(seen());
    // What is gone need not be known.
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
    await setTimeout(lookEvery, undefined, { signal }).catch(() => undefined); // aborting ends the rest early
  }
}
