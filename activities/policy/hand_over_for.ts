/** Reads from the pool's policy what a new node takes over from the node it replaces. */
import type { Cluster } from "../cluster.ts";
import { candidatesAmong, PolicyFault, readPolicies, readPolicy, type SelectedPool } from "./rules_for.ts";

/** The rules of a policy about what new nodes take over. */
export interface HandOverRules {
  labels: boolean;
  taints: boolean;
  /** Keys of annotations that a new node takes over. */
  annotations: readonly string[];
  /**
   * Domains of Kubernetes, such as "node-role.kubernetes.io", whose labels a new node takes over besides labels that do
   * not belong to Kubernetes.
   */
  reservedDomains: readonly string[];
}

/**
 * Default without a policy, or with conflicting or unreadable ones: all labels and taints that do not belong to
 * Kubernetes itself, and no annotations.
 */
export const usualHandOver: HandOverRules = { labels: true, taints: true, annotations: [], reservedDomains: [] };

/**
 * Returns the rules of the most specific policy; the default without a policy, or with conflicting or unreadable ones.
 */
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
