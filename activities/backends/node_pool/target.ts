/** The image that a pool is brought to: a repository and a digest; the digest alone is what it is known by. */
import type { NodePool } from "../../kube/node_pools.ts";

/** "repository@sha256:…" in its two parts. */
export function partsOf(image: string): { repository: string; digest: string } {
  const [repository = "", digest = ""] = image.split("@");
  return { repository, digest };
}

/** What stands for the image of nodes that update themselves: which one they run is their own affair. */
const lockWord = "FleetLock/";
/** What nodes that do not ask for a lock are called by. */
export const unlockedHash = "fleet-lock";

/** What a pool of driver FleetLock is brought to; undefined of every other driver. */
export function lockTargetOf({ spec: { driver, fleetLock } }: Pick<NodePool, "spec">): string | undefined {
  return driver === "FleetLock" ? `${lockWord}${fleetLock?.group ?? "default"}` : undefined;
}

/** It is no image, but stands for none. */
export function isLockTarget(image: string): boolean {
  return image.startsWith(lockWord);
}

/** What a template of that image is called by. */
export function templateOf(image: string): string {
  return isLockTarget(image) ? unlockedHash : hashOf(partsOf(image).digest);
}

/** What a template is called by: as much of the digest as tells it from all others. "" for no digest. */
export function hashOf(digest: string): string {
  return digest.slice("sha256:".length).slice(0, 20);
}

/** Of a pool, what a rollout depends on, with the digest that its OSImage has, if it names one; as many nodes as it has do not. */
export function observedOf(
  { metadata: { uid, generation = 0, deletionTimestamp } }: { metadata: Pick<NodePool["metadata"], Deciding> },
  digest = "",
): string {
  return [uid, generation, ...(deletionTimestamp ? ["deleting"] : []), ...(digest ? [hashOf(digest)] : [])].join("/");
}

type Deciding = "uid" | "generation" | "deletionTimestamp";
