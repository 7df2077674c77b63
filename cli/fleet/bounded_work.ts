/** Many small requests, some at a time, of which none can keep a command waiting. */
import { transportReason } from "../connect/temporal_failure.ts";

/** An answer, or why there is none. */
export type Reply<T> = { value: T } | { why: string };

/** Does the work for each, at most `most` at a time; the results stand in the order of the items. */
export async function eachBounded<I, T>(
  items: readonly I[],
  most: number,
  work: (item: I) => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const takeOn = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at] as I);
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, takeOn));
  return results;
}

/** What one request of many answered: that one fails is told beside the others. */
export async function replyOf<T>(work: () => Promise<T>): Promise<Reply<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    return { why: printable(transportReason(error)) };
  }
}

/** A text of somebody else's that cannot steer a terminal, on one line and not for ever long. */
export function printable(text: string, most = 200): string {
  const safe = text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "\u{fffd}");
  return safe.length > most ? `${safe.slice(0, most - 1)}…` : safe;
}
