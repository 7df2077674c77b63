/** Waits for the effects of another process or task; an error of `look` fails the test. */
import { waitFor, type WaitOptions } from "../../deploy/local/process/wait_until.ts";

/** Calls `look` until it returns something other than undefined or false, and returns that; throws after `withinMs`. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  { withinMs = 45_000, pausesMs = [10, 100] }: Pick<WaitOptions, "pausesMs"> & { withinMs?: number } = {},
): Promise<T> {
  return await waitFor(look, { what, timeoutMs: withinMs, attemptMs: withinMs, pausesMs, isFinal: () => true });
}
