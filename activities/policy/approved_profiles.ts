/** Finds the profiles of a pool that its policies do not approve for publication. */
import { z } from "zod";
import type { RolloutPolicyObject } from "../kube/resources.ts";
import { selects } from "../kube/status.ts";
import { LabelSelector } from "./label_selector.ts";
import type { SelectedPool } from "./rules_for.ts";

/** The only fields that are validated here, so that a list of approved profiles counts in an invalid policy too. */
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
 * Returns the first of the profiles that a policy of the pool does not list in `approvedProfiles`; undefined if there
 * is none. Every policy that selects the pool counts, so that a more specific policy, about the pace, cannot lift a
 * required approval; an unreadable selector selects the pool, and an unreadable list approves nothing.
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
