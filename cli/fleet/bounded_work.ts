/** Runs one of many small requests, whose failure must not prevent the others. */
import { transportReason } from "../connect/temporal_failure.ts";
import { printable } from "../view/printable.ts";

/** An answer, or the reason why it is missing. */
export type Reply<T> = { value: T } | { why: string };

/** Returns the answer of a request, or the reason of its failure in one printable line. */
export async function replyOf<T>(work: () => Promise<T>): Promise<Reply<T>> {
  try {
    return { value: await work() };
  } catch (error) {
    return { why: printable(transportReason(error)) };
  }
}
