/** What a new node takes over from the one that it replaces, as the policy of its pool says. */
import type { Cluster } from "../cluster.ts";
import type { HandOverRules } from "../backends/scaling_group/joining_nodes.ts";
import { candidatesAmong, PolicyFault, readPolicies, readPolicy, type SelectedPool } from "./rules_for.ts";

/** Where no policy says, or nobody can say which: all but what is of Kubernetes itself. */
export const usualHandOver: HandOverRules = { labels: true, taints: true, annotations: [], reservedDomains: [] };

/** The most specific policy's word. */
export async function handOverFor(kube: Cluster, pool: SelectedPool): Promise<HandOverRules> {
  try {
    const policies = await readPolicies(kube, pool.metadata.namespace);
    const [best, next] = candidatesAmong(policies, pool);
    if (!best || next?.requirements === best.requirements) return usualHandOver;
    const { labels, taints, annotations, labelDomains } = readPolicy(best.policy).spec.handOver ?? {};
    return {
      labels: labels ?? usualHandOver.labels,
      taints: taints ?? usualHandOver.taints,
      annotations: annotations ?? usualHandOver.annotations,
      reservedDomains: labelDomains ?? usualHandOver.reservedDomains,
    };
  } catch (error) {
    if (error instanceof PolicyFault) return usualHandOver;
    throw error;
  }
}
