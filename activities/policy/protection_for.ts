/** Reads from the pool's policy how machines with scale-in protection are treated. */
import type { Cluster } from "../cluster.ts";
import { candidatesAmong, PolicyFault, readPolicies, readPolicy, type SelectedPool } from "./rules_for.ts";

type Protection = "Wait" | "Skip" | "Replace";

/** The default: wait, because a user had a reason to protect the machine. */
export const usualProtection: Protection = "Wait";

/**
 * Returns the rule of the most specific policy; the default without a policy, or with conflicting or unreadable ones.
 */
export async function protectionFor(kube: Cluster, pool: SelectedPool): Promise<Protection> {
  try {
    const policies = await readPolicies(kube, pool.metadata.namespace);
    const [best, next] = candidatesAmong(policies, pool);
    if (!best || next?.requirements === best.requirements) return usualProtection;
    return readPolicy(best.policy).spec.protectedMachines ?? usualProtection;
  } catch (error) {
    if (error instanceof PolicyFault) return usualProtection;
    throw error;
  }
}
