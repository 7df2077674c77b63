/**
 * The groups of a bootstrap token: one for all machines, and one that identifies the pool, so that the approver of node
 * certificates needs to read no Secret.
 */
import { createHash } from "node:crypto";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { ownerOf } from "./identity.ts";

/**
 * The group for all machines; manifests of machine-controller bind it to the ClusterRoles for node bootstrapping and
 * for automatic approval of node certificates.
 */
export const bootstrapGroup = "system:bootstrappers:machine-controller:default-node-token";

const ofPools = "system:bootstrappers:ostler:";
const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
/**
 * Characters that identify the pool: with 21, the base64 of all groups has 144 characters without padding, which
 * deploy/kubernetes/admission/limit_secrets.yaml requires so that a token has no room for another group.
 */
const length = 21;

/** Returns the group of a pool's tokens; it ends in a hash, because not every pool name is valid in a group. */
export function poolGroupOf(pool: PoolRef): string {
  const digest = createHash("sha256").update(ownerOf(pool)).digest().subarray(0, length);
  return ofPools + [...digest].map((byte) => alphabet[byte % alphabet.length]).join("");
}

/** Returns the groups of a token of the pool, separated by commas. */
export function groupsOf(pool: PoolRef, { tellsPool }: { tellsPool: boolean }): string {
  return tellsPool ? `${bootstrapGroup},${poolGroupOf(pool)}` : bootstrapGroup;
}

/** Returns whether `group` is the group of some pool's tokens. */
export function isPoolGroup(group: string): boolean {
  return group.startsWith(ofPools);
}
