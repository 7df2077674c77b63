/** Which PodDisruptionBudgets protect a pod. */
import type { Cluster } from "../cluster.ts";
import type { V1Pod, V1PodDisruptionBudget } from "@kubernetes/client-node";
import { z } from "zod";
import type { Kube } from "../kube/client.ts";
import { selects, statusOf } from "../kube/status.ts";
import { News, sourceOf } from "../kube/polling.ts";
import { allPages, type Resource } from "../kube/resources.ts";

/** The budgets of the namespaces that a drain meets. */
export class DisruptionBudgets {
  readonly #kube: Kube;
  #lists = new Map<string, { at: number; budgets: Promise<V1PodDisruptionBudget[]> }>();

  constructor(kube: Kube) {
    this.#kube = kube;
  }

  /** The budgets that select a pod, from one list for all pods of a look at `now`; none where they may not be read. */
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
      return []; // a name that cannot be told must not stop the drain
    }
  }
}

// In policy/v1 an empty selector means every pod, a missing one none.
function protects({ spec }: V1PodDisruptionBudget, { metadata }: V1Pod): boolean {
  return spec?.selector !== undefined && selects(spec.selector, metadata?.labels);
}

/** What of a budget tells that more pods may go, or fewer. */
const budgets: Resource<string> = {
  ...{ group: "policy", version: "v1", plural: "poddisruptionbudgets" },
  schema: z.custom<V1PodDisruptionBudget>((object) => typeof object === "object" && object !== null).transform(
    ({ metadata, status }) =>
      JSON.stringify([metadata?.generation, status?.disruptionsAllowed, status?.currentHealthy]),
  ),
};

/** News of what a drain waits for: its node, and the budgets of these namespaces. */
export function newsOfDrain(kube: Cluster, node: string, namespaces: () => ReadonlySet<string>): News {
  return new News([
    sourceOf(kube.watches.of(budgets), ({ key }) => namespaces().has(key.slice(0, key.indexOf("/")))),
    sourceOf(kube.nodes, ({ key }) => key === node),
  ]);
}
