/** Answers of many small requests, as printable texts. */
import { transportReason } from "../connect/temporal_failure.ts";
import { printable } from "../view/printable.ts";

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
