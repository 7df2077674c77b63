/** The groups of who boots with a token: one of all machines, and one that tells whose it is without a look at any Secret. */
import { createHash } from "node:crypto";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { ownerOf } from "./identity.ts";

/** Bound by machine-controller's manifests to node bootstrapping and automatic approval. */
export const bootstrapGroup = "system:bootstrappers:machine-controller:default-node-token";

const ofPools = "system:bootstrappers:ostler:";
const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
/** Too few for the name of another group, and with all before them no padding of base64: admission/limit_secrets.yaml goes by both. */
const length = 21;

/** The group of a pool's tokens; no name of a pool would always do as one. */
export function poolGroupOf(pool: PoolRef): string {
  const digest = createHash("sha256").update(ownerOf(pool)).digest().subarray(0, length);
  return ofPools + [...digest].map((byte) => alphabet[byte % alphabet.length]).join("");
}

/** What stands in a token of the pool. */
export function groupsOf(pool: PoolRef, { tellsPool }: { tellsPool: boolean }): string {
  return tellsPool ? `${bootstrapGroup},${poolGroupOf(pool)}` : bootstrapGroup;
}

/** Whether it is the group of any pool's tokens. */
export function isPoolGroup(group: string): boolean {
  return group.startsWith(ofPools);
}
