/** Describes what prevents a pod from leaving its node, in words that stay the same while nothing changes. */
import type { V1Pod, V1PodDisruptionBudget } from "@kubernetes/client-node";
import { createHash } from "node:crypto";
import { nameOf } from "./drained_pods.ts";
import type { NodeFacts } from "./node_facts.ts";

export interface Obstacle {
  pod: V1Pod;
  /** The cause without numbers that vary, to compare it with the cause of an earlier read. */
  cause: string;
  why: string;
}

/** A pod may take this much longer (ms) than its grace period, because its node reports with a delay. */
const delayMs = 10_000;
/** Milliseconds by which the clocks of the API server and of this process may differ. */
const skewMs = 600_000;
/** Grace period (s) of a pod that does not report one: the default of pods. */
const usualGraceSeconds = 30;

/** Returns a hash of the blocked pods and the causes, equal while neither changes; "" without obstacles. */
export function keyOf(obstacles: Obstacle[]): string {
  if (obstacles.length === 0) return "";
  const facts = obstacles.map(({ pod, cause }) => `${nameOf(pod)} ${cause}`).sort();
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 16);
}

/** Describes the budgets that refused an eviction, by name unless they could not be read. */
export function protectedBy(pod: V1Pod, budgets: V1PodDisruptionBudget[]): Obstacle {
  const names = budgets.map(({ metadata }) => `PodDisruptionBudget ${metadata?.namespace}/${metadata?.name}`);
  if (names.length === 0) return obstacle(pod, "protected by a PodDisruptionBudget");
  const allowed = budgets.map(({ status }, nth) =>
    `${names[nth]} allows ${status?.disruptionsAllowed ?? 0} disruptions`
  );
  return { pod, cause: names.join(", "), why: allowed.join(", ") };
}

/** Describes the budgets of a pod that several budgets select, because the API server does not evict such a pod. */
export function protectedTwice(pod: V1Pod, budgets: V1PodDisruptionBudget[]): Obstacle {
  const names = budgets.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`).join(", ");
  return obstacle(pod, `covered by more than one PodDisruptionBudget${names ? `: ${names}` : ""}`);
}

/** Describes an eviction refused by something other than a budget. */
export function notEvicted(pod: V1Pod, { status, message }: { status: number; message: string }): Obstacle {
  const cause = `its eviction was refused with HTTP ${status}`;
  return { pod, cause, why: message ? `${cause}: ${message}` : cause };
}

/** Returns whether a pod is terminating and past its grace period, if the clock of the API server is `now`. */
function isLate({ metadata }: V1Pod, now: number): boolean {
  return metadata?.deletionTimestamp !== undefined && now >= dueOf(metadata.deletionTimestamp) + delayMs;
}

/**
 * Finds out which terminating pods are surely past their grace period. Measures how long the reads have shown a pod as
 * terminating, because the API server's clock, of which deletion times are, may differ from the clock of this process.
 */
export class Endings {
  /** By pod and deletion time: the first read that showed it (ms of a monotonic clock). */
  #since = new Map<string, number>();
  #at = { now: 0, elapsed: 0 };

  /** Records a read of pods, at `now` (epoch ms) and at `elapsed` (ms of a monotonic clock). */
  note(pods: readonly V1Pod[], at: { now: number; elapsed: number }): void {
    const ending = pods.filter(({ metadata }) => metadata?.deletionTimestamp !== undefined).map(endingKey);
    this.#since = new Map(ending.map((key) => [key, this.#since.get(key) ?? at.elapsed]));
    this.#at = at;
  }

  /** Returns whether a pod of the last read is terminating and past its grace period. */
  isOver(pod: V1Pod): boolean {
    const since = this.#since.get(endingKey(pod));
    if (since === undefined) return false;
    const seconds = pod.metadata?.deletionGracePeriodSeconds ?? usualGraceSeconds;
    return this.#at.elapsed - since >= seconds * 1000 + delayMs || isLate(pod, this.#at.now - skewMs);
  }
}

// A forced deletion shortens the grace period of a pod that terminates already, and changes its deletion time.
function endingKey({ metadata }: V1Pod): string {
  return `${metadata?.uid} ${dueOf(metadata?.deletionTimestamp)}`;
}

/**
 * Returns what keeps a terminating pod on its node; undefined within its grace period on a Ready node. A pod on a node
 * without heartbeats counts as kept from the start, because it may still run. Uses the time of deletion and not
 * `Endings`, because a drain begins anew after each report, and would otherwise report the same pod again and again.
 */
export function endingOf(pod: V1Pod, node: NodeFacts, now: number): Obstacle | undefined {
  if (!node.reachable) return obstacle(pod, "the node is unreachable, so the pod cannot confirm its termination");
  if (!node.ready) return obstacle(pod, "the node is not Ready, and the pod has not confirmed its termination");
  if (!isLate(pod, now)) return undefined;
  const finalizers = pod.metadata?.finalizers ?? [];
  if (finalizers.length > 0) return obstacle(pod, `its finalizers remain: ${finalizers.join(", ")}`);
  const due = new Date(dueOf(pod.metadata?.deletionTimestamp)).toISOString();
  return obstacle(pod, `its grace period ended at ${due}, but it still runs`);
}

function dueOf(deletionTimestamp: Date | string | undefined): number {
  return new Date(deletionTimestamp ?? 0).getTime();
}

/** Returns an obstacle whose `why` contains no numbers that vary, so that `why` is its `cause` too. */
export function obstacle(pod: V1Pod, why: string): Obstacle {
  return { pod, cause: why, why };
}
