/** Finds the profiles of a pool that its policies do not approve for publication. */
import { z } from "zod";
import type { RolloutPolicyObject } from "../kube/resources.ts";
import { selects } from "../kube/status.ts";
import { LabelSelector } from "./label_selector.ts";
import type { SelectedPool } from "./rules_for.ts";

/** The only field of a policy that is validated here, so that its list counts even if other fields are invalid. */
const Asking = z.object({ approvedProfiles: z.array(z.unknown()) });

/** A profile of a pool: `digest` identifies its spec. */
export interface AskedProfile {
  name: string;
  digest: string;
}

/** A profile that the `approvedProfiles` of a policy do not contain. */
interface Unapproved extends AskedProfile {
  policy: string;
}

/**
 * Returns the first profile that is missing from the `approvedProfiles` of a policy that selects the pool; undefined if
 * none is missing. Every such policy with this field counts, so that a more specific policy, about the pace only,
 * cannot lift a required approval. An unreadable selector selects the pool, and an unreadable list approves nothing.
 */
export function unapprovedAmong(
  policies: readonly RolloutPolicyObject[],
  pool: SelectedPool,
  profiles: () => readonly AskedProfile[],
): Unapproved | undefined {
  for (const { metadata: { name: policy }, spec } of policies) {
    const approved = approvedBy(spec, pool);
    const profile = approved && profiles().find(({ digest }) => !approved.includes(digest));
    if (profile) return { ...profile, policy };
  }
  return undefined;
}

/**
 * Returns the listed digests of a policy that selects the pool and has `approvedProfiles`; undefined for any other
 * policy.
 */
function approvedBy(spec: unknown, { metadata }: SelectedPool): readonly unknown[] | undefined {
  const asks = typeof spec === "object" && spec !== null && "approvedProfiles" in spec;
  if (!asks) return undefined;
  const selector = LabelSelector.safeParse((spec as { selector?: unknown }).selector ?? {}).data;
  if (selector && !selects(selector, metadata.labels)) return undefined;
  return Asking.safeParse(spec).data?.approvedProfiles ?? [];
}
