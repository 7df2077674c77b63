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

/** Returns whether a pod is terminating and past its grace period. */
export function isLate({ metadata }: V1Pod, now: number): boolean {
  return metadata?.deletionTimestamp !== undefined && now >= dueOf(metadata.deletionTimestamp) + delayMs;
}

/**
 * Returns what keeps a terminating pod on its node; undefined within its grace period on a Ready node. A pod on a node
 * without heartbeats counts as kept from the start, because it may still run.
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
