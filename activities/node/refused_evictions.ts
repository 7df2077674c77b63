/**
 * Records refused evictions. Each is retried less and less often while nothing changes, and immediately when a
 * PodDisruptionBudget of its pod changes, so that a drain of a day sends an API server few requests.
 */
import type { V1Pod, V1PodDisruptionBudget } from "@kubernetes/client-node";
import type { Obstacle } from "./obstacles.ts";

/** Milliseconds before a refused eviction is retried: first, and at most. */
const pause = { first: 1_000, most: 60_000 };

interface Refused {
  obstacle: Obstacle;
  /** State of the PodDisruptionBudgets that protect the pod. */
  state: string;
  pauseMs: number;
  /** Time of the next retry (epoch ms). */
  askAt: number;
}

export class RefusedEvictions {
  readonly #refused = new Map<string, Refused>();

  /** Returns whether an eviction of the pod was refused before. */
  has(pod: V1Pod): boolean {
    return this.#refused.has(uidOf(pod));
  }

  /**
   * Returns what blocks a pod whose eviction was refused; undefined if a retry is due, because the pause has ended, or
   * because the PodDisruptionBudgets that protect the pod now (`budgets`) have changed.
   */
  standing(pod: V1Pod, budgets: readonly V1PodDisruptionBudget[], now: number): Obstacle | undefined {
    const refused = this.#refused.get(uidOf(pod));
    if (!refused || now >= refused.askAt || refused.state !== stateOf(budgets)) return undefined;
    return { ...refused.obstacle, pod };
  }

  /** Records a refused eviction, which is retried immediately when `budgets` change. */
  note(obstacle: Obstacle, budgets: readonly V1PodDisruptionBudget[], now: number): void {
    const before = this.#refused.get(uidOf(obstacle.pod));
    const state = stateOf(budgets);
    const isSame = before?.state === state && before.obstacle.cause === obstacle.cause;
    const pauseMs = isSame ? Math.min(pause.most, before.pauseMs * 2) : pause.first;
    this.#refused.set(uidOf(obstacle.pod), { obstacle, state, pauseMs, askAt: now + pauseMs });
  }

  /** Time of the earliest retry of a pod (epoch ms); Infinity without one. */
  get nextAt(): number {
    return Math.min(...[...this.#refused.values()].map(({ askAt }) => askAt));
  }

  /** Forgets all pods but these. */
  keep(pods: readonly V1Pod[]): void {
    const there = new Set(pods.map(uidOf));
    for (const uid of this.#refused.keys()) if (!there.has(uid)) this.#refused.delete(uid);
  }
}

function stateOf(budgets: readonly V1PodDisruptionBudget[]): string {
  const states = budgets.map(({ metadata, status }) => {
    return [metadata?.uid, metadata?.generation, status?.disruptionsAllowed, status?.currentHealthy];
  });
  return JSON.stringify(states.sort());
}

function uidOf({ metadata }: V1Pod): string {
  return metadata?.uid ?? "";
}
