/**
 * Reads that the work on many pools has in common, joined while many ask at once: an answer serves all who asked before it was
 * begun to be asked for, so nobody gets one that is older than the question. Who asks alone asks at once, and nobody waits
 * long for a request that hangs.
 */
import type { Kube } from "./client.ts";

/** Longer than most answers take. */
const patienceMs = 1_000;

interface Joined {
  /** What is being asked for; who comes now came too late for it. */
  current: Promise<unknown>;
  /** The next answer, for all who have come since. */
  next?: Promise<unknown>;
}

const known = new WeakMap<object, Map<string, Joined>>();

/** The answer to `what` of one API server; never to be changed, as others have it too. */
export function joinedRead<T>(kube: Kube, what: string, read: () => Promise<T>): Promise<T> {
  const reads = known.get(kube.core) ?? new Map<string, Joined>();
  known.set(kube.core, reads);
  const joined = reads.get(what);
  if (!joined) return begin(reads, what, read);
  joined.next ??= settledOrLate(joined.current).then(() => begin(reads, what, read));
  return joined.next as Promise<T>;
}

function begin<T>(reads: Map<string, Joined>, what: string, read: () => Promise<T>): Promise<T> {
  const current = read();
  const joined: Joined = { current };
  reads.set(what, joined);
  const end = (): void => {
    if (reads.get(what) === joined && !joined.next) reads.delete(what);
  };
  current.then(end, end);
  return current;
}

async function settledOrLate(work: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, patienceMs);
  await Promise.race([work, late]).catch(() => undefined);
  clearTimeout(timer);
}
