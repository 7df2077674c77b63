/**
 * Rejects with the reason of the signal when it aborts, so that a call raced against it ends at its deadline even where
 * a library does not pass the signal on, such as to its requests for credentials.
 */
export function endOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, fail) => {
    if (signal.aborted) fail(signal.reason);
    else signal.addEventListener("abort", () => fail(signal.reason), { once: true });
  });
}
