/** Answers of many small requests, as printable texts. */
import { transportReason } from "../connect/temporal_failure.ts";

/** An answer, or the reason why it is missing. */
export type Reply<T> = { value: T } | { why: string };

/** Returns the answer of one request among many, or the reason of its failure. */
export async function replyOf<T>(work: () => Promise<T>): Promise<Reply<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    return { why: printable(transportReason(error)) };
  }
}

/** Returns a text from another system in one line, without control characters and with at most `most` characters. */
export function printable(text: string, most = 200): string {
  const safe = text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "\u{fffd}");
  return safe.length > most ? `${safe.slice(0, most - 1)}…` : safe;
}
