/** Serves as long as the task queue belongs to this cluster; after a refusal the process stays up and retries. */
import type { Logger } from "@temporalio/common";
import { setTimeout } from "node:timers/promises";
import { ClusterConflict } from "./claim.ts";
import { TemporalTrouble } from "./temporal_trouble.ts";

/**
 * Milliseconds between attempts, doubled from `first` up to `last` after a refusal, and up to `away` after a failure,
 * for example while Temporal starts; and between checks while serving.
 */
const claimPauses = { first: 5_000, last: 300_000, away: 15_000, serving: 60_000 };

interface ServeDeps {
  /** Throws ClusterConflict if the task queue belongs to another cluster. */
  claim: () => Promise<void>;
  log: Pick<Logger, "info" | "warn" | "error">;
  signal: AbortSignal;
  pauses?: typeof claimPauses;
}

/**
 * Waits until the task queue belongs to this cluster, and runs `work`. If the queue belongs to another cluster later,
 * aborts `work` and waits again. Returns when `work` ends otherwise, or when `signal` aborts.
 */
export async function serveWhileOurs(deps: ServeDeps, work: (serving: AbortSignal) => Promise<void>): Promise<void> {
  while (await isOursAtLast(deps)) {
    const ending = new AbortController();
    const serving = AbortSignal.any([deps.signal, ending.signal]);
    const looking = endWhenLost({ ...deps, signal: serving }, ending);
    try {
      await work(serving);
      // Work that ends without a conflict ends the process.
      if (!ending.signal.aborted) return;
    } finally {
      ending.abort();
      await looking;
    }
  }
}

/** Waits until the claim succeeds; returns false if `signal` aborts first. */
async function isOursAtLast(deps: ServeDeps): Promise<boolean> {
  const { first, last, away } = deps.pauses ?? claimPauses;
  let said = "";
  for (let pause = first; !deps.signal.aborted; pause *= 2) {
    const trouble = await troubleOf(deps.claim);
    if (!trouble) return true;
    pause = Math.min(pause, trouble instanceof ClusterConflict ? last : away);
    // A failure is logged once, because it may last until an administrator resolves it.
    if (trouble.message !== said) tell(deps.log, trouble);
    said = trouble.message;
    await rest(pause, deps.signal);
  }
  return false;
}

async function endWhenLost(deps: ServeDeps, ending: AbortController): Promise<void> {
  while (!deps.signal.aborted) {
    await rest((deps.pauses ?? claimPauses).serving, deps.signal);
    if (deps.signal.aborted) return;
    // Only a conflict ends the work; a failure to reach Temporal or Kubernetes does not.
    if (await troubleOf(deps.claim) instanceof ClusterConflict) ending.abort();
  }
}

async function troubleOf(claim: () => Promise<void>): Promise<Error | undefined> {
  try {
    await claim();
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

function tell(log: ServeDeps["log"], trouble: Error): void {
  if (trouble instanceof ClusterConflict) log.error(trouble.message);
  else if (trouble instanceof TemporalTrouble) log.warn(trouble.message);
  else log.warn("Failed to start serving; retrying", { error: trouble });
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => undefined); // aborting ends the pause early
}
