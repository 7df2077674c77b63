/** How long an answer is waited for, and how it is found out that this was too long. */
import { setTimeout } from "node:timers/promises";
import { RunawayFault } from "./template_engine.ts";

/** How long an answer may take, and when nobody wants it any more. */
export interface Patience {
  /** By the clock: who is still at work by then may have been waiting for others, so it proves nothing. */
  limitMs: number;
  /** Of processor time: who has used that up has run away. */
  processorMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** No answer came in time by the clock; the process was killed. */
export class RenderTimeout extends Error {
  override readonly name = "RenderTimeout";
}

/** What has some time left is not asked sooner what it has used. */
const shortestLookMs = 100;

/**
 * Resolves when a limit is reached, with the RunawayFault or the RenderTimeout that it is, or with nothing soon after
 * `done`. `usedMs` tells the processor time that was used until now; without it the clock has to do.
 */
export async function latenessOf(
  { limitMs, processorMs = Infinity }: Patience,
  usedMs: (() => Promise<number>) | undefined,
  done: AbortSignal,
): Promise<RunawayFault | RenderTimeout | undefined> {
  const start = performance.now();
  const elapsed = (): number => performance.now() - start;
  for (let used = 0; !done.aborted;) {
    // It cannot use up what is left to it any sooner.
    const left = Math.min(Math.max(processorMs - used, shortestLookMs), limitMs - elapsed());
    await setTimeout(left, undefined, { signal: done }).catch(() => undefined);
    if (done.aborted) break;
    used = await usedMs?.() ?? elapsed();
    if (used >= processorMs) return new RunawayFault(`it was not done after ${processorMs} ms`);
    if (elapsed() >= limitMs) return new RenderTimeout(`Cannot wait longer than ${limitMs} ms`);
  }
  return undefined;
}
