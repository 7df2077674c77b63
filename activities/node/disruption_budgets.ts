/** Finds the PodDisruptionBudgets that protect a pod. */
import type { Cluster } from "../cluster.ts";
import type { V1Pod, V1PodDisruptionBudget } from "@kubernetes/client-node";
import { z } from "zod";
import type { Kube } from "../kube/client.ts";
import { selects, statusOf } from "../kube/status.ts";
import { News, sourceOf } from "../kube/polling.ts";
import { allPages, type Resource } from "../kube/resources.ts";

/** The PodDisruptionBudgets of the namespaces whose pods a drain evicts. */
export class DisruptionBudgets {
  readonly #kube: Kube;
  #lists = new Map<string, { at: number; budgets: Promise<V1PodDisruptionBudget[]> }>();

  constructor(kube: Kube) {
    this.#kube = kube;
  }

  /**
   * Returns the budgets that select a pod; none if the API server refuses to list them. Calls with the same `now` share
   * one list per namespace.
   */
  async of(pod: V1Pod, now: number): Promise<V1PodDisruptionBudget[]> {
    const namespace = pod.metadata?.namespace ?? "";
    const known = this.#lists.get(namespace);
    const list = known?.at === now ? known : { at: now, budgets: this.#list(namespace) };
    this.#lists.set(namespace, list);
    return (await list.budgets).filter((budget) => protects(budget, pod));
  }

  async #list(namespace: string): Promise<V1PodDisruptionBudget[]> {
    try {
      return await allPages((page) => this.#kube.policy.listNamespacedPodDisruptionBudget({ namespace, ...page }));
    } catch (error) {
      if (statusOf(error) === undefined) throw error;
      return []; // the drain continues; without the budgets, its messages do not name them
    }
  }
}

/** Returns whether a budget selects a pod: an empty selector selects every pod, and a missing one none (policy/v1). */
export function protects({ spec }: V1PodDisruptionBudget, { metadata }: V1Pod): boolean {
  return spec?.selector !== undefined && selects(spec.selector, metadata?.labels);
}

/** The fields of a budget whose change may allow more evictions, or fewer. */
const budgets: Resource<string> = {
  ...{ group: "policy", version: "v1", plural: "poddisruptionbudgets" },
  schema: z.custom<V1PodDisruptionBudget>((object) => typeof object === "object" && object !== null).transform(
    ({ metadata, status }) =>
      JSON.stringify([metadata?.generation, status?.disruptionsAllowed, status?.currentHealthy]),
  ),
};

/** Returns the changes that a drain waits for: of its node, and of the budgets in these namespaces. */
export function newsOfDrain(kube: Cluster, node: string, namespaces: () => ReadonlySet<string>): News {
  return new News([
    sourceOf(kube.watches.of(budgets), ({ key }) => namespaces().has(key.slice(0, key.indexOf("/")))),
    sourceOf(kube.nodes, ({ key }) => key === node),
  ]);
}
