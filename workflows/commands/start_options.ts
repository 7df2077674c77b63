/** How the rollout of a pool is started, by whomever: one id, and what the run list shows of it. */
import type { PoolRef } from "../contracts/mod.ts";
import { searchAttributes } from "../status/search_attributes.ts";

/** The workflow id that belongs to a pool, so that no pool can have two rollouts. */
export function workflowIdOf(pool: PoolRef): string {
  return `machine-deployment/${pool.namespace}/${pool.name}`;
}

/** Title, text and columns of a new run. */
export function shownAtStart({ namespace, name }: PoolRef): {
  staticSummary: string;
  staticDetails: string;
  typedSearchAttributes: { key: typeof searchAttributes[keyof typeof searchAttributes]; value: string }[];
} {
  return {
    staticSummary: `Roll out ${namespace}/${name}`,
    staticDetails: `Brings the machines of MachineDeployment \`${namespace}/${name}\` to what it asks for.`,
    typedSearchAttributes: [
      { key: searchAttributes.namespace, value: namespace },
      { key: searchAttributes.machineDeployment, value: name },
      { key: searchAttributes.phase, value: "Preparing" },
    ],
  };
}
