/** What becomes of machines that their cloud protects, as the policy of their pool says. */
import type { Cluster } from "../cluster.ts";
import { candidatesAmong, PolicyFault, readPolicies, readPolicy, type SelectedPool } from "./rules_for.ts";

export type Protection = "Wait" | "Skip" | "Replace";

/** Who protected a machine had a reason. */
export const usualProtection: Protection = "Wait";

/** The most specific policy's word; the usual one where none says, or nobody can say which. */
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
