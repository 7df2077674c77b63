/** Time limits for the answer of a template process, and the function that waits until one of them is reached. */
import { setTimeout } from "node:timers/promises";
import { RunawayFault } from "./template_engine.ts";

/** The time limits for one answer, and the signal that ends the wait. */
export interface Patience {
  /** The limit by the clock; exceeding it blames no template, because the process may have waited for the processor. */
  limitMs: number;
  /** The limit of processor time; a template that exceeds it is to blame. */
  processorMs?: number | undefined;
  /** Aborts when the answer is no longer needed. */
  signal?: AbortSignal | undefined;
}

/** Thrown if no answer came within the limit by the clock; the process was killed. */
export class RenderTimeout extends Error {
  override readonly name = "RenderTimeout";
}

/** The shortest interval between two readings of the processor time. */
const shortestLookMs = 100;

/**
 * Resolves when a limit is reached: with a RunawayFault for processor time, or with a RenderTimeout for the clock.
 * Resolves with undefined soon after `done` aborts. `usedMs` returns the processor time used so far; without `usedMs`,
 * the elapsed time counts as processor time.
 */
export async function latenessOf(
  { limitMs, processorMs = Infinity }: Patience,
  usedMs: (() => Promise<number>) | undefined,
  done: AbortSignal,
): Promise<RunawayFault | RenderTimeout | undefined> {
  const start = performance.now();
  const elapsed = (): number => performance.now() - start;
  for (let used = 0; !done.aborted;) {
    // Milliseconds until the next check. The process needs at least this long to use up its remaining processor time.
    const left = Math.min(Math.max(processorMs - used, shortestLookMs), limitMs - elapsed());
    await setTimeout(left, undefined, { signal: done }).catch(() => undefined);
    if (done.aborted) break;
    used = await usedMs?.() ?? elapsed();
    if (used >= processorMs) return new RunawayFault(`it did not finish within ${processorMs} ms`);
    if (elapsed() >= limitMs) return new RenderTimeout(`Failed to render: the process did not answer in ${limitMs} ms`);
  }
  return undefined;
}
