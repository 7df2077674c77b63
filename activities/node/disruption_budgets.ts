/** Which PodDisruptionBudgets protect a pod. */
import type { V1Pod, V1PodDisruptionBudget } from "@kubernetes/client-node";
import type { Kube } from "../kube/client.ts";
import { selects } from "../kube/label_selector.ts";
import { statusOf } from "../kube/status.ts";

/** So long one list is good enough: it only names what the API server has decided. */
const listedMs = 5_000;

/** The budgets of the namespaces that a drain meets. */
export class DisruptionBudgets {
  readonly #kube: Kube;
  #lists = new Map<string, { at: number; budgets: Promise<V1PodDisruptionBudget[]> }>();

  constructor(kube: Kube) {
    this.#kube = kube;
  }

  /** The budgets that select a pod; none where they may not be read. */
  async of(pod: V1Pod, now: number): Promise<V1PodDisruptionBudget[]> {
    const namespace = pod.metadata?.namespace ?? "";
    const known = this.#lists.get(namespace);
    const list = known && now - known.at < listedMs ? known : { at: now, budgets: this.#list(namespace) };
    this.#lists.set(namespace, list);
    return (await list.budgets).filter((budget) => protects(budget, pod));
  }

  async #list(namespace: string): Promise<V1PodDisruptionBudget[]> {
    try {
      return (await this.#kube.policy.listNamespacedPodDisruptionBudget({ namespace })).items;
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
